"""Each kind of report in a browser (headless Chromium): of a run, a sweep, a comparison, a difference; on a desktop and a
phone, light and dark: the answer first, nothing cut, one run's charts last, no word on the console, no fault for axe.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import dumbbell
from browsing import SIZES, Opened, browser, cut_texts, serious
from dumbbell import backends
from dumbbell.backends import sim
from dumbbell.cli import main

__all__ = ["browser"]

SWEEP = """
name = "buffers"
duration = "2s"
repetitions = 2
path = { rate = "10Mbps", rtt = "20ms", buffer = ["0.5bdp", "1bdp", "4bdp"], qdisc = ["fifo", "codel"] }
host = { start_jitter = "200ms" }
flow = [{ cca = "cubic" }, { cca = "bbr3", name = "a name that is longer than others" }]
"""
ONE = SWEEP.replace('["0.5bdp", "1bdp", "4bdp"]', '"1bdp"').replace('["fifo", "codel"]', '"fifo"')
#: How the first sentence of each kind begins.
FIRST = {
    "run": "CUBIC got",
    "sweep": "fifo: From buffer 0.5 BDP to 4 BDP",
    "comparison": "sim against twin: ",
    "difference": "From sweep to faster: ",
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The page of each kind."""
    place = tmp_path_factory.mktemp("kinds")
    dumbbell.run(dumbbell.from_text(ONE.replace("repetitions = 2", "")), place / "one")
    dumbbell.run(dumbbell.from_text(SWEEP), place / "sweep")
    dumbbell.run(dumbbell.from_text(SWEEP.replace("10Mbps", "12Mbps")), place / "faster")
    (place / "x.toml").write_text(SWEEP.replace('["fifo", "codel"]', '"fifo"'))
    with pytest.MonkeyPatch.context() as patched:
        # The simulator stands in for the other back end.
        twin = ModuleType("dumbbell.backends.twin")
        vars(twin).update(run=sim.run, check=sim.check)
        patched.setitem(sys.modules, twin.__name__, twin)
        patched.setitem(backends.KINDS, "twin", backends.Kind("backends.twin", is_real_time=False))
        main(["compare", str(place / "x.toml"), "--on", "sim,twin", "--out", str(place / "compared"), "-q"])
    folders = {"run": ["one"], "sweep": ["sweep"], "comparison": ["compared"], "difference": ["sweep", "faster"]}
    made = {kind: place / f"{kind}.html" for kind in folders}
    for kind, names in folders.items():
        assert main(["report", *(str(place / name) for name in names), "-o", str(made[kind])]) == 0
    return made


@pytest.fixture(params=[(size, scheme) for size in SIZES for scheme in ("light", "dark")], ids="-".join)
def opened(request: pytest.FixtureRequest, browser: Any, reports: dict[str, Path], kind: str) -> Iterator[Opened]:
    made = Opened(browser, *request.param)
    made.page.goto(reports[kind].as_uri())
    made.page.wait_for_selector("html[data-ready]")
    yield made
    made.page.close()


@pytest.mark.parametrize("kind", FIRST)
def test_a_report_keeps_what_every_report_promises(opened: Opened, kind: str) -> None:
    page = opened.page
    read = [text for text in page.locator("main").inner_text().splitlines() if text.strip()]
    assert read[1].startswith(FIRST[kind]), "after the title comes the answer"
    titles = page.locator("h2").all_inner_texts()
    (time,) = [title for title in titles if title.startswith("Over time")]
    assert page.locator("#time canvas").count() == (6 if kind == "run" else 0)
    assert titles.index(time) == (1 if kind == "run" else len(titles) - 2), "before where it comes from"

    page.evaluate("for (const fold of document.querySelectorAll('details:not(.numbers)')) fold.open = true")
    page.wait_for_selector("#time canvas")
    page.wait_for_function("() => document.querySelectorAll('#time svg[role=img]').length > 0")
    assert page.evaluate("document.documentElement.scrollWidth") == page.viewport_size["width"]
    assert cut_texts(page) == []
    assert serious(page) == []
    assert opened.said == []


@pytest.mark.parametrize("kind", ["comparison", "difference"])
def test_a_verdict_and_a_change_are_read_without_scrolling_sideways(
    browser: Any, reports: dict[str, Path], kind: str
) -> None:
    opened = Opened(browser, "phone", "light")
    opened.page.goto(reports[kind].as_uri())
    opened.page.wait_for_selector("html[data-ready]")
    opened.page.evaluate("for (const fold of document.querySelectorAll('details:not(.numbers)')) fold.open = true")
    part = {"comparison": "#comparison", "difference": "#changes"}[kind]
    wide = opened.page.evaluate(
        "part => [...document.querySelectorAll(`${part} .scroll`)].filter((one) => one.scrollWidth > one.clientWidth)"
        ".map((one) => one.ariaLabel)",
        part,
    )
    opened.page.close()
    assert wide == []


def test_a_comparison_names_its_reference_first_everywhere(browser: Any, reports: dict[str, Path]) -> None:
    opened = Opened(browser, "desktop", "light")
    opened.page.goto(reports["comparison"].as_uri())
    opened.page.wait_for_selector("html[data-ready]")
    assert opened.page.locator("#figures tbody tr > :first-child").first.inner_text() == "sim"
    keys = opened.page.locator("#sweep .key").all_inner_texts()
    opened.page.close()
    assert keys[0].endswith("on sim"), keys


def test_charts_beside_each_other_have_one_axis_of_time(browser: Any, reports: dict[str, Path]) -> None:
    opened = Opened(browser, "desktop", "light")
    opened.page.goto(reports["run"].as_uri())
    opened.page.wait_for_selector("#time canvas")
    ends = []
    for chart in opened.page.locator("#time [role=application]").all():
        chart.focus()
        for key in ["ArrowLeft"] * 60:
            chart.press(key)
        ends.append(chart.locator("xpath=..").locator(".readout").inner_text().split(" s:")[0])
    opened.page.close()
    assert set(ends) == {"0"}, ends
