"""Kinds of values: a parser with its JSON Schema; and the plain kinds: words, whole numbers, switches."""

from __future__ import annotations

from collections.abc import Callable
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
