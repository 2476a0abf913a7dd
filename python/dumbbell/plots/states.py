"""State of each flow's controller over time, as a band per flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dumbbell.errors import ResultError

from . import style

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

    from dumbbell.results import Result, Results

#: Part of a flow's row that its band fills.
_BAND = 0.8
#: States of more flows than this are too thin to tell.
_FLOWS_MOST = 20
#: Of the legend.
_COLUMNS = 5

#: What states do has the same colour in BBR and in its successors: probe up, drain, cruise, refill, look for the RTT.
_COLOURS = {
    "STARTUP": "#D55E00",
    "DRAIN": "#56B4E9",
    "PROBE_BW": "#66C2A5",
    "PROBE_BW_UP": "#E69F00",
    "PROBE_BW_DOWN": "#0072B2",
    "PROBE_BW_CRUISE": "#009E73",
    "PROBE_BW_REFILL": "#F0E442",
    "PROBE_RTT": "#000000",
}
#: For the states of other controllers, in the order in which they are met.
_OTHERS = ("#CC79A7", "#8C6D31", "#999999", "#B7A9D6", "#7F0000", "#A6C96A")


@style.styled
def states(results: Results | Result, *, ax: Axes | None = None) -> Axes:
    """When each controller was in which of its states, a row for each flow that tells.

    The simulator notes every change; real hosts see those that last until the next sample (`record.every`). Raises ResultError
    where no flow tells.

    Parameters
    ----------
    results
        A single run.
    ax
        Axes to draw into; a new figure unless given.
    """
    result = style.one(results)
    known = {flow: stays for flow in range(len(result.plan.flows)) if (stays := list(_stays(result, flow)))}
    if not known:
        raise ResultError("no flow tells the state of its controller; on a kernel ours do (--on bpf), with record.states, and its own do not")
    if len(known) > _FLOWS_MOST:
        raise ResultError(f"{len(known)} flows tell their states, and this plot has rows for {_FLOWS_MOST}")
    ax = style.axes(ax, height=1.2 + 0.3 * len(known))
    for name, colour in _colours([name for stays in known.values() for name, _, _ in stays]).items():
        label = name
        for row, stays in enumerate(known.values()):
            spans = [(start, end - start) for state, start, end in stays if state == name]
            if spans:
                ax.broken_barh(spans, (row - _BAND / 2, _BAND), facecolors=colour, linewidth=0, label=label)
                label = "_"
    looks = style.flow_styles(result)
    named = len(looks) <= style.FLOWS_NAMED
    ax.set_yticks(range(len(known)), [str(looks[flow]["label"]) if named else f"flow {flow}" for flow in known])
    ax.set_ylim(len(known) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")
    style.time_axis(ax, result)
    legend = ax.legend(title=style.caption(result), loc="lower left", bbox_to_anchor=(0, 1), ncols=_COLUMNS, handlelength=1.0, fontsize=7, alignment="left")
    legend.get_title().set(fontsize=7, color="#555555")
    return ax


def _colours(met: list[str]) -> dict[str, str]:
    """Of each state that was met, those of BBR first."""
    others = [name for name in dict.fromkeys(met) if name not in _COLOURS]
    return {name: colour for name, colour in _COLOURS.items() if name in met} | {name: _OTHERS[i % len(_OTHERS)] for i, name in enumerate(others)}


def _stays(result: Result, flow: int) -> Iterator[tuple[str, float, float]]:
    """State, and the seconds from and until which it lasted."""
    import pyarrow as pa
    import pyarrow.compute as pc

    events = result.events
    tells = pc.is_in(events["kind"], pa.array(["cca_state", "stop"]))
    mine = events.filter(pc.and_(pc.equal(events["flow"], flow), tells))
    state, since = "", 0.0
    for row in mine.select(["t_ns", "kind", "note"]).to_pylist():
        now = row["t_ns"] / 1e9
        if state:
            yield state, since, now
        state, since = (row["note"] or "") if row["kind"] == "cca_state" else "", now
    if state:
        yield state, since, result.plan.duration_s
