"""A scenario as the text of a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .file import Scenario


def to_toml(scenario: Scenario) -> str:
    """The scenario as a file would hold it."""
    from .declare import raw

    return tables_text(raw(scenario))


def tables_text(given: Mapping[str, Any]) -> str:
    """These tables as a file would hold them: plain keys first, then tables, and lists of tables."""
    lines = [f"{name} = {value_text(value)}" for name, value in given.items() if not _tables(value)]
    for name, value in given.items():
        head = f"[{name}]" if isinstance(value, dict) else f"[[{name}]]"
        for table in _tables(value):
            lines += ["", head, *(f"{_name(key)} = {value_text(item)}" for key, item in table.items())]
    return "\n".join(lines) + "\n"


def _tables(value: Any) -> list[dict[str, Any]]:
    """The tables that a value is; none where it is a plain one."""
    if isinstance(value, dict):
        return [value]
    return value if isinstance(value, list) and value and all(isinstance(one, dict) for one in value) else []


def value_text(value: Any) -> str:
    """A value as a file would hold it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_name(name)} = {value_text(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(value_text(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def _name(name: str) -> str:
    bare = name.replace("_", "a").replace("-", "a")
    return name if bare.isalnum() and bare.isascii() else json.dumps(name)
