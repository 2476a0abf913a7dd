"""One side of the fidelity table: the figures of rows on a back end, whose runs the store keeps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dumbbell import backends
from dumbbell.backends.request import Request
from dumbbell.errors import EngineError, ScenarioError
from dumbbell.judge import versus
from dumbbell.plan import origin
from dumbbell.runs.execute import execute
from dumbbell.runs.job import Job

from .rows import Runs
from .table import rounded

if TYPE_CHECKING:
    from dumbbell.runs.execute import Watcher
    from dumbbell.runs.store import Store

    from .rows import Row


class Measured(NamedTuple):
    """Figures of a row by seed, and warnings; those of the scenario's own keys are left out."""

    runs: Runs
    warnings: list[str]


class Side(NamedTuple):
    """Settings of a side's runs: their store, how many go at once, and who hears of them."""

    store: Store
    workers: int | None = None
    progress: Watcher | None = None

    def figures(self, on: str, rows: Sequence[Row]) -> tuple[dict[str, Measured], dict[str, str]]:
        """Figures of the rows that this back end runs, and errors of the others, by the row's name. Raises EngineError
        where this machine lacks the back end.
        """
        failed: dict[str, str] = {}
        jobs: dict[str, list[Job]] = {}
        workers = self.workers
        for row in rows:
            requests = [Request(planned, on, row.text) for planned in row.plans]
            try:
                workers = backends.workers(on, requests, self.workers)
            except ScenarioError as refusal:
                failed[row.name] = str(refusal)
                continue
            if lacking := backends.lacking(requests[0]):
                raise EngineError(lacking)
            jobs[row.name] = [Job(0, Path(row.name), request) for request in requests]
        owners = [name for name, of_row in jobs.items() for _ in of_row]
        listed = [job._replace(number=i) for i, job in enumerate(job for of_row in jobs.values() for job in of_row)]
        for outcome in execute(listed, None, store=self.store, workers=workers, progress=self.progress):
            if outcome.error is not None:
                failed.setdefault(owners[outcome.job.number], str(outcome.error))
        return {name: self._read(of_row) for name, of_row in jobs.items() if name not in failed}, failed

    def _read(self, jobs: Sequence[Job]) -> Measured:
        results = self.store.results(jobs)
        texts = (text for run in results for text in run.warnings if not text.startswith(("path.", "flow[", "host.")))
        return Measured([rounded(versus.measured(run.summary)) for run in results], list(dict.fromkeys(texts)))


def described(on: str) -> str:
    """The back end as the page names it: the kernel with its version. Raises EngineError where there is none."""
    if not backends.kind(on).has_kernels:
        return on
    from dumbbell.uml import store

    kernel = store.find(on.partition(":")[2] or None)
    return f"Linux {kernel.release} ({kernel.package})"


def commit() -> str:
    """The commit of this program, short; with ``+`` where files differ from it."""
    whole = origin.git_revision() or "unknown"
    return whole[:7] + ("+" if whole.endswith("+") else "")
