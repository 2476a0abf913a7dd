"""`dumbbell papers`: what can be reproduced. `dumbbell reproduce`: run it, draw it, judge its claims. `dumbbell demo`:
one figure, as a first look.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import api, suites

from .output import note
from .status import OK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dumbbell.suites.reproduce import Reproduced
    from dumbbell.suites.table import Table

#: The colours of verdicts on a terminal.
_COLOURS = {"holds": "green", "fails": "red", "unclear": "yellow", "unjudged": "yellow"}


def main(arguments: argparse.Namespace) -> int:
    """Say what each paper concludes and whether it holds, or list the figures and tables of some."""
    from dumbbell.suites import text_of

    if not arguments.id and not arguments.json:
        return _conclusions()

    texts = [text_of(name) for name in suites.chosen(arguments.id or ["all"])]
    if arguments.json:
        for text in texts:
            claims = [{"id": claim.id, "text": claim.text, "expected": claim.wanted} for claim in text.claims]
            print(json.dumps({"id": text.id, "title": text.title, "item": text.item, "claims": claims}))
        return OK
    from rich import box
    from rich.table import Table

    from .table import console

    table = Table(box=box.SIMPLE_HEAD)
    for head, side in (("id", "left"), ("claims", "right"), ("", "left")):
        table.add_column(head, justify=side)  # type: ignore[arg-type]
    for text in texts:
        table.add_row(text.id, str(len(text.claims)), text.title)
    console().print(table)
    return OK


def _conclusions() -> int:
    """Print whether the papers' conclusions hold: a row for each."""
    from rich import box
    from rich.table import Table

    from dumbbell.suites import conclusions, standing
    from dumbbell.suites.folders import shipped

    from .table import console

    verdicts = standing.stored()["claims"]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for head in ("paper", "says", "", "claims"):
        table.add_column(head, justify="right" if head == "claims" else "left", no_wrap=head in ("paper", ""))
    for suite in shipped():
        for one in conclusions.of_suite(suite):
            word, held, judged = conclusions.stands(suite, one, verdicts)
            colour = _COLOURS.get(word, "yellow")
            table.add_row(f"{suite} {one.id}", one.text, f"[{colour}]{word}[/]", f"{held}/{judged}")
    console().print(table)
    note(f"{standing.made()}; docs/papers/against-linux.md has the evidence from Linux")
    note("papers kfoury2020 lists the figures of a paper; reproduce kfoury2020/fig14b runs one")
    return OK


def reproduce(arguments: argparse.Namespace) -> int:
    """Run what is missing, draw, judge."""
    return _reproduced(
        arguments.id, Path(arguments.out or "results/papers"), profile=arguments.profile,
        each=_print_json if arguments.json else _print, progress=not arguments.quiet, on=arguments.on,
        beside=arguments.beside, scale=arguments.scale, overrides=arguments.overrides, at=arguments.at,
        repetitions=arguments.repetitions, store=arguments.store, jobs=arguments.jobs,
    )  # fmt: skip


#: What the demo reproduces.
DEMO = "kfoury2020/fig11a"


def demo(arguments: argparse.Namespace) -> int:
    """A first look: one figure, shorter, or with the paper's times and repetitions."""
    return _reproduced(
        [DEMO], Path(arguments.out or "results/demo"), profile="full" if arguments.full else "quick",
        store=arguments.store, jobs=arguments.jobs, progress=not arguments.quiet, each=_print_demo,
    )  # fmt: skip


def _reproduced(ids: list[str], out: Path, *, profile: Any, each: Callable[[Reproduced], None], **given: Any) -> int:
    """Print what is reproduced: every entry when it is judged, then the scoreboard."""
    entries = api.reproduce(ids, out, profile=profile, each=each, **given)
    if each is not _print_json:
        _print_board(entries, profile, out)
    return OK


def _print_demo(entry: Reproduced) -> None:
    """The numbers of the figure, then its claims."""
    from dumbbell.suites.panels import numbers

    table = entry.judged.table
    heads, rows = numbers(table.entry.panels, table)
    _print_table(f"{table.text.item}, means of the repetitions", heads, rows)
    _print(entry)


def _print_json(entry: Reproduced) -> None:
    print(json.dumps(entry.as_json()), flush=True)


def _print_cells(measured: Table) -> None:
    """A table of numbers as the paper has it, ours beside its."""
    from dumbbell.suites import cells

    heads, rows = cells.rows(measured, measured.entry.cells)
    _print_table(f"{measured.text.item}: ours (the paper's), * within tolerance", heads, rows)
    print(f"Within the tolerance: {cells.agreement(measured)}\n")


def _print_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Numbers under their headings; the first column has names."""
    from rich import box
    from rich.table import Table

    from .table import console

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for i, head in enumerate(heads):
        table.add_column(head, justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def _print(entry: Reproduced) -> None:
    """A row per claim; those that are cells of a table stand in the table."""
    from rich import box
    from rich.table import Table

    from dumbbell.suites import findings, score
    from dumbbell.suites.cells import is_cell

    from .table import console

    text, measured = entry.judged.text, entry.judged.table
    if measured.entry.cells:
        _print_cells(measured)
    table = Table(title=f"{text.id}: {text.title}{_changed(measured)}", title_justify="left", box=box.SIMPLE_HEAD)
    for head in ("claim", "", "measured", "expected", "tolerance", ""):
        table.add_column(head, overflow="fold")
    for verdict in entry.judged.verdicts:
        if measured.entry.cells and is_cell(verdict.claim):
            continue
        colour = _COLOURS[verdict.verdict]
        table.add_row(
            f"{verdict.claim.id} {verdict.claim.text}", f"[{colour}]{verdict.verdict}[/]", score.measured_text(verdict),
            score.wanted_text(verdict), f"{verdict.tolerance.size:g} {verdict.tolerance.kind}", verdict.reason,
        )  # fmt: skip
    console().print(table)
    for verdict in entry.judged.verdicts:
        finding = findings.of(f"{text.id}#{verdict.claim.id}") if verdict.verdict == "fails" else None
        if finding:
            print(f"  {verdict.claim.id}: {score.why(finding)}")
    for what, choice in measured.entry.choices.items():
        print(f"  left open: {what}: {choice}")
    for remark in measured.remarks:
        print(f"  not as in the entry: {remark}")
    if entry.picture:
        print(f"Picture: {entry.picture}\n")


def _changed(measured: Table) -> str:
    return f" ({measured.changed.told})" if measured.changed else ""


def _print_board(entries: list[Reproduced], profile: str, out: Path) -> None:
    """The scoreboard."""
    from dumbbell.suites import score

    provisional = "" if profile == "full" else ", provisional: shorter runs, fewer repetitions"
    title = f"Claims{_changed(entries[0].judged.table) if entries else ''}{provisional}"
    lines = score.lines([entry.judged for entry in entries])
    _print_table(title, ("paper", *score.COLUMNS), [(line.paper, *line.cells()) for line in lines])
    print(f"Page: {out / 'scoreboard.md'}")
