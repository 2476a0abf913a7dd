"""The kinds of question. Each takes samples of a figure and gives a verdict by the rule of `rule.py`.

A question over several places holds where it holds at every one; `together` joins their verdicts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean
from typing import Literal, NamedTuple

from dumbbell.results.statistic import Interval, Sample, difference

from .rule import REPETITIONS, Tolerance, decide, decide_bound, is_by_chance
from .verdict import FAILS, HOLDS, UNCLEAR, UNJUDGED, Verdict, Word, worst

Sign = Literal[">=", "<=", ">", "<", "==", "!="]

#: Reasons of a joined verdict that are written out.
_REASONS = 3
_NONE = Tolerance()


def missing(sample: Sample, name: str) -> Verdict | None:
    """The verdict where repetitions lack the figure: the mean of some is not that of all. None where all have it."""
    if not sample.lacking and sample.values:
        return None
    count = f"{sample.lacking} of {len(sample.values)} repetitions" if len(sample.values) > 1 else "the run"
    return Verdict(UNJUDGED, None, math.nan, f"{count} {'have' if sample.lacking > 1 else 'has'} no {name}")


class Bound(NamedTuple):
    """A figure by its name against a number, as metrics compute it: a percentage as a fraction."""

    name: str
    sign: Sign
    value: float

    def judge(self, sample: Sample) -> Verdict:
        """Hold the mean of the repetitions against the number."""
        return missing(sample, self.name) or compared(sample, self.sign, self.value, name=self.name)

    def distance(self, value: float) -> float:
        """Distance of a value from the bound, negative beyond it."""
        above = value - self.value
        if self.sign == "==":
            return -abs(above)
        return above if self.sign.startswith((">", "!")) else -above


def compared(sample: Sample, sign: Sign, other: Sample | float, tolerance: Tolerance = _NONE, *, name: str) -> Verdict:
    """Hold the mean of the repetitions against a number, or against that of other runs, repetition by repetition where
    seeds match. A tolerance widens what is allowed.
    """
    measured = sample.interval
    if isinstance(other, Sample):
        apart, _ = difference(other, sample)
        line = other.interval.mean
    else:
        apart, line = measured._replace(mean=measured.mean - other), other
    above, near = apart.mean, tolerance.at(line)
    if sign in ("==", "!="):
        word = decide(apart, near)
        word = word if sign == "==" else _OPPOSITE[word]
        margin = near - abs(above) if sign == "==" else abs(above) - near or -1.0
    else:
        margin = near + (above if sign.startswith(">") else -above)
        word = decide_bound(apart._replace(mean=margin))
        if margin == 0 and len(sign) == 1:  # the number itself is not below or above itself
            word, margin = FAILS if word == HOLDS else word, -math.ulp(1.0)
    reason = "" if word == HOLDS else f"{name} {number(measured.mean)}, wanted {sign} {number(line)}"
    return Verdict(word, measured, margin, reason)


_OPPOSITE: dict[Word, Word] = {HOLDS: FAILS, FAILS: HOLDS, UNCLEAR: UNCLEAR, UNJUDGED: UNJUDGED}


class Precision(NamedTuple):
    """Largest half width of a figure's 95 % interval: an amount, or a part of the mean."""

    name: str
    width: float
    is_relative: bool

    def judge(self, sample: Sample) -> Verdict:
        """Hold the half width against the wanted one; unjudged where the figure is missing in all repetitions, or known
        in too few.
        """
        measured = sample.interval
        if measured.n < REPETITIONS:
            return Verdict(UNJUDGED, measured if measured.n else None, math.nan, self._few(sample, measured.n))
        most = self.width * (abs(measured.mean) if self.is_relative else 1.0)
        if measured.half_width <= most:
            return Verdict(HOLDS, measured, most - measured.half_width)
        margin = most - measured.half_width
        return Verdict(
            FAILS, measured, margin, f"{self.name}: wider than wanted after {len(sample.values)} repetitions"
        )

    def wanted(self, sample: Sample) -> int:
        """Number of repetitions that are needed, from those that there are: these, where they are enough, or where none
        has the figure.
        """
        n, measured = len(sample.values), sample.interval
        if not measured.n:
            return n
        verdict = self.judge(sample)
        if verdict.word == HOLDS:
            return n
        most = self.width * (abs(measured.mean) if self.is_relative else 1.0)
        if measured.n < REPETITIONS or math.isnan(measured.half_width) or not most:
            return n + 1
        # An interval shrinks with the root of the number; at most twice as many, because its width is uncertain, too.
        return max(n + 1, min(2 * n, math.ceil(measured.n * (measured.half_width / most) ** 2)))

    def _few(self, sample: Sample, known: int) -> str:
        n = len(sample.values)
        if not known:
            return f"{self.name}: {f'none of {n} repetitions has' if n > 1 else 'the only repetition does not have'} it"
        if n == 1:
            return f"{self.name}: one repetition has no interval"
        if known == n:
            return f"{self.name}: wider than wanted after {n} repetitions"
        return f"{self.name}: {known} of {n} repetitions {'have' if known > 1 else 'has'} it"


class Within(NamedTuple):
    """A value between two ends, or at one where both are the same, give or take a tolerance; None is an open end. With
    `is_strict` a bound has no tolerance.
    """

    low: float | None
    high: float | None
    tolerance: Tolerance
    is_strict: bool = False

    def judge(self, sample: Sample) -> Verdict:
        """Hold the mean against the ends."""
        measured = sample.interval
        if not math.isfinite(measured.mean):
            return Verdict(UNJUDGED, None, math.nan, "not defined")
        sides = [
            self._side(measured, end, is_low=is_low)
            for end, is_low in ((self.low, True), (self.high, False))
            if end is not None
        ]
        return min(sides, key=lambda side: side.margin)

    def _side(self, measured: Interval, end: float, *, is_low: bool) -> Verdict:
        above = measured.mean - end if is_low else end - measured.mean
        near = 0.0 if self.is_strict else self.tolerance.at(end)
        margin = (above + near) / (near or 1.0)
        if self.is_strict:
            word = decide_bound(Interval(above, measured.half_width, measured.n))
        else:
            word = HOLDS if above >= 0 else decide(Interval(above, measured.half_width, measured.n), near)
        reason = "" if word == HOLDS else f"{number(measured.mean)} is {'below' if is_low else 'above'}"
        return Verdict(word, measured, margin, reason)


class Order(NamedTuple):
    """Values from the highest to the lowest, each above the next by more than the tolerance.

    Attributes
    ----------
    names
        What they are called.
    min_gap
        How far each is above the next, as a part of the higher one; 0 for any distance.
    may_tie
        Names whose next may be as high, within the tolerance.
    slight
        Names for which the right sign is enough.
    """

    names: tuple[str, ...]
    tolerance: Tolerance
    min_gap: float = 0.0
    may_tie: frozenset[str] = frozenset()
    slight: frozenset[str] = frozenset()

    def judge(self, samples: Sequence[Sample]) -> Verdict:
        """Hold neighbours against each other, repetition by repetition where seeds match."""
        if any(not math.isfinite(sample.interval.mean) for sample in samples):
            return Verdict(UNJUDGED, None, math.nan, "not defined")
        pairs = pairwise(zip(self.names, samples, strict=True))
        return together([self._pair(above, below) for above, below in pairs])

    def _pair(self, above: tuple[str, Sample], below: tuple[str, Sample]) -> Verdict:
        (name, high), (other, low) = above, below
        top = high.interval.mean
        ahead, _ = difference(low, high)
        near = self.tolerance.at(top)
        least = near
        if self.min_gap:
            least = max(self.min_gap * abs(top) - near, near)
        elif name in self.may_tie:
            least = -near
        elif name in self.slight:
            least = 0.0
        scale = near or 1.0
        is_behind = ahead.mean < least if name in self.may_tie and not self.min_gap else ahead.mean <= least
        margin = (ahead.mean - least) / scale
        reason = f"{name} {number(top)}, {other} {number(low.interval.mean)}"
        has_chance = is_by_chance(ahead)
        if not is_behind:
            # Lines that may tie need no proof that they differ.
            word = UNCLEAR if has_chance and least >= 0 else HOLDS
            return Verdict(word, ahead, max(margin, 0.0), reason if word == UNCLEAR else "")
        is_tie = abs(ahead.mean) <= near and not self.min_gap
        word = UNCLEAR if has_chance and not is_tie else FAILS
        return Verdict(word, ahead, min(margin, -math.ulp(1.0)), reason, is_tie)


class Trend(NamedTuple):
    """Values along an axis that rise, fall or stay flat; steps back that are smaller than the tolerance do not count,
    and the ends differ by more than it.
    """

    direction: Literal["increase", "decrease", "flat"]
    tolerance: Tolerance
    along: str

    def judge(self, line: Sequence[tuple[float, Sample]]) -> Verdict:
        """Judge points (place on the axis, sample), whose places ascend."""
        if len(line) < 2:
            return Verdict(UNJUDGED, None, math.nan, f"fewer than two points along {self.along}")
        if any(not math.isfinite(sample.interval.mean) for _, sample in line):
            return Verdict(UNJUDGED, None, math.nan, "not defined")
        return together(self._level(line) if self.direction == "flat" else [*self._steps(line), self._ends(line)])

    def _level(self, line: Sequence[tuple[float, Sample]]) -> list[Verdict]:
        level = fmean(sample.interval.mean for _, sample in line)
        return [self._off(at, sample.interval, level) for at, sample in line]

    def _off(self, at: float, measured: Interval, level: float) -> Verdict:
        apart = Interval(measured.mean - level, measured.half_width, measured.n)
        near = self.tolerance.at(level)
        word = decide(apart, near)
        reason = "" if word == HOLDS else f"{self.along} {at}: {number(measured.mean)}, mean {number(level)}"
        return Verdict(word, measured, (near - abs(apart.mean)) / (near or 1.0), reason)

    def _steps(self, line: Sequence[tuple[float, Sample]]) -> list[Verdict]:
        verdicts = []
        for (at, before), (to, after) in pairwise(line):
            moved, near, ends = self._moved(before, after)
            if moved.mean >= -near:
                continue
            word = UNCLEAR if is_by_chance(moved) else FAILS
            verdicts.append(
                Verdict(word, moved, (moved.mean + near) / (near or 1.0), f"{ends} from {self.along} {at} to {to}")
            )
        return verdicts

    def _ends(self, line: Sequence[tuple[float, Sample]]) -> Verdict:
        moved, near, ends = self._moved(line[0][1], line[-1][1])
        margin, has_chance = (moved.mean - near) / (near or 1.0), is_by_chance(moved)
        text = f"the ends are {ends.replace(' to ', ' and ')}"
        if moved.mean > near:
            return Verdict(UNCLEAR if has_chance else HOLDS, moved, margin, text if has_chance else "")
        is_tie = moved.mean >= -near
        return Verdict(
            UNCLEAR if has_chance and not is_tie else FAILS, moved, min(margin, -math.ulp(1.0)), text, is_tie
        )

    def _moved(self, before: Sample, after: Sample) -> tuple[Interval, float, str]:
        """Change of a line in the direction of the trend, the tolerance there, and both values in words."""
        apart, _ = difference(before, after)
        sign = 1 if self.direction == "increase" else -1
        first, last = before.interval.mean, after.interval.mean
        return apart._replace(mean=sign * apart.mean), self.tolerance.at(first), f"{number(first)} to {number(last)}"


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """One verdict for several places: the worst word, with the reasons for it and the smallest margin."""
    if not verdicts:
        return Verdict(UNJUDGED, None, math.nan, "no run has a point that it names")
    word = worst(verdict.word for verdict in verdicts)
    same = [verdict for verdict in verdicts if verdict.word == word]
    margin = min((verdict.margin for verdict in same if not math.isnan(verdict.margin)), default=math.nan)
    reasons = [verdict.reason for verdict in sorted(same, key=lambda verdict: verdict.is_tie) if verdict.reason]
    more = len(reasons) - _REASONS
    reason = "; ".join(reasons[:_REASONS]) + (f"; {more} more" if more > 0 else "")
    is_tie = word == FAILS and all(verdict.is_tie for verdict in same)
    measured = verdicts[0].measured if len(verdicts) == 1 else None
    return Verdict(word, measured, margin, f"a tie: {reason}" if is_tie else reason, is_tie)


def number(value: float) -> str:
    """A value in a reason."""
    return f"{value:.4g}"
