"""Temporary folders that do not outlive their process for long: its end removes them, and the next one those of a
process that was killed.

$TMPDIR/dumbbell-<user>/        of this user alone (0700); never taken where somebody else has made it, or it is a link
    run-1x2y3z/
        made-by                 names this program and the process, which holds it locked
        files/                  the temporary folder

Only a folder whose `made-by` this program has written, and which nobody holds, is ever removed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

#: The file that says whose a folder is, and how its text begins.
_MARK, _MADE_BY = "made-by", b"dumbbell, process "


class Temporary:
    """A folder of this process, until nobody refers to this any more."""

    def __init__(self, kind: str) -> None:
        """`kind` is a word of the folder's name."""
        clear()
        whole = _made(kind)
        lock = os.open(whole / _MARK, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        self._removal = weakref.finalize(self, _remove, whole, lock, os.getpid())
        _try_lock(lock)
        os.write(lock, b"%s%d\n" % (_MADE_BY, os.getpid()))  # who reads this finds it locked
        self.path = whole / "files"
        self.path.mkdir()

    def remove(self) -> None:
        """Remove the folder now. Who holds on to this method holds on to the folder."""
        self._removal()


def clear() -> None:
    """Remove folders of this program whose process is gone: no lock is left on them."""
    private = _private()
    try:
        there = list(private.iterdir()) if private else []
    except OSError:  # it has just been taken away
        there = []
    for whole in there:
        try:
            fd = os.open(whole / _MARK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            is_ours = not whole.is_symlink() and os.fstat(fd).st_uid == os.geteuid()
            if is_ours and _try_lock(fd) and os.read(fd, len(_MADE_BY)) == _MADE_BY:
                shutil.rmtree(whole, ignore_errors=True)
        except OSError:  # a mark that is a folder
            continue
        finally:
            os.close(fd)


def _made(kind: str) -> Path:
    while private := _private():
        try:
            return Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=private))
        except FileNotFoundError:  # the last one who had something in it has just taken it away
            continue
    return Path(tempfile.mkdtemp(prefix=f"dumbbell-{kind}-"))


def _private() -> Path | None:
    """The folder of this user's temporary folders; None where its name is somebody else's, or others may write to it:
    then each folder stands alone, and its own process alone removes it.
    """
    path = Path(tempfile.gettempdir()) / f"dumbbell-{os.geteuid()}"
    with suppress(OSError):  # it is there, as a rule
        path.mkdir(mode=0o700)
    try:
        state = path.lstat()
    except OSError:
        return None
    is_ours = stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid() and not state.st_mode & 0o077
    return path if is_ours else None


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove(whole: Path, fd: int, process: int) -> None:
    if os.getpid() == process:  # and not one that was forked from it
        shutil.rmtree(whole, ignore_errors=True)
        if whole.parent == _private():
            with suppress(OSError):  # others have something in it
                whole.parent.rmdir()
    os.close(fd)
