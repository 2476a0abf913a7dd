"""Completion times of finite flows and latencies of requests: their distributions, and slowdown over size."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from dumbbell.errors import ResultError
from dumbbell.results import metrics
from dumbbell.results.catalogue import figure
from dumbbell.results.experiment import repetitions

from . import captions, cells, groups, look, reading, style

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

    from dumbbell.plan.view import Window
    from dumbbell.results.load import Result, Results
    from dumbbell.results.metrics import Column

    from .groups import Group

#: Lines of one figure; bins of size per decade, and flows that a bin needs for its median and for its 99th percentile.
_LINES_MOST, _BINS, _MEDIAN_FROM, _P99_FROM = 12, 3, 5, 50


class Kind(NamedTuple):
    """Flows of one line: a group under one combination of varied values, over all repetitions."""

    label: str
    traits: list[look.Trait]
    runs: list[tuple[Result, Group]]

    def finite(self, window: Window | None) -> tuple[Column, Column, Column, int]:
        """Sizes in bytes (nan of flows that end with a number of answers), completion times and ideal ones in seconds
        of those that completed; how many opened.
        """
        import numpy as np

        sizes, times, ideal, opened = [], [], [], 0
        for run, group in self.runs:
            start, end = reading.window_of(run, window)
            plan = run.plan
            way = plan.way(group.flows[0])
            rate = min(link.bits(0, plan.duration_ns) for link in way) / plan.duration_s
            columns = (
                np.asarray(run.flows[name].to_numpy(zero_copy_only=False), dtype=float)
                for name in ("start_us", "completed_us", "size_bytes", "rtt_us")
            )
            start_us, done, size, rtt = (column[list(group.flows)] for column in columns)
            finite = np.array([plan.flows[flow].is_finite for flow in group.flows])
            mine = finite & (start_us >= start * 1e6) & (start_us <= end * 1e6)
            opened += int(mine.sum())
            mine &= ~np.isnan(done)
            sizes.append(size[mine])
            times.append((done - start_us)[mine] / 1e6)
            ideal.append(size[mine] * 8 / rate + rtt[mine] / 1e6)
        return np.concatenate(sizes), np.concatenate(times), np.concatenate(ideal), opened

    def latencies(self, window: Window | None) -> tuple[Column, int]:
        """Latencies in seconds of the messages that arrived, and how many others were asked for."""
        import numpy as np

        spans = [(run, group.flows, reading.window_of(run, window)) for run, group in self.runs]
        times = [metrics.request_latencies_s(run, flows, span) for run, flows, span in spans]
        return np.concatenate(times), sum(metrics.unfinished_requests(run, flows, span) for run, flows, span in spans)


@style.styled
def fct(
    results: Results | Result,
    *,
    ax: Axes | None = None,
    flows: str | Sequence[int] | None = None,
    window: Window | None = None,
    log: bool = True,
    **page: Unpack[style.Page],
) -> Axes:
    """Cumulative distribution of completion times, a line per group and varied values, with its median and 99th
    percentile.

    Repetitions count together. The share is of all finite flows, so a line that ends below 1 had flows which did not
    complete. A figure of its own has `slowdown` next to it where sizes differ and a bin of size has enough flows.

    Parameters
    ----------
    results
        Runs with flows that have a size, or a number of answers.
    ax
        Axes to draw into; a new figure unless given.
    flows
        Only these flows: numbers, or text such as ``0,3-5`` or a name; all unless given.
    window
        Only flows that open in it: start and end in seconds; the scenario's `measure`, or the whole run, unless given.
    log
        Whether the axis of the time is logarithmic.
    """
    import numpy as np

    kinds = _finite_kinds(results, flows)
    by_label = {kind.label: kind.finite(window) for kind in kinds}
    if not any(times.size for _, times, *_ in by_label.values()):
        opened = sum(opened for *_, opened in by_label.values())
        raise ResultError(f"none of the {opened} flows with a size or a number of answers completed")
    every = np.concatenate([sizes for sizes, *_ in by_label.values()])
    several = len(np.unique(every[~np.isnan(every)])) > 1
    pair = (
        ax is None
        and several
        and any(_binned(sizes, times, 50, _MEDIAN_FROM) for sizes, times, *_ in by_label.values())
    )
    is_narrow = style.is_narrow(page)
    sheet = style.Sheet(ax, page, columns=2 if pair and not is_narrow else 1, rows=2 if pair and is_narrow else 1,
                        height=2.8)  # fmt: skip
    for kind, own in zip(kinds, _looks(kinds)):
        _, times, _, opened = by_label[kind.label]
        _distribution(sheet, kind.label, times, opened - times.size, own)
    _time_axis(sheet.ax, figure("fct").times_title, log=log)
    sheet.ax.set_ylabel("Share of flows (CDF)")
    for beside in sheet.axes[1:]:
        _slowdowns(sheet, beside, kinds, window)
    counted = [(times.size, opened) for _, times, _, opened in by_label.values()]
    sheet.finish(_caption(results, window) + _of_all(counted, "flows", has_slowdown=pair) + _pooled(kinds))
    return sheet.ax


@style.styled
def slowdown(
    results: Results | Result,
    *,
    ax: Axes | None = None,
    flows: str | Sequence[int] | None = None,
    window: Window | None = None,
    **page: Unpack[style.Page],
) -> Axes:
    """Completion time over the ideal one (size over the mean rate of the slowest link that the data cross, and one RTT)
    against size: median and 99th percentile in bins of size.

    A bin needs 5 flows for its median and 50 for its 99th percentile. Parameters as of `fct`. Raises ResultError where
    no bin has a median.
    """
    kinds = _finite_kinds(results, flows)
    if not any(_binned(sizes, times, 50, _MEDIAN_FROM) for sizes, times, *_ in (kind.finite(window) for kind in kinds)):
        raise ResultError(
            f"a bin of size needs {_MEDIAN_FROM} flows that completed, and no group has them: plot fct shows few flows"
        )
    sheet = style.Sheet(ax, page)
    _slowdowns(sheet, sheet.ax, kinds, window)
    sheet.finish(_caption(results, window))
    return sheet.ax


@style.styled
def latency(
    results: Results | Result,
    *,
    ax: Axes | None = None,
    flows: str | Sequence[int] | None = None,
    window: Window | None = None,
    log: bool = True,
    **page: Unpack[style.Page],
) -> Axes:
    """Cumulative distribution of the time from a request, or a write, until the last byte of its message had arrived.
    Parameters as of `fct`.
    """
    kinds = _kinds(results, flows, lambda run, group: any(run.plan.flows[flow].sends_messages for flow in group.flows))
    if not kinds:
        raise ResultError("no flow of these runs sends messages; a [flow.workload] makes it")
    sheet = style.Sheet(ax, page)
    counted: list[tuple[int, int]] = []
    for kind, own in zip(kinds, _looks(kinds)):
        times, missing = kind.latencies(window)
        counted.append((times.size, times.size + missing))
        _distribution(sheet, kind.label, times, missing, own)
    if not any(arrived for arrived, _ in counted):
        raise ResultError(f"none of the {sum(asked for _, asked in counted)} messages that were asked for arrived")
    _time_axis(sheet.ax, "Latency of a message (s)", log=log)
    sheet.ax.set_ylabel("Share of messages (CDF)")
    sheet.finish(_caption(results, window) + _of_all(counted, "messages") + _pooled(kinds))
    return sheet.ax


def _of_all(counted: Sequence[tuple[int, int]], what: str, *, has_slowdown: bool = False) -> str:
    """Name what the percentiles count where some did not complete; `counted` has (completed, of how many)."""
    if all(completed == opened for completed, opened in counted):
        return ""
    beside = "; slowdowns are of those that completed" if has_slowdown else ""
    return f"; p50 and p99 are of all {what}, those that did not complete included{beside}"


def _pooled(kinds: Sequence[Kind]) -> str:
    """Say where percentiles are not those of tables, which have means over repetitions."""
    is_repeated = any(len(kind.runs) > 1 for kind in kinds)
    return "; percentiles of all repetitions together (tables: mean of each repetition's)" if is_repeated else ""


def _caption(results: Results | Result, window: Window | None) -> str:
    return captions.of_runs(_runs(results), window)


def _runs(results: Results | Result) -> list[Result]:
    from dumbbell.results.load import Results

    return list(results) if isinstance(results, Results) else [results]


def _finite_kinds(results: Results | Result, flows: str | Sequence[int] | None) -> list[Kind]:
    kinds = _kinds(results, flows, lambda run, group: any(run.plan.flows[flow].is_finite for flow in group.flows))
    if not kinds:
        raise ResultError("no flow of these runs has a size or a number of answers, so none has a completion time")
    return kinds


def _kinds(
    results: Results | Result, flows: str | Sequence[int] | None, wanted: Callable[[Result, Group], bool]
) -> list[Kind]:
    """The groups that a figure is about, under each combination of varied values."""
    from dumbbell.results.load import Results

    runs = Results(_runs(results))
    varied = list(cells.varied_keys(runs, needed=False).values())
    kinds: list[Kind] = []
    grouped = cells.grouped_by(runs, flows)
    for same in repetitions(runs).values():
        vary = {key.key: key.value_of(same[0]) for key in varied}
        for pairs in groups.together(same, grouped):
            run, group = pairs[0]
            if not wanted(run, group):
                continue
            cell = cells.Cell(vary, run, group, group.table, [], cells.sizes_of([of for _, of in pairs]))
            others = [key.trait(vary[key.key]) for key in varied if not cells.is_of(key, [cell])]
            traits = [look.Trait(group.cca, is_cca=True), look.Trait(group.table), *others]
            kinds.append(Kind(cells.label(cell, varied, None, [], figure("fct")), traits, pairs))
    if len(kinds) > _LINES_MOST:
        raise ResultError(
            f"{len(kinds)} distributions, and this plot has room for {_LINES_MOST}: choose runs with --run, such as"
            " --run '*cca=bbr*'"
        )
    return kinds


def _looks(kinds: Sequence[Kind]) -> list[dict[str, Any]]:
    return [own.line for own in look.dress([kind.traits for kind in kinds])]


def _distribution(sheet: style.Sheet, label: str, times: Column, missing: int, own: dict[str, Any]) -> None:
    """A step curve of the times, with the median and 99th percentile of all, the `missing` ones above these."""
    import numpy as np

    ordered, begun = np.sort(times), times.size + missing
    if not ordered.size:
        sheet.entry(sheet.ax.plot([], [], **own)[0], f"{label}: none of {begun} completed")
        return
    steps = (
        np.concatenate([ordered[:1], ordered]),
        np.arange(ordered.size + 1) / begun,
    )  # from 0, so that one time alone is a line, too
    drawn = sheet.ax.step(*steps, where="post", label=label, **own)[0]
    of_all = metrics.distribution(ordered, unreached=missing)
    for at, height, marker in ((of_all.p50, 0.5, "o"), (of_all.p99, 0.99, "D")):
        if isfinite(at):
            sheet.ax.plot([at], [height], marker, color=own["color"], markersize=5, markeredgecolor="white", zorder=4)
    count = f"{ordered.size}" if not missing else f"{ordered.size} of {begun} complete"
    sheet.entry(drawn, f"{label} ({count}): ● p50 {_time(of_all.p50)}, ◆ p99 {_time(of_all.p99)}")


def _time(seconds: float) -> str:
    if not isfinite(seconds):
        return "not reached"
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"


def _time_axis(ax: Axes, label: str, *, log: bool) -> None:
    ax.set_ylim(0, 1.02)
    ax.set_xlabel(label)
    if log:
        ax.set_xscale("log")
        style.plain_log(ax.xaxis, *ax.get_xlim())
    else:
        ax.set_xlim(left=0)


def _slowdowns(sheet: style.Sheet, ax: Axes, kinds: Sequence[Kind], window: Window | None) -> None:
    from math import floor

    from matplotlib.lines import Line2D

    lowest = 1.0
    for kind, own in zip(kinds, _looks(kinds)):
        sizes, times, ideal, _ = kind.finite(window)
        ratio = times / ideal
        for percent, needed, line in ((50, _MEDIAN_FROM, "-"), (99, _P99_FROM, ":")):
            points = _binned(sizes, ratio, percent, needed)
            lowest = min([lowest, *(value for _, value in points)])
            marker = "o" if percent == 50 else "D"
            drawn = ax.plot(
                [at for at, _ in points],
                [value for _, value in points],
                color=own["color"],
                linestyle=line,
                marker=marker,
                markersize=3.5,
                linewidth=own.get("linewidth"),
            )[0]
            if percent == 50 and len(sheet.axes) == 1:
                sheet.entry(drawn, kind.label if points else f"{kind.label}: fewer than {needed} of any size")
    black: dict[str, Any] = {"color": look.NEUTRAL, "markersize": 3.5}
    sheet.entry(Line2D([], [], linestyle="-", marker="o", **black), "slowdown: median in a bin of size")
    sheet.entry(Line2D([], [], linestyle=":", marker="D", **black), "slowdown: its 99th percentile")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_ylim(bottom=max(floor(lowest * 10) / 10, 0.1))
    from dumbbell.units import bytes_text

    style.plain_log(ax.xaxis, *ax.get_xlim(), text=lambda value: bytes_text(round(value)))
    style.plain_log(ax.yaxis, *ax.get_ylim())
    ax.set_xlabel("Size of the flow")
    style.value_title(sheet, ax, "Slowdown: time / (size / rate + RTT)")


def _binned(sizes: Column, values: Column, percent: float, needed: int) -> list[tuple[float, float]]:
    """(geometric mean of the sizes, percentile of the values) in bins of size with enough flows, three per decade."""
    import numpy as np

    known = ~np.isnan(sizes)
    sizes, values = sizes[known], values[known]
    number = np.floor(np.log10(np.maximum(sizes, 1)) * _BINS + 1e-9).astype(int)
    points = []
    for this_bin in np.unique(number):
        mine = number == this_bin
        if mine.sum() >= needed:
            size = round(float(np.exp(np.log(sizes[mine]).mean())), 3)  # the same of all groups with one size
            points.append((size, float(np.percentile(values[mine], percent))))
    return points
