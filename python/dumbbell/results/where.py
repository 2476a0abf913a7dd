"""Conditions on figures, ``COLUMN OP NUMBER``; a figure is the mean where repetitions are taken together."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dumbbell.errors import ScenarioError, wrong

from .catalogue import canonical, figure, of_bottleneck
from .figures import Row

if TYPE_CHECKING:
    from .plan_view import PlanView

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt,
}  # fmt: skip
_FORM = re.compile(r"\s*(\w+(?:@[\w.-]+)?)\s*(>=|<=|==|!=|>|<)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(%?)\s*")


class Condition(NamedTuple):
    """A figure by its name, how it is compared, and with what, as metrics compute it: a percentage as a fraction."""

    name: str
    operator: str
    value: float

    def holds(self, row: Row) -> bool:
        """Whether a row has the figure, in every repetition, and its mean meets the condition: the mean of some is not
        that of all.
        """
        found = row.value(self.name)
        return found is not None and not row.lacking(self.name) and _OPERATORS[self.operator](found, self.value)


def condition(text: str) -> Condition:
    """Read ``utilization >= 0.95``, or ``95%`` of a figure that is a fraction; a number is in the unit that tables
    print, which is percent of ``retrans_rate`` and ``drop_rate``. Raises ScenarioError that lists operators or figures.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise ScenarioError(
            "--where",
            f'got "{text}", wanted COLUMN OP NUMBER, such as "utilization >= 95%"; OP is one of:'
            f" {' '.join(_OPERATORS)}",
        )
    name, sign, number, percent = match.groups()
    name = canonical(name, "--where")
    one = figure(name)
    unit = one.unit
    if percent and (unit not in ("", "%") or not one.digits):
        raise ScenarioError("--where", f'got "{text}", wanted a number{unit and f" in {unit}"}: {name} is no fraction')
    value = float(number)
    if unit == "%" and not percent and 0 < abs(value) < 1:
        meant = f'"{number}%" or "{100 * value:g}%"'
        raise ScenarioError("--where", f'got "{text}", wanted {meant}: {name} is percent in tables, a fraction in JSON')
    if one.is_fraction and not percent and value > 1:
        meant = f'"{value / 100:g}" or "{value:g}%"'
        raise ScenarioError("--where", f'got "{text}", wanted {meant}: {name} is at most 1')
    return Condition(name, sign, value / (100 if percent or unit == "%" else 1))


def chosen(rows: Sequence[Row], texts: Iterable[str]) -> list[Row]:
    """The rows that meet all conditions."""
    wanted = [condition(text) for text in texts]
    return [row for row in rows if all(one.holds(row) for one in wanted)]


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
