"""Description of what a scenario would run, and how long that takes: `dumbbell check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dumbbell import backends, plan
from dumbbell.backends.request import Request
from dumbbell.plan import warn
from dumbbell.plan.estimate import packets, paragraphs
from dumbbell.scenario.own import Own

from . import pool

if TYPE_CHECKING:
    from dumbbell.plan.types import Plan
    from dumbbell.scenario.file import Scenario

#: What a run on real hosts takes in addition to its duration, seconds: namespaces and programs start and end.
REAL_START_S = 2.0


def describe(
    scenario: Scenario, own: Own | None = None, *, on: str = "sim", jobs: int | None = None
) -> tuple[str, list[str]]:
    """The scenario as paragraphs (grid, each path, its flows, and the time that it takes on a back end), and what there
    is to warn of. Raises ScenarioError for what the back end cannot run.
    """
    runs = plan.runs(scenario, own.known() if own else None, once=backends.kind(on).is_exact)
    lines = [*paragraphs(scenario, runs), "", _time([run.plan for run in runs], on, jobs)]
    requests = [Request(run, on, own=own or Own()) for run in runs]
    lacking = [text for request in requests if (text := backends.lacking(request))]
    warnings = dict.fromkeys(
        [
            *(text for run in runs for text in run.warnings),
            *(text for request in requests for text in backends.warnings(request)),
            *warn.of_grid(scenario, runs),
            *(f"not on this machine: {text}" for text in lacking),
        ]
    )
    return "\n".join(lines), list(warnings)


def _time(plans: list[Plan], on: str, jobs: int | None) -> str:
    """Estimate how long these take."""
    if backends.kind(on).is_real_time:
        workers = min(jobs or 1, len(plans))
        seconds = sum(planned["duration_ns"] / 1e9 + REAL_START_S for planned in plans) / workers
        return f"  {_wall(seconds)} on {on}, in real time, {workers} run{'s' * (workers != 1)} at once"
    total = sum(map(packets, plans))
    workers = min(jobs or pool.default_workers(), len(plans))
    return (
        f"  about {total:,} packets, {_wall(total / backends.kind(on).packets_per_cpu_s / workers)} on {workers}"
        f" core{'s' * (workers != 1)}"
    )


def _wall(seconds: float) -> str:
    if seconds < 1:
        return "less than a second"
    return f"about {seconds:.0f} s" if seconds < 120 else f"about {seconds / 60:.0f} min"
