"""A run made again: with the tables that it lacks, or with something else in its scenario, to prove a cause."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dumbbell import backends
from dumbbell.backends.request import Request
from dumbbell.errors import DumbbellError, ResultError
from dumbbell.plan import make
from dumbbell.plan.planned import Planned
from dumbbell.results.load import Result
from dumbbell.scenario.file import from_text
from dumbbell.scenario.own import Own
from dumbbell.temporary import Temporary

#: The tables that rules read, and those of them without which nothing can be said.
_TABLES = ("events", "limits", "queue", "samples", "variables")
_LEAST = ("events", "limits", "samples")
#: Samples that rules want of a round trip, the shortest time between two, and rows that they are at most.
_OF_RTT, _EVERY_NS, _ROWS = 2, 1_000_000, 1_000_000


def with_tables(result: Result) -> Result:
    """The run, or the same one made again with the tables that rules read, and samples that tell round trips apart.
    Raises ResultError where it lacks those without which nothing can be said, and cannot be made again.
    """
    record, plan = result.plan.record, result.plan
    rtts = [flow.rtt_ns for flow in plan.flows if flow.is_acknowledged]
    wanted = min(rtts, default=plan.sample_ns) // _OF_RTT
    every = min(plan.sample_ns, max(wanted, plan.duration_ns * len(plan.flows) // _ROWS, _EVERY_NS))
    if all(getattr(record, name) for name in _TABLES) and plan.sample_ns <= 2 * every:
        return result
    if result.manifest.backend != "sim" and all(getattr(record, name) for name in _LEAST):
        return result
    planned = read_plan(result)
    planned["record"] |= dict.fromkeys(_TABLES, True)
    return _run(result, {**planned, "sample_ns": every}, result.manifest.set)


def again(result: Result, *changes: str) -> Result:
    """The same run, with these overrides and the tables of `result`; it lives as long as the result. Raises ResultError
    for a run that this machine cannot repeat: of real hosts, or with files that are not there any more.
    """
    manifest = result.manifest
    overrides = (*manifest.set, *changes)
    try:
        scenario = from_text(manifest.scenario, overrides=overrides, name=manifest.name)
        planned = next(run for run in make.each(scenario, _own(result).known()) if run.position == manifest.position)
    except StopIteration:
        raise ResultError(f"{result.folder}: with {', '.join(changes)} its scenario has other runs") from None
    except DumbbellError as error:
        raise ResultError(f"{result.folder}: it cannot be made again: {error}") from None
    plan: dict[str, Any] = {**planned.plan}
    plan["record"] = {**plan["record"], **dict.fromkeys(_TABLES, True)}
    return _run(result, {**plan, "sample_ns": result.plan.sample_ns}, overrides)


def read_plan(result: Result) -> dict[str, Any]:
    """The plan of a run as its engine got it, with all that readers leave out."""
    plan: dict[str, Any] = json.loads((result.folder / "manifest.json").read_bytes())["plan"]
    return plan


def _own(result: Result) -> Own:
    return Own.load([str(one["file"]) for one in result.manifest.controllers])


def _run(result: Result, plan: dict[str, Any], overrides: tuple[str, ...] | list[str]) -> Result:
    manifest = result.manifest
    if manifest.backend != "sim":
        raise ResultError(f"{result.folder}: a run of {manifest.backend}, which is not made again; wanted one of sim")
    temporary = Temporary("again")
    folder = Path(temporary.path) / "run"
    planned = Planned(manifest.position, manifest.name, manifest.vary, manifest.repetition, plan)  # type: ignore[arg-type]
    try:
        backends.run(Request(planned, "sim", manifest.scenario, tuple(overrides), _own(result)), folder)
    except DumbbellError as error:
        raise ResultError(f"{result.folder}: it cannot be made again: {error}") from None
    repeated = Result(folder)
    vars(repeated)["_temporary"] = temporary
    return repeated
