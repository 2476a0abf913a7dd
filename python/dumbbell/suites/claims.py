"""What a suite claims, as data: its file `claims.toml`, an ``[[entry]]`` per figure or table.

A claim is one of five kinds. ``value`` and ``approx``: `expected` within the tolerance. ``range``: between `lower` and
`upper`, with the tolerance as slack; one bound alone ("always above 80 %") has no slack, unless its `origin` is
``derived``: then it is the smallest or largest number of a table. ``ordering``: `order` names series from the highest
to the lowest, which differ by more than the tolerance. `min_gap` asks for a distance as a part of the higher one, for
words such as "clearly" and "much". `may_tie` names those whose next may be as high, for words such as "similar" and "no
worse"; `slight` those for which the right sign is enough ("slightly higher"). ``trend``: along `x_var` in `direction`;
reversals smaller than the tolerance are ignored, and the ends differ by more than it. Shares and Jain's index are
fractions. `tol` has a tolerance for the simulator and one for real stacks.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Literal, NamedTuple

from dumbbell import judge as judging

from .folders import known, tables

Kind = Literal["value", "approx", "range", "ordering", "trend"]


class Tolerance(NamedTuple):
    """How far off a figure may be: ``abs`` in the figure's unit, ``rel`` as a part of what is expected."""

    kind: str
    size: float

    @property
    def of_judge(self) -> judging.Tolerance:
        """The same as the judge takes it."""
        return judging.Tolerance(self.size) if self.kind == "abs" else judging.Tolerance(share=self.size)


class Claim(NamedTuple):
    """One claim of a paper about a figure or table; fields that its kind does not use are None or empty."""

    id: str
    """Number within its entry, such as ``c3``."""
    text: str
    kind: Kind
    metric: str
    series: tuple[str, ...]
    """The lines that it is about; empty: the run as a whole."""
    at: dict[str, Any]
    """Where on the axes; empty: everywhere."""
    expected: float | None
    lower: float | None
    upper: float | None
    order: tuple[str, ...]
    min_gap: float
    may_tie: tuple[str, ...]
    """Names in the order that the next one may equal within the tolerance, as the paper's words allow."""
    slight: tuple[str, ...]
    """Names in the order that are ahead of the next one only "slightly": the right sign is enough."""
    x_var: str
    direction: str
    tolerances: dict[str, Tolerance]
    """By what ran: ``sim`` and ``real``."""
    unit: str
    strength: str
    """``numeric``: a printed number; ``text``: read from prose; ``qualitative``."""
    origin: str
    note: str
    needs: str
    """What a simulation cannot have, where the claim needs it."""

    @property
    def wanted(self) -> Any:
        """What the claim expects, as `reproduce --json` prints it."""
        if self.kind == "ordering":
            return list(self.order)
        if self.kind == "trend":
            return f"{self.direction} over {self.x_var}"
        if self.kind == "range":
            return [self.lower, self.upper]
        return self.expected


class Text(NamedTuple):
    """What the catalogue of a paper has of one figure or table."""

    id: str
    """Such as ``kfoury2020/fig9a``."""
    item: str
    """Its name in the paper, such as ``Fig. 9(a)``."""
    title: str
    priority: int
    """1: a headline figure; 3: weak evidence."""
    not_stated: tuple[str, ...]
    """What the paper leaves open."""
    ambiguity: str
    claims: tuple[Claim, ...]


@cache
def of_suite(suite: str) -> dict[str, Text]:
    """The entries of a suite by their id, in its order."""
    entries = tables(known()[suite].folder / "claims.toml").get("entry", [])
    return {
        one["id"]: Text(
            one["id"],
            one.get("item", one["id"].partition("/")[2]),
            one["title"],
            one["priority"],
            tuple(one.get("not_stated", ())),
            " ".join(one[key] for key in ("ambiguity", "grid_note") if key in one),
            tuple(_claim(claim) for claim in one["claims"]),
        )
        for one in entries
    }


def _names(text: str) -> tuple[str, ...]:
    """``BBRv1,BBRv2`` is two lines; ``paced, no loss`` and ``BBRv2(2%,0)`` are one."""
    return (text,) if ", " in text else tuple(re.split(r",(?![^(]*\))", text)) if text else ()


def _claim(given: dict[str, Any]) -> Claim:
    tol = given["tol"]
    return Claim(
        given["id"],
        given["text"],
        given["kind"],
        given["metric"],
        _names(given.get("series", "")),
        given.get("at", {}),
        given.get("expected"),
        given.get("lower"),
        given.get("upper"),
        tuple(given.get("order", ())),
        given.get("min_gap", 0.0),
        tuple(given.get("may_tie", ())),
        tuple(given.get("slight", ())),
        given.get("x_var", ""),
        given.get("direction", ""),
        {"sim": Tolerance(tol["kind"], tol["sim"]), "real": Tolerance(tol["kind"], tol["emu"])},
        given.get("unit", ""),
        given["strength"],
        given["origin"],
        given.get("note", ""),
        "" if given.get("sim_applicable", True) else "a real network or testbed, which is not simulated",
    )
