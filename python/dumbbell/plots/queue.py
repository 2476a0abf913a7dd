"""Occupancy of the bottleneck's queue over time, with its drops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dumbbell.units import FRAME_BYTES

from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dumbbell.metrics import Column
    from dumbbell.results import Result, Results

#: Drops are marked along the top of the axes.
_DROPS_AT = 0.98

#: And marks below them.
_MARKS_AT = 0.94

#: A limit of an AQM that is so many times the longest queue is not drawn.
_FAR = 2


def _moments(ax: Axes, t: Column, total: Column, *, at: float, colour: str, label: str) -> None:
    """Marks along the top where a count has grown; nothing where it never has."""
    import numpy as np

    grown = np.flatnonzero(np.diff(total, prepend=0))
    if grown.size or label == "drops":
        ax.plot(t[grown], np.full(grown.size, at), "|", color=colour, markersize=5, transform=ax.get_xaxis_transform(), label=label)


@style.styled
def queue(results: Results | Result, *, ax: Axes | None = None, link: int = 0) -> Axes:
    """Packets in a link's queue at the sample times, its limit, and when it dropped or marked.

    Parameters
    ----------
    results
        A single run.
    ax
        Axes to draw into; a new figure unless given.
    link
        Number of the link: 0 is the bottleneck, then the links of the plan.
    """
    from dumbbell.metrics import link_plan, queue_series

    result, ax = style.one(results), style.axes(ax)
    t, backlog = queue_series(result, "backlog_packets", link=link)
    ax.fill_between(t, backlog, color="#0072B2", alpha=0.25, linewidth=0)
    ax.plot(t, backlog, color="#0072B2", linewidth=0.9, label="queue")
    qdisc, most = link_plan(result, link).qdisc, float(backlog.max(initial=1))
    limit = qdisc.limit and qdisc.limit.wire_bytes
    if limit is not None and (qdisc.kind == "fifo" or limit / FRAME_BYTES < _FAR * most):  # an AQM's limit is mostly far away
        ax.axhline(limit / FRAME_BYTES, color="#888888", linewidth=0.8, linestyle="--", label="limit")
        most = max(most, limit / FRAME_BYTES)
    _moments(ax, t, queue_series(result, "dropped_packets", link=link)[1], at=_DROPS_AT, colour="#D55E00", label="drops")
    if "marked_packets" in result.queue.column_names:
        _moments(ax, t, queue_series(result, "marked_packets", link=link)[1], at=_MARKS_AT, colour="#009E73", label="marks")
    style.time_axis(ax, result)
    ax.set_ylim(0, most * 1.1)
    ax.set_ylabel("Queue (packets)")
    style.legend(ax, title=style.caption(result))
    return ax
