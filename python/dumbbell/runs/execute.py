"""The one way to make runs: in a folder, in a store, or from the store into a folder; on any back end; many at once;
resumed, interrupted and shown.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Protocol

from dumbbell import backends, interrupts
from dumbbell.backends.folder import BESIDE, system_error
from dumbbell.errors import DiskFullError, EngineError
from dumbbell.files import MANIFEST_MAX, created, read_text

from .job import Job, Outcome
from .place import SWEEP, Place
from .pool import Keep, Pool, whole

if TYPE_CHECKING:
    from pathlib import Path

    from dumbbell.results.load import Result

    from .store import Store


def _listed(path: Path) -> list[str]:
    """The runs that a list names; none where there is none or a damaged one. Raises EngineError for a file that is
    somebody else's.
    """
    try:
        listed = json.loads(read_text(path, MANIFEST_MAX))
    except (ValueError, RecursionError):
        listed = {"runs": []}
    runs = listed.get("runs") if isinstance(listed, dict) else None
    if path.is_symlink() or not isinstance(runs, list) or not all(isinstance(name, str) for name in runs):
        raise EngineError(f"{path}: not a list of runs of this program; move it away, or choose another --out")
    return runs


#: From here on many runs make up for what their preparations take.
_MANY = 16

Note = Callable[[str], None]
"""Hears of folders that were found damaged and are run again, a line each."""


class Watcher(Protocol):
    """Who sees how far runs are."""

    def expect(self, jobs: Iterable[Job]) -> None:
        """These runs are to come."""

    def observe(self, job: Job, sim_ns: int, packets: int) -> None:
        """A run has come so far: simulated time, and packets delivered. Called from its worker's thread."""

    def clear(self) -> None:
        """Somebody else is about to write where this is shown."""


class Execution:
    """Runs and the place that they go to, as a context: it is held while this lasts, and holds whole folders only,
    whatever ends it.

    Parameters
    ----------
    jobs
        All runs that may be asked for.
    place
        Their folder; None where they stay in the store.
    store
        Finished runs by their content, which are not run again; None: every run is made.
    workers
        How many go at once; as many as there are cores unless given.
    keep
        What of a manifest an outcome has.
    may_fork
        Whether nothing else goes on in this process.
    progress, note
        What is shown of running jobs, and who hears of damaged folders.

    Attributes
    ----------
    out
        The folder, once the context is entered.
    jobs
        The runs, each with its folder below `out`.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        place: Place | None,
        *,
        store: Store | None = None,
        workers: int | None = None,
        keep: Keep = whole,
        may_fork: bool = False,
        progress: Watcher | None = None,
        note: Note = lambda _: None,
    ) -> None:
        self._leave = ExitStack()
        self.place = place or self._beside_the_store()
        self.jobs, self.out = list(jobs), self.place.path
        self._store = store
        self._is_stored = place is None
        self._keep, self._progress, self._note = keep, progress, note
        make = backends.run if store is None else store.place if place else lambda request, _: store.put(request)
        self._pool = Pool(workers, make, keep=keep, may_fork=may_fork)

    def _beside_the_store(self) -> Place:
        """An empty folder that goes at the end."""
        from dumbbell.temporary import Temporary

        temporary = Temporary("runs")
        self._leave.callback(temporary.remove)
        return Place(temporary.path)

    def __enter__(self) -> Execution:
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
        names = list(dict.fromkeys([*_listed(path), *(job.folder.name for job in jobs)]))
        if len(names) == 1:
            return
        beside = path.with_name(f"{BESIDE}{os.getpid()}-{SWEEP}")
        try:
            os.close(created(beside))
            beside.write_text(json.dumps({"runs": names}, indent=1) + "\n", encoding="utf-8")
            beside.rename(path)
        except FileExistsError as error:
            raise system_error(str(beside), error) from None
        except OSError as error:
            beside.unlink(missing_ok=True)
            raise system_error(str(path), error) from None

    def __exit__(self, *_: object) -> None:
        with interrupts.Held():
            if self._progress:
                self._progress.clear()
            self._leave.close()

    def result(self, job: Job) -> Result:
        """A finished run."""
        from dumbbell.results.load import Result  # `run --json` needs none

        if self._is_stored and self._store:
            return self._store.results([job])[0]
        return Result(job.folder)

    def outcomes(self, jobs: Sequence[Job] | None = None) -> Iterator[Outcome]:
        """Make what is missing of these runs, all unless given, and yield every outcome in order; a full disk is the
        last one. Raises ResultError where a folder holds something else.
        """
        jobs, is_listed = self.jobs if jobs is None else jobs, self._is_stored
        progress = self._progress
        if progress:
            progress.expect(jobs)
        there = {}
        if self.place.resume:
            from .resume import finished

            there = {
                job.number: Outcome(job, self._keep(manifest, job.folder), None, was_there=True)
                for job in jobs
                if (manifest := finished(job, self._note))
            }
        todo = [job for job in jobs if job.number not in there]
        if len(todo) > _MANY:
            import hashlib  # noqa: F401 - OpenSSL takes longer to load than Python's own SHA-256, and is quicker then
        running = self._pool.outcomes(todo, progress.observe if progress else None)
        for job in jobs:
            outcome = there[job.number] if job.number in there else next(running)
            if outcome.manifest and not is_listed:
                is_listed = True
                try:
                    self._list_runs(jobs)
                except EngineError as error:
                    outcome = outcome._replace(error=error)
            if progress:
                progress.clear()
            yield outcome
            if isinstance(outcome.error, DiskFullError):
                return


def execute(
    jobs: Sequence[Job],
    place: Place | None,
    *,
    store: Store | None = None,
    workers: int | None = None,
    progress: Watcher | None = None,
    note: Note = lambda _: None,
) -> Iterator[Outcome]:
    """Make these runs and yield each outcome in order; parameters as of `Execution`."""
    with Execution(jobs, place, store=store, workers=workers, progress=progress, note=note) as going:
        yield from going.outcomes()
