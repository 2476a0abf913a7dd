"""Segments in flight over time (RFC 6675 pipe)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from . import series, style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from dumbbell.plan.view import Window
    from dumbbell.results.load import Result, Results


@style.styled
def inflight(
    results: Results | Result,
    *,
    ax: Axes | None = None,
    flows: str | Sequence[int] | None = None,
    window: Window | None = None,
    log: bool = False,
    **page: Unpack[style.Page],
) -> Axes:
    """In flight of each flow in segments; parameters as of `cwnd`."""
    return series.of_column(
        style.one(results), "in_flight", "In flight (segments)", ax=ax, flows=flows, window=window, log=log, page=page
    )
