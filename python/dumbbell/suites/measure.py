"""Metrics of claims and pictures: figures of the catalogue by their names, and those that a suite computes itself. A
figure is as people see it: in percent where its unit is %.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, nan
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.results import catalogue, figures

if TYPE_CHECKING:
    from dumbbell.results.load import Result

Read = Callable[["Result", "str | None"], Any]
"""``(run, label)`` gives a number, or a list of them; `label` is the name of the flows to read, None for all."""

#: Before the name of a figure: of every flow by itself.
EACH = "each "
#: Units of rates and of amounts of bytes. Runs at a tenth of the paper's rates have a tenth of these; all others are
#: times, shares, ratios or multiples of a BDP, which do not change with the rates.
GROWING = ("Mbit/s", "kbit/s", "bytes")


class Metric(NamedTuple):
    """Function that reads a run, with its title and unit."""

    title: str
    unit: str
    read: Read
    most: float = inf
    """The largest value that is possible."""

    @property
    def axis_title(self) -> str:
        """With its unit, for an axis."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    @property
    def grows_with_rate(self) -> bool:
        """True if it is a rate or an amount of bytes."""
        return self.unit in GROWING


def is_of_a_flow(name: str) -> bool:
    """True for a metric that is one flow's, such as ``goodput_flow_mean`` and ``each goodput``."""
    return name.startswith(EACH) or "_flow_" in name


def flows(result: Result, label: str | None) -> list[int]:
    """Numbers of the flows with this name, or of all."""
    return [i for i, flow in enumerate(result.plan.flows) if label is None or flow.name == label]


def metric(name: str, own: Mapping[str, Metric]) -> Metric | None:
    """The metric of this name, which is one of its suite's `own` or a figure; None for none of them."""
    if name in own:
        return own[name]
    plain = name.removeprefix(EACH)
    if plain not in catalogue.FIGURES:
        return None
    figure = catalogue.FIGURES[plain]

    def number(result: Result, numbers: list[int]) -> float:
        value = figure.value(figures.measured(result), numbers)
        return nan if value is None else value * figure.scale

    def read(result: Result, label: str | None) -> Any:
        numbers = flows(result, label)
        return number(result, numbers) if plain == name else [number(result, [i]) for i in numbers]

    title = figure.long if plain == name else f"{figure.long} of a flow"
    return Metric(title, figure.axis_unit, read, figure.bound)
