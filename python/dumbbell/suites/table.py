"""Parts of a figure or table of a paper (its cases, how it is drawn, how its claims are read), and its runs as a table:
a metric of a line at the points of the figure, a value per repetition.

A case is one set-up: a scenario without lists, and its place on the entry's axes. An entry's cases are made for a
profile (`FULL`: the paper's times and repetitions; `FAST`: shorter and fewer; `QUICK`: a look). Two entries that make
the same scenario share its runs, because runs are kept by their content.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from dumbbell.results.statistic import Sample

from .changed import UNCHANGED, Changed
from .measure import Metric, is_of_a_flow, metric
from .places import Case, Place, SuiteError, matches

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dumbbell.results.load import Result

    from .claims import Text

#: A name in claims that is the smallest or largest of several lines.
EXPRESSION = re.compile(r"(min|max)\((.+)\)")


class Profile(NamedTuple):
    """Part of the paper's effort that is spent."""

    name: str
    over: tuple[str, ...] = ()
    """The profiles whose tables it has before its own."""

    @property
    def is_full(self) -> bool:
        """True if it has the paper's times and repetitions."""
        return self.name == "full"


FULL, FAST, QUICK = Profile("full"), Profile("fast"), Profile("quick", ("fast",))
PROFILES = {profile.name: profile for profile in (FULL, FAST, QUICK)}
"""The profiles by their names. What `QUICK` has is for a first look: `dumbbell demo`."""


class Column(NamedTuple):
    """A metric of the cells, as the table heads it."""

    metric: str
    title: str
    form: str = ".2f"


class Reading(NamedTuple):
    """A metric at one point of a figure."""

    at: Place
    values: tuple[float, ...]
    """One per repetition."""
    inside: str = ""
    """The case's own name, where the line is one of several in its runs: figures with two opponents have two such cases
    at one place."""

    @property
    def sample(self) -> Sample:
        """The repetitions for the judge; they have the same seeds in all cases, which their numbers stand for."""
        return Sample(self.values, tuple(range(len(self.values))))

    @property
    def mean(self) -> float:
        """Mean over the repetitions that have the figure; nan where none has."""
        return self.sample.interval.mean

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval of the mean; nan for one repetition."""
        return self.sample.interval.half_width


class Point(NamedTuple):
    """A case with the results of its repetitions."""

    series: str | None
    at: Place
    runs: tuple[Result, ...]


Line = Callable[["Table", str, Place], list[Reading]]
"""``(table, figure, place)`` gives the points of a line."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Cases, pictures and readings of one figure or table; its claims are in the suite's `claims.toml`."""

    cases: Callable[[Profile, tuple[str, ...]], Iterable[Case]]
    """Of a profile, with keys of all scenarios set as ``host.ecn=true``."""
    draw: Callable[[Table], Figure] | None
    """The figure as the paper draws it; None where the paper draws none."""
    panels: Sequence[Any] = ()
    """The panels of that figure, where they are data."""
    choices: Mapping[str, str] = field(default_factory=dict)
    """What the paper leaves open: what was chosen, and why."""
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    """Metrics of its suite, by the names that claims and pictures have for them."""
    readers: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """Readers of its suite: ``(table, claim, tables) -> readings``; for an ordering one list for each name in it."""
    names: Mapping[str, str | Line] = field(default_factory=dict)
    """Names in claims that are no line of the figure: the lines that they stand for, or how they are read."""
    flows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The [[flow]] tables of its names of flows."""
    also: tuple[str, ...] = ()
    """Other entries whose cases a trend of this one needs, because each panel of a figure is an entry."""
    needs: tuple[str, ...] = ()
    """Other entries that its claims read."""
    cells: Sequence[Column] = ()
    """The columns of a table of numbers, which is printed with the paper's beside ours (`cells.py`)."""
    unjudged: Mapping[str, str] = field(default_factory=dict)
    """Claims that cannot be judged, with the reason."""

    def reader(self, name: str) -> Callable[..., Any]:
        """A reader of the suite by its name. Raises SuiteError where there is none."""
        if name not in self.readers:
            raise SuiteError(f"there is no reader {name}: {', '.join(self.readers) or 'the suite has none'}")
        return self.readers[name]


class Tables(Protocol):
    """Owner of the runs of every entry: a book."""

    def settings(self, name: str) -> Iterable[Case]:
        """The cases of an entry as they would be run in full."""

    def table(self, name: str) -> Table:
        """The runs of an entry."""


class Table:
    """The points of an entry, run on a back end. What is read of runs at another scale is at the paper's: rates and
    amounts of bytes are divided by it, but not those of one flow where the number of flows was scaled.
    """

    def __init__(
        self,
        text: Text,
        entry: Entry,
        points: Sequence[Point],
        *,
        kind: str = "sim",
        changed: Changed = UNCHANGED,
        has_scaled_flows: bool = False,
        left_out: tuple[str, ...] = (),
    ) -> None:
        self.text, self.id, self.entry, self.points, self.kind = text, text.id, entry, list(points), kind
        self.changed, self.has_scaled_flows, self.left_out = changed, has_scaled_flows, left_out
        self.beside: Table | None = None
        """The same figure on another back end, drawn into the same axes."""
        self._known: dict[tuple[str, str | None, int], tuple[Any, ...]] = {}

    def of(self, points: Sequence[Point]) -> Table:
        """The same entry with these points."""
        return Table(
            self.text, self.entry, points,
            kind=self.kind, changed=self.changed, has_scaled_flows=self.has_scaled_flows, left_out=self.left_out,
        )  # fmt: skip

    @property
    def back_end(self) -> str:
        """Name of what ran it, without hosts."""
        return self.kind.partition(":")[0]

    @property
    def remarks(self) -> list[str]:
        """What was changed of the entry, and what the hosts of a back end decided instead of it, in words."""
        tables = [self, *([self.beside] if self.beside else [])]
        hosts = [f"on {table.back_end}: {remark}" for table in tables for remark in table.left_out]
        return [*([self.changed.told] if self.changed else []), *hosts]

    @property
    def scale(self) -> float:
        """What the rates are multiplied with."""
        return self.changed.scale

    def lines(self) -> list[str]:
        """Names of the lines, in the order of the cases, then of the flows within a run."""
        names: dict[str, None] = {}
        for point in self.points:
            if point.series is not None:
                names[point.series] = None
            else:
                names.update(dict.fromkeys(flow.name for flow in point.runs[0].plan.flows))
        return list(names)

    def points_of(self, label: str | None, at: Place | None = None) -> list[tuple[Point, str | None]]:
        """The points of a line, each with the flows' name to read there: None for all flows of its runs."""
        wanted = dict(at or {})
        case = wanted.pop("case_name", None)
        chosen = [
            point for point in self.points if (case is None or point.series == case) and matches(point.at, wanted)
        ]
        own = [point for point in chosen if point.series == label and label is not None]
        if own or label is None:
            return [(point, None) for point in own or chosen]
        return [(point, label) for point in chosen if any(flow.name == label for flow in point.runs[0].plan.flows)]

    def raw(
        self, name: str, label: str | None = None, at: Place | None = None
    ) -> list[tuple[Place, tuple[Any, ...], str]]:
        """A metric that may be a list of numbers for each run: (place, one value per repetition, name of the case).

        `at` may have the key ``case_name`` beside those of the axes.
        """
        read = self.metric(name).read
        values = []
        for point, flow in self.points_of(label, at):
            key = (name, flow, id(point))
            if key not in self._known:
                self._known[key] = tuple(read(run, flow) for run in point.runs)
            values.append((point.at, self._known[key], point.series or "" if flow else ""))
        return values

    def metric(self, name: str) -> Metric:
        """Metric by its name, at the paper's scale. Raises SuiteError for a name that nobody knows."""
        known = metric(name, self.entry.metrics)
        if known is None:
            raise SuiteError(f"{self.id}: there is no metric {name}")
        if self.scale == 1 or not known.grows_with_rate or (self.has_scaled_flows and is_of_a_flow(name)):
            return known

        def unscaled(result: Result, label: str | None) -> Any:
            value = known.read(result, label)
            return [number / self.scale for number in value] if isinstance(value, list) else value / self.scale

        return known._replace(read=unscaled)

    def having(self, name: str) -> Table:
        """The same entry with the runs that have a flow of this name."""
        return self.of([point for point in self.points if any(flow.name == name for flow in point.runs[0].plan.flows)])

    def read(self, metric: str, label: str | None = None, at: Place | None = None) -> list[Reading]:
        """A metric of a line, which may be ``min(A,B)`` or ``max(A,B)`` of lines, at each of its points."""
        named = self.entry.names.get(label or "", label)
        if callable(named):
            return named(self, metric, at or {})
        label = named
        expression = EXPRESSION.fullmatch(label or "")
        if expression:
            pick = {"min": min, "max": max}[expression[1]]
            return merged([self.read(metric, part.strip(), at) for part in expression[2].split(",")], pick)
        raw = self.raw(metric, label, at)
        if any(isinstance(value, list) for _, values, _ in raw for value in values):
            raise SuiteError(f"{metric} has several numbers for each run: read = {{ ends = true }} takes two of them")
        readings = [Reading(place, tuple(map(float, values)), inside) for place, values, inside in raw]
        if not readings:
            known = ", ".join(self.lines())
            raise SuiteError(
                f"no run has {label or 'a point'} at {dict(at or {})}; the lines of {self.id} are: {known}"
            )
        return readings


def merged(parts: Sequence[Sequence[Reading]], pick: Callable[[list[float]], float]) -> list[Reading]:
    """Readings of several lines as one: at each place that all have, the picked one by its mean, with its values."""
    readings = []
    for place, at_place in by_place(parts):
        wanted = pick([reading.mean for reading in at_place])
        readings.append(next((Reading(place, same.values) for same in at_place if same.mean == wanted), at_place[0]))
    return readings


def by_place(parts: Sequence[Sequence[Reading]]) -> list[tuple[Place, list[Reading]]]:
    """The readings of several lines at the places that all of them have, in the order of the first. Lines of one run
    are compared within it.
    """
    places = []
    for first in parts[0]:
        beside = [_beside(first, part) for part in parts[1:]]
        if all(beside):
            places.append((first.at, [first, *(reading for reading in beside if reading)]))
    return places


def _beside(first: Reading, part: Sequence[Reading]) -> Reading | None:
    same = [reading for reading in part if reading.at == first.at]
    return next(
        (reading for reading in same if reading.inside == first.inside or not (reading.inside and first.inside)), None
    )
