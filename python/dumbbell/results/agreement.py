"""Do two back ends agree? Figures of the same scenario from both, with fixed tolerances (`TOLERANCES`).

Runs of more than eight flows are compared by [[flow]] table, and by Jain's index. Completion times take the place of
the utilisation, together with the share of flows that ended.

`figures` compares medians over repetitions, and means of shares of flows that ended. A difference beyond the tolerance
that the repetitions' own spread explains (its 95 % interval, Welch 1947, holds zero) is neither agreement nor
disagreement: it is unclear.

`judged` is the judge of docs/fidelity.md. It compares means, and widens the tolerance to `SPREAD` times half of the
range of the reference's repetitions, where that is more.

Where all are real kernels over the same path (`is_strict`), shares may differ by 0.05 and RTTs by 10 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

from .statistic import Interval, difference_interval

if TYPE_CHECKING:
    from .manifest import FlowSummary, Summary

#: Back ends that differ in nothing but their kernel, or the origin of their controllers.
_STRICT = (frozenset({"linux", "bpf"}), frozenset({"uml", "uml-ours"}))
#: Flows up to which each is compared for itself.
FLOWS_MAX = 8


class Figure(NamedTuple):
    """One figure from a reference and from another back end, and how far apart they may be; `chance` is the difference
    of means over repetitions.
    """

    name: str
    reference: float
    other: float
    tolerance: float
    chance: Interval = Interval(math.nan, math.nan, 1)

    @property
    def agrees(self) -> bool:
        """Whether they are within the tolerance."""
        return abs(self.other - self.reference) <= self.tolerance + 1e-9

    @property
    def is_unclear(self) -> bool:
        """Whether they are not, but repetitions differ so much among themselves that it may be chance."""
        return (
            not self.agrees and abs(self.chance.mean) < self.chance.half_width
        )  # never true of nan: one repetition tells nothing of chance


class Tolerance(NamedTuple):
    """How far a figure may be from the reference: an amount, or a share of the reference where that is more."""

    amount: float
    share: float = 0.0

    def at(self, reference: float) -> float:
        """For this value of the reference."""
        return max(self.amount, self.share * reference)


#: By the kind of figure; a rate of retransmission within half of it is within a factor of 1.5.
TOLERANCES = {
    "utilization": Tolerance(0.03),
    "share": Tolerance(0.07),
    "retrans_rate": Tolerance(0.001, 0.5),
    "srtt_mean_ms": Tolerance(1.0, 0.12),
    "fct_s": Tolerance(0.0, 0.12),
    "jain": Tolerance(0.07),
}
#: Of the share of a line's flows that ended, which `figures` compares.
COMPLETED = Tolerance(0.03)
#: The same for two real kernels over the same path.
STRICT_TOLERANCES = {**TOLERANCES, "share": Tolerance(0.05), "srtt_mean_ms": Tolerance(1.0, 0.1)}
#: How many times half of the range of the reference's repetitions a figure may be off.
SPREAD = 1.5

Measured = Mapping[str, float | None]
"""Figures of one run by their name; None for one that it does not have."""


def is_strict(names: Iterable[str]) -> bool:
    """Whether these back ends, as ``--on`` names them, are real kernels over the same path."""
    kinds = {name.partition(":")[0] for name in names}
    return any(same.issuperset(kinds) for same in _STRICT)


def figures(reference: Sequence[Summary], other: Sequence[Summary], *, strict: bool = False) -> list[Figure]:
    """Every figure that both have, of the summaries of a run's repetitions (`Result.summary`); `strict` is for two real
    kernels.
    """
    tolerances = {**(STRICT_TOLERANCES if strict else TOLERANCES), "completed": COMPLETED}
    references, others = (
        _by_name({**dict(_values(one)), **_further(one)} for one in side) for side in (reference, other)
    )
    left_out = {"utilization"} if any(kind(name) == "fct_s" for name in {**references, **others}) else set()
    found = []
    for name, values in references.items():
        if name not in others or kind(name) in left_out:
            continue
        is_completion = kind(name) == "completed"
        if is_completion and not any((*values, *others[name])):
            continue  # no transfer, or none that ended
        middle = fmean if is_completion else median
        value, chance = middle(values), difference_interval(values, others[name])
        found.append(Figure(name, value, middle(others[name]), tolerances[kind(name)].at(value), chance))
    return found


def judged(reference: Sequence[Measured], other: Sequence[Measured]) -> list[Figure]:
    """Every figure that either has, of the repetitions of a run (`measured`). One that only one of them has is nan in
    the other, and does not agree.
    """
    references, others = _by_name(reference), _by_name(other)
    found = []
    for name in {**references, **others}:
        values = references.get(name, [math.nan])
        value, half_range = fmean(values), (max(values) - min(values)) / 2
        tolerance = max(TOLERANCES[kind(name)].at(value), SPREAD * half_range)
        found.append(Figure(name, value, fmean(others.get(name, [math.nan])), tolerance))
    return found


def measured(summary: Summary) -> dict[str, float]:
    """The figures of a run that `judged` compares, by their name."""
    found = {name: value for name, value in _values(summary) if kind(name) != "completed"}
    if any(kind(name) == "fct_s" for name in found):
        del found["utilization"]
    return found


def _further(summary: Summary) -> dict[str, float]:
    """How full the links beyond the bottleneck were, where all flows ran on: ``link[1] utilization``."""
    if any(flow.fct_s is not None for flow in summary.flows):
        return {}
    return {f"link[{i}] utilization": link.utilization for i, link in enumerate(summary.links, 1)}


def kind(name: str) -> str:
    """What a figure is, by its name: ``cubic[0] share`` is a share."""
    return name.rpartition(" ")[2]


def _by_name(runs: Iterable[Measured]) -> dict[str, list[float]]:
    """The values of each figure over repetitions."""
    found: dict[str, list[float]] = {}
    for run in runs:
        for name, value in run.items():
            if value is not None:
                found.setdefault(name, []).append(value)
    return found


def _values(summary: Summary) -> Iterator[tuple[str, float]]:
    yield "utilization", summary.link.utilization
    if len(summary.flows) > FLOWS_MAX and summary.jain is not None:
        yield "jain", summary.jain
    for i, (name, members) in enumerate(_compared(summary.flows)):
        for what, value in _of(members):
            yield f"{name}[{i}] {what}", value


def _compared(flows: Sequence[FlowSummary]) -> list[tuple[str, list[FlowSummary]]]:
    """What is compared for itself: each flow, or the flows of a [[flow]] table where there are many."""
    if len(flows) <= FLOWS_MAX:
        return [(flow.name, [flow]) for flow in flows]
    groups: dict[str, list[FlowSummary]] = {}
    for flow in flows:
        groups.setdefault(flow.name, []).append(flow)
    return list(groups.items())


def _of(members: Sequence[FlowSummary]) -> Iterator[tuple[str, float]]:
    """Figures of one flow, or of flows that are compared together, whose completion times are not."""
    yield "share", sum(flow.share for flow in members)
    yield "retrans_rate", fmean(flow.retrans_rate for flow in members)
    srtts = [flow.srtt_mean_ms for flow in members if flow.srtt_mean_ms is not None]
    if srtts:
        yield "srtt_mean_ms", fmean(srtts)
    if len(members) == 1 and members[0].fct_s is not None:
        yield "fct_s", members[0].fct_s
    yield "completed", fmean(flow.fct_s is not None for flow in members)
