"""A genome: all genes of a search, as coordinates from 0 to 1 for an optimiser, and as changes for people."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np

from dumbbell.errors import ScenarioError

from .fields import index, seconds
from .genes import AT, Change, Gene, Tables, gene, name_of

#: Coordinates that an optimiser may have.
SIZE_MAX = 200
#: The place of an event that does not happen, behind the last one that may.
_LATE = 1.1
#: Digits of a place.
_DIGITS = 6

Changes = tuple[Change, ...]


class Genome:
    """The genes of the texts of ``--within``; raises ScenarioError."""

    def __init__(self, texts: Sequence[str], duration_s: float) -> None:
        if not texts:
            raise ScenarioError(AT, "missing, wanted what may change, such as outages or path.rtt=10ms..100ms")
        self.genes: list[Gene] = [gene(text, duration_s) for text in texts]
        _refuse_doubles(self.genes)
        #: Of each coordinate how many values it has; 0: all from 0 to 1.
        self.steps = [step for one in self.genes for step in _steps(one)]
        #: The coordinates of each event, key or number of events, which mean something together.
        self.blocks = _blocks(self.genes)
        if len(self.steps) > SIZE_MAX:
            raise ScenarioError(AT, f"{len(self.steps)} values to draw, wanted at most {SIZE_MAX}: fewer events")

    def drawn(self, random: np.random.Generator) -> np.ndarray:
        """Coordinates at random, all alike."""
        return np.array([random.integers(step) / (step - 1) if step > 1 else random.random() for step in self.steps])

    def nearest(self, parts: np.ndarray) -> np.ndarray:
        """The coordinates next to these numbers, a row for each candidate: inside, and one of the values where there
        are few.
        """
        steps = np.array(self.steps)
        inside = np.clip(parts, 0.0, 1.0)
        return np.asarray(np.where(steps > 1, np.rint(inside * (steps - 1)) / np.maximum(steps - 1, 1), inside))

    def places(self, at: np.ndarray) -> np.ndarray:
        """What candidates, a row for each, come to, from 0 to 1 in each column: the values as they are written, those
        of events in the order of time. Rows of candidates that change the same are equal.
        """
        columns: list[np.ndarray] = []
        taken = 0
        for one in self.genes:
            count = np.full(len(at), one.most)
            if one.most > one.least:
                more = np.rint(at[:, taken] * (one.most - one.least))
                columns.append(more[:, None] / (one.most - one.least))
                count, taken = one.least + more.astype(int), taken + 1
            events = np.empty((len(at), one.most, len(one.fields)))
            for event in range(one.most):
                for number, field in enumerate(one.fields):
                    events[:, event, number] = field.places(at[:, taken : taken + len(field.steps)])
                    taken += len(field.steps)
            # One that is not there is as one that comes too late.
            events[np.arange(one.most) >= count[:, None]] = [_LATE] + [0.5] * (len(one.fields) - 1)
            order = np.lexsort([events[:, :, number] for number in reversed(range(len(one.fields)))], axis=1)
            ordered = np.take_along_axis(events, order[:, :, None], axis=1)
            columns += [ordered[:, event, :] for event in range(one.most)]
        return np.hstack(columns).round(_DIGITS)

    def changes(self, at: np.ndarray) -> Changes:
        """The changes at these coordinates."""
        rest = iter([float(x) for x in at])
        made: list[Change] = []
        for number, one in enumerate(self.genes):
            least, most = one.least, one.most
            count = least + index(next(rest), most - least + 1) if most > least else most
            for event in range(most):
                values = tuple(field.read(tuple(islice(rest, len(field.steps)))) for field in one.fields)
                if event < count:
                    made.append(Change(number, values))
        return tuple(made)

    def tables(self, base: Tables, changes: Changes) -> Tables:
        """The tables of a scenario with these changes; raises ScenarioError for those that contradict each other."""
        tables: dict[str, Any] = copy.deepcopy(base)
        for number in sorted(range(len(self.genes)), key=lambda number: self.genes[number].rank):
            own = [change for change in changes if change.gene == number]
            if own:
                self.genes[number].write(tables, own)
        return tables

    def last_s(self, changes: Changes) -> Fraction:
        """When the last change is over, in seconds; 0 where none has a time."""
        ends = [Fraction(0)]
        for change in changes:
            times = dict(zip((field.name for field in self.genes[change.gene].fields), change.values))
            if "at" in times:
                ends.append(seconds(times["at"]) + seconds(times.get("length", "0s")))
        return max(ends)

    def said(self, changes: Changes) -> str:
        """The changes in a line, for people."""
        words = []
        for change in changes:
            one = self.genes[change.gene]
            name = name_of(one.text)
            values = " ".join(f"{field.name} {value}" for field, value in zip(one.fields, change.values))
            words.append(f"{name} {change.values[0]}" if name == one.fields[0].name else f"{name}: {values}")
        return "; ".join(words) or "nothing"


def _refuse_doubles(genes: Sequence[Gene]) -> None:
    """Raise ScenarioError for two genes that write the same."""
    seen: dict[str, str] = {}
    for one in genes:
        if one.writes in seen:
            raise ScenarioError(AT, f"{seen[one.writes]} and {one.text} both change {one.writes}, wanted one of them")
        seen[one.writes] = one.text


def _steps(one: Gene) -> list[int]:
    own = [step for field in one.fields for step in field.steps]
    count = [one.most - one.least + 1] if one.most > one.least else []
    return [*count, *own * one.most]


def _blocks(genes: Sequence[Gene]) -> list[list[int]]:
    sizes: list[int] = []
    for one in genes:
        sizes += [1] if one.most > one.least else []
        sizes += [sum(len(field.steps) for field in one.fields)] * one.most
    numbers = iter(range(sum(sizes)))
    return [list(islice(numbers, size)) for size in sizes]
