"""The fewest and roundest changes that still break an expectation nearly as much (delta debugging: Zeller and
Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from .fields import seconds, time_text

if TYPE_CHECKING:
    from .genome import Changes
    from .trial import Bench, Trial

#: Part of what a candidate breaks an expectation by that is kept.
KEPT = 0.8
#: Parts of the run's duration that are tried.
_SHORTER = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
#: Runs from this length on, in seconds, are cut to whole seconds.
_WHOLE_S = 4


class Small(NamedTuple):
    """A candidate that has been made small: its changes, the keys at the top of its file, and what comes of it."""

    changes: Changes
    more: Mapping[str, Any]
    trial: Trial


def minimise(bench: Bench, changes: Changes, trial: Trial) -> Small:
    """Take changes away, round their numbers and shorten the run, as long as 80 % of the margin stay."""
    assert trial.margin is not None
    line = KEPT * trial.margin
    small = _fewest(bench, Small(changes, {}, trial), line)
    shorter = _first(bench, small, _shorter(bench, small), line)
    return small if shorter.more == small.more else _fewest(bench, shorter, line)


def _fewest(bench: Bench, small: Small, line: float) -> Small:
    """The same with the fewest and roundest changes."""
    while True:
        before = small.changes
        small = _rounded(bench, _first(bench, small, _fewer(small), line), line)
        if small.changes == before:
            return small


def _fewer(small: Small) -> Iterator[Small]:
    """The same with parts of the changes left out, large parts first."""
    count, part = len(small.changes), len(small.changes)
    while part:
        for start in range(0, count, part):
            yield small._replace(changes=small.changes[:start] + small.changes[start + part :])
        part //= 2


def _first(bench: Bench, small: Small, others: Iterator[Small], line: float) -> Small:
    """The first of these that is bad enough, made smaller in the same way; else the one that is there."""
    tried = list(others)
    for other, trial in zip(tried, _trials(bench, tried)):
        if trial.margin is not None and trial.margin <= line:
            found = other._replace(trial=trial)
            is_shorter = other.more != small.more
            return found if is_shorter else _first(bench, found, _fewer(found), line)
    return small


def _rounded(bench: Bench, small: Small, line: float) -> Small:
    """Each number with as few digits as possible, one after the other."""
    for i, change in enumerate(small.changes):
        for j, field in enumerate(bench.genome.genes[change.gene].fields):
            rounder = []
            for value in field.rounder(small.changes[i].values[j]):
                values = (*small.changes[i].values[:j], value, *small.changes[i].values[j + 1 :])
                changed = small.changes[i]._replace(values=values)
                rounder.append(small._replace(changes=(*small.changes[:i], changed, *small.changes[i + 1 :])))
            for other, trial in zip(rounder, _trials(bench, rounder)):
                if trial.margin is not None and trial.margin <= line:
                    small = other._replace(trial=trial)
                    break
    return small


def _shorter(bench: Bench, small: Small) -> Iterator[Small]:
    """The same in shorter runs, the shortest first: those that end after the last change, and in which the scenario as
    it is breaks nothing.
    """
    duration = bench.base.get("duration")
    if not isinstance(duration, str):
        return
    whole, last = seconds(duration), bench.genome.last_s(small.changes)
    unit = Fraction(1) if whole >= _WHOLE_S else whole / 8
    for part in _SHORTER:
        shorter = max(unit, unit * round(whole * part / unit))
        more = {"duration": time_text(shorter)}
        if last < shorter < whole and bench.trials([()], more)[0].is_met:
            yield small._replace(more=more)


def _trials(bench: Bench, candidates: list[Small]) -> list[Trial]:
    """What comes of candidates that have the same keys at the top, or each its own."""
    if len({str(one.more) for one in candidates}) == 1:
        return bench.trials([one.changes for one in candidates], candidates[0].more)
    return [bench.trials([one.changes], one.more)[0] for one in candidates]
