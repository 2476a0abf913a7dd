"""Readings without a run: parameters of controllers as a suite's flows set them, and settings of an entry's runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dumbbell.controllers import known, with_preset
from dumbbell.results import axis

from .changed import value_at
from .places import SuiteError, matches, product
from .table import Reading

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .places import Case, Place
    from .table import Table

#: What one of these units is in ms and Mbit/s; others stay.
_SIZES = {"us": 1e-3, "ms": 1.0, "s": 1e3, "kbit/s": 1e-3, "Mbit/s": 1.0, "Gbit/s": 1e3}


def parameter(table: Table, name: str, line: str | None) -> Reading:
    """A parameter of the controller of a line, which is a name of `[flows]`. Raises SuiteError for an unknown one."""
    flow = table.entry.flows.get(line or "")
    if flow is None:
        raise SuiteError(f"{line or 'no line'}: not a name of [flows]: {', '.join(table.entry.flows)}")
    cca = flow["cca"]
    given = with_preset(cca, flow.get("preset"), flow.get("params", {}), f"flows.{line}")
    declared = known()[cca].params
    if name not in declared:
        raise SuiteError(f"{cca} has no parameter {name}: {', '.join(declared)}")
    value = given.get(name, declared[name].default)
    whole, _, parts = declared[name].unit.partition("/")
    return Reading({}, (value / int(parts) if whole == "1" and parts.isdecimal() else float(value),))


def settings(cases: Iterable[Case], text: str, line: str | None, at: Place, by: str | None) -> list[Reading]:
    """A setting at each place of these cases, or at each on the axis `by`, once where it is the same there."""
    readings: dict[tuple[object, float], Reading] = {}
    for case in cases:
        if line not in (None, case.series) or not matches(case.at, at):
            continue
        value = sum(product(term, lambda word: _value(word, case)) for term in text.split(" + "))
        place = dict(case.at) if by is None else {by: case.at[by]}
        readings.setdefault((str(place), value), Reading(place, (value,)))
    if not readings:
        raise SuiteError(f"no case has {line or 'a point'} at {dict(at)}")
    return list(readings.values())


def _value(word: str, case: Case) -> float:
    """A number, or the value of a key in ms, Mbit/s or its own unit."""
    try:
        return float(word)
    except ValueError:
        written = value_at(case.scenario, word)
    values = None if written is None else axis.read(word, [written])
    if values is None:
        raise SuiteError(f"{word}: {written!r} is no number or quantity")
    return values.numbers[0] * _SIZES.get(values.unit, 1.0)
