"""Impairments of packets outside of links: delay, loss, duplication, damage, reordering, and acknowledgements that are
held.

Every class has a method that gives what the engine takes, one stage of a route.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import ScenarioError, wrong
from dumbbell.units import UnitError

from . import kinds, settings
from .declare import Forms, Key, Sub, Table, Variant, key, raw, raw_at
from .kinds import LABEL, SHARE, SPAN, SPAN_ABOVE_ZERO
from .plain_kinds import SWITCH, Choice, Kind, whole
from .recordings.forms import NAMES
from .schedule import (
    REPEAT_SCHEMA,
    STEPS_MAX,
    WHERE_SCHEMA,
    Rtt,
    Schedule,
    TraceFile,
    check_units,
    conditions,
    in_steps,
    repeat_ns,
    steps_schema,
)  # fmt: skip

if TYPE_CHECKING:
    from .keytypes import Fixed, MaybeNumber, MaybeQuantity

#: A share of one, in parts per billion.
_ALL = 10**9

Stage = dict[str, Any]
"""One part of a route, as the engine takes it."""


def by_engine(table: Any) -> dict[str, Any]:
    """The settings of a part as the engine counts them, by the engine's names."""
    return {name: getattr(table, mine) for mine, name in table.ENGINE.items()}


class Jitter(settings.JitterSettings):
    """Random variation of a one-way delay; a delay below zero counts as zero."""

    AT = "jitter"


class Slot(settings.SlotSettings):
    """Packets leave in slots only, as with `netem slot`: what is due waits for the next one, which lets so many
    through.
    """

    AT = "slot"

    def check(self) -> None:
        """Raise ScenarioError for times of another distribution than its own."""
        uniform, of_table = ("min", "max"), ("delay", "spread")
        is_uniform = self.kind == "uniform"
        needed, others = (("min",), of_table) if is_uniform else (of_table, uniform)
        for name in others:
            if getattr(self, name) is not None:
                wanted = "`min` and `max`, or a kind with a table" if is_uniform else "`delay` and `spread` only"
                raise wrong(f"slot.{name}", raw_at(self, name), f"{wanted}, next to kind {self.kind}")
        for name in needed:
            if getattr(self, name) is None:
                raise ScenarioError(f"slot.{name}", f"missing next to kind {self.kind}")
        if not is_uniform:
            return
        low, high = by_engine(self)["min_ns"], by_engine(self)["max_ns"]
        if high is not None and high < low:
            raise wrong("slot.max", raw_at(self, "max"), f"no less than min ({raw_at(self, 'min')})")
        if not (high or low):
            raise wrong("slot.min", raw_at(self, "min"), "a time above zero, or `max` as well")


class Loss(Variant):
    """Loss other than by queues."""

    TAG = "model"
    AT = "loss"

    kind: Fixed[str | None] = key(Choice("loss"), "what a part of a chain is", default=None, varies=False)

    @abstractmethod
    def stage(self, at: str) -> Stage:
        """Build the part of the plan that the engine takes; raises ScenarioError below the key `at`."""


class RandomLoss(settings.ShareSettings, Loss, form="random", sign="rate"):
    """Random loss, independent for each packet or correlated as in netem."""

    def stage(self, at: str) -> Stage:  # noqa: ARG002 - this form has no keys that contradict each other
        """Build the part of the plan that the engine takes."""
        return {"kind": "loss", "model": "random", **by_engine(self)}


class GilbertElliott(settings.GilbertElliottSettings, Loss, form="gilbert_elliott"):
    """Two states (`netem loss gemodel`; Gilbert 1960, Elliott 1963)."""

    def stage(self, at: str) -> Stage:  # noqa: ARG002 - this form has no keys that contradict each other
        """Build the part of the plan that the engine takes."""
        return {"kind": "loss", "model": "gilbert_elliott", **by_engine(self)}


class FourState(settings.FourStateSettings, Loss, form="four_state"):
    """Four states (`netem loss state`; Salsano, Ludovici, Ordine and Giannuzzi 2012)."""

    def stage(self, at: str) -> Stage:
        """Build the part of the plan that the engine takes; the two ways out of a state are at most all of it."""
        for way, other in (("p13", "p14"), ("p31", "p32")):
            if getattr(self, way) + getattr(self, other) > _ALL:
                raise wrong(
                    f"{at}.{way}", raw_at(self, way), f"at most 100% together with {other} ({raw_at(self, other)})"
                )
        return {"kind": "loss", "model": "four_state", **by_engine(self)}


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

    def stage(self, at: str) -> Stage:  # noqa: ARG002 - this form has no keys that contradict each other
        """Build the part of the plan that the engine takes."""
        try:
            again = repeat_ns(self.repeat, self.steps.steps)
        except UnitError as error:
            raise wrong(f"{self.AT}.repeat", raw_at(self, "repeat"), str(error)) from None
        return {"kind": "loss", "model": "schedule", "steps": list(self.steps.steps), "repeat_ns": again}


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise UnitError("a text that is not empty")
    return value


_TEXT = Kind(_text, {"type": "string", "minLength": 1})
_WHERE = Kind(conditions, WHERE_SCHEMA)


class TracedLoss(Loss, form="trace", sign="trace"):
    """A share as it was recorded; `traced.py` puts the steps of the recording in its place."""

    trace: Fixed[str] = key(_TEXT, "file of the recording, relative to the scenario", varies=False)
    format: Fixed[str | None] = key(
        Choice(*NAMES), "form of the file; default: by its content", default=None, varies=False
    )
    column: Fixed[str | None] = key(
        _TEXT, "which column, by its heading; default: the only one of losses", default=None, varies=False
    )
    unit: Fixed[str | None] = key(_TEXT, "unit of the column; default: as its heading says", default=None, varies=False)
    time: Fixed[str | None] = key(
        _TEXT, "which column has the times, by its heading; default: the only one", default=None, varies=False
    )
    time_unit: Fixed[str | None] = key(
        _TEXT, "unit of the times; default: as their heading says", default=None, varies=False
    )
    where: Fixed[Any] = key(
        _WHERE, "which rows: headings and the text of their cells, { run_num = 1 }", default=None, varies=False
    )
    repeat: Key[bool | None, bool | None] = key(
        SWITCH,
        "whether it begins again at its end, or its last value stays; required where the run is longer",
        default=None,
        varies=False,
    )
    offset: Key[str, int] = key(SPAN, "where in the recording the run begins", default="0s", varies=False)

    def check(self) -> None:
        """Raise ScenarioError for units that are none."""
        try:
            check_units(self.unit, self.time_unit, self.column)
        except UnitError as error:
            raise wrong(f"{self.AT}.unit", raw_at(self, "unit"), str(error)) from None

    @property
    def of(self) -> TraceFile:
        """The recording as other keys name theirs."""
        return TraceFile(
            self.trace, self.format, self.column, self.unit, self.time, self.time_unit, self.where or (), self.repeat,
            self.offset,
        )  # fmt: skip

    def stage(self, at: str) -> Stage:  # noqa: ARG002 - never called
        """Nothing: steps take its place before a plan is made."""
        raise AssertionError("recordings are settled before plans are made")


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

    def stage(self, at: str) -> Stage:  # noqa: ARG002 - this form has no keys that contradict each other
        """Build the part of the plan that the engine takes."""
        return {"kind": "loss", "model": "list", "packets": list(self.packets)}


def _windows(value: object) -> tuple[LossWindow, ...]:
    """Windows of losses, in the order of time."""
    wanted = (
        'windows such as [["10s", "10.2s", "100%"], ["20s", "21s", "100%", 6]]: from, to, share, of how many packets'
    )
    if not isinstance(value, (list, tuple)) or not 0 < len(value) <= STEPS_MAX:
        raise UnitError(wanted)
    windows = tuple(_window(item, wanted) for item in value)
    if any(window.from_ns >= window.to_ns for window in windows):
        raise UnitError("windows that end after they begin")
    if any(later.from_ns < earlier.to_ns for earlier, later in pairwise(windows)):
        raise UnitError("windows in the order of time that do not overlap")
    return windows


def _window(item: object, wanted: str) -> LossWindow:
    if not isinstance(item, (list, tuple)) or len(item) not in (3, 4):
        raise UnitError(wanted)
    begin, end, share, *packets = item
    if packets and (isinstance(packets[0], bool) or not isinstance(packets[0], int) or not 0 < packets[0] < 2**63):
        raise UnitError(wanted + "; a number of packets from 1")
    return LossWindow(SPAN.parse(begin), SPAN.parse(end), SHARE.parse(share), packets[0] if packets else None)


class LossWindow(NamedTuple):
    """A window of time, the share that is lost in it, and of how many packets, the first in it; None for all."""

    from_ns: int
    to_ns: int
    ppb: int
    packets: int | None


_WINDOW_SCHEMA = {
    "type": "array",
    "minItems": 3,
    "maxItems": 4,
    "prefixItems": [{"type": "string"}, {"type": "string"}, SHARE.schema, {"type": "integer", "minimum": 1}],
}
_WINDOWS = Kind(_windows, {"type": "array", "minItems": 1, "items": _WINDOW_SCHEMA})


class WindowedLoss(Loss, form="windows", sign="windows"):
    """Packets that are sent in windows of time: a share of all, or of the first so many in each window."""

    windows: Key[Any, tuple[LossWindow, ...]] = key(
        _WINDOWS,
        'from, to and share of each, in the order of time, and of how many packets if not of all: [["10s", "10.2s",'
        ' "100%"], ["20s", "21s", "100%", 6]]; outside of them nothing is lost',
        varies=False,
    )
    flow: Fixed[str | None] = key(
        LABEL,
        "name of the [[flow]] table whose packets it takes; default: those of each flow, which has windows of its own",
        default=None,
        varies=False,
    )

    def stage(self, at: str) -> Stage:  # noqa: ARG002 - this form has no keys that contradict each other
        """Build the part of the plan that the engine takes."""
        return {"kind": "loss", "model": "windows", "windows": [window._asdict() for window in self.windows]}


class CorrelatedShare(settings.ShareSettings):
    """A share of the packets, with netem's correlation."""

    AT = "share"


class _ShareOrTable(Kind):
    """A share, or a table with its correlation."""

    def __init__(self) -> None:
        self.sub = Sub(CorrelatedShare)
        self.schema = {"anyOf": [SHARE.schema, self.sub.schema]}

    def take(self, value: object, at: str) -> CorrelatedShare:
        """The table."""
        if isinstance(value, (Mapping, CorrelatedShare)):
            table: CorrelatedShare = self.sub.take(value, at)
            return table
        SHARE.take(value, at)
        return CorrelatedShare(rate=value)  # type: ignore[arg-type]


class Reorder(settings.ReorderSettings):
    """Packets that skip the delay and so overtake others (`netem reorder`)."""

    AT = "reorder"


class Thin(settings.ThinSettings):
    """Only each n-th of consecutive acknowledgements that come within `hold` of each other continues; `hold` is above
    zero unless `every` is 1.
    """

    AT = "thin"

    def stage(self, at: str) -> Stage:
        """Build the part of the plan that the engine takes."""
        if self.every != 1 and not self.hold:
            wanted = f'a time above zero, such as "5ms", next to every = {self.every}: nothing is thinned without it'
            raise wrong(f"{at}.hold", raw_at(self, "hold"), wanted)
        return {"kind": "thin", **by_engine(self)}


class Aggregate(Table):
    """Packets are held and leave in bursts: after this many are held or the oldest has waited long enough, or at
    regular times.
    """

    AT = "aggregate"

    packets: MaybeNumber = key(whole(1, 2**31), "packets of a burst at most", default=None)
    hold: MaybeQuantity = key(kinds.span("1ns", "60s"), "the longest that a packet is held", default=None)
    every: MaybeQuantity = key(kinds.span("1ns", "60s"), "time between two bursts, instead of `hold`", default=None)

    def stage(self, at: str) -> Stage:
        """Build the part of the plan that the engine takes."""
        if (self.hold is None) == (self.every is None):
            raise wrong(at, raw(self), "either `every`, or `packets` with `hold`")
        if self.every is not None:
            return {"kind": "serve", "period_ns": self.every, "packets": self.packets}
        if self.packets is None:
            raise wrong(f"{at}.hold", raw_at(self, "hold"), "`packets` as well")
        return {"kind": "aggregate", "packets": self.packets, "hold_ns": self.hold}


LOSS = Forms(Loss, other=SHARE)
SHARE_OF = _ShareOrTable()


def loss_stage(loss: int | Loss, at: str) -> Stage | None:
    """The stage of the loss at a key; None where nothing is lost."""
    if isinstance(loss, Loss):
        return loss.stage(at)
    return {"kind": "loss", "model": "random", "ppb": loss, "correlation_ppb": 0} if loss else None


def share_stage(kind: str, share: CorrelatedShare) -> Stage | None:
    """The stage of duplicates or damaged packets; None for none."""
    return {"kind": kind, **by_engine(share)} if share.rate else None


def delay_stage(
    delay: Rtt, jitter: Jitter | None = None, reorder: Reorder | None = None, slot: Slot | None = None
) -> Stage:
    """The stage of a delay in ns or its schedule."""
    assert not isinstance(delay, TraceFile), "recordings are settled before plans are made"
    steps, repeat = (list(delay.steps), delay.repeat_ns) if isinstance(delay, Schedule) else ([], None)
    return {
        "kind": "delay",
        "ns": steps[0][1] if isinstance(delay, Schedule) else delay,
        "steps": steps,
        "repeat_ns": repeat,
        "jitter": None if jitter is None else by_engine(jitter),
        "reorder": None if reorder is None else by_engine(reorder),
        **({} if slot is None else {"slot": by_engine(slot)}),
    }


if TYPE_CHECKING:
    AnyLoss = Key[Any, int | Loss]
    """A share in parts per billion, or a table of one of the forms of `Loss`."""
    MaybeLoss = Key[Any, int | Loss | None]
    AnyShare = Key[Any, CorrelatedShare]
