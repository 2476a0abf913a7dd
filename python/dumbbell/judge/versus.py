"""Whether the same runs made in two ways agree: two back ends, two kernels, two states of a controller.

Runs of more than eight flows are compared by [[flow]] table, and by Jain's index. Completion times take the place of
the utilisation, together with the share of flows that ended. Each figure is judged by the rule of `rule.py`.

A tolerance is relative where a flow uses little: 3 % of the link, or 12 % of what was used, whichever is less, so that
flows that are limited by their window, by loss or by a policer do not agree by default.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from dumbbell import backends
from dumbbell.results.statistic import Interval, Sample, difference

from .rule import SINGLE, Tolerance, decide, has_interval
from .verdict import FAILS, HOLDS, UNCLEAR, Verdict, Word, worst

if TYPE_CHECKING:
    from dumbbell.results.manifest import FlowSummary, Summary

#: Flows up to which each is compared for itself.
FLOWS_MAX = 8

#: By the kind of figure; a rate of retransmission within half of it is within a factor of 1.5.
TOLERANCES = {
    "utilization": Tolerance(0.03, 0.12, is_both=True),
    "share": Tolerance(0.07, 0.5, is_both=True),
    "retrans_rate": Tolerance(0.001, 0.5),
    "srtt_mean_ms": Tolerance(1.0, 0.12),
    "fct_s": Tolerance(0.0, 0.12),
    "jain": Tolerance(0.07),
    "completed": Tolerance(0.03),
}
#: The same for two real kernels over the same path.
STRICT_TOLERANCES = {
    **TOLERANCES,
    "share": Tolerance(0.05, 0.5, is_both=True),
    "srtt_mean_ms": Tolerance(1.0, 0.1),
}

Measured = Mapping[str, float | None]
"""Figures of one run by their name; None for one that it does not have."""


class Figure(NamedTuple):
    """One figure from a reference and from another side: means, how far they may be apart, and the verdict."""

    name: str
    reference: float
    other: float
    tolerance: float
    verdict: Verdict

    @property
    def word(self) -> Word:
        """True if they agree."""
        return self.verdict.word


class Side(NamedTuple):
    """The repetitions of one experiment on one side."""

    runs: Sequence[Measured]
    seeds: Sequence[int | None] = ()

    def sample(self, name: str) -> Sample:
        """A figure of all repetitions."""
        return Sample(tuple(run.get(name) for run in self.runs), tuple(self.seeds))

    @property
    def names(self) -> list[str]:
        """The figures that some repetition has."""
        return list(dict.fromkeys(name for run in self.runs for name, value in run.items() if value is not None))


def versus(reference: Side, other: Side, *, strict: bool = False) -> list[Figure]:
    """Judge every figure that either side has. One that only one of them has is nan in the other, and fails."""
    tolerances = STRICT_TOLERANCES if strict else TOLERANCES
    names = dict.fromkeys([*reference.names, *other.names])
    if any(kind(name) == "fct_s" for name in names):
        names.pop("utilization", None)
    judged = []
    for name in names:
        sides = [side.sample(name) for side in (reference, other)]
        if kind(name) == "completed" and not any(value for side in sides for value in side.known):
            continue  # no transfer, or none that ended
        if name.replace("fct_s", "completed") in {*names} - {name} and not all(side.known for side in sides):
            continue  # the share of flows that ended says it
        judged.append(_figure(name, sides[0], sides[1], tolerances[kind(name)]))
    return judged


def _figure(name: str, reference: Sample, other: Sample, tolerance: Tolerance) -> Figure:
    before, after = reference.interval.mean, other.interval.mean
    if math.isnan(before) or math.isnan(after):
        return Figure(name, before, after, math.nan, Verdict(FAILS, None, math.nan, "only one side has it"))
    near = tolerance.at(before)
    apart, _ = difference(reference, other)
    word = decide(apart, near, single=SINGLE)
    margin = (near - abs(apart.mean)) / near if near else -abs(apart.mean)
    reason = "" if word == HOLDS else _reason(apart, word)
    return Figure(name, before, after, near, Verdict(word, apart, margin, reason))


def _reason(apart: Interval, word: Word) -> str:
    if not has_interval(apart):
        few = "one repetition" if apart.n == 1 else f"{apart.n} repetitions"
        return f"of {few}; --set repetitions=5 tells whether it is chance"
    return "repetitions spread as much as the sides differ" if word == UNCLEAR else "beyond chance"


def agreement(figures: Iterable[Figure]) -> Word:
    """One word for all figures."""
    return worst(figure.word for figure in figures)


def measured(summary: Summary) -> dict[str, float]:
    """The figures of a run that are compared, by their name: ``cubic[0] share``."""
    return {**dict(_values(summary)), **_further(summary)}


def is_strict(names: Iterable[str]) -> bool:
    """True if these back ends, as ``--on`` names them, are real kernels over the same path."""
    return backends.share_stack(names)


def kind(name: str) -> str:
    """Kind of a figure, by its name: ``cubic[0] share`` is a share."""
    return name.rpartition(" ")[2]


def _further(summary: Summary) -> dict[str, float]:
    """Utilisation of the links beyond the bottleneck, where all flows ran on: ``link[1] utilization``."""
    if any(flow.fct_s is not None for flow in summary.flows):
        return {}
    return {f"link[{i}] utilization": link.utilization for i, link in enumerate(summary.links, 1)}


def _values(summary: Summary) -> Iterator[tuple[str, float]]:
    yield "utilization", summary.link.utilization
    if len(summary.flows) > FLOWS_MAX and summary.jain is not None:
        yield "jain", summary.jain
    for i, (name, members) in enumerate(_compared(summary.flows)):
        for what, value in _of(members):
            yield f"{name}[{i}] {what}", value


def _compared(flows: Sequence[FlowSummary]) -> list[tuple[str, list[FlowSummary]]]:
    """Parts that are compared for themselves: each flow, or the flows of a [[flow]] table where there are many."""
    if len(flows) <= FLOWS_MAX:
        return [(flow.name, [flow]) for flow in flows]
    groups: dict[str, list[FlowSummary]] = {}
    for flow in flows:
        groups.setdefault(flow.name, []).append(flow)
    return list(groups.items())


def _of(members: Sequence[FlowSummary]) -> Iterator[tuple[str, float]]:
    """Figures of one flow, or of flows that are compared together, whose completion times are not."""
    yield "share", sum(flow.share for flow in members)
    again = [flow.retrans_rate for flow in members if flow.retrans_rate is not None]
    if again:
        yield "retrans_rate", fmean(again)
    srtts = [flow.srtt_mean_ms for flow in members if flow.srtt_mean_ms is not None]
    if srtts:
        yield "srtt_mean_ms", fmean(srtts)
    if len(members) == 1 and members[0].fct_s is not None:
        yield "fct_s", members[0].fct_s
    yield "completed", fmean(flow.fct_s is not None for flow in members)
