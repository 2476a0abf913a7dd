"""Where runs stand on the axes of a figure, and the set-ups that stand there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dumbbell.errors import ScenarioError

Place = Mapping[str, Any]
"""Where a case stands on the axes of its figure: ``{"buffer_bdp": 0.1}``."""


class Case(NamedTuple):
    """One set-up of an entry."""

    series: str | None
    """The line of the figure that all of its flows belong to; None where the lines are the flows' names."""
    at: Place
    scenario: dict[str, Any]
    """The tables of a scenario file, with one value per key; `name` is given to it."""


class SuiteError(ScenarioError):
    """Mismatch in a suite: a claim or picture, and the runs of its entry."""

    def __init__(self, problem: str) -> None:
        super().__init__("", problem)


def matches(at: Place, wanted: Mapping[str, Any]) -> bool:
    """True if a place meets the conditions: ``key: value``, ``key: [values]``, ``key_min``, ``key_max``.

    >>> matches({"buffer_bdp": 2}, {"buffer_bdp_min": 1}), matches({"buffer_bdp": 2}, {"buffer_bdp": [1, 4]})
    (True, False)
    """
    for key, value in wanted.items():
        if key in at:
            allowed = value if isinstance(value, list) else [value]
            if at[key] not in allowed:
                return False
        elif key.endswith("_min") and key[:-4] in at:
            if at[key[:-4]] < value:
                return False
        elif key.endswith("_max") and key[:-4] in at:
            if at[key[:-4]] > value:
                return False
        else:
            raise SuiteError(f"no axis {key} at {dict(at)}")
    return True


def product(text: str, number: Callable[[str], float]) -> float:
    """What `number` has for each word of products and quotients, from left to right.

    >>> product("path.rate * path.rtt / 8", {"path.rate": 40, "path.rtt": 2, "8": 8}.__getitem__)
    10.0
    """
    words = re.split(r" ([*/]) ", text)
    value = number(words[0])
    for sign, word in zip(words[1::2], words[2::2], strict=True):
        other = number(word)
        value = value * other if sign == "*" else value / other
    return value
