"""From the cells of a file to values over time: what is missing, what is too small, and what no path has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from dumbbell.errors import shown_name

from . import headings as words
from .headings import called
from .model import (
    RATE_MIN_BPS,
    Cell,
    Choice,
    ChoiceError,
    Column,
    Heading,
    Note,
    Recording,
    RecordingError,
    Rows,
    check,
    gaps_of,
)  # fmt: skip
from .times import scaled

#: Cells that say that there is no value, in lower case.
_MISSING = {"", "-", "--", "nan", "na", "n/a", "#n/a", "null", "none", "nil"}

#: A number with commas that may be those of thousands.
_THOUSANDS = re.compile(r"-?[1-9]\d{0,2}(,\d{3})+")

#: Units that `quantity` may have, of those who want a value.
_FITS = {"rtt": "time", "delay": "time", "rate": "rate", "loss": "loss"}


class _Read(NamedTuple):
    """The values of a column."""

    points: tuple[tuple[int, int], ...]
    notes: tuple[Note, ...]


def recording(form: str, rows: Rows, choice: Choice) -> Recording:
    """The recording of these rows; raises RecordingError and ChoiceError."""
    columns, notes, empty = [], list(rows.notes), []
    chosen = list(zip(rows.headings, rows.cells))
    if choice.column is not None:
        chosen = [chosen[called(rows.headings, choice.column, "column")]]
    for number, (heading, cells) in enumerate(chosen, 1):
        measured = _measured(heading, choice)
        read = _points(measured, cells, rows)
        notes += read.notes
        if read.points:
            columns.append(Column(heading.name, measured.quantity, measured.direction, read.points, number))
        else:
            empty.append(shown_name(heading.name))
    if not columns:
        where = f"line {rows.lines[0]}: " if rows.lines else ""
        raise RecordingError(f"{where}column {empty[0] if empty else ''} has no value, wanted one in some row")
    distinct = sorted(set(rows.at_ns))
    length = rows.length_ns
    if length is None:
        length = 2 * distinct[-1] - distinct[-2] if len(distinct) > 1 else 0
    ignored = (*rows.ignored, *(f"{name} (no row has a value)" for name in empty))
    return Recording(form, length, tuple(columns), ignored, len(rows.at_ns), gaps_of(distinct), tuple(notes))


def _measured(heading: Heading, choice: Choice) -> Heading:
    """A heading with the unit and the quantity that a choice gives it."""
    if choice.column is None:
        return heading
    named = words.unit(choice.unit) if choice.unit is not None else words.unit_in(heading.name)
    measure = named or ((words.family(heading.quantity), heading.scale) if heading.scale else None)
    wanted = _FITS[choice.quantity] if choice.quantity else None
    if choice.unit is None and (heading.problem or measure is None):
        if wanted and heading.quantity and words.family(heading.quantity) != wanted:
            raise ChoiceError("column", heading.name, f"a column of a {choice.quantity}, not of a {heading.quantity}")
        units = words.UNITS_WANTED[wanted] if wanted else "; ".join(words.UNITS_WANTED.values())
        raise ChoiceError("unit", None, f"the unit of column {shown_name(heading.name)}, one of: {units}")
    assert measure is not None, "an option's unit is read before"
    if wanted and measure[0] != wanted:
        what = heading.quantity or ("share" if measure[0] == "loss" else measure[0])
        raise ChoiceError("column", heading.name, f"a column of a {choice.quantity}, not of a {what}")
    if heading.quantity in ("rate", "rtt", "delay", "loss") and words.family(heading.quantity) == measure[0]:
        quantity = heading.quantity
    elif choice.quantity:
        quantity = choice.quantity
    else:
        is_one_way = any(word in heading.name.casefold() for word in ("delay", "owd", "one way", "one_way", "oneway"))
        quantity = measure[0] if measure[0] != "time" else "delay" if is_one_way else "rtt"
    return heading._replace(quantity=quantity, scale=measure[1], problem="")


def _points(heading: Heading, cells: Sequence[Cell], rows: Rows) -> _Read:
    if rows.has_decimal_commas:
        cells = _with_points(heading, cells, rows)
    missing = leading = small = 0
    points: list[tuple[int, int]] = []
    known: dict[Cell, int | None] = {}
    for i, cell in enumerate(cells):
        if cell in known:
            value = known[cell]
        else:
            value = known[cell] = _value(heading, cell, rows, i)
        if value is None:
            missing += 1
            leading += not points
            continue
        if 0 < value < RATE_MIN_BPS and heading.quantity == "rate":
            small, value = small + 1, 0
        at = rows.at_ns[i]
        if not points:
            at = rows.at_ns[0]
        if points and points[-1][0] == at:
            points[-1] = (at, value)
        else:
            points.append((at, value))
    return _Read(tuple(points), tuple(_notes(heading.name, known, missing - leading, leading if points else 0, small)))


def _notes(name: str, known: dict[Cell, int | None], missing: int, leading: int, small: int) -> list[Note]:
    """Notes on a column. Empty cells keep the value in tables that are made so, which is no warning."""
    shown, notes = shown_name(name), []
    if missing:
        is_marked = any(value is None and (cell is None or str(cell).strip()) for cell, value in known.items())
        text = f"column {shown}: cells without a value, which keep the one before: {missing}"
        notes.append(Note(text, name, is_warning=is_marked))
    if leading:
        notes.append(Note(f"column {shown}: cells before the first value, which take it: {leading}", name))
    if small:
        notes.append(Note(f"column {shown}: rates below 1 kbit/s, which are outages here: {small}", name))
    return notes


def _value(heading: Heading, cell: Cell, rows: Rows, i: int) -> int | None:
    """A cell in whole ns, bit/s or 10^-9, the nearest; None for a missing one."""
    where = f"line {rows.lines[i]}" if rows.lines else f"row {i + 1}"
    if cell is None:
        return None
    text = str(cell).strip()
    if text.casefold() in _MISSING:
        return None
    try:
        value = scaled(text, heading.scale)
    except ArithmeticError:
        raise RecordingError(f"{where}: the {heading.quantity} is no number") from None
    check(heading.quantity, value, where)
    return value


def _with_points(heading: Heading, cells: Sequence[Cell], rows: Rows) -> list[Cell]:
    """Cells with decimal commas as numbers are written elsewhere."""
    if rows.has_doubtful_commas:
        commas = [cell for cell in cells if isinstance(cell, str) and "," in cell]
        if commas and all(_THOUSANDS.fullmatch(cell.strip()) for cell in commas):
            raise RecordingError(
                f"the commas of column {shown_name(heading.name)} may be those of decimals or of thousands, wanted"
                " numbers such as 1234.5"
            )
    return [
        cell.replace(",", ".") if isinstance(cell, str) and cell.count(",") == 1 and "." not in cell else cell
        for cell in cells
    ]
