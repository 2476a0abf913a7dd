"""A line of progress on a terminal: runs done, simulated time, packets per second, time left."""

from __future__ import annotations

import sys
import threading
import time

from dumbbell.sweep import Job

#: Seconds between two drawings; faster only costs time.
EVERY_S = 0.1


class Progress:
    """Drawn on stderr, in place, from whichever thread has news."""

    def __init__(self, jobs: list[Job]) -> None:
        self._began = self._drawn = time.monotonic()
        self._total_ns = {job.number: job.planned.plan["duration_ns"] for job in jobs}
        self._now: dict[int, tuple[int, int]] = {}
        self._lock = threading.Lock()
        self._width = 0

    def observe(self, job: Job, sim_ns: int, packets: int) -> None:
        """News of a running job, or of one that has just ended."""
        with self._lock:
            self._now[job.number] = (sim_ns, packets)
            self._draw()

    def clear(self) -> None:
        """Wipe the line."""
        with self._lock:
            if self._width:
                sys.stderr.write("\r" + " " * self._width + "\r")
                sys.stderr.flush()
                self._width = 0

    def _draw(self) -> None:
        now = time.monotonic()
        if now - self._drawn < EVERY_S:
            return
        self._drawn = now
        text = self.text(now - self._began)
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def text(self, wall_s: float) -> str:
        """The line after `wall_s` seconds."""
        sim_ns = sum(ns for ns, _ in self._now.values())
        done = sum(ns >= self._total_ns[number] for number, (ns, _) in self._now.items())
        total_ns = sum(self._total_ns.values())
        packets = sum(count for _, count in self._now.values())
        left = f"{wall_s * (total_ns - sim_ns) / sim_ns:.0f} s left" if sim_ns and wall_s > 0 else "..."
        rate = packets / wall_s / 1e6 if wall_s > 0 else 0.0
        runs = f"{done}/{len(self._total_ns)} runs  " if len(self._total_ns) > 1 else ""
        return f"{runs}simulated {sim_ns / 1e9:.1f} of {total_ns / 1e9:g} s  {rate:.2f} M packets/s  {left}"
