"""Tables with a heading: CSV as in RFC 4180, with commas, semicolons or tabs, or with blanks between columns."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from dumbbell.errors import shown_name

from .headings import called, headings_of, lost_in
from .model import (
    APART_MIN_NS,
    LENGTH_MAX_NS,
    LINE_LENGTH_MAX,
    ROWS_MAX,
    Choice,
    ChoiceError,
    Heading,
    Look,
    Note,
    RecordingError,
    Rows,
    listed_names,
)  # fmt: skip
from .times import scaled, times_ns

#: Separators, the likeliest first; a blank stands for any number of blanks.
_SEPARATORS = ("\t", ";", ",", " ")


def is_csv(look: Look) -> str | None:
    """Why a file is a table: its first row names columns, of which the second row has as many."""
    separator = _separator(look)
    if separator is None or look.text.lstrip()[:1] in ("{", "["):
        return None
    names = {" ": "blanks", "\t": "tabs", ";": "semicolons", ",": "commas"}
    first = cells_of(look.rows[0], separator)
    if all(is_number(cell) for cell in first):
        return None
    return f"its first row names {len(first)} columns, with {names[separator]} between them"


def read_csv(look: Look) -> Rows:
    """The rows of a table; raises RecordingError and ChoiceError."""
    separator = _separator(look)
    if not look.rows:
        raise RecordingError("it is empty, wanted a heading such as time_s,rate_mbps,rtt_ms,loss_percent")
    if separator is None:
        raise RecordingError("its first line is no heading of two columns or more, such as time_s,rate_mbps")
    lines = Lines(look.text)
    if separator == " ":
        rows: Iterator[list[str]] = (line.split() for line in lines)
    else:
        rows = csv.reader(lines, delimiter=separator, strict=True, skipinitialspace=True)
    table = rows_of(_checked(rows, lines), lines, look.choice, None, has_decimal_commas=separator in ";\t")
    return table._replace(has_doubtful_commas=separator == "\t")


def is_number(cell: str) -> bool:
    """True if a cell has a number, perhaps with a decimal comma."""
    try:
        scaled(cell.strip().replace(",", "."), 1)
    except ArithmeticError:
        return False
    return True


def _separator(look: Look) -> str | None:
    """Separator of the cells of the first row; of several, the one that the second row has as often."""
    if not look.rows:
        return None
    there = [separator for separator in _SEPARATORS if len(cells_of(look.rows[0], separator)) > 1]
    if len(look.rows) > 1:
        agreeing = [
            separator
            for separator in there
            if len(cells_of(look.rows[0], separator)) == len(cells_of(look.rows[1], separator))
        ]
        return next(iter(agreeing), next((separator for separator in there if separator != " "), None))
    return next((separator for separator in there if separator != " "), None)


def cells_of(line: str, separator: str) -> list[str]:
    """The cells of one line."""
    if separator == " ":
        return line.split()
    try:
        return next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
    except csv.Error:
        return []


class Lines:
    """The lines of a text without remarks; empty ones may only end the file."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.number = 0
        """Of the line that was given last, from 1."""

    def __iter__(self) -> Iterator[str]:
        empty = 0
        for number, line in enumerate(self._text.split("\n"), 1):
            if len(line) > LINE_LENGTH_MAX:
                raise RecordingError(f"line {number} has over {LINE_LENGTH_MAX} letters")
            if line.startswith("#"):
                continue
            if not line or line.isspace():
                empty = empty or number
                continue
            if empty:
                raise RecordingError(f"line {empty} is empty, wanted a row")
            self.number = number
            yield line.removesuffix("\r") + "\n"


def _checked(rows: Iterator[list[str]], lines: Lines) -> Iterator[list[str]]:
    try:
        yield from rows
    except csv.Error as error:
        what = "a quote is not closed" if "end of data" in str(error) else "its quotes are not those of RFC 4180"
        raise RecordingError(f"line {lines.number}: {what}") from None


def rows_of(
    rows: Iterator[list[str]],
    lines: Lines,
    choice: Choice,
    names: Sequence[str] | None,
    *,
    has_decimal_commas: bool,
) -> Rows:
    """The rows of a table with these names of columns; without names the first row has them."""
    first = next(rows, None)
    if first is None:
        raise RecordingError("it is empty, wanted a heading such as time_s,rate_mbps,rtt_ms,loss_percent")
    line, pending = lines.number, [first]
    if names is None:
        names, pending = _names(first, choice, line)
    headings = headings_of([name.strip() for name in names])
    time = _time_column(headings, choice, line)
    chosen = _chosen_columns(headings, choice, time, line)
    needed = [(called(headings, name, "where"), text.strip().casefold()) for name, text in choice.where]
    indexes = [index for index, _ in chosen]
    wide = _widened(pending, rows, len(headings), lines)
    at_cells, taken, numbers = _cells(wide, lines, time, indexes, needed=needed, lost=lost_in(headings))
    if not at_cells:
        if needed:
            raise ChoiceError("where", dict(choice.where), "cells that some row has")
        raise RecordingError("it has a heading and no row")
    if has_decimal_commas:
        at_cells = [cell.replace(",", ".") if cell.count(",") == 1 and "." not in cell else cell for cell in at_cells]
    at = times_ns(at_cells, numbers, headings[time], choice.time_unit)
    at, notes = ascending(at, numbers)
    ignored = () if choice.column else _ignored(headings, {time, *indexes})
    return Rows(
        tuple(heading for _, heading in chosen), at, taken, numbers, None, ignored, notes, has_decimal_commas,
    )  # fmt: skip


def _names(first: list[str], choice: Choice, line: int) -> tuple[list[str], list[list[str]]]:
    """The names of the columns, and the first row where that has values instead: columns are called by their number."""
    if not all(is_number(cell) for cell in first if cell.strip()):
        return first, []
    if choice.column is None or not (choice.time or "").isdigit():
        raise RecordingError(
            f"line {line} has numbers and no names of columns: `time` and `column` as numbers of columns say which"
            " they are, or a heading such as time_s,rate_mbps"
        )
    return [str(i) for i in range(1, len(first) + 1)], [first]


def _ignored(headings: Sequence[Heading], used: set[int]) -> tuple[str, ...]:
    """The names of the other columns, with why those of a known name are not used."""
    return tuple(
        f"{shown_name(heading.name)} ({heading.problem}; `column` and `unit` take it)"
        if heading.problem
        else shown_name(heading.name)
        for i, heading in enumerate(headings)
        if i not in used and heading.name
    )


def _time_column(headings: Sequence[Heading], choice: Choice, line: int) -> int:
    if choice.time is not None:
        return called(headings, choice.time, "time")
    times = [i for i, heading in enumerate(headings) if heading.quantity == "time"]
    if len(times) == 1:
        return times[0]
    names = listed_names([headings[i].name for i in times] or [heading.name for heading in headings])
    what = f"{len(times)} headings are times ({names})" if times else f"no heading is a time such as time_s ({names})"
    raise RecordingError(f"line {line}: {what}; `time` says which (--time)")


def _chosen_columns(headings: Sequence[Heading], choice: Choice, time: int, line: int) -> list[tuple[int, Heading]]:
    """The columns that are read, and what they are about."""
    if choice.column is not None:
        others = [i for i in range(len(headings)) if i != time]
        at = others[called([headings[i] for i in others], choice.column, "column")]
        return [(at, headings[at])]
    usable = [
        (i, heading)
        for i, heading in enumerate(headings)
        if heading.quantity not in ("", "time") and heading.scale and i != time
    ]
    if usable:
        return usable
    problems = [
        f"{shown_name(heading.name)} {heading.problem}"
        for heading in headings
        if heading.problem and heading.quantity != "time"
    ]
    names = listed_names([heading.name for i, heading in enumerate(headings) if i != time])
    raise RecordingError(
        f"line {line}: "
        + (f"{problems[0]}, or `unit`" if problems else f"no heading but the time is known ({names})")
        + "; `column` and `unit` take any column (--column, --unit)"
    )


def _widened(pending: list[list[str]], rows: Iterator[list[str]], width: int, lines: Lines) -> Iterator[list[str]]:
    """The rows, each as wide as the heading; empty cells may be left out or added at its end."""
    for part in (pending, rows):
        for row in part:
            if (len(row) != width and any(cell.strip() for cell in row[width:])) or len(row) < width:
                raise RecordingError(f"line {lines.number} has {len(row)} cells, wanted {width} as in the heading")
            yield row


def _cells(
    rows: Iterator[list[str]], lines: Lines, time: int, indexes: Sequence[int],
    *, needed: Sequence[tuple[int, str]], lost: Sequence[int],
) -> tuple[list[str], list[list[str | None]], list[int]]:  # fmt: skip
    """The cells of the rows that are used: of the times, of each column, and the rows' lines."""
    times: list[str] = []
    numbers: list[int] = []
    taken: list[list[str | None]] = [[] for _ in indexes]
    for row in rows:
        if any(row[index].strip().casefold() != text for index, text in needed):
            continue
        cell = row[time].strip()
        if not cell:
            raise RecordingError(f"line {lines.number} has no time")
        if len(times) == ROWS_MAX:
            raise RecordingError(f"it has over {ROWS_MAX} rows")
        times.append(cell)
        numbers.append(lines.number)
        is_lost = any(row[index].strip() in ("-1", "-1.0") for index in lost)
        for column, index in zip(taken, indexes):
            column.append(None if is_lost else row[index])
    return times, taken, numbers


def ascending(at: list[int], numbers: Sequence[int]) -> tuple[list[int], tuple[Note, ...]]:
    """The times from 0, those of rows that are nearer than 1 us as one."""
    begin, last, same = at[0], 0, 0
    times: list[int] = []
    for ns, line in zip(at, numbers):
        now = ns - begin
        if now < last:
            raise RecordingError(
                f"line {line}: its time is before that of the row before; `where` takes the rows of one run (--where)"
            )
        if now > LENGTH_MAX_NS:
            raise RecordingError(f"line {line} lies more than ten days after the first row")
        if times and now - last < APART_MIN_NS:
            same += 1
        else:
            last = now
        times.append(last)
    if not same:
        return times, ()
    return times, (Note(f"rows with the time of the row before (the last value counts): {same}"),)
