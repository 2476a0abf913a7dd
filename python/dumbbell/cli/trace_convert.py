"""`dumbbell trace convert`: a recording in another form, and what of it is lost on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dumbbell import units
from dumbbell.errors import printable, wrong
from dumbbell.files import DATA_MAX
from dumbbell.scenario.recordings.model import ROWS_MAX, listed_names
from dumbbell.scenario.recordings.numbers import LEO_STEP_NS

from .trace_series import UNITS, File, Series

#: Forms that are written.
FORMS = ("csv", "mahimahi", "leoreplayer")

#: Most lines of a trace that is written: what reads it takes no larger file.
LINES_MAX = 8_000_000

_MS = 1_000_000


class Made(NamedTuple):
    """A file's text, and what it does not hold of what was read."""

    text: str
    lost: tuple[str, ...]


def convert(files: Sequence[File], form: str, opportunity_bytes: int) -> Made:
    """These files as one in that form; raises ScenarioError where it cannot hold what they have."""
    series = [column for file in files for column in file.series]
    lost = [f"{file.path}: {note}" for file in files for note in file.ignored]
    if form == "csv":
        lost += [closing for column in series for closing in _closing(column)]
        lost += [
            f"{file.path}: the times of single opportunities; a row has the mean rate of a bin (--bin)"
            for file in files
            if file.has_opportunities
        ]
        return Made(table(series), tuple(lost))
    wanted = ("rate",) if form == "mahimahi" else ("delay", "rtt")
    chosen = [column for name in wanted for column in series if column.quantity == name]
    if len(chosen) != 1 and not (len(chosen) == 2 and form == "leoreplayer"):
        names = listed_names([column.name for column in series])
        raise wrong("--to", form, f"a file with one {wanted[0]} (it has {names}); --column chooses")
    column = chosen[0]
    lost += [
        f"column {printable(other.name)}: a file of {form} has no place for it"
        for other in series
        if other is not column
    ]
    source = next(file for file in files if any(other is column for other in file.series))
    if form == "mahimahi" and source.has_opportunities:
        if source.times_ms:
            return Made("".join(f"{ms}\n" for ms in source.times_ms), tuple(lost))
        lost.append(f"{source.path}: the times of single opportunities, which are spread evenly over a bin (--bin)")
    converted = _mahimahi(column, opportunity_bytes) if form == "mahimahi" else _leoreplayer(column)
    return Made(converted.text, (*lost, *_closing(column), *converted.lost))


def _closing(series: Series) -> list[str]:
    """That a value at the very end is lost, as CellReplay has it: it holds for no time, and only closes a slope."""
    at, value = series.points[-1]
    is_closing = len(series.points) > 1 and at >= series.length_ns
    if not is_closing or value == series.points[-2][1]:
        return []
    what = f"{decimal(value, UNITS[series.quantity][1])} {UNITS[series.quantity][2]} at {units.span_text(at)}"
    return [f"column {printable(series.name)}: the value at its very end ({what}), to which `interpolate` draws"]


def table(all_series: Sequence[Series]) -> str:
    """A CSV with a row for each time at which a value begins; a cell is empty where the value before it still holds."""
    names = _headings(all_series)
    held = [dict(column.points) for column in all_series]
    times = sorted({at for column in held for at in column})
    if len({column.length_ns for column in all_series}) > 1:
        lengths = ", ".join(units.span_text(column.length_ns) for column in all_series)
        raise wrong("convert", lengths, "files of one length: a table has one end")
    ends = [at for at in times if at < all_series[0].length_ns] or times[:1]
    lines = [",".join(["time_s", *names])]
    for at in _with_last(ends, all_series[0].length_ns):
        cells = [
            decimal(column[at], UNITS[series.quantity][1]) if at in column else ""
            for column, series in zip(held, all_series)
        ]
        lines.append(",".join([decimal(at, 10**9), *cells]))
    return "\n".join(lines) + "\n"


def _with_last(times: Sequence[int], length_ns: int) -> Iterator[int]:
    """The times, and one more where the last value would hold for longer or shorter than it does: a table's last row
    lasts as long as the row before it.
    """
    yield from times
    left = length_ns - times[-1]
    if length_ns and (len(times) == 1 or left != times[-1] - times[-2]):
        # A row without values half of the way: the half that is left is as long as the half before.
        yield times[-1] + left // 2


def _headings(all_series: Sequence[Series]) -> list[str]:
    """Names of columns, such as rate_mbps, delay_up_ms, and rtt_2_ms for the second of a kind."""
    seen: dict[str, int] = {}
    names = []
    for column in all_series:
        head = "_".join(word for word in (column.quantity, column.direction) if word)
        seen[head] = seen.get(head, 0) + 1
        number = [str(seen[head])] if seen[head] > 1 else []
        names.append("_".join([head, *number, UNITS[column.quantity][0]]))
    return names


def decimal(value: int, scale: int) -> str:
    """A whole number of small units, in large ones, exactly."""
    whole, rest = divmod(value, scale)
    digits = f"{rest:0{len(str(scale)) - 1}d}".rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)


def _mahimahi(series: Series, opportunity_bytes: int) -> Made:
    bits = opportunity_bytes * 8 * 10**9
    end_ms, odd = divmod(series.length_ns, _MS)
    if end_ms == 0:
        raise wrong("--to", "mahimahi", f"a recording of 1 ms or more (it has {units.span_text(series.length_ns)})")
    ends = [*(at for at, _ in series.points[1:]), end_ms * _MS]
    spans = [(at, bps, min(end, end_ms * _MS)) for (at, bps), end in zip(series.points, ends)]
    if sum(bps * max(0, end - at) for at, bps, end in spans) // bits > LINES_MAX:
        raise wrong("--to", "mahimahi", f"at most {LINES_MAX} opportunities: a shorter recording or a lower rate")
    lines: list[str] = []
    passed = 0  # of the bits of the next opportunity, in bit/s times ns
    for at, bps, end in spans:
        count, rest = divmod(passed + bps * max(0, end - at), bits)
        # An opportunity leaves at the end of the millisecond in which its last bit comes.
        lines += [str(-(-(at - (passed - k * bits) // bps) // _MS)) for k in range(1, count + 1)]
        passed = rest
    lost = ["times within a millisecond"]
    if not lines or int(lines[-1]) != end_ms:
        lines.append(str(end_ms))  # the last line is the length of the trace
        lost.append("an opportunity was added at the end, because the last line of a trace is its length")
    if odd:
        lost.append(f"the last {units.span_text(odd)}")
    text = "\n".join(lines) + "\n"
    if len(text) > DATA_MAX:
        raise wrong("--to", "mahimahi", f"at most {units.bytes_text(DATA_MAX)}: a shorter recording or a lower rate")
    return Made(text, tuple(lost))


def _leoreplayer(series: Series) -> Made:
    half = 2 if series.quantity == "rtt" else 1
    count, rest = divmod(series.length_ns, LEO_STEP_NS)
    if not count:
        raise wrong("--to", "leoreplayer", f"a recording of 10 ms or more (it has {units.span_text(series.length_ns)})")
    if count > ROWS_MAX:
        raise wrong("--to", "leoreplayer", f"at most {ROWS_MAX} times 10 ms (it comes to {count})")
    index, lines, off, starts = 0, [], 0, set()
    for i in range(count):
        while index + 1 < len(series.points) and series.points[index + 1][0] <= i * LEO_STEP_NS:
            index += 1
        starts.add(index)
        ns = series.points[index][1]
        ms = (ns + half * _MS // 2) // (half * _MS)
        off = max(off, abs(ms * _MS * half - ns) // half)
        lines.append(str(ms))
    lost = ["the halves of an RTT, which is taken to be the same both ways"] if half == 2 else []
    lost += [f"up to {units.span_text(off)} of a delay, which is in whole ms there"] if off else []
    missed = sum(at < series.length_ns for at, _ in series.points) - len(starts)
    lost += [f"{missed} values between the times of 10 ms"] if missed else []
    lost += [f"the last {units.span_text(rest)}"] if rest else []
    return Made("\n".join(lines) + "\n", tuple(lost))
