"""Runs the entries of the papers, each run once: figures that ask for the same scenario share it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dumbbell import backends
from dumbbell.errors import ScenarioError, wrong
from dumbbell.runs.execute import execute
from dumbbell.suites import entry_of, text_of

from . import of_hosts
from .changed import UNCHANGED, Changed, has_scalable_flows
from .judge import Verdict, judge, not_run
from .places import SuiteError
from .table import FULL, Point, Table

if TYPE_CHECKING:
    from dumbbell.runs.execute import Watcher
    from dumbbell.runs.job import Job
    from dumbbell.runs.store import Store
    from dumbbell.scenario.own import Own

    from .claims import Claim, Text
    from .places import Case
    from .table import Profile


class Judged(NamedTuple):
    """An entry with its verdicts."""

    text: Text
    table: Table
    verdicts: tuple[Verdict, ...]


class Book:
    """The papers' runs at one profile and back end.

    Parameters
    ----------
    store
        Where runs are kept.
    workers
        How many go at once; None: as many as there are cores.
    changed
        What the reader changes of the entries. Tables divide what they read by its scale again.
    """

    def __init__(
        self,
        store: Store,
        profile: Profile,
        *,
        on: str = "sim",
        workers: int | None = None,
        changed: Changed = UNCHANGED,
    ) -> None:
        self.store, self.profile, self.on, self.workers, self.changed = store, profile, on, workers, changed
        self._asked: list[str] = []
        self._with_scaled_flows: set[str] = set()
        self._tables: dict[str, Table] = {}
        self._planned: dict[str, list[tuple[Case, list[Job]]]] = {}
        self._left_out: dict[str, tuple[str, ...]] = {}
        self._of_others: dict[frozenset[str], Own] = {}

    def needed(self, names: Iterable[str]) -> list[str]:
        """These entries, and those whose runs their claims read too."""
        all_names: dict[str, None] = {}
        self._asked = list(names)
        for name in self._asked:
            all_names[name] = None
            entry = entry_of(name)
            all_names.update(dict.fromkeys((*entry.also, *entry.needs)))
        return list(all_names)

    def jobs(self, names: Iterable[str]) -> list[Job]:
        """The runs of these entries that differ from each other."""
        jobs: dict[str, Job] = {}
        for name in names:
            for _, own in self._cases(name):
                for job in own:
                    jobs.setdefault(self.store.key(job.request), job)
        return [job._replace(number=i) for i, job in enumerate(jobs.values())]

    def run(self, jobs: Sequence[Job], progress: Watcher | None = None) -> None:
        """Run what is missing of these; raises the error of the first that fails."""
        workers = backends.workers(self.on, (job.request for job in jobs), self.workers)
        for outcome in execute(jobs, None, store=self.store, workers=workers, progress=progress):
            if outcome.error is not None:
                raise outcome.error

    def table(self, name: str) -> Table:
        """The runs of an entry; those that are missing are run."""
        if name not in self._tables:
            points = []
            for case, jobs in self._cases(name):
                self.run(jobs)
                points.append(Point(case.series, case.at, tuple(self.store.results(jobs))))
            self._tables[name] = Table(
                text_of(name), entry_of(name), points,
                kind=self.on, changed=self.changed, has_scaled_flows=name in self._with_scaled_flows,
                left_out=self._left_out[name],
            )  # fmt: skip
        return self._tables[name]

    def settings(self, name: str) -> Iterable[Case]:
        """The cases of an entry as they would be run in full."""
        return entry_of(name).cases(FULL, self.changed.overrides)

    def forget(self, name: str) -> None:
        """Let go of what was read of an entry's runs; figures of other entries may read them again."""
        self._tables.pop(name, None)
        self._planned.pop(name, None)

    def judged(self, name: str) -> Judged:
        """The verdicts on an entry's claims."""
        table = self.table(name)
        entry = entry_of(name)
        points = [*table.points, *(point for other in entry.also for point in self.table(other).points)]
        wide = table.of(points)
        return Judged(text_of(name), table, tuple(self._verdict(claim, table, wide) for claim in text_of(name).claims))

    def _verdict(self, claim: Claim, table: Table, wide: Table) -> Verdict:
        """The verdict on a claim. Raises ScenarioError that names it where it does not fit its entry."""
        try:
            return judge(claim, table, wide, self)
        except SuiteError as error:
            if self.changed.at:
                return not_run(claim, table)
            raise error.under(f"{table.id}#{claim.id}") from None

    def _cases(self, name: str) -> list[tuple[Case, list[Job]]]:
        """The cases of an entry with their runs; planned once, because that costs as much as a short run."""
        if name not in self._planned:
            entry = entry_of(name)
            cases = list(entry.cases(self.profile, self.changed.overrides))
            if self.changed.scale != 1:
                panels = [case for other in entry.also for case in entry_of(other).cases(self.profile, ())]
                if has_scalable_flows([*cases, *panels], self.changed.scale):
                    self._with_scaled_flows.add(name)
            chosen = self.changed.chosen(name, cases, is_asked=not self._asked or name in self._asked)
            scaled_cases = [self.changed.scaled(case, with_flows=name in self._with_scaled_flows) for case in chosen]
            remarks: dict[str, None] = {}
            self._planned[name] = []
            for case in scaled_cases:
                scenario, left_out = of_hosts.adapted(case.scenario, self.on, self.changed.overrides)
                remarks.update(dict.fromkeys(left_out))
                own = case._replace(scenario=scenario)
                self._planned[name].append((own, self._jobs_of(name, own)))
            self._left_out[name] = tuple(remarks)
        return self._planned[name]

    def _jobs_of(self, name: str, case: Case) -> list[Job]:
        from pathlib import Path

        from dumbbell.runs.jobs import jobs_of
        from dumbbell.scenario.file import Given, from_dict
        from dumbbell.scenario.toml_text import to_toml

        try:
            scenario = from_dict({"name": "paper", **case.scenario})
            own = self._own(flow.cca for flow in scenario.flow)
            jobs = jobs_of([Given(scenario, to_toml(scenario))], Path(), own=own, on=self.on)
        except ScenarioError as error:
            if self.changed.scale == 1:
                raise
            first = error.errors[0]
            raise wrong(
                "--scale", self.changed.scale, f"one that {name} can be run at ({first.key}: {first.problem})"
            ) from None
        if any(job.planned.vary for job in jobs):
            raise SuiteError(f"{name}: a case has a list")
        return jobs

    def _own(self, controllers: Iterable[str]) -> Own:
        """Those of these controllers that others have trained; compiled once."""
        from dumbbell.policy.others import VARIABLES
        from dumbbell.scenario.own import Own

        names = frozenset(VARIABLES.keys() & set(controllers))
        if names not in self._of_others:
            self._of_others[names] = Own.of_others(names)
        return self._of_others[names]
