"""What a sentence of an ``[[expect]]`` table says, as data, and what it is judged on. `parse.py` reads it from text.

A sentence is judged at one place: one combination of the values that a scenario varies. `Place` is what it asks there;
`dumbbell.expect` answers from runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, Protocol

from dumbbell.results.catalogue import figure
from dumbbell.results.statistic import Sample

from .questions import Order, Precision, Sign, Trend, compared, missing, number, together
from .rule import Tolerance
from .verdict import FAILS, HOLDS, UNCLEAR, UNJUDGED, Verdict, Word


class Rtts(float):
    """A time in the run as a number of RTTs: the propagation delay of the flows that a value is of."""

    __slots__ = ()


class Reading(NamedTuple):
    """A figure of the runs.

    Attributes
    ----------
    figure
        Its canonical name, with the link behind an @ if any.
    of
        Whose: a [[flow]] table by name, a controller, ``flow[N]``, ``all``, ``lowest``, ``highest``; None: each.
    case
        What is different in the runs that are read: a controller, NAME=CONTROLLER or KEY=VALUE,...; None: nothing.
    start_s, end_s
        The part of the run, in seconds or `Rtts`; None: that of the expectation, or of the scenario.
    """

    figure: str
    of: str | None = None
    case: str | None = None
    start_s: float | None = None
    end_s: float | None = None

    def __str__(self) -> str:
        return _with_clauses(self.figure, of=self.of, case=self.case, start_s=self.start_s, end_s=self.end_s)


class Baseline(NamedTuple):
    """The same figure in the runs of a baseline."""

    def __str__(self) -> str:
        return "baseline"


class Scaled(NamedTuple):
    """A value times a number."""

    factor: float
    value: Reading | Baseline

    def __str__(self) -> str:
        return str(self.value) if self.factor == 1 else f"{self.factor:g} x {self.value}"


class Count(NamedTuple):
    """How often something happened: events of a kind, or how often the controller entered a state."""

    what: Literal["event", "state"]
    kind: str
    of: str | None = None
    start_s: float | None = None
    end_s: float | None = None

    def __str__(self) -> str:
        return _with_clauses(f"{self.what} {self.kind}", of=self.of, start_s=self.start_s, end_s=self.end_s)


class Delay(NamedTuple):
    """Time from one change of state to the next entry of another: how long after `edge` of `after` the controller
    enters `state`.
    """

    state: str
    after: str
    edge: Literal["begins", "ends"]
    of: str | None = None

    def __str__(self) -> str:
        return f"state {self.state} after {self.after} {self.edge}"


class Stay(NamedTuple):
    """How long the controller stays in a state: the longest time, or the shortest; `is_longest`: the longest, whatever
    it is compared with.
    """

    state: str
    of: str | None = None
    shortest: bool = False
    is_longest: bool = False

    def __str__(self) -> str:
        return f"{'longest ' if self.is_longest else ''}stay in {self.state}"


class Variable(NamedTuple):
    """A variable that the controller declares: at a time, when a state first begins or ends, at the end, or the largest
    or smallest value of a part of the run.

    Attributes
    ----------
    unit
        What a number is in that it is compared with: ``bit/s``, ``s``, or the unit of the variable (empty).
    word
        The word that is asked for, of a variable that has words: its value is 1 where it has this one, else 0.
    """

    name: str
    pick: Literal["last", "largest", "smallest"] = "last"
    of: str | None = None
    state: str | None = None
    edge: Literal["begins", "ends"] | None = None
    at_s: float | None = None
    start_s: float | None = None
    end_s: float | None = None
    unit: Literal["bit/s", "s", ""] = ""
    word: str | None = None

    def __str__(self) -> str:
        when = (
            f"at {self.state} {self.edge}" if self.state else f"at {_span(self.at_s)}" if self.at_s is not None else ""
        )
        picked = "" if self.pick == "last" else self.pick
        return " ".join(filter(None, [picked, "variable", self.name, self.of and f"of {self.of}", when]))


class Counter(NamedTuple):
    """A counter of a flow over the whole run (docs/results.md, flows.parquet)."""

    name: str
    of: str | None = None

    def __str__(self) -> str:
        return f"count {self.name}{f' of {self.of}' if self.of else ''}"


class Limit(NamedTuple):
    """For what share of the time something limited a flow (docs/results.md, limits.parquet)."""

    what: str
    of: str | None = None
    start_s: float | None = None
    end_s: float | None = None

    def __str__(self) -> str:
        return _with_clauses(f"limit {self.what}", of=self.of, start_s=self.start_s, end_s=self.end_s)


Value = Reading | Count | Counter | Delay | Stay | Variable | Limit


class Named(NamedTuple):
    """A figure of one row in the repetitions, and whose it is."""

    label: str
    sample: Sample


class Place(Protocol):
    """The runs at one combination of varied values."""

    def rows(self, value: Value) -> list[Named]:
        """A value, for each row that it is of; raises ScenarioError for flows that there are not."""
        ...

    def baseline(self, value: Value) -> list[Named]:
        """The same in the runs of the baseline; empty where it has none."""
        ...

    def along(self, key: str) -> list[tuple[float, Place]]:
        """The places that differ from this one in `key` alone, ascending, each with its number."""
        ...


class Judged(NamedTuple):
    """What came of a sentence for one row.

    Attributes
    ----------
    label
        Whose it is; empty for the run.
    verdict
        The verdict.
    measured, wanted
        Both as people read them.
    """

    label: str
    verdict: Verdict
    measured: str
    wanted: str


class Compare(NamedTuple):
    """A value against a number, or against another value, with a tolerance if any."""

    left: Value
    sign: Sign
    right: float | Scaled
    tolerance: Tolerance = Tolerance()

    def values(self) -> Iterator[Value]:
        """The values that it reads of runs."""
        yield self.left
        if isinstance(self.right, Scaled) and isinstance(self.right.value, Reading):
            yield self.right.value

    def judge(self, place: Place) -> list[Judged]:
        """Judge each row of the left side."""
        lefts = place.rows(self.left)
        if isinstance(self.right, float):
            wanted = self._wanted(shown(self.left, self.right))
            return [self._row(left, self.right, wanted) for left in lefts]
        of = self.right.value
        rights = place.baseline(self.left) if isinstance(of, Baseline) else place.rows(of)
        if not rights:
            verdict = Verdict(
                UNJUDGED, None, math.nan, "the baseline does not have it: dumbbell test --save-baseline keeps one"
            )
            return [Judged(left.label, verdict, _measured(self.left, left.sample), str(self.right)) for left in lefts]
        if len(rights) == 1:
            rights = rights * len(lefts)
        elif len(lefts) == 1:
            lefts = lefts * len(rights)
        if len(rights) != len(lefts):
            raise ValueError(f"{len(lefts)} rows on the left, {len(rights)} on the right: wanted `of` on one of them")
        return [self._against(left, right) for left, right in zip(lefts, rights, strict=True)]

    def _wanted(self, line: str) -> str:
        """The line with what it may be missed by."""
        if self.tolerance == Tolerance():
            return f"{self.sign} {line}"
        width = tolerance_text(self.left, self.tolerance)
        return f"within {width} of {line}" if self.sign == "==" else f"{self.sign} {line} ± {width}"

    def _against(self, left: Named, right: Named) -> Judged:
        assert isinstance(self.right, Scaled)
        factor, of = self.right.factor, right.sample
        scaled = Sample(tuple(None if v is None else factor * v for v in of.values), of.seeds)
        wanted = self._wanted(f"{self.right} = {shown(self.left, scaled.interval.mean)}")
        absent = lacking(self.left if isinstance(self.right.value, Baseline) else self.right.value, scaled)
        if absent:
            return Judged(left.label, absent, _measured(self.left, left.sample), wanted)
        return self._row(left, scaled, wanted)

    def _row(self, left: Named, right: float | Sample, wanted: str) -> Judged:
        verdict = lacking(self.left, left.sample) or compared(
            left.sample, self.sign, right, self.tolerance, name=str(self.left)
        )
        return Judged(left.label, verdict, _measured(self.left, left.sample), wanted)


class Both(NamedTuple):
    """Several comparisons that hold together, as in ``25% <= share <= 80%``."""

    parts: tuple[Compare, ...]

    def values(self) -> Iterator[Value]:
        """The values that they read of runs."""
        for part in self.parts:
            yield from part.values()

    def judge(self, place: Place) -> list[Judged]:
        """Judge each row by all of them."""
        rows = zip(*(part.judge(place) for part in self.parts), strict=True)
        return [
            Judged(
                row[0].label,
                together([judged.verdict for judged in row])._replace(measured=row[0].verdict.measured),
                row[0].measured,
                " and ".join(judged.wanted for judged in row),
            )
            for row in rows
        ]


class Either(NamedTuple):
    """Comparisons one of which has to hold, row by row: ``retrans_rate <= 1% or retrans_rate <= 2 x ...``."""

    parts: tuple[Compare | Both, ...]

    def values(self) -> Iterator[Value]:
        """The values that they read of runs."""
        for part in self.parts:
            yield from part.values()

    def judge(self, place: Place) -> list[Judged]:
        """Judge each row by the best of them."""
        judged = [part.judge(place) for part in self.parts]
        if len({len(rows) for rows in judged}) > 1:
            raise ValueError("the sides of or have different rows: wanted the same `of` on each")
        return [_best(row) for row in zip(*judged, strict=True)]


def _best(row: Sequence[Judged]) -> Judged:
    """The verdict of the part that is met best; one that cannot be judged does not keep another from holding."""
    order: list[Word] = [HOLDS, UNCLEAR, UNJUDGED, FAILS]
    best = min(row, key=lambda judged: order.index(judged.verdict.word))
    return best._replace(measured=row[0].measured, wanted=" or ".join(judged.wanted for judged in row))


class Narrow(NamedTuple):
    """A figure whose interval over repetitions is narrow."""

    left: Reading
    precision: Precision

    def values(self) -> Iterator[Value]:
        """The value that it reads."""
        yield self.left

    def judge(self, place: Place) -> list[Judged]:
        """Judge each row."""
        width = self.precision.width
        most = f"{100 * width:g} %" if self.precision.is_relative else shown(self.left, width)
        return [
            Judged(row.label, self.precision.judge(row.sample), _measured(self.left, row.sample), f"within ± {most}")
            for row in place.rows(self.left)
        ]


class Ranking(NamedTuple):
    """Flows from the highest figure to the lowest."""

    readings: tuple[Reading, ...]
    may_tie: frozenset[str]
    tolerance: Tolerance = Tolerance()

    def values(self) -> Iterator[Value]:
        """The values that it reads."""
        yield from self.readings

    def judge(self, place: Place) -> list[Judged]:
        """Judge neighbours against each other."""
        samples = []
        for reading in self.readings:
            rows = place.rows(reading)
            if len(rows) != 1:
                raise ValueError(f"{reading.of} is {len(rows)} rows: wanted a name that is one")
            samples.append(rows[0].sample)
        names = tuple(reading.of or "" for reading in self.readings)
        absent = next(
            (verdict for one, sample in zip(self.readings, samples) if (verdict := lacking(one, sample))), None
        )
        verdict = absent or Order(names, self.tolerance, may_tie=self.may_tie).judge(samples)
        signs = [" >= " if name in self.may_tie else " > " for name in names[:-1]] + [""]
        measured = ", ".join(
            f"{name} {shown(reading, sample.interval.mean)}"
            for name, reading, sample in zip(names, self.readings, samples)
        )
        return [Judged("", verdict, measured, "".join(f"{name}{sign}" for name, sign in zip(names, signs)))]


class Along(NamedTuple):
    """A figure that rises, falls or stays flat along a varied key."""

    left: Reading
    direction: Literal["increase", "decrease", "flat"]
    key: str
    tolerance: Tolerance = Tolerance()

    def values(self) -> Iterator[Value]:
        """The value that it reads."""
        yield self.left

    def judge(self, place: Place) -> list[Judged]:
        """Judge the line of each row."""
        lines: dict[str, list[tuple[float, Sample]]] = {}
        for x, there in place.along(self.key):
            for row in there.rows(self.left):
                lines.setdefault(row.label, []).append((x, row.sample))
        question = Trend(self.direction, self.tolerance, self.key)
        word = {"increase": "rises", "decrease": "falls", "flat": "is flat"}[self.direction]
        return [
            Judged(label, _trend(question, line, self.left), _line(self.left, line), f"{word} along {self.key}")
            for label, line in lines.items()
        ]


Sentence = Compare | Both | Either | Narrow | Ranking | Along


def lacking(value: Value, sample: Sample) -> Verdict | None:
    """The verdict where repetitions lack the value, with the reason that its figure has for that."""
    verdict = missing(sample, str(value))
    if verdict is None or not isinstance(value, Reading):
        return verdict
    return verdict._replace(reason=f"{verdict.reason}: {figure(value.figure).absent}")


def _trend(question: Trend, line: Sequence[tuple[float, Sample]], reading: Reading) -> Verdict:
    absent = next((verdict for _, sample in line if (verdict := lacking(reading, sample))), None)
    return absent or question.judge(line)


def _line(reading: Reading, line: Sequence[tuple[float, Sample]]) -> str:
    return " -> ".join(shown(reading, sample.interval.mean) for _, sample in line)


def shown(value: Value, amount: float) -> str:
    """A number of this value as people read it, with its unit."""
    if not math.isfinite(amount):
        return "none" if math.isnan(amount) else "never" if isinstance(value, (Delay, Stay)) else "infinite"
    if isinstance(value, Reading):
        known = figure(value.figure)
        return f"{number(known.scale * amount)}{f' {known.unit}' if known.unit else ''}"
    if isinstance(value, Variable):
        return _shown_variable(value, amount)
    if isinstance(value, Limit):
        return f"{number(100 * amount)} %"
    return f"{number(amount)} s" if isinstance(value, (Delay, Stay)) else number(amount)


def _shown_variable(value: Variable, amount: float) -> str:
    if value.word is not None:
        return value.word if amount == 1 else f"not {value.word}"
    if value.unit == "bit/s":
        return f"{number(amount / 1e6)} Mbit/s"
    return f"{number(amount)} s" if value.unit == "s" else number(amount)


def tolerance_text(value: Value, tolerance: Tolerance) -> str:
    """A tolerance as people read it."""
    if tolerance.share:
        return f"{100 * tolerance.share:g} %"
    return shown(value, tolerance.amount).replace(" %", " points")


def _measured(value: Value, sample: Sample) -> str:
    """The mean with its interval, where it has one."""
    interval = sample.interval
    if interval.half is None or interval.n < 2:
        return shown(value, interval.mean)
    return f"{shown(value, interval.mean)} ± {shown(value, interval.half).partition(' ')[0]}"


def _with_clauses(
    head: str,
    *,
    of: str | None = None,
    case: str | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
) -> str:
    clauses = [("of", of), ("with", case), ("from", _span(start_s)), ("to", _span(end_s))]
    return " ".join([head, *(f"{word} {value}" for word, value in clauses if value)])


def _span(time: float | None) -> str:
    return "" if time is None else f"{time:g}{'rtt' if isinstance(time, Rtts) else 's'}"
