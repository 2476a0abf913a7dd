"""Evolution strategies: a network's numbers go where pairs of small random steps are rewarded.

Salimans et al., "Evolution Strategies as a Scalable Alternative to Reinforcement Learning", arXiv 1703.03864, with Adam
(Kingma and Ba, ICLR 2015). Candidates are tried as the integers that kernels run. Every number follows from the recipe:
sums go in a fixed order, and a generation's random numbers come from its own number, so that training that was
interrupted goes on to the same bytes.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dumbbell import _native
from dumbbell.errors import ScenarioError
from dumbbell.files import written_whole
from dumbbell.policy import file, network
from dumbbell.policy.network import Dense, Integers

from .recipe import EPISODES, NOISE, POOL, START, VALIDATION, Pool, Recipe

#: Adam's decays of the means of steps and of their squares, and what keeps it from dividing by zero.
_MEAN, _SQUARE, _TINY = 0.9, 0.999, 1e-8
#: File of the curve, and its columns.
CURVE = "curve.csv"
_COLUMNS = ("generation", "reward", "best", "validation")
_STATE = "state.npz"


class Point(NamedTuple):
    """A generation: rewards per second of its candidates, mean and best, and of itself in the validation, if tried."""

    generation: int
    reward: float
    best: float
    validation: float | None = None


class Training:
    """Training by a recipe, whose state is in `folder`; it goes on where that has the state of the same recipe.

    Raises ScenarioError where `folder` has that of another one.
    """

    def __init__(self, recipe: Recipe, digest: str, sources: Path, folder: Path, threads: int | None = None) -> None:
        self.recipe, self._digest, self._folder = recipe, digest, folder
        self._threads = threads or os.cpu_count() or 1
        self._sizes = [len(file.SIGNALS) * file.HISTORY, *recipe.hidden, 1]
        self._pool = Pool(recipe, sources, recipe.pool, POOL)
        self._validation = Pool(recipe, sources, recipe.validation, VALIDATION)
        self.generation, self.points = 0, list[Point]()
        self._numbers = self._first()
        self._mean, self._square = np.zeros((2, len(self._numbers)))
        self._kept, self._kept_at, self._kept_reward = self._numbers, 0, -np.inf
        folder.mkdir(parents=True, exist_ok=True)
        self._resume()

    def run(self, progress: Callable[[Point], None]) -> None:
        """Train to the last generation; the state is kept after each validation."""
        if self.generation == 0 and not self.points:
            self._note(Point(0, np.nan, np.nan, self._validate()), progress)
        while self.generation < self.recipe.generations:
            point = self._advance()
            if point.generation % self.recipe.validate_every == 0 or point.generation == self.recipe.generations:
                point = point._replace(validation=self._validate())
            self._note(point, progress)

    def policy(self) -> file.Policy:
        """The policy of the generation that was best in the validation."""
        recipe = self.recipe
        layers = self._integers(self._kept)
        first, thresholds = network.orca_thresholds(layers[-1].shift)
        header = file.Header(
            recipe.name,
            recipe.summary,
            [file.Layer(layer.shift, layer.kind, layer.slope) for layer in layers],
            first,
            period_us=recipe.period_us,
            age_us=recipe.age_us,
            grow_percent=recipe.grow_percent,
            licence=recipe.licence,
            origin=f"recipe {self._digest}, generation {self._kept_at} of {self.generation}",
        )
        return file.Policy(header, layers, thresholds)

    def _first(self) -> np.ndarray:
        """Numbers of a network that leaves the window nearly as it is."""
        random, parts = np.random.default_rng([self.recipe.seed, START]), []
        for inputs, outputs in zip(self._sizes, self._sizes[1:]):
            scale = 1 / np.sqrt(inputs) if outputs > 1 else 0.01
            parts += [random.standard_normal(outputs * inputs) * scale, np.zeros(outputs)]
        return np.concatenate(parts)

    def _integers(self, numbers: np.ndarray) -> list[Integers]:
        layers, at = [], 0
        for inputs, outputs in zip(self._sizes, self._sizes[1:]):
            weights = numbers[at : at + outputs * inputs].reshape(outputs, inputs)
            at += outputs * inputs
            bias = numbers[at : at + outputs]
            at += outputs
            is_last = outputs == 1 and at == len(numbers)
            layers.append(network.integers(Dense(weights, bias, "leaky" if is_last else "tanh")))
        return layers

    def _native(self, numbers: np.ndarray) -> _native.Policy:
        return file.native(self._integers(numbers))

    def _advance(self) -> Point:
        """One generation."""
        recipe = self.recipe
        noise = np.random.default_rng([recipe.seed, NOISE, self.generation])
        steps = noise.standard_normal((recipe.pairs, len(self._numbers)))
        episodes = np.random.default_rng([recipe.seed, EPISODES, self.generation])
        chosen = [int(one) for one in episodes.integers(recipe.pool, size=recipe.episodes)]
        seeds = [int(one) for one in episodes.integers(2**53, size=recipe.episodes)]
        candidates = [self._native(self._numbers + sign * recipe.sigma * step) for step in steps for sign in (1, -1)]
        rewards = self._pool.rewards(candidates, chosen, seeds, self._threads).mean(axis=1)
        ranks = np.empty(len(rewards))
        ranks[np.argsort(rewards, kind="stable")] = np.linspace(-0.5, 0.5, len(rewards))
        slope = np.zeros(len(self._numbers))
        for step, up, down in zip(steps, ranks[::2], ranks[1::2]):
            slope += (up - down) * step  # one after the other: sums by a library may go in any order
        self._learn(slope / (recipe.pairs * recipe.sigma))
        self.generation += 1
        return Point(self.generation, float(rewards.mean()), float(rewards.max()))

    def _learn(self, slope: np.ndarray) -> None:
        number = self.generation + 1
        self._mean = _MEAN * self._mean + (1 - _MEAN) * slope
        self._square = _SQUARE * self._square + (1 - _SQUARE) * slope * slope
        mean, square = self._mean / (1 - _MEAN**number), self._square / (1 - _SQUARE**number)
        step = mean / (np.sqrt(square) + _TINY) - self.recipe.decay * self._numbers
        self._numbers = self._numbers + self.recipe.rate * step

    def _validate(self) -> float:
        """Mean reward in the validation; the best generation of it is kept."""
        episodes = list(range(self.recipe.validation))
        rewards = self._validation.rewards([self._native(self._numbers)], episodes, episodes, self._threads)
        reward = float(rewards.mean())
        if reward > self._kept_reward:
            self._kept, self._kept_at, self._kept_reward = self._numbers, self.generation, reward
        return reward

    def _note(self, point: Point, progress: Callable[[Point], None]) -> None:
        self.points.append(point)
        if point.validation is not None:
            self._save()
        progress(point)

    def _save(self) -> None:
        with written_whole(self._folder / _STATE) as path, path.open("wb") as out:
            np.savez(
                out,
                digest=np.array(self._digest),
                generation=self.generation,
                numbers=self._numbers,
                moments=np.stack([self._mean, self._square]),
                kept=self._kept,
                kept_at=self._kept_at,
                kept_reward=self._kept_reward,
                points=np.array([[np.nan if cell is None else cell for cell in point] for point in self.points]),
            )
        with written_whole(self._folder / CURVE) as path, path.open("w", encoding="utf-8", newline="") as out:
            lines = csv.writer(out, lineterminator="\n")
            lines.writerow(_COLUMNS)
            lines.writerows([_cell(cell) for cell in point] for point in self.points)

    def _resume(self) -> None:
        path = self._folder / _STATE
        if not path.exists():
            return
        try:
            with np.load(path, allow_pickle=False) as state:
                if str(state["digest"]) != self._digest:
                    raise ScenarioError(
                        "--out", f"{self._folder} has the state of another recipe; name another folder, or remove it"
                    )
                self.generation = int(state["generation"])
                self._numbers, (self._mean, self._square) = state["numbers"], state["moments"]
                self._kept, self._kept_at = state["kept"], int(state["kept_at"])
                self._kept_reward = float(state["kept_reward"])
                self.points = [
                    Point(int(row[0]), float(row[1]), float(row[2]), None if np.isnan(row[3]) else float(row[3]))
                    for row in state["points"]
                ]
        except (ValueError, KeyError, OSError) as error:
            raise ScenarioError("--out", f"{path} is no state of a training ({error})") from None


def _cell(cell: float | None) -> str:
    return "" if cell is None or np.isnan(cell) else f"{cell:g}"
