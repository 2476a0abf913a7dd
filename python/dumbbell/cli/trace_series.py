"""Series of `dumbbell trace`: the quantities of one or more files over time, whatever their form."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

from dumbbell import units
from dumbbell.errors import wrong
from dumbbell.scenario import traces
from dumbbell.scenario.recordings import logs, reader
from dumbbell.scenario.recordings.model import DELAY_MAX_NS, ROWS_MAX, Choice, Note

#: Unit of a quantity in the heading of a table, how much of the engine's unit that is, and the unit for people.
UNITS = {
    "rate": ("mbps", 10**6, "Mbit/s"),
    "rtt": ("ms", 10**6, "ms"),
    "delay": ("ms", 10**6, "ms"),
    "loss": ("percent", 10**7, "%"),
}

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
    ignored: tuple[str, ...]
    """What is in the file and not in its series."""
    times_ms: Sequence[int] = ()
    """The opportunities of a Mahimahi trace, where no bin was asked for."""
    assumed: str = ""
    """What the file was taken for, where its numbers could be something else."""
    why: str = ""
    """What the file was taken for and why, where nobody said its form."""
    said: tuple[Note, ...] = ()
    """What else there is to say of the file."""

    @property
    def has_opportunities(self) -> bool:
        """True if it has delivery opportunities, and rates only over bins."""
        return self.form in (reader.MAHIMAHI, _MM_LINK)


def read(path: Path, choice: Choice, bin_ns: int | None, opportunity_bytes: int | None) -> File:
    """A file in any form; raises ScenarioError. The rate of delivery opportunities is that of each bin, of
    `logs.BIN_NS` unless asked for; each carries the bytes of a full frame, or what mm-link's log says.
    """
    form, why = reader.form_of(path, str(path), choice)
    if form in (reader.MAHIMAHI, _MM_LINK):
        file = _opportunities(path, form, bin_ns, opportunity_bytes)
        if form == reader.MAHIMAHI and choice.form is None and _may_be_delays(file):
            return file._replace(assumed=_ASSUMED)
    else:
        recording = reader.read(path, str(path), choice, lambda option: f"--{option.replace('_', '-')}")
        series = tuple(
            Series(column.name, column.quantity, column.points, recording.length_ns, column.direction)
            for column in recording.columns
        )
        file = File(
            path,
            recording.form,
            recording.length_ns,
            recording.rows,
            series,
            recording.gaps,
            recording.ignored,
            said=recording.notes,
        )
    if not why:
        return file
    return file._replace(why=f"taken for {form}, because {why}; --format says otherwise")


_MM_LINK = "mm-link"


def _may_be_delays(file: File) -> bool:
    """True if the numbers of a Mahimahi trace are also delays that LeoReplayer's file may have."""
    return file.length_ns <= DELAY_MAX_NS and file.rows <= ROWS_MAX


def _opportunities(path: Path, form: str, asked_ns: int | None, asked_bytes: int | None) -> File:
    """A Mahimahi trace, or what a log of mm-link says of one."""
    bin_ns = asked_ns or logs.BIN_NS
    if form == reader.MAHIMAHI:
        log = logs.Opportunities(traces.read(path, str(path)), units.FRAME_BYTES, ())
    else:
        log = reader.opportunities(path, str(path))
    trace, size = log.trace, asked_bytes or log.bytes
    length_ns = trace.period_ms * 1_000_000
    if length_ns // bin_ns > ROWS_MAX:
        raise wrong("--bin", units.span_text(bin_ns), f"at most {ROWS_MAX} bins in the trace")
    times = trace.times_ms
    gaps = tuple((a * 1_000_000, (b - a) * 1_000_000) for a, b in pairwise((0, *times)) if b - a >= PAUSE_MS)
    points = tuple(traces.binned(trace, bin_ns, size))
    series = Series(f"rate_mbps over {units.span_text(bin_ns)}", "rate", points, length_ns)
    note = Note(f"an opportunity counts {size} bytes (--opportunity)", is_warning=False)
    kept = times if asked_ns is None else ()
    return File(path, form, length_ns, len(times), (series,), gaps, log.notes, kept, said=(note,))


def durations(series: Series) -> list[int]:
    """Time for which each value holds, ns."""
    if not series.length_ns:
        return [1]
    ends = [*(at for at, _ in series.points[1:]), series.length_ns]
    return [max(0, end - at) for (at, _), end in zip(series.points, ends)]


def mean(series: Series) -> float:
    """Over time, in the engine's unit."""
    held = durations(series)
    return sum(value * ns for (_, value), ns in zip(series.points, held)) / sum(held)


def percentiles(series: Series, percents: Sequence[float]) -> list[int]:
    """Percentiles over time: for each percentage the smallest value that the series does not exceed for this part of
    the time.
    """
    held = sorted((value, ns) for (_, value), ns in zip(series.points, durations(series)) if ns)
    passed = list(accumulate(ns for _, ns in held))
    places = (bisect_left(passed, passed[-1] * percent / 100) for percent in percents)
    return [held[i][0] for i in places]
