"""A run as a Perfetto trace: a track for each flow and link, with states as slices, samples as counters, and drops,
marks and timeouts as instants; arrows lead from a drop to its retransmission.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import ResultError
from dumbbell.plots import groups
from dumbbell.results.columns import queue_column, sample_column
from dumbbell.results.stays import stays_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dumbbell.results.load import Result
    from dumbbell.results.statistic import Column

#: Counters of a flow: name, unit, column of the samples, factor.
FLOW_COUNTERS = (
    ("cwnd", "segments", "cwnd", 1.0),
    ("in flight", "segments", "in_flight", 1.0),
    ("pacing rate", "Mbit/s", "pacing_bps", 1e-6),
    ("srtt", "ms", "srtt_us", 1e-3),
)
#: Counters of a link: the same of the table of queues.
LINK_COUNTERS = (("queue", "packets", "backlog_packets", 1.0), ("time in the queue", "ms", "sojourn_us", 1e-3))

#: Events that are instants of their flow, and what they are called.
INSTANTS = {
    "drop_queue": "drop", "drop_random": "random loss", "ecn_mark": "mark", "loss_detected": "loss detected",
    "retransmit": "retransmission", "rto": "RTO", "tlp": "TLP", "undo": "undo",
}  # fmt: skip
_DROPS = frozenset({"drop_queue", "drop_random"})

#: Any number: all packets are of one writer.
_SEQUENCE = 1


class Event(NamedTuple):
    """One event of a track; `kind` is what Perfetto calls it: SLICE_BEGIN, SLICE_END, INSTANT, COUNTER."""

    t_ns: int
    kind: str
    track: int
    name: str = ""
    value: float | None = None
    begins: tuple[int, ...] = ()
    """Numbers of arrows that begin here."""
    ends: tuple[int, ...] = ()


class Track(NamedTuple):
    """A track below its parent (0: at the top); a unit makes it a counter."""

    uuid: int
    parent: int
    name: str
    unit: str = ""


def trace(result: Result) -> bytes:
    """The trace as Perfetto reads it; raises ResultError where the package that writes it is not there, or where
    nothing was recorded.
    """
    try:
        from perfetto.trace_builder.proto_builder import TraceProtoBuilder
    except ImportError:
        raise ResultError("Perfetto traces need the package perfetto: pip install 'dumbbell[perfetto]'") from None
    tracks: list[Track] = []
    events = [event for make in (_flows, _links) for event in make(result, tracks)]
    if not events:
        raise ResultError(f"{result.folder}: it has neither samples nor events; [record] records them")
    builder = TraceProtoBuilder()
    for track in tracks:
        _describe(builder.add_packet(), track)
    # Ends before begins: states that follow each other do not overlap.
    for event in sorted(events, key=lambda event_: (event_.t_ns, event_.kind != "SLICE_END")):
        _write(builder.add_packet(), event)
    written: bytes = builder.serialize()
    return written


def _describe(packet: Any, track: Track) -> None:
    packet.trusted_packet_sequence_id = _SEQUENCE
    packet.track_descriptor.uuid = track.uuid
    packet.track_descriptor.name = track.name
    if track.parent:
        packet.track_descriptor.parent_uuid = track.parent
    if track.unit:
        packet.track_descriptor.counter.unit_name = track.unit


def _write(packet: Any, event: Event) -> None:
    packet.timestamp = event.t_ns
    packet.trusted_packet_sequence_id = _SEQUENCE
    track_event = packet.track_event
    track_event.type = getattr(type(track_event), f"TYPE_{event.kind}")
    track_event.track_uuid = event.track
    if event.kind == "COUNTER":
        track_event.double_counter_value = event.value
        return
    if event.name:
        track_event.name = event.name
    if event.value is not None:
        note = track_event.debug_annotations.add()
        note.name, note.int_value = "value", int(event.value)
    track_event.flow_ids.extend(event.begins)
    track_event.terminating_flow_ids.extend(event.ends)


def _track(tracks: list[Track], parent: int, name: str, unit: str = "") -> int:
    tracks.append(Track(len(tracks) + 1, parent, name, unit))
    return len(tracks)


def _counter(track: int, t_us: Column, values: Column) -> Iterator[Event]:
    for t, value in zip(t_us.tolist(), values.tolist(), strict=True):
        if value == value:  # noqa: PLR0124 - nan: the flow had none yet
            yield Event(int(t) * 1000, "COUNTER", track, value=value)


def _flows(result: Result, tracks: list[Track]) -> Iterator[Event]:
    """The tracks of each flow: its states, what happened, its counters."""
    labels = {flow: f"{flow}: {group.label}" for group in groups.of(result) for flow in group.flows}
    arrows = iter(range(1, 2**62))
    happened: dict[int, list[dict[str, Any]]] = {}
    for row in result.events.select(["t_ns", "flow", "kind", "value"]).to_pylist():
        if row["kind"] in INSTANTS and row["flow"] is not None:
            happened.setdefault(row["flow"], []).append(row)
    for flow, label in labels.items():
        top = _track(tracks, 0, f"flow {label}")
        stays = list(stays_of(result, flow)) if result.events.num_rows else []
        if stays:
            states = _track(tracks, top, "state of the controller")
            for name, start, end in stays:
                yield Event(round(start * 1e9), "SLICE_BEGIN", states, name)
                yield Event(round(end * 1e9), "SLICE_END", states)
        if flow in happened:
            yield from _instants(happened[flow], _track(tracks, top, "events"), arrows)
        if result.samples.num_rows:
            t_us = sample_column(result, flow, "t_us")
            for name, unit, column, factor in FLOW_COUNTERS:
                values = sample_column(result, flow, column) * factor
                yield from _counter(_track(tracks, top, name, unit), t_us, values)


def _instants(rows: list[dict[str, Any]], track: int, arrows: Iterator[int]) -> Iterator[Event]:
    """Events of a flow. Events name no sequence numbers: each retransmitted segment is taken for the oldest packet that
    was dropped before and not sent again yet.
    """
    waiting: deque[int] = deque()
    for row in rows:
        count = row["value"] if row["value"] is not None else 1
        begins: list[int] = []
        ends: list[int] = []
        if row["kind"] in _DROPS:
            begins = [next(arrows) for _ in range(count)]
            waiting.extend(begins)
        elif row["kind"] == "retransmit":
            ends = [waiting.popleft() for _ in range(min(count, len(waiting)))]
        yield Event(row["t_ns"], "INSTANT", track, INSTANTS[row["kind"]], row["value"], tuple(begins), tuple(ends))


def _links(result: Result, tracks: list[Track]) -> Iterator[Event]:
    """The queue of each link."""
    if not result.queue.num_rows:
        return
    for number, link in enumerate(result.plan.recorded_links):
        top = _track(tracks, 0, f"link {link.name}")
        t_us = queue_column(result, number, "t_us")
        for name, unit, column, factor in LINK_COUNTERS:
            values = queue_column(result, number, column) * factor
            yield from _counter(_track(tracks, top, name, unit), t_us, values)
