"""A flow of a run, in a part of it, as rules see it."""

from __future__ import annotations

import math
import re
from functools import cached_property
from typing import TYPE_CHECKING

from dumbbell.errors import ScenarioError
from dumbbell.expect import path
from dumbbell.expect.asked import Asked
from dumbbell.expect.places import At
from dumbbell.judge import HOLDS
from dumbbell.judge.parse import sentence, value
from dumbbell.judge.values import Count, Counter, Moment, Reading, dimension, shown
from dumbbell.scenario.declare import build
from dumbbell.scenario.expect import Expect

if TYPE_CHECKING:
    from dumbbell.judge.values import Value
    from dumbbell.plan.view import FlowView
    from dumbbell.results.load import Result

    from .rules import Rule

#: Fractions that sentences have in percent.
_IN_PERCENT = ("utilization", "share")
#: Below what a number is said in a smaller unit, how many of that are in one, and its name.
_SMALLER = {"s": (1.0, 1e3, "ms"), "bytes": (1e6, 1e-3, "kB"), "bit/s": (1e6, 1e-3, "kbit/s")}
Part = tuple[float, float]
_HOLE = re.compile(r"\{([^{}]+)\}")


def _head_start(ns: int) -> str:
    """By how much another flow began earlier, for the end of a sentence."""
    return f", and began {ns / 1e9:.3g} s earlier" if ns > 0 else ""


def _said(flow: FlowView) -> str:
    """A flow by its name, and by its controller where that is another word."""
    cca = flow.cca or flow.transport.kind.upper()
    return flow.name if flow.name == cca else f"{flow.name} ({cca})"


class Look:
    """One flow of a [[flow]] table, from a moment to another."""

    def __init__(self, run: Result, flow: str, number: int, part: Part, explained: Part | None = None) -> None:
        self.run, self.flow, self.number, self.part = run, flow, number, part
        self.explained = part if explained is None else explained
        """The time that is explained, of which `part` may be a part."""

    @classmethod
    def whole(cls, run: Result, flow: str, number: int) -> Look:
        """A flow while it was there."""
        start, stop = path.active(run, number, (0.0, run.plan.duration_s))
        return cls(run, flow, number, (start, stop))

    def about(self, part: Part) -> Look:
        """The same flow, where another part of the run is explained."""
        return Look(self.run, self.flow, self.number, part)

    def inside(self, part: Part) -> Look:
        """The same flow in a part of the time that is explained."""
        return Look(self.run, self.flow, self.number, part, self.explained)

    def place(self, rule: Rule) -> Look | None:
        """Where a rule holds: this part, or what the rule is about during it; None where it does not hold."""
        if not all(self.holds(text) for text in rule.when):
            return None
        if not rule.during:
            return self
        spans = (self.span(text) for text in rule.during)
        there = next((self.inside(span) for span in spans if span is not None), None)
        return there if there and all(there.holds(text) for text in rule.there) else None

    def holds(self, text: str) -> bool:
        """True if the sentence holds for the flow; where it cannot be judged, it does not."""
        try:
            judged = sentence(self.put(text), of=self.flow, part=self.part).judge(self._at)
        except ScenarioError:  # a state that its controller has not got, a flow that there is not
            return False
        return bool(judged) and all(one.verdict.word == HOLDS for one in judged)

    def span(self, text: str) -> Part | None:
        """From when to when a value is about something; None where that never happened."""
        try:
            found = self._at.span(value(text, of=self.flow, part=self.part))
        except ScenarioError:
            return None
        return None if found is None else (found[0], min(found[1], self.run.plan.duration_s))

    def read(self, text: str) -> tuple[Value, float]:
        """A value of the grammar, and its number in the run."""
        read = value(text, of=self.flow, part=self.part)
        return read, self._at.rows(read)[0].sample.interval.mean

    def filled(self, text: str) -> str:
        """A text with what holes stand for: facts, and values of this run with three digits."""
        return _HOLE.sub(lambda hole: self._shown(hole[1]), self.put(text))

    def put(self, text: str) -> str:
        """A text with the facts that it names in braces."""
        return _HOLE.sub(lambda hole: self.facts.get(hole[1], hole[0]), text)

    def _shown(self, text: str) -> str:
        """A value of this run as a sentence has it: with three digits, in a unit that fits."""
        read, number = self.read(text)
        counted, size = dimension(read)
        if math.isnan(number):
            return "never" if counted == "s" else "none"
        if isinstance(read, (Count, Counter)):
            return f"{number:.0f}"
        if isinstance(read, Reading) and read.figure.partition("@")[0] in _IN_PERCENT:
            return f"{100 * number:.3g} %"
        if counted in _SMALLER and not isinstance(read, Moment) and abs(number * size) < _SMALLER[counted][0]:
            below, unit = _SMALLER[counted][1:]
            return f"{number * size * below:.3g} {unit}"
        amount, _, unit = shown(read, float(f"{number:.3g}")).partition(" ")
        return " ".join(filter(None, [f"{float(amount):.0f}" if "e+" in amount else amount, unit]))

    @cached_property
    def facts(self) -> dict[str, str]:
        """What conditions, sentences and proofs name in braces: names, and the ends of the part."""
        (begin, end), (since, to) = self.part, self.explained
        planned = self.run.plan.flows[self.number]
        busiest = path.busiest(self.run, self.number)
        link = self.run.plan.recorded_links[busiest]
        facts = {
            "begin": f"{begin:.3g}" if begin < 10 else f"{begin:.1f}",
            "end": f"{end:.3g}" if end < 10 else f"{end:.1f}",
            "from": f"{since:.6f}s",
            "to": f"{to:.6f}s",
            "tenth": f"{(to - since) / 10:.6f}s",
            "until": f"{end:.6f}s",
            "middle": f"{(begin + end) / 2:.6f}s",
            "link": link.name,
            "at": self._key(busiest),
            "qdisc": link.qdisc.kind,
            "cca": planned.cca,
            "table": str(planned.table),
        }
        opposite = [one for one in self.run.plan.flows if one.direction != planned.direction]
        facts |= {"opposite_table": str(opposite[0].table)} if opposite else {}
        rival = self._rival()
        if rival is not None:
            other = self.run.plan.flows[rival]
            facts |= {
                "rival": f'"{other.name}"',
                "rival_name": other.name,
                "head_start": _head_start(planned.start_ns - other.start_ns),
                "rival_said": _said(other),
                "rival_table": str(other.table),
            }
        return facts

    def _key(self, link: int) -> str:
        """The key of a link in the scenario, by its number in tables."""
        if link >= len(self.run.plan.links):
            return "path.up"
        return "path" if link == 0 else f"link[{link - 1}]"

    def _rival(self) -> int | None:
        """The flow of another table that got most of the same bottleneck."""
        got = path.goodputs(self.run, self.number, self.part)
        others = {flow: size for flow, size in got.items() if self.run.plan.flows[flow].name != self.flow}
        return max(others, key=lambda flow: others[flow], default=None)

    @cached_property
    def _at(self) -> At:
        table = build(Expect, {"that": "jain >= 0"}, "expect")
        asked = Asked(table, sentence("jain >= 0"), 0, 0, {})
        return At(asked, {(): [self.run]}, self.run.vary, one=(self.flow, self.number))
