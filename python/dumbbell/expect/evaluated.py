"""A controller by the sections of a document: pass, concern or fail in each cell, beside the references.

A cell is one name of expectations at one place. Its bound with ``severity = "warn"`` parts pass from concern, the other
one concern from fail; of an absolute and a relative bound the looser holds, because the files join them by ``or``.
Where a standard fails as well, nobody else does: the word is concern.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from dumbbell.judge import FAILS, HOLDS, UNCLEAR, UNJUDGED
from dumbbell.judge.values import Reading
from dumbbell.results.catalogue import figure
from dumbbell.results.texts import table_html

from .asked import options_of, read
from .judged import place_text

if TYPE_CHECKING:
    from pathlib import Path

    from dumbbell.scenario.own import Own

    from .asked import File
    from .judged import Line
    from .suites import Section, Suite

Grade = Literal["pass", "concern", "fail", "not judged"]

#: From the one that a summary must say first.
WORST: tuple[Grade, ...] = ("fail", "not judged", "concern", "pass")


class Said(NamedTuple):
    """What one controller shows in a cell: the word, whether chance may decide it, what was measured, and why not."""

    grade: Grade
    is_unclear: bool
    measured: str
    value: float | None
    reason: str = ""


class Cell(NamedTuple):
    """A name of expectations at one place.

    Attributes
    ----------
    file, name
        The scenario file and the name of its expectations.
    vary, row
        The place, and whose figure it is where a file has several.
    title
        The figure with its unit.
    said
        Of the candidate.
    references
        Of the references, by their names.
    wanted
        The bound that decides.
    note
        ``as CUBIC does`` where a standard fails too.
    command
        What repeats it.
    """

    file: Path
    name: str
    vary: Mapping[str, Any]
    row: str
    title: str
    said: Said
    references: dict[str, Said]
    wanted: str
    note: str
    command: str

    @property
    def where(self) -> str:
        """The place, as people read it."""
        return ", ".join([*place_text(self.vary), *([self.row] if self.row not in ("", "candidate") else [])])

    def as_json(self) -> dict[str, Any]:
        """As `dumbbell evaluate --json` prints it."""
        return {
            "file": self.file.stem,
            "cell": self.name,
            "vary": dict(self.vary),
            "of": self.row,
            "verdict": self.said.grade,
            "unclear": self.said.is_unclear,
            "note": self.note,
            "measured": self.said.measured,
            "wanted": self.wanted,
            "references": {
                name: {"verdict": said.grade, "measured": said.measured} for name, said in self.references.items()
            },
            "command": self.command,
        }


class Chapter(NamedTuple):
    """A section with its cells."""

    section: Section
    cells: list[Cell]

    @property
    def grade(self) -> Grade | None:
        """The worst word; None of a section that only its authors can answer."""
        said = {cell.said.grade for cell in self.cells}
        return next((grade for grade in WORST if grade in said), None)

    @property
    def text(self) -> str:
        """``fail (1 of 20)``."""
        if self.grade is None:
            return "for its authors"
        count = sum(cell.said.grade == self.grade for cell in self.cells)
        return self.grade if self.grade == "pass" else f"{self.grade} ({count} of {len(self.cells)})"


class How(NamedTuple):
    """How a controller was evaluated: as it was given, and what else was."""

    given: str
    profile: str
    overrides: tuple[str, ...] = ()
    cca: tuple[str, ...] = ()
    on: str = "sim"

    @property
    def options(self) -> list[str]:
        """The options of `dumbbell test` that repeat a cell."""
        return options_of(self.overrides, self.cca, self.given, self.on)


class Evaluation(NamedTuple):
    """A controller, judged by a suite."""

    suite: Suite
    candidate: str
    how: How
    chapters: list[Chapter]

    def _repr_html_(self) -> str:
        """A row for each section, for a notebook."""
        heads = ("section", "title", self.candidate)
        rows = [(one.section.number, one.section.title, one.text) for one in self.chapters]
        return table_html(heads, rows)

    def as_json(self) -> dict[str, Any]:
        """As `dumbbell evaluate --json` prints it, a section after the other."""
        return {
            "suite": self.suite.name,
            "bounds": self.suite.head.bounds,
            "candidate": self.candidate,
            "profile": self.how.profile,
            "on": self.how.on,
            "references": list(self.suite.head.references),
            "sections": [
                {
                    "number": chapter.section.number,
                    "title": chapter.section.title,
                    "level": chapter.section.level,
                    "verdict": chapter.grade,
                    "question": chapter.section.question,
                    "note": chapter.section.note,
                    "cells": [cell.as_json() for cell in chapter.cells],
                }
                for chapter in self.chapters
            ],
        }


def planned(
    suite: Suite, candidate: str, *, profile: str, own: Own, on: str, overrides: tuple[str, ...] = ()
) -> dict[str, list[File]]:
    """The files of a suite for the candidate and for each reference. Raises ScenarioError."""
    whom = list(dict.fromkeys([candidate, *suite.head.references]))
    chosen = suite.chosen(profile).items()
    return {
        cca: [read(file, overrides=(*own_set, *overrides), own=own, on=on, candidate=cca) for file, own_set in chosen]
        for cca in whom
    }


def evaluation(suite: Suite, candidate: str, lines: Mapping[str, Sequence[Line]], how: How) -> Evaluation:
    """Put the lines of the candidate beside those of the references, section by section."""
    said = {cca: {_key(own): _said(own) for own in _cells(of_one)} for cca, of_one in lines.items()}
    chosen = suite.chosen(how.profile)
    cells: list[tuple[str, Cell]] = []
    for own in _cells(lines[candidate]):
        line = own[0]
        file = next(path for path in suite.files if str(path) == line.file)
        references = {
            cca: said[cca][_key(own)] for cca in suite.head.references if cca != candidate and _key(own) in said[cca]
        }
        words = [word for text in chosen[file] for word in ("--set", text)]
        command = shlex.join(
            ["dumbbell", "test", str(address(suite, file)), "-k", line.asked.name, *words, *how.options]
        )
        reading = _reading(line)
        title = figure(reading.figure).axis_title if reading else line.asked.table.that
        cell = Cell(
            file,
            line.asked.name,
            line.vary,
            line.judged.label,
            title,
            said[candidate][_key(own)],
            references,
            _decisive(own).judged.wanted,
            "",
            command,
        )
        cells.append((suite.section_of(file), _with_standards(cell, suite, candidate)))
    chapters = [
        Chapter(section, [cell for number, cell in cells if number == section.number]) for section in suite.head.section
    ]
    return Evaluation(suite, candidate, how, chapters)


def address(suite: Suite, file: Path) -> str | Path:
    """What a command calls a file of a suite."""
    from .suites import FOLDER

    return f"gallery:suites/{suite.name}/{file.stem}" if file.is_relative_to(FOLDER) else file


def _cells(lines: Iterable[Line]) -> list[list[Line]]:
    """The lines of each cell: one for each of its bounds."""
    cells: dict[tuple[Any, ...], list[Line]] = {}
    for line in lines:
        cells.setdefault(_key([line]), []).append(line)
    return list(cells.values())


def _key(own: Sequence[Line]) -> tuple[str, str, str, str]:
    # A controller that varies in the file is a value; the candidate's own name never is.
    line = own[0]
    return (line.file, line.asked.name, str(dict(line.vary)), line.judged.label)


def _said(own: Sequence[Line]) -> Said:
    """The word of a cell, by its bounds."""
    decisive = _decisive(own)
    verdict, interval = decisive.judged.verdict, decisive.judged.verdict.measured
    value = interval.mean * _scale(decisive) if interval and math.isfinite(interval.mean) else None
    grade: Grade = "pass"
    if decisive.word == UNJUDGED:
        grade = "not judged"
    elif decisive.word == FAILS:
        grade = "fail" if decisive.is_counted else "concern"
    elif decisive.word == UNCLEAR:  # the milder word
        grade = "concern" if decisive.is_counted and any(not line.is_counted for line in own) else "pass"
    return Said(grade, decisive.word == UNCLEAR, decisive.judged.measured, value, verdict.reason)


def _reading(line: Line) -> Reading | None:
    """The figure that an expectation is about; None of events and states."""
    first = next(iter(line.asked.sentence.values()))
    return first if isinstance(first, Reading) else None


def _scale(line: Line) -> float:
    reading = _reading(line)
    return figure(reading.figure).scale if reading else 1.0


def _decisive(own: Sequence[Line]) -> Line:
    """The bound that decides: the first that is not met, those that fail before those that warn; else the tightest."""
    ordered = sorted(own, key=lambda line: not line.is_counted)
    return next((line for line in ordered if line.word != HOLDS), ordered[-1])


def _with_standards(cell: Cell, suite: Suite, candidate: str) -> Cell:
    """A cell where a standard fails as well."""
    if cell.said.grade != "fail":
        return cell
    if candidate in suite.head.standards:
        return (
            cell._replace(note="as the standards do")
            if all(said.grade == "fail" for cca, said in cell.references.items() if cca in suite.head.standards)
            else cell
        )
    also = [cca for cca in suite.head.standards if cca in cell.references and cell.references[cca].grade == "fail"]
    if not also:
        return cell
    return cell._replace(
        said=cell.said._replace(grade="concern"), note=f"as {' and '.join(also)} {'do' if len(also) > 1 else 'does'}"
    )
