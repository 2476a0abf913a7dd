"""JSON Schema of scenario files, made from the declared keys; `schema.json` beside this file is its output.

An editor finds it by the line ``#:schema ../python/dumbbell/schema.json`` at the top of a scenario (taplo, Even Better TOML).
"""

from __future__ import annotations

import json
from typing import Any

from . import scenario
from .declare import REQUIRED, Key, Table

_TABLES: tuple[type[Table], ...] = (scenario.Path, scenario.Qdisc, scenario.Jitter, scenario.Host, scenario.Flow, scenario.Record)


def schema() -> dict[str, Any]:
    """The schema as a dictionary (JSON Schema 2020-12)."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Dumbbell scenario",
        **_object(scenario.Scenario),
        "$defs": {table.__name__: _object(table) for table in _TABLES},
    }


def text() -> str:
    """The schema as the file holds it."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _object(table: type[Table]) -> dict[str, Any]:
    # `name` is declared with a default, so files may leave it out: their own name serves.
    return {
        "description": " ".join((table.__doc__ or "").split()),
        "type": "object",
        "additionalProperties": False,
        "required": [name for name, key in table.KEYS.items() if key.default is REQUIRED],
        "properties": {name: _property(key) for name, key in table.KEYS.items()},
    }


def _property(key: Key) -> dict[str, Any]:
    one = key.kind.schema
    made = {"anyOf": [one, {"type": "array", "items": one, "minItems": 1, "uniqueItems": True}]} if key.varies else dict(one)
    default = {} if key.default is REQUIRED or key.default is None or isinstance(key.default, Table) else {"default": key.default}
    return {"description": key.doc, **default, **made}
