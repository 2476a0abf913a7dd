"""Queue disciplines of a link: what a person may set of each, and what the engine takes.

Keys, defaults and ranges come from the engine's disciplines (`settings.py`); they are those of Linux 6.12 and of `tc`
(tc-codel(8), tc-fq_codel(8), tc-red(8), tc-pie(8), tc-cake(8), tc-fq(8); `dualpi2` of Linux 6.17).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import units
from dumbbell.errors import ScenarioError, wrong
from dumbbell.units import Buffer

from . import settings
from .declare import Key, Table, Variant, key, raw_at
from .kinds import BUFFER, LIMIT
from .plain_kinds import SWITCH

if TYPE_CHECKING:
    from .keytypes import Limit, Switch

#: Largest queue, bytes: holds a BDP of the fastest link (1 Tbps) and the longest RTT (60 s), and its bits are far below
#: 2^63.
BUFFER_MAX = 2**43


class BufferContext(NamedTuple):
    """Quantities that sizes in a queue refer to: the rate of its link, the path's RTT, and the link's own buffer."""

    at: str
    rate_bps: int
    rtt_ns: int | None
    link: Table
    """Has the key `buffer`."""
    constant: bool
    """The rate never changes, so that a queue may shape by itself."""
    packet_bytes: int = units.FRAME_BYTES
    """The largest packet that crosses it, which its queue must be able to hold."""

    def size(self, qdisc: Qdisc | None, name: str = "limit") -> tuple[str, int]:
        """("packets" or "bytes", how many) of the limit at a key of the link's queue discipline; a limit of None, or
        no discipline, stands for the link's own buffer.
        """
        buffer: Buffer | None = None if qdisc is None else getattr(qdisc, name)
        table, where = self.link if qdisc is None or buffer is None else qdisc, f"{self.at}.qdisc.{name}"
        if table is self.link:
            buffer, name, where = getattr(self.link, "buffer"), "buffer", f"{self.at}.buffer"  # noqa: B009 - of three tables
        if buffer is None:
            raise ScenarioError(
                where, 'missing: add buffer = "1bdp", or another limit of the queue in BDP, bytes, packets or time'
            )
        return self._sized(buffer, where, raw_at(table, name))

    def _sized(self, buffer: Buffer, where: str, text: str) -> tuple[str, int]:
        measure, numerator, denominator = buffer
        if measure == "pkt":
            if numerator > BUFFER_MAX // units.FRAME_BYTES:
                raise wrong(where, text, f"at most {BUFFER_MAX // units.FRAME_BYTES} packets (8 TiB)")
            return "packets", numerator
        if measure == "bdp" and self.rtt_ns is None:
            raise wrong(where, text, "path.rtt as well, because a BDP is path.rate x path.rtt")
        if measure == "bytes":
            size_bytes = numerator
        elif measure == "ns":
            size_bytes = self.rate_bps * numerator // (8 * 10**9)
        else:
            size_bytes = self.rate_bps * (self.rtt_ns or 0) * numerator // (8 * 10**9 * denominator)
        if size_bytes < self.packet_bytes:
            raise wrong(
                where, text, f"at least one packet of {self.packet_bytes} bytes (it comes to {size_bytes} bytes)"
            )
        if size_bytes > BUFFER_MAX:
            raise wrong(where, text, f"at most {BUFFER_MAX} bytes (8 TiB)")
        return "bytes", size_bytes

    def packets(self, qdisc: Qdisc | None, name: str = "limit") -> int:
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

    def plan(self, context: BufferContext) -> dict[str, Any]:
        """Build the part of the plan that the engine takes."""
        engine: dict[str, str] = getattr(self, "ENGINE")  # noqa: B009 - the settings that each form has
        return {"kind": self.FORM, **{name: self._amount(mine, name, context) for mine, name in engine.items()}}

    def _amount(self, mine: str, name: str, context: BufferContext) -> Any:
        """A setting as the engine counts it, by its key and the engine's name."""
        value, kind = getattr(self, mine), type(self).KEYS[mine].kind
        if value == "buffer":
            return context.bytes(None)
        if kind is LIMIT or (kind is BUFFER and value is not None):
            return (context.packets if name.endswith("_packets") else context.bytes)(self, mine)
        return value


class Fifo(Qdisc, form="fifo"):
    """Drop tail, or drop head (`bfifo`, `pfifo`, `pfifo_head_drop`)."""

    limit: Limit = key(LIMIT, 'limit in bytes, packets, time or BDP; "buffer" for the link\'s buffer', default="buffer")
    head_drop: Switch = key(
        SWITCH,
        "the oldest packet makes room for a new one, as in pfifo_head_drop, whose limit is in packets: bytes, time and"
        " BDP become full packets",
        default=False,
    )

    def plan(self, context: BufferContext) -> dict[str, Any]:
        """Build the part of the plan that the engine takes."""
        measure, count = ("packets", context.packets(self)) if self.head_drop else context.size(self)
        limits = {"limit_bytes": None, "limit_packets": None, f"limit_{measure}": count}
        return {"kind": "fifo", **limits, "head_drop": self.head_drop}


class Codel(settings.CodelSettings, Qdisc, form="codel"):
    """CoDel (RFC 8289)."""


class FqCodel(settings.FqCodelSettings, Qdisc, form="fq_codel"):
    """Fair queueing with CoDel (RFC 8290)."""


#: `tc` keeps RED's sizes in 32 bits.
_RED_MAX = 2**32 - 1
_RED_BITS = 32


class Red(settings.RedSettings, Qdisc, form="red"):
    """Random early detection (Floyd and Jacobson 1993; `tc red`)."""

    def plan(self, context: BufferContext) -> dict[str, Any]:
        """Build the part of the plan that the engine takes."""
        plan, at = super().plan(context), f"{context.at}.qdisc"
        low, high = plan["min_bytes"], plan["max_bytes"]
        if low is not None and high is not None and high <= low:
            raise wrong(f"{at}.max", raw_at(self, "max"), f"more than min ({low} bytes; it comes to {high} bytes)")
        if self.nodrop and not self.ecn:
            raise wrong(f"{at}.nodrop", self.nodrop, "ecn = true as well")
        self._fits(context, plan)
        return plan

    def _fits(self, context: BufferContext, plan: dict[str, Any]) -> None:
        """Refuses at its key what `tc` and the engine refuse (tc_red.c of iproute2)."""
        at, avpkt, burst = f"{context.at}.qdisc", plan["avpkt_bytes"], plan["burst_packets"]
        limit, low, high = plan["limit_bytes"], plan["min_bytes"], plan["max_bytes"]
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
        minimum = most // 3 if low is None else low
        if most <= minimum:
            raise wrong(where, written, f"more: max comes to {most} bytes, a quarter of it, and min to {minimum}")
        packets = (2 * minimum + most) // (3 * avpkt) if burst is None else burst
        if (packets + 1) * avpkt < minimum + avpkt:
            raise wrong(
                *((where, written) if burst is None else (f"{at}.burst", raw_at(self, "burst"))),
                f"a burst of {-(-minimum // avpkt)} packets or more (it is {packets})",
            )
        wanted = (packets + 1) * avpkt - minimum  # tc_red_eval_ewma
        log = next((w for w in range(1, 32) if wanted <= avpkt * (1 - (1 - 2.0**-w) ** packets) * 2**w), 32)
        if most.bit_length() + log >= _RED_BITS:
            where, written = (where, written) if high is None else (f"{at}.max", raw_at(self, "max"))
            raise wrong(
                where,
                written,
                f"less, as for tc: max of {most} bytes times 2^{log} of the average's weight must stay below 2^31",
            )
        if plan["probability_ppb"] * 2**32 // 10**9 <= 2 * (most - minimum):
            raise wrong(
                f"{at}.probability",
                raw_at(self, "probability"),
                f"more than {2 * (most - minimum) / 2**32:.2g}, as for tc, because max - min is {most - minimum} bytes",
            )


class Pie(settings.PieSettings, Qdisc, form="pie"):
    """Proportional integral controller, enhanced (RFC 8033)."""


class Cake(settings.CakeSettings, Qdisc, form="cake"):
    """CAKE (Høiland-Jørgensen, Täht and Morton 2018), which shapes to the link's rate by itself."""

    shaped: Switch = key(
        SWITCH,
        "shapes by itself; false, or a rate that changes or follows a trace: unlimited, inside the token bucket",
        default=True,
    )

    def plan(self, context: BufferContext) -> dict[str, Any]:
        """Build the part of the plan that the engine takes."""
        shapes = self.shaped and context.constant
        return {**super().plan(context), "bandwidth_bps": context.rate_bps if shapes else None}


class DualPi2(settings.Dualpi2Settings, Qdisc, form="dualpi2"):
    """The coupled queues of L4S (RFC 9332)."""


class Fq(settings.FqSettings, Qdisc, form="fq"):
    """Fair queueing (`sch_fq`), here for forwarded packets."""


if TYPE_CHECKING:
    AnyQdisc = Key[str | Qdisc | dict[str, Any] | list[str | Qdisc | dict[str, Any]], Qdisc]
