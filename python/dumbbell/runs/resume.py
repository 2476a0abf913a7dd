"""Finished runs of a sweep that is resumed: folders that are whole, of the same plan, and made by the same engine,
controllers and back end.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dumbbell import backends
from dumbbell.backends import builds
from dumbbell.backends.folder import MANIFEST, damage, manifest_text, remove
from dumbbell.errors import ResultError, listed
from dumbbell.files import UnreadableError
from dumbbell.plan import moments

from .place import manifest_of, strangers

if TYPE_CHECKING:
    from pathlib import Path

    from .job import Job


def finished(job: Job, note: Callable[[str], None]) -> dict[str, Any] | None:
    """The manifest of a run that is there already; None where it has to be run.

    A folder that is damaged or not complete is removed, and `note` is called with a line about it.
    Raises ResultError where another run than this, or something that this program has not written, stands in its place.
    """
    folder = job.folder
    if not folder.exists() and not folder.is_symlink():
        return None
    if folder.is_symlink() or not folder.is_dir():
        raise ResultError(f"{folder}: not a folder; choose another --out")
    manifest, wrong = _read(folder)
    if manifest is not None:
        _compare(job, manifest)
        wrong = _damage(folder, manifest)
        if not wrong:
            return manifest
    stranger = next(strangers(folder), None)
    if stranger is not None:
        raise ResultError(f"{folder}: holds {stranger.name} and is no result of this program; choose another --out")
    note(f"{folder}: {wrong}; it is run again")
    remove(folder)
    return None


def _read(folder: Path) -> tuple[dict[str, Any] | None, str]:
    """A manifest, or what is wrong with it."""
    if not (folder / MANIFEST).exists():
        return None, f"{MANIFEST} is missing"
    try:
        manifest = manifest_of(manifest_text(folder))
    except UnreadableError:
        manifest = None
    return manifest, "" if manifest else f"{MANIFEST} is damaged"


def _compare(job: Job, manifest: dict[str, Any]) -> None:
    """Raise ResultError for a run that is not this one."""
    from dumbbell import _native

    at, elsewhere = job.folder, "choose another --out"
    own, on = job.request.own, backends.recorded(job.request.on)
    if manifest["schema_version"] != _native.MANIFEST_VERSION:
        raise ResultError(
            f"{at}: written in format {manifest['schema_version']}, this is {_native.MANIFEST_VERSION}; {elsewhere}"
        )
    wanted = json.loads(json.dumps(job.planned.plan))  # steps are tuples in a plan, lists in a file
    if moments.unsettled(manifest["plan"]) != wanted:
        raise ResultError(f"{at}: holds the result of another plan; --force replaces all results, or {elsewhere}")
    if manifest.get("controllers", []) != own.record():
        raise ResultError(f"{at}: made with other controllers of one's own (--cca); {elsewhere}")
    if manifest.get("backend") != on:
        raise ResultError(f"{at}: made with --on {manifest.get('backend')}, this is {on}; {elsewhere}")
    _compare_builds(at, manifest.get("digests"), builds.digests(job.request))


def _compare_builds(at: Path, theirs: object, ours: dict[str, str]) -> None:
    """Raise ResultError for a run that another build made, or that does not say which build made it. Its figures may
    differ from what this build would give, and one table must not mix them.
    """
    instead = "--force replaces all results, or choose another --out"
    if not isinstance(theirs, dict) or not theirs:
        raise ResultError(f"{at}: an older version made it, and does not say with which engine; {instead}")
    others = [name for name in sorted({*ours, *theirs}) if ours.get(name) != theirs.get(name)]
    if others:
        raise ResultError(f"{at}: made by another build than this, with another {listed(others)}; {instead}")


def _damage(folder: Path, manifest: dict[str, Any]) -> str:
    try:
        return damage(folder, manifest)
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    except (KeyError, TypeError, AttributeError):
        return f"{MANIFEST} lists no files"
