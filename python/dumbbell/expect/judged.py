"""Verdicts on expectations: a line for each row at each place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import ScenarioError
from dumbbell.judge import FAILS, HOLDS, UNJUDGED, Verdict, Word
from dumbbell.judge.sentence import Along, Judged
from dumbbell.judge.values import Reading
from dumbbell.judge.verdict import worst
from dumbbell.units import value_text

from .baselines import Baselines
from .places import At, Cases, is_at

if TYPE_CHECKING:
    from .asked import Asked, File


#: What the reason of a verdict begins with where a run failed.
RUN_FAILED = "a run failed"


class Line(NamedTuple):
    """One expectation for one row at one place.

    Attributes
    ----------
    file
        The scenario file.
    asked
        The expectation.
    vary
        The place: values of what varies.
    judged
        The verdict, with what was measured and wanted.
    folder
        A run of that place; empty where it failed.
    wall_s
        Time that the runs of that place took.
    explained
        Why the flow of one that fails got what it got, in sentences, where `dumbbell test` asked (docs/explain.md).
    """

    file: str
    asked: Asked
    vary: Mapping[str, Any]
    judged: Judged
    folder: str
    wall_s: float
    explained: tuple[str, ...] = ()

    @property
    def word(self) -> Word:
        """``holds``, ``fails``, ``unclear`` or ``unjudged``."""
        return self.judged.verdict.word

    @property
    def where(self) -> str:
        """The place and the row, as people read them."""
        return ", ".join([*([self.judged.label] if self.judged.label else []), *place_text(self.vary)])

    @property
    def is_counted(self) -> bool:
        """False if it is a warning alone."""
        return self.asked.table.severity == "fail"

    def as_json(self) -> dict[str, Any]:
        """As `dumbbell test --json` prints it."""
        measured = self.judged.verdict.measured
        return {
            "file": self.file,
            "line": self.asked.line,
            "name": self.asked.name,
            "that": self.asked.table.that,
            "vary": dict(self.vary),
            "of": self.judged.label,
            "verdict": self.word,
            "measured": self.judged.measured,
            "wanted": self.judged.wanted,
            "reason": self.judged.verdict.reason,
            "repetitions": measured.n if measured else None,
            "severity": self.asked.table.severity,
            "why": self.asked.table.why,
            "explained": list(self.explained),
            "dir": self.folder,
        }


def place_text(vary: Mapping[str, Any]) -> list[str]:
    """Varied values as people read them: ``buffer 1bdp``."""
    return [f"{key.removeprefix('path.')} {value_text(value)}" for key, value in vary.items()]


def of_file(file: File, cases: Cases, failed: Sequence[str], *, save: str | None = None) -> Iterator[Line]:
    """The lines of a file, from its runs; `failed` are the errors of runs. With `save`, figures are first kept as the
    baseline of that name.
    """
    baselines = Baselines(file)
    kept = [asked for asked in file.asked if save and asked.baseline == save]
    for asked in kept:
        _keep(asked, cases, baselines)
    if kept and save:
        baselines.write(save)
    for asked in file.asked:
        for vary in _places(asked, cases):
            at = At(asked, cases, vary, baselines)
            own, base = ([run for run in cases[case] if is_at(run.vary, vary)] for case in (_case(asked), ()))
            runs = own or base
            folder, wall_s = (str(runs[0].folder), sum(run.manifest.wall_s for run in runs)) if runs else ("", 0.0)
            for judged in _judged(asked, at, failed):
                yield Line(str(file.path), asked, vary, judged, folder, wall_s)


def _case(asked: Asked) -> tuple[str, ...]:
    """The case whose runs the first value of a sentence is of: in which what is judged is to be seen."""
    first = next(asked.sentence.values(), None)
    case = asked.cases.get(first.case) if isinstance(first, Reading) and first.case else None
    return case or ()


def _keep(asked: Asked, cases: Cases, baselines: Baselines) -> None:
    """Keep the left side of a comparison with a baseline at all its places."""
    for vary in _places(asked, cases):
        for part in asked.compared:
            baselines.keep(asked, part.left, vary, At(asked, cases, vary).rows(part.left))


def _judged(asked: Asked, at: At, failed: Sequence[str]) -> list[Judged]:
    if failed:
        verdict = Verdict(UNJUDGED, reason=f"{RUN_FAILED}: {failed[0]}")
        return [Judged("", verdict, "", asked.table.that)]
    try:
        return asked.sentence.judge(at)
    except ValueError as error:
        raise ScenarioError(f"expect[{asked.number}].that", str(error)) from None


def _places(asked: Asked, cases: Cases) -> list[dict[str, Any]]:
    """The combinations that an expectation is about; of one along a key those of the other keys."""
    key = asked.sentence.key if isinstance(asked.sentence, Along) else None
    places: dict[str, dict[str, Any]] = {}
    for run in cases[()]:
        vary = {name: value for name, value in run.vary.items() if name != key}
        is_asked = all(
            str(run.vary[name]) in {str(value) for value in (wanted if isinstance(wanted, list) else [wanted])}
            for name, wanted in asked.table.at.items()
        )
        if is_asked:
            places.setdefault(str(vary), vary)
    return list(places.values())


class Tally(NamedTuple):
    """How many expectations have which word; each counts once, with its worst."""

    holds: int
    fails: int
    unclear: int
    unjudged: int
    warnings: int

    @classmethod
    def of(cls, lines: Sequence[Line]) -> Tally:
        """Count expectations."""
        words = {number: worst(line.word for line in own) for number, own in grouped(lines).items()}
        severe = {key: own[0].is_counted for key, own in grouped(lines).items()}
        counts = dict.fromkeys(("holds", "fails", "unclear", "unjudged"), 0)
        warnings = 0
        for key, word in words.items():
            if severe[key] or word == HOLDS:
                counts[word] += 1
            else:
                warnings += 1
        return cls(**counts, warnings=warnings)

    def is_red(self, fail_on: Sequence[str]) -> bool:
        """True if the command has to fail: one fails or could not be judged, or what was asked for."""
        return bool(
            self.fails
            or self.unjudged
            or ("unclear" in fail_on and self.unclear)
            or ("warn" in fail_on and self.warnings)
        )

    def __str__(self) -> str:
        parts = [
            (self.holds, "hold" if self.holds != 1 else "holds"),
            (self.fails, "fail" if self.fails != 1 else FAILS),
        ]
        parts += [(self.unclear, "unclear"), (self.unjudged, "unjudged"), (self.warnings, "warned of")]
        return ", ".join(f"{count} {word}" for count, word in parts if count) or "none"


def grouped(lines: Sequence[Line]) -> dict[tuple[str, int], list[Line]]:
    """The lines of each expectation."""
    groups: dict[tuple[str, int], list[Line]] = {}
    for line in lines:
        groups.setdefault((line.file, line.asked.number), []).append(line)
    return groups
