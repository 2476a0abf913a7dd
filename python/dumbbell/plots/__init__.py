"""Figures: results in, matplotlib Axes out; one file a figure. They read result folders only and never run anything.

>>> import dumbbell
>>> sorted(dumbbell.plot.KINDS)
['cwnd', 'fct', 'inflight', 'queue', 'rtt', 'states', 'throughput', 'tradeoff', 'vary']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cwnd import cwnd
from .fct import fct
from .inflight import inflight
from .queue import queue
from .rtt import rtt, rtt_cdf
from .states import states
from .style import save
from .throughput import throughput
from .tradeoff import tradeoff
from .vary import vary, vary_with_jain

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dumbbell.results import Results

#: Kinds that show one run.
SINGLE: dict[str, Callable[[Results], Axes]] = {
    "throughput": throughput,
    "rtt": rtt,
    "cwnd": cwnd,
    "inflight": inflight,
    "queue": queue,
    "states": states,
}

#: All kinds of `dumbbell plot`.
KINDS = (*SINGLE, "vary", "fct", "tradeoff")

__all__ = ["KINDS", "cwnd", "draw", "fct", "inflight", "queue", "rtt", "rtt_cdf", "save", "states", "throughput", "tradeoff", "vary", "vary_with_jain"]


def draw(kind: str, results: Results, *, metric: str = "throughput", jain: bool = False, x: str | None = None) -> Figure:
    """The figure of a kind in `KINDS`; `metric`, `jain` and `x` are for ``vary``."""
    if kind in SINGLE:
        ax = SINGLE[kind](results)
    elif kind in ("fct", "tradeoff"):
        ax = fct(results) if kind == "fct" else tradeoff(results)
    elif jain:
        ax = vary_with_jain(results, metric=metric, x=x)
    else:
        ax = vary(results, metric=metric, x=x)
    made = ax.get_figure(root=True)
    assert made is not None
    return made
