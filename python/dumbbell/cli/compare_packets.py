"""`dumbbell compare --packets`: how many packets of each flow are the same on two back ends, and which differ first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.results import packets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dumbbell.results.load import Result

#: Flows that are told one by one in a table.
SHOWN = 8


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


def as_text(flows: list[Compared], names: tuple[str, str]) -> list[str]:
    """The same in lines."""
    if not flows:
        return [f"  packets of {names[0]} and {names[1]}: not compared, because no flow has TCP"]
    whole = sum(flow.parting.first is None for flow in flows)
    lines = [
        f"  packets of {names[0]} and {names[1]}, first repetition: {whole} of {len(flows)} flows the same throughout"
    ]
    for flow in flows[:SHOWN]:
        parting = flow.parting
        counts = f"{parting.sent:,} data segments and {parting.heard:,} acknowledgements"
        if parting.first is None:
            more = "" if all(one == other for one, other in parting.of) else f", {_ends(parting, names)}"
            lines.append(f"    flow {flow.flow} ({flow.name}): {counts}, all the same{more}")
            continue
        all_of = " and ".join(f"{min(both):,}" for both in parting.of)
        lines.append(f"    flow {flow.flow} ({flow.name}): {counts} are the same (of {all_of}), then")
        width = max(map(len, names))
        for name, (at, packet) in zip(names, parting.first, strict=True):
            lines.append(f"      {name:{width}}  {at:.6f} s  {packet}")
    if len(flows) > SHOWN:
        lines.append(f"    and {len(flows) - SHOWN} flows more (--json lists all)")
    return lines


def _ends(parting: packets.Parting, names: tuple[str, str]) -> str:
    """That one capture has more than the other: cut off by the end of the run, if it is a few."""
    data, acks = parting.of
    has = [f"{name} has {sent:,} and {heard:,}" for name, sent, heard in zip(names, data, acks, strict=True)]
    return f"as far as both go: {', '.join(has)}"


def _first(parting: packets.Parting, names: tuple[str, str]) -> dict[str, Any] | None:
    if parting.first is None:
        return None
    return {name: {"at_s": at, "packet": str(packet)} for name, (at, packet) in zip(names, parting.first, strict=True)}
