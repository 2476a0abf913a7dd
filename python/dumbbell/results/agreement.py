"""Do two back ends agree? Figures of the same scenario from both, with fixed tolerances.

The tolerances are those against the measured rows of real Linux (docs/fidelity.md): utilisation within 0.03; each
flow's share of the goodput within 0.07; retransmission rates within a factor of 1.5, or 0.001; mean smoothed RTT within
12 %, or 1 ms; completion times within 12 %. Runs of more than eight flows are compared by [[flow]] table, and Jain's
index within 0.07. Repetitions are compared by their medians.

A difference beyond the tolerance that the repetitions' own spread explains (its 95 % interval, Welch 1947, holds zero)
is neither: it is unclear.

Where both are real kernels over the same path (`STRICT`), shares may differ by 0.05 and RTTs by 10 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

from .statistic import Interval, difference_interval

if TYPE_CHECKING:
    from .manifest import FlowSummary, Summary

#: Back ends that differ in nothing but the origin of their controllers.
STRICT = frozenset({"linux", "bpf"})
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


def _tolerance(kind: str, reference: float, *, strict: bool) -> float:
    return {
        "utilization": 0.03,
        "jain": 0.07,
        "share": 0.05 if strict else 0.07,
        "retrans_rate": max(0.5 * reference, 0.001),
        "srtt_mean_ms": max((0.1 if strict else 0.12) * reference, 1.0),
        "fct_s": 0.12 * reference,
    }[kind]


def figures(reference: Sequence[Summary], other: Sequence[Summary], *, strict: bool = False) -> list[Figure]:
    """Every figure that both have, of the summaries of a run's repetitions (`Result.summary`); `strict` is for two real
    kernels.
    """
    return list(_figures(_seen(reference), _seen(other), strict=strict))


def _figures(reference: dict[str, _Seen], other: dict[str, _Seen], *, strict: bool) -> Iterator[Figure]:
    finite = any(one.kind == "fct_s" for one in reference.values())
    for name, one in reference.items():
        if name in other and not (finite and one.kind == "utilization"):
            value, values = median(one.values), other[name].values
            chance = difference_interval(one.values, values)
            yield Figure(name, value, median(values), _tolerance(one.kind, value, strict=strict), chance)


class _Seen(NamedTuple):
    """A figure's kind, and its values over repetitions."""

    kind: str
    values: list[float]


def _seen(summaries: Sequence[Summary]) -> dict[str, _Seen]:
    """Each figure by its name."""
    seen: dict[str, _Seen] = {}
    for summary in summaries:
        for name, kind, value in _values(summary):
            seen.setdefault(name, _Seen(kind, [])).values.append(value)
    return seen


def _values(summary: Summary) -> Iterator[tuple[str, str, float]]:
    yield "utilization", "utilization", summary.link.utilization
    if len(summary.flows) > FLOWS_MAX and summary.jain is not None:
        yield "jain", "jain", summary.jain
    for i, (name, members) in enumerate(_compared(summary.flows)):
        for kind, value in _of(members):
            yield f"{name}[{i}] {kind}", kind, value


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
