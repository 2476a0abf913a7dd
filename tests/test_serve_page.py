"""The live page in a browser (headless Chromium): build, run, see, change, compare, share, report; on a desktop and a
phone, light and dark, by keyboard alone.
"""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from browsing import serious
from live_page import Live, browser, desktop, live, server
from serving import Server, serving

__all__ = ["browser", "desktop", "live", "server"]


def frames(page: Any) -> None:
    """Wait until charts are drawn: the browser tells what is in view with a frame, and that is drawn with the next."""
    page.evaluate("async () => { for (let i = 0; i < 6; i++) await new Promise(requestAnimationFrame) }")


def test_the_page_opens_with_a_run_and_talks_to_its_server_only(live: Live, server: Server) -> None:
    page = live.page
    assert page.locator(".charts canvas").count() == 6
    assert "Mbit/s" in page.locator(".verdict").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") == page.viewport_size["width"]
    assert live.said == []
    there = f"http://127.0.0.1:{server.port}/"
    assert [url for url in live.asked if not url.startswith((there, "data:", "blob:"))] == []


def test_axe_finds_nothing_serious(live: Live) -> None:
    page = live.page
    live.field("path.rate").fill("40")
    live.wrong("path.rate")
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    assert serious(page) == []


def test_every_error_is_the_scenarios_own_beside_its_field(desktop: Live) -> None:
    for key, value in {"path.rate": "40", "path.buffer": "1", "flow[1].start": "soon", "seed": "-1"}.items():
        good = desktop.field(key).input_value()
        desktop.field(key).fill(value)
        said = desktop.wrong(key)
        tables: dict[str, Any] = {"duration": "1s", "path": {"rate": "1Mbps", "rtt": "1ms"}, "flow": [{"cca": "cubic"}, {"cca": "bbr"}]}  # fmt: skip
        *at, last = re.sub(r"\[(\d)\]", r".\1", key).split(".")
        table: Any = tables
        for step in at:
            table = table[int(step)] if step.isdecimal() else table[step]
        table[last] = int(value) if re.fullmatch(r"-?\d+", value) else value
        with pytest.raises(dumbbell.ScenarioError) as error:
            dumbbell.plan.runs(dumbbell.from_dict(tables))
        assert error.value.key == key
        assert said.removeprefix("⚠ ").strip() == error.value.problem
        assert desktop.page.get_by_role("button", name="Run", exact=True).is_disabled()
        desktop.field(key).fill(good)
        desktop.page.wait_for_selector(f'[data-key="{key}"]:not([aria-invalid])')


def test_a_handle_runs_a_short_scenario_at_once(desktop: Live) -> None:
    before = desktop.count()
    verdict = desktop.page.locator(".verdict").inner_text()
    handle = desktop.page.get_by_label("Buffer, handle")
    handle.focus()
    for _ in range(30):
        desktop.page.keyboard.press("ArrowRight")
    desktop.counted(before + 1)
    desktop.page.wait_for_function("was => document.querySelector('.verdict').innerText !== was", arg=verdict)
    assert desktop.field("path.buffer").input_value() != "1bdp"
    assert desktop.said == []


def test_the_figures_are_those_of_the_folder(desktop: Live, server: Server) -> None:
    desktop.field("duration").fill("7s")
    desktop.field("name").fill("mine")
    desktop.run()
    result = dumbbell.load(server.out / "mine-1")[0]
    share = result.summary.flows[1].goodput_mbps
    desktop.page.wait_for_function(
        "text => document.querySelector('.verdict').innerText.includes(text)", arg=f"BBR got {share:.2f} Mbit/s"
    )


def test_a_run_fills_the_charts_is_paused_scrubbed_and_cancelled(desktop: Live) -> None:
    page = desktop.page
    page.get_by_label("run when a handle moves").uncheck()
    desktop.field("path.rate").fill("1Gbps")
    desktop.field("duration").fill("300s")
    desktop.field("name").fill("long")
    page.wait_for_function("() => !document.querySelector('button.main').disabled")
    page.get_by_role("button", name="Run", exact=True).click()
    shown = "+document.querySelector('.clock').textContent.split(' ')[0]"
    page.wait_for_function(f"() => document.querySelector('.clock').textContent.includes('of 300 s') && {shown} > 0.5")
    page.wait_for_function("() => document.querySelector('progress').value > 0")
    assert "BDP" in page.locator(".charts figure", has_text="In flight").locator(".keys").inner_text()
    page.get_by_role("button", name="Pause").click()
    at = page.evaluate(shown)
    page.wait_for_timeout(300)
    assert page.evaluate(shown) == at
    page.get_by_label("Time shown").focus()
    page.keyboard.press("Home")
    page.wait_for_function(f"() => {shown} === 0")
    page.get_by_label("Speed").focus()
    page.keyboard.press("ArrowLeft")
    assert "s a second" in page.locator(".player").inner_text()
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_function("() => document.querySelector('.said').textContent === 'cancelled'")
    assert page.locator(".verdict p").count() == 0  # nothing is said of a run that is not there


def test_a_zoom_stays_while_points_come_in_and_in_the_next_run(desktop: Live) -> None:
    page = desktop.page
    desktop.field("duration").fill("60s")
    desktop.run()
    page.get_by_label("Speed").fill("7")  # 20 s a second
    chart = page.locator(".charts [role=application]").first
    chart.focus()
    page.keyboard.press("+")
    page.get_by_label("Time shown").focus()
    page.keyboard.press("Home")
    frames(page)
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("() => parseFloat(document.querySelector('.clock').textContent) > 40")
    assert leftmost_and_rightmost(chart) == pytest.approx((15, 45), abs=1.5)
    desktop.run()
    page.wait_for_selector(".charts figure")
    frames(page)
    assert leftmost_and_rightmost(page.locator(".charts [role=application]").first) == pytest.approx((15, 45), abs=1.5)


def test_the_focus_and_its_keys_stay_on_a_chart_when_its_run_has_ended(desktop: Live) -> None:
    """Charts of a finished run take the place of those that filled, whenever its figures come."""
    page = desktop.page
    page.evaluate(
        "() => { const plain = window.fetch; const held = new Promise((go) => (window.release = go));"
        " window.fetch = async (url, ...rest) => { if (url.includes('/api/document')) await held;"
        " return plain(url, ...rest); }; }"
    )
    desktop.field("duration").fill("60s")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function("() => document.querySelector('.clock').textContent === '60.0 of 60 s'")
    frames(page)
    page.locator(".charts [role=application]").first.focus()
    page.evaluate("window.release()")
    page.wait_for_function("() => document.querySelector('progress').hidden")
    frames(page)
    page.keyboard.press("+")
    assert page.evaluate("document.activeElement.ariaLabel").startswith("Goodput")
    frames(page)
    chart = page.locator(".charts [role=application]").first
    assert leftmost_and_rightmost(chart) == pytest.approx((15, 45), abs=1.5)


def leftmost_and_rightmost(chart: Any) -> tuple[float, float]:
    """The times, s, that the cursor of a chart reaches with the arrow keys."""
    chart.focus()
    read = chart.locator("xpath=..").locator(".readout")
    found = []
    for key in ("ArrowLeft", "ArrowRight"):
        for _ in range(110):
            chart.press(key)
        found.append(float(read.inner_text().split(" s:")[0]))
    return found[0], found[1]


def test_runs_lie_over_each_other_and_make_one_report(desktop: Live) -> None:
    page = desktop.page
    page.get_by_role("button", name="Keep on screen").click()
    page.get_by_role("button", name="Another seed").click()
    page.wait_for_function("() => document.querySelectorAll('.past input:checked').length === 2")
    assert desktop.field("seed").input_value() == "2"
    page.wait_for_function("() => document.querySelectorAll('section > div > .keys .key').length === 4")
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Report", exact=True).click()
    report = opened.value
    report.wait_for_selector("html[data-ready]")
    report.evaluate("document.querySelector('#time details').open = true")
    assert report.locator("#time canvas").count() == 6
    assert report.locator("h2").first.inner_text()


def test_a_link_a_file_and_the_gallery_bring_a_scenario(
    desktop: Live, browser: Any, server: Server, tmp_path: Path
) -> None:
    page = desktop.page
    desktop.field("path.rate").fill("13Mbps")
    page.wait_for_function(
        "() => atob(location.hash.slice(10).replaceAll('-', '+').replaceAll('_', '/')).includes('13Mbps')"
    )
    fragment = page.evaluate("location.hash")
    other = Live(browser, server, "phone", "dark", fragment)
    assert other.field("path.rate").input_value() == "13Mbps"
    other.page.close()

    page.get_by_text("Scenario file, command, import").click()
    with page.expect_download() as waited:
        page.get_by_role("button", name="Save as a file").click()
    waited.value.save_as(tmp_path / "saved.toml")
    assert dumbbell.from_file(tmp_path / "saved.toml").scenario.path.rate == 13_000_000

    (tmp_path / "mine.toml").write_text(
        'duration = "3s"\npath = { rate = "9Mbps", rtt = "5ms" }\nflow = [{ cca = "bbr3" }]\n'
    )
    page.get_by_label("Open a scenario file").set_input_files(tmp_path / "mine.toml")
    page.wait_for_function("() => document.querySelector('[data-key=\"path.rate\"]').value === '9Mbps'")
    assert desktop.field("flow[0].cca").input_value() == "bbr3"

    page.get_by_role("button", name="Gallery", exact=True).click()
    page.get_by_role("button", name="lossy-link", exact=True).click()
    page.wait_for_function("() => document.querySelector('[data-key=\"name\"]').value === 'lossy-link'")
    page.wait_for_function("() => document.querySelector('pre code').textContent.includes('dumbbell new lossy-link')")


def test_a_scenario_from_a_link_is_never_read_as_html(browser: Any, server: Server) -> None:
    name = "<img src=x onerror=alert(1)>"
    tables = {
        "name": "x",
        "duration": "2s",
        "path": {"rate": name, "rtt": "10ms"},
        "flow": [{"cca": "cubic", "name": name}],
    }
    packed = base64.urlsafe_b64encode(json.dumps({"tables": tables}).encode()).decode().rstrip("=")
    page = browser.new_page()
    page.goto(f"{server.url}#scenario={packed}")
    page.wait_for_selector('[data-key="path.rate"][aria-invalid]')
    assert page.locator("img").count() == 0
    page.close()


def test_the_keyboard_alone_builds_runs_and_looks(desktop: Live) -> None:
    page = desktop.page
    before = desktop.count()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.part") == "delay":
            break
    page.keyboard.press("Enter")  # opens the part's fields, the first of which has the focus
    assert page.evaluate("document.activeElement.dataset.key") == "path.rtt"
    page.keyboard.press("Control+A")
    page.keyboard.type("15ms")
    page.keyboard.press("Control+Enter")
    desktop.counted(before + 1)
    chart = page.locator(".charts [role=application]").first
    frames(page)
    chart.focus()
    page.keyboard.press("ArrowRight")
    assert " s: " in page.locator(".charts .readout").first.inner_text()


def test_the_answer_is_above_the_fold_and_on_a_phone_before_the_form(browser: Any, server: Server) -> None:
    for size, fold, first in (("desktop", 900, 3), ("phone", 844, 1)):
        live = Live(browser, server, size, "light")
        page = live.page
        page.set_viewport_size({"width": 1400 if size == "desktop" else 390, "height": fold})
        page.evaluate("document.querySelector('.fields-fold').open = false; scrollTo(0, 0)")
        frames(page)
        charts = [page.locator(".charts .drawing").nth(i).bounding_box() for i in range(first)]
        heads = page.locator(".charts h3").all_inner_texts()[:3]
        assert heads == ["Goodput", "RTT", "Time in the bottleneck's queue"]
        assert all(chart["y"] + (chart["height"] if size == "desktop" else 0) < fold for chart in charts), charts
        assert len({round(chart["y"]) for chart in charts}) == 1
        assert not page.locator("progress").is_visible()
        live.page.close()


def test_the_drawing_is_the_builder_and_the_axes_and_the_run_before_stay(desktop: Live) -> None:
    page = desktop.page
    page.evaluate("document.querySelector('.fields-fold').open = false")
    queue = page.get_by_role("button", name="Buffer and queue discipline: 1bdp fifo")
    queue.press("Enter")
    assert queue.get_attribute("aria-expanded") == "true"
    field = page.get_by_label("Buffer", exact=True)
    before = desktop.count()
    field.fill("0.5bdp")
    page.keyboard.press("Control+Enter")
    desktop.counted(before + 1)
    assert "0.5bdp" in page.locator('[data-part="queue"]').inner_text()
    page.get_by_text("pale: the run before").wait_for()
    field.fill("nonsense")
    desktop.wrong("path.buffer")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.part") == "queue"
    assert desktop.field("path.buffer").count() == 1  # the one field went back into the form


def test_no_rate_is_above_the_links_without_a_word(desktop: Live) -> None:
    page = desktop.page
    page.get_by_role("button", name="Buffer and queue discipline").click()
    page.get_by_label("Buffer", exact=True).fill("8bdp")
    desktop.run()
    page.locator(".charts figcaption", has_text="reach the application together with it").first.wait_for()


def test_flows_are_added_with_parameters_and_removed(desktop: Live) -> None:
    page = desktop.page
    page.get_by_role("button", name="Add a flow").click()
    assert page.evaluate("document.activeElement.dataset.key") == "flow[2].cca"
    desktop.field("flow[2].cca").select_option("vegas")
    page.get_by_text("Parameters of vegas").click()
    first = page.locator('[data-key^="flow[2].params."]').first
    first.fill("999999999")
    page.wait_for_selector('[data-key^="flow[2].params."][aria-invalid]')
    page.get_by_role("button", name="Remove flow 3").click()
    page.wait_for_function("() => !document.querySelector('button.main').disabled")
    assert desktop.field("flow[2].cca").count() == 0


def test_twenty_runs_do_not_fill_the_memory(desktop: Live) -> None:
    page = desktop.page
    for _ in range(20):
        before = desktop.count()
        page.get_by_role("button", name="Another seed").click()
        desktop.counted(before + 1)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    session.send("HeapProfiler.collectGarbage")
    metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    assert metrics["JSHeapUsedSize"] < 100e6
    assert metrics["Nodes"] < 30_000
    assert desktop.said == []


def test_a_chart_out_of_view_shows_the_time_that_was_chosen_meanwhile(desktop: Live) -> None:
    page = desktop.page
    page.get_by_role("heading", name="States of the controllers").wait_for()
    page.get_by_label("Time shown").focus()
    for _ in range(5):
        page.keyboard.press("PageDown")
    page.wait_for_function("() => parseFloat(document.querySelector('.clock').textContent) <= 10.1")
    last = page.locator(".charts figure", has_text="Time in the bottleneck's queue")
    last.scroll_into_view_if_needed()
    frames(page)
    last.locator("[role=application]").focus()
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    read = last.locator(".readout").inner_text()
    assert float(read.split(" s:")[0]) <= 10.1 or read == "20 s:", read  # there are no points from 10 s to the end


def test_a_server_that_is_gone_is_said(browser: Any, tmp_path: Path) -> None:
    with serving(tmp_path / "out") as server:
        gone = Live(browser, server, "desktop", "light")
    gone.page.get_by_role("button", name="Run", exact=True).click()
    gone.page.wait_for_function("() => document.querySelector('.said').textContent.includes('does not answer')")
    gone.page.close()
