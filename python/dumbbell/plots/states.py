"""State of each flow's controller over time, as a band per flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack
from zlib import crc32

from dumbbell.errors import ResultError
from dumbbell.results.stays import stays_of
from dumbbell.results.windows import chosen_flows

from . import captions, groups, lettering, palette, reading, series, style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from dumbbell.plan.view import Window
    from dumbbell.results.load import Result, Results

#: Part of a flow's row that its band fills.
_BAND = 0.8
#: States of more flows than this are too thin to tell.
_FLOWS_MOST = 20

#: Part of the axis that the longest stay in a state fills at least where a legend names the state.
_SEEN = 1 / 600


@style.styled
def states(
    results: Results | Result,
    *,
    ax: Axes | None = None,
    flows: str | Sequence[int] | None = None,
    window: Window | None = None,
    **page: Unpack[style.Page],
) -> Axes:
    """Draw the states of each controller over time, a row for each flow that reports them.

    The simulator notes every change; real hosts see those that last until the next sample (`record.every`). Raises
    ResultError where no flow tells, and where more than 20 do.

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
    from matplotlib.patches import Patch

    result = style.one(results)
    chosen, span = chosen_flows(result, flows), reading.window_of(result, window)
    known = _known(result, chosen)
    sheet = style.Sheet(ax, page, height=0.9 + 0.3 * len(known))
    stays_in = {flow: _inside(stays, span) for flow, stays in known.items()}
    for name, colour in colours_of([name for stays in stays_in.values() for name, _, _ in stays]).items():
        longest = 0.0
        for row, stays in enumerate(stays_in.values()):
            spans = [(start, end - start) for state, start, end in stays if state == name]
            if spans:
                sheet.ax.broken_barh(spans, (row - _BAND / 2, _BAND), facecolors=colour, linewidth=0, label=name)
                longest = max(longest, *(length for _, length in spans))
        if longest >= _SEEN * (span[1] - span[0]):
            sheet.entry(Patch(color=colour), name)
    labels = {flow: f"{flow}: {group.label}" for group in groups.of(result) for flow in group.flows}
    sheet.ax.set_yticks(range(len(known)), [lettering.plain(labels[flow]) for flow in known])
    sheet.ax.set_ylim(len(known) - 0.5, -0.5)
    sheet.ax.grid(visible=False, axis="y")
    series.time_axis(sheet.ax, span)
    sheet.finish(captions.of_run(result, window))
    return sheet.ax


def _inside(stays: Sequence[tuple[str, float, float]], span: Window) -> list[tuple[str, float, float]]:
    """The parts of stays that are in a window."""
    cut = ((state, max(start, span[0]), min(end, span[1])) for state, start, end in stays)
    return [(state, start, end) for state, start, end in cut if end > start]


def _known(result: Result, chosen: Sequence[int]) -> dict[int, list[tuple[str, float, float]]]:
    """The states of each flow that tells."""
    if not result.events.num_rows:
        raise ResultError(f"{result.folder.name}: it has no events; [record] events = true records them")
    known = {flow: stays for flow in chosen if (stays := list(stays_of(result, flow)))}
    if not known:
        raise ResultError(
            "no flow has states of its controller; on a kernel our controllers report them (--on bpf), with"
            " record.states, and the kernel's own do not"
        )
    if len(known) > _FLOWS_MOST:
        raise ResultError(
            f"{len(known)} flows have states, and this plot has rows for {_FLOWS_MOST}: choose some with --flows,"
            " such as --flows 0-9"
        )
    return known


def colours_of(met: list[str]) -> dict[str, str]:
    """Colour of each of these states, the same in every figure; those of built-in controllers first."""
    return {name: colour for name, colour in palette.STATES.items() if name in met} | {
        name: palette.OTHER_STATES[crc32(name.encode()) % len(palette.OTHER_STATES)]
        for name in dict.fromkeys(met)
        if name not in palette.STATES
    }
