"""Axes of a sweep besides its file's own lists: keys with values, ranges, and random samples, as overrides of the file.

path.buffer=0.5bdp,1bdp,2bdp        these values
path.rate=10Mbps..1Gbps/7/log       seven values with equal factors; without /log: with equal differences
path.rtt=10ms..100ms                any value between these, for random samples; /log: uniform in the logarithm
flow.cca=bbr,cubic                  the controller of every [[flow]] table
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple

from dumbbell.errors import ScenarioError, wrong
from dumbbell.scenario import axes, ranges, source
from dumbbell.scenario.declare import is_range
from dumbbell.scenario.file import from_text
from dumbbell.scenario.ranges import Amount
from dumbbell.scenario.toml_text import value_text

_SPAN = re.compile(r"\s*([^/]+?)\s*\.\.\s*([^/]+?)\s*(?:/\s*(\d+)\s*)?(/\s*log\s*)?")
#: Draws for each point of a sample, after which there are too few different ones.
_TRIES = 1000

Given = str | Mapping[str, Any]
"""Values as an option has them, or in Python also a list of them, or a range."""


class Span(NamedTuple):
    """Any value between two ends."""

    low: Any
    high: Any
    is_log: bool

    def drawn(self, share: float, at: str) -> Any:
        """The value at this share of the way from the lower end to the upper."""
        low, high = Amount.of(self.low, at), Amount.of(self.high, at)
        first, last = low.number, high.in_unit_of(low, at)
        if not first < last or (self.is_log and first <= 0):
            raise wrong(at, f"{self.low}..{self.high}", "an upper end above the lower, both above zero with /log")
        if self.is_log:
            return low.accepted(first * Fraction(float(last / first) ** share), 6)
        return low.accepted(first + (last - first) * Fraction(share), 6)


class Wanted(NamedTuple):
    """One key and its values."""

    key: str
    values: list[Any] | Span


def wanted(text: str) -> Wanted:
    """Read ``KEY=VALUES``; raises ScenarioError."""
    key, equals, values = text.partition("=")
    if not equals or not key.strip() or not values.strip():
        raise ScenarioError("--vary", f'got "{text}", wanted KEY=VALUES, such as path.buffer=1bdp,2bdp,4bdp')
    return Wanted(key.strip(), _read(key.strip(), values))


def of(vary: Mapping[str, Any]) -> list[Wanted]:
    """The same of a dictionary, whose values are texts as above, lists, or ranges as tables."""
    listed = []
    for key, given in vary.items():
        values = _read(key, given) if isinstance(given, str) else given
        if isinstance(values, Mapping):
            values = ranges.values(values, key)
        if not isinstance(values, Span) and (isinstance(values, str) or not isinstance(values, Sequence) or not values):
            raise wrong(key, given, "a list of values")
        listed.append(Wanted(key, values if isinstance(values, Span) else list(values)))
    return listed


def _read(key: str, text: str) -> list[Any] | Span:
    if text.lstrip()[:1] in ("[", "{"):
        value = _value(text)
        if is_range(value):
            return ranges.values(value, key)
        return value if isinstance(value, list) else [value]
    match = _SPAN.fullmatch(text)
    if match is None:
        return [_value(word) for word in text.split(",")]
    low, high, steps, log = match.groups()
    ends = {"from": _value(low), "to": _value(high)}
    if steps is None:
        return Span(ends["from"], ends["to"], bool(log))
    return ranges.values({**ends, "steps": int(steps), "spacing": "log" if log else "linear"}, key)


def _value(text: str) -> Any:
    """A value as TOML has it, or a bare word."""
    import tomllib

    try:
        return source.one_value(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return text.strip()


def overrides(
    text: str,
    before: Sequence[str],
    axes_wanted: Sequence[Wanted],
    *,
    together: Iterable[Sequence[str]] = (),
    sample: int | None = None,
    seed: int = 1,
) -> tuple[str, ...]:
    """The overrides that let this scenario text vary these keys, after those that it has `before`; raises
    ScenarioError.

    With `sample`, that many points of all that varies are drawn, each value by a random stream of its key.
    """
    spans = {wanted.key: wanted.values for wanted in axes_wanted if isinstance(wanted.values, Span)}
    if spans and sample is None:
        key, span = next(iter(spans.items()))
        raise ScenarioError(
            key,
            f"{span.low}..{span.high} has no steps: wanted {span.low}..{span.high}/10, or a random sample (--sample N)",
        )
    all_of = [*before]
    groups = [list(group) for group in together]
    for wanted in axes_wanted:
        paths = _paths(wanted.key, source.tables(text, tuple(all_of)))
        values = [wanted.values.low] if isinstance(wanted.values, Span) else wanted.values
        all_of += [f"{path}={value_text(values)}" for path in paths]
        if len(paths) > 1 and not any(wanted.key in group for group in groups):
            groups.append([wanted.key])
    all_of += _grouped(text, all_of, groups)
    return tuple(all_of) if sample is None else _sampled(text, all_of, spans, sample, seed)


def _grouped(text: str, before_these: Sequence[str], groups: Sequence[Sequence[str]]) -> list[str]:
    before = source.tables(text, tuple(before_these)).get("together", [])
    return [f"together={json.dumps([*before, *groups])}"] if groups else []


def _paths(key: str, tables: Mapping[str, Any]) -> list[str]:
    """The key paths that a key stands for: of every table where it names none; what is of a controller, of those that
    have one.
    """
    name, dot, rest = key.partition(".")
    if name in ("flow", "link") and dot:
        is_of_controller = name == "flow" and rest.partition(".")[0] in ("cca", "preset", "params")
        listed = enumerate(tables.get(name, []))
        paths = [f"{name}[{i}].{rest}" for i, table in listed if not is_of_controller or "cca" in table]
        if not paths:
            raise ScenarioError(key, f"there is no [[{name}]] table{' with a controller' if is_of_controller else ''}")
        return paths
    return [key]


def _sampled(text: str, before: Sequence[str], spans: Mapping[str, Span], count: int, seed: int) -> tuple[str, ...]:
    """All that varies as lists that go in step, a value for each point."""
    scenario = from_text(text, overrides=tuple(before))
    scenario_axes, most = scenario.axes, scenario.limits.runs // scenario.repetitions
    if count > most:
        raise ScenarioError("--sample", f"got {count}, wanted at most {most} points, as limits.runs allows")
    total = 1
    for axis in scenario_axes:
        total *= len(axis.points)
    streams = {name: Random(f"{seed}/{name}") for name in (*spans, *("+".join(axis.keys) for axis in scenario_axes))}
    points: dict[tuple[Any, ...], tuple[list[int], dict[str, Any]]] = {}
    for _ in range(_TRIES * count):
        if len(points) == count:
            break
        places = [int(streams["+".join(axis.keys)].random() * len(axis.points)) for axis in scenario_axes]
        values = {key: span.drawn(streams[key].random(), key) for key, span in spans.items()}
        points.setdefault((*places, *values.values()), (places, values))
    if len(points) < count:
        most = total if not spans else len(points)
        raise ScenarioError("--sample", f"got {count}, wanted at most {most}: there are no more different points")
    return (*before, *_in_step(text, before, scenario_axes, spans, list(points.values())))


def _in_step(
    text: str,
    before: Sequence[str],
    scenario_axes: Sequence[axes.Axis],
    spans: Mapping[str, Span],
    points: Sequence[tuple[list[int], dict[str, Any]]],
) -> list[str]:
    lists: dict[str, list[Any]] = {}
    words: list[str] = []
    for number, axis in enumerate(scenario_axes):
        if any(key in spans for key in axis.keys):
            continue
        words += axis.keys
        for place, _ in axis.points[0].changes:
            at = [axis.points[places[number]] for places, _ in points]
            lists[_path(place)] = [next(text for where, (text, _) in point.changes if where == place) for point in at]
    for key in spans:
        words.append(key)
        for path in _paths(key, source.tables(text, tuple(before))):
            lists[path] = [values[key] for _, values in points]
    group = [words] if len(lists) > 1 else []
    return [*(f"{path}={value_text(values)}" for path, values in lists.items()), f"together={json.dumps(group)}"]


def _path(place: Sequence[str | int]) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return text.removeprefix(".")
