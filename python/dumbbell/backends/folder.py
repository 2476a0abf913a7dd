"""The result folder of one run, whole or absent: the same writer for every back end.

    with ResultFolder(request, folder) as made:
        summary = ...                  # tables go into made.path
        return made.finish(summary)

Everything is written next to its final place, into ``.tmp-<process>-<name>``, and renamed when it is complete; until
then it holds the file `MADE`, by which what a killed command left is told from a folder of somebody else's. The
manifest lists every other file with its size and SHA-256, which `damage` compares: a folder that a failure of power
or of the disk has damaged is recognised.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dumbbell import backends
from dumbbell.backends import builds
from dumbbell.errors import ControllerError, DiskFullError, EngineError, ScenarioError
from dumbbell.files import MANIFEST_MAX, created, read_text
from dumbbell.plan import origin

if TYPE_CHECKING:
    from dumbbell.plan.types import Plan

    from .request import Request

#: Name of the file that says what a folder is.
MANIFEST = "manifest.json"
#: What folders that are not complete begin with; the number of a process and the folder's name follow.
BESIDE = ".tmp-"
#: The file that marks them as this program's.
MADE = ".dumbbell-unfinished"
#: The process of the command: its workers are forked from it.
_PROCESS = os.getpid()
#: Waiting for the disk takes at most one part in this many of the time that runs take.
_SYNC_PART = 20
#: Up to here Python's own SHA-256 is quicker than loading OpenSSL, which takes a millisecond and is eight times as
#: fast.
_SMALL_BYTES = 100_000
#: Flow numbers that a warning lists.
_NAMED = 5
#: Errors of a disk that takes no more.
_FULL = (errno.ENOSPC, errno.EDQUOT)


class ResultFolder:
    """A result folder in the making, as a context. Leaving it without `finish`, for whatever reason, leaves nothing
    behind.

    Errors of the engine and of the disk become ours: ScenarioError for a plan that the engine refuses, ControllerError,
    DiskFullError, EngineError.
    """

    def __init__(self, request: Request, folder: Path) -> None:
        self.request, self.folder = request, folder
        self.path = folder.parent / f"{BESIDE}{_PROCESS}-{folder.name}"
        self.began_s = time.perf_counter()

    def __enter__(self) -> ResultFolder:
        try:
            self.path.mkdir()
            os.close(created(self.path / MADE))
        except OSError as error:
            raise system_error(str(self.path), error) from None
        return self

    def finish(
        self,
        summary: dict[str, Any],
        *,
        controllers: Sequence[Mapping[str, Any]] = (),
        warnings: Sequence[str] = (),
        hz: int | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Write the manifest, give the folder its name and return the manifest; `hz` is the tick of the kernel that ran
        the plan, `more` are further keys of the manifest.
        """
        manifest = self._manifest(summary, time.perf_counter() - self.began_s)
        manifest["controllers"] = list(controllers)
        manifest.update(more or {})
        plan = self.request.planned.plan
        manifest["warnings"] += [
            *_unanswered(plan, summary),
            *warnings,
            *_tick_warnings(hz, planned=plan["host"]["hz"]),
        ]
        manifest["files"] = {name: _described(f"{self.path}/{name}") for name in _files(self.path) if name != MADE}
        return self.close(manifest)

    def close(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Write a manifest, give the folder its name and return the manifest."""
        from dumbbell import _native

        # Python's own indentation takes half a millisecond, which is half of what a short run of a sweep costs.
        text = _native.indented(json.dumps(manifest, ensure_ascii=False, separators=(",", ":")))
        with open(f"{self.path}/{MANIFEST}", "wb") as file:  # noqa: PTH123 - quicker than by Path
            file.write(f"{text}\n".encode())
        os.unlink(f"{self.path}/{MADE}")  # noqa: PTH108 - as above; from here on the manifest says whose it is
        is_safe = _sync_files(self.path)
        self.path.rename(self.folder)
        if is_safe:
            _sync_folder(self.folder.parent)
        return manifest

    def _manifest(self, summary: dict[str, Any], wall_s: float) -> dict[str, Any]:
        """Manifest of a result folder, the same for every back end; docs/results.md describes it."""
        from dumbbell import _native

        request = self.request
        planned = request.planned
        return {
            "schema_version": _native.MANIFEST_VERSION,
            "name": planned.name,
            "position": planned.position,
            "vary": planned.vary,
            **({"together": planned.together} if planned.together else {}),
            "repetition": planned.repetition,
            "seed": planned.plan["seed"],
            "scenario": request.scenario_text,
            "set": list(request.overrides),
            "plan": planned.plan,
            "summary": summary,
            "warnings": [*planned.warnings, *summary["warnings"]],
            "versions": origin.versions(),
            "digests": builds.digests(request),
            "git": _commit(),
            "kernel": origin.kernel(),
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "wall_s": round(wall_s, 6),
            "backend": backends.recorded(request.on),
        }

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None:
            return
        from dumbbell import _native

        remove(self.path)
        if isinstance(error, _native.ControllerError):
            raise ControllerError(self.folder.name, error.__cause__ or str(error)) from error.__cause__
        if isinstance(error, _native.PlanError):
            raise ScenarioError("", str(error), source=self.folder.name) from None
        if isinstance(error, (RuntimeError, OSError)):
            raise system_error(str(self.folder), error) from None


@cache
def _commit() -> str | None:
    """The commit of what this process has imported; four files tell it."""
    return origin.git_revision()


def _unanswered(plan: Plan, summary: Mapping[str, Any]) -> list[str]:
    """That flows did not give all answers of their `workload.count`; the engine says it of sizes alone."""
    counted = [i for i, flow in enumerate(plan["flows"]) if (flow["workload"] or {}).get("count")]
    ended = [summary["flows"][i] for i in counted]
    which = [i for i, seen in zip(counted, ended) if seen["packets_sent"] and seen["fct_s"] is None]
    if not which:
        return []
    if len(which) == 1:
        return [f"flow {which[0]} did not give all answers of its workload.count within the run"]
    named = ", ".join(map(str, which[:_NAMED])) + (", ..." if len(which) > _NAMED else "")
    head = f"{len(which)} of {len(plan['flows'])} flows ({named})"
    return [f"{head} did not give all answers of their workload.count within the run"]


def _tick_warnings(hz: int | None, *, planned: int) -> list[str]:
    return [] if hz in (None, planned) else [f"host.hz: this kernel's tick is {hz}, not {planned}"]


def system_error(at: str, error: Exception) -> EngineError:
    """Ours for an error of the disk or of the engine, whose own text ends with the system's."""
    text = (isinstance(error, OSError) and error.strerror) or str(error)
    full = next((os.strerror(number) for number in _FULL if os.strerror(number) in text), None)
    return DiskFullError(f"{at}: {full}") if full else EngineError(f"{at}: {text}")


def remove(folder: Path) -> None:
    """Take away what a run that failed had written."""
    from shutil import rmtree  # only when a run failed

    rmtree(folder, ignore_errors=True)


def manifest_text(folder: Path) -> str:
    """Text of a folder's manifest; raises UnreadableError, also for a pipe or a device of that name."""
    return read_text(folder / MANIFEST, MANIFEST_MAX)


def damage(folder: Path, manifest: Mapping[str, Any]) -> str:
    """Say which file of a manifest is missing or changed; empty for a folder that is whole. Raises OSError where it
    cannot be read.
    """
    listed: Mapping[str, Mapping[str, Any]] = manifest["files"]
    for name, was in listed.items():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        size = path.stat().st_size
        if size != was["bytes"]:
            return f"{name} has {size} bytes instead of {was['bytes']}"
        if sha256(path) != was["sha256"]:
            return f"{name} is not as it was written"
    return ""


def sha256(path: Path) -> str:
    """The digest of a file: 0.7 s for a GB."""
    return str(_described(str(path))["sha256"])


def _described(path: str) -> dict[str, Any]:
    """Size and digest of a file."""
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - quicker than by Path
        size = os.fstat(file.fileno()).st_size
        if size < _SMALL_BYTES:
            return {"bytes": size, "sha256": _small_sha256()(file.read()).hexdigest()}
        from hashlib import file_digest

        return {"bytes": size, "sha256": file_digest(file, "sha256").hexdigest()}


def _small_sha256() -> Any:
    """Python's own SHA-256 where OpenSSL's is not loaded."""
    if "hashlib" not in sys.modules:
        for name in ("_sha256", "_sha2"):  # Python 3.11; since 3.12
            try:
                return import_module(name).sha256
            except ImportError:
                continue
    from hashlib import sha256 as digest

    return digest


def _files(folder: str | Path) -> list[str]:
    """Every file below a folder, by name, in the order of the names' parts."""
    names: list[str] = []
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=attrgetter("name")):
            if entry.is_dir(follow_symlinks=False):
                names += [f"{entry.name}/{name}" for name in _files(entry.path)]
            else:
                names.append(entry.name)
    return names


_next_sync_s = time.monotonic() + 0.1  # a command that is done by then takes longer to sync its run than to repeat it


def _sync_files(folder: Path) -> bool:
    """Wait until what is in a folder is on the disk, so that a failure of power leaves the folder whole or absent; says
    whether it did.

    It costs some 5 ms, and a short run takes hardly longer: in a sweep of such runs it is done for one now and then, as
    `_SYNC_PART` says. The kernel writes the others within half a minute; should power fail in that time, `damage` tells
    which of them are torn. One batch at the end of a sweep costs as much as one run at a time (0.5 to 3 s for 200 runs
    of 15 ms), and `syncfs`, at 0.1 s, waits for what other programs have written.
    """
    global _next_sync_s  # noqa: PLW0603 - the disk is one for all threads
    began_s = time.monotonic()
    if began_s < _next_sync_s:
        return False
    opened = [os.open(folder / name, os.O_RDONLY) for name in _files(folder)]
    try:
        for fd in (
            opened if hasattr(os, "posix_fadvise") else ()
        ):  # starts the writing of all, which the first fsync then waits for at once
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        for fd in opened:
            os.fsync(fd)
    finally:
        for fd in opened:
            os.close(fd)
    _sync_folder(folder)
    now_s = time.monotonic()
    _next_sync_s = now_s + _SYNC_PART * (now_s - began_s)
    return True


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that syncs no folders
            raise
    finally:
        os.close(fd)
