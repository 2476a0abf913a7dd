"""The process of one job: the ordinary runner, which tells on stdout, a JSON object a line, what the page is to draw.

    {"run": 0, "points": {...}}     rows as points of charts, of the first runs
    {"run": 0, "at": 1500000000}    how far a run is, simulated ns
    {"run": 0, "done": "NAME"}      a run is finished, and whole in its folder
    {"run": 0, "error": "..."}

It is told by a line on stdin what to run. When nobody reads any more, it ends; so it does when it is told to.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import _native, interrupts
from dumbbell.runs.execute import execute
from dumbbell.runs.place import Place

from .check import SIM, Desk
from .limits import Limits
from .live import Live

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dumbbell.runs.job import Job

#: Runs of a job whose points are told; of others, how far they are.
RUNS_DRAWN = 4


class Teller:
    """Writes lines, whichever thread of the runner has news."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __call__(self, **news: Any) -> None:
        """Write one."""
        with self._lock:
            sys.stdout.write(json.dumps(news, separators=(",", ":")) + "\n")
            sys.stdout.flush()


class Watch:
    """Tells how far runs are."""

    def __init__(self, tell: Teller) -> None:
        self._tell = tell

    def expect(self, jobs: Iterable[Job]) -> None:
        """The page knows them."""

    def observe(self, job: Job, sim_ns: int, _: int) -> None:
        """A run has come so far."""
        self._tell(run=job.number, at=sim_ns)

    def clear(self) -> None:
        """Lines stay."""


def watched(job: Job, tell: Teller) -> Job:
    """The job, with somebody who looks at its rows."""
    live = Live(dict(job.planned.plan), smoothed=job.request.on != SIM)

    def watch(text: str) -> None:
        points = live.points(text)
        if points:
            tell(run=job.number, points=points)

    return job._replace(request=job.request._replace(watch=watch))


def run(asked: dict[str, Any], tell: Teller) -> int:
    """Run the scenario that is asked for into a folder that is there and holds the server's mark alone."""
    desk = Desk(Path(asked["results"]), Limits(*asked["limits"]))
    checked = desk.check(asked["posted"])
    jobs = [watched(job, tell) if job.number < RUNS_DRAWN else job for job in checked.jobs]

    for outcome in execute(
        jobs, Place(Path(asked["out"]), resume=True), workers=asked["workers"], progress=Watch(tell)
    ):
        if outcome.error is None:
            tell(run=outcome.job.number, done=outcome.job.folder.name)
        else:
            tell(run=outcome.job.number, error=str(outcome.error))
    return 0


def main() -> int:
    """Take the line, and run; there is none when the server has ended before it had a job."""
    _ = _native  # what takes time to import is there before the line is
    line = sys.stdin.readline()
    if not line:
        return 0
    asked = json.loads(line)
    with interrupts.Raised():
        try:
            return run(asked, Teller())
        except KeyboardInterrupt:
            return 130
        except BrokenPipeError:
            return 1


if __name__ == "__main__":
    import os

    status = main()
    # Threads of the engine may still end; the interpreter's own end would wait for stdout, which nobody reads.
    os._exit(status)
