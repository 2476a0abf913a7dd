"""Values of sentences, read from the runs at one combination of varied values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import ResultError, ScenarioError, wrong
from dumbbell.judge.sentence import Named
from dumbbell.judge.values import Count, Delay, Reading, Rtts, Stay, Value
from dumbbell.results import axis, figures, windows
from dumbbell.results.catalogue import Measured, figure
from dumbbell.results.happened import happened
from dumbbell.results.statistic import Sample
from dumbbell.results.stays import stays_of

from . import moments, of_flow

if TYPE_CHECKING:
    from dumbbell.judge.sentence import Place
    from dumbbell.judge.values import Timed
    from dumbbell.results.load import Result

    from .asked import Asked
    from .baselines import Baselines
    from .of_flow import OfFlow

_EACH = ("each", "lowest", "highest")

Cases = Mapping[tuple[str, ...], Sequence["Result"]]
"""The runs of the file, and of each case, by what is different in them."""


class At(NamedTuple):
    """The runs of a file at one combination of its varied values, as one expectation reads them.

    Attributes
    ----------
    asked
        The expectation.
    cases
        The runs of all combinations.
    vary
        The combination.
    baselines
        Figures that were kept.
    one
        The only flow that is read of a [[flow]] table, and the table's name; None: all of its flows.
    """

    asked: Asked
    cases: Cases
    vary: Mapping[str, Any]
    baselines: Baselines | None = None
    one: tuple[str, int] | None = None

    def rows(self, value: Value) -> list[Named]:
        """A value of each row; raises ScenarioError for flows that there are not."""
        try:
            if isinstance(value, Reading):
                return self._figure(value)
            if isinstance(value, (Count, Delay, Stay)):
                return [Named(value.of or "", self._of_events(value))]
            return self._each(value, lambda run, flow: of_flow.read(run, flow, value, _ends(self._part(value, run))))
        except ResultError as error:
            raise ScenarioError(f"expect[{self.asked.number}].that", str(error)) from None

    def span(self, value: Value) -> tuple[float, float] | None:
        """From when to when a value is about something, of the first flow that it is of; None where that never
        happened.
        """
        run = self._runs(None)[0]
        part = (0.0, math.inf) if isinstance(value, Delay) else _ends(self._part(value, run))
        try:
            return moments.span(run, self._flows(value.of, run)[0], value, part)
        except ResultError as error:
            raise ScenarioError(f"expect[{self.asked.number}].that", str(error)) from None

    def baseline(self, value: Value) -> list[Named]:
        """The same value of the baseline."""
        return self.baselines.read(self.asked, value, self.vary) if self.baselines else []

    def along(self, key: str) -> list[tuple[float, Place]]:
        """The places that differ in this key alone."""
        runs = [run for run in self.cases[()] if is_at(run.vary, _without(self.vary, key))]
        values = list({str(run.vary[key]): run.vary[key] for run in runs if key in run.vary}.values())
        if len(values) < 2:
            varied = list(dict.fromkeys(name for run in self.cases[()] for name in run.vary))
            raise wrong(f"expect[{self.asked.number}].that", key, f"a key that varies: {', '.join(varied)}", varied)
        numbers = axis.read(key, values)
        if numbers is None:
            raise ScenarioError(
                f"expect[{self.asked.number}].that", f"{key} has no order: {', '.join(map(str, values))}"
            )
        ordered = sorted(zip(numbers.numbers, values, strict=True), key=lambda pair: pair[0])
        return [(number, self._replace(vary={**self.vary, key: value})) for number, value in ordered]

    def _runs(self, case: str | None) -> list[Result]:
        """The repetitions of this place, in the file or in a case, which may fix a key that varies in the file."""
        runs = self.cases[self.asked.cases[case] if case else ()]
        return [
            run for run in runs if all(str(self.vary.get(key, value)) == str(value) for key, value in run.vary.items())
        ]

    def _figure(self, reading: Reading) -> list[Named]:
        runs = [self._measured(run, reading) for run in self._runs(reading.case)]
        of = reading.of
        by = figures.default_by(runs) if of is None or of in _EACH else "run"
        rows = figures.over_repetitions(
            [row for run in runs for row in figures.rows(run, [reading.figure], by=by, only=self._only(of, run.result))]
        )
        if by == "run" or figure(reading.figure).of_run:
            return [Named("" if of in (None, *_EACH) else str(of), rows[0].sample(reading.figure))]
        if of in ("lowest", "highest"):
            pick: Callable[..., float] = min if of == "lowest" else max
            return [Named(of, _picked([row.sample(reading.figure) for row in rows], pick))]
        return [Named(row.label, row.sample(reading.figure)) for row in rows]

    def _measured(self, run: Result, reading: Reading) -> Measured:
        (start, end), measure = self._part(reading, run), self.asked.table.measure
        if start is None and end is None and measure is not None:
            start, end = measure.from_ / 1e9, None if measure.to is None else measure.to / 1e9
        return figures.measured(run, start, end)

    def _part(self, value: Timed, run: Result) -> tuple[float | None, float | None]:
        """The part of the run that a value says, in seconds."""
        said = (value.start_s, value.end_s)
        if not any(isinstance(time, Rtts) for time in said):
            return said
        rtts = {run.plan.flows[i].rtt_ns for i in self._flows(value.of, run)}
        if len(rtts) > 1:
            raise ResultError(f"{value}: its flows have {len(rtts)} RTTs, wanted `of` for one, or times in seconds")
        start, end = (time * next(iter(rtts)) / 1e9 if isinstance(time, Rtts) else time for time in said)
        return start, end

    def _only(self, of: str | None, run: Result) -> str | None:
        if of is None or of == "all" or of in _EACH:
            return None
        return ",".join(map(str, self._flows(of, run)))

    def _flows(self, of: str | None, run: Result) -> list[int]:
        """The flows of a run that a name of the file means, also where a case gave them another controller."""
        flows = run.plan.flows
        if self.one is not None and of == self.one[0]:
            return [self.one[1]]
        if of is None or of in ("all", *_EACH):
            return list(range(len(flows)))
        if number := re.fullmatch(r"flow\[(\d+)\]", of):
            tables = {int(number[1])}
        else:
            base = self._runs(None)[0]
            tables = {base.plan.flows[i].table for i in windows.flows_of(base, of)}
        members = [i for i, flow in enumerate(flows) if flow.table in tables]
        if not members:
            raise ResultError(f"{of} has no flow, wanted one of: {', '.join(run.plan.groups)}")
        return members

    def _each(self, value: OfFlow, read_one: Callable[[Result, int], float | None]) -> list[Named]:
        """A value of each flow that the sentence means, by the function that reads it of one."""
        runs = self._runs(None)
        rows = []
        for flow in self._flows(value.of, runs[0]):
            read = tuple(read_one(run, flow) for run in runs)
            several = len(runs[0].plan.flows) > 1
            label = runs[0].plan.flows[flow].name if several else ""
            rows.append(Named(label, Sample(read, tuple(run.seed for run in runs))))
        return rows

    def _of_events(self, value: Count | Delay | Stay) -> Sample:
        runs = self._runs(None)
        return Sample(tuple(self._in_run(value, run) for run in runs), tuple(run.seed for run in runs))

    def _in_run(self, value: Count | Delay | Stay, run: Result) -> float | None:
        if not run.plan.record.events:
            raise ResultError(f"{run.folder.name}: it has no events, which {value} needs; [record] events = true")
        flows = self._flows(value.of, run)
        if isinstance(value, Count) and value.what == "event":
            return _events(run, None if value.of is None else flows, value, self._part(value, run))
        stays = {flow: list(stays_of(run, flow)) for flow in flows}
        state = value.kind if isinstance(value, Count) else value.state
        _check_states(run, stays, [state, *([value.after] if isinstance(value, Delay) else [])])
        if not any(stays.values()):
            return None
        if isinstance(value, Count):
            start, end = _ends(self._part(value, run))
            return float(sum(name == state and start <= at <= end for own in stays.values() for name, at, _ in own))
        if isinstance(value, Stay):
            start, end = _ends(self._part(value, run))
            own = [stay for own in stays.values() for stay in own if stay[0] == state]
            lengths = [until - since for _, since, until in own if since <= end and until >= start]
            if value.which == "first":
                return lengths[0] if lengths else None
            return (min if value.shortest else max)(lengths, default=None)
        return max(_delay(own, value) for own in stays.values())


def is_at(vary: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """True if a run has these values."""
    return all(str(vary.get(key)) == str(value) for key, value in wanted.items())


def _without(vary: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in vary.items() if name != key}


def _picked(samples: Sequence[Sample], pick: Callable[..., float]) -> Sample:
    """In each repetition the smallest or largest of the rows; None where one lacks it."""
    columns = zip(*(sample.values for sample in samples), strict=True)
    values = tuple(None if any(one is None for one in column) else pick(column) for column in columns)
    return Sample(values, samples[0].seeds)


def _ends(part: tuple[float | None, float | None]) -> tuple[float, float]:
    """The part of a run, its open ends included."""
    return part[0] or 0.0, math.inf if part[1] is None else part[1]


def _events(run: Result, flows: Sequence[int] | None, value: Count, part: tuple[float | None, float | None]) -> float:
    """How many events of this kind there are in the window: packets where the events count them."""
    found = happened(run, value.kind)
    return float(sum(found.inside(flow, *_ends(part)).packets.sum() for flow in ([None] if flows is None else flows)))


def _check_states(run: Result, stays: Mapping[int, Sequence[tuple[str, float, float]]], asked: Sequence[str]) -> None:
    """Raise ResultError for a state that no controller of these flows has."""
    from dumbbell import controllers

    known = {name for own in stays.values() for name, _, _ in own}
    for flow in stays:
        controller = controllers.known().get(run.plan.flows[flow].cca)
        known |= set(controller.states) if controller else set()
    for state in asked:
        if known and state not in known:
            raise ResultError(
                f"no controller of these flows has a state {state}, wanted one of: {', '.join(sorted(known))}"
            )


def _delay(stays: Sequence[tuple[str, float, float]], asked: Delay) -> float:
    """Time from the first change to the state that follows it; infinite where it never comes."""
    begins = asked.edge == "begins"
    first = next((since if begins else until for name, since, until in stays if name == asked.after), None)
    if first is None:
        return math.inf
    return next((since - first for name, since, _ in stays if name == asked.state and since >= first), math.inf)
