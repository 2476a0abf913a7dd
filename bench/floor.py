#!/usr/bin/env python3
"""What a delivered packet costs at least, beside what it costs in the engine: ns and instructions.

The loops are those of ``crates/sim/examples/floor``, each with one part more than the one before. The last has the
engine's own TCP at both ends of a path that does nothing but delay, and on which nothing is lost: what the engine takes
above it is the price of routes, queues, losses and their repair, samples, tables and start-up; what it takes above the
other loops is that of this TCP. For time, the loops and the whole command run in turn on one core; a loop's time is
without its start. For instructions, callgrind counts two runs of each loop, one twice as long: their difference is
free of start-up.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import instructions
from measure import measure, origin, run_dumbbell

HERE = Path(__file__).resolve().parent
PACKETS = 2_000_000
COUNTED = 200_000
#: The loops in their order, and the parts of the engine (:data:`parts.PARTS`) that do the same and more.
LINES = (
    ("events", ("event queue", "event loop and hosts")),
    ("and the bytes of packets and ACKs", ("route and delay lines", "link")),
    ("and the stamps of segments", ("scoreboard and RACK",)),
    ("and the state of both ends", ("sender: what it sends", "receiver", "receiver: ACKs", "host queue")),
    ("and rate samples and the controller", ("sender: ACKs and timers", "controller")),
    ("instead of the last three: the engine's TCP, without losses", ()),
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A scenario of ``scenarios/``, and a loop that has its flows and its path."""

    name: str
    scenario: str
    duration: str
    """Of some two million packets."""
    counted: str
    """Duration of the run whose instructions are counted."""
    loop: tuple[str, ...]
    """Flows, controllers, Mbit/s and RTT in us."""
    overrides: tuple[str, ...] = ()


CASES = (
    Case(
        name="1 Gbit/s, 100 CUBIC flows, 20 ms", scenario="cubic100", duration="25s", counted="2s",
        loop=("100", "cubic", "1000", "20000"),
    ),
    Case(
        name="100 Mbit/s, BBR and CUBIC, 40 ms", scenario="bbr-cubic", duration="250s", counted="15s",
        loop=("2", "bbr,cubic", "100", "40000"),
    ),
    # The mean of both round-trip times.
    Case(
        name="40 Mbit/s, two BBR, 40 and 150 ms", scenario="bbr-rtts", duration="650s", counted="30s",
        loop=("2", "bbr", "40", "95000"),
    ),
    Case(
        name="10 Gbit/s, 10,000 CUBIC flows, 20 ms", scenario="flows", duration="3s", counted="1s",
        overrides=("flow[0].count=10000", "flow[0].spacing=50us"), loop=("10000", "cubic", "10000", "20000"),
    ),
)  # fmt: skip


def main() -> int:
    """Measure, count, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--floor", type=Path, default=Path("target/release/examples/floor"))
    parser.add_argument("--engine", type=Path, default=Path("target/release/dumbbell-sim"))
    parser.add_argument("--dumbbell", type=Path, default=Path(".venv/bin/dumbbell"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--only", default="", help="the cases whose name begins so")
    args = parser.parse_args()
    floor = args.floor.resolve()
    print(f"{origin()}; medians of {args.repeats}, on one core", flush=True)
    cases = [one for one in CASES if one.name.startswith(args.only)]
    print(table("ns per packet", cases, [times(one, floor, args) for one in cases]), flush=True)
    loops = [[counted(one, floor, line) for line in range(len(LINES))] for one in cases]
    engine = [whole(one, args.engine) for one in cases]
    columns = [[*found, of["instructions"]] for found, of in zip(loops, engine)]
    print(table("instructions per packet", cases, columns), flush=True)
    for one, found, of in zip(cases, loops, engine):
        print(beside(one, found, of["parts"]))
    return 0


def times(case: Case, floor: Path, args: argparse.Namespace) -> list[float]:
    """Nanoseconds per packet of each loop and of the whole command, medians of runs in turn."""
    turns = []
    for _ in range(args.repeats):
        row = [
            float(measure([str(floor), *case.loop, str(PACKETS), str(line)], core=args.core)[1])
            for line in range(len(LINES))
        ]
        scenario = HERE / "scenarios" / f"{case.scenario}.toml"
        cost, packets = run_dumbbell(
            args.dumbbell, scenario, core=args.core, overrides=(f"duration={case.duration}", *case.overrides)
        )
        turns.append([*row, cost.cpu_s / packets * 1e9])
    return [statistics.median(column) for column in zip(*turns)]


def counted(case: Case, floor: Path, line: int) -> float:
    """Instructions per packet of one loop."""
    short, long = (_count([str(floor), *case.loop, str(n), str(line)]) for n in (COUNTED, 2 * COUNTED))
    return (long - short) / COUNTED


def whole(case: Case, engine: Path) -> dict:
    """Instructions per packet of the engine with its start, whole and by part (:func:`instructions.count`)."""
    return instructions.count(instructions.case(case.scenario, case.counted, "", *case.overrides), engine)


def _count(command: list[str]) -> int:
    with tempfile.NamedTemporaryFile("r") as counts:
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={counts.name}", "--quiet"]
        subprocess.run([*valgrind, *command], check=True, stdout=subprocess.DEVNULL)
        return next(int(line.split()[1]) for line in counts if line.startswith("summary: "))


def table(unit: str, cases: list[Case], columns: list[list[float]]) -> str:
    """A Markdown table: the loops, the engine, and how far it is from the last two loops."""
    heads = " | ".join(case.name for case in cases)
    lines = [f"\n| {unit} | {heads} |", "| --- " * (len(cases) + 1) + "|"]
    names = [*(name for name, _ in LINES), "the engine"]
    for name, row in zip(names, zip(*columns)):
        lines.append(f"| {name} | " + " | ".join(f"{value:,.0f}" for value in row) + " |")
    for name, line in (("to its TCP without losses", -2), ("to events, bytes and controller", -3)):
        ratios = " | ".join(f"{column[-1] / column[line]:.1f}" for column in columns)
        lines.append(f"| the engine {name} | {ratios} |")
    return "\n".join(lines)


def beside(case: Case, loops: list[float], parts: dict[str, float]) -> str:
    """A Markdown table: what each loop but the last adds, and what the parts of the engine take that do it."""
    lines = [f"\n| {case.name} | at least | in the engine | parts |", "| --- " * 4 + "|"]
    before = 0.0
    for (name, who), n in zip(LINES[:-1], loops):
        lines.append(f"| {name} | {n - before:,.0f} | {sum(parts[part] for part in who):,.0f} | {', '.join(who)} |")
        before = n
    told = {part for _, who in LINES for part in who}
    others = {part: n for part, n in parts.items() if part not in told and n >= 1}
    lines.append(f"| none of these | | {sum(others.values()):,.0f} | {', '.join(others)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
