"""Values of sentences that the samples of a flow tell: shares of time, gaps, and what came after events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dumbbell import controllers
from dumbbell.judge.values import Given
from dumbbell.results.columns import QUEUE_STATES, SAMPLE_WORDS, queue_column, sample_column, unit_of
from dumbbell.results.happened import happened

from . import path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dumbbell.judge.values import Gap, Reduction, Test, Time
    from dumbbell.results.load import Result
    from dumbbell.results.statistic import Column

#: Round trips in which a window answers to an event.
_ANSWER = 2


def share(run: Result, flow: int, asked: Time, part: tuple[float, float]) -> float | None:
    """Share of the samples in which all comparisons hold; None without samples."""
    t = sample_column(run, flow, "t_us") / 1e6
    inside = (t >= part[0]) & (t <= part[1])
    if not inside.any():
        return None
    for test in asked.tests:
        inside &= _holds(run, flow, test, t, part)
    return float(inside.sum() / ((t >= part[0]) & (t <= part[1])).sum())


def span(run: Result, flow: int, asked: Time, part: tuple[float, float]) -> tuple[float, float] | None:
    """From the first sample in which all comparisons hold to the last; None where they never do."""
    t = sample_column(run, flow, "t_us") / 1e6
    inside = (t >= part[0]) & (t <= part[1])
    for test in asked.tests:
        inside &= _holds(run, flow, test, t, part)
    return (float(t[inside][0]), float(t[inside][-1])) if inside.any() else None


def gap(run: Result, flow: int, asked: Gap, part: tuple[float, float]) -> tuple[float, float] | None:
    """From when to when a count did not grow, to a sample at either end; None without samples."""
    import numpy as np

    t, count = sample_column(run, flow, "t_us") / 1e6, sample_column(run, flow, asked.column)
    inside = (t >= part[0]) & (t <= part[1])
    t, count = t[inside], count[inside]
    if t.size < 2:
        return None
    starts = np.flatnonzero(np.diff(count, prepend=count[0] - 1) != 0)
    ends = np.append(starts[1:], t.size - 1)
    longest = int(np.argmax(t[ends] - t[starts]))
    return float(t[starts[longest]]), float(t[ends[longest]])


def growth(run: Result, flow: int, column: str, part: tuple[float, float]) -> float | None:
    """By how much a count grew from the first sample in a part of the run to the last; None without samples there."""
    t, count = sample_column(run, flow, "t_us") / 1e6, sample_column(run, flow, column)
    inside = count[(t >= part[0]) & (t <= part[1])]
    return float(inside[-1] - inside[0]) if inside.size else None


def reduction(run: Result, flow: int, asked: Reduction, part: tuple[float, float]) -> float | None:
    """The median over events by how much the window fell in two round trips; events that soon follow another are that
    one's. None without such events, and for marks of a controller that answers to their number.
    """
    import numpy as np

    controller = controllers.known().get(run.plan.flows[flow].cca)
    if asked.kind == "ecn_mark" and controller is not None and controller.needs_marks:
        return None
    t, cwnd = sample_column(run, flow, "t_us") / 1e6, sample_column(run, flow, "cwnd")
    times = happened(run, asked.kind).inside(flow, *part).t_s
    if not t.size or not times.size:
        return None
    srtt = sample_column(run, flow, "srtt_us") / 1e6
    falls, last = [], -np.inf
    for at in times:
        before = int(np.searchsorted(t, at, side="left")) - 1
        if before < 0 or at < last:
            continue
        rtt = srtt[before] if srtt[before] > 0 else run.plan.flows[flow].rtt_ns / 1e9
        last = at + _ANSWER * rtt
        after = cwnd[(t > at) & (t <= last + rtt / 2)]
        if after.size and cwnd[before] > 0:
            falls.append(1 - float(after.min()) / float(cwnd[before]))
    return float(np.median(falls)) if falls else None


def _holds(run: Result, flow: int, test: Test, t: Column, part: tuple[float, float]) -> NDArray[np.bool_]:
    """Where a comparison holds; it does not where a side is not known."""
    import numpy as np

    left = _column(run, flow, test.column, t)
    right: Any
    if test.column in SAMPLE_WORDS:
        is_one = np.isin(left, str(test.right).split("|"))
        return is_one if test.sign == "==" else ~is_one
    if isinstance(test.right, Given):
        given = path.given(run, flow, test.right, part)
        right = np.nan if given is None else test.factor * given / unit_of(test.column)[1]
    elif isinstance(test.right, str):
        right = test.factor * _column(run, flow, test.right, t)
    else:
        right = test.right
    compare = {
        ">=": np.greater_equal, "<=": np.less_equal, ">": np.greater, "<": np.less, "==": np.equal, "!=": np.not_equal,
    }[test.sign]  # fmt: skip
    held: NDArray[np.bool_] = compare(left, right)
    return held


def _column(run: Result, flow: int, name: str, t: Column) -> Column:
    """A column of the samples, or of the queue of the flow's bottleneck at the same times."""
    import numpy as np

    if name in SAMPLE_WORDS:
        table = run.samples
        words: Column = np.asarray(table[name].to_pylist())[np.asarray(table["flow"]) == flow]
        return words
    if name not in QUEUE_STATES:
        return sample_column(run, flow, name)
    link = path.busiest(run, flow)
    times, column = queue_column(run, link, "t_us") / 1e6, queue_column(run, link, name)
    if not times.size:
        return np.full(t.shape, np.nan)
    found: Column = column[np.clip(np.searchsorted(times, t, side="right") - 1, 0, times.size - 1)]
    return found
