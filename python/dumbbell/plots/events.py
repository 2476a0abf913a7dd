"""What happened to each flow, and when: its start and stop, drops, recoveries, timeouts; and changes of the link's
rate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from dumbbell.errors import ResultError
from dumbbell.results.windows import chosen_flows

from . import captions, groups, lettering, look, palette, reading, series, style

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes

    from dumbbell.plan.view import Window
    from dumbbell.results.load import Result, Results

#: Events of more flows than this are too thin to tell.
_FLOWS_MOST = 20
#: Changes of the rate that are drawn; more are a course, which goodput shows.
_CHANGES_MOST = 40

#: Kinds of events by what a legend calls them: marker, its size, colour, and where it is in the flow's row.
_MARKS: dict[str, tuple[tuple[str, ...], str, float, str, float]] = {
    "drops": (("drop_queue", "drop_random", "drop_policer"), "|", 5.0, look.VERMILION, -0.22),
    "marks": (("ecn_mark",), "|", 5.0, look.GREEN, -0.22),
    "RTO": (("rto",), "X", 5.5, "#000000", 0.22),
    "start": (("start",), ">", 5.0, look.NEUTRAL, 0.0),
    "stop": (("stop", "complete"), "s", 4.0, look.NEUTRAL, 0.0),
}
#: The states of TCP in which it makes good what was lost, or answers to a mark.
_RECOVERING = ("Recovery", "Loss", "CWR")


@style.styled
def events(
    results: Results | Result,
    *,
    ax: Axes | None = None,
    flows: str | Sequence[int] | None = None,
    window: Window | None = None,
    **page: Unpack[style.Page],
) -> Axes:
    """Draw what happened to each flow, a row for each: start, stop, drops, marks, timeouts, and when TCP recovered; and
    where the link's rate changed. Raises ResultError for more than 20 flows, and where no events were recorded.

    Parameters
    ----------
    results
        A single run.
    ax
        Axes to draw into; a new figure unless given.
    flows
        Which flows: numbers, or text such as ``0,3-5`` or a name; all unless given.
    window
        Start and end in seconds; the scenario's `measure`, or the whole run, unless given.
    """
    result = style.one(results)
    chosen, span = chosen_flows(result, flows), reading.window_of(result, window)
    _check(result, chosen)
    sheet = style.Sheet(ax, page, height=0.8 + 0.3 * len(chosen))
    for row, flow in enumerate(chosen):
        _row(sheet, result, flow, row, span)
    _changes(sheet, result, span)
    labels = {flow: f"{flow}: {group.label}" for group in groups.of(result) for flow in group.flows}
    sheet.ax.set_yticks(range(len(chosen)), [lettering.plain(labels[flow]) for flow in chosen])
    sheet.ax.set_ylim(len(chosen) - 0.5, -0.5)
    sheet.ax.grid(visible=False, axis="y")
    series.time_axis(sheet.ax, span)
    order = ["start", "stop", *_MARKS, "in recovery"]
    sheet.entries.sort(key=lambda entry: order.index(entry[1]) if entry[1] in order else len(order))
    sheet.finish(captions.of_run(result, window))
    return sheet.ax


def _check(result: Result, chosen: Sequence[int]) -> None:
    if not result.events.num_rows:
        raise ResultError(f"{result.folder.name}: it has no events; [record] events = true records them")
    if len(chosen) > _FLOWS_MOST:
        raise ResultError(
            f"{len(chosen)} flows, and this plot has rows for {_FLOWS_MOST}: choose some with --flows, such as"
            " --flows 0-9"
        )


def _row(sheet: style.Sheet, result: Result, flow: int, row: int, span: Window) -> None:
    """The marks of a flow."""
    from matplotlib.patches import Patch

    met = _events_of(result, flow)
    start = result.plan.flows[flow].start_ns / 1e9
    stops = [at for at, kind, _ in met if kind in ("stop", "complete")]
    sheet.ax.plot([start, min([*stops, span[1]])], [row, row], color=look.QUIET, linewidth=0.6, zorder=1.5)
    spans = [(max(a, span[0]), min(b, span[1])) for a, b in _recoveries(met, span[1])]
    spans = [(a, b) for a, b in spans if b > a]
    if spans:
        pale = palette.STATES["DRAIN"]
        sheet.ax.broken_barh([(a, b - a) for a, b in spans], (row - 0.1, 0.2), facecolors=pale, linewidth=0, zorder=1.6)
        sheet.entry(Patch(color=pale), "in recovery")
    for label, (kinds, marker, size, colour, up) in _MARKS.items():
        times = [at for at, kind, _ in met if kind in kinds and span[0] <= at <= span[1]]
        if times:
            settings: dict[str, Any] = {"markersize": size, "color": colour, "clip_on": False, "zorder": 3}
            drawn = sheet.ax.plot(times, [row + up] * len(times), marker, label=label, **settings)[0]
            sheet.entry(drawn, label)


def _events_of(result: Result, flow: int) -> list[tuple[float, str, str]]:
    """Time in seconds, kind and note of each event of a flow."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kinds = pa.array(["ca_state", *(kind for kinds, *_ in _MARKS.values() for kind in kinds)])
    mine = result.events.filter(pc.and_(pc.equal(result.events["flow"], flow), pc.is_in(result.events["kind"], kinds)))
    return [(row["t_ns"] / 1e9, row["kind"], row["note"] or "") for row in mine.to_pylist()]


def _recoveries(met: Sequence[tuple[float, str, str]], end: float) -> Iterator[tuple[float, float]]:
    """From when until when TCP recovered."""
    since: float | None = None
    for at, kind, note in met:
        if kind in ("stop", "complete") or (kind == "ca_state" and note not in _RECOVERING):
            if since is not None:
                yield since, at
            since = None
        elif kind == "ca_state" and since is None:
            since = at
    if since is not None:
        yield since, end


def _changes(sheet: style.Sheet, result: Result, span: Window) -> None:
    """Lines where the link's rate changes."""
    link = result.plan.bottleneck
    if link.trace is not None or link.is_constant:
        return
    times = [float(at) for at in link.changes(result.plan.duration_ns)[0] if span[0] < at < span[1]]
    for at in times if len(times) <= _CHANGES_MOST else []:
        drawn = sheet.ax.axvline(at, color=look.QUIET, linewidth=0.8, linestyle=":", zorder=1.4)
        sheet.entry(drawn, "rate changes")
