"""Rates of the flows over time, as Figs. 7 to 14 draw them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dumbbell.plots import look, style

from .testbed import rate_over_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dumbbell.suites.draw import Panel
    from dumbbell.suites.table import Point, Table


def over_time(*, rate: float | None = None, label: str | None = None, title: str = "") -> Panel:
    """The rate of each flow of the first repetition; the link's rate is dotted, in its steps where `rate` is None.

    Flows of one controller have other shades and lines.
    """

    def draw(table: Table, sheet: style.Sheet, ax: Axes) -> None:
        (point, _), *_ = table.points_of(label)
        run = point.runs[0]
        ccas = [flow.cca for flow in run.plan.flows]
        for number, cca in enumerate(ccas):
            t, values = rate_over_time(run, number)
            (handle,) = ax.step(t, values, where="post", lw=1.0, **_look(ccas, number))
            sheet.entry(handle, f"flow{number + 1}" + (f" ({look.name(cca)})" if len(set(ccas)) > 1 else ""))
        _capacity(point, ax, rate)
        ax.set_xlim(0, run.plan.duration_s)
        ax.set_ylim(0, 1.15 * max(_rates(point, rate)))
        ax.set_xlabel("Time (s)")
        style.value_title(sheet, ax, "Rate (Mbit/s)")
        if title:
            style.panel_title(sheet, ax, title)

    return draw


def _look(ccas: list[str], number: int) -> dict[str, Any]:
    same = [i for i, cca in enumerate(ccas) if cca == ccas[number]]
    nth = same.index(number)
    colour = look.shade(look.of(ccas[number]).colour, nth, len(same))
    return {"color": colour, "linestyle": look.LINES[nth % len(look.LINES)]}


def _rates(point: Point, rate: float | None) -> list[float]:
    plan = point.runs[0].plan
    return [rate] if rate else plan.bottleneck.changes(plan.duration_ns)[1]


def _capacity(point: Point, ax: Axes, rate: float | None) -> None:
    plan = point.runs[0].plan
    if rate:
        ax.axhline(rate, color=look.NEUTRAL, ls=":", lw=0.8)
    else:
        times, values = plan.bottleneck.changes(plan.duration_ns)
        ax.step(times, values, where="post", color=look.NEUTRAL, ls=":", lw=0.8)
