"""What a search may change in a scenario, each kind with its bounds (docs/search.md has them for people).

A gene is a key with a range, or a kind of event with a number of them. What it draws are changes: plain values, which a
file can hold, and which minimisation takes away or rounds one by one.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from dumbbell.errors import ScenarioError, wrong
from dumbbell.scenario.ranges import Amount
from dumbbell.scenario.source import override
from dumbbell.scenario.toml_text import value_text

from .fields import Field, moment, parsed, seconds, time_text

AT = "--within"
#: Times of which events come at multiples: the RTO's least time, and those that controllers and hosts wait.
ROUND_S = tuple(map(Fraction, ("0.2", "1", "5", "10")))
#: What the names of kinds begin with whose losses are those of the way up, of acknowledgements.
UP = "up."
#: How long a burst of losses lasts at most.
_BURST_S = Fraction(1, 5)
#: Most events of one kind.
MOST = 64

Tables = dict[str, Any]


class Change(NamedTuple):
    """Something that a gene changes: its number in the genome, and the values of its fields as they are written."""

    gene: int
    values: tuple[Any, ...]


class Gene(ABC):
    """What may change: how many such changes there are, and what each draws.

    Attributes
    ----------
    text
        As it was asked for.
    least, most
        How many changes there are.
    fields
        What is drawn of each.
    rank
        Genes are written in this order: later ones read what earlier ones wrote.
    """

    rank: ClassVar[int] = 1
    #: The ranges of fields, by their names, where the text says none.
    RANGES: ClassVar[dict[str, str]] = {}
    #: Whether each change has a time.
    HAS_MOMENT: ClassVar[bool] = False
    #: How many changes there may be.
    MOST: ClassVar[int] = MOST

    def __init__(self, text: str, fields: Sequence[Field], least: int = 1, most: int = 1) -> None:
        self.text, self.fields, self.least, self.most = text, tuple(fields), least, most

    @property
    def writes(self) -> str:
        """What it changes: two genes of one search may not change the same."""
        return type(self).__name__

    @abstractmethod
    def write(self, tables: Tables, changes: Sequence[Change]) -> None:
        """Change the tables of a scenario; raises ScenarioError for one in which that makes no sense."""


class Key(Gene):
    """A key with a range or several values."""

    rank = 0

    @property
    def writes(self) -> str:
        """The key."""
        return self.fields[0].name

    def write(self, tables: Tables, changes: Sequence[Change]) -> None:
        """Set the key."""
        for change in changes:
            override(tables, f"{self.fields[0].name}={value_text(change.values[0])}")


class RateSteps(Gene):
    """The bottleneck's rate becomes so many times its first one."""

    RANGES: ClassVar = {"factor": "0.1..10"}
    HAS_MOMENT = True

    def write(self, tables: Tables, changes: Sequence[Change]) -> None:
        """Write them as steps."""
        _scale(tables, "rate", changes)


class RttSteps(Gene):
    """The path's RTT becomes so many times its first one."""

    RANGES: ClassVar = {"factor": "0.3..3"}
    HAS_MOMENT = True

    def write(self, tables: Tables, changes: Sequence[Change]) -> None:
        """Write them as steps."""
        _scale(tables, "rtt", changes)


class Outages(Gene):
    """The bottleneck has no rate for a while; its queue waits."""

    rank = 2
    RANGES: ClassVar = {"length": "20ms..2s"}
    HAS_MOMENT = True

    def write(self, tables: Tables, changes: Sequence[Change]) -> None:
        """Cut them out of the steps of the rate."""
        steps = _steps(tables, "rate")
        for since, until in _merged(changes):
            after = next(value for time, value in reversed(steps) if time <= until)
            steps = [one for one in steps if not since <= one[0] <= until]
            steps = sorted([*steps, (since, "0bps"), (until, after)], key=lambda one: one[0])
        _write_steps(tables, "rate", steps)


class Lossy(Gene):
    """Losses of the way down, or of the way up."""

    @property
    def writes(self) -> str:
        """The loss of its way."""
        return "path.up.loss" if self.text.startswith(UP) else "path.loss"


class Cuts(Lossy):
    """All packets are lost for a part of each period."""

    RANGES: ClassVar = {"period": "50ms..5s", "share": "1%..25%"}
    MOST = 1

    def write(self, tables: Tables, changes: Sequence[Change]) -> None:
        """Write the periods as steps that repeat."""
        for change in changes:
            period = seconds(change.values[0])
            cut = round(period * Amount.of(change.values[1], AT).number / 100, 6)
            steps = [["0s", "0%"], [time_text(period - cut), "100%"]]
            _lose(tables, self.text, {"steps": steps, "repeat": time_text(period)})


class Losses(Lossy):
    """Single packets are lost, by their number in each flow."""

    RANGES: ClassVar = {"packet": "1..2000"}

    def write(self, tables: Tables, changes: Sequence[Change]) -> None:
        """Write the list of packets."""
        if changes:
            _lose(tables, self.text, {"packets": sorted({change.values[0] for change in changes})})


class Bursts(Lossy):
    """So many packets in a row are lost, from a moment on; for 0.2 s at most, so that no burst waits for the attempts
    of a flow that it has silenced.
    """

    RANGES: ClassVar = {"packets": "1..64"}
    HAS_MOMENT = True

    def write(self, tables: Tables, changes: Sequence[Change]) -> None:
        """Write windows, which end where the next one begins."""
        if not changes:
            return
        sizes = {seconds(change.values[0]): change.values[1] for change in changes}
        times = sorted(sizes)
        ends = [min(at + _BURST_S, later) for at, later in zip(times, [*times[1:], times[-1] + 1])]
        windows = [[time_text(at), time_text(end), "100%", sizes[at]] for at, end in zip(times, ends)]
        _lose(tables, self.text, {"windows": windows})


class Rivals(Gene):
    """Other flows share the bottleneck for a while."""

    RANGES: ClassVar = {"cca": "cubic,reno,bbr", "length": "100ms..30s", "rtt": "0.25..4"}
    HAS_MOMENT = True

    def write(self, tables: Tables, changes: Sequence[Change]) -> None:
        """Add a [[flow]] table of each; raises ScenarioError for a name that another one has."""
        names = {flow.get("name") for flow in tables["flow"]}
        for number, change in enumerate(changes, start=1):
            at, cca, length, factor = change.values
            if f"rival{number}" in names:
                raise ScenarioError(AT, f"{self.text}: a [[flow]] table is called rival{number} already")
            rtt = _times(_first(tables, "rtt"), factor)
            stop = time_text(seconds(at) + seconds(length))
            tables["flow"].append({"name": f"rival{number}", "cca": cca, "start": at, "stop": stop, "rtt": rtt})


#: Kinds of events by the names that people give.
KINDS: dict[str, Callable[..., Gene]] = {
    "outages": Outages,
    "rate_steps": RateSteps,
    "rtt_steps": RttSteps,
    "cuts": Cuts,
    "losses": Losses,
    "bursts": Bursts,
    "rivals": Rivals,
}


def gene(text: str, duration_s: float) -> Gene:
    """The gene of a text: ``path.rtt=10ms..100ms``, ``outages``, ``outages=1..3:20ms..10s@5s..20s``; raises
    ScenarioError.
    """
    kind = _kind(text)
    head, _, moments = text.partition("@") if kind else (text, "", "")
    name, *ranges = head.split(":") if kind else [head]
    name, equals, count = name.partition("=")
    if kind is None:
        if not equals or "." not in name or "@" in text:
            known = ", ".join(KINDS)
            raise wrong(AT, text, f"KEY=RANGE, such as path.rtt=10ms..100ms, or a kind of: {known}", list(KINDS))
        return Key(text, [parsed(name, count, f"{AT} {name}")])
    least, most = _count(count, text, kind.MOST) if equals else (1, 1)
    if len(ranges) > len(kind.RANGES) or (moments and not kind.HAS_MOMENT):
        has = ", ".join([*kind.RANGES, *(["@ a time"] if kind.HAS_MOMENT else [])])
        raise wrong(AT, text, f"ranges of: {has}")
    said = dict(zip(kind.RANGES, ranges))
    fields = [_field(field, said.get(field), usual, f"{AT} {text}") for field, usual in kind.RANGES.items()]
    if kind.HAS_MOMENT:
        fields.insert(0, moment(duration_s, ROUND_S, moments, f"{AT} {text}"))
    for field in fields:
        if not field.values and field.name != "at" and field.low.number <= 0:
            raise wrong(AT, text, f"{field.name} above zero")
    return kind(text, fields, least, most)


def name_of(text: str) -> str:
    """What the text of a gene begins with: the key, or the kind with its way."""
    return re.split("[=:@]", text)[0]


def _field(name: str, said: str | None, usual: str, at: str) -> Field:
    """A field in the bounds that were said, in the measure of the usual ones."""
    known = parsed(name, usual, at)
    if not said:
        return known
    field = parsed(name, said, at)
    if bool(field.values) != bool(known.values):
        raise wrong(at, said, f"{name} as in {usual}")
    if not field.values:
        field.low.in_unit_of(known.low, at)
    return field


def _kind(text: str) -> type[Gene] | None:
    """The kind that a text begins with."""
    name = name_of(text)
    kind: Any = KINDS.get(name.removeprefix(UP))
    return kind if kind and (not name.startswith(UP) or issubclass(kind, Lossy)) else None


def _count(text: str, whole: str, limit: int) -> tuple[int, int]:
    low, dots, high = text.partition("..")
    ends = (low, high) if dots else ("0", low)
    if not all(end.isdecimal() for end in ends) or not int(ends[0]) <= int(ends[1]) <= limit or int(ends[1]) < 1:
        example = "as in outages=3 for none to three, or outages=1..3"
        raise wrong(AT, whole, f"a number of events up to {limit}, {example}")
    return int(ends[0]), int(ends[1])


def _lose(tables: Tables, text: str, loss: Tables) -> None:
    path = tables["path"]
    table = path.setdefault("up", {}) if text.startswith(UP) else path
    if table.get("loss") or table.get("impair"):
        raise ScenarioError(AT, f"{text}: the path has a loss already, wanted one kind of loss on each way")
    table["loss"] = loss


def _first(tables: Tables, key: str) -> Any:
    """The first value of the path's rate or RTT."""
    return _steps(tables, key)[0][1]


def _steps(tables: Tables, key: str) -> list[tuple[Fraction, Any]]:
    """The values of the path's rate or RTT over time; raises ScenarioError for one that is not plain."""
    written = tables["path"].get(key)
    if isinstance(written, dict) and set(written) == {"steps"}:
        return [(seconds(time), value) for time, value in written["steps"]]
    if not isinstance(written, str):
        raise ScenarioError(f"path.{key}", f"{AT}: wanted one value, or steps that do not repeat, to change it")
    return [(Fraction(0), written)]


def _write_steps(tables: Tables, key: str, steps: Sequence[tuple[Fraction, Any]]) -> None:
    """Write values over time; of several at the same microsecond the last one holds, and one alone is the value."""
    at = {time_text(time): value for time, value in steps}
    tables["path"][key] = {"steps": [list(one) for one in at.items()]} if len(at) > 1 else next(iter(at.values()))


def _scale(tables: Tables, key: str, changes: Sequence[Change]) -> None:
    steps = dict(_steps(tables, key))
    first = steps[Fraction(0)]
    for change in changes:
        at, factor = change.values
        steps[seconds(at)] = _times(first, factor)
    _write_steps(tables, key, sorted(steps.items()))


def _times(value: str, factor: float) -> Any:
    amount = Amount.of(value, AT)
    return amount.accepted(amount.number * Fraction(str(factor)), 4)


def _merged(changes: Sequence[Change]) -> list[tuple[Fraction, Fraction]]:
    """Begin and end of each outage, in order; those that meet are one."""
    spans: list[tuple[Fraction, Fraction]] = []
    for since, length in sorted((seconds(change.values[0]), seconds(change.values[1])) for change in changes):
        until = since + length
        if spans and since <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], until))
        else:
            spans.append((since, until))
    return spans
