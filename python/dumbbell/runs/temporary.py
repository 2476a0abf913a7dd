"""Temporary folders that do not outlive their process for long: its end removes them, and the next one those of a
process that was killed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
import weakref
from pathlib import Path

#: What their names begin with.
_PREFIX = "dumbbell-"
#: A folder that is not locked and younger than this may be about to be, s.
_YOUNG_S = 10.0


class Temporary:
    """A folder of this process, until nobody refers to this any more."""

    def __init__(self, kind: str) -> None:
        """`kind` is a word of the folder's name."""
        clear()
        self.path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{kind}-"))
        self._lock = os.open(self.path, os.O_RDONLY)
        _try_lock(self._lock)
        self.remove = weakref.finalize(self, _remove, self.path, self._lock)


def clear() -> None:
    """Remove folders of this user whose process is gone: no lock is left on them."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        try:
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            continue
        state = os.fstat(fd)
        is_old = time.time() - state.st_ctime > _YOUNG_S
        if is_old and state.st_uid == os.getuid() and _try_lock(fd):
            shutil.rmtree(path, ignore_errors=True)
        os.close(fd)


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove(path: Path, fd: int) -> None:
    shutil.rmtree(path, ignore_errors=True)
    os.close(fd)
