"""`dumbbell papers`: what can be reproduced. `dumbbell reproduce`: run it, draw it, judge its claims."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell import backends, suites
from dumbbell.errors import ResultError, wrong
from dumbbell.files import written_whole

from .status import OK

if TYPE_CHECKING:
    from dumbbell.suites.book import Book, Judged

#: The colours of verdicts on a terminal.
_COLOURS = {"holds": "green", "fails": "red", "unclear": "yellow", "unjudged": "yellow"}


def main(arguments: argparse.Namespace) -> int:
    """List the figures and tables."""
    from dumbbell.suites import text_of

    texts = [text_of(name) for name in suites.chosen(arguments.id or ["all"])]
    if arguments.json:
        for text in texts:
            claims = [{"id": one.id, "text": one.text, "expected": one.wanted} for one in text.claims]
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


def reproduce(arguments: argparse.Namespace) -> int:
    """Run what is missing, draw, judge."""
    from dumbbell.runs.store import Store
    from dumbbell.suites.book import Book
    from dumbbell.suites.table import FAST, FULL

    names = suites.chosen(arguments.id)
    out = Path(arguments.out or "results/papers")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultError(f"{out}: cannot be made ({error.strerror})") from None
    profile = FAST if arguments.fast else FULL
    on, beside_on = arguments.on, arguments.beside
    backends.kind(on)
    if beside_on:
        backends.kind(beside_on, "--beside")
        if beside_on == on:
            raise wrong("--beside", beside_on, f"another back end than --on {on}, whose points it would be drawn over")
    store, scale = Store(arguments.store), arguments.scale
    book = Book(store, profile, on=on, workers=arguments.jobs, scale=scale)
    beside = Book(store, profile, on=beside_on, workers=arguments.jobs, scale=scale) if beside_on else None
    for made in (book, beside):
        if made is not None:
            _run(made, names, quiet=arguments.quiet)
    judged: list[Judged] = []
    figures: dict[str, Path] = {}
    for name in names:
        one = book.judged(name)
        judged.append(one)
        one.table.beside = beside.table(name) if beside else None
        figure = _draw(one, out)
        if figure:
            figures[name] = figure
        if arguments.json:
            from dumbbell.suites.score import entry_json

            print(json.dumps(entry_json(one, figure)), flush=True)
        else:
            _print(one, figure)
        book.forget(name)
    _write(judged, book, figures, out, quiet=arguments.json)
    return OK


def _run(book: Book, names: list[str], *, quiet: bool) -> None:
    """Make what is missing, with progress over all of it."""
    from dumbbell import interrupts
    from dumbbell.runs.progress import Progress, screen

    with interrupts.passed_on(), interrupts.Raised():
        book.run(book.jobs(book.needed(names)), None if quiet else Progress(screen()))


def _draw(one: Judged, out: Path) -> Path | None:
    from dumbbell import plots

    if one.table.entry.draw is None or not one.table.points:
        return None
    path = out / (one.text.id.replace("/", "-") + ".png")
    plots.save(one.table.entry.draw(one.table), path)
    return path


def _print_cells(one: Judged) -> None:
    """A table of numbers as the paper has it, ours beside its."""
    from rich import box
    from rich.table import Table

    from dumbbell.suites import cells

    from .table import console

    heads, rows = cells.rows(one.table, one.table.entry.cells)
    table = Table(
        title=f"{one.text.item}: ours (the paper's), * within tolerance", title_justify="left", box=box.SIMPLE_HEAD
    )
    for i, head in enumerate(heads):
        table.add_column(head, justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*row)
    console().print(table)
    print(f"Within the tolerance: {cells.agreement(one.table)}\n")


def _print(one: Judged, figure: Path | None) -> None:
    """A row per claim; those that are cells of a table stand in the table."""
    from rich import box
    from rich.table import Table

    from dumbbell.suites.cells import is_cell
    from dumbbell.suites.score import measured_text, wanted_text

    from .table import console

    if one.table.entry.cells:
        _print_cells(one)
    table = Table(
        title=f"{one.text.id}: {one.text.title}{_scaled(one.table.scale)}", title_justify="left", box=box.SIMPLE_HEAD
    )
    for head in ("claim", "", "measured", "expected", "tolerance", ""):
        table.add_column(head, overflow="fold")
    for verdict in one.verdicts:
        if one.table.entry.cells and is_cell(verdict.claim):
            continue
        colour = _COLOURS[verdict.verdict]
        table.add_row(
            f"{verdict.claim.id} {verdict.claim.text}", f"[{colour}]{verdict.verdict}[/]", measured_text(verdict),
            wanted_text(verdict), f"{verdict.tolerance.size:g} {verdict.tolerance.kind}", verdict.reason,
        )  # fmt: skip
    console().print(table)
    for what, chosen in one.table.entry.choices.items():
        print(f"  left open: {what}: {chosen}")
    if figure:
        print(f"Picture: {figure}\n")


def _scaled(scale: float) -> str:
    return "" if scale == 1 else f", at {scale:g} of the paper's rates"


def _write(judged: list[Judged], book: Book, figures: dict[str, Path], out: Path, *, quiet: bool) -> None:
    """The scoreboard: on the terminal, and as files beside the figures."""
    from dumbbell.suites import score

    boards = {
        "json": json.dumps(score.as_json(judged, book.profile, book.scale), indent=1) + "\n",
        "md": score.markdown(judged, book.profile, figures, book.scale),
    }
    for suffix, text in boards.items():
        with written_whole(out / f"scoreboard.{suffix}") as beside:
            beside.write_text(text, encoding="utf-8")
    if quiet:
        return
    from rich import box
    from rich.table import Table

    from .table import console

    provisional = "" if book.profile.is_full else ", provisional: shorter runs, fewer repetitions"
    table = Table(title=f"Claims{_scaled(book.scale)}{provisional}", title_justify="left", box=box.SIMPLE_HEAD)
    for head in ("paper", *score.COLUMNS):
        table.add_column(head, justify="left" if head == "paper" else "right")
    for line in score.lines(judged):
        table.add_row(line.paper, *line.cells())
    console().print(table)
    print(f"Page: {out / 'scoreboard.md'}")
