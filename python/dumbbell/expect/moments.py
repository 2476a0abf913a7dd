"""When something happened to a flow: first and last moments, and the part of a run that a value spans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dumbbell.judge.values import Count, Gap, Limit, Stay, Time
from dumbbell.results.happened import happened
from dumbbell.results.limits import limits_of
from dumbbell.results.stays import stays_of

from . import sampled

if TYPE_CHECKING:
    from dumbbell.judge.values import Moment, Value
    from dumbbell.results.load import Result

Part = tuple[float, float]


def moment(run: Result, flow: int, asked: Moment, part: Part) -> float | None:
    """When it first began, or last ended, in seconds; None where it never did in this part of the run."""
    spans = _spans(run, flow, asked.what, asked.kind, part)
    if not spans:
        return None
    return spans[0][0] if asked.edge == "first" else spans[-1][1]


def span(run: Result, flow: int, value: Value, part: Part) -> Part | None:
    """From when to when a value is about something: the longest or first stay, the longest gap, from the first event to
    the last, from where a limit first held until it last did; None where that never happened, or where a value has no
    such time.
    """
    if isinstance(value, Gap):
        return sampled.gap(run, flow, value, part)
    if isinstance(value, Time):
        return sampled.span(run, flow, value, part)
    if isinstance(value, Stay):
        spans = _spans(run, flow, "state", value.state, part)
        if value.which == "first":
            return spans[0] if spans else None
        return max(spans, key=lambda one: one[1] - one[0], default=None)
    if isinstance(value, (Count, Limit)):
        what, kind = ("limit", value.what) if isinstance(value, Limit) else (value.what, value.kind)
        spans = _spans(run, flow, what, kind, part)
        return (spans[0][0], spans[-1][1]) if spans else None
    return None


def _spans(run: Result, flow: int, what: str, kind: str, part: Part) -> list[Part]:
    """The times of something that has a part in this part of the run, whole."""
    if what == "event":
        return [(float(t), float(t)) for t in happened(run, kind).inside(flow, *part).t_s]
    if what == "state":
        found = [(since, until) for name, since, until in stays_of(run, flow) if name == kind]
    else:
        found = [(one.since, one.until) for one in limits_of(run, flow) if one.limit == kind]
    return [(since, until) for since, until in found if since <= part[1] and until >= part[0]]
