"""The one statistical rule (docs/judging.md).

Means over repetitions are compared, never medians. Where both sides have the same seeds, repetitions with one seed are
a pair; otherwise the interval is Welch's. A difference within the tolerance is none. One beyond it is a failure if its
95 % interval excludes zero, else unclear. Fewer than `REPETITIONS` have no interval: their mean decides alone, but a
difference of such runs fails only beyond `SINGLE` tolerances, and is unclear before.

Equal engines then fail in 0.5 % of judgements with three or five seeds, in 3 % with one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from dumbbell.results.statistic import Interval

from .verdict import FAILS, HOLDS, UNCLEAR, Word

#: Tolerances beyond which a difference of single runs is a failure. Of 13,638 differences between two seeds of Linux
#: 9.1 % are beyond one tolerance, 5.3 % beyond 1.5 and 3.2 % beyond two.
SINGLE = 2.0

#: Repetitions from which on an interval says something: with two, Student's t is 12.7, nearly every interval is wide,
#: and a narrow one may be so by chance.
REPETITIONS = 3

#: What floating-point sums of equal figures may differ by.
_ROUNDING = 1e-9


class Tolerance(NamedTuple):
    """Largest distance at which two values count as equal: an amount, or a share of the reference, whichever is more;
    with `is_both` whichever is less.
    """

    amount: float = 0.0
    share: float = 0.0
    is_both: bool = False

    def at(self, reference: float) -> float:
        """The tolerance around this value, in its unit."""
        return (min if self.is_both else max)(self.amount, self.share * abs(reference))


def decide(apart: Interval, tolerance: float, *, single: float = 1.0) -> Word:
    """The word for a difference from what is wanted; `single` is how many tolerances one without an interval may be."""
    distance = abs(apart.mean)
    if distance <= tolerance + _ROUNDING:
        return HOLDS
    if not has_interval(apart):
        return FAILS if not distance <= single * tolerance else UNCLEAR
    return FAILS if distance > apart.half_width else UNCLEAR


def has_interval(apart: Interval) -> bool:
    """True if repetitions are enough for an interval."""
    return apart.n >= REPETITIONS and not math.isnan(apart.half_width)


def is_by_chance(apart: Interval) -> bool:
    """True if the interval holds zero; never without one."""
    return has_interval(apart) and abs(apart.mean) < apart.half_width


def decide_bound(above: Interval) -> Word:
    """The word for a value that should be above a line, from how much it is: unclear where its interval holds the line.
    A single value decides alone.
    """
    if abs(above.mean) <= _ROUNDING or not is_by_chance(above):
        return HOLDS if above.mean >= -_ROUNDING else FAILS
    return UNCLEAR
