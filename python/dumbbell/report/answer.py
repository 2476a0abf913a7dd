"""The answer that a report begins with: what kind of question its folders put, and the judge's word on it."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from dumbbell import comparison, units
from dumbbell.judge.verdict import FAILS, HOLDS, UNCLEAR, UNJUDGED, Word
from dumbbell.results.statistic import finite

from . import trends, words
from .gathered import ON

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dumbbell.comparison import Comparison
    from dumbbell.explain.told import Teller
    from dumbbell.judge.versus import Figure
    from dumbbell.results.load import Result

    from .gathered import Gathered

_WORDS: dict[Word, str] = {HOLDS: "agrees", FAILS: "differs", UNCLEAR: "unclear", UNJUDGED: "unjudged"}


def answer(gathered: Gathered, changes: Mapping[str, Any] | None, teller: Teller | None = None) -> dict[str, Any]:
    """The kind of the report, its sentences, the figure that it is about, and the verdicts of a comparison, which
    `teller` explains.
    """
    runs = gathered.runs
    if not runs:
        return {"kind": "run", "sentences": [], "told": [], "lead": "", "comparison": None}
    told = words.verdict(runs)
    compared = _compared(gathered, teller)
    trend = trends.sentences(runs)
    kind, sentences = "run", told
    if compared is not None:
        kind, sentences = "comparison", [compared["text"]]
    elif changes is not None and (changes["rows"] or changes["still"]):
        kind, sentences = "difference", [changes["text"]]
    elif len({run.result.experiment for run in runs}) > 1:
        kind, sentences = "sweep", trend or told
    rest = [] if sentences == told else told
    return {"kind": kind, "sentences": sentences, "told": rest, "lead": trends.lead(runs), "comparison": compared}


def _compared(gathered: Gathered, teller: Teller | None) -> dict[str, Any] | None:
    """The verdicts of `dumbbell compare` on its folder; None for other folders."""
    if len(gathered.folders) != 1:
        return None
    sides: dict[str, list[Result]] = {}
    for run in gathered.folders[0].runs:
        vary = dict(run.result.vary)
        name = vary.pop(ON, None)
        if name is None:
            return None
        sides.setdefault(name, []).append(_with_vary(run.result, vary))
    if len(sides) < 2:
        return None
    names = list(sides)
    start_s, end_s = gathered.window or (None, None)
    by_name = {name: sides[name] for name in names}
    rows = list(comparison.compared(by_name, start_s=start_s, end_s=end_s, teller=teller))
    return {
        "text": f"{comparison.verdict(rows, names)}.",
        "sides": names,
        "rows": [_row(row) for row in sorted(rows, key=lambda row: row.word == HOLDS)],
    }


def _with_vary(run: Result, vary: dict[str, Any]) -> Result:
    from msgspec.structs import replace

    plain = copy.copy(run)
    plain.manifest = replace(run.manifest, vary=vary)
    return plain


def _row(row: Comparison) -> dict[str, Any]:
    """A combination with its figures, those that do not agree first."""
    lines = sorted(row.lines.items(), key=lambda line: all(one.word == HOLDS for one in line[1].values()))
    why = list(filter(None, row.reasons)) if row.word != HOLDS else []
    return {
        "case": row.name + (f", {units.varied_text(row.vary)}" if row.vary else ""),
        "word": _WORDS[row.word],
        "why": "; ".join([*why, *(["one seed"] if row.repetitions == 1 else [])]),
        "where": ", ".join(name for name, same in lines if any(one.word != HOLDS for one in same.values())),
        "causes": row.why,
        "figures": [_line(name, same, list(row.figures)) for name, same in lines],
    }


def _line(name: str, same: Mapping[str, Figure], others: Sequence[str]) -> dict[str, Any]:
    first = comparison.any_of(same)
    return {
        "name": name,
        "values": [
            finite(first.reference),
            *(finite(same[other].other) if other in same else None for other in others),
        ],
        "tolerance": finite(first.tolerance),
        "words": [_WORDS[same[other].word] if other in same else "" for other in others],
    }
