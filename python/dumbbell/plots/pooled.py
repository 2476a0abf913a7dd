"""The trade-off over several paths together: goodput over the best on its path, delay over the smallest there, an
ellipse per controller.
"""

from __future__ import annotations

from math import atan2, cos, degrees, log10, pi, radians, sin, sqrt
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import ResultError

from . import captions, groups, look, style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from dumbbell.plan.view import Window
    from dumbbell.results.load import Results

    from .cells import Cell


class Point(NamedTuple):
    """A group of flows on one path: its repetitions' goodputs in Mbit/s, mean delays and 95th percentiles in ms."""

    path: tuple[Any, ...]
    title: str
    label: str
    traits: list[look.Trait]
    cca: str
    cell: Cell
    goodput: list[float]
    mean_ms: list[float]
    p95_ms: list[float]


#: What a controller's marks mean, for a caption.
MARKS = (
    "marks: arithmetic means over the paths; ellipses: one standard deviation over the paths, of the delay's logarithm;"
    " whiskers: to the mean 95th percentile"
)


class Spot(NamedTuple):
    """A controller on a path: goodput in Mbit/s, mean and 95th percentile of the delay in ms."""

    path: object
    cca: str
    goodput: float
    mean_ms: float
    p95_ms: float


class Ellipse(NamedTuple):
    """Centre, full axes and angle in degrees of the region within one standard deviation of points."""

    x: float
    y: float
    width: float
    height: float
    angle: float

    def at(self, turn: float) -> tuple[float, float]:
        """A point of its edge."""
        along, across, angle = self.width / 2 * cos(turn), self.height / 2 * sin(turn), radians(self.angle)
        return self.x + along * cos(angle) - across * sin(angle), self.y + along * sin(angle) + across * cos(angle)


def check(results: Results) -> None:
    """Raises ResultError where the flows of a run have different controllers."""
    for run in results:
        ccas = sorted({group.cca for group in groups.of(run)})
        if len(ccas) > 1:
            raise ResultError(
                f"{run.folder.name}: its flows run {', '.join(ccas)}; paths are drawn together for runs of one"
                " controller each"
            )


def draw(
    points: Sequence[Point],
    results: Results,
    title: str,
    window: Window | None,
    *,
    note: str,
    ax: Axes | None,
    page: style.Page,
) -> Axes:
    """Draw all paths in one panel: per controller its paths, their mean, and an ellipse of one standard deviation that
    ends at 1, where the best is; `note` ends the caption.
    """
    sheet = style.Sheet(ax, page, height=3.0)
    spots = [
        Spot(point.path, point.cca, fmean(point.goodput), fmean(point.mean_ms), fmean(point.p95_ms)) for point in points
    ]
    panel(sheet, spots, title)
    paths = len({point.path for point in points})
    sheet.finish(f"{captions.of_runs(list(results), window)}; {paths} paths, each normalised; {MARKS}{note}")
    return sheet.ax


def panel(sheet: style.Sheet, spots: Sequence[Spot], title: str) -> None:
    """All controllers on all paths, normalised, in the sheet's first axes; `title` says which delay it is."""
    for cca, places in normalised(spots).items():
        _controller(sheet, cca, places)
    sheet.ax.set_xscale("log")
    style.plain_log(sheet.ax.xaxis, *sheet.ax.get_xlim())
    sheet.ax.invert_xaxis()
    style.level_title(sheet, sheet.ax, f"{title}, mean over the smallest on its path (smaller to the right)")
    style.value_title(sheet, sheet.ax, "Goodput over the best on its path")
    style.better(sheet.ax, (0.13, 0.06), is_right=True)


def _controller(sheet: style.Sheet, cca: str, places: Sequence[tuple[float, float, float]]) -> None:
    """A controller's paths, their arithmetic mean, and the ellipse, whose centre is the mean of the logarithms."""
    import numpy as np

    own = look.of(cca)
    sheet.ax.plot([p[0] for p in places], [p[1] for p in places], ".", color=own.colour, markersize=3, alpha=0.5)
    shape = ellipse([log10(p[0]) for p in places], [p[1] for p in places])
    around = np.array([shape.at(2 * pi * k / 90) for k in range(90)])
    sheet.ax.fill(
        np.maximum(10 ** around[:, 0], 1.0),
        np.clip(around[:, 1], 0.0, 1.0),
        color=own.colour,
        alpha=0.2,
        linewidth=0,
    )
    delay, goodput, whisker = (fmean(p[i] for p in places) for i in range(3))
    sheet.ax.plot(
        [delay, whisker],
        [goodput, goodput],
        color=own.colour,
        linewidth=0.8,
        marker="|",
        markevery=[1],
        markersize=5,
    )
    mark: Any = own.marker
    sheet.entry(
        sheet.ax.plot(delay, goodput, linestyle="none", marker=mark, color=own.colour, markersize=6, label=own.name)[0],
        own.name,
    )


def normalised(spots: Sequence[Spot]) -> dict[str, list[tuple[float, float, float]]]:
    """(mean delay, goodput, 95th percentile of the delay) of each path by controller, over the path's smallest mean and
    best goodput; raises ResultError where the smallest mean is 0.
    """
    by_cca: dict[str, list[tuple[float, float, float]]] = {}
    for spot in spots:
        same = [other for other in spots if other.path == spot.path]
        least, best = min(same, key=lambda other: other.mean_ms), max(other.goodput for other in same) or 1.0
        lowest = least.mean_ms
        if not lowest:
            raise ResultError(
                f"the mean delay of {look.name(least.cca)} is 0 on a path, and no delay can be divided by it: choose"
                " another one (--delay owd or rtt), or draw each path by itself, without --pool"
            )
        by_cca.setdefault(spot.cca, []).append((spot.mean_ms / lowest, spot.goodput / best, spot.p95_ms / lowest))
    return by_cca


def ellipse(x: Sequence[float], y: Sequence[float]) -> Ellipse:
    """One standard deviation of the points along the axes of their covariance (divided by n).

    >>> ellipse([0.0, 2.0], [0.0, 2.0])._asdict()["angle"]
    45.0
    """
    n = len(x)
    mx, my = sum(x) / n, sum(y) / n
    xx, yy = sum((a - mx) ** 2 for a in x) / n, sum((b - my) ** 2 for b in y) / n
    xy = sum((a - mx) * (b - my) for a, b in zip(x, y)) / n
    middle, spread = (xx + yy) / 2, sqrt(((xx - yy) / 2) ** 2 + xy**2)
    angle = degrees(atan2(2 * xy, xx - yy)) / 2
    return Ellipse(mx, my, 2 * sqrt(middle + spread), 2 * sqrt(max(middle - spread, 0.0)), angle)
