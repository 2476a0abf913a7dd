"""A plan as its readers see it: typed, frozen and read-only. Metrics, plots, `show`, `compare` and `check` read plans
through it.

A plan is made by `make.py` and run by an engine; what is in it is absolute (ns, bit/s, bytes). Its fields are generated
from the engine's declarations (`fields.py`); here is what follows from them, and of kinds with parameters of their own
the parameters that readers need. Keys that are not declared are left out, so a later version may add some.

>>> steps = [(0, 8_000_000), (10**9, 4_000_000)]
>>> planned = {"rate_bps": 8_000_000, "steps": steps, "repeat_ns": 2 * 10**9, "burst_bytes": 0}
>>> link = link_of({**planned, "qdisc": {"kind": "fifo"}})
>>> link.bits(0, 3 * 10**9), link.bits(10**9, 10**9)
(20000000.0, 0.0)
>>> link.changes(3 * 10**9)
([0.0, 1.0, 2.0, 3.0], [8.0, 4.0, 8.0, 8.0])
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from itertools import pairwise
from operator import itemgetter
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, convert, json, structs

from dumbbell.units import FRAME_BYTES

from . import fields
from .base import Count, Positive, View

#: Headers of Ethernet, IPv4 and UDP; of a packet of the simplified QUIC and its frame (docs/models/quic.md).
_UDP_BYTES, _QUIC_BYTES = 42, 11

Window = tuple[float, float]
"""Start and end of a part of a run, seconds of simulated time."""


class TransportView(View, frozen=True, kw_only=True):
    """Transport of a flow: `kind` is ``tcp``, ``quic``, ``quinn`` or ``udp``."""

    kind: str = "tcp"
    payload_bytes: Count = 0
    """Stream data of a packet of ``quic``; further settings of it by which its packets differ in size."""
    write_bytes: Count = 0
    part_bytes: Count = 0
    compact: bool = False
    datagram_bytes: Count = 0
    """Of ``quinn``, without the headers of UDP and IP."""

    @property
    def packet_bytes(self) -> int | None:
        """A full packet on the wire, as samples count packets; None where these have no one size."""
        if self.kind == "tcp":
            return FRAME_BYTES
        if self.kind == "quinn":
            return self.datagram_bytes + _UDP_BYTES
        is_one = self.payload_bytes and not (self.write_bytes or self.part_bytes or self.compact)
        return self.payload_bytes + _UDP_BYTES + _QUIC_BYTES if is_one else None


class WorkloadView(View, frozen=True, kw_only=True):
    """Workload of a flow: `kind` is ``on_off``, ``paced`` or ``request_response``."""

    kind: str
    count: Count = 0
    """Answers of ``request_response`` before it closes; 0 for no end."""
    rate_bps: Count | None = None
    """At which it writes; None of ``on_off`` for as much as the transport takes."""


class LossWindowView(View, frozen=True, kw_only=True):
    """A time in which a share of the packets is lost, parts of 10^9; of all of them, or of the first `packets`."""

    from_ns: Count
    to_ns: Count
    ppb: Count
    packets: Count | None = None


class StageView(View, frozen=True, kw_only=True):
    """A part of a flow's route; `link` is the number of the link where `kind` is ``link``, `ppb` the share in parts of
    10^9 that a random `model` of ``loss`` loses, `ns` and `jitter` a ``delay`` and how it varies at random, `steps` the
    course of a delay or loss: (ns, value), which begins again after `repeat_ns`, `windows` times of loss.
    """

    kind: str
    link: Count | None = None
    model: str = ""
    ppb: Count = 0
    ns: Count = 0
    jitter: Any = None
    steps: tuple[tuple[Count, Count], ...] = ()
    repeat_ns: Positive | None = None
    windows: tuple[LossWindowView, ...] = ()


class FlowView(fields.Flow, frozen=True, kw_only=True):
    """One flow. Flows of one [[flow]] table share `name` and `table`."""

    transport: TransportView = TransportView()
    workload: WorkloadView | None = None
    forward: tuple[StageView, ...]
    back: tuple[StageView, ...]

    @property
    def loss_ppb(self) -> int:
        """Random loss of the data direction, parts per billion."""
        return next((stage.ppb for stage in self.forward if stage.model == "random"), 0)

    @property
    def is_acknowledged(self) -> bool:
        """False of UDP, whose sender has no window, no round-trip time, and learns of no loss."""
        return self.transport.kind != "udp"

    @property
    def is_finite(self) -> bool:
        """True if it has a size or a count of answers, and so a completion time."""
        return self.size_bytes is not None or self.answers > 0

    @property
    def sends_messages(self) -> bool:
        """True if its application writes messages, which have latencies; the datagrams of UDP have one-way delays."""
        work = self.workload
        return work is not None and self.is_acknowledged and (work.kind != "on_off" or work.rate_bps is not None)

    @property
    def answers(self) -> int:
        """Number of answers before it closes; 0 where no number ends it."""
        return self.workload.count if self.workload else 0


class ProbeView(fields.Probe, frozen=True, kw_only=True):
    """A series of probes."""

    every_ns: Positive


class TraceView(fields.Trace, frozen=True, kw_only=True):
    """A Mahimahi trace."""

    opportunity_bytes: Positive


class PolicerView(View, frozen=True, kw_only=True):
    """A policer in front of a queue."""

    rate_bps: Count
    burst_bytes: Count = 0


class Limit(NamedTuple):
    """Most that a queue holds: an amount of ``bytes`` (on the wire) or ``packets``."""

    measure: str
    amount: int

    @property
    def wire_bytes(self) -> int:
        """The limit in wire bytes; packets count as full ones."""
        return self.amount if self.measure == "bytes" else self.amount * FRAME_BYTES


class QdiscView(View, frozen=True, kw_only=True):
    """A queue discipline: its kind and its limits; the settings of an AQM are in the manifest only."""

    kind: str
    limit_bytes: Count | None = None
    limit_packets: Count | None = None
    memory_limit_bytes: Count | None = None
    ecn: bool = False

    @property
    def limit(self) -> Limit | None:
        """Its limit as it was given; None where its own rules decide (cake)."""
        if self.limit_bytes is not None:
            return Limit("bytes", self.limit_bytes)
        return None if self.limit_packets is None else Limit("packets", self.limit_packets)


#: Most points of a step plot; more are drawn as means.
POINTS_MAX = 100_000


class LinkView(fields.Link, frozen=True, kw_only=True):
    """A link: the course of its rate, its queue."""

    repeat_ns: Positive | None = None
    trace: TraceView | None = None
    policer: PolicerView | None = None
    qdisc: QdiscView

    def __post_init__(self) -> None:
        times = [at for at, _ in self.steps]
        if times and (times[0] != 0 or any(later <= earlier for earlier, later in pairwise(times))):
            raise ValueError("steps of a rate are ascending, the first at 0")
        if self.repeat_ns is not None and times and self.repeat_ns <= times[-1]:
            raise ValueError("repeat_ns lies after the last step")

    @property
    def is_constant(self) -> bool:
        """True if the rate never changes."""
        return self.trace is None and len(self.steps) < 2

    @property
    def course(self) -> tuple[tuple[int, int], ...]:
        """Its steps; a single one for a constant rate."""
        return self.steps or ((0, self.rate_bps),)

    @property
    def fastest_bps(self) -> int:
        """Its highest rate; the mean of a trace."""
        return max(rate for _, rate in self.course)

    @property
    def bucket_bits(self) -> int:
        """Size of its token bucket, which it may send on top of its rate; 0 for a trace, a frame for cake, which shapes
        by itself.
        """
        if self.trace is not None:
            return 0
        return 8 * (FRAME_BYTES if self.qdisc.kind == "cake" and self.is_constant else self.burst_bytes)

    def bits(self, start_ns: int, end_ns: int) -> float:
        """Bits that it can send between two times; raises ResultError where the file of its trace is gone or has
        changed.
        """
        if self.trace is not None:
            from dumbbell.scenario import traces

            return float(traces.bits(structs.asdict(self.trace), start_ns, end_ns))
        return (self._before(end_ns) - self._before(start_ns)) / 1e9

    def down_s(self, start_s: float, end_s: float) -> float:
        """Time between two moments in which its steps have no rate; that of a trace is not known, and none."""
        start, end = round(start_s * 1e9), round(end_s * 1e9)
        length = self.repeat_ns or end
        zeros = [
            (since, until)
            for (since, rate), (until, _) in pairwise([*self.course, (length, 0)])
            if rate == 0 and since < length
        ]
        down = sum(
            max(0, min(end, base + until) - max(start, base + since))
            for base in range(start // length * length if length else 0, end, length or 1)
            for since, until in zeros
        )
        return down / 1e9

    def _before(self, ns: int) -> int:
        """Bits from the start of the run to a time, times 10^9."""
        rounds, rest = divmod(ns, self.repeat_ns) if self.repeat_ns else (0, ns)
        return (rounds * self._within(self.repeat_ns) if self.repeat_ns else 0) + self._within(rest)

    def _within(self, ns: int) -> int:
        """The same in the first round of the steps."""
        course = self.course
        last = bisect_right(course, ns, key=itemgetter(0)) - 1
        ends = [*(at for at, _ in course[1 : last + 1]), ns]
        return sum(rate * (end - at) for (at, rate), end in zip(course[: last + 1], ends))

    def changes(self, duration_ns: int, *, bin_ns: int = 10**9) -> tuple[list[float], list[float]]:
        """Times in seconds and rates in Mbit/s at which the rate changes, for a step plot; a trace, and steps without
        number, in means over `bin_ns` or more.

        The last point repeats the last rate at the end of the run. Raises ResultError as `bits` does.
        """
        rounds = -(-duration_ns // self.repeat_ns) if self.repeat_ns else 1
        if self.trace is not None or rounds * len(self.course) > POINTS_MAX:
            bin_ns = max(bin_ns, -(-duration_ns // POINTS_MAX))
            edges = [*range(0, duration_ns, bin_ns), duration_ns]
            points = [(at, self.bits(at, until) * 1e9 / (until - at)) for at, until in pairwise(edges)]
        else:
            begins = range(0, duration_ns, self.repeat_ns) if self.repeat_ns else (0,)
            points = [
                (begin + at, float(rate)) for begin in begins for at, rate in self.course if begin + at < duration_ns
            ]
        points.append((duration_ns, points[-1][1]))
        return [at / 1e9 for at, _ in points], [rate / 1e6 for _, rate in points]


class MeasureView(fields.Window, frozen=True, kw_only=True):
    """The part of the run that figures cover by default."""

    def __post_init__(self) -> None:
        if self.to_ns <= self.from_ns:
            raise ValueError("to_ns lies after from_ns")

    @property
    def window(self) -> Window:
        """The same in seconds."""
        return self.from_ns / 1e9, self.to_ns / 1e9


class PlanView(fields.Plan, frozen=True, kw_only=True):
    """One run as an engine takes it."""

    duration_ns: Positive
    sample_ns: Positive
    measure: MeasureView | None = None
    links: Annotated[tuple[LinkView, ...], Meta(min_length=1)]
    ack_links: tuple[LinkView, ...] = ()
    flows: tuple[FlowView, ...]
    probes: tuple[ProbeView, ...] = ()

    @property
    def is_two_way(self) -> bool:
        """True if links carry more than data down and acknowledgements up."""
        return bool(self.probes) or any(flow.direction == "up" for flow in self.flows)

    @property
    def mixes_directions(self) -> bool:
        """True if some flows send down and others up, over links with rates of their own."""
        return len({flow.direction for flow in self.flows}) > 1

    @property
    def recorded_links(self) -> tuple[LinkView, ...]:
        """The links that tables have rows of, by the number that these give them: those of the way down, and where data
        go up too or there are probes, those of the way up.
        """
        return self.links + (self.ack_links if self.is_two_way else ())

    @property
    def bottleneck(self) -> LinkView:
        """The link of `[path]`."""
        return self.links[0]

    def link_number(self, name: str) -> int:
        """The number that tables give the link of this name; raises ResultError where they have none."""
        from dumbbell.errors import ResultError

        names = [link.name for link in self.recorded_links]
        if name not in names:
            raise ResultError(f'{self.name}: no link is called "{name}", wanted one of: {", ".join(names)}')
        return names.index(name)

    @property
    def doubted_bottleneck(self) -> str:
        """Why figures of the link of `[path]` may be none of the link that matters; empty as a rule."""
        links = self.recorded_links
        if len(links) == 1:
            return ""
        if not self.cross_bottleneck():
            return f"not all data cross {self.bottleneck.name}"
        slower = [link.name for link in self.crossed_links if link.fastest_bps < self.bottleneck.fastest_bps]
        return f"{self.bottleneck.name} is faster than {slower[0]}" if slower else ""

    @property
    def crossed_links(self) -> list[LinkView]:
        """The links that the data of some flow cross, in the order of tables."""
        ways = [self.way(flow) for flow in range(len(self.flows))]
        return [link for link in self.recorded_links if any(link in way for way in ways)]

    def extra_link(self, table: int) -> LinkView:
        """The link of a [[link]] table by the table's number, from 0."""
        return self.links[1 + table]

    def way(self, flow: int) -> tuple[LinkView, ...]:
        """The links that a flow's data cross; the bottleneck where its plan has no route."""
        of = self.flows[flow]
        links = self.ack_links if of.direction == "up" else self.links
        return tuple(links[stage.link] for stage in of.forward if stage.link is not None) or (self.bottleneck,)

    def cross_bottleneck(self, flows: Iterable[int] | None = None) -> bool:
        """True if the data of all these flows, or of all that there are, cross it."""
        return all(self.bottleneck in self.way(flow) for flow in (range(len(self.flows)) if flows is None else flows))

    def bounding_rate_bps(self, flows: Iterable[int] | None = None) -> int | None:
        """The bottleneck's rate; None where it changes, or where not all of these flows cross it."""
        is_bound = self.bottleneck.is_constant and self.cross_bottleneck(flows)
        return self.bottleneck.rate_bps if is_bound else None

    @property
    def duration_s(self) -> float:
        """Length of the run, seconds."""
        return self.duration_ns / 1e9

    @property
    def window(self) -> Window | None:
        """The measured part of the run, seconds; None for all of it."""
        return None if self.measure is None else self.measure.window

    @property
    def groups(self) -> dict[str, list[int]]:
        """Names of the [[flow]] tables in their order, each with the numbers of its flows."""
        by_name: dict[str, list[int]] = {}
        for i, flow in enumerate(self.flows):
            by_name.setdefault(flow.name, []).append(i)
        return by_name


#: Looks up the types of all fields now: msgspec would when it first converts, and crashes where two threads do that at
#: once.
json.Decoder(PlanView)


def view(planned: Mapping[str, Any]) -> PlanView:
    """The view of a plan as `make.py` makes it; raises msgspec.ValidationError, which says where, if it is none."""
    return convert(planned, PlanView)


def link_of(planned: Mapping[str, Any]) -> LinkView:
    """The view of one link of such a plan."""
    return convert(planned, LinkView)


def qdisc_of(planned: Mapping[str, Any]) -> QdiscView:
    """The view of the queue discipline of such a link."""
    return convert(planned, QdiscView)
