"""Queue disciplines of a link: what a person may set of each, and what the engine takes.

Keys and defaults are those of Linux 6.12 and of `tc` (tc-codel(8), tc-fq_codel(8), tc-red(8), tc-pie(8), tc-cake(8),
tc-fq(8); `dualpi2` of Linux 6.17).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import ScenarioError, wrong

from . import units
from .declare import SWITCH, Choice, Kind, Table, Variant, key, raw_at, whole
from .kinds import BUFFER, DELAY, LIMIT, PACKETS, RATE, SHARE, either, size, span
from .units import Buffer, UnitError

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

#: Largest queue, bytes: holds a BDP of the fastest link (1 Tbps) and the longest RTT (60 s), and its bits are far below
#: 2^63.
BUFFER_MAX = 2**43

_TIME = span("1us", "100s")
_QUANTUM = size("256B", "1MiB")
_MEMORY = either("buffer", size("1514B", "2GiB"), means="buffer")
_LIMIT_DOC = (
    'packets that it holds; "buffer" for the link\'s buffer, and bytes or times become full packets, rounded down'
)
_CE_DOC = "time in the queue above which every ECN-capable packet is marked, whatever `ecn` says"


class BufferContext(NamedTuple):
    """What the sizes in a queue refer to: the rate of its link, the path's RTT, and the link's own buffer."""

    at: str
    rate_bps: int
    rtt_ns: int | None
    link: Table
    """Has the key `buffer`."""
    constant: bool
    """The rate never changes, so that a queue may shape by itself."""

    def size(self, qdisc: Qdisc | None, name: str = "limit") -> tuple[str, int]:
        """("packets" or "bytes", how many) of the limit at a key of the link's queue discipline; a limit of None, or
        no discipline, stands for the link's own buffer.
        """
        found: Buffer | None = None if qdisc is None else getattr(qdisc, name)
        table, where = self.link if qdisc is None or found is None else qdisc, f"{self.at}.qdisc.{name}"
        if table is self.link:
            found, name, where = getattr(self.link, "buffer"), "buffer", f"{self.at}.buffer"  # noqa: B009 - of three tables
        if found is None:
            raise ScenarioError(
                where, 'missing: add buffer = "1bdp", or another limit of the queue in BDP, bytes, packets or time'
            )
        return self._sized(found, where, raw_at(table, name))

    def _sized(self, buffer: Buffer, where: str, text: str) -> tuple[str, int]:
        measure, numerator, denominator = buffer
        if measure == "pkt":
            if numerator > BUFFER_MAX // units.FRAME_BYTES:
                raise wrong(where, text, f"at most {BUFFER_MAX // units.FRAME_BYTES} packets (8 TiB)")
            return "packets", numerator
        if measure == "bdp" and self.rtt_ns is None:
            raise wrong(where, text, "path.rtt as well, because a BDP is path.rate x path.rtt")
        if measure == "bytes":
            found = numerator
        elif measure == "ns":
            found = self.rate_bps * numerator // (8 * 10**9)
        else:
            found = self.rate_bps * (self.rtt_ns or 0) * numerator // (8 * 10**9 * denominator)
        if found < units.FRAME_BYTES:
            raise wrong(where, text, f"at least one packet of {units.FRAME_BYTES} bytes (it comes to {found} bytes)")
        if found > BUFFER_MAX:
            raise wrong(where, text, f"at most {BUFFER_MAX} bytes (8 TiB)")
        return "bytes", found

    def packets(self, qdisc: Qdisc, name: str = "limit") -> int:
        """A limit in packets; bytes become full packets."""
        measure, count = self.size(qdisc, name)
        return count if measure == "packets" else count // units.FRAME_BYTES

    def bytes(self, qdisc: Qdisc | None, name: str = "limit") -> int:
        """A limit in wire bytes; packets become full ones."""
        measure, count = self.size(qdisc, name)
        return count if measure == "bytes" else count * units.FRAME_BYTES


BUFFER_DOC = (
    "drop-tail limit of the bottleneck's queue: BDP multiples (rate x rtt of this table), wire bytes, packets, or time"
    " at the rate; a queue discipline with a limit of its own does without"
)


class Qdisc(Variant):
    """A queue discipline with its settings; ``Qdisc(kind="codel", target="5ms")`` is ``Codel(target="5ms")``."""

    AT = "path.qdisc"

    def __new__(cls, **given: object) -> Qdisc:
        """The form that `kind` names."""
        return object.__new__(cls.form_of(given, cls.AT)) if cls is Qdisc else object.__new__(cls)  # type: ignore[return-value]

    @abstractmethod
    def plan(self, context: BufferContext) -> dict[str, Any]:
        """What the engine takes."""

    def _values(self, **names: str) -> dict[str, Any]:
        """Values by the engine's names."""
        return {name: getattr(self, mine) for mine, name in names.items()}


class Fifo(Qdisc, form="fifo"):
    """Drop tail, or drop head (`bfifo`, `pfifo`, `pfifo_head_drop`)."""

    limit: Limit = key(LIMIT, 'limit in bytes, packets, time or BDP; "buffer" for the link\'s buffer', default="buffer")
    head_drop: Switch = key(SWITCH, "the oldest packet makes room for a new one, as in pfifo_head_drop", default=False)

    def plan(self, context: BufferContext) -> dict[str, Any]:
        """What the engine takes."""
        measure, count = context.size(self)
        limits = {"limit_bytes": None, "limit_packets": None, f"limit_{measure}": count}
        return {"kind": "fifo", **limits, "head_drop": self.head_drop}


class Codel(Qdisc, form="codel"):
    """CoDel (RFC 8289)."""

    limit: Limit = key(LIMIT, _LIMIT_DOC, default="1000pkt")
    target: Quantity = key(_TIME, "standing delay that is acceptable", default="5ms")
    interval: Quantity = key(_TIME, "for how long the delay must stand before a packet is dropped", default="100ms")
    ecn: Switch = key(SWITCH, "marks ECN-capable packets instead of dropping them", default=False)
    ce_threshold: MaybeQuantity = key(DELAY, _CE_DOC, default=None)

    def plan(self, context: BufferContext) -> dict[str, Any]:
        """What the engine takes."""
        rest = self._values(target="target_ns", interval="interval_ns", ecn="ecn", ce_threshold="ce_threshold_ns")
        return {"kind": "codel", "limit_packets": context.packets(self), **rest}


class FqCodel(Qdisc, form="fq_codel"):
    """Fair queueing with CoDel (RFC 8290)."""

    limit: Limit = key(LIMIT, _LIMIT_DOC, default="10240pkt")
    flows: Number = key(whole(1, 65_536), "queues that flows are hashed to", default=1024)
    quantum: Quantity = key(_QUANTUM, "wire bytes that a queue may send in its turn", default="1514B")
    memory_limit: Memory = key(
        _MEMORY,
        'memory that packets may take, as Linux counts it; "buffer" for the link\'s buffer in bytes',
        default="32MiB",
    )
    drop_batch: Number = key(whole(1, 2**31), "packets that an overflow drops at most", default=64)
    target: Quantity = key(_TIME, "standing delay that is acceptable", default="5ms")
    interval: Quantity = key(_TIME, "for how long the delay must stand before a packet is dropped", default="100ms")
    ecn: Switch = key(SWITCH, "marks ECN-capable packets instead of dropping them", default=True)
    ce_threshold: MaybeQuantity = key(DELAY, _CE_DOC, default=None)
    ce_threshold_selector: Number = key(
        whole(0, 255), "with a mask: only packets whose DS byte under the mask is this are marked", default=0
    )
    ce_threshold_mask: Number = key(whole(0, 255), "mask of the selector; 0 for every packet", default=0)

    def plan(self, context: BufferContext) -> dict[str, Any]:
        """What the engine takes."""
        same = {
            name: getattr(self, name)
            for name in ("flows", "drop_batch", "ecn", "ce_threshold_selector", "ce_threshold_mask")
        }
        rest = self._values(
            quantum="quantum_bytes", target="target_ns", interval="interval_ns", ce_threshold="ce_threshold_ns"
        )
        return {
            "kind": "fq_codel",
            "limit_packets": context.packets(self),
            "memory_limit_bytes": _memory(self, context),
            **same,
            **rest,
        }


def _memory(table: FqCodel | Cake, context: BufferContext) -> int | None:
    found = table.memory_limit
    return context.bytes(None) if isinstance(found, str) else found


#: `tc` keeps RED's sizes in 32 bits.
_RED_MAX = 2**32 - 1
_RED_BITS = 32


class Red(Qdisc, form="red"):
    """Random early detection (Floyd and Jacobson 1993; `tc red`)."""

    limit: Limit = key(LIMIT, 'limit in bytes, packets, time or BDP; "buffer" for the link\'s buffer', default="buffer")
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

    def plan(self, context: BufferContext) -> dict[str, Any]:
        """What the engine takes."""
        low, high = (
            None if one is None else context.bytes(self, name) for name, one in (("min", self.min), ("max", self.max))
        )
        if low is not None and high is not None and high <= low:
            raise wrong(
                f"{context.at}.qdisc.max", raw_at(self, "max"), f"more than min ({low} bytes; it comes to {high} bytes)"
            )
        if self.nodrop and not self.ecn:
            raise wrong(f"{context.at}.qdisc.nodrop", self.nodrop, "ecn = true as well")
        limit = context.bytes(self)
        rest = self._values(
            burst="burst_packets", avpkt="avpkt_bytes", bandwidth="bandwidth_bps", probability="probability_ppb"
        )
        self._fits(context, (limit, low, high), rest["avpkt_bytes"], rest["burst_packets"])
        same = {name: getattr(self, name) for name in ("ecn", "harddrop", "nodrop", "adaptive", "gentle")}
        return {"kind": "red", "limit_bytes": limit, "min_bytes": low, "max_bytes": high, **same, **rest}

    def _fits(
        self, context: BufferContext, sizes: tuple[int, int | None, int | None], avpkt: int, burst: int | None
    ) -> None:
        """Refuses at its key what `tc` and the engine refuse (tc_red.c of iproute2); sizes are limit, min and max."""
        at, (limit, low, high) = f"{context.at}.qdisc", sizes
        where, written = f"{at}.limit", raw_at(self, "limit")
        if self.limit is None:
            where, written = f"{context.at}.buffer", raw_at(context.link, "buffer")
        for key_, text, value in (
            (where, written, limit),
            *((f"{at}.{name}", raw_at(self, name), v) for name, v in (("min", low), ("max", high), ("burst", burst))),
        ):
            if value is not None and value > _RED_MAX:
                raise wrong(key_, text, f"below 2^32, as RED counts (it comes to {value})")
        most = high if high is not None else limit // 4 if low is None else low * 3
        least = most // 3 if low is None else low
        if most <= least:
            raise wrong(where, written, f"more: max comes to {most} bytes, a quarter of it, and min to {least}")
        packets = (2 * least + most) // (3 * avpkt) if burst is None else burst
        if (packets + 1) * avpkt < least + avpkt:
            raise wrong(
                *((where, written) if burst is None else (f"{at}.burst", raw_at(self, "burst"))),
                f"a burst of {1 + least // avpkt} packets (it is {packets})",
            )
        wanted = (packets + 1) * avpkt - least  # tc_red_eval_ewma
        log = next((w for w in range(1, 32) if wanted <= avpkt * (1 - (1 - 2.0**-w) ** packets) * 2**w), 32)
        if most.bit_length() + log >= _RED_BITS:
            where, written = (where, written) if high is None else (f"{at}.max", raw_at(self, "max"))
            raise wrong(
                where,
                written,
                f"less, as for tc: max of {most} bytes times 2^{log} of the average's weight must stay below 2^31",
            )
        if self.probability * 2**32 // 10**9 <= 2 * (most - least):
            raise wrong(
                f"{at}.probability",
                raw_at(self, "probability"),
                f"more than {2 * (most - least) / 2**32:.2g}, as for tc, because max - min is {most - least} bytes",
            )


class Pie(Qdisc, form="pie"):
    """Proportional integral controller, enhanced (RFC 8033)."""

    limit: Limit = key(LIMIT, _LIMIT_DOC, default="1000pkt")
    target: Quantity = key(_TIME, "delay that it aims at", default="15ms")
    tupdate: Quantity = key(_TIME, "time between two updates of the share dropped", default="15ms")
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

    def plan(self, context: BufferContext) -> dict[str, Any]:
        """What the engine takes."""
        same = {name: getattr(self, name) for name in ("alpha", "beta", "ecn", "bytemode", "dq_rate_estimator")}
        rest = self._values(target="target_ns", tupdate="tupdate_ns", ecn_limit="ecn_limit_percent")
        return {"kind": "pie", "limit_packets": context.packets(self), **same, **rest}


def _ack_filter(value: object) -> str:
    words = {False: "off", True: "on", "aggressive": "aggressive"}
    if not isinstance(value, (bool, str)) or value not in words:
        raise UnitError('true, false or "aggressive"')
    return words[value]


class Cake(Qdisc, form="cake"):
    """CAKE (Høiland-Jørgensen, Täht and Morton 2018), which shapes to the link's rate by itself."""

    rtt: Quantity = key(
        _TIME, "round-trip time that signals allow for; the target is a twentieth of it", default="100ms"
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
    mpu: Number = key(whole(0, 256), "minimum bytes that a packet counts as", default=0)
    framing: Word = key(Choice("none", "atm", "ptm"), "cells of the link below", default="none")
    ack_filter: WordOrSwitch = key(
        Kind(_ack_filter, {"enum": [False, True, "aggressive"]}), "drops superfluous acknowledgements", default=False
    )
    ingress: Switch = key(
        SWITCH, "dropped packets count against the rate, because they have crossed the link already", default=False
    )
    wash: Switch = key(SWITCH, "clears the DSCP of every packet", default=False)
    memory_limit: Memory = key(
        _MEMORY, 'memory that packets may take; by the rate unless given; "buffer" for the link\'s buffer', default=None
    )
    shaped: Switch = key(
        SWITCH,
        "shapes by itself; false, or a rate that changes or follows a trace: unlimited, inside the token bucket",
        default=True,
    )

    def plan(self, context: BufferContext) -> dict[str, Any]:
        """What the engine takes."""
        same = {
            name: getattr(self, name) for name in ("diffserv", "isolation", "framing", "ack_filter", "ingress", "wash")
        }
        rest = self._values(rtt="rtt_ns", overhead="overhead_bytes", mpu="mpu_bytes")
        shaped = self.shaped and context.constant
        return {
            "kind": "cake",
            "bandwidth_bps": context.rate_bps if shaped else None,
            "memory_limit_bytes": _memory(self, context),
            **same,
            **rest,
        }


class DualPi2(Qdisc, form="dualpi2"):
    """The coupled queues of L4S (RFC 9332)."""

    limit: Limit = key(LIMIT, _LIMIT_DOC, default="10000pkt")
    target: Quantity = key(_TIME, "delay that the classic queue aims at", default="15ms")
    tupdate: Quantity = key(_TIME, "time between two updates", default="16ms")
    alpha: Number = key(whole(1, 2**31 - 1), "integral gain, 1/256 Hz (41: 0.16 Hz)", default=41)
    beta: Number = key(whole(1, 2**31 - 1), "proportional gain, 1/256 Hz (819: 3.2 Hz)", default=819)
    coupling: Number = key(whole(1, 255), "coupling of the two queues' shares", default=2)
    step: Quantity = key(_TIME, "delay of the low-latency queue above which it marks", default="1ms")
    c_protection: Number = key(whole(0, 100), "weight of the classic queue in percent", default=10)
    drop_overload: Switch = key(
        SWITCH, "drops from both queues once the low-latency queue would be marked always", default=True
    )
    drop_early: Switch = key(SWITCH, "decides when packets come instead of when they leave", default=False)

    def plan(self, context: BufferContext) -> dict[str, Any]:
        """What the engine takes."""
        same = {name: getattr(self, name) for name in ("alpha", "beta", "coupling", "drop_overload", "drop_early")}
        rest = self._values(
            target="target_ns", tupdate="tupdate_ns", step="step_ns", c_protection="c_protection_percent"
        )
        return {"kind": "dualpi2", "limit_packets": context.packets(self), **same, **rest}


class Fq(Qdisc, form="fq"):
    """Fair queueing (`sch_fq`), here for forwarded packets."""

    limit: Limit = key(LIMIT, _LIMIT_DOC, default="10000pkt")
    flow_limit: Limit = key(LIMIT, "packets that it holds of one flow", default="100pkt")
    quantum: Quantity = key(_QUANTUM, "wire bytes that a flow may send in its turn", default="3028B")
    initial_quantum: Quantity = key(_QUANTUM, "wire bytes that a new flow may send at first", default="15140B")
    maxrate: MaybeQuantity = key(RATE, "largest rate of a flow", default=None)
    low_rate_threshold: Quantity = key(RATE, "rate up to which every packet of a flow is paced", default="550kbps")
    ce_threshold: MaybeQuantity = key(DELAY, "lateness above which every ECN-capable packet is marked", default=None)

    def plan(self, context: BufferContext) -> dict[str, Any]:
        """What the engine takes."""
        limits = {
            "limit_packets": context.packets(self),
            "flow_limit_packets": context.packets(self, "flow_limit"),
        }
        quanta = self._values(quantum="quantum_bytes", initial_quantum="initial_quantum_bytes")
        rest = self._values(
            maxrate="maxrate_bps", low_rate_threshold="low_rate_threshold_bps", ce_threshold="ce_threshold_ns"
        )
        return {"kind": "fq", **limits, **quanta, **rest}
