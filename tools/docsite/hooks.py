"""What MkDocs calls while it builds the site (`hooks` in mkdocs.yml): no plugin, some functions.

- What is navigated is read from docs/README.md, the one list of pages.
- The start page is README.md, then that list.
- Pages from code and from notebooks are added (`reference.py`, `notebooks.py`).
- The playground is copied where it has been made (`played.py`).
- The search finds pages by the words of `words.toml`, too.
- Links that leave docs/ go to the repository's address; a file that is not there is an error of `--strict`.
"""

from __future__ import annotations

import logging
import tomllib
from pathlib import Path
from typing import Any

import contents
import played
import reference
import rewriting
from mkdocs.structure.files import File, Files

import notebooks

ROOT = Path(__file__).resolve().parents[2]
MAP = ROOT / "docs/README.md"
README = ROOT / "README.md"

STYLE = "assets/site.css"
#: Pages, and the words that people search for.
WORDS = Path(__file__).with_name("words.toml")
#: The messages of this name are counted by `--strict`.
LOG = logging.getLogger("mkdocs.hooks.docsite")


def on_config(config: Any) -> Any:
    """Say what is navigated."""
    config.nav = contents.navigated(MAP)
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are no files of docs/."""
    made = {
        reference.COMMANDS: reference.commands(),
        reference.PYTHON: reference.python(),
        contents.CONTROLLERS: contents.controllers(),
        **notebooks.pages(LOG.warning),
        STYLE: Path(__file__).with_name("site.css").read_text(encoding="utf-8"),
    }
    for name, content in made.items():
        files.append(File.generated(config, name, content=content))
    return files


def searched() -> dict[str, list[str]]:
    """The words that people search for, of each page of the site that answers."""
    return tomllib.loads(WORDS.read_text(encoding="utf-8"))


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """A page's text as Python-Markdown and the site want it, and the words that the search finds it by."""
    source = page.file.src_uri
    page.meta["tags"] = searched().get(page.file.dest_uri, [])
    if source == "README.md":
        start = rewriting.relinked(README.read_text(encoding="utf-8"), README, complain=LOG.warning)
        listed = rewriting.relinked(markdown.partition("\n")[2], MAP, complain=LOG.warning)
        return rewriting.spaced(f"{start}\n{contents.shown(listed)}")
    if page.file.generated_by:
        return rewriting.spaced(markdown)
    text = played.opened(markdown) if source == "playground.md" else markdown
    return rewriting.spaced(rewriting.relinked(text, ROOT / "docs" / source, complain=LOG.warning))


def on_page_content(html: str, **_: Any) -> str:
    """Put each table into a frame that scrolls, and that keys reach."""
    return html.replace("<table>", '<div class="wide" tabindex="0"><table>').replace("</table>", "</table></div>")


def on_post_page(output: str, **_: Any) -> str:
    """Name the dialog of the search, which the theme forgets."""
    return output.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'
    )


def on_post_build(config: Any) -> None:
    """Add what no page of MkDocs is."""
    played.copied(Path(config.site_dir))
