"""Round-trip time: over time, with its distribution next to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from dumbbell.results.windows import chosen_flows

from . import captions, groups, reading, series, style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from dumbbell.plan.view import Window
    from dumbbell.results.load import Result, Results


@style.styled
def rtt(
    results: Results | Result,
    *,
    ax: Axes | tuple[Axes, Axes] | None = None,
    flows: str | Sequence[int] | None = None,
    window: Window | None = None,
    log: bool = False,
    **page: Unpack[style.Page],
) -> Axes:
    """RTT of each flow at the sample times, in ms, and its cumulative distribution; returns the axes over time. Of a
    kernel it is the smoothed RTT, and the axis says so.

    Parameters
    ----------
    results
        A single run.
    ax
        A pair of axes (over time, CDF); one axes draws over time only; a new figure with both unless given.
    flows
        Which flows: numbers, or text such as ``0,3-5`` or a name; all unless given.
    window
        Start and end in seconds; the scenario's `measure`, or the whole run, unless given.
    log
        Whether the axes of the RTT are logarithmic.
    """
    result = style.one(results)
    chosen, span = chosen_flows(result, flows), reading.window_of(result, window)
    sheet = series.with_distribution(ax, page)
    name, label = reading.rtt_column(result)
    series.lines(sheet, sheet.ax, result, lambda some: reading.column(result, some, name, span, scale=1e-3), chosen)
    series.time_axis(sheet.ax, span)
    _thin_out(sheet.ax)
    series.value_axis(sheet, sheet.ax, label, log=log, from_zero=False)
    for cdf in sheet.axes[1:]:
        _cdf(sheet, cdf, result, chosen, span, log=log)
    sheet.finish(captions.of_run(result, window))
    return sheet.ax


def _thin_out(ax: Axes) -> None:
    """Make lines the thinner the later they are drawn: flows of one queue have nearly the same RTT."""
    from matplotlib import rcParams

    lines = sorted(ax.get_lines(), key=lambda line: line.get_zorder())
    for nth, line in enumerate(lines):
        line.set_linewidth(rcParams["lines.linewidth"] * (1.4 - 0.8 * nth / max(len(lines) - 1, 1)))


@style.styled
def rtt_cdf(
    results: Results | Result,
    *,
    ax: Axes | None = None,
    flows: str | Sequence[int] | None = None,
    window: Window | None = None,
    log: bool = False,
    **page: Unpack[style.Page],
) -> Axes:
    """Cumulative distribution of each flow's RTT at the sample times; of each group's where there are many flows.
    Parameters as of `rtt`.
    """
    result = style.one(results)
    span = reading.window_of(result, window)
    sheet = style.Sheet(ax, page)
    _cdf(sheet, sheet.ax, result, chosen_flows(result, flows), span, log=log)
    sheet.finish(captions.of_run(result, window))
    return sheet.ax


def _cdf(sheet: style.Sheet, ax: Axes, result: Result, chosen: Sequence[int], span: Window, *, log: bool) -> None:
    import numpy as np

    groups_ = groups.of(result, chosen)
    dresses, labels = series.dresses_of(groups_, chosen), groups.flow_labels(groups_)
    name, axis_label = reading.rtt_column(result)
    for group in series.drawing_order(groups_):
        read = reading.column(result, group.flows, name, span, scale=1e-3)
        pooled = series.is_banded(group, chosen)
        sets = [np.concatenate([of.values for of in read.values()])] if pooled else [of.values for of in read.values()]
        for i, values in enumerate(sets):
            ordered = np.sort(values[~np.isnan(values)])
            label = f"{group.label}: all samples of its {group.size} flows" if pooled else labels[group.flows[i]]
            own = dresses[group, None if pooled else group.flows[i]]
            drawn = ax.plot(ordered, np.arange(1, ordered.size + 1) / max(ordered.size, 1), label=label, **own.line)[0]
            if len(sheet.axes) == 1:
                sheet.entry(drawn, label)
    ax.set_ylim(0, 1.01)
    ax.set_xlabel(axis_label)
    ax.set_ylabel("Share of samples (CDF)")
    if log:
        ax.set_xscale("log")
        style.plain_log(ax.xaxis, *ax.get_xlim())
