"""Lock files, each held by one command at a time; the system takes a lock away with the process that held it."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path


class TakenError(Exception):
    """Somebody else holds the lock; the text says who."""


def take(path: Path) -> int | None:
    """Hold a lock, whose file is made; what this returns is for `leave`. Raises TakenError, and OSError where the file
    cannot be made. None where the file system has no locks: nothing is known of others.
    """
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            who = os.read(fd, 200).decode(errors="replace").strip() or "another command"
            os.close(fd)
            raise TakenError(who) from None
        except OSError:
            os.close(fd)
            path.unlink(missing_ok=True)
            return None
        if _is_same(fd, path):
            now = time.strftime("%Y-%m-%d %H:%M:%S")
            with suppress(OSError):  # a full disk: it is held all the same
                os.truncate(fd, 0)
                os.write(fd, f"process {os.getpid()} on {os.uname().nodename} (since {now})\n".encode())
            return fd
        os.close(fd)  # its holder has just ended, and took it away


def _is_same(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


def leave(path: Path, fd: int) -> None:
    """Give a lock back."""
    path.unlink(missing_ok=True)  # while it is held, so that it is ours
    os.close(fd)
