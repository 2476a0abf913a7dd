"""Figures: results in, matplotlib Axes out. They read result folders only and never run anything.

>>> import dumbbell
>>> print(*sorted(dumbbell.plot.KINDS))
cwnd events fct goodput inflight latency probes queue rtt slowdown states throughput timeline tradeoff vary
"""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

from dumbbell.errors import wrong

from .cwnd import cwnd
from .events import events
from .fct import fct, latency, slowdown
from .goodput import goodput, throughput
from .inflight import inflight
from .probes import probes
from .queue import queue
from .rtt import rtt, rtt_cdf
from .stack import stack
from .states import states
from .style import caption_of, save
from .timeline import timeline
from .tradeoff import tradeoff
from .vary import vary

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dumbbell.results.load import Results

#: Kinds that show one run in one axes.
SINGLE: dict[str, Callable[..., Axes]] = {
    "goodput": goodput,
    "throughput": throughput,
    "rtt": rtt,
    "cwnd": cwnd,
    "inflight": inflight,
    "queue": queue,
    "states": states,
    "events": events,
}

#: Kinds that show one run.
OF_ONE_RUN: dict[str, Callable[..., Axes]] = {**SINGLE, "timeline": timeline}

#: All kinds of `dumbbell plot`.
KINDS: dict[str, Callable[..., Axes]] = {
    **OF_ONE_RUN,
    "vary": vary,
    "fct": fct,
    "slowdown": slowdown,
    "latency": latency,
    "probes": probes,
    "tradeoff": tradeoff,
}

__all__ = [
    "KINDS",
    "OF_ONE_RUN",
    "SINGLE",
    "caption_of",
    "cwnd",
    "draw",
    "events",
    "fct",
    "goodput",
    "inflight",
    "latency",
    "options",
    "probes",
    "queue",
    "rtt",
    "rtt_cdf",
    "save",
    "slowdown",
    "stack",
    "states",
    "throughput",
    "timeline",
    "tradeoff",
    "vary",
]

_PAGE = ("title", "width", "height", "caption", "paper")


def options(kind: str) -> list[str]:
    """The settings that a kind of figure takes, besides `results` and `ax`; raises ScenarioError for a kind that is
    none.
    """
    if kind not in KINDS:
        raise wrong("KIND", kind, "one of: " + ", ".join(KINDS), list(KINDS))
    return [name for name in signature(KINDS[kind]).parameters if name not in ("results", "ax", "page")] + list(_PAGE)


def draw(kind: str, results: Results, **settings: Any) -> Figure:
    """The figure of a kind in `KINDS`, with settings that this kind takes; raises ScenarioError for others."""
    known = options(kind)
    for name, value in settings.items():
        if name not in known:
            raise wrong(f"--{name}", value, f"no such option for {kind}, which takes: {', '.join(known)}")
    figure = KINDS[kind](results, **settings).get_figure(root=True)
    assert figure is not None
    return figure
