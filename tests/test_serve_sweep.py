"""A field of the live page swept into a figure, which builds up while the runs end."""

from __future__ import annotations

from typing import Any

import pytest

from live_page import Live, browser, desktop, live, server
from serving import LONG, SCENARIO, Server, wait_for

__all__ = ["browser", "desktop", "live", "server"]

RANGE = {"from": "0.25bdp", "to": "4bdp", "steps": 5, "spacing": "log"}
#: Points that the figure has: each says its value when it is pointed at.
POINTS = "document.querySelectorAll('.growing svg[role=img] title').length"


def swept(scenario: dict[str, Any], values: object) -> dict[str, Any]:
    return {**scenario, "path": {**scenario["path"], "buffer": values}}


def growing(server: Server, job: str, metric: str = "goodput") -> Any:
    return server.json(f"/api/growing?job={job}&metric={metric}")


def test_the_figure_of_a_sweep_that_has_ended_is_that_of_the_report(server: Server) -> None:
    job = server.run(swept(SCENARIO, RANGE))[0]["begin"]["job"]
    (there,) = [one for one in server.json(f"/api/document?run={job}")["sweeps"]["figures"] if one["metric"] == "queue"]
    assert growing(server, job, "queue") == {"figure": there, "runs": 5}


def test_the_axis_is_that_of_the_whole_sweep_from_the_first_run_on(server: Server) -> None:
    tables = {**LONG, "duration": ["500ms", "600s"]}
    job = server.json("/api/start", {"tables": tables})["job"]
    wait_for(lambda: growing(server, job)["runs"])
    found = growing(server, job)
    server.json("/api/cancel", {"job": job})
    assert found["runs"] == 1
    form = found["figure"]["forms"][0]
    assert form["x"]["ticks"] == ["0.5", "600"]
    assert [point[0] for point in form["panels"][0]["rows"][0]["points"]] == [0]
    assert server.news(job)[-1] == {"end": True}


@pytest.mark.parametrize("query", ["metric=../x", "metric=", "metric=goodput&job=none", "metric=qlog"])
def test_what_is_no_sweep_or_no_metric_is_refused(server: Server, query: str) -> None:
    job = server.run(SCENARIO)[0]["begin"]["job"]
    status, _, body = server.ask(f"/api/growing?{query}" + ("" if "job=" in query else f"&job={job}"))
    assert status == 422
    assert b"wanted" in body


def test_one_run_has_no_figure(server: Server) -> None:
    job = server.run(SCENARIO)[0]["begin"]["job"]
    assert growing(server, job) == {"figure": None, "runs": 1}


def opened(live: Live, key: str) -> None:
    """Open the part for sweeps, and choose a field, by keyboard alone."""
    live.page.get_by_text("Sweep a field into a figure").focus()
    live.page.keyboard.press("Enter")
    live.page.get_by_label("Field", exact=True).select_option(key)


def test_a_handle_is_swept_into_a_figure(live: Live) -> None:
    page = live.page
    opened(live, "path.rtt")
    assert page.get_by_label("From").input_value() == "10ms"
    assert page.get_by_label("To", exact=True).input_value() == "160ms"
    page.get_by_label("Figure", exact=True).select_option("utilization")
    page.get_by_role("button", name="Sweep", exact=True).press("Enter")
    page.wait_for_function(f"() => {POINTS} === 7")
    assert page.locator(".growing h3").inner_text().endswith("against RTT (ms)")
    page.wait_for_selector(".verdict p")
    assert live.field("path.rtt").input_value() == "40ms"  # the scenario stays as it is
    assert page.evaluate("document.documentElement.scrollWidth") == page.viewport_size["width"]
    assert live.said == []


def test_the_figure_builds_up_run_by_run_and_stays_when_it_is_cancelled(desktop: Live) -> None:
    page = desktop.page
    desktop.field("path.rate").fill("1Gbps")
    opened(desktop, "flow[1].params.cwnd_gain")
    page.get_by_label("Values").fill("40")
    page.get_by_role("button", name="Sweep", exact=True).click()
    page.wait_for_function(f"() => {POINTS} >= 2")
    first = page.evaluate(POINTS)
    page.wait_for_function(f"() => {POINTS} > {first}")
    page.wait_for_function("() => document.querySelector('output').textContent.includes('s left')")
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_function("() => document.querySelector('.said').textContent === 'cancelled'")
    page.wait_for_selector(".verdict p")
    assert first < page.evaluate(POINTS) < 80
    assert "cwnd_gain of BBR" in page.locator(".growing h3").inner_text()


def test_a_wrong_range_is_said_beside_it_and_a_range_becomes_the_scenarios(desktop: Live) -> None:
    page = desktop.page
    opened(desktop, "path.buffer")
    page.get_by_label("From").fill("5")
    page.get_by_role("button", name="Sweep", exact=True).click()
    page.wait_for_function("() => document.querySelector('.sweep .wrong').textContent.includes('measure different')")
    page.get_by_label("From").fill("0.5bdp")
    page.get_by_role("button", name="Write it into the scenario").click()
    before = desktop.count()
    desktop.run()
    desktop.counted(before + 1)
    page.wait_for_function(f"() => {POINTS} === 14")
    page.get_by_text("Scenario file, command, import").click()
    assert "2.83bdp" in page.get_by_label("Scenario as TOML").input_value()
