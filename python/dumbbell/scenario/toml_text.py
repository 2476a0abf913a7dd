"""A scenario as the text of a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .file import Scenario


def to_toml(scenario: Scenario) -> str:
    """The scenario as a file would hold it."""
    from .declare import raw

    given = raw(scenario)
    flows = given.pop("flow")
    lines = [f"{name} = {value_text(value)}" for name, value in given.items() if not isinstance(value, dict)]
    tables = [(f"[{name}]", value) for name, value in given.items() if isinstance(value, dict)] + [
        ("[[flow]]", flow) for flow in flows
    ]
    for head, table in tables:
        lines += ["", head, *(f"{name} = {value_text(value)}" for name, value in table.items())]
    return "\n".join(lines) + "\n"


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
