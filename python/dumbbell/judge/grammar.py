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

from dumbbell.errors import ScenarioError, wrong
from dumbbell.results.catalogue import canonical, figure, of_bottleneck

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
    name, number, percent = canonical(match[1], at), match[3], match[4]
    known, value = figure(name), float(number)
    if percent and (known.unit not in ("", "%") or not known.digits):
        raise ScenarioError(
            at, f'got "{text}", wanted a number{known.unit and f" in {known.unit}"}: {name} is no fraction'
        )
    if known.scale > 1 and not percent and 0 < abs(value) < 1:
        meant = f'"{number}%" or "{known.scale * value:g}%"'
        raise ScenarioError(at, f'got "{text}", wanted {meant}: {name} is percent in tables, a fraction in JSON')
    if known.is_fraction and not percent and value > 1:
        raise ScenarioError(at, f'got "{text}", wanted "{value / 100:g}" or "{value:g}%": {name} is at most 1')
    sign: Sign = match[2]  # type: ignore[assignment]
    return Bound(name, sign, value / (100 if percent else known.scale))


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
