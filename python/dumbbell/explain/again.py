"""A run made again: with the tables that it lacks, or with something else in its scenario, to prove a cause."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import backends
from dumbbell.backends.request import Request
from dumbbell.errors import DumbbellError, ResultError, ScenarioError
from dumbbell.plan import make
from dumbbell.plan.planned import Planned
from dumbbell.results.load import Result
from dumbbell.scenario import gallery
from dumbbell.scenario.file import from_text
from dumbbell.scenario.own import Own
from dumbbell.temporary import Temporary

if TYPE_CHECKING:
    from dumbbell.plan.view import PlanView
    from dumbbell.scenario.file import Scenario

#: The tables that rules read, and those of them without which nothing can be said.
_TABLES = ("events", "limits", "queue", "samples", "variables")
_LEAST = ("events", "limits", "samples")
#: Samples that rules want of a round trip, the shortest time between two, and rows that they are at most.
_OF_RTT, _EVERY_NS, _ROWS = 2, 1_000_000, 1_000_000
#: Where a result keeps what cannot be told of it.
_UNTOLD = "untold"
_ANOTHER = "made again here it is another run, because another version made it or a file that it names has changed"


def with_tables(result: Result) -> tuple[Result, str]:
    """The run, or the same one made again with the tables that rules read, and samples that tell round trips apart.
    Where it cannot be made again: the run as it is, and a line on what is not told of it, if anything.
    """
    if _UNTOLD not in result.kept:
        if is_made_again(result):
            try:
                run = _same(result)
            except ResultError as error:
                result.kept[_UNTOLD] = _untold(result, why_not(error, result))
            else:
                run.kept[_UNTOLD] = ""
                return run, ""
        else:
            result.kept[_UNTOLD] = _untold(result, only_simulated(result))
    return result, result.kept[_UNTOLD]


def _same(result: Result) -> Result:
    """The same run with all tables. Raises ResultError where it is another run even so."""
    planned = read_plan(result)
    planned["record"] |= dict.fromkeys(_TABLES, True)
    run = _run(result, {**planned, "sample_ns": _every_ns(result.plan)}, result.manifest.set)
    if _sent(run) != _sent(result):
        raise ResultError(f"{result.folder}: {_ANOTHER}")
    return run


def is_made_again(result: Result) -> bool:
    """True if rules read a run that is made again in place of this one."""
    has_all = all(getattr(result.plan.record, name) for name in _TABLES)
    is_fine = has_all and result.plan.sample_ns <= 2 * _every_ns(result.plan)
    return result.manifest.backend == "sim" and not is_fine


def _every_ns(plan: PlanView) -> int:
    """The time between samples that rules want."""
    rtts = [flow.rtt_ns for flow in plan.flows if flow.is_acknowledged]
    wanted = min(rtts, default=plan.sample_ns) // _OF_RTT
    return min(plan.sample_ns, max(wanted, plan.duration_ns * len(plan.flows) // _ROWS, _EVERY_NS))


def _untold(result: Result, why: str) -> str:
    lacking = [name for name in _LEAST if not getattr(result.plan.record, name)]
    return f"It has no {' and '.join(lacking)}, so what only they show is not told: {why}." if lacking else ""


def _sent(run: Result) -> list[tuple[int, int]]:
    """What every flow sent and delivered: equal in a run and the same one made again."""
    return [(flow.packets_sent, flow.goodput_bytes) for flow in run.summary.flows]


def only_simulated(result: Result) -> str:
    """Why a run of another back end is not made again."""
    return f"only runs of the simulator are made again, and this is one of {result.manifest.backend}"


def why_not(error: ResultError, result: Result) -> str:
    """The text of an error about a run, without its folder."""
    return str(error).removeprefix(f"{result.folder}: ")


def again(result: Result, *changes: str) -> Result:
    """The same run, with these overrides and the tables of `result`; it lives as long as the result. Raises ResultError
    for a run that this machine cannot repeat: of real hosts, or with files that are not there any more.
    """
    manifest = result.manifest
    if manifest.backend != "sim":
        raise ResultError(f"{result.folder}: {only_simulated(result)}")
    overrides = (*manifest.set, *changes)
    try:
        scenario = _scenario(manifest.scenario, overrides, manifest.name)
        planned = next(run for run in make.each(scenario, _own(result).known()) if run.position == manifest.position)
    except StopIteration:
        raise ResultError(f"{result.folder}: with {', '.join(changes)} its scenario has other runs") from None
    except DumbbellError as error:
        raise ResultError(f"{result.folder}: it cannot be made again: {error}") from None
    plan: dict[str, Any] = {**planned.plan}
    plan["record"] = {**plan["record"], **dict.fromkeys(_TABLES, True)}
    # `dumbbell compare` lets the simulator imitate iperf3, which no override says.
    plan["host"] = {**plan["host"], "traffic": manifest.plan.host.traffic}
    return _run(result, {**plan, "sample_ns": result.plan.sample_ns}, overrides)


def read_plan(result: Result) -> dict[str, Any]:
    """The plan of a run as its engine got it, with all that readers leave out."""
    plan: dict[str, Any] = json.loads((result.folder / "manifest.json").read_bytes())["plan"]
    return plan


def _own(result: Result) -> Own:
    return Own.load([str(one["file"]) for one in result.manifest.controllers])


def _run(result: Result, plan: dict[str, Any], overrides: tuple[str, ...] | list[str]) -> Result:
    manifest = result.manifest
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


def _scenario(text: str, overrides: tuple[str, ...], name: str) -> Scenario:
    """The scenario; files that it names are where the command runs, or come with the gallery."""
    try:
        return from_text(text, overrides=overrides, name=name)
    except ScenarioError as error:
        with suppress(ScenarioError):
            return from_text(text, overrides=overrides, name=name, folder=gallery.FOLDER)
        raise error from None
