"""Values of a varied key as numbers in one unit, for axes of pictures and columns of tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dumbbell import units


class Axis(NamedTuple):
    """Numbers of values, in their order, and the unit that these have together; empty for none."""

    numbers: tuple[float, ...]
    unit: str


def read(key: str, values: Sequence[Any]) -> Axis | None:
    """The values of a varied key as numbers; None where they are words, or quantities of several kinds."""
    if key.endswith((".cca", "seed")):
        return None
    for own, parse in _READERS if not key.endswith("loss") else [_SHARE]:
        try:
            numbers = [parse(value) for value in values]
        except (ValueError, TypeError):
            continue
        scaled, unit = _scaled(numbers, own)
        return Axis(tuple(scaled), unit)
    return None


def _measured(wanted: str) -> Callable[[Any], float]:
    def parse(value: Any) -> float:
        measure, numerator, denominator = units.buffer(value)
        if measure != wanted:
            raise ValueError(value)
        return float(numerator) / denominator

    return parse


def _number(value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise ValueError(value)


def _percent(value: Any) -> float:
    return units.loss_ppb(value) / 1e7


def _frequency(value: Any) -> float:
    number, slash, per = str(value).partition("/")
    if not slash:
        raise ValueError(value)
    return float(number) / {"s": 1, "min": 60, "h": 3600}.get(per, float("nan"))


_READERS: tuple[tuple[str, Callable[[Any], float]], ...] = (
    ("BDP", _measured("bdp")),
    ("packets", _measured("pkt")),
    ("", _number),
    ("s", lambda value: units.span_ns(value) / 1e9),
    ("bit/s", lambda value: float(units.rate_bps(value))),
    ("%", _percent),
    ("B", lambda value: float(units.size_bytes(value))),
    ("per second", _frequency),
)

_SHARE = ("%", _percent)

#: Units from the largest to the smallest.
_STEPS = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")),
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
}


def _scaled(numbers: Sequence[float], unit: str) -> tuple[list[float], str]:
    """The numbers in the largest unit in which none of them is below 0.1."""
    smallest = min((number for number in numbers if number > 0), default=0.0)
    for size, name in _STEPS.get(unit, ()):
        if smallest >= size / 10 or name == _STEPS[unit][-1][1]:
            return [round(number / size, 12) for number in numbers], name
    return list(numbers), unit
