"""Pages that are written for GitHub, as the site wants them: where links go, and blank lines before lists."""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Where the files are that the site has not.
REPOSITORY = "https://github.com/dumbbell-lab/dumbbell"

_FENCE = re.compile(r"^( *)(```+|~~~+)")
_LINK = re.compile(r"(?P<before>\]\()(?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?(?P<after>\))")
_ITEM = re.compile(r"^ *([-*]|\d+\.) ")


def relinked(text: str, file: Path, *, complain: Callable[[str], object]) -> str:
    """The text of a file of the repository, with links that hold in the page of the site that shows it.

    Pages of the site are linked by where they stand there; a folder of pages by its first one; everything else at the
    repository's address. `complain` is told of links to files that are not there.
    """
    here = _page_of(file).parent

    def there(match: re.Match[str]) -> str:
        target, anchor = match["target"], match["anchor"] or ""
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        path = Path(os.path.normpath(file.parent / target))
        if not path.exists():
            complain(f"{file.relative_to(ROOT)}: links to {target}, which is not there")
            return match[0]
        return f"{match['before']}{_address(path, here)}{anchor}{match['after']}"

    return "".join(line if is_code else _LINK.sub(there, line) for is_code, line in lines(text))


def _address(path: Path, here: Path) -> str:
    if path.is_relative_to(ROOT / "docs") and path.is_dir():
        path /= "index.md"
    page = _page_of(path)
    if page.is_relative_to(ROOT / "docs"):
        return os.path.relpath(page, here)
    return f"{REPOSITORY}/{'tree' if path.is_dir() else 'blob'}/main/{path.relative_to(ROOT).as_posix()}"


def _page_of(file: Path) -> Path:
    """Where the site has a file: pages of docs/ as they are, README.md and notebooks among them."""
    if file == ROOT / "README.md":
        return ROOT / "docs/README.md"
    if file.parent == ROOT / "notebooks":
        return ROOT / "docs/notebooks" / f"{file.stem}.md"
    return file


def spaced(text: str) -> str:
    """The text with a blank line before each list that follows a paragraph: GitHub wants none, Python-Markdown does."""
    found: list[str] = []
    for is_code, line in lines(text):
        before = found[-1] if found else "\n"
        if not is_code and _ITEM.match(line) and before.strip() and not _ITEM.match(before) and before[0] not in " |#":
            found.append("\n")
        found.append(line)
    return "".join(found)


def lines(text: str) -> Iterator[tuple[bool, str]]:
    """The lines with their ends, and whether each is part of a block of code."""
    fence = ""
    for line in text.splitlines(keepends=True):
        match = _FENCE.match(line)
        if match and not fence:
            fence = match[2]
            yield True, line
        elif match and match[2].startswith(fence):
            fence = ""
            yield True, line
        else:
            yield bool(fence), line
