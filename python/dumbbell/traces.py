"""Mahimahi traces: recorded delivery opportunities of a link, one line each, in milliseconds; the last line is also the trace's length.

Formats: Netravali et al., "Mahimahi", USENIX ATC 2015 (mm-link). The engine reads the file again and checks every line; here it is only
measured, for buffers in BDP, for the plan's digest, and for the capacity that a result is held against.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from .errors import ResultError, ScenarioError

#: Longest time that a line may hold, ms (what the engine keeps in 32 bits).
MS_MAX = 2**32 - 1


class Trace(NamedTuple):
    """A file as read: its digest and its times in ms."""

    sha256: str
    times_ms: Sequence[int]

    @property
    def period_ms(self) -> int:
        """When the trace begins anew."""
        return self.times_ms[-1]


def read(path: Path, at: str) -> Trace:
    """The trace in a file; raises ScenarioError that names the key `at`."""
    try:
        stat = path.stat()
        return _read(path, stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise ScenarioError(at, f'got "{path}" ({error.strerror}), wanted the file of a Mahimahi trace') from None
    except ValueError as error:
        raise ScenarioError(at, f'got "{path}" ({error}), wanted a Mahimahi trace: a time in ms per line, none before its predecessor') from None


@lru_cache(maxsize=32)
def _read(path: Path, _changed_ns: int, _size: int) -> Trace:
    import hashlib  # rarely needed, and start-up counts
    from array import array

    data = path.read_bytes()
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    for number, line in enumerate(lines, 1):
        if not line.isdigit() or len(line) > 10:
            raise ValueError(f"line {number}: {line[:24].decode(errors='replace')!r}")
    times = [int(line) for line in lines]
    if not times or times[-1] == 0:
        raise ValueError("it has no length")
    if times[-1] > MS_MAX or any(later < earlier for earlier, later in zip(times, times[1:])):
        raise ValueError("times decrease or do not fit 32 bits")
    return Trace(hashlib.sha256(data).hexdigest(), array("Q", times))


def mean_bps(trace: Trace, opportunity_bytes: int) -> int:
    """Mean rate over the trace's length, rounded down."""
    return len(trace.times_ms) * opportunity_bytes * 8 * 1000 // trace.period_ms


def before(trace: Trace, ns: int, *, repeat: bool) -> int:
    """Opportunities before a time."""
    rounds, rest = divmod(max(ns, 0), trace.period_ms * 1_000_000)
    if rounds and rest == 0:  # the last opportunities of a round are at its very end
        rounds, rest = rounds - 1, trace.period_ms * 1_000_000
    if rounds and not repeat:
        return len(trace.times_ms)
    return rounds * len(trace.times_ms) + bisect_left(trace.times_ms, -(-rest // 1_000_000))


def bits(planned: Mapping[str, Any], start_ns: int, end_ns: int) -> int:
    """What the trace of a plan can carry between two times; raises ResultError where its file is gone or another."""
    try:
        trace = read(Path(planned["path"]), "trace")
    except ScenarioError as error:
        raise ResultError(f"the capacity of this run is that of a trace: {error.problem}") from None
    if planned["sha256"] and planned["sha256"] != trace.sha256:
        raise ResultError(f"{planned['path']}: has changed since the run (sha256 {trace.sha256[:12]}..., wanted {planned['sha256'][:12]}...)")
    count = before(trace, end_ns, repeat=planned["repeat"]) - before(trace, start_ns, repeat=planned["repeat"])
    return count * planned["opportunity_bytes"] * 8
