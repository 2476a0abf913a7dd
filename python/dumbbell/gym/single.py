"""One flow that asks, as an environment of Gymnasium."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from dumbbell.training.drawn import AGENT

from . import readings
from .worlds import Settings, Worlds, said

if TYPE_CHECKING:
    from dumbbell.runs.jobs import AnyScenario
    from dumbbell.training.drawn import Draw


class OrcaEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """A flow of CUBIC whose window the agent multiplies, some thirty times a second, as Orca's network does.

    Parameters
    ----------
    scenario
        A scenario file, its tables as dictionaries, or a `Scenario`; a path inside Orca's range unless given, whose
        rate, RTT and buffer are drawn.
    draws
        Keys that are drawn for each episode: ``{"path.rate": {"log": ["6Mbps", "192Mbps"]}}``.
    agent
        Name or controller of the flow that asks.
    observation, reward
        ``orca``, ``aurora``, or one's own: an `Observation`, a function of a row (`readings.ROW`).
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        scenario: AnyScenario | None = None,
        draws: Mapping[str, Draw] | None = None,
        *,
        agent: str = AGENT,
        observation: str | readings.Observation = "orca",
        reward: str | Callable[[np.void], float] = "orca",
        render_mode: str | None = None,
    ) -> None:
        self.render_mode = render_mode
        self._settings = Settings(scenario, draws, agent, observation, reward)
        self.observation_space = self._settings.observation_space()
        self.action_space = self._settings.action_space()
        self._worlds = Worlds(1)
        self._flow = -1
        self._history = readings.Histories(1, self._settings.observation.history)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode: run until the flow asks for the first time. `options` has nothing to say."""
        super().reset(seed=seed, options=options)
        self._history = readings.Histories(1, self._settings.observation.history)
        row = self._take(self._worlds.begin_one(0, self._settings, self.np_random))
        return self._seen(), said(row)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Answer, and run until the flow asks again. It is `terminated` when the flow has sent all it had, `truncated`
        when the flow stops or the run ends; the reward of these is 0.
        """
        if self._flow < 0:
            raise RuntimeError("step: the episode is over, or none has begun; call reset")
        self._worlds.answer(0, self._flow, float(np.asarray(action).reshape(-1)[0]))
        row = self._take(self._worlds.step([0])[0])
        is_asked = row["kind"] == readings.ASKED
        reward = float(self._settings.reward(readings.one(row))[0]) if is_asked else 0.0
        terminated = bool(row["kind"] == readings.COMPLETED)
        return self._seen(), reward, terminated, not (is_asked or terminated), said(row)

    def _take(self, row: np.void) -> np.void:
        """Note a row, and give it back."""
        self._flow = int(row["flow"]) if row["kind"] == readings.ASKED else -1
        if self._flow >= 0:
            self._history.add(np.zeros(1, int), readings.one(row))
        return row

    def _seen(self) -> np.ndarray:
        seen: np.ndarray = self._settings.observation.see(self._history.rows)[0]
        return seen
