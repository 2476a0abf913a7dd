"""Holds a claim against what was measured.

A claim with several points holds where it holds at every one. The judge compares
means over the repetitions; reports also give the 95 % intervals.
"""

from __future__ import annotations

from itertools import pairwise
from math import isnan
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from .table import PaperError, Reading, by_place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .book import Book
    from .claims import Claim, Tolerance
    from .entry import Place
    from .table import Table

Word = Literal["holds", "fails", "unjudged"]


class Verdict(NamedTuple):
    """What became of a claim."""

    claim: Claim
    verdict: Word
    measured: Any
    """A number, or a list of ``{"at", "series", "value", "interval"}`` where there are several; None if unjudged."""
    reason: str
    tolerance: Tolerance

    def as_json(self) -> dict[str, Any]:
        """As `dumbbell reproduce --json` prints it."""
        return {
            "id": self.claim.id,
            "verdict": self.verdict,
            "measured": self.measured,
            "expected": self.claim.wanted,
            "tolerance": {"kind": self.tolerance.kind, "size": self.tolerance.size},
            "reason": self.reason,
        }


def judge(claim: Claim, table: Table, wide: Table, book: Book) -> Verdict:
    """The verdict on a claim; `wide` has the cases of the sibling panels too, for trends."""
    tolerance = claim.tolerances["sim" if table.kind == "sim" else "real"]
    reason = table.entry.unjudged.get(claim.id) or claim.needs
    if reason:
        return Verdict(claim, "unjudged", None, reason, tolerance)
    try:
        if claim.kind == "ordering":
            return _ordering(claim, tolerance, _lines(claim, table, book))
        if claim.kind == "trend":
            return _trend(claim, tolerance, _points(claim, wide, book))
        return _near(claim, tolerance, _points(claim, table, book))
    except MissingError as error:
        return Verdict(claim, "unjudged", None, str(error), tolerance)


class MissingError(Exception):
    """A figure that these runs do not have."""


def _points(claim: Claim, table: Table, book: Book) -> list[tuple[str, Reading]]:
    """What a claim about values or a trend reads: (series, reading)."""
    own = table.entry.read.get(claim.id)
    if own is not None:
        return [(one.inside, one) for one in own(table, claim, book) if isinstance(one, Reading)]
    at = {key: value for key, value in claim.at.items() if key not in ("from_x", "to_x")}
    found = [
        (name or "", reading) for name in claim.series or (None,) for reading in table.read(claim.metric, name, at)
    ]
    if claim.kind == "trend":
        low, high = claim.at.get("from_x", float("-inf")), claim.at.get("to_x", float("inf"))
        found = [(name, one) for name, one in found if low <= one.at[claim.x_var] <= high]
    return found


def _lines(claim: Claim, table: Table, book: Book) -> list[tuple[Place, list[Reading]]]:
    """What an ordering compares: places, each with a reading per name in its order."""
    own = table.entry.read.get(claim.id)
    parts: list[list[Reading]]
    if own is not None:
        parts = own(table, claim, book)  # type: ignore[assignment]
        if len(parts) != len(claim.order):
            raise PaperError(f"{table.id}#{claim.id}: {len(parts)} readings for {len(claim.order)} names")
    else:
        parts = [table.read(claim.metric, name, claim.at) for name in claim.order]
    return by_place(parts)


def _near(claim: Claim, tolerance: Tolerance, found: Sequence[tuple[str, Reading]]) -> Verdict:
    """Value, approx and range: within the tolerance everywhere."""
    low = claim.expected if claim.lower is None else claim.lower
    high = claim.expected if claim.upper is None else claim.upper
    if claim.kind == "range":
        low, high = claim.lower, claim.upper
    bad = []
    for name, one in found:
        _known(one)
        below = low is not None and one.mean < low - tolerance.slack(low)
        above = high is not None and one.mean > high + tolerance.slack(high)
        if below or above:
            bad.append(f"{_where(name, one.at)}{_number(one.mean)} is {'below' if below else 'above'}")
    return _verdict(claim, tolerance, found, bad)


def _ordering(claim: Claim, tolerance: Tolerance, places: Sequence[tuple[Place, list[Reading]]]) -> Verdict:
    if not places:
        raise MissingError("no point has all of " + ", ".join(claim.order))
    bad, good = [], 0
    for at, readings in places:
        problem = _disorder(claim, tolerance, readings)
        good += not problem
        if problem:
            bad.append(_where("", at) + problem)
    if good and claim.at.get("cases") == "at least one":
        bad = []
    shown = [(name, one) for _, readings in places for name, one in zip(claim.order, readings, strict=True)]
    return _verdict(claim, tolerance, shown, bad)


def _disorder(claim: Claim, tolerance: Tolerance, readings: Sequence[Reading]) -> str:
    """What is out of order; empty where nothing is."""
    for (above, high), (below, low) in pairwise(zip(claim.order, readings, strict=True)):
        _known(high)
        _known(low)
        is_wrong = low.mean > high.mean + tolerance.slack(high.mean)
        if claim.min_gap:
            is_wrong = high.mean - low.mean < claim.min_gap * abs(high.mean) - tolerance.slack(high.mean)
        if is_wrong:
            return f"{above} {_number(high.mean)}, {below} {_number(low.mean)}"
    return ""


def _trend(claim: Claim, tolerance: Tolerance, found: Sequence[tuple[str, Reading]]) -> Verdict:
    sign = {"increase": 1, "decrease": -1, "flat": 0}[claim.direction]
    bad = []
    for name in dict.fromkeys(name for name, _ in found):
        line = sorted((one for owner, one in found if owner == name), key=lambda one: one.at[claim.x_var])
        if len(line) < 2:
            raise MissingError(f"fewer than two points along {claim.x_var}")
        for one in line:
            _known(one)
        if not sign:
            level = fmean(one.mean for one in line)
            bad += [f"{_where(name, one.at)}{_number(one.mean)}, mean {_number(level)}"
                    for one in line if abs(one.mean - level) > tolerance.slack(level)]  # fmt: skip
            continue
        for before, after in pairwise(line):
            if sign * (after.mean - before.mean) < -tolerance.slack(before.mean):
                bad.append(f"{name}{' ' if name else ''}{_number(before.mean)} to {_number(after.mean)}"
                           f" from {claim.x_var} {before.at[claim.x_var]} to {after.at[claim.x_var]}")  # fmt: skip
        if sign * (line[-1].mean - line[0].mean) <= 0:
            bad.append(f"{name}{' ' if name else ''}the ends are {_number(line[0].mean)} and {_number(line[-1].mean)}")
    return _verdict(claim, tolerance, found, bad)


def _verdict(claim: Claim, tolerance: Tolerance, found: Sequence[tuple[str, Reading]], bad: Sequence[str]) -> Verdict:
    if not found:
        raise MissingError("no run has a point that it names")
    measured: Any = [
        {"series": name, "at": dict(one.at), "value": _rounded(one.mean), "interval": _rounded(one.half_width)}
        for name, one in found
    ]
    reason = "; ".join(bad[:3]) + (f"; {len(bad) - 3} more" if len(bad) > 3 else "")
    if len(found) == 1:
        measured = measured[0]["value"]
    return Verdict(claim, "fails" if bad else "holds", measured, reason, tolerance)


def _known(one: Reading) -> None:
    if isnan(one.mean):
        raise MissingError(f"not defined {_where('', one.at)}".strip())


def _rounded(value: float) -> float | None:
    return None if isnan(value) else float(f"{value:.5g}")


def _number(value: float) -> str:
    return f"{value:.4g}"


def _where(name: str, at: Place) -> str:
    text = ", ".join([*([name] if name else []), *(f"{key} {value}" for key, value in at.items())])
    return f"{text}: " if text else ""
