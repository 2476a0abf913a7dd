"""Several runs at once: handed out in their order and reported in it, whichever ends first.

Workers are threads: the engine releases the GIL, and threads share the interpreter's start-up cost. For many runs they
are processes (`workers.py`) where this one may be forked. What a run writes does not depend on the worker.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import backends, interrupts
from dumbbell.backends.request import Request
from dumbbell.errors import DiskFullError, DumbbellError, EngineError

from .job import Job, Observe, Outcome, told_end

if TYPE_CHECKING:
    import threading

    from dumbbell.backends.request import Progress

    from .watchdog import Watchdog
    from .workers import Workers

Make = Callable[[Request, Path], dict[str, Any]]
"""Makes a run in a folder that does not exist yet, and returns its manifest."""


Keep = Callable[[dict[str, Any], Path], dict[str, Any]]
"""What of a manifest is kept when a run has ended, given the manifest and the folder. It is called where the run is
made: for many runs that is another process, which sends no more than this."""


def whole(manifest: dict[str, Any], _: Path) -> dict[str, Any]:
    """Keep a whole manifest."""
    return manifest


class _Stopped(KeyboardInterrupt):
    """Raised in a worker's progress callback, or in the controller in Python that it is in, when the pool ends."""


def default_workers() -> int:
    """As many workers as this process may use cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


#: How long a worker is waited for that has been asked to stop, s; the engine looks every 50 ms.
_PATIENCE_S = 1.0
#: Fewer runs a worker are not worth the 3 ms that a process takes.
_RUNS_OF_PROCESS = 8


class Pool:
    """Workers, as a context that none of them outlives: threads may not outlive the interpreter.

    `may_fork`: nothing else goes on in this process, so that it may be forked.
    """

    def __init__(
        self, workers: int | None = None, make: Make = backends.run, *, keep: Keep = whole, may_fork: bool = False
    ) -> None:
        self._workers, self._make, self._keep = workers or default_workers(), make, keep
        self._may_fork = may_fork
        self._processes: Workers | None = None
        self._watchdog: Watchdog | None = None
        self._stop: list[bool] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Stop the workers and wait for them."""
        if self._processes:
            self._processes.end()
        if self._watchdog:
            self._watchdog.end()
        self._stop.append(True)
        for thread in self._threads:
            thread.join(_PATIENCE_S)
            if thread.is_alive():  # in a hook that does not return: an exception ends a loop, and nothing ends a sleep
                raise_in(thread.ident, _Stopped)
                thread.join(_PATIENCE_S)

    def outcomes(self, jobs: Sequence[Job], observe: Observe | None = None) -> Iterator[Outcome]:
        """Run these and yield the outcomes in order; nothing is started after a full disk."""
        workers = min(self._workers, len(jobs))
        has_python = any(job.request.own.has_python for job in jobs)
        if self._may_fork and workers and ((has_python and _may_fork()) or _are_for_processes(jobs, workers)):
            from .workers import Workers  # only then: start-up counts

            with suppress(OSError), interrupts.Held():  # no more processes: threads will do
                self._processes = Workers(jobs, workers, self._made)
                return self._processes.outcomes(observe)
        if has_python and not self._watchdog:
            from .watchdog import NotReturningError, Watchdog

            self._watchdog = Watchdog(lambda called: raise_in(called.thread, NotReturningError))
            self._watchdog.start()
        if workers <= 1:
            return (self._one(job, observe, None) for job in jobs)
        return self._in_order(jobs, workers, observe)

    def _in_order(self, jobs: Sequence[Job], workers: int, observe: Observe | None) -> Iterator[Outcome]:
        """Outcomes in the order of `jobs`, from that many threads."""
        import threading

        done: dict[int, Outcome] = {}
        changed = threading.Condition()
        waiting = iter(jobs)

        def work() -> None:
            while not self._stop:
                with changed:
                    job = next(waiting, None)
                if job is None:
                    return
                try:
                    outcome = self._one(job, observe, self._stop)
                except _Stopped:
                    return
                except (
                    BaseException
                ) as error:  # from `observe`: hand it to the caller's thread instead of a silent hang
                    outcome = Outcome(job, None, EngineError(f"{job.folder}: {type(error).__name__}: {error}"))
                with changed:
                    done[job.number] = outcome
                    if isinstance(outcome.error, DiskFullError):
                        for _ in waiting:  # the rest would end in the same way
                            pass
                    changed.notify_all()

        with interrupts.Held():
            for _ in range(workers):
                thread = threading.Thread(target=work, daemon=True)
                thread.start()
                self._threads.append(thread)
        for job in jobs:
            with changed:
                changed.wait_for(lambda number=job.number: number in done)  # type: ignore[misc]
                outcome = done.pop(job.number)
            yield outcome

    def _one(self, job: Job, observe: Observe | None, stop: list[bool] | None) -> Outcome:
        def progress(sim_ns: int, packets: int) -> None:
            if stop:
                raise _Stopped
            if observe:
                observe(job, sim_ns, packets)

        outcome = self._made(job, progress)
        told_end(outcome, observe)
        return outcome

    def _made(self, job: Job, progress: Progress) -> Outcome:
        try:
            manifest = self._make(job.request._replace(progress=progress), job.folder)
            packets = manifest["summary"].get("packets_delivered", 0)
            return Outcome(job, self._keep(manifest, job.folder), None, packets=packets)
        except DumbbellError as error:
            return Outcome(job, None, error)
        except Exception as error:  # a bug, which must not take the other runs along
            return Outcome(job, None, EngineError(f"{job.folder}: {type(error).__name__}: {error}"))


def raise_in(thread: int | None, error: type[BaseException]) -> None:
    """Raise an exception in another thread, when it next executes Python."""
    import ctypes

    if thread is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def _may_fork() -> bool:
    """True if nothing in this process is in the way of forking it."""
    threading = sys.modules.get("threading")
    return hasattr(os, "fork") and not (threading and threading.active_count() > 1)


def _are_for_processes(jobs: Sequence[Job], workers: int) -> bool:
    """True if these are many, and plain: a controller of the user's own may have something to do with this process."""
    if len(jobs) < _RUNS_OF_PROCESS * workers or workers <= 1:
        return False
    return _may_fork() and all(_is_of_this_process(job.request.on) and not job.request.own for job in jobs)


def _is_of_this_process(on: str) -> bool:
    """True if a run is the engine's alone, and not handed to other machines."""
    kind = backends.kind(on)
    return kind.is_exact and not kind.has_workers
