"""Recordings of a scenario as the steps that the engine takes.

A key that takes a recording has a `TraceFile` once its text is read. `settled` opens the files, once the folder of the
scenario and the length of the run are known, and puts their values in place of the names; a rate that is a Mahimahi
trace stays, because the engine reads that itself. All recordings begin with the run, so that those of one measurement
stay in step with each other.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import units
from dumbbell.errors import ScenarioError, listed, shown_name, together, wrong

from . import traces
from .declare import Table, raw_at, replaced
from .impairments import SteppedLoss, TracedLoss
from .recorded import named
from .recordings import headings, reader
from .recordings.model import Column, Recording
from .schedule import TRACE_KEYS, Schedule, TraceFile

if TYPE_CHECKING:
    from .file import Scenario

#: Most steps of one recording within a run.
STEPS_MAX = 1_000_000

#: Columns that a message lists.
_IGNORED_SHOWN = 8

Points = Sequence[tuple[int, int]]


def settled(case: Scenario) -> Scenario:
    """The scenario with what its recordings say in their place; raises ScenarioError."""
    errors: list[ScenarioError] = []
    for place, key, table, value in list(named(case)):
        try:
            settled_value = _settle(value, key, place[-1], case.folder, case.duration)
        except ScenarioError as error:
            errors += error.errors
            continue
        if settled_value is not value:
            case = replaced(
                case, place, (raw_at(table, str(place[-1])) if isinstance(table, Table) else None, settled_value)
            )
    if errors:
        raise together(errors)
    return case


def warnings(case: Scenario) -> Iterator[str]:
    """Warnings of gaps, of traces that end before the run, and of recordings that begin again at different times."""
    again: dict[int, str] = {}
    said: dict[str, None] = {}
    for place, key, _, value in named(case):
        given = value.of if isinstance(value, TracedLoss) else value
        path, is_mahimahi = (case.folder / given.file).absolute(), _is_mahimahi(given, case.folder, place[-1], key)
        if is_mahimahi:
            length_ns = traces.read(path, key).period_ms * 1_000_000
        else:
            quantity = "loss" if isinstance(value, TracedLoss) else _quantity(place[-1])
            recording = _read(given, path, key, quantity)
            length_ns = recording.length_ns
            said.update((f"{given.file}: {text}", None) for text in _said(recording, given, key, quantity))
        if length_ns < case.duration and (given.repeat or (given.repeat is None and is_mahimahi)):
            again.setdefault(length_ns, key)
        if length_ns < case.duration and given.repeat is False and is_mahimahi:
            yield f"{key}: the trace ends after {units.span_text(length_ns)}, and the link sends nothing from then on"
    yield from said
    if len(again) > 1:
        ends = ", ".join(f"{key} after {units.span_text(ns)}" for ns, key in again.items())
        yield f"recordings begin again at different times and do not stay in step: {ends}"


def _said(recording: Recording, value: TraceFile, key: str, quantity: str) -> Iterator[str]:
    """Notes on a file and the column that is used."""
    column = _column(recording, value, key, quantity).name
    if recording.form == "leoreplayer" and value.form is None:
        yield f'taken for LeoReplayer\'s: {recording.why}; format = "leoreplayer" says that it is'
    yield from (note.text for note in recording.notes if note.is_warning and note.column in (None, column))
    if recording.gaps:
        at, ns = max(recording.gaps, key=lambda gap: gap[1])
        yield (
            "has gaps between its values, over which the value before them holds"
            f" ({len(recording.gaps)}, the longest of {units.span_text(ns)} at {units.span_text(at)})"
        )


def _quantity(name: str | int) -> str:
    """Quantity of a key's values."""
    return str(name) if name in ("rate", "rtt") else "delay"


def _settle(value: TraceFile | TracedLoss, key: str, name: str | int, folder: Path, duration_ns: int) -> Any:
    if isinstance(value, TracedLoss):
        course = schedule(value.of, folder, key, "loss", duration_ns)
        loss = SteppedLoss.__new__(SteppedLoss)
        loss.__dict__.update(value.__dict__, steps=course, repeat=course.repeat_ns or False)
        return loss
    if _is_mahimahi(value, folder, name, key):
        _only_of_recordings(value, key)
        return value
    if value.opportunity_bytes is not None:
        raise ScenarioError(f"{key}.opportunity", "unknown key, wanted it with a Mahimahi trace only")
    course_ = schedule(value, folder, key, _quantity(name), duration_ns)
    if name == "rate" and (not course_.nominal or (course_.repeat_ns is None and not course_.steps[-1][1])):
        raise wrong(key, value.file, "a recording whose outages end: `repeat = true`, or a last rate above zero")
    return course_


def _is_mahimahi(value: TraceFile, folder: Path, name: str | int, key: str) -> bool:
    if name != "rate":
        return False
    form = value.form or reader.form_of((folder / value.file).absolute(), key, value.choice("rate"))[0]
    return form == reader.MAHIMAHI


def _only_of_recordings(value: TraceFile, key: str) -> None:
    for name in TRACE_KEYS:
        if name not in ("trace", "format", "repeat", "opportunity") and name in value.written:
            raise ScenarioError(
                f"{key}.{name}",
                "unknown key of a Mahimahi trace, wanted repeat or opportunity; `dumbbell trace convert` makes a table"
                " of it, which has this key",
            )


def _read(value: TraceFile, path: Path, key: str, quantity: str) -> Recording:
    if value.form == reader.MAHIMAHI:
        raise wrong(
            f"{key}.format", value.form, "the form of a table or of a file of delays: a Mahimahi trace is a rate's"
        )
    return reader.read(path, key, value.choice(quantity), lambda option: f"{key}.{option}")


#: Quantities that stand for each other where a column is named.
_ALIKE = {"rtt": ("rtt", "delay"), "delay": ("delay", "rtt"), "rate": ("rate",), "loss": ("loss",)}


def _column(recording: Recording, value: TraceFile, key: str, quantity: str) -> Column:
    """The column that a key means: the one named, or the only one of its quantity."""
    of = [column for column in recording.columns if column.quantity == quantity]
    if value.column is not None:
        if recording.columns[0].quantity not in _ALIKE[quantity]:
            wanted = f"a column of a {quantity}, not of a {recording.columns[0].quantity}"
            raise wrong(f"{key}.column", value.column, wanted)
        return recording.columns[0]
    if not of and quantity == "rtt" and recording.form == "leoreplayer":
        of = list(recording.columns)  # its replayer delays both directions by it
    way = "up" if key.startswith(("path.up", "path.ack")) else "down"
    of = [column for column in of if column.direction == way] or [column for column in of if not column.direction]
    if len(of) == 1:
        return of[0]
    example = headings.QUANTITIES[quantity][1]
    if not of:
        other = ""
        if quantity == "rtt" and any(column.quantity == "delay" for column in recording.columns):
            other = "; one-way delays are for path.delay and path.up.delay"
        if recording.ignored:
            other += f"; `column` and `unit` take one of: {listed(recording.ignored, _IGNORED_SHOWN)}"
        raise wrong(key, value.file, f"a file with a column such as {example} (it has {recording.names()}{other})")
    names = ", ".join(f'"{shown_name(column.name)}"' for column in of[:_IGNORED_SHOWN])
    raise ScenarioError(f"{key}.column", f"missing, wanted one of: {names}")


def schedule(value: TraceFile, folder: Path, key: str, quantity: str, duration_ns: int) -> Schedule:
    """The steps of a recording within a run; raises ScenarioError."""
    recording = _read(value, (folder / value.file).absolute(), key, quantity)
    column = _column(recording, value, key, quantity)
    points: Points = column.points
    if quantity == "rtt" and column.quantity == "delay":
        points = [(at, 2 * delay) for at, delay in points]
    _check_length(value, recording.length_ns, key, duration_ns)
    if value.interpolate_ns is not None:
        points = sloped(points, value.interpolate_ns, key)
    mean = mean_of(points, recording.length_ns)
    points = [point for point in points if point[0] < recording.length_ns] or list(points[:1])
    steps, repeat_ns = _placed(points, recording.length_ns, value, duration_ns)
    if len(steps) > STEPS_MAX:
        raise wrong(key, value.file, f"at most {STEPS_MAX} steps within the run (it comes to {len(steps)})")
    return Schedule(tuple(steps), repeat_ns, mean)


def _check_length(value: TraceFile, length_ns: int, key: str, duration_ns: int) -> None:
    if value.offset_ns and value.offset_ns >= length_ns:
        raise wrong(
            f"{key}.offset",
            units.span_text(value.offset_ns),
            f"a time within the recording, which is {units.span_text(length_ns)} long",
        )
    if value.repeat and not length_ns:
        raise wrong(f"{key}.repeat", True, "two rows at least to repeat")
    if value.repeat is None and length_ns - value.offset_ns < duration_ns:
        raise ScenarioError(
            f"{key}.repeat",
            f"missing, wanted true (the recording begins again) or false (its last value stays), because it ends after"
            f" {units.span_text(length_ns - value.offset_ns)} and the run after {units.span_text(duration_ns)}",
        )


def mean_of(points: Points, length_ns: int) -> int:
    """Mean over the time of a recording, rounded down; of the values that are above zero where that is zero."""
    ends = [*(at for at, _ in points[1:]), length_ns]
    total = sum(value * max(0, end - at) for (at, value), end in zip(points, ends))
    return total // length_ns if length_ns else points[0][1]


def sloped(points: Points, every_ns: int, key: str) -> list[tuple[int, int]]:
    """Steps of this length on the straight lines between the points."""
    steps: list[tuple[int, int]] = []
    for (at, value), (end, following) in pairwise(points):
        count = -(-(end - at) // every_ns)
        if len(steps) + count > STEPS_MAX:
            raise wrong(f"{key}.interpolate", units.span_text(every_ns), f"at most {STEPS_MAX} steps in a recording")
        for i in range(count):
            passed = i * every_ns
            steps.append((at + passed, value + (following - value) * passed // (end - at)))
    return [*steps, points[-1]]


def _placed(
    points: Points, length_ns: int, value: TraceFile, duration_ns: int
) -> tuple[list[tuple[int, int]], int | None]:
    """The points from the offset on, as far as the run goes; equal neighbours are one step."""
    again = bool(value.repeat)
    first = bisect_right(points, value.offset_ns, key=lambda point: point[0]) - 1
    placed = [(max(0, at - value.offset_ns), value_at) for at, value_at in points[first:]]
    left_ns = length_ns - value.offset_ns
    if again and value.offset_ns:
        placed += [(left_ns + at, value_at) for at, value_at in points[: first + 1] if at < value.offset_ns]
    if length_ns >= duration_ns or not again:
        placed = [point for point in placed if point[0] < duration_ns]
    steps = [point for i, point in enumerate(placed) if i == 0 or point[1] != placed[i - 1][1]]
    is_round = again and len(steps) > 1 and length_ns < duration_ns
    return steps, length_ns if is_round else None
