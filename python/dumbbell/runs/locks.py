"""Lock files, each held by one command at a time; the system takes a lock away with the process that held it.

A file of that name which is not a lock of this program is neither written nor removed, nor is what a link leads to.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from contextlib import suppress
from pathlib import Path

from dumbbell.files import linked

#: What the text of a lock begins with.
_HOLDER = b"process "


class TakenError(Exception):
    """Somebody else holds the lock; the text says who."""


def take(path: Path) -> int | None:
    """Hold a lock, whose file is made; what this returns is for `leave`. Raises TakenError, and OSError where the file
    cannot be made, or is somebody else's. None where the file system has no locks: nothing is known of others.
    """
    while True:
        fd = _opened(path)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            who = os.read(fd, 200).decode(errors="replace").strip() or "another command"
            os.close(fd)
            raise TakenError(who) from None
        except OSError:
            leave(path, fd)
            return None
        if _is_same(fd, path):
            now = time.strftime("%Y-%m-%d %H:%M:%S")
            with suppress(OSError):  # a full disk: it is held all the same
                os.truncate(fd, 0)
                os.write(fd, _HOLDER + f"{os.getpid()} on {os.uname().nodename} (since {now})\n".encode())
            return fd
        os.close(fd)  # its holder has just ended, and took it away


def _opened(path: Path) -> int:
    """The lock's file; raises OSError for anything that is none."""
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(path, flags, 0o666)
    except OSError as error:
        raise linked(path) if path.is_symlink() else error from None
    state = os.fstat(fd)
    is_lock = stat.S_ISREG(state.st_mode) and state.st_nlink < 2
    if is_lock and (not state.st_size or os.pread(fd, len(_HOLDER), 0) == _HOLDER):
        return fd
    os.close(fd)
    raise OSError(errno.EEXIST, f"{path.name} is not a lock of this program; look at it, and move it away", str(path))


def _is_same(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.lstat())
    except FileNotFoundError:
        return False


def leave(path: Path, fd: int) -> None:
    """Give a lock back."""
    if _is_same(fd, path):  # and not what somebody has put in its place
        path.unlink(missing_ok=True)  # while it is held, so that it is ours
    os.close(fd)
