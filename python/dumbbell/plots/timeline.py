"""A run over time in one picture: goodput, RTT, queue, states and events, one above the other."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from dumbbell.errors import ResultError, wrong
from dumbbell.results.windows import chosen_flows

from . import style
from .cwnd import cwnd
from .events import events
from .goodput import goodput, throughput
from .inflight import inflight
from .queue import queue
from .rtt import rtt
from .stack import stack
from .states import states

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

    from dumbbell.plan.view import Window
    from dumbbell.results.load import Result, Results

#: What a row can be.
ROWS: dict[str, Callable[..., Axes]] = {
    "goodput": goodput,
    "throughput": throughput,
    "rtt": rtt,
    "cwnd": cwnd,
    "inflight": inflight,
    "queue": queue,
    "states": states,
    "events": events,
}
_USUAL = ("goodput", "rtt", "queue", "states", "events")
#: Rows with a line for each flow, and their height in parts of the others: at least, and for each flow.
_THIN, _LEAST, _EACH = ("states", "events"), 0.22, 0.13


@style.styled
def timeline(
    results: Results | Result,
    *,
    rows: str | Sequence[str] | None = None,
    flows: str | Sequence[int] | None = None,
    window: Window | None = None,
    **page: Unpack[style.Page],
) -> Axes:
    """Draw a run over time, a row for each quantity, on one axis of time; returns the first axes.

    Parameters
    ----------
    results
        A single run.
    rows
        Which rows, in their order, such as ``goodput,rtt,cwnd``; unless given goodput, rtt, queue, states and events,
        without those that this run did not record.
    flows
        Which flows: numbers, or text such as ``0,3-5`` or a name; all unless given.
    window
        Start and end in seconds; the scenario's `measure`, or the whole run, unless given.
    """
    result = style.one(results)
    drawn = _rows(result, rows, flows, window)
    count = len(chosen_flows(result, flows))
    figure = stack(
        [(draw, result) for _, draw in drawn],
        heights=[_LEAST + _EACH * count if name in _THIN else 1.0 for name, _ in drawn],
        panel_height=1.55 * sum(_LEAST + _EACH * count if name in _THIN else 1.0 for name, _ in drawn) / len(drawn),
        **page,
    )
    return figure.axes[0]


def _rows(
    result: Result, rows: str | Sequence[str] | None, flows: str | Sequence[int] | None, window: Window | None
) -> list[tuple[str, Callable[..., Axes]]]:
    """Name and drawing function of each row; raises ScenarioError for one that is none."""
    if rows is None:
        usual = [(name, _draw(name, flows, window)) for name in _USUAL]
        return [(name, draw) for name, draw in usual if _can(draw, result)]
    names = [name.strip() for name in (rows.split(",") if isinstance(rows, str) else rows)]
    for name in names:
        if name not in ROWS:
            raise wrong("--rows", name, "some of: " + ", ".join(ROWS), list(ROWS))
    return [(name, _draw(name, flows, window)) for name in names]


def _draw(name: str, flows: str | Sequence[int] | None, window: Window | None) -> Callable[..., Axes]:
    settings: dict[str, Any] = {"window": window, **({} if name == "queue" else {"flows": flows})}
    return partial(ROWS[name], **settings)


def _can(draw: Callable[..., Axes], result: Result) -> bool:
    """True if a run has what the row shows."""
    try:
        draw(result)
    except ResultError:
        return False
    return True
