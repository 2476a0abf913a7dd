"""`dumbbell evaluate`: a controller by the sections of RFC 9743, beside Reno, CUBIC and BBRv3; `dumbbell suite`: the
suites that there are, and one of them for a controller.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from dumbbell import api, interrupts
from dumbbell.expect import evaluated, suites
from dumbbell.scenario import gallery

from .output import note
from .status import OK
from .table import Column, text
from .writers import write_file, write_object

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dumbbell.expect.evaluated import Evaluation
    from dumbbell.runs.check import Cost

#: Cells that the table lists below each section; the page has all.
_LISTED = 4


def main(arguments: argparse.Namespace) -> int:
    """Evaluate a controller; see `dumbbell evaluate --help`."""
    asked, began = vars(arguments), time.monotonic()
    names = ("candidate", "profile", "suite", "overrides", "cca", "on", "store", "jobs", "qlogs", "force")
    with interrupts.Raised():
        said = api.evaluate(
            **{name: asked[name] for name in names}, progress=not asked["quiet"], before=_announced(asked)
        )
    _show(said, asked, time.monotonic() - began)
    return OK


def suite(arguments: argparse.Namespace) -> int:
    """List the suites, or the files of one; `dumbbell suite NAME CCA` evaluates a controller by it."""
    asked = vars(arguments)
    if asked["name"] is None:
        for name in suites.names():
            there = suites.find(name)
            print(f"{name:14}{there.head.title} ({len(there.files)} files)")
        return OK
    if asked["candidate"] is None:
        there = suites.find(asked["name"])
        for file in there.files:
            print(f"{file}: {gallery.summary(file.read_text(encoding='utf-8'))}")
        return OK
    return main(argparse.Namespace(**{**asked, "suite": asked["name"]}))


def _announced(asked: Mapping[str, Any]) -> Callable[[int, Cost], None] | None:
    """Who says what it costs, before it starts."""
    if asked["quiet"]:
        return None
    return lambda files, cost: note(f"{asked['suite']}, profile {asked['profile']}: {files} files, {cost}")


def _show(said: Evaluation, asked: Mapping[str, Any], took_s: float) -> None:
    if asked["json"]:
        write_object(said.as_json())
    else:
        sys.stdout.write(_table(said))
        for chapter in said.chapters:
            _print_cells(chapter)
        print(f"\nin {took_s:.0f} s; bounds: Dumbbell's, version {said.suite.head.bounds}")
    if asked["out"]:
        from dumbbell.report.evaluation import page

        write_file("--out", asked["out"], page(said), force=asked["force"])
        if not asked["json"] and not asked["quiet"]:
            note(f"page: {asked['out']}")
    if asked["qlogs"] and not asked["json"] and not asked["quiet"]:
        note(f"qlogs: {asked['qlogs']}, listed in its README.md and index.json")


def _table(said: Evaluation) -> str:
    """The sections, each with its word, and how many cells of the references have which."""
    chapters = said.chapters
    columns = [
        Column("section", ("section",), [chapter.section.number for chapter in chapters], right=False),
        Column("title", ("title",), [chapter.section.title for chapter in chapters], right=False),
        Column("level", ("level",), [chapter.section.level for chapter in chapters], rank=1, right=False),
        Column(said.candidate, (said.candidate,), [chapter.text for chapter in chapters], right=False),
    ]
    return text(columns)


def _print_cells(chapter: evaluated.Chapter) -> None:
    bad = [cell for cell in chapter.cells if cell.said.grade != "pass"]
    bad.sort(key=lambda cell: evaluated.WORST.index(cell.said.grade))
    if not bad:
        return
    print(f"\n{chapter.section.number} {chapter.section.title}")
    for cell in bad[:_LISTED]:
        references = ", ".join(f"{cca} {said.measured}" for cca, said in cell.references.items())
        remark = f" ({cell.note})" if cell.note else ""
        chance = "~" if cell.said.is_unclear else ""
        place = ", ".join(filter(None, (cell.name, cell.where)))
        measured = "; ".join(filter(None, (cell.said.measured or cell.said.reason, references)))
        print(f"  {cell.said.grade}{chance}{remark}: {place}: {measured}")
        print(f"      {cell.command}")
    if len(bad) > _LISTED:
        print(f"  and {len(bad) - _LISTED} more, which --json and the page of --out have")
