"""Series with fewer points: the smallest and the largest value of each interval stay, so that no peak is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dumbbell.results.statistic import Column

    Rows = NDArray[np.float64]


class Thin(NamedTuple):
    """Rows of values at common times, and how many of the original points an interval holds (1: nothing is left
    out).
    """

    t: Column
    rows: Rows
    width: int


def thinned(t: Column, rows: Rows, most: int) -> Thin:
    """At most about `most` points: two for each interval, its minimum and its maximum in the order in which they came.

    >>> import numpy as np
    >>> thinned(np.arange(8.0), np.array([[0, 9, 1, 1, -5, 1, 2, 1.0]]), 4).rows
    array([[ 0.,  9., -5.,  2.]])
    """
    import numpy as np

    if t.size <= max(most, 2):
        return Thin(t, rows, 1)
    width = -(-t.size // max(most // 2, 1))
    count = -(-t.size // width)
    padded = np.full((rows.shape[0], count * width), np.nan)
    padded[:, : t.size] = rows
    parts = padded.reshape(rows.shape[0], count, width)
    low, high = np.where(np.isnan(parts), np.inf, parts), np.where(np.isnan(parts), -np.inf, parts)
    least, most_ = low.min(axis=2), high.max(axis=2)
    is_rising = low.argmin(axis=2) <= high.argmax(axis=2)
    pair = np.stack([np.where(is_rising, least, most_), np.where(is_rising, most_, least)], axis=2)
    first = np.arange(count) * width
    second = np.minimum(first + width // 2, t.size - 1)
    return Thin(
        t[np.stack([first, second], axis=1).ravel()],
        np.where(np.isinf(pair), np.nan, pair).reshape(rows.shape[0], -1),
        width,
    )


def summed(counts: Column, width: int) -> Column:
    """Counts at the times that `thinned` keeps: those of an interval at its first time, so that their sum stays."""
    import numpy as np

    if width == 1:
        return counts
    count = -(-counts.size // width)
    padded = np.zeros(count * width)
    padded[: counts.size] = counts
    thin = np.zeros(2 * count)
    thin[::2] = padded.reshape(count, width).sum(axis=1)
    return thin
