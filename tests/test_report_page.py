"""The page of `dumbbell report` in a browser (headless Chromium): desktop and phone, light and dark, by keyboard alone,
for screen readers, saved figures, no request to anywhere.

Without Chromium, or without axe-core in web/node_modules, the tests that need them are left out and say so; in CI that is
a failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from browsing import SIZES, Opened, browser, serious
from dumbbell.cli import main

__all__ = ["browser"]

SWEEP = """
name = "sweep"
duration = "4s"
repetitions = 3
path = { rate = "10Mbps", rtt = "20ms", buffer = ["0.5bdp", "8bdp"] }
host = { start_jitter = "200ms" }
flow = [{ cca = ["cubic", "reno"] }, { cca = "bbr", name = "<img src=x onerror=alert(1)>" }]
"""
MANY = """
name = "many"
duration = "3s"
path = { rate = "50Mbps", rtt = "20ms", buffer = "1bdp" }
flow = [{ cca = "cubic", count = 12 }, { cca = "reno", name = "web", arrivals = { rate = "5/s", sizes = "30kB" } }]
"""


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep with repetitions beside a run of many flows."""
    place = tmp_path_factory.mktemp("page")
    dumbbell.run(dumbbell.from_text(SWEEP), place / "sweep")
    dumbbell.run(dumbbell.from_text(MANY), place / "many")
    assert main(["report", str(place / "sweep"), str(place / "many"), "-o", str(place / "page.html")]) == 0
    return place / "page.html"


def open_file(browser: Any, file: Path, size: str, scheme: str) -> Opened:
    made = Opened(browser, size, scheme)
    made.page.goto(file.as_uri())
    made.page.wait_for_selector("html[data-ready]")
    return made


@pytest.fixture(params=[(size, scheme) for size in SIZES for scheme in ("light", "dark")], ids="-".join)
def opened(request: pytest.FixtureRequest, browser: Any, page_file: Path) -> Iterator[Opened]:
    made = open_file(browser, page_file, *request.param)
    yield made
    made.page.close()


@pytest.fixture
def desktop(browser: Any, page_file: Path) -> Iterator[Opened]:
    made = open_file(browser, page_file, "desktop", "light")
    yield made
    made.page.close()


def test_one_run_of_each_folder_is_drawn_at_first_whatever_their_names(browser: Any, tmp_path: Path) -> None:
    """Also where a folder's name is part of what the other's runs are called: B of BDP."""
    text = SWEEP.replace("repetitions = 3", "repetitions = 1").replace('"4s"', '"1s"')
    for name in ("A", "B"):
        dumbbell.run(dumbbell.from_text(text), tmp_path / name)
    assert main(["report", str(tmp_path / "A"), str(tmp_path / "B"), "-o", str(tmp_path / "ab.html")]) == 0
    opened = open_file(browser, tmp_path / "ab.html", "desktop", "light")
    try:
        unfold(opened.page)
        chosen = opened.page.locator("#time fieldset.runs label:has(input:checked)").all_inner_texts()
        assert [label.split(",")[0].strip() for label in chosen] == ["A", "B"], chosen
    finally:
        opened.page.close()


def test_the_page_shows_every_section_and_asks_for_nothing(opened: Opened, page_file: Path) -> None:
    page = opened.page
    unfold(page)
    heads = page.locator("h2").all_inner_texts()
    (time,) = [head for head in heads if head.startswith("Over time: ")]
    assert "of 13 runs)" in time, time
    assert [head for head in heads if not head.startswith("From ")] == [
        "What varies", "Why", "Figures", "Repetitions", "Distributions", "Path", time, "Where this comes from",
    ]  # fmt: skip
    assert page.locator("#time canvas").count() == 6
    assert page.locator("#path svg[role=img]").count() == 2
    # It may scroll down only: tables and drawings that are wider scroll by themselves.
    assert page.evaluate("document.documentElement.scrollWidth") == page.viewport_size["width"]
    assert opened.said == []
    assert [url for url in opened.asked if not url.startswith(("data:", "blob:"))] == [page_file.as_uri()]
    assert page.title() == "sweep, many · Dumbbell"


def unfold(page: Any) -> None:
    """Open the charts of one run, which come last."""
    page.evaluate("for (const one of document.querySelectorAll('details.folded')) one.open = true")
    page.wait_for_selector("#time canvas")
    page.evaluate("for (const one of document.querySelectorAll('#time details:has(fieldset)')) one.open = true")


def test_axe_finds_nothing_serious(opened: Opened) -> None:
    page = opened.page
    unfold(page)
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    assert serious(page) == []


def test_a_sweep_begins_with_its_answer_and_one_runs_charts_are_folded(browser: Any, page_file: Path) -> None:
    folder = page_file.parent / "sweep"
    assert main(["report", str(folder)]) == 0
    for size in SIZES:
        opened = open_file(browser, folder / "report.html", size, "dark")
        page = opened.page
        first = page.locator(".verdict p").first.inner_text()
        assert first.startswith("From buffer 0.5 BDP to 8 BDP") or "From buffer 0.5 BDP to 8 BDP" in first
        assert page.locator("h2").first.inner_text() == "What varies"
        assert page.locator("#time details").get_attribute("open") is None
        assert page.locator("#time canvas").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") == page.viewport_size["width"]
        assert serious(page) == []
        page.close()


def test_every_value_of_a_sweep_stands_below_its_axis(desktop: Opened) -> None:
    figure = desktop.page.locator(
        "figure", has=desktop.page.get_by_role("heading", name="Goodput against Buffer (BDP)")
    )
    labels = figure.locator("svg text").all_text_contents()
    after = labels[labels.index("0.5") :]  # those above are of the other axis
    assert after[:2] == ["0.5", "8"]


def test_a_name_is_never_read_as_html(desktop: Opened) -> None:
    assert desktop.page.locator("img").count() == 0
    assert "<img src=x" in desktop.page.locator("#figures tbody").inner_text()


def test_the_keyboard_alone_sorts_the_table_and_moves_through_a_chart(desktop: Opened) -> None:
    page = desktop.page
    heading = page.locator('#figures button[data-by="goodput"]')
    heading.focus()
    column = page.locator("#figures thead th").all_inner_texts().index("goodput, Mbit/s")

    def goodputs() -> list[float]:
        cells = page.locator(f"#figures tbody tr > :nth-child({column + 1})").all_inner_texts()
        return [float(cell.split()[0]) for cell in cells]

    assert goodputs() != sorted(goodputs())
    page.keyboard.press("Enter")
    assert goodputs() == sorted(goodputs(), reverse=True)
    assert page.locator('#figures th[aria-sort="descending"]').count() == 1
    page.keyboard.press("Enter")
    assert goodputs() == sorted(goodputs())

    unfold(page)
    chart = page.locator("#time [role=application]").first
    chart.focus()
    page.keyboard.press("ArrowRight")
    first = page.locator("#time .readout").all_inner_texts()
    assert " s: " in first[0]
    assert all(text.split(" s: ")[0] for text in first[:5])  # one cursor for all charts
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    assert page.locator("#time .readout").first.inner_text() != first[0]


def test_chosen_runs_are_drawn_one_over_the_other(desktop: Opened) -> None:
    page = desktop.page
    unfold(page)
    boxes = page.locator("#time fieldset input")
    before = page.locator("#time .keys").first.locator(".key").count()
    page.evaluate("document.querySelector('#time details').open = true")
    free = next(i for i in range(boxes.count()) if not boxes.nth(i).is_checked())
    boxes.nth(free).check()
    assert page.locator("#time .keys").first.locator(".key").count() == before + 2


def test_a_figure_is_saved_as_png_svg_and_csv(desktop: Opened, tmp_path: Path) -> None:
    page = desktop.page
    unfold(page)
    for section in ("#time", "#sweep"):
        figure = page.locator(f"{section} figure").first
        for kind, begins in (("PNG", b"\x89PNG"), ("SVG", b"<svg"), ("CSV", b"")):
            with page.expect_download() as waited:
                figure.locator(".save summary").click()
                figure.locator(f".save button:text-is('{kind}')").click()
            waited.value.save_as(tmp_path / "file")
            content = (tmp_path / "file").read_bytes()
            assert content.startswith(begins)
            assert len(content) > 300
            if kind == "CSV" and section == "#time":
                assert content.startswith(b"series,time_s,value (Mbit/s)\n")
    assert desktop.said == []


def test_a_reader_turns_the_page_dark(desktop: Opened) -> None:
    page = desktop.page
    page.get_by_role("button", name="Dark page").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 29)"
    assert desktop.said == []


def test_the_policy_of_the_page_refuses_other_programs(desktop: Opened) -> None:
    refused = desktop.page.evaluate(
        "() => { const one = document.createElement('script'); one.textContent = 'window.ran = 1';"
        " document.body.append(one); return window.ran === undefined; }"
    )
    assert refused
    assert any("Content Security Policy" in text for text in desktop.said)


def test_two_folders_share_a_reference_and_each_has_its_own_drops(browser: Any, tmp_path: Path) -> None:
    pair = SWEEP.replace('["0.5bdp", "8bdp"]', '"0.5bdp"').replace('["cubic", "reno"]', '"cubic"')
    for name, seed in [("one", 1), ("two", 2)]:
        text = f"seed = {seed}\n" + pair.replace("repetitions = 3", "")
        dumbbell.run(dumbbell.from_text(text), tmp_path / name)
    page_file = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "one"), str(tmp_path / "two"), "-o", str(page_file)]) == 0
    opened = open_file(browser, page_file, "desktop", "light")
    unfold(opened.page)
    keys = {
        one.locator("h3").inner_text(): one.locator(".keys").first.locator(".key").all_inner_texts()
        for one in opened.page.locator("#time figure").all()
        if one.locator("h3").count() and one.locator(".keys").count()
    }
    assert keys["Goodput"] == ["link rate"]
    assert keys["In flight"] == ["BDP"]
    drops = [text for text in keys["Time in the bottleneck's queue"] if text.startswith("drops")]
    assert drops == ["drops · one, at the top", "drops · two, at the top"]
    opened.page.close()
