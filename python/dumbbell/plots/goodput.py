"""Rates over time: goodput (what arrived, each byte once) and throughput (what was sent, retransmissions included)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Unpack

from dumbbell.errors import wrong
from dumbbell.results.columns import flow_column
from dumbbell.results.windows import chosen_flows
from dumbbell.units import bytes_text

from . import captions, groups, look, reading, series, style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from dumbbell.plan.view import LinkView, PlanView, Window
    from dumbbell.results.load import Result, Results

    from .reading import Grid


@style.styled
def goodput(
    results: Results | Result,
    *,
    ax: Axes | None = None,
    flows: str | Sequence[int] | None = None,
    window: Window | None = None,
    bin_s: float | None = None,
    log: bool = False,
    **page: Unpack[style.Page],
) -> Axes:
    """Goodput of each flow in bins, Mbit/s, with the bottleneck's rate as a dashed line; where not all flows cross it,
    the line has the name of its link.

    A point stands at the middle of its bin. Many flows are drawn as a sum per group; a figure of its own has the flows'
    median and percentiles in a panel below.

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
    bin_s
        Averaging time in seconds, at least the sample interval; a second unless given, less in a window of less than 10
        s.
    log
        Whether the axis of the rate is logarithmic.
    """
    return _rates(
        style.one(results),
        "Goodput",
        "goodput_bytes",
        ax=ax,
        flows=flows,
        window=window,
        bin_s=bin_s,
        log=log,
        page=page,
    )


@style.styled
def throughput(
    results: Results | Result,
    *,
    ax: Axes | None = None,
    flows: str | Sequence[int] | None = None,
    window: Window | None = None,
    bin_s: float | None = None,
    log: bool = False,
    **page: Unpack[style.Page],
) -> Axes:
    """Payload that each flow sent, retransmissions included; parameters as of `goodput`.

    Counted in segments of the flow's mean payload, because samples count segments.
    """
    return _rates(
        style.one(results),
        "Throughput",
        "segs_sent",
        ax=ax,
        flows=flows,
        window=window,
        bin_s=bin_s,
        log=log,
        page=page,
    )


def series_of(result: Result, name: str, flows: Sequence[int], window: Window, bin_s: float) -> Grid:
    """Mbit/s of each flow in each bin, from goodput_bytes or segs_sent."""
    import numpy as np

    grid = reading.rates(result, flows, name, window, bin_s=bin_s)
    if name == "goodput_bytes":
        return grid._replace(values=grid.values * 8e-6)
    sent, segments = (
        np.asarray(result.flows[column].to_numpy(), dtype=float)[list(flows)] for column in ("bytes_sent", "segs_sent")
    )
    payload = np.divide(sent, segments, out=np.zeros_like(sent), where=segments > 0)
    return grid._replace(values=grid.values * 8e-6 * payload[:, None])


def _rates(
    result: Result,
    what: str,
    name: str,
    *,
    ax: Axes | None,
    flows: str | Sequence[int] | None,
    window: Window | None,
    bin_s: float | None,
    log: bool,
    page: style.Page,
) -> Axes:
    chosen, span = chosen_flows(result, flows), reading.window_of(result, window)
    width = bin_of(result, bin_s, span)
    many = len(chosen) > series.LINES_MOST
    sheet = style.Sheet(ax, page, rows=2 if many and ax is None else 1, sharex=True)
    groups_ = groups.of(result, chosen)
    for group in series.drawing_order(groups_):
        _group(sheet, group, groups_, series_of(result, name, group.flows, span, width), chosen)
    sheet.entries.sort(key=lambda entry: series.order(entry[1]))
    series.value_axis(sheet, sheet.ax, f"{what} (Mbit/s)", log=log)
    rate = capacity(sheet, result, chosen, span, width, log=log)
    if name == "goodput_bytes" and not many:
        draw_fair_share(sheet, sheet.ax, result, span)
    peak = sheet.ax.dataLim.y1
    peaks = _why_above(result, name, chosen, (peak - rate) * 1e6 * width) if peak > 1.02 * rate else ""
    for below in sheet.axes[1:]:
        series.value_axis(sheet, below, f"{what} of a flow (Mbit/s)", log=log)
    series.time_axis(sheet.axes[-1], span)
    sheet.finish(captions.of_run(result, window) + f"; means over {width:g} s{peaks}")
    return sheet.ax


def draw_fair_share(sheet: style.Sheet, ax: Axes, result: Result, span: Window) -> None:
    """Draw the share that flows without an end of their own had if they were equal: where all flows of the run are
    such, share a link of one rate, and are at least two.
    """
    plan = result.plan
    link, is_shared = _link_of(plan, range(len(plan.flows)))
    is_plain = all(not flow.is_finite and not flow.sends_messages for flow in plan.flows)
    if link is None or not (is_shared and link.is_constant and is_plain) or len(plan.flows) < 2:
        return
    ends = [(flow.start_ns / 1e9, float(stop) / 1e6) for flow, stop in zip(plan.flows, flow_column(result, "stop_us"))]
    times = sorted({span[0], *(at for pair in ends for at in pair if span[0] < at < span[1])})
    counts = [sum(start <= at < stop for start, stop in ends) for at in times]
    shares = [link.rate_bps / 1e6 / count if count > 1 else float("nan") for count in counts]
    drawn = ax.step([*times, span[1]], [*shares, shares[-1]], where="post", color=look.QUIET, linewidth=0.9,
                    linestyle=":", label="fair share", zorder=1.5)[0]  # fmt: skip
    sheet.entry(drawn, "fair share")


def _why_above(result: Result, name: str, flows: Sequence[int], excess_bits: float) -> str:
    """Why a bin may have this much more than the link's rate, for a caption; empty where it is not known."""
    link, _ = _link_of(result.plan, flows)
    reasons = []
    if link is not None and link.bucket_bits >= excess_bits:
        reasons.append(f"the link's burst of {bytes_text(link.bucket_bits // 8)}")
    if name == "goodput_bytes" and flow_column(result, "retrans_segs")[list(flows)].any():
        reasons.append("bytes that waited for a retransmission reach the application together with it")
    return f"; above the link's rate: {'; '.join(reasons)}" if reasons else ""


def _group(
    sheet: style.Sheet, group: groups.Group, all_groups: Sequence[groups.Group], grid: Grid, chosen: Sequence[int]
) -> None:
    """A group's lines; where the figure has many flows their sum, and below it what a flow of it got."""
    labels, dresses = groups.flow_labels(all_groups), series.dresses_of(all_groups, chosen)
    if len(chosen) <= series.LINES_MOST or group.size == 1:
        for flow, row in zip(group.flows, grid.values):
            for ax in sheet.axes:
                series.line(sheet, ax, grid.t, row, label=labels[flow], of=dresses[group, flow])
        return
    colour = dresses[group, None if series.is_banded(group, chosen) else group.flows[0]].colour
    label = f"{group.label}: sum of {group.size} flows"
    total = reading.total(grid)
    marks = series.lone_marks(total)
    drawn = sheet.ax.plot(grid.t, total, color=colour, linewidth=1.6, linestyle="-", label=label, **marks)[0]
    sheet.entry(drawn, label)
    for below in sheet.axes[1:]:
        drawn.set_linewidth(2.2)
        if series.is_banded(group, chosen):
            series.band(sheet, below, group, grid, colour)
        else:
            for flow, row in zip(group.flows, grid.values):
                series.line(sheet, below, grid.t, row, label=labels[flow], of=dresses[group, flow])


def bin_of(result: Result, asked: float | None, span: Window) -> float:
    """Averaging time: what was asked for, or a second, less in a window of less than 10 s; raises ScenarioError."""
    sample = result.plan.sample_ns / 1e9
    if asked is None:
        return max(sample, 1.0 if span[1] - span[0] >= 10 else (span[1] - span[0]) / 10)
    if asked < sample:
        raise wrong("--bin", f"{asked:g}s", f"at least the sample interval, {sample:g}s")
    return asked


def _link_of(plan: PlanView, flows: Sequence[int]) -> tuple[LinkView | None, bool]:
    """The link that all these flows cross, the bottleneck before others; else the bottleneck, if one of them crosses
    it. And whether all do.
    """
    ways = [plan.way(flow) for flow in flows]
    met = (plan.bottleneck, *ways[0])
    shared = next((link for link in met if all(link in way for way in ways)), None)
    if shared is not None:
        return shared, True
    return plan.bottleneck if any(plan.bottleneck in way for way in ways) else None, False


def capacity(
    sheet: style.Sheet, result: Result, flows: Sequence[int], span: Window, bin_s: float, *, log: bool = False
) -> float:
    """Draw the rate of the link that these flows cross as steps, at the times at which it changes; a trace's in means
    over the same bins. Returns its maximum in Mbit/s, infinity where not all of them cross it.
    """
    (link, is_shared), duration = _link_of(result.plan, flows), result.plan.duration_ns
    if link is None:
        return float("inf")
    what = "link rate" if is_shared and link is result.plan.bottleneck else f"link rate ({link.name})"
    if link.trace is not None or len(link.course) * (duration // (link.repeat_ns or duration) + 1) > 200:
        edges = reading.bins(span, bin_s)
        rates = [link.bits(round(a * 1e9), round(b * 1e9)) / (b - a) / 1e6 for a, b in pairwise(edges)]
        times, label = list(edges), f"{what}, mean over {bin_s:g} s"
        rates.append(rates[-1])
    else:
        (times, rates), label = link.changes(duration), what
    drawn = sheet.ax.step(
        times, rates, where="post", color=look.QUIET, linewidth=1.0, linestyle="--", label=label, zorder=1.5
    )[0]
    sheet.entry(drawn, label)
    seen = [rate for at, rate in zip(times, rates) if at <= span[1]]
    if link.policer:
        policed = link.policer.rate_bps / 1e6
        sheet.entry(
            sheet.ax.axhline(
                policed, color=look.QUIET, linewidth=1.0, linestyle=":", label="policer's rate", zorder=1.5
            ),
            "policer's rate",
        )
    if not log:
        sheet.ax.set_ylim(0, max(1.05 * max(seen), sheet.ax.get_ylim()[1]))
    return float(max(seen)) if is_shared else float("inf")
