"""What a sweep answers: how its main figure, and the queue, go along the varied key, said by the judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import ResultError
from dumbbell.judge.rule import decide, has_interval
from dumbbell.judge.verdict import FAILS
from dumbbell.plots import cells
from dumbbell.results import figures
from dumbbell.results.catalogue import figure
from dumbbell.results.experiment import repetitions
from dumbbell.results.load import Results
from dumbbell.results.statistic import Sample, difference
from dumbbell.results.texts import change_text, mean_text

from .words import named

if TYPE_CHECKING:
    from dumbbell.plots.keys import VariedKey
    from dumbbell.results.catalogue import Measured

#: Figures that a sweep is about, the first that its runs have; of several tables of flows, their shares.
_LEADS = ("fct", "latency", "goodput")
#: Lines that are told one by one; of more, how many go which way.
_TOLD = 3


class _Point(NamedTuple):
    place: float
    value: Any
    sample: Sample


class _Line(NamedTuple):
    """A figure of one table of flows along the varied key, all other keys fixed; `case` names these."""

    who: str
    case: str
    fair: float | None
    points: list[_Point]


def lead(runs: Sequence[Measured]) -> str:
    """The name of the figure that these runs are about."""
    first = runs[0]
    rows = figures.rows(first, ["share", *_LEADS], by="table")
    if len(rows) > 1 and all("share" in row.values for row in rows):
        return "share"
    return next((name for name in _LEADS if any(name in row.values for row in rows)), "goodput")


def sentences(runs: Sequence[Measured]) -> list[str]:
    """What the sweep answers; nothing where no number varies."""
    results = Results([run.result for run in runs])
    try:
        keys = cells.varied_keys(results)
    except ResultError:
        return []
    along = cells.x_key(keys, None)
    if not along.numbers or along.is_scattered or len(along.values) < 2:
        return []
    name = lead(runs)
    cases = repetitions(
        figures.over_repetitions([row for run in runs for row in figures.rows(run, [name, "queue"], by="table")])
    )
    same = repetitions(results)
    first = {key: same[key][0] for key in cases}
    others = [key for key in keys.values() if key.key != along.key]
    lines: dict[tuple[Any, ...], _Line] = {}
    queues: dict[tuple[Any, ...], _Line] = {}
    for key, rows in cases.items():
        run = first[key]
        fixed = tuple(other.value_of(run) for other in others)
        case = ", ".join(other.phrase(value) for other, value in zip(others, fixed))
        value = along.value_of(run)
        total = sum(row.flows for row in rows)
        for row in rows:
            fair = row.flows / total if name == "share" else None
            if name in row.values:
                line = lines.setdefault((fixed, row.table), _Line(f"{named(row)}'s", case, fair, []))
                line.points.append(_Point(along.position(value), value, row.sample(name)))
        if "queue" in rows[0].values:
            line = queues.setdefault((fixed,), _Line("The", case, None, []))
            line.points.append(_Point(along.position(value), value, rows[0].sample("queue")))
    tables = sorted({table for _, table in lines})
    if name == "share":
        tables = tables[-1:] if len(tables) == 2 else tables[:_TOLD]
    told = [
        text for table in tables for text in _told([one for (_, t), one in lines.items() if t == table], name, along)
    ]
    return [*told, *(_told(list(queues.values()), "queue", along) if name != "queue" else [])]


def _told(lines: Sequence[_Line], name: str, along: VariedKey) -> list[str]:
    """Each line in a sentence where they are few, else how many go which way."""
    lines = [
        line._replace(points=sorted(line.points, key=lambda point: point.place))
        for line in lines
        if len(line.points) > 1
    ]
    if len(lines) <= _TOLD:
        return [_sentence(line, name, along) for line in lines]
    ways = [_way(line.points[0], line.points[-1]) for line in lines]
    parts = [f"{way} in {ways.count(way)}" for way in ("rises", "falls") if way in ways]
    still = ways.count("")
    parts += [f"shows no change in {still}"] if still else []
    means = [point.sample.interval for line in lines for point in line.points]
    low, high = (pick(means, key=lambda one: one.mean) for pick in (min, max))
    between = f"from {mean_text(name, low)} to {_amount(name, high)} over all"
    return [f"Of {len(lines)} lines along {along.title}, {_of(lines[0], name)} {', '.join(parts)}; {between}."]


def _sentence(line: _Line, name: str, along: VariedKey) -> str:
    start, end = line.points[0], line.points[-1]
    before, after = start.sample.interval, end.sample.interval
    span = f"From {along.phrase(start.value)} to {_place(along, end.value)}"
    apart, _ = difference(start.sample, end.sample)
    way = _way(start, end)
    values = f"from {mean_text(name, before)} to {_amount(name, after)}"
    if not has_interval(apart):
        why = " (one seed each)" if apart.n == 1 else f" ({apart.n} seeds each, too few for an interval)"
    else:
        why = f" (change {change_text(name, apart)}, 95 % interval)"
    what = f"{way} {values}{why}" if way else f"goes {values}{why}: no change shown"
    case = f"{line.case}: " if line.case else ""
    of = _of(line, name)
    said = f"{span} {of[:1].lower() + of[1:] if of.startswith('The') else of} {what}"
    return case + said + _peak(line, name, along) + (_equal(line, along) if way else "") + "."


def _of(line: _Line, name: str) -> str:
    long = figure(name).long
    plain = long.removesuffix(", mean")
    lower = plain if plain[:2].isupper() else plain[:1].lower() + plain[1:]
    return f"{line.who} {'mean ' if plain != long else ''}{lower}"


def _way(start: _Point, end: _Point) -> str:
    """``rises`` or ``falls``; empty where chance may be all there is."""
    apart, _ = difference(start.sample, end.sample)
    if decide(apart, 0.0) != FAILS:
        return ""
    return "rises" if apart.mean > 0 else "falls"


def _peak(line: _Line, name: str, along: VariedKey) -> str:
    """A place between the ends where the figure is clearly beyond both."""
    for pick, word, sign in ((max, "most", 1), (min, "least", -1)):
        top = pick(line.points, key=lambda point: point.sample.interval.mean)
        aparts = [difference(end.sample, top.sample)[0] for end in (line.points[0], line.points[-1])]
        if all(has_interval(apart) and sign * apart.mean > 0 and decide(apart, 0.0) == FAILS for apart in aparts):
            return f", the {word} {_amount(name, top.sample.interval)} at {_place(along, top.value)}"
    return ""


def _equal(line: _Line, along: VariedKey) -> str:
    """The place at which a share is the fair one, between the two points around it."""
    fair = line.fair
    if fair is None:
        return ""
    crossings = []
    for one, two in pairwise(line.points):
        a, b = (point.sample.interval.mean - fair for point in (one, two))
        if a * b < 0:
            part = a / (a - b)
            is_log = along.is_logarithmic and one.place > 0
            at = one.place * (two.place / one.place) ** part if is_log else one.place + (two.place - one.place) * part
            crossings.append(at)
    if len(crossings) != 1:
        return ""
    what = "equal" if math.isclose(fair, 0.5) else f"the fair share, {fair:.3g},"
    return f"; {what} at about {crossings[0]:.2g}{_unit(along)}"


def _amount(name: str, value: Any) -> str:
    unit = figure(name).unit
    return f"{mean_text(name, value)}{f' {unit}' if unit else ''}"


def _place(along: VariedKey, value: Any) -> str:
    return f"{along.text(value)}{_unit(along)}"


def _unit(along: VariedKey) -> str:
    return f" {along.unit}" if along.unit else ""
