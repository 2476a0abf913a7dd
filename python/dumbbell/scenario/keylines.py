"""The lines that the keys of a TOML text stand on, for errors.

A scan of our own, because no TOML library for Python tells them; it runs only when there is an error to place, and over
text that `tomllib` has accepted.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from contextlib import suppress
from typing import Any


def lines(text: str) -> dict[str, int]:
    """The line of each key of a TOML text by its path, such as ``flow[1].cca``; text that is not TOML has some of them
    or none.
    """
    scan = _Scan(text)
    with suppress(IndexError, AttributeError, ValueError, RecursionError):  # not TOML after all
        scan.document()
    return scan.found


class _Scan:
    """One pass over the text of a TOML file."""

    _BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
    _NAME = re.compile(r"""[ \t]*(?:([A-Za-z0-9_-]+)|"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)')[ \t]*(\.?)""")
    _STRING = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL)
    _PLAIN = re.compile(r"[^,\]}\n#]*")

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.found: dict[str, int] = {}
        self.counts: dict[str, int] = {}
        self.ends = [i for i, c in enumerate(text) if c == "\n"]

    def document(self) -> None:
        """Every table and key of the file."""
        table = ""
        while self.skip():
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)

    def header(self) -> str:
        """The path of a ``[table]`` or of one more ``[[table]]``."""
        begin, many = self.at, self.text.startswith("[[", self.at)
        self.at += 2 if many else 1
        names = self.names()
        self.at = self.text.index("]", self.at) + (2 if many else 1)
        path = ""
        for i, name in enumerate(names):
            path = f"{path}.{name}" if path else name
            if many and i == len(names) - 1:
                self.note(path, begin)
                self.counts[path] = self.counts.get(path, -1) + 1
            if path in self.counts:
                path = f"{path}[{self.counts[path]}]"
        self.note(path, begin)
        return path

    def pair(self, table: str) -> None:
        """One ``key = value``."""
        begin = self.at
        path = table
        for name in self.names():
            path = f"{path}.{name}" if path else name
            self.note(path, begin)
        self.at += 1  # =
        self.value(path)

    def names(self) -> list[str]:
        """The parts of a dotted key."""
        parts = []
        while True:
            match: Any = self._NAME.match(self.text, self.at)
            self.at = match.end()
            parts.append(match[1] or match[2] or match[3] or "")
            if not match[4]:
                return parts

    def value(self, path: str) -> None:
        """A value, with the keys inside it."""
        self.skip()
        opened = self.text[self.at]
        if opened in "[{":
            self.at += 1
            number = 0
            while self.skip() and self.text[self.at] not in "]}":
                if opened == "{":
                    self.pair(path)
                else:
                    self.note(f"{path}[{number}]", self.at)
                    self.value(f"{path}[{number}]")
                    number += 1
                self.skip()
                self.at += self.text[self.at] == ","
            self.at += 1
            return
        match: Any = self._STRING.match(self.text, self.at) or self._PLAIN.match(self.text, self.at)
        self.at = match.end()

    def skip(self) -> bool:
        """Go past blanks and comments; says whether something follows."""
        match: Any = self._BLANK.match(self.text, self.at)
        self.at = match.end()
        return self.at < len(self.text)

    def note(self, path: str, at: int) -> None:
        """Remember the line of a path, where it comes first."""
        self.found.setdefault(path, bisect_right(self.ends, at - 1) + 1)
