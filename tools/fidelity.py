"""Holds the simulator against Linux in User-Mode Linux, row by row: `make fidelity`.

run      make the runs that are missing, on both sides, and write docs/fidelity.json and docs/fidelity.md
changed  what is otherwise than in docs/fidelity.json; --linux stored takes Linux's figures from there
draw     write scenarios drawn at random
page     write the generated part of docs/fidelity.md again; --check only complains
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import fidelity_draw
import fidelity_means
import fidelity_page
import fidelity_rows
import fidelity_runs
import fidelity_table
from dumbbell.errors import DumbbellError
from dumbbell.judge import HOLDS
from fidelity_rows import ROOT, Row
from fidelity_table import Record, Section, Table

#: Where the runs are kept unless told otherwise.
CACHE = ROOT / "build/fidelity"
#: Seeds of each row.
SEEDS = 3
#: Where both sides are the same back end, the reference has these seeds.
OTHER_SEED = 1_000_003


class Measured(NamedTuple):
    """What one side gave for a row: figures by seed, and warnings."""

    runs: fidelity_table.Runs
    warnings: list[str]


def main(given: Sequence[str] | None = None) -> int:
    """See the head of this file."""
    arguments = _arguments(given)
    try:
        status: int = arguments.call(arguments)
    except DumbbellError as error:
        print(error, file=sys.stderr)
        return 2
    return status


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, call in (("run", run), ("changed", changed)):
        one = commands.add_parser(name)
        one.set_defaults(call=call)
        one.add_argument("--set", choices=("tests", "random", "means", *fidelity_rows.BESIDE), default="tests")
        one.add_argument("--only", default="", metavar="REGEX", help="rows whose name has this; stores nothing")
        one.add_argument("--seed", type=int, default=1, help="of the random set")
        one.add_argument("--count", type=int, default=100, help="scenarios of the random set")
        one.add_argument(
            "--seeds",
            type=int,
            default=None,
            help="of each row (3; means: 16); from 10 on its runs are stored as more",
        )
        one.add_argument("--cache", type=Path, default=CACHE, metavar="DIR")
        one.add_argument("--jobs", type=int, help="runs at once; default: one for each core")
        one.add_argument("--reference", default="uml", metavar="NAME", help="back end that is Linux's (uml, uml:6.1)")
        one.add_argument("--linux", choices=("run", "stored"), default="run", help="stored: from docs/fidelity.json")
        one.add_argument("--cached", action="store_true", help="make no runs: only rows whose runs are all kept")
        one.add_argument("--dry", action="store_true", help="store nothing")
        one.add_argument("--need", type=float, default=0.0, help="share of rows that must agree, for the exit status")
    one = commands.add_parser("draw")
    one.set_defaults(call=draw)
    one.add_argument("--seed", type=int, default=1)
    one.add_argument("--count", type=int, default=100)
    one.add_argument("--out", type=Path, required=True, metavar="DIR")
    one = commands.add_parser("page")
    one.set_defaults(call=page)
    one.add_argument("--check", action="store_true")
    arguments = parser.parse_args(given)
    if getattr(arguments, "seeds", 0) is None:
        arguments.seeds = fidelity_means.SEEDS if arguments.set == "means" else SEEDS
    return arguments


def run(arguments: argparse.Namespace) -> int:
    """Measure, print, and store where the set is whole."""
    if arguments.set == "means":
        return _run_means(arguments)
    section = measured(arguments, _rows(arguments))
    _print(section)
    table, name = fidelity_table.read(), _section_name(arguments)
    if arguments.seeds >= fidelity_table.SEEDS_CHANCE:
        table.more.update({row.row: row for row in section.rows})
    elif not arguments.only and arguments.set not in fidelity_rows.BESIDE:
        table.sections[name] = section
    else:
        arguments.dry = True
    if not arguments.dry:
        fidelity_table.write(table)
        _write_page(table)
    agree = sum(row.word == HOLDS for row in section.rows)
    return 0 if agree >= arguments.need * (len(section.rows) + len(section.failed)) else 1


def _run_means(arguments: argparse.Namespace) -> int:
    rows, kept = _rows(arguments), fidelity_runs.Kept(arguments.cache)
    sim, failed = _side(arguments, fidelity_runs.side("sim"), rows, kept)
    linux, more = _side(arguments, fidelity_runs.side(arguments.reference), rows, kept)
    found = fidelity_means.Means(
        commit=fidelity_runs.commit(),
        kernel=fidelity_runs.described(arguments.reference),
        seeds=arguments.seeds,
        rows={
            row.name: fidelity_means.means(sim[row.name].runs, linux[row.name].runs)
            for row in rows
            if row.name in sim and row.name in linux
        },
        failed={**failed, **more},
    )
    print("\n".join(fidelity_means.lines(found)))
    if not arguments.only and not arguments.dry:
        table = fidelity_table.read()
        table.means = found
        fidelity_table.write(table)
        _write_page(table)
    return 0


def changed(arguments: argparse.Namespace) -> int:
    """Print what moved since the table was stored; status 1 where a verdict did."""
    stored = fidelity_table.read().sections.get(_section_name(arguments))
    if stored is None:
        print(f"{fidelity_table.FILE.name} has no {_section_name(arguments)}", file=sys.stderr)
        return 2
    before, now = {row.row: row for row in stored.rows}, measured(arguments, _rows(arguments))
    print(f"stored: commit {stored.commit}, {stored.kernel}; now: commit {now.commit}, {now.kernel}")
    found = {row.row: fidelity_table.moved(before[row.row], row) for row in now.rows if row.row in before}
    for name in [row.row for row in now.rows if row.row not in before]:
        print(f"{name}: new")
    for name, what in found.items():
        if what:
            print(f"{name}: {'; '.join(what)}")
    print(f"{sum(map(bool, found.values()))} of {len(found)} rows moved")
    return int(any(before[row.row].word != row.word for row in now.rows if row.row in before))


def draw(arguments: argparse.Namespace) -> int:
    """Write the files."""
    fidelity_draw.write(arguments.seed, arguments.count, arguments.out)
    return 0


def page(arguments: argparse.Namespace) -> int:
    """Write or check the generated part."""
    table, text = fidelity_table.read(), fidelity_page.PAGE.read_text(encoding="utf-8")
    found = fidelity_page.complaints(table, fidelity_page.causes())
    if stored := table.sections.get(fidelity_page.TESTS):
        listed = {row.name for row in fidelity_rows.rows(fidelity_rows.tests(), seeds=1)}
        measured = {*(row.row for row in stored.rows), *stored.failed}
        found += [f"{row}: not measured yet" for row in sorted(listed - measured)]
        found += [f"{row}: measured, but no longer a row" for row in sorted(measured - listed)]
    if arguments.check and fidelity_page.renewed(text, table, fidelity_page.causes()) != text:
        found.append("docs/fidelity.md is stale: tools/fidelity.py page")
    readme = fidelity_page.README.read_text(encoding="utf-8")
    if arguments.check and fidelity_page.renewed_readme(readme, table, fidelity_page.causes()) != readme:
        found.append("README.md is stale: tools/fidelity.py page")
    if not arguments.check:
        _write_page(table)
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    return int(bool(found))


def _write_page(table: Table) -> None:
    for file, renewed in (
        (fidelity_page.PAGE, fidelity_page.renewed),
        (fidelity_page.README, fidelity_page.renewed_readme),
    ):
        text = file.read_text(encoding="utf-8")
        file.write_text(renewed(text, table, fidelity_page.causes()), encoding="utf-8")


def _rows(arguments: argparse.Namespace, seed: int | None = None) -> list[Row]:
    if arguments.set == "random":
        files = fidelity_draw.write(arguments.seed, arguments.count, CACHE / _section_name(arguments))
    elif arguments.set == "means":
        files = sorted(fidelity_rows.MEANS.glob("*.toml"))
    else:
        beside = fidelity_rows.BESIDE.get(arguments.set)
        files = fidelity_rows.tests() if beside is None else sorted(beside.glob("*.toml"))
    return fidelity_rows.rows(files, seeds=arguments.seeds, only=arguments.only, seed=seed)


def _section_name(arguments: argparse.Namespace) -> str:
    return f"random-{arguments.seed}" if arguments.set == "random" else str(arguments.set)


def measured(arguments: argparse.Namespace, rows: list[Row]) -> Section:
    """Both sides of these rows."""
    kept = fidelity_runs.Kept(arguments.cache)
    sim, other_rows = fidelity_runs.side("sim"), _rows(arguments, OTHER_SEED)
    simulated, failed = _side(arguments, sim, rows, kept)
    again, _ = _side(arguments, sim, other_rows, kept)
    if arguments.linux == "stored":
        table = fidelity_table.read()
        kept_rows = table.sections[_section_name(arguments)].rows
        if arguments.seeds > SEEDS:
            kept_rows = list(table.more.values())
        linux = {row.row: Measured(row.linux, row.warnings) for row in kept_rows if len(row.linux) == arguments.seeds}
        failed |= {row.name: f"no {arguments.seeds} runs of Linux are stored" for row in rows if row.name not in linux}
        kernel = table.sections[_section_name(arguments)].kernel
    else:
        reference = fidelity_runs.side(arguments.reference)
        linux, more = _side(arguments, reference, other_rows if reference == sim else rows, kept)
        failed, kernel = {**failed, **more}, fidelity_runs.described(arguments.reference)
    records = [
        Record(
            row=row.name,
            family=row.family,
            path=row.path,
            linux=linux[row.name].runs,
            sim=simulated[row.name].runs,
            itself=fidelity_table.agree(again[row.name].runs, simulated[row.name].runs) if row.name in again else None,
            warnings=linux[row.name].warnings,
        )
        for row in rows
        if row.name in linux and row.name in simulated
    ]
    return Section(commit=fidelity_runs.commit(), kernel=kernel, seeds=arguments.seeds, rows=records, failed=failed)


def _side(
    arguments: argparse.Namespace, side: fidelity_runs.Side, rows: list[Row], kept: fidelity_runs.Kept
) -> tuple[dict[str, Measured], dict[str, str]]:
    """Figures by seed and warnings of the rows that this side ran, and errors of the others."""
    errors = {}
    if not arguments.cached:
        plans = [planned for row in rows for planned in row.plans]
        errors = fidelity_runs.make(side, plans, kept, jobs=arguments.jobs, note=_note)
    found, failed = {}, {}
    for row in rows:
        keys = [side.key(planned) for planned in row.plans]
        ran = [one for key in keys if (one := kept.found(key))]
        if len(ran) == len(keys):
            figures = [fidelity_table.rounded(one.figures) for one in ran]
            found[row.name] = Measured(figures, list(dict.fromkeys(text for one in ran for text in one.warnings)))
        else:
            failed[row.name] = next((errors[key] for key in keys if key in errors), fidelity_table.NOT_RUN)
    return found, failed


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _print(section: Section) -> None:
    for row in section.rows:
        told = [f"{f.name} {f.other:.4g} (Linux {f.reference:.4g} +- {f.tolerance:.2g})" for f in row.differences]
        print(f"{row.word:8} {row.row}" + (f": {'; '.join(told)}" if told else ""))
    for name, error in section.failed.items():
        print(f"none {name}: {error}")
    for group, count in fidelity_table.counts(section.rows).items():
        singles, ceiling = count.singles, count.ceiling
        print(
            f"{group:18} {count.agree:4} of {count.rows:<4} {count.agree / count.rows:4.0%};"
            f" single seeds {sum(singles):4} of {len(singles):<4} {sum(singles) / max(1, len(singles)):4.0%};"
            f" Linux's {sum(ceiling):4} of {len(ceiling):<4} {sum(ceiling) / max(1, len(ceiling)):4.0%}"
        )


if __name__ == "__main__":
    sys.exit(main())
