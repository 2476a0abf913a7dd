"""Axes of a scenario, one for each list of values; lists that `together` names go in step, as one axis."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dumbbell.errors import ScenarioError, wrong
from dumbbell.units import UnitError

from .declare import Table, raw, varied
from .plain_kinds import Kind

Values = list[tuple[Any, Any]]
"""Of one key: each value as written and as taken."""
Place = tuple[str | int, ...]
"""The steps of a key path: ``flow[1].cca`` is flow, 1, cca."""

FORM = '[["path.rate", "path.rtt"], ["flow.cca"]]'


class Point(NamedTuple):
    """One value of an axis: what results call it, and what it changes in the scenario."""

    vary: dict[str, Any]
    changes: list[tuple[Place, tuple[Any, Any]]]


class Axis(NamedTuple):
    """Keys whose values go in step, one as a rule, as results name them."""

    keys: tuple[str, ...]
    points: list[Point]


def of(scenario: Table, together: Sequence[Sequence[str]]) -> list[Axis]:
    """The axes, in the order in which their first keys are written; raises ScenarioError for those that cannot go
    together, and for a value that an axis has twice.
    """
    lists = dict(varied(scenario))
    groups = _groups(together, lists)
    listed = []
    for path, values in lists.items():
        if path not in groups:
            listed.append(_axis({path: [path]}, lists, path))
            _once(path, [text for text, _ in values])
        elif path == groups[path][0]:
            _, at, names = groups[path]
            axis = _axis(names, lists, path)
            _once(at, [list(point.vary.values()) for point in axis.points])
            listed.append(axis)
    return listed


def _groups(
    together: Sequence[Sequence[str]], lists: Mapping[str, Values]
) -> dict[str, tuple[str, str, dict[str, list[str]]]]:
    """For each key that goes with others: the first of them that is written, the place of `together`, and their names
    in results.
    """
    by_path: dict[str, tuple[str, str, dict[str, list[str]]]] = {}
    for i, group in enumerate(together):
        at = f"together[{i}]"
        names: dict[str, list[str]] = {}
        for word in group:
            paths = _meant(word, lists, at)
            is_tied = len(paths) > 1 and all(_texts(lists[path]) == _texts(lists[paths[0]]) for path in paths)
            names |= {word: paths} if is_tied else {path: [path] for path in paths}
        members = [path for path in lists if any(path in paths for paths in names.values())]
        if len(members) < 2:
            raise wrong(at, list(group), "two keys or more that have lists of values")
        for path in members:
            if path in by_path:
                raise wrong(at, path, f"each key once; {by_path[path][1]} has it too")
            if len(lists[path]) != len(lists[members[0]]):
                raise ScenarioError(
                    at,
                    f"{members[0]} has {len(lists[members[0]])} values and {path} {len(lists[path])}, wanted as many"
                    " in each",
                )
        by_path |= dict.fromkeys(members, (members[0], at, names))
    return by_path


def _meant(word: str, lists: Mapping[str, Values], at: str) -> list[str]:
    """The keys that a word stands for: itself, or without a number that of every table."""
    paths = [path for path in lists if word in (path, re.sub(r"\[\d+\]", "", path))]
    if not paths:
        raise wrong(at, word, "a key that has a list of values: " + (", ".join(lists) or "there is none"), list(lists))
    return paths


def _texts(values: Values) -> list[Any]:
    return [text for text, _ in values]


def _axis(names: Mapping[str, Sequence[str]], lists: Mapping[str, Values], first: str) -> Axis:
    places = {path: _place(path) for paths in names.values() for path in paths}
    points = [
        Point(
            {name: lists[paths[0]][i][0] for name, paths in names.items()},
            [(place, lists[path][i]) for path, place in places.items()],
        )
        for i in range(len(lists[first]))
    ]
    return Axis(tuple(names), points)


def _place(path: str) -> Place:
    return tuple(int(step[:-1]) if step.endswith("]") else step for step in path.replace("[", ".").split("."))


def _once(at: str, texts: Sequence[Any]) -> None:
    met = set()
    for text in texts:
        hashable = _hashable(text)
        if hashable in met:
            raise wrong(at, text, "each varied value once")
        met.add(hashable)


def _hashable(value: object) -> object:
    """Form of a written value that sets can hold; equal numbers are one, as in a comparison."""
    if isinstance(value, Table):
        return type(value).__name__, _hashable(raw(value))
    if isinstance(value, Mapping):
        return tuple(sorted((str(name), _hashable(item)) for name, item in value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(map(_hashable, value))
    return value


def _together(value: object) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, (list, tuple)) or not all(
        isinstance(group, (list, tuple)) and group and all(isinstance(word, str) and word for word in group)
        for group in value
    ):
        raise UnitError(f"lists of keys, such as {FORM}")
    return tuple(tuple(group) for group in value)


TOGETHER = Kind(
    _together,
    {"type": "array", "items": {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}}},
)
