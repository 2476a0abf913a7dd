"""`dumbbell run`: scenarios in, result folders and a line or a table row per run out."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import backends, interrupts
from dumbbell.errors import DiskFullError, ScenarioError, listed
from dumbbell.plan import warn
from dumbbell.results.experiment import head
from dumbbell.runs.execute import Execution
from dumbbell.runs.job import Job, Outcome
from dumbbell.runs.jobs import jobs_of
from dumbbell.runs.place import Place
from dumbbell.runs.progress import Progress, screen
from dumbbell.scenario.file import Given, from_file
from dumbbell.scenario.own import Own

from . import status
from .output import note
from .status import INTERRUPTED, OK

if TYPE_CHECKING:
    from .rows import Asked


class Show(Enum):
    """Output for finished runs."""

    JSON = 1
    TABLE = 2
    NOTHING = 3

    @classmethod
    def of(cls, *, is_json: bool, is_quiet: bool) -> Show:
        """Read --json and --quiet."""
        return cls.JSON if is_json else cls.NOTHING if is_quiet else cls.TABLE


def main(arguments: argparse.Namespace) -> int:
    """Run every scenario; see `dumbbell run --help`."""
    with interrupts.Raised():
        backends.kind(arguments.on)
        show = Show.of(is_json=arguments.json, is_quiet=arguments.quiet)
        wanted = _table(vars(arguments), show)
        overrides, own = tuple(arguments.overrides), Own.load(arguments.cca, on=[arguments.on])
        scenarios = [from_file(file, overrides=overrides) for file in arguments.files]
        planned = jobs_of(scenarios, Path(), overrides=overrides, pcap=arguments.pcap, own=own, on=arguments.on)
        if wanted and wanted.where:
            from dumbbell.runs.study import plans_of_several_links

            from .show import refuse_conditions

            refuse_conditions(wanted, plans_of_several_links(planned))
        if not arguments.quiet:
            warn_of(scenarios, planned, own)
        workers = backends.workers(arguments.on, (job.request for job in planned), arguments.jobs)
        name = scenarios[0].scenario.name
        place = placed(arguments.out, name, resume=arguments.resume, force=arguments.force)
        return go(planned, place, workers=workers, show=show, quiet=arguments.quiet, wanted=wanted)


def _table(options: Mapping[str, Any], show: Show) -> Asked | None:
    """Content of the table at the end; None for the usual. Raises ScenarioError for what no table has."""
    given = [name for name in ("runs", "by", "flows", "columns", "where", "wide") if options.get(name)]
    if not given:
        return None
    if show is not Show.TABLE:
        raise ScenarioError(
            f"--{given[0]}", f"is of the table, which --{'json' if show is Show.JSON else 'quiet'} leaves out"
        )
    from .rows import Asked
    from .show import checked

    return checked(Asked.of(options))


def warn_of(scenarios: list[Given], jobs: list[Job], own: Own) -> None:
    """Say once per file what its scenario, or a controller of one's own, gives reason to warn of."""
    for text in own.kernel_refusals():
        note(f"warning: {text}")
    for given in scenarios:
        runs = [job.planned for job in jobs if job.planned.name == given.scenario.name]
        counts = Counter(text for run in runs for text in run.warnings)
        for text, count in counts.items():
            which = "" if count == len(runs) else f" (in {count} of {len(runs)} runs)"
            note(f"warning: {given.source}: {text}{which}")
        for text in warn.of_grid(given.scenario, runs):
            note(f"warning: {given.source}: {text}")


def placed(out: str | None, name: str, *, resume: bool, force: bool) -> Place:
    """Place of the results; raises ScenarioError for options that contradict each other."""
    for option, is_given, what in (("resume", resume, "resume"), ("force", force, "replace")):
        if is_given and not out:
            raise ScenarioError(f"--{option}", f"wanted --out as well: the folder to {what}")
    if resume and force:
        raise ScenarioError("--force", "replaces what --resume keeps: wanted one of them")
    return Place(Path(out) if out else None, name, resume=resume, force=force)


def go(
    planned: list[Job],
    place: Place,
    *,
    workers: int | None,
    show: Show,
    quiet: bool = False,
    wanted: Asked | None = None,
) -> int:
    """Run these and print their outcomes; returns the exit status."""
    ended, finished, errors = OK, [], Errors()
    done: list[tuple[Path, str]] = []
    progress = None if quiet else Progress(screen())
    going: Execution | None = None
    try:
        keep = _line_kept if show is Show.JSON else _kept
        with Execution(
            planned, place, workers=workers, keep=keep, may_fork=True, progress=progress, note=note
        ) as going:
            for outcome in going.outcomes():
                if outcome.error:
                    ended = max(ended, status.of(outcome.error))
                    hint = (
                        f"; {_finished(going)}" if isinstance(outcome.error, DiskFullError) and len(planned) > 1 else ""
                    )
                    errors.tell(outcome, hint)
                elif outcome.manifest:
                    finished.append(outcome.job.folder)
                    done.append((outcome.job.folder, outcome.manifest["tables"]))
                    if show is Show.JSON:
                        print(outcome.manifest["line"], flush=True)
    except KeyboardInterrupt as error:
        note(f"interrupted; {_finished(going)}" if going else "interrupted")
        return error.status if isinstance(error, interrupts.Interrupted) else INTERRUPTED
    errors.end()
    _told_equal(done)
    _summarise(planned, finished, place, show, wanted, told_failed=errors.count)
    return ended


def _summarise(
    planned: list[Job], finished: list[Path], place: Place, show: Show, wanted: Asked | None, *, told_failed: int
) -> None:
    """Print the table of the finished runs where it is asked for, and how many others failed; `told_failed` are
    those with an error of their own, which runs after a full disk do not have.
    """
    failed = (len(planned) - len(finished), len(planned))  # a full disk ends the runs after it, too
    if finished and show is Show.TABLE:
        from .rows import Asked  # only then: it needs the tables
        from .show import of_runs

        sys.stdout.write(of_runs(finished, place.path, wanted or Asked(), failed=failed, told=told(planned)))
    elif len(planned) > 1 and (
        (show is Show.JSON and failed[0]) or (show is Show.TABLE and told_failed == len(planned))
    ):
        from .show import failed_text

        note(failed_text(*failed))


class Errors:
    """Errors of runs on stderr: each once, and at the end in how many more runs it came."""

    def __init__(self) -> None:
        self._more: dict[str, list[str]] = {}
        self.count = 0
        """Runs with an error."""

    def tell(self, outcome: Outcome, hint: str = "") -> None:
        """Say the error of a run, unless another had the same."""
        self.count += 1
        name = outcome.job.folder.name
        text = re.sub(r"\b[0-9a-f]{64}\b", name, str(outcome.error))  # its key in the store
        same = re.sub(r"\d+\.\d+ s\b", "", text.replace(name, ""))
        if same in self._more:
            self._more[same].append(name)
        else:
            self._more[same] = []
            note(f"{text}{hint}")

    def end(self) -> None:
        """Say which other runs had an error that was told."""
        for names in filter(None, self._more.values()):
            note(f"the same error in {len(names)} more run{'s' * (len(names) > 1)}: {listed(names)}")


def told(jobs: Iterable[Job]) -> set[str]:
    """The warnings that `warn_of` has written before these jobs ran."""
    return {text for job in jobs for text in job.planned.warnings}


def _kept(manifest: dict[str, Any], _: Path) -> dict[str, Any]:
    """Facts of a finished run that tell it from others."""
    return {"tables": warn.tables(manifest)}


def _line_kept(manifest: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The same with its line of JSON."""
    return {"tables": warn.tables(manifest), "line": json.dumps(line(manifest, folder))}


def _told_equal(done: list[tuple[Path, str]]) -> None:
    for text in warn.equal_runs(done):
        note(f"warning: {text}")


def _finished(going: Execution) -> str:
    done = sum((job.folder / "manifest.json").exists() for job in going.jobs)
    return f"{done} of {len(going.jobs)} runs are finished in {going.out}, --resume runs the rest"


def line(manifest: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The JSON object of a run, whose keys scripts outside rely on; its figures cover the measured part, where the
    scenario has one.
    """
    if manifest["plan"].get("measure"):
        from dumbbell.results import figures, lines  # only then: they need the tables
        from dumbbell.results.load import Result

        return lines.line([figures.measured(Result(folder))])
    summary = manifest["summary"]
    return {
        **head(manifest, folder),
        "link": summary["link"],
        **({"links": summary["links"]} if summary.get("links") else {}),
        "jain": summary["jain"],
        "jain_flows": summary["jain_flows"],
        "flows": summary["flows"],
    }
