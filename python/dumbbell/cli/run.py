"""`dumbbell run`: scenarios in, result folders and a line or a table row per run out."""

from __future__ import annotations

import argparse
import json
import sys
from enum import Enum
from pathlib import Path
from typing import Any

from dumbbell import backends, sweep
from dumbbell.errors import ResultError, ScenarioError
from dumbbell.own import Own
from dumbbell.scenario import from_file

from . import FAILED, INTERRUPTED, OK


class Show(Enum):
    """What to print of finished runs."""

    JSON = 1
    TABLE = 2
    NOTHING = 3


def main(arguments: argparse.Namespace, *, show: Show | None = None, traffic: str | None = None) -> int:
    """Run every scenario; see `dumbbell run --help`. `show` overrides what `--json` says, `traffic` is what makes flows where a scenario leaves it open."""
    backends.check_name(arguments.on)
    if arguments.resume and not arguments.out:
        raise ScenarioError("--resume", "wanted --out beside it: the folder to resume")
    overrides = tuple(arguments.overrides)
    scenarios = [from_file(file, overrides=overrides) for file in arguments.files]
    own = Own.load(arguments.cca)
    planned = sweep.jobs_of(scenarios, Path(), overrides=overrides, pcap=arguments.pcap, traffic=traffic, own=own, on=arguments.on)
    workers = backends.workers(arguments.on, [(job.planned, job.own) for job in planned], arguments.jobs)
    out = place(arguments.out, scenarios[0].scenario.name, resume=arguments.resume)
    jobs = [job._replace(folder=out / job.folder) for job in planned]
    return report(jobs, out, workers=workers, resume=arguments.resume, show=show or (Show.JSON if arguments.json else Show.TABLE))


def place(out: str | None, name: str, *, resume: bool) -> Path:
    """The folder for results, ready to be written to."""
    if out is None:
        return sweep.default_out(name)
    folder = Path(out)
    try:
        sweep.open_out(folder, resume=resume)
    except ResultError as error:
        raise ScenarioError("--out", str(error)) from None
    return folder


def report(jobs: list[sweep.Job], out: Path, *, workers: int | None, resume: bool, show: Show) -> int:
    """Run these jobs and print their outcomes; returns the exit status."""
    status, manifests = OK, []
    progress = _progress(jobs)
    try:
        for outcome in sweep.execute(jobs, workers=workers or sweep.default_workers(), resume=resume, observe=progress and progress.observe):
            if progress:
                progress.clear()
            if outcome.error:
                status = _worse(status, outcome.error)
                print(f"dumbbell: {outcome.error}", file=sys.stderr)
            elif outcome.manifest:
                manifests.append(outcome.manifest)
                if show is Show.JSON:
                    print(json.dumps(line(outcome.manifest, outcome.job.folder)), flush=True)
    except KeyboardInterrupt:
        done = sum((job.folder / "manifest.json").exists() for job in jobs)
        print(f"dumbbell: interrupted; {done} of {len(jobs)} runs are finished in {out}, --resume runs the rest", file=sys.stderr)
        return INTERRUPTED
    finally:
        if progress:
            progress.clear()
    if manifests and show is Show.TABLE:
        from dumbbell.manifest import of

        from .table import print_runs

        print_runs([of(made) for made in manifests], out)
    return status


def _worse(status: int, error: Exception) -> int:
    from . import BAD_INPUT

    return max(status, BAD_INPUT) if isinstance(error, ScenarioError) else max(status, FAILED)


def _progress(jobs: list[sweep.Job]) -> Any:
    if not sys.stderr.isatty():
        return None
    from .progress import Progress

    return Progress(jobs)


def line(manifest: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The JSON object of a run, whose keys scripts outside rely on."""
    summary = manifest["summary"]
    return {
        "scenario": manifest["name"],
        "vary": manifest["vary"],
        "repetition": manifest["repetition"],
        "seed": manifest["seed"],
        "dir": str(folder),
        "warnings": manifest["warnings"],
        "wall_s": manifest["wall_s"],
        "link": summary["link"],
        **({"links": summary["links"]} if summary.get("links") else {}),
        "jain": summary["jain"],
        "jain_flows": summary["jain_flows"],
        "flows": summary["flows"],
    }
