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

from .questions import Order, Precision, Sign, Trend, compared, missing, together
from .rule import Tolerance
from .values import Baseline, Reading, Scaled, Value, shown
from .verdict import FAILS, HOLDS, UNCLEAR, UNJUDGED, Verdict, Word


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
        if isinstance(self.right, Scaled) and not isinstance(self.right.value, Baseline):
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
        factor, of = self.right.factor * self.right.unit, right.sample
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
