"""Types of declared keys: what constructors take, and what attributes are. Only type checkers import this; types of
keys that take a declared table stand with the table.

Most keys also take a list, which varies them.
"""

from __future__ import annotations

from typing import Any, TypeVar

from dumbbell.units import Buffer

from .declare import Key
from .schedule import Rate, Rtt

T = TypeVar("T")

Text = str | list[str]
Fixed = Key[T, T]
"""A value that is read as it is written, and does not vary."""
Quantity = Key[Text, int]
"""A rate in bits per second, a time in nanoseconds or a size in bytes, written with its unit."""
MaybeQuantity = Key[Text | None, int | None]
Word = Key[Text, str]
MaybeWord = Key[Text | None, str | None]
Share = Key[str | float | list[str | float], int]
"""A probability in parts per billion."""
Switch = Key[bool | list[bool], bool]
WordOrSwitch = Key[bool | str | list[bool | str], str]
Number = Key[int | list[int], int]
MaybeNumber = Key[int | list[int] | None, int | None]
Ratio = Key[float | list[float], tuple[int, int]]
"""A number as a fraction."""

Limit = Key[Text, Buffer | None]
"""A limit of a queue; None is the buffer of its link."""
MaybeBuffer = Key[Text | None, Buffer | None]
Memory = Key[Text | None, int | str | None]
"""Bytes, or "buffer" for that of the link."""

SubTable = Key[T | dict[str, Any] | list[Any], T]
"""A table, also as a dictionary."""
MaybeSubTable = Key[T | dict[str, Any] | list[Any] | None, T | None]
Tables = Key[list[T] | tuple[T, ...] | list[dict[str, Any]], tuple[T, ...]]

AnyRate = Key[str | dict[str, Any] | list[str | dict[str, Any]], Rate]
MaybeRate = Key[str | dict[str, Any] | list[str | dict[str, Any]] | None, Rate | None]
MaybeRtt = Key[Any, Rtt | None]
