"""Where to look next: coordinates from 0 to 1 that are asked for in batches, and told how bad each was.

`Modelled` learns what a candidate will be like, and tries of many drawn ones those that promise most (Jones, Schonlau
and Welch, "Efficient global optimization of expensive black-box functions", 1998). `Uniform` draws at random, which is
what a search has to beat.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .draw import Draws
from .process import Process

if TYPE_CHECKING:
    from .genome import Genome

#: Candidates for each coordinate of the sample before a model; it does not depend on the budget, so that a search may
#: go on with a larger one.
_SAMPLE = 3
#: How unsure a candidate may be, in deviations, one after the other within a batch: what is expected to be worst, and
#: what may be.
_HOPES = (0.0, 1.0, 2.0, 3.0)
#: Candidates that a model chooses from: drawn from everywhere, and mutations.
_ANYWHERE, _MUTATIONS = 400, 800
#: Of the best and of the elites each, how many have mutations.
_PARENTS = 10
#: Candidates that a model learns of at most: half of them the best, the others at random.
_LEARNED = 200
#: Steps of a model towards the evidence: the first time, and after each batch.
_FIRST_STEPS, _STEPS = 30, 4
#: Batches without anything worse by this part, after which another start is made.
_PATIENCE, _BETTER = 12, 0.01
#: Beyond the worst margin, in parts of their range: one that never completes.
_ENDLESS = 0.1


class Optimiser(Protocol):
    """Who says where to look next; margins are to become small."""

    def ask(self) -> list[np.ndarray]:
        """The next batch."""
        ...

    def tell(self, margins: Sequence[float | None]) -> None:
        """How far each of the batch was inside what is expected; None: it could not be judged."""
        ...


class Uniform:
    """Coordinates at random, all alike."""

    def __init__(self, genome: Genome, size: int, seed: int) -> None:
        self._genome, self._size, self._random = genome, size, np.random.default_rng([seed, 0])

    def ask(self) -> list[np.ndarray]:
        """The next batch."""
        return [self._genome.drawn(self._random) for _ in range(self._size)]

    def tell(self, margins: Sequence[float | None]) -> None:
        """Learn nothing."""


class Modelled:
    """A sample, then what a model of all that was tried promises; started again when nothing worse is found.

    Parameters
    ----------
    genome, size, seed
        What there is to draw, how many a batch has, and the seed of all that is drawn.
    elites
        Gives the coordinates of the worst of each kind so far, the worst first: every second start has mutations of
        these too, the others of what they have tried themselves alone.
    """

    def __init__(self, genome: Genome, size: int, seed: int, elites: Callable[[], Sequence[np.ndarray]]) -> None:
        self._genome, self._size, self._elites = genome, size, elites
        self._random = np.random.default_rng([seed, 1])
        self._draws = Draws(genome, self._random)
        self._started, self._asked = 0, np.empty((0, len(genome.steps)))
        self._tried: set[bytes] = set()
        self._start()

    def _start(self) -> None:
        self._at, self._margins = np.empty((0, len(self._genome.steps))), np.empty(0)
        batches = math.ceil(_SAMPLE * len(self._genome.steps) / self._size)
        self._sample = np.split(self._draws.sample(batches * self._size), batches)
        self._model: Process | None = None
        self._best, self._rested = math.inf, 0
        self._started += 1

    def ask(self) -> list[np.ndarray]:
        """The next batch."""
        if self._sample:
            self._asked = self._sample.pop()
        else:
            with self._one_thread.limit(limits=1):
                self._asked = self._promising()
        return list(self._asked)

    def tell(self, margins: Sequence[float | None]) -> None:
        """Learn from the batch."""
        known = [math.inf if margin is None else margin for margin in margins]
        self._at, self._margins = np.vstack([self._at, self._asked]), np.append(self._margins, known)
        self._tried.update(place.tobytes() for place in self._genome.places(self._asked))
        best = min(known)
        if best < self._best - _BETTER * abs(self._best if math.isfinite(self._best) else 0.0):
            self._best, self._rested = best, 0
        else:
            self._rested += 1
        if self._rested >= _PATIENCE:
            self._start()

    @cached_property
    def _one_thread(self) -> Any:
        """Sums of several threads would differ with the number of cores, and small ones take longer."""
        from threadpoolctl import ThreadpoolController

        return ThreadpoolController()

    def _promising(self) -> np.ndarray:
        """The batch that promises most, and one at random: anywhere, or near what is known."""
        parents = self._parents()
        drawn = self._draws.mutated(parents, 1) if self._random.random() < 0.5 else self._draws.uniform(1)
        new = self._new(np.vstack([self._draws.uniform(_ANYWHERE), self._draws.mutated(parents, _MUTATIONS)]))
        looked = self._learned().looked(self._genome.places(new))
        taken: list[int] = []
        for number in range(min(self._size - 1, len(new))):
            promise = looked.mean - _HOPES[number % len(_HOPES)] * looked.deviation
            promise[taken] = math.inf
            taken.append(int(np.argmin(promise)))
            looked.take(taken[-1])
        more = self._draws.uniform(self._size - 1 - len(taken))  # where few are left that are new
        return np.vstack([new[taken], more, drawn])

    def _parents(self) -> np.ndarray:
        """The best that differ, and the elites."""
        best = self._at[np.argsort(self._margins, kind="stable")[: 4 * _PARENTS]]
        first = np.unique(self._genome.places(best), axis=0, return_index=True)[1]
        elites = self._elites()[:_PARENTS] if self._started % 2 else []
        return np.vstack([best[np.sort(first)[:_PARENTS]], *elites])

    def _new(self, at: np.ndarray) -> np.ndarray:
        """Of these the ones that change something else than what was tried, each once."""
        first = {place.tobytes(): number for number, place in reversed(list(enumerate(self._genome.places(at))))}
        new = np.array(sorted(number for place, number in first.items() if place not in self._tried), dtype=int)
        return np.asarray(at[new])

    def _learned(self) -> Process:
        """The model of what was tried."""
        chosen = np.argsort(self._margins, kind="stable")
        if len(chosen) > _LEARNED:
            best, others = np.split(chosen, [_LEARNED // 2])
            chosen = np.append(best, self._random.permutation(others)[: _LEARNED - len(best)])
        places, scores = self._genome.places(self._at[chosen]), _scores(self._margins[chosen])
        steps = _STEPS if self._model else _FIRST_STEPS
        self._model = self._model or Process(places.shape[1])
        self._model.learn(places, scores, steps)
        return self._model


def _scores(margins: np.ndarray) -> np.ndarray:
    """Margins with mean 0 and deviation 1. What cannot be judged is as the largest, what never completes beyond the
    smallest; and none is further above the middle than the smallest is below: those differ in nothing that matters.
    """
    finite = margins[np.isfinite(margins)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    inside = np.clip(margins, low - _ENDLESS * (high - low or 1.0), high)
    middle = np.median(inside)
    inside = np.minimum(inside, 2 * middle - inside.min())
    return np.asarray((inside - inside.mean()) / (inside.std() or 1.0))
