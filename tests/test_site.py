"""The site of the documentation (`make site`): it builds without a complaint, loads nothing from other hosts, can be read
without JavaScript, searched and used by everybody, on a desktop and a phone.

Without MkDocs the tests are left out and say so; in CI that is a failure.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from browsing import SIZES, Opened, browser, serious, serving_files, without
from conftest import ROOT

__all__ = ["browser"]

sys.path.insert(0, str(ROOT / "tools/docsite"))

#: Pages of each kind: start, text with pictures, the widest tables, from code.
LOOKED_AT = ("index.html", "tutorial.html", "fidelity.html", "scenario.html", "reference/python.html")
#: Pages that answer, and the words that people search for.
WORDS: dict[str, list[str]] = tomllib.loads((ROOT / "tools/docsite/words.toml").read_text(encoding="utf-8"))
#: Hosts that the theme's program names, and asks only for what no page has: counts of a repository (`repo_url`),
#: diagrams of Mermaid. What the others are: names of formats, and texts.
NAMED = {"api.github.com", "unpkg.com", "gitlab.com", "www.w3.org"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; links and anchors that go nowhere, and pages that no list has, fail it (--strict)."""
    if importlib.util.find_spec("mkdocs") is None:
        without("there is no MkDocs here: make build/stamps/site (pip install -r requirements-site.lock)")
    folder = tmp_path_factory.mktemp("site") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where a server has the site."""
    with serving_files(site) as served:
        yield served


class Loads(HTMLParser):
    """What a page loads by itself: not what a reader follows."""

    #: Relations of `link` that load.
    RELATIONS = frozenset({"stylesheet", "icon", "preload", "prefetch", "modulepreload", "preconnect", "dns-prefetch"})

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.found += [given[name] for name in ("src", "srcset", "poster", "data", "style") if name in given]
        if tag == "link" and self.RELATIONS & {*given.get("rel", "").split()}:
            self.found.append(given.get("href", ""))


def test_every_page_of_the_documentation_is_there(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix().replace("README.html", "index.html")
        assert (site / name).is_file(), name
    start = (site / "index.html").read_text(encoding="utf-8")
    assert 'src="img/fig11a.png"' in start
    assert "make demo" in re.sub(r"<[^>]+>", "", start)
    assert (site / "reference/commands.html").read_text(encoding="utf-8").count("usage: dumbbell ") >= 20


def test_pages_and_styles_load_nothing_from_other_hosts(site: Path) -> None:
    looked = 0
    for page in site.rglob("*.html"):
        reader = Loads()
        reader.feed(page.read_text(encoding="utf-8"))
        assert [one for one in reader.found if re.search(r"(^|[\s(])(https?:)?//", one)] == [], page
        looked += len(reader.found)
    assert looked > 200
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", style.read_text(encoding="utf-8")), style


def test_programs_name_no_host_that_a_page_could_ask(site: Path) -> None:
    for program in site.rglob("*.js"):
        hosts = re.findall(r"[\"'`]https?://([\w.-]+)", program.read_text(encoding="utf-8"))
        assert {*hosts} <= NAMED, program
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert 'class="mermaid"' not in text
        assert "data-md-component=source" not in text.replace('"', "")


def test_no_page_of_the_site_asks_for_a_fixed_place_of_this_machine(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert str(ROOT) not in page.read_text(encoding="utf-8"), page


@pytest.mark.parametrize(("size", "scheme"), [("desktop", "light"), ("phone", "dark")])
@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_serves_everybody_and_asks_for_its_own_files(
    browser: Any, address: str, name: str, size: str, scheme: str
) -> None:
    opened = Opened(browser, size, scheme)
    page = opened.page
    page.goto(address + name)
    page.wait_for_load_state("networkidle")
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size]["width"]
    assert {urlsplit(url).netloc for url in opened.asked if not url.startswith(("data:", "blob:"))} == {
        urlsplit(address).netloc
    }
    assert opened.said == []
    dark = page.evaluate("document.body.getAttribute('data-md-color-scheme')")
    assert dark == ("slate" if scheme == "dark" else "default")
    page.close()


def test_the_start_page_is_small(browser: Any, address: str) -> None:
    """Bytes of files as they are; servers of sites pack text to a quarter. The index of the search comes last."""
    opened = Opened(browser, "phone", "light")
    sizes: dict[str, int] = {}
    opened.page.on(
        "response", lambda response: sizes.update({response.url: int(response.headers.get("content-length", "0"))})
    )
    opened.page.goto(address)
    opened.page.wait_for_load_state("networkidle")
    index = sizes.pop(f"{address}search/search_index.json", 0)
    assert index < 1_000_000
    assert 100_000 < sum(sizes.values()) < 600_000
    opened.page.close()


def test_a_page_is_read_without_javascript(browser: Any, address: str) -> None:
    context = browser.new_context(java_script_enabled=False, viewport=SIZES["phone"])
    page = context.new_page()
    page.goto(address + "fidelity.html")
    assert page.locator("h1").inner_text().startswith("Fidelity")
    assert page.locator("article table").first.is_visible()
    page.locator("label.md-header__button[for=__drawer]").click()
    assert page.get_by_role("link", name="Tutorial").first.is_visible()
    context.close()


def test_the_search_finds_a_word_of_a_page(browser: Any, address: str, site: Path) -> None:
    assert len(json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))["docs"]) > 300
    opened = Opened(browser, "desktop", "light")
    opened.page.goto(address)
    opened.page.get_by_role("textbox", name="Search").fill("bufferbloat")
    opened.page.wait_for_selector(".md-search-result__item")
    found = [one.get_attribute("href") for one in opened.page.locator(".md-search-result__link").all()]
    assert any("classroom.html" in link for link in found), found
    opened.page.close()


class Follows(HTMLParser):
    """Pages of the site that a page links."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        target = urlsplit(dict(attrs).get("href") or "")
        if tag == "a" and not target.netloc and target.path.endswith(".html"):
            self.found.add(target.path)


def clicks(site: Path) -> dict[str, int]:
    """How many links lie between the start page and each page."""
    found, waiting = {"index.html": 0}, ["index.html"]
    for name in waiting:  # which grows
        reader = Follows()
        reader.feed((site / name).read_text(encoding="utf-8"))
        for target in sorted(reader.found):
            page = os.path.normpath(Path(name).parent / target)
            if page not in found:
                found[page] = found[name] + 1
                waiting.append(page)
    return found


def test_what_people_search_for_is_three_links_away_at_most_and_in_the_index(site: Path) -> None:
    away = clicks(site)
    entries = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))["docs"]
    tags = {entry["location"]: entry.get("tags") for entry in entries}
    for page, words in WORDS.items():
        assert away[page] <= 3, page
        assert tags[page] == words
    assert {page for page, count in away.items() if count > 3} == set()
    assert {path.relative_to(site).as_posix() for path in site.rglob("*.html")} - away.keys() == {"404.html"}


def test_the_start_page_has_a_link_to_each_page_of_a_task_in_its_text_without_the_navigation(site: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8").partition("<article")[2].partition("</article>")[0]
    reader = Follows()
    reader.feed(text)
    assert {page for page in WORDS if "/" not in page} <= reader.found


def test_the_search_shows_first_the_page_that_answers(browser: Any, address: str) -> None:
    opened = Opened(browser, "desktop", "light")
    page = opened.page
    page.goto(address)
    box = page.get_by_role("textbox", name="Search")
    box.click()
    first = page.locator(".md-search-result__link").first
    wrong = {}
    for wanted, phrases in WORDS.items():
        for phrase in phrases:
            box.fill("")
            first.wait_for(state="detached")
            box.fill(phrase)
            box.press("End")
            first.wait_for(state="attached")
            found = urlsplit(first.get_attribute("href")).path.lstrip("/")
            if found != wanted:
                wrong[phrase] = found
    assert wrong == {}
    page.close()


def test_links_that_leave_the_pages_go_to_the_repository_and_dead_ones_are_told() -> None:
    import rewriting

    said: list[str] = []
    text = (
        "[a](../scenarios/policer.toml) [b](../scenarios) [c](models/tcp.md#x) [d](cca/) [e](nowhere.md)\n"
        "```text\n[f](nowhere.md)\n```\n"
    )
    made = rewriting.relinked(text, ROOT / "docs/linux.md", complain=said.append)
    at = rewriting.REPOSITORY
    assert made == (
        f"[a]({at}/blob/main/scenarios/policer.toml) [b]({at}/tree/main/scenarios) [c](models/tcp.md#x)"
        " [d](cca/index.md) [e](nowhere.md)\n```text\n[f](nowhere.md)\n```\n"
    )
    assert said == ["docs/linux.md: links to nowhere.md, which is not there"]
    inner = rewriting.relinked("[a](../../cca/orca) [b](../README.md)", ROOT / "docs/cca/bbr.md", complain=said.append)
    assert inner == f"[a]({at}/tree/main/cca/orca) [b](../README.md)"


def test_a_list_below_a_sentence_is_a_list() -> None:
    import rewriting

    assert rewriting.spaced("So:\n- a\n- b\n  c\n- d\n") == "So:\n\n- a\n- b\n  c\n- d\n"
    assert rewriting.spaced("```sh\nx\n- a\n```\n") == "```sh\nx\n- a\n```\n"


def test_the_playground_is_on_the_site_where_it_was_made(tmp_path: Path) -> None:
    import played

    built, site = tmp_path / "built", tmp_path / "site"
    site.mkdir()
    assert not played.copied(site, built)
    assert list(site.iterdir()) == []
    assert played.opened("# Title\n\nText\n", built) == "# Title\n\nText\n"
    (built / "pyodide").mkdir(parents=True)
    (built / "index.html").write_text("page")
    (built / "pyodide/pyodide.mjs").write_text("python")
    assert played.copied(site, built)
    assert (site / "playground/pyodide/pyodide.mjs").read_text() == "python"
    assert 'href="playground/index.html"' in played.opened("# Title\n\nText\n", built)
