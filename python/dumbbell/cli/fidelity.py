"""`dumbbell fidelity`: the simulator against Linux in virtual time, row by row."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import api
from dumbbell.errors import ScenarioError
from dumbbell.judge import HOLDS

from .status import FAILED, OK

if TYPE_CHECKING:
    from dumbbell.suites.fidelity.means import Means
    from dumbbell.suites.fidelity.table import Section, Table

#: Groups of rows, and their columns.
_HEADS = ("rows", "agree", "differ", "itself", "single seeds", "Linux's single seeds")


def main(arguments: argparse.Namespace) -> int:
    """Measure, print, store."""
    from dumbbell.suites.fidelity import table

    if arguments.stored and not arguments.against:
        raise ScenarioError(
            "--stored", "got it without --against FILE, wanted the table whose figures of Linux it takes"
        )
    if arguments.against and not Path(arguments.against).exists():
        raise ScenarioError(
            "--against", f"got {arguments.against}, wanted a table that --save has written: no such file"
        )
    before = table.read(Path(arguments.against)) if arguments.against else None
    name = f"random-{arguments.seed}" if arguments.set == "random" else arguments.set
    measured = api.fidelity(
        arguments.files, chosen=arguments.set, seeds=arguments.seeds, only=arguments.only, reference=arguments.on,
        seed=arguments.seed, count=arguments.count, store=arguments.store, jobs=arguments.jobs,
        stored=_rows(before, name, arguments.seeds) if before is not None and arguments.stored else None,
        progress=not arguments.quiet,
    )  # fmt: skip
    if arguments.save:
        _save(Path(arguments.save), name, measured, is_part=bool(arguments.only or arguments.files))
    if not isinstance(measured, table.Section):
        from dumbbell.suites.fidelity import means

        print("\n".join(means.lines(measured)))
        return OK
    _print(measured, is_json=arguments.json)
    if before is not None:
        return _print_moved(_rows(before, name, arguments.seeds), measured)
    agree = sum(row.word == HOLDS for row in measured.rows)
    return OK if agree * 10**9 >= arguments.need * (len(measured.rows) + len(measured.failed)) else FAILED


def _rows(stored: Table, name: str, seeds: int | None) -> list[Any]:
    """The stored rows of a set, those with many seeds where these are asked for; raises ScenarioError for none."""
    from dumbbell.suites.fidelity.table import SEEDS_CHANCE

    if seeds is not None and seeds >= SEEDS_CHANCE:
        return list(stored.more.values())
    if name not in stored.sections:
        raise ScenarioError("--against", f"has no rows of {name}, wanted one of: {', '.join(stored.sections)}")
    return stored.sections[name].rows


def _save(file: Path, name: str, measured: Section | Means, *, is_part: bool) -> None:
    """Put what was measured into a table: a whole set replaces the one before, rows with many seeds are added."""
    from dumbbell.suites.fidelity import table

    whole = table.read(file)
    if not isinstance(measured, table.Section):
        whole.means = measured
    elif measured.seeds >= table.SEEDS_CHANCE:
        whole.more.update({row.row: row for row in measured.rows})
    elif is_part:
        raise ScenarioError("--save", "got a part of a set, wanted a whole one, or ten seeds and more")
    else:
        whole.sections[name] = measured
    table.write(whole, file)


def _print(measured: Section, *, is_json: bool) -> None:
    """Each row that does not agree, the counts of each group, and a line with the verdict."""
    from dumbbell.suites.fidelity import table

    if is_json:
        for row in measured.rows:
            figures = [
                {"name": of.name, "linux": of.reference, "sim": of.other, "verdict": of.word} for of in row.figures()
            ]
            print(json.dumps({"row": row.row, "verdict": row.word, "figures": figures, "warnings": row.warnings}))
        for name, error in measured.failed.items():
            print(json.dumps({"row": name, "verdict": "unjudged", "error": error}))
        return
    for row in measured.rows:
        if row.word != HOLDS:
            apart = [f"{of.name} {of.other:.4g} (Linux {of.reference:.4g} ± {of.tolerance:.2g})"
                     for of in row.figures() if of.word == row.word]  # fmt: skip
            print(f"{row.word:8} {row.row}: {'; '.join(apart)}")
    for name, error in measured.failed.items():
        print(f"unjudged {name}: {error}")
    _print_counts(table.counts(measured.rows))
    words = [row.word for row in measured.rows]
    print(
        f"{words.count(HOLDS)} of {len(words)} rows agree in every figure with {measured.kernel or 'the stored Linux'},"
        f" {words.count('fails')} differ, {words.count('unclear')} are unclear with {measured.seeds} seeds"
    )


def _print_counts(counts: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table as Printed

    from .table import console

    printed = Printed(box=box.SIMPLE_HEAD)
    printed.add_column("")
    for head in _HEADS:
        printed.add_column(head, justify="right")
    for group, count in counts.items():
        parts = [f"{sum(of)} of {len(of)}" if of else "-" for of in (count.itself, count.singles, count.ceiling)]
        printed.add_row(group, str(count.rows), str(count.agree), str(count.differ), *parts)
    console().print(printed)


def _print_moved(before: list[Any], measured: Section) -> int:
    """Print what moved since the stored table; fails where a verdict did."""
    from dumbbell.suites.fidelity.table import moved

    old = {row.row: row for row in before}
    changes = {row.row: moved(old[row.row], row) for row in measured.rows if row.row in old}
    for name, texts in changes.items():
        if texts:
            print(f"{name}: {'; '.join(texts)}")
    print(f"{sum(map(bool, changes.values()))} of {len(changes)} rows moved")
    is_same = all(old[row.row].word == row.word for row in measured.rows if row.row in old)
    return OK if is_same else FAILED
