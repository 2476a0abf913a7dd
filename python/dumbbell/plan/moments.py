"""Instants of a plan that a controller decides (`dumbbell.scenario.moments`): a first pass of the run finds them.

A run is a function of its plan, and what happens later changes nothing before. So a run without what is to happen at
a moment has the same prefix, to the byte, and its events tell the instant; what happens there happens 1 ns later.

A plan lists its moments under ``moments``, each with its place. Until they are found, their instants are after the end
of the run, which is where one stays that never comes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from dumbbell import units
from dumbbell.errors import ScenarioError, wrong
from dumbbell.errors import listed as text_of
from dumbbell.scenario.moments import Moment
from dumbbell.scenario.schedule import STEP_MIN_NS

if TYPE_CHECKING:
    from dumbbell.controllers import Controller

    from .types import Plan

#: The key of a plan that has any.
KEY = "moments"
#: Most different moments of a plan: each may take a pass of its own.
MOST = 20

#: What `State` has for a connection that is established, which no controller calls a state: applications start then.
OPEN = ""

State = tuple[int, int, str]
"""A change of a controller's state: ns, flow, state; or `OPEN`."""


class _Place(NamedTuple):
    """A moment of a plan: its keys and numbers from the plan down to it, and the key of the scenario."""

    path: tuple[str | int, ...]
    moment: Moment
    key: str


def of(plan: Plan | Mapping[str, Any]) -> list[dict[str, Any]]:
    """The moments of a plan."""
    entries: list[dict[str, Any]] = cast("dict[str, Any]", plan).get(KEY, [])
    return entries


def noted(plan: Plan, known: Mapping[str, Controller]) -> Plan:
    """The plan with a list of its moments, if it has any. Raises ScenarioError for a flow or a state that there is
    not.
    """
    places = list(_places(cast("dict[str, Any]", plan)))
    if not places:
        return plan
    texts = {place.moment.text for place in places}  # flows of a path have a copy each
    if len(texts) > MOST:
        raise ScenarioError(places[-1].key, f"{len(texts)} moments in all, wanted at most {MOST}")
    plan = json.loads(json.dumps(plan))
    cast("dict[str, Any]", plan)[KEY] = [_entry(plan, place, known) for place in places]
    return unsettled(plan)


def _places(plan: dict[str, Any]) -> Iterator[_Place]:
    for i, link in enumerate(plan["links"]):
        yield from _steps(link["steps"], ("links", i, "steps"), f"link[{i - 1}].rate" if i else "path.rate")
    for i, link in enumerate(plan["ack_links"]):
        yield from _steps(link["steps"], ("ack_links", i, "steps"), "path.up.rate")
    for i, flow in enumerate(plan["flows"]):
        for way in ("forward", "back"):
            for j, stage in enumerate(flow[way]):
                key = "path.loss" if stage["kind"] == "loss" else "path.rtt"
                yield from _steps(stage.get("steps", ()), ("flows", i, way, j, "steps"), key)
        on = (flow["workload"] or {}).get("on", {}).get("ns")
        if isinstance(on, Moment):
            yield _Place(("flows", i, "workload", "on", "ns"), on, f"flow[{flow['table']}].workload.on")


def _steps(steps: Any, path: tuple[str | int, ...], key: str) -> Iterator[_Place]:
    for number, step in enumerate(steps):
        if isinstance(step[0], Moment):
            yield _Place((*path, number, 0), step[0], f"{key}.steps")


def _entry(plan: Plan, place: _Place, known: Mapping[str, Controller]) -> dict[str, Any]:
    """A moment as a plan lists it."""
    moment, names = place.moment, [flow["name"] for flow in plan["flows"]]
    if moment.flow not in names:
        raise wrong(place.key, moment.text, f"a flow by its name: {text_of(list(dict.fromkeys(names)))}", names)
    flow = names.index(moment.flow)
    controller = known.get(plan["flows"][flow]["cca"])
    if controller is not None and moment.state not in controller.states:
        states = ", ".join(controller.states) or "none"
        accepted = f"a state of {plan['flows'][flow]['cca']}: {states}"
        raise wrong(place.key, moment.text, accepted, list(controller.states))
    return {
        "path": list(place.path),
        "key": place.key,
        "text": moment.text,
        "flow": flow,
        "state": moment.state,
        "edge": moment.edge,
        "after_ns": moment.after_ns,
        "offset_ns": moment.offset_ns,
    }


def unsettled(plan: Plan) -> Plan:
    """The plan as it is before its moments are found."""
    late = plan["duration_ns"]
    return _with(plan, [late + (i + 1) * STEP_MIN_NS for i in range(len(of(plan)))])


def taken(plan: Plan, stored: Mapping[str, Any]) -> Plan:
    """The plan with the instants of a run of it."""
    return _with(plan, [_at(stored, entry["path"]) for entry in of(plan)])


def engine_text(plan: Plan) -> str:
    """The plan as the engine reads it."""
    return json.dumps({name: value for name, value in plan.items() if name != KEY})


def settled(plan: Plan, states: Callable[[Plan], list[State]]) -> tuple[Plan, list[str]]:
    """The plan with its instants, and a warning for each moment that never comes; `states` are the changes of state in
    a run of a plan. Raises ScenarioError for steps whose moments come in another order.
    """
    entries, instants = of(plan), [_at(plan, entry["path"]) for entry in of(plan)]
    left = set(range(len(entries)))
    while left:
        changes = states(_with(plan, instants))
        events = {i: _event(entries[i], changes) for i in left}
        coming = {i: at + entries[i]["offset_ns"] + 1 for i, at in events.items() if at is not None}
        first = min(coming.values(), default=0)
        # What happens at `first` changes nothing before it: other events up to there are what they are.
        sure = {i for i in coming if (at := events[i]) is not None and at < first}
        if not sure:
            break
        for i in sure:
            instants[i] = coming[i] - _since(entries[i], changes)
        left -= sure
    plan = _with(plan, instants)
    _check_order(plan)
    return plan, [f'{entries[i]["key"]}: "{entries[i]["text"]}" never comes in this run' for i in sorted(left)]


def _event(entry: Mapping[str, Any], changes: list[State]) -> int | None:
    """When its state changes as it says; None if never."""
    own = [(at, state) for at, flow, state in changes if flow == entry["flow"] and state != OPEN]
    if entry["edge"] == "begins":
        times = (at for at, state in own if state == entry["state"])
    else:
        times = (later for (_, state), (later, _) in pairwise(own) if state == entry["state"])
    return next((at for at in times if at >= entry["after_ns"]), None)


def _since(entry: Mapping[str, Any], changes: list[State]) -> int:
    """What an instant counts from: times of an application from when its connection is established."""
    _, flow, *_, last = entry["path"]
    return next((at for at, of_flow, state in changes if (of_flow, state) == (flow, OPEN)), 0) if last == "ns" else 0


def _check_order(plan: Plan) -> None:
    """Raise ScenarioError for steps that are not in ascending order."""
    for entry in of(plan):
        *path, number, which = entry["path"]
        if which != 0:
            continue
        steps = _at(plan, path)
        at, before = steps[number][0], steps[number - 1][0]
        if at < before + STEP_MIN_NS:
            raise ScenarioError(
                entry["key"],
                f'"{entry["text"]}" is at {units.span_text(at)}, wanted after the step before it, at'
                f" {units.span_text(before)}",
            )


def _at(plan: Plan | Mapping[str, Any], path: list[str | int]) -> Any:
    """What is at a place of a plan."""
    value: Any = plan
    for part in path:
        value = value[part]
    return value


def _with(plan: Plan, instants: list[int]) -> Plan:
    """The plan with these instants at its moments."""
    if not of(plan):
        return plan
    copy: Plan = json.loads(json.dumps(plan))
    for entry, instant in zip(of(plan), instants, strict=True):
        *path, last = entry["path"]
        _at(copy, path)[last] = instant
    return copy
