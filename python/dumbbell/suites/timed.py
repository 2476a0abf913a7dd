"""Panels of the papers' figures over time: throughput of flows, RTTs, estimates next to the link's rate and its queue.

A panel shows the first repetition of one case.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.plots import look, style
from dumbbell.results import metrics, packets, parting
from dumbbell.results.columns import queue_column, sample_column
from dumbbell.results.result import Result

from .draw import Panel, looks_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection

    from dumbbell.results.statistic import Column

    from .places import Place
    from .table import Table

Series = Callable[["Result", int], "tuple[Column, Column]"]
"""Times in s, and values, of one flow."""


def arrivals(result: Result, flow: int, bin_s: float = 0.5) -> tuple[Column, Column]:
    """Payload that arrives in each bin, in whichever order: (ends of the bins in s, Mbit/s). A segment counts when its
    acknowledgement, selective or not, reaches the sender.
    """
    ends, segments = metrics.arrival_series(result, flow, bin_s=bin_s)
    return ends, segments * SEGMENT_BITS / 1e6


#: Payload of a full segment.
SEGMENT_BITS = 8 * 1448


def rtts(result: Result, flow: int) -> tuple[Column, Column]:
    """The last RTT that was measured at each sample: (s, ms)."""
    return sample_column(result, flow, "t_us") / 1e6, sample_column(result, flow, "rtt_us") / 1000


def in_flights(result: Result, flow: int) -> tuple[Column, Column]:
    """What is in flight at each sample: (s, segments)."""
    return sample_column(result, flow, "t_us") / 1e6, sample_column(result, flow, "in_flight")


def packet_rtts(result: Result, flow: int) -> tuple[Column, Column]:
    """RTT of each acknowledgement, from the capture of a TCP flow: (s, ms). Where the run has no capture that of every
    sample, smoothed where the kernel tells no other.
    """
    import numpy as np

    if (result.folder / parting.CAPTURE).exists():
        return _captured_rtts(result.folder, flow)
    t, last = rtts(result, flow)
    return t, sample_column(result, flow, "srtt_us") / 1000 if np.isnan(last).all() else last


@lru_cache(maxsize=8)
def _captured_rtts(folder: Path, flow: int) -> tuple[Column, Column]:
    """The same of a run's folder; kept, because several claims and panels read one capture."""
    import numpy as np

    trips = packets.round_trips(parting.captured(Result(folder))[flow])
    t, rtt = np.array(trips).reshape(-1, 2).T
    return t, rtt * 1000


def waits(result: Result, _: int) -> tuple[Column, Column]:
    """How long the packet at the head of the bottleneck's queue has waited, whosever it is: (s, ms)."""
    return queue_column(result, 0, "t_us") / 1e6, queue_column(result, 0, "sojourn_us") / 1000


def goodputs(bin_s: float = 1.0) -> Series:
    """Goodput in bins: (s, Mbit/s)."""

    def series(result: Result, flow: int) -> tuple[Column, Column]:
        ends, rates = metrics.goodput_series(result, flow, bin_s=bin_s, whole=True)
        return ends, rates / 1e6

    return series


def _run(sheet: style.Sheet, table: Table, at: Place, case: str | None) -> Result | None:
    """The first repetition of a case, which the caption then says; None where this profile leaves it out."""
    points = table.points_of(None, {**at, **({"case_name": case} if case else {})})
    if not points:
        return None
    runs = points[0][0].runs
    if len(runs) > 1:
        sheet.explain("drawn: the first repetition")
    return runs[0]


def over_time(
    series: Series,
    y: str,
    at: Place,
    *,
    title: str = "",
    cases: Sequence[str] = (),
    has_rate: bool = False,
) -> Panel:
    """A line per flow of a case, or of several cases with one flow each; with `has_rate` over the link's rate."""

    def draw(table: Table, sheet: style.Sheet, ax: Axes) -> None:
        is_rate_due = has_rate
        for name in cases or (None,):
            run = _run(sheet, table, at, name)
            if run is None:
                continue
            if is_rate_due:
                sheet.entry(_link_rate(ax, run), RATE)
                is_rate_due = False
            labels = [_label(run, i) for i in range(len(run.plan.flows))]
            looks = looks_of(labels)
            for i, label in enumerate(labels):
                its = looks[label]
                line = ax.plot(*series(run, i), color=its["color"], linestyle=its["linestyle"], lw=1.0)
                sheet.entry(line[0], label)
        ax.set_ylim(bottom=0)
        ax.set_xlabel("Time (s)")
        style.value_title(sheet, ax, y)
        if title:
            style.panel_title(sheet, ax, title)

    return draw


#: The link's rate in the legend.
RATE = "rate of the link"


def _link_rate(ax: Axes, run: Result) -> PolyCollection:
    """The rate of the bottleneck over time, as an area below the lines; a recording in means over a second."""
    ends, rates = run.plan.bottleneck.changes(run.plan.duration_ns)
    return ax.fill_between(ends, rates, step="post", color=look.NEUTRAL, alpha=0.25, lw=0)


def _label(run: Result, flow: int) -> str:
    """The flow's name; with its number among those of the name, from the second on."""
    name = run.plan.flows[flow].name
    before = sum(other.name == name for other in run.plan.flows[:flow])
    return f"{name} ({before + 1})" if before else name


def distribution(series: Series, x: str, at: Place, *, cases: Sequence[str], title: str = "") -> Panel:
    """The distribution over time of a value of one flow, a step line for each case."""

    def draw(table: Table, sheet: style.Sheet, ax: Axes) -> None:
        import numpy as np

        looks = looks_of(cases)
        for name in cases:
            run = _run(sheet, table, at, name)
            if run is None:
                continue
            values = np.sort(series(run, 0)[1])
            values = values[~np.isnan(values)]
            shares = (np.arange(values.size) + 1) / values.size
            handle = ax.step(values, shares, where="post", color=looks[name]["color"])
            sheet.entry(handle[0], name)
        ax.set_ylim(0, 1.02)
        ax.set_xlim(left=0)
        ax.set_xlabel(x)
        style.value_title(sheet, ax, "CDF")
        if title:
            style.panel_title(sheet, ax, title)

    return draw


def estimate_and_queue(at: Place, *, case: str, title: str = "") -> Panel:
    """The controller's estimate of the bandwidth, the link's rate and, on an axis of its own, the queue's length."""

    def draw(table: Table, sheet: style.Sheet, ax: Axes) -> None:
        run = _run(sheet, table, at, case)
        if run is None:
            return
        ends, rates = run.plan.bottleneck.changes(run.plan.duration_ns, bin_ns=10**8)
        handles = [
            ax.step(ends, rates, where="post", color="#117733", lw=1.2)[0],
            ax.plot(
                sample_column(run, 0, "t_us") / 1e6, sample_column(run, 0, "bw_bps") / 1e6, color="#CC3311", lw=1.2
            )[0],
        ]
        beside = ax.twinx()
        packets = queue_column(run, 0, "backlog_packets")
        handles += beside.plot(queue_column(run, 0, "t_us") / 1e6, packets, color=look.NEUTRAL, lw=0.8)
        beside.set_ylabel("Queue (packets)")
        beside.set_ylim(bottom=0)
        beside.grid(visible=False)
        beside.spines["right"].set_visible(True)
        for handle, label in zip(handles, (RATE, "BtlBW, the estimate", "queue"), strict=True):
            sheet.entry(handle, label)
        ax.set_ylim(bottom=0)
        ax.set_zorder(beside.get_zorder() + 1)
        ax.patch.set_visible(False)
        ax.set_xlabel("Time (s)")
        style.value_title(sheet, ax, "Bandwidth (Mbit/s)")
        if title:
            style.panel_title(sheet, ax, title)

    return draw
