"""Kinds of values that keys of a suite's files accept, besides those of scenario files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dumbbell.scenario.plain_kinds import ANY_TABLE as ANY_TABLE  # noqa: PLC0414 - the files of a suite take them too
from dumbbell.scenario.plain_kinds import TEXT as TEXT  # noqa: PLC0414
from dumbbell.scenario.plain_kinds import TEXTS as TEXTS  # noqa: PLC0414
from dumbbell.scenario.plain_kinds import Kind
from dumbbell.units import UnitError


def _words(value: object) -> str:
    if not isinstance(value, str):
        raise UnitError("a text, which may be empty")
    return value


def _number(value: object) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise UnitError("a number")
    return value


def _numbers(value: object) -> tuple[float, ...]:
    if not isinstance(value, (list, tuple)):
        raise UnitError("a list of numbers")
    return tuple(_number(number) for number in value)


def _tables(value: object) -> tuple[dict[str, Any], ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(table, Mapping) for table in value):
        raise UnitError("a list of tables")
    return tuple(dict(table) for table in value)


WORDS = Kind(_words, {"type": "string"})
NUMBER = Kind(_number, {"type": "number"})
NUMBERS = Kind(_numbers, {"type": "array", "items": NUMBER.schema})
TABLES = Kind(_tables, {"type": "array", "items": {"type": "object"}})
ANYTHING = Kind(lambda value: value, {})
