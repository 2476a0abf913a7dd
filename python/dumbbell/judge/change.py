"""Changes from some runs to others: each figure of rows that both have, with the interval of the difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from dumbbell.results.catalogue import figure
from dumbbell.results.figures import Row, mean_row, together
from dumbbell.results.statistic import Interval, difference, finite

from .rule import decide, has_interval
from .verdict import FAILS


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


def chance(listed: Sequence[Change]) -> str:
    """Count the intervals that exclude zero, and those that would by chance if nothing had changed; nothing where there
    are no intervals.
    """
    intervals = sum(has_interval(change.difference) for change in listed)
    if not intervals:
        return ""
    clear, by_chance = sum(change.is_clear for change in listed), max(round(intervals / 20), 1)
    return (
        f"{clear} of {intervals} intervals exclude{'s' * (clear == 1)} zero; where nothing changed, about {by_chance}"
        f" of {intervals} would by chance"
    )


def changes(before: Sequence[Row], after: Sequence[Row], names: Sequence[str]) -> tuple[list[Change], int, int]:
    """Each figure of rows that both have, matched by scenario, varied values and place of the flow; and how many rows
    only the one or the other has.

    Where each side has one scenario, their names may differ. A figure of the run is given once, after its flows.
    """
    of_one = all(len({row.scenario for row in side}) == 1 for side in (before, after))
    old, new = (together(side, of_one=of_one) for side in (before, after))
    cases: dict[tuple[Any, ...], tuple[list[Change], dict[str, Change]]] = {}
    for key in [key for key in new if key in old]:
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
