"""Do two back ends agree? Figures of the same scenario from both, with fixed tolerances.

The tolerances are those against the measured rows of real Linux (docs/fidelity.md): utilisation within 0.03; each flow's share of the goodput
within 0.07; retransmission rates within a factor of 1.5, or 0.001; mean smoothed RTT within 12 %, or 1 ms; completion times within 12 %. Runs of
more than eight flows are compared by [[flow]] table, and Jain's index within 0.07. Repetitions are compared by their medians.

Where both are real kernels over the same path (`STRICT`), shares may differ by 0.05 and RTTs by 10 %.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .manifest import FlowSummary, Summary

#: Back ends that differ in nothing but the origin of their controllers.
STRICT = frozenset({"linux", "bpf"})
#: Flows up to which each is compared for itself.
FLOWS_MAX = 8


class Figure(NamedTuple):
    """One figure from a reference and from another back end, and how far apart they may be."""

    name: str
    reference: float
    other: float
    tolerance: float

    @property
    def agrees(self) -> bool:
        """Whether they are within the tolerance."""
        return abs(self.other - self.reference) <= self.tolerance + 1e-9


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
    """Every figure that both have, of the summaries of a run's repetitions (`Result.summary`); `strict` is for two real kernels."""
    return list(_figures(_medians(reference), _medians(other), strict=strict))


def _figures(reference: dict[str, tuple[str, float]], other: dict[str, tuple[str, float]], *, strict: bool) -> Iterator[Figure]:
    finite = any(kind == "fct_s" for kind, _ in reference.values())
    for name, (kind, value) in reference.items():
        if name in other and not (finite and kind == "utilization"):
            yield Figure(name, value, other[name][1], _tolerance(kind, value, strict=strict))


def _medians(summaries: Sequence[Summary]) -> dict[str, tuple[str, float]]:
    """Kind and median of each figure by its name."""
    seen: dict[str, tuple[str, list[float]]] = {}
    for summary in summaries:
        for name, kind, value in _values(summary):
            seen.setdefault(name, (kind, []))[1].append(value)
    return {name: (kind, median(values)) for name, (kind, values) in seen.items()}


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
