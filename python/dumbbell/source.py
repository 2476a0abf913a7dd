"""The text of a scenario file: read, taken apart with overrides, and the lines that its keys stand on, for errors.

The lines are looked for by a scan of our own, because no TOML library for Python tells them; it runs only when there is an error to place, and over text
that `tomllib` has accepted.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from contextlib import suppress
from pathlib import Path
from typing import Any

from . import units
from .errors import ScenarioError
from .files import SCENARIO_MAX

#: Most parts of a dotted key; a key of a scenario has six.
PARTS_MAX = 16

TOO_LARGE = f"larger than {units.bytes_text(SCENARIO_MAX)}, the most that a scenario may have"
_DEEP = re.compile(rf"""(?:^|[{{,\[])[ \t]*(?:(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){{{PARTS_MAX}}}""", re.MULTILINE)
_STEP = re.compile(r"([A-Za-z_]\w*)(?:\[(\d{1,6})\])?(?:\.|$)")


def read(path: Path) -> str:
    """The text of a scenario file, which may be a pipe, as a shell's ``<(...)`` is; raises ScenarioError that names the file."""
    try:
        with path.open("rb") as file:
            data = file.read(SCENARIO_MAX + 1)
        if len(data) <= SCENARIO_MAX:
            return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ScenarioError("", "not TOML: not UTF-8 text", source=str(path)) from None
    except (OSError, ValueError) as error:
        raise ScenarioError("", getattr(error, "strerror", None) or str(error), source=str(path)) from None
    raise ScenarioError("", TOO_LARGE, source=str(path))


def tables(text: str, overrides: tuple[str, ...]) -> dict[str, Any]:
    """The raw tables of a TOML text, after overrides such as ``path.rate=10Mbps``; raises ScenarioError."""
    import tomllib

    if len(text) > SCENARIO_MAX:
        raise ScenarioError("", TOO_LARGE)
    deep = _DEEP.search(text)  # tomllib's time grows with the square of a key's depth
    if deep:
        raise ScenarioError("", f"a key of more than {PARTS_MAX} parts", line=text.count("\n", 0, deep.start()) + 1)
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError("", f"not TOML: {error}") from None
    except RecursionError:
        raise ScenarioError("", "not TOML: nested too deep") from None
    except ValueError:  # a whole number of thousands of digits, which Python does not read
        raise ScenarioError("", "a number with too many digits") from None
    for override in overrides:
        _override(given, override)
    return given


def _override(given: dict[str, Any], override: str) -> None:
    """Set one key of the raw tables, from ``path.rate=10Mbps`` or ``flow[1].cca=bbr``; the value is TOML, or a bare word."""
    import tomllib

    where, equals, text = override.partition("=")
    where = where.strip()
    steps = _STEP.findall(where)
    if not equals or not 0 < len(steps) <= PARTS_MAX or ".".join(n + (f"[{i}]" if i else "") for n, i in steps) != where:
        shown = override if len(override) <= 60 else override[:57] + "..."
        raise ScenarioError("", f'--set: got "{shown}", wanted KEY=VALUE, such as path.rate=10Mbps or flow[1].cca=bbr')
    value: Any = text.strip()
    try:
        value = tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        pass
    except RecursionError:
        raise ScenarioError(where, "--set: nested too deep") from None
    except ValueError:
        raise ScenarioError(where, "--set: a number with too many digits") from None
    table: Any = given
    for name, index in steps[:-1]:
        table = table.setdefault(name, {})
        if index:
            if not isinstance(table, list) or int(index) >= len(table):
                raise ScenarioError(where, f"--set: there is no {name}[{index}]")
            table = table[int(index)]
        if not isinstance(table, dict):
            raise ScenarioError(where, f"--set: {name} is not a table" + ("; say which, as in flow[0]" if name == "flow" else ""))
    table[steps[-1][0]] = value


def placed(error: ScenarioError, text: str, source: str, overrides: tuple[str, ...] = ()) -> ScenarioError:
    """The same error, or errors, with the file and the line of each key; a key that an override set is on none."""
    found = lines(text)
    overridden = tuple(override.partition("=")[0].strip() for override in overrides)

    def line(key: str) -> int | None:
        if any(key == one or key.startswith((f"{one}.", f"{one}[")) for one in overridden):
            return None
        while key and key not in found:
            key = key[: max(key.rfind("."), key.rfind("["), 0)]
        return found.get(key)

    return error.at(source, line)


def lines(text: str) -> dict[str, int]:
    """The line of each key of a TOML text by its path, such as ``flow[1].cca``; text that is not TOML has some of them or none."""
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
        found = []
        while True:
            match: Any = self._NAME.match(self.text, self.at)
            self.at = match.end()
            found.append(match[1] or match[2] or match[3] or "")
            if not match[4]:
                return found

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


def file_name(path: Path, letters: frozenset[str]) -> str:
    """A scenario's name from that of its file, of these letters."""
    kept = "".join(c if c in letters else "-" for c in path.stem).lstrip(".-")[:80]
    return kept or "scenario"


__all__ = ["PARTS_MAX", "file_name", "lines", "placed", "read", "tables"]
