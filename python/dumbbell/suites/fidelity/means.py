"""The part of the fidelity table that is about small differences: means of many seeds, and how exact they are.

Three seeds with tolerances see a difference of ten percent. Sixteen see one of a packet: each figure's means are held
against the standard error of their difference.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean, median, variance
from typing import TYPE_CHECKING

from msgspec import Struct, field

from dumbbell.judge import FAILS
from dumbbell.judge.rule import Tolerance, decide
from dumbbell.judge.versus import kind
from dumbbell.results.statistic import Interval

if TYPE_CHECKING:
    from .rows import Runs

#: Half of a difference's interval, in standard errors: chance alone is beyond it in about one of 200 figures.
ERRORS = 3.0
#: Differences that are never listed, as a part of Linux's figure.
LEAST = 0.002

#: Repetitions of which a mean is stored without their values: enough for an interval.
_MANY = 10

#: Kinds of figures, as the pages call them, in the order of the table of means.
WORDS = {
    "utilization": "utilisation",
    "share": "share of a controller",
    "srtt_mean_ms": "mean smoothed RTT",
    "retrans_rate": "retransmission rate",
}

_TEXT = """\
Queue disciplines with one flow, with four, and with two controllers. Means of many seeds show a difference of a packet,
which three seeds and tolerances do not: each is held against the standard error of the difference."""


class Mean(Struct, array_like=True):
    """A figure: the simulator's mean, Linux's, and the standard error of their difference (Welch)."""

    sim: float
    linux: float
    error: float

    @property
    def difference(self) -> float:
        """As a part of Linux's figure."""
        return (self.sim - self.linux) / self.linux if self.linux else math.inf if self.sim else 0.0

    @property
    def errors(self) -> float:
        """The difference in standard errors."""
        apart = abs(self.sim - self.linux)
        return apart / self.error if self.error else math.inf if apart else 0.0

    @property
    def is_listed(self) -> bool:
        """True if the judge says that they differ: beyond the tolerance, with an interval that excludes it."""
        apart = Interval(self.sim - self.linux, ERRORS * self.error, _MANY)
        return decide(apart, Tolerance(share=LEAST).at(self.linux)) == FAILS


class Means(Struct, kw_only=True):
    """All rows, by name and figure, and on what they were measured."""

    commit: str
    kernel: str
    seeds: int
    rows: dict[str, dict[str, Mean]]
    failed: dict[str, str] = field(default_factory=dict)


def by_figure(sim: Runs, linux: Runs) -> dict[str, Mean]:
    """The figures that both sides have in every run; those of the flows of one controller as their mean."""
    one, other = list(map(_by_controller, sim)), list(map(_by_controller, linux))
    names = [name for name in other[0] if all(name in run for run in (*one, *other))]
    return {name: _mean([run[name] for run in one], [run[name] for run in other]) for name in names}


def _by_controller(run: Mapping[str, float]) -> dict[str, float]:
    """``cubic[0] share`` and ``cubic[1] share`` become ``cubic share``; a share of one controller's alone says
    nothing.
    """
    by_name: dict[str, list[float]] = defaultdict(list)
    for name, value in run.items():
        by_name[_without_number(name)].append(value)
    controllers = {name.split()[0] for name in by_name if " " in name}
    return {
        name: fmean(values)
        for name, values in by_name.items()
        if name != "jain" and (kind(name) != "share" or len(controllers) > 1)
    }


def _without_number(name: str) -> str:
    flow, space, what = name.rpartition(" ")
    return f"{flow.partition('[')[0]}{space}{what}"


def _mean(sim: list[float], linux: list[float]) -> Mean:
    error = math.sqrt(sum(variance(values) / len(values) for values in (sim, linux)))
    return Mean(*(float(f"{value:.5g}") for value in (fmean(sim), fmean(linux), error)))


def lines(measured: Means) -> Iterator[str]:
    """The part of the page: how far both sides are apart, how small a difference would have been seen, and what is
    beyond chance.
    """
    figures = list(_figures(measured))
    listed = [(row, name, mean) for row, name, mean in figures if mean.is_listed]
    near = sum(mean.errors <= 1 or abs(mean.difference) <= LEAST for _, _, mean in figures)
    yield from (f"### {len(measured.rows)} rows: means of {measured.seeds} seeds", "")
    yield _TEXT
    yield f"Of {len(figures)} figures {near / len(figures):.0%} are within one such error (chance: 68 %), or within"
    yield f"{LEAST:.1%} of Linux's. Beyond {ERRORS:g} errors and {LEAST:.1%}: {len(listed)} (by chance:"
    yield f"about {len(figures) / 200:.0f})."
    yield ""
    yield from ("| figure | difference: median, largest | would be seen, median |", "| --- | --- | --- |")
    for what, word in WORDS.items():
        if members := _members(measured, what):
            apart = sorted(abs(mean.difference) for mean in members)
            seen = [ERRORS * mean.error / mean.linux for mean in members]
            yield f"| {word} | {median(apart):.2%}, {apart[-1]:.1%} | {median(seen):.2%} |"
    yield ""
    yield from _listed(listed)
    yield f"Command: `make fidelity SET=means`. State: commit {measured.commit}, {measured.kernel}."
    yield ""


def _figures(measured: Means) -> Iterator[tuple[str, str, Mean]]:
    return ((row, name, mean) for row, by_name in measured.rows.items() for name, mean in by_name.items())


def _members(measured: Means, what: str) -> list[Mean]:
    """The figures of a kind that are not zero on Linux."""
    return [mean for _, name, mean in _figures(measured) if kind(name) == what and mean.linux]


def _listed(listed: Iterable[tuple[str, str, Mean]]) -> Iterator[str]:
    listed = list(listed)
    if listed:
        yield from ("| beyond chance | figure | simulator / Linux | standard errors |", "| --- | --- | --- | --- |")
        for row, name, mean in listed:
            yield f"| `{row}` | {name} | {mean.sim:.4g} / {mean.linux:.4g} | {mean.errors:.1f} |"
        yield ""
