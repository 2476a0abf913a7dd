"""One run to be made, how it ended, and who hears of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.backends.request import Request
from dumbbell.errors import DumbbellError

if TYPE_CHECKING:
    from dumbbell.plan.planned import Planned

Observe = Callable[["Job", int, int], None]
"""Called with (job, simulated nanoseconds, delivered packets) while a run goes on and when it has ended,
from its worker's thread."""


class Job(NamedTuple):
    """One run and the folder that it writes."""

    number: int
    folder: Path
    request: Request

    @property
    def planned(self) -> Planned:
        """Its plan."""
        return self.request.planned


class Outcome(NamedTuple):
    """End of a run: a manifest (or what is kept of it) or an error.

    Attributes
    ----------
    was_there
        Whether it was found finished by --resume.
    packets
        How many it delivered.
    """

    job: Job
    manifest: dict[str, Any] | None
    error: DumbbellError | None
    was_there: bool = False
    packets: int = 0


def told_end(outcome: Outcome, observe: Observe | None) -> None:
    """Let it be known that a run has ended well."""
    job = outcome.job
    if observe and outcome.manifest:
        observe(job, job.planned.plan["duration_ns"], outcome.packets)
