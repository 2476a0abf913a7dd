"""Runs of a store (`store.py`): listing and dropping them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.backends import builds
from dumbbell.backends.folder import manifest_text, remove
from dumbbell.backends.request import Request
from dumbbell.errors import DumbbellError, wrong
from dumbbell.files import UnreadableError, make_folder
from dumbbell.plan import moments
from dumbbell.plan.planned import Planned

from . import locks
from .place import manifest_of
from .store import LOCKS, refuse_strangers

if TYPE_CHECKING:
    from .store import Store


#: The name of a run's folder; nothing else in a store is one.
_KEY = re.compile("[0-9a-f]{64}")


class Kept(NamedTuple):
    """A run in a store.

    Attributes
    ----------
    key
        What it is known by: 64 hexadecimal digits.
    name, on
        The scenario of the one who asked for it first, and its back end.
    bytes
        Of all of its files.
    made
        When it was run; when its folder was made where its manifest cannot be read.
    is_current
        Whether this program still asks for it by its key: false after a change of the engine, of a controller that it
        uses or of the back end, or where the manifest cannot be read; None where that cannot be known (controllers of
        the user's own).
    """

    key: str
    folder: Path
    name: str
    on: str
    bytes: int
    made: datetime
    is_current: bool | None


def runs(store: Store) -> Iterator[Kept]:
    """The runs of a store, in the order of their keys; those under way are not among them."""
    for folder in sorted(store.path.glob("[0-9a-f][0-9a-f]/[0-9a-f]*")):
        is_run = _KEY.fullmatch(folder.name) and folder.name.startswith(folder.parent.name)
        if is_run and folder.is_dir() and not folder.is_symlink() and not folder.parent.is_symlink():
            yield _kept(folder)


def chosen(store: Store, keys: Sequence[str] = (), *, older: float | None = None, stale: bool = False) -> list[Kept]:
    """The runs of a store for which all conditions hold: first digits of keys, older than this many days, found no
    more. Raises ScenarioError for a key that no run has.
    """
    listed = list(runs(store))
    for key in keys:
        if not any(run.key.startswith(key) for run in listed):
            raise wrong("store", key, "the first digits of the key of a run (`dumbbell store list`)")
    oldest = None if older is None else datetime.now(UTC) - timedelta(days=older)
    return [
        run
        for run in listed
        if (not keys or run.key.startswith(tuple(keys)))
        and (oldest is None or run.made < oldest)
        and not (stale and run.is_current is not False)
    ]


def _kept(folder: Path) -> Kept:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    try:
        manifest = manifest_of(manifest_text(folder))
    except UnreadableError:
        manifest = None
    if manifest is None:
        when = datetime.fromtimestamp(folder.stat().st_mtime, UTC)
        return Kept(folder.name, folder, "", "", size, when, is_current=False)
    when = datetime.fromisoformat(manifest["created"])
    is_current = _is_current(folder.name, manifest)
    return Kept(folder.name, folder, manifest["name"], manifest["backend"], size, when, is_current)


def _is_current(key: str, manifest: dict[str, Any]) -> bool | None:
    if manifest["controllers"]:
        return None
    planned = Planned(0, manifest["name"], {}, 0, moments.unsettled(manifest["plan"]))
    try:
        return builds.key(Request(planned, on=manifest["backend"])) == key
    except DumbbellError:  # a kernel or a controller that is no longer there
        return False


def drop(store: Store, run: Kept) -> bool:
    """Take a run out of its store; false, and nothing done, while a process makes it again. Raises ResultError where
    its folder holds what this program has not written.
    """
    refuse_strangers(run.folder)
    lock = store.path / LOCKS / run.key
    make_folder(lock.parent)
    try:
        held = locks.take(lock)
    except locks.TakenError:
        return False
    try:
        remove(run.folder)
    finally:
        if held is not None:
            locks.leave(lock, held)
    return True
