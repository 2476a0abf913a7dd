"""The general table: a row for each flow or [[flow]] table and combination, all figures that any of them has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dumbbell.plots import look
from dumbbell.results import figures
from dumbbell.results.catalogue import FIGURES, figure, shown
from dumbbell.results.statistic import finite
from dumbbell.results.texts import interval_text, lacking_text

from .looks import pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell.results.catalogue import Measured
    from dumbbell.results.figures import Row

#: Runs up to which every figure is read; of more, the usual ones.
RUNS_MOST = 150
ROWS_MOST = 1000
#: Part of the largest value by which a column's values differ at least where bars tell them apart.
_EVEN = 0.02


def rows(runs: Sequence[Measured], names: Sequence[str]) -> list[Row]:
    """The rows of these runs, repetitions apart."""
    return [row for run in runs for row in figures.rows(run, names, by=figures.default_by(runs))]


def table(runs: Sequence[Measured], names: Sequence[str] = ()) -> dict[str, Any]:
    """Columns with their headings, and rows with their cells: a text, and the number that sorts and draws its bar; of
    these figures, or of all unless given.
    """
    is_whole = len(runs) <= RUNS_MOST or bool(names)
    names = names or (list(FIGURES) if is_whole else shown("page"))
    means = figures.over_repetitions(rows(runs, names))
    first = means[:ROWS_MOST]
    kept = [name for name in names if any(name in row.values for row in first)]
    keys = figures.varied_keys(first)
    notes = []
    if len(means) > len(first):
        notes.append(f"The first {len(first)} of {len(means)} rows; `dumbbell show` prints all.")
    if not is_whole:
        notes.append(f"Of {len(runs)} runs the usual figures only; `dumbbell show --columns all` prints all.")
    for name in kept:
        lacking = sum(name in row.values and row.lacking(name) > 0 for row in first)
        if lacking:
            notes.append(f"{lacking_text(figure(name).title, lacking, len(first))}.")
    return {
        "keys": keys,
        "columns": [_column(name, [row.values[name].mean for row in first if name in row.values]) for name in kept],
        "rows": [_row(row, keys, kept) for row in first],
        "notes": notes,
        "repeated": any(row.n > 1 for row in first),
    }


def _column(name: str, means: Sequence[float]) -> dict[str, Any]:
    """A column; one of flows whose values differ has bars."""
    known = figure(name)
    is_even = max(means) - min(means) <= _EVEN * max(abs(min(means)), abs(max(means)))
    return {
        "name": name,
        "title": known.title,
        "unit": known.unit,
        "long": known.axis_title,
        "shown": "page" in known.shown,
        "bars": not known.of_run and not is_even,
        "most": 1.0 if known.is_fraction else None,
    }


def _row(row: Row, keys: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    return {
        "scenario": row.scenario,
        "vary": [row.vary_text(key) for key in keys],
        "flow": row.label,
        "colour": pair(look.of(row.cca).colour) if "+" not in row.cca else pair(look.NEUTRAL),
        "n": row.n,
        "cells": [_cell(row, name) for name in names],
    }


def _cell(row: Row, name: str) -> list[Any] | None:
    value = row.values.get(name)
    if value is None:
        return None
    return [interval_text(name, value), finite(float(f"{value.mean:.6g}"))]
