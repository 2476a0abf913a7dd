"""`dumbbell paper`: the tables of a published paper, run here and compared with what it prints."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.errors import ScenarioError, wrong
from dumbbell.runs import sweep
from dumbbell.scenario.file import Given, Scenario, from_dict
from dumbbell.scenario.toml_text import to_toml

from . import OK, run

if TYPE_CHECKING:
    from dumbbell.papers.zhang2019 import Cell

#: Papers with tables of numbers.
PAPERS = ("zhang2019",)


def main(arguments: argparse.Namespace) -> int:
    """Run, compare, print."""
    from dumbbell.papers import zhang2019
    from dumbbell.results.load import load

    if arguments.name not in PAPERS:
        raise wrong("NAME", arguments.name, "one of: " + ", ".join(PAPERS), list(PAPERS))
    tables = arguments.table or list(zhang2019.TABLES)
    for table in tables:
        if table not in zhang2019.TABLES:
            raise wrong("--table", table, "one of: " + ", ".join(map(str, zhang2019.TABLES)))
    scenarios = [made for table in dict.fromkeys(tables) for made in zhang2019.scenarios(table)]
    if arguments.duration:
        scenarios = [_shortened(one, arguments.duration) for one in scenarios]
    planned = sweep.jobs_of([Given(one, to_toml(one)) for one in scenarios], Path())
    place = run.placed(arguments, arguments.name)
    status = run.go(planned, place, workers=arguments.jobs, show=run.Show.NOTHING, quiet=arguments.quiet)
    if status != OK:
        return status
    found = zhang2019.cells(load(place.path), list(dict.fromkeys(tables)))
    if arguments.json:
        for cell in found:
            print(json.dumps({**cell._asdict(), "agrees": cell.agrees}))
        return OK
    for table in dict.fromkeys(tables):
        print_cells(table, [cell for cell in found if cell.table == table])
    print("What differs from the paper's set-up:")
    for line in [
        *zhang2019.DIFFERENCES,
        *([f"{arguments.duration} instead of the paper's time"] if arguments.duration else []),
    ]:
        print(f"  - {line}")
    return OK


def _shortened(scenario: Scenario, duration: str) -> Scenario:
    from dumbbell.scenario.declare import raw

    try:
        return from_dict({**raw(scenario), "duration": duration})
    except ScenarioError as error:
        raise ScenarioError("--duration", error.problem) from None


def print_cells(table: int, cells: list[Cell]) -> None:
    """A row per controller and case, each figure as ours next to the paper's; a star where they agree."""
    from rich import box
    from rich.table import Table

    from .table import console

    metrics = list(dict.fromkeys(cell.metric for cell in cells))
    drawn = Table(
        title=f"Table {table}: ours (the paper's), * within tolerance", title_justify="left", box=box.SIMPLE_HEAD
    )
    for head in ("algorithm", "case"):
        drawn.add_column(head)
    for metric in metrics:
        drawn.add_column(metric, justify="right")
    for algorithm, case in dict.fromkeys((cell.algorithm, cell.case) for cell in cells):
        mine = {cell.metric: cell for cell in cells if (cell.algorithm, cell.case) == (algorithm, case)}
        drawn.add_row(algorithm, case, *(_text(mine[metric]) for metric in metrics))
    console().print(drawn)
    for metric in metrics:
        judged = [cell for cell in cells if cell.metric == metric and cell.agrees is not None]
        if judged:
            names = dict.fromkeys(cell.algorithm for cell in judged)
            per = ", ".join(f"{name} {_share([c for c in judged if c.algorithm == name])}" for name in names)
            print(f"Table {table}, {metric}: {_share(judged)} agree ({per})")
    print()


def _share(cells: list[Cell]) -> str:
    return f"{sum(cell.agrees is True for cell in cells)} of {len(cells)}"


def _text(cell: Cell) -> str:
    digits = (
        0 if cell.metric.endswith("_kbps") else 1 if cell.metric.endswith("_ms") else 3 if cell.metric == "loss" else 2
    )
    return f"{cell.ours:.{digits}f} ({cell.paper:.{digits}f}){'*' if cell.agrees else ' '}"
