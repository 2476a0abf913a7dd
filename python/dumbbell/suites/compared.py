"""What claims about two lines read: one against the other, repetition by repetition."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .table import Reading, Table, by_place

if TYPE_CHECKING:
    from .claims import Claim
    from .table import Place, Tables

Reader = Callable[[Table, "Claim", "Tables"], list[Reading]]


def over(one: float, other: float) -> float:
    """Ratio; nan where there is nothing to divide by."""
    return one / other if other else float("nan")


def minus(one: float, other: float) -> float:
    """Difference."""
    return one - other


def pair(at: Place, made: Callable[[float, float], float], one: Reading, other: Reading) -> Reading:
    """Two readings as one."""
    return Reading(at, tuple(made(a, b) for a, b in zip(one.values, other.values, strict=True)))


def compared(metric: str, one: str, other: str, made: Callable[[float, float], float]) -> Reader:
    """A claim about a figure of one line against that of another, at each place that both have."""

    def read(table: Table, claim: Claim, _: Tables) -> list[Reading]:
        parts = [table.read(metric, label, claim.at) for label in (one, other)]
        return [pair(at, made, *found) for at, found in by_place(parts)]

    return read
