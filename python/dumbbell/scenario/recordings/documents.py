"""JSON of measuring tools: iperf3's intervals, flent's series, IRTT's round trips."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

from dumbbell.errors import shown_name

from .headings import heading as heading_of
from .headings import unit
from .model import LENGTH_MAX_NS, ROWS_MAX, Cell, Heading, Look, Note, RecordingError, Rows
from .times import scaled


def _number(value: object, what: str) -> Cell:
    """A number of a document, or None for null."""
    if value is None or (isinstance(value, (int, Decimal)) and not isinstance(value, bool)):
        return value
    raise RecordingError(f"{what} is no number")


def _ns(value: object, what: str, scale: int = 10**9) -> int:
    try:
        return scaled(str(_number(value, what)), scale)
    except ArithmeticError:
        raise RecordingError(f"{what} is no time") from None


def _objects(listed: object, what: str) -> list[dict[str, Any]]:
    if not isinstance(listed, list) or not listed or not all(isinstance(item, dict) for item in listed):
        raise RecordingError(f"its {what} are empty, or no list of objects")
    if len(listed) > ROWS_MAX:
        raise RecordingError(f"it has over {ROWS_MAX} {what}")
    return listed


def _ascend(at: Sequence[int], what: str) -> list[int]:
    begin = at[0]
    for i, (before, now) in enumerate(pairwise(at), 2):
        if now < before:
            raise RecordingError(f"{what} {i} is before the one before it")
    if at[-1] - begin > LENGTH_MAX_NS:
        raise RecordingError(f"its {what}s take more than ten days")
    return [ns - begin for ns in at]


# --- iperf3 ----------------------------------------------------------------------------------------------------------


def _intervals(document: Any) -> Any:
    """The intervals of a report (`-J`) or of a stream of events (`--json-stream`); None where it is neither."""
    if isinstance(document, dict):
        return document.get("intervals") if {"intervals", "start"} <= set(document) else None
    if (
        isinstance(document, list)
        and document
        and all(isinstance(event, dict) and "event" in event for event in document)
    ):
        return [event.get("data") for event in document if event["event"] == "interval"]
    return None


def is_iperf3(look: Look) -> str | None:
    """Why a file is iperf3's JSON."""
    return "it is JSON with intervals as iperf3 writes it" if _intervals(look.document) is not None else None


def read_iperf3(look: Look) -> Rows:
    """The rate of each interval, and the RTT that the senders saw."""
    listed = _intervals(look.document)
    if not listed:
        raise RecordingError("it is iperf3's JSON without intervals: the test measured nothing")
    intervals = [interval for interval in _objects(listed, "intervals") if not _sum(interval, "sum").get("omitted")]
    if not intervals:
        raise RecordingError("all of its intervals were omitted by iperf3")
    sums = [_sum(interval, "sum") for interval in intervals]
    starts = [_ns(interval.get("start"), "the start of an interval") for interval in sums]
    end = _ns(sums[-1].get("end"), "the end of an interval")
    headings = [Heading("sum.bits_per_second", "rate", 1)]
    cells = [[_number(interval.get("bits_per_second"), "the rate of an interval") for interval in sums]]
    if all("sum_bidir_reverse" in interval for interval in intervals):
        reverse = [_sum(interval, "sum_bidir_reverse") for interval in intervals]
        headings.append(Heading("sum_bidir_reverse.bits_per_second", "rate", 1))
        cells.append([_number(interval.get("bits_per_second"), "the rate of an interval") for interval in reverse])
    rtts = [_rtt_ns(interval) for interval in intervals]
    if any(rtts):
        headings.append(Heading("streams.rtt", "rtt", 1))
        cells.append([rtt or None for rtt in rtts])
    at = _ascend(starts, "interval")
    length = end - starts[0]
    if length <= at[-1]:
        raise RecordingError("its last interval ends before it begins")
    return Rows(tuple(headings), at, cells, (), length)


def _sum(interval: dict[str, Any], name: str) -> dict[str, Any]:
    sums = interval.get(name)
    if isinstance(sums, dict):
        return sums
    raise RecordingError("an interval has no sum of its streams")


def _rtt_ns(interval: dict[str, Any]) -> int:
    """The mean of the streams that measure one, in us there; 0 for none."""
    streams = interval.get("streams")
    given = [stream.get("rtt") for stream in streams if isinstance(stream, dict)] if isinstance(streams, list) else []
    rtts = [rtt for rtt in given if isinstance(rtt, int) and 0 < rtt < 10**9]
    return sum(rtts) * 1_000 // len(rtts) if rtts else 0


# --- flent -----------------------------------------------------------------------------------------------------------


def is_flent(look: Look) -> str | None:
    """Why a file is flent's."""
    document = look.document
    if isinstance(document, dict) and {"x_values", "results"} <= set(document):
        return "it is JSON with x_values and results as flent writes it"
    return None


def read_flent(look: Look) -> Rows:
    """The series of a test, those in Mbit/s and pings, or the one that is named."""
    document = look.document
    times, results = document["x_values"], document["results"]
    if not isinstance(times, list) or not times or not isinstance(results, dict):
        raise RecordingError("its x_values or results are empty")
    if len(times) > ROWS_MAX:
        raise RecordingError(f"it has over {ROWS_MAX} times")
    at = _ascend([_ns(value, "a time") for value in times], "time")
    metadata = document.get("metadata")
    series = metadata.get("SERIES_META") if isinstance(metadata, dict) else None
    headings, cells, ignored = [], [], []
    for name, values in results.items():
        if not isinstance(values, list) or len(values) != len(at):
            raise RecordingError("a series has not as many values as there are times")
        meta = series.get(name) if isinstance(series, dict) else None
        heading = _flent_heading(name, meta.get("UNITS") if isinstance(meta, dict) else None)
        if look.choice.column is None and not heading.quantity:
            ignored.append(shown_name(name))
            continue
        headings.append(heading)
        cells.append([_number(value, "a value of a series") for value in values])
    if not headings:
        raise RecordingError(
            "none of its series is a rate in Mbit/s or a ping; `column` and `unit` take any (--column)"
        )
    return Rows(tuple(headings), at, cells, (), ignored=tuple(ignored))


def _flent_heading(name: str, units: object) -> Heading:
    """A series by its unit; by its name where that is not given (`Ping (ms) ICMP`, `TCP download`)."""
    known = heading_of(name)
    measure = unit(units.split()[0]) if isinstance(units, str) and units.strip() else None
    folded = name.casefold()
    if measure is None and folded.startswith("ping (ms)"):
        measure = ("time", 10**6)
    if measure is None and folded.startswith(("tcp download", "tcp upload")):
        measure = ("rate", 10**6)
    if measure is None:
        return Heading(name, "")
    direction = known.direction or ("down" if "download" in folded else "up" if "upload" in folded else "")
    if measure[0] == "rate":
        return Heading(name, "rate", measure[1], direction)
    if measure[0] == "time" and ("ping" in folded or "rtt" in folded):
        return Heading(name, "rtt", measure[1])
    return Heading(name, "")


# --- IRTT ------------------------------------------------------------------------------------------------------------


def is_irtt(look: Look) -> str | None:
    """Why a file is IRTT's."""
    document = look.document
    is_one = isinstance(document, dict) and "round_trips" in document
    return "it is JSON with round_trips as IRTT writes it" if is_one else None


def read_irtt(look: Look) -> Rows:
    """RTT and one-way delays of each packet, at the time at which the client sent it."""
    trips = _objects(look.document["round_trips"], "round trips")
    at = _ascend([_ns(_sent(trip), "the time of a round trip", 1) for trip in trips], "round trip")
    delays = [given if isinstance(given := trip.get("delay"), dict) else {} for trip in trips]
    lost = [str(trip.get("lost", "false")).casefold() not in ("false", "none") for trip in trips]
    headings, cells = [], []
    for key, heading in (
        ("rtt", Heading("rtt_ns", "rtt", 1)),
        ("receive", Heading("delay_down_ns", "delay", 1, "down")),
        ("send", Heading("delay_up_ns", "delay", 1, "up")),
    ):
        values = [None if gone else _number(delay.get(key), "a delay") for delay, gone in zip(delays, lost)]
        if key == "rtt" or all(isinstance(value, int) and value >= 0 for value in values if value is not None):
            headings.append(heading)
            cells.append(values)
    if sum(lost) == len(trips):
        raise RecordingError("all of its packets are lost")
    text = f"lost packets, for which the value before them holds, as no losses: {sum(lost)} of {len(trips)}"
    return Rows(tuple(headings), at, cells, (), notes=(Note(text),) if any(lost) else ())


def _sent(trip: dict[str, Any]) -> object:
    """Time at which the client sent a packet, on its wall clock or since its start."""
    inner: Any = trip
    for key in ("timestamps", "client", "send"):
        inner = inner.get(key) if isinstance(inner, dict) else None
    if not isinstance(inner, dict):
        raise RecordingError("a round trip has no time at which it was sent")
    return inner.get("wall", inner.get("monotonic"))
