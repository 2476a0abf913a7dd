"""The plan of a run: plain dictionaries at run time, as JSON has them; their keys and types for checkers, which alone
import this.

Everything is absolute: times in ns from the start of the run, rates in bit/s, sizes in bytes on the wire, shares in
parts per billion (ppb). `None` is the absence of a thing.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

Steps = list[tuple[int, int]]
"""(ns, value), ascending, the first at 0."""
Stage = dict[str, Any]
"""One part of a route: its kind, and that kind's parameters."""
Settings = dict[str, Any]
"""A kind (of queue discipline, transport, application, distribution) and that kind's parameters."""


class TracePlan(TypedDict):
    """A Mahimahi trace."""

    path: str
    sha256: str
    opportunity_bytes: int
    repeat: bool


class RatePlan(TypedDict):
    """A rate: constant, or in steps, or from a trace, whose mean `rate_bps` is then."""

    rate_bps: int
    steps: Steps
    repeat_ns: int | None
    trace: TracePlan | None


class PolicerPlan(TypedDict):
    """A policer in front of a queue."""

    rate_bps: int
    burst_bytes: int
    mark: bool


class LinkPlan(RatePlan):
    """A link: its rate, its token bucket and its queue."""

    name: str
    burst_bytes: int
    header_bytes: NotRequired[int]
    policer: PolicerPlan | None
    qdisc: Settings


class HostPlan(TypedDict):
    """How the end hosts are set."""

    hz: int
    qdisc: str
    tso: bool
    nic: str
    gro: bool
    ecn: str
    rcvbuf_bytes: int
    sndbuf_bytes: int
    delayed_ack: bool
    arp: bool
    nodelay: bool
    slow_start_after_idle: bool
    shared_receiver: bool
    shared_processor: bool
    traffic: str


class FlowPlan(TypedDict):
    """One flow; those of one [[flow]] table share `name` and `table`."""

    name: str
    table: int
    cca: str
    params: dict[str, int]
    transport: Settings
    rtt_ns: int
    direction: NotRequired[str]
    """``up``, where its data go up."""
    forward: list[Stage]
    back: list[Stage]
    stop_ns: int
    size_bytes: int | None
    workload: Settings | None
    max_rate_bps: int | None
    host: Settings
    """What of its hosts differs from the plan's."""
    start_ns: int


class ProbePlan(TypedDict):
    """One series of probes."""

    name: str
    table: int
    direction: str
    rtt_ns: int
    forward: list[Stage]
    back: list[Stage]
    start_ns: int
    stop_ns: int
    every_ns: int


class MeasurePlan(TypedDict):
    """The part of the run that figures cover."""

    from_ns: int
    to_ns: int


class RecordPlan(TypedDict):
    """Which tables a run writes, and whether it captures packets."""

    samples: bool
    queue: bool
    events: bool
    pcap: bool
    states: bool
    qlog: NotRequired[bool]


class LimitsPlan(TypedDict):
    """What the run may cost before it ends itself with an error."""

    events_per_s: int
    memory_bytes: int


class Plan(TypedDict):
    """One run."""

    name: str
    seed: int
    duration_ns: int
    sample_ns: int
    measure: MeasurePlan | None
    links: list[LinkPlan]
    """Of the way down, by their number; 0 is the bottleneck."""
    ack_links: list[LinkPlan]
    """Of the way up."""
    host: HostPlan
    flows: list[FlowPlan]
    probes: NotRequired[list[ProbePlan]]
    """Where there are any."""
    record: RecordPlan
    limits: LimitsPlan
