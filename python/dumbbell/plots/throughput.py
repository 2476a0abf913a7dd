"""Throughput of each flow over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import series, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dumbbell.metrics import Column
    from dumbbell.results import Result, Results


@style.styled
def throughput(results: Results | Result, *, ax: Axes | None = None, bin_s: float = 1.0) -> Axes:
    """Goodput of each flow in bins of `bin_s`, in Mbit/s, with the bottleneck's rate as a dashed line.

    Parameters
    ----------
    results
        A single run.
    ax
        Axes to draw into; a new figure unless given.
    bin_s
        Averaging time in seconds, at least the sample interval.
    """
    from dumbbell.metrics import goodput_series

    result = style.one(results)
    ax = style.axes(ax)

    def read(run: Result, flow: int) -> tuple[Column, Column]:
        t, rate = goodput_series(run, flow, bin_s=max(bin_s, run.plan.sample_ns / 1e9))
        return t, rate / 1e6

    series.lines(result, ax, read, "Throughput (Mbit/s)")
    times, rates = result.plan.bottleneck.changes(result.plan.duration_ns)
    ax.step(times, rates, where="post", color="#888888", linewidth=0.8, linestyle="--")
    ax.set_ylim(bottom=0, top=max(ax.get_ylim()[1], 1.05 * max(rates)))
    return ax
