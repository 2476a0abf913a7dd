"""Runs on several processes at once: forked from this one when it has imported and planned everything, and warm from
then on.

Threads would wait for each other between runs, because Python lets one of them work at a time, and the time between
short runs is Python's. What a run writes does not depend on the process.

    jobs    numbers of jobs, in their order, in one pipe that all workers read
    news    from each worker: how far its run is, and how it ended
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from dumbbell import interrupts
from dumbbell.errors import ControllerError, DiskFullError, EngineError

from .job import Outcome, told_end

if TYPE_CHECKING:
    from .job import Job, Observe

    One = Callable[[Job, Callable[[int, int], None]], Outcome]

#: Bytes of a job's number.
_NUMBER = 4
#: What a piece of news begins with: a job's number, what it tells of it, and the length of the rest.
_HEAD = struct.Struct("<IBI")
#: A job has begun, which is all; it is under way; it has ended: manifest, error and packets, pickled.
_BEGUN, _UNDER_WAY, _ENDED = range(3)
#: How far a job is: simulated time, ns, and packets delivered.
_PROGRESS = struct.Struct("<QQ")
#: Numbers that are written at once: a pipe takes up to 4096 bytes whole or not at all.
_NUMBERS = 4096 // _NUMBER
#: Status of a process that has ended by itself in the middle of a job, and told how that ended.
_LOST = 3
#: News wait at least this long: some ten short runs.
_REST_S = 0.005
#: A run tells how far it is at this distance at least; the engine says it every 50 ms.
_TELL_EVERY_S = 0.04


class _Worker:
    """A process as this one knows it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.number: int | None = None
        """The job that it has under way."""
        self.unread = b""

    def news(self, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Parse news of a worker from `data`, its next bytes: the number of a job, the kind of news, and the rest."""
        data, at = self.unread + data, 0
        while len(data) - at >= _HEAD.size:
            number, kind, length = _HEAD.unpack_from(data, at)
            end = at + _HEAD.size + length
            if len(data) < end:
                break
            yield number, kind, data[at + _HEAD.size : end]
            at = end
        self.unread = data[at:]


class Workers:
    """The processes for these jobs; `one` runs a job in one of them. Raises OSError where the system has no more."""

    def __init__(self, jobs: Sequence[Job], count: int, one: One) -> None:
        self._jobs, self._one = jobs, one
        self._unwritten = 0
        self._workers: dict[int, _Worker] = {}
        self._done: dict[int, Outcome] = {}
        self._lost_jobs = 0
        """Jobs that took their process along, which nobody has taken the place of."""
        with interrupts.Held():
            self._take, self._give = os.pipe()
            os.set_blocking(self._give, False)
            self._hand_out()
            try:
                for _ in range(count):
                    self._start()
            except OSError:
                self.end()
                raise

    def outcomes(self, observe: Observe | None) -> Iterator[Outcome]:
        """Outcomes of the jobs, in their order; nothing is started after a full disk."""
        poll = select.poll()
        for fd in self._workers:
            poll.register(fd, select.POLLIN)
        for number, job in enumerate(self._jobs):
            while number not in self._done and self._workers:
                self._rest()
                for fd, _ in poll.poll():
                    if not self._heard(fd, observe):
                        poll.unregister(fd)
                        for started in self._start_another():
                            poll.register(started, select.POLLIN)
                self._hand_out()
            gone = Outcome(job, None, EngineError(f"{job.folder}: not run, because no process is left to run it"))
            yield self._done.pop(number, gone)

    def end(self) -> None:
        """Kill the processes that are there still, and wait for them; `Place` clears what they were writing."""
        with interrupts.Held():
            for fd, worker in self._workers.items():
                os.close(fd)
                os.kill(worker.pid, signal.SIGKILL)
                os.waitpid(worker.pid, 0)
            self._workers.clear()
            for fd in (self._give, self._take):
                if fd >= 0:
                    os.close(fd)
            self._give = self._take = -1

    def _rest(self) -> None:
        """Leave the processors to the workers for a moment: woken by every news, this process would take the one or the
        other off its processor after each run. Not in the middle of a piece of news, because its worker waits for the
        rest to be taken, and not when the last job has begun, so that the end is not late.
        """
        workers = self._workers.values()
        if any(worker.unread for worker in workers) or len(self._jobs) - 1 in [worker.number for worker in workers]:
            return
        time.sleep(_REST_S)

    def _heard(self, fd: int, observe: Observe | None) -> bool:
        """Take what a worker has told; says whether there will be more."""
        worker = self._workers[fd]
        data = os.read(fd, 1 << 16)
        for number, kind, told in worker.news(data):
            worker.number = None if kind == _ENDED else number
            if kind == _UNDER_WAY and observe:
                observe(self._jobs[number], *_PROGRESS.unpack(told))
            elif kind == _ENDED:
                self._ended(number, told, observe)
        if not data:
            self._lost(fd, worker)
        return bool(data)

    def _ended(self, number: int, told: bytes, observe: Observe | None) -> None:
        """A job has ended, as its worker tells."""
        manifest, error, packets = pickle.loads(told)
        self._done[number] = outcome = Outcome(self._jobs[number], manifest, error, packets=packets)
        told_end(outcome, observe)
        if isinstance(error, DiskFullError):
            self._stop()

    def _lost(self, fd: int, worker: _Worker) -> None:
        """A worker has ended: because there are no more jobs, or by an accident in the middle of one."""
        with interrupts.Held():
            os.close(fd)
            del self._workers[fd]
            _, status = os.waitpid(worker.pid, 0)
        how = os.waitstatus_to_exitcode(status)
        if worker.number is None:
            self._lost_jobs += how == _LOST
        else:
            job = self._jobs[worker.number]
            said = f"was killed by signal {-how}, as the system does when memory runs out" if how < 0 else "ended"
            self._done[worker.number] = Outcome(job, None, EngineError(f"{job.folder}: its process {said}"))
            self._lost_jobs += 1

    def _start_another(self) -> Iterator[int]:
        """Start a process that replaces a lost one, where jobs may be left; return the file of its news."""
        if self._lost_jobs and self._take >= 0 and len(self._done) < len(self._jobs):
            self._lost_jobs -= 1
            with interrupts.Held():
                yield self._start()

    def _hand_out(self) -> None:
        """Write as many numbers as the pipe takes, and close it when all are written."""
        while self._give >= 0:
            numbers = range(self._unwritten, min(self._unwritten + _NUMBERS, len(self._jobs)))
            if not numbers:
                os.close(self._give)
                self._give = -1
                return
            try:
                os.write(self._give, b"".join(number.to_bytes(_NUMBER, "little") for number in numbers))
            except BlockingIOError:
                return
            self._unwritten = numbers.stop

    def _stop(self) -> None:
        """Take back what no worker has taken."""
        self._unwritten = len(self._jobs)
        self._hand_out()
        while os.read(self._take, 1 << 16):
            pass

    def _start(self) -> int:
        """Fork a process; the file that its news come by."""
        for stream in (sys.stdout, sys.stderr):  # what is there unwritten is not the process's to write
            if stream is not None:
                stream.flush()
        news, tell = os.pipe()
        pid = os.fork()
        if pid:
            os.close(tell)
            self._workers[news] = _Worker(pid)
            return news
        try:
            for fd in (news, self._give, *self._workers):
                if fd >= 0:
                    os.close(fd)
            self._work(tell)
        finally:
            os._exit(1)

    def _work(self, tell: int) -> None:
        """The whole life of a worker. The parent ends it, where a terminal would end both."""
        for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(signal_number, signal.SIG_IGN)
        from dumbbell import _native

        _native.end_with_parent()
        teller = _Teller(tell)
        number = 0

        def end_with(error: ControllerError) -> None:
            """A hook does not return: that ends this job, and the process, which nothing else does."""
            teller.say(number, _ENDED, _pickled(Outcome(self._jobs[number], None, error)))
            teller.flush()
            os._exit(_LOST)

        from .watchdog import Watchdog

        if any(job.request.own.has_python for job in self._jobs):
            Watchdog(lambda called: end_with(called.error(self._jobs[number].folder.name))).start()
        while len(word := os.read(self._take, _NUMBER)) == _NUMBER:
            number = int.from_bytes(word, "little")
            teller.say(number, _BEGUN)
            teller.flush()  # with the end of the run before
            outcome = self._one(self._jobs[number], partial(teller.progress, number))
            teller.say(number, _ENDED, _pickled(outcome))
            for stream in (sys.stdout, sys.stderr):  # what a controller in Python has printed
                with suppress(OSError, ValueError, AttributeError):
                    stream.flush()
        teller.flush()
        os._exit(0)


def _pickled(outcome: Outcome) -> bytes:
    """Manifest, error and packets. An exception of a class of the user's own file stays here: what it says is in the
    error's text.
    """
    error = outcome.error
    if isinstance(error, ControllerError):
        error.error = str(error)
    return pickle.dumps((outcome.manifest, error, outcome.packets))


class _Teller:
    """Writer of a worker's news."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._unsent = b""
        self._sent_s = 0.0

    def say(self, number: int, kind: int, told: bytes = b"") -> None:
        """One piece of news of a job, which goes with the next `flush`."""
        self._unsent += _HEAD.pack(number, kind, len(told)) + told

    def flush(self) -> None:
        """Send what is there."""
        left = memoryview(self._unsent)
        while left:
            left = left[os.write(self._fd, left) :]
        self._unsent, self._sent_s = b"", time.monotonic()

    def progress(self, number: int, sim_ns: int, packets: int) -> None:
        """Report how far a run is, unless it is short."""
        if time.monotonic() - self._sent_s >= _TELL_EVERY_S:
            self.say(number, _UNDER_WAY, _PROGRESS.pack(sim_ns, packets))
            self.flush()
