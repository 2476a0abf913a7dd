"""The smallest or largest value of an ordered axis at which a condition holds, by bisection.

It assumes that the condition changes once along the axis, at most. Every point that was looked at must agree with that,
and both ends of the axis and the neighbours of the answer are: where one does not agree, the answer says so.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import ScenarioError, wrong

if TYPE_CHECKING:
    from dumbbell.scenario.axes import Axis
    from dumbbell.scenario.file import Scenario


class Bisection:
    """One search over `count` points for the first at which a condition holds, in their order.

    Attributes
    ----------
    told
        Points that were looked at, and whether the condition holds there.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.told: dict[int, bool] = {}

    @property
    def first(self) -> int | None:
        """The first point at which it holds, as far as is known; None where it holds nowhere."""
        return min((i for i, holds in self.told.items() if holds), default=None)

    @property
    def is_end(self) -> bool:
        """Whether that is the end of the axis, beyond which it may hold, too."""
        return self.first == 0

    @property
    def is_reversed(self) -> bool:
        """Whether it holds at the first point and not at the last, so that the change is elsewhere."""
        return self.told.get(0, False) and not self.told.get(self.count - 1, True)

    def next(self) -> int | None:
        """The point to look at next; None at the end."""
        for end in (self.count - 1, 0):
            if end not in self.told:
                return end
        first = self.first
        if first is None or self.is_reversed:
            return None
        below = max((i for i in self.told if i < first), default=-1)
        if first - below > 1:
            return (first + below) // 2
        return next((i for i in (first + 1, first - 2) if 0 <= i < self.count and i not in self.told), None)

    @property
    def is_monotone(self) -> bool:
        """Whether every point that was looked at agrees with one change along the axis, or none."""
        told = [self.told[i] for i in sorted(self.told)]
        return sum(one != other for one, other in pairwise(told)) <= 1


class Ordered(NamedTuple):
    """An axis in ascending order of one of its keys."""

    key: str
    axis: Axis
    values: list[Any]
    """As written."""


def ordered(scenario: Scenario, key: str) -> Ordered:
    """The axis of this key; raises ScenarioError where it does not vary, or its values have no order."""
    from dumbbell.scenario import axes

    found = axes.of(scenario)
    axis = next((one for one in found if key in one.keys), None)
    if axis is None:
        names = [name for one in found for name in one.keys]
        raise wrong("--find", key, f"a varied key: {', '.join(names) or 'there is none; --vary makes one'}", names)
    sizes = [_size(point.vary[key], key) for point in axis.points]
    if len({measure for measure, _ in sizes}) > 1 or len(set(sizes)) < len(sizes):
        raise ScenarioError(key, "--find: wanted values in one measure, each once, so that they have an order")
    order = sorted(range(len(sizes)), key=lambda i: sizes[i][1])
    return Ordered(key, axis, [axis.points[i].vary[key] for i in order])


def _size(value: Any, key: str) -> tuple[str, float]:
    """What a written value measures, and how much."""
    from dumbbell.scenario import units
    from dumbbell.scenario.ranges import Amount

    amount = None if isinstance(value, (bool, dict, list)) else Amount.of(value, key)
    if amount is None:
        raise wrong(key, value, "numbers, so that they have an order")
    for name, family in (("rate", units.BPS), ("time", units.NS), ("size", units.BYTES)):
        if amount.unit in family:
            return name, float(amount.number * family[amount.unit])
    return amount.unit.casefold(), float(amount.number)
