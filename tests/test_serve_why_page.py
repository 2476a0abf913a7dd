"""Why flows got what they got, on the live page in a browser: below the answer, and at a time that is clicked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from browsing import browser, serious
from live_page import Live, desktop, live, server
from serving import Server, serving

__all__ = ["browser", "desktop", "live", "server"]


def over(page: Any) -> dict[str, float]:
    """The place of the first chart's lines."""
    chart = page.locator(".charts figure .u-over").first
    chart.scroll_into_view_if_needed()
    box: dict[str, float] = chart.bounding_box()
    return box


def click(page: Any, part: float) -> None:
    """Click the first chart at this part of its width."""
    box = over(page)
    page.mouse.click(box["x"] + part * box["width"], box["y"] + box["height"] / 2)


def told(page: Any) -> list[str]:
    """What is said of a time, when it is there."""
    page.wait_for_selector(".why-here p")
    page.wait_for_function("() => !document.querySelector('.why-here').innerText.includes('\u2026')")
    return [str(text) for text in page.locator(".why-here p").all_inner_texts()]


def test_the_answer_says_why(live: Live, server: Server) -> None:
    page = live.page
    page.wait_for_selector(".why p")
    why = page.locator(".why p").first.inner_text()
    newest = server.json("/api/runs")["runs"][0]["id"]
    assert why == "Why: " + " ".join(server.json("/api/why", {"run": newest})["sentences"])
    assert page.evaluate("document.documentElement.scrollWidth") == page.viewport_size["width"]


def test_a_click_asks_why_there(live: Live, server: Server) -> None:
    page = live.page
    click(page, 0.3)
    said = told(page)
    newest = server.json("/api/runs")["runs"][0]["id"]
    at = float(page.locator(".why-here strong").first.inner_text().split()[2])
    assert 5 < at < 7  # of 20 s
    assert said == server.json("/api/why", {"run": newest, "at": at})["sentences"]
    assert serious(page) == []
    page.get_by_role("button", name="Close").click()
    assert page.locator(".why-here").is_hidden()
    assert live.said == []


def test_a_drag_and_a_double_click_zoom_and_do_not_ask(desktop: Live) -> None:
    page = desktop.page
    box = over(page)
    page.mouse.move(box["x"] + 50, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 150, box["y"] + 50, steps=5)
    page.mouse.up()
    page.mouse.dblclick(box["x"] + 80, box["y"] + 50)
    page.wait_for_timeout(600)
    assert page.locator(".why-here").is_hidden()


def test_the_keyboard_asks_too(desktop: Live) -> None:
    page = desktop.page
    chart = page.locator(".charts [role=application]").first
    chart.focus()
    chart.press("Enter")
    assert told(page)
    assert page.locator(".why-here strong").first.inner_text().startswith("Why at ")


def test_the_next_run_takes_the_answer_away(desktop: Live) -> None:
    page = desktop.page
    click(page, 0.5)
    told(page)
    desktop.run()
    assert page.locator(".why-here").is_hidden()
    page.wait_for_selector(".why p")


def test_each_run_on_screen_is_told(desktop: Live) -> None:
    page = desktop.page
    page.get_by_role("button", name="Keep on screen").click()
    desktop.field("path.buffer").fill("2bdp")
    desktop.run()
    page.wait_for_selector(".why p")
    whole = page.locator(".why p:not(.note)").all_inner_texts()
    assert len(whole) == 2
    assert all(text.startswith("Why, live-") for text in whole)
    assert whole[0] != whole[1]


def test_a_page_that_watches_does_not_ask(browser: Any, tmp_path: Path) -> None:
    with serving(tmp_path / "out", "--seats", "1") as made:
        assert made.process.stdout is not None
        links = dict(made.process.stdout.readline().strip().split(": ", 1) for _ in range(2))
        own = Live(browser, made, "desktop", "light")
        page = browser.new_page()
        page.goto(links["watch"])
        page.wait_for_selector(".verdict p")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        click(page, 0.5)
        page.wait_for_timeout(800)
        assert page.locator(".why-here").is_hidden()
        assert not [url for url in asked if "/api/why" in url]
        page.close()
        own.page.close()
