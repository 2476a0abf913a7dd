#!/usr/bin/env python3
"""Throws damaged recordings (tables, LeoReplayer's and CellReplay's files, Mahimahi traces) at what reads them, at the
scenario that names them and at `dumbbell trace convert`.

A file must either give steps in order, with values between the smallest and the largest number in it, or be refused in
one line that quotes nothing of it; what is converted must be read again with the same length. Anything else is a
finding. Input number i of a seed is always the same.

    fuzz/recordings.py --seconds 60 --seed 1
    fuzz/recordings.py --seed 1 --only 4711
"""

from __future__ import annotations

import random
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from throwing import arguments, refused, throw

from dumbbell.cli import trace_convert, trace_series
from dumbbell.errors import ScenarioError
from dumbbell.runs import plan
from dumbbell.scenario import file as scenario
from dumbbell.scenario import recordings

HEADINGS = (
    "time_s", "time_ms", "time (s)", "t [us]", "rate_mbps", "rate_bps", "throughput (Mbit/s)", "rtt_ms", "RTT (s)",
    "delay_ms", "one_way_delay_us", "owd_down_ms", "owd_up_ms", "loss_percent", "loss (%)", "loss_ratio", "rtt", "note",
    "", "time", "\ufeff", "rate_mbps_down",
)  # fmt: skip
CELLS = (
    "0", "1", "10", "0.5", "100", "", " 7 ", "-1", "1e3", "1e999999999", "1e-999999999", "nan", "inf", "x", "1_0",
    "99999999999999999999999999999", "٣", "\x00", '"1"', "+3", ".5", "1.", "0x1",
)  # fmt: skip
KEYS = ("rtt", "delay", "rate", "loss")
MARK = "quoted-from-the-file"


def main() -> int:
    """Throw inputs until the time is over."""
    return throw(arguments(__doc__), lambda rng: (take, thrown(rng)))


def thrown(rng: random.Random) -> list[Any]:
    """A file's text, the key that names it, and its other keys."""
    made = rng.choice((table, table, table, whole, trains))(rng)
    if rng.random() < 0.2:
        at = rng.randrange(len(made) + 1)
        made = made[:at] + rng.choice(("\n", "\r\n", ",", "#", "\x00", MARK, "\udcff", " ")) + made[at:]
    options: dict[str, Any] = {}
    if rng.random() < 0.9:
        options["repeat"] = rng.random() < 0.7
    if rng.random() < 0.05:
        options["format"] = rng.choice(("csv", "leoreplayer", "cellreplay", "mahimahi"))
    if rng.random() < 0.2:
        options["offset"] = rng.choice(("0s", "1ms", "3s", "1h"))
    if rng.random() < 0.2:
        options["interpolate"] = rng.choice(("1ms", "100us", "1s"))
    if rng.random() < 0.05:
        options["column"] = rng.choice(HEADINGS)
    return [made, rng.choice(KEYS), options]


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


def take(given: list[Any]) -> str:
    """The file in a scenario, and converted to each form."""
    text, name, options = given
    with tempfile.TemporaryDirectory() as at:
        file = Path(at) / "recording"
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
        try:
            check(planned(Path(at), name, options), name)
            found = f"{name} accepted"
        except ScenarioError as error:
            quiet(error)
            found = refused(name, error)
        convert(file, options.get("format"))
    return found


def quiet(error: ScenarioError) -> None:
    """Nothing of a file is quoted but the headings that a message lists."""
    if MARK in str(error) and "(it has " not in str(error) and "one of: " not in str(error):
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


def convert(file: Path, form: str | None) -> None:
    """Every form that the file can have is read again, and lasts as long."""
    try:
        found = trace_series.read(file, form, 100_000_000, 1514)
    except ScenarioError as error:
        quiet(error)
        refused("trace", error)
        return
    if found.length_ns > 100 * 10**9:
        return
    for to in trace_convert.FORMS:
        try:
            made = trace_convert.convert([found], to, 1514)
        except ScenarioError as error:
            refused("convert", error)
            continue
        written = file.with_name(f"converted-{to}")
        written.write_text(made.text, encoding="utf-8")
        again = trace_series.read(written, to, 100_000_000, 1514)
        coarse = {"csv": 1, "mahimahi": 1_000_000, "leoreplayer": recordings.LEO_STEP_NS}[to]
        if abs(again.length_ns - found.length_ns) > coarse:
            raise AssertionError(f"{to}: {found.length_ns} ns became {again.length_ns} ns")


if __name__ == "__main__":
    sys.exit(main())
