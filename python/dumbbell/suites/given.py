"""Readings without a run: parameters of controllers as a suite's flows set them, and settings of an entry's runs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dumbbell.controllers import known, with_preset
from dumbbell.results import axis

from .changed import value_at
from .places import SuiteError, matches, product
from .table import Reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .places import Case, Place
    from .table import Table

#: What one of these units is in ms, Mbit/s or kB; others stay.
_SIZES = {
    "us": 1e-3,
    "ms": 1.0,
    "s": 1e3,
    "kbit/s": 1e-3,
    "Mbit/s": 1.0,
    "Gbit/s": 1e3,
    "B": 1e-3,
    "kB": 1.0,
    "MB": 1e3,
    "GB": 1e6,
}


def parameter(table: Table, cases: Iterable[Case], name: str, line: str | None) -> Reading:
    """A parameter of the controller of a line, as the entry's first run of it has it; where it has none, as `[flows]`.
    Raises SuiteError for an unknown line or parameter.
    """
    flow = next(_flows(cases, line), None) or table.entry.flows.get(line or "")
    if flow is None:
        raise SuiteError(f"{line or 'no line'}: neither a line nor a name of [flows]: {', '.join(table.entry.flows)}")
    cca = flow["cca"]
    given = with_preset(cca, flow.get("preset"), flow.get("params", {}), f"flow ({line})")
    declared = known()[cca].params
    if name not in declared:
        raise SuiteError(f"{cca} has no parameter {name}: {', '.join(declared)}")
    value = given.get(name, declared[name].default)
    whole, _, parts = declared[name].unit.partition("/")
    return Reading({}, (value / int(parts) if whole == "1" and parts.isdecimal() else float(value),))


def _flows(cases: Iterable[Case], line: str | None) -> Iterator[Mapping[str, Any]]:
    """The [[flow]] tables of a line."""
    for case in cases:
        for flow in case.scenario["flow"]:
            if line in (case.series, flow.get("name")):
                yield flow


def settings(cases: Iterable[Case], text: str, line: str | None, at: Place, by: str | None) -> list[Reading]:
    """The values of a setting in these cases, each with the first place that has it; with `by` those at each place on
    that axis.
    """
    readings: dict[tuple[object, float], Reading] = {}
    for case in cases:
        if line not in (None, case.series) or not matches(case.at, at):
            continue
        value = sum(product(term, partial(_value, case)) for term in text.split(" + "))
        if by is not None and by not in case.at:
            raise SuiteError(f"no axis {by} at {dict(case.at)}")
        place = case.at if by is None else {by: case.at[by]}
        readings.setdefault((by and case.at[by], value), Reading(place, (value,)))
    if not readings:
        raise SuiteError(f"no case has {line or 'a point'} at {dict(at)}")
    return list(readings.values())


def _value(case: Case, word: str) -> float:
    """A number, or the value of a key in ms, Mbit/s, kB or its own unit."""
    try:
        return float(word)
    except ValueError:
        written = value_at(case.scenario, word)
    values = None if written is None else axis.read(word, [written])
    if values is None:
        raise SuiteError(f"{word}: {written!r} is no number or quantity")
    return values.numbers[0] * _SIZES.get(values.unit, 1.0)
