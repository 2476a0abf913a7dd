"""Kinds of values: a parser with its JSON Schema; and the plain kinds: words, texts, whole numbers, switches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dumbbell.errors import wrong
from dumbbell.units import UnitError


class Kind:
    """Kind of value that a key accepts: parses one written value and describes it to editors."""

    def __init__(self, parse: Callable[[object], Any], schema: dict[str, Any]) -> None:
        self.parse = parse
        self.schema = schema

    def take(self, value: object, at: str) -> Any:
        """The value of what was written at key `at`; raises ScenarioError."""
        try:
            return self.parse(value)
        except UnitError as error:
            raise wrong(at, value, str(error)) from None


class Choice(Kind):
    """One of a few words."""

    def __init__(self, *options: str) -> None:
        self.options = list(options)
        self.schema = {"enum": self.options}

    def take(self, value: object, at: str) -> str:
        """The word itself."""
        if value not in self.options or not isinstance(value, str):
            raise wrong(at, value, "one of: " + ", ".join(f'"{o}"' for o in self.options), self.options)
        return value


def whole(low: int, high: int) -> Kind:
    """A whole number from `low` to `high`."""

    def parse(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise UnitError(f"a whole number from {low} to {high}")
        return value

    return Kind(parse, {"type": "integer", "minimum": low, "maximum": high})


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise UnitError("true or false")
    return value


SWITCH = Kind(_switch, {"type": "boolean"})


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UnitError("a text")
    return value


def _texts(value: object) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) and text for text in texts):
        raise UnitError("a text or a list of texts")
    return tuple(texts)


def _any_table(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise UnitError("a table")
    return dict(value)


TEXT = Kind(_text, {"type": "string", "minLength": 1})
TEXTS = Kind(_texts, {"anyOf": [TEXT.schema, {"type": "array", "items": TEXT.schema}]})
ANY_TABLE = Kind(_any_table, {"type": "object"})
