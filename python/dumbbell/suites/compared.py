"""Readings of claims: figures of lines at places, one against another where a claim says so (`claims.Read`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from math import nan
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from . import given
from .claims import Read
from .places import SuiteError
from .table import Line, Reading, by_place

if TYPE_CHECKING:
    from .claims import Claim
    from .places import Place
    from .table import Table, Tables


def _over(value: float, other: float) -> float:
    """Ratio; nan where there is nothing to divide by."""
    return value / other if other else nan


#: What two parts come to, by the words of `over`.
OVER: dict[str, Callable[[float, float], float]] = {
    "ratio": _over,
    "difference": lambda value, other: value - other,
    "gain": lambda value, other: 100 * (_over(value, other) - 1),
    "shortfall": lambda value, other: 100 * (1 - _over(value, other)),
}


def readings(claim: Claim, table: Table, book: Tables) -> list[Reading] | list[list[Reading]]:
    """Readings of a claim with `read`; of an ordering one list for each name in it."""
    read = claim.read
    assert read is not None
    if read.reader is not None:
        points: list[Reading] | list[list[Reading]] = table.entry.reader(read.reader)(table, claim, book)
        return points
    asked = Asked(claim.metric, claim.series, claim.at, book)
    if claim.kind != "ordering":
        return _read(read, asked, table)
    parts = read.parts or tuple({"lines": name} for name in claim.order)
    return [_read(read.part({**_whole(read), **part}), asked, table) for part in parts]


class Asked(NamedTuple):
    """Defaults of a `Read`."""

    figure: str
    lines: tuple[str, ...]
    at: Place
    book: Tables | None


def line_of(read: Read) -> Line:
    """A line that is none of the runs': what `read` reads, in the claim's and picture's place."""

    def line(table: Table, figure: str, at: Place) -> list[Reading]:
        return _read(read, Asked(figure, (), at, None), table)

    return line


def _whole(read: Read) -> dict[str, bool]:
    """What the parts of an ordering have from it, as it is each of them that is a whole."""
    return {"mean": read.mean}


def _read(read: Read, asked: Asked, table: Table) -> list[Reading]:
    if read.number is not None:
        return [Reading({}, (read.number,))]
    points = []
    names = read.lines or asked.lines or (None,)
    for line in names:
        if read.over:
            parts = [_source(read.part(part), line, asked, table) for part in read.parts]
            places = by_place(parts)
            if read.source == "settings" and not len(places) == len(parts[0]) == len(parts[1]):
                raise SuiteError(f"{len(parts[0])} places against {len(parts[1])}")
            own = [pair(at, OVER[read.over], *two) for at, two in places]
        else:
            own = _settled(read, _source(read, line, asked, table))
        is_named = len(names) > 1 and not read.of_mean
        points += [point._replace(inside=line or "") for point in own] if is_named else own
    return [averaged(points)] if read.mean else points


def _source(read: Read, line: str | None, asked: Asked, table: Table) -> list[Reading]:
    """The points of one line, in this entry or others."""
    line = read.lines[0] if len(read.lines) == 1 else line
    figure = read.figure or asked.figure
    if read.numbers:
        return [Reading({read.by or "": i}, (number,)) for i, number in enumerate(read.numbers, 1)]
    at = {
        key: value for key, value in (asked.at if read.at is None else read.at).items() if key not in ("from_x", "to_x")
    }
    suite = table.id.partition("/")[0]
    others = [f"{suite}/{name}" for name in read.entry]
    if read.source != "runs":
        cases = chain.from_iterable(asked.book.settings(name) for name in others or [table.id]) if asked.book else ()
        if read.source == "parameters":
            return [given.parameter(table, cases, figure, line)]
        return given.settings(cases, figure, line, at, read.by)
    tables = [asked.book.table(name) for name in others] if asked.book and others else [table]
    points = []
    for source in tables:
        own = source.having(read.having) if read.having else source
        points += _ends(own, figure, line, at) if read.ends else own.read(figure, line, at)
    return _by(read.by, points) if read.by else points


def _ends(table: Table, figure: str, line: str | None, at: Place) -> list[Reading]:
    """The smallest and the largest of the flows, or of a flow's phases, at each place."""
    return [
        Reading({**place, "of all": word}, tuple(pick(values) for values in runs))
        for place, runs, _ in table.raw(figure, line, at)
        for word, pick in (("smallest", min), ("largest", max))
    ]


def _by(axis: str, points: Sequence[Reading]) -> list[Reading]:
    """A point for each value of an axis: the mean of those that have it."""
    alike: dict[float, list[Reading]] = {}
    for point in points:
        if axis not in point.at:
            raise SuiteError(f"no axis {axis} at {dict(point.at)}")
        alike.setdefault(point.at[axis], []).append(point)
    if all(isinstance(value, (int, float)) for value in alike):
        alike = dict(sorted(alike.items()))
    return [Reading({axis: value}, averaged(own).values) for value, own in alike.items()]


def _settled(read: Read, points: list[Reading]) -> list[Reading]:
    """Readings of a line as a whole."""
    if read.of_mean:
        level = fmean(point.mean for point in points)
        return [Reading(point.at, tuple(value / level for value in point.values)) for point in points]
    if read.falls is not None:
        axis = read.by or ""
        least = points[0].mean * read.falls
        below = [point.at[axis] for point in points if point.mean <= least]
        return [Reading({}, (float(below[0]) if below else nan,))]
    return points


def pair(at: Place, combine: Callable[[float, float], float], first: Reading, other: Reading) -> Reading:
    """Two readings as one, repetition by repetition."""
    return Reading(at, tuple(combine(a, b) for a, b in zip(first.values, other.values, strict=True)))


def averaged(points: Sequence[Reading]) -> Reading:
    """The mean over these points, repetition by repetition."""
    return Reading({}, tuple(fmean(values) for values in zip(*(point.values for point in points), strict=True)))
