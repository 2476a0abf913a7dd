"""Questions as people write them, in one grammar.

    utilization >= 95%      a bound: FIGURE OP NUMBER, with OP one of >= <= > < == !=
    goodput ci 2%           a precision: half of the 95 % interval is at most 2 % of the mean
    queue@up ci 0.5         at most 0.5 in the unit that tables print

A number is in the unit that tables print: percent of ``retrans_rate`` and ``drop_rate``. A fraction takes ``95%`` too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, get_args

from dumbbell import units
from dumbbell.errors import ScenarioError, wrong
from dumbbell.results.catalogue import Figure, canonical, figure, of_bottleneck

from .questions import Bound, Precision, Sign

if TYPE_CHECKING:
    from dumbbell.plan.view import PlanView
    from dumbbell.results.figures import Row

_FORM = re.compile(
    r"\s*(\w+(?:@[\w.-]+)?)\s*(>=|<=|==|!=|>|<|(?<=\s)ci(?=\s))\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(%?)\s*"
)


def bound(text: str, at: str = "--where") -> Bound:
    """Read a bound, such as ``utilization >= 0.95``. Raises ScenarioError that names the option `at`, and lists
    operators or figures.
    """
    match = _FORM.fullmatch(text)
    if match is None or match[2] == "ci":
        raise ScenarioError(
            at,
            f'got "{text}", wanted COLUMN OP NUMBER, such as "utilization >= 95%"; OP is one of:'
            f" {' '.join(get_args(Sign))}",
        )
    sign: Sign = match[2]  # type: ignore[assignment]
    name = canonical(match[1], at)
    return Bound(name, sign, amount(name, float(match[3]), match[4], text, at))


def amount(name: str, value: float, unit: str, text: str, at: str) -> float:
    """A number of a figure as metrics compute it: `unit` is what stands behind it, that of tables if nothing does.
    Raises ScenarioError with the whole `text` for one that can be meant in two ways.
    """
    known = figure(name)
    if unit == "%":
        if known.unit not in ("", "%") or not known.digits:
            raise ScenarioError(
                at, f'got "{text}", wanted a number{known.unit and f" in {known.unit}"}: {name} is no fraction'
            )
        return value / 100
    if unit == "pt" and known.unit == "%":
        return value / 100
    if unit:
        return _converted(known, value, unit, text, at)
    if known.scale > 1 and 0 < abs(value) < 1:
        meant = f'"{value:g}%" or "{known.scale * value:g}%"'
        raise ScenarioError(at, f'got "{text}", wanted {meant}: {name} is percent in tables, a fraction in JSON')
    if known.is_fraction and value > 1:
        raise ScenarioError(at, f'got "{text}", wanted "{value / 100:g}" or "{value:g}%": {name} is at most 1')
    return value / known.scale


def _converted(known: Figure, value: float, unit: str, text: str, at: str) -> float:
    """A number with a unit of its own, in that of the figure."""
    try:
        if known.unit in ("ms", "s"):
            return units.span_ns(f"{value:g}{unit}") / {"ms": 1e6, "s": 1e9}[known.unit]
        if known.unit == "Mbit/s":
            return value if unit == "Mbit/s" else units.rate_bps(f"{value:g}{unit}") / 1e6
    except units.UnitError as error:
        raise ScenarioError(at, f'got "{text}", wanted {error} behind {known.name}') from None
    in_unit = f"in {known.unit}" if known.unit else "without a unit"
    raise ScenarioError(at, f'got "{text}", wanted a number {in_unit}, got {value:g}{unit}')


def precision(text: str, at: str = "--until") -> Precision:
    """Read a precision, such as ``goodput ci 2%``; raises ScenarioError that names the option `at`."""
    match = _FORM.fullmatch(text)
    if match is None or match[2] != "ci" or not float(match[3]) > 0:
        raise ScenarioError(at, f'got "{text}", wanted FIGURE ci WIDTH, such as "goodput ci 2%" or "queue ci 0.5"')
    name, width = canonical(match[1], at), float(match[3])
    known = figure(name)
    if known.is_fraction and not match[4] and width > 1:
        meant = f'"{width / 100:g}", or "{width:g}%" of the mean'
        raise ScenarioError(at, f'got "{text}", wanted {meant}: {name} is at most 1')
    return Precision(name, width / (100 if match[4] else known.scale), bool(match[4]))


def chosen(rows: Sequence[Row], texts: Iterable[str]) -> list[Row]:
    """The rows whose means meet all bounds."""
    bounds = [bound(text) for text in texts]
    return [row for row in rows if all(condition.judge(row.sample(condition.name)).is_met for condition in bounds)]


def refuse_doubted(names: Iterable[str], plans: Iterable[PlanView], at: str) -> None:
    """Raise ScenarioError that names the option `at` for a figure of a link without the link's name, where the one of
    [path] may not be the one that matters.
    """
    unnamed = of_bottleneck(names)
    for plan in plans if unnamed else ():
        why = plan.doubted_bottleneck
        if why:
            known = [f"{unnamed[0]}@{link.name}" for link in plan.recorded_links]
            raise wrong(at, unnamed[0], f"the link, because {why}: one of " + ", ".join(known))
