"""Description of what a scenario would run, and how long that takes: `dumbbell check`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dumbbell import backends, plan
from dumbbell.backends.request import Request
from dumbbell.plan import warn
from dumbbell.plan.estimate import packets, paragraphs
from dumbbell.scenario.own import Own

from . import pool
from .progress import effort

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell.plan.types import Plan
    from dumbbell.scenario.file import Scenario

    from .job import Job
    from .store import Store

#: What a run on real hosts takes in addition to its duration, seconds: namespaces and programs start and end.
REAL_START_S = 2.0


#: What a packet takes in a qlog, bytes: 240 of TCP's recovery, 400 where it is QUIC's.
QLOG_BYTES = 300


class Described(NamedTuple):
    """What a scenario would run: `text` as paragraphs, what there is to warn of, and the same in numbers."""

    text: str
    warnings: list[str]
    runs: int
    packets: int
    """Upper estimate for all runs."""
    seconds: float
    """What they take on the back end."""
    workers: int
    """Runs at once."""


def describe(scenario: Scenario, own: Own | None = None, *, on: str = "sim", jobs: int | None = None) -> Described:
    """The scenario as grid, each path, its flows, and the time that it takes on a back end. Raises ScenarioError for
    what the back end cannot run.
    """
    runs = plan.runs(scenario, own.known() if own else None, once=backends.kind(on).is_exact)
    plans = [run.plan for run in runs]
    total, workers = sum(map(packets, plans)), _workers(len(plans), on, jobs)
    seconds = _seconds(plans, total, on) / workers
    lines = [*paragraphs(scenario, runs), "", _time(total, seconds, workers, on)]
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
    return Described("\n".join(lines), list(warnings), len(runs), total, seconds, workers)


class Cost(NamedTuple):
    """What runs of a store take: how many there are, how many of them are there already, and the time of the others."""

    runs: int
    stored: int
    seconds: float
    """Estimate, on all workers."""
    workers: int
    qlog_bytes: int
    """Estimate for those that are recorded as qlog."""

    def __str__(self) -> str:
        qlogs = f", qlogs of about {max(self.qlog_bytes // 10**6, 1)} MB" if self.qlog_bytes else ""
        there = f" ({self.stored} in the store)" if self.stored else ""
        cores = f"{self.workers} core{'s' * (self.workers != 1)}"
        return f"{self.runs} run{'s' * (self.runs != 1)}{there}, {_wall(self.seconds)} on {cores}{qlogs}"


def cost(jobs: Sequence[Job], store: Store, *, on: str, workers: int | None = None) -> Cost:
    """What these runs take, each of which is made once. Raises ScenarioError or EngineError for one that cannot be."""
    by_key = {store.key(job.request): job for job in jobs}
    todo = [job for key, job in by_key.items() if not store.folder(key).is_dir()]
    used = _workers(max(len(todo), 1), on, workers)
    kind = backends.kind(on)
    if kind.is_real_time:
        seconds = _seconds([job.planned.plan for job in todo], 0, on)
    else:
        seconds = sum(map(effort, todo)) / kind.packets_per_cpu_s
    plans = [job.planned.plan for job in by_key.values()]
    recorded = QLOG_BYTES * sum(packets(planned) for planned in plans if planned["record"].get("qlog"))
    return Cost(len(by_key), len(by_key) - len(todo), seconds / used, used, recorded)


def _workers(runs: int, on: str, jobs: int | None) -> int:
    return min(jobs or (1 if backends.kind(on).is_real_time else pool.default_workers()), runs)


def _seconds(plans: list[Plan], total: int, on: str) -> float:
    """How long these take one after the other, with so many packets in all."""
    kind = backends.kind(on)
    if kind.is_real_time:
        return sum(planned["duration_ns"] / 1e9 + REAL_START_S for planned in plans)
    return total / kind.packets_per_cpu_s


def _time(total: int, seconds: float, workers: int, on: str) -> str:
    if backends.kind(on).is_real_time:
        return f"  {_wall(seconds)} on {on}, in real time, {workers} run{'s' * (workers != 1)} at once"
    return f"  about {total:,} packets, {_wall(seconds)} on {workers} core{'s' * (workers != 1)}"


def _wall(seconds: float) -> str:
    if seconds < 1:
        return "less than a second"
    return f"about {seconds:.0f} s" if seconds < 120 else f"about {seconds / 60:.0f} min"
