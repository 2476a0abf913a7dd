"""Requests to back ends: one run, and what it needs to know of the command that wants it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from dumbbell.scenario.own import Own

if TYPE_CHECKING:
    from dumbbell.plan.planned import Planned

Progress = Callable[[int, int], None]
"""Called with (simulated nanoseconds, delivered packets); an exception from it stops the run."""


Watch = Callable[[str], None]
"""Called with the rows that the tables got, as JSON (`_native.run`), while the run goes on."""


def _silent(_sim_ns: int, _packets: int) -> None:
    """Report to nobody."""


class Request(NamedTuple):
    """One run.

    Attributes
    ----------
    planned
        The plan, and where it stands in its scenario.
    on
        The back end as ``--on`` names it; ``ssh://...`` names the hosts as well.
    scenario_text, overrides
        What the plan was made from, for the manifest.
    own
        Controllers of the user's own.
    progress
        What the run reports to; it is also what lets Ctrl-C through.
    watch
        What gets the rows of a run in the simulator, on linux or on bpf as they are made.
    """

    planned: Planned
    on: str = "sim"
    scenario_text: str = ""
    overrides: tuple[str, ...] = ()
    own: Own = Own()
    progress: Progress = _silent
    watch: Watch | None = None

    @property
    def backend(self) -> str:
        """Name of the back end, without its hosts."""
        return self.on.partition(":")[0]
