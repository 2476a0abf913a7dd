"""The worst candidate of each kind: of those that change the same kinds of things and use the bottleneck alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from .genome import Changes
    from .trial import Trial


class Elite(NamedTuple):
    """The worst candidate of a kind."""

    at: np.ndarray
    changes: Changes
    trial: Trial
    number: int
    """How many were tried when it was found, itself included."""


class Archive:
    """Elites by their kind (Mouret and Clune, "Illuminating search spaces by mapping elites", 2015)."""

    def __init__(self) -> None:
        self._cells: dict[tuple[frozenset[int], str], Elite] = {}
        self.tried = 0
        #: Candidates that could not be run or judged, and why the first was not.
        self.unjudged, self.reason = 0, ""
        #: How many were tried, and the smallest margin, each time that it became smaller.
        self.curve: list[tuple[int, float]] = []

    def add(self, at: np.ndarray, changes: Changes, trial: Trial) -> None:
        """Take a candidate into account."""
        self.tried += 1
        if trial.margin is None:
            self.unjudged += 1
            self.reason = self.reason or trial.measured
            return
        if not self.curve or trial.margin < self.curve[-1][1]:
            self.curve.append((self.tried, trial.margin))
        cell = (frozenset(change.gene for change in changes), trial.behaviour)
        known = self._cells.get(cell)
        if known is None or known.trial.margin is None or trial.margin < known.trial.margin:
            self._cells[cell] = Elite(at, changes, trial, self.tried)

    @property
    def elites(self) -> list[Elite]:
        """The worst of each kind, the worst first."""
        return sorted(self._cells.values(), key=lambda elite: (elite.trial.margin, elite.number))
