"""Figures as tables and pages print them: decimals of the catalogue, percent where its unit is percent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .catalogue import figure

if TYPE_CHECKING:
    from .statistic import Interval


def mean_text(name: str, value: Interval) -> str:
    """The mean of a figure; over repetitions a count has a decimal. ``inf`` is a percentile among what never ended."""
    one = figure(name)
    digits = one.digits if value.n == 1 or one.digits else 1
    return f"{value.mean * (100 if one.unit == '%' else 1):.{digits}f}"


def difference_text(name: str, value: Interval) -> str:
    """The difference of two means with its sign; empty where one of them is not reached."""
    if not math.isfinite(value.mean):
        return ""
    text = mean_text(name, value)
    return text if text.startswith("-") else "+" + text


def half_text(name: str, value: Interval) -> str:
    """Half the width of its interval; empty without repetitions."""
    if math.isnan(value.half_width):
        return ""
    one = figure(name)
    return f"{value.half_width * (100 if one.unit == '%' else 1):.{one.digits or 1}f}"


def transport(kind: str) -> str:
    """A transport's name as the field writes it; quinn is a name of its own.

    >>> transport("tcp"), transport("quinn")
    ('TCP', 'quinn')
    """
    return kind if kind == "quinn" else kind.upper()
