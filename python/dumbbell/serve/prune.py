"""Old results of the page make room for new ones: the folder has a limit of runs and of bytes, the oldest go first.

Only folders that a server made are taken away, which hold the file `MADE`; who takes that file out keeps the folder.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from dumbbell.backends.folder import remove
from dumbbell.runs.place import MADE

from .limits import TOGETHER, Keep

#: What a folder is called while it is taken away: a name that begins with a dot is no result.
_GONE = ".gone-"
#: Pages whose runs stay, the last that asked; seconds in which a page may ask for a run that has ended.
PAGES, GRACE_S = 16, 60.0


class Shown:
    """What the pages show: of each page, by the name that it gave itself, the runs that it asked for last."""

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


def mark(folder: Path) -> None:
    """Say that a folder was made for the page."""
    with suppress(OSError):
        (folder / MADE).touch()


def prune(results: Path, keep: Keep, held: set[str]) -> list[str]:
    """Take away the oldest folders until what is left is within the limits, but none of those that are held nor one
    that has just ended; returns the names of those that are gone.
    """
    found = sorted(_old(results))
    count, size = len(found), sum(one.size for one in found)
    gone = []
    for one in found:
        if count <= keep.folders and size <= keep.disk_bytes:
            break
        if one.path.name in held or time.time() - one.ended < GRACE_S:
            continue
        beside = results / f"{_GONE}{one.path.name}"
        with suppress(OSError):
            one.path.rename(beside)
            remove(beside)
            gone.append(one.path.name)
            count, size = count - 1, size - one.size
    return gone


def sweep_up(results: Path) -> None:
    """Clear what a server that was killed had begun to take away."""
    for path in results.glob(f"{_GONE}*"):
        if path.is_dir() and not path.is_symlink():
            remove(path)


def _old(results: Path) -> list[_Old]:
    found = []
    for path in results.iterdir():
        if path.name.startswith(".") or path.is_symlink():
            continue
        with suppress(OSError):
            ended = (path / MADE).lstat().st_mtime
            found.append(_Old(ended, path, sum(one.lstat().st_size for one in path.rglob("*"))))
    return found
