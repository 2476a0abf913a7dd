"""A run made again with something else in its scenario: for tables that it lacks, and to prove a cause."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell import backends
from dumbbell.backends.request import Request
from dumbbell.errors import DumbbellError, ResultError, ScenarioError
from dumbbell.plan import make
from dumbbell.results.load import Result
from dumbbell.scenario import gallery
from dumbbell.scenario.file import from_text
from dumbbell.scenario.own import Own
from dumbbell.temporary import Temporary

if TYPE_CHECKING:
    from dumbbell.scenario.file import Scenario

#: What the tables need that rules read.
TABLES = ("record.events=true", "record.limits=true", "record.samples=true")


def again(result: Result, *changes: str) -> Result:
    """The same run, with these overrides; it lives as long as the result. Raises ResultError for a run that this
    machine cannot repeat: of real hosts, or with files that are not there any more.
    """
    manifest = result.manifest
    if manifest.backend != "sim":
        raise ResultError(
            f"{result.folder}: only runs of the simulator are made again, and this is one of {manifest.backend}"
        )
    overrides = (*manifest.set, *changes)
    try:
        own = Own.load([str(one["file"]) for one in manifest.controllers])
        scenario = _scenario(manifest.scenario, overrides, manifest.name)
        planned = next(run for run in make.each(scenario, own.known()) if run.position == manifest.position)
        # `dumbbell compare` lets the simulator imitate iperf3, which no override says.
        planned.plan["host"] = {**planned.plan["host"], "traffic": manifest.plan.host.traffic}
    except StopIteration:
        raise ResultError(f"{result.folder}: with {', '.join(changes)} its scenario has other runs") from None
    except DumbbellError as error:
        raise ResultError(f"{result.folder}: it cannot be made again: {error}") from None
    temporary = Temporary("again")
    folder = Path(temporary.path) / "run"
    backends.run(Request(planned, "sim", manifest.scenario, overrides, own), folder)
    repeated = Result(folder)
    vars(repeated)["_temporary"] = temporary
    return repeated


def _scenario(text: str, overrides: tuple[str, ...], name: str) -> Scenario:
    """The scenario; files that it names are where the command runs, or come with the gallery."""
    try:
        return from_text(text, overrides=overrides, name=name)
    except ScenarioError as error:
        with suppress(ScenarioError):
            return from_text(text, overrides=overrides, name=name, folder=gallery.FOLDER)
        raise error from None
