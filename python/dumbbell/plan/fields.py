"""The plan of a run as its readers get it, frozen; what the fields mean is in `types.py`. Written by `make gen` from
the structs that the engine parses it into (crates/path/src/plan), not by hand. `view.py` adds what follows from them.

A field that a plan is without has the engine's default; `Any` is a kind with its own parameters.
"""

from __future__ import annotations

from typing import Any

from msgspec import field

from .base import Count, View


class Trace(View, frozen=True, kw_only=True):
    """A Mahimahi trace."""

    path: str
    sha256: str = ""
    opportunity_bytes: Count
    repeat: bool


class Limits(View, frozen=True, kw_only=True):
    """What a run may cost before it ends itself with an error."""

    events_per_s: Count
    memory_bytes: Count


class Record(View, frozen=True, kw_only=True):
    """What a run keeps."""

    samples: bool
    queue: bool
    events: bool
    pcap: bool
    qlog: bool = False
    variables: bool = False
    limits: bool = False
    states: bool = True


class Probe(View, frozen=True, kw_only=True):
    """One series of probes. Its packets are numbered after those of the flows where routes are."""

    name: str
    table: Count = 0
    direction: str = "down"
    rtt_ns: Count
    forward: tuple[Any, ...]
    back: tuple[Any, ...]
    start_ns: Count
    stop_ns: Count
    every_ns: Count


class Flow(View, frozen=True, kw_only=True):
    """One flow."""

    name: str = ""
    table: Count = 0
    cca: str
    params: dict[str, int]
    transport: Any = None
    rtt_ns: Count
    direction: str = "down"
    forward: tuple[Any, ...]
    back: tuple[Any, ...]
    start_ns: Count
    stop_ns: Count
    size_bytes: Count | None = None
    workload: Any = None
    max_rate_bps: Count | None = None
    host: dict[str, bool | int | str] = field(default_factory=dict)
    receiver: Any = None


class Host(View, frozen=True, kw_only=True):
    """The end hosts of every flow that has none of its own."""

    hz: Count
    qdisc: str
    tso: bool
    nic: str = "physical"
    gro: bool
    ecn: str
    rcvbuf_bytes: Count
    sndbuf_bytes: Count
    delayed_ack: bool
    arp: bool = False
    nodelay: bool = True
    slow_start_after_idle: bool = True
    initial_window: Count = 10
    shared_receiver: bool = True
    shared_processor: bool = True
    traffic: str = "auto"


class Link(View, frozen=True, kw_only=True):
    """A shared link."""

    name: str = ""
    rate_bps: Count
    steps: tuple[tuple[Count, Count], ...] = ()
    repeat_ns: Count | None = None
    trace: Trace | None = None
    burst_bytes: Count
    header_bytes: Count = 14
    policer: Any = None
    qdisc: Any


class Window(View, frozen=True, kw_only=True):
    """A part of a run."""

    from_ns: Count
    to_ns: Count


class Plan(View, frozen=True, kw_only=True):
    """One run."""

    name: str
    seed: Count
    duration_ns: Count
    sample_ns: Count
    measure: Window | None = None
    links: tuple[Link, ...]
    ack_links: tuple[Link, ...] = ()
    host: Host
    flows: tuple[Flow, ...]
    probes: tuple[Probe, ...] = ()
    record: Record
    limits: Limits | None = None
