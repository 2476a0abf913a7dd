"""Goodput against delay: a point per group of flows, in panels per path; or normalised over several paths, the form of
Yang et al. 2021, Figs. 17 and 23.
"""

from __future__ import annotations

from math import log10, pi
from typing import TYPE_CHECKING, Unpack

from dumbbell.errors import ResultError, wrong
from dumbbell.results.catalogue import figure

from . import captions, cells, groups, lettering, look, pooled, series, style, varied
from .pooled import Point

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

    from dumbbell.plan.view import Window
    from dumbbell.results.load import Result, Results

    from .groups import Group

#: What may stand along x: the metrics of its mean and of its 95th percentile.
DELAYS = {"owd": ("owd", "owd_p95"), "queue": ("queue", "queue_p95"), "rtt": ("rtt", "rtt_p95")}

#: Repetitions from which their spread has an ellipse; panels of one figure.
_ELLIPSE_FROM, _PANELS_MOST = 3, 12

#: Points that one panel has room for.
_POINTS_MOST = 14

#: What the caption says where the delay was not chosen.
_NO_WINDOW = "; RTT, because one-way delays are counted over whole runs only"


@style.styled
def tradeoff(
    results: Results,
    *,
    ax: Axes | None = None,
    delay: str | None = None,
    pool: bool = False,
    flows: str | Sequence[int] | None = None,
    window: Window | None = None,
    log: bool | None = None,
    **page: Unpack[style.Page],
) -> Axes:
    """Goodput against mean delay, in Mbit/s and ms: a point per group of flows, with a whisker to the delay's
    95th percentile.

    What the runs vary besides controllers is a path, and each path has a panel of its own, all with the same axes. An
    ellipse is one standard
    deviation over three or more repetitions, and ends where the possible does: at the link's rate, and at a delay of
    zero.

    Parameters
    ----------
    results
        Runs that together have at least two points.
    ax
        Axes to draw into, for one path; a new figure unless given.
    delay
        ``owd`` for the one-way delay, ``queue`` for the queue's alone, ``rtt`` for the RTT; ``owd`` unless given, or
        ``rtt`` in a window, because one-way delays are counted over whole runs.
    pool
        Draws all paths together: goodput over the best on its path, delay over the smallest one. Runs have flows of one
        controller each, which are taken together.
    flows
        Only these flows: numbers, or text such as ``0,3-5`` or a name; all unless given.
    window
        Start and end in seconds; the scenario's `measure`, or the whole run, unless given.
    log
        Whether the axis of the delay is logarithmic; where delays span a decade unless given.
    """
    if delay is not None and delay not in DELAYS:
        raise wrong("--delay", delay, "one of: " + ", ".join(DELAYS), list(DELAYS))
    note = ""
    if delay is None:
        windowed = window is not None or any(run.plan.window for run in results)
        delay, note = ("rtt", _NO_WINDOW) if windowed else ("owd", "")
    if pool:
        if flows is not None:
            raise wrong("--flows", str(flows), "no flows with --pool, which takes all of a run together")
        pooled.check(results)
    read = points(results, delay, window, grouped=groups.as_one if pool else cells.grouped_by(results, flows))
    if len(read) < 2:
        raise ResultError("one point shows no trade-off: give runs of several controllers, or with several flow tables")
    if pool:
        return pooled.draw(
            read, results, figure(delay).long.removesuffix(", mean"), window, note=note, ax=ax, page=page
        )
    paths = list(dict.fromkeys(point.path for point in read))
    _check_room(read, paths, is_one=ax is not None)
    shape = varied.shape(len(paths), "lines", style.checked_size(page)[0])
    sheet = style.Sheet(
        ax, page, rows=shape.rows, columns=shape.columns, height=max(shape.height, 2.2), sharex=True, sharey=True
    )
    wide = max(max(point.p95_ms) for point in read) > 10 * min(min(point.mean_ms) for point in read) > 0
    dresses = dict(zip(map(id, read), look.dress([point.traits for point in read]), strict=True))
    rates = [
        _panel(sheet, ax_of, [(point, dresses[id(point)]) for point in read if point.path == path])
        for path, ax_of in zip(paths, sheet.axes)
    ]
    for ax_of in sheet.axes[: len(paths)]:
        ax_of.set_ylabel(figure("goodput").axis_title)
        style.level_title(sheet, ax_of, figure(delay).axis_title)
    _axes(sheet.ax, read, rates, log=wide if log is None else log, from_zero=delay == "queue")
    varied.share_titles(sheet, len(paths), "lines")
    _better(sheet.ax, read)
    for unused in sheet.axes[len(paths) :]:
        unused.remove()
    ellipses = (
        "; ellipses: one standard deviation of the repetitions"
        if max(len(point.goodput) for point in read) >= _ELLIPSE_FROM
        else ""
    )
    sheet.entries.sort(key=lambda entry: series.order(entry[1]))
    caption = captions.of_runs(list(results), window)
    sheet.finish(f"{caption}; whiskers: to the 95th percentile of the delay{ellipses}{note}")
    return sheet.ax


def _check_room(read: Sequence[Point], paths: Sequence[object], *, is_one: bool) -> None:
    """Raise ResultError for more panels than a figure has, or more points than a panel has room for."""
    if len(paths) > _PANELS_MOST or (is_one and len(paths) > 1):
        raise ResultError(
            f"{len(paths)} paths do not fit: choose runs with --run, or draw them together, each normalised, with"
            " --pool"
        )
    fullest = max(sum(point.path == path for point in read) for path in paths)
    if fullest > _POINTS_MOST:
        raise ResultError(
            f"{fullest} points do not fit into one panel, which has room for {_POINTS_MOST}: choose runs with --run,"
            " such as --run '*cca=bbr*'"
        )


def points(
    results: Results,
    delay: str,
    window: Window | None,
    *,
    grouped: Callable[[Result], list[Group]] = groups.of,
) -> list[Point]:
    """The points of all groups; a path is what varies besides controllers."""
    read = [
        cells.collect(results, figure(name), window, needed=False, grouped=grouped)
        for name in ("goodput", *DELAYS[delay])
    ]
    keys = list(read[0].keys.values())
    others = [key for key in keys if not key.is_cca]
    listed = []
    for cell in read[0].cells:
        delays = [
            next(
                (
                    other
                    for other in collected.cells
                    if other.run is cell.run and (other.group is None or other.number == cell.number)
                ),
                None,
            )
            for collected in read[1:]
        ]
        if None in delays:
            raise ResultError(
                f"{cell.run.folder.name}: nothing of {cell.group.label if cell.group else 'its flows'} arrived, so"
                " there is no delay"
            )
        path = tuple(str(cell.vary[key.key]) for key in others)
        title = ", ".join(key.phrase(cell.vary[key.key]) for key in others)
        label = cells.label(cell, [key for key in keys if key.is_cca], None, [cell], figure("goodput"))
        assert cell.group is not None
        traits = [look.Trait(cell.group.cca, is_cca=True), look.Trait(cell.number), look.Trait(label)]
        values = [other.values for other in delays if other]
        listed.append(Point(path, title, label, traits, cell.group.cca, cell, cell.values, *values))
    return listed


def _panel(sheet: style.Sheet, ax: Axes, here: Sequence[tuple[Point, look.Dress]]) -> float | None:
    """The points of a path, the largest below the others; the rate that a line is drawn at."""
    from statistics import fmean

    rate = cells.link_rate([point.cell for point, _ in here])
    for nth, (point, own) in enumerate(here):
        x, y, far = fmean(point.mean_ms), fmean(point.goodput), fmean(point.p95_ms)
        order = 3 + own.is_own + nth / 100
        ax.plot(
            [x, far], [y, y], color=own.colour, linewidth=0.9, marker="|", markevery=[1], markersize=5, zorder=order
        )
        if len(point.goodput) >= _ELLIPSE_FROM:
            _ellipse(ax, point, own.colour, rate)
        size = lettering.points(5.5) * (1.35 if _is_covered(here, nth) else 1.0)
        face = "none" if own.is_hollow else own.colour
        edge = own.colour if own.is_hollow else "white"
        drawn = ax.plot([x], [y], linestyle="none", marker=own.marker, color=own.colour, markersize=size,
                        markerfacecolor=face, markeredgecolor=edge, markeredgewidth=0.5, zorder=order,
                        label=point.label)[0]  # fmt: skip
        sheet.entry(drawn, point.label)
    if rate is not None:
        sheet.entry(ax.axhline(rate, color=look.QUIET, linewidth=1.0, linestyle="--", zorder=1.5), "link rate")
    if here[0][0].title:
        style.panel_title(sheet, ax, here[0][0].title)
    return rate


def _is_covered(here: Sequence[tuple[Point, look.Dress]], nth: int) -> bool:
    """True if a later point of the panel is nearly at the same place, so that this one is drawn larger."""
    from statistics import fmean

    x, y = fmean(here[nth][0].mean_ms), fmean(here[nth][0].goodput)
    top = max(fmean(point.goodput) for point, _ in here) or 1.0
    return any(
        abs(fmean(point.mean_ms) / x - 1) < 0.03 and abs(fmean(point.goodput) - y) < 0.02 * top
        for point, _ in here[nth + 1 :]
        if x
    )


def _axes(ax: Axes, read: Sequence[Point], rates: Sequence[float | None], *, log: bool, from_zero: bool) -> None:
    """The axes of all panels, which share them."""
    tops = [sum(point.goodput) / len(point.goodput) for point in read] + [rate for rate in rates if rate is not None]
    ax.set_ylim(0, 1.08 * max(tops))
    low, high = min(min(point.mean_ms) for point in read), max(max(point.p95_ms) for point in read)
    if log:
        ax.set_xscale("log")
        ax.set_xlim(low / 1.15, high * 1.15)
        style.plain_log(ax.xaxis, *ax.get_xlim())
        return
    begin = low - 0.15 * ((high - low) or high) if not from_zero and low > 0.3 * high else 0.0
    ax.set_xlim(begin, high + 0.06 * (high - begin) or 1.0)
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(max(2, int(style.length_points(ax.xaxis) / 30)), steps=[1, 2, 5, 10]))


def _ellipse(ax: Axes, point: Point, colour: str, rate: float | None) -> None:
    """One standard deviation over the repetitions: along the logarithm of the delay, which cannot be negative, and cut
    at the link's rate and at nothing.
    """
    import numpy as np

    shape = pooled.ellipse([log10(max(x, 1e-6)) for x in point.mean_ms], point.goodput)
    around = np.array([shape.at(2 * pi * k / 90) for k in range(90)])
    ax.fill(10 ** around[:, 0], np.clip(around[:, 1], 0, rate), color=colour, alpha=0.25, linewidth=0)


def _better(ax: Axes, read: Sequence[Point]) -> None:
    """The arrow to better, in the corner of the first panel that is farthest from all points of its path."""
    here = [point for point in read if point.path == read[0].path]
    to_axes = ax.transData + ax.transAxes.inverted()
    places = [to_axes.transform((max(x, 1e-9), y)) for point in here for x, y in zip(point.mean_ms, point.goodput)]
    ends = [to_axes.transform((far, y)) for point in here for far, y in zip(point.p95_ms, point.goodput)]
    corners = [(0.96, 0.06), (0.96, 0.5), (0.36, 0.06)]
    free = max(corners, key=lambda at: min((at[0] - px) ** 2 + (at[1] - py) ** 2 for px, py in [*places, *ends]))
    style.better(ax, free)
