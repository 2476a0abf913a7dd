"""Throughput against delay over several paths, normalised on each: the form of Yang et al. 2021, Figs. 17 and 23."""

from __future__ import annotations

from math import atan2, cos, degrees, log10, pi, radians, sin, sqrt
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from dumbbell.errors import ResultError, wrong

from . import style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from dumbbell.plan_view import View
    from dumbbell.results import Result, Results

#: What may stand along x: its label, and the summary's figures for the mean and the 95th percentile; of the flow, or of the link.
DELAYS = {
    "owd": ("One-way delay", "flow", "owd_mean_ms", "owd_p95_ms"),
    "queue": ("Queueing delay", "link", "queue_mean_ms", "queue_p95_ms"),
}


class Spot(NamedTuple):
    """One run: its path, its controller, goodput in Mbit/s, mean and 95th percentile of the delay in ms."""

    path: str
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


@style.styled
def tradeoff(results: Results, *, ax: Axes | None = None, delay: str = "owd") -> Axes:
    """Normalised throughput against normalised delay: per controller an ellipse of one standard deviation over the paths, and its mean.

    On each path (what the runs vary beside the controller) throughput is divided by the best one's and delay by the least mean; a whisker leads to
    the mean of the 95th percentiles. The delay axis is logarithmic, as are means and the ellipse along it, and reversed, so that up and to the right is better.

    Parameters
    ----------
    results
        Runs of one flow each.
    ax
        Axes to draw into; a new figure unless given.
    delay
        ``owd`` for the one-way delay, ``queue`` for the queue's alone.
    """
    import numpy as np

    if delay not in DELAYS:
        raise wrong("delay", delay, "one of: " + ", ".join(DELAYS), list(DELAYS))
    ax = style.axes(ax, height=3.2)
    for cca, points in normalised(spots(results, delay)).items():
        colour = style.colour(cca)
        ax.plot([p[0] for p in points], [p[1] for p in points], ".", color=colour, markersize=3, alpha=0.5)
        shape = ellipse([log10(p[0]) for p in points], [p[1] for p in points])
        around = np.array([shape.at(2 * pi * k / 90) for k in range(90)])
        ax.fill(10 ** around[:, 0], around[:, 1], color=colour, alpha=0.2, linewidth=0)
        whisker = fmean(log10(p[2]) for p in points)
        ax.plot([10**shape.x, 10**whisker], [shape.y, shape.y], color=colour, linewidth=0.8, marker="|", markevery=[1], markersize=5)
        ax.plot(10**shape.x, shape.y, style.MARKERS.get(cca, "o"), color=colour, markersize=5, label=style.name(cca))
    style.log_axis(ax)
    ax.invert_xaxis()
    ax.set_xlabel(f"{DELAYS[delay][0]}, mean over the least (whisker: 95th percentile)")
    ax.set_ylabel("Throughput over the best")
    style.legend(ax)
    return ax


def spots(results: Results, delay: str) -> list[Spot]:
    """A spot per path and controller, means over the repetitions."""
    found = []
    for vary, runs in results.groups():
        path = runs[0].name + "".join(f" {key}={value}" for key, value in vary.items() if not key.endswith(".cca"))
        ccas = {flow.cca for flow in runs[0].plan.flows}
        if len(ccas) != 1:
            raise ResultError(f"{runs[0].folder}: its flows run {', '.join(sorted(ccas))}, wanted one controller")
        figures = [_figures(run, delay) for run in runs]
        mean = [sum(column) / len(figures) for column in zip(*figures)]
        found.append(Spot(path, ccas.pop(), *mean))
    return found


def _figures(run: Result, delay: str) -> tuple[float, float, float]:
    summary, (_, where, mean, p95) = run.summary, DELAYS[delay]
    rows: Sequence[View] = summary.flows if where == "flow" else [summary.link]
    if any(row[mean] is None or row[p95] is None for row in rows):
        raise ResultError(f"{run.folder}: nothing arrived, so it has no delay")
    goodput = sum(flow.goodput_mbps for flow in summary.flows)
    return goodput, sum(row[mean] for row in rows) / len(rows), sum(row[p95] for row in rows) / len(rows)


def normalised(found: list[Spot]) -> dict[str, list[tuple[float, float, float]]]:
    """(mean delay, throughput, 95th percentile of the delay) of each path by controller, over the path's least mean and best throughput."""
    made: dict[str, list[tuple[float, float, float]]] = {}
    for spot in found:
        same = [other for other in found if other.path == spot.path]
        least, best = min(other.mean_ms for other in same) or 1.0, max(other.goodput for other in same) or 1.0
        made.setdefault(spot.cca, []).append((spot.mean_ms / least, spot.goodput / best, spot.p95_ms / least))
    return made


def ellipse(x: list[float], y: list[float]) -> Ellipse:
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
