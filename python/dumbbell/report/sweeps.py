"""Figures of a sweep: those of `plot vary`, laid out by it, and heat maps where two or more keys vary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dumbbell.errors import DumbbellError, ResultError
from dumbbell.plots import captions, cells, look, ticks, varied
from dumbbell.plots.vary import layout_of, parts_of
from dumbbell.results.catalogue import figure, shown
from dumbbell.results.statistic import finite

from . import looks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dumbbell.plan.view import Window
    from dumbbell.plots.cells import Cell, Collected
    from dumbbell.plots.keys import VariedKey
    from dumbbell.plots.varied import Layout
    from dumbbell.results.load import Results

    from .gathered import Gathered


def sweeps(gathered: Gathered, metrics: Sequence[str] = ()) -> tuple[list[dict[str, Any]], list[str]]:
    """A figure for each of these metrics, or of all unless given, over all folders together where they vary the same
    keys, else folder by folder; and why there is none.
    """
    from dumbbell.results.load import Results

    runs, metrics = gathered.results, metrics or shown("sweep")
    if not runs:
        return [], []
    try:
        cells.varied_keys(runs)
        return _of(runs, "", gathered.window, metrics)
    except ResultError as error:
        if len(gathered.folders) == 1 or len(runs) < 2:
            return [], [str(error)] if any(run.vary for run in runs) else []
    figures, notes = [], []
    for folder in gathered.folders:
        own = Results([run.result for run in folder.runs])
        if own and any(len(values) > 1 for key, values in own.varied().items()):
            drawn, why = _of(own, folder.name, gathered.window, metrics)
            figures += drawn
            notes += why
    return figures, notes


def _of(
    runs: Results, name: str, window: Window | None, metrics: Sequence[str]
) -> tuple[list[dict[str, Any]], list[str]]:
    figures, notes = [], []
    for metric in metrics:
        known = figure(metric)
        try:
            collected = cells.collect(runs, known, window, as_points=True)
        except DumbbellError:
            continue  # a metric that these runs have not
        if all(not any(cell.values) for cell in collected.cells) and known.counts:
            continue
        forms: list[dict[str, Any]] = []
        for form in (None, "heat"):
            try:
                layout = layout_of(collected, None, None, form)
            except DumbbellError as error:
                if form is None:
                    notes.append(f"{name + ': ' if name else ''}{known.long}: {error}")
                continue
            if layout.form not in [drawn["form"] for drawn in forms]:
                forms.append(_figure(collected, layout))
                if layout.form == "heat":
                    forms[-1]["caption"] = _caption(collected, runs, window, marks="±: half the")
        if forms:
            figures.append({**_named(collected, runs, window), "metric": metric, "folder": name, "forms": forms})
    return figures, list(dict.fromkeys(notes))


def growing(runs: Results, metric: str, whole: Mapping[str, Sequence[Any]]) -> dict[str, Any] | None:
    """The figure of a metric over the first runs of a sweep whose keys take the values of `whole`, on the axis of all
    of them; None while none of the runs has that metric.
    """
    try:
        collected = cells.collect(runs, figure(metric), None, whole=whole, as_points=True)
        layout = layout_of(collected, None, None, None)
    except DumbbellError:
        return None
    return {**_named(collected, runs, None), "metric": metric, "folder": "", "forms": [_figure(collected, layout)]}


def _named(collected: Collected, runs: Results, window: Window | None) -> dict[str, Any]:
    """Title, unit and caption of a figure."""
    known = collected.metric
    most = finite(known.bound)
    return {
        "title": known.long, "unit": known.axis_unit, "caption": _caption(collected, runs, window),
        "digits": known.digits, "most": most,
    }  # fmt: skip


def _caption(collected: Collected, runs: Results, window: Window | None, *, marks: str = "whiskers:") -> str:
    return captions.of_runs(
        list(runs),
        window,
        intervals=collected.is_repeated,
        marks=marks,
        cut=collected.was_cut,
        lacking=collected.lacking,
        unreached=collected.unreached,
        beside=collected.beside,
    )


def _figure(collected: Collected, layout: Layout) -> dict[str, Any]:
    parts = parts_of(collected, layout)
    if layout.form == "heat":
        assert layout.y is not None
        panels = [{"title": title, "cells": [_heat(cell, collected, layout) for cell in mine]} for title, mine in parts]
        return {
            "form": "heat",
            "x": _axis(layout.x, in_order=True),
            "y": _axis(layout.y, in_order=True),
            "panels": panels,
        }
    rows = varied.rows_of([mine for _, mine in parts], collected, layout)
    drawn: list[dict[str, Any]] = [
        {"title": title, "rows": [_row(row, collected, layout.x) for row in own]}
        for (title, _), own in zip(parts, rows)
    ]
    rate = collected.link_rate(collected.cells)
    return {"form": layout.form, "x": _axis(layout.x), "panels": drawn, "rate": rate}


def _axis(key: VariedKey, *, in_order: bool = False) -> dict[str, Any]:
    values = ticks.ordered(key) if in_order else list(key.values)
    return {
        "title": key.axis_title,
        "ticks": [key.text(value) for value in values],
        "at": [key.position(value) for value in values],
        "numeric": bool(key.numbers),
        "log": key.is_logarithmic,
        "scattered": key.is_scattered,
    }


def _short(values: Sequence[float]) -> list[float]:
    return [float(f"{value:.6g}") for value in values]


def _row(row: varied.Row, collected: Collected, x: VariedKey) -> dict[str, Any]:
    """A line or the bars of one kind: mean, and ends of the interval, at each place of the axis."""
    points = []
    for cell in row.cells:
        value = cell.vary[x.key]
        own = look.of(str(value)).colour if x.is_cca and not row.cca else row.colour
        points.append(
            [x.values.index(value), *_short(cell.interval(collected.metric)[:3]), len(cell.values), looks.pair(own)]
        )
    return {
        "label": row.label,
        "colour": looks.pair(row.colour),
        "symbol": looks.symbol(row.marker),
        "dash": looks.dash(row.linestyle),
        "points": points,
    }


def _heat(cell: Cell, collected: Collected, layout: Layout) -> list[float]:
    assert layout.y is not None
    across, up = ticks.ordered(layout.x), ticks.ordered(layout.y)
    place = [across.index(cell.vary[layout.x.key]), up.index(cell.vary[layout.y.key])]
    return [*place, *_short(cell.interval(collected.metric)[:3]), len(cell.values)]
