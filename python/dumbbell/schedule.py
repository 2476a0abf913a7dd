"""A bottleneck rate that changes in steps, as a person writes it and as a plan has it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from . import units
from .declare import Kind
from .units import UnitError

FORM = '{ steps = [["0s", "40Mbps"], ["2s", "45Mbps"]], repeat = true }'
RATE_BPS = range(1_000, 10**12 + 1)


class Course(int):
    """The first rate of a course, in bit/s, which sizes in BDP refer to; with all its steps."""

    steps: list[tuple[int, int]]
    """(ns, bit/s), ascending, the first at 0."""
    repeat_ns: int | None
    """When the steps begin anew."""


def course(value: Mapping[str, Any]) -> Course:
    """Parse `FORM`; raises UnitError. ``repeat = true`` keeps the last rate for as long as the one before it."""
    unknown = sorted(set(value) - {"steps", "repeat"})
    steps = value.get("steps")
    if unknown or not isinstance(steps, (list, tuple)) or not steps or not all(isinstance(step, (list, tuple)) and len(step) == 2 for step in steps):
        raise UnitError(f"a rate, or a course such as {FORM}" + (f"; no key {unknown[0]}" if unknown else ""))
    parsed = [(units.span_ns(at), units.rate_bps(rate)) for at, rate in steps]
    if parsed[0][0] != 0:
        raise UnitError('a course whose first step is at "0s"')
    if any(later[0] <= earlier[0] for earlier, later in pairwise(parsed)):
        raise UnitError("steps in ascending order of time")
    if not all(rate in RATE_BPS for _, rate in parsed):
        raise UnitError("rates of 1kbps to 1Tbps")
    made = Course(parsed[0][1])
    made.steps, made.repeat_ns = parsed, _repeat(value.get("repeat", False), parsed)
    return made


def _repeat(value: object, steps: list[tuple[int, int]]) -> int | None:
    if value is False:
        return None
    if value is True:
        if len(steps) < 2:
            raise UnitError("two steps at least to repeat")
        return 2 * steps[-1][0] - steps[-2][0]
    period = units.span_ns(value)
    if period <= steps[-1][0]:
        raise UnitError("a repeat behind the last step")
    return period


class RateOrCourse(Kind):
    """A rate, or a table with its steps."""

    def __init__(self, rate: Kind) -> None:
        step = {"type": "array", "minItems": 2, "maxItems": 2, "prefixItems": [{"type": "string"}, rate.schema]}
        table = {
            "type": "object",
            "additionalProperties": False,
            "required": ["steps"],
            "properties": {"steps": {"type": "array", "minItems": 1, "items": step}, "repeat": {"anyOf": [{"type": "boolean"}, {"type": "string"}]}},
        }
        super().__init__(lambda value: course(value) if isinstance(value, Mapping) else rate.parse(value), {"anyOf": [rate.schema, table]})

    def take(self, value: object, at: str) -> Any:
        """The rate as written; a course read-only, because its lists are not values to vary."""
        taken = super().take(value, at)
        return MappingProxyType(dict(taken)) if isinstance(taken, Mapping) else taken


def bits(link: Mapping[str, Any], start_ns: int, end_ns: int) -> float:
    """What the bottleneck of a plan can send between two times, bits."""
    steps, period = link.get("steps") or [(0, link["rate_bps"])], link.get("repeat_ns")
    total, at = 0, start_ns
    while at < end_ns:
        begin = at // period * period if period else 0
        i = max(k for k, step in enumerate(steps) if step[0] <= at - begin)
        ends = [begin + step[0] for step in steps[i + 1 :]] + ([begin + period] if period else []) + [end_ns]
        until = min(ends)
        total += steps[i][1] * (until - at)
        at = until
    return total / 1e9


def changes(link: Mapping[str, Any], duration_ns: int) -> tuple[list[float], list[float]]:
    """Times in seconds and rates in Mbit/s at which the rate of a plan's bottleneck changes, for a step plot."""
    steps, period = link.get("steps") or [(0, link["rate_bps"])], link.get("repeat_ns")
    begins = range(0, duration_ns, period) if period else (0,)
    points = [(begin + at, rate) for begin in begins for at, rate in steps if begin + at < duration_ns]
    points.append((duration_ns, points[-1][1]))
    return [at / 1e9 for at, _ in points], [rate / 1e6 for _, rate in points]
