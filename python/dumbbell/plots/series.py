"""Parts that all figures over time share: a line per flow while flows are few, a median with percentile bands per group
where they are many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dumbbell.results.columns import flow_column
from dumbbell.results.texts import transport
from dumbbell.results.windows import chosen_flows

from . import captions, groups, look, reading, style, zeros

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

    from dumbbell.plan.view import Window
    from dumbbell.results.load import Result
    from dumbbell.results.metrics import Column

    from .groups import Group
    from .reading import Grid, Series

#: Flows that still have a line each.
LINES_MOST = 10
#: Flows of a group that keep their lines next to the bands of others.
_KEPT = 3
_BANDS = ((5, 95, 0.15), (25, 75, 0.3))


#: What bands are, in a legend.
BANDS = "25 to 75 % of a group's flows, and (paler) 5 to 95 %"


def is_banded(group: Group, flows: Sequence[int]) -> bool:
    """True if a group is drawn as a band because the figure has this many flows."""
    return len(flows) > LINES_MOST and group.size > _KEPT


def drawing_order(groups_: Sequence[Group]) -> list[Group]:
    """The largest groups first, so that the few are drawn over the many."""
    return sorted(groups_, key=lambda group: -group.size)


def lines(
    sheet: style.Sheet,
    ax: Axes,
    result: Result,
    read: Callable[[Sequence[int]], dict[int, Series]],
    flows: Sequence[int],
) -> None:
    """Draw ``read(flows)`` of each group as lines, or as bands where the figure has many flows; a flow of UDP without
    such a value, as a window, has no line.
    """
    groups_ = groups.of(result, flows)
    dresses, labels = dresses_of(groups_, flows), groups.flow_labels(groups_)
    for group in drawing_order(groups_):
        drawn = {flow: of for flow, of in read(group.flows).items() if _has_line(result, flow, of)}
        if drawn and is_banded(group, flows):
            band(sheet, ax, group, reading.grid(result, drawn), dresses[group, None].colour)
            continue
        for flow, of in drawn.items():
            line(sheet, ax, of.t, of.values, label=labels[flow], of=dresses[group, flow])
    sheet.entries.sort(key=lambda entry: order(entry[1]))


def _has_line(result: Result, flow: int, of: Series) -> bool:
    import numpy as np

    return result.plan.flows[flow].is_acknowledged or not np.isnan(of.values).all()


def dresses_of(groups_: Sequence[Group], flows: Sequence[int]) -> dict[tuple[Group, int | None], look.Dress]:
    """The look of each flow's line, and of each group that is drawn as a whole (with None for the flow)."""
    lines: list[tuple[Group, int | None]] = []
    for group in groups_:
        lines += [(group, None)] if is_banded(group, flows) else [(group, flow) for flow in group.flows]
    return dict(zip(lines, groups.dressed(lines), strict=True))


def line(sheet: style.Sheet, ax: Axes, t: Column, values: Column, *, label: str, of: look.Dress) -> None:
    """One flow's line; a point without neighbours has a marker."""
    sheet.entry(ax.plot(t, values, label=label, **{**of.line, **lone_marks(values)})[0], label)


def lone(values: Column) -> list[int]:
    """Places of values that have none before and after them: a line does not show these."""
    import numpy as np

    known = np.concatenate([[False], ~np.isnan(values), [False]])
    places: list[int] = np.flatnonzero(known[1:-1] & ~known[:-2] & ~known[2:]).tolist()
    return places


def lone_marks(values: Column) -> dict[str, Any]:
    """Settings of a line without markers that make such points visible."""
    places = lone(values)
    return {"marker": ".", "markevery": places} if places else {}


def band(sheet: style.Sheet, ax: Axes, group: Group, of: Grid, colour: str) -> None:
    """Median over the flows of a group, with the bands between its 25th and 75th, and its 5th and 95th percentiles."""
    from matplotlib.patches import Patch

    for low, high, alpha in _BANDS:
        under, over = reading.percentiles(of, (low, high))
        ax.fill_between(of.t, under, over, color=colour, alpha=alpha, linewidth=0)
    label = f"{group.label}: median of {group.size} flows"
    median = reading.percentiles(of, (50,))[0]
    drawn = ax.plot(of.t, median, color=colour, linewidth=1.2, label=label, **lone_marks(median))[0]
    sheet.entry(drawn, label)
    sheet.entry(Patch(color=look.GREY, alpha=0.4), BANDS)


def order(label: str) -> tuple[int, int]:
    """Sorts labels by the flow's number that they begin with, and keeps the others after them."""
    head = label.partition(":")[0]
    return (0, int(head)) if head.isdecimal() else (1, 0)


def with_distribution(ax: Axes | tuple[Axes, Axes] | None, page: style.Page) -> style.Sheet:
    """Axes over time and beside them those of a distribution, below them where the page is narrow."""
    if ax is not None:
        return style.Sheet(ax, page)
    if style.is_narrow(page):
        return style.Sheet(None, page, rows=2)
    return style.Sheet(None, page, columns=2, width_ratios=[2, 1])


def time_axis(ax: Axes, window: Window) -> None:
    """Time in seconds along x, over the window."""
    ax.set_xlim(*window)
    ax.set_xlabel("Time (s)")


#: Part of the largest value above which the smallest must be for an axis that does not begin at zero.
_FAR_ABOVE = 0.3


def value_axis(sheet: style.Sheet, ax: Axes, label: str, *, log: bool, from_zero: bool = True) -> None:
    """The axis of what is drawn: logarithmic, or from zero, unless it need not be and all values are far above it."""
    style.value_title(sheet, ax, label)
    if log:
        zeros.refuse_only(value for line in ax.get_lines() for value in zeros.values_of(line))
        ax.set_yscale("log")
        style.plain_log(ax.yaxis, *ax.get_ylim())
        return
    low, high = ax.dataLim.y0, ax.dataLim.y1
    if not from_zero and low > _FAR_ABOVE * high > 0:
        room = 0.06 * ((high - low) or high)
        ax.set_ylim(low - room, high + room)
    else:
        ax.set_ylim(bottom=0)


def of_column(
    result: Result,
    name: str,
    label: str,
    *,
    ax: Axes | None,
    flows: str | Sequence[int] | None,
    window: Window | None,
    log: bool,
    page: style.Page,
    scale: float = 1.0,
) -> Axes:
    """A figure of one column of the samples over time."""
    chosen, span = chosen_flows(result, flows), reading.window_of(result, window)
    sheet = style.Sheet(ax, page)
    lines(sheet, sheet.ax, result, lambda some: reading.column(result, some, name, span, scale=scale), chosen)
    time_axis(sheet.ax, span)
    value_axis(sheet, sheet.ax, label, log=log)
    sheet.finish(captions.of_run(result, window) + ("" if "(segments)" not in label else _segments(result, chosen)))
    return sheet.ax


def _segments(result: Result, flows: Sequence[int]) -> str:
    """Say what a segment is, for a caption, where the transports of these flows differ in it; else nothing."""
    sent = [flow_column(result, name) for name in ("bytes_sent", "segs_sent")]
    sizes: dict[str, tuple[float, float]] = {}
    for flow in flows:
        kind = transport(result.plan.flows[flow].transport.kind)
        so_far = sizes.get(kind, (0.0, 0.0))
        sizes[kind] = (so_far[0] + sent[0][flow], so_far[1] + sent[1][flow])
    if len(sizes) < 2:
        return ""
    means = [f"{size / count:,.0f} B with {kind}" for kind, (size, count) in sizes.items() if count]
    return f"; payload of a segment: {', '.join(means)}"
