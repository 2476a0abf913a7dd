"""Packets of each flow that are the same on two back ends, and the first that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import packets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dumbbell.results.load import Result


#: The capture in a run's folder.
CAPTURE = "trace.pcap"


class Compared(NamedTuple):
    """A flow on the reference and another back end."""

    flow: int
    name: str
    parting: packets.Parting


def compared(reference: Result, others: Mapping[str, Result]) -> dict[str, list[Compared]]:
    """By the other back end, every TCP flow that both captures have; the k-th SYN is of the k-th flow to start."""
    names = [flow.name for flow in reference.plan.flows]
    first = captured(reference)
    compared_flows: dict[str, list[Compared]] = {}
    for name, run in others.items():
        second = captured(run, order_of=reference)
        compared_flows[name] = [
            Compared(i, names[i], packets.part(first[i], second[i])) for i in sorted(first.keys() & second.keys())
        ]
    return compared_flows


def captured(run: Result, *, order_of: Result | None = None) -> dict[int, packets.Flow]:
    """TCP flows of a run's capture by their numbers: the k-th SYN is of the k-th flow to start, in this run or another
    of the same scenario. Raises ResultError where there is no capture.
    """
    planned = (order_of or run).plan.flows
    order = sorted((flow.start_ns, i) for i, flow in enumerate(planned) if flow.transport.kind == "tcp")
    return {i: flow for (_, i), flow in zip(order, packets.flows(run.folder / CAPTURE), strict=False)}


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
