"""Occupancy of the bottleneck's queue over time, with its drops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dumbbell.units import FRAME_BYTES

from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dumbbell.results import Result, Results

#: Drops are marked along the top of the axes.
_DROPS_AT = 0.98


@style.styled
def queue(results: Results | Result, *, ax: Axes | None = None) -> Axes:
    """Packets in the bottleneck's queue at the sample times, its limit, and when it dropped; `results` is a single run."""
    import numpy as np

    result, ax = style.one(results), style.axes(ax)
    table = result.queue
    t = table["t_us"].to_numpy() / 1e6
    ax.fill_between(t, table["backlog_packets"].to_numpy(), color="#0072B2", alpha=0.25, linewidth=0)
    ax.plot(t, table["backlog_packets"].to_numpy(), color="#0072B2", linewidth=0.9, label="queue")
    qdisc = result.plan["bottleneck"]["qdisc"]
    limit = qdisc["limit_packets"] or qdisc["limit_bytes"] / FRAME_BYTES
    ax.axhline(limit, color="#888888", linewidth=0.8, linestyle="--", label="limit")
    dropped = np.flatnonzero(np.diff(table["dropped_packets"].to_numpy(), prepend=0))
    ax.plot(t[dropped], np.full(dropped.size, _DROPS_AT), "|", color="#D55E00", markersize=5, transform=ax.get_xaxis_transform(), label="drops")
    style.time_axis(ax, result)
    ax.set_ylim(0, max(limit, float(table["backlog_packets"].to_numpy().max(initial=0))) * 1.1)
    ax.set_ylabel("Queue (packets)")
    style.legend(ax, title=style.caption(result))
    return ax
