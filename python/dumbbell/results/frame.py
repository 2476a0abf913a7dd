"""Runs as one Arrow table and as a table of a notebook, each row with what tells its run from the others.

Figures cover the scenario's `measure`, as those of `dumbbell show` do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import units
from dumbbell.units import value_text

from . import axis, figures
from .catalogue import Measured, figure, shown
from .experiment import repetitions
from .lines import known_flow
from .texts import interval_text, table_html

if TYPE_CHECKING:
    import pyarrow as pa

    from .result import Result

#: Columns that say which run a row is of, before those of varied keys.
OF_RUN = ("run", "scenario", "repetition", "seed")
#: Combinations that a notebook shows.
ROWS_HTML = 40


def column_name(key: str) -> str:
    """The column of a varied key: the key, or ``vary.seed`` for a varied seed, because ``seed`` is the run's own."""
    return f"vary.{key}" if key in OF_RUN else key


class Varied(NamedTuple):
    """A varied key in tables: a column of numbers with their unit and one of the text, or the text alone."""

    key: str
    values: Sequence[Any]
    """All that the key has, in order of appearance."""
    numbers: Sequence[float | bool] | None
    """The same as numbers, or as truth values; None for words, and for quantities of several kinds."""
    unit: str = ""

    @classmethod
    def of(cls, key: str, values: Sequence[Any]) -> Varied:
        """Plain numbers stay as they are; quantities get the unit that pictures have on their axis."""
        kinds = {type(value) for value in values}
        if kinds <= {int, float} or kinds == {bool}:
            return cls(key, values, values)
        read = axis.read(key, values)
        return cls(key, values, None if read is None else read.numbers, "" if read is None else read.unit)

    def columns(self, run: Result) -> dict[str, Any]:
        """The column or columns, with this run's values; None where it does not have the key."""
        name, is_there = column_name(self.key), self.key in run.vary
        text = value_text(run.vary[self.key]) if is_there else None
        if self.numbers is None:
            return {name: text}
        number = self.numbers[self.values.index(run.vary[self.key])] if is_there else None
        return {name: number, **({f"{name}.text": text} if self.unit else {})}


def _with_units(table: pa.Table, varied: Sequence[Varied]) -> pa.Table:
    """The table with the unit of each varied key in the metadata of its column."""
    schema = table.schema
    for key in varied:
        if key.unit:
            at = schema.get_field_index(column_name(key.key))
            schema = schema.set(at, schema.field(at).with_metadata({"unit": key.unit}))
    return table.cast(schema) if schema is not table.schema else table


def told_apart(run: Result, table: pa.Table, varied: Sequence[Varied]) -> pa.Table:
    """A table of one run with columns before its own that say which run it is of."""
    import pyarrow as pa

    rows = table.num_rows
    words = {"run": run.folder.name, "scenario": run.name}
    numbers: dict[str, pa.Scalar] = {}
    for key in varied:
        for name, value in key.columns(run).items():
            if key.numbers is None or name.endswith(".text"):
                words[name] = value
            else:
                numbers[name] = pa.scalar(value, pa.array(key.numbers).type)
    first = {
        name: pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), pa.array([word], pa.string()))
        for name, word in words.items()
    }
    first |= {"repetition": pa.repeat(run.repetition, rows), "seed": pa.repeat(run.seed, rows)}
    first |= {name: pa.repeat(number, rows) for name, number in numbers.items()}
    order = [*OF_RUN, *(name for key in varied for name in key.columns(run))]
    whole = pa.table([*(first[name] for name in order), *table.columns], names=[*order, *table.column_names])
    return _with_units(whole, varied)


def of_flows(runs: Sequence[Result], varied: Sequence[Varied]) -> pa.Table:
    """One row per run and flow with the figures of its window, as `Results.to_table` describes it."""
    import pyarrow as pa

    rows = []
    for run in map(figures.measured, runs):
        result, summary = run.result, figures.summary(run)
        link = {f"link_{name}": summary.link[name] for name in summary.link.__struct_fields__}
        vary = {name: value for key in varied for name, value in key.columns(result).items()}
        start, end = run.window or (0.0, result.plan.duration_s)
        head = {"scenario": result.name, "repetition": result.repetition, "seed": result.seed, **vary}
        head |= {"window_start_s": start, "window_end_s": end}
        rows += [
            {**head, "flow": i, **known_flow(flow), "jain": summary.jain, **link}
            for i, flow in enumerate(summary.flows)
        ]
    return _with_units(pa.Table.from_pylist(rows), varied if rows else [])


def html(results: Sequence[Result]) -> str:
    """The first combinations as a table for a notebook: a row for each `[[flow]]` table, means over repetitions with
    95 % intervals as in `dumbbell show`, with the window of the figures where a run has one.
    """
    cases = list(repetitions(results).values())
    shown_cases = [[figures.measured(run) for run in same] for same in cases[:ROWS_HTML]]
    if not shown_cases:
        return "<p>no runs</p>"
    is_windowed = any(run.window for runs in shown_cases for run in runs)
    heads = [
        "run",
        *(["window, s"] if is_windowed else []),
        "flow",
        *(figure(name).heading for name in shown("notebook")),
    ]
    table = table_html(heads, (cells for runs in shown_cases for cells in _cells(runs, is_windowed=is_windowed)))
    more = len(cases) - len(shown_cases)
    most = max(len(runs) for runs in shown_cases)
    note = f"<p>means of {most} repetitions ± 95 % interval</p>" if most > 1 else ""
    rest = f"<p>... and {more} more combination{'s' * (more > 1)}</p>" if more else ""
    return f"{table}{note}{rest}"


def _cells(runs: Sequence[Measured], *, is_windowed: bool) -> list[list[str]]:
    """The rows of a run, or of the repetitions of one."""
    names = shown("notebook")
    run = runs[0]
    start, end = run.window or (0.0, run.result.plan.duration_s)
    name = run.result.folder.name
    if len(runs) > 1:
        name = " ".join([run.result.name, units.varied_text(run.result.vary)]).rstrip()
    first = [name, *([f"{start:g} to {end:g}"] if is_windowed else [])]
    rows = figures.over_repetitions([row for each in runs for row in figures.rows(each, names, by="table")])
    return [[*first, row.label, *(interval_text(name, row.values.get(name)) for name in names)] for row in rows]
