"""`dumbbell show --diff`: what changed from one folder to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from dumbbell.errors import ScenarioError
from dumbbell.judge import change as changing
from dumbbell.judge.change import Change
from dumbbell.judge.grammar import bound, chosen
from dumbbell.results import figures
from dumbbell.results.catalogue import Measured, shown
from dumbbell.results.figures import Row
from dumbbell.results.statistic import Interval
from dumbbell.results.texts import change_text, lacking_text

from . import table
from .rows import Part, cell, head, keys, notes_of_runs, windows
from .table import Column

Side = tuple[str, list[Measured]]
"""A folder and its runs."""

#: Options of the table of one folder, and why they are none of this one.
_NOT_HERE = {
    "sort": "orders the rows of one table",
    "reverse": "orders the rows of one table",
    "runs": "prints each repetition, and changes are of means over them",
}


class Changed(NamedTuple):
    """Changes from the first folder to the second, for the writers."""

    found: Sequence[Side]
    changes: Sequence[Change]
    single: tuple[int, int]
    """How many rows only the one and only the other folder has."""

    def text(self) -> str:
        """The table with its title and notes."""
        title = f"{self.found[0][0]} -> {self.found[1][0]}, {', '.join(_said(self.found, self.changes))}"
        notes = [*_directions(self.changes), *_notes(self.found, self.changes)]
        for count, (folder, _) in zip(self.single, self.found):
            notes += [f"{count} row{'s' * (count != 1)} only in {folder}"] if count else []
        notes.append(self.outcome.text)
        return f"{title}\n\n{table.text(self.columns())}" + "".join(f"{note}\n" for note in notes)

    @property
    def outcome(self) -> changing.Outcome:
        """All changes as one answer."""
        return changing.outcome(self.changes)

    def why(self) -> list[str]:
        """Why figures moved, of the first repetitions (docs/explain.md): those that are clear, of single runs all."""
        from dumbbell.explain.sides import firsts, moved
        from dumbbell.explain.told import Teller

        is_single = self.outcome.by_chance is None
        told = [change for change in self.changes if change.is_clear or (is_single and change.difference.mean != 0)]
        sides = {folder: firsts(run.result for run in runs) for folder, runs in self.found}
        return moved(told, sides, Teller())

    def columns(self) -> list[Column]:
        """Columns that tell rows apart, the figure, and its means before and after."""
        return _columns(self.found[1], self.changes)

    def objects(self) -> Iterator[dict[str, object]]:
        """One for each change."""
        for change in self.changes:
            place = {"scenario": change.after.scenario, "vary": change.after.vary, "name": change.names}
            yield {**place, "table": change.after.table, **changing.change_fields(change)}

    def records(self) -> tuple[list[str], Iterator[list[object]]]:
        """A line for each change, with a column for each varied key."""
        keys = figures.varied_keys(change.after for change in self.changes)
        place, measured = ["name", "table", "figure", "before", "after"], ["change", "half_width", "paired"]
        lines = (
            [
                fields["scenario"], *map(change.after.vary_text, keys), *(fields[name] for name in place),
                *(side.values[change.name].n for side in (change.before, change.after)),
                *(fields[name] for name in measured),
            ]
            for change, fields in zip(self.changes, self.objects())
        )  # fmt: skip
        return ["scenario", *keys, *place, "n_before", "n_after", *measured], lines


def changed(
    sides: Sequence[Side],
    names: Sequence[str],
    *,
    by: str | None,
    only: str | None,
    where: Sequence[str] = (),
) -> Changed:
    """Compare two folders by these figures, or the usual ones; with `where`, rows that meet its bounds before or after.
    Raises ScenarioError where they share no experiment, or no row meets the bounds.
    """
    wanted = list(names or shown("diff"))
    read = list(dict.fromkeys([*wanted, *(bound(text).name for text in where)]))
    by = by or figures.default_by(run for _, runs in sides for run in runs)
    before, after = ([row for run in runs for row in figures.rows(run, read, by=by, only=only)] for _, runs in sides)
    changes, gone, come = changing.changes(before, after, wanted, where=lambda row: bool(chosen([row], where)))
    if not changes and where and changing.changes(before, after, wanted)[0]:
        raise ScenarioError("--where", f"no row of both folders has {' and '.join(where)}")
    if not changes:
        folders = " and ".join(folder for folder, _ in sides)
        raise ScenarioError("--diff", f"{folders} have no scenario with the same varied values in common")
    if not names:
        changes = [change for change in changes if not change.is_idle]
    return Changed(sides, changes, (gone, come))


def refuse(sides: Sequence[Side], options: Mapping[str, Any]) -> None:
    """Raise ScenarioError for options that mean nothing here, and unless there are two folders."""
    for option, why in _NOT_HERE.items():
        if options[option]:
            raise ScenarioError(f"--{option}", f"{why}, so it does not go with --diff")
    if len(sides) != 2:
        raise ScenarioError("--diff", f"got {len(sides)} folders, wanted two: before and after")


def _columns(after: Side, changes: Sequence[Change]) -> list[Column]:
    part = Part(*after, [replace(change.after, name=change.names, seeds=change.after.seeds[:1]) for change in changes])
    columns = [
        *keys([part], runs=False),
        Column("figure", ("figure",), [" ".join(head(change.name, several=False)) for change in changes], right=False),
    ]
    again = [i > 0 and _same_flow(changes[i].after, changes[i - 1].after) for i in range(len(changes))]
    columns[-2] = columns[-2]._replace(cells=["" if same else label for same, label in zip(again, columns[-2].cells)])
    columns += [
        Column(side, (side,), [cell(c.name, _mean(getattr(c, side), c.name)) for c in changes])
        for side in ("before", "after")
    ]
    columns.append(Column("change", ("change",), [_signed(change) for change in changes], right=False))
    return columns


def _said(sides: Sequence[Side], changes: Sequence[Change]) -> Iterator[str]:
    """Describe the table: the part of the runs, their number, and how intervals are made."""
    parts = [windows(runs) for _, runs in sides]
    if parts[0] != parts[1]:
        yield " and ".join(part or "whole runs" for part in parts)
    elif parts[0]:
        yield parts[0]
    counts = [_numbers(getattr(change, side).n for change in changes) for side in ("before", "after")]
    if counts == ["1", "1"]:
        yield "one run each, so no intervals"
        return
    yield f"means of {counts[0] if counts[0] == counts[1] else ' and '.join(counts)} repetitions"
    if changing.outcome(changes).by_chance is None:
        yield "without intervals, because one side has one run"
        return
    intervals = f"change {table.plus_minus()} 95 % interval"
    if all(change.is_paired for change in changes):
        intervals += " of pairs with the same seed"
    yield f"{intervals}, * where that excludes zero"


def _directions(changes: Sequence[Change]) -> Iterator[str]:
    """Figures that moved somewhere, over all combinations."""
    for each in changing.directions(changes):
        if each.is_clear:
            heading = " ".join(head(each.name, several=False))
            overall = f"; on average {change_text(each.name, each.overall, table.plus_minus())}" if each.overall else ""
            ways = f"up in {each.up}, down in {each.down} of {each.of} combinations, clear in {each.moved}"
            yield f"{each.names}, {heading}: {ways}{overall}"


def _numbers(numbers: Iterator[int]) -> str:
    """These numbers in short: ``5``, ``3 to 5``."""
    all_of = sorted(set(numbers))
    return f"{all_of[0]}" if len(all_of) == 1 else f"{all_of[0]} to {all_of[-1]}"


def _notes(sides: Sequence[Side], changes: Sequence[Change]) -> Iterator[str]:
    """Notes on the figures."""
    for name in dict.fromkeys(change.name for change in changes):
        of_name = [change for change in changes if change.name == name]
        lacking = sum(any(side.lacking(name) for side in (change.before, change.after)) for change in of_name)
        if lacking:
            yield lacking_text(name, lacking, len(of_name))
    for folder, runs in sides:
        for note in notes_of_runs(runs):
            yield f"{folder}: {note}"


def _same_flow(one: Row, other: Row) -> bool:
    return (one.experiment, one.table, one.flow) == (other.experiment, other.table, other.flow)


def _mean(row: Row, name: str) -> Interval | None:
    """A figure without its interval."""
    interval = row.values.get(name)
    return None if interval is None else Interval(interval.mean, float("nan"), interval.n)


def _signed(change: Change) -> str:
    return change_text(change.name, change.difference, table.plus_minus()) + (" *" if change.is_clear else "")
