"""`dumbbell show`: the figures of one or several result folders as a table, JSON, CSV or Markdown, over runs or
repetitions, or as changes between two.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dumbbell.errors import ScenarioError, wrong
from dumbbell.results import figures, manifest
from dumbbell.results.catalogue import FIGURES, Measured, figure
from dumbbell.results.figures import Row
from dumbbell.results.lines import line
from dumbbell.results.load import Result, Results, load
from dumbbell.results.statistic import Interval, mean_interval
from dumbbell.scenario import units
from dumbbell.scenario.units import UnitError

from . import OK, table
from .table import Column
from .where import chosen, condition

#: What tables show unless told otherwise, in their order, each with how soon a narrow terminal does without it.
_RANKS = {
    "goodput": 1, "share": 2, "retrans_rate": 8, "srtt": 7, "srtt_p95": 12, "fct": 3, "fct_p99": 6, "latency": 3,
    "latency_p99": 6, "unfinished": 10,
    "jain": 9, "utilization": 4, "queue": 5, "queue_p95": 13, "drops": 11, "marks": 14,
}  # fmt: skip
#: What `--diff` compares unless told otherwise.
_DIFFERENCES = ("goodput", "share", "retrans_rate", "srtt", "fct", "latency", "jain", "utilization", "queue", "drops")
#: Rows that `dumbbell run` prints at its end.
ROWS_MAX = 40


class Part(NamedTuple):
    """One of the folders to show, with its rows and the runs behind them."""

    folder: str
    runs: list[Measured]
    rows: list[Row]


def main(arguments: argparse.Namespace) -> int:
    """The figures of the folders in `arguments`."""
    names = _names(arguments.columns)
    start, end = (
        _seconds(value, f"--{option}") for option, value in (("from", arguments.start), ("to", arguments.end))
    )
    found = [(folder, [figures.measured(run, start, end) for run in load(folder)]) for folder in arguments.dirs]
    for folder in arguments.dirs:
        note = unfinished(Path(folder))
        if note:
            print(f"dumbbell: {note}", file=sys.stderr)
    if arguments.diff:
        return _diff(found, names, arguments)
    every = names or _defaults([run for _, runs in found for run in runs])
    asked = list(dict.fromkeys([*every, *(condition(text).name for text in arguments.where or ())]))
    parts = [_part(folder, runs, asked, arguments) for folder, runs in found]
    if arguments.where and not any(part.rows for part in parts):
        print(f"dumbbell: no row has {' and '.join(arguments.where)}", file=sys.stderr)
    if arguments.json:
        return _print_json(parts, names or [], arguments)
    if arguments.csv:
        return _print_csv(parts, every)
    sys.stdout.write(_table(parts, every, arguments))
    return OK


def of_runs(folders: Sequence[Path], out: Path) -> str:
    """What `dumbbell run` prints at its end: the same table, cut where it is long."""
    runs = [figures.measured(run) for run in Results.of(folders)]
    wanted = argparse.Namespace(
        runs=False, by=None, flows=None, sort=None, reverse=False, wide=False, markdown=False, columns=None, where=None
    )
    names = _defaults(runs)
    part = _part(str(out), runs, names, wanted)
    cut = part._replace(rows=part.rows[:ROWS_MAX])
    more = len(part.rows) - len(cut.rows)
    return _table([cut], names, wanted) + (f"... and {more} more rows: dumbbell show {out}\n" if more else "")


def unfinished(folder: Path) -> str:
    """What is to be said of a sweep that is not complete; nothing of one that is."""
    try:
        expected = manifest.expected_runs(folder)
        missing = [name for name in expected if not (folder / name / "manifest.json").is_file()]
    except (OSError, ValueError):
        return ""
    return (
        f"{folder}: {len(expected) - len(missing)} of {len(expected)} runs are there; `dumbbell run --resume` runs the"
        " rest"
        if missing
        else ""
    )


def _names(text: str | None) -> list[str]:
    if text is None:
        return []
    if text == "all":
        return list(FIGURES)
    names = [name.strip() for name in text.split(",")]
    for name in names:
        figure(name)
    return list(dict.fromkeys(names))


def _seconds(value: str | None, option: str) -> float | None:
    if value is None:
        return None
    try:
        return units.span_ns(value) / 1e9
    except UnitError as error:
        raise wrong(option, value, str(error)) from None


def _defaults(runs: Sequence[Measured]) -> list[str]:
    """The usual figures, of those that these runs have."""
    flows = [flow for run in runs for flow in run.result.plan.flows]
    without = set() if any(flow.is_finite for flow in flows) else {"fct", "fct_p99", "unfinished"}
    without |= set() if any(len(run.result.plan.flows) > figures.FLOWS_MAX for run in runs) else {"fct_p99"}
    without |= set() if any(len(run.result.plan.flows) > 1 for run in runs) else {"share", "jain"}
    without |= (
        set()
        if any(flow.workload and flow.workload.kind == "request_response" for flow in flows)
        else {"latency", "latency_p99"}
    )
    return [name for name in _RANKS if name not in without]


def _part(folder: str, runs: list[Measured], names: Sequence[str], arguments: argparse.Namespace) -> Part:
    by = arguments.by or ("table" if any(len(run.result.plan.flows) > figures.FLOWS_MAX for run in runs) else "flow")
    rows = [row for run in runs for row in figures.rows(run, names, by=by, only=arguments.flows)]
    if not arguments.runs:
        rows = figures.over_repetitions(rows)
    return Part(folder, runs, _sorted(chosen(rows, arguments.where or ()), arguments))


def _sorted(rows: list[Row], arguments: argparse.Namespace) -> list[Row]:
    if arguments.sort is None:
        return rows[::-1] if arguments.reverse else rows
    keys = list(dict.fromkeys(varied for row in rows for varied in row.vary))
    key = dict(zip(_shortened(keys), keys)).get(arguments.sort, arguments.sort)
    if key in keys or key in ("name", "run"):
        return sorted(
            rows,
            key=lambda row: _order(row.vary.get(key) if key in keys else getattr(row, key)),
            reverse=arguments.reverse,
        )
    if not any(key in row.values for row in rows):
        raise wrong("--sort", key, "one of: " + ", ".join(["name", *keys, *FIGURES]), [*keys, *FIGURES])
    known = [row for row in rows if key in row.values]
    return sorted(known, key=lambda row: row.values[key].mean, reverse=arguments.reverse) + [
        row for row in rows if key not in row.values
    ]


def _order(value: object) -> tuple[float, str]:
    """Numbers by their size whatever their unit is written before, words after them."""
    written = units.value_text(value)
    digits = written[: next((i for i, c in enumerate(written) if not (c.isdecimal() or c in ".-")), len(written))]
    try:
        return float(digits), written
    except ValueError:
        return float("inf"), written


def cell(name: str, value: Interval | None) -> str:
    """A figure as tables print it: the mean, and the half width where there are repetitions."""
    if value is None:
        return ""
    one = FIGURES[name]
    scale = 100 if one.unit == "%" else 1
    digits = one.digits if value.n == 1 or one.digits else 1
    mean = f"{value.mean * scale:.{digits}f}"
    return (
        mean
        if value.half_width != value.half_width
        else f"{mean} {table.plus_minus()} {value.half_width * scale:.{digits}f}"
    )


def head(name: str, *, several: bool) -> tuple[str, ...]:
    """The heading of a figure: what, of what over several flows, in which unit."""
    one = FIGURES[name]
    how = one.over if several and name not in ("goodput_flow_mean", "goodput_flow_min") else ""
    words = one.title.rsplit(" ", 1) if " " in one.title else [one.title]
    below = " ".join(part for part in (one.unit, words[1] if len(words) > 1 else "", how) if part)
    return (words[0], below) if below else (words[0],)


def _keys(parts: Sequence[Part], *, runs: bool) -> list[Column]:
    """What tells rows apart, each value once above those that share it."""
    rows = [(part, row) for part in parts for row in part.rows]
    varied = list(dict.fromkeys(key for _, row in rows for key in row.vary))
    columns = [("folder", [part.folder for part, _ in rows])] if len(parts) > 1 else []
    columns += [("scenario", [row.scenario for _, row in rows])] if len({row.scenario for _, row in rows}) > 1 else []
    columns += [
        (short, [units.value_text(row.vary[key]) if key in row.vary else "" for _, row in rows])
        for key, short in zip(varied, _shortened(varied))
    ]
    columns += (
        [("rep", [str(row.repetition) for _, row in rows])]
        if runs and len({row.repetition for _, row in rows}) > 1
        else []
    )
    columns += [("n", [str(row.n) for _, row in rows])] if len({row.n for _, row in rows}) > 1 else []
    made: list[Column] = []
    above = [False] * len(rows)
    for name, cells in columns:
        above = [i > 0 and cells[i] == cells[i - 1] and (above[i] or not made) for i in range(len(cells))]
        made.append(Column(name, (name,), ["" if above[i] else cells[i] for i in range(len(cells))], right=False))
    flow = [_label(row) for _, row in rows]
    return [*made, Column("flow", ("flow",), flow, right=False)]


def _label(row: Row) -> str:
    """Whose figures a row has: how many flows, their name, and the transport where that is none of TCP and the name
    does not say it.
    """
    said = "" if row.transport == "tcp" or row.transport in row.name.casefold() else f" ({row.transport.upper()})"
    return (f"{row.flows} x " if row.flows > 1 else "") + row.name + said


def _shortened(keys: Sequence[str]) -> list[str]:
    """Keys without what they do not need to be told apart: ``buffer`` for ``path.buffer``."""
    last = [key.removeprefix("path.") if key.startswith("path.ack.") else key.rsplit(".", 1)[-1] for key in keys]
    return [
        short if last.count(short) == 1 and not key.startswith("flow[") else key.removeprefix("path.")
        for key, short in zip(keys, last)
    ]


def _table(parts: Sequence[Part], names: Sequence[str], arguments: argparse.Namespace) -> str:
    rows = [row for part in parts for row in part.rows]
    several = any(row.flows > 1 for row in rows)
    columns = _keys(parts, runs=arguments.runs)
    for name in names:
        cells = [cell(name, row.values.get(name)) for row in rows]
        if FIGURES[name].of_run:
            cells = ["" if i and _same_run(rows[i], rows[i - 1]) else text for i, text in enumerate(cells)]
        if name == "marks" and not arguments.columns and not any(row.value(name) for row in rows):
            continue
        columns.append(
            Column(name, head(name, several=several), cells, rank=0 if arguments.columns else _RANKS.get(name, 20))
        )
    if arguments.markdown:
        return table.markdown([column for column in columns if not column.rank or any(column.cells)])
    kept, gone = table.fit(columns, 10**6 if arguments.wide else table.terminal_width())
    title = _title(parts, rows)
    notes = (
        [f"left out to fit: {', '.join(column.name for column in gone)} (--wide shows all, --columns chooses)"]
        if gone
        else []
    )
    notes += _notes(parts)
    notes = ["", *notes] if notes else []
    return f"{title}\n\n{table.text(kept)}{_links(parts)}" + "".join(f"{note}\n" for note in notes)


def _same_run(one: Row, other: Row) -> bool:
    return (one.scenario, one.vary, one.run, one.repetition) == (
        other.scenario,
        other.vary,
        other.run,
        other.repetition,
    )


def _title(parts: Sequence[Part], rows: Sequence[Row]) -> str:
    """What the table shows: scenario, folder, queue, window, repetitions."""
    scenarios = list(dict.fromkeys(run.result.name for part in parts for run in part.runs))
    kinds = {run.result.plan.bottleneck.qdisc.kind for part in parts for run in part.runs}
    windows = {run.window or (0.0, run.result.plan.duration_s) for part in parts for run in part.runs}
    said = [
        (
            f"{scenarios[0] if len(scenarios) == 1 else f'{len(scenarios)} scenarios'}"
            f" ({', '.join(part.folder for part in parts)})"
        )
    ]
    said += [kinds.pop()] if len(kinds) == 1 and kinds != {"fifo"} else []
    if any(run.window for part in parts for run in part.runs):
        said.append(f"{min(windows)[0]:g} to {max(windows)[1]:g} s" if len(windows) == 1 else "windows differ")
    most = max((row.n for row in rows), default=1)
    said += [f"means of {most} repetitions {table.plus_minus()} 95 % interval"] if most > 1 else []
    return ", ".join(said)


def _notes(parts: Sequence[Part]) -> list[str]:
    """What is to be known of the figures: whom Jain's index counts, and the runs' own warnings."""
    counted = {
        (int(figures.steady(run)), len(run.result.plan.flows))
        for part in parts
        for run in part.runs
        if len(run.result.plan.flows) > 1
    }
    partial = sorted((some, of) for some, of in counted if some < of)
    made = []
    if partial and len(counted) == 1:
        some, of = partial[0]
        who = f"{some} of {of} flows"
        made.append(
            f"Jain's index is of {who}, those active throughout"
            if some > 1
            else f"no Jain's index: {who} were active throughout"
        )
    elif partial:
        made.append(
            "Jain's index is of the flows active throughout, which differ from run to run (--columns jain,jain_flows)"
        )
    warnings: dict[str, list[str]] = {}
    for part in parts:
        for run in part.runs:
            for warning in run.result.warnings:
                warnings.setdefault(warning, []).append(_named(run.result))
    return made + [
        f"warning: {runs[0]}{f' and {len(runs) - 1} more' if len(runs) > 1 else ''}: {warning}"
        for warning, runs in warnings.items()
    ]


def _named(result: Result) -> str:
    varied = ", ".join(
        f"{short} = {units.value_text(value)}"
        for short, value in zip(_shortened(list(result.vary)), result.vary.values())
    )
    return f"{result.name} ({varied})" if varied else result.name


def _links(parts: Sequence[Part]) -> str:
    """A table of the links beyond the bottleneck, a row per link and combination."""
    cells: dict[tuple[str, str], list[Any]] = {}
    for part in parts:
        for run in part.runs:
            if len(run.result.plan.data_links) > 1:
                for link, values in figures.link_rows(run):
                    cells.setdefault((_named(run.result), link), []).append(values)
    if not cells:
        return ""
    fields = {
        "utilization": "utilization",
        "queue_mean_ms": "queue",
        "queue_p95_ms": "queue_p95",
        "drops": "drops",
        "marks": "marks",
    }
    columns = [
        Column("run", ("run",), [run for run, _ in cells], right=False),
        Column("link", ("link",), [link for _, link in cells], right=False),
    ]
    for field, name in fields.items():
        known = [[one[field] for one in found if one[field] is not None] for found in cells.values()]
        columns.append(
            Column(
                name,
                head(name, several=False),
                [cell(name, mean_interval(values)) if values else "" for values in known],
            )
        )
    return "\n" + table.text(columns)


def _head(row: Row) -> dict[str, Any]:
    return {"scenario": row.scenario, "vary": row.vary}


def _print_json(parts: Sequence[Part], names: Sequence[str], arguments: argparse.Namespace) -> int:
    """One object per run and line, as `run --json` prints them; one per combination where repetitions are taken
    together.
    """
    for part in parts:
        for runs in _runs_of(part, together=not arguments.runs):
            print(json.dumps(line(runs, names, by=arguments.by or "flow", only=arguments.flows)))
    return OK


def _runs_of(part: Part, *, together: bool) -> Iterable[list[Measured]]:
    if not together:
        return [[run] for run in part.runs]
    found: dict[str, list[Measured]] = {}
    for run in part.runs:
        found.setdefault(run.result.name + json.dumps(run.result.vary, sort_keys=True), []).append(run)
    return found.values()


def _print_csv(parts: Sequence[Part], names: Sequence[str]) -> int:
    """A line per row: what it is, then the figures by their fields, and their half widths where repetitions are taken
    together.
    """
    rows = [(part, row) for part in parts for row in part.rows]
    keys = list(dict.fromkeys(key for _, row in rows for key in row.vary))
    repeated = any(row.n > 1 for _, row in rows)
    fields = [(name, FIGURES[name].field) for name in names]
    out = csv.writer(sys.stdout, lineterminator="\n")
    widths = [f"{field}_half_width" for _, field in fields] if repeated else []
    what = ["repetition", "n", "flow", "name", "transport", "table", "cca", "flows"]
    out.writerow(["folder", "scenario", *keys, *what, *(field for _, field in fields), *widths])
    for part, row in rows:
        known = [row.values.get(name) for name, _ in fields]
        halves = (
            ["" if one is None or one.half_width != one.half_width else one.half_width for one in known]
            if repeated
            else []
        )
        values = ["" if one is None else one.mean for one in known]
        vary = [units.value_text(row.vary[key]) if key in row.vary else "" for key in keys]
        place = ["" if value is None else value for value in (row.repetition, row.n, row.flow)]
        out.writerow(
            [
                part.folder,
                row.scenario,
                *vary,
                *place,
                row.name,
                row.transport,
                row.table,
                row.cca,
                row.flows,
                *values,
                *halves,
            ]
        )
    return OK


def _diff(found: Sequence[tuple[str, list[Measured]]], names: Sequence[str], arguments: argparse.Namespace) -> int:
    """What changed from the first folder to the second."""
    if arguments.where:
        raise ScenarioError("--where", "chooses rows of one table, so it does not go with --diff")
    if len(found) != 2:
        raise ScenarioError("--diff", f"got {len(found)} folders, wanted two: before and after")
    wanted = list(names or _DIFFERENCES)
    (old, before), (new, after) = found
    by = arguments.by or "flow"
    sides = [
        [row for run in runs for row in figures.rows(run, wanted, by=by, only=arguments.flows)]
        for runs in (before, after)
    ]
    changes, gone, come = figures.changes(sides[0], sides[1], wanted)
    if not changes:
        raise ScenarioError("--diff", f"{old} and {new} have no scenario with the same varied values in common")
    if arguments.json:
        for change in changes:
            print(
                json.dumps(
                    {
                        **_head(change.after),
                        "name": change.after.name,
                        "table": change.after.table,
                        **figures.change_fields(change),
                    }
                )
            )
        return OK
    part = Part(new, after, [change.after._replace(n=1) for change in changes])
    columns = [
        *_keys([part], runs=False),
        Column("figure", ("figure",), [" ".join(head(change.name, several=False)) for change in changes], right=False),
    ]
    again = [i > 0 and _same_flow(changes[i].after, changes[i - 1].after) for i in range(len(changes))]
    columns[-2] = columns[-2]._replace(cells=["" if same else label for same, label in zip(again, columns[-2].cells)])
    columns += [
        Column(side, (side,), [cell(c.name, _mean(getattr(c, side), c.name)) for c in changes])
        for side in ("before", "after")
    ]
    columns.append(Column("change", ("change",), [_signed(change) for change in changes], right=False))
    if arguments.markdown:
        sys.stdout.write(table.markdown(columns))
        return OK
    n = max(min(change.before.n, change.after.n) for change in changes)
    said = (
        f"means of {n} repetitions; change {table.plus_minus()} 95 % interval, * where that leaves out zero"
        if n > 1
        else "one run each, so no intervals"
    )
    sys.stdout.write(f"{old} -> {new}, {said}\n\n{table.text(columns)}")
    for count, where in ((gone, old), (come, new)):
        if count:
            print(f"{count} row{'s' * (count != 1)} only in {where}")
    return OK


def _same_flow(one: Row, other: Row) -> bool:
    return (one.scenario, one.vary, one.table, one.flow) == (other.scenario, other.vary, other.table, other.flow)


def _mean(row: Row, name: str) -> Interval | None:
    """A figure without its interval."""
    found = row.values.get(name)
    return None if found is None else Interval(found.mean, float("nan"), found.n)


def _signed(change: figures.Change) -> str:
    text = cell(change.name, change.difference)
    return ("" if text.startswith("-") else "+") + text + (" *" if change.is_clear else "")
