"""Jobs: which wait, which run, and what each has told so far, for as many readers as there are."""

from __future__ import annotations

import glob
import json
import subprocess
import sys
import threading
import time
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

from dumbbell.errors import OutError

from . import prune
from .check import SIM

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .check import Desk
    from .checker import Checkers
    from .limits import Keep

#: Jobs whose news are kept after their end, for readers that come late; results are in the folder anyway.
KEPT = 20
#: Seconds that a worker has for clearing up when it is told to end.
_PATIENCE_S = 3.0


class Job:
    """One job. `news` only grows, and how far its runs are is one number for all; readers wait on `changed`."""

    def __init__(self, name: str, posted: dict[str, Any], outline: dict[str, Any], out: Path) -> None:
        self.name, self.posted, self.out, self.on = name, posted, out, outline["on"]
        self.mark = prune.begin(out)
        self.news: list[dict[str, Any]] = [{"begin": {"job": name, **outline["begin"]}}]
        self.changed = threading.Condition()
        self.is_ended = self.is_cancelled = False
        self.process: subprocess.Popen[str] | None = None
        self._at: dict[int, int] = {}
        self.whole: dict[str, list[Any]] = outline["whole"]
        self._total_ns: int = outline["total_ns"]
        self._began: float | None = None
        self._versions = 0

    def tell(self, **news: Any) -> None:
        """Add news, and wake readers."""
        with self.changed:
            if "at" in news:
                self._began = self._began or time.monotonic()
                self._at[news["run"]] = news["at"]
                self._versions += 1
            else:
                self.news.append(news)
            self.is_ended |= "end" in news
            self.changed.notify_all()

    def progress(self) -> dict[str, float | None]:
        """The share that is simulated, and the seconds that are left at this pace."""
        part = sum(self._at.values()) / self._total_ns
        ran = time.monotonic() - (self._began or time.monotonic())
        return {"part": round(part, 4), "left_s": round(ran * (1 - part) / part, 1) if part and ran > 0.5 else None}

    def follow(self, after: int) -> Iterator[tuple[int, dict[str, Any]] | None]:
        """News with their numbers, from number `after` on, until the job ends; None when there was none for a while.
        A reader who is slow gets the same news later, and of progress only the last.
        """
        seen = 0
        while True:
            with self.changed:
                if len(self.news) <= after and self._versions == seen:
                    if self.is_ended:
                        return
                    self.changed.wait(5.0)
                part = self.news[after:]
                has_moved = self._versions != seen
                progress = self.progress() if has_moved and not self.is_ended else None
                seen = self._versions
            # Who comes late learns what began before how far it is.
            for item in part:
                after += 1
                yield after, item
            if progress is not None:
                yield after, {"progress": progress}
            if not part and not has_moved:
                yield None

    def cancel(self, why: str = "cancelled") -> None:
        """End it; finished runs stay."""
        with self.changed:
            if self.is_ended or self.is_cancelled:
                return
            self.is_cancelled = True
            process = self.process
        self.tell(stopped=why)
        if process is not None:
            with suppress(OSError):
                process.terminate()
            threading.Thread(target=_bury, args=(process,), daemon=True).start()


def _bury(process: subprocess.Popen[str]) -> None:
    try:
        process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()


class Spare:
    """The process of the next job, which imports what it needs before there is a job."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._has_ended = False
        self.fill()

    def fill(self) -> None:
        """Start one unless there is one: when no job needs the processor."""
        with self._lock:
            if self._process is None and not self._has_ended:
                self._process = _worker()

    def take(self) -> subprocess.Popen[str]:
        """One that waits for its job."""
        with self._lock:
            process, self._process = self._process, None
        return process if process is not None and process.poll() is None else _worker()

    def end(self) -> None:
        """End the one that waits."""
        with self._lock:
            self._has_ended = True
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


def _worker() -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    # Without -P modules would be looked for in the current folder first, where anybody's json.py may be.
    command = [sys.executable, "-P", "-m", "dumbbell.serve.worker"]
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, encoding="utf-8")


class Book:
    """All jobs of a room; `spare`, `shared_room` and `alone` are those of all rooms."""

    def __init__(
        self,
        desk: Desk,
        checkers: Checkers,
        room: threading.Semaphore,
        *,
        keep: Keep,
        jobs_max: int,
        spare: Spare,
        shared_room: threading.Semaphore,
        alone: threading.Lock,
    ) -> None:
        self._desk, self._checkers, self._keep, self._jobs_max = desk, checkers, keep, jobs_max
        self.shown = prune.Shown()
        self._spare = spare
        self._pruning = threading.Lock()
        self._given: dict[str, int] = {}
        prune.sweep_up(desk.results)
        self._prune()
        # Places for the runs of this book, and of all books.
        self._room, self._shared_room = room, shared_room
        # Runs in real time would disturb each other.
        self._alone = alone
        self._lock = threading.Lock()
        self.jobs: dict[str, Job] = {}

    def start(self, posted: dict[str, Any]) -> Job:
        """Check a scenario and run it as soon as there is room; raises ScenarioError, OutError."""
        outline = self._checkers.outline(posted, self._desk)
        with self._lock:
            if sum(not job.is_ended for job in self.jobs.values()) >= self._jobs_max:
                raise OutError(f"{self._jobs_max} jobs wait or run already; cancel one, or wait")
            for name in [name for name, job in self.jobs.items() if job.is_ended][:-KEPT]:
                del self.jobs[name]
            out = self._folder(outline["begin"]["name"])
            job = self.jobs[out.name] = Job(out.name, posted, outline, out)
        threading.Thread(target=self._run, args=(job,), daemon=True).start()
        return job

    def _folder(self, name: str) -> Path:
        """A new folder of that name, with a number above all that were there, so that no two runs had the same."""
        taken = (path.name.removeprefix(f"{name}-") for path in self._desk.results.glob(f"{glob.escape(name)}-*"))
        number = max([self._given.get(name, 0), *(int(suffix) for suffix in taken if suffix.isdecimal())]) + 1
        while True:
            path = self._desk.results / f"{name}-{number}"
            try:
                path.mkdir()
            except FileExistsError:
                number += 1
            except OSError as error:
                raise OutError(f"{path.name}: {error.strerror}") from None
            else:
                self._given[name] = number
                return path

    def _run(self, job: Job) -> None:
        with self._room, self._alone if job.on != SIM else nullcontext(), self._shared_room:
            if not job.is_cancelled:
                try:
                    self._go(job)
                except Exception as error:  # whatever it is: readers wait for the end
                    job.tell(run=0, error=f"{type(error).__name__}: {error}")
        prune.end(job.out, job.mark)
        self._prune()
        job.tell(end=True)
        self._spare.fill()

    def _prune(self) -> None:
        """Make room on the disk. What runs is not marked yet; what a page shows stays."""
        with self._pruning, suppress(OSError):
            prune.prune(self._desk.results, self._keep, self.shown.names())

    def _go(self, job: Job) -> None:
        process = self._spare.take()
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        with job.changed:
            job.process = process
        if job.is_cancelled:
            process.kill()
        limit = threading.Timer(self._desk.limits.time_s, lambda: job.cancel(self._too_long()))
        limit.daemon = True
        limit.start()
        errors: list[str] = []
        reader = threading.Thread(target=lambda: errors.extend(process.stderr or ()), daemon=True)
        reader.start()
        asked = {
            "posted": job.posted, "results": str(self._desk.results), "out": str(job.out),
            "limits": list(self._desk.limits), "workers": 1,
        }  # fmt: skip
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(asked) + "\n")
                process.stdin.close()
            for line in process.stdout:
                job.tell(**json.loads(line))
            status = process.wait()
        finally:
            limit.cancel()
            process.kill()
            process.wait()
        reader.join(1.0)
        if status and not job.is_cancelled:
            job.tell(run=0, error="".join(errors).strip().rpartition("\n")[2] or f"the worker ended with {status}")

    def _too_long(self) -> str:
        return f"stopped: it took longer than {self._desk.limits.time_s:g} s (--max-time of this server)"

    def end(self) -> None:
        """End all of them, and wait a moment until they have cleared up."""
        for job in list(self.jobs.values()):
            job.cancel("the server ends")
        until = time.monotonic() + _PATIENCE_S
        while time.monotonic() < until and not all(job.is_ended for job in self.jobs.values()):
            time.sleep(0.02)
