"""Rules applied to the flows of a run: the one or two mechanisms that matter, and their proofs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dumbbell.errors import ResultError, ScenarioError
from dumbbell.results.columns import flow_column

from .about import about
from .again import with_tables
from .look import Look
from .proofs import Proof, proved
from .rules import Rule, rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dumbbell.results.load import Result

    from .proofs import Repeated

#: Mechanisms that are told of a flow unless all are asked for.
_MOST = 2
#: Flows of a table that are looked at, spread from the slowest to the fastest.
_FLOWS = 8


class Cause(NamedTuple):
    """A mechanism at work in a flow, what is said of it, and its proof if one was asked for."""

    rule: str
    text: str
    proof: Proof | None = None
    unproved: str = ""
    """Why a proof that was asked for could not be made; empty else, and where the rule has none."""

    @property
    def sentence(self) -> str:
        """The whole sentence, without the flow's name."""
        if self.proof is None:
            return f"{self.text}; not proved: {self.unproved}." if self.unproved else f"{self.text}."
        proof = self.proof
        what = f"with {proof.change} its {proof.figure} is {proof.after} instead of {proof.before}"
        return f"{self.text}; {what}: that is why." if proof.is_why else f"{self.text}; but {what}: that is not why."


class Explained(NamedTuple):
    """A [[flow]] table of a run, and what is at work there; nothing where no rule holds. `part` says what time about a
    moment that is of, where one was asked for; `untold` what cannot be told because the run lacks tables, and why it
    was not made again with them.
    """

    flow: str
    causes: list[Cause]
    part: str = ""
    untold: str = ""


def explain(
    result: Result, flow: str | None = None, *, at: float | None = None, proves: bool = False, everything: bool = False
) -> list[Explained]:
    """Explain the flows of a run, or one of them by its name; `at` explains the time about a moment, in seconds.

    Of a run without the tables that cannot be made again it tells what can be told (`Explained.untold`). Raises
    ResultError for a name that none has, and a moment at which a flow was not there.
    """
    groups = result.plan.groups
    if flow is not None and flow not in groups:
        raise ResultError(f'--flow: got "{flow}", wanted one of: {", ".join(groups)}')
    run, untold = with_tables(result)
    repeated: Repeated | None = {} if proves else None
    names = list(groups) if flow is None else [flow]
    told = [_table(run, name, at, repeated, everything=everything) for name in names]
    return [one._replace(untold=untold) for one in told]


def _table(run: Result, name: str, at: float | None, repeated: Repeated | None, *, everything: bool) -> Explained:
    looks, part = _looks(run, name, at)
    causes: list[Cause] = []
    hidden: set[str] = set()
    for rule, there in _holding(looks):
        if not everything and (rule.aside or rule.name in hidden or len(causes) == _MOST):
            continue
        one = there[len(there) // 2]
        try:
            text = one.filled(rule.say) + _how_many(run, looks, there, one)
        except ScenarioError:  # a number of the sentence that this run does not have, or a table
            continue
        hidden |= set(rule.hides)
        look = next(look for look in looks if look.number == one.number)
        proof, why_not = (None, "") if repeated is None else proved(look, one, rule, repeated)
        causes.append(Cause(rule.name, text, proof, why_not))
    return Explained(name, causes, part)


def _looks(run: Result, name: str, at: float | None) -> tuple[list[Look], str]:
    """The flows of a table that are looked at, and what time."""
    looks = [Look.whole(run, name, number) for number in _spread(run, run.plan.groups[name])]
    if at is None:
        return looks, ""
    parts = [about(run, look.number, at) for look in looks]
    begin, end = parts[0][0]
    said = f"from {begin:.3g} to {end:.3g} s, {parts[0][1]}"
    return [look.about(part) for look, (part, _) in zip(looks, parts)], said


def _spread(run: Result, flows: Sequence[int]) -> list[int]:
    """Some of these flows, from the one that got least to the one that got most."""
    if len(flows) <= _FLOWS:
        return list(flows)
    got = flow_column(run, "goodput_bytes")
    ranked = sorted(flows, key=lambda flow: got[flow])
    return [ranked[round(i * (len(ranked) - 1) / (_FLOWS - 1))] for i in range(_FLOWS)]


def _holding(looks: Sequence[Look]) -> Iterator[tuple[Rule, list[Look]]]:
    """The rules that hold for half of the flows or more, each with where it does."""
    for rule in rules():
        there = [place for look in looks if (place := look.place(rule)) is not None]
        if there and 2 * len(there) >= len(looks):
            yield rule, there


def _how_many(run: Result, looks: Sequence[Look], there: Sequence[Look], one: Look) -> str:
    if len(looks) == 1:
        return ""
    of = len(run.plan.groups[looks[0].flow])
    seen = f", of {of}" if of > len(looks) else ""
    return f" (flow {one.number}; so do {len(there)} of {len(looks)} flows{seen})"
