"""`dumbbell show --diff`: what changed from one folder to another."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dumbbell.errors import ScenarioError
from dumbbell.judge import change as changing
from dumbbell.judge.change import Change
from dumbbell.results import figures
from dumbbell.results.catalogue import Measured, shown
from dumbbell.results.figures import Row
from dumbbell.results.statistic import Interval
from dumbbell.results.texts import change_text, lacking_text
from dumbbell.scenario import units

from . import OK, table
from .rows import Part, cell, head, keys, notes_of_runs, windows
from .table import Column, csv_cell

Side = tuple[str, list[Measured]]
"""A folder and its runs."""

#: Options of the table of one folder, and why they are none of this one.
_NOT_HERE = {
    "where": "chooses rows of one table",
    "sort": "orders the rows of one table",
    "reverse": "orders the rows of one table",
    "runs": "prints each repetition, and changes are of means over them",
}


def main(found: Sequence[Side], names: Sequence[str], arguments: argparse.Namespace) -> int:
    """What changed from the first folder to the second."""
    _refuse(found, arguments)
    wanted = list(names or shown("diff"))
    by = arguments.by or figures.default_by(run for _, runs in found for run in runs)
    before, after = (
        [row for run in runs for row in figures.rows(run, wanted, by=by, only=arguments.flows)] for _, runs in found
    )
    changes, gone, come = changing.changes(before, after, wanted)
    if not changes:
        folders = " and ".join(folder for folder, _ in found)
        raise ScenarioError("--diff", f"{folders} have no scenario with the same varied values in common")
    if not names:
        changes = [change for change in changes if not change.is_idle]
    if arguments.json:
        sys.stdout.writelines(f"{json.dumps(_fields(change))}\n" for change in changes)
    elif arguments.csv:
        _print_csv(changes)
    elif arguments.markdown:
        sys.stdout.write(table.markdown(_columns(found[1], changes)))
    else:
        print(_text(found, changes), end="")
        for count, (folder, _) in zip((gone, come), found):
            if count:
                print(f"{count} row{'s' * (count != 1)} only in {folder}")
    return OK


def _refuse(found: Sequence[Side], arguments: argparse.Namespace) -> None:
    """Raise ScenarioError for options that mean nothing here, and unless there are two folders."""
    for option, why in _NOT_HERE.items():
        if getattr(arguments, option):
            raise ScenarioError(f"--{option}", f"{why}, so it does not go with --diff")
    if len(found) != 2:
        raise ScenarioError("--diff", f"got {len(found)} folders, wanted two: before and after")


def _text(found: Sequence[Side], changes: Sequence[Change]) -> str:
    """The table with its title and notes."""
    title = f"{found[0][0]} -> {found[1][0]}, {', '.join(_said(found, changes))}"
    notes = "".join(f"{note}\n" for note in _notes(found, changes))
    return f"{title}\n\n{table.text(_columns(found[1], changes))}{notes}"


def _fields(change: Change) -> dict[str, object]:
    place = {"scenario": change.after.scenario, "vary": change.after.vary, "name": change.names}
    return {**place, "table": change.after.table, **changing.change_fields(change)}


def _print_csv(changes: Sequence[Change]) -> None:
    """A line for each change, with a column for each varied key."""
    varied = list(dict.fromkeys(key for change in changes for key in change.after.vary))
    names = ["scenario", *varied, "name", "table", "figure", "before", "after", "n_before", "n_after", "change"]
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(map(csv_cell, [*names, "half_width", "paired"]))
    for change in changes:
        fields, vary = _fields(change), change.after.vary
        fields["n_before"], fields["n_after"] = (side.values[change.name].n for side in (change.before, change.after))
        values = [units.value_text(vary[key]) if key in vary else "" for key in varied]
        known = {**fields, **dict(zip(varied, values))}
        out.writerow(map(csv_cell, [known[name] for name in names] + [fields["half_width"], fields["paired"]]))


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


def _said(found: Sequence[Side], changes: Sequence[Change]) -> Iterator[str]:
    """Of what the table is: the part of the runs, how many there are, and how their intervals are made."""
    parts = [windows(runs) for _, runs in found]
    if parts[0] != parts[1]:
        yield " and ".join(part or "whole runs" for part in parts)
    elif parts[0]:
        yield parts[0]
    counts = [_numbers(getattr(change, side).n for change in changes) for side in ("before", "after")]
    if counts == ["1", "1"]:
        yield "one run each, so no intervals"
        return
    yield f"means of {counts[0] if counts[0] == counts[1] else ' and '.join(counts)} repetitions"
    if not changing.chance(changes):
        yield "without intervals, because one side has one run"
        return
    intervals = f"change {table.plus_minus()} 95 % interval"
    if all(change.is_paired for change in changes):
        intervals += " of pairs with the same seed"
    yield f"{intervals}, * where that excludes zero"


def _numbers(found: Iterator[int]) -> str:
    """These numbers in short: ``5``, ``3 to 5``."""
    all_of = sorted(set(found))
    return f"{all_of[0]}" if len(all_of) == 1 else f"{all_of[0]} to {all_of[-1]}"


def _notes(found: Sequence[Side], changes: Sequence[Change]) -> Iterator[str]:
    """What is to be known of the figures."""
    chance = changing.chance(changes)
    if chance:
        yield chance
    for name in dict.fromkeys(change.name for change in changes):
        of_name = [change for change in changes if change.name == name]
        lacking = sum(any(side.lacking(name) for side in (change.before, change.after)) for change in of_name)
        if lacking:
            yield lacking_text(name, lacking, len(of_name))
    for folder, runs in found:
        for note in notes_of_runs(runs):
            yield f"{folder}: {note}"


def _same_flow(one: Row, other: Row) -> bool:
    return (one.experiment, one.table, one.flow) == (other.experiment, other.table, other.flow)


def _mean(row: Row, name: str) -> Interval | None:
    """A figure without its interval."""
    found = row.values.get(name)
    return None if found is None else Interval(found.mean, float("nan"), found.n)


def _signed(change: Change) -> str:
    return change_text(change.name, change.difference, table.plus_minus()) + (" *" if change.is_clear else "")
