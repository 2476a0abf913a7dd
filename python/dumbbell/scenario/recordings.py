"""Recordings of a path, as values over time: rate, RTT, one-way delay, share of losses.

Three forms. `csv`: a header that names each column and its unit, then rows, the times ascending. `leoreplayer`: the
delay file of LeoReplayer (Lai et al., "LeoCC", SIGCOMM 2025, traces/README.md): a line for each 10 ms, the one-way
delay in whole milliseconds. `cellreplay`: the packet-train file of CellReplay (Sentosa et al., NSDI 2025,
cellular_queue.cc): lines of a time in ms, the base delay in ms, and the times at which the packets of a train came.
The rate files of the latter two are Mahimahi traces, which `traces.py` reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from dumbbell.files import DATA_MAX, read_bytes, taken_apart

from . import units

#: Most rows of a recording: an hour of a value each 10 ms is 360,000.
ROWS_MAX = 1_000_000

#: Length of a line of LeoReplayer's delay file, ns.
LEO_STEP_NS = 10_000_000

#: How many times as far apart as usual two rows of a gap are, and how many rows it takes to know what is usual.
_GAP_TIMES, _GAPS_ROWS_MIN = 10, 8

#: Longest delay of a recording.
DELAY_MAX_NS = 60 * 10**9

_MS = 1_000_000
_LENGTH_MAX_NS = 10 * 24 * units.NS["h"]
_LINE_LENGTH_MAX = 10_000

#: Units of a column's heading, in lower case, and what one of them is in ns, bit/s and 10^-9.
_TIMES = {"ns": 1, "us": 1_000, "ms": _MS, "s": 10**9, "sec": 10**9, "seconds": 10**9}
_RATES = {
    f"{prefix}{unit}": 10**power
    for prefix, power in (("", 0), ("k", 3), ("m", 6), ("g", 9))
    for unit in ("bps", "bit/s", "bits/s")
}
_SHARES = {"%": 10**7, "percent": 10**7, "pct": 10**7, "ppm": 1_000, "share": 10**9, "ratio": 10**9, "fraction": 10**9}

#: What a column may be about: its names, its units and an example.
QUANTITIES: dict[str, tuple[tuple[str, ...], dict[str, int], str]] = {
    "time": (("time", "timestamp", "t"), _TIMES, "time_s"),
    "rate": (("rate", "throughput", "bandwidth", "capacity"), _RATES, "rate_mbps"),
    "rtt": (("rtt",), _TIMES, "rtt_ms"),
    "delay": (("delay", "owd", "one_way_delay"), _TIMES, "delay_ms"),
    "loss": (("loss", "loss_rate"), _SHARES, "loss_percent"),
}
_DIRECTIONS = ("down", "up")


class Column(NamedTuple):
    """One quantity over time."""

    name: str
    """As its heading says."""
    quantity: str
    direction: str
    """Down, up, or nothing where the heading does not say."""
    points: tuple[tuple[int, int], ...]
    """(ns since the start of the recording, value), ascending; ns, bit/s or 10^-9."""
    number: int = 0
    """Which column of the file it is."""


class Recording(NamedTuple):
    """A file as read."""

    form: str
    sha256: str
    length_ns: int
    """When it begins again; 0 where one row says nothing of it."""
    columns: tuple[Column, ...]
    ignored: tuple[str, ...]
    """What the file has and is not used."""
    rows: int
    gaps: tuple[tuple[int, int], ...] = ()
    """Rows that are far from the next one: when, and how far, ns."""

    def names(self) -> str:
        """Its columns, for a message."""
        return ", ".join(column.name for column in self.columns)


class RecordingError(ValueError):
    """What is wrong with a file, and in which line; nothing of its content is quoted."""


def read(path: Path, at: str, form: str | None = None) -> Recording:
    """The recording in a file that is no Mahimahi trace; raises ScenarioError that names the key `at`."""
    return taken_apart(
        path,
        at,
        lambda changed_ns, size: _read(path, changed_ns, size, form),
        file="the file of a recording",
        content="a recording that can be read",
    )


def form_of(path: Path, at: str) -> str:
    """What a file looks like by its first line: `csv`, `cellreplay`, or `mahimahi` for a single whole number, which
    LeoReplayer's delay file has as well; raises ScenarioError.
    """
    wanted = "the file of a recording or a trace"
    return taken_apart(path, at, lambda changed_ns, size: _form(path, changed_ns, size), file=wanted, content=wanted)


@lru_cache(maxsize=32)
def _form(path: Path, _changed_ns: int, _size: int) -> str:
    data = read_bytes(path, DATA_MAX)
    first = next((line for line in data.split(b"\n", 200)[:200] if line.strip() and not line.startswith(b"#")), b"")
    words = first.split()
    if b"," in first:
        return "csv"
    # Anything else is for the reader of Mahimahi traces to refuse.
    is_table = len(words) > 1 and all(word.isdigit() for word in words)
    return "cellreplay" if is_table else "mahimahi"


@lru_cache(maxsize=32)
def _read(path: Path, _changed_ns: int, _size: int, form: str | None) -> Recording:
    import hashlib  # rarely needed, and start-up counts

    data = read_bytes(path, DATA_MAX)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RecordingError(f"line {data.count(10, 0, error.start) + 1} is no UTF-8 text") from None
    parse = {"csv": _csv, "leoreplayer": _leoreplayer, "cellreplay": _cellreplay}[form or "csv"]
    return parse(text, hashlib.sha256(data).hexdigest())


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines from 1, without remarks; empty ones may only end the file."""
    empty = 0
    for number, ended in enumerate(text.split("\n"), 1):
        line = ended.removesuffix("\r")
        if len(line) > _LINE_LENGTH_MAX:
            raise RecordingError(f"line {number} has over {_LINE_LENGTH_MAX} letters")
        if line.startswith("#"):
            continue
        if not line.strip():
            empty = empty or number
            continue
        if empty:
            raise RecordingError(f"line {empty} is empty, wanted a row")
        yield number, line


# --- CSV -------------------------------------------------------------------------------------------------------------


def _csv(text: str, sha256: str) -> Recording:
    lines = _lines(text)
    first = next(lines, None)
    if first is None:
        raise RecordingError("it is empty, wanted a heading such as time_s,rate_mbps,rtt_ms,loss_percent")
    cells = [cell.strip().strip('"') for cell in first[1].split(",")]
    headings = [_heading(cell, first[0]) for cell in cells]
    times = [i for i, found in enumerate(headings) if found and found[0] == "time"]
    if len(times) != 1:
        raise RecordingError(
            f"line {first[0]}: {len(times)} columns are times, wanted one, such as time_s, among the headings"
        )
    if sum(found is not None for found in headings) < 2:
        raise RecordingError(f"line {first[0]}: no heading but the time is known, wanted one of {_examples()}")
    at, values, rows = _rows(lines, headings, times[0])
    length = at[-1] + (at[-1] - at[-2]) if len(at) > 1 else 0
    columns = tuple(
        Column(cells[i], found[0], found[2], tuple(values[i]), i)
        for i, found in enumerate(headings)
        if found is not None and i != times[0]
    )
    for column in columns:
        if not column.points or column.points[0][0]:
            raise RecordingError(f"line {first[0] + 1}: column {column.name} has no value, wanted one in the first row")
    ignored = tuple(cell for cell, found in zip(cells, headings) if found is None)
    return Recording("csv", sha256, length, columns, ignored, rows, gaps_of(at))


def gaps_of(at: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Rows that are ten times as far from the next one as half of all are, or farther."""
    apart = [later - earlier for earlier, later in pairwise(at)]
    if len(apart) < _GAPS_ROWS_MIN:
        return ()
    usual = sorted(apart)[len(apart) // 2]
    return tuple((earlier, ns) for earlier, ns in zip(at, apart) if ns >= _GAP_TIMES * usual)


def _examples() -> str:
    return ", ".join(example for name, (_, _, example) in QUANTITIES.items() if name != "time")


def _heading(cell: str, line: int) -> tuple[str, int, str] | None:
    """Quantity, scale of its unit, and direction of a column; None where it is about something else. A known quantity
    without a unit is an error: a wrong guess would be silent.
    """
    words = [word for word in re.split(r"[\s_\[\]()]+", cell.casefold()) if word]
    direction = next((word for word in words if word in _DIRECTIONS), "")
    words = [word for word in words if word != direction and not word.isdigit()]  # as in delay_down_ms, rtt_2_ms
    for quantity, (names, known, example) in QUANTITIES.items():
        for name in names:
            head = name.split("_")
            if words[: len(head)] != head or len(words) > len(head) + 1:
                continue
            if len(words) == len(head):
                raise RecordingError(f"line {line}: a heading has no unit, wanted one after its name, as in {example}")
            if words[-1] in known:
                if re.search(r"Bps\b", cell.replace("_", " ")):
                    raise RecordingError(f"line {line}: {cell.strip()} is in bytes, wanted bits, as in {example}")
                return quantity, known[words[-1]], direction
    return None


Heading = tuple[str, int, str] | None


def _rows(
    lines: Iterator[tuple[int, str]], headings: list[Heading], time: int
) -> tuple[list[int], list[list[tuple[int, int]]], int]:
    at: list[int] = []
    values: list[list[tuple[int, int]]] = [[] for _ in headings]
    begin = 0
    for number, line in lines:
        cells = line.split(",")
        if len(cells) != len(headings):
            raise RecordingError(f"line {number} has {len(cells)} cells, wanted {len(headings)} as in the heading")
        read_ns = _number(cells[time], headings[time], number, signed=True)
        if read_ns is None:
            raise RecordingError(f"line {number} has no time")
        begin = begin if at else read_ns
        now = read_ns - begin
        _check_time(now, at, number)
        at.append(now)
        for i, heading in enumerate(headings):
            if heading is None or i == time:
                continue
            value = _number(cells[i], heading, number)
            if value is not None:
                values[i].append((now, value))
    if not at:
        raise RecordingError("it has a heading and no row")
    return at, values, len(at)


def _check_time(now: int, at: list[int], line: int) -> None:
    if at and now - at[-1] < 1_000:
        raise RecordingError(f"line {line}: its time is not 1 us or more after that of the row before")
    if now > _LENGTH_MAX_NS:
        raise RecordingError(f"line {line} lies more than ten days after the first row")
    if len(at) == ROWS_MAX:
        raise RecordingError(f"it has over {ROWS_MAX} rows")


def _number(cell: str, heading: Heading, line: int, *, signed: bool = False) -> int | None:
    """A cell in whole ns, bit/s or 10^-9, the nearest; None for an empty one."""
    assert heading is not None
    quantity, scale, _ = heading
    text = cell.strip()
    if not text:
        return None
    try:
        if len(text) > 40 or not text.isascii() or "_" in text:
            raise InvalidOperation
        number = Decimal(text)
        # Beyond this nothing is accepted, and a number with a huge exponent would take its digits in memory.
        if not number.is_finite() or abs(number) > 10**30:
            raise InvalidOperation
        value = int((number * scale).to_integral_value())
    except ArithmeticError:
        raise RecordingError(f"line {line}: the {quantity} is no number") from None
    if not signed:
        check(quantity, value, line)
    return value


def check(quantity: str, value: int, line: int) -> None:
    """Raise RecordingError for a value that no path has."""
    accepted: dict[str, tuple[Callable[[int], bool], str]] = {
        "rate": (lambda rate: rate == 0 or 1_000 <= rate <= 10**12, "1 kbit/s to 1 Tbit/s, or 0 for an outage"),
        "rtt": (lambda ns: 0 < ns <= DELAY_MAX_NS, "above 0 and at most 60 s"),
        "delay": (lambda ns: 0 <= ns <= DELAY_MAX_NS, "0 to 60 s"),
        "loss": (lambda ppb: 0 <= ppb <= 10**9, "0 to 100 %"),
    }
    if quantity in accepted and not accepted[quantity][0](value):
        raise RecordingError(f"line {line}: the {quantity} is not {accepted[quantity][1]}")


# --- LeoReplayer, CellReplay -----------------------------------------------------------------------------------------


def _whole(word: str, line: int, what: str) -> int:
    if not (word.isascii() and word.isdigit()) or len(word) > 18:
        raise RecordingError(f"line {line}: {what} is no whole number of ms")
    return int(word)


def _leoreplayer(text: str, sha256: str) -> Recording:
    points: list[tuple[int, int]] = []
    for number, line in _lines(text):
        delay = _whole(line.strip(), number, "the delay") * _MS
        check("delay", delay, number)
        points.append((len(points) * LEO_STEP_NS, delay))
        if len(points) > ROWS_MAX:
            raise RecordingError(f"it has over {ROWS_MAX} rows")
    if not points:
        raise RecordingError("it is empty, wanted a delay in whole ms per line, one for each 10 ms")
    column = Column("delay_ms", "delay", "", tuple(points))
    return Recording("leoreplayer", sha256, len(points) * LEO_STEP_NS, (column,), (), len(points))


def _cellreplay(text: str, sha256: str) -> Recording:
    points: list[tuple[int, int]] = []
    trains = rows = 0
    for number, line in _lines(text):
        words = line.split()
        if len(words) < 2:
            raise RecordingError(f"line {number} has one number, wanted a time in ms, a delay in ms, and a train")
        at, delay = (_whole(word, number, what) * _MS for word, what in zip(words, ("the time", "the delay")))
        check("delay", delay, number)
        for word in words[2:]:
            _whole(word, number, "a time of the train")
        if points and at <= points[-1][0]:
            raise RecordingError(f"line {number}: its time is not after that of the line before")
        if at > _LENGTH_MAX_NS:
            raise RecordingError(f"line {number} lies more than ten days after the start")
        points.append((at, delay))
        trains += len(words) > 2
        rows += 1
        if rows > ROWS_MAX:
            raise RecordingError(f"it has over {ROWS_MAX} rows")
    if rows < 3:
        raise RecordingError(f"it has {rows} lines, wanted three or more, as CellReplay does")
    if points[0][0]:
        points.insert(0, (0, points[0][1]))
    ignored = (f"packet trains of {trains} rows (the rate under light load)",) if trains else ()
    # The last line ends the recording (`delay_base_timestamp_` moves on by its time): it only closes the slope before.
    column = Column("delay_ms", "delay", "", tuple(points))
    return Recording("cellreplay", sha256, points[-1][0], (column,), ignored, rows, gaps_of([at for at, _ in points]))
