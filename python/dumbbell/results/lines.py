"""Runs as JSON objects, with the keys of `dumbbell run --json`: one run, or the means over repetitions with the half
widths of their intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import to_builtins

from . import figures
from .catalogue import FIGURES, Measured, figure
from .experiment import head
from .figures import Row
from .manifest import FlowSummary
from .statistic import Interval, finite, mean_interval

#: Figures that the summary of a flow has.
USUAL = tuple(name for name, one in FIGURES.items() if not one.of_run and one.field in FlowSummary.__struct_fields__)


def line(
    runs: Sequence[Measured], names: Sequence[str] = (), *, by: str = "flow", only: str | None = None
) -> dict[str, Any]:
    """The object of a run; of several repetitions their means, and under the same keys `half_width` with the half
    widths of the 95 % intervals, and `lacking` with the number of repetitions without the figure, where there are any.

    `names` are figures that flows have besides those of the summary. Repetitions whose numbers of flows differ are
    taken by table.
    """
    first = runs[0]
    if len(runs) == 1:
        begin = head(first.result.manifest, first.result.folder)
    else:
        warned = dict.fromkeys(warning for run in runs for warning in run.result.warnings)
        begin = {"scenario": first.result.name, "vary": first.result.vary, "n": len(runs)}
        begin |= {"dirs": [str(run.result.folder) for run in runs], "warnings": list(warned)}
    if first.window is not None:
        begin["window_s"] = list(first.window)
    return {**begin, **_of_run(runs), "flows": _flows(runs, names, by, only)}


def _of_run(runs: Sequence[Measured]) -> dict[str, Any]:
    """The links, and Jain's index; `jain_flows` is the smallest among the repetitions that have one."""
    summaries = [figures.summary(run) for run in runs]
    links = [
        _merged([to_builtins(summary.data_links[i]) for summary in summaries])
        for i in range(min(len(summary.data_links) for summary in summaries))
    ]
    of_links = {"link": links[0], **({"links": links[1:]} if links[1:] else {})}
    jain = _merged([{"jain": summary.jain} for summary in summaries])
    counted = [summary.jain_flows for summary in summaries if summary.jain is not None] or [
        summary.jain_flows for summary in summaries
    ]
    return {**of_links, **jain, "jain_flows": min(counted)}


def _merged(repetitions_: Sequence[Mapping[str, float | None]]) -> dict[str, Any]:
    """Means of the fields that each has, and the half widths of their intervals."""
    if len(repetitions_) == 1:
        return dict(repetitions_[0])
    known = {
        name: [value for values_of in repetitions_ if (value := values_of[name]) is not None]
        for name in repetitions_[0]
    }
    means = {name: mean_interval(values) if values else None for name, values in known.items()}
    return _with_widths(means, len(repetitions_))


def _with_widths(means: Mapping[str, Interval | None], n: int) -> dict[str, Any]:
    """The means of `n` repetitions with their half widths; `lacking` has how many of these a mean is not of."""
    known = {name: mean for name, mean in means.items() if mean is not None}
    widths = {name: mean.half for name, mean in known.items() if mean.half is not None}
    lacking = {name: n - mean.n for name, mean in known.items() if mean.n < n}
    known_means = {name: None if mean is None else finite(mean.mean) for name, mean in means.items()}
    return {**known_means, "half_width": widths, **({"lacking": lacking} if lacking else {})}


def _flows(runs: Sequence[Measured], names: Sequence[str], by: str, only: str | None) -> list[dict[str, Any]]:
    """The flows, or the tables, of a run or of its repetitions."""
    extra = [name for name in names if not figure(name).of_run and name not in USUAL]
    if len(runs) == 1 and by == "flow":
        known = figures.summary(runs[0]).flows
        rows = figures.rows(runs[0], extra, by=by, only=only)
        return [{**known_flow(known[row.flow or 0]), **_extra(row, extra)} for row in rows]
    if len({len(run.result.plan.flows) for run in runs}) > 1 and by == "flow":
        by = "table"
    wanted = [*USUAL, *extra]
    means = figures.over_repetitions([row for run in runs for row in figures.rows(run, wanted, by=by, only=only)])
    return [_flow(row, wanted) for row in means]


def known_flow(flow: FlowSummary) -> dict[str, Any]:
    """The summary of a flow; its goodput is null where it was not there."""
    return {**to_builtins(flow), "goodput_mbps": finite(flow.goodput_mbps)}


def _extra(row: Row, names: Sequence[str]) -> dict[str, float | None]:
    return {figure(name).field: finite(row.value(name)) for name in names}


def _flow(row: Row, names: Sequence[str]) -> dict[str, Any]:
    head = {"name": row.name, "transport": row.transport, "table": row.table, "cca": row.cca}
    head |= {"flows": row.flows, "flows_min": row.flows_min}
    means = {figure(name).field: row.values.get(name) for name in names}
    return {
        **head,
        **(
            _with_widths(means, row.n)
            if row.n > 1
            else {field: mean and finite(mean.mean) for field, mean in means.items()}
        ),
    }
