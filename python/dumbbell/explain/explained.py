"""Rules applied to the flows of a run: the one or two mechanisms that matter, and their proofs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from dumbbell.errors import ResultError, ScenarioError
from dumbbell.expect.asked import Asked
from dumbbell.expect.places import At
from dumbbell.judge import HOLDS
from dumbbell.judge.parse import sentence, value
from dumbbell.judge.values import shown
from dumbbell.scenario.declare import build
from dumbbell.scenario.expect import Expect

from .again import TABLES, again
from .rules import Rule, rules

if TYPE_CHECKING:
    from dumbbell.judge.parse_values import Part
    from dumbbell.judge.values import Value
    from dumbbell.results.load import Result

#: Mechanisms that are told of a flow unless all are asked for.
_MOST = 2
#: A figure that moves by less proves nothing.
_MOVED = 0.1
_HOLE = re.compile(r"\{([^{}]+)\}")


class Proof(NamedTuple):
    """A run without the cause: what was changed, and the figure before and after."""

    change: str
    figure: str
    before: str
    after: str
    is_why: bool


class Cause(NamedTuple):
    """A mechanism at work in a flow, what is said of it, and its proof if one was asked for."""

    rule: str
    text: str
    proof: Proof | None = None

    @property
    def sentence(self) -> str:
        """The whole sentence, without the flow's name."""
        if self.proof is None:
            return f"{self.text}."
        proof = self.proof
        what = f"with {proof.change} its {proof.figure} is {proof.after} instead of {proof.before}"
        return f"{self.text}; {what}: that is why." if proof.is_why else f"{self.text}; but {what}: that is not why."


class Explained(NamedTuple):
    """A [[flow]] table of a run, and what is at work there; nothing where no rule holds."""

    flow: str
    causes: list[Cause]


def explain(
    result: Result, flow: str | None = None, *, at: float | None = None, proves: bool = False, everything: bool = False
) -> list[Explained]:
    """Explain the flows of a run, or one of them by its name; `at` explains the time about a moment, in seconds.

    Raises ResultError for a name that none has, a moment that is not in the run, and a run without the tables that
    cannot be made again.
    """
    run = with_tables(result)
    groups = run.plan.groups
    if flow is not None and flow not in groups:
        raise ResultError(f'--flow: got "{flow}", wanted one of: {", ".join(groups)}')
    most = len(rules()) if everything else _MOST
    repeated: dict[tuple[str, ...], Result | None] = {}
    explained = []
    for name in groups if flow is None else [flow]:
        look = Look(run, name, None if at is None else _about(run, groups[name][0], at))
        told = list(islice(_causes(look), most))
        causes = [_proved(look, rule, cause, repeated) if proves else cause for rule, cause in told]
        explained.append(Explained(name, causes))
    return explained


def with_tables(result: Result) -> Result:
    """The run, or the same one made again with the tables that rules read."""
    record = result.plan.record
    has_all = record.events and record.limits and record.samples
    return result if has_all else again(result, *TABLES)


class Look(NamedTuple):
    """A [[flow]] table of a run, in a part of it, as rules see it."""

    run: Result
    flow: str
    part: Part

    def holds(self, text: str) -> bool:
        """True if the sentence holds for the flow; where it cannot be judged, it does not."""
        try:
            judged = sentence(text, of=self.flow, part=self.part).judge(self._at(text))
        except ScenarioError:  # a state that its controller has not got
            return False
        return bool(judged) and all(one.verdict.word == HOLDS for one in judged)

    def read(self, text: str) -> tuple[Value, float]:
        """A value of the grammar, and its number in the run."""
        read = value(text, of=self.flow, part=self.part)
        return read, self._at(text).rows(read)[0].sample.interval.mean

    def filled(self, text: str, facts: Mapping[str, str]) -> str:
        """A text with the values of this run in place of what is in braces."""
        return _HOLE.sub(lambda hole: facts[hole[1]] if hole[1] in facts else shown(*self.read(hole[1])), text)

    def _at(self, text: str) -> At:
        table = build(Expect, {"that": text}, "expect")
        return At(Asked(table, sentence("jain >= 0"), 0, 0, {}), {(): [self.run]}, self.run.vary)


def _about(run: Result, flow: int, at: float) -> tuple[float, float]:
    """The time about a moment: ten round trips before and after it, and three samples at least."""
    if not 0 <= at <= run.plan.duration_s:
        raise ResultError(f"--at: got {at:g} s, wanted a time from 0 to {run.plan.duration_s:g} s")
    half = max(10 * run.plan.flows[flow].rtt_ns, 3 * run.plan.sample_ns) / 1e9
    return max(at - half, 0.0), min(at + half, run.plan.duration_s)


def _causes(look: Look) -> Iterator[tuple[Rule, Cause]]:
    facts = _facts(look.run)
    for rule in rules():
        if all(look.holds(_HOLE.sub(lambda hole: facts[hole[1]], text)) for text in rule.when):
            yield rule, Cause(rule.name, look.filled(rule.say, facts))


def _facts(run: Result) -> dict[str, str]:
    """Numbers that conditions name in braces."""
    flows = len(run.plan.flows)
    idle = 1 - (run.summary.link.utilization or 0.0)
    return {"fair80": f"{0.8 / flows:.6f}", "idle": f"{100 * idle:.0f} % of the time"}


def _proved(look: Look, rule: Rule, cause: Cause, repeated: dict[tuple[str, ...], Result | None]) -> Cause:
    """The cause with its proof, where its rule has one and the run can be made again; `repeated` has such runs by what
    was changed.
    """
    if not rule.prove:
        return cause
    if rule.prove not in repeated:
        try:
            repeated[rule.prove] = again(look.run, *rule.prove)
        except ResultError:
            repeated[rule.prove] = None
    other = repeated[rule.prove]
    if other is None:
        return cause
    figure, before = look.read(rule.moves)
    _, after = look._replace(run=other).read(rule.moves)
    is_why = abs(after - before) > _MOVED * max(abs(before), abs(after))
    change = ", ".join(rule.prove)
    return cause._replace(proof=Proof(change, rule.moves, shown(figure, before), shown(figure, after), is_why))
