"""Logs of lines: those of Mahimahi's mm-link, and what ping prints."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from typing import NamedTuple

from dumbbell.scenario import traces

from .model import LENGTH_MAX_NS, ROWS_MAX, Column, Heading, Look, Note, Recording, RecordingError, Rows
from .table import ascending
from .times import scaled

#: Over which the rate of delivery opportunities is taken.
BIN_NS = 100_000_000

_MS = 1_000_000

# An opportunity, an arrival, a departure with its delay, a drop (LinkQueue::record_*, src/frontend/link_queue.cc).
_EVENT = re.compile(r"(\d{1,18}) (#|\+|-|d) (\d{1,9})(?: \d+){0,2}", re.ASCII)
_BASE = re.compile(r"# base timestamp: (\d{1,18})", re.ASCII)

_ANSWER = re.compile(
    r"(?:\[(?P<at>\d{1,12}\.\d{1,9})\] )?.{0,20}\bbytes from .{1,300}?\b(?:icmp_)?seq[=:](?P<seq>\d{1,9})\b.{0,80}?"
    r"\btime[=<] ?(?P<rtt>\d{1,9}(?:[.,]\d{1,9})?) ?(?P<unit>ms|s|us|usec)\b",
    re.ASCII,
)
_REPLY = re.compile(r"Reply from .{1,300}?: bytes=\d+ time[=<](?P<rtt>\d{1,9})(?P<unit>ms)\b", re.ASCII)
_UNITS = {"ms": _MS, "s": 10**9, "us": 1_000, "usec": 1_000}
_SEQUENCES = 1 << 16


class Opportunities(NamedTuple):
    """Link of a log of mm-link."""

    trace: traces.Trace
    bytes: int
    """That each opportunity carries."""
    notes: tuple[str, ...]


def is_mm_link(look: Look) -> str | None:
    """Why a file is a log of mm-link."""
    events = sum(_EVENT.fullmatch(row.strip()) is not None for row in look.rows)
    if not events or events * 2 < len(look.rows):
        return None
    return "its lines are the events of mm-link's log (a time, one of # + - d, bytes)"


def opportunities(text: str) -> Opportunities:
    """The delivery opportunities of a log; raises RecordingError."""
    base: int | None = None
    times = array("Q")
    sizes: Counter[int] = Counter()
    others = 0
    for number, ended in enumerate(text.split("\n"), 1):
        line = ended.strip()
        if not line or line.startswith("#"):
            start = _BASE.fullmatch(line)
            base = int(start[1]) if start and base is None else base
            continue
        event = _EVENT.fullmatch(line)
        if event is None:
            raise RecordingError(f"line {number} is no event of mm-link's log")
        if event[2] != "#":
            others += 1
            continue
        ms = int(event[1])
        if times and ms < times[-1]:
            raise RecordingError(f"line {number} is before its predecessor")
        times.append(ms)
        sizes[int(event[3])] += 1
    if not times:
        raise RecordingError("it has no delivery opportunity (a line such as 12 # 1504)")
    begin = times[0] if base is None else base
    if begin > times[0] or times[-1] - begin > min(traces.MS_MAX, LENGTH_MAX_NS // _MS):
        raise RecordingError("its opportunities are not within ten days after its base timestamp")
    if times[-1] == begin:
        raise RecordingError("it has no length")
    if len(sizes) > 1:
        raise RecordingError(f"its opportunities have {len(sizes)} sizes, wanted one")
    notes = (f"arrivals, departures and drops of packets: {others}",) if others else ()
    return Opportunities(traces.Trace("", array("I", (ms - begin for ms in times))), next(iter(sizes)), notes)


def read_mm_link(look: Look) -> Recording:
    """The rate of the opportunities in bins of 100 ms."""
    log = opportunities(look.text)
    length_ns = log.trace.period_ms * _MS
    if length_ns // BIN_NS > ROWS_MAX:
        raise RecordingError(f"it is longer than {ROWS_MAX} times 100 ms")
    points = traces.binned(log.trace, BIN_NS, log.bytes)
    column = Column("rate_mbps", "rate", "", tuple(points))
    text = f"the rate is that of {BIN_NS // _MS} ms each; `trace convert --to mahimahi` keeps each opportunity"
    return Recording(
        "mm-link", length_ns, (column,), log.notes, len(log.trace.times_ms), notes=(Note(text, is_warning=False),)
    )


def is_ping(look: Look) -> str | None:
    """Why a file is what ping prints."""
    answers = sum(_answer(row) is not None for row in look.rows)
    return "its lines are answers as ping prints them" if answers else None


def _answer(line: str) -> re.Match[str] | None:
    return _ANSWER.match(line) or _REPLY.match(line)


def read_ping(look: Look) -> Rows:
    """The RTTs of answers, at the times that `ping -D` writes before them; without those one a second."""
    answers = []
    twice = unanswered = 0
    for number, line in enumerate(look.text.split("\n"), 1):
        answer = _answer(line[:1000])
        if answer is None:
            unanswered += line.startswith("Request timed out")
            continue
        if "DUP!" in line:
            twice += 1
            continue
        answers.append((number, answer, unanswered))
        if len(answers) > ROWS_MAX:
            raise RecordingError(f"it has over {ROWS_MAX} answers")
    numbers = [number for number, _, _ in answers]
    if not answers:
        raise RecordingError("it has no answer with a time")
    notes = []
    if all(answer.groupdict().get("at") for _, answer, _ in answers):
        raw = [scaled(answer["at"], 10**9) for _, answer, _ in answers]
    else:
        raw = [second * 10**9 for second in _seconds(answers)]
        notes.append(Note("it has no times: one answer a second, as ping does; `ping -D` writes the times"))
    at, same = ascending(raw, numbers)
    lost = _lost(answers)
    if lost:
        notes.append(Note(f"requests without an answer, for which the RTT before them holds, as no losses: {lost}"))
    if twice:
        notes.append(Note(f"answers that came twice, which are left out: {twice}"))
    cells = [scaled(answer["rtt"].replace(",", "."), _UNITS[answer["unit"]]) for _, answer, _ in answers]
    return Rows((Heading("rtt_ms", "rtt", 1),), at, (cells,), numbers, notes=(*same, *notes))


def _sequences(answers: list[tuple[int, re.Match[str], int]]) -> list[int]:
    """The numbers of requests, over their wrap; of Windows' lines those of all that were sent."""
    sequences: list[int] = []
    around = 0
    for i, (_, answer, unanswered) in enumerate(answers):
        given = answer.groupdict().get("seq")
        number = i + unanswered if given is None else int(given)
        if sequences and number + around < sequences[-1] - _SEQUENCES // 2:
            around += _SEQUENCES
        sequences.append(number + around)
    return sequences


def _seconds(answers: list[tuple[int, re.Match[str], int]]) -> list[int]:
    sequences = _sequences(answers)
    for before, now, (line, _, _) in zip(sequences, sequences[1:], answers[1:]):
        if now < before:
            raise RecordingError(f"line {line}: its icmp_seq is below the one before; `ping -D` writes times")
    return sequences


def _lost(answers: list[tuple[int, re.Match[str], int]]) -> int:
    sequences = _sequences(answers)
    return max(0, max(sequences) - min(sequences) + 1 - len(sequences))
