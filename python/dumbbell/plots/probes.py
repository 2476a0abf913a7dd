"""Latency under load: the round-trip times of probes over time, with their distribution next to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from dumbbell.errors import ResultError
from dumbbell.results import metrics

from . import captions, look, reading, series, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dumbbell.plan.view import Window
    from dumbbell.results.load import Result, Results


@style.styled
def probes(
    results: Results | Result,
    *,
    ax: Axes | tuple[Axes, Axes] | None = None,
    window: Window | None = None,
    log: bool = False,
    **page: Unpack[style.Page],
) -> Axes:
    """Round-trip time of each probe at the time when it was sent, in ms, and their cumulative distribution, which stays
    below 1 where probes were lost; returns the axes over time.

    Parameters
    ----------
    results
        A single run with probes.
    ax
        A pair of axes (over time, CDF); one axes draws over time only; a new figure with both unless given.
    window
        Start and end in seconds; the scenario's `measure`, or the whole run, unless given.
    log
        Whether the axes of the round-trip time are logarithmic.
    """
    import numpy as np

    result = style.one(results)
    if not result.probes.num_rows:
        raise ResultError(f"{result.folder}: no probe was sent")
    span = reading.window_of(result, window)
    sheet = series.with_distribution(ax, page)
    dresses = look.dress([[look.Trait(""), look.Trait(number)] for number in range(len(result.plan.probes))])
    for number, (planned, own) in enumerate(zip(result.plan.probes, dresses)):
        sent, rtts = metrics.probe_series(result, number, span)
        name = planned.name if planned.direction in planned.name else f"{planned.name} ({planned.direction})"
        sheet.entry(sheet.ax.plot(sent, rtts, label=name, **{**own.line, "linewidth": 0.8})[0], name)
        for cdf in sheet.axes[1:]:
            ordered = np.sort(rtts[~np.isnan(rtts)])
            cdf.plot(ordered, np.arange(1, ordered.size + 1) / max(rtts.size, 1), **own.line)
    label = "RTT of probes (ms)"
    series.time_axis(sheet.ax, span)
    series.value_axis(sheet, sheet.ax, label, log=log, from_zero=False)
    for cdf in sheet.axes[1:]:
        cdf.set_ylim(0, 1.01)
        cdf.set_xlabel(label)
        cdf.set_ylabel("Share of probes (CDF)")
        if log:
            cdf.set_xscale("log")
            style.plain_log(cdf.xaxis, *cdf.get_xlim())
    sheet.finish(captions.of_run(result, window))
    return sheet.ax
