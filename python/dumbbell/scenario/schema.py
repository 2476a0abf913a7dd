"""JSON Schema of scenario files, made from the declared keys; `schema.json` in this folder is its output.

An editor finds it by the line ``#:schema ../python/dumbbell/scenario/schema.json`` at the top of a scenario (taplo,
Even Better TOML).
"""

from __future__ import annotations

import json
from typing import Any

from dumbbell import controllers, units

from . import file as scenario
from . import ranges
from .declare import REQUIRED, Each, Forms, Key, Sub, Table, Variant
from .plain_kinds import Kind


def tables() -> list[type[Table]]:
    """Every table below the scenario, each once, in the order in which keys lead to them; the forms of a table follow
    it.
    """
    listed: list[type[Table]] = []

    def visit(table: type[Table]) -> None:
        if table in listed:
            return
        listed.append(table)
        inner = list(table.FORMS.values()) if issubclass(table, Variant) and not table.FORM else []
        for key in table.KEYS.values():
            inner += _inside(key.kind)
        for below in inner:
            visit(below)

    visit(scenario.Scenario)
    return listed[1:]


def _inside(kind: Kind) -> list[Any]:
    """Tables that a kind of value may be."""
    if isinstance(kind, Forms):
        return [*kind.bases, *(_inside(kind.other) if kind.other else [])]
    if isinstance(kind, Each):
        return _inside(kind.item)
    if isinstance(kind, Sub):
        return [kind.table]
    sub = getattr(kind, "sub", None)
    return [sub.table] if isinstance(sub, Sub) else []


def schema() -> dict[str, Any]:
    """The schema as a dictionary (JSON Schema 2020-12)."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Dumbbell scenario",
        **_object(scenario.Scenario),
        "$defs": {**{table.__name__: _definition(table) for table in tables()}, "Range": ranges.SCHEMA},
    }


def text() -> str:
    """The schema as the file has it: a line for each table and each key, because the file is kept for editors, which
    find it by its path.
    """
    return _lines(schema(), depth=4) + "\n"


def _lines(value: Any, depth: int) -> str:
    """JSON whose outer levels have a line for each item."""
    if not depth or not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return "{\n" + ",\n".join(f"{json.dumps(name)}:{_lines(item, depth - 1)}" for name, item in value.items()) + "\n}"


def _definition(table: type[Table]) -> dict[str, Any]:
    if issubclass(table, Variant) and not table.FORM:
        return {
            "description": table.TEXT,
            "anyOf": [{"$ref": f"#/$defs/{form.__name__}"} for form in table.FORMS.values()],
        }
    return _object(table)


def _object(table: type[Table]) -> dict[str, Any]:
    # `name` is declared with a default, so files may leave it out: their own name serves.
    return {
        "description": table.TEXT,
        "type": "object",
        "additionalProperties": False,
        "required": [name for name, key in table.KEYS.items() if key.default is REQUIRED and name not in table.EXCUSED],
        "properties": {
            name: _property(key, _with_names(name, key.kind.schema) if table is scenario.Flow else key.kind.schema)
            for name, key in table.KEYS.items()
        },
    }


def _with_names(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a key of [[flow]] with the controllers, presets and parameters that the engine has, for editors to
    complete. Other names stay legal, because a controller may be the user's own.
    """
    known = controllers.known()
    if name == "cca":
        return {"anyOf": [{"enum": list(known)}, schema]}
    if name == "preset":
        return {"anyOf": [{"enum": sorted({preset for each in known.values() for preset in each.presets})}, schema]}
    if name != "params":
        return schema
    owners: dict[str, list[str]] = {}
    for each in known.values():
        for param in each.params:
            owners.setdefault(param, []).append(each.name)
    value = {"$ref": "#/$defs/Flow/properties/params/anyOf/0/additionalProperties"}
    named = {param: {"description": f"of {', '.join(owners[param])}", **value} for param in sorted(owners)}
    return {**schema, "properties": named}


def _ranges(schema_: dict[str, Any]) -> list[dict[str, Any]]:
    """A range of values, of a key that takes numbers."""

    def has_numbers(schema: dict[str, Any]) -> bool:
        is_quantity = units.NUMBER in schema.get("pattern", "")
        return (
            is_quantity or schema.get("type") in ("integer", "number") or any(map(has_numbers, schema.get("anyOf", [])))
        )

    return [{"$ref": "#/$defs/Range"}] if has_numbers(schema_) else []


def _property(key: Key[Any, Any], schema: dict[str, Any]) -> dict[str, Any]:
    property_ = (
        {"anyOf": [schema, {"type": "array", "items": schema, "minItems": 1}, *_ranges(schema)]}
        if key.varies
        else dict(schema)
    )
    shown = key.default is not REQUIRED and key.default is not None and not isinstance(key.default, Table)
    default = {"default": list(key.default) if isinstance(key.default, tuple) else key.default} if shown else {}
    return {"description": key.doc, **default, **property_}
