"""Pages in a browser (headless Chromium), for tests."""

from __future__ import annotations

import functools
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT

SIZES = {"desktop": {"width": 1200, "height": 900}, "phone": {"width": 390, "height": 844}}
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"


def without(what: str) -> None:
    """Leave the test out where something is missing; in CI it is to be there."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    found = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if found is None:
        without("there is no chromium-headless-shell: tools/system-packages.sh chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield made
        made.close()


@contextmanager
def serving_files(folder: Path, below: str = "") -> Iterator[str]:
    """The address of a server that has a folder's files, below a path such as ``/playground``, and tells nothing but
    their kinds.
    """

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def translate_path(self, path: str) -> str:
            return super().translate_path(path.removeprefix(below))

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}{below}/"
    server.shutdown()
    server.server_close()


def serious(page: Any, part: str = "html") -> list[tuple[str, str]]:
    """What axe-core finds serious or critical in a part of the page: its rule and the element."""
    if not AXE.is_file():
        without("there is no axe-core: tools/web.sh packages")
    # The page's own policy refuses added script elements; the debugger's evaluation is none.
    page.evaluate(AXE.read_text() + "; 0")
    found = page.evaluate("part => axe.run(part, { resultTypes: ['violations'] })", part)
    assert len(found["passes"]) > 10  # it did look
    bad = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in bad]


def cut_texts(page: Any) -> list[list[str]]:
    """Texts of drawings that reach beyond the drawing, which cuts them: its name and the text."""
    found: list[list[str]] = page.evaluate(
        """() => [...document.querySelectorAll("svg[role=img]")].flatMap((drawing) => {
            const frame = drawing.getBoundingClientRect();
            const isCut = (box) => box.left < frame.left - 1 || box.right > frame.right + 1
                || box.top < frame.top - 2 || box.bottom > frame.bottom + 2;
            return [...drawing.querySelectorAll("text")]
                .filter((text) => text.textContent.trim() && isCut(text.getBoundingClientRect()))
                .map((text) => [drawing.ariaLabel, text.textContent]);
        })"""
    )
    return found


class Opened:
    """A page of its own, and what it said and asked for while it was open."""

    def __init__(self, browser: Any, size: str, scheme: str) -> None:
        self.page = browser.new_page(viewport=SIZES[size], color_scheme=scheme, accept_downloads=True)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
