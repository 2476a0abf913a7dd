"""What a paper concludes, in a suite's file `conclusions.toml`: its sentence, ours, and the claims that it rests on.

Whether a conclusion holds follows from the verdicts on its claims, in the scoreboard that `standing.json` keeps
(`standing.py`). A claim that is `decisive` settles it alone where it fails.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from dumbbell.errors import wrong
from dumbbell.judge import FAILS, HOLDS, UNJUDGED
from dumbbell.scenario.declare import Each, Table, key

from .claims import of_suite as texts_of_suite
from .folders import known, read
from .words import TEXT, TEXTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dumbbell.scenario.keytypes import Fixed

#: The file of a suite, which may be missing.
NAME = "conclusions.toml"

Standing = Literal["holds", "in part", "fails", "unclear"]


class Conclusion(Table):
    """A conclusion."""

    id: Fixed[str] = key(TEXT, "its number", varies=False)
    text: Fixed[str] = key(TEXT, "what the paper says", varies=False)
    ours: Fixed[str] = key(TEXT, "what comes out here and on Linux", varies=False)
    claims: Fixed[tuple[str, ...]] = key(TEXTS, "the claims that it rests on, such as `fig11a#c1`", varies=False)
    decisive: Fixed[tuple[str, ...]] = key(
        TEXTS, "those that settle it alone where they fail", default=(), varies=False
    )


class _File(Table):
    """The file."""

    conclusion: Fixed[tuple[Conclusion, ...]] = key(
        Each(Conclusion, minimum=0, most=100), "the conclusions", default=(), varies=False
    )


class Stands(NamedTuple):
    """How a conclusion stands."""

    word: Standing
    held: int
    judged: int


@cache
def of_suite(suite: str) -> tuple[Conclusion, ...]:
    """The conclusions of a suite; none where there is no such file. Raises ScenarioError for an unknown claim."""
    path = known()[suite].folder / NAME
    if not path.exists():
        return ()
    conclusions: tuple[Conclusion, ...] = read(path, _File).conclusion
    names = {
        f"{name.partition('/')[2]}#{claim.id}" for name, text in texts_of_suite(suite).items() for claim in text.claims
    }
    for conclusion in conclusions:
        for claim in (*conclusion.claims, *conclusion.decisive):
            if claim not in names:
                raise wrong(f"conclusion {conclusion.id}: claims", claim, "a claim of the suite", sorted(names))
    return conclusions


def stands(suite: str, conclusion: Conclusion, verdicts: Mapping[str, str]) -> Stands:
    """How a conclusion stands by these verdicts."""
    words = {claim: verdicts.get(f"{suite}/{claim}", UNJUDGED) for claim in conclusion.claims}
    judged = [word for word in words.values() if word != UNJUDGED]
    held, failed = judged.count(HOLDS), judged.count(FAILS)
    is_settled = any(words.get(claim) == FAILS for claim in conclusion.decisive)
    return Stands(_word(held, failed, len(judged), is_settled=is_settled), held, len(judged))


def _word(held: int, failed: int, judged: int, *, is_settled: bool) -> Standing:
    if is_settled or (failed and not held):
        return "fails"
    if failed:
        return "in part"
    return "holds" if judged and held == judged else "unclear"
