"""Mahimahi traces: recorded delivery opportunities of a link, one line each, in milliseconds; the last line is also the
trace's length.

Formats: Netravali et al., "Mahimahi", USENIX ATC 2015 (mm-link). The engine reads the file again and checks every line
by the same rules (`crates/net/src/trace/lines.rs`); here it is only measured, for buffers in BDP, for the plan's
digest, and for the capacity that a result is held against.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from dumbbell.errors import ResultError, ScenarioError
from dumbbell.files import DATA_MAX, read_bytes, taken_apart

#: Longest time that a line may hold, ms (what the engine keeps in 32 bits).
MS_MAX = 2**32 - 1

#: A line is shorter, as in the engine's reader.
_LINE_LENGTH_MAX = 40

#: Bytes of a trace that are taken apart at once.
_PART_BYTES = 1 << 20


#: A byte order mark, and what may stand around a time.
_MARK, _BLANKS = b"\xef\xbb\xbf", b" \t\r\x0c"


class Trace(NamedTuple):
    """A file as read: its digest and its times in ms."""

    sha256: str
    times_ms: Sequence[int]

    @property
    def period_ms(self) -> int:
        """Time at which the trace starts again."""
        return self.times_ms[-1]


def read(path: Path, at: str) -> Trace:
    """The trace in a file; raises ScenarioError that names the key `at`, and quotes nothing of the file."""
    return taken_apart(
        path,
        at,
        lambda changed_ns, size: _read(path, changed_ns, size),
        file="the file of a Mahimahi trace",
        content="a Mahimahi trace, a time in ms per line, none before its predecessor",
    )


@lru_cache(maxsize=32)
def _read(path: Path, _changed_ns: int, _size: int) -> Trace:
    return parse(read_bytes(path, DATA_MAX))


def parse(data: bytes) -> Trace:
    """The trace in a file's content; raises ValueError. A byte order mark, CR LF, trailing blanks, empty lines and
    remarks are passed over.
    """
    import hashlib  # rarely needed, and start-up counts
    from array import array

    times = array("I")
    last, begin, number = 0, 0, 0
    while begin < len(data):  # in parts: a list of all lines would take thirty times their size
        end = data.find(b"\n", begin + _PART_BYTES) + 1 or len(data)
        for line in data[begin:end].removesuffix(b"\n").split(b"\n"):
            number += 1
            digits = line if line.isdigit() else _digits(line.removeprefix(_MARK) if number == 1 else line, len(line))
            if not digits:
                continue
            if not digits.isdigit() or len(line) >= _LINE_LENGTH_MAX:
                raise ValueError(f"line {number} is no time in ms")
            ms = int(digits)
            if ms < last or ms > MS_MAX:
                cut = ", and the file has no end of a line there: is it cut?" if _is_last(data, line) else ""
                raise ValueError(
                    f"line {number} is " + (f"before its predecessor{cut}" if ms < last else f"above {MS_MAX}")
                )
            last = ms
            times.append(ms)
        begin = end
    if last == 0:
        raise ValueError("it has no length")
    return Trace(hashlib.sha256(data).hexdigest(), times)


def _digits(line: bytes, length: int) -> bytes:
    """Bytes of a line that should be digits; nothing for an empty one or a remark."""
    kept = line[:_LINE_LENGTH_MAX].strip(_BLANKS)
    if kept.startswith(b"#"):
        return b""
    if not kept:
        return b"" if length < _LINE_LENGTH_MAX else line
    return kept.removeprefix(b"+") or kept


def _is_last(data: bytes, line: bytes) -> bool:
    return data.endswith(line) and not line.endswith(b"\r") and data[-len(line) - 1 : -len(line)] == b"\n"


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


def binned(trace: Trace, bin_ns: int, opportunity_bytes: int) -> list[tuple[int, int]]:
    """The rate of each bin: (its begin, bit/s)."""
    length_ns = trace.period_ms * 1_000_000
    counts = [before(trace, at, repeat=False) for at in range(0, length_ns, bin_ns)]
    counts.append(len(trace.times_ms))
    points = []
    for i, (begin, end) in enumerate(pairwise(counts)):
        span_ns = min(bin_ns, length_ns - i * bin_ns)
        points.append((i * bin_ns, (end - begin) * opportunity_bytes * 8 * 10**9 // span_ns))
    return points


def bits(planned: Mapping[str, Any], start_ns: int, end_ns: int) -> int:
    """Bits that a plan's trace can carry between two times; raises ResultError where its file is gone or changed."""
    try:
        trace = read(Path(planned["path"]), "trace")
    except ScenarioError as error:
        raise ResultError(f"the capacity of this run is that of a trace: {error.problem}") from None
    if planned["sha256"] and planned["sha256"] != trace.sha256:
        raise ResultError(
            f"{planned['path']}: has changed since the run (sha256 {trace.sha256[:12]}..., wanted"
            f" {planned['sha256'][:12]}...)"
        )
    count = before(trace, end_ns, repeat=planned["repeat"]) - before(trace, start_ns, repeat=planned["repeat"])
    return count * int(planned["opportunity_bytes"]) * 8
