"""What a candidate will be like, from those that were tried: a Gaussian process, and how sure it is.

The kernel is Matérn's with 5/2, with a length for each column (Rasmussen and Williams, "Gaussian Processes for Machine
Learning", 2006, sections 4.2 and 5.4). Its lengths, its variance and the noise follow the evidence by a few steps of
Adam after each batch, from where they were.
"""

from __future__ import annotations

import math

import numpy as np

#: Before anything is known: a length of half the range where there are four columns, and longer with more, so that
#: what is far apart stays as likely to be alike (Hvarfner, Hellsten and Nardi, ICML 2024); its spread as a logarithm.
_LENGTH, _LENGTH_SPREAD = 0.5, 1.0
_VARIANCE, _VARIANCE_SPREAD = 1.0, 0.5
_NOISE, _NOISE_SPREAD = 0.05, 1.5
#: How far from these the evidence may lead, in spreads.
_FAR = 4
#: Kingma and Ba, ICLR 2015: the size of a step, and how much of the earlier gradients stays.
_RATE, _STAY, _STAY_SQUARED = 0.15, 0.8, 0.95
#: Noise that is always there, so that rows which are alike do no harm.
_NOISE_MIN = 1e-6
_VARIANCE_MIN = 1e-9


class Process:
    """Learns scores of rows.

    Parameters
    ----------
    columns
        How many a row has, each from about 0 to 1.
    """

    def __init__(self, columns: int) -> None:
        length = math.log(_LENGTH) + 0.5 * math.log(columns / 4)
        self._columns = columns
        self._usual = np.array([length] * columns + [math.log(_VARIANCE), math.log(_NOISE)])
        self._spread = np.array([_LENGTH_SPREAD] * columns + [_VARIANCE_SPREAD, _NOISE_SPREAD])
        self._logs = self._usual.copy()
        self._slope, self._slope_squared, self._steps = np.zeros(len(self._logs)), np.zeros(len(self._logs)), 0

    def learn(self, rows: np.ndarray, scores: np.ndarray, steps: int) -> None:
        """Take these rows instead of those of before; `scores` have mean 0 and deviation 1."""
        apart = ((rows[:, None, :] - rows[None, :, :]) ** 2).transpose(2, 0, 1).reshape(self._columns, -1)
        for _ in range(steps):
            self._climb(self._gradient(apart, scores))
        self._lengths = np.exp(self._logs[: self._columns])
        self._variance, noise = np.exp(self._logs[self._columns :])
        self._noise = noise + _NOISE_MIN
        self._rows = rows / self._lengths
        alike = self._alike(self._rows, self._rows) + self._noise * np.eye(len(rows))
        self._root = np.linalg.inv(np.linalg.cholesky(alike))
        self._weights = self._root.T @ (self._root @ scores)

    def looked(self, rows: np.ndarray) -> Outlook:
        """What these rows will be like."""
        return Outlook(self, rows / self._lengths)

    def _gradient(self, apart: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Of the evidence with the expectation of before, by the logarithms of lengths, variance and noise."""
        weights = np.exp(-2 * self._logs[: self._columns])
        variance, noise = np.exp(self._logs[self._columns :])
        distance = np.sqrt(5 * (weights @ apart))
        falls = np.exp(-distance)
        alike = (variance * (1 + distance + distance**2 / 3) * falls).reshape(len(scores), -1)
        inverse = np.linalg.inv(alike + (noise + _NOISE_MIN) * np.eye(len(scores)))
        solved = inverse @ scores
        pull = 0.5 * (np.outer(solved, solved) - inverse)
        by_length = weights * (apart @ (variance * 5 / 3 * (1 + distance) * falls * pull.ravel()))
        evidence = np.array([*by_length, (pull * alike).sum(), pull.trace() * noise])
        return np.asarray(evidence - (self._logs - self._usual) / self._spread**2)

    def _climb(self, gradient: np.ndarray) -> None:
        self._steps += 1
        self._slope = _STAY * self._slope + (1 - _STAY) * gradient
        self._slope_squared = _STAY_SQUARED * self._slope_squared + (1 - _STAY_SQUARED) * gradient**2
        slope = self._slope / (1 - _STAY**self._steps)
        size = np.sqrt(self._slope_squared / (1 - _STAY_SQUARED**self._steps)) + 1e-8
        far = _FAR * self._spread
        self._logs = np.clip(self._logs + _RATE * slope / size, self._usual - far, self._usual + far)

    def _alike(self, some: np.ndarray, others: np.ndarray) -> np.ndarray:
        squares = (some**2).sum(1)[:, None] + (others**2).sum(1)[None, :] - 2 * some @ others.T
        distance = np.sqrt(5 * np.maximum(squares, 0.0))
        return np.asarray(self._variance * (1 + distance + distance**2 / 3) * np.exp(-distance))


class Outlook:
    """What rows will be like: mean and deviation of each, which becomes smaller next to rows that are taken.

    Taken rows are as tried ones whose score is not known yet (Desautels, Krause and Burdick, "Parallelizing
    Exploration-Exploitation Tradeoffs in Gaussian Process Bandit Optimization", JMLR 2014).
    """

    def __init__(self, process: Process, rows: np.ndarray) -> None:
        self._process, self._rows = process, rows
        known = process._alike(process._rows, rows)
        self.mean = known.T @ process._weights
        self._explained = process._root @ known
        self._variance = np.maximum(process._variance - (self._explained**2).sum(0), _VARIANCE_MIN)

    @property
    def deviation(self) -> np.ndarray:
        """How unsure the mean is."""
        return np.asarray(np.sqrt(self._variance))

    def take(self, number: int) -> None:
        """Count this row as tried."""
        process = self._process
        alike = process._alike(self._rows[number : number + 1], self._rows)[0]
        both = alike - self._explained[:, number] @ self._explained
        row = both / math.sqrt(self._variance[number] + process._noise)
        self._explained = np.vstack([self._explained, row])
        self._variance = np.maximum(self._variance - row**2, _VARIANCE_MIN)
