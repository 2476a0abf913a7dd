"""Plans of a scenario whose keys are drawn for each episode.

drawn = Drawn("links.toml", {"path.rate": {"log": ["4Mbps", "300Mbps"]}})
episode = drawn.episode(np.random.default_rng(1))
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.controllers import Controller, from_item, known
from dumbbell.errors import ScenarioError, show
from dumbbell.plan import make
from dumbbell.plan.view import link_of
from dumbbell.runs.jobs import AnyScenario, folder_of, text_of
from dumbbell.scenario.file import from_dict
from dumbbell.scenario.source import override, tables

if TYPE_CHECKING:
    import numpy as np

    from dumbbell.plan.types import Plan

#: The controller of flows that ask.
AGENT = "agent"
#: How many values with a unit are written.
_DIGITS = 5
#: How often values that contradict each other are drawn again.
_TRIES = 20

Draw = Mapping[str, Sequence[Any]]
"""How a key is drawn: ``{"uniform": [least, most]}``, ``{"log": [least, most]}`` or ``{"choice": [value, ...]}``."""


class Episode(NamedTuple):
    """A plan as the engine takes it."""

    plan: str
    agents: list[int]
    """Numbers of the flows that ask."""
    names: list[str]
    """Their names: those of the scenario, numbered where they are not different."""
    share_bps: int
    """Capacity of the narrowest link over the number of flows, bit/s."""


class Drawn:
    """A scenario, the keys that are drawn, and the flows that ask: those whose name or controller is `agent`.

    Raises ScenarioError for a scenario without one, and for draws of another form.
    """

    def __init__(self, scenario: AnyScenario, draws: Mapping[str, Draw] | None = None, agent: str = AGENT) -> None:
        self._tables = tables(text_of(scenario), ())
        self._tables.setdefault("name", "episode")
        self._folder = folder_of(scenario)
        self._draws = {key: _check(key, draw) for key, draw in (draws or {}).items()}
        self._known = {**known(), AGENT: description()}
        flows = self._tables.get("flow", [])
        asking = [flow for flow in flows if isinstance(flow, dict) and agent in (flow.get("name"), flow.get("cca"))]
        if not asking:
            raise ScenarioError("agent", f"got {show(agent)}, wanted the name or the controller of a flow")
        for flow in asking:
            if flow.get("cca") != AGENT:
                flow.pop("params", None)
            flow["cca"] = AGENT
        self._fixed = None if self._draws else self._planned({})

    def episode(self, random: np.random.Generator) -> Episode:
        """The next episode. Values that contradict each other, such as a buffer below one packet, are drawn again;
        raises ScenarioError where that does not end.
        """
        plans = self._fixed or self._planned_at_random(random)
        plan = plans[int(random.integers(len(plans)))]
        return _episode({**plan, "seed": int(random.integers(2**53))})

    def _planned_at_random(self, random: np.random.Generator) -> list[Plan]:
        for tries in range(_TRIES):
            try:
                return self._planned({key: _drawn(draw, random) for key, draw in self._draws.items()})
            except ScenarioError:
                if tries == _TRIES - 1:
                    raise
        raise AssertionError

    def _planned(self, values: dict[str, str]) -> list[Plan]:
        """The plans of all varied values."""
        given = json.loads(json.dumps(self._tables, default=str))
        for key, value in values.items():
            override(given, f"{key}={value}")
        scenario = from_dict(given, folder=self._folder)
        return [planned.plan for planned in make.runs(scenario, self._known, once=True) if planned.repetition == 0]


def description() -> Controller:
    """What there is to know of the controller of flows that ask."""
    from dumbbell import _native

    return from_item(json.loads(_native.agent()))


def _episode(plan: Plan) -> Episode:
    flows = plan["flows"]
    agents = [number for number, flow in enumerate(flows) if flow["cca"] == AGENT]
    names = [flows[number]["name"] or AGENT for number in agents]
    if len(set(names)) < len(names):
        names = [f"{name}{number}" for number, name in zip(agents, names)]
    return Episode(json.dumps(plan), agents, names, _share_bps(plan))


def _share_bps(plan: Plan) -> int:
    duration = plan["duration_ns"]
    narrowest = min(link_of(link).bits(0, duration) for link in plan["links"])
    return int(narrowest * 10**9 / duration / len(plan["flows"]))


def _check(key: str, draw: Draw) -> Draw:
    kind, values = next(iter(draw.items())) if isinstance(draw, Mapping) and len(draw) == 1 else ("", [])
    wanted = 'wanted {"uniform": [least, most]}, {"log": [least, most]} or {"choice": [value, ...]}'
    is_range = kind in ("uniform", "log") and len(values) == 2
    if not is_range and not (kind == "choice" and values):
        raise ScenarioError(key, f"got {show(str(draw))}, {wanted}")
    if is_range:
        (low, unit), (high, other) = map(_number, values)
        if unit != other or low > high or (kind == "log" and low <= 0):
            raise ScenarioError(key, f"got {show(str(draw))}, {wanted}, both in the same unit")
    return draw


def _drawn(draw: Draw, random: np.random.Generator) -> str:
    """A value as an override has it."""
    ((kind, values),) = draw.items()
    if kind == "choice":
        return _toml(values[int(random.integers(len(values)))])
    (low, unit), (high, _) = map(_number, values)
    part = random.random()
    value = low * (high / low) ** part if kind == "log" else low + (high - low) * part
    rounded = f"{value:.{_DIGITS}g}" if unit or isinstance(values[0], float) else str(round(value))
    return f"{float(rounded):.10f}".rstrip("0").rstrip(".") + unit


def _number(value: object) -> tuple[float, str]:
    """A number and its unit, which may be empty."""
    match = re.fullmatch(r"\s*([-+]?[0-9.]+(?:e[-+]?\d+)?)\s*([A-Za-z%/]*)\s*", str(value))
    try:
        number = float(match[1]) if match else math.nan
    except ValueError:
        number = math.nan
    if not match or not math.isfinite(number):
        raise ScenarioError("draw", f"got {show(str(value))}, wanted a number, or one with a unit")
    return number, match[2]


def _toml(value: object) -> str:
    from dumbbell.scenario.toml_text import value_text

    return value_text(value)
