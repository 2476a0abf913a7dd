"""Do two back ends agree? Figures of the same scenario from both, with fixed tolerances.

The tolerances are those against the measured rows of real Linux (docs/fidelity.md): utilisation within 0.03; each flow's share of the goodput
within 0.07; retransmission rates within a factor of 1.5, or 0.001; mean smoothed RTT within 12 %, or 1 ms; completion times within 12 %. Runs of
more than eight flows are compared by controller, and Jain's index within 0.07. Repetitions are compared by their medians.

Where both are real kernels over the same path (`STRICT`), shares may differ by 0.05 and RTTs by 10 %.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any, NamedTuple

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


def figures(reference: Sequence[dict[str, Any]], other: Sequence[dict[str, Any]], *, strict: bool = False) -> list[Figure]:
    """Every figure that both have, of the summaries (as `run --json` prints them) of a run's repetitions; `strict` is for two real kernels.

    Examples
    --------
    >>> one = {"link": {"utilization": 0.99}, "jain": 1.0, "flows": [{"cca": "reno", "share": 1.0, "retrans_rate": 0.01}]}
    >>> [(f.name, f.agrees) for f in figures([one], [one])]
    [('utilization', True), ('reno[0] share', True), ('reno[0] retrans_rate', True)]
    """
    return list(_figures(_medians(reference), _medians(other), strict=strict))


def _figures(reference: dict[str, tuple[str, float]], other: dict[str, tuple[str, float]], *, strict: bool) -> Iterator[Figure]:
    finite = any(kind == "fct_s" for kind, _ in reference.values())
    for name, (kind, value) in reference.items():
        if name in other and not (finite and kind == "utilization"):
            yield Figure(name, value, other[name][1], _tolerance(kind, value, strict=strict))


def _medians(summaries: Sequence[dict[str, Any]]) -> dict[str, tuple[str, float]]:
    """Kind and median of each figure by its name."""
    seen: dict[str, tuple[str, list[float]]] = {}
    for summary in summaries:
        for name, kind, value in _values(summary):
            seen.setdefault(name, (kind, []))[1].append(value)
    return {name: (kind, median(values)) for name, (kind, values) in seen.items()}


def _values(summary: dict[str, Any]) -> Iterator[tuple[str, str, float]]:
    yield "utilization", "utilization", summary["link"]["utilization"]
    flows = summary["flows"]
    if len(flows) > FLOWS_MAX:
        yield "jain", "jain", summary["jain"]
        flows = _by_controller(flows)
    for i, flow in enumerate(flows):
        for kind in ("share", "retrans_rate", "srtt_mean_ms", "fct_s"):
            if flow.get(kind) is not None:
                yield f"{flow['cca']}[{i}] {kind}", kind, flow[kind]


def _by_controller(flows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for flow in flows:
        groups.setdefault(flow["cca"], []).append(flow)
    return [_group(cca, members) for cca, members in groups.items()]


def _group(cca: str, members: list[dict[str, Any]]) -> dict[str, Any]:
    srtts = [flow["srtt_mean_ms"] for flow in members if flow.get("srtt_mean_ms") is not None]
    return {
        "cca": cca,
        "share": sum(flow["share"] for flow in members),
        "retrans_rate": sum(flow["retrans_rate"] for flow in members) / len(members),
        "srtt_mean_ms": sum(srtts) / len(srtts) if srtts else None,
    }
