"""The plan of a run: plain dictionaries at run time, as JSON has them; their keys and types for checkers. Written by
`make gen` from the structs that the engine parses it into (crates/path/src/plan), not by hand.

Everything is absolute: times in ns from the start of the run, rates in bit/s, sizes in bytes on the wire, shares in
parts per billion (ppb). `None` is the absence of a thing.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

Stage = dict[str, Any]
"""One part of a route: its kind, and that kind's parameters."""
Settings = dict[str, Any]
"""A kind (of queue discipline, transport, application, distribution) and that kind's parameters."""


class FlowHostPlan(TypedDict):
    """Settings of a flow's hosts; what is not given is as `Host` has it."""

    hz: NotRequired[int]
    """Kernel tick, 1/s."""
    qdisc: NotRequired[str]
    """Sender's queue discipline."""
    tso: NotRequired[bool]
    """Autosized bursts."""
    nic: NotRequired[str]
    """What becomes of these bursts when they leave the sender."""
    gro: NotRequired[bool]
    """The receiver merges segments."""
    ecn: NotRequired[str]
    """What the connection agrees on."""
    rcvbuf_bytes: NotRequired[int]
    """Receive buffer at most, bytes; 0: large enough for anything."""
    sndbuf_bytes: NotRequired[int]
    """Send buffer at most, bytes; 0: large enough for anything."""
    initial_window: NotRequired[int]
    """Window at the start of the connection, segments."""


class TracePlan(TypedDict):
    """A Mahimahi trace."""

    path: str
    """The file."""
    sha256: str
    """SHA-256 of its content, so that a plan says what it ran on."""
    opportunity_bytes: int
    """Wire bytes that an opportunity carries."""
    repeat: bool
    """The trace begins again at its end; otherwise the link then is dead."""


class LimitsPlan(TypedDict):
    """What a run may cost before it ends itself with an error."""

    events_per_s: int
    """Events per simulated second."""
    memory_bytes: int
    """Memory of packets under way and of messages, bytes."""


class RecordPlan(TypedDict):
    """What a run keeps."""

    samples: bool
    """`samples.parquet` gets rows."""
    queue: bool
    """`queue.parquet` gets rows."""
    events: bool
    """`events.parquet` gets rows."""
    pcap: bool
    """`trace.pcap` is written."""
    qlog: NotRequired[bool]
    """`trace.sqlog` is written; the simulator's."""
    variables: NotRequired[bool]
    """`variables.parquet` is written: variables of controllers when they change."""
    limits: NotRequired[bool]
    """`limits.parquet` is written: what limits each flow when."""
    states: bool
    """On real hosts our own controllers are asked for their state at every sample."""


class ProbePlan(TypedDict):
    """One series of probes. Its packets are numbered after those of the flows where routes are."""

    name: str
    """What its figures are found by."""
    table: int
    """Number of the table that it was made from."""
    direction: str
    """Which way its requests go; the answers go the other way."""
    rtt_ns: int
    """Two-way propagation delay, ns."""
    forward: list[Stage]
    """What requests meet, in order."""
    back: list[Stage]
    """What answers meet, in order."""
    start_ns: int
    """When the first leaves, ns."""
    stop_ns: int
    """When none leaves any more, ns."""
    every_ns: int
    """Time between two requests, ns."""


class FlowPlan(TypedDict):
    """One flow."""

    name: str
    """What its figures are found by; empty: the controller's name."""
    table: int
    """Number of the table that it was made from; flows of a table share their name."""
    cca: str
    """Congestion controller."""
    params: dict[str, int]
    """Its parameters, where they differ from the defaults."""
    transport: Settings
    """What carries it."""
    rtt_ns: int
    """Two-way propagation delay, ns: how long the first packet waits for the other end's address, and what results
    show. The routes say what packets meet.
    """
    direction: NotRequired[str]
    """Which way its data go; its acknowledgements go the other way."""
    forward: list[Stage]
    """What the data meet, in order."""
    back: list[Stage]
    """What the acknowledgements meet, in order."""
    start_ns: int
    """When the connection opens, ns."""
    stop_ns: int
    """When the application closes, ns; at most the duration."""
    size_bytes: int | None
    """Bytes to transfer; None for as much as possible."""
    workload: Settings | None
    """What the application does, where it is not one transfer."""
    max_rate_bps: int | None
    """Upper bound of the pacing rate, bit/s of payload."""
    host: FlowHostPlan
    """How its hosts differ from the plan's."""
    receiver: NotRequired[Settings]
    """How its receiver breaks the rules of TCP; None: it does not."""


class HostPlan(TypedDict):
    """The end hosts of every flow that has none of its own."""

    hz: int
    """Kernel tick, 1/s."""
    qdisc: str
    """Sender's queue discipline."""
    tso: bool
    """Autosized bursts."""
    nic: str
    """What becomes of these bursts when they leave the sender."""
    gro: bool
    """The receiver merges segments."""
    ecn: str
    """What connections agree on."""
    rcvbuf_bytes: int
    """Receive buffer at most, bytes; 0: large enough for anything."""
    sndbuf_bytes: int
    """Send buffer at most, bytes; 0: large enough for anything."""
    delayed_ack: bool
    """Receivers may delay acknowledgements."""
    arp: bool
    """Hosts do not know each other's link addresses yet: the first packet of a flow waits for ARP, which crosses the
    path's delay once each way, as on a fresh testbed. Not the default: on a wide-area path neighbours know each
    other.
    """
    nodelay: bool
    """A segment that ends a message is sent at once (TCP_NODELAY)."""
    slow_start_after_idle: bool
    """The window restarts after an idle time (tcp_slow_start_after_idle)."""
    initial_window: NotRequired[int]
    """Window at the start of a connection, segments (`initcwnd` of the route)."""
    shared_receiver: bool
    """All receivers are on one host, as `cake`'s isolation sees it; otherwise each has its own."""
    shared_processor: bool
    """All hosts are on one processor, so that timers that may be late fire together (see `crate::timeline`); otherwise
    each has its own.
    """
    traffic: str
    """What makes the flows."""


class LinkPlan(TypedDict):
    """A shared link."""

    name: str
    """What results call it."""
    rate_bps: int
    """Wire rate, bit/s; with `steps` the first of them, with `trace` its mean."""
    steps: list[tuple[int, int]]
    """How the rate changes: (ns, bit/s), the first at 0, 0 bit/s for an outage; empty for a constant rate."""
    repeat_ns: int | None
    """When the steps begin again, ns; None for never."""
    trace: TracePlan | None
    """Delivery opportunities instead of a rate."""
    burst_bytes: int
    """Depth of the token bucket, bytes."""
    header_bytes: NotRequired[int]
    """The link layer's header of each packet, which rate and queue count; Ethernet's unless given."""
    policer: Settings | None
    """Packets beyond this rate are refused before they are queued."""
    qdisc: Settings
    """The queue in front of it."""


class MeasurePlan(TypedDict):
    """A part of a run."""

    from_ns: int
    """Its begin, ns."""
    to_ns: int
    """Its end, ns; at most the duration."""


class Plan(TypedDict):
    """One run."""

    name: str
    """Name of the scenario."""
    seed: int
    """Seed of every random stream."""
    duration_ns: int
    """Length of the run, ns."""
    sample_ns: int
    """Interval of the sample and queue tables, ns."""
    measure: MeasurePlan | None
    """The part of the run that readers of the result look at; engines run and record all of it."""
    links: list[LinkPlan]
    """Links of the way down by their number; 0 is the bottleneck."""
    ack_links: list[LinkPlan]
    """Links of the way up by their number: of the acknowledgements of flows that go down, and of the data of those
    that go up.
    """
    host: HostPlan
    """The end hosts."""
    flows: list[FlowPlan]
    """The flows, in the order of the scenario."""
    probes: NotRequired[list[ProbePlan]]
    """Series of probes, in the order of the scenario."""
    record: RecordPlan
    """What to keep."""
    limits: LimitsPlan
    """What the run may cost."""
