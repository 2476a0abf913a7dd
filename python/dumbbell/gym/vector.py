"""Many worlds in one process, as a vector environment of Gymnasium; the engine steps them in threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from dumbbell.training.drawn import AGENT

from . import readings
from .worlds import Settings, Worlds

if TYPE_CHECKING:
    from dumbbell.runs.jobs import AnyScenario
    from dumbbell.training.drawn import Draw


class OrcaVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """`num_envs` flows, each in its own world, which are otherwise as in `OrcaEnv`.

    A world whose episode has ended begins its next one at the next step (`AutoresetMode.NEXT_STEP`), or at once
    (`SAME_STEP`: `info["final_obs"]` has what was seen last).
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        scenario: AnyScenario | None = None,
        draws: Mapping[str, Draw] | None = None,
        *,
        agent: str = AGENT,
        observation: str | readings.Observation = "orca",
        reward: str | Callable[[np.void], float] = "orca",
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
        threads: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.num_envs, self.render_mode = num_envs, render_mode
        self.metadata = {**self.metadata, "autoreset_mode": AutoresetMode(autoreset_mode)}
        self._mode = AutoresetMode(autoreset_mode)
        self._settings = Settings(scenario, draws, agent, observation, reward)
        self.single_observation_space = self._settings.observation_space()
        self.single_action_space = self._settings.action_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._worlds = Worlds(num_envs, threads)
        self._randoms = [np.random.default_rng() for _ in range(num_envs)]
        self._flows = np.full(num_envs, -1)
        self._histories = readings.Histories(num_envs, self._settings.observation.history)
        self._ended = np.zeros(num_envs, bool)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode in every world, or in those of `options["reset_mask"]`. Seeds of the worlds are given, or
        `seed`, `seed` + 1 and so on.
        """
        if seed is not None:
            seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
            self._randoms = [
                self._randoms[i] if own is None else np.random.default_rng(own) for i, own in enumerate(seeds)
            ]
        mask = (
            np.ones(self.num_envs, bool)
            if not options
            else np.asarray(options.get("reset_mask", [True] * self.num_envs))
        )
        rows = self._begin([int(world) for world in np.flatnonzero(mask)])
        return self._seen(), self._said(rows)

    def _begin(self, which: list[int]) -> np.ndarray:
        rows = []
        for world in which:
            self._histories.begin(world)
            self._ended[world] = False
            rows.append(self._worlds.begin_one(world, self._settings, self._randoms[world]))
        return self._take(np.array(rows, readings.ROW))

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Answer in every world, and run each until its flow asks again."""
        chosen = np.asarray(actions, float).reshape(self.num_envs, -1)[:, 0]
        begun = np.flatnonzero(self._ended) if self._mode is AutoresetMode.NEXT_STEP else np.zeros(0, int)
        if self._mode is AutoresetMode.DISABLED and self._ended.any():
            raise RuntimeError("step: an episode is over; call reset with options={'reset_mask': ...}")
        going = np.setdiff1d(np.arange(self.num_envs), begun)
        for world in going:
            self._worlds.answer(int(world), int(self._flows[world]), chosen[world])
        rows = self._take(self._worlds.step([int(world) for world in going]))
        reset = self._begin([int(world) for world in begun])
        rewards, terminated, truncated = np.zeros(self.num_envs), *np.zeros((2, self.num_envs), bool)
        worlds, kinds = rows["world"], rows["kind"]
        asked = kinds == readings.ASKED
        rewards[worlds[asked]] = self._settings.reward(rows[asked])
        terminated[worlds] = kinds == readings.COMPLETED
        truncated[worlds] = (kinds == readings.STOPPED) | (kinds == readings.OVER)
        self._ended = terminated | truncated
        infos = self._said(np.concatenate([rows, reset]) if len(reset) else rows)
        if self._mode is AutoresetMode.SAME_STEP and self._ended.any():
            infos["final_obs"] = np.array([None] * self.num_envs, object)
            ended = [int(world) for world in np.flatnonzero(self._ended)]
            for world, seen in zip(ended, self._seen()[ended]):
                infos["final_obs"][world] = seen
            infos["_final_obs"] = self._ended.copy()
            infos["final_info"], infos["_final_info"] = self._said(rows), self._ended.copy()
            self._begin(ended)
        return self._seen(), rewards, terminated, truncated, infos

    def _take(self, rows: np.ndarray) -> np.ndarray:
        """Note rows, and give them back."""
        asked = rows["kind"] == readings.ASKED
        self._flows[rows["world"]] = np.where(asked, rows["flow"], -1)
        self._histories.add(rows["world"][asked], rows[asked])
        return rows

    def _seen(self) -> np.ndarray:
        return self._settings.observation.see(self._histories.rows)

    def _said(self, rows: np.ndarray) -> dict[str, Any]:
        """Arrays of what `said` has, one value for each world, and which worlds have them."""
        has = np.zeros(self.num_envs, bool)
        has[rows["world"]] = True
        times, received = np.zeros(self.num_envs), np.zeros(self.num_envs, np.int64)
        times[rows["world"]] = rows["at_ns"] / 1e9
        received[rows["world"]] = rows["received"]
        return {"time": times, "_time": has, "received": received, "_received": has}
