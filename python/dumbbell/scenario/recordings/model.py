"""Types of recordings: their content, the choices in them, and the errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from dumbbell.errors import listed, printable

#: Most rows of a recording: an hour of a value each 10 ms is 360,000.
ROWS_MAX = 1_000_000

#: Longest recording.
LENGTH_MAX_NS = 10 * 24 * 3600 * 10**9

#: Longest delay of a recording.
DELAY_MAX_NS = 60 * 10**9

#: Nearest that two values of a recording may be.
APART_MIN_NS = 1_000

#: Lowest rate; below it nothing gets through.
RATE_MIN_BPS = 1_000

#: How many times as far apart as usual two rows of a gap are, and how many rows it takes to know what is usual.
_GAP_TIMES, _GAPS_ROWS_MIN = 10, 8

#: Headings that a message lists, and letters of each.
_LISTED, _LISTED_LETTERS = 12, 30


class RecordingError(ValueError):
    """Error in a file, with its line; only headings are quoted, as `printable` has them."""


class ChoiceError(Exception):
    """Option that asks for something that the file lacks: the option, what was given, what is accepted."""

    def __init__(self, option: str, given: object, wanted: str) -> None:
        super().__init__(option)
        self.option, self.given, self.wanted = option, given, wanted


class Choice(NamedTuple):
    """Choices in a file."""

    form: str | None = None
    """Its form; None where its content tells."""
    column: str | None = None
    """The heading of the only column that is wanted."""
    unit: str | None = None
    """Of that column."""
    time: str | None = None
    """The heading of the times."""
    time_unit: str | None = None
    where: tuple[tuple[str, str], ...] = ()
    """Headings and the text that their cells must have in the rows that are used."""
    quantity: str | None = None
    """What the values are for; None where nothing says so."""


class Column(NamedTuple):
    """One quantity over time."""

    name: str
    """As its heading says."""
    quantity: str
    direction: str
    """Down, up, or nothing where the heading does not say."""
    points: tuple[tuple[int, int], ...]
    """(ns since the start of the recording, value), ascending; ns, bit/s or 10^-9."""
    number: int = 0
    """Which column of the file it is."""


class Note(NamedTuple):
    """Something to say of a file."""

    text: str
    column: str | None = None
    """Which column it is about; None for all."""
    is_warning: bool = True
    """Whether a run that uses the column warns of it."""


class Recording(NamedTuple):
    """A file as read."""

    form: str
    length_ns: int
    """When it begins again; 0 where one row says nothing of it."""
    columns: tuple[Column, ...]
    ignored: tuple[str, ...]
    """What the file has and is not used."""
    rows: int
    gaps: tuple[tuple[int, int], ...] = ()
    """Rows that are far from the next one: when, and how far, ns."""
    notes: tuple[Note, ...] = ()
    why: str = ""
    """Why the file was taken for this form; empty where the form was asked for."""

    def names(self) -> str:
        """Its columns, for a message."""
        return listed_names([column.name for column in self.columns])


class Heading(NamedTuple):
    """Meaning of a column."""

    name: str
    quantity: str
    """Empty where that is not known."""
    scale: int = 0
    """What one of its unit is in ns, bit/s or 10^-9; 0 where it has none."""
    direction: str = ""
    problem: str = ""
    """Why it cannot be used as it is, although its quantity is known."""


Cell = str | int | Decimal | None


class Rows(NamedTuple):
    """Rows of a file before their values are read: the columns that were asked for, and their times."""

    headings: tuple[Heading, ...]
    at_ns: Sequence[int]
    """Of each row, from 0, never falling."""
    cells: Sequence[Sequence[Cell]]
    """Per heading, one of each row; None for a missing one."""
    lines: Sequence[int]
    """The line of each row; empty where rows are no lines."""
    length_ns: int | None = None
    """None for as long after the last row as that is after the one before."""
    ignored: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    has_decimal_commas: bool = False
    has_doubtful_commas: bool = False
    """Whether they may be those of thousands."""


class Look:
    """A file's content, taken apart as far as somebody asks."""

    def __init__(self, path: Path, data: bytes, choice: Choice, *, is_packed: bool = False) -> None:
        self.path, self.data, self.choice, self.is_packed = path, data, choice, is_packed

    @cached_property
    def text(self) -> str:
        """All of it; raises RecordingError where it is none."""
        marks = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
        try:
            return self.data.decode(marks.get(self.data[:2], "utf-8")).removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            line = self.data.count(10, 0, error.start) + 1
            raise RecordingError(f"line {line} is no UTF-8 text") from None

    @cached_property
    def lines(self) -> list[str]:
        """The first lines, some hundred of them, without their ends; remarks and empty lines too."""
        return [line.removesuffix("\r")[:LINE_LENGTH_MAX] for line in self.text[: 1 << 16].split("\n")[:400]]

    @cached_property
    def rows(self) -> list[str]:
        """Lines that are neither remarks nor empty."""
        return [line for line in self.lines if line.strip() and not line.lstrip().startswith("#")]

    @cached_property
    def document(self) -> Any:
        """Content as JSON, or as a list of the documents of its lines; None where it is no JSON."""
        return _parsed(self.text)


def _parsed(text: str) -> Any:
    """Parse a text as JSON, or the documents of its lines as a list; None where it is neither."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return _loads(text)
    except (ValueError, RecursionError, ArithmeticError):
        pass
    try:
        return [_loads(line) for line in text.split("\n") if line.strip()]
    except (ValueError, RecursionError, ArithmeticError):
        return None


def _loads(text: str) -> Any:
    return json.loads(text, parse_float=Decimal, parse_constant=lambda _: None)


#: Letters of a line.
LINE_LENGTH_MAX = 10_000


def listed_names(names: Sequence[str]) -> str:
    """Headings for a message, the first of them."""
    return listed([printable(name, _LISTED_LETTERS) for name in names], _LISTED)


def gaps_of(at: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Rows that are ten times as far from the next one as half of all are, or farther."""
    apart = [later - earlier for earlier, later in pairwise(at)]
    if len(apart) < _GAPS_ROWS_MIN:
        return ()
    usual = sorted(apart)[len(apart) // 2]
    return tuple((earlier, ns) for earlier, ns in zip(at, apart) if ns >= _GAP_TIMES * usual)


_ACCEPTED: dict[str, tuple[Callable[[int], bool], str]] = {
    "rate": (lambda bps: 0 <= bps <= 10**12, "0 to 1 Tbit/s"),
    "rtt": (lambda ns: 0 < ns <= DELAY_MAX_NS, "above 0 and at most 60 s"),
    "delay": (lambda ns: 0 <= ns <= DELAY_MAX_NS, "0 to 60 s"),
    "loss": (lambda ppb: 0 <= ppb <= 10**9, "0 to 100 %"),
}


def check(quantity: str, value: int, where: str) -> None:
    """Raise RecordingError for a value that no path has."""
    is_accepted, wanted = _ACCEPTED[quantity]
    if not is_accepted(value):
        raise RecordingError(f"{where}: the {quantity} is not {wanted}")
