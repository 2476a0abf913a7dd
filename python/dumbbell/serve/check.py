"""A scenario as the page sends it: read, planned, held against the limits. Whatever is wrong is said by key."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import backends
from dumbbell.errors import ScenarioError, show
from dumbbell.files import only_below
from dumbbell.runs.check import describe
from dumbbell.runs.jobs import jobs_of
from dumbbell.scenario import gallery
from dumbbell.scenario.file import Given, from_dict, from_text
from dumbbell.scenario.source import placed
from dumbbell.scenario.toml_text import to_toml

from .limits import Limits, Tally

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dumbbell.runs.job import Job


#: The back ends of the page; the second needs root.
SIM, LINUX = "sim", "linux"


class Checked(NamedTuple):
    """A scenario that may be run: its runs, its text, the folder that files which it names are below, its back end."""

    given: Given
    jobs: list[Job]
    base: Path
    packets: int
    on: str


class Desk:
    """Checks what comes in. Files that a scenario names (traces, recordings, tables of sizes) are read only below the
    folder of results and the gallery; a controller is a name of one that is built in, never a file.
    """

    def __init__(self, results: Path, limits: Limits, *, is_simulated: bool = False) -> None:
        self.results, self.limits, self.is_simulated = results, limits, is_simulated

    @property
    def places(self) -> tuple[Path, Path]:
        """The folders that files are read from."""
        return self.results, gallery.FOLDER

    def check(self, posted: Mapping[str, Any]) -> Checked:
        """The scenario of a request: ``toml`` or ``tables``; ``base``, a name of the gallery next to whose file its own
        files are; ``on``, the back end. Raises ScenarioError.
        """
        on = self._on(posted.get("on", SIM))
        base = self._base(posted.get("base"))
        with only_below(self.places):
            given = _given(posted, base)
            try:
                self.limits.check_size(given.scenario)
                tally = Tally(self.limits, is_real_time=on != SIM)
                jobs = jobs_of([given], Path(), on=on, accept=tally.take)
                if on != SIM:
                    backends.workers(on, (job.request for job in jobs), 1)
            except ScenarioError as error:
                raise placed(error, given.text, "") from None
        return Checked(given, jobs, base, tally.packets, on)

    def answer(self, posted: Mapping[str, Any]) -> dict[str, Any]:
        """Answer to the page about a scenario: messages by key, or what it would run, and in either case the tables of
        a text.
        """
        answer: dict[str, Any] = {"errors": [], "warnings": []}
        if isinstance(posted.get("toml"), str):
            answer["tables"] = _tables(posted["toml"])
        try:
            checked = self.check(posted)
            with only_below(self.places):
                described = describe(checked.given.scenario, on=checked.on)
        except ScenarioError as error:
            answer["errors"] = listed(error)
            return answer
        first = checked.jobs[0].planned.plan
        return {
            **answer, "toml": checked.given.text, "warnings": described.warnings, "text": described.text,
            "runs": len(checked.jobs), "packets": checked.packets, "duration_s": first["duration_ns"] / 1e9,
        }  # fmt: skip

    @property
    def backends(self) -> tuple[str, ...]:
        """Back ends that may run scenarios: on this kernel's own TCP only where the server is root, and not of a desk
        that `is_simulated`.
        """
        return (SIM, LINUX) if not self.is_simulated and os.geteuid() == 0 else (SIM,)

    def _on(self, name: object) -> str:
        if not isinstance(name, str) or name not in self.backends:
            needed = "" if name != LINUX else "; linux needs a server that runs as root"
            raise ScenarioError("on", f"got {show(name)}, wanted one of: {', '.join(self.backends)}{needed}")
        return name

    def _base(self, name: object) -> Path:
        if name is None:
            return self.results
        if not isinstance(name, str):
            raise ScenarioError("base", "wanted a name of the gallery")
        return gallery.find(name).parent


def listed(error: ScenarioError) -> list[dict[str, Any]]:
    """An error, or several of one file, as the page shows them."""
    return [{"key": problem.key, "text": problem.problem, "line": problem.line} for problem in error.errors]


def _given(posted: Mapping[str, Any], base: Path) -> Given:
    text, tables = posted.get("toml"), posted.get("tables")
    if isinstance(text, str):
        return Given(from_text(text, folder=base), text)
    if not isinstance(tables, dict):
        raise ScenarioError("", "wanted a scenario: toml as text, or tables")
    scenario = from_dict(tables, folder=base)
    return Given(scenario, to_toml(scenario))


def _tables(text: str) -> dict[str, Any] | None:
    """The tables of a text as they stand, for the page's fields; None where it is no TOML or larger than a scenario."""
    from dumbbell.scenario.source import tables

    try:
        return tables(text, ())
    except (ScenarioError, tomllib.TOMLDecodeError):
        return None
