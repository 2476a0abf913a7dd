"""Round-trip time of each flow: over time, with its distribution beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import series, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dumbbell.results import Result, Results


@style.styled
def rtt(results: Results | Result, *, ax: Axes | tuple[Axes, Axes] | None = None) -> Axes:
    """RTT of each flow at the sample times, in ms, and its cumulative distribution; returns the axes over time.

    Parameters
    ----------
    results
        A single run.
    ax
        A pair of axes (over time, CDF); one axes draws over time only; a new figure with both unless given.
    """
    result = style.one(results)
    time: Any
    cdf: Any
    if ax is None:
        time, cdf = style.figure(1, 2, width_ratios=[2, 1])[1]
    else:
        time, cdf = ax if isinstance(ax, tuple) else (ax, None)
    series.lines(result, time, series.column("rtt_us", scale=1e-3), "RTT (ms)", columns=3)
    if cdf is not None:
        rtt_cdf(result, ax=cdf)
    drawn: Axes = time
    return drawn


@style.styled
def rtt_cdf(results: Results | Result, *, ax: Axes | None = None) -> Axes:
    """Cumulative distribution of each flow's RTT at the sample times."""
    import numpy as np

    from dumbbell.metrics import samples

    result, ax = style.one(results), style.axes(ax)
    for flow, look in enumerate(style.flow_styles(result)):
        values = np.sort(samples(result, flow)["rtt_us"] / 1e3)
        values = values[~np.isnan(values)]
        ax.plot(values, np.arange(1, values.size + 1) / max(values.size, 1), **{**look, "label": "_"})
    ax.set_ylim(0, 1)
    ax.set_xlabel("RTT (ms)")
    ax.set_ylabel("CDF")
    return ax
