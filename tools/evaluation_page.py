#!/usr/bin/env python3
"""Writes `docs/evaluation.md`: every built-in controller by the sections of RFC 9743, as `dumbbell evaluate` has it.

``evaluation_page.py [quick|full] [--store DIR]`` runs what is missing; `make evaluation` calls it.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import dumbbell
from dumbbell import controllers
from dumbbell.expect import suites
from dumbbell.plots import look

if TYPE_CHECKING:
    from dumbbell.expect.evaluated import Cell, Evaluation

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/evaluation.md"
INTRODUCTION = """# Controllers by RFC 9743

Every built-in controller by the sections of RFC 9743 (BCP 133): what `dumbbell evaluate NAME` says
([what the words mean](evaluate.md)). A number is how many of the cells of a section fail, or are a concern.

Made by `make evaluation` on {day} at commit {commit}, profile {profile}; bounds: Dumbbell's, version {bounds}. Where
Reno and CUBIC fail as well, the others have a concern.
"""
#: Cells that fail, below the matrix, of each controller.
LISTED = 12


def main(arguments: list[str]) -> int:
    """Evaluate all of them, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("profile", nargs="?", choices=("quick", "full"), default="quick")
    parser.add_argument("--store")
    asked = parser.parse_args(arguments)
    evaluations = []
    for name in controllers.known():
        print(name, file=sys.stderr)
        evaluations.append(dumbbell.evaluate(name, profile=asked.profile, store=asked.store, progress=False))
    PAGE.write_text(page(evaluations), encoding="utf-8")
    return 0


def page(evaluations: list[Evaluation]) -> str:
    """The page: the matrix of sections and controllers, then what fails."""
    suite, profile = evaluations[0].suite, evaluations[0].how.profile
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    names = [look.name(said.candidate) for said in evaluations]
    judged = [chapter.section for chapter in evaluations[0].chapters if chapter.cells]
    lines = [
        INTRODUCTION.format(day=today, commit=commit, profile=profile, bounds=suite.head.bounds),
        "| section | " + " | ".join(names) + " |",
        "| --- |" + " --- |" * len(names),
    ]
    for section in judged:
        words = [_word(said, section) for said in evaluations]
        lines.append(f"| {section.number} {section.title} | " + " | ".join(words) + " |")
    lines += ["", "ok: every cell passes; c: concern; **f**: fail.", "", "## What fails"]
    for said in evaluations:
        failing = [cell for chapter in said.chapters for cell in chapter.cells if cell.said.grade == "fail"]
        lines += ["", f"### {look.name(said.candidate)} (`{said.candidate}`)", ""]
        if not failing:
            lines.append("No cell.")
            continue
        lines += [_listed(cell) for cell in failing[:LISTED]]
        if len(failing) > LISTED:
            lines.append(
                f"- {len(failing) - LISTED} more: `dumbbell evaluate {said.candidate} --out {said.candidate}.html`"
            )
    return "\n".join(lines) + "\n"


def _word(said: Evaluation, section: suites.Section) -> str:
    chapter = next(chapter for chapter in said.chapters if chapter.section == section)
    count = sum(cell.said.grade == chapter.grade for cell in chapter.cells)
    words = {"pass": "ok", "concern": f"c {count}", "fail": f"**f {count}**", "not judged": f"? {count}"}
    return f"{words[chapter.grade or 'not judged']}/{len(chapter.cells)}" if chapter.grade != "pass" else "ok"


def _listed(cell: Cell) -> str:
    references = ", ".join(f"{look.name(name)} {said.measured}" for name, said in cell.references.items())
    note = f" ({cell.note})" if cell.note else ""
    where = f", {cell.where}" if cell.where else ""
    return f"- {cell.file.stem}, {cell.name}{where}: {cell.said.measured}{note}; {references}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
