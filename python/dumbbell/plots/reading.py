"""The samples of a run as arrays: per flow, and on one grid of times for statistics over many flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dumbbell.errors import ResultError
from dumbbell.results.catalogue import figure
from dumbbell.results.windows import inside

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow

    from dumbbell.plan.view import Window
    from dumbbell.results.load import Result
    from dumbbell.results.metrics import Column

#: What an axis calls the round-trip times of a kernel.
SMOOTHED = figure("srtt").times_title


class Series(NamedTuple):
    """Times in seconds, ascending, and a value at each; nan where there is none."""

    t: Column
    values: Column


class Grid(NamedTuple):
    """Values of several flows at common times: a row per flow, a column per time; nan where a flow has none."""

    t: Column
    values: Column


def window_of(result: Result, given: Window | None) -> Window:
    """The part of the run that a figure covers: what was asked for, or the scenario's own window, or all. Raises
    ResultError outside the run.
    """
    return inside(result, given or result.plan.window or (0.0, result.plan.duration_s))


def samples(result: Result, flows: Sequence[int], names: Sequence[str]) -> dict[int, dict[str, Column]]:
    """Columns of the samples of each flow, its times as ``t`` in seconds. Raises ResultError where none were
    recorded.
    """
    import numpy as np

    table = result.samples
    if not table.num_rows:
        raise ResultError(f"{result.folder.name}: it has no samples; [record] samples = true records them")
    flow = np.asarray(table["flow"].to_numpy(zero_copy_only=False))
    order = np.argsort(flow, kind="stable")
    edges = np.searchsorted(flow[order], [*flows, *(f + 1 for f in flows)])
    columns = {
        name: np.asarray(table[name].to_numpy(zero_copy_only=False), dtype=float)[order] for name in ("t_us", *names)
    }
    by_flow = {}
    for i, number in enumerate(flows):
        first, last = edges[i], edges[i + len(flows)]
        by_flow[number] = {name: column[first:last] for name, column in columns.items() if name != "t_us"}
        by_flow[number]["t"] = columns["t_us"][first:last] / 1e6
    return by_flow


def column(result: Result, flows: Sequence[int], name: str, window: Window, *, scale: float = 1.0) -> dict[int, Series]:
    """A column of the samples inside the window, per flow."""
    by_flow = {}
    for flow, of in samples(result, flows, [name]).items():
        inside = (of["t"] >= window[0]) & (of["t"] <= window[1])
        by_flow[flow] = Series(of["t"][inside], of[name][inside] * scale)
    return by_flow


def _is_empty(column: pyarrow.ChunkedArray) -> bool:
    return bool(column.null_count == len(column))


def rtt_column(*results: Result) -> tuple[str, str]:
    """The column with round-trip times, and what an axis calls it: a kernel reports smoothed ones only, so all of these
    runs have smoothed ones where one of them is a kernel's.
    """
    measured = [result.samples for result in results if result.samples.num_rows]
    is_smoothed = any(_is_empty(table["rtt_us"]) and not _is_empty(table["srtt_us"]) for table in measured)
    return ("srtt_us", SMOOTHED) if is_smoothed or not measured else ("rtt_us", figure("rtt").times_title)


def bins(window: Window, bin_s: float) -> Column:
    """Edges of bins of `bin_s` from the window's start; the last one ends with the window and is dropped if it is
    shorter than half a bin.
    """
    import numpy as np

    start, end = window
    count = int((end - start) / bin_s + 1e-9)
    edges = start + bin_s * np.arange(count + 1)
    return np.asarray([*edges, end] if end - edges[-1] > bin_s / 2 else edges, dtype=float)


def rates(result: Result, flows: Sequence[int], name: str, window: Window, *, bin_s: float) -> Grid:
    """Growth of a column that only grows, per second in each bin (at its middle); nan in bins in which the flow was not
    open.
    """
    import numpy as np

    edges = bins(window, bin_s)
    if edges.size < 2:
        raise ResultError(
            f"bins of {bin_s:g} s do not fit into {window[1] - window[0]:g} s: choose shorter ones with --bin"
        )
    rows, plan = [], result.plan
    stops = np.asarray(result.flows["stop_us"].to_numpy(), dtype=float) / 1e6
    for flow, of in samples(result, flows, [name]).items():
        start = plan.flows[flow].start_ns / 1e9
        t, total = np.append(start, of["t"]), np.append(0.0, of[name])
        rate = np.diff(np.interp(edges, t, total, left=0.0)) / np.diff(edges)
        rate[(edges[1:] <= start) | (edges[:-1] >= stops[flow])] = np.nan
        rows.append(rate)
    return Grid((edges[1:] + edges[:-1]) / 2, np.array(rows))


def grid(result: Result, series: dict[int, Series]) -> Grid:
    """The series on common times, the sample interval apart."""
    import numpy as np

    step = result.plan.sample_ns / 1e9
    keys = [np.rint(of.t / step).astype(int) for of in series.values()]
    times = np.unique(np.concatenate(keys)) if keys else np.empty(0, dtype=int)
    values = np.full((len(keys), times.size), np.nan)
    for row, (at, of) in enumerate(zip(keys, series.values())):
        values[row, np.searchsorted(times, at)] = of.values
    return Grid(times * step, values)


def percentiles(grid: Grid, wanted: Sequence[float]) -> Column:
    """Percentiles over the flows at each time, a row each; nan at times without any flow."""
    import numpy as np

    over_time = np.full((len(wanted), grid.t.size), np.nan)
    some = ~np.isnan(grid.values).all(axis=0)
    if some.any():
        over_time[:, some] = np.nanpercentile(grid.values[:, some], wanted, axis=0)
    return over_time


def total(grid: Grid) -> Column:
    """The sum over the flows at each time; nan at times without any flow."""
    import numpy as np

    none = np.isnan(grid.values).all(axis=0)
    sums: Column = np.where(none, np.nan, np.nansum(grid.values, axis=0))
    return sums
