"""Progress of a sweep: runs done, simulated time, packets per second, time left; redrawn in place on a terminal or in a
notebook, else a line now and then.
"""

from __future__ import annotations

import os
import sys
import time
from _thread import allocate_lock
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from dumbbell import backends

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .job import Job

#: Seconds between two drawings in place, faster only costs time; and between two lines where nothing can be drawn over.
EVERY_S, LINE_EVERY_S = 0.1, 30.0

#: What the start of a run costs, in packets of a simulator that delivers 3 million a second: 10 ms.
START_PACKETS = 30_000


class Screen(Protocol):
    """Place that shows progress."""

    every_s: float

    @property
    def width(self) -> int:
        """Most characters of a line."""

    def draw(self, text: str) -> None:
        """Show this instead of what is there."""

    def clear(self) -> None:
        """Take away what is there."""


class Terminal:
    """One line, drawn in place."""

    every_s = EVERY_S

    def __init__(self, stream: TextIO) -> None:
        self._stream = getattr(stream, "as_it_is", stream)  # of a command, it escapes what moves the cursor
        self._drawn = 0

    @property
    def width(self) -> int:
        """One less than the terminal's: a line that is as wide as the terminal moves the next one down."""
        try:
            return max(os.get_terminal_size(self._stream.fileno()).columns, 2) - 1
        except (OSError, ValueError):
            return 79

    def draw(self, text: str) -> None:
        """Over the last one."""
        self._stream.write("\r" + text.ljust(min(self._drawn, self.width)))
        self._stream.flush()
        self._drawn = len(text)

    def clear(self) -> None:
        """Wipe it."""
        if self._drawn:
            self._stream.write("\r" + " " * min(self._drawn, self.width) + "\r")
            self._stream.flush()
            self._drawn = 0


class Log:
    """A line every half a minute, for what is no terminal."""

    every_s = LINE_EVERY_S
    width = 200

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def draw(self, text: str) -> None:
        """One more line."""
        print(text, file=self._stream, flush=True)

    def clear(self) -> None:
        """Do nothing: what is written stays."""


class Notebook:
    """A line of plain text below a cell, drawn in place."""

    every_s = 0.5
    width = 120

    def __init__(self) -> None:
        self._handle: Any = None

    def draw(self, text: str) -> None:
        """Over the last one."""
        from IPython.display import display

        content = {"text/plain": text}
        if self._handle is None:
            self._handle = display(content, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(content, raw=True)

    def clear(self) -> None:
        """Leave an empty line: a notebook has no way to take an output of its own away."""
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)
            self._handle = None


def screen(stream: TextIO | None = None) -> Screen:
    """The one that this process has: a terminal, else lines."""
    stream = sys.stderr if stream is None else stream
    return Terminal(stream) if stream.isatty() else Log(stream)


def is_notebook() -> bool:
    """True if this runs in a kernel of Jupyter; IPython is not imported to find out."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def effort(job: Job) -> int:
    """Relative time that a run takes, in any unit: by its duration in real time, elsewhere by its packets."""
    from dumbbell.plan import moments  # these need much that a run does not, and start-up counts
    from dumbbell.plan.estimate import packets

    planned = job.planned.plan
    if backends.kind(job.request.on).is_real_time:
        return planned["duration_ns"]
    return packets(planned) * (2 if moments.of(planned) else 1) + START_PACKETS


def _span(seconds: float) -> str:
    """Text of the time left, as precisely as it is known."""
    if seconds < 600:
        return f"{seconds:.0f} s left"
    return f"{seconds / 60:.0f} min left" if seconds < 7200 else f"{seconds / 3600:.1f} h left"


class Progress:
    """Drawn from whichever thread has news."""

    def __init__(self, on: Screen, *, has_kept: bool = False) -> None:
        """`has_kept`: runs whose first news is their end were there already, and say nothing of the time left."""
        self._screen, self._has_kept = on, has_kept
        self._began = self._drawn = time.monotonic()
        self._total_ns: dict[int, int] = {}
        self._unweighed: list[Job] = []
        self._effort: dict[int, int] = {}
        self._now: dict[int, tuple[int, int]] = {}
        self._kept: set[int] = set()
        self._lock = allocate_lock()

    def observe(self, job: Job, sim_ns: int, packets: int) -> None:
        """News of a running job, or of one that has just ended."""
        with self._lock:
            if self._has_kept and job.number not in self._now and sim_ns >= self._total_ns[job.number]:
                self._kept.add(job.number)
                packets = 0
            self._now[job.number] = (sim_ns, packets)
            now = time.monotonic()
            if now - self._drawn >= self._screen.every_s:
                self._drawn = now
                self._screen.draw(self.text(now - self._began, self._screen.width))

    def expect(self, jobs: Iterable[Job]) -> None:
        """More runs are to come."""
        more = list(jobs)
        with self._lock:
            self._total_ns |= {job.number: job.planned.plan["duration_ns"] for job in more}
            self._unweighed += more

    def clear(self) -> None:
        """Wipe the line."""
        with self._lock:
            self._screen.clear()

    def text(self, wall_s: float, width: int = 200) -> str:
        """The line after `wall_s` seconds; the least important parts are left out first where it is narrow."""
        sim_ns = sum(ns for ns, _ in self._now.values())
        done = sum(ns >= self._total_ns[number] for number, (ns, _) in self._now.items())
        total_ns = sum(self._total_ns.values())
        packets = sum(count for _, count in self._now.values())
        runs = f"{done}/{len(self._total_ns)} runs" if len(self._total_ns) > 1 else ""
        simulated = f"simulated {sim_ns / 1e9:.1f} of {total_ns / 1e9:g} s"
        # Not every back end counts packets on the way.
        rate = f"{packets / wall_s / 1e6:.2f} M packets/s" if packets and wall_s > 0 else ""
        left = self._left(wall_s) if wall_s > 0 else "..."
        forms = (
            (runs, simulated, rate, left),
            (runs, simulated, left),
            (runs, left) if runs else (f"{100 * sim_ns // max(total_ns, 1)} %", left),
        )
        lines = ["  ".join(part for part in form if part) for form in forms]
        return next((line for line in lines if len(line) <= width), lines[-1][:width])

    def _left(self, wall_s: float) -> str:
        """Time left, if it goes on as it did."""
        # Runs are weighed when something is drawn for the first time: most commands end before that.
        self._effort |= {job.number: effort(job) for job in self._unweighed}
        self._unweighed.clear()
        spent = sum(self._effort[number] * ns / self._total_ns[number] for number, (ns, _) in self._now.items())
        ran = spent - sum(self._effort[number] for number in self._kept)
        return _span(wall_s * (sum(self._effort.values()) - spent) / ran) if ran > 0 else "..."


def shown(*, is_wanted: bool | None, has_kept: bool = False) -> Progress | None:
    """Display of how far runs are; None where it is not wanted, which is so outside of notebooks unless said."""
    notebook = is_notebook()
    if is_wanted is False or (is_wanted is None and not notebook):
        return None
    return Progress(Notebook() if notebook else screen(), has_kept=has_kept)
