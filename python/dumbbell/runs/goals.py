"""How many repetitions are enough: until the confidence interval of a figure is small.

goodput ci 2%          the half width of the 95 % interval is at most 2 % of the mean
queue ci 0.5           at most 0.5, in the unit that tables print: percentage points of retrans_rate and drop_rate
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from dumbbell.errors import ScenarioError
from dumbbell.results.catalogue import canonical, figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell.results.figures import Row

#: Repetitions before an interval is looked at: with two, Student's t is 12.7 and nearly nothing is small enough, and
#: what is may be so by chance.
FIRST = 3

_FORM = re.compile(r"\s*(\w+(?:@[\w.-]+)?)\s+ci\s+(\d+\.?\d*|\.\d+)\s*(%?)\s*")


class Goal(NamedTuple):
    """A figure, and how wide half of its interval may be."""

    name: str
    width: float
    is_relative: bool

    @classmethod
    def of(cls, text: str) -> Goal:
        """Read ``FIGURE ci WIDTH``; raises ScenarioError."""
        match = _FORM.fullmatch(text)
        if match is None or not float(match[2]):
            raise ScenarioError(
                "--until", f'got "{text}", wanted FIGURE ci WIDTH, such as "goodput ci 2%" or "queue ci 0.5"'
            )
        name = canonical(match[1], "--until")
        one, width = figure(name), float(match[2])
        if one.is_fraction and not match[3] and width > 1:
            meant = f'"{width / 100:g}", or "{width:g}%" of the mean'
            raise ScenarioError("--until", f'got "{text}", wanted {meant}: {name} is at most 1')
        return cls(name, width / (100 if match[3] or one.unit == "%" else 1), bool(match[3]))

    def wanted(self, row: Row) -> int:
        """How many repetitions a row needs, from those that it has; these where they are enough, and where the row
        has no such figure.
        """
        found = row.values.get(self.name)
        if found is None:
            return row.n
        if found.n < FIRST:
            return row.n + 1
        most = self.width * (abs(found.mean) if self.is_relative else 1.0)
        if found.half_width <= most:
            return row.n
        if math.isnan(found.half_width) or not most:
            return row.n + 1
        # An interval shrinks with the root of the number; at most twice as many, because its width is uncertain, too.
        return max(row.n + 1, min(2 * row.n, math.ceil(found.n * (found.half_width / most) ** 2)))


def wanted(goals: Sequence[Goal], rows: Sequence[Row]) -> int:
    """How many repetitions these rows of one combination need: more than they have for a figure that no row has."""
    return max(
        max(goal.wanted(row) for row in rows) if _has_some(goal, rows) else 2 * max(row.n for row in rows)
        for goal in goals
    )


def missed(goals: Sequence[Goal], rows: Sequence[Row]) -> list[str]:
    """What keeps each figure of these rows of one combination from an interval as small as was wanted."""
    n = max(row.n for row in rows)
    return [_why(goal, rows, n) for goal in goals if wanted([goal], rows) > n]


def _why(goal: Goal, rows: Sequence[Row], n: int) -> str:
    have = min((row.values[goal.name].n for row in rows if goal.name in row.values), default=0)
    if not have:
        return f"{goal.name}: {f'none of {n} repetitions has' if n > 1 else 'the only repetition does not have'} it"
    if n == 1:
        return f"{goal.name}: one repetition has no interval"
    if have < min(n, FIRST):
        return f"{goal.name}: {have} of {n} repetitions {'have' if have > 1 else 'has'} it"
    return f"{goal.name}: wider than wanted after {n} repetitions"


def _has_some(goal: Goal, rows: Sequence[Row]) -> bool:
    return any(goal.name in row.values for row in rows)
