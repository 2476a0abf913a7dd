"""Times of rows: numbers in a unit, numbers since 1970, and dates of the common forms; to ns.

Only differences count, so that a date whose day and month may be either does no harm as long as it stays the same.
"""

from __future__ import annotations

import re
from calendar import month_abbr
from collections.abc import Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import NamedTuple

from dumbbell.errors import shown_name

from .headings import TIMES
from .model import Heading, RecordingError

#: Numbers without a unit that are times since 1970 in the years 2001 to 2286: their digits, and the unit.
_EPOCHS = {10: 10**9, 13: 10**6, 16: 10**3, 19: 1}

_MONTHS = {name.casefold(): i for i, name in enumerate(month_abbr) if name}
_SECOND = r"(?P<second>\d{1,2})(?:[.,:](?P<part>\d{1,9})\d*)?"
_ZONE = r"(?:\s*(?P<half>[AaPp])[Mm])?(?:\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?))?"
_CLOCK = rf"(?P<hour>\d{{1,2}})(?P<colon>[:.\-_])(?P<minute>\d{{1,2}})(?:(?P=colon){_SECOND})?{_ZONE}"
_GAP = r"(?:\s*[T_,;\s]\s*|-)"
_COMPACT = (
    r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})[T_\s-]?(?P<hour>\d{2})(?P<minute>\d{2})(?P<second>\d{2})"
    r"(?:[.,](?P<part>\d{1,9})\d*)?(?P<half>)(?P<zone>Z|[+-]\d{2}:?\d{2})?"
)
_YEAR_LAST = r"(?:\s+[A-Z]{3,4})?\s+(?P<year>\d{4})"
#: Dates with separators, without them, with names of months; a clock alone.
_SHAPES = tuple(
    re.compile(shape, re.ASCII)
    for shape in (
        rf"(?P<year>\d{{4}})(?P<sep>[-./_])(?P<month>\d{{1,2}})(?P=sep)(?P<day>\d{{1,2}})(?:{_GAP}{_CLOCK})?",
        rf"(?P<a>\d{{1,2}})(?P<sep>[-./_])(?P<b>\d{{1,2}})(?P=sep)(?P<year>\d{{4}})(?:{_GAP}{_CLOCK})?",
        rf"(?P<year>\d{{4}})(?P<month>\d{{2}})(?P<day>\d{{2}}){_GAP}{_CLOCK}",
        _COMPACT,
        rf"(?:[A-Za-z]{{3,9}},?\s+)?(?P<day>\d{{1,2}})[-\s](?P<name>[A-Za-z]{{3,9}})[-\s](?P<year>\d{{4}}),?\s+{_CLOCK}",
        rf"(?:[A-Za-z]{{3,9}},?\s+)?(?P<name>[A-Za-z]{{3,9}})\s+(?P<day>\d{{1,2}}),?\s+(?P<year>\d{{4}}),?\s+{_CLOCK}",
        rf"(?:[A-Za-z]{{3,9}},?\s+)?(?P<name>[A-Za-z]{{3,9}})\s+(?P<day>\d{{1,2}})\s+{_CLOCK}{_YEAR_LAST}",
        rf"(?P<hour>\d{{1,2}}):(?P<minute>\d{{2}}):{_SECOND}{_ZONE}",
    )
)
#: Digits of a date without separators, such as 20191231101630.
_DATE_DIGITS = 14
_DAY_NS = 86_400 * 10**9
_LETTERS_MAX = 60


class _Moment(NamedTuple):
    """A date and the time of that day."""

    year: int
    month: int
    day: int
    is_either: bool
    """Whether month and day may be the other way round."""
    clock_ns: int
    """Less the time zone's distance from UTC."""


def times_ns(cells: Sequence[str], lines: Sequence[int], heading: Heading, unit: str | None) -> list[int]:
    """The times of a column; raises RecordingError."""
    scale = heading.scale if unit is None else TIMES[unit.casefold()]
    digits = len(cells[0].strip().split(".")[0])
    if unit is None and (not _is_number(cells[0]) or (not scale and digits == _DATE_DIGITS)):
        return _dates(cells, lines, heading)
    scale = scale or _EPOCHS.get(digits, 0)
    if not scale:
        raise RecordingError(
            f"the times of {shown_name(heading.name)} have no unit, which `time_unit` says (--time-unit): ns, us, ms, s"
        )
    times = []
    for cell, line in zip(cells, lines):
        try:
            times.append(scaled(cell, scale))
        except ArithmeticError:
            raise RecordingError(f"line {line}: the time is no number") from None
    return times


def scaled(text: str, scale: int) -> int:
    """A decimal number in whole small units, the nearest; raises ArithmeticError for what is none, or is too large."""
    if len(text) > 40 or not text.isascii() or "_" in text:
        raise InvalidOperation
    number = Decimal(text)
    # Beyond this nothing is accepted, and a number with a huge exponent would take its digits in memory.
    if not number.is_finite() or abs(number) > 10**30:
        raise InvalidOperation
    return int((number * scale).to_integral_value())


def _is_number(cell: str) -> bool:
    try:
        scaled(cell.strip(), 1)
    except ArithmeticError:
        return False
    return True


def _dates(cells: Sequence[str], lines: Sequence[int], heading: Heading) -> list[int]:
    moments = []
    for cell, line in zip(cells, lines):
        moment = _moment(cell.strip()) if len(cell) <= _LETTERS_MAX else None
        if moment is None:
            raise RecordingError(
                f"line {line}: {shown_name(heading.name)} is no number and no date of a known form, such as"
                " 2019-12-31 10:16:30.123"
            )
        moments.append(moment)
    is_day_first = _order({moment[:3] for moment in moments if moment.is_either}, heading)
    times: list[int] = []
    for moment, line in zip(moments, lines):
        month, day = (moment.day, moment.month) if moment.is_either and is_day_first else (moment.month, moment.day)
        try:
            at = _ordinal(moment.year, month, day) * _DAY_NS + moment.clock_ns
        except ValueError:
            raise RecordingError(f"line {line}: no such date") from None
        if times and not moment.year and at < times[-1] - _DAY_NS // 2:
            at += -(-(times[-1] - at - _DAY_NS // 2) // _DAY_NS) * _DAY_NS  # midnight has passed
        times.append(at)
    return times


def _order(either: set[tuple[int, int, int]], heading: Heading) -> bool:
    """True if the first number of dates is the day. Where all are the same date it makes no difference."""
    is_day_first = any(a > 12 for _, a, _ in either)
    if len(either) > 1 and is_day_first == any(b > 12 for _, _, b in either):
        raise RecordingError(
            f"the dates of {shown_name(heading.name)} may be day/month or month/day, wanted a form such as 2019-12-31"
        )
    return is_day_first


@lru_cache(maxsize=64)
def _ordinal(year: int, month: int, day: int) -> int:
    return date(year, month, day).toordinal() if year else 0


def _moment(text: str) -> _Moment | None:
    match_ = next((match for shape in _SHAPES if (match := shape.fullmatch(text))), None)
    if match_ is None:
        return None
    parts = match_.groupdict()
    clock_ns = _clock_ns(parts)
    if clock_ns is None:
        return None
    is_either = "a" in parts
    month, day = (parts["a"], parts["b"]) if is_either else (parts.get("month") or 0, parts.get("day") or 0)
    if "name" in parts:
        month = _MONTHS.get(parts["name"][:3].casefold(), 0)
    return _Moment(int(parts.get("year") or 0), int(month), int(day), is_either, clock_ns)


def _clock_ns(parts: dict[str, str | None]) -> int | None:
    hour, minute, second = (int(parts[name] or 0) for name in ("hour", "minute", "second"))
    if parts["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if parts["half"] in "Pp" else 0)
    if hour > 24 or minute > 59 or second > 60:
        return None
    zone = parts["zone"] or ""
    away = zone[1:].replace(":", "") if zone[:1] in ("+", "-") else ""
    minutes = (int(away[:2]) * 60 + int(away[2:] or 0)) * (-1 if zone[0] == "-" else 1) if away else 0
    part_ns = int((parts["part"] or "").ljust(9, "0"))
    return ((hour * 60 + minute - minutes) * 60 + second) * 10**9 + part_ns
