"""`dumbbell search`: the worst case of an expectation inside stated bounds."""

from __future__ import annotations

import argparse
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import backends, interrupts, units
from dumbbell.expect import tested
from dumbbell.runs.execute import Execution
from dumbbell.runs.progress import screen
from dumbbell.runs.store import Store
from dumbbell.scenario.own import Own
from dumbbell.searching import finding
from dumbbell.searching.search import search

from .output import note
from .status import FAILED, INTERRUPTED, OK
from .writers import write_object

if TYPE_CHECKING:
    from dumbbell.searching.archive import Archive
    from dumbbell.searching.finding import Finding
    from dumbbell.searching.search import Found


def main(arguments: argparse.Namespace) -> int:
    """Search; see `dumbbell search --help`."""
    with interrupts.Raised():
        backends.kind(arguments.on)
        own = Own.load(arguments.cca, on=[arguments.on])
        out = Path(arguments.out or Path("results") / f"search-{_name(arguments.file)}")
        shown = _Shown(arguments.budget, is_quiet=arguments.quiet or arguments.json)
        try:
            found = search(
                arguments.file, arguments.worst, within=arguments.within, out=out, budget=arguments.budget,
                seed=arguments.seed, method=arguments.method, findings=arguments.findings,
                limit_s=units.option_s("--for", arguments.limit), overrides=tuple(arguments.overrides), own=own,
                on=arguments.on, jobs=arguments.jobs, tell=shown.tell,
            )  # fmt: skip
        except KeyboardInterrupt as error:
            shown.clear()
            note(f"interrupted; what was tried is in {out}, the same command goes on")
            return error.status if isinstance(error, interrupts.Interrupted) else INTERRUPTED
        shown.clear()
        paths = [out / finding.name(number) for number in range(1, len(found.findings) + 1)]
        replay = arguments.replay
        replays: dict[int, str] = {}
        if replay and paths:
            replays = _replays(paths, own if replay == arguments.on else Own.load(arguments.cca, on=[replay]), replay)
        if arguments.json:
            for number, one in enumerate(found.findings, start=1):
                write_object(_as_json(out / finding.name(number), one, replays.get(number)))
        else:
            _print(out, found, replays)
    return FAILED if arguments.exit_status and found.findings else OK


class _Shown:
    """How far a search is."""

    def __init__(self, budget: int, *, is_quiet: bool) -> None:
        self._screen, self._budget = None if is_quiet else screen(), budget
        self._drawn = self._began = time.monotonic()

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


def _name(file: str) -> str:
    return Path(file.rpartition(":")[2]).stem


def _replays(paths: list[Path], own: Own, on: str) -> dict[int, str]:
    """Of each finding what another back end says of it: a word, and what it measured."""
    files = tested.planned(paths, own=own, on=on)
    jobs = tested.jobs(files)
    workers = backends.workers(on, (job.request for job in jobs), None)
    said = {}
    with Execution(jobs, None, store=Store(None), workers=workers) as going:
        for number, (_, lines) in enumerate(tested.lines(files, going), start=1):
            line = lines[0]
            said[number] = f"on {on}: {line.word}, {line.judged.measured or line.judged.verdict.reason}"
    return said


def _print(out: Path, found: Found, replays: dict[int, str]) -> None:
    archive = found.archive
    rest = "" if found.is_whole else " (the time is over; the same command goes on)"
    lacking = f"; {archive.unjudged} of these could not be judged: {archive.reason}" if archive.unjudged else ""
    print(f"{archive.tried} tried{rest}{lacking}; the scenario as it is: {found.unchanged}")
    if not found.findings:
        print(f"nothing breaks it; nearest: {found.nearest}" if found.nearest else "nothing was judged")
        return
    for number, one in enumerate(found.findings, start=1):
        path = out / finding.name(number)
        print(f"\n{number}. {one.small.trial.measured}, wanted {one.small.trial.wanted}")
        print(f"   {one.changed}")
        print(f"   so with {one.broken} of {finding.SEEDS} other seeds; found after {one.elite.number}")
        for sentence in one.why:
            print(f"   {sentence}")
        if number in replays:
            print(f"   {replays[number]}")
        print(f"   {shlex.join(['dumbbell', 'test', str(path)])}")


def _as_json(path: Path, one: Finding, replay: str | None) -> dict[str, Any]:
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
        "replay": replay,
    }
