"""Holds a claim against what was measured: a question for the one judge (`dumbbell.judge`) at each point it names.

A claim with several points holds where it holds at every one. A tolerance blurs a number that the paper prints. It
never turns a word round: a bound of one side ("above 80 %") has no tolerance, and lines that are to be in an order, or
the ends of a trend, must differ by more than it. Where they do not, the claim fails as a tie.
"""

from __future__ import annotations

from math import isnan, nan
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import judge as judging
from dumbbell.judge import HOLDS, UNJUDGED, Order, Trend, Within, Word
from dumbbell.judge.questions import together

from .compared import readings
from .places import SuiteError
from .table import Reading, by_place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .claims import Claim, Tolerance
    from .places import Place
    from .table import Table, Tables


class Verdict(NamedTuple):
    """Verdict on a claim."""

    claim: Claim
    judged: judging.Verdict
    measured: Any
    """A number, or a list of ``{"at", "series", "value", "interval"}`` where there are several; None if unjudged."""
    tolerance: Tolerance

    @property
    def verdict(self) -> Word:
        """The word."""
        return self.judged.word

    @property
    def reason(self) -> str:
        """Why."""
        return self.judged.reason

    @property
    def is_tie(self) -> bool:
        """True if it fails only because what it puts in an order differs by less than the tolerance."""
        return self.judged.is_tie

    def as_json(self) -> dict[str, Any]:
        """As `dumbbell reproduce --json` prints it."""
        return {
            "id": self.claim.id,
            "verdict": self.verdict,
            "measured": self.measured,
            "expected": self.claim.wanted,
            "tolerance": {"kind": self.tolerance.kind, "size": self.tolerance.size},
            "margin": _rounded(self.judged.margin),
            "reason": self.reason,
            **({"tie": True} if self.is_tie else {}),
        }


def judge(claim: Claim, table: Table, wide: Table, book: Tables) -> Verdict:
    """The verdict on a claim; `wide` has the cases of the sibling panels too, for trends."""
    tolerance = claim.tol.of(table.kind)
    reason = table.entry.unjudged.get(claim.id) or claim.needs
    if reason:
        return Verdict(claim, judging.Verdict(UNJUDGED, None, nan, reason), None, tolerance)
    if claim.kind == "ordering":
        places = _lines(claim, table, book)
        verdict = _ordering(claim, tolerance, places)
        points = [(name, point) for _, readings in places for name, point in zip(claim.order, readings, strict=True)]
    else:
        points = _points(claim, wide if claim.kind == "trend" else table, book)
        verdict = (_trend if claim.kind == "trend" else _near)(claim, tolerance, points)
    return Verdict(claim, verdict, None if verdict.word == UNJUDGED else _measured(points), tolerance)


def not_run(claim: Claim, table: Table) -> Verdict:
    """The verdict on a claim that needs places which the reader left out."""
    unjudged = judging.Verdict(UNJUDGED, None, nan, "needs places that --at left out")
    return Verdict(claim, unjudged, None, claim.tol.of(table.kind))


def within(claim: Claim, tolerance: Tolerance) -> Within:
    """The question of a claim about values: a number, or a range. A bound without another one has no tolerance, unless
    it is the smallest or largest number of a table, and no word of the paper.
    """
    low = claim.expected if claim.lower is None else claim.lower
    high = claim.expected if claim.upper is None else claim.upper
    if claim.kind == "range":
        low, high = claim.lower, claim.upper
    is_strict = (low is None or high is None) and claim.origin != "derived"
    return Within(low, high, tolerance.of_judge, is_strict)


def _points(claim: Claim, table: Table, book: Tables) -> list[tuple[str, Reading]]:
    """Readings of a claim about values or a trend: (series, reading)."""
    at = {key: value for key, value in claim.at.items() if key not in ("from_x", "to_x")}
    points: list[tuple[str, Reading]]
    if claim.read is not None:
        points = [(point.inside, point) for point in readings(claim, table, book) if isinstance(point, Reading)]
    else:
        points = [
            point for name in claim.series or (None,) for point in _of_line(name, table.read(claim.metric, name, at))
        ]
    if claim.kind == "trend":
        low, high = claim.at.get("from_x", float("-inf")), claim.at.get("to_x", float("inf"))
        points = [(name, point) for name, point in points if low <= point.at[claim.x_var] <= high]
    return points


def _of_line(name: str | None, points: Sequence[Reading]) -> list[tuple[str, Reading]]:
    """The points of a line, which is one line in each of several cases at one place: a sentence about it that names no
    case is about each of them.
    """
    cases = {point.inside for point in points}
    return [(point.inside if len(cases) > 1 else name or "", point) for point in points]


def _lines(claim: Claim, table: Table, book: Tables) -> list[tuple[Place, list[Reading]]]:
    """Readings that an ordering compares: places, each with a reading per name in its order."""
    parts: list[list[Reading]]
    if claim.read is not None:
        parts = readings(claim, table, book)  # type: ignore[assignment]
        if len(parts) != len(claim.order):
            raise SuiteError(f"{len(parts)} readings for {len(claim.order)} names")
    else:
        parts = [table.read(claim.metric, name, claim.at) for name in claim.order]
    return by_place(parts)


def _near(claim: Claim, tolerance: Tolerance, points: Sequence[tuple[str, Reading]]) -> judging.Verdict:
    question = within(claim, tolerance)
    return together([_placed(question.judge(point.sample), name, point.at) for name, point in points])


def _ordering(claim: Claim, tolerance: Tolerance, places: Sequence[tuple[Place, list[Reading]]]) -> judging.Verdict:
    if not places:
        return judging.Verdict(UNJUDGED, None, nan, "no point has all of " + ", ".join(claim.order))
    question = Order(claim.order, tolerance.of_judge, claim.min_gap, frozenset(claim.may_tie), frozenset(claim.slight))
    verdicts = [_placed(question.judge([reading.sample for reading in readings]), "", at) for at, readings in places]
    if claim.any_place:
        verdicts = [verdict for verdict in verdicts if verdict.word == HOLDS] or verdicts
    return together(verdicts)


def _trend(claim: Claim, tolerance: Tolerance, points: Sequence[tuple[str, Reading]]) -> judging.Verdict:
    question = Trend(claim.direction, tolerance.of_judge, claim.x_var)  # type: ignore[arg-type]
    verdicts = []
    for name in dict.fromkeys(name for name, _ in points):
        line = sorted(
            ((point.at[claim.x_var], point.sample) for owner, point in points if owner == name), key=lambda at: at[0]
        )
        verdicts.append(_placed(question.judge(line), name, {}))
    return together(verdicts)


def _placed(verdict: judging.Verdict, name: str, at: Place) -> judging.Verdict:
    """The verdict with its place before the reason."""
    return verdict._replace(reason=_where(name, at) + verdict.reason) if verdict.reason else verdict


def _measured(points: Sequence[tuple[str, Reading]]) -> Any:
    measured = [
        {"series": name, "at": dict(point.at), "value": _rounded(point.mean), "interval": _rounded(point.half_width)}
        for name, point in points
    ]
    return measured[0]["value"] if len(measured) == 1 else measured


def _rounded(value: float) -> float | None:
    return None if isnan(value) else float(f"{value:.5g}")


def _where(name: str, at: Place) -> str:
    text = ", ".join([*([name] if name else []), *(f"{key} {value}" for key, value in at.items())])
    return f"{text}: " if text else ""
