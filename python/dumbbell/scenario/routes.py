"""Links and the parts of a way: the tables of a path. `plan/routes.py` says in which order packets meet them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dumbbell.errors import wrong

from . import schedule, settings
from .declare import Each, Forms, Key, Sub, Table, Variant, build, key
from .impairments import (
    LOSS,
    SHARE_OF,
    Aggregate,
    Jitter,
    Loss,
    Reorder,
    Slot,
    Thin,
    by_engine,
)
from .kinds import BUFFER, DELAY, DEPTH, LINK_HEADER, NAME
from .plain_kinds import Choice, Kind
from .qdiscs import Qdisc

if TYPE_CHECKING:
    from .impairments import AnyLoss, AnyShare
    from .keytypes import (
        AnyRate,
        Fixed,
        MaybeBuffer,
        MaybeRate,
        MaybeRtt,
        MaybeSubTable,
        Quantity,
    )
    from .qdiscs import AnyQdisc

#: Most parts of a chain, as the engine has it.
PARTS_MAX = 64

#: What `via` calls the link of `[path]`.
BOTTLENECK = "bottleneck"

_QDISC = Forms(Qdisc, words=True)


class Policer(settings.PolicerSettings):
    """A token bucket in front of a queue that refuses what exceeds it (`tc police`)."""

    AT = "policer"

    def plan(self) -> dict[str, Any]:
        """Build the part of the plan that the engine takes."""
        return by_engine(self)


class Link(Table):
    """A further link of the data direction, which flows cross that name it in `via`."""

    AT = "link"

    name: Fixed[str] = key(NAME, "what `via` and results call it", varies=False)
    rate: AnyRate = key(schedule.RATE, "rate, also in steps or a trace, as path.rate")
    buffer: MaybeBuffer = key(BUFFER, "limit of its queue, as path.buffer; a BDP is its rate x path.rtt", default=None)
    qdisc: AnyQdisc = key(_QDISC, "queue discipline, as path.qdisc", default="fifo")
    burst: Quantity = key(DEPTH, "depth of its token bucket; 0B: a serial line", default="3028B")
    link_header: Quantity = key(
        LINK_HEADER, "bytes of its link layer in front of an IP packet, as path.link_header", default="14B"
    )
    policer: MaybeSubTable[Policer] = key(Sub(Policer), "a policer in front of its queue", default=None)
    delay: Quantity = key(
        DELAY,
        "its one-way propagation delay, after its queue; acknowledgements take as long; added to the flow's RTT",
        default="0s",
    )


class Part(Variant):
    """One part of `path.impair`: what it does to packets, in the order of the list."""

    AT = "impair"


class DelayPart(Part, form="delay"):
    """A delay: the flow's own (half its RTT) if `time` is omitted, otherwise an additional one."""

    time: MaybeRtt = key(
        schedule.DELAY,
        "its length, also in steps, as path.delay; default: the flow's own propagation delay",
        default=None,
    )
    jitter: MaybeSubTable[Jitter] = key(Sub(Jitter), "its variation", default=None)
    reorder: MaybeSubTable[Reorder] = key(Sub(Reorder), "packets that skip it", default=None)
    slot: MaybeSubTable[Slot] = key(Sub(Slot), "slots in which alone packets leave it", default=None)


class DuplicatePart(settings.ShareSettings, Part, form="duplicate"):
    """A second copy of some packets."""


class CorruptPart(settings.ShareSettings, Part, form="corrupt"):
    """Some packets are damaged, and the receiving host rejects them."""


class ThinPart(Thin, Part, form="thin"):
    """Only each n-th of consecutive acknowledgements that come within `hold` of each other continues; `hold` is above
    zero unless `every` is 1.
    """


class AggregatePart(Aggregate, Part, form="aggregate"):
    """Packets are held and leave in bursts."""


class SegmentPart(Part, form="segment"):
    """A network card that cuts super-packets (`host.nic = "virtual"`) into frames."""


class LinksPart(Part, form="links"):
    """The links of the flow's `via`; after all other parts unless the list has their place."""


class _AnyPart(Forms):
    """A part, or a loss with its model."""

    def __init__(self) -> None:
        super().__init__(Part)
        self.bases = (Part, Loss)
        self.schema = {"anyOf": [{"$ref": "#/$defs/Part"}, {"$ref": "#/$defs/Loss"}]}

    def take(self, value: object, at: str) -> Any:
        """The part."""
        if isinstance(value, Loss):
            return value
        if isinstance(value, Mapping) and value.get("kind") == "loss":
            return build(Loss.form_of(value, at), value, at)
        if isinstance(value, Mapping) and "kind" in value:
            Choice("loss", *Part.FORMS).take(value["kind"], f"{at}.kind")
        return super().take(value, at)


if TYPE_CHECKING:
    Impair = Key[Any, tuple[Part | Loss, ...] | None]

IMPAIR = Each(_AnyPart(), minimum=0, most=PARTS_MAX)


class Up(Table):
    """The way up: of the acknowledgements of flows that go down, and of the data of flows that go up. What is left out
    is as without this table: half the RTT and nothing else.
    """

    AT = "path.up"

    rate: MaybeRate = key(
        schedule.RATE, "rate of a link that all that goes up shares; default: no such link", default=None
    )
    buffer: MaybeBuffer = key(BUFFER, "limit of its queue; a BDP is its rate x path.rtt", default=None)
    qdisc: AnyQdisc = key(_QDISC, "its queue discipline", default="fifo")
    burst: Quantity = key(DEPTH, "depth of its token bucket; 0B: a serial line", default="3028B")
    link_header: Quantity = key(
        LINK_HEADER, "bytes of its link layer in front of an IP packet, as path.link_header", default="14B"
    )
    policer: MaybeSubTable[Policer] = key(Sub(Policer), "a policer in front of its queue", default=None)
    delay: MaybeRtt = key(
        schedule.DELAY,
        "one-way delay of what goes up; default: the other half of the flow's RTT; or in steps, as path.delay",
        default=None,
    )
    jitter: MaybeSubTable[Jitter] = key(Sub(Jitter), "delay variation", default=None)
    reorder: MaybeSubTable[Reorder] = key(Sub(Reorder), "packets that skip the delay", default=None)
    slot: MaybeSubTable[Slot] = key(Sub(Slot), "slots in which alone packets leave the delay", default=None)
    loss: AnyLoss = key(LOSS, "loss of what goes up", default=0)
    duplicate: AnyShare = key(SHARE_OF, "share that comes twice", default=0)
    corrupt: AnyShare = key(SHARE_OF, "share that arrives damaged", default=0)
    thin: MaybeSubTable[Thin] = key(Sub(Thin), "of consecutive acknowledgements only each n-th continues", default=None)
    aggregate: MaybeSubTable[Aggregate] = key(
        Sub(Aggregate), "packets that leave in bursts, as over WiFi", default=None
    )
    impair: Impair = key(
        IMPAIR,
        "an ordered chain of impairments instead of thin, aggregate, loss, jitter, duplicate, corrupt, reorder and"
        " slot",
        default=None,
        varies=False,
    )


#: What the table was called before data could go up.
Ack = Up


class _Via(Kind):
    """Names of links in the order in which packets meet them; a tuple, which tells one way from a list of ways to
    vary.
    """

    def __init__(self) -> None:
        self.schema = {"type": "array", "minItems": 1, "items": {"type": "string"}, "uniqueItems": True}

    def take(self, value: object, at: str) -> tuple[str, ...]:
        """The names."""
        if not isinstance(value, (list, tuple)) or not value or not all(isinstance(name, str) for name in value):
            raise wrong(at, value, f'names of links, such as ["l1", "{BOTTLENECK}"]')
        for i, name in enumerate(value):
            if name in value[:i]:
                raise wrong(at, name, "each link once")
        return tuple(value)


VIA = _Via()
