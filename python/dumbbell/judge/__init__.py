"""The judge: whether figures of runs are what a question wants. It runs nothing and prints nothing.

`rule.py` decides between chance and difference, `questions.py` has the kinds of question, `grammar.py` reads them from
text, `versus.py` holds one set of runs against another. docs/judging.md has the rule with its evidence.
"""

from __future__ import annotations

from dumbbell.results.statistic import Sample

from .questions import Bound, Order, Precision, Trend, Within
from .rule import Tolerance
from .verdict import FAILS, HOLDS, UNCLEAR, UNJUDGED, Verdict, Word

__all__ = [
    "FAILS", "HOLDS", "UNCLEAR", "UNJUDGED", "Bound", "Order", "Precision", "Sample", "Tolerance", "Trend", "Verdict",
    "Within", "Word",
]  # fmt: skip
