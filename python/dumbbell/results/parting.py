"""Packets of each flow that are the same on two back ends, and the first that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import packets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dumbbell.results.load import Result


class Compared(NamedTuple):
    """A flow on the reference and another back end."""

    flow: int
    name: str
    parting: packets.Parting


def compared(reference: Result, others: Mapping[str, Result]) -> dict[str, list[Compared]]:
    """By the other back end, every TCP flow that both captures have; the k-th SYN is of the k-th flow to start."""
    planned = reference.plan.flows
    order = sorted((flow.start_ns, i) for i, flow in enumerate(planned) if flow.transport.kind == "tcp")
    first = packets.flows(reference.folder / "trace.pcap")
    return {
        name: sorted(
            Compared(i, planned[i].name, packets.part(one, other))
            for (_, i), one, other in zip(order, first, packets.flows(run.folder / "trace.pcap"), strict=False)
        )
        for name, run in others.items()
    }


def as_json(flows: list[Compared], names: tuple[str, str]) -> list[dict[str, Any]]:
    """One object per flow; `first` has the time, s, and the packet of each back end, or null."""
    return [
        {
            "flow": flow.flow,
            "name": flow.name,
            "same_data": flow.parting.sent,
            "same_acks": flow.parting.heard,
            "data": dict(zip(names, flow.parting.of[0], strict=True)),
            "acks": dict(zip(names, flow.parting.of[1], strict=True)),
            "first": _first(flow.parting, names),
        }
        for flow in flows
    ]


def _first(parting: packets.Parting, names: tuple[str, str]) -> dict[str, Any] | None:
    if parting.first is None:
        return None
    return {name: {"at_s": at, "packet": str(packet)} for name, (at, packet) in zip(names, parting.first, strict=True)}
