"""Goodput against delay: a point per group of flows, in panels per path; or normalised over several paths, the form of
Yang et al. 2021, Figs. 17 and 23.
"""

from __future__ import annotations

from math import log10, pi
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from dumbbell.errors import ResultError, wrong
from dumbbell.results.catalogue import figure

from . import captions, cells, groups, look, pooled, series, style, varied
from .pooled import Point

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from dumbbell.plan.view import Window
    from dumbbell.results.load import Result, Results

    from .groups import Group

#: What may stand along x: the metrics of its mean and of its 95th percentile.
DELAYS = {"owd": ("owd", "owd_p95"), "queue": ("queue", "queue_p95"), "rtt": ("rtt", "rtt_p95")}

#: Repetitions from which their spread has an ellipse; panels of one figure.
_ELLIPSE_FROM, _PANELS_MOST = 3, 12

#: Points that one panel has room for, and above how many it is higher, with numbers that the legend explains instead of
#: labels.
_POINTS_MOST, _LABELS_MOST = 14, 8

#: How far above or below its point a label may be, points, best first.
_STEPS = (0, 9, -9, 18, -18, 27, -27, 36, -36, 45, -45, 54, -54, 63, -63)

#: What the caption says where the delay was not chosen.
_NO_WINDOW = "; RTT, because one-way delays are counted over whole runs only"


@style.styled
def tradeoff(
    results: Results,
    *,
    ax: Axes | None = None,
    delay: str | None = None,
    pool: bool = False,
    window: Window | None = None,
    log: bool | None = None,
    **page: Unpack[style.Page],
) -> Axes:
    """Goodput against mean delay, in Mbit/s and ms: a labelled point per group of flows, with a whisker to the delay's
    95th percentile.

    What the runs vary besides controllers is a path, and each path has a panel of its own. An ellipse is one standard
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
        pooled.check(results)
    read = points(results, delay, window, grouped=groups.as_one if pool else groups.of)
    if len(read) < 2:
        raise ResultError("one point shows no trade-off: give runs of several controllers, or with several flow tables")
    if pool:
        return pooled.draw(
            read, results, figure(delay).long.removesuffix(", mean"), window, note=note, ax=ax, page=page
        )
    paths = list(dict.fromkeys(point.path for point in read))
    if len(paths) > _PANELS_MOST or (ax is not None and len(paths) > 1):
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
    shape = varied.shape(len(paths), "lines")
    sheet = style.Sheet(
        ax,
        page,
        rows=shape.rows,
        columns=shape.columns,
        height=4.2 if fullest > _LABELS_MOST else max(shape.height, 2.4),
    )
    wide = max(max(point.p95_ms) for point in read) > 10 * min(min(point.mean_ms) for point in read) > 0
    panels = []
    for i, (path, ax_of) in enumerate(zip(paths, sheet.axes)):
        here = [point for point in read if point.path == path]
        panels.append(_panel(sheet, ax_of, here, log=wide if log is None else log))
        style.level_title(sheet, ax_of, figure(delay).axis_title)
        ax_of.set_ylabel(figure("goodput").axis_title if i % shape.columns == 0 else "")
    _label(sheet, panels, is_full=fullest > _LABELS_MOST)
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
        listed.append(
            Point(path, title, label, cell.group.cca, cell, cell.values, *(other.values for other in delays if other))
        )
    return listed


class _Mark(NamedTuple):
    """A drawn point: where it is and its whisker ends, its label and colour, and what was drawn."""

    x: float
    y: float
    far: float
    label: str
    colour: str
    drawn: Artist


class _Panel(NamedTuple):
    """A panel with its points, and the rate that a line is drawn at."""

    ax: Axes
    marks: list[_Mark]
    rate: float | None


def _panel(sheet: style.Sheet, ax: Axes, here: Sequence[Point], *, log: bool) -> _Panel:
    """The points of a path, without labels."""
    from statistics import fmean

    rate = cells.link_rate([point.cell for point in here])
    marks = []
    for point in here:
        own = look.of(point.cca)
        x, y, far = fmean(point.mean_ms), fmean(point.goodput), fmean(point.p95_ms)
        ax.plot([x, far], [y, y], color=own.colour, linewidth=0.9, marker="|", markevery=[1], markersize=5)
        if len(point.goodput) >= _ELLIPSE_FROM:
            _ellipse(ax, point, own.colour, rate)
        drawn = ax.plot(
            [x],
            [y],
            linestyle="none",
            marker=own.marker,
            color=own.colour,
            markersize=6,
            markeredgecolor="white",
            markeredgewidth=0.5,
            label=point.label,
        )[0]
        marks.append(_Mark(x, y, far, point.label, own.colour, drawn))
    if rate is not None:
        sheet.entry(ax.axhline(rate, color=look.GREY, linewidth=1.0, linestyle="--", zorder=1.5), "link rate")
    ax.set_ylim(0, 1.08 * max([mark.y for mark in marks] + ([rate] if rate else [])))
    if log:
        ax.set_xscale("log")
        low, high = ax.get_xlim()
        ax.set_xlim(low / 1.1, high * 1.4)
        style.plain_log(ax.xaxis, low, high)
    else:
        ax.set_xlim(0, ax.get_xlim()[1] * 1.15)
    if here[0].title:
        style.panel_title(sheet, ax, here[0].title)
    return _Panel(ax, marks, rate)


def _ellipse(ax: Axes, point: Point, colour: str, rate: float | None) -> None:
    """One standard deviation over the repetitions: along the logarithm of the delay, which cannot be negative, and cut
    at the link's rate and at nothing.
    """
    import numpy as np

    shape = pooled.ellipse([log10(max(x, 1e-6)) for x in point.mean_ms], point.goodput)
    around = np.array([shape.at(2 * pi * k / 90) for k in range(90)])
    ax.fill(10 ** around[:, 0], np.clip(around[:, 1], 0, rate), color=colour, alpha=0.25, linewidth=0)


def _label(sheet: style.Sheet, panels: Sequence[_Panel], *, is_full: bool) -> None:
    """Each point's label; in all panels numbers, which the legend explains, where one `is_full` or has no place for
    some label.
    """
    texts = [[mark.label for mark in panel.marks] for panel in panels]
    places = [_places(sheet, panel, own) for panel, own in zip(panels, texts)]
    if is_full or any(None in own for own in places):
        marks = [mark for panel in panels for mark in panel.marks]
        numbers = {label: str(n) for n, label in enumerate(dict.fromkeys(mark.label for mark in marks), start=1)}
        for mark in marks:
            sheet.entry(mark.drawn, f"{numbers[mark.label]}: {mark.label}")
        texts = [[numbers[label] for label in own] for own in texts]
        places = [_places(sheet, panel, own) for panel, own in zip(panels, texts)]
    for panel, own, at in zip(panels, texts, places):
        for mark, text, place in zip(panel.marks, own, at):
            _write(panel.ax, mark, text, place or (6.0, 10.0))
        _better(sheet, panel)


def _size(sheet: style.Sheet, ax: Axes) -> tuple[float, float]:
    """Width and height of a panel, points."""
    box = ax.get_position()
    wide, high = (float(side) * 72 for side in sheet.figure.get_size_inches())
    return wide * box.width, high * box.height


def _at(ax: Axes, x: float, y: float) -> tuple[float, float]:
    """Place of a point in its panel: from 0 to 1 in each direction."""
    px, py = ax.transAxes.inverted().transform(ax.transData.transform((x, y)))
    return float(px), float(py)


def _places(sheet: style.Sheet, panel: _Panel, texts: Sequence[str]) -> list[tuple[float, float] | None]:
    """For the label of each point an offset in points at which it is in the panel and covers nothing; None without."""
    from itertools import product

    wide, high = _size(sheet, panel.ax)
    places = [_at(panel.ax, mark.x, mark.y) for mark in panel.marks]
    ends = [_at(panel.ax, mark.far, mark.y)[0] for mark in panel.marks]
    taken = [
        (px * wide - 4, py * high - 4, max(px, end) * wide + 4, py * high + 4) for (px, py), end in zip(places, ends)
    ]
    if panel.rate is not None:  # labels are not crossed by its line
        line = high * _at(panel.ax, panel.marks[0].x, panel.rate)[1]
        taken.append((0.0, line - 1, wide, line + 1))
    offsets: list[tuple[float, float] | None] = []
    for (px, py), text in zip(places, texts):
        size = (style.text_points(text, 7.5), 8.0)
        offsets.append(None)
        for dy, dx in product(_STEPS, (6, -6 - size[0], -size[0] / 2)):
            if dy == 0 and dx == -size[0] / 2:
                continue
            corner = (px * wide + dx, py * high + dy - size[1] / 2)
            box = (corner[0], corner[1], corner[0] + size[0], corner[1] + size[1])
            inside = box[0] >= 0 and box[2] <= wide and box[1] >= 0 and box[3] <= high
            if inside and not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken):
                offsets[-1] = (dx, dy)
                taken.append(box)
                break
    return offsets


def _write(ax: Axes, mark: _Mark, text: str, place: tuple[float, float]) -> None:
    """A label, with a line to its point where it is not next to it."""
    arrow: dict[str, Any] = (
        {"arrowprops": {"arrowstyle": "-", "color": mark.colour, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 2}}
        if abs(place[1]) > 9
        else {}
    )
    ax.annotate(
        style.plain(text),
        (mark.x, mark.y),
        xytext=(place[0], place[1] - 3),
        textcoords="offset points",
        fontsize=7.5,
        color=mark.colour,
        annotation_clip=False,
        **arrow,
    )


def _better(sheet: style.Sheet, panel: _Panel) -> None:
    """The arrow to better, where no point is."""
    wide, high = _size(sheet, panel.ax)
    places = [_at(panel.ax, mark.x, mark.y) for mark in panel.marks]
    corners = [(0.97, 0.1), (0.97, 0.6), (0.97, 0.35), (0.5, 0.1), (0.5, 0.6)]
    free = max(
        corners, key=lambda at: min(((at[0] - px) * wide) ** 2 + ((at[1] - py) * high) ** 2 for px, py in places)
    )
    panel.ax.annotate(
        "better",
        (free[0] - 44 / wide, free[1] + 20 / high),
        xytext=free,
        ha="right",
        xycoords="axes fraction",
        textcoords="axes fraction",
        fontsize=7.5,
        color="#555555",
        arrowprops={"arrowstyle": "->", "color": "#555555"},
    )
