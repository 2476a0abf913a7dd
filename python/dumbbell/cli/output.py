"""Stdout and stderr of a command: what reaches a terminal through them are letters, whoever has written the names,
headings and errors that they are part of.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from dumbbell.errors import printable

#: Letters of a line on stderr: a message is for a person.
LINE_MAX = 1500


class Output:
    """A stream that escapes what is not to be shown. `as_it_is` is the stream below, for what draws in place or in
    colour, and writes nothing of anybody else's.
    """

    def __init__(self, stream: TextIO, most: int | None = None) -> None:
        """`most` letters of a line are shown."""
        self.as_it_is, self._most = stream, most

    def write(self, text: str) -> int:
        """Write it; as many letters are said to be written as were given."""
        lines = text.split("\n") if self._most and len(text) > self._most else [text]
        self.as_it_is.write("\n".join(printable(line, self._most, keep="\n\t") for line in lines))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write all of them."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.as_it_is, name)


class Closed:
    """A stream that the caller has closed: stdout says so, as a disk that is full does, and stderr takes what comes."""

    encoding = "utf-8"

    def __init__(self, name: str = "") -> None:
        self._name = name

    def write(self, text: str) -> int:
        """Take it, or raise OSError."""
        if self._name:
            raise OSError(errno.EBADF, f"{self._name} is closed")
        return len(text)

    def fileno(self) -> int:
        """Raise OSError: it has none."""
        raise OSError(errno.EBADF, "closed")

    def flush(self) -> None:
        """Nothing is held back."""

    def isatty(self) -> bool:
        """It is none."""
        return False


@contextmanager
def guarded() -> Iterator[None]:
    """A context in which both streams are `Output`."""
    before = sys.stdout, sys.stderr
    _reopen()
    sys.stdout = Output(sys.stdout or Closed("stdout"))  # type: ignore[arg-type]
    sys.stderr = Output(sys.stderr or Closed(), LINE_MAX)  # type: ignore[arg-type]
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def _reopen() -> None:
    """Give the numbers 0 to 2 to nothing where the caller has closed them: the next file that is opened would get one,
    and with it what a compiler or a crash has to say.
    """
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free


def note(text: str) -> None:
    """Say something of the command on stderr."""
    print(f"dumbbell: {text}", file=sys.stderr)


def plain(stream: TextIO) -> TextIO:
    """The stream below an `Output`, or itself."""
    return getattr(stream, "as_it_is", stream)
