"""Values of sentences that each flow has of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dumbbell.errors import ResultError
from dumbbell.judge.values import (
    Counter,
    Derived,
    Gap,
    Given,
    Limit,
    Moment,
    Reduction,
    Time,
    Variable,
)
from dumbbell.results.happened import happened
from dumbbell.results.limits import limits_of, share_of_time

from . import derived, moments, path, sampled, variables

if TYPE_CHECKING:
    from collections.abc import Callable

    from dumbbell.results.load import Result

OfFlow = Counter | Derived | Gap | Given | Limit | Moment | Reduction | Time | Variable
Part = tuple[float, float]

#: Kinds of events that counters count.
_EVENTS = {
    "queue_drops": "drop_queue", "random_drops": "drop_random", "rtos": "rto", "tlps": "tlp", "undos": "undo",
    "ecn_marks": "ecn_mark", "retrans_segs": "retransmit", "lost_segs": "loss_detected",
}  # fmt: skip
#: Counters of drops by their cause, which events do not tell.
_CAUSES = ("aqm_drops", "policed_drops")


def read(run: Result, flow: int, value: OfFlow, part: Part) -> float | None:
    """A value of one flow in a part of the run; None where it has none. Raises ResultError where that is not
    recorded.
    """
    readers: dict[type, Callable[..., float | None]] = {
        Counter: _counter, Derived: derived.derived, Gap: _gap, Given: path.given, Limit: _limit,
        Moment: moments.moment, Reduction: sampled.reduction, Time: sampled.share, Variable: _variable,
    }  # fmt: skip
    return readers[type(value)](run, flow, value, part)


def _counter(run: Result, flow: int, value: Counter, part: Part) -> float | None:
    whole: float | None = run.flows[value.name][flow].as_py()
    there = path.active(run, flow, (0.0, run.plan.duration_s))
    if part[0] <= there[0] and part[1] >= there[1]:
        return whole
    if value.name == "segs_sent":
        return sampled.growth(run, flow, "segs_sent", part)
    if value.name == "recoveries":
        return float(happened(run, "ca_state", "Recovery").inside(flow, *part).t_s.size)
    if value.name in _EVENTS:
        return float(happened(run, _EVENTS[value.name]).inside(flow, *part).packets.sum())
    drops = run.flows["queue_drops"][flow].as_py()
    if not whole:
        return 0.0
    if value.name in _CAUSES and whole == drops:
        return float(happened(run, "drop_queue").inside(flow, *part).packets.sum())
    raise ResultError(f"{value.name} is known of the whole run, not of a part of it")


def _gap(run: Result, flow: int, value: Gap, part: Part) -> float | None:
    found = sampled.gap(run, flow, value, part)
    return None if found is None else found[1] - found[0]


def _limit(run: Result, flow: int, value: Limit, part: Part) -> float | None:
    return share_of_time(limits_of(run, flow), value.what, *part)


def _variable(run: Result, flow: int, value: Variable, _: Part) -> float | None:
    return variables.read(run, flow, value)
