"""Worlds that are stepped together: what the environments have in common."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell import _native
from dumbbell.errors import ScenarioError
from dumbbell.training.drawn import AGENT, Drawn, Episode

from . import readings

if TYPE_CHECKING:
    from gymnasium import spaces

    from dumbbell.runs.jobs import AnyScenario
    from dumbbell.training.drawn import Draw

#: A path inside the range that Orca was trained for.
SCENARIO: Mapping[str, Any] = {
    "name": "orca-links",
    "duration": "20s",
    "path": {"rate": "48Mbps", "rtt": "40ms", "buffer": "2bdp"},
    "flow": [{"cca": AGENT}],
}
#: How its keys are drawn for each episode.
DRAWS: Mapping[str, Draw] = {
    "path.rate": {"log": ["6Mbps", "192Mbps"]},
    "path.rtt": {"log": ["8ms", "160ms"]},
    "path.buffer": {"log": ["0.5bdp", "8bdp"]},
}


#: Episodes that are drawn until a flow asks.
_TRIES = 100


class Settings:
    """Arguments that all environments take: the scenario and its draws, which flows ask, observation and reward."""

    def __init__(
        self,
        scenario: AnyScenario | None,
        draws: Mapping[str, Draw] | None,
        agent: str,
        observation: str | readings.Observation,
        reward: str | Callable[[np.void], float],
    ) -> None:
        if scenario is None:
            scenario, draws = dict(SCENARIO), DRAWS if draws is None else draws
        self.drawn = Drawn(scenario, draws, agent)
        self.observation = readings.observation(observation)
        self.reward = readings.reward(reward)

    def observation_space(self) -> spaces.Box:
        """Space of an agent's observations."""
        from gymnasium import spaces

        seen = self.observation
        return spaces.Box(seen.least, seen.most, seen.shape, np.float32)

    @staticmethod
    def action_space() -> spaces.Box:
        """Space of its actions: the window becomes floor(100 x 4^action) percent of what it was."""
        from gymnasium import spaces

        return spaces.Box(-1.0, 1.0, (1,), np.float32)


class Worlds:
    """Simulated worlds, each with an episode of its own."""

    def __init__(self, count: int, threads: int | None = None) -> None:
        self._engine = _native.Episodes(count, threads or min(count, os.cpu_count() or 1))

    def begin(self, world: int, episode: Episode) -> None:
        """Begin an episode in a world."""
        self._engine.begin(world, episode.plan, episode.agents)

    def begin_one(self, world: int, settings: Settings, random: np.random.Generator) -> np.void:
        """Begin an episode with one flow that asks, and run until it does: its first row. Episodes in which it never
        asks, because slow start does not end, are left out.

        Raises ScenarioError for several flows that ask, RuntimeError where none of many episodes has one that does.
        """
        for _ in range(_TRIES):
            episode = settings.drawn.episode(random)
            if len(episode.agents) > 1:
                several = f"got {len(episode.agents)} flows that ask, wanted one; OrcaParallelEnv has several"
                raise ScenarioError("agent", several)
            self.begin(world, episode)
            row: np.void = self.step([world])[0]
            if row["kind"] == readings.ASKED:
                return row
        raise RuntimeError(f"reset: in {_TRIES} episodes the flow never asked: its slow start does not end")

    def answer(self, world: int, flow: int, action: float) -> None:
        """Answer the last reading of a flow by an action."""
        self._engine.answer(world, flow, readings.percent(action))

    def step(self, which: list[int]) -> np.ndarray:
        """Run these worlds until each of them asks or something ends; their rows (`readings.ROW`)."""
        return np.frombuffer(self._engine.step(which), readings.ROW)


def said(row: np.void) -> dict[str, Any]:
    """What the `info` of a step says: time, s, what the receiver has got, bytes, and the reading's raw numbers."""
    info: dict[str, Any] = {"time": float(row["at_ns"]) / 1e9}
    names = ("received", "dt_us", "thr", "thr_max", "pacing", "lost", "acks", "cwnd", "srtt_us", "min_rtt_us")
    return info | {name: int(row[name]) for name in names}
