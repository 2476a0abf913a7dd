"""Many runs: grids, repetitions, resume, and the folder that holds them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell import backends
from dumbbell.backends.folder import BESIDE, system_error
from dumbbell.backends.request import Request
from dumbbell.errors import DiskFullError, EngineError, ScenarioError
from dumbbell.scenario import units
from dumbbell.scenario.file import Given, Scenario, from_dict, from_file
from dumbbell.scenario.own import Own
from dumbbell.scenario.source import placed

from . import interrupts, plan
from .job import Job, Observe, Outcome
from .place import SWEEP, Place
from .pool import Keep, Make, Pool, whole

if TYPE_CHECKING:
    from dumbbell.results.load import Results

    from .progress import Progress


def jobs_of(
    scenarios: Iterable[Given],
    out: Path,
    *,
    overrides: tuple[str, ...] = (),
    pcap: bool = False,
    traffic: str | None = None,
    own: Own | None = None,
    on: str = "sim",
    accept: Callable[[plan.Planned], None] | None = None,
) -> list[Job]:
    """Every run of these scenarios, in order, each with its folder below `out`; `traffic` is for those that leave
    `host.traffic` open. `accept` gets each run before the next one is planned; what it raises ends the planning.
    """
    jobs: list[Job] = []
    names: set[str] = set()
    own, once = own or Own(), backends.kind(on).is_exact
    for scenario, text, source in scenarios:
        if scenario.name in names:
            raise ScenarioError("name", f'"{scenario.name}" stands in two scenarios, wanted a name of its own in each')
        names.add(scenario.name)
        try:
            runs = []
            for planned in plan.each(scenario, own.known() if own else None, once=once):
                if accept:
                    accept(planned)
                runs.append(planned)
        except ScenarioError as error:
            raise placed(error, text, source, overrides) from None
        for planned in runs:
            if pcap:
                planned.plan["record"] = {**planned.plan["record"], "pcap": True}
            host = planned.plan["host"]
            if traffic and host["traffic"] == "auto":
                planned.plan["host"] = {**host, "traffic": traffic}
            request = Request(planned, on, text, overrides, own)
            jobs.append(Job(len(jobs), out / folder_name(planned, scenario.repetitions), request))
    if len({job.folder for job in jobs}) < len(jobs):
        jobs = [job._replace(folder=out / f"{job.planned.name}_{job.number:05d}") for job in jobs]
    return jobs


def folder_name(planned: plan.Planned, repetitions: int = 1) -> str:
    """Name of a run's folder: ``name_buffer=1bdp_flow0.cca=bbr_r0``."""
    parts = [planned.name]
    for path, value in planned.vary.items():
        key = path.removeprefix("path.").replace("[", "").replace("]", "")
        word = units.value_text(value)
        parts.append(f"{key}={''.join(c if c.isalnum() or c in '.-+%=' else '-' for c in word)}")
    if repetitions > 1:
        parts.append(f"r{planned.repetition}")
    name = "_".join(parts)
    return name if len(name.encode()) <= 180 else f"{planned.name}_{hash_text(name)}"


def hash_text(text: str) -> str:
    """A short stable hash (FNV-1a, 64 bit) for names that are too long for a folder."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & (2**64 - 1)
    return f"{value:016x}"


#: From here on a sweep makes up for what its preparations take.
_MANY = 16


class Sweep:
    """Runs, and the place that they go to, as a context: it is held while this lasts, and holds whole folders only,
    whatever ends it.

    Attributes
    ----------
    out
        The folder, once the context is entered.
    jobs
        The runs, each with its folder below `out`.
    """

    def __init__(
        self,
        planned: list[Job],
        place: Place,
        *,
        workers: int | None = None,
        make: Make = backends.run,
        keep: Keep = whole,
        may_fork: bool = False,
    ) -> None:
        self.jobs, self.place = planned, place
        self.out, self._keep = place.path, keep
        self._pool = Pool(workers, make, keep=keep, may_fork=may_fork)
        self._leave = ExitStack()

    def __enter__(self) -> Sweep:
        self._leave.enter_context(interrupts.Raised())
        try:
            with interrupts.Held():
                self.out = self._leave.enter_context(self.place)
                self._leave.callback(self._pool.end)
        except BaseException:
            self._leave.close()
            raise
        self.jobs = [job._replace(folder=self.out / job.folder) for job in self.jobs]
        return self

    def _list_runs(self, jobs: Sequence[Job]) -> None:
        """Write which runs are to be there, those of a resumed sweep included; once one of them is, so that an empty
        folder stays empty. Raises EngineError where the disk does not take the list.
        """
        path = self.out / SWEEP
        try:
            before = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            before = []
        names = list(dict.fromkeys([*before, *(job.folder.name for job in jobs)]))
        if len(names) == 1:
            return
        beside = path.with_name(f"{BESIDE}{os.getpid()}-{SWEEP}")
        try:
            beside.write_text(json.dumps({"runs": names}, indent=1) + "\n", encoding="utf-8")
            beside.rename(path)
        except OSError as error:
            beside.unlink(missing_ok=True)
            raise system_error(str(path), error) from None

    def __exit__(self, *_: object) -> None:
        with interrupts.Held():
            self._leave.close()

    def outcomes(
        self,
        observe: Observe | None = None,
        note: Callable[[str], None] = lambda _: None,
        jobs: Sequence[Job] | None = None,
    ) -> Iterator[Outcome]:
        """Run what is missing and yield every outcome in order; a full disk is the last one. `jobs` are some of this
        sweep's, all unless given.

        `note` is called with a line about each folder that was found damaged and is run again. Raises
        ResultError where a folder holds something else.
        """
        jobs, is_listed = self.jobs if jobs is None else jobs, False
        there = {}
        if self.place.resume:
            from .resume import finished

            there = {
                job.number: Outcome(job, self._keep(found, job.folder), None, was_there=True)
                for job in jobs
                if (found := finished(job, note))
            }
        todo = [job for job in jobs if job.number not in there]
        if len(todo) > _MANY:
            import hashlib  # noqa: F401 - OpenSSL takes longer to load than Python's own SHA-256, and is quicker then
        running = self._pool.outcomes(todo, observe)
        for job in jobs:
            outcome = there[job.number] if job.number in there else next(running)
            if outcome.manifest and not is_listed:
                is_listed = True
                try:
                    self._list_runs(jobs)
                except EngineError as error:
                    outcome = outcome._replace(error=error)
            yield outcome
            if isinstance(outcome.error, DiskFullError):
                return


def run(
    scenario: Scenario | str | Path | Mapping[str, object],
    out: str | Path | None = None,
    jobs: int | None = None,
    *,
    resume: bool = False,
    force: bool = False,
    controllers: Mapping[str, type] | None = None,
    cca: Iterable[str | Path] = (),
    on: str = "sim",
    progress: bool | None = None,
) -> Results:
    """Run a scenario, with all its varied values and repetitions, and return the results in order.

    Parameters
    ----------
    scenario
        A `Scenario`, the path of a scenario file, or the same tables as nested dictionaries.
    out
        Folder to write to, empty or new unless `resume` or `force`. Without it the results live in a temporary folder,
        which goes with the last of the objects returned.
    jobs
        How many runs go at once; as many as there are cores unless given. Results do not depend on it.
    resume
        Keep finished runs of the same plan in `out`, and run only what is missing or damaged.
    force
        Replace results in `out`; anything else in it is an error.
    controllers
        Controllers of one's own by name: classes with ``on_ack(sample) -> (cwnd, pacing_rate)``
        (docs/own-controller.md). An exception in one of them ends the run with ControllerError.
    cca
        Files with controllers of one's own (.c or .py), as ``dumbbell run --cca`` takes them.
    on
        Back end: ``sim``, or ``linux`` for real hosts (docs/linux.md), whose runs go one by one unless `jobs` is given.
    progress
        Whether to show how far the runs are: below the cell of a notebook, else on stderr. Unless given, in notebooks
        only.

    Raises
    ------
    ScenarioError
        The scenario cannot be run as written.
    ResultError
        `out` holds something else, or another command writes to it.
    ControllerError
        A controller of one's own in Python raised an exception.
    EngineError
        A run failed; the finished ones stay in `out`.
    """
    if isinstance(scenario, (str, Path)):
        given = from_file(scenario)
    else:
        from dumbbell.scenario.toml_text import to_toml

        made = scenario if isinstance(scenario, Scenario) else from_dict(scenario)
        given = Given(made, to_toml(made))
    planned = jobs_of([given], Path(), own=Own.load(cca, controllers, on=[on]), on=on)
    workers = backends.workers(on, (job.request for job in planned), jobs)
    if out is not None:
        return _run(planned, Place(Path(out), resume=resume, force=force), workers, progress=progress)
    from .temporary import Temporary

    temporary = Temporary("run")
    results = _run(planned, Place(temporary.path), workers, progress=progress)
    for result in results:
        vars(result)["_temporary"] = temporary  # the folder lives as long as somebody has one of its runs
    return results


def _run(planned: list[Job], place: Place, workers: int | None, *, progress: bool | None) -> Results:
    from warnings import warn

    from dumbbell.results.load import Results

    line = shown(planned, is_wanted=progress)
    try:
        with Sweep(planned, place, workers=workers) as sweep:
            outcomes = list(sweep.outcomes(line.observe if line else None, lambda text: warn(text, stacklevel=4)))
    except interrupts.Interrupted as error:
        interrupts.pass_on(error)
    finally:
        if line:
            line.clear()
    for outcome in outcomes:
        if outcome.error:
            raise outcome.error
    return Results.of([outcome.job.folder for outcome in outcomes])


def shown(planned: list[Job], *, is_wanted: bool | None, has_kept: bool = False) -> Progress | None:
    """What shows how far these runs are; None where it is not wanted, which is so outside of notebooks unless said."""
    from .progress import Notebook, Progress, is_notebook, screen

    notebook = is_notebook()
    if is_wanted is False or (is_wanted is None and not notebook):
        return None
    return Progress(planned, Notebook() if notebook else screen(), has_kept=has_kept)
