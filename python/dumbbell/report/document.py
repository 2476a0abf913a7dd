"""The data of a page: everything that it shows, as JSON has it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dumbbell.errors import ResultError
from dumbbell.explain.told import Teller
from dumbbell.judge import change as changing
from dumbbell.judge.change import Change
from dumbbell.results import figures
from dumbbell.results.catalogue import figure, shown
from dumbbell.results.manifest import unfinished
from dumbbell.results.texts import change_text, mean_text
from dumbbell.units import value_text

from . import answer, looks, origin, overtime, route, spread, sweeps, why
from .gathered import Gathered, labels
from .table import rows, table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dumbbell.results.catalogue import Measured

#: Version of the page's data.
VERSION = 4
CHANGES_MOST = 400
_NUMBER = re.compile(r"\d[\d.,]*")


def document(gathered: Gathered, out: Path, *, explains: bool = True) -> dict[str, Any]:
    """The page's data; `out` is the file that it becomes, from which links begin. With `explains` it says why flows got
    what they got, for which runs may be made again (`why.py`).
    """
    runs = gathered.runs
    teller = Teller() if explains else None
    varied, notes = sweeps.sweeps(gathered)
    distributions, more = spread.distributions(runs) if runs else ([], [])
    changed = changes(gathered, teller)
    said = answer.answer(gathered, changed, teller)
    varied.sort(key=lambda one: one["metric"] != said["lead"])
    return {
        "version": VERSION,
        "title": gathered.title,
        "made": origin_of_page(),
        "looks": looks.of_page(),
        "folders": [folder.name for folder in gathered.folders],
        "kind": said["kind"],
        "verdict": said["sentences"],
        "told": said["told"],
        "comparison": said["comparison"],
        "why": why.why(gathered, said["kind"], teller),
        "warnings": warnings(gathered),
        "paths": route.paths([run.result for run in runs]),
        "table": table(runs) if runs else None,
        "changes": changed,
        "series": overtime.overtime(runs) if runs else {"runs": [], "notes": []},
        "sweeps": {"figures": varied, "notes": notes},
        "cdfs": {"figures": distributions, "notes": more},
        "repeated": spread.repeated(runs) if runs else [],
        "scoreboards": origin.scoreboards(gathered.folders, out),
        "origins": origin.origins(gathered.folders, out),
    }


def origin_of_page() -> str:
    """The program that wrote the page."""
    from dumbbell import _native

    return f"dumbbell {_native.version()}"


def warnings(gathered: Gathered) -> list[dict[str, Any]]:
    """Warnings with the runs that they are of; what is missing first, those that differ by numbers alone together."""
    runs = gathered.runs
    by_text: dict[str, list[str]] = {
        f"{folder.name}: {note}": [] for folder in gathered.folders if (note := unfinished(folder.path))
    }
    for run, name in zip(runs, labels([run.result for run in runs]) if runs else []):
        for text in run.result.warnings:
            by_text.setdefault(text, []).append(name)
    by_form: dict[str, list[str]] = {}
    for text in by_text:
        by_form.setdefault(_NUMBER.sub("#", text), []).append(text)
    grouped = []
    for texts in by_form.values():
        of = list(dict.fromkeys(name for text in texts for name in by_text[text]))
        grouped.append({"text": texts[0], "more": texts[1:], "runs": of[:20], "count": len(of)})
    return grouped


def changes(gathered: Gathered, teller: Teller | None = None) -> dict[str, Any] | None:
    """Changes from the first of two folders to the second, those that moved apart; None unless there are two."""
    if len(gathered.folders) != 2 or not all(folder.runs for folder in gathered.folders):
        return None
    try:
        sides = [_side(folder.runs) for folder in gathered.folders]
        changed, gone, new = changing.changes(sides[0], sides[1], shown("diff"))
    except ResultError:
        return None
    changed = [change for change in changed if not change.is_idle]
    outcome = changing.outcome(changed)
    is_single = outcome.by_chance is None
    moved = [change for change in changed if (change.difference.mean != 0 if is_single else change.is_clear)]
    still = [change for change in changed if change not in moved]
    names = [folder.name for folder in gathered.folders]
    return {
        "text": f"From {names[0]} to {names[1]}: {outcome.text}.",
        "rows": [_changed(change) for change in moved[:CHANGES_MOST]],
        "still": [_changed(change) for change in still[:CHANGES_MOST]],
        "directions": [_direction(each) for each in changing.directions(changed) if each.is_clear],
        "caption": _intervals(changed, outcome),
        "why": why.of_changes(gathered, [change for change in moved if not is_single], teller),
        "only_before": gone, "only_after": new,
        "left_out": sum(max(len(part) - CHANGES_MOST, 0) for part in (moved, still)),
    }  # fmt: skip


def _changed(change: Change) -> dict[str, Any]:
    before, after = (side.values[change.name] for side in (change.before, change.after))
    return {
        "case": ", ".join(value_text(value) for value in change.after.vary.values()),
        "flow": change.names,
        "figure": figure(change.name).heading,
        "before": mean_text(change.name, before), "after": mean_text(change.name, after),
        "change": change_text(change.name, change.difference),
    }  # fmt: skip


def _direction(each: changing.Direction) -> dict[str, Any]:
    return {
        "flow": each.names,
        "figure": figure(each.name).heading,
        "up": each.up, "down": each.down, "moved": each.moved, "of": each.of,
        "overall": change_text(each.name, each.overall) if each.overall else "",
    }  # fmt: skip


def _intervals(changed: Sequence[Change], outcome: changing.Outcome) -> str:
    """Explain which changes are called moved."""
    if outcome.by_chance is None:
        return "One side has too few repetitions for intervals: repetitions in both folders tell chance from change."
    pairs = " of pairs of repetitions with the same seed" if all(change.is_paired for change in changed) else ""
    return f"Moved: the 95 % interval of the change{pairs} excludes zero."


def _side(runs: Sequence[Measured]) -> list[figures.Row]:
    """The rows of a folder, without the folder itself as a varied key."""
    return [
        replace(row, vary={key: value for key, value in row.vary.items() if key != "folder"})
        for row in rows(runs, shown("diff"))
    ]
