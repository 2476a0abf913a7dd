"""Holds a claim against what was measured.

A claim with several points holds where it holds at every one. The judge compares
means over the repetitions; reports also give the 95 % intervals.

A tolerance blurs a number that the paper prints. It never turns a word round: a bound
of one side ("above 80 %") has no tolerance, and lines that are to be in an order, or
the ends of a trend, must differ by more than it. Where they do not, the claim fails as
a tie.
"""

from __future__ import annotations

from itertools import pairwise
from math import isfinite, isnan
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


class Problem(NamedTuple):
    """What speaks against a claim at one place."""

    text: str
    is_tie: bool = False
    """Whether two values that the claim puts in an order differ by less than the tolerance."""


class Verdict(NamedTuple):
    """What became of a claim."""

    claim: Claim
    verdict: Word
    measured: Any
    """A number, or a list of ``{"at", "series", "value", "interval"}`` where there are several; None if unjudged."""
    reason: str
    tolerance: Tolerance
    is_tie: bool = False
    """Whether it fails only because what it puts in an order differs by less than the tolerance."""

    def as_json(self) -> dict[str, Any]:
        """As `dumbbell reproduce --json` prints it."""
        return {
            "id": self.claim.id,
            "verdict": self.verdict,
            "measured": self.measured,
            "expected": self.claim.wanted,
            "tolerance": {"kind": self.tolerance.kind, "size": self.tolerance.size},
            "reason": self.reason,
            **({"tie": True} if self.is_tie else {}),
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
    """Value, approx and range: within the tolerance everywhere. A bound without another one has no tolerance, unless it
    is the smallest or largest number of a table, and no word of the paper.
    """
    low = claim.expected if claim.lower is None else claim.lower
    high = claim.expected if claim.upper is None else claim.upper
    if claim.kind == "range":
        low, high = claim.lower, claim.upper
    is_strict = (low is None or high is None) and claim.origin != "derived"
    bad = []
    for name, one in found:
        _known(one)
        below = low is not None and one.mean < low - (0 if is_strict else tolerance.slack(low))
        above = high is not None and one.mean > high + (0 if is_strict else tolerance.slack(high))
        if below or above:
            bad.append(Problem(f"{_where(name, one.at)}{_number(one.mean)} is {'below' if below else 'above'}"))
    return _verdict(claim, tolerance, found, bad)


def _ordering(claim: Claim, tolerance: Tolerance, places: Sequence[tuple[Place, list[Reading]]]) -> Verdict:
    if not places:
        raise MissingError("no point has all of " + ", ".join(claim.order))
    bad, good = [], 0
    for at, readings in places:
        problems = _disorder(claim, tolerance, readings)
        good += not problems
        bad += [one._replace(text=_where("", at) + one.text) for one in problems]
    if good and claim.at.get("cases") == "at least one":
        bad = []
    shown = [(name, one) for _, readings in places for name, one in zip(claim.order, readings, strict=True)]
    return _verdict(claim, tolerance, shown, bad)


def _disorder(claim: Claim, tolerance: Tolerance, readings: Sequence[Reading]) -> list[Problem]:
    """Neighbours that are out of order, or tie where they may not."""
    bad = []
    for (above, high), (below, low) in pairwise(zip(claim.order, readings, strict=True)):
        _known(high)
        _known(low)
        ahead, near = high.mean - low.mean, tolerance.slack(high.mean)
        is_tie = abs(ahead) <= near
        if claim.min_gap:
            is_tie, is_wrong = False, ahead <= max(claim.min_gap * abs(high.mean) - near, near)
        elif above in claim.may_tie:
            is_wrong = ahead < -near
        else:
            is_wrong = ahead <= (0 if above in claim.slight else near)
        if is_wrong:
            bad.append(Problem(f"{above} {_number(high.mean)}, {below} {_number(low.mean)}", is_tie))
    return bad


def _trend(claim: Claim, tolerance: Tolerance, found: Sequence[tuple[str, Reading]]) -> Verdict:
    bad = []
    for name in dict.fromkeys(name for name, _ in found):
        line = sorted((one for owner, one in found if owner == name), key=lambda one: one.at[claim.x_var])
        if len(line) < 2:
            raise MissingError(f"fewer than two points along {claim.x_var}")
        for one in line:
            _known(one)
        if claim.direction == "flat":
            bad += _unlevel(tolerance, name, line)
        else:
            bad += _against(claim, tolerance, f"{name} " if name else "", line)
    return _verdict(claim, tolerance, found, bad)


def _unlevel(tolerance: Tolerance, name: str, line: Sequence[Reading]) -> list[Problem]:
    """Points of a line that are off its mean."""
    level = fmean(one.mean for one in line)
    return [
        Problem(f"{_where(name, one.at)}{_number(one.mean)}, mean {_number(level)}")
        for one in line
        if abs(one.mean - level) > tolerance.slack(level)
    ]


def _against(claim: Claim, tolerance: Tolerance, name: str, line: Sequence[Reading]) -> list[Problem]:
    """Steps of a line against the direction of a trend, and ends that are not in order or tie."""
    sign = 1 if claim.direction == "increase" else -1
    bad = [
        Problem(f"{name}{_number(before.mean)} to {_number(after.mean)}"
                f" from {claim.x_var} {before.at[claim.x_var]} to {after.at[claim.x_var]}")
        for before, after in pairwise(line)
        if sign * (after.mean - before.mean) < -tolerance.slack(before.mean)
    ]  # fmt: skip
    first, last = line[0].mean, line[-1].mean
    moved, near = sign * (last - first), tolerance.slack(first)
    if moved <= near:
        bad.append(Problem(f"{name}the ends are {_number(first)} and {_number(last)}", moved >= -near))
    return bad


def _verdict(
    claim: Claim, tolerance: Tolerance, found: Sequence[tuple[str, Reading]], bad: Sequence[Problem]
) -> Verdict:
    if not found:
        raise MissingError("no run has a point that it names")
    measured: Any = [
        {"series": name, "at": dict(one.at), "value": _rounded(one.mean), "interval": _rounded(one.half_width)}
        for name, one in found
    ]
    if len(found) == 1:
        measured = measured[0]["value"]
    is_tie = bool(bad) and all(one.is_tie for one in bad)
    texts = [one.text for one in sorted(bad, key=lambda one: one.is_tie)]
    reason = "; ".join(texts[:3]) + (f"; {len(bad) - 3} more" if len(bad) > 3 else "")
    if is_tie:
        reason = "a tie: " + reason
    return Verdict(claim, "fails" if bad else "holds", measured, reason, tolerance, is_tie)


def _known(one: Reading) -> None:
    if not isfinite(one.mean):
        raise MissingError(f"not defined {_where('', one.at)}".strip())


def _rounded(value: float) -> float | None:
    return None if isnan(value) else float(f"{value:.5g}")


def _number(value: float) -> str:
    return f"{value:.4g}"


def _where(name: str, at: Place) -> str:
    text = ", ".join([*([name] if name else []), *(f"{key} {value}" for key, value in at.items())])
    return f"{text}: " if text else ""
