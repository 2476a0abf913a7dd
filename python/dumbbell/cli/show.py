"""`dumbbell show`: the figures of one or several result folders as a table, JSON, CSV or Markdown, over runs or
repetitions, or as changes between two.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import units
from dumbbell.errors import ScenarioError, wrong
from dumbbell.judge import HOLDS
from dumbbell.judge.grammar import bound, chosen, refuse_doubted
from dumbbell.results import figures, manifest
from dumbbell.results.catalogue import FIGURES, Measured, canonical, figure, shown
from dumbbell.results.experiment import repetitions
from dumbbell.results.figures import Row
from dumbbell.results.lines import line
from dumbbell.results.load import Results, load
from dumbbell.units import option_s

from . import diff
from .latest import latest_unless
from .output import note
from .rows import Asked, Part, all_columns, shortened
from .rows import text as table_text
from .status import FAILED, OK
from .table import Column
from .writers import Form, write

if TYPE_CHECKING:
    from dumbbell.plan.view import PlanView

#: Rows that `dumbbell run` prints at its end.
ROWS_MAX = 40


def main(arguments: argparse.Namespace) -> int:
    """The figures of the folders in `arguments`."""
    names = _names(arguments.columns)
    start, end = option_s("--from", arguments.start), option_s("--to", arguments.end)
    folders = arguments.dirs if arguments.diff else latest_unless(arguments.dirs)
    sides = [(folder, [figures.measured(run, start, end) for run in load(folder)]) for folder in folders]
    for folder in folders:
        missing = manifest.unfinished(Path(folder))
        if missing:
            note(f"{folder}: {missing}; the command that made it runs the rest with --out {folder} --resume")
    form = Form.of(vars(arguments))
    if arguments.why and (not arguments.diff or form != Form.TEXT):
        raise ScenarioError("--why", "says in sentences why figures changed, so it needs --diff and no other form")
    if arguments.diff:
        diff.refuse(sides, vars(arguments))
        refuse_doubted(
            [bound(text).name for text in arguments.where or ()],
            (run.result.plan for _, runs in sides for run in runs),
            "--where",
        )
        changed = diff.changed(sides, names, by=arguments.by, only=arguments.flows, where=arguments.where or ())
        write(changed, form)
        for line in changed.why() if arguments.why else ():
            print(f"why: {line}")
        return FAILED if arguments.exit_status and changed.outcome.word != HOLDS else OK
    if arguments.exit_status:
        raise ScenarioError("--exit-status", "tells whether figures changed, so it needs --diff")
    every = names or _defaults([run for _, runs in sides for run in runs])
    asked = Asked.of(vars(arguments))
    refuse_conditions(asked, (run.result.plan for _, runs in sides for run in runs))
    parts = [_part(folder, runs, _and_conditions(every, asked), asked) for folder, runs in sides]
    if arguments.where and not any(part.rows for part in parts):
        note(f"no row has {' and '.join(arguments.where)}")
    write(Rows(parts, every, asked, names), form)
    return OK


def checked(asked: Asked) -> Asked:
    """Read the options; raises ScenarioError for an unknown column or condition, before anything has run."""
    _names(asked.columns)
    for text in asked.where or ():
        bound(text)
    return asked


def refuse_conditions(asked: Asked, plans: Iterable[PlanView]) -> None:
    """Raise ScenarioError for conditions that do not say of which link they are, where that matters."""
    refuse_doubted([bound(text).name for text in asked.where or ()], plans, "--where")


def of_runs(
    folders: Sequence[Path], out: Path, asked: Asked, *, failed: tuple[int, int] = (0, 0), told: Collection[str] = ()
) -> str:
    """Text that `dumbbell run` prints at its end: the same table, cut where it is long, without the warnings that were
    told before; `failed` has how many runs failed, of how many.
    """
    missing = f"{failed_text(*failed)}, and the table has no rows of them\n" if failed[0] else ""
    runs = [figures.measured(run) for run in Results.of(folders)]
    names = _names(asked.columns) or _defaults(runs)
    part = _part(str(out), runs, _and_conditions(names, asked), asked)
    if asked.where and not part.rows:
        return f"{out}: no row has {' and '.join(asked.where)}\n{missing}"
    cut = part._replace(rows=part.rows[:ROWS_MAX])
    more = len(part.rows) - len(cut.rows)
    return (
        table_text([cut], names, asked, told=told)
        + (f"... and {more} more rows: dumbbell show {out}\n" if more else "")
        + missing
    )


def failed_text(failed: int, of: int) -> str:
    """Say how many runs failed: ``3 of 6 runs failed``."""
    return f"{failed} of {of} run{'s' * (of != 1)} failed"


def _and_conditions(names: Sequence[str], asked: Asked) -> list[str]:
    """The figures to show, and those that conditions are about."""
    return list(dict.fromkeys([*names, *(bound(text).name for text in asked.where or ())]))


def _names(text: str | None) -> list[str]:
    if text is None:
        return []
    if text == "all":
        return list(FIGURES)
    return list(dict.fromkeys(canonical(name.strip()) for name in text.split(",")))


def _defaults(runs: Sequence[Measured]) -> list[str]:
    """The usual figures, of those that these runs have."""
    flows = [flow for run in runs for flow in run.result.plan.flows]
    asks = any(flow.workload and flow.workload.kind == "request_response" for flow in flows)
    without = set() if any(flow.is_finite for flow in flows) else {"fct", "fct_p99"}
    without |= set() if asks or any(flow.is_finite for flow in flows) else {"unfinished"}
    without |= set() if any(len(run.result.plan.flows) > figures.FLOWS_MAX for run in runs) else {"fct_p99"}
    without |= set() if any(len(run.result.plan.flows) > 1 for run in runs) else {"share", "jain"}
    without |= set() if asks else {"latency", "latency_p99"}
    return [name for name in shown("table") if name not in without]


def _part(folder: str, runs: list[Measured], names: Sequence[str], asked: Asked) -> Part:
    by = asked.by or figures.default_by(runs)
    rows = [row for run in runs for row in figures.rows(run, names, by=by, only=asked.flows)]
    if not asked.runs:
        rows = figures.over_repetitions(rows)
    return Part(folder, runs, _sorted(chosen(rows, asked.where or ()), runs, asked))


def _sorted(rows: list[Row], runs: Sequence[Measured], asked: Asked) -> list[Row]:
    if asked.sort is None:
        return rows[::-1] if asked.reverse else rows
    keys = figures.varied_keys(rows)
    key = dict(zip(shortened(keys, runs), keys)).get(asked.sort, asked.sort)
    if key in keys or key in ("name", "run"):
        return sorted(
            rows,
            key=lambda row: _order(row.vary.get(key) if key in keys else getattr(row, key)),
            reverse=asked.reverse,
        )
    if not any(key in row.values for row in rows):
        raise wrong("--sort", key, "one of: " + ", ".join(["name", *keys, *FIGURES]), [*keys, *FIGURES])
    having = [row for row in rows if key in row.values]
    return sorted(having, key=lambda row: row.values[key].mean, reverse=asked.reverse) + [
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


class Rows(NamedTuple):
    """The rows of folders with their figures, for the writers."""

    parts: Sequence[Part]
    names: Sequence[str]
    """The figures of a table."""
    asked: Asked
    further: Sequence[str]
    """The figures that objects have besides the usual ones."""

    def text(self) -> str:
        """The table with its title and notes."""
        return table_text(self.parts, self.names, self.asked)

    def columns(self) -> Sequence[Column]:
        """All columns that are not empty."""
        return [column for column in all_columns(self.parts, self.names, self.asked) if not column.is_empty]

    def objects(self) -> Iterable[dict[str, Any]]:
        """One per run, as `run --json` prints them; one per combination where repetitions are taken together."""
        by, only = self.asked.by or "flow", self.asked.flows
        for part in self.parts:
            cases = [[run] for run in part.runs] if self.asked.runs else repetitions(part.runs).values()
            yield from (line(runs, self.further, by=by, only=only) for runs in cases)

    def records(self) -> tuple[list[str], Iterable[list[object]]]:
        """A line per row: what it is, then the figures by their fields, and their half widths where repetitions are
        taken together.
        """
        rows = [(part, row) for part in self.parts for row in part.rows]
        keys = figures.varied_keys(row for _, row in rows)
        is_repeated = any(row.n > 1 for _, row in rows)
        fields = [figure(name).field for name in self.names]
        what = ["repetition", "n", "flow", "name", "transport", "table", "cca", "flows", "flows_min"]
        widths = [f"{field}_half_width" for field in fields] if is_repeated else []

        def record(folder: str, row: Row) -> list[object]:
            intervals = [row.values.get(name) for name in self.names]
            means = [interval and interval.mean for interval in intervals]
            halves = [interval and interval.half for interval in intervals] if is_repeated else []
            return [
                folder, row.scenario, *map(row.vary_text, keys), *(getattr(row, name) for name in what), *means, *halves
            ]  # fmt: skip

        return ["folder", "scenario", *keys, *what, *fields, *widths], (record(part.folder, row) for part, row in rows)
