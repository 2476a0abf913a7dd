"""Verdicts: a word, the measured value, how far it is from the line, and why."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, NamedTuple

from dumbbell.results.statistic import Interval

Word = Literal["holds", "fails", "unclear", "unjudged"]

HOLDS: Word = "holds"
FAILS: Word = "fails"
UNCLEAR: Word = "unclear"
"""Chance may be what decides: more repetitions tell."""
UNJUDGED: Word = "unjudged"
"""A figure is missing; the reason says which."""

#: The words from the one that a summary must say first.
_WORST: tuple[Word, ...] = (FAILS, UNJUDGED, UNCLEAR, HOLDS)


class Verdict(NamedTuple):
    """The answer to a question.

    Attributes
    ----------
    word
        ``holds``, ``fails``, ``unclear`` or ``unjudged``.
    measured
        The figure, or the difference that was judged, with its interval; None without one figure.
    margin
        How far it is inside the line (positive) or beyond it (negative): in tolerances where the question has one,
        else in the unit of the figure; nan where nothing was measured.
    reason
        Why, in a few words; empty where it holds.
    is_tie
        Whether it fails only because values that should be in an order differ by less than the tolerance.
    """

    word: Word
    measured: Interval | None = None
    margin: float = math.nan
    reason: str = ""
    is_tie: bool = False

    @property
    def is_met(self) -> bool:
        """True if the means alone meet the question, whatever chance may do."""
        return self.margin >= 0


def worst(words: Iterable[Word]) -> Word:
    """The word for several judgements together; one that fails speaks for all. Nothing judged is unjudged."""
    said = set(words)
    return next((word for word in _WORST if word in said), UNJUDGED)
