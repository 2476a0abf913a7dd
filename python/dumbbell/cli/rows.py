"""The table of figures that `dumbbell show` and `dumbbell run` print: what tells rows apart, cells, title and notes."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from dumbbell import backends, units
from dumbbell.results import figures
from dumbbell.results.catalogue import EVENTS, FIGURES, Measured, figure, of_bottleneck, shown
from dumbbell.results.experiment import Key
from dumbbell.results.figures import Row
from dumbbell.results.statistic import Interval, Sample
from dumbbell.results.texts import UNREACHED, interval_text, lacking_text, percent

from . import table
from .commands import terminal_width
from .table import Column


def _is_estimate(backend: str) -> bool:
    """True if the waiting times in a result of this back end are estimates."""
    kind = backends.KINDS.get(backend.partition(":")[0])
    return kind is not None and kind.estimates_queue


class Asked(NamedTuple):
    """Rows and columns of a table: the options that `show` and `run` share, and those of `show` alone."""

    runs: bool = False
    by: str | None = None
    flows: str | None = None
    columns: str | None = None
    where: Sequence[str] | None = None
    wide: bool = False
    sort: str | None = None
    reverse: bool = False

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Asked:
        """Read the options of a command line."""
        return cls(**{name: value for name, value in options.items() if name in cls._fields})


class Part(NamedTuple):
    """One of the folders to show, with its rows and the runs that they summarise."""

    folder: str
    runs: list[Measured]
    rows: list[Row]


def text(parts: Sequence[Part], names: Sequence[str], asked: Asked, *, told: Collection[str] = ()) -> str:
    """The table with its title and notes; columns that do not fit are left out, and named. Warnings that were `told`
    are not repeated.
    """
    rows = [row for part in parts for row in part.rows]
    runs = _of_runs(parts)
    kept, gone = table.fit(all_columns(parts, names, asked), 10**6 if asked.wide else terminal_width())
    title = _title(parts, rows)
    notes = (
        [f"left out to fit: {', '.join(column.name for column in gone)} (--wide shows all, --columns chooses)"]
        if gone
        else []
    )
    there = {column.name for column in kept}
    notes += _of_both_directions(parts, there)
    notes += notes_of_runs([run for part in parts for run in part.runs], told)
    if any(column.name.startswith("queue") for column in kept) and any(
        _is_estimate(run.result.manifest.backend) for part in parts for run in part.runs
    ):
        own = {kind.module: name for name, kind in reversed(backends.KINDS.items()) if kind.estimates_queue}
        names_of_tc = ", ".join(sorted(own.values()))
        notes.append(f"queue: the backlog over the rate, because tc tells no waiting times ({names_of_tc})")
    notes += _doubted(parts, of_bottleneck(name for name in names if name in there))
    if {"goodput", "share"} <= there and any(map(figures.is_rate_another_share, runs)):
        notes.append("share: of all bytes; goodput: over the time that each flow ran")
    notes += [
        lacking_text(name, lacking, len(rows))
        for name in names
        if name in there and (lacking := sum(name in row.values and row.lacking(name) > 0 for row in rows))
    ]
    notes += _of_unfinished(rows, [name for name in names if name in there])
    empty = [column.name for column in kept if column.name.partition("@")[0] in FIGURES and not any(column.cells)]
    off = [name for name in ("samples", "queue") if _is_off(parts, name)]
    if empty and off:
        notes.append(f"blank: {', '.join(empty)}, because record.{' and record.'.join(off)} is off")
    notes = ["", *notes] if notes else []
    return f"{title}\n\n{table.text(kept)}{_links(parts)}{_probes(parts)}" + "".join(f"{note}\n" for note in notes)


def all_columns(parts: Sequence[Part], names: Sequence[str], asked: Asked) -> list[Column]:
    """Columns that tell rows apart, and one for each figure; one of the run stands once above its flows."""
    rows = [row for part in parts for row in part.rows]
    repeats = [i > 0 for run in _of_runs(parts) for i in range(len(run))]
    several = any(row.flows > 1 for row in rows)
    columns = keys(parts, runs=asked.runs)
    for name in names:
        cells = [cell(name, row.values.get(name)) for row in rows]
        if figure(name).of_run:
            cells = ["" if repeated else text for text, repeated in zip(cells, repeats)]
        if figure(name).is_quiet and not asked.columns and not any(row.value(name) for row in rows):
            continue
        rank = 0 if asked.columns else figure(name).rank
        columns.append(Column(name, head(name, several=several), cells, rank=rank))
    return columns


def _of_unfinished(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    """Notes on what transfers or messages that did not end do to percentiles and to means."""
    endless = [name for name in names if any(row.value(name) == math.inf for row in rows)]
    events = [name for name in endless if name in EVENTS]
    percentiles = ", ".join(name for name in endless if name not in EVENTS)
    notes = [f"{UNREACHED}: it does not come within the run ({', '.join(events)})"] if events else []
    if percentiles:
        notes.append(f"{UNREACHED}: so few transfers or messages ended that {percentiles} is longer than all that did")
    means = [name for name in names if name in ("fct", "latency")]
    if means and any(row.value("unfinished") for row in rows):
        notes.append(
            f"{' and '.join(means)}: means are of those that ended; percentiles count unfinished ones as longer"
        )
    return notes


def _doubted(parts: Sequence[Part], names: Sequence[str]) -> list[str]:
    """That figures of the bottleneck are not those of the link that matters, where that may be so."""
    for plan in (run.result.plan for part in parts for run in part.runs) if names else ():
        why = plan.doubted_bottleneck
        if why:
            told = f"{', '.join(names)}: of {plan.bottleneck.name}, and {why}"
            return [f"{told}; of another link: --columns {names[0]}@NAME"]
    return []


def _is_off(parts: Sequence[Part], table_name: str) -> bool:
    """True if some run has not recorded a table."""
    return any(not getattr(run.result.plan.record, table_name) for part in parts for run in part.runs)


def cell(name: str, value: Interval | None) -> str:
    """A figure as tables print it: the mean, and the half width where there are repetitions."""
    return interval_text(name, value, table.plus_minus())


def head(name: str, *, several: bool) -> tuple[str, ...]:
    """The heading of a figure: what, of what over several flows, in which unit."""
    known = figure(name)
    how = known.over if several and "_flow_" not in name else ""  # whose title says it
    words = known.title.rsplit(" ", 1) if " " in known.title else [known.title]
    below = " ".join(part for part in (known.unit, words[1] if len(words) > 1 else "", how) if part)
    return (words[0], below) if below else (words[0],)


def keys(parts: Sequence[Part], *, runs: bool) -> list[Column]:
    """Columns that tell rows apart, each value once above those that share it."""
    rows = [(part, row) for part in parts for row in part.rows]
    varied = figures.varied_keys(row for _, row in rows)
    columns = [("folder", [part.folder for part, _ in rows])] if len(parts) > 1 else []
    columns += [("scenario", [row.scenario for _, row in rows])] if len({row.scenario for _, row in rows}) > 1 else []
    columns += [
        (short, [row.vary_text(key) for _, row in rows])
        for key, short in zip(varied, shortened(varied, [run for part in parts for run in part.runs]))
    ]
    columns += (
        [("rep", [str(row.repetition) for _, row in rows])]
        if runs and len({row.repetition for _, row in rows}) > 1
        else []
    )
    columns += [("n", [str(row.n) for _, row in rows])] if len({row.n for _, row in rows}) > 1 else []
    drawn: list[Column] = []
    above = [False] * len(rows)
    for name, cells in columns:
        above = [i > 0 and cells[i] == cells[i - 1] and (above[i] or not drawn) for i in range(len(cells))]
        drawn.append(Column(name, (name,), ["" if above[i] else cells[i] for i in range(len(cells))], right=False))
    return [*drawn, Column("flow", ("flow",), [row.label for _, row in rows], right=False)]


def shortened(keys: Sequence[str], runs: Sequence[Measured]) -> list[str]:
    """The keys that these runs vary as headings and labels have them: ``buffer`` for ``path.buffer``, and
    ``access.rate`` for ``link[0].rate`` where that link is called "access" in all runs. Others stay as they are: the
    last word of ``host.qdisc`` alone would be the path's.
    """
    shorts = [_short(key, runs) for key in keys]
    return [short if shorts.count(short) == 1 else key for key, short in zip(keys, shorts)]


def _short(key: str, runs: Sequence[Measured]) -> str:
    link = re.fullmatch(r"link\[(\d+)\]\.(.+)", key)
    if link:
        names = {run.result.plan.extra_link(int(link[1])).name for run in runs if key in run.result.vary}
        return f"{names.pop()}.{link[2]}" if len(names) == 1 else key
    return key.removeprefix("path.")


def _same_run(one: Row, other: Row) -> bool:
    return (one.experiment, one.run, one.repetition) == (other.experiment, other.run, other.repetition)


def _of_runs(parts: Sequence[Part]) -> list[list[Row]]:
    """The rows of each run, or of the repetitions of one, which follow each other."""
    groups: list[list[Row]] = []
    for part in parts:
        for i, row in enumerate(part.rows):
            if i == 0 or not _same_run(row, part.rows[i - 1]):
                groups.append([])
            groups[-1].append(row)
    return groups


def _title(parts: Sequence[Part], rows: Sequence[Row]) -> str:
    """Title of a table: scenario, folder, queue, window, repetitions."""
    scenarios = list(dict.fromkeys(run.result.name for part in parts for run in part.runs))
    kinds = {run.result.plan.bottleneck.qdisc.kind for part in parts for run in part.runs}
    said = [
        (
            f"{scenarios[0] if len(scenarios) == 1 else f'{len(scenarios)} scenarios'}"
            f" ({', '.join(part.folder for part in parts)})"
        )
    ]
    said += [kinds.pop()] if len(kinds) == 1 and kinds != {"fifo"} else []
    said += [part] if (part := windows([run for part in parts for run in part.runs])) else []
    most = max((row.n for row in rows), default=1)
    said += [f"means of {most} repetitions {table.plus_minus()} 95 % interval"] if most > 1 else []
    return ", ".join(said)


def windows(runs: Sequence[Measured]) -> str:
    """The part of the runs that their figures cover; nothing where that is all of them."""
    if not any(run.window for run in runs):
        return ""
    spans = {run.window or (0.0, run.result.plan.duration_s) for run in runs}
    return "windows differ" if len(spans) > 1 else "{:g} to {:g} s".format(*spans.pop())


def _of_both_directions(parts: Sequence[Part], there: Collection[str]) -> list[str]:
    """Notes on figures that compare flows whose data go different ways."""
    names = [words for name, words in (("jain", "Jain's index"), ("share", "share")) if name in there]
    if not names or not any(run.result.plan.mixes_directions for part in parts for run in part.runs):
        return []
    return [f"{' and '.join(names)}: of the flows down and up together, which cross different links"]


def notes_of_runs(runs: Sequence[Measured], told: Collection[str] = ()) -> list[str]:
    """Notes below a table: which flows Jain's index counts, and the runs' warnings, without those that were `told`."""
    of_several = [(run, len(run.result.plan.flows)) for run in runs if len(run.result.plan.flows) > 1]
    counted = {(int(figure("jain_flows").value(run) or 0), count) for run, count in of_several}
    partial = sorted((some, of) for some, of in counted if some < of)
    notes = []
    if partial and len(counted) == 1:
        some, of = partial[0]
        who = f"{some} of {of} flows"
        notes.append(
            f"Jain's index is of {who}, those active throughout"
            if some > 1
            else f"no Jain's index: {who} were active throughout"
        )
    elif partial:
        notes.append(
            "Jain's index is of the flows active throughout, which differ from run to run (--columns jain,jain_flows)"
        )
    warnings: dict[str, list[str]] = {}
    for run in runs:
        for warning in run.result.warnings:
            if warning not in told:
                warnings.setdefault(warning, []).append(_named(run))
    return notes + [
        f"warning: {of[0]}{f' and {len(of) - 1} more' if len(of) > 1 else ''}: {warning}"
        for warning, of in warnings.items()
    ]


def _named(run: Measured) -> str:
    """A run by its scenario and what it varies."""
    name, vary = run.result.name, run.result.vary
    varied = ", ".join(
        f"{short} = {units.value_text(value)}" for short, value in zip(shortened(list(vary), [run]), vary.values())
    )
    return f"{name} ({varied})" if varied else name


class _Line(NamedTuple):
    """Subject of a line in the tables of links and of probes: repetitions of one combination in one folder."""

    folder: str
    experiment: Key
    run: str
    name: str


def _line_columns(parts: Sequence[Part], lines: Sequence[_Line], what: str) -> list[Column]:
    folders = [Column("folder", ("folder",), [line.folder for line in lines], right=False)] if len(parts) > 1 else []
    return [
        *folders,
        Column("run", ("run",), [line.run for line in lines], right=False),
        Column(what, (what,), [line.name for line in lines], right=False),
    ]


def _links(parts: Sequence[Part]) -> str:
    """A table of the links beyond the bottleneck, a row per link and combination."""
    cells: dict[_Line, list[dict[str, float | None]]] = {}
    names = shown("links")
    for part in parts:
        for run in part.runs:
            if len(run.result.plan.recorded_links) > 1:
                for link, values in figures.link_rows(run, names):
                    cells.setdefault(_Line(part.folder, run.experiment, _named(run), link), []).append(values)
    if not cells:
        return ""
    columns = _line_columns(parts, list(cells), "link")
    for name in names:
        samples = [Sample(tuple(values_of[name] for values_of in same)) for same in cells.values()]
        texts = [cell(name, sample.interval) if sample.known else "" for sample in samples]
        columns.append(Column(name, head(name, several=False), texts))
    return "\n" + table.text(columns)


def _probes(parts: Sequence[Part]) -> str:
    """A table of round-trip times of probes, a row per series and combination."""
    if not any(run.result.plan.probes for part in parts for run in part.runs):
        return ""  # before numpy is imported, which takes as long as a whole short run
    import numpy as np

    from dumbbell.results import metrics

    cells: dict[_Line, list[Any]] = {}
    for part in parts:
        for run in part.runs:
            for number, planned in enumerate(run.result.plan.probes):
                rtts = metrics.probe_series(run.result, number, run.window)[1]
                cells.setdefault(_Line(part.folder, run.experiment, _named(run), planned.name), []).append(rtts)
    pooled = [np.concatenate(series) for series in cells.values()]
    answered = [rtts[~np.isnan(rtts)] for rtts in pooled]
    columns = [
        *_line_columns(parts, list(cells), "probes"),
        Column("sent", ("sent",), [str(rtts.size) for rtts in pooled]),
        Column("lost", ("lost", "%"), [percent(1 - b.size / max(a.size, 1), 2) for a, b in zip(pooled, answered)]),
    ]
    for rank in (50, 95, 99, 100):
        name = "max" if rank == 100 else f"p{rank}"
        texts = [f"{np.percentile(rtts, rank):.1f}" if rtts.size else "" for rtts in answered]
        columns.append(Column(name, ("RTT", f"ms {name}"), texts))
    return "\n" + table.text(columns)
