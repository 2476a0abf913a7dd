"""What is on the site and where: read from docs/README.md, which lists every page once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import reference
from rewriting import REPOSITORY

import notebooks

ROOT = Path(__file__).resolve().parents[2]
#: The page that lists the controllers, which have a page each.
CONTROLLERS = "cca/index.md"

_LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+)(?:#[^)]*)?\)")


def navigated(listing: Path) -> list[Any]:
    """What MkDocs calls `nav`: the sections of the list, and in each the pages that it links first there."""
    sections: dict[str, list[Any]] = {}
    seen: set[str] = set()
    for line in listing.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            pages = sections.setdefault(line.removeprefix("## "), [])
        elif line.startswith("- "):
            for text, target in _LINK.findall(line):
                place = _place(target)
                if place is not None and place not in seen:
                    seen.add(place)
                    pages.append({_titled(text): _controllers() if place == CONTROLLERS else place})
    sections["Reference"] += [{"Commands": reference.COMMANDS}, {"Python, every name": reference.PYTHON}]
    return [{"Dumbbell": "README.md"}, *({name: pages} for name, pages in sections.items()), {"Repository": REPOSITORY}]


def _titled(text: str) -> str:
    """The text of a link as a title."""
    plain = text.replace("`", "")
    return f"{plain[:1].upper()}{plain[1:]}"


def _place(target: str) -> str | None:
    """The page of the site that a link of the list goes to; None where it leaves the site."""
    if target == "cca/":
        return CONTROLLERS
    if target.startswith(notebooks.LINKED):
        return notebooks.page(Path(target).name)
    return target if target.endswith(".md") and not target.startswith("../") else None


def _controllers() -> list[Any]:
    """The list of controllers, then the page of each, without those that docs/README.md lists itself."""
    listed = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    pages = [path for path in sorted((ROOT / "docs/cca").glob("*.md")) if f"(cca/{path.name}" not in listed]
    return [CONTROLLERS, *({title(path): f"cca/{path.name}"} for path in pages)]


def controllers() -> str:
    """The page that lists the controllers, with how each page begins."""
    pages = sorted((ROOT / "docs/cca").glob("*.md"))
    lines = [f"- [{title(path)}]({path.name}){_begin(path)}" for path in pages]
    return "# Controllers\n\n" + "\n".join(lines) + "\n"


def _begin(path: Path) -> str:
    """The first sentence of a page that begins with one, after the name of a file."""
    paragraph = " ".join(path.read_text(encoding="utf-8").split("\n\n")[1].split())
    sentence = re.match(r"(?:`cca/[^`]+`[^.:]*[.:] )?([^#\s].*?[.:])(?= |$)", paragraph)
    return f": {_LINK.sub(lambda link: link[1], sentence[1])[:-1]}" if sentence else ""


def title(path: Path) -> str:
    """The heading of a page."""
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ").replace("`", "")


def shown(listing: str) -> str:
    """The list of pages below the start page, which it need not list."""
    return "".join(line for line in listing.splitlines(keepends=True) if not line.startswith("- [README]"))
