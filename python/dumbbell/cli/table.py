"""Tables for a person: text that fits a terminal by leaving out columns and says which, Markdown, CSV. Nothing here
knows what a figure is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from dumbbell.errors import printable

from .output import plain

if TYPE_CHECKING:
    from rich.console import Console

#: Widest table of rich.
WIDTH_MAX = 200
#: Blanks between two columns.
_GAP = 2


class Column(NamedTuple):
    """A column: its name for messages, the lines of its heading, its cells."""

    name: str
    head: tuple[str, ...]
    cells: list[str]
    rank: int = 0
    """Columns of the highest rank are left out first; 0 never is."""
    right: bool = True

    @property
    def is_empty(self) -> bool:
        """True if it may be left out because no cell has anything."""
        return bool(self.rank) and not any(self.cells)

    @property
    def width(self) -> int:
        """Characters of its widest line."""
        return max((len(printable(line)) for line in (*self.head, *self.cells)), default=0)


def console() -> Console:
    """Stdout for tables of rich, as wide as they need; rich itself obeys NO_COLOR."""
    from rich.console import Console

    return Console(file=plain(sys.stdout), width=WIDTH_MAX, highlight=False)


def fit(columns: Sequence[Column], width: int) -> tuple[list[Column], list[Column]]:
    """Split the columns into those that fit next to each other and those left out, which have the highest ranks. Empty
    ones are dropped.
    """
    kept = [column for column in columns if not column.is_empty]
    gone: list[Column] = []
    while sum(column.width + _GAP for column in kept) - _GAP > width and any(column.rank for column in kept):
        out = max((column for column in kept if column.rank), key=lambda column: column.rank)
        kept.remove(out)
        gone.insert(0, out)
    return kept, [column for column in columns if column in gone]


def text(columns: Sequence[Column]) -> str:
    """The columns as lines without blanks at their ends, headings above a rule."""
    height = max((len(column.head) for column in columns), default=0)
    rows = [
        _line([_padded(column, ("",) * (height - len(column.head)) + column.head, i) for column in columns])
        for i in range(height)
    ]
    rows.append("-" * (sum(column.width + _GAP for column in columns) - _GAP))
    rows += [
        _line([_aligned(column, column.cells[i]) for column in columns])
        for i in range(len(columns[0].cells) if columns else 0)
    ]
    return "\n".join(rows) + "\n"


def _padded(column: Column, head: tuple[str, ...], i: int) -> str:
    return _aligned(column, head[i])


def _aligned(column: Column, cell: str) -> str:
    cell = printable(cell)  # a name with a line break would be a row of its own
    return cell.rjust(column.width) if column.right else cell.ljust(column.width)


def _line(cells: Sequence[str]) -> str:
    return (" " * _GAP).join(cells).rstrip()


def markdown(columns: Sequence[Column]) -> str:
    """The columns as a Markdown table. Names in it are text: no HTML, and no links."""

    def row(cells: Sequence[str]) -> str:
        return "| " + " | ".join(_marked_down(cell) for cell in cells) + " |"

    lines = [
        row([" ".join(column.head) for column in columns]),
        row(["---:" if column.right else "---" for column in columns]),
    ]
    lines += [row(cells) for cells in zip(*(column.cells for column in columns))]
    return "\n".join(lines) + "\n"


def _marked_down(cell: str) -> str:
    text = printable(cell)
    for letters, written in (("&", "&amp;"), ("<", "&lt;"), ("|", "\\|"), ("](", "]\\(")):
        text = text.replace(letters, written)
    return text


def csv_cell(value: object) -> object:
    """A cell of CSV: a text that a spreadsheet would take for a formula (=, +, -, @ at its begin, and no number with or
    without a unit) has an apostrophe before it, as OWASP has it.

    >>> csv_cell("=HYPERLINK(0)"), csv_cell("-5ms"), csv_cell(-5), csv_cell("+1.5"), csv_cell("-2+3")
    ("'=HYPERLINK(0)", '-5ms', -5, '+1.5', "'-2+3")
    """
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") and not _QUANTITY.fullmatch(text) else text


_QUANTITY = re.compile(r"[+-][0-9.]+(e[+-]?[0-9]+)? ?[A-Za-z%/]*")


def plus_minus() -> str:
    """Between a mean and the half width of its interval, as stdout can print it."""
    try:
        "±".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "+-"
    return "±"
