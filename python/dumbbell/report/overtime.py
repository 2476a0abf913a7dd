"""Time series of runs: rates, windows, RTTs and the queue at common times, a line per flow, or bands of a group's flows
where they are many; states of controllers.
"""

from __future__ import annotations

from functools import partial
from itertools import islice, pairwise
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import ResultError
from dumbbell.plots import groups, reading, series
from dumbbell.plots.goodput import bin_of, series_of
from dumbbell.plots.keys import FOLDER
from dumbbell.plots.queue import columns_of
from dumbbell.plots.states import colours_of
from dumbbell.results.stays import stays_of
from dumbbell.units import ETHERNET_BYTES

from . import looks
from .decimate import summed, thinned
from .gathered import labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell.plan.view import PlanView
    from dumbbell.plots.groups import Group
    from dumbbell.results.catalogue import Measured
    from dumbbell.results.load import Result
    from dumbbell.results.statistic import Column

#: Numbers that the series of a page may have, which are about 6 bytes each; what a line has at least and at most.
NUMBERS, POINTS = 150_000, (60, 2000)
#: The percentiles of a band, the median in the middle.
BAND = (5, 25, 50, 75, 95)
#: Stays in states that a flow may have on the page; of more, each part of the run shows the longest one.
STAYS_MOST = 300
#: Flows with a row of states.
STATES_MOST = 20

#: Figures at the sample times: name, column (None: that of `rtt_column`), factor.
_SAMPLED = (("cwnd", "cwnd", 1.0), ("inflight", "in_flight", 1.0), ("rtt", None, 1e-3))


class Line(NamedTuple):
    """One line of every chart of a run: a flow, or the flows of a group."""

    group: Group
    flows: tuple[int, ...]
    label: str
    is_band: bool


def overtime(runs: Sequence[Measured]) -> dict[str, Any]:
    """Series of as many runs as fit, the first repetition of each combination before others; what was left out is in
    `notes`.
    """
    ordered = sorted(range(len(runs)), key=lambda i: (runs[i].result.repetition, i))
    lines = {i: lines_of(runs[i].result) for i in ordered}
    kept: list[int] = []
    count = 0
    for i in ordered:
        own = sum(len(BAND) if line.is_band else 1 for line in lines[i]) * 5 + 3
        if kept and (count + own) * POINTS[0] > NUMBERS:
            break
        kept.append(i)
        count += own
    points = min(max(NUMBERS // max(count, 1), POINTS[0]), POINTS[1])
    names = labels([run.result for run in runs])
    notes = [f"Time series of {len(kept)} of {len(runs)} runs."] if len(kept) < len(runs) else []
    drawn = []
    rtt = reading.rtt_column(*[runs[i].result for i in kept])
    for i in sorted(kept):
        charts, why = of_run(runs[i], lines[i], points, rtt)
        notes += [f"{names[i]}: {text}" for text in why]
        drawn.append({"run": i, "label": names[i], "folder": runs[i].result.vary.get(FOLDER, ""), **charts})
    return {"runs": drawn, "notes": list(dict.fromkeys(notes))}


def lines_of(result: Result) -> list[Line]:
    """Its lines: flows while they are few, else groups."""
    groups_, flows = groups.of(result), range(len(result.plan.flows))
    names = groups.flow_labels(groups_)
    lines = []
    for group in groups_:
        if series.is_banded(group, flows):
            lines.append(Line(group, group.flows, f"{group.label}: {group.size} flows", is_band=True))
        else:
            lines += [Line(group, (flow,), names[flow], is_band=False) for flow in group.flows]
    return lines


def of_run(run: Measured, lines: Sequence[Line], points: int, rtt: tuple[str, str]) -> tuple[dict[str, Any], list[str]]:
    """The charts of a run, and why some are missing; `rtt` is the column of RTTs, and its title, of all runs."""
    told: dict[str, Any] = {
        "lines": [line_of(line, i, lines) for i, line in enumerate(lines)],
        "charts": {},
        "states": [],
    }
    why = []
    for draw in (_rates, partial(_samples, rtt=rtt), _queue, _states):
        try:
            draw(run, lines, points, told)
        except ResultError as error:
            why.append(str(error).removeprefix(f"{run.result.folder.name}: "))
    return told, why


def line_of(line: Line, i: int, lines: Sequence[Line]) -> dict[str, Any]:
    """Look of a line on the page: label, colour, dash."""
    own = groups.dressed([(each.group, None if each.is_band else each.flows[0]) for each in lines])[i]
    return {
        "label": line.label,
        "colour": looks.pair(own.colour),
        "dash": looks.dash(own.linestyle),
        "band": line.is_band,
        "size": len(line.flows),
    }


def numbers(values: Column) -> list[float | int | None]:
    """Numbers for JSON: five digits, None where there is none."""
    shortened = []
    for value in values.tolist():
        short = float(f"{value:.5g}") if not isnan(value) else None
        shortened.append(int(short) if short is not None and short.is_integer() else short)
    return shortened


def _rates(run: Measured, lines: Sequence[Line], points: int, told: dict[str, Any]) -> None:
    """Goodput and throughput in bins; those of a band's flows as their sum."""
    import numpy as np

    result, span = run.result, reading.window_of(run.result, run.window)
    width = bin_of(result, None, span)
    for name, column in (("goodput", "goodput_bytes"), ("throughput", "segs_sent")):
        grids = [series_of(result, column, line.flows, span, width) for line in lines]
        thin = thinned(grids[0].t, np.array([reading.total(grid) for grid in grids]), points)
        chart = {"x": numbers(thin.t), "y": [numbers(row) for row in thin.rows], "bin": width, "width": thin.width}
        told["charts"][name] = chart
    if result.plan.cross_bottleneck():
        told["charts"]["goodput"]["rate"] = _capacity(run, grids[0].t, width, points)


def _capacity(run: Measured, t: Column, width: float, points: int) -> list[float | int | None]:
    """The bottleneck's mean rate in the same bins, Mbit/s."""
    import numpy as np

    link, end = run.result.plan.bottleneck, run.result.plan.duration_s
    edges = [(max(at - width / 2, 0.0), min(at + width / 2, end)) for at in t.tolist()]
    rates = [link.bits(round(a * 1e9), round(b * 1e9)) / (b - a) / 1e6 for a, b in edges]
    return numbers(thinned(t, np.array([rates]), points).rows[0])


def _samples(run: Measured, lines: Sequence[Line], points: int, told: dict[str, Any], *, rtt: tuple[str, str]) -> None:
    """Window, in flight and RTT at the sample times."""
    import numpy as np

    result, span = run.result, reading.window_of(run.result, run.window)
    every = [flow for line in lines for flow in line.flows]
    for name, column, scale in _SAMPLED:
        own, title = (column, "") if column else rtt
        grid = reading.grid(result, reading.column(result, every, own, span, scale=scale))
        rows, at = [], 0
        for line in lines:
            part = grid._replace(values=grid.values[at : at + len(line.flows)])
            rows += list(reading.percentiles(part, BAND)) if line.is_band else [part.values[0]]
            at += len(line.flows)
        thin = thinned(grid.t, np.array(rows), points)
        told["charts"][name] = {
            "x": numbers(thin.t), "y": [numbers(row) for row in thin.rows], "width": thin.width,
            **({"title": title} if title else {}),
        }  # fmt: skip
    told["charts"]["inflight"]["bdp"] = bdps(result.plan)


def bdps(plan: PlanView) -> list[list[Any]]:
    """The BDP of each RTT in full packets, where the rate is constant, all flows cross the bottleneck and their packets
    have one size: label and number.
    """
    rate = plan.bounding_rate_bps()
    rtts = sorted({flow.rtt_ns for flow in plan.flows})
    sizes = {flow.transport.packet_bytes for flow in plan.flows}
    packet = sizes.pop() if len(sizes) == 1 else None
    if rate is None or packet is None or len(rtts) > 3:
        return []
    size = packet + plan.bottleneck.header_bytes - ETHERNET_BYTES
    return [
        [f"BDP{f' at {rtt / 1e6:g} ms' if len(rtts) > 1 else ''}", round(rate * rtt / 8e9 / size, 1)] for rtt in rtts
    ]


def _queue(run: Measured, _: Sequence[Line], points: int, told: dict[str, Any]) -> None:
    """Add the waiting time at the head of the bottleneck's queue, and the drops and marks of each interval."""
    import numpy as np

    t, columns = columns_of(run.result, 0)
    span = reading.window_of(run.result, run.window)
    inside = (t >= span[0]) & (t <= span[1])
    thin = thinned(t[inside], np.array([columns["sojourn_us"][inside] / 1000]), points)
    grown = {name: np.diff(columns[name], prepend=0)[inside] for name in ("dropped_packets", "marked_packets")}
    told["charts"]["queue"] = {
        "x": numbers(thin.t), "y": [numbers(thin.rows[0])], "width": thin.width,
        "drops": numbers(summed(grown["dropped_packets"], thin.width)),
        "marks": numbers(summed(grown["marked_packets"], thin.width)),
    }  # fmt: skip


def _states(run: Measured, lines: Sequence[Line], _: int, told: dict[str, Any]) -> None:
    """Stays of each flow's controller in its states: number of the state, and the time from which on, one after the
    other.
    """
    result = run.result
    flows = [(line.label, line.flows[0]) for line in lines if not line.is_band][:STATES_MOST]
    span = reading.window_of(result, run.window)
    known = {label: list(stays_of(result, flow)) for label, flow in flows if result.events.num_rows}
    known = {label: stays for label, stays in known.items() if stays}
    colours = colours_of([name for stays in known.values() for name, _, _ in stays])
    names = list(colours)
    for label, stays in known.items():
        shown = _longest(stays, span) if len(stays) > STAYS_MOST else stays
        flat = [part for name, start, _ in shown for part in (names.index(name), round(start, 4))]
        told["states"].append(
            {"label": label, "stays": flat, "end": round(shown[-1][2], 4), "whole": len(stays) == len(shown)}
        )
    told["state_names"] = [[name, *looks.pair(colour)] for name, colour in colours.items()]


def _longest(stays: Sequence[tuple[str, float, float]], span: tuple[float, float]) -> list[tuple[str, float, float]]:
    """The state of each part of the run that lasted longest in it."""
    step = (span[1] - span[0]) / STAYS_MOST
    kept: list[tuple[str, float, float]] = []
    first = 0
    for start, end in pairwise(span[0] + step * i for i in range(STAYS_MOST + 1)):
        while first < len(stays) and stays[first][2] <= start:
            first += 1
        lasted: dict[str, float] = {}
        for name, since, until in islice(stays, first, None):
            if since >= end:
                break
            lasted[name] = lasted.get(name, 0.0) + min(until, end) - max(since, start)
        if lasted:
            best = max(lasted, key=lambda name: lasted[name])
            if kept and kept[-1][0] == best:
                kept[-1] = (best, kept[-1][1], end)
            else:
                kept.append((best, start, end))
    return kept
