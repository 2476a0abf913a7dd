"""Files of numbers without a heading, whose form is taken only where they can be nothing else.

`mahimahi`: `traces.py`. `leoreplayer`: a line for each 10 ms, the one-way delay in whole milliseconds (Lai et al.,
"LeoCC", SIGCOMM 2025, traces/README.md). `cellreplay`: a time in ms, the base delay in ms, and the times at which the
packets of a train came (Sentosa et al., NSDI 2025, cellular_queue.cc). `hsdpa`: the time, the time since the start in
ms, latitude, longitude, bytes received since the line before, and the ms since then (Riiser et al., MMSys 2013; van der
Hooft et al., 2016). `pensieve`: seconds and Mbit/s (Mao et al., SIGCOMM 2017). `oboe`: ms and kbit/s (Akhtar et al.,
SIGCOMM 2018).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from dumbbell.errors import ScenarioError
from dumbbell.scenario import traces

from .model import (
    LENGTH_MAX_NS,
    ROWS_MAX,
    Column,
    Heading,
    Look,
    Note,
    Recording,
    RecordingError,
    Rows,
    check,
    gaps_of,
)  # fmt: skip
from .table import Lines, is_number, rows_of

#: Length of a line of LeoReplayer's delay file, ns.
LEO_STEP_NS = 10_000_000

_MS = 1_000_000

#: Of the changes of delays about a half are falls. Of a Mahimahi trace with lines in the wrong order few are.
_FALLS_MIN = 3

#: How far the time since the line before may be from the difference of two times of a log, ms.
_OFF_MS_MAX = 20


def _ask(*names: str) -> str:
    """Say how to choose one of these forms."""
    keys = " or ".join(f'format = "{name}"' for name in names)
    return f"{keys} (--format) says so"


def words_of(line: str) -> list[str]:
    """The words of a line, whatever stands between them."""
    return [word for word in re.split(r"[,;\s]+", line.strip()) if word]


def is_whole(word: str) -> bool:
    """True if a word is a whole number in plain digits."""
    return word.isascii() and word.isdigit()


def is_mahimahi(look: Look) -> str | None:
    """Why a file is a Mahimahi trace; raises RecordingError where it may be something else as well."""
    whole = [is_whole(row.strip().removeprefix("+")) for row in look.rows]
    if not whole or not whole[0] or sum(whole) * 2 < len(whole):
        return None
    try:
        trace = traces.parse(look.data) if look.is_packed else traces.read(look.path, "")
    except (ScenarioError, ValueError) as error:
        if all(whole):
            return None  # for `leoreplayer` or `why_not` to judge
        raise RecordingError(f"its lines are whole numbers, as those of a Mahimahi trace, and {_told(error)}") from None
    if look.is_packed:
        raise RecordingError("it is a packed Mahimahi trace, wanted it unpacked: the engine reads it line by line")
    wanted = look.choice.quantity
    if wanted not in (None, "rate"):
        also = "" if wanted == "loss" else f", or LeoReplayer's delays: {_ask('leoreplayer')}"
        raise RecordingError(f"its whole numbers never fall: a Mahimahi trace, which is a rate's{also}")
    return f"its {len(trace.times_ms)} whole numbers, one a line, never fall"


def _told(error: Exception) -> str:
    """Words of a reader of traces on a line."""
    text = error.problem if isinstance(error, ScenarioError) else str(error)
    return text.rsplit("(", 1)[-1].removesuffix(")")


def is_leoreplayer(look: Look) -> str | None:
    """Why a file is LeoReplayer's: a delay is wanted, and its numbers rise and fall as delays do."""
    if look.choice.quantity not in ("delay", "rtt") or not all(is_whole(row.strip()) for row in look.rows):
        return None
    try:
        numbers = [_whole(line.strip(), number, "the delay") for number, line in _numbered(look.text)]
    except RecordingError:
        return None
    falls = [b < a for a, b in pairwise(numbers)]
    # A trace whose last line is cut falls only there.
    if not any(falls[:-1]) or sum(falls) * _FALLS_MIN < sum(a != b for a, b in pairwise(numbers)):
        return None
    return "its whole numbers, one a line, rise and fall, and a delay is wanted: one for each 10 ms"


def is_cellreplay(look: Look) -> str | None:
    """Why a file is CellReplay's: what follows its times and delays are trains, and no columns."""
    rows = [row.split() for row in look.rows]
    if len(rows) < 2 or not all(len(row) > 1 and all(map(is_whole, row)) for row in rows):
        return None
    if len({len(row) for row in rows}) > 1:
        return "its lines are a time, a delay and a train of packets each, of different lengths"
    trains = [[int(word[:18]) for word in row[2:]] for row in rows]
    if len(trains[0]) > 3 and all(train[0] == 0 and train == sorted(train) for train in trains):
        return "its lines are a time, a delay and a train of packets each, whose times ascend from 0"
    return None


def is_hsdpa(look: Look) -> str | None:
    """Why a file is a log of bytes received: the sixth number of each line is how far the second is from the last."""
    rows = [row.split() for row in look.rows]
    if len(rows) < 3 or not all(len(row) == 6 and all(map(is_number, row)) for row in rows):
        return None
    if not all(is_whole(row[1]) and is_whole(row[4]) and is_whole(row[5]) and len(row[1]) < 18 for row in rows):
        return None
    agree = sum(abs(int(b[1]) - int(a[1]) - int(b[5][:9])) <= _OFF_MS_MAX for a, b in pairwise(rows))
    if agree * 5 < (len(rows) - 1) * 4:
        return None
    return "its lines have six numbers, of which the last is the time since the line before"


def is_pensieve(_look: Look) -> None:
    """Nothing: two columns may be anything."""


is_oboe = is_pensieve


def why_not(look: Look) -> str | None:
    """Explain why no form claims a file of numbers; None where it has something else than numbers."""
    rows = [words_of(row) for row in look.rows]
    if not rows or not all(row and all(map(is_number, row)) for row in rows):
        return None
    width = len(rows[0])
    heading = "a heading such as time_s,rate_mbps says what they are"
    if width == 1 and all(is_whole(row[0]) for row in rows):
        try:
            traces.parse(look.data)
            problem = ""
        except ValueError as error:
            problem = f", and is no Mahimahi trace, because {error}"
        return f"it has a whole number a line{problem}; LeoReplayer's delays, perhaps: {_ask('leoreplayer')}"
    if width == 1:
        return f"it has a number a line and no times: {heading}"
    what = {
        2: "seconds and Mbit/s (pensieve), or ms and kbit/s (oboe)",
        6: "a log of bytes received (hsdpa), or times, delays and trains (cellreplay)",
    }.get(width, "times, delays and trains (cellreplay)")
    asked = _ask(*re.findall(r"\((\w+)\)", what))
    return f"it has {width} columns of numbers without a heading, which may be {what}: {asked}, or {heading}"


# --- Readers ---------------------------------------------------------------------------------------------------------


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    lines = Lines(text)
    for line in lines:
        yield lines.number, line


def _whole(word: str, line: int, what: str) -> int:
    if not is_whole(word) or len(word) > 18:
        raise RecordingError(f"line {line}: {what} is no whole number of ms")
    return int(word)


def read_leoreplayer(look: Look) -> Recording:
    """LeoReplayer's delays."""
    points: list[tuple[int, int]] = []
    for number, line in _numbered(look.text):
        delay = _whole(line.strip(), number, "the delay") * _MS
        check("delay", delay, f"line {number}")
        points.append((len(points) * LEO_STEP_NS, delay))
        if len(points) > ROWS_MAX:
            raise RecordingError(f"it has over {ROWS_MAX} rows")
    if not points:
        raise RecordingError("it is empty, wanted a delay in whole ms per line, one for each 10 ms")
    column = Column("delay_ms", "delay", "", tuple(points))
    return Recording("leoreplayer", len(points) * LEO_STEP_NS, (column,), (), len(points))


def read_cellreplay(look: Look) -> Recording:
    """CellReplay's base delays."""
    points: list[tuple[int, int]] = []
    trains = rows = 0
    for number, line in _numbered(look.text):
        words = line.split()
        if len(words) < 2:
            raise RecordingError(f"line {number} has one number, wanted a time in ms, a delay in ms, and a train")
        at, delay = (_whole(word, number, what) * _MS for word, what in zip(words, ("the time", "the delay")))
        check("delay", delay, f"line {number}")
        for word in words[2:]:
            _whole(word, number, "a time of the train")
        if points and at <= points[-1][0]:
            raise RecordingError(f"line {number}: its time is not after that of the line before")
        if at > LENGTH_MAX_NS:
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
    return Recording("cellreplay", points[-1][0], (column,), ignored, rows, gaps_of([at for at, _ in points]))


def read_hsdpa(look: Look) -> Rows:
    """Rates of a log of bytes received: each holds until the time of its line."""
    at: list[int] = []
    bps: list[int] = []
    lines: list[int] = []
    begin = end = still = 0
    for number, line in _numbered(look.text):
        words = words_of(line)
        if len(words) != 6:
            raise RecordingError(f"line {number} has {len(words)} numbers, wanted six as in the logs of HSDPA")
        now, received, apart = (_whole(words[i], number, what) for i, what in _HSDPA)
        if at and now < end:
            raise RecordingError(f"line {number}: its time is before that of the line before")
        begin = begin if at else now - apart
        if (now - begin) * _MS > LENGTH_MAX_NS:
            raise RecordingError(f"line {number} lies more than ten days after the first")
        if not apart or now == end:
            still += 1
            continue
        at.append(((end if at else now - apart) - begin) * _MS)
        bps.append(received * 8_000 // apart)
        lines.append(number)
        end = now
        if len(at) > ROWS_MAX:
            raise RecordingError(f"it has over {ROWS_MAX} rows")
    if not at:
        raise RecordingError("it has no line over which time passed")
    notes = (Note(f"lines over which no time passed, which are left out: {still}"),) if still else ()
    return Rows((Heading("rate_bps", "rate", 1),), at, (bps,), lines, (end - begin) * _MS, notes=notes)


_HSDPA = ((1, "the time since the start"), (4, "the number of bytes"), (5, "the time since the line before"))


def read_pensieve(look: Look) -> Rows:
    """Seconds and Mbit/s."""
    return _named_columns(look, ("time_s", "rate_mbps"))


def read_oboe(look: Look) -> Rows:
    """Milliseconds and kbit/s."""
    return _named_columns(look, ("time_ms", "rate_kbps"))


def _named_columns(look: Look, names: Sequence[str]) -> Rows:
    lines = Lines(look.text)
    return rows_of(map(words_of, lines), lines, look.choice._replace(time=None), names, has_decimal_commas=False)
