"""Proofs of causes: the run without the cause, and how far a figure moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import ResultError, ScenarioError
from dumbbell.judge.values import shown

from .again import again, read_plan, why_not
from .look import Look

if TYPE_CHECKING:
    from dumbbell.results.load import Result

    from .rules import Rule

#: A figure that gets better by such a part of it is proved, or by such a part of what it lacks, if that is more than
#: such a part of it.
_MOVED, _OF_LACKING, _LEAST = 0.05, 0.5, 0.02
#: Figures that are better where they are less.
_LESS = ("fct", "queue")


class Proof(NamedTuple):
    """A run without the cause: what was changed, and the figure before and after."""

    change: str
    figure: str
    before: str
    after: str
    is_why: bool


Repeated = dict[tuple[str, ...], "Result | str"]
"""Runs that were made again by what was changed, or why not; an empty text where the change changes nothing."""


def proved(look: Look, there: Look, rule: Rule, repeated: Repeated) -> tuple[Proof | None, str]:
    """The proof of a rule that holds: of the first change that this scenario allows and that changes anything; None
    without one, and why it could not be made. The figure is read in the same part of both runs, or while the flow was
    there.
    """
    why = ""
    for texts in rule.prove:
        try:
            changes = tuple(there.filled(text).replace(" ", "") for text in texts)
        except ScenarioError:  # a flow, or a part of the path, that there is not
            continue
        other = _made(look.run, changes, repeated)
        why = why or (other if isinstance(other, str) else "")
        after = None if isinstance(other, str) else _same_flow(look, other)
        if after is not None:
            figure, was = look.read(rule.moves)
            _, now = after.read(rule.moves)
            is_why = _is_better(look, rule.moves, was, now)
            return Proof(", ".join(changes), rule.moves, shown(figure, was), shown(figure, now), is_why), ""
    return None, why


def _is_better(look: Look, figure: str, was: float, now: float) -> bool:
    """True if a figure got better by so much that its cause is gone."""
    gain = (was - now) if figure in _LESS else (now - was)
    if gain > _MOVED * max(abs(was), abs(now)):
        return True
    if figure != "goodput":
        return False
    _, share_bps = look.read("path share")
    return gain > max(_OF_LACKING * (share_bps / 1e6 - was), _LEAST * was)


def _made(run: Result, changes: tuple[str, ...], repeated: Repeated) -> Result | str:
    """The run with these changes, or why it cannot be made; an empty text if it is the same run."""
    if changes not in repeated:
        try:
            other = again(run, *changes)
            repeated[changes] = "" if _plan(other) == _plan(run) else other
        except ResultError as error:
            repeated[changes] = why_not(error, run)
    return repeated[changes]


def _plan(run: Result) -> dict[str, Any]:
    """The plan of a run, without what it records."""
    return {key: value for key, value in read_plan(run).items() if key not in ("record", "sample_ns")}


def _same_flow(look: Look, other: Result) -> Look | None:
    """The same flow in another run, in the same part of it; while it is there, where that was the part."""
    was = look.run.plan.groups[look.flow].index(look.number)
    members = other.plan.groups.get(look.flow, [])
    if was >= len(members):
        return None
    whole = Look.whole(other, look.flow, members[was])
    return whole if look.part == Look.whole(look.run, look.flow, look.number).part else whole.about(look.part)
