"""The simulator: a plan in, a result folder out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dumbbell.errors import ScenarioError
from dumbbell.plan import identity

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dumbbell.plan.types import Plan

    from .request import Request, Watch

    Engine = Callable[[str, Path, Watch | None], str]


def check(request: Request) -> None:
    """Raise ScenarioError for what the engine refuses. Repetitions differ only in what is drawn, so that the first
    speaks for all.
    """
    from dumbbell import _native
    from dumbbell.plan.moments import engine_text

    _check_ticks(request)
    if request.planned.repetition:
        return
    try:
        _native.check(engine_text(request.planned.plan))
    except _native.PlanError as error:
        raise ScenarioError("", f"{request.planned.name}: the engine refuses the plan: {error}") from None


def _check_ticks(request: Request) -> None:
    """Raise ScenarioError for a controller of --cca that only a kernel has, and for one on a host with another tick: it
    is compiled for one.
    """
    plan = request.planned.plan
    names = identity.controllers(plan)
    request.own.check(names)
    request.own.program(names)
    for i, flow in enumerate(plan["flows"]):
        if flow["host"].get("hz", plan["host"]["hz"]) != plan["host"]["hz"] and flow["cca"] in request.own.sources:
            raise ScenarioError(
                f"flow[{i}].host.hz",
                f"got {flow['host']['hz']}, wanted that of host.hz ({plan['host']['hz']}) for a controller of --cca,"
                " which is compiled for one tick",
            )


def run(request: Request, folder: Path) -> dict[str, Any]:
    """Run one plan into `folder`, which must not exist yet, and return its manifest."""
    from dumbbell.plan.moments import engine_text

    from .folder import ResultFolder

    _check_ticks(request)
    engine = _engine(request)
    with ResultFolder(request, folder) as results:
        results.request, warnings = _settled(request, engine)
        text = engine_text(results.request.planned.plan)
        summary = json.loads(engine(text, results.path, request.watch))
        return results.finish(summary, controllers=request.own.record(), warnings=warnings)


def _engine(request: Request) -> Engine:
    """Return the function that runs a plan, as JSON text, into a folder and returns the summary as text: the engine's
    own, or that of the program which has the plan's controllers.
    """
    from dumbbell import _native, programs

    plan, own = request.planned.plan, request.own
    names = identity.controllers(plan)
    program = own.program(names)
    if program is not None:
        return lambda text, out, _: programs.run(program, text, out, request.progress)
    native = own.native(plan["host"]["hz"], names)
    return lambda text, out, watch: _native.run(text, str(out), request.progress, native, watch)


def _settled(request: Request, engine: Engine) -> tuple[Request, list[str]]:
    """The request with the instants of its plan's moments, and a warning for each that never comes."""
    from dumbbell.plan import moments

    planned = request.planned
    if not moments.of(planned.plan):
        return request, []

    def states(plan: Plan) -> list[moments.State]:
        return _states(plan, engine)

    plan, warnings = moments.settled(planned.plan, states)
    return request._replace(planned=planned._replace(plan=plan)), warnings


def _states(plan: Plan, engine: Engine) -> list[tuple[int, int, str]]:
    """The changes of state in a run of this plan, and when its connections are established."""
    from pyarrow import parquet

    from dumbbell.plan import moments
    from dumbbell.temporary import Temporary

    nothing = dict.fromkeys((*plan["record"], "samples", "queue"), False)
    first: Any = {**plan, "record": {**nothing, "events": True}}
    folder = Temporary("pass")
    engine(moments.engine_text(first), folder.path, None)
    events = parquet.read_table(folder.path / "events.parquet", columns=["t_ns", "flow", "kind", "note"])
    rows = [row for row in events.to_pylist() if row["kind"] in ("cca_state", "established")]
    return [(row["t_ns"], row["flow"], row["note"] or moments.OPEN) for row in rows]
