"""Candidates of a search, run and judged: how far each is from what is expected of it.

Every trial is written down, so that a search that was interrupted goes on where it was, to the same findings.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import backends
from dumbbell.errors import DumbbellError, ResultError, ScenarioError
from dumbbell.expect import tested
from dumbbell.expect.asked import of_given
from dumbbell.expect.judged import RUN_FAILED
from dumbbell.files import read_text
from dumbbell.judge import UNJUDGED
from dumbbell.judge.values import Reading
from dumbbell.results.catalogue import FIGURES, Measured
from dumbbell.results.load import Result
from dumbbell.runs.execute import Execution
from dumbbell.scenario.file import Given, from_text
from dumbbell.scenario.toml_text import tables_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import TextIOWrapper

    from dumbbell.expect.asked import File
    from dumbbell.expect.judged import Line
    from dumbbell.scenario.own import Own

    from .genes import Tables
    from .genome import Changes, Genome

#: File of the trials, a JSON object on each line.
TRIALS = "trials.jsonl"
#: Figures of times until something is complete.
_COMPLETE = ("fct", "latency")
#: The folder that an error of a run names first, which is gone by then.
FOLDER = re.compile(r"^/\S+: ")
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
    is_failed: bool = False
    """Whether a run failed, which another attempt may not."""
    is_refused: bool = False
    """Whether its runs cannot answer the sentence."""

    @property
    def is_broken(self) -> bool:
        """True if it breaks the expectation."""
        return self.margin is not None and self.margin < 0

    @property
    def is_met(self) -> bool:
        """True if it does what is expected; neither this nor broken is what could not be judged."""
        return self.margin is not None and self.margin >= 0


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

    @contextmanager
    def written(self, path: Path) -> Iterator[None]:
        """Write trials to this file meanwhile; what it holds is known. Raises ResultError for another file."""
        if path.exists():
            _cut(path)
            for number, line in enumerate(read_text(path, _TRIALS_MAX).splitlines(), start=1):
                try:
                    key, *trial = json.loads(line)
                    self._known[key] = Trial(*trial)
                except (ValueError, TypeError):
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
            if self._log and not trial.is_failed:
                self._log.write(json.dumps([key, *trial]) + "\n")
        if self._log:
            self._log.flush()
        return [self._known[key] for key in keys]

    def _key(self, changes: Changes, more: Mapping[str, Any] | None) -> str:
        return hashlib.sha256(json.dumps([changes, more or {}], sort_keys=True).encode()).hexdigest()[:24]

    def _run(self, new: Mapping[str, Changes], more: Mapping[str, Any] | None) -> Iterator[tuple[str, Trial]]:
        files: dict[str, File] = {}
        for key, changes in new.items():
            try:
                files[key] = self.planned(self.text(changes, more))
            except ScenarioError as error:
                yield key, Trial(None, str(error).splitlines()[0])
        numbered = tested.numbered(list(files.values()))
        refused: dict[str, str] = {}
        with self.running(numbered, lambda file, error: refused.update({file.given.text: error.problem})) as ended:
            for key, (file, lines) in zip(files, ended):
                why = refused.get(file.given.text)
                yield key, Trial(None, FOLDER.sub("", why), is_refused=True) if why else _trial(lines)

    def planned(self, text: str) -> File:
        """The runs of a scenario file, and what it expects of them; raises ScenarioError."""
        given = Given(from_text(text, name=self.name, folder=self._folder), text)
        return of_given(given, own=self._own, on=self._on)

    @contextmanager
    def running(
        self, files: Sequence[File], refused: Callable[[File, ScenarioError], None] | None = None
    ) -> Iterator[Iterator[tuple[File, list[Line]]]]:
        """The lines of these files, whose runs exist as long as this lasts; `refused` as of `tested.lines`."""
        jobs = tested.jobs(files)
        workers = backends.workers(self._on, (job.request for job in jobs), self._workers)
        with Execution(jobs, None, workers=workers, may_fork=True) as going:
            yield tested.lines(files, going, refused=refused)

    @contextmanager
    def judged(self, text: str) -> Iterator[tuple[list[Line], Result | None]]:
        """The lines of one scenario file that is complete, and the run that they are of, which exists as long as this
        lasts.
        """
        with self.running(tested.numbered([self.planned(text)])) as ended:
            (_, lines), *_ = list(ended)
            folder = next((line.folder for line in lines if line.folder), "")
            yield lines, Result(folder) if folder else None


def _trial(lines: Sequence[Line]) -> Trial:
    """The worst of the lines of a candidate."""
    endless = next((line for line in lines if _never_ends(line)), None)
    if endless:
        return Trial(-math.inf, "never completed", endless.judged.wanted, _behaviour(endless))
    judged = [line for line in lines if not math.isnan(line.judged.verdict.margin)]
    if not judged:
        reasons = [line.judged.verdict.reason for line in lines]
        reason = next(filter(None, reasons), "nothing was judged")
        return Trial(None, reason, is_failed=reason.startswith(RUN_FAILED))
    line = min(judged, key=lambda line: line.judged.verdict.margin)
    label = f"{line.where}: " if line.where else ""
    return Trial(line.judged.verdict.margin, f"{label}{line.judged.measured}", line.judged.wanted, _behaviour(line))


def _never_ends(line: Line) -> bool:
    """True if the time until something is complete is asked for, and something is not by the end of the run: no bound
    is broken more.
    """
    asks = any(
        isinstance(value, Reading) and value.figure.startswith(_COMPLETE) for value in line.asked.sentence.values()
    )
    if not asks or not line.folder or line.word != UNJUDGED:
        return False
    run = Measured(Result(line.folder), None)
    return bool(FIGURES["unfinished"].read(run, range(len(run.result.plan.flows))) or 0)


def _cut(path: Path) -> None:
    """Take away a last line that a search which was killed has not written whole."""
    with path.open("rb+") as file:
        data = file.read()
        file.truncate(data.rfind(b"\n") + 1)


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
