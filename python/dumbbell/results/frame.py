"""Runs as one Arrow table and as a table of a notebook, each row with what tells its run from the others.

Figures cover the scenario's `measure`, as those of `dumbbell show` do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from dumbbell.units import value_text

from . import figures
from .catalogue import Measured, figure, shown
from .lines import known_flow
from .texts import interval_text

if TYPE_CHECKING:
    import pyarrow as pa

    from .result import Result

#: Columns that say which run a row is of, before those of varied keys.
OF_RUN = ("run", "scenario", "repetition", "seed")
#: Runs that a notebook shows.
ROWS_HTML = 40


def column_name(key: str) -> str:
    """The column of a varied key: the key, or ``vary.seed`` for a varied seed, because ``seed`` is the run's own."""
    return f"vary.{key}" if key in OF_RUN else key


def told_apart(run: Result, table: pa.Table, varied: Sequence[str]) -> pa.Table:
    """A table of one run with columns before its own that say which run it is of."""
    import pyarrow as pa

    rows = table.num_rows
    words = {
        "run": run.folder.name,
        "scenario": run.name,
        **{column_name(key): value_text(run.vary[key]) if key in run.vary else None for key in varied},
    }
    first = {
        name: pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), pa.array([word], pa.string()))
        for name, word in words.items()
    }
    first |= {"repetition": pa.repeat(run.repetition, rows), "seed": pa.repeat(run.seed, rows)}
    order = [*OF_RUN, *map(column_name, varied)]
    return pa.table([*(first[name] for name in order), *table.columns], names=[*order, *table.column_names])


def of_flows(runs: Sequence[Result], varied: Mapping[str, Sequence[Any]]) -> pa.Table:
    """One row per run and flow with the figures of its window, as `Results.to_table` describes it; `varied` has the
    values of each varied key.
    """
    import pyarrow as pa

    are_plain = {key: _are_plain(values) for key, values in varied.items()}
    rows = []
    for run in map(figures.measured, runs):
        result, summary = run.result, figures.summary(run)
        link = {f"link_{name}": summary.link[name] for name in summary.link.__struct_fields__}
        vary = {
            column_name(key): result.vary.get(key)
            if is_plain or key not in result.vary
            else value_text(result.vary[key])
            for key, is_plain in are_plain.items()
        }
        start, end = run.window or (0.0, result.plan.duration_s)
        head = {"scenario": result.name, "repetition": result.repetition, "seed": result.seed, **vary}
        head |= {"window_start_s": start, "window_end_s": end}
        rows += [
            {**head, "flow": i, **known_flow(flow), "jain": summary.jain, **link}
            for i, flow in enumerate(summary.flows)
        ]
    return pa.Table.from_pylist(rows)


def _are_plain(values: Sequence[Any]) -> bool:
    """True if a column of Arrow holds these values as they are: numbers alone, or truth values alone."""
    kinds = {type(value) for value in values}
    return kinds <= {int, float} or kinds == {bool}


def html(results: Sequence[Result]) -> str:
    """The first runs as a table for a notebook: a row for each `[[flow]]` table, with the window of its figures where
    a run has one.
    """
    runs = [figures.measured(run) for run in results[:ROWS_HTML]]
    if not runs:
        return "<p>no runs</p>"
    is_windowed = any(run.window for run in runs)
    heads = [
        "run",
        *(["window, s"] if is_windowed else []),
        "flow",
        *(figure(name).heading for name in shown("notebook")),
    ]
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
        for run in runs
        for cells in _cells(run, is_windowed=is_windowed)
    )
    more = len(results) - len(runs)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" + (
        f"<p>... and {more} more runs</p>" if more else ""
    )


def _cells(run: Measured, *, is_windowed: bool) -> list[list[str]]:
    """The rows of a run."""
    names = shown("notebook")
    start, end = run.window or (0.0, run.result.plan.duration_s)
    first = [run.result.folder.name, *([f"{start:g} to {end:g}"] if is_windowed else [])]
    return [
        [
            *first,
            row.label,
            *(interval_text(name, row.values.get(name)) for name in names),
        ]
        for row in figures.rows(run, names, by="table")
    ]
