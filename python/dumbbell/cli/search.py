"""`dumbbell search`: the worst case of an expectation inside stated bounds."""

from __future__ import annotations

import argparse
import json
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import backends, interrupts, units
from dumbbell.errors import DumbbellError
from dumbbell.expect import tested
from dumbbell.expect.asked import options_of
from dumbbell.runs.execute import Execution
from dumbbell.runs.jobs import hash_text
from dumbbell.runs.progress import screen
from dumbbell.runs.store import Store
from dumbbell.scenario.own import Own
from dumbbell.searching import finding
from dumbbell.searching.search import search

from .output import note
from .status import FAILED, INTERRUPTED, OK
from .writers import write_object

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dumbbell.searching.archive import Archive
    from dumbbell.searching.finding import Finding
    from dumbbell.searching.search import Found


def main(arguments: argparse.Namespace) -> int:
    """Search; see `dumbbell search --help`."""
    with interrupts.Raised():
        backends.kind(arguments.on)
        own = Own.load(arguments.cca, on=[arguments.on])
        out = Path(arguments.out or Path("results") / _folder(vars(arguments)))
        shown = _Shown(arguments.budget, is_quiet=arguments.quiet or arguments.json)
        try:
            found = search(
                arguments.file, arguments.worst, within=arguments.within, out=out, budget=arguments.budget,
                seed=arguments.seed, method=arguments.method, batch=arguments.batch, findings=arguments.findings,
                limit_s=units.option_s("--for", arguments.limit), overrides=tuple(arguments.overrides), own=own,
                on=arguments.on, jobs=arguments.jobs, tell=shown.tell,
            )  # fmt: skip
        except KeyboardInterrupt as error:
            shown.clear()
            note(f"interrupted; what was tried is in {out}, the same command goes on")
            return error.status if isinstance(error, interrupts.Interrupted) else INTERRUPTED
        shown.clear()
        if not arguments.json:
            _print_head(found)
        words = options_of((), arguments.cca, None, arguments.on)
        for number, one in enumerate(found.findings, start=1):
            path = out / finding.name(number)
            if not arguments.json:
                _print(path, number, one, words)
            replay = _replayed(path, arguments.cca, arguments.replay) if arguments.replay else []
            if arguments.json:
                write_object(_as_json(path, one, replay))
            for said in replay if not arguments.json else ():
                print(f"   {said}")
    return FAILED if arguments.exit_status and found.findings else OK


class _Shown:
    """How far a search is."""

    def __init__(self, budget: int, *, is_quiet: bool) -> None:
        self._screen, self._budget = None if is_quiet else screen(), budget
        self._drawn = time.monotonic()

    def tell(self, archive: Archive) -> None:
        """Show it, if enough time has gone by."""
        now = time.monotonic()
        if self._screen is None or now - self._drawn < self._screen.every_s:
            return
        self._drawn = now
        elites = archive.elites
        worst = f"worst {elites[0].trial.measured}, wanted {elites[0].trial.wanted}" if elites else "none judged yet"
        broken = sum(elite.trial.is_broken for elite in elites)
        kinds = f"; broken in {broken} of {len(elites)} kinds" if elites else ""
        self._screen.draw(f"{archive.tried}/{self._budget} tried; {worst}{kinds}"[: self._screen.width])

    def clear(self) -> None:
        """Take it away."""
        if self._screen:
            self._screen.clear()


def _folder(options: Mapping[str, Any]) -> str:
    """The folder of a question, so that each has its own."""
    asked = [options[name] for name in ("file", "worst", "within", "seed", "method", "batch", "overrides", "cca", "on")]
    return f"search-{Path(options['file'].rpartition(':')[2]).stem}-{hash_text(json.dumps(asked))[:6]}"


def _replayed(path: Path, cca: Sequence[str], on: str) -> list[str]:
    """What another back end says of a finding, a sentence for each of its lines: a word and what it measured, or why it
    cannot run it.
    """
    try:
        files = tested.planned([path], own=Own.load(cca, on=[on]), on=on)
        jobs = tested.jobs(files)
        workers = backends.workers(on, (job.request for job in jobs), None)
        with Execution(jobs, None, store=Store(None), workers=workers) as going:
            lines = [line for _, of_file in tested.lines(files, going) for line in of_file]
    except DumbbellError as error:
        return [f"on {on}: not run: {error}"]
    said = [
        f"{line.word}, {f'{line.where}: ' if line.where else ''}{line.judged.measured or line.judged.verdict.reason}"
        for line in lines
    ]
    return [f"on {on}: {one}" for one in said]


def _print_head(found: Found) -> None:
    archive = found.archive
    rest = "" if found.is_whole else " (the time is over; the same command goes on)"
    lacking = (
        f"; {archive.unjudged} of these could not be judged, the first: {archive.reason}" if archive.unjudged else ""
    )
    print(f"{archive.tried} tried{rest}{lacking}; the scenario as it is: {found.unchanged}")
    if not found.findings:
        print(f"nothing breaks it; nearest: {found.nearest}" if found.nearest else "nothing was judged")


def _print(path: Path, number: int, one: Finding, words: Sequence[str]) -> None:
    print(f"\n{number}. {one.small.trial.measured}, wanted {one.small.trial.wanted}")
    print(f"   {one.changed}")
    print(f"   {one.seeds}; found after {one.elite.number}")
    for sentence in one.why:
        print(f"   {sentence}")
    print(f"   {shlex.join(['dumbbell', 'test', str(path), *words])}")


def _as_json(path: Path, one: Finding, replay: Sequence[str]) -> dict[str, Any]:
    return {
        "file": str(path),
        "measured": one.small.trial.measured,
        "wanted": one.small.trial.wanted,
        "margin": one.small.trial.margin,
        "changed": one.changed,
        "seeds": one.broken,
        "tried": one.elite.number,
        "rules": list(one.rules),
        "why": list(one.why),
        "replay": list(replay),
    }
