"""Where to look next: coordinates from 0 to 1 that are asked for in batches, and told how bad each was.

`Evolution` is CMA-ES by the package cmaes (Nomura and Shibata, 2024), with margins for coordinates that have few values
(Hamano, Saito, Nomura and Shirakawa, GECCO 2022), started again elsewhere when it has come to rest. `Uniform` draws at
random, which is what a search has to beat.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from .genome import Genome

#: Candidates for each coordinate that are drawn at random before a start; it does not depend on the budget, so that a
#: search may go on with a larger one.
_SAMPLE = 10
#: Distance of the first steps from where a start begins.
_SIGMA = 0.2
#: Batches without anything better by this part, after which a start is at rest.
_PATIENCE, _BETTER = 12, 0.01


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


class Evolution:
    """A sample at random; then one start after the other of CMA-ES.

    Parameters
    ----------
    genome, size, seed
        What there is to draw, how many a batch has at least, and the seed of all that is drawn.
    starts
        Gives the coordinates of the best of each kind so far, the worst for the expectation first: every second start
        goes on from one of these, the others from the best of a new sample.
    """

    def __init__(self, genome: Genome, size: int, seed: int, starts: Callable[[], Sequence[np.ndarray]]) -> None:
        self._genome, self._seed, self._starts = genome, seed, starts
        dimensions = len(genome.steps)
        self._size = max(size, 4 + int(3 * math.log(dimensions)))
        self._uniform = Uniform(genome, self._size, seed)
        self._sample = _SAMPLE * dimensions
        self._left = self._sample
        self._sampled: list[tuple[float, np.ndarray]] = []
        self._started = 0
        self._strategy: _Strategy | None = None
        self._asked: list[np.ndarray] = []

    def ask(self) -> list[np.ndarray]:
        """The next batch."""
        if self._strategy is None and self._left <= 0:
            self._strategy = self._start()
        self._asked = self._strategy.ask() if self._strategy else self._uniform.ask()
        return self._asked

    def tell(self, margins: Sequence[float | None]) -> None:
        """Learn from the batch."""
        known = [math.inf if margin is None else margin for margin in margins]
        if self._strategy is None:
            self._sampled += zip(known, self._asked)
            self._left -= len(known)
            return
        self._strategy.tell(known)
        if self._strategy.is_at_rest:
            self._strategy = None
            # The next start goes on from what is known, or from a new sample.
            self._sampled, self._left = [], 0 if self._started % 2 else self._sample // 2

    def _start(self) -> _Strategy:
        elites = self._starts()
        number = self._started
        self._started += 1
        if self._sampled:
            mean = min(self._sampled, key=lambda pair: pair[0])[1]
        else:
            mean = elites[(number // 2) % len(elites)] if elites else self._uniform.ask()[0]
        return _Strategy(self._genome.steps, mean, self._size, self._seed * 1000 + number)


class _Strategy:
    """One start of CMA-ES in the unit cube."""

    def __init__(self, steps: Sequence[int], mean: np.ndarray, size: int, seed: int) -> None:
        from cmaes import CMA, CMAwM

        bounds = np.tile([0.0, 1.0], (len(steps), 1))
        apart = np.array([1 / (step - 1) if step > 1 else 0.0 for step in steps])
        self._has_values = bool(apart.any())
        given = {"mean": mean, "sigma": _SIGMA, "bounds": bounds, "seed": seed % 2**32, "population_size": size}
        self._engine = CMAwM(steps=apart, **given) if self._has_values else CMA(**given)
        self._size = size
        self._told: Sequence[np.ndarray] = ()
        self._best, self._rested = math.inf, 0

    @property
    def is_at_rest(self) -> bool:
        """True if it will find nothing better near where it is."""
        return self._rested >= _PATIENCE or self._engine.should_stop()

    def ask(self) -> list[np.ndarray]:
        """The next batch; with margins, what is looked at differs from what the strategy learns of."""
        asked = [self._engine.ask() for _ in range(self._size)]
        looked_at, self._told = zip(*asked) if self._has_values else (asked, asked)
        return [np.asarray(at) for at in looked_at]

    def tell(self, margins: Sequence[float]) -> None:
        """Learn from the batch."""
        finite = [margin for margin in margins if math.isfinite(margin)]
        ends = (
            min(finite, default=0.0) - 1.0,
            max(finite, default=0.0) + 1.0,
        )  # of what never completes; of unjudged ones
        self._engine.tell([(at, min(max(margin, ends[0]), ends[1])) for at, margin in zip(self._told, margins)])
        best = min(margins)
        if best < self._best - _BETTER * abs(self._best if math.isfinite(self._best) else 0.0):
            self._best, self._rested = best, 0
        else:
            self._rested += 1
