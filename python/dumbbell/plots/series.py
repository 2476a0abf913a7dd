"""One line per flow over time: what throughput, cwnd and in-flight plots share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import style

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from dumbbell.metrics import Column
    from dumbbell.results import Result


def lines(result: Result, ax: Axes, read: Callable[[Result, int], tuple[Column, Column]], label: str, *, columns: int = 6) -> Axes:
    """Draw ``read(result, flow)`` (times in s, values) of every flow, with units on the axes and a legend of so many columns."""
    for flow, look in enumerate(style.flow_styles(result)):
        t, values = read(result, flow)
        ax.plot(t, values, **look)
    style.time_axis(ax, result)
    ax.set_ylim(bottom=0)
    ax.set_ylabel(label)
    style.legend(ax, title=style.caption(result), columns=columns)
    return ax


def column(name: str, *, scale: float = 1.0) -> Callable[[Result, int], tuple[Column, Column]]:
    """Read a column of the samples, times in seconds."""

    def read(result: Result, flow: int) -> tuple[Column, Column]:
        from dumbbell.metrics import samples

        of = samples(result, flow)
        return of["t_us"] / 1e6, of[name] * scale

    return read
