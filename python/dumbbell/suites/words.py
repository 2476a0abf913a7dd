"""Kinds of values that keys of a suite's files accept, besides those of scenario files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dumbbell.scenario.plain_kinds import Kind
from dumbbell.units import UnitError


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UnitError("a text")
    return value


def _words(value: object) -> str:
    if not isinstance(value, str):
        raise UnitError("a text, which may be empty")
    return value


def _texts(value: object) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) and text for text in texts):
        raise UnitError("a text or a list of texts")
    return tuple(texts)


def _number(value: object) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise UnitError("a number")
    return value


def _numbers(value: object) -> tuple[float, ...]:
    if not isinstance(value, (list, tuple)):
        raise UnitError("a list of numbers")
    return tuple(_number(number) for number in value)


def _any_table(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise UnitError("a table")
    return dict(value)


def _tables(value: object) -> tuple[dict[str, Any], ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(table, Mapping) for table in value):
        raise UnitError("a list of tables")
    return tuple(dict(table) for table in value)


TEXT = Kind(_text, {"type": "string", "minLength": 1})
WORDS = Kind(_words, {"type": "string"})
TEXTS = Kind(_texts, {"anyOf": [TEXT.schema, {"type": "array", "items": TEXT.schema}]})
NUMBER = Kind(_number, {"type": "number"})
NUMBERS = Kind(_numbers, {"type": "array", "items": NUMBER.schema})
ANY_TABLE = Kind(_any_table, {"type": "object"})
TABLES = Kind(_tables, {"type": "array", "items": {"type": "object"}})
ANYTHING = Kind(lambda value: value, {})
