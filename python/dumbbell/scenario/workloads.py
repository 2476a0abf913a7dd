"""Transports and applications of flows, and flows that arrive at random."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from dumbbell.errors import wrong

from . import kinds
from .declare import Variant, key
from .kinds import DELAY, DURATION, RATE, SPAN_ABOVE_ZERO
from .moments import Moment, or_moment
from .plain_kinds import SWITCH, Choice, whole

if TYPE_CHECKING:
    from .keytypes import MaybeNumber, MaybeQuantity, Number, Quantity, Switch, Word

_MESSAGE = kinds.size("1B", "1GB")


class Transport(Variant):
    """What carries a flow."""

    AT = "flow.transport"

    @abstractmethod
    def plan(self) -> dict[str, Any]:
        """Build the part of the plan that the engine takes."""


class Tcp(Transport, form="tcp"):
    """TCP as in Linux."""

    def plan(self) -> dict[str, Any]:
        """Build the part of the plan that the engine takes."""
        return {"kind": "tcp"}


class Quic(Transport, form="quic"):
    """The QUIC-like transport (docs/models/quic.md)."""

    payload: Quantity = key(kinds.size("100B", "1400B"), "stream data of a packet", default="1000B")
    write: MaybeQuantity = key(
        kinds.size("100B", "1MB"),
        "what the application writes at once: a packet never carries parts of two writes; default: everything"
        " (Zhang: 3000 bytes, which make packets of 1400, 1400 and 200)",
        default=None,
    )
    ack_every: Number = key(whole(1, 2**31), "packets that ask for an acknowledgement before one is sent", default=2)
    ack_delay: Quantity = key(
        kinds.span("0s", "60s"), "the longest that a packet waits for its acknowledgement", default="25ms"
    )
    handshake: Switch = key(SWITCH, "a round trip comes before the first data; false for 0-RTT", default=True)
    initial_rtt: Quantity = key(
        kinds.span("1us", "60s"), "round-trip time that is assumed before the first sample", default="333ms"
    )

    initial_sample: Switch = key(
        SWITCH,
        "that round-trip time counts as the first sample, so that no longer one is ever the minimum (Zhang: true)",
        default=False,
    )
    window_unit: MaybeQuantity = key(
        kinds.size("100B", "10kB"),
        "unit of the window of controllers that do not set it themselves; default: a packet"
        " (Chromium: 1460 bytes, whatever packets carry)",
        default=None,
    )
    part: MaybeQuantity = key(
        kinds.size("100B", "1400B"),
        "what counts one in windows, flights, deliveries and losses: a packet counts the parts that its stream data"
        " has, as a buffer its segments in TCP; default: a packet counts one, whatever it carries (Zhang's BBRv2 counts"
        " bytes: 200B, where packets carry 1400, 1400 and 200)",
        default=None,
    )
    packet_threshold: MaybeNumber = key(
        whole(1, 1000),
        "later packets whose acknowledgement makes one lost; default: 3 (Zhang: any gap, 1)",
        default=None,
    )
    adaptive_thresholds: Switch = key(
        SWITCH,
        "packet and time threshold of loss detection grow with each loss that proves spurious, as in google/quiche;"
        " false: they stay 3 packets (or packet_threshold) and 9/8 of an RTT",
        default=False,
    )
    initial_window: MaybeNumber = key(
        whole(1, 10_000), "window at the start, in packets; default: host.initial_window (Zhang: 15)", default=None
    )
    clock: MaybeQuantity = key(
        kinds.span("1us", "100ms"),
        "what the sender's clock counts in: it measures RTT and rates with it, and its pacer lets go what is due within"
        " one; default: exact (Zhang: 1 ms)",
        default=None,
    )
    clock_offset: MaybeQuantity = key(
        kinds.span("1us", "100ms"),
        "when in a tick of the clock its alarms go off, below the tick; default: at its beginning (Zhang's senders"
        " share a processor, which polls them in turn)",
        default=None,
    )
    poll: MaybeQuantity = key(
        kinds.span("1us", "100ms"),
        "time between two polls of the sender, the first of which comes after `clock_offset`: it sends and runs its"
        " alarms only then, one packet each time, and one more when the pacer's alarm goes off; default: not polled"
        " (Zhang: 500 us)",
        default=None,
    )
    rto_min: MaybeQuantity = key(
        kinds.span("1ms", "60s"),
        "minimum retransmission timeout, which replaces probes and persistent congestion; default: probes"
        " (Zhang: 200 ms)",
        default=None,
    )
    counts_sent: Switch = key(
        SWITCH,
        "the sending rate of a sample counts what was sent, lost packets included, as in Chromium; false: what was"
        " delivered of it, as in Linux",
        default=False,
    )
    prr: Switch = key(
        SWITCH,
        "controllers that do not set their window themselves leave reductions by proportional rate reduction, as in"
        " Chromium; false: the window falls at once",
        default=False,
    )

    compact: Switch = key(
        SWITCH,
        "packet numbers and offsets take as few bytes as they need, so that header and frame of a packet have 4 to 13"
        " bytes (Zhang: true); false: four each, 11 bytes; captures have the latter only",
        default=False,
    )

    def plan(self) -> dict[str, Any]:
        """Build the part of the plan that the engine takes."""
        sender = {
            "packet_threshold": self.packet_threshold,
            "adaptive_thresholds": self.adaptive_thresholds,
            "initial_window": self.initial_window,
            "part_bytes": self.part,
            "clock_ns": self.clock,
            "clock_offset_ns": self.clock_offset,
            "poll_ns": self.poll,
            "write_bytes": self.write,
            "initial_sample": self.initial_sample,
            "rto_min_ns": self.rto_min,
            "counts_sent": self.counts_sent,
            "prr": self.prr,
            "compact": self.compact,
        }
        times = {"ack_delay_ns": self.ack_delay, "initial_rtt_ns": self.initial_rtt}
        sizes = {"payload_bytes": self.payload, "window_unit_bytes": self.window_unit or 0}
        own = {name: value for name, value in sender.items() if value}
        return {"kind": "quic", "ack_every": self.ack_every, "handshake": self.handshake, **sizes, **times, **own}


class Quinn(Transport, form="quinn"):
    """quinn-proto, an implementation of QUIC (docs/models/quic.md, quinn)."""

    datagram: Quantity = key(
        kinds.size("1200B", "1448B"), "length of a full datagram, without the headers of UDP and IP", default="1200B"
    )

    def plan(self) -> dict[str, Any]:
        """Build the part of the plan that the engine takes."""
        return {"kind": "quinn", "datagram_bytes": self.datagram}


#: Payload of the largest datagram in a frame of Ethernet, bytes: 1500 less the headers of IPv4 and UDP.
DATAGRAM_MAX = 1472


class Udp(Transport, form="udp"):
    """UDP without an answer (docs/models/udp.md): each message of its workload (paced, or on_off with a rate) is a
    datagram, nothing is sent again, and neither loss nor marks slow it down. Such a flow has no `cca`.
    """

    ecn: Word = key(
        Choice("not-ect", "ect0", "ect1"),
        "ECN code point of its datagrams: queues mark what is ECN-capable, and no mark slows it down",
        default="not-ect",
    )

    def plan(self) -> dict[str, Any]:
        """Build the part of the plan that the engine takes."""
        return {"kind": "udp", **({} if self.ecn == "not-ect" else {"ecn": self.ecn})}


class Workload(Variant):
    """What an application does, instead of one transfer."""

    AT = "flow.workload"

    @abstractmethod
    def plan(self) -> dict[str, Any]:
        """Build the part of the plan that the engine takes."""


class OnOff(Workload, form="on_off"):
    """It sends in on times: as much as it can, or messages at a rate."""

    on: Quantity = key(
        or_moment(DURATION),
        "length of an on time, or its mean; or when the first one ends, as a [moment](#moments)",
    )
    off: Quantity = key(DELAY, "length of an off time, or its mean")
    rate: MaybeQuantity = key(RATE, "payload per time while on; default: as much as possible", default=None)
    message: Quantity = key(_MESSAGE, "size of a message at that rate", default="1448B")
    random: Switch = key(SWITCH, "exponentially distributed times with these means", default=False)

    def check(self) -> None:
        """Raise ScenarioError for a moment among random times."""
        if self.random and isinstance(self.on, Moment):
            raise wrong(f"{self.AT}.random", True, "false next to an on time that ends at a moment")

    def plan(self) -> dict[str, Any]:
        """Build the part of the plan that the engine takes."""
        on, off = ({"ns": mean, "exponential": self.random} for mean in (self.on, self.off))
        return {
            "kind": "on_off",
            "on": on,
            "off": off,
            "rate_bps": self.rate,
            "message_bytes": self.message,
        }


class Paced(Workload, form="paced"):
    """It writes messages at a rate."""

    rate: Quantity = key(RATE, "payload per time")
    message: Quantity = key(_MESSAGE, "size of a message", default="1448B")

    def plan(self) -> dict[str, Any]:
        """Build the part of the plan that the engine takes."""
        return {"kind": "paced", "rate_bps": self.rate, "message_bytes": self.message}


class Probes(Workload, form="probes", sign="probe"):
    """It measures latency: a datagram (98 bytes on the wire, as of ping) that the other end answers at once, again and
    again. Such a flow has no `cca`; probes.parquet has its round trips.
    """

    probe: Quantity = key(SPAN_ABOVE_ZERO, "time between two datagrams")

    def plan(self) -> dict[str, Any]:
        """Build the part of the plan that the engine takes."""
        return {"kind": "probes", "every_ns": self.probe}


class RequestResponse(Workload, form="request_response"):
    """It answers requests of the receiver."""

    response: Quantity = key(kinds.SIZE, "size of an answer")
    think: Quantity = key(DELAY, "time between an answer and the next request, or its mean", default="0s")
    count: Number = key(whole(0, 2**31), "number of answers before it closes; 0: unlimited", default=0)
    random: Switch = key(SWITCH, "exponentially distributed times with this mean", default=False)

    def plan(self) -> dict[str, Any]:
        """Build the part of the plan that the engine takes."""
        think = {"ns": self.think, "exponential": self.random}
        return {
            "kind": "request_response",
            "response_bytes": self.response,
            "think": think,
            "count": self.count,
        }
