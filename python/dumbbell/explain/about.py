"""The time about a moment of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dumbbell.errors import ResultError
from dumbbell.expect import path
from dumbbell.results.stays import stays_of

if TYPE_CHECKING:
    from dumbbell.results.load import Result

#: Round trips before and after a moment that are looked at, where the state does not say it: those within which its
#: causes act, and no more than so many of a long state.
_LEAST, _MOST = 10, 50
#: Samples that this takes at least, on either side.
_SAMPLES = 3


def about(run: Result, flow: int, at: float) -> tuple[tuple[float, float], str]:
    """The time about a moment, and what it is: that in which the controller's state does not change, or round trips.

    Raises ResultError for a moment at which the flow was not there.
    """
    start, stop = path.active(run, flow, (0.0, run.plan.duration_s))
    if not start <= at <= stop:
        raise ResultError(f"--at: got {at:g} s, wanted a time from {start:g} to {stop:g} s, in which the flow is there")
    rtt = run.plan.flows[flow].rtt_ns / 1e9
    least = max(_LEAST * rtt, _SAMPLES * run.plan.sample_ns / 1e9)
    state, since, until = next((stay for stay in stays_of(run, flow) if stay[1] <= at <= stay[2]), ("", at, at))
    if until - since >= least:
        part = max(since, at - _MOST * rtt, start), min(until, at + _MOST * rtt, stop)
        return part, f"in {state}"
    part = max(at - least, start), min(at + least, stop)
    return part, f"{2 * least / rtt:.0f} round trips about {at:g} s"
