"""Pictures of suites: which marks stand in their panels, and that none of them is cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

import pytest

from dumbbell import suites
from dumbbell.plots import style
from dumbbell.suites import cells, draw
from dumbbell.suites.measure import Metric
from dumbbell.suites.table import Column, Point, Table


def written(values: Mapping[str, Sequence[Sequence[Any]]], *, most: float = inf, kind: str = "sim") -> Table:
    """A table of lines with these repetitions at places 0, 1 ... of an axis `x`, whose runs are their own figure."""
    points = [
        Point(label, {"x": place}, tuple(repetitions))
        for label, line in values.items()
        for place, repetitions in enumerate(line)
    ]
    metrics = {"figure": Metric("figure", "", lambda run, _: run, most)}
    entry = replace(suites.entry_of("yang2021/fig16"), metrics=metrics)
    return Table(suites.text_of("yang2021/fig16"), entry, points, kind=kind)


def drawn(panel: draw.Panel, table: Table) -> Any:
    """The axes with a panel."""
    sheet = style.Sheet(None, {}, rows=1, columns=1, squeeze=False)
    panel(table, sheet, sheet.axes[0])
    return sheet.axes[0]


def bars(axes: Any) -> list[tuple[float, float]]:
    """Ends of the vertical bars of the first line."""
    return [(float(ends[0][1]), float(ends[1][1])) for ends in axes.containers[0].lines[2][0].get_segments()]


def test_a_bar_ends_at_what_is_possible_and_the_axis_has_room_for_it() -> None:
    table = written({"BBRv2+": [(1.0, 1.0, 0.9, 0.6), (0.55, 0.5, 0.52, 0.5), (0.0, 0.0, 0.0, 0.5)]}, most=1.0)
    axes = drawn(draw.lines("x", "figure", low=0.45, high=0.8), table)
    low, high = axes.get_ylim()
    first, _, last = bars(axes)
    assert first[1] == 1.0
    assert last[0] == 0.0
    assert all(low <= bottom <= top <= high for bottom, top in bars(axes))


def test_an_axis_ends_where_the_entry_says_if_no_mark_is_beyond() -> None:
    axes = drawn(draw.lines("x", "figure", low=10, high=40), written({"CUBIC": [(12.0,), (30.0,)]}))
    assert axes.get_ylim() == (10, 40)


@pytest.mark.parametrize(("by_label", "colours"), [(False, 1), (True, 3)])
def test_variants_of_a_controller_are_shades_of_it_unless_every_line_has_a_colour(
    *, by_label: bool, colours: int
) -> None:
    labels = ["CUBIC", "BBRv1", *(f"BBRv2({alpha}%,0.3)" for alpha in (2, 5, 10))]
    looks = draw.looks_of(labels, by_label=by_label)
    kin = [looks[label] for label in labels[2:]]
    assert len({look["marker"] for look in kin}) == colours
    assert len({look["color"] for look in kin}) == 3
    assert len({look["color"] for look in looks.values()}) == 5


def test_a_distribution_of_another_back_end_stands_in_the_same_axes_and_hides_nothing() -> None:
    table = written({"BBRv1": [(5.0, 5.0)], "BBRv2": [(5.0, 5.0)]})
    table.beside = written({"BBRv1": [(4.0, 6.0)], "BBRv2": [(5.0, 5.0)]}, kind="ssh://a,b")
    axes = drawn(draw.cdf("figure", low=3, high=9, thinning=True), table)
    widths = [line.get_linewidth() for line in axes.lines]
    assert len(widths) == 4
    assert widths == sorted(widths, reverse=True)
    assert [line.get_linestyle() for line in axes.lines] == ["-", "-", ":", ":"]
    assert axes.get_xlim() == (3, 9)
    assert drawn(draw.cdf("figure", low=4.5, high=5.5), table).get_xlim() != (4.5, 5.5)


def test_the_columns_and_rows_of_a_table_say_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [cells.Cell("BBR", {"case": case, "loss_pct": 1}, "utility", 0.9, 0.91, True) for case in ("C2", "C5")]
    monkeypatch.setattr(cells, "cells", lambda _: listed)
    figure = cells.drawn([Column("utility", "Utilization")], "case")(written({}))
    assert figure.axes[0].get_xlabel() == "Case"
    assert figure.axes[0].get_ylabel() == "Algorithm, Random loss (%)"
