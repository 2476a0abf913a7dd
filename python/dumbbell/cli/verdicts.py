"""Verdicts for other programs: JUnit XML, a Markdown summary, annotations of GitHub."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from dumbbell.expect.judged import Tally, grouped
from dumbbell.judge import FAILS, HOLDS, UNCLEAR, UNJUDGED, Word
from dumbbell.judge.verdict import worst

from .table import Column
from .table import markdown as table

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from dumbbell.expect.judged import Line

#: A summary above 1 MiB is dropped whole by GitHub; rows beyond these are counted.
ROWS_MAX = 2_000
#: GitHub shows some ten annotations of a kind per step.
ANNOTATIONS_MAX = 10


def junit(lines: Sequence[Line], commands: Mapping[tuple[str, int], str], properties: Mapping[str, str]) -> str:
    """The lines as JUnit XML: a suite per file, a case per line; `commands` repeat an expectation."""
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    root = Element("testsuites", {"name": "dumbbell", **_counts(lines)})
    for file in dict.fromkeys(line.file for line in lines):
        own = [line for line in lines if line.file == file]
        seconds = f"{sum(line.wall_s for line in own):.3f}"
        suite = SubElement(root, "testsuite", {"name": file, "time": seconds, **_counts(own)})
        listed = SubElement(suite, "properties")
        for name, value in properties.items():
            SubElement(listed, "property", name=name, value=value)
        for line in own:
            _case(suite, line, commands[line.file, line.asked.number])
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _case(suite: Element, line: Line, command: str) -> None:
    from xml.etree.ElementTree import SubElement

    name = f"{line.asked.name} ({line.where})" if line.where else line.asked.name
    case = SubElement(
        suite, "testcase", classname=PurePath(line.file).stem, name=name, file=line.file, line=str(line.asked.line),
        time=f"{line.wall_s:.3f}",
    )  # fmt: skip
    if line.word == HOLDS:
        return
    message = _message(line)
    if line.word == FAILS and line.is_counted:
        told = SubElement(case, "failure", type="expect", message=message)
    else:
        told = SubElement(case, "skipped", message=f"{line.word}: {message}")
    told.text = "\n".join(filter(None, [message, line.asked.table.why, *line.explained, command, line.folder]))


def _counts(lines: Sequence[Line]) -> dict[str, str]:
    failures = sum(line.word == FAILS and line.is_counted for line in lines)
    skipped = sum(line.word != HOLDS for line in lines) - failures
    return {"tests": str(len(lines)), "failures": str(failures), "errors": "0", "skipped": str(skipped)}


def _message(line: Line) -> str:
    """What was measured and wanted, where."""
    at = f", at {line.where}" if line.where else ""
    measured = line.judged.measured or line.judged.verdict.reason
    return f"{measured}, wanted {line.judged.wanted}{at}"


def markdown(lines: Sequence[Line], commands: Mapping[tuple[str, int], str]) -> str:
    """The lines as a Markdown summary: failures first, with the command that repeats each."""
    order: list[Word] = [FAILS, UNJUDGED, UNCLEAR, HOLDS]
    groups = sorted(grouped(lines).items(), key=lambda group: order.index(worst(line.word for line in group[1])))
    shown = [line for _, own in groups[:ROWS_MAX] for line in _telling(own)]
    columns = [
        Column("verdict", ("verdict",), [line.word for line in shown], right=False),
        Column("expectation", ("expectation",), [line.asked.name for line in shown], right=False),
        Column("measured", ("measured",), [line.judged.measured for line in shown], right=False),
        Column("wanted", ("wanted",), [line.judged.wanted for line in shown], right=False),
        Column("where", ("where",), [line.where for line in shown], right=False),
    ]
    more = len(groups) - ROWS_MAX
    cut = [f"{more} more expectations are not listed.", ""] if more > 0 else []
    red = [(key, own) for key, own in groups if worst(line.word for line in own) != HOLDS]
    again = [text for key, own in red[:ROWS_MAX] for text in _again(own, commands[key])]
    said = ["Again:", "", *again] if again else []
    return "\n".join([f"### dumbbell test: {Tally.of(lines)}", "", table(columns), *cut, *said]) + "\n"


def _again(own: Sequence[Line], command: str) -> list[str]:
    """An expectation that does not hold, the command that repeats it, and below it why."""
    why = [f"  - {text}" for line in own for text in line.explained]
    return [f"- {own[0].asked.name}: `{command}`", *why]


def _telling(own: Sequence[Line]) -> list[Line]:
    """The lines of an expectation that tell: those that do not hold, or the one that is next to the line."""
    return [line for line in own if line.word != HOLDS] or [nearest(own)]


def nearest(own: Sequence[Line]) -> Line:
    """The line with the smallest margin."""
    return min(own, key=lambda line: line.judged.verdict.margin)


def workflow_commands(lines: Sequence[Line]) -> list[str]:
    """Commands of a GitHub workflow that mark the lines of the files."""
    marked = []
    for (file, _), own in grouped(lines).items():
        word = worst(line.word for line in own)
        if word == HOLDS:
            continue
        line = next(line for line in own if line.word == word)
        kind = "error" if word == FAILS and line.is_counted else "warning"
        title = _data(f"{line.asked.name}: {word}", is_property=True)
        at = f"file={_data(file, is_property=True)},line={line.asked.line}"
        marked.append((kind, f"::{kind} {at},title={title}::{_data(_said(line))}"))
    kept = {kind: [text for of, text in marked if of == kind] for kind in ("error", "warning")}
    return [text for texts in kept.values() for text in texts[:ANNOTATIONS_MAX]]


def _said(line: Line) -> str:
    return "\n".join([_message(line), *line.explained])


def _data(text: str, *, is_property: bool = False) -> str:
    """Text as a workflow command takes it."""
    for letter, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"), *(((":", "%3A"), (",", "%2C")) * is_property)):
        text = text.replace(letter, code)
    return text
