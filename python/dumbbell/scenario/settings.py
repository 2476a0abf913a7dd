"""Settings of the parts of a path: written by `make gen` from the parts themselves (crates/net), not by hand.

`ENGINE` has the engine's name of each key.
"""
# ruff: noqa: E501

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from .declare import Table, key
from .kinds import (
    BUFFER,
    BURST,
    DELAY,
    LIMIT,
    PACKETS,
    RATE,
    SHARE,
    memory,
    rates,
    size,
    span,
    switch_or,
)
from .plain_kinds import SWITCH, Choice, whole

if TYPE_CHECKING:
    from .keytypes import (
        Limit,
        MaybeBuffer,
        MaybeNumber,
        MaybeQuantity,
        Memory,
        Number,
        Quantity,
        Share,
        Switch,
        Word,
        WordOrSwitch,
    )


class CodelSettings(Table):
    """CoDel (RFC 8289)."""

    ENGINE: ClassVar[dict[str, str]] = {
        "limit": "limit_packets",
        "target": "target_ns",
        "interval": "interval_ns",
        "ecn": "ecn",
        "ce_threshold": "ce_threshold_ns",
    }

    limit: Limit = key(
        LIMIT,
        'packets that it holds; "buffer" for the link\'s buffer, and bytes or times become full packets, rounded down',
        default="1000pkt",
    )
    target: Quantity = key(span("1us", "100s"), "standing delay that is acceptable", default="5ms")
    interval: Quantity = key(
        span("1us", "100s"), "for how long the delay must stand before a packet is dropped", default="100ms"
    )
    ecn: Switch = key(SWITCH, "marks ECN-capable packets instead of dropping them", default=False)
    ce_threshold: MaybeQuantity = key(
        DELAY, "time in the queue above which every ECN-capable packet is marked, whatever `ecn` says", default=None
    )


class FqCodelSettings(Table):
    """Fair queueing with CoDel (RFC 8290)."""

    ENGINE: ClassVar[dict[str, str]] = {
        "limit": "limit_packets",
        "flows": "flows",
        "quantum": "quantum_bytes",
        "target": "target_ns",
        "interval": "interval_ns",
        "memory_limit": "memory_limit_bytes",
        "drop_batch": "drop_batch",
        "ecn": "ecn",
        "ce_threshold": "ce_threshold_ns",
        "ce_threshold_selector": "ce_threshold_selector",
        "ce_threshold_mask": "ce_threshold_mask",
    }

    limit: Limit = key(
        LIMIT,
        'packets that it holds; beyond, the fattest queue loses some; "buffer" for the link\'s buffer, and bytes or times become full packets, rounded down',
        default="10240pkt",
    )
    flows: Number = key(whole(1, 65536), "queues that flows are hashed to", default=1024)
    quantum: Quantity = key(size("256B", "1MiB"), "wire bytes that a queue may send in its turn", default="1514B")
    target: Quantity = key(span("1us", "100s"), "standing delay that is acceptable", default="5ms")
    interval: Quantity = key(
        span("1us", "100s"), "for how long the delay must stand before a packet is dropped", default="100ms"
    )
    memory_limit: Memory = key(
        memory("1514B", "2GiB"),
        'memory that packets may take, as Linux counts it (`truesize`); "buffer" for the link\'s buffer in bytes',
        default="32MiB",
    )
    drop_batch: Number = key(whole(1, 2147483648), "packets that an overflow drops at most", default=64)
    ecn: Switch = key(SWITCH, "marks ECN-capable packets instead of dropping them", default=True)
    ce_threshold: MaybeQuantity = key(
        DELAY, "time in the queue above which every ECN-capable packet is marked, whatever `ecn` says", default=None
    )
    ce_threshold_selector: Number = key(
        whole(0, 255), "with a mask: only packets whose DS byte under the mask is this are marked", default=0
    )
    ce_threshold_mask: Number = key(whole(0, 255), "mask of the selector; 0 for every packet", default=0)


class RedSettings(Table):
    """Random early detection (Floyd and Jacobson 1993; `tc red`)."""

    ENGINE: ClassVar[dict[str, str]] = {
        "limit": "limit_bytes",
        "min": "min_bytes",
        "max": "max_bytes",
        "probability": "probability_ppb",
        "burst": "burst_packets",
        "avpkt": "avpkt_bytes",
        "bandwidth": "bandwidth_bps",
        "ecn": "ecn",
        "harddrop": "harddrop",
        "nodrop": "nodrop",
        "adaptive": "adaptive",
        "gentle": "gentle",
    }

    limit: Limit = key(LIMIT, 'bytes on the wire that it holds; "buffer" for the link\'s buffer', default="buffer")
    min: MaybeBuffer = key(
        BUFFER, "average queue below which nothing is dropped; a third of `max` unless given", default=None
    )
    max: MaybeBuffer = key(
        BUFFER,
        "average queue from which on everything is; a quarter of `limit`, or three times `min`, unless given",
        default=None,
    )
    probability: Share = key(SHARE, "share dropped where the average is at `max`", default=0.02)
    burst: MaybeQuantity = key(
        PACKETS,
        "packets of a burst that the average does not follow; (2 min + max) / (3 avpkt) unless given",
        default=None,
    )
    avpkt: Quantity = key(size("1B", "65535B"), "size of an average packet", default="1000B")
    bandwidth: Quantity = key(
        RATE,
        "rate by which the average decays while the queue is idle; tc's default, not the link's rate",
        default="10Mbps",
    )
    ecn: Switch = key(SWITCH, "marks ECN-capable packets instead of dropping them", default=False)
    harddrop: Switch = key(SWITCH, "drops, not marks, where the average is at `max` or above", default=False)
    nodrop: Switch = key(SWITCH, "with `ecn`: queues what cannot be marked", default=False)
    adaptive: Switch = key(
        SWITCH,
        "moves `probability` so that the average stays between `min` and `max` (Floyd, Gummadi and Shenker 2001)",
        default=False,
    )
    gentle: Switch = key(
        SWITCH,
        "from `max` to twice `max` the share rises to 1, instead of being 1 (Floyd 2000; Linux has no such rule)",
        default=False,
    )


class PieSettings(Table):
    """Proportional integral controller, enhanced (RFC 8033)."""

    ENGINE: ClassVar[dict[str, str]] = {
        "limit": "limit_packets",
        "target": "target_ns",
        "tupdate": "tupdate_ns",
        "alpha": "alpha",
        "beta": "beta",
        "ecn": "ecn",
        "ecn_limit": "ecn_limit_percent",
        "bytemode": "bytemode",
        "dq_rate_estimator": "dq_rate_estimator",
    }

    limit: Limit = key(
        LIMIT,
        'packets that it holds; "buffer" for the link\'s buffer, and bytes or times become full packets, rounded down',
        default="1000pkt",
    )
    target: Quantity = key(span("1us", "100s"), "delay that it aims at", default="15ms")
    tupdate: Quantity = key(span("1us", "100s"), "time between two updates of the share dropped", default="15ms")
    alpha: Number = key(whole(0, 32), "weight of the delay's distance from `target`, in 1/16 per second", default=2)
    beta: Number = key(whole(0, 32), "weight of the delay's growth, in 1/16 per second", default=20)
    ecn: Switch = key(
        SWITCH, "marks ECN-capable packets instead of dropping them, while the share is small", default=False
    )
    ecn_limit: Number = key(whole(0, 100), "share in percent up to which `ecn` marks", default=10)
    bytemode: Switch = key(SWITCH, "scales the share with a packet's length", default=False)
    dq_rate_estimator: Switch = key(
        SWITCH, "takes the delay from a measured drain rate instead of the time that packets waited", default=False
    )


class CakeSettings(Table):
    """CAKE (Høiland-Jørgensen, Täht and Morton 2018), which shapes to the link's rate by itself."""

    ENGINE: ClassVar[dict[str, str]] = {
        "rtt": "rtt_ns",
        "diffserv": "diffserv",
        "isolation": "isolation",
        "overhead": "overhead_bytes",
        "mpu": "mpu_bytes",
        "framing": "framing",
        "ack_filter": "ack_filter",
        "ingress": "ingress",
        "wash": "wash",
        "memory_limit": "memory_limit_bytes",
    }

    rtt: Quantity = key(
        span("1us", "100s"), "round-trip time that signals allow for; the target is a twentieth of it", default="100ms"
    )
    diffserv: Word = key(
        Choice("besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8"),
        "classes of service",
        default="diffserv3",
    )
    isolation: Word = key(
        Choice("flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"),
        "what gets an equal share",
        default="triple-isolate",
    )
    overhead: MaybeNumber = key(
        whole(-64, 256),
        "bytes added to a packet's network length; without it a packet counts as it is on the wire",
        default=None,
    )
    mpu: Number = key(whole(0, 256), "minimum bytes that a packet counts as, before framing", default=0)
    framing: Word = key(Choice("none", "atm", "ptm"), "cells of the link below", default="none")
    ack_filter: WordOrSwitch = key(switch_or("aggressive"), "drops superfluous acknowledgements", default=False)
    ingress: Switch = key(
        SWITCH, "dropped packets count against the rate, because they have crossed the link already", default=False
    )
    wash: Switch = key(SWITCH, "clears the DSCP of every packet", default=False)
    memory_limit: Memory = key(
        memory("1514B", "2GiB"),
        'memory that packets may take (`truesize`); by the rate unless given; "buffer" for the link\'s buffer in bytes',
        default=None,
    )


class Dualpi2Settings(Table):
    """The coupled queues of L4S (RFC 9332)."""

    ENGINE: ClassVar[dict[str, str]] = {
        "limit": "limit_packets",
        "target": "target_ns",
        "tupdate": "tupdate_ns",
        "alpha": "alpha",
        "beta": "beta",
        "coupling": "coupling",
        "step": "step_ns",
        "min_qlen_step": "min_qlen_step",
        "c_protection": "c_protection_percent",
        "drop_overload": "drop_overload",
        "drop_early": "drop_early",
    }

    limit: Limit = key(
        LIMIT,
        'packets in both queues; "buffer" for the link\'s buffer, and bytes or times become full packets, rounded down',
        default="10000pkt",
    )
    target: Quantity = key(span("1us", "100s"), "delay that the classic queue aims at", default="15ms")
    tupdate: Quantity = key(span("1us", "100s"), "time between two updates", default="16ms")
    alpha: Number = key(whole(1, 2147483647), "integral gain, 1/256 Hz (41: 0.16 Hz)", default=41)
    beta: Number = key(whole(1, 2147483647), "proportional gain, 1/256 Hz (819: 3.2 Hz)", default=819)
    coupling: Number = key(whole(1, 255), "coupling of the two queues' shares", default=2)
    step: Quantity = key(span("1us", "100s"), "delay of the low-latency queue above which it marks", default="1ms")
    min_qlen_step: Number = key(
        whole(0, 1000000),
        "the step spares packets that found fewer packets than this in the low-latency queue",
        default=0,
    )
    c_protection: Number = key(whole(0, 100), "weight of the classic queue in percent", default=10)
    drop_overload: Switch = key(
        SWITCH, "drops from both queues once the low-latency queue would be marked always", default=True
    )
    drop_early: Switch = key(SWITCH, "decides when packets come instead of when they leave", default=False)


class FqSettings(Table):
    """Fair queueing (`sch_fq`), here for forwarded packets."""

    ENGINE: ClassVar[dict[str, str]] = {
        "limit": "limit_packets",
        "flow_limit": "flow_limit_packets",
        "quantum": "quantum_bytes",
        "initial_quantum": "initial_quantum_bytes",
        "maxrate": "maxrate_bps",
        "low_rate_threshold": "low_rate_threshold_bps",
        "ce_threshold": "ce_threshold_ns",
        "orphan_mask": "orphan_mask",
    }

    limit: Limit = key(
        LIMIT,
        'packets of each band; "buffer" for the link\'s buffer, and bytes or times become full packets, rounded down',
        default="10000pkt",
    )
    flow_limit: Limit = key(
        LIMIT,
        'packets that it holds of one flow; "buffer" for the link\'s buffer, and bytes or times become full packets, rounded down',
        default="100pkt",
    )
    quantum: Quantity = key(size("256B", "1MiB"), "wire bytes that a flow may send in its turn", default="3028B")
    initial_quantum: Quantity = key(
        size("256B", "1MiB"), "wire bytes that a new flow may send at first", default="15140B"
    )
    maxrate: MaybeQuantity = key(RATE, "largest rate of a flow", default=None)
    low_rate_threshold: Quantity = key(RATE, "rate up to which every packet of a flow is paced", default="550kbps")
    ce_threshold: MaybeQuantity = key(DELAY, "lateness above which every ECN-capable packet is marked", default=None)
    orphan_mask: Number = key(
        whole(0, 65535), "bits of the hash that tell flows apart, as a mask; 0: one queue for all", default=1023
    )


class PolicerSettings(Table):
    """A token bucket in front of a queue that refuses what exceeds it (`tc police`)."""

    ENGINE: ClassVar[dict[str, str]] = {"rate": "rate_bps", "burst": "burst_bytes", "mark": "mark"}

    rate: Quantity = key(rates("8bps", "1Tbps"), "rate at which tokens come, wire bytes")
    burst: Quantity = key(BURST, "most that passes at once, wire bytes")
    mark: Switch = key(SWITCH, "marks ECN-capable packets instead of refusing them", default=False)


class JitterSettings(Table):
    """Random variation of a one-way delay; a delay below zero counts as zero."""

    ENGINE: ClassVar[dict[str, str]] = {
        "kind": "distribution",
        "spread": "spread_ns",
        "correlation": "correlation_ppb",
        "reorder": "reorder",
    }

    kind: Word = key(
        Choice("uniform", "gaussian", "normal", "pareto", "paretonormal"),
        "distribution: uniform over delay +- spread; gaussian (twelve uniform draws); or netem's tables",
        default="uniform",
    )
    spread: Quantity = key(
        DELAY, "half width of a uniform distribution, standard deviation of a Gaussian one, netem's jitter otherwise"
    )
    correlation: Share = key(SHARE, "netem's correlation with the previous packet's draw", default=0)
    reorder: Switch = key(
        SWITCH, "whether packets may overtake one another, as in netem; false keeps them in order", default=True
    )


class SlotSettings(Table):
    """Packets leave in slots: what is due waits for one (`netem slot`)."""

    ENGINE: ClassVar[dict[str, str]] = {
        "min": "min_ns",
        "max": "max_ns",
        "kind": "distribution",
        "delay": "delay_ns",
        "spread": "spread_ns",
        "packets": "packets",
        "bytes": "bytes",
    }

    min: MaybeQuantity = key(DELAY, "shortest time to the next slot", default=None)
    max: MaybeQuantity = key(DELAY, "longest time to it; `min` unless given", default=None)
    kind: Word = key(
        Choice("uniform", "normal", "pareto", "paretonormal"),
        "how that time is distributed: uniform from `min` to `max`, or by one of netem's tables with `delay` and `spread`",
        default="uniform",
    )
    delay: MaybeQuantity = key(DELAY, "time to the next slot around which a table's entries lie", default=None)
    spread: MaybeQuantity = key(span("1ns", "2147483647ns"), "what those entries are multiplied with", default=None)
    packets: MaybeNumber = key(whole(1, 2147483647), "packets of a slot at most; any number unless given", default=None)
    bytes: MaybeQuantity = key(
        size("1B", "2147483647B"),
        "wire bytes of a slot: it closes behind the packet that reaches them; any number unless given",
        default=None,
    )


class ShareSettings(Table):
    """A share of the packets, with netem's correlation."""

    ENGINE: ClassVar[dict[str, str]] = {"rate": "ppb", "correlation": "correlation_ppb"}

    rate: Share = key(SHARE, "share of the packets")
    correlation: Share = key(SHARE, "netem's correlation with the previous packet's draw", default=0)


class GilbertElliottSettings(Table):
    """Two states (`netem loss gemodel`; Gilbert 1960, Elliott 1963)."""

    ENGINE: ClassVar[dict[str, str]] = {
        "p": "p_ppb",
        "r": "r_ppb",
        "bad_loss": "bad_loss_ppb",
        "good_loss": "good_loss_ppb",
    }

    p: Share = key(SHARE, "share of packets that change from the good to the bad state")
    r: Share = key(SHARE, "share of packets that change back")
    bad_loss: Share = key(SHARE, "share lost in the bad state (1 - h)", default=1)
    good_loss: Share = key(SHARE, "share lost in the good state (1 - k)", default=0)


class FourStateSettings(Table):
    """Four states (`netem loss state`; Salsano, Ludovici, Ordine and Giannuzzi 2012)."""

    ENGINE: ClassVar[dict[str, str]] = {
        "p13": "p13_ppb",
        "p31": "p31_ppb",
        "p32": "p32_ppb",
        "p23": "p23_ppb",
        "p14": "p14_ppb",
    }

    p13: Share = key(SHARE, "share of packets that begin a burst of losses")
    p31: Share = key(SHARE, "share that end it")
    p32: Share = key(SHARE, "share that get through within it", default=0)
    p23: Share = key(SHARE, "share that fall back into it", default=1)
    p14: Share = key(SHARE, "share of single losses outside it", default=0)


class ReorderSettings(Table):
    """Packets that skip the delay and so overtake others (`netem reorder`)."""

    ENGINE: ClassVar[dict[str, str]] = {"share": "ppb", "gap": "gap", "correlation": "correlation_ppb"}

    share: Share = key(SHARE, "share of those that may")
    gap: Number = key(whole(1, 2147483648), "each n-th packet may", default=1)
    correlation: Share = key(SHARE, "netem's correlation with the previous packet's draw", default=0)


class ThinSettings(Table):
    """Of consecutive acknowledgements only each n-th continues."""

    ENGINE: ClassVar[dict[str, str]] = {"every": "every", "hold": "hold_ns"}

    every: Number = key(whole(1, 2147483648), "n: number of acknowledgements that one replaces")
    hold: Quantity = key(DELAY, "the longest that one waits for others", default="0ns")
