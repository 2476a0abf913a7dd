"""Distributions as their percentiles, and every repetition beside its mean."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from dumbbell.plots import groups, look, reading
from dumbbell.results import figures, metrics
from dumbbell.results.catalogue import figure, shown
from dumbbell.results.experiment import Key, repetitions
from dumbbell.results.texts import interval_text

from . import looks
from .gathered import labels
from .overtime import numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dumbbell.plots.groups import Group
    from dumbbell.results.catalogue import Measured
    from dumbbell.results.figures import Row
    from dumbbell.results.load import Result
    from dumbbell.results.statistic import Column
    from dumbbell.results.windows import Window

#: Combinations with distributions.
CASES_MOST = 100
#: Percentiles through which a distribution is drawn: 0 to 100.
PERCENTILES = 101


def _rtts(result: Result, group: Group | None, window: Window, *, column: str = "rtt_us") -> Column:
    import numpy as np

    assert group is not None
    span = reading.window_of(result, window)
    read = reading.column(result, group.flows, column, span, scale=1e-3)
    pooled = np.concatenate([line.values for line in read.values()]) if read else np.empty(0)
    known: Column = pooled[~np.isnan(pooled)]
    return known


def _waits(result: Result, _: Group | None, window: Window) -> Column:
    from dumbbell.results.windows import queue_inside

    return queue_inside(result, "sojourn_us", window, 0) / 1000


def _completions(result: Result, group: Group | None, window: Window) -> Column:
    assert group is not None
    return metrics.completion_times_s(result, list(group.flows), window)


def _latencies(result: Result, group: Group | None, window: Window) -> Column:
    assert group is not None
    return metrics.request_latencies_s(result, list(group.flows), window) * 1e3


#: Title with unit, whether it is of groups of flows, and how its values are read.
_Kind: TypeAlias = "tuple[str, bool, Callable[[Result, Group | None, Window], Column]]"
KINDS: dict[str, _Kind] = {
    "rtt": (figure("rtt").times_title, True, _rtts),
    "queue": (figure("sojourn").times_title, False, _waits),
    "fct": (figure("fct").times_title, True, _completions),
    "latency": (figure("latency").times_title, True, _latencies),
}


def distributions(runs: Sequence[Measured]) -> tuple[list[dict[str, Any]], list[str]]:
    """Percentiles 0 to 100 of each group, for each kind and combination, repetitions together."""
    windows = {id(run.result): run.window for run in runs}
    cases = list(repetitions(run.result for run in runs).values())
    notes = (
        [f"Distributions of the first {CASES_MOST} of {len(cases)} combinations."] if len(cases) > CASES_MOST else []
    )
    cases = cases[:CASES_MOST]
    names = labels([same[0] for same in cases])
    drawn = []
    column, rtt_title = reading.rtt_column(*[run.result for run in runs])
    kinds: dict[str, _Kind] = {**KINDS, "rtt": (rtt_title, True, partial(_rtts, column=column))}
    for kind, (title, of_groups, read) in kinds.items():
        panels = []
        for name, same in zip(names, cases):
            if kind == "rtt" and not same[0].samples.num_rows:
                continue
            lines = _lines(same, windows, read, of_groups=of_groups)
            if lines:
                panels.append({"title": name, "lines": lines})
        if panels:
            drawn.append({"kind": kind, "title": title, "panels": panels})
    return drawn, notes


def _lines(
    same: Sequence[Result],
    windows: dict[int, Window],
    read: Callable[[Result, Group | None, Window], Column],
    *,
    of_groups: bool,
) -> list[dict[str, Any]]:
    import numpy as np

    lines: list[list[tuple[Result, Any]]] = groups.together(same) if of_groups else [[(run, None) for run in same]]
    kinds: list[Group | None] = [pairs[0][1] for pairs in lines]
    colours = groups.colours([group for group in kinds if group is not None])
    drawn = []
    for i, (group, pairs) in enumerate(zip(kinds, lines)):
        pooled = np.concatenate([read(run, own, windows[id(run)]) for run, own in pairs])
        if pooled.size:
            drawn.append({
                "label": group.label if group else "queue", "count": int(pooled.size),
                "colour": looks.pair(colours[group] if group else look.NEUTRAL), "dash": i % len(looks.DASHES),
                "at": numbers(np.percentile(pooled, np.linspace(0, 100, PERCENTILES))),
            })  # fmt: skip
    return drawn


def repeated(runs: Sequence[Measured]) -> list[dict[str, Any]]:
    """Each figure of each combination with its repetitions, its mean and its 95 % interval; nothing where nothing is
    repeated.
    """
    wanted = shown("repeated")
    listed = [row for run in runs for row in figures.rows(run, wanted, by=figures.default_by(runs))]
    whole = [(figures.mean_row(same), same) for same in figures.together(listed).values() if len(same) > 1]
    names = _names(runs)
    drawn = []
    for name in wanted:
        known = figure(name)
        rows = [_repeated(row, name, same, names) for row, same in whole if name in row.values]
        if known.of_run:
            rows = list({row["case"]: {**row, "flow": ""} for row in reversed(rows)}.values())[::-1]
        if rows:
            drawn.append({"metric": name, "title": known.axis_title, "rows": rows})
    return drawn


def _names(runs: Sequence[Measured]) -> dict[Key, str]:
    firsts = [same[0] for same in repetitions(run.result for run in runs).values()]
    return {first.experiment: name for first, name in zip(firsts, labels(firsts))}


def _repeated(row: Row, name: str, same: Sequence[Row], names: dict[Key, str]) -> dict[str, Any]:
    """A figure of a row, and of each of the repetitions that it is the mean of."""
    of, value = figure(name), row.values[name]
    mean, half = value.mean * of.scale, value.half and value.half * of.scale
    return {
        "case": names.get(row.experiment, row.scenario),
        "flow": row.name if row.flow is None or row.flows > 1 else f"{row.flow}: {row.name}",
        "colour": looks.pair(look.of(row.cca).colour),
        "mean": float(f"{mean:.6g}"),
        "interval": None if half is None else [float(f"{end:.6g}") for end in of.possible(mean, half)],
        "text": interval_text(name, value),
        "values": [
            float(f"{repetition.values[name].mean * of.scale:.6g}") for repetition in same if name in repetition.values
        ],
    }
