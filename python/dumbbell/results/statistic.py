"""Statistics of plain numbers: distributions, Jain's index, intervals over repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import isfinite, isnan
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]


def known(value: float | None) -> float | None:
    """A value that there is: None for nan, too."""
    return None if value is None or isnan(value) else value


def finite(value: float | None) -> float | None:
    """A number as JSON has it, which knows neither nan nor infinity: None for these."""
    return value if value is not None and isfinite(value) else None


class Distribution(NamedTuple):
    """Mean and percentiles; nan where there is no sample."""

    mean: float
    p50: float
    p95: float
    p99: float


class Interval(NamedTuple):
    """A mean over repetitions, the half width of its confidence interval (nan for a single one), and how many there
    are.
    """

    mean: float
    half_width: float
    n: int = 1

    @property
    def half(self) -> float | None:
        """The half width; None for a single repetition, and where a mean is not finite."""
        return known(self.half_width)


class Sample(NamedTuple):
    """A figure in the repetitions of one experiment."""

    values: tuple[float | None, ...]
    """None where a repetition has no such figure."""
    seeds: tuple[int | None, ...] = ()
    """Of each repetition; empty where they are not known."""

    @property
    def known(self) -> list[float]:
        """The values that there are."""
        return [value for measured in self.values if (value := known(measured)) is not None]

    @property
    def lacking(self) -> int:
        """Number of repetitions that lack the figure."""
        return len(self.values) - len(self.known)

    @property
    def interval(self) -> Interval:
        """Mean of the known values with its 95 % interval; nan where there is none."""
        return mean_interval(self.known)


def distribution(values: Sequence[float] | Column, *, unreached: int = 0) -> Distribution:
    """Mean and percentiles by linear interpolation between order statistics (Hyndman and Fan 1996, type 7).

    `unreached` counts further values that are above all others and not known, such as times of what never ended: a
    percentile among them is infinite, and the mean is that of `values` alone.

    >>> distribution([1.0, 2.0, 3.0], unreached=2)
    Distribution(mean=2.0, p50=3.0, p95=inf, p99=inf)
    """
    import numpy as np

    data = np.asarray(values, dtype=float)
    data = np.sort(data[~np.isnan(data)])
    if not data.size + unreached:
        return Distribution(*[float("nan")] * 4)
    mean = float(data.mean()) if data.size else float("nan")
    return Distribution(mean, *(_percentile(data, unreached, share) for share in (0.50, 0.95, 0.99)))


def _percentile(ordered: Column, unreached: int, share: float) -> float:
    """The value below which this share of `ordered` and the unreached ones lies."""
    import numpy as np

    place = share * (ordered.size + unreached - 1)
    if np.ceil(place) >= ordered.size:
        return float("inf")
    return float(np.interp(place, np.arange(ordered.size), ordered))


def jain(shares: Sequence[float]) -> float:
    """Jain's fairness index (Jain, Chiu and Hawe, DEC-TR-301, 1984): (sum x)^2 / (n sum x^2).

    1 is equal, 1/n means that one flow takes all, and 0 that no flow gets anything.

    >>> jain([1, 1]), jain([1, 0]), jain([3, 1])
    (1.0, 0.5, 0.8)
    """
    squares = sum(x * x for x in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 0.0


def mean_interval(values: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """Mean over repetitions with its Student-t confidence interval: t(n - 1) s / sqrt(n). Never meant for runs that
    differ in more than their repetition.

    With a nan among the values the mean is nan, because the mean of some repetitions is not that of all; without a
    finite mean the half width is nan.

    >>> [round(x, 3) for x in mean_interval([1.0, 2.0, 3.0])]
    [2.0, 2.484, 3]
    """
    from math import sqrt
    from statistics import fmean, stdev

    n, mean = len(values), fmean(values) if values else float("nan")
    if n < 2 or not isfinite(mean):
        return Interval(mean, float("nan"), n)
    return Interval(mean, student_t(confidence, n - 1) * stdev(values) / sqrt(n), n)


def difference_interval(before: Sequence[float], after: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """Mean of `after` minus that of `before`, with Welch's interval (Welch 1947) for means of unequal variances; n is
    the smaller number.

    The degrees of freedom are rounded down to a whole number, so the interval is never too narrow. Values that are not
    finite make a difference without an interval, as in `mean_interval`.

    >>> [round(x, 3) for x in difference_interval([1.0, 2.0, 3.0], [2.0, 3.0, 4.0])]
    [1.0, 2.267, 3]
    """
    from math import sqrt
    from statistics import fmean, variance

    n = min(len(before), len(after))
    if not n:
        return Interval(float("nan"), float("nan"), 0)
    mean = fmean(after) - fmean(before)
    if n < 2 or not isfinite(mean):
        return Interval(mean, float("nan"), n)
    a, b = variance(before) / len(before), variance(after) / len(after)
    if a + b == 0:
        return Interval(mean, 0.0, n)
    degrees = (a + b) ** 2 / (a * a / (len(before) - 1) + b * b / (len(after) - 1))
    return Interval(mean, student_t(confidence, int(degrees + 1e-9)) * sqrt(a + b), n)


def paired_interval(before: Sequence[float], after: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """Mean of `after` minus that of `before`, where values at the same place are a pair: made from the same random
    draws, so that what these do to both is not taken for a difference. Raises ValueError for unequal lengths.

    >>> [round(x, 3) for x in paired_interval([1.0, 2.0, 3.0], [2.0, 3.1, 3.9])]
    [1.0, 0.248, 3]
    """
    return mean_interval([b - a for a, b in zip(before, after, strict=True)], confidence=confidence)


def difference(reference: Sample, other: Sample) -> tuple[Interval, bool]:
    """Mean of `other` minus that of `reference`, and whether repetitions were paired by their seeds."""
    before, after = (_by_seed(sample) for sample in (reference, other))
    if before is not None and after is not None and before.keys() == after.keys() and len(before) > 1:
        return paired_interval([before[seed] for seed in before], [after[seed] for seed in before]), True
    return difference_interval(reference.known, other.known), False


def _by_seed(sample: Sample) -> dict[int, float] | None:
    """The known values by seed; None where seeds are not known, or one stands twice."""
    by_seed: dict[int, float] = {}
    for seed, measured in zip(sample.seeds, sample.values):
        value = known(measured)
        if value is None:
            continue
        if seed is None or seed in by_seed:
            return None
        by_seed[seed] = value
    return by_seed or None


def joined(samples: Sequence[Sample]) -> Sample:
    """Repetitions of one experiment together."""
    values = tuple(value for sample in samples for value in sample.values)
    return Sample(values, tuple(seed for sample in samples for seed in sample.seeds))


def student_t(confidence: float, degrees: int) -> float:
    """Two-sided quantile of Student's t: bisection on its closed form for whole degrees of freedom (Abramowitz and
    Stegun, 26.7.3-4). SciPy, which has it, would be a dependency of 35 MB for these lines alone; a table would fix the
    confidence and the degrees.

    >>> round(student_t(0.95, 9), 3)
    2.262
    """
    return _student_t(confidence, degrees)


@cache  # a few degrees of freedom are asked for thousands of times
def _student_t(confidence: float, degrees: int) -> float:
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_inside(middle, degrees) < confidence else (low, middle)
    return (low + high) / 2


def _student_inside(t: float, degrees: int) -> float:
    """Probability that T lies between -t and t."""
    from math import atan, cos, pi, sin, sqrt

    angle = atan(t / sqrt(degrees))
    odd = degrees % 2
    term = total = (cos(angle) if odd else 1.0) if degrees > 1 else 0.0
    for k in range(3 if odd else 2, degrees - 1, 2):
        term *= cos(angle) ** 2 * (k - 1) / k
        total += term
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total
