"""Occupancy of a link's queue over time, in the unit of its limit, with its drops and marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from dumbbell.errors import ResultError, wrong

from . import captions, look, reading, series, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dumbbell.plan.view import LinkView, Window
    from dumbbell.results.load import Result, Results
    from dumbbell.results.metrics import Column

#: Drops are marked along the top of the axes, and marks below them.
_DROPS_AT, _MARKS_AT = 0.98, 0.94

#: A limit that is this many times the longest queue is not drawn, because the queue would be a line at the bottom; the
#: caption has it.
_FAR = {"fifo": 4}
_FAR_AQM = 2

UNITS = ("bytes", "packets", "ms")


@style.styled
def queue(
    results: Results | Result,
    *,
    ax: Axes | None = None,
    link: int = 0,
    unit: str | None = None,
    window: Window | None = None,
    log: bool = False,
    **page: Unpack[style.Page],
) -> Axes:
    """Draw the length of a link's queue at the sample times, its limit, and its drops and marks.

    Parameters
    ----------
    results
        A single run.
    ax
        Axes to draw into; a new figure unless given.
    link
        Number of the link: 0 is the bottleneck, then the other links of the way down, then that of the way up
        where data go up.
    unit
        ``bytes``, ``packets``, or ``ms`` for the time that a packet leaving now has waited; the unit of the queue's
        limit unless given. A limit in bytes has an axis in ms at the right as well, where the rate is constant.
    window
        Start and end in seconds; the scenario's `measure`, or the whole run, unless given.
    log
        Whether the axis is logarithmic.
    """
    import numpy as np

    result = style.one(results)
    links = result.plan.recorded_links
    if not 0 <= link < len(links):
        raise wrong("--link", link, f"the number of a link, 0 to {len(links) - 1}")
    if unit is not None and unit not in UNITS:
        raise wrong("--unit", unit, "one of: " + ", ".join(UNITS), list(UNITS))
    span, of = reading.window_of(result, window), links[link]
    measure = unit or (of.qdisc.limit.measure if of.qdisc.limit else "bytes")
    sheet = style.Sheet(ax, page)
    t, total = columns_of(result, link)
    inside = (t >= span[0]) & (t <= span[1])
    values = total[{"bytes": "backlog_bytes", "packets": "backlog_packets", "ms": "sojourn_us"}[measure]] / (
        1 if measure == "packets" else 1000
    )
    sheet.ax.fill_between(t[inside], values[inside], color=look.NEUTRAL, alpha=0.18, linewidth=0)
    sheet.entry(sheet.ax.plot(t[inside], values[inside], color=look.NEUTRAL, linewidth=0.9, label="queue")[0], "queue")
    most = _limit(sheet, of, measure, float(np.max(values[inside], initial=1e-9)))
    _moments(sheet, t, total["dropped_packets"], span, at=_DROPS_AT, colour=look.VERMILION, label="drops")
    _moments(sheet, t, total["marked_packets"], span, at=_MARKS_AT, colour=look.GREEN, label="marks")
    series.time_axis(sheet.ax, span)
    titles = {"bytes": "Queue (kB)", "packets": "Queue (packets)", "ms": "Time in the queue (ms)"}
    series.value_axis(sheet, sheet.ax, titles[measure], log=log)
    if not log:
        sheet.ax.set_ylim(0, most * 1.1)
        if measure == "bytes" and of.is_constant:
            _milliseconds(sheet.ax, of)
    sheet.finish(captions.of_run(result, window, link=link))
    return sheet.ax


def columns_of(result: Result, link: int) -> tuple[Column, dict[str, Column]]:
    """Times in seconds, and the columns of one link."""
    import numpy as np
    import pyarrow.compute as pc

    if not result.queue.num_rows:
        raise ResultError(f"{result.folder.name}: it has no samples of the queue; [record] queue = true records them")
    table = result.queue.filter(pc.equal(result.queue["link"], link))
    names = ("backlog_bytes", "backlog_packets", "sojourn_us", "dropped_packets", "marked_packets")
    columns = {name: np.asarray(table[name].to_numpy(zero_copy_only=False), dtype=float) for name in names}
    return np.asarray(table["t_us"].to_numpy(zero_copy_only=False), dtype=float) / 1e6, columns


def _limit(sheet: style.Sheet, of: LinkView, measure: str, most: float) -> float:
    """Draw the limit where it is in this unit and not far away; the largest value that the axis must show."""
    limit = of.qdisc.limit
    if limit is None or limit.measure != measure:
        return most
    at = limit.amount / (1000 if measure == "bytes" else 1)
    if at >= _FAR.get(of.qdisc.kind, _FAR_AQM) * most:
        return most
    sheet.entry(sheet.ax.axhline(at, color=look.QUIET, linewidth=1.0, linestyle="--", label="limit"), "limit")
    return max(most, at)


def _moments(sheet: style.Sheet, t: Column, total: Column, span: Window, *, at: float, colour: str, label: str) -> None:
    """Marks along the top where a count has grown; nothing where it never has."""
    import numpy as np

    grown = np.flatnonzero(np.diff(total, prepend=0))
    grown = grown[(t[grown] >= span[0]) & (t[grown] <= span[1])]
    if grown.size:
        transform = sheet.ax.get_xaxis_transform()
        drawn = sheet.ax.plot(
            t[grown], np.full(grown.size, at), "|", color=colour, markersize=5, transform=transform, label=label
        )
        sheet.entry(drawn[0], label)


def _milliseconds(ax: Axes, of: LinkView) -> None:
    """A second axis: how long the link takes to send that much."""
    import numpy as np

    per_ms = of.rate_bps / 8e6  # kB per ms
    right = ax.secondary_yaxis(
        "right", functions=(lambda kilobytes: np.asarray(kilobytes) / per_ms, lambda ms: np.asarray(ms) * per_ms)
    )
    right.set_ylabel("Delay (ms)")
