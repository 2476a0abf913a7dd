"""Numbers and choices that a search draws, as a scenario file writes them."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dumbbell import units
from dumbbell.errors import ScenarioError, wrong
from dumbbell.scenario.ranges import Amount

#: Digits of a number that is drawn.
_DIGITS = 4
#: Ends that are further apart, as a factor, are drawn by equal factors.
_LOG_FROM = 10
_SPACINGS = ("log", "linear")
#: Two ends; the dots of a path such as ../links.csv are none.
_RANGE = re.compile(r"([^,]+?)\.\.([^/.,][^,]*)")
FORM = "A..B, A..B/log, A..B/linear, or values with commas between them"


class Field(NamedTuple):
    """One value that is drawn: a number of a range, or one of several.

    Attributes
    ----------
    name
        What it is, for people.
    low, high
        The ends; `high` in the unit of `low`.
    is_log
        Whether equal factors are equally likely, instead of equal differences.
    values
        The values of a choice; empty for a number.
    rounds
        Round numbers, in the unit of `low`: a coordinate of its own says of which of them the number is a multiple,
        if of any.
    """

    name: str
    low: Amount = Amount(Fraction(0), "", is_bare=True, is_whole=False)
    high: Fraction = Fraction(1)
    is_log: bool = False
    values: tuple[Any, ...] = ()
    rounds: tuple[Fraction, ...] = ()

    @property
    def steps(self) -> tuple[int, ...]:
        """Of each coordinate how many values it has; 0: all from 0 to 1."""
        if self.values:
            return (len(self.values),)
        return (0, 1 + len(self.rounds)) if self.rounds else (0,)

    def read(self, at: tuple[float, ...]) -> Any:
        """The value at these coordinates, each from 0 to 1, as it is written."""
        if self.values:
            return self.values[index(at[0], len(self.values))]
        low, high, part = float(self.low.number), float(self.high), min(max(at[0], 0.0), 1.0)
        number = Fraction(low * (high / low) ** part if self.is_log else low + (high - low) * part)
        multiple = index(at[1], 1 + len(self.rounds)) if self.rounds else 0
        if multiple:
            number = self._inside(self.rounds[multiple - 1] * round(number / self.rounds[multiple - 1]))
        return self._written(number)

    def places(self, at: np.ndarray) -> np.ndarray:
        """Where the values at these coordinates, a row for each, are between the ends, from 0 to 1: two rows that are
        read as the same value have the same place, whatever made it round.
        """
        if self.values:
            return np.asarray(np.rint(at[:, 0] * (len(self.values) - 1)) / (len(self.values) - 1))
        if not self.rounds:
            return at[:, 0]
        low, high = float(self.low.number), float(self.high)
        numbers = low * (high / low) ** at[:, 0] if self.is_log else low + (high - low) * at[:, 0]
        which = np.rint(at[:, 1] * len(self.rounds)).astype(int)
        for number, multiple in enumerate(map(float, self.rounds), start=1):
            rounded = np.clip(multiple * np.rint(numbers / multiple), low, high)
            numbers = np.where(which == number, rounded, numbers)
        parts = np.log(numbers / low) / math.log(high / low) if self.is_log else (numbers - low) / (high - low)
        return np.asarray(parts)

    def rounder(self, value: Any) -> list[Any]:
        """The same number with fewer digits, the roundest first; nothing for a choice."""
        if self.values:
            return []
        number = Amount.of(value, self.name).in_unit_of(self.low, self.name)
        rounded = [self._written(self._inside(_rounded(number, digits))) for digits in (1, 2, 3)]
        return [one for one in dict.fromkeys(rounded) if one != value]

    def _written(self, number: Fraction) -> Any:
        """As a file has it, in few digits unless these leave the bounds; a second or more is in seconds."""
        unit_ns = units.NS.get(self.low.unit, 0)
        unit, scale = self.low, Fraction(1)
        if unit_ns * number >= 10**9 and not self.low.is_bare:
            unit, scale = self.low._replace(unit="s", is_whole=False), Fraction(unit_ns, 10**9)
        for digits in (_DIGITS, 2 * _DIGITS):
            written = unit.accepted(number * scale, digits)
            if self.low.number <= Amount.of(written, self.name).number / scale <= self.high:
                return written
        return unit.written(number * scale)

    def _inside(self, number: Fraction) -> Fraction:
        return min(max(number, self.low.number), self.high)


def _rounded(number: Fraction, digits: int) -> Fraction:
    return Fraction(f"{float(number):.{digits}g}")


def index(at: float, count: int) -> int:
    """Which of so many equal parts of 0 to 1 a coordinate is in; the last one with its end."""
    return min(max(round(at * (count - 1)), 0), count - 1) if count > 1 else 0


def parsed(name: str, text: str, at: str, *, rounds: tuple[Fraction, ...] = ()) -> Field:
    """A field of a text such as ``20ms..2s`` or ``fifo,codel``; raises ScenarioError that names the option `at`."""
    range_ = _RANGE.fullmatch(text)
    if not range_:
        values = tuple(_value(one.strip()) for one in text.split(",") if one.strip())
        if len(values) < 2:
            raise wrong(at, text, FORM)
        return Field(name, values=values)
    low_text, (high_text, slash, spacing) = range_[1], range_[2].partition("/")
    low, high = (Amount.of(_value(one.strip()), at) for one in (low_text, high_text))
    top = high.in_unit_of(low, at)
    if low.number >= top or (slash and spacing not in _SPACINGS) or (spacing == "log" and low.number <= 0):
        raise wrong(at, text, f"{FORM}, where B is above A, and with log A above zero")
    is_log = spacing == "log" if slash else low.number > 0 and top / low.number >= _LOG_FROM
    low = low._replace(is_whole=low.is_whole and (high.is_whole or not low.is_bare))
    return Field(name, low, top, is_log, rounds=rounds)


def moment(end_s: float, rounds_s: tuple[Fraction, ...], text: str, at: str) -> Field:
    """When something happens: in the run, or in the part of it that `text` says; by itself or at round times."""
    if text:
        unit_ns = _ns(text, at)
        part = parsed("at", text, at)
        if part.values or part.high * unit_ns > round(end_s * 1e9):
            raise wrong(at, text, f"a part of the run, which ends at {end_s:g} s")
        return part._replace(rounds=tuple(one * Fraction(10**9, unit_ns) for one in rounds_s))
    seconds = Amount(Fraction(0), "s", is_bare=False, is_whole=False)
    return Field("at", seconds, Fraction(str(round(end_s, 6))), rounds=rounds_s)


def _ns(text: str, at: str) -> int:
    unit = Amount.of(text.partition("..")[0].strip(), at).unit
    if unit not in units.NS:
        raise wrong(at, text, f"times with their unit ({units.SPAN})")
    return units.NS[unit]


def _value(text: str) -> Any:
    """A number, true, false or a text, as a scenario file has it."""
    if text in ("true", "false"):
        return text == "true"
    try:
        number = float(text)
    except ValueError:
        return text
    if not math.isfinite(number):
        raise ScenarioError("--within", f"got {text}, wanted a finite number")
    return int(text) if text.lstrip("+-").isdecimal() else number


def seconds(value: Any) -> Fraction:
    """A written time, in seconds."""
    return Fraction(units.span_ns(value), 10**9)


def time_text(time: Fraction) -> str:
    """A time in seconds as a file has it, to the microsecond."""
    return f"{float(round(time, 6)):.6f}".rstrip("0").rstrip(".") + "s"
