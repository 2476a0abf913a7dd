"""The gallery of the live page: the scenarios that come with the package, and the figures of the papers."""

from __future__ import annotations

from pathlib import Path

import pytest

from browsing import serious
from dumbbell.scenario import gallery
from dumbbell.serve.check import Desk
from dumbbell.serve.figures import figure
from dumbbell.serve.limits import Limits
from dumbbell.suites import ids, text_of
from dumbbell.suites.folders import shipped
from live_page import Live, browser, live, server
from serving import Server

__all__ = ["browser", "live", "server"]


def test_all_figures_of_all_papers_are_there(server: Server) -> None:
    papers = server.json("/api/papers")["papers"]
    found = {paper["id"]: [one["id"] for one in paper["figures"]] for paper in papers}
    assert found == {paper: ids(paper) for paper in shipped()}


def test_a_figure_has_its_claims_and_its_cases(server: Server) -> None:
    found = server.json("/api/figure?id=kfoury2020/fig11a")
    assert found["claims"] == [claim.text for claim in text_of("kfoury2020/fig11a").claims]
    assert found["cases"][0]["label"] == "BBRv1 vs CUBIC, buffer_bdp 0.1"
    assert [flow["cca"] for flow in found["cases"][0]["tables"]["flow"]] == ["bbr", "cubic"]


@pytest.mark.parametrize("paper", shipped())
def test_each_figures_cases_run_on_the_page(paper: str, tmp_path: Path) -> None:
    desk = Desk(tmp_path, Limits())
    for name in ids(paper):
        cases = figure(name)["cases"]  # none where a figure is drawn from the runs of others
        for case in cases[:1] + cases[-1:]:
            assert desk.answer({"tables": case["tables"]})["errors"] == [], name


@pytest.mark.parametrize("name", ["", "all", "kfoury2020", "kfoury2020/fig99", "../x"])
def test_what_is_no_figure_is_refused(server: Server, name: str) -> None:
    status, _, body = server.ask(f"/api/figure?id={name}")
    assert (status, b"wanted" in body) == (422, True)


def test_a_scenario_is_found_by_a_word_and_loaded(live: Live) -> None:
    page = live.page
    page.get_by_role("button", name="Gallery", exact=True).press("Enter")
    assert page.locator(".gallery li button").count() >= len(gallery.entries())
    page.keyboard.type("parking")  # the search has the focus
    page.get_by_role("button", name="parking-lot", exact=True).press("Enter")
    page.wait_for_function("() => document.querySelector('[data-key=\"name\"]').value === 'parking-lot'")
    assert not page.locator("dialog").evaluate("one => one.open")
    assert live.said == []


def test_a_case_of_a_papers_figure_is_found_loaded_and_run(live: Live) -> None:
    page = live.page
    page.get_by_role("button", name="Gallery", exact=True).press("Enter")
    page.wait_for_selector(".gallery details")
    page.keyboard.type("borgli/fig4")
    page.get_by_role("button", name="Fig. 4", exact=True).press("Enter")
    page.get_by_label("Case").select_option(index=1)
    assert page.locator(".figure-cases").evaluate("one => one.scrollWidth <= one.clientWidth")
    page.get_by_role("button", name="Load this case").press("Enter")
    page.wait_for_function("() => document.querySelector('[data-key=\"name\"]').value === 'borgli-fig4'")
    page.wait_for_function("() => !document.querySelector('button.main').disabled")
    live.field("duration").fill("5s")
    live.run()
    assert live.said == []


def test_axe_finds_nothing_serious_in_the_gallery(live: Live) -> None:
    page = live.page
    page.get_by_role("button", name="Gallery", exact=True).press("Enter")
    page.wait_for_selector(".gallery details")
    page.keyboard.type("borgli/fig4")
    page.get_by_role("button", name="Fig. 4", exact=True).press("Enter")
    page.get_by_label("Case").wait_for()
    assert serious(page, "dialog") == []
    page.get_by_label("Case").press("Escape")


def test_escape_leaves_the_gallery_as_it_was(live: Live) -> None:
    page = live.page
    page.get_by_role("button", name="Gallery", exact=True).press("Enter")
    page.keyboard.type("no such word")
    assert page.locator(".gallery").inner_text().endswith("Nothing has this word.")
    page.keyboard.press("Escape")
    assert not page.locator("dialog").evaluate("one => one.open")
    assert page.evaluate("document.activeElement.textContent") == "Gallery"
