"""The fidelity table: scenarios that the simulator and a Linux kernel both run, judged row by row.

`measured` makes the runs of a set of scenario files on both sides, and judges them; `table.py` says what a row is and
how rows are counted, `means.py` holds means of many seeds against each other. The scenarios lie in this folder, and
`draw.py` draws others at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.errors import wrong

from . import draw, rows, sides
from .means import Means, by_figure
from .table import Record, Section, agree

if TYPE_CHECKING:
    from dumbbell.runs.execute import Watcher
    from dumbbell.runs.store import Store

__all__ = ["SEEDS", "SETS", "files_of", "means_of", "measured"]

#: The sets of scenarios, with what they are.
SETS = {
    "tests": "the table's own",
    "random": "drawn at random",
    "means": "queue disciplines, whose means of many seeds are compared",
    "smoke": "a few short ones",
    "both-ways": "data in both directions",
}
#: Seeds of each row, unless asked otherwise.
SEEDS = {"means": 16}
#: Where both sides are the same back end, the reference has these seeds.
OTHER_SEED = 1_000_003


def files_of(chosen: str, *, seed: int = 1, count: int = 100, scratch: Path | None = None) -> list[Path]:
    """The scenario files of a set; drawn ones are written into the folder `scratch`. Raises ScenarioError."""
    if chosen not in SETS:
        raise wrong("--set", chosen, f"one of: {', '.join(SETS)}", list(SETS))
    if chosen == "random":
        assert scratch is not None
        return draw.write(seed, count, scratch)
    return rows.tests() if chosen == "tests" else sorted((rows.FOLDER / chosen).glob("*.toml"))


def measured(
    files: Sequence[Path],
    *,
    seeds: int = 3,
    only: str = "",
    reference: str = "uml",
    stored: Sequence[Record] | None = None,
    store: Store,
    workers: int | None = None,
    progress: Watcher | None = None,
) -> Section:
    """Run the rows of these files in the simulator and on the reference, and judge them.

    Parameters
    ----------
    seeds
        Repetitions of each row on each side.
    only
        A regular expression: rows whose name has it.
    reference
        The back end that stands for Linux.
    stored
        Rows that were measured before: Linux's figures are theirs, and no kernel is needed.
    store, workers, progress
        Where runs are kept, how many go at once, and who hears of them.

    Raises
    ------
    ScenarioError
        A file cannot be read as a scenario.
    EngineError
        There is no such kernel.
    """
    run = sides.Side(store, workers, progress)
    own, other = rows.rows(files, seeds=seeds, only=only), rows.rows(files, seeds=seeds, only=only, seed=OTHER_SEED)
    simulated, failed = run.figures("sim", own)
    again, _ = run.figures("sim", other)
    if stored is not None:
        linux = {row.row: sides.Measured(row.linux, row.warnings) for row in stored if len(row.linux) == seeds}
        failed |= {row.name: f"no {seeds} runs of Linux are stored" for row in own if row.name not in linux}
    else:
        linux, refused = run.figures(reference, other if reference == "sim" else own)
        failed |= refused
    records = [
        Record(
            row=row.name,
            family=row.family,
            path=row.path,
            linux=linux[row.name].runs,
            sim=simulated[row.name].runs,
            itself=agree(again[row.name].runs, simulated[row.name].runs) if row.name in again else None,
            warnings=linux[row.name].warnings,
        )
        for row in own
        if row.name in linux and row.name in simulated
    ]
    kernel = "" if stored is not None else sides.described(reference)
    return Section(commit=sides.commit(), kernel=kernel, seeds=seeds, rows=records, failed=failed)


def means_of(files: Sequence[Path], *, seeds: int = 16, only: str = "", reference: str = "uml", store: Store,
             workers: int | None = None, progress: Watcher | None = None) -> Means:  # fmt: skip
    """Run the rows of these files on both sides, and hold the means of each figure against each other; parameters and
    errors as of `measured`.
    """
    run = sides.Side(store, workers, progress)
    own = rows.rows(files, seeds=seeds, only=only)
    sim, failed = run.figures("sim", own)
    linux, refused = run.figures(reference, own)
    return Means(
        commit=sides.commit(),
        kernel=sides.described(reference),
        seeds=seeds,
        rows={
            row.name: by_figure(sim[row.name].runs, linux[row.name].runs)
            for row in own
            if row.name in sim and row.name in linux
        },
        failed={**failed, **refused},
    )
