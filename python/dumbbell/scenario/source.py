"""The text of a scenario file: read, and taken apart with overrides; errors get the lines of their keys."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from dumbbell import units
from dumbbell.errors import ScenarioError, together
from dumbbell.files import SCENARIO_MAX

#: Most parts of a dotted key; a key of a scenario has six.
PARTS_MAX = 16

#: What marks a name of the gallery where a path of a file may stand.
GALLERY = "gallery:"

TOO_LARGE = f"larger than {units.bytes_text(SCENARIO_MAX)}, the most that a scenario may have"


def located(path: str | Path) -> Path:
    """The file that `path` stands for: itself, or that of ``gallery:NAME``; raises ScenarioError for an unknown
    name.
    """
    text = str(path)
    if not text.startswith(GALLERY):
        return Path(path)
    from .gallery import find  # only where it is asked for

    return find(text.removeprefix(GALLERY))


def read(path: Path) -> str:
    """The text of a scenario file, which may be a pipe, as a shell's ``<(...)`` is; raises ScenarioError that names the
    file.
    """
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
    _shallow(text)
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError("", f"not TOML: {error}") from None
    except RecursionError:
        raise ScenarioError("", "not TOML: nested too deep") from None
    except ValueError:  # a whole number of thousands of digits, which Python does not read
        raise ScenarioError("", "a number with too many digits") from None
    for written in overrides:
        override(given, written)
    return given


def _shallow(text: str) -> None:
    """Raise ScenarioError for a key of very many parts: tomllib's time grows with the square of their number."""
    if all(line.count(".") < PARTS_MAX for line in text.split("\n")):
        return
    deep = re.compile(
        rf"""(?:^|[{{,\[])[ \t]*(?:(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){{{PARTS_MAX}}}""", re.MULTILINE
    ).search(text)
    if deep:
        raise ScenarioError("", f"a key of more than {PARTS_MAX} parts", line=text.count("\n", 0, deep.start()) + 1)


def one_value(text: str) -> Any:
    """A value as TOML has it. Raises TOMLDecodeError where the text is none, or has more than a value."""
    import tomllib

    read = tomllib.loads(f"x = {text}")
    if len(read) > 1:
        raise tomllib.TOMLDecodeError("more than one value")
    return read["x"]


def override(given: dict[str, Any], written: str) -> None:
    """Set one key of the raw tables, from ``path.rate=10Mbps`` or ``flow[1].cca=bbr``; the value is TOML, or a bare
    word.
    """
    import tomllib

    where, equals, text = written.partition("=")
    where = where.strip()
    steps = re.findall(r"([A-Za-z_]\w*)(?:\[(\d{1,6})\])?(?:\.|$)", where)
    if (
        not equals
        or not 0 < len(steps) <= PARTS_MAX
        or ".".join(n + (f"[{i}]" if i else "") for n, i in steps) != where
    ):
        shown = written if len(written) <= 60 else written[:57] + "..."
        raise ScenarioError("", f'--set: got "{shown}", wanted KEY=VALUE, such as path.rate=10Mbps or flow[1].cca=bbr')
    value: Any = text.strip()
    try:
        value = one_value(text)
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
            raise ScenarioError(
                where, f"--set: {name} is not a table" + ("; say which, as in flow[0]" if name == "flow" else "")
            )
    table[steps[-1][0]] = value


def placed(error: ScenarioError, text: str, source: str, overrides: tuple[str, ...] = ()) -> ScenarioError:
    """The same error, or errors, with the file and the line of each key; a key that an override set is on none."""
    from .keylines import lines  # only where there is an error

    by_key, overridden = lines(text), _keys_of(overrides)

    def line(key: str) -> int | None:
        if any(key == other or key.startswith((f"{other}.", f"{other}[")) for other in overridden):
            return None
        while key and key not in by_key:
            key = key[: max(key.rfind("."), key.rfind("["), 0)]
        return by_key.get(key)

    return as_written(error, text, overrides).at(source, line)


#: Tables that a flow takes what its own table does not say from.
_SHARED = ("path", "path.up", "path.ack")


def as_written(error: ScenarioError, text: str, overrides: tuple[str, ...] = ()) -> ScenarioError:
    """The same error, or errors, naming the keys that the text and the overrides have: where a flow's own table has no
    such key (``flow[0].loss.packets``), that of the path (``path.loss.packets``).
    """
    from .keylines import lines

    by_key, overridden = lines(text), _keys_of(overrides)

    def is_there(key: str) -> bool:
        return key in by_key or any(
            f"{other}.".startswith(f"{key}.") or key.startswith(f"{other}.") for other in overridden
        )

    def written(key: str) -> str:
        parts = re.fullmatch(r"(flow\[\d+\]\.(\w+))(.*)", key)
        if parts is None or is_there(parts[1]):
            return key
        shared = (f"{table}.{parts[2]}{parts[3]}" for table in _SHARED)
        return next(filter(is_there, shared), key)

    return together(
        [
            ScenarioError(written(other.key), other.problem, source=other.source, line=other.line)
            for other in error.errors
        ]
    )


def _keys_of(overrides: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(override.partition("=")[0].strip() for override in overrides)


def file_name(path: Path, letters: frozenset[str]) -> str:
    """A scenario's name from that of its file, of these letters."""
    kept = "".join(c if c in letters else "-" for c in path.stem).lstrip(".-")[:80]
    return kept or "scenario"


__all__ = ["GALLERY", "PARTS_MAX", "as_written", "file_name", "located", "placed", "read", "tables"]
