"""Sweeps whose runs depend on the results of others: repetitions until intervals are small, and searches along an axis.

`explore.py` is the API; the command line uses `prepared` and `Study`, as it does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import DiskFullError, DumbbellError, ScenarioError
from dumbbell.judge import UNCLEAR, UNJUDGED, Bound, Precision, Word
from dumbbell.judge.grammar import refuse_doubted
from dumbbell.judge.rule import REPETITIONS
from dumbbell.judge.verdict import worst
from dumbbell.plan.view import PlanView, view
from dumbbell.results import figures
from dumbbell.results.catalogue import figure
from dumbbell.scenario.file import Given, Scenario
from dumbbell.scenario.own import Own

from . import search
from . import vary as varying
from .execute import Execution
from .job import Job, Outcome
from .jobs import AnyScenario, given, jobs_of, text_of
from .search import Bisection

if TYPE_CHECKING:
    from dumbbell.results.figures import Row
    from dumbbell.results.statistic import Interval

#: Repetitions at most, where intervals decide.
MOST = 30


class Choice(NamedTuple):
    """Choices of a sweep.

    Attributes
    ----------
    vary
        Keys with their values, besides the scenario's own lists.
    together
        Groups of keys whose values go in step.
    sample, seed
        How many points are drawn at random, of all that varies; None for the full grid.
    repetitions
        Of each combination; the scenario's own unless given.
    until, most
        Intervals that are to be small, and how many repetitions there may be for that.
    by, flows
        Which rows these intervals, and the conditions of a search, are of: as `show --by` and `--flows`.
    """

    vary: Sequence[varying.Wanted] = ()
    together: Sequence[Sequence[str]] = ()
    sample: int | None = None
    seed: int = 1
    repetitions: int | None = None
    until: Sequence[Precision] = ()
    most: int = MOST
    by: str | None = None
    flows: str | None = None


class Prepared(NamedTuple):
    """A scenario with all that it varies, and every run that it may need."""

    given: Given
    jobs: list[Job]


def prepared(
    scenario: AnyScenario,
    choice: Choice,
    *,
    overrides: tuple[str, ...] = (),
    own: Own | None = None,
    on: str = "sim",
) -> Prepared:
    """Plan a sweep; raises ScenarioError."""
    if choice.until and choice.repetitions:
        raise ScenarioError("--repetitions", "--until says how many there are: wanted one of them, or --max")
    text = text_of(scenario)
    count = choice.most if choice.until else choice.repetitions
    overrides = (*overrides, *([f"repetitions={count}"] if count else []))
    overrides = varying.overrides(
        text, overrides, choice.vary, together=choice.together, sample=choice.sample, seed=choice.seed
    )
    whole = given(scenario, overrides=overrides)
    return Prepared(whole, jobs_of([whole], Path(), overrides=overrides, own=own, on=on))


class Looked(NamedTuple):
    """One point of a search: the value, which of the conditions hold, and the figures that they are about.

    With several rows, the figure of the worst row; `flows` names it. `lacking` maps figures missing in some repetitions
    to (missing, total); conditions on them do not hold.
    """

    value: Any
    met: tuple[bool, ...]
    figures: dict[str, Interval]
    lacking: dict[str, tuple[int, int]]
    flows: dict[str, str]
    words: tuple[Word, ...]
    """The verdict on each condition."""

    @property
    def holds(self) -> bool:
        """True if all conditions hold."""
        return all(self.met)


class Found(NamedTuple):
    """The answer of a search for one combination of the other values.

    Attributes
    ----------
    vary
        That combination.
    value
        As written; None where the conditions nowhere hold together, or a run failed.
    looked
        Every point that was looked at, in ascending order.
    is_monotone
        Whether all of them agree with one change of each condition along the axis, which the search assumes.
    is_certain
        Whether the intervals at the answer and next to it leave out the bound; None where nothing was repeated.
    is_end
        Whether the answer is the end of the axis, beyond which the conditions may hold, too.
    is_reversed
        Whether they hold at that end and not at the other: the search for the other extreme finds where they change.
    error
        Why there is no answer, where a run failed.
    """

    vary: dict[str, Any]
    value: Any
    looked: list[Looked]
    is_monotone: bool
    is_certain: bool | None
    error: str = ""
    is_end: bool = False
    is_reversed: bool = False


class Study:
    """The runs of a sweep as its execution goes on.

    Parameters
    ----------
    going
        The execution, entered, whose jobs are all that may be needed.
    choice
        What is to be run.
    tell
        Called with each outcome.
    """

    def __init__(self, going: Execution, choice: Choice, *, tell: Callable[[Outcome], None] = lambda _: None) -> None:
        self._going, self._choice, self._tell = going, choice, tell
        self.finished: dict[int, Job] = {}
        self.errors: dict[str, DumbbellError] = {}
        self.is_full = False
        self.cases: dict[str, list[Job]] = {}
        refuse_doubted([goal.name for goal in choice.until], plans_of_several_links(going.jobs), "--until")
        for job in going.jobs:
            self.cases.setdefault(_case(job.planned.vary), []).append(job)

    def run(self, cases: Iterable[str] | None = None) -> None:
        """Run these combinations, all unless given, with as many repetitions as they need."""
        wanted = {
            case: min(len(self.cases[case]), REPETITIONS) if self._choice.until else len(self.cases[case])
            for case in (self.cases if cases is None else cases)
        }
        while wanted and not self.is_full:
            self._round([job for case, count in wanted.items() for job in self.cases[case][:count]])
            wanted = {
                case: most
                for case, count in wanted.items()
                if case not in self.errors and (most := self._more(case, count)) > count
            }

    def _round(self, jobs: Sequence[Job]) -> None:
        jobs = [job for job in jobs if job.number not in self.finished]
        for outcome in self._going.outcomes(jobs):
            if outcome.error is None:
                self.finished[outcome.job.number] = outcome.job
            else:
                self.errors[_case(outcome.job.planned.vary)] = outcome.error
                self.is_full |= isinstance(outcome.error, DiskFullError)
            self._tell(outcome)

    def _more(self, case: str, count: int) -> int:
        """Number of repetitions that a combination needs."""
        if not self._choice.until:
            return count
        rows = self.rows(case, [goal.name for goal in self._choice.until])
        return min(wanted_repetitions(self._choice.until, rows), len(self.cases[case]))

    def rows(self, case: str, names: Sequence[str]) -> list[Row]:
        """The figures of a combination over its repetitions that are finished."""
        runs = [figures.measured(self._going.result(job)) for job in self.cases[case] if job.number in self.finished]
        by = self._choice.by or figures.default_by(runs)
        rows = [row for run in runs for row in figures.rows(run, names, by=by, only=self._choice.flows)]
        return figures.over_repetitions(rows)

    def find(self, scenario: Scenario, key: str, conditions: Sequence[Bound], *, largest: bool) -> list[Found]:
        """For each combination of the other values the smallest (or largest) value of `key` at which the conditions
        hold, in every row.
        """
        refuse_doubted([item.name for item in conditions], plans_of_several_links(self._going.jobs), "--where")
        along = search.ordered(scenario, key)
        values = along.values[::-1] if largest else along.values
        combinations: dict[str, dict[int, str]] = {}
        for case, jobs in self.cases.items():
            vary = jobs[0].planned.vary
            others = _case({name: value for name, value in vary.items() if name not in along.axis.keys})
            combinations.setdefault(others, {})[values.index(vary[key])] = case
        going = {others: Bisection(len(points)) for others, points in combinations.items()}
        looked: dict[str, dict[int, Looked]] = {others: {} for others in combinations}
        while not self.is_full:
            asked = {
                others: i
                for others, item in going.items()
                if not self._failed(combinations[others]) and (i := item.next()) is not None
            }
            if not asked:
                break
            self.run(combinations[others][i] for others, i in asked.items())
            for others, i in asked.items():
                case = combinations[others][i]
                if case not in self.errors and not self.is_full:
                    looked[others][i] = self._looked(
                        values[i], self.rows(case, [item.name for item in conditions]), conditions
                    )
                    going[others].told[i] = looked[others][i].met
        return [
            _found(json.loads(others), item, looked[others], self._failed(combinations[others]), largest=largest)
            for others, item in going.items()
        ]

    def _failed(self, points: Mapping[int, str]) -> str:
        return next((str(self.errors[case]) for case in points.values() if case in self.errors), "")

    @staticmethod
    def _looked(value: Any, rows: Sequence[Row], conditions: Sequence[Bound]) -> Looked:
        met, words, known, lacking, flows = [], [], {}, {}, {}
        for condition in conditions:
            judged = [(condition.judge(row.sample(condition.name)), row) for row in rows]
            met.append(bool(rows) and all(verdict.is_met for verdict, _ in judged))
            words.append(worst(verdict.word for verdict, _ in judged))
            most, n = max(((row.lacking(condition.name), row.n) for row in rows), default=(0, 0))
            if most:
                lacking[condition.name] = (most, n)
            having = [
                (condition.distance(row.values[condition.name].mean), row)
                for row in rows
                if condition.name in row.values
            ]
            if having:
                row = min(having, key=lambda each: each[0])[1]
                known[condition.name] = row.values[condition.name]
                if len(having) > 1 and not figure(condition.name).of_run:
                    flows[condition.name] = row.name
        return Looked(value, tuple(met), known, lacking, flows, tuple(words))


def wanted_repetitions(goals: Sequence[Precision], rows: Sequence[Row]) -> int:
    """Number of repetitions that rows of one combination need: more than they have for a figure that no row has."""
    return max(
        max(goal.wanted(row.sample(goal.name)) for row in rows)
        if any(goal.name in row.samples for row in rows)
        else 2 * max(row.n for row in rows)
        for goal in goals
    )


def missed(goals: Sequence[Precision], rows: Sequence[Row]) -> list[str]:
    """Say which figures of a combination still have too wide an interval, and why."""
    n = max(row.n for row in rows)
    return [_why(goal, rows) for goal in goals if wanted_repetitions([goal], rows) > n]


def _why(goal: Precision, rows: Sequence[Row]) -> str:
    samples = [row.sample(goal.name) for row in rows if goal.name in row.samples] or [rows[0].sample(goal.name)]
    fewest_first = sorted(samples, key=lambda sample: len(sample.known))
    return next(reason for sample in fewest_first if (reason := goal.judge(sample).reason))


def _found(
    vary: dict[str, Any],
    bisection: Bisection,
    looked: Mapping[int, Looked],
    error: str,
    *,
    largest: bool,
) -> Found:
    ordered = [looked[i] for i in sorted(looked, reverse=largest)]
    if error or bisection.first is None:
        return Found(vary, None, ordered, bisection.is_monotone, None, error)
    beside = [looked[i] for i in (bisection.first, bisection.first - 1) if i in looked]
    words = {word for point in beside for word in point.words} - {UNJUDGED}
    is_repeated = all(interval.n > 1 for point in beside for interval in point.figures.values())
    is_certain = UNCLEAR not in words if is_repeated else None
    return Found(
        vary,
        looked[bisection.first].value,
        ordered,
        bisection.is_monotone,
        is_certain,
        is_end=bisection.is_end,
        is_reversed=bisection.is_reversed,
    )


def plans_of_several_links(jobs: Iterable[Job]) -> Iterator[PlanView]:
    """The plans of these jobs that have several links."""
    plans = (job.planned.plan for job in jobs)
    return (view(plan) for plan in plans if len(plan["links"]) + len(plan["ack_links"]) > 1)


def _case(vary: Mapping[str, Any]) -> str:
    """A combination of values as a key of dictionaries."""
    return json.dumps(vary, default=str)
