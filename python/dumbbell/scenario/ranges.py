"""Values between two ends, as a person writes them: evenly spaced, or by a constant factor.

    rate = { from = "10Mbps", to = "1Gbps", steps = 7, spacing = "log" }
    buffer = { from = "1bdp", to = "5bdp", step = "0.5bdp" }

Sums are exact. What is not a short decimal is rounded: to three digits with logarithmic spacing, else to six; between
whole numbers, and in units that have no parts (packets, bytes, ns, bit/s), to whole ones. No value is finer than keys
take: 1 ns, 1 bit/s, 1 byte, and 1e-9 of a share.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Context, Decimal
from fractions import Fraction
from math import isfinite
from typing import Any, NamedTuple

from dumbbell import units
from dumbbell.errors import ScenarioError, wrong
from dumbbell.units import UnitError

FORM = '{ from = "10Mbps", to = "1Gbps", steps = 7, spacing = "log" } or { from = 1, to = 9, step = 2 }'
SPACINGS = ("linear", "log")

#: Most values of a range.
STEPS_MAX = 10_000

_KEYS = {"from", "to", "steps", "step", "spacing"}
#: Units that have no parts.
_WHOLE = frozenset({"pkt", "B", "ns", "bps", "bit/s", "bit"})
#: The finest share that a key takes is one part in this many.
_SHARE_PARTS = 10**9
_LOG_DIGITS, _DIGITS, _EXACT_DIGITS = 3, 6, 15

SCHEMA: dict[str, Any] = {
    "description": f"Values between two ends: {FORM}.",
    "type": "object",
    "additionalProperties": False,
    "required": ["from", "to"],
    "oneOf": [{"required": ["steps"]}, {"required": ["step"]}],
    "properties": {
        "from": {"description": "the first value", "type": ["string", "number"]},
        "to": {"description": "the last value, above the first", "type": ["string", "number"]},
        "steps": {"description": "how many values, the ends included", "type": "integer", "minimum": 2},
        "step": {"description": "from one value to the next", "type": ["string", "number"]},
        "spacing": {"description": "with steps: equal differences, or equal factors", "enum": list(SPACINGS)},
    },
}


class Amount(NamedTuple):
    """A number with its unit; a bare one has none."""

    number: Fraction
    unit: str
    is_bare: bool
    is_whole: bool

    @classmethod
    def of(cls, value: object, at: str) -> Amount:
        """Read a written value; raises ScenarioError."""
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if not isfinite(value):
                raise wrong(at, value, "a finite number")
            return cls(Fraction(repr(value)), "", True, isinstance(value, int))
        wanted = 'a number with its unit, such as "10Mbps"'
        try:
            numerator, denominator, unit = units.split(value, wanted)
        except UnitError:
            raise wrong(at, value, wanted) from None
        return cls(Fraction(numerator, denominator), unit, False, unit in _WHOLE)

    def in_unit_of(self, other: Amount, at: str) -> Fraction:
        """The number in the unit of another; raises ScenarioError where they measure different things."""
        if (self.unit, self.is_bare) == (other.unit, other.is_bare):
            return self.number
        for family in (units.BPS, units.NS, units.BYTES):
            if self.unit in family and other.unit in family:
                return self.number * Fraction(family[self.unit], family[other.unit])
        raise ScenarioError(at, f'the units "{other.unit}" and "{self.unit}" measure different things')

    def written(self, number: Fraction, digits: int | None = None) -> Any:
        """A number of this unit as a person writes it, with that many digits."""
        if self.is_whole:
            number = Fraction(round(number))
        text = _decimal(number, None if self.is_whole else digits)
        if not self.is_bare:
            return f"{text}{self.unit}"
        return int(text) if self.is_whole else float(text)

    def accepted(self, number: Fraction, digits: int | None = None) -> Any:
        """The same, rounded to what a key takes, where it would be finer."""
        smallest = self._smallest
        rounded = Fraction(str(self.written(number, digits)).removesuffix(self.unit))
        if not smallest or (rounded * smallest).denominator == 1:
            return self.written(number, digits)
        parts = _decimal_parts(smallest)
        return self.written(Fraction(round(number * parts), parts))

    @property
    def _smallest(self) -> int | None:
        """Number of smallest amounts in a unit of the key; None where keys take any part."""
        if self.is_bare or self.unit == "%":
            return _SHARE_PARTS // (1 if self.is_bare else 100)
        return next((of[self.unit] for of in (units.BPS, units.NS, units.BYTES) if self.unit in of), None)


def _decimal_parts(smallest: int) -> int:
    """Number of parts of a unit that short decimals can tell apart, where `smallest` amounts make up the unit: 1024 for
    KiB, MiB and GiB, otherwise a power of ten.

    >>> _decimal_parts(10**6), _decimal_parts(3600 * 10**9), _decimal_parts(2**20)
    (1000000, 100000000000, 1024)
    """
    text = str(smallest)
    return 1024 if smallest % 1024 == 0 and not text.endswith("0") else 10 ** (len(text) - len(text.rstrip("0")))


def _decimal(number: Fraction, digits: int | None) -> str:
    exact = Context(prec=_EXACT_DIGITS).divide(Decimal(number.numerator), Decimal(number.denominator))
    if digits is None and Fraction(exact) == number:
        rounded = exact
    else:
        rounded = Context(prec=digits or _DIGITS).divide(Decimal(number.numerator), Decimal(number.denominator))
    text = format(rounded, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def values(given: Mapping[str, Any], at: str) -> list[Any]:
    """The written values of a range, in order; raises ScenarioError."""
    unknown = sorted(str(name) for name in set(given) - _KEYS)
    spacing = given.get("spacing", "linear")
    if unknown or ("steps" in given) == ("step" in given) or spacing not in SPACINGS:
        raise wrong(at, given, f"a range such as {FORM}" + (f"; no key {unknown[0]}" if unknown else ""))
    first, last = (Amount.of(given[name], at) for name in ("from", "to"))
    low, high = first.number, last.in_unit_of(first, at)
    first = first._replace(is_whole=first.is_whole and (last.is_whole or not first.is_bare))
    if low >= high:
        raise wrong(at, given, "a range whose `to` is above its `from`")
    if "step" in given:
        if spacing != "linear":
            raise wrong(at, given, '`steps` instead of `step` where spacing is "log"')
        return _by_step(first, low, high, Amount.of(given["step"], at), at)
    steps = given["steps"]
    if not isinstance(steps, int) or isinstance(steps, bool) or not 2 <= steps <= STEPS_MAX:
        raise wrong(at, given, f"a range of 2 to {STEPS_MAX} steps")
    if spacing == "linear":
        inner = [first.accepted(low + (high - low) * i / (steps - 1)) for i in range(1, steps - 1)]
    elif low <= 0:
        raise wrong(at, given, 'a range that begins above zero where spacing is "log"')
    else:
        factor = float(high / low)
        inner = [first.accepted(low * Fraction(factor ** (i / (steps - 1))), _LOG_DIGITS) for i in range(1, steps - 1)]
    return [given["from"], *inner, given["to"]]


def _by_step(first: Amount, low: Fraction, high: Fraction, step: Amount, at: str) -> list[Any]:
    by = step.in_unit_of(first, at)
    if by <= 0 or (high - low) / by >= STEPS_MAX:
        raise ScenarioError(at, f"a step above zero that makes {STEPS_MAX} values at most")
    first = first._replace(is_whole=first.is_whole and by.denominator == 1)
    return [first.written(low + by * i) for i in range(int((high - low) / by) + 1)]


def ranged(low: Any, high: Any, *, steps: int | None = None, step: Any = None, spacing: str = "linear") -> list[Any]:
    """Values from `low` to `high`, to vary a key: `steps` of them, or one every `step`.

    Parameters
    ----------
    low, high
        The ends, as a key takes them: texts with a unit, or bare numbers.
    steps
        How many values, the ends included.
    step
        From one value to the next, instead of `steps`.
    spacing
        ``linear``, or ``log`` for equal factors.

    Raises
    ------
    ScenarioError
        The ends measure different things, or the range makes no sense.

    >>> ranged("10Mbps", "1Gbps", steps=5, spacing="log")
    ['10Mbps', '31.6Mbps', '100Mbps', '316Mbps', '1Gbps']
    >>> ranged(1, 9, step=4)
    [1, 5, 9]
    """
    given = {"from": low, "to": high, "spacing": spacing}
    given |= {name: value for name, value in (("steps", steps), ("step", step)) if value is not None}
    return values(given, "ranged")


__all__ = ["FORM", "SCHEMA", "ranged", "values"]
