"""`dumbbell explain`: why flows got what they got."""

from __future__ import annotations

import argparse
from pathlib import Path

from dumbbell import units
from dumbbell.errors import wrong
from dumbbell.explain.explained import Explained, explain
from dumbbell.results.load import load

from .latest import latest_folder
from .plot import chosen
from .status import OK
from .writers import write_object

#: Runs of a folder that are explained unless some are chosen.
_RUNS = 8


def main(arguments: argparse.Namespace) -> int:
    """Explain the runs of a folder, or one of them."""
    folder = Path(arguments.dir or latest_folder("RUN"))
    runs = chosen(load(folder), arguments.run)
    if len(runs) > _RUNS and arguments.run is None:
        names = ", ".join(run.folder.name for run in runs[:3])
        raise wrong("--run", "nothing", f"one of {len(runs)} runs: a name, a number from 0, or all ({names}...)")
    at = units.option_s("--at", arguments.at)
    for run in runs:
        said = explain(run, arguments.flow, at=at, proves=arguments.prove, everything=arguments.all)
        if len(runs) > 1 and not arguments.json:
            print(f"{run.folder.name}:")
        for one in said:
            _print(run.folder.name, one, is_json=arguments.json)
        if said[0].untold and not arguments.json:
            print(said[0].untold)
    return OK


def _print(run: str, said: Explained, *, is_json: bool) -> None:
    if is_json:
        causes = [{**cause._asdict(), "proof": cause.proof and cause.proof._asdict()} for cause in said.causes]
        write_object({"run": run, **said._asdict(), "causes": causes})
        return
    whose = f"{said.flow}, {said.part}:" if said.part else said.flow
    if not said.causes:
        print(f"{whose.removesuffix(':')}: no rule explains what it got.")
    for cause in said.causes:
        print(f"{whose} {cause.sentence}")
