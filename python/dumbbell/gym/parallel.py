"""Several flows that ask in one world, as a parallel environment of PettingZoo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from pettingzoo import ParallelEnv

from dumbbell.training.drawn import AGENT

from . import readings
from .worlds import Settings, Worlds, said

if TYPE_CHECKING:
    from gymnasium import spaces

    from dumbbell.runs.jobs import AnyScenario
    from dumbbell.training.drawn import Draw, Episode


class OrcaParallelEnv(ParallelEnv[str, np.ndarray, np.ndarray]):  # type: ignore[misc]
    """Flows of one bottleneck that ask, each of them when its own period is over; otherwise as `OrcaEnv`.

    A step runs until at least one of them asks, and ``info["asks"]`` says which: an action of another one has no
    effect, its observation is the one before, and its reward 0. A flow is an agent from its first reading
    until its end.
    """

    metadata: dict[str, Any] = {"render_modes": [], "name": "dumbbell_orca_v0"}  # noqa: RUF012

    def __init__(
        self,
        scenario: AnyScenario,
        draws: Mapping[str, Draw] | None = None,
        *,
        agent: str = AGENT,
        observation: str | readings.Observation = "orca",
        reward: str | Callable[[np.void], float] = "orca",
        render_mode: str | None = None,
    ) -> None:
        self.render_mode = render_mode
        self._settings = Settings(scenario, draws, agent, observation, reward)
        self._worlds = Worlds(1)
        self._random = np.random.default_rng()
        first = self._settings.drawn.episode(np.random.default_rng(0))
        self.possible_agents = list(first.names)
        self.observation_spaces = {name: self._settings.observation_space() for name in first.names}
        self.action_spaces = {name: self._settings.action_space() for name in first.names}
        self.agents: list[str] = []
        self._names: dict[int, str] = {}
        self._histories: dict[str, readings.Histories] = {}
        self._asking: set[str] = set()

    def observation_space(self, agent: str) -> spaces.Space[np.ndarray]:
        """Space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[np.ndarray]:
        """Space of an agent's actions."""
        return self.action_spaces[agent]

    def reset(
        self,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> tuple[dict[str, np.ndarray], dict[str, dict[str, Any]]]:
        """Begin an episode: run until a flow asks for the first time. `options` has nothing to say."""
        if seed is not None:
            self._random = np.random.default_rng(seed)
        episode: Episode = self._settings.drawn.episode(self._random)
        self._names = dict(zip(episode.agents, episode.names))
        self._histories = {name: readings.Histories(1, self._settings.observation.history) for name in episode.names}
        self.agents, self._asking = [], set()
        self._worlds.begin(0, episode)
        row = self._next()
        while row["kind"] in (readings.STOPPED, readings.COMPLETED):
            row = self._next()
        if row["kind"] == readings.ASKED:
            self._ask(row)
        return self._seen(), {name: {**said(row), "asks": name in self._asking} for name in self.agents}

    def step(
        self, actions: dict[str, np.ndarray]
    ) -> tuple[dict[str, np.ndarray], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Answer the flows that asked, and run until one asks again, or ends."""
        numbers = {name: number for number, name in self._names.items()}
        for asking in self._asking & actions.keys():
            self._worlds.answer(0, numbers[asking], float(np.asarray(actions[asking]).reshape(-1)[0]))
        self._asking = set()
        row = self._next()
        name = self._names.get(int(row["flow"]))
        rewards = dict.fromkeys(self.agents, 0.0)
        terminated, truncated = dict.fromkeys(self.agents, False), dict.fromkeys(self.agents, False)
        if row["kind"] == readings.ASKED and name is not None:
            self._ask(row)
            rewards[name] = float(self._settings.reward(readings.one(row))[0])
            terminated[name] = truncated[name] = False  # it may be new
        elif row["kind"] == readings.OVER:
            truncated = dict.fromkeys(self.agents, True)
        elif name is not None and name in self.agents:
            terminated[name], truncated[name] = row["kind"] == readings.COMPLETED, row["kind"] == readings.STOPPED
        seen = self._seen()
        infos = {agent: {**said(row), "asks": agent in self._asking} for agent in self.agents}
        self.agents = [agent for agent in self.agents if not (terminated[agent] or truncated[agent])]
        return seen, rewards, terminated, truncated, infos

    def _next(self) -> np.void:
        row: np.void = self._worlds.step([0])[0]
        return row

    def _ask(self, row: np.void) -> None:
        name = self._names[int(row["flow"])]
        self._histories[name].add(np.zeros(1, int), readings.one(row))
        self._asking.add(name)
        if name not in self.agents:
            self.agents.append(name)

    def _seen(self) -> dict[str, np.ndarray]:
        return {name: self._settings.observation.see(self._histories[name].rows)[0] for name in self.agents}
