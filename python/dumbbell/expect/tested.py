"""Expectations from files to verdicts: plan, run through the store, judge file by file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.errors import ScenarioError
from dumbbell.scenario import source

from . import judged
from .asked import File, files_of, read

if TYPE_CHECKING:
    from dumbbell.runs.execute import Execution
    from dumbbell.runs.job import Job, Outcome
    from dumbbell.scenario.own import Own

    from .judged import Line


def planned(
    paths: Iterable[str | Path],
    *,
    overrides: tuple[str, ...] = (),
    own: Own | None = None,
    on: str = "sim",
    only: str | None = None,
    candidate: str | None = None,
) -> list[File]:
    """The files below these paths with the runs that they need; parameters as of `asked.read`. Raises ScenarioError,
    also where nothing is judged.
    """
    how: dict[str, Any] = {"overrides": overrides, "own": own, "on": on, "only": only, "candidate": candidate}
    files = [read(path, **how) for path in files_of(paths)]
    if not any(file.asked for file in files):
        why = f'has "{only}" in its name' if only is not None else f"is judged on {on}"
        raise ScenarioError("-k" if only is not None else "--on", f"no [[expect]] of these files {why}")
    return numbered(files)


def numbered(files: Sequence[File]) -> list[File]:
    """These files, each of their runs with a number of its own."""
    numbers = iter(range(sum(len(jobs) for file in files for jobs in file.jobs.values())))
    return [
        file._replace(jobs={case: [_numbered(job, next(numbers)) for job in jobs] for case, jobs in file.jobs.items()})
        for file in files
    ]


def _numbered(job: Job, number: int) -> Job:
    return job._replace(number=number, folder=Path(f"{number:06d}"))


def jobs(files: Sequence[File]) -> list[Job]:
    """Every run of these files, in order."""
    return [job for file in files for of_case in file.jobs.values() for job in of_case]


def lines(
    files: Sequence[File],
    going: Execution,
    *,
    save: str | None = None,
    tell: Callable[[Outcome], None] = lambda _: None,
    refused: Callable[[File, ScenarioError], None] | None = None,
) -> Iterator[tuple[File, list[Line]]]:
    """Each file with its lines, as soon as its runs have ended; `tell` hears of runs that failed, `refused` of a file
    whose sentences its runs cannot answer, which then has no lines. Without it that is a ScenarioError.
    """
    outcomes = iter(going.outcomes())
    for file in files:
        failed = []
        for _ in range(sum(map(len, file.jobs.values()))):
            outcome = next(outcomes, None)
            if outcome is None:
                failed.append("the disk is full")
                break
            if outcome.error:
                tell(outcome)
                failed.append(str(outcome.error))
        cases = {
            case: [] if failed else [going.result(going.jobs[job.number]) for job in of_case]
            for case, of_case in file.jobs.items()
        }
        try:
            lines_of = list(judged.of_file(file, cases, failed, save=save))
        except ScenarioError as error:
            if refused is None:
                raise source.placed(error, file.given.text, str(file.path)) from None
            refused(file, error)
            lines_of = []
        yield file, lines_of
