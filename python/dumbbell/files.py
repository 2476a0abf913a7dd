"""Reading what a scenario or an argument names: regular files only, of a stated size at most, and nothing of their
content in an error.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from .scenario import units

#: Largest scenario file, bytes: a thousand times the largest of the gallery.
SCENARIO_MAX = 1 << 20

#: Largest C or Python source of a controller, bytes.
SOURCE_MAX = 4 << 20

#: Largest trace or table of sizes, bytes: some 10 million lines, which take seconds to read.
DATA_MAX = 64 << 20


class UnreadableError(ValueError):
    """A file that is not read; the message says why and quotes nothing of it."""


def read_bytes(path: Path, most: int) -> bytes:
    """The content of a regular file of at most that many bytes; raises UnreadableError.

    Devices, pipes and folders are refused before a byte of them is read, and so is what has no size (files of /proc),
    so that nothing waits or fills the memory.
    """
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError) as error:  # ValueError: a zero in the name
        raise UnreadableError(getattr(error, "strerror", None) or "not a name of a file") from None
    try:
        state = os.fstat(fd)
        if not stat.S_ISREG(state.st_mode):
            raise UnreadableError(f"it is {_kind(state.st_mode)}, wanted a regular file")
        if state.st_size > most:
            raise UnreadableError(f"it has {units.bytes_text(state.st_size)}, wanted at most {units.bytes_text(most)}")
        parts, left = [], state.st_size
        while left and (part := os.read(fd, min(left, 1 << 20))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    except OSError as error:
        raise UnreadableError(error.strerror or "it cannot be read") from None
    finally:
        os.close(fd)


def read_text(path: Path, most: int) -> str:
    """The same as text."""
    try:
        return read_bytes(path, most).decode("utf-8")
    except UnicodeDecodeError:
        raise UnreadableError("not UTF-8 text") from None


def _kind(mode: int) -> str:
    for is_kind, name in (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    ):
        if is_kind(mode):
            return name
    return "a socket"
