"""The general table: a row for each flow or [[flow]] table and combination, all figures that any of them has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dumbbell.plots import figures as titled
from dumbbell.plots import look
from dumbbell.results import figures
from dumbbell.results.catalogue import FIGURES, figure
from dumbbell.results.texts import half_text, mean_text, transport
from dumbbell.units import value_text

from .looks import pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell.results.catalogue import Measured
    from dumbbell.results.figures import Row

#: Shown unless others are chosen.
USUAL = ("goodput", "share", "retrans_rate", "srtt", "fct", "jain", "utilization", "queue", "drops", "marks")
#: Runs up to which every figure is read; of more, the usual ones.
RUNS_MOST = 150
ROWS_MOST = 1000


def rows(runs: Sequence[Measured], names: Sequence[str]) -> list[Row]:
    """The rows of these runs, repetitions apart."""
    return [row for run in runs for row in figures.rows(run, names, by=figures.default_by(runs))]


def table(runs: Sequence[Measured]) -> dict[str, Any]:
    """Columns with their headings, and rows with their cells: a text, and the number that sorts and draws its bar."""
    names = list(FIGURES) if len(runs) <= RUNS_MOST else [name for name in USUAL if name in FIGURES]
    found = figures.over_repetitions(rows(runs, names))
    shown = found[:ROWS_MOST]
    kept = [name for name in names if any(name in row.values for row in shown)]
    keys = list(dict.fromkeys(key for row in shown for key in row.vary))
    notes = []
    if len(found) > len(shown):
        notes.append(f"The first {len(shown)} of {len(found)} rows; `dumbbell show` prints all.")
    if len(names) < len(FIGURES):
        notes.append(f"Of {len(runs)} runs the usual figures only; `dumbbell show --columns all` prints all.")
    for name in kept:
        lacking = sum(name in row.values and row.lacking(name) > 0 for row in shown)
        if lacking:
            title = figure(name).title
            notes.append(
                f"{title}: in {lacking} of {len(shown)} rows some repetitions have none; means are of the others."
            )
    return {
        "keys": keys,
        "columns": [_column(name) for name in kept],
        "rows": [_row(row, keys, kept) for row in shown],
        "notes": notes,
        "repeated": any(row.n > 1 for row in shown),
    }


def _column(name: str) -> dict[str, Any]:
    one, metric = figure(name), titled.METRICS[name]
    return {
        "name": name,
        "title": one.title,
        "unit": one.unit,
        "long": metric.axis_title,
        "shown": name in USUAL,
        "of_run": one.of_run,
        "most": 1.0 if metric.most == 1.0 else None,
    }


def _row(row: Row, keys: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    label = (f"{row.size} x " if row.flows > 1 else "") + row.name
    return {
        "scenario": row.scenario,
        "vary": [value_text(row.vary[key]) if key in row.vary else "" for key in keys],
        "flow": label + ("" if row.transport == "tcp" else f" ({transport(row.transport)})"),
        "colour": pair(look.of(row.cca).colour) if "+" not in row.cca else pair(look.NEUTRAL),
        "n": row.n,
        "cells": [_cell(row, name) for name in names],
    }


def _cell(row: Row, name: str) -> list[Any] | None:
    value = row.values.get(name)
    if value is None:
        return None
    half = half_text(name, value)
    return [mean_text(name, value) + (f" ± {half}" if half else ""), figures.finite(float(f"{value.mean:.6g}"))]
