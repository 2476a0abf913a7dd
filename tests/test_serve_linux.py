"""The live page watches runs of the real kernel as it watches the simulator's; needs root."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell.errors import ScenarioError
from dumbbell.serve.check import Desk
from dumbbell.serve.limits import Limits
from emulated import NEEDS
from live_page import Live, browser, desktop, server
from serving import SCENARIO, Server, wait_for

__all__ = ["browser", "desktop", "server"]

pytestmark = NEEDS

KERNEL = {**SCENARIO, "name": "kernel", "duration": "3s", "flow": [{"cca": "cubic"}, {"cca": "reno"}]}


def test_points_that_stream_are_those_of_the_kernels_tables(server: Server) -> None:
    job = server.json("/api/start", {"tables": KERNEL, "on": "linux"})["job"]
    news = server.news(job)
    result = dumbbell.load(server.out / job)[0]
    assert result.manifest["backend"] == "linux"
    wanted = {(row["t_us"] / 1e6, row["flow"]): row for row in result.samples.to_pylist()}
    points = [row for one in news for row in one.get("points", {}).get("samples", [])]
    assert len(points) == len(wanted) > 40
    for t, flow, _, _, cwnd, in_flight, rtt_ms, _ in points:
        row = wanted[t, flow]
        assert (cwnd, in_flight, rtt_ms) == (row["cwnd"], row["in_flight"], row["srtt_us"] / 1000)
    queue = [row for one in news for row in one.get("points", {}).get("queue", [])]
    assert sum(row[2] for row in queue) == result.queue.to_pylist()[-1]["dropped_packets"]
    # They came while the run went on, not at its end.
    assert sum("points" in one for one in news) > 20


def test_what_the_kernel_cannot_run_is_said_by_its_key(server: Server) -> None:
    wrong = {**KERNEL, "flow": [{"cca": "cubic", "transport": "quic"}]}
    (error,) = server.json("/api/check", {"tables": wrong, "on": "linux"})["errors"]
    assert error["text"].startswith("flow[0].transport: got quic")
    assert server.json("/api/check", {"tables": wrong})["errors"] == []


@pytest.mark.parametrize("on", ["bpf", "ssh://a,b", "netem", "ray://x", "", None, ["linux"]])
def test_no_other_back_end_is_reached(server: Server, on: object) -> None:
    status, _, body = server.ask("/api/start", {"tables": KERNEL, "on": on})
    assert status == 422
    assert json.loads(body)["errors"][0]["key"] == "on"


def test_real_time_counts_against_the_limit(server: Server) -> None:
    (error,) = server.json("/api/check", {"tables": {**KERNEL, "duration": ["100s", "201s"]}, "on": "linux"})["errors"]
    assert (error["key"], "--max-time" in error["text"]) == ("duration", True)


def test_a_server_that_is_not_root_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path, Limits())
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert desk.backends == ("sim",)
    with pytest.raises(ScenarioError, match="linux needs a server that runs as root"):
        desk.check({"tables": KERNEL, "on": "linux"})


def test_a_run_of_the_kernel_is_seen_while_it_goes_on_and_is_cancelled(desktop: Live, server: Server) -> None:
    page = desktop.page
    desktop.field("duration").fill("30s")
    desktop.field("name").fill("watched")
    desktop.field("flow[1].cca").select_option("reno")
    page.get_by_label("Run on").select_option("linux")
    page.wait_for_function("() => document.querySelector('pre code').textContent.includes('--on linux')")
    page.get_by_role("button", name="Run", exact=True).click()
    shown = "+document.querySelector('.clock').textContent.split(' ')[0]"
    page.wait_for_function(f"() => document.querySelector('.clock').textContent.includes('of 30 s') && {shown} > 1")
    first = page.evaluate(shown)
    page.wait_for_function(f"() => {shown} > {first}")
    assert first < 20
    assert page.get_by_role("heading", name="Smoothed RTT").count() == 1
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_function("() => document.querySelector('.said').textContent === 'cancelled'")
    wait_for(lambda: not list(server.out.glob("watched-*")))
    assert desktop.said == []


def test_a_page_whose_server_is_not_root_says_it(browser: Any, server: Server) -> None:
    page = browser.new_page()

    def as_user(route: Any) -> None:
        known = route.fetch()
        route.fulfill(response=known, json={**known.json(), "backends": ["sim"]})

    page.route("**/api/known", as_user)
    page.goto(server.url)
    page.wait_for_selector(".verdict p")
    assert "needs a server run by root" in page.get_by_label("Run on").inner_text()
    assert page.locator("option", has_text="root").is_disabled()
    page.close()
