"""The data of a page: everything that it shows, as JSON has it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dumbbell.errors import ResultError
from dumbbell.judge import change as changing
from dumbbell.judge.change import Change
from dumbbell.results import figures
from dumbbell.results.catalogue import figure, shown
from dumbbell.results.manifest import unfinished
from dumbbell.results.texts import change_text, mean_text

from . import looks, origin, overtime, route, spread, sweeps, words
from .gathered import Gathered, labels
from .table import rows, table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dumbbell.results.catalogue import Measured

#: Version of the page's data.
VERSION = 1
CHANGES_MOST = 400


def document(gathered: Gathered, out: Path) -> dict[str, Any]:
    """The page's data; `out` is the file that it becomes, from which links begin."""
    runs = gathered.runs
    varied, notes = sweeps.sweeps(gathered)
    distributions, more = spread.distributions(runs) if runs else ([], [])
    return {
        "version": VERSION,
        "title": gathered.title,
        "made": origin_of_page(),
        "dashes": [list(dash) for dash in looks.DASHES],
        "folders": [folder.name for folder in gathered.folders],
        "verdict": words.verdict(runs) if runs else [],
        "warnings": warnings(gathered),
        "paths": route.paths([run.result for run in runs]),
        "table": table(runs) if runs else None,
        "changes": changes(gathered),
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
    """Each warning with the runs that it is of; what is missing first."""
    runs = gathered.runs
    by_text: dict[str, list[str]] = {
        f"{folder.name}: {note}": [] for folder in gathered.folders if (note := unfinished(folder.path))
    }
    for run, name in zip(runs, labels([run.result for run in runs]) if runs else []):
        for text in run.result.warnings:
            by_text.setdefault(text, []).append(name)
    return [{"text": text, "runs": of[:20], "count": len(of)} for text, of in by_text.items()]


def changes(gathered: Gathered) -> dict[str, Any] | None:
    """Changes from the first of two folders to the second; None unless there are two."""
    if len(gathered.folders) != 2 or not all(folder.runs for folder in gathered.folders):
        return None
    try:
        sides = [_side(folder.runs) for folder in gathered.folders]
        changed, gone, new = changing.changes(sides[0], sides[1], shown("diff"))
    except ResultError:
        return None
    changed = [change for change in changed if not change.is_idle]
    listed = []
    for change in changed[:CHANGES_MOST]:
        before, after = (side.values[change.name] for side in (change.before, change.after))
        listed.append({
            "case": ", ".join(str(value) for key, value in change.after.vary.items()),
            "flow": change.names,
            "figure": figure(change.name).heading,
            "before": mean_text(change.name, before), "after": mean_text(change.name, after),
            "change": change_text(change.name, change.difference),
            "clear": change.is_clear,
        })  # fmt: skip
    return {
        "rows": listed, "caption": _intervals(changed),
        "only_before": gone, "only_after": new, "left_out": max(len(changed) - CHANGES_MOST, 0),
    }  # fmt: skip


def _intervals(changed: Sequence[Change]) -> str:
    """Explain the column "clear" of changes."""
    chance = changing.chance(changed)
    if not chance:
        return "Clear needs repetitions in both folders: their number decides how wide the interval of a change is."
    pairs = " of pairs of repetitions with the same seed" if all(change.is_paired for change in changed) else ""
    return f"Clear: the 95 % interval of the change{pairs} excludes zero. {chance}."


def _side(runs: Sequence[Measured]) -> list[figures.Row]:
    """The rows of a folder, without the folder itself as a varied key."""
    return [
        replace(row, vary={key: value for key, value in row.vary.items() if key != "folder"})
        for row in rows(runs, shown("diff"))
    ]
