"""Reading what a scenario or an argument names: regular files only, of a stated size at most, and nothing of their
content in an error. Writing a file whole or not at all, and never through a link that somebody else may have laid.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

from . import units
from .errors import wrong

T = TypeVar("T")

#: Largest scenario file, bytes: a thousand times the largest of the gallery.
SCENARIO_MAX = 1 << 20

#: Largest C or Python source of a controller, bytes.
SOURCE_MAX = 4 << 20

#: Largest trace or table of sizes, bytes: some 10 million lines, which take seconds to read.
DATA_MAX = 64 << 20

#: Largest manifest, or list of a sweep's runs, bytes: that of a run of 10,000 flows has some 10 MB.
MANIFEST_MAX = 1 << 30


#: Largest capture, bytes, which is read whole.
CAPTURE_MAX = 64 << 30


#: Folders below which files are read, where a scenario comes from somebody else; None: anywhere.
_PLACES: ContextVar[tuple[Path, ...] | None] = ContextVar("places", default=None)


@contextmanager
def only_below(folders: Sequence[Path]) -> Iterator[None]:
    """A context in which `read_bytes` reads nothing outside of these folders, wherever links lead."""
    token = _PLACES.set(tuple(folder.resolve() for folder in folders))
    try:
        yield
    finally:
        _PLACES.reset(token)


class UnreadableError(ValueError):
    """A file that is not read; the message says why and quotes nothing of it."""


def permitted(path: Path) -> Path:
    """The path, or what it leads to where only some folders are read; raises UnreadableError for one outside of them,
    before anything is known of it.
    """
    places = _PLACES.get()
    if places is None:
        return path
    try:
        path = path.resolve()
    except (OSError, RuntimeError, ValueError):
        raise UnreadableError("not a name of a file") from None
    if not any(path.is_relative_to(place) for place in places):
        raise UnreadableError("it is outside of the folders that this server reads")
    return path


def read_bytes(path: Path, most: int) -> bytes:
    """The content of a regular file of at most that many bytes; raises UnreadableError.

    Devices, pipes and folders are refused before a byte of them is read, and so is what has no size (files of /proc),
    so that nothing waits or fills the memory.
    """
    path = permitted(path)
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


def regular(path: Path) -> int:
    """The size of a file that is none of a kind that waits or has no end; raises UnreadableError."""
    try:
        state = permitted(path).stat()
    except (OSError, ValueError) as error:
        raise UnreadableError(getattr(error, "strerror", None) or "not a name of a file") from None
    if not stat.S_ISREG(state.st_mode):
        raise UnreadableError(f"it is {_kind(state.st_mode)}, wanted a regular file")
    return state.st_size


def taken_apart(path: Path, at: str, read: Callable[[int, int], T], *, file: str, content: str) -> T:
    """Result of `read`, which is given the time of the file's last change (ns) and its size: these may key a cache.

    Raises ScenarioError that names the key `at` and says what was wanted: `file` where there is none, `content` where
    `read` raises ValueError.
    """
    try:
        status = permitted(path).stat()
        return read(status.st_mtime_ns, status.st_size)
    except OSError as error:
        raise wrong(at, str(path), f"{file} ({error.strerror})") from None
    except ValueError as error:
        raise wrong(at, str(path), f"{content} ({error})") from None


def read_text(path: Path, most: int) -> str:
    """The same as text."""
    try:
        return read_bytes(path, most).decode("utf-8")
    except UnicodeDecodeError:
        raise UnreadableError("not UTF-8 text") from None


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Path of a file to write, which replaces `path` when the block ends. Where the block fails, as on a full disk,
    `path` stays as it was; the OSError is passed on. A device or a pipe is written to as it is, and so is what the
    system's own links name (/dev/stdout); any other link is refused with an OSError.
    """
    if path.absolute().parts[1:2] in (("dev",), ("proc",)) or (path.exists() and not path.is_file()):
        yield path
        return
    if path.is_symlink():
        raise linked(path)
    beside = path.with_name(f".dumbbell-{os.urandom(8).hex()}{path.suffix}")
    os.close(created(beside))
    try:
        yield beside
        if path.exists():
            beside.chmod(stat.S_IMODE(path.stat().st_mode))
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def created(path: Path) -> int:
    """A file that was not there before, opened for writing; raises FileExistsError where anything has its name, a link
    that leads nowhere included.
    """
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def make_folder(path: Path) -> None:
    """Make a folder within one of this program's, unless it is there. Raises OSError for a link: what is written below
    it would go elsewhere.
    """
    if not path.is_symlink():
        path.mkdir(exist_ok=True)
    if path.is_symlink():
        raise linked(path, "a folder")


def linked(path: Path, wanted: str = "a file") -> OSError:
    """The error for a link in the place of something that is written."""
    return OSError(errno.ELOOP, f"{path.name} is a link, wanted {wanted}: nothing is written through links", str(path))


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
