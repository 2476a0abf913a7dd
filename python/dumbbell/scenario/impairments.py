"""What happens to packets outside of links: delay, loss, duplication, damage, reordering, and acknowledgements that are
held.

Every class has a method that gives what the engine takes, one stage of a route.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dumbbell.errors import wrong

from . import kinds
from .declare import SWITCH, Choice, Forms, Key, Kind, Sub, Table, Variant, key, raw, raw_at, whole
from .kinds import DELAY, SHARE, SPAN_ABOVE_ZERO
from .schedule import REPEAT_SCHEMA, Schedule, in_steps, repeat_ns, steps_schema
from .units import UnitError

if TYPE_CHECKING:
    from .keytypes import Fixed, MaybeNumber, MaybeQuantity, Number, Quantity, Share, Switch, Word

Stage = dict[str, Any]
"""One part of a route, as the engine takes it."""

_CORRELATION = "netem's correlation with the previous packet's draw"


class Jitter(Table):
    """Random variation of a one-way delay; a delay below zero counts as zero."""

    AT = "jitter"

    kind: Word = key(
        Choice("uniform", "gaussian", "normal", "pareto", "paretonormal"),
        "distribution: uniform over delay +- spread; gaussian (twelve uniform draws); or netem's tables",
        default="uniform",
    )
    spread: Quantity = key(
        DELAY, "half width of a uniform distribution, standard deviation of a Gaussian one, otherwise netem's jitter"
    )
    correlation: Share = key(SHARE, _CORRELATION, default=0)
    reorder: Switch = key(
        SWITCH, "whether packets may overtake one another, as in netem; false keeps them in order", default=True
    )

    def plan(self) -> dict[str, Any]:
        """What the engine takes within a delay."""
        return {
            "distribution": self.kind,
            "spread_ns": self.spread,
            "correlation_ppb": self.correlation,
            "reorder": self.reorder,
        }

    def plain(self) -> dict[str, Any] | None:
        """What the engine takes on a flow itself, None where that cannot say it."""
        if self.kind not in ("uniform", "gaussian") or self.correlation:
            return None
        return {
            "kind": self.kind,
            "spread_ns" if self.kind == "uniform" else "stddev_ns": self.spread,
            "reorder": self.reorder,
        }


class Loss(Variant):
    """Loss other than by queues."""

    TAG = "model"
    AT = "loss"

    kind: Fixed[str | None] = key(Choice("loss"), "what a part of a chain is", default=None, varies=False)

    @abstractmethod
    def stage(self) -> Stage:
        """What the engine takes."""


class RandomLoss(Loss, form="random", sign="rate"):
    """Random loss, independent for each packet or correlated as in netem."""

    rate: Share = key(SHARE, "share of the packets lost")
    correlation: Share = key(SHARE, _CORRELATION, default=0)

    def stage(self) -> Stage:
        """What the engine takes."""
        return {
            "kind": "loss",
            "model": "random",
            "ppb": self.rate,
            "correlation_ppb": self.correlation,
        }


class GilbertElliott(Loss, form="gilbert_elliott"):
    """Two states (`netem loss gemodel`; Gilbert 1960, Elliott 1963)."""

    p: Share = key(SHARE, "share of packets that change from the good to the bad state")
    r: Share = key(SHARE, "share of packets that change back")
    bad_loss: Share = key(SHARE, "share lost in the bad state (1 - h)", default=1)
    good_loss: Share = key(SHARE, "share lost in the good state (1 - k)", default=0)

    def stage(self) -> Stage:
        """What the engine takes."""
        return {
            "kind": "loss",
            "model": "gilbert_elliott",
            **{f"{name}_ppb": getattr(self, name) for name in ("p", "r", "bad_loss", "good_loss")},
        }


class FourState(Loss, form="four_state"):
    """Four states (`netem loss state`; Salsano, Ludovici, Ordine and Giannuzzi 2012)."""

    p13: Share = key(SHARE, "share of packets that begin a burst of losses")
    p31: Share = key(SHARE, "share that end it")
    p32: Share = key(SHARE, "share of packets that pass during it", default=0)
    p23: Share = key(SHARE, "share that return to it", default=1)
    p14: Share = key(SHARE, "share of single losses outside it", default=0)

    def stage(self) -> Stage:
        """What the engine takes."""
        return {
            "kind": "loss",
            "model": "four_state",
            **{f"{name}_ppb": getattr(self, name) for name in ("p13", "p31", "p32", "p23", "p14")},
        }


def _steps(value: object) -> Schedule:
    return in_steps({"steps": value}, SHARE.parse, 'steps such as [["0s", "0%"], ["10s", "1%"]]')


def _repeat(value: object) -> bool | int:
    return value if isinstance(value, bool) else SPAN_ABOVE_ZERO.parse(value)


class SteppedLoss(Loss, form="steps", sign="steps"):
    """A share that changes in steps."""

    steps: Key[Any, Schedule] = key(
        Kind(_steps, steps_schema(SHARE.schema)), 'when the share changes: [["0s", "0%"], ["10s", "1%"]]', varies=False
    )
    repeat: Key[bool | str | list[bool | str], bool | int] = key(
        Kind(_repeat, REPEAT_SCHEMA),
        "when the steps start again; true: the last one lasts as long as the one before it",
        default=False,
    )

    def stage(self) -> Stage:
        """What the engine takes."""
        try:
            again = repeat_ns(self.repeat, self.steps.steps)
        except UnitError as error:
            raise wrong(f"{self.AT}.repeat", raw_at(self, "repeat"), str(error)) from None
        return {"kind": "loss", "model": "schedule", "steps": list(self.steps.steps), "repeat_ns": again}


def _numbers(value: object) -> tuple[int, ...]:
    """Whole numbers, which are not values to vary."""
    if (
        not isinstance(value, (list, tuple))
        or not value
        or not all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 2**63 for n in value)
    ):
        raise UnitError("numbers of packets, from 0, such as [3, 17]")
    return tuple(sorted(set(value)))


_NUMBERS = Kind(_numbers, {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}})


class ListedLoss(Loss, form="packets", sign="packets"):
    """Certain packets of a flow, by their number in the order of arrival, from 0."""

    packets: Key[Any, tuple[int, ...]] = key(_NUMBERS, "numbers of the packets, such as [3, 17]", varies=False)

    def stage(self) -> Stage:
        """What the engine takes."""
        return {"kind": "loss", "model": "list", "packets": list(self.packets)}


class CorrelatedShare(Table):
    """A share of the packets, with netem's correlation."""

    AT = "share"

    rate: Share = key(SHARE, "share of the packets")
    correlation: Share = key(SHARE, _CORRELATION, default=0)


class _ShareOrTable(Kind):
    """A share, or a table with its correlation."""

    def __init__(self) -> None:
        self.sub = Sub(CorrelatedShare)
        self.schema = {"anyOf": [SHARE.schema, self.sub.schema]}

    def take(self, value: object, at: str) -> CorrelatedShare:
        """The table."""
        if isinstance(value, (Mapping, CorrelatedShare)):
            found: CorrelatedShare = self.sub.take(value, at)
            return found
        SHARE.take(value, at)
        return CorrelatedShare(rate=value)  # type: ignore[arg-type]


class Reorder(Table):
    """Packets that skip the delay and so overtake others (`netem reorder`)."""

    AT = "reorder"

    share: Share = key(SHARE, "share of these packets that skip it")
    gap: Number = key(whole(1, 2**31), "each n-th packet may", default=1)
    correlation: Share = key(SHARE, _CORRELATION, default=0)

    def plan(self) -> dict[str, Any]:
        """What the engine takes within a delay."""
        return {"gap": self.gap, "ppb": self.share, "correlation_ppb": self.correlation}


class Thin(Table):
    """Of consecutive acknowledgements only each n-th continues."""

    AT = "thin"

    every: Number = key(whole(1, 2**31), "n: number of acknowledgements that one replaces")
    hold: Quantity = key(DELAY, "maximum time that one waits for others", default="0s")

    def stage(self) -> Stage:
        """What the engine takes."""
        return {"kind": "thin", "every": self.every, "hold_ns": self.hold}


class Aggregate(Table):
    """Packets are held and leave in bursts: after this many are held or the oldest has waited long enough, or at
    regular times.
    """

    AT = "aggregate"

    packets: MaybeNumber = key(whole(1, 2**31), "packets of a burst at most", default=None)
    hold: MaybeQuantity = key(kinds.span("1ns", "60s"), "the longest that a packet is held", default=None)
    every: MaybeQuantity = key(kinds.span("1ns", "60s"), "time between two bursts, instead of `hold`", default=None)

    def stage(self, at: str) -> Stage:
        """What the engine takes."""
        if (self.hold is None) == (self.every is None):
            raise wrong(at, raw(self), "either `every`, or `packets` with `hold`")
        if self.every is not None:
            return {"kind": "serve", "period_ns": self.every, "packets": self.packets}
        if self.packets is None:
            raise wrong(f"{at}.hold", raw_at(self, "hold"), "`packets` as well")
        return {"kind": "aggregate", "packets": self.packets, "hold_ns": self.hold}


LOSS = Forms(Loss, other=SHARE)
SHARE_OF = _ShareOrTable()


def loss_stage(loss: int | Loss) -> Stage | None:
    """The stage of a loss; None where nothing is lost."""
    if isinstance(loss, Loss):
        return loss.stage()
    return {"kind": "loss", "model": "random", "ppb": loss, "correlation_ppb": 0} if loss else None


def share_stage(kind: str, share: CorrelatedShare) -> Stage | None:
    """The stage of duplicates or damaged packets; None for none."""
    return {"kind": kind, "ppb": share.rate, "correlation_ppb": share.correlation} if share.rate else None


def delay_stage(delay: int | Schedule, jitter: Jitter | None = None, reorder: Reorder | None = None) -> Stage:
    """The stage of a delay in ns or its schedule."""
    steps, repeat = (list(delay.steps), delay.repeat_ns) if isinstance(delay, Schedule) else ([], None)
    return {
        "kind": "delay",
        "ns": steps[0][1] if isinstance(delay, Schedule) else delay,
        "steps": steps,
        "repeat_ns": repeat,
        "jitter": None if jitter is None else jitter.plan(),
        "reorder": None if reorder is None else reorder.plan(),
    }
