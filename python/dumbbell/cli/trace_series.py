"""What `dumbbell trace` reads: the quantities of one or more files over time, whatever their form."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from dumbbell.errors import ScenarioError, wrong
from dumbbell.scenario import recordings, traces, units

#: Unit of a quantity in the heading of a table, how much of the engine's unit that is, and the unit for people.
UNITS = {
    "rate": ("mbps", 10**6, "Mbit/s"),
    "rtt": ("ms", 10**6, "ms"),
    "delay": ("ms", 10**6, "ms"),
    "loss": ("percent", 10**7, "%"),
}

#: Over which the rate of a Mahimahi trace is taken.
BIN_NS = 100_000_000

#: Pause of a Mahimahi trace that counts as a gap, ms: as long as Linux's shortest retransmission timeout.
PAUSE_MS = 200

_ASSUMED = "taken for a Mahimahi trace, because its numbers never fall; --format leoreplayer takes them for delays"


class Series(NamedTuple):
    """One quantity over time."""

    name: str
    quantity: str
    points: tuple[tuple[int, int], ...]
    """(ns, value in the engine's unit)."""
    length_ns: int
    direction: str = ""
    """Down, up, or nothing where the file does not say."""


class File(NamedTuple):
    """A file as read."""

    path: Path
    form: str
    length_ns: int
    rows: int
    series: tuple[Series, ...]
    gaps: tuple[tuple[int, int], ...]
    """(when, how long), ns."""
    notes: tuple[str, ...]
    """What is in the file and not in its series."""
    times_ms: Sequence[int] = ()
    """The opportunities of a Mahimahi trace, where no bin was asked for."""
    assumed: str = ""
    """What the file was taken for, where its numbers could be something else."""


def read(path: Path, form: str | None, bin_ns: int | None, opportunity_bytes: int) -> File:
    """A file in any form; raises ScenarioError. The rate of a Mahimahi trace is that of each bin, of BIN_NS unless
    asked for.
    """
    found = form or recordings.form_of(path, str(path))
    if found == "mahimahi" and form is None and not _ascends(path):
        found = "leoreplayer"
    if found == "mahimahi":
        trace = _mahimahi(path, bin_ns, opportunity_bytes)
        return trace._replace(assumed=_ASSUMED) if form is None and _may_be_delays(trace) else trace
    made = recordings.read(path, str(path), found)
    series = tuple(Series(one.name, one.quantity, one.points, made.length_ns, one.direction) for one in made.columns)
    return File(path, made.form, made.length_ns, made.rows, series, made.gaps, made.ignored)


def _ascends(path: Path) -> bool:
    """Whether a file of whole numbers is a Mahimahi trace: delays of LeoReplayer fall now and then."""
    try:
        traces.read(path, str(path))
    except ScenarioError:
        try:
            recordings.read(path, str(path), "leoreplayer")
        except ScenarioError:
            return True  # neither: the error of a trace is the one to show
        return False
    return True


def _may_be_delays(file: File) -> bool:
    """Whether the numbers of a Mahimahi trace are also delays that LeoReplayer's file may have."""
    return file.length_ns <= recordings.DELAY_MAX_NS and file.rows <= recordings.ROWS_MAX


def _mahimahi(path: Path, asked_ns: int | None, opportunity_bytes: int) -> File:
    trace, bin_ns = traces.read(path, str(path)), asked_ns or BIN_NS
    length_ns = trace.period_ms * 1_000_000
    if length_ns // bin_ns > recordings.ROWS_MAX:
        raise wrong("--bin", units.span_text(bin_ns), f"at most {recordings.ROWS_MAX} bins in the trace")
    counts = [traces.before(trace, at, repeat=False) for at in range(0, length_ns, bin_ns)]
    counts.append(len(trace.times_ms))
    points = []
    for i, (begin, end) in enumerate(pairwise(counts)):
        span_ns = min(bin_ns, length_ns - i * bin_ns)
        points.append((i * bin_ns, (end - begin) * opportunity_bytes * 8 * 10**9 // span_ns))
    times = trace.times_ms
    gaps = tuple((a * 1_000_000, (b - a) * 1_000_000) for a, b in pairwise((0, *times)) if b - a >= PAUSE_MS)
    series = Series(f"rate_mbps over {units.span_text(bin_ns)}", "rate", tuple(points), length_ns)
    note = f"an opportunity counts {opportunity_bytes} bytes (--opportunity)"
    kept = times if asked_ns is None else ()
    return File(path, "mahimahi", length_ns, len(times), (series,), gaps, (note,), kept)


def durations(series: Series) -> list[int]:
    """How long each value holds, ns."""
    if not series.length_ns:
        return [1]
    ends = [*(at for at, _ in series.points[1:]), series.length_ns]
    return [max(0, end - at) for (at, _), end in zip(series.points, ends)]


def mean(series: Series) -> float:
    """Over time, in the engine's unit."""
    held = durations(series)
    return sum(value * ns for (_, value), ns in zip(series.points, held)) / sum(held)


def percentile(series: Series, percent: float) -> int:
    """The smallest value at or below which the series is for this much of the time."""
    held = sorted(zip((value for _, value in series.points), durations(series)))
    wanted, passed = sum(ns for _, ns in held) * percent / 100, 0
    for value, ns in held:
        passed += ns
        if passed >= wanted and ns:
            return value
    return held[-1][0]
