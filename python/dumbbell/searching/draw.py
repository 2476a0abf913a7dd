"""Candidates as rows of coordinates: at random, in a sample that leaves no gap, and as mutations of others."""

from __future__ import annotations

import numpy as np

from .genome import Genome

#: Share of mutations that redraw one event or key, and share that mix two parents.
_ANEW, _MIXED = 0.15, 0.2
#: Share of mutations that only redraw or mix; all others also take a step.
_STILL = 0.25
#: Step sizes as powers of ten of the range: small ones refine a candidate, large ones leave it.
_DECADES = (-2.5, -0.5)
#: How often a value of few changes where all change.
_JUMP = 0.3
#: How often the parent is one of the best, and which: the mean place in their order.
_BEST, _MEAN_PLACE = 0.7, 3.0


class Draws:
    """Draws candidates of a genome, a row for each."""

    def __init__(self, genome: Genome, random: np.random.Generator) -> None:
        self._genome, self._random = genome, random
        self._steps = np.array(genome.steps)
        #: Of each coordinate the number of its block.
        self._blocks = np.repeat(np.arange(len(genome.blocks)), [len(block) for block in genome.blocks])

    def uniform(self, count: int) -> np.ndarray:
        """All alike."""
        return self._valued(self._random.random((count, len(self._steps))))

    def sample(self, count: int) -> np.ndarray:
        """A Latin hypercube: each coordinate is cut into `count` parts, with one candidate in each (McKay, Beckman and
        Conover, 1979).
        """
        places = np.tile(np.arange(count), (len(self._steps), 1))
        parts = self._random.permuted(places, axis=1).T + self._random.random((count, len(self._steps)))
        return self._valued(parts / count)

    def mutated(self, parents: np.ndarray, count: int) -> np.ndarray:
        """Mutations of `parents`, which are sorted with the best first: one event or key is redrawn, two parents are
        mixed, or a step is taken. Steps stop at the bounds, where the worst case often is.
        """
        random, shape = self._random, (count, len(self._steps))
        of_best = np.minimum(random.exponential(_MEAN_PLACE, count).astype(int), len(parents) - 1)
        chosen = np.where(random.random(count) < _BEST, of_best, random.integers(len(parents), size=count))
        made, others, anew = parents[chosen], parents[random.integers(len(parents), size=count)], self.uniform(count)
        kind, block = random.random(count), random.integers(len(self._genome.blocks), size=count)
        made = np.where((kind < _ANEW)[:, None] & (block[:, None] == self._blocks), anew, made)
        halves = (random.random((count, len(self._genome.blocks))) < 0.5)[:, self._blocks]
        made = np.where(((kind >= _ANEW) & (kind < _ANEW + _MIXED))[:, None] & halves, others, made)
        moves = random.random(shape) < np.maximum(1 / shape[1], random.random((count, 1)))
        moves[np.arange(count), random.integers(shape[1], size=count)] = True
        moves &= (kind >= _STILL)[:, None]
        size = 10 ** random.uniform(*_DECADES, (count, 1))
        moved = made + size * random.normal(size=shape)
        jumped = np.where(random.random(shape) < _JUMP, anew, made)
        return self._genome.nearest(np.where(moves, np.where(self._steps > 0, jumped, moved), made))

    def _valued(self, parts: np.ndarray) -> np.ndarray:
        """Numbers from 0 to 1 as coordinates: each value of few is as likely."""
        values = np.floor(parts * self._steps) / np.maximum(self._steps - 1, 1)
        return np.where(self._steps > 0, values, parts)
