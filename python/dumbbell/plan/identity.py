"""Identity of a run, as a short text: two runs with the same one have the same tables.

It is made of the plan without what changes no table (the scenario's name, the part that figures cover, the limits of
cost, where a trace lies), the controllers of the user's own that the plan names, and what turns the plan into tables
(`backends/builds.py`). Python code is part of it only where it makes the run: that of a back end other than the
simulator, and controllers of the user's own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dumbbell.errors import ScenarioError

from . import origin

if TYPE_CHECKING:
    from .types import LinkPlan, Plan

#: Grows when what a key is made of changes.
_FORM = 1

#: Parts of a plan that change no table: a limit ends a run or does nothing.
_IDLE = ("name", "measure", "limits")


def key(plan: Plan, own: Iterable[Mapping[str, Any]], program: Mapping[str, Any]) -> str:
    """The identity of a run: 64 hexadecimal digits; `own` is the record of the user's own controllers. Raises
    ScenarioError for one whose code is nowhere to be read.
    """
    import hashlib

    parts = {"form": _FORM, "plan": _plan(plan), "own": _own(plan, own), **program}
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def controllers(plan: Plan) -> list[str]:
    """Names of the controllers that a plan names; UDP has none."""
    return sorted({flow["cca"] for flow in plan["flows"]} - {""})


def _plan(plan: Plan) -> dict[str, Any]:
    links = {name: [_link(link) for link in plan[name]] for name in ("links", "ack_links")}
    return {**{name: value for name, value in plan.items() if name not in _IDLE}, **links}


def _link(link: LinkPlan) -> dict[str, Any]:
    """A link; its trace is known by its content."""
    trace = link["trace"]
    return {**link, "trace": trace and {**trace, "path": ""}}


def _own(plan: Plan, own: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The controllers of the user's own that the plan names, by their content."""
    used, listed = controllers(plan), []
    for record in own:
        if record["name"] not in used:
            continue
        if record["sha256"] is None:
            raise ScenarioError(
                "controllers",
                f'"{record["name"]}" is a class without a file, whose runs cannot be told from those of another;'
                " wanted a file (cca=[...])",
            )
        beside = [needed["sha256"] for needed in record.get("with", [])]
        python = None if record["compiler"] else origin.versions()["python"]
        known = {name: record[name] for name in ("name", "sha256", "compiler")}
        listed.append({**known, "with": beside, "python": python})
    return listed
