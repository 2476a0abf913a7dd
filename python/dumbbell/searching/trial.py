"""Candidates of a search, run and judged: how far each is from what is expected of it.

Every trial is written down, so that a search that was interrupted goes on where it was, to the same findings.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import backends
from dumbbell.errors import DumbbellError, ResultError, ScenarioError
from dumbbell.expect import tested
from dumbbell.expect.asked import of_given
from dumbbell.files import read_text
from dumbbell.results.load import Result
from dumbbell.runs.execute import Execution
from dumbbell.scenario.file import Given, from_text
from dumbbell.scenario.toml_text import tables_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import TextIOWrapper

    from dumbbell.expect.asked import File
    from dumbbell.expect.judged import Line
    from dumbbell.runs.job import Outcome
    from dumbbell.scenario.own import Own

    from .genes import Tables
    from .genome import Changes, Genome

#: File of the trials, a JSON object on each line.
TRIALS = "trials.jsonl"
#: Bytes that such a file may have.
_TRIALS_MAX = 1 << 30
#: Parts of 0 to 1 by which candidates that behave differently are told apart.
_PARTS = 4


class Trial(NamedTuple):
    """What came of a candidate.

    Attributes
    ----------
    margin
        How far it is inside of what is expected, in the unit of the figure; below zero where it breaks it; None where
        it could not be run or judged.
    measured, wanted
        Both as people read them; of a candidate without margin why there is none.
    behaviour
        How the bottleneck was used: candidates that differ here differ in kind.
    """

    margin: float | None
    measured: str
    wanted: str = ""
    behaviour: str = ""

    @property
    def is_broken(self) -> bool:
        """True if it breaks the expectation."""
        return self.margin is not None and self.margin < 0


class Bench:
    """Runs candidates of one search, many at once, each only once.

    Parameters
    ----------
    base, folder, name
        The tables of the scenario, with the one [[expect]] table that counts; where files that it names are; its name.
    genome
        What may change.
    own, on, workers
        Controllers of one's own, the back end, and how many runs go at once.
    """

    def __init__(
        self,
        base: Tables,
        genome: Genome,
        *,
        folder: Path,
        name: str,
        own: Own | None = None,
        on: str = "sim",
        workers: int | None = None,
    ) -> None:
        self.base, self.genome, self.name = base, genome, name
        self._folder, self._own, self._on, self._workers = folder, own, on, workers
        self._known: dict[str, Trial] = {}
        self._log: TextIOWrapper | None = None
        self.made = 0
        """Candidates that were run, and not found in the file."""

    @contextmanager
    def written(self, path: Path) -> Iterator[None]:
        """Write trials to this file meanwhile; what it holds is known. Raises ResultError for another file."""
        if path.exists():
            for number, line in enumerate(read_text(path, _TRIALS_MAX).splitlines(), start=1):
                try:
                    key, *trial = json.loads(line)
                    self._known[key] = Trial(*trial)
                except (ValueError, TypeError):
                    if line.endswith("]"):  # the last line of a search that was killed may be cut
                        raise ResultError(f"{path}:{number}: not a trial of a search") from None
        with path.open("a", encoding="utf-8") as self._log:
            yield

    def text(self, changes: Changes, more: Mapping[str, Any] | None = None) -> str:
        """The scenario file of a candidate, with `more` keys at its top; raises ScenarioError."""
        return tables_text({**self.genome.tables(self.base, changes), **(more or {})})

    def trials(self, candidates: Sequence[Changes], more: Mapping[str, Any] | None = None) -> list[Trial]:
        """What comes of these; `more` are keys at the top of the file, such as another duration."""
        keys = [self._key(changes, more) for changes in candidates]
        new = {key: changes for key, changes in zip(keys, candidates) if key not in self._known}
        for key, trial in self._run(new, more):
            self._known[key] = trial
            if self._log:
                self._log.write(json.dumps([key, *trial]) + "\n")
        self.made += len(new)
        if self._log:
            self._log.flush()
        return [self._known[key] for key in keys]

    def _key(self, changes: Changes, more: Mapping[str, Any] | None) -> str:
        return hashlib.sha256(json.dumps([changes, more or {}], sort_keys=True).encode()).hexdigest()[:24]

    def _run(self, new: Mapping[str, Changes], more: Mapping[str, Any] | None) -> Iterator[tuple[str, Trial]]:
        files: dict[str, File] = {}
        for key, changes in new.items():
            try:
                files[key] = self._planned(self.text(changes, more))
            except ScenarioError as error:
                yield key, Trial(None, str(error).splitlines()[0])
        numbered = tested.numbered(list(files.values()))
        with self.running(numbered) as ended:
            for key, (_, lines) in zip(files, ended):
                yield key, _trial(lines)

    def _planned(self, text: str) -> File:
        given = Given(from_text(text, name=self.name, folder=self._folder), text)
        return of_given(given, own=self._own, on=self._on)

    @contextmanager
    def running(
        self, files: Sequence[File], tell: Callable[[Outcome], None] = lambda _: None
    ) -> Iterator[Iterator[tuple[File, list[Line]]]]:
        """The lines of these files, whose runs exist as long as this lasts."""
        jobs = tested.jobs(files)
        workers = backends.workers(self._on, (job.request for job in jobs), self._workers)
        with Execution(jobs, None, workers=workers, may_fork=True) as going:
            yield tested.lines(files, going, tell=tell)

    def lines(self, text: str) -> tuple[list[Line], Result | None]:
        """The lines of one scenario file that is complete, and its first run, which exists as long as the result."""
        import shutil

        from dumbbell.temporary import Temporary

        with self.running(tested.numbered([self._planned(text)])) as ended:
            (_, lines), *_ = list(ended)
            folder = next((line.folder for line in lines if line.folder), "")
            if not folder:
                return lines, None
            temporary = Temporary("finding")
            shutil.copytree(folder, temporary.path / "run")
        result = Result(temporary.path / "run")
        vars(result)["_temporary"] = temporary
        return lines, result


def _trial(lines: Sequence[Line]) -> Trial:
    """The worst of the lines of a candidate."""
    judged = [line for line in lines if line.judged.verdict.margin == line.judged.verdict.margin]  # no nan
    if not judged:
        reason = next(
            (line.judged.verdict.reason for line in lines if line.judged.verdict.reason), "nothing was judged"
        )
        return Trial(None, reason)
    line = min(judged, key=lambda line: line.judged.verdict.margin)
    label = f"{line.where}: " if line.where else ""
    return Trial(line.judged.verdict.margin, f"{label}{line.judged.measured}", line.judged.wanted, _behaviour(line))


def _behaviour(line: Line) -> str:
    """How full the bottleneck was, in quarters, and of its flows the most that one sent again and the least share, in
    decades.
    """
    try:
        summary = Result(line.folder).summary
    except DumbbellError:
        return ""
    used = min(int(summary.link.utilization * _PARTS), _PARTS - 1)
    again = max((flow.retrans_rate or 0.0 for flow in summary.flows), default=0.0)
    least = min((flow.share for flow in summary.flows), default=1.0)
    return f"{used} {_decade(again)} {_decade(least)}"


def _decade(share: float) -> int:
    """0 below 0.1 %, 1 below 1 %, 2 below 10 %, else 3."""
    return sum(share >= line for line in (0.001, 0.01, 0.1))
