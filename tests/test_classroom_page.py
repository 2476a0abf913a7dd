"""A class in a browser (headless Chromium): the page of a seat, of who shares, and the one that watches; on a desktop and a
phone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from browsing import SIZES, browser, serious
from live_page import LOOK_MS, Live
from serving import Server, serving

__all__ = ["browser"]


class Class(NamedTuple):
    """A server with seats, and the links that it printed."""

    server: Server
    links: dict[str, str]

    def folders(self, room: str = "") -> list[str]:
        """Names of the results of a room; those of whoever runs the class unless given."""
        place = self.server.out / room
        return sorted(folder.name for folder in place.iterdir() if (folder / ".dumbbell-serve").is_file())


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Class]:
    with serving(tmp_path_factory.mktemp("class") / "out", "--seats", "2") as server:
        assert server.process.stdout is not None
        links = dict(server.process.stdout.readline().strip().split(": ", 1) for _ in range(3))
        yield Class(server, links)


@pytest.fixture(params=SIZES)
def size(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_seat_opens_with_its_link_and_runs_into_its_own_folder(browser: Any, lesson: Class, size: str) -> None:
    own = lesson.folders()
    seat = Live(browser, lesson.server, size, "light", at=lesson.links["seat-1"])
    before = lesson.folders("seat-1")
    assert "seat-1" in seat.page.locator("h1").inner_text()
    assert seat.page.get_by_role("button", name="Share with the class").count() == 0
    seat.field("name").fill(f"of-a-{size}")
    seat.run()
    seat.page.wait_for_function("() => document.querySelector('.verdict').textContent.includes('Mbit/s')")
    assert set(lesson.folders("seat-1")) - set(before) == {f"of-a-{size}-1"}
    assert lesson.folders() == own
    assert seat.page.evaluate("document.documentElement.scrollWidth") == seat.page.viewport_size["width"]
    assert serious(seat.page) == []
    assert seat.said == []
    seat.page.close()


def test_without_a_token_or_with_a_wrong_one_nothing_opens(browser: Any, lesson: Class, size: str) -> None:
    place, _, token = lesson.links["seat-1"].rpartition("=")
    page = browser.new_page(viewport=SIZES[size])
    for address in (f"{place}=", f"{place}={token[:-1]}", place.partition("?")[0]):
        answer = page.goto(address)
        assert answer.status == 403
        assert "open the URL that" in page.locator("body").inner_text()
        assert page.get_by_role("button").count() == 0
    page.close()


def test_a_seats_link_opens_no_report_of_another_seat(browser: Any, lesson: Class) -> None:
    seat = Live(browser, lesson.server, "desktop", "light", at=lesson.links["seat-1"])
    (own, *_) = lesson.folders("seat-1")
    address = seat.page.get_by_role("link", name="Report", exact=True).get_attribute("href")
    one, two = (link.rpartition("=")[2] for link in (lesson.links["seat-1"], lesson.links["seat-2"]))
    assert one in address
    assert own
    there = f"http://127.0.0.1:{lesson.server.port}{address}"
    assert seat.page.goto(there).status == 200
    assert seat.page.goto(there.replace(one, two)).status == 422
    seat.page.close()


def test_the_watching_page_shows_what_is_run_and_has_nothing_to_run_it_with(
    browser: Any, lesson: Class, size: str
) -> None:
    own = Live(browser, lesson.server, "desktop", "light")
    watch = browser.new_page(viewport=SIZES[size])
    watch.set_default_timeout(LOOK_MS)
    said: list[str] = []
    watch.on("console", lambda message: said.append(message.text))
    watch.on("pageerror", lambda error: said.append(str(error)))
    watch.goto(lesson.links["watch"])
    watch.wait_for_selector(".verdict p")
    assert "this page watches" in watch.locator("h1").inner_text()
    before = watch.locator(".verdict").inner_text()
    own.field("path.rate").fill("7Mbps" if size == "phone" else "9Mbps")
    own.run()
    watch.wait_for_function("was => { const now = document.querySelector('.verdict').innerText; "
                            "return now.includes('Mbit/s') && now !== was; }", arg=before)  # fmt: skip
    own.page.wait_for_function("was => document.querySelector('.verdict').innerText === was",
                               arg=watch.locator(".verdict").inner_text())  # fmt: skip
    for name in ("Run", "Cancel", "Another seed", "Keep on screen", "Gallery", "Share with the class"):
        assert watch.get_by_role("button", name=name, exact=True).count() == 0, name
    count = len(lesson.folders())
    watch.keyboard.press("Control+Enter")
    watch.wait_for_timeout(300)
    assert len(lesson.folders()) == count
    assert watch.evaluate("document.documentElement.scrollWidth") == watch.viewport_size["width"]
    assert serious(watch) == []
    assert said == []
    watch.close()
    own.page.close()


def test_a_run_that_is_shared_is_shown_and_reported_at_every_seat(browser: Any, lesson: Class, size: str) -> None:
    own = Live(browser, lesson.server, size, "light")
    own.field("name").fill(f"shared-{size}")
    own.run()
    own.page.wait_for_function(
        "name => document.querySelector('.past').textContent.includes(name)", arg=f"shared-{size}-1"
    )
    own.page.get_by_role("button", name="Share with the class").click()
    own.page.get_by_text("All seats see").wait_for()
    assert serious(own.page) == []
    seat = Live(browser, lesson.server, size, "light", at=lesson.links["seat-2"])
    seat.page.locator(".past summary").click()
    box = seat.page.get_by_label(f"shared:shared-{size}-1")
    box.check()
    seat.page.wait_for_function("() => document.querySelectorAll('.past input:checked').length === 2")
    with seat.page.context.expect_page() as opened:
        seat.page.get_by_role("link", name="Report", exact=True).click()
    report = opened.value
    report.wait_for_selector("html[data-ready]")
    assert f"shared-{size}" in report.locator("h1").inner_text()
    report.close()
    seat.page.close()
    own.page.close()
