"""Selections that metrics read: the flows and links that their arguments mean, and the columns of tables inside a
window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dumbbell.errors import ResultError, wrong
from dumbbell.plan.view import Window as Span

from .columns import flow_column, queue_column, sample_column

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dumbbell.plan.view import LinkView

    from .result import Result
    from .statistic import Column

    Mask = NDArray[np.bool_]

Window = Span | None
Which = int | str | Sequence[int]


def flows_of(result: Result, which: Which) -> list[int]:
    """Numbers of the flows that `which` means, each once: a flow's own, or those of a [[flow]] table's name, of a
    controller, of a transport, or all. Raises ResultError for none.
    """
    flows = result.plan.flows
    if not isinstance(which, str):
        numbers = [which] if isinstance(which, int) else list(dict.fromkeys(which))
        for number in numbers:
            if not 0 <= number < len(flows):
                raise ResultError(f"{result.folder}: there is no flow {number}, wanted 0 to {len(flows) - 1}")
        return numbers
    named = _named(result, which)
    if not named:
        names = dict.fromkeys([*result.plan.groups, *(flow.cca for flow in flows)])
        raise ResultError(
            f"{result.folder}: no flow has the name or controller {which}, wanted one of: {', '.join(names)}, or all"
        )
    return named


def _named(result: Result, name: str) -> list[int]:
    """All flows for ``all``, else those of a [[flow]] table's name, else of a controller, else over a transport."""
    flows = result.plan.flows
    if name == "all":
        return list(range(len(flows)))
    return (
        result.plan.groups.get(name)
        or [i for i, flow in enumerate(flows) if flow.cca == name]
        or [i for i, flow in enumerate(flows) if flow.transport.kind == name]
    )


def chosen_flows(result: Result, asked: str | Sequence[int] | None) -> list[int]:
    """Numbers of the flows that ``--flows`` asks for, all of them for None: numbers, ranges, and names as `flows_of`
    takes them, separated by commas. Raises ScenarioError for one that is not there.
    """
    if asked is None:
        return list(range(len(result.plan.flows)))
    words = asked.split(",") if isinstance(asked, str) else map(str, asked)
    return sorted({number for word in words for number in _of_word(result, word.strip())})


def _of_word(result: Result, word: str) -> list[int]:
    count = len(result.plan.flows)
    first, dash, last = word.partition("-")
    if first.isdecimal() and (last.isdecimal() if dash else True):
        low, high = int(first), int(last or first)
        if not low <= high < count:
            raise wrong("--flows", word, f"flows of this run: 0 to {count - 1}")
        return list(range(low, high + 1))
    named = _named(result, word)
    if not named:
        names = list(dict.fromkeys(name for flow in result.plan.flows for name in (flow.name, flow.cca)))
        wanted = f"numbers from 0 to {count - 1}, ranges such as 0-3, or names: {', '.join(names)}"
        raise wrong("--flows", word, wanted, names)
    return named


def link_plan(result: Result, link: int) -> LinkView:
    """The plan of a link by the number that tables give it: 0 is the bottleneck, then those of the way down in their
    order, then those of the way up where data go up.
    """
    links = result.plan.recorded_links
    if not 0 <= link < len(links):
        raise ResultError(f"{result.folder}: there is no link {link}, wanted 0 to {len(links) - 1}")
    return links[link]


def queue_series(result: Result, name: str, *, link: int = 0) -> tuple[Column, Column]:
    """A column of the queue table over time for a link (0: the bottleneck): (times in s, values)."""
    link_plan(result, link)
    return queue_column(result, link, "t_us") / 1e6, queue_column(result, link, name)


def check_bin(result: Result, bin_s: float) -> None:
    """Refuses bins between two samples, which would be as smooth as the line between these."""
    every_s = result.plan.sample_ns / 1e9
    if bin_s < every_s * (1 - 1e-9):
        raise ResultError(
            f"{result.folder}: bins of {bin_s:g} s: wanted {every_s:g} s or more, as its samples are apart ([record]"
            " every)"
        )


def inside(result: Result, window: Span) -> Span:
    """The window, cut at the end of the run, s. All figures of windows go through this one check. Raises ResultError
    for a window that starts before 0 or not before its end, or of which no part is in the run.
    """
    (start, end), duration_s = window, result.plan.duration_s
    if not 0 <= start < min(end, duration_s):
        until = "on" if end == float("inf") else f"to {end:g} s"
        raise ResultError(
            f"{result.folder}: no part of its {duration_s:g} s is in the window from {start:g} s {until}, wanted a"
            f" start from 0 to {duration_s:g} s, and an end after it"
        )
    return start, min(end, duration_s)


def within(result: Result, t_s: Column, window: Window) -> Mask:
    """Mask of the times inside the window."""
    import numpy as np

    if window is None:
        return np.ones(t_s.size, dtype=bool)
    start, end = inside(result, window)
    mask: Mask = (t_s >= start) & (t_s <= end)
    return mask


def windowed(result: Result, flow: int, name: str, window: Window) -> Column:
    """A column of the samples of a flow inside the window."""
    column = sample_column(result, flow, name)
    return column if window is None else column[within(result, sample_column(result, flow, "t_us") / 1e6, window)]


def grown(result: Result, flows: Sequence[int], total: str, so_far: str, window: Window) -> float:
    """Growth of a count of these flows: column `total` of their rows, or the growth of `so_far` of the samples inside
    the window.
    """
    import numpy as np

    if window is None:
        return float(flow_column(result, total)[list(flows)].sum())
    at_s = np.array(inside(result, window))
    return float(sum(np.diff(counted_at(result, flow, total, so_far, at_s))[0] for flow in flows))


def counted_at(result: Result, flow: int, total: str, so_far: str, at_s: Column) -> Column:
    """Count of a flow at these times: 0 before its start, linear between samples, its total from its end on."""
    import numpy as np

    start, stop = (float(flow_column(result, name)[flow]) for name in ("start_us", "stop_us"))
    t, count = sample_column(result, flow, "t_us"), sample_column(result, flow, so_far)
    if not t.size and stop > start and not result.plan.record.samples:
        raise ResultError(
            f"{result.folder}: it has no samples, which a window needs; [record] samples = true records them"
        )
    inside = (t > start) & (t < stop)
    end = float(flow_column(result, total)[flow])
    counted: Column = np.interp(
        at_s * 1e6, np.concatenate([[start], t[inside], [stop]]), np.concatenate([[0.0], count[inside], [end]])
    )
    return counted


def queue_inside(result: Result, name: str, window: Window, link: int) -> Column:
    """A column of the queue table for a link inside the window."""
    t, column = queue_series(result, name, link=link)
    return column[within(result, t, window)]


def mean_over_time(result: Result, integral: str, window: Window, link: int) -> float | None:
    """Mean over time of what a column of the queue table integrates, inside the window; None where it is not known."""
    import numpy as np

    if integral not in result.queue.column_names:
        return None
    t, summed = queue_column(result, link, "t_us"), queue_column(result, link, integral)
    if window is not None:
        taken = within(result, t / 1e6, window)
        t, summed = t[taken], summed[taken]
    else:
        t, summed = np.insert(t, 0, 0.0), np.insert(summed, 0, 0.0)
    passed = float(t[-1] - t[0]) if t.size else 0.0
    return None if passed <= 0 or np.isnan(summed[-1]) else float(summed[-1] - summed[0]) / passed


def edges(result: Result, t_us: Column, window: Span) -> tuple[int, int]:
    """First and last sample inside the window."""
    import numpy as np

    taken = np.flatnonzero(within(result, t_us / 1e6, window))
    if taken.size < 2:
        raise ResultError(
            f"{result.folder}: window {window[0]:g} to {window[1]:g} s: wanted two sample times inside it"
        )
    return int(taken[0]), int(taken[-1])
