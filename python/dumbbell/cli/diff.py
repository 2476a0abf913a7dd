"""`dumbbell show --diff`: what changed from one folder to another."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from dumbbell.errors import ScenarioError
from dumbbell.results import figures
from dumbbell.results.catalogue import Measured
from dumbbell.results.figures import Row
from dumbbell.results.statistic import Interval

from . import OK, table
from .rows import Part, cell, head, keys
from .table import Column

#: What `--diff` compares by default.
_DIFFERENCES = ("goodput", "share", "retrans_rate", "srtt", "fct", "latency", "jain", "utilization", "queue", "drops")


def main(found: Sequence[tuple[str, list[Measured]]], names: Sequence[str], arguments: argparse.Namespace) -> int:
    """What changed from the first folder to the second."""
    if arguments.where:
        raise ScenarioError("--where", "chooses rows of one table, so it does not go with --diff")
    if len(found) != 2:
        raise ScenarioError("--diff", f"got {len(found)} folders, wanted two: before and after")
    wanted = list(names or _DIFFERENCES)
    (old, before), (new, after) = found
    by = arguments.by or "flow"
    sides = [
        [row for run in runs for row in figures.rows(run, wanted, by=by, only=arguments.flows)]
        for runs in (before, after)
    ]
    changes, gone, come = figures.changes(sides[0], sides[1], wanted)
    if not changes:
        raise ScenarioError("--diff", f"{old} and {new} have no scenario with the same varied values in common")
    if arguments.json:
        for change in changes:
            print(
                json.dumps(
                    {
                        "scenario": change.after.scenario,
                        "vary": change.after.vary,
                        "name": change.names,
                        "table": change.after.table,
                        **figures.change_fields(change),
                    }
                )
            )
        return OK
    part = Part(new, after, [change.after._replace(n=1, name=change.names) for change in changes])
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
    if arguments.markdown:
        sys.stdout.write(table.markdown(columns))
        return OK
    n = max(min(change.before.n, change.after.n) for change in changes)
    said = (
        f"means of {n} repetitions; change {table.plus_minus()} 95 % interval, * where that leaves out zero"
        if n > 1
        else "one run each, so no intervals"
    )
    sys.stdout.write(f"{old} -> {new}, {said}\n\n{table.text(columns)}")
    for count, where in ((gone, old), (come, new)):
        if count:
            print(f"{count} row{'s' * (count != 1)} only in {where}")
    return OK


def _same_flow(one: Row, other: Row) -> bool:
    return (one.scenario, one.vary, one.table, one.flow) == (other.scenario, other.vary, other.table, other.flow)


def _mean(row: Row, name: str) -> Interval | None:
    """A figure without its interval."""
    found = row.values.get(name)
    return None if found is None else Interval(found.mean, float("nan"), found.n)


def _signed(change: figures.Change) -> str:
    text = cell(change.name, change.difference)
    return ("" if text.startswith("-") else "+") + text + (" *" if change.is_clear else "")
