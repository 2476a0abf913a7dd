"""The simulator: a plan in, a result folder out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dumbbell.errors import ScenarioError
from dumbbell.plan import identity

if TYPE_CHECKING:
    from pathlib import Path

    from .request import Request


def check(request: Request) -> None:
    """Raise ScenarioError for what the engine refuses. Repetitions differ only in what is drawn, so that the first
    speaks for all.
    """
    from dumbbell import _native

    _check_ticks(request)
    if request.planned.repetition:
        return
    try:
        _native.check(json.dumps(request.planned.plan))
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
    from dumbbell import _native, programs

    from .folder import ResultFolder

    _check_ticks(request)
    plan, own = request.planned.plan, request.own
    names = identity.controllers(plan)
    program = own.program(names)
    with ResultFolder(request, folder) as results:
        if program is not None:
            summary = json.loads(programs.run(program, json.dumps(plan), results.path, request.progress))
        else:
            native = own.native(plan["host"]["hz"], names)
            summary = json.loads(
                _native.run(json.dumps(plan), str(results.path), request.progress, native, request.watch)
            )
        return results.finish(summary, controllers=own.record())
