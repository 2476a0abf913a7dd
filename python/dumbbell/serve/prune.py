"""Old results of the page make room for new ones: the folder has a limit of runs and of bytes, the oldest go first.

Only folders that a server made are taken away, which hold the file `MADE` with their name and else what runs write; who
takes that file out, renames or copies the folder, or puts a file of their own into it keeps it.
"""

from __future__ import annotations

import fcntl
import os
import stat
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from dumbbell.backends.folder import remove
from dumbbell.files import created
from dumbbell.runs.place import MADE, strangers

from .limits import TOGETHER, Keep

#: What a folder is called while it is taken away: a name that begins with a dot is no result.
_GONE = ".gone-"
#: Pages whose runs stay, the last that asked; seconds in which a page may ask for a run that has ended.
PAGES, GRACE_S = 16, 60.0


class Shown:
    """Runs that pages show: those that each page, by the name that it gave itself, asked for last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages: dict[str, tuple[str, ...]] = {}

    def note(self, page: str, names: list[str]) -> None:
        """A page shows these runs, and no longer those before."""
        with self._lock:
            self._pages.pop(page, None)
            self._pages[page] = tuple(names[:TOGETHER])
            while len(self._pages) > PAGES:
                del self._pages[next(iter(self._pages))]

    def names(self) -> set[str]:
        """Runs on any of the pages."""
        with self._lock:
            return {name for names in self._pages.values() for name in names}


class _Old(NamedTuple):
    ended: float
    path: Path
    size: int


def begin(folder: Path) -> int | None:
    """Mark a new folder as one for the page, until `end` as one of a job that goes on: the mark is locked, and whoever
    kills the server unlocks it. None where it cannot be marked, and so is never taken away.
    """
    with suppress(OSError):
        fd = created(folder / MADE)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(fd, folder.name.encode())
        return fd
    return None


def end(folder: Path, mark: int | None) -> None:
    """The job of this folder has ended: it goes unless it holds something."""
    if mark is None:
        return
    with suppress(OSError):
        os.utime(mark)
        _discard_empty(folder)
    os.close(mark)


def prune(results: Path, keep: Keep, held: set[str]) -> list[str]:
    """Take away the oldest folders until what is left is within the limits, but none of those that are held nor one
    that has just ended; returns the names of those that are gone.
    """
    folders = sorted(_old(results))
    count, size = len(folders), sum(oldest.size for oldest in folders)
    gone = []
    for oldest in folders:
        if count <= keep.folders and size <= keep.disk_bytes:
            break
        if oldest.path.name in held or time.time() - oldest.ended < GRACE_S or next(strangers(oldest.path), None):
            continue
        beside = results / f"{_GONE}{oldest.path.name}"
        with suppress(OSError):
            oldest.path.rename(beside)
            _take_away(beside)
            gone.append(oldest.path.name)
            count, size = count - 1, size - oldest.size
    return gone


def sweep_up(results: Path) -> None:
    """Clear what a server that was killed had begun to take away, and folders of its jobs that had no result yet."""
    for path in results.iterdir():
        name = path.name.removeprefix(_GONE)
        with suppress(OSError):
            if _ended(path, name) is None:
                continue
            if name == path.name:
                _discard_empty(path)
            elif next(strangers(path), None) is None:
                _take_away(path)


def _take_away(folder: Path) -> None:
    """Remove a folder, its mark last: what is left of it when this is killed is known by that."""
    for path in folder.iterdir():
        if path.is_dir():
            remove(path)
        elif path.name != MADE:
            path.unlink()
    remove(folder)


def _discard_empty(folder: Path) -> None:
    """Remove a folder that holds its mark alone."""
    if [path.name for path in folder.iterdir()] == [MADE]:
        remove(folder)


def _ended(folder: Path, name: str) -> float | None:
    """Time at which the job of a folder ended that a server made under this name; None for one that goes on, and for
    what no server made. Raises OSError.
    """
    if folder.is_symlink() or not folder.is_dir() or not (folder / MADE).exists():
        return None
    fd = os.open(folder / MADE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        state = os.fstat(fd)
        # That of an earlier version is empty.
        if not stat.S_ISREG(state.st_mode) or os.read(fd, 1000) not in (b"", name.encode()):
            return None
        with suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return state.st_mtime
        return None
    finally:
        os.close(fd)


def _old(results: Path) -> list[_Old]:
    folders = []
    for path in results.iterdir():
        if path.name.startswith("."):
            continue
        with suppress(OSError):
            ended = _ended(path, path.name)
            if ended is not None:
                folders.append(_Old(ended, path, sum(file.lstat().st_size for file in path.rglob("*"))))
    return folders
