"""`dumbbell test`: what scenario files expect of their runs, judged."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import backends, interrupts
from dumbbell.errors import OutError
from dumbbell.expect import tested
from dumbbell.expect.asked import options_of
from dumbbell.expect.judged import Tally, grouped
from dumbbell.explain.failed import explained
from dumbbell.explain.told import Teller
from dumbbell.judge import FAILS, HOLDS
from dumbbell.judge.verdict import worst
from dumbbell.runs.execute import Execution
from dumbbell.runs.progress import Progress, screen
from dumbbell.runs.store import Store
from dumbbell.scenario.own import with_candidate

from . import run, status, verdicts
from .output import note
from .status import FAILED, INTERRUPTED, OK
from .writers import write_file, write_object

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dumbbell.expect.asked import File
    from dumbbell.expect.judged import Line
    from dumbbell.judge import Word
    from dumbbell.runs.job import Outcome

#: The variable that GitHub sets to the file of a step's summary.
SUMMARY = "GITHUB_STEP_SUMMARY"
#: Places of one expectation that are listed; more are counted.
_PLACES = 6


class How(NamedTuple):
    """What is asked for, besides the files."""

    overrides: tuple[str, ...]
    cca: tuple[str, ...]
    on: str
    is_json: bool
    is_quiet: bool
    fail_on: tuple[str, ...]
    candidate: str | None
    baseline: str | None
    junit: str | None
    summary: str | None
    """A file, empty for none; None: that of GitHub, else stdout."""
    is_annotated: bool

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> How:
        """Read the options of the command line."""
        overrides, cca, fail_on = (tuple(options[name]) for name in ("overrides", "cca", "fail_on"))
        given = {name: options[name] for name in ("on", "candidate", "baseline", "junit", "summary")}
        shown = {f"is_{name}": options[name] for name in ("json", "quiet")}
        return cls(overrides, cca, fail_on=fail_on, is_annotated=options["annotate"], **given, **shown)


def main(arguments: argparse.Namespace) -> int:
    """Test the files; see `dumbbell test --help`."""
    with interrupts.Raised():
        how = How.of(vars(arguments))
        backends.kind(how.on)
        own, candidate = with_candidate(how.candidate, how.cca, on=how.on, at="--candidate")
        files = tested.planned(
            arguments.files, overrides=how.overrides, own=own, on=how.on, only=arguments.only, candidate=candidate
        )
        jobs = tested.jobs(files)
        workers = backends.workers(how.on, (job.request for job in jobs), arguments.jobs)
        if not how.is_quiet and not how.is_json:
            print(_cost(files, len(jobs)))
        with Execution(
            jobs,
            None,
            store=Store(arguments.store),
            workers=workers,
            may_fork=own.has_python,
            progress=None if how.is_quiet else Progress(screen(), has_kept=True),
            note=note,
        ) as going:
            return _judge(how, files, going)


def _judge(how: How, files: Sequence[File], going: Execution) -> int:
    """Run, print lines, write what is asked for; returns the exit status."""
    failures, teller = Failures(), Teller()
    everything: list[Line] = []
    try:
        for file, judged in tested.lines(files, going, save=how.baseline, tell=failures.tell):
            lines = list(explained(judged, teller))
            everything += lines
            _print(file, lines, how)
    except KeyboardInterrupt as error:
        note("interrupted; finished runs are kept in the store, the same command runs the rest")
        return error.status if isinstance(error, interrupts.Interrupted) else INTERRUPTED
    failures.errors.end()
    commands = {key: _again(lines[0], how) for key, lines in grouped(everything).items()}
    _write(everything, commands, how)
    tally = Tally.of(everything)
    if not how.is_json:
        left_out = sum(file.left_out for file in files)
        print(f"\n{tally}" + (f"; {left_out} not of this run" if left_out else ""))
    return max(FAILED if tally.is_red(how.fail_on) else OK, failures.status)


class Failures:
    """Runs that failed."""

    def __init__(self) -> None:
        self.errors, self.status = run.Errors(), OK

    def tell(self, outcome: Outcome) -> None:
        """Say the error of a run."""
        assert outcome.error is not None
        self.status = max(self.status, status.of(outcome.error))
        self.errors.tell(outcome)


def _cost(files: Sequence[File], count: int) -> str:
    expected = sum(len(file.asked) for file in files)
    return f"{expected} expectations in {len(files)} files, {count} runs"


def _print(file: File, lines: Sequence[Line], how: How) -> None:
    if how.is_json:
        for line in lines:
            write_object(line.as_json())
        return
    if not how.is_quiet:
        print(f"\n{file.path}")
    for own in grouped(lines).values():
        word = worst(line.word for line in own)
        if how.is_quiet and word == HOLDS:
            continue
        for text in _texts(own, word, how):
            print(text)


def _texts(own: Sequence[Line], word: Word, how: How) -> list[str]:
    """An expectation: one line, and below it where it does not hold, why, and how to repeat it."""
    first = own[0]
    said = word.upper() if word == FAILS and first.is_counted else "warning" if not first.is_counted else word
    said = "holds" if word == HOLDS else said
    head = f"  {said:9} {first.asked.name}"
    if len(own) == 1:
        head += f": {_figures(first)}"
    elif word == HOLDS:
        head += f": {_figures(verdicts.nearest(own))} ({len(own)} places)"
    if word == HOLDS:
        return [head]
    bad = [line for line in own if line.word != HOLDS]
    below = [f"            {line.word}: {_figures(line)}" for line in bad[:_PLACES]] if len(own) > 1 else []
    if len(bad) > _PLACES and len(own) > 1:
        below.append(f"            and at {len(bad) - _PLACES} more places")
    why = [f"            {first.asked.table.why}"] if first.asked.table.why else []
    why += [f"            why: {text}" for line in bad for text in line.explained]
    folder = next((line.folder for line in own if line.word == word), "")
    runs = [f"            run: {folder}"] if folder else []
    return [head, *below, *why, f"            again: {_again(first, how)}", *runs]


def _figures(line: Line) -> str:
    """Measured, wanted and the place."""
    reason = line.judged.verdict.reason
    measured = line.judged.measured or "not measured"
    absent = f" ({reason})" if line.word == "unjudged" and reason else ""
    return f"{measured}{absent}, wanted {line.judged.wanted}" + (f", {line.where}" if line.where else "")


def _again(line: Line, how: How) -> str:
    """The command that repeats an expectation."""
    words = ["dumbbell", "test", line.file, "-k", line.asked.name]
    words += options_of(how.overrides, how.cca, how.candidate, how.on)
    return shlex.join(words)


def _write(lines: Sequence[Line], commands: Mapping[tuple[str, int], str], how: How) -> None:
    """Write JUnit and the summary, print annotations."""
    if how.junit:
        from dumbbell.plan import origin

        properties = {**origin.versions(), "on": how.on}
        write_file("--junit", how.junit, verdicts.junit(lines, commands, properties), force=True)
    summary = os.environ.get(SUMMARY, "-") if how.summary is None else how.summary
    if summary:
        text = verdicts.markdown(lines, commands)
        if summary == "-":
            sys.stdout.write(f"\n{text}")
        else:
            _append("--summary", Path(summary), text)
    if how.is_annotated:
        for text in verdicts.workflow_commands(lines):
            print(text)


def _append(option: str, path: Path, text: str) -> None:
    """A summary goes behind what other steps have written."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise OutError(f"{option}: {path}: {error.strerror}") from None
