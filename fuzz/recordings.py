#!/usr/bin/env python3
"""Throws damaged recordings of every form (tables, numbers, logs and documents of tools, packed or not) at what
reads them, at the scenario that names them and at `dumbbell trace convert`.

A file must either give steps in order, with values between the smallest and the largest number in it, or be refused in
one line that quotes nothing of it; what is converted must be read again with the same length. Anything else is a
finding. Input number i of a seed is always the same.

    fuzz/recordings.py --seconds 60 --seed 1
    fuzz/recordings.py --seed 1 --only 4711
"""

from __future__ import annotations

import bz2
import gzip
import json
import random
import sys
import tempfile
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from throwing import arguments, refused, throw

from dumbbell import plan
from dumbbell.cli import trace_convert, trace_info, trace_series
from dumbbell.errors import ScenarioError
from dumbbell.scenario import file as scenario
from dumbbell.scenario.recordings.forms import NAMES
from dumbbell.scenario.recordings.model import Choice
from dumbbell.scenario.recordings.numbers import LEO_STEP_NS

HEADINGS = (
    "Timestamp", "DL_bitrate", "UL_bitrate", "PINGAVG", "latency_ms", "uplink", "downlink", "ThroughputMbps", "date",
    "elapsed_s", "packet_loss_percent", "rate_MBps", "download_kbps", "\x1b[31mX", "1", "my,own", 'a"b',
    "RTT\u202e(ms)", "time (ns GMT)",
    "time_s", "time_ms", "time (s)", "t [us]", "rate_mbps", "rate_bps", "throughput (Mbit/s)", "rtt_ms", "RTT (s)",
    "delay_ms", "one_way_delay_us", "owd_down_ms", "owd_up_ms", "loss_percent", "loss (%)", "loss_ratio", "rtt", "note",
    "", "time", "\ufeff", "rate_mbps_down",
)  # fmt: skip
CELLS = (
    "0",
    "1",
    "10",
    "0.5",
    "100",
    "",
    " 7 ",
    "-1",
    "1e3",
    "1e999999999",
    "1e-999999999",
    "nan",
    "inf",
    "x",
    "1_0",
    "99999999999999999999999999999",
    "٣",
    "\x00",
    '"1"',
    "+3",
    ".5",
    "1.",
    "0x1",
    "-",
    "NA",
    "null",
    "10,5",
    "1,234",
    '"a""b"',
    '"1',
    "2019-12-14 10:16:30.5",
    "2019.12.14_10.16.30",
    "14/12/2019 10:16",
    "12/14/2019 1:02:03 PM",
    "10:16:30",
    "1576318590",
    "0000-00-00 00:00:00",
    "9999-12-31 24:00:60+99:99",
    "Sat Dec 14 10:16:30 2019",
    "20191214101630",
    "99/99/9999",
)
UNITS = ("kbps", "Mbit/s", "MB/s", "ms", "us", "%", "ppm", "s", "x", "", "B")  # fmt: skip
KEYS = ("rtt", "delay", "rate", "loss")
MARK = "quoted-from-the-file"


def main() -> int:
    """Throw inputs until the time is over."""
    return throw(arguments(__doc__), lambda rng: (take, thrown(rng)))


def thrown(rng: random.Random) -> list[Any]:
    """A file's text, how it is packed, the key that names it, and its other keys."""
    kind = rng.choice((table, table, table, dated, dated, whole, trains, columns, log, pings, events, document))
    made, options = kind(rng), asked(rng)
    if kind in _UNSURE and rng.random() < 0.7:
        options["format"] = rng.choice(_UNSURE[kind])
    for _ in range(rng.choice((0, 0, 0, 0, 0, 0, 1, 2))):
        at = rng.randrange(len(made) + 1)
        spoilt = (
            "\n",
            "\r\n",
            ",",
            ";",
            "\t",
            "#",
            "\x00",
            MARK,
            "\udcff",
            " ",
            '"',
            "\ufeff",
            "{",
            "]",
            "-",
            "9" * 30,
            "e9",
        )
        made = made[:at] + rng.choice(spoilt) + made[at + rng.choice((0, 0, 1, 20)) :]
    return [made, rng.choice((*[""] * 12, "gzip", "bzip2", "cut", "utf-16")), rng.choice(KEYS), options]


def asked(rng: random.Random) -> dict[str, Any]:
    """Keys next to the file's name."""
    options: dict[str, Any] = {}
    if rng.random() < 0.9:
        options["repeat"] = rng.random() < 0.7
    if rng.random() < 0.1:
        options["format"] = rng.choice(NAMES)
    if rng.random() < 0.2:
        options["offset"] = rng.choice(("0s", "1ms", "3s", "1h"))
    if rng.random() < 0.2:
        options["interpolate"] = rng.choice(("1ms", "100us", "1s"))
    if rng.random() < 0.08:
        options["column"] = rng.choice((*HEADINGS, "TCP download", "sum.bits_per_second", "rtt_ms", "2"))
        if rng.random() < 0.6:
            options["unit"] = rng.choice(UNITS)
    if rng.random() < 0.04:
        options["time"] = rng.choice((*HEADINGS, "time_s", "1"))
    if rng.random() < 0.04:
        options["time_unit"] = rng.choice(UNITS)
    if rng.random() < 0.05:
        options["where"] = {rng.choice(HEADINGS): rng.choice(CELLS)}
    return options


def dated(rng: random.Random) -> str:
    """A table whose times are dates or since 1970, with any separator."""
    separator = rng.choice((",", ";", "\t", " "))
    begin = rng.choice((1576318590, 1577836799, 951782399))
    form = rng.choice(
        ("%Y-%m-%d %H:%M:%S", "%Y.%m.%d_%H.%M.%S", "%d/%m/%Y %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%H:%M:%S", "%c", "{}")
    )
    lines = [separator.join(("Timestamp", *rng.sample(HEADINGS, 2), "rtt_ms"))]
    for i in range(rng.choice((1, 2, 20))):
        stamp = datetime.fromtimestamp(begin + i * rng.choice((1, 1, 3600)), UTC).strftime(form)
        cells = [rng.choice(CELLS) if rng.random() < 0.1 else f"{rng.uniform(0, 90):.3f}" for _ in range(3)]
        lines.append(separator.join((stamp.replace("{}", str(begin + i)), *cells)))
    text = rng.choice(("\n", "\r\n")).join(lines)
    return text.replace(".", ",") if separator == ";" and rng.random() < 0.5 else text


def columns(rng: random.Random) -> str:
    """Columns of numbers without a heading."""
    width, separator = rng.choice((1, 2, 2, 3, 6)), rng.choice((" ", "\t", ",", ";"))
    rows = [
        [f"{rng.uniform(0, 99):.{rng.randrange(3)}f}" for _ in range(width)] for _ in range(rng.choice((0, 1, 3, 20)))
    ]
    for i, row in enumerate(rows):
        row[0] = rng.choice(CELLS) if rng.random() < 0.02 else str(i * rng.choice((1, 1, 0)))
    return "\n".join(map(separator.join, rows)) + rng.choice(("", "\n"))


def log(rng: random.Random) -> str:
    """A log of bytes received."""
    now, lines = rng.randrange(10**6), []
    for _ in range(rng.choice((1, 3, 20))):
        apart = rng.choice((1000, 1001, 0, rng.randrange(5000)))
        now += apart
        words = [1453121790686 + now, now, 51.03, 3.73, rng.randrange(10**7), apart]
        lines.append(" ".join(rng.choice(CELLS) if rng.random() < 0.01 else str(word) for word in words))
    return "\n".join(lines)


def pings(rng: random.Random) -> str:
    """What ping prints."""
    lines, now, seq = ["PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data."], 1700182800.0, rng.choice((0, 1, 65530))
    for _ in range(rng.choice((0, 1, 5, 30))):
        now += rng.choice((1, 0.01, 0))
        seq = (seq + rng.choice((1, 1, 1, 2, 0))) % 65536
        stamp = rng.choice(("", f"[{now:.6f}] ")) if rng.random() < 0.1 else f"[{now:.6f}] "
        rtt = rng.choice(CELLS) if rng.random() < 0.05 else f"{rng.uniform(0, 900):.3g}"
        lines.append(
            f"{stamp}64 bytes from 192.0.2.1: icmp_seq={seq} ttl=63 time={rtt} ms{rng.choice(('', '', ' (DUP!)'))}"
        )
    return "\n".join(lines)


def events(rng: random.Random) -> str:
    """A log of mm-link."""
    now = rng.randrange(2000)
    lines = ["# mahimahi mm-link (downlink) [a] > b", f"# base timestamp: {rng.choice((0, now, now + 1))}"]
    for _ in range(rng.choice((0, 1, 20, 200))):
        now += rng.choice((0, 0, 1, 5, 300))
        lines.append(
            rng.choice((f"{now} # 1504", f"{now} # 1504", f"{now} + 1504", f"{now} - 1504 3", f"{now} d 1 1504"))
        )
    return "\n".join(lines) + "\n"


def document(rng: random.Random) -> str:
    """JSON of iperf3, flent or IRTT, with a few values that are something else."""

    def some(value: Any) -> Any:
        return rng.choice((None, True, "x", -1, 1e300, {}, [], 10**40, 0, 0.5, MARK)) if rng.random() < 0.02 else value

    count = rng.choice((0, 1, 3, 20))
    sums = [
        some({"start": some(i), "end": some(i + 1.0), "bits_per_second": some(rng.uniform(0, 1e8))})
        for i in range(count)
    ]
    intervals = some([{"streams": some([{"rtt": some(20000)}]), "sum": one} for one in sums])
    series = some(
        {
            name: some([some(rng.uniform(0, 50)) for _ in range(count)])
            for name in ("Ping (ms) ICMP", "TCP download", "z")
        }
    )
    delays = {"rtt": some(10**7), "send": some(4 * 10**6), "receive": some(6 * 10**6)}
    trips = [
        some({"lost": some("false"), "delay": some(delays), "timestamps": some({"client": some({"send": sent})})})
        for sent in (some({"wall": some(i * 10**7)}) for i in range(count))
    ]
    meta = some({"SERIES_META": some({"z": some({"UNITS": some("Mbits/s")})})})
    made: Any = rng.choice((
        {"start": {}, "intervals": intervals},
        {"x_values": some([some(i * 0.2) for i in range(count)]), "results": series, "metadata": meta},
        {"round_trips": some(trips)},
        {"other": intervals},
    ))  # fmt: skip
    if rng.random() < 0.1:
        return "\n".join(json.dumps({"event": some("interval"), "data": one}) for one in sums)
    return json.dumps(some(made))


def table(rng: random.Random) -> str:
    """A CSV, mostly right."""
    some = rng.sample(("rate_mbps", "rtt_ms", "delay_ms", "loss_percent"), rng.randint(2, 4))
    headings = [rng.choice(("time_s", "time_ms")), *(some if rng.random() < 0.7 else rng.sample(HEADINGS, 2))]
    if rng.random() < 0.1:
        rng.shuffle(headings)
    lines = [",".join(headings)]
    now = rng.choice((0.0, 0.0, 1.7e9))
    for _ in range(rng.choice((0, 1, 2, 5, 30))):
        cells = [f"{rng.uniform(0, 90):.{rng.randrange(6)}f}" for _ in headings[1:]]
        if rng.random() < 0.1:
            cells[rng.randrange(len(cells))] = rng.choice(CELLS)
        lines.append(",".join([f"{now:.6f}", *cells]))
        now += rng.choice((0.01, 0.01, 0.1, 1, 1000, 5, 0 if rng.random() < 0.02 else 2))
    return "\n".join(lines) + rng.choice(("\n", "", "\n\n"))


def whole(rng: random.Random) -> str:
    """A whole number per line: delays, or opportunities where they ascend."""
    numbers = [rng.randrange(200) for _ in range(rng.choice((0, 1, 2, 40)))]
    if rng.random() < 0.5:
        numbers.sort()
    return "".join(f"{rng.choice(CELLS) if rng.random() < 0.02 else number}\n" for number in numbers)


def trains(rng: random.Random) -> str:
    """Times, delays and trains."""
    lines, now = [], rng.choice((0, 5))
    for _ in range(rng.choice((1, 2, 3, 20))):
        words = [now, rng.randrange(100), *(rng.randrange(9) for _ in range(rng.randrange(4)))]
        lines.append(" ".join(rng.choice(CELLS) if rng.random() < 0.02 else str(word) for word in words))
        now += rng.choice((1, 10, 500, 0))
    return "\n".join(lines) + "\n"


#: What somebody has to say of the numbers of some kinds.
_UNSURE = {
    whole: ("leoreplayer", "mahimahi"),
    trains: ("cellreplay",),
    columns: ("pensieve", "oboe", "hsdpa"),
}


def take(given: list[Any]) -> str:
    """The file in a scenario, and converted to each form."""
    text, packing, name, options = given
    data = text.encode("utf-8", "surrogateescape")
    data = {"gzip": gzip.compress, "bzip2": bz2.compress}.get(packing, bytes)(data)
    if packing == "cut":
        data = gzip.compress(data)[:-9]
    if packing == "utf-16":
        data = text.encode("utf-16", "replace")
    with tempfile.TemporaryDirectory() as at:
        file = Path(at) / "recording"
        file.write_bytes(data)
        try:
            check(planned(Path(at), name, options), name)
            found = "accepted by a scenario"
        except ScenarioError as error:
            quiet(error, text)
            refused(name, error)
            found = "refused by a scenario"
        return f"{convert(file, options, text)} and {found},"


def quiet(error: ScenarioError, text: str) -> None:
    """Nothing of a file is quoted but names of columns, and nothing that a terminal obeys."""
    if not all(str(one).isprintable() for one in error.errors):
        raise AssertionError(f"an error has letters that are not printable: {error!r}")
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("#")]
    if MARK in str(error) and (not lines or MARK not in lines[0]):
        raise AssertionError(f"an error quotes the file: {error}")


def planned(folder: Path, name: str, options: dict[str, Any]) -> Any:
    """The part of a plan that is made of the file."""
    path: dict[str, Any] = {"rate": "10Mbps", "rtt": "20ms", "buffer": "100pkt"}
    path[name] = {"trace": "recording", **options}
    given = scenario.from_dict({"duration": "2s", "path": path, "flow": [{"cca": "reno"}]}, folder=folder)
    made: Any = plan.runs(given)[0].plan
    if name == "rate":
        return made["links"][0]
    return next(
        stage for stage in made["flows"][0]["forward"] if stage["kind"] == ("loss" if name == "loss" else "delay")
    )


def check(stage: Any, name: str) -> None:
    """Steps are in order and within what a path has."""
    steps, again = stage["steps"], stage["repeat_ns"]
    most = {"rate": 10**12, "loss": 10**9}.get(name, 60 * 10**9)
    ascends = all(earlier < later for (earlier, _), (later, _) in pairwise(steps))
    if steps and (steps[0][0] != 0 or not ascends or (again is not None and again <= steps[-1][0])):
        raise AssertionError(f"steps out of order: {steps[:5]}..., again at {again}")
    if any(not 0 <= value <= most for _, value in steps):
        raise AssertionError("a value that no path has")


def convert(file: Path, options: dict[str, Any], text: str) -> str:
    """Every form that the file can have is read again, and lasts as long."""
    where = tuple((str(name), str(cell)) for name, cell in options.get("where", {}).items())
    unit = (
        options.get("unit") if options.get("unit") in ("kbps", "Mbit/s", "MB/s", "ms", "us", "%", "ppm", "s") else None
    )
    time_unit = options.get("time_unit") if options.get("time_unit") in ("ms", "us", "s") else None
    choice = Choice(options.get("format"), options.get("column"), unit, options.get("time"), time_unit, where)
    try:
        found = trace_series.read(file, choice, 100_000_000, 1514)
    except ScenarioError as error:
        quiet(error, text)
        return refused("trace", error)
    for line in trace_info.described(found).split("\n"):
        if not line.isprintable():
            raise AssertionError(f"a line is not printable: {line!r}")
    if found.length_ns > 100 * 10**9:
        return f"{found.form} read"
    for to in trace_convert.FORMS:
        try:
            made = trace_convert.convert([found], to, 1514)
        except ScenarioError as error:
            refused("convert", error)
            continue
        written = file.with_name(f"converted-{to}")
        written.write_text(made.text, encoding="utf-8")
        again = trace_series.read(written, Choice(to), 100_000_000, 1514)
        coarse = {"csv": 1, "mahimahi": 1_000_000, "leoreplayer": LEO_STEP_NS}[to]
        if abs(again.length_ns - found.length_ns) > coarse:
            raise AssertionError(f"{to}: {found.length_ns} ns became {again.length_ns} ns")
    return f"{found.form} converted"


if __name__ == "__main__":
    sys.exit(main())
