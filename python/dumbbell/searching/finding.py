"""What a search has found, made small: confirmed with other seeds, explained, and written as a scenario file."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from dumbbell.errors import DumbbellError
from dumbbell.explain.explained import explain
from dumbbell.judge import FAILS

from .minimise import minimise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell.expect.judged import Line
    from dumbbell.results.load import Result

    from .archive import Elite
    from .minimise import Small
    from .trial import Bench

#: Seeds with which a finding is run again.
SEEDS = 5
#: Characters of a comment's line.
_WIDTH = 100


class Finding(NamedTuple):
    """A candidate that breaks the expectation.

    Attributes
    ----------
    small
        Its fewest and roundest changes.
    changed
        The same in words.
    elite
        As it was found.
    broken
        With how many of `SEEDS` other seeds it breaks the expectation as well.
    is_fixed
        Whether the seed changes nothing.
    rules
        The mechanisms at work, by the names of their rules.
    why
        The same in sentences.
    text
        The scenario file.
    """

    small: Small
    changed: str
    elite: Elite
    broken: int
    is_fixed: bool
    rules: tuple[str, ...]
    why: tuple[str, ...]
    text: str

    @property
    def seeds(self) -> str:
        """What other seeds say, in words."""
        return _robust(self.broken, is_fixed=self.is_fixed)

    @property
    def is_robust(self) -> bool:
        """True if it does not rest on one seed."""
        return self.broken >= SEEDS - 1


def found(bench: Bench, elite: Elite, notes: Sequence[str]) -> Finding:
    """Make an elite a finding; `notes` are lines for the head of its file."""
    small = minimise(bench, elite.changes, elite.trial)
    first = bench.base.get("seed", 1)
    seeds = [{**small.more, "seed": first + number} for number in range(1, SEEDS + 1)]
    others = [bench.trials([small.changes], more)[0] for more in seeds]
    broken = sum(other.is_broken for other in others)
    is_fixed = all(other == small.trial for other in others)
    scenario = bench.text(small.changes, small.more)
    with bench.judged(scenario) as (lines, result):
        rules, why = _explained(result, lines)
    shorter = [f"duration {value}" for value in small.more.values()]
    changed = "; ".join([*shorter, *([bench.genome.said(small.changes)] if small.changes or not shorter else [])])
    head = [
        f"{small.trial.measured}, wanted {small.trial.wanted}; {_robust(broken, is_fixed=is_fixed)}.",
        f"Changed: {changed}.",
        *(f"Why: {sentence}" for sentence in why),
        *notes,
    ]
    comment = [f"# {line}" for text in head for line in wrap(text, _WIDTH)]
    text = "\n".join([*comment, "", scenario])
    return Finding(small, changed, elite, broken, is_fixed, rules, why, text)


def _robust(broken: int, *, is_fixed: bool) -> str:
    return "the seed changes nothing" if is_fixed else f"so with {broken} of {SEEDS} other seeds"


def _explained(result: Result | None, lines: Sequence[Line]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The mechanisms of the flow that breaks the expectation, or of all flows where it is about all."""
    if result is None:
        return (), ()
    broken = next((line for line in lines if line.word == FAILS), None)
    groups = list(result.plan.groups)
    asked = broken.asked.table.of if broken else None
    names = [value.of for value in broken.asked.sentence.values() if value.of] if broken else []
    flow = next((name for name in [asked, broken.judged.label if broken else None, *names] if name in groups), None)
    try:
        said = explain(result, flow)
    except DumbbellError as error:
        return (), (f"not explained: {error}",)
    rules = tuple(cause.rule for one in said for cause in one.causes)
    return rules, tuple(f"{one.flow} {cause.sentence}" for one in said for cause in one.causes)


#: Names of such files.
PATTERN = "finding-*.toml"


def name(number: int) -> str:
    """Name of the file of a finding."""
    return f"finding-{number}.toml"


def write(path: Path, finding: Finding) -> None:
    """Write the scenario file."""
    path.write_text(finding.text, encoding="utf-8")
