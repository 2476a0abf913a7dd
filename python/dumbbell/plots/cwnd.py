"""Congestion window of each flow over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import series, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dumbbell.results import Result, Results


@style.styled
def cwnd(results: Results | Result, *, ax: Axes | None = None) -> Axes:
    """Congestion window of each flow, in segments of 1448 bytes; `results` is a single run."""
    return series.lines(style.one(results), style.axes(ax), series.column("cwnd"), "Congestion window (segments)")
