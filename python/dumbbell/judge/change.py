"""Changes from some runs to others: each figure of rows that both have, with the interval of the difference."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, NamedTuple

from dumbbell.results.catalogue import figure
from dumbbell.results.figures import Row, mean_row, together
from dumbbell.results.statistic import Interval, Sample, difference, finite, student_t

from .rule import decide, has_interval
from .verdict import FAILS, HOLDS, UNCLEAR, UNJUDGED, Word

#: A verdict on many changes calls chance a change once in so many times, were the figures independent.
_CHANCE = 100


class Change(NamedTuple):
    """A figure before and after: means over the repetitions, and the difference with its 95 % interval (nan without
    repetitions).
    """

    before: Row
    after: Row
    name: str
    difference: Interval
    is_paired: bool
    """Whether the interval is of pairs of repetitions that have the same seed (`paired_interval`), or of two groups
    (`difference_interval`)."""

    @property
    def names(self) -> str:
        """The flow's name, or both where it has another one after the change."""
        return " -> ".join(dict.fromkeys((self.before.name, self.after.name)))

    @property
    def is_idle(self) -> bool:
        """True if all transfers ended before and after, of which nothing has to be said."""
        return self.name == "unfinished" and not (self.before.value(self.name) or self.after.value(self.name))

    @property
    def is_clear(self) -> bool:
        """True if the judge says that it changed: the interval excludes zero. Never of single runs."""
        return has_interval(self.difference) and decide(self.difference, 0.0) == FAILS


def change_fields(change: Change) -> dict[str, Any]:
    """A change as JSON has it: the figure's field, its means and how many repetitions have it, the difference with the
    half width of its interval, null without repetitions, and whether that is of pairs.
    """
    before, after = change.before.value(change.name), change.after.value(change.name)
    half = finite(change.difference.half_width)
    return {
        "figure": figure(change.name).field,
        "before": finite(before),
        "after": finite(after),
        "n": [side.values[change.name].n for side in (change.before, change.after)],
        "change": finite(change.difference.mean),
        "half_width": half,
        "paired": change.is_paired,
    }


class Outcome(NamedTuple):
    """All changes as one answer: ``holds`` where no change is shown, ``fails`` where figures changed, ``unclear`` where
    single runs differ, of which chance may be the cause, ``unjudged`` without figures.
    """

    word: Word
    moved: int
    """Intervals that exclude zero; without intervals, figures that are not equal."""
    figures: int
    """Changes that were judged."""
    by_chance: int | None
    """How many intervals would exclude zero if nothing had changed; None without intervals."""

    @property
    def text(self) -> str:
        """One line: how many moved, of how many, how many would by chance, and the verdict."""
        moved = f"{self.moved} of {self.figures} figures"
        if self.by_chance is None:
            return f"{moved} {_SINGLE[self.word]}"
        return f"{moved} moved (about {self.by_chance} by chance): {_WORDS[self.word]}"


_WORDS: dict[Word, str] = {HOLDS: "no change shown", FAILS: "changed"}
_SINGLE: dict[Word, str] = {
    HOLDS: "differ: no change",
    UNCLEAR: "differ, of one seed: unclear; repetitions = 5 tells whether it is chance",
    UNJUDGED: "can be compared: unjudged",
}


def outcome(listed: Sequence[Change]) -> Outcome:
    """Judge all changes together: they are a change where more intervals exclude zero than chance explains (one in
    `_CHANCE`), or where one does by so much that it would among as many figures (Bonferroni's bound).
    """
    judged = [change for change in listed if has_interval(change.difference)]
    if not judged:
        unlike = sum(change.difference.mean != 0 for change in listed)
        return Outcome((UNCLEAR if unlike else HOLDS) if listed else UNJUDGED, unlike, len(listed), None)
    moved, count = sum(change.is_clear for change in judged), len(judged)
    is_change = any(_is_sure(change.difference, count) for change in judged) or _tail(moved, count) < 1 / _CHANCE
    return Outcome(FAILS if is_change else HOLDS, moved, count, max(round(count / 20), 1))


def _is_sure(apart: Interval, count: int) -> bool:
    """True if the interval excludes zero also where it is widened for this many figures."""
    wider = student_t(1 - 0.05 / count, apart.n - 1) / student_t(0.95, apart.n - 1)
    return decide(apart._replace(half_width=apart.half_width * wider), 0.0) == FAILS


def _tail(moved: int, count: int, part: float = 0.05) -> float:
    """Probability that so many intervals or more exclude zero by chance, were they independent."""
    ways = (
        (math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1), k) for k in range(moved, count + 1)
    )
    return sum(math.exp(log + k * math.log(part) + (count - k) * math.log1p(-part)) for log, k in ways)


class Direction(NamedTuple):
    """A figure of one flow over all combinations of the varied values."""

    name: str
    names: str
    up: int
    down: int
    """Combinations in which it is more, and less, after the change than before."""
    moved: int
    """Combinations in which the interval of the change excludes zero."""
    of: int
    overall: Interval | None
    """The change of the mean over all combinations, repetition by repetition; None where these do not match."""

    @property
    def is_clear(self) -> bool:
        """True if it moved anywhere, or on average."""
        overall = self.overall
        return bool(self.moved) or (overall is not None and has_interval(overall) and decide(overall, 0.0) == FAILS)


def directions(listed: Sequence[Change]) -> list[Direction]:
    """Which way each figure moved, where there are several combinations."""
    by_figure: dict[tuple[object, ...], list[Change]] = {}
    for change in listed:
        by_figure.setdefault((change.name, change.after.table, change.after.flow, change.names), []).append(change)
    return [
        Direction(
            same[0].name,
            same[0].names,
            sum(change.difference.mean > 0 for change in same),
            sum(change.difference.mean < 0 for change in same),
            sum(change.is_clear for change in same),
            len(same),
            _overall(same),
        )
        for same in by_figure.values()
        if len(same) > 1
    ]


def _overall(same: Sequence[Change]) -> Interval | None:
    """Change of the mean over combinations whose repetitions have the same seeds; they are the sample, and the
    combinations of one of them depend on each other.
    """
    sides = []
    for side in ("before", "after"):
        samples = [getattr(change, side).samples[change.name] for change in same]
        if any(sample.lacking or sample.seeds != samples[0].seeds for sample in samples):
            return None
        means = tuple(fmean(values) for values in zip(*(sample.known for sample in samples), strict=True))
        sides.append(Sample(means, samples[0].seeds))
    return difference(*sides)[0]


def changes(
    before: Sequence[Row],
    after: Sequence[Row],
    names: Sequence[str],
    *,
    where: Callable[[Row], bool] | None = None,
) -> tuple[list[Change], int, int]:
    """Each figure of rows that both have, matched by scenario, varied values and place of the flow; and how many rows
    only the one or the other has. `where` chooses rows by their means before or after.

    Where each side has one scenario, their names may differ. A figure of the run is given once, after its flows.
    """
    of_one = all(len({row.scenario for row in side}) == 1 for side in (before, after))
    old, new = (together(side, of_one=of_one) for side in (before, after))
    cases: dict[tuple[Any, ...], tuple[list[Change], dict[str, Change]]] = {}
    for key in [key for key in new if key in old]:
        if where and not any(where(mean_row(side[key])) for side in (old, new)):
            continue
        of_flows, of_run = cases.setdefault(key[:2], ([], {}))
        for name in names:
            change = _change(old[key], new[key], name)
            if change and figure(name).of_run:
                of_run.setdefault(name, change)
            elif change:
                of_flows.append(change)
    listed = [change for of_flows, of_run in cases.values() for change in (*of_flows, *of_run.values())]
    return listed, len(old.keys() - new.keys()), len(new.keys() - old.keys())


def _change(before: Sequence[Row], after: Sequence[Row], name: str) -> Change | None:
    rows = [mean_row(side) for side in (before, after)]
    if any(name not in row.samples for row in rows):
        return None
    apart, is_paired = difference(rows[0].samples[name], rows[1].samples[name])
    if figure(name).of_run:
        rows = [
            replace(row, name="run", flow=None, flows=1, flows_min=1, table=-1, transport="tcp", cca="") for row in rows
        ]
    return Change(rows[0], rows[1], name, apart, is_paired)
