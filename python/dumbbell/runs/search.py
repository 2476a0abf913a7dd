"""The smallest or largest value of an ordered axis at which conditions hold, by bisection.

It assumes that each condition changes once along the axis, at most. Every point that was looked at must agree with
that, and both ends of the axis and the neighbours of the answer are: where one does not agree, the answer says so.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import ScenarioError, wrong

if TYPE_CHECKING:
    from dumbbell.scenario.axes import Axis
    from dumbbell.scenario.file import Scenario


class Bisection:
    """One search over `count` points for the first at which all conditions hold, in their order.

    Some conditions hold at the first point and not at the last, as a short queue does where buffers grow, and some the
    other way round, as a full link does: the answer lies between, so that neither end need meet all of them.

    Attributes
    ----------
    told
        Points that were looked at, and which of the conditions hold there.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.told: dict[int, tuple[bool, ...]] = {}

    @property
    def first(self) -> int | None:
        """The first point at which all hold, as far as is known; None where there is none."""
        begin = self._begin
        return begin if begin is not None and all(self.told[begin]) else None

    @property
    def is_end(self) -> bool:
        """True if that is the end of the axis, beyond which they may hold, too."""
        return self.first == 0

    @property
    def is_reversed(self) -> bool:
        """True if they hold at the first point and not at the last, so that the change is elsewhere."""
        return self._has_ends and all(self.told[0]) and not all(self.told[self.count - 1])

    @property
    def is_monotone(self) -> bool:
        """True if every point that was looked at agrees with one change of each condition along the axis, or none."""
        told = [self.told[i] for i in sorted(self.told)]
        return all(sum(one != other for one, other in pairwise(column)) <= 1 for column in zip(*told))

    def next(self) -> int | None:
        """The point to look at next; None at the end."""
        for end in (self.count - 1, 0):
            if end not in self.told:
                return end
        begin = self._begin
        if begin is None or self.is_reversed or self._missing:
            return None
        below = max((i for i in self.told if i < begin), default=-1)
        if begin - below > 1:
            return (begin + below) // 2
        return next((i for i in (begin + 1, begin - 2) if 0 <= i < self.count and i not in self.told), None)

    @property
    def _has_ends(self) -> bool:
        return 0 in self.told and self.count - 1 in self.told

    @property
    def _missing(self) -> bool:
        """True if some condition holds at neither end, and so nowhere."""
        return not all(first or last for first, last in zip(self.told[0], self.told[self.count - 1]))

    @property
    def _begin(self) -> int | None:
        """The first point, as far as is known, from which the conditions hold that do not at the first of all."""
        if not self._has_ends:
            return None
        gained = [not first and last for first, last in zip(self.told[0], self.told[self.count - 1])]
        return min(i for i, holds in self.told.items() if all(met or not want for met, want in zip(holds, gained)))


class Ordered(NamedTuple):
    """An axis in ascending order of one of its keys."""

    key: str
    axis: Axis
    values: list[Any]
    """As written."""


def ordered(scenario: Scenario, key: str) -> Ordered:
    """The axis of this key; raises ScenarioError where it does not vary, or its values have no order."""
    axes = scenario.axes
    axis = next((varied for varied in axes if key in varied.keys), None)
    if axis is None:
        names = [name for varied in axes for name in varied.keys]
        raise wrong("--find", key, f"a varied key: {', '.join(names) or 'there is none; --vary makes one'}", names)
    sizes = [_size(point.vary[key], key) for point in axis.points]
    if len({measure for measure, _ in sizes}) > 1 or len(set(sizes)) < len(sizes):
        raise ScenarioError(key, "--find: wanted values in one measure, each once, so that they have an order")
    order = sorted(range(len(sizes)), key=lambda i: sizes[i][1])
    return Ordered(key, axis, [axis.points[i].vary[key] for i in order])


def _size(value: Any, key: str) -> tuple[str, float]:
    """Measure and size of a written value."""
    from dumbbell import units
    from dumbbell.scenario.ranges import Amount

    amount = None if isinstance(value, (bool, dict, list)) else Amount.of(value, key)
    if amount is None:
        raise wrong(key, value, "numbers, so that they have an order")
    for name, family in (("rate", units.BPS), ("time", units.NS), ("size", units.BYTES)):
        if amount.unit in family:
            return name, float(amount.number * family[amount.unit])
    return amount.unit.casefold(), float(amount.number)
