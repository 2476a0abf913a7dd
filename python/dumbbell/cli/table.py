"""Tables for a person: text that fits a terminal by folding long names and leaving out columns, Markdown, CSV. Nothing
here knows what a figure is.
"""

from __future__ import annotations

import itertools
import re
import sys
import textwrap
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
    room: int = 0
    """Characters after which the words of a cell go on in another line; 0: as many as it needs."""

    @property
    def is_empty(self) -> bool:
        """True if it may be left out because no cell has anything."""
        return bool(self.rank) and not any(self.cells)

    @property
    def width(self) -> int:
        """Characters of its widest line."""
        lines = (line for cell in self.cells for line in self.lines(cell))
        return max((len(line) for line in (*map(printable, self.head), *lines)), default=0)

    def lines(self, cell: str) -> list[str]:
        """The lines of a cell."""
        text = printable(cell)  # a name with a line break would be a row of its own
        if not self.room or len(text) <= self.room:
            return [text]
        return textwrap.wrap(text, self.room, break_long_words=False, break_on_hyphens=False)


def console() -> Console:
    """Stdout for tables of rich, as wide as they need; rich itself obeys NO_COLOR."""
    from rich.console import Console

    return Console(file=plain(sys.stdout), width=WIDTH_MAX, highlight=False)


def fit(columns: Sequence[Column], width: int) -> tuple[list[Column], list[Column]]:
    """Split the columns into those that fit next to each other and those left out, which have the highest ranks. Empty
    ones are dropped. Where not all fit, names take a third of the width at most, as far as they have words.
    """
    kept = [column for column in columns if not column.is_empty]
    if _wide(kept) > width:
        kept = [column if column.right else column._replace(room=width // 3) for column in kept]
    gone: list[Column] = []
    while _wide(kept) > width and any(column.rank for column in kept):
        out = max((column for column in kept if column.rank), key=lambda column: column.rank)
        kept.remove(out)
        gone.insert(0, out)
    return kept, [column for column in columns if column in gone]


def _wide(columns: Sequence[Column]) -> int:
    """Characters of columns next to each other."""
    return sum(column.width + _GAP for column in columns) - _GAP


def text(columns: Sequence[Column]) -> str:
    """The columns as lines without blanks at their ends, headings above a rule."""
    height = max((len(column.head) for column in columns), default=0)
    rows = [
        _line([_padded(column, ("",) * (height - len(column.head)) + column.head, i) for column in columns])
        for i in range(height)
    ]
    rows.append("-" * _wide(columns))
    for cells in zip(*(column.cells for column in columns)):
        folded = [column.lines(cell) for column, cell in zip(columns, cells)]
        rows += [
            _line([_aligned(column, line) for column, line in zip(columns, lines)])
            for lines in itertools.zip_longest(*folded, fillvalue="")
        ]
    return "\n".join(rows) + "\n"


def _padded(column: Column, head: tuple[str, ...], i: int) -> str:
    return _aligned(column, printable(head[i]))


def _aligned(column: Column, cell: str) -> str:
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
