"""Why flows got what they got: a sentence or two on each combination of a report, where these are few.

A comparison and a difference have it beside the figures that are apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dumbbell.explain.sides import firsts, moved
from dumbbell.explain.told import RUNS, sentences
from dumbbell.plots import look
from dumbbell.plots.keys import FOLDER
from dumbbell.results.experiment import repetitions

from .gathered import labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell.explain.told import Teller
    from dumbbell.judge.change import Change
    from dumbbell.results.load import Result

    from .gathered import Gathered


def why(gathered: Gathered, kind: str, teller: Teller | None) -> dict[str, Any]:
    """The sentences on the first repetition of each combination, and why they are left out where they are."""
    first = [same[0] for same in repetitions(run.result for run in gathered.runs).values()]
    if kind not in ("run", "sweep") or not first:
        return {"cases": [], "notes": []}
    command = f"`dumbbell explain {gathered.folders[0].name} --run NAME` explains one run."
    if teller is None:
        return {"cases": [], "notes": [f"Left out, because runs may have to be made again for it. {command}"]}
    if len(first) > RUNS:
        told = f"Left out: {len(first)} combinations, and at most {RUNS} are explained here."
        return {"cases": [], "notes": [f"{told} {command}"]}
    called = labels(first) if len(first) > 1 else [""]
    cases = []
    for name, run in zip(called, first, strict=True):
        said = teller.tell(run)
        cases.append({"case": name, "sentences": sentences(said.flows, names(run)), "note": said.note})
    return {"cases": cases, "notes": list(_notes(gathered))}


def names(run: Result) -> dict[str, str]:
    """Flows that have their controller's name, as the page calls them."""
    return {flow.name: look.name(flow.cca) for flow in run.plan.flows if flow.name == flow.cca}


def _notes(gathered: Gathered) -> Sequence[str]:
    notes = []
    if any(run.result.repetition for run in gathered.runs):
        notes.append("Of the first repetition.")
    if gathered.window is not None:
        notes.append("Of the part that each scenario measures, whatever --from and --to choose.")
    return notes


def of_changes(gathered: Gathered, changes: Sequence[Change], teller: Teller | None) -> list[str]:
    """The same of the changes from one folder to another."""
    if teller is None:
        return []
    sides = {folder.name: firsts((run.result for run in folder.runs), without=FOLDER) for folder in gathered.folders}
    return moved(changes, sides, teller)
