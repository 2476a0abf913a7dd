"""The live page, open in a browser, for tests; and its fixtures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from browsing import SIZES, Opened, browser
from serving import Server, serving

__all__ = ["browser"]

#: How long the page may take, ms: nothing is measured by it. The first server and browser of a module take a third of
#: this where other tests leave them a quarter of a core.
LOOK_MS = 60_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("live") / "out") as made:
        yield made


class Live(Opened):
    """The live page, open."""

    def __init__(
        self, browser: Any, server: Server, size: str, scheme: str, fragment: str = "", *, at: str = ""
    ) -> None:
        """`at`: the address; that of whoever runs the server unless given."""
        super().__init__(browser, size, scheme)
        self.page.set_default_timeout(LOOK_MS)
        self.page.goto((at or server.url) + fragment)
        self.ready()

    def ready(self) -> None:
        """Wait for the first run's verdict."""
        self.page.wait_for_selector("html[data-ready]")
        self.page.wait_for_selector(".verdict p")
        self.open_fields()

    def open_fields(self) -> None:
        """Unfold the form of all fields."""
        self.page.evaluate("document.querySelector('.fields-fold').open = true")

    def field(self, key: str) -> Any:
        """The field of a key."""
        return self.page.locator(f'[data-key="{key}"]')

    def wrong(self, key: str) -> str:
        """The message beside a field."""
        field = self.field(key)
        self.page.wait_for_selector(f'[data-key="{key}"][aria-invalid]')
        return str(self.page.locator(f"#{field.get_attribute('aria-describedby')}").inner_text())

    def run(self) -> None:
        """Run, and wait for the verdict of that run."""
        before = self.count()
        self.page.get_by_role("button", name="Run", exact=True).click()
        self.counted(before + 1)

    def count(self) -> int:
        """How many finished runs the page knows."""
        return int(re.findall(r"\d+", self.page.locator(".past summary").inner_text())[0])

    def counted(self, least: int) -> None:
        """Wait until the page knows at least this many finished runs, and shows the last of them: its charts are others
        than those that filled while it ran.
        """
        self.page.wait_for_function(
            "least => +document.querySelector('.past summary').textContent.match(/\\d+/)[0] >= least", arg=least
        )
        self.page.wait_for_function("() => document.querySelector('progress').hidden")
        self.page.wait_for_selector(".verdict p")


@pytest.fixture(params=[(size, scheme) for size in SIZES for scheme in ("light", "dark")], ids="-".join)
def live(request: pytest.FixtureRequest, browser: Any, server: Server) -> Iterator[Live]:
    made = Live(browser, server, *request.param)
    yield made
    made.page.close()


@pytest.fixture
def desktop(browser: Any, server: Server) -> Iterator[Live]:
    made = Live(browser, server, "desktop", "light")
    yield made
    made.page.close()
