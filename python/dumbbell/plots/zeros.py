"""Values of 0 on a logarithmic axis: a mark at its lower edge, and the line is broken there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dumbbell.errors import ResultError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

#: What the caption says of the marks.
SAID = "▼: 0, for which a logarithmic axis has no place"


def marked(ax: Axes) -> bool:
    """Mark the zeros of lines and bars, if the upright axis is logarithmic; whether there were any."""
    if ax.get_yscale() != "log":
        return False
    bars = [bar for container in ax.containers for bar in getattr(container, "patches", ())]
    zeros = [(bar.get_x() + bar.get_width() / 2, bar.get_facecolor()) for bar in bars if bar.get_height() <= 0]
    zeros += [(at, line.get_color()) for line in ax.get_lines() for at in _broken(line)]
    edge: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "clip_on": False, "linestyle": "none"}
    for colour in dict.fromkeys(str(colour) for _, colour in zeros):
        mine = [(at, own) for at, own in zeros if str(own) == colour]
        ax.plot([at for at, _ in mine], [0.0] * len(mine), marker="v", markersize=4, color=mine[0][1], **edge)
    return bool(zeros)


def refuse_only(values: Iterable[float]) -> None:
    """Raise ResultError where a logarithmic axis has nothing to show."""
    if not any(value > 0 for value in values):
        raise ResultError("all values are 0, for which a logarithmic axis has no place: omit --log")


def values_of(line: Line2D) -> list[float]:
    """Values of a line along the upright axis."""
    import numpy as np

    return [float(value) for value in np.asarray(line.get_ydata(orig=False), dtype=float)]


def _broken(line: Line2D) -> list[float]:
    """Take the zeros out of a line; where they were."""
    import numpy as np

    x, y = (np.asarray(values, dtype=float) for values in (line.get_xdata(orig=False), line.get_ydata(orig=False)))
    zero = y <= 0
    positive = y > 0
    if line.get_marker() in ("_", "|"):  # the ends of a whisker
        return []
    if not zero.any() or not line.get_transform().contains_branch(line.axes.transData):  # type: ignore[union-attr]
        return []
    line.set_ydata(np.where(zero, np.nan, y))
    around = np.concatenate([[False], positive, [False]])
    lone = np.flatnonzero(positive & ~around[:-2] & ~around[2:])
    is_bare = line.get_marker() in ("None", None, "") and not line.get_drawstyle().startswith("steps")
    if lone.size and is_bare:  # a value between zeros is a point
        line.set_marker(".")
        line.set_markevery(lone.tolist())
    return [float(at) for at in x[zero]]
