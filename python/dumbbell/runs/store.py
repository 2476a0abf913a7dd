"""Finished runs by what they are a function of: a run that exists is never run again, whichever sweep or figure asks.

STORE/
    3f/3fa0.../         a run, by its key (`backends/builds.py`): an ordinary result folder
    3f/.tmp-...         one that is not complete
    .locks/3fa0...      while a run is under way; says whose it is

    store = Store("results/.store")
    for outcome in execute(jobs, None, store=store):     # finds what exists, runs what is missing
        ...

Any number of processes may use a store at once. A run is there whole or not at all: it is made beside its place and
renamed, so what kills a process or fills the disk takes no finished run along.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import backends
from dumbbell.backends import builds
from dumbbell.backends.folder import BESIDE, ResultFolder, damage, manifest_text, remove, system_error
from dumbbell.errors import EngineError, ResultError
from dumbbell.files import make_folder
from dumbbell.plan import moments

from . import locks
from .job import Job
from .place import is_left, manifest_of, strangers
from .pool import Make

if TYPE_CHECKING:
    from dumbbell.backends.request import Request
    from dumbbell.results.load import Results

#: Where the locks are.
LOCKS = ".locks"
#: Names the store of a user, instead of `DEFAULT`.
VARIABLE = "DUMBBELL_STORE"
#: The store below the current folder.
DEFAULT = "results/.store"
#: Between two looks at a run that another process has under way, seconds.
_LOOK_S = 0.1


def default() -> Path:
    """The store that $DUMBBELL_STORE names, else that of the current folder."""
    return Path(os.environ.get(VARIABLE) or DEFAULT)


class Store:
    """A folder of finished runs.

    Parameters
    ----------
    path
        The folder, which is made with the first run.
    make
        What makes a run that is missing; its back end unless given.
    """

    def __init__(self, path: str | Path | None = None, *, make: Make = backends.run) -> None:
        self.path = default() if path is None else Path(path)
        self._make = make

    def key(self, request: Request) -> str:
        """Key of a run; see `builds.key` for what it raises."""
        return builds.key(request)

    def folder(self, key: str) -> Path:
        """Folder of the run of a key, whether it is there or not."""
        return self.path / key[:2] / key

    def get(self, key: str) -> Path | None:
        """The folder of a run that is there, with every file as it was written; None where it has to be run."""
        folder = self.folder(key)
        return folder if _whole(folder) is not None else None

    def put(self, request: Request) -> dict[str, Any]:
        """The manifest of this run in the store, which is run now if it is missing or damaged.

        While another process has it under way, this waits for it. Raises what its back end raises.
        """
        key = self.key(request)
        folder = self.folder(key)
        manifest = _whole(folder)
        if manifest is not None:
            return manifest
        with self._held(key, request):
            manifest = _whole(folder)
            if manifest is None:
                refuse_strangers(folder)
                for left in (folder, *filter(is_left, folder.parent.glob(f"{BESIDE}*-{key}"))):
                    remove(left)
                manifest = self._made(request, folder)
        return manifest

    def _made(self, request: Request, folder: Path) -> dict[str, Any]:
        request.progress(0, 0)
        planned = request.planned._replace(position=0, vary={}, repetition=0, warnings=(), together=())
        try:
            return self._make(request._replace(planned=planned), folder)
        except EngineError:
            manifest = _whole(folder)  # of a file system without locks: somebody else was first
            if manifest is None:
                raise
            return manifest

    @contextmanager
    def _held(self, key: str, request: Request) -> Iterator[None]:
        """Hold the key, as soon as nobody else does."""
        path = self.path / LOCKS / key
        lock: int | None = None
        while True:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                make_folder(path.parent)
                make_folder(self.folder(key).parent)
                lock = locks.take(path)
                break
            except locks.TakenError:
                request.progress(0, 0)  # lets the end of the pool through
                time.sleep(_LOOK_S)
            except OSError as error:
                raise system_error(str(self.path), error) from None
        try:
            yield
        finally:
            if lock is not None:
                locks.leave(path, lock)

    def place(self, request: Request, folder: Path) -> dict[str, Any]:
        """The run as a result folder of its own, which must not exist yet, and its manifest; its files are hard links
        to those of the store where the file system has them.
        """
        stored = self.put(request)
        source = self.folder(self.key(request))
        with ResultFolder(request, folder) as results:
            for name in stored["files"]:
                (results.path / name).parent.mkdir(parents=True, exist_ok=True)
                try:
                    os.link(source / name, results.path / name)
                except OSError:
                    shutil.copy2(source / name, results.path / name)
            return results.close(asked(stored, request))

    def results(self, jobs: Sequence[Job]) -> Results:
        """The runs of these jobs, as they asked for them; raises ResultError for one that is not there."""
        import msgspec

        from dumbbell.results.load import Result, Results
        from dumbbell.results.manifest import Manifest

        results = []
        for job in jobs:
            folder = self.folder(self.key(job.request))
            stored = _whole(folder)
            if stored is None:
                raise ResultError(f"{folder}: this run is not in the store")
            result = Result(folder)
            result.manifest = msgspec.convert(asked(stored, job.request), Manifest)
            results.append(result)
        return Results(results)


def asked(stored: dict[str, Any], request: Request) -> dict[str, Any]:
    """The manifest of a run in the store, as this request asks for it."""
    planned = request.planned
    kept = {name: value for name, value in stored.items() if name != "together"}
    return {
        **kept,
        "name": planned.name,
        "position": planned.position,
        "vary": planned.vary,
        **({"together": planned.together} if planned.together else {}),
        "repetition": planned.repetition,
        "scenario": request.scenario_text,
        "set": list(request.overrides),
        "plan": moments.taken(planned.plan, stored["plan"]),
        "warnings": [*planned.warnings, *stored["warnings"]],
        "digests": builds.digests(request),  # the key of the run has them
    }


def refuse_strangers(folder: Path) -> None:
    """Raise ResultError where the folder of a run, which is about to be removed, holds what this program has not
    written.
    """
    stranger = folder if folder.is_symlink() else next(strangers(folder), None) if folder.is_dir() else None
    if stranger is not None:
        raise ResultError(f"{stranger}: not of this program; move it out of the store")


def _whole(folder: Path) -> dict[str, Any] | None:
    """The manifest of a run whose files are all as they were written."""
    try:
        manifest = manifest_of(manifest_text(folder))
        return manifest if manifest is not None and not damage(folder, manifest) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


__all__ = ["DEFAULT", "VARIABLE", "Store", "asked", "default"]
