"""Congestion window over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from . import series, style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from dumbbell.plan.view import Window
    from dumbbell.results.load import Result, Results


@style.styled
def cwnd(
    results: Results | Result,
    *,
    ax: Axes | None = None,
    flows: str | Sequence[int] | None = None,
    window: Window | None = None,
    log: bool = False,
    **page: Unpack[style.Page],
) -> Axes:
    """Congestion window of each flow in segments; where there are many flows, median and percentiles of each group.

    Parameters
    ----------
    results
        A single run.
    ax
        Axes to draw into; a new figure unless given.
    flows
        Which flows: numbers, or text such as ``0,3-5`` or a name; all unless given.
    window
        Start and end in seconds; the scenario's `measure`, or the whole run, unless given.
    log
        Whether the axis of the window is logarithmic.
    """
    return series.of_column(
        style.one(results),
        "cwnd",
        "Congestion window (segments)",
        ax=ax,
        flows=flows,
        window=window,
        log=log,
        page=page,
    )
