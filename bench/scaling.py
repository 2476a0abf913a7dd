#!/usr/bin/env python3
"""How the cost of a packet changes with the scenario: flows, rate, buffer, queue, loss, sampling.

Each row is a whole process on one core: interpreter, set-up and the writing of results count. Rows of one axis are run
in turn, so that a busy neighbour slows all of them. Start-up and sweeps have figures of their own: wall time of a run
of one second, what each run of a sweep costs beside its simulation, and what a second core gains.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from measure import MEMORY, measure, origin, run_dumbbell

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, kw_only=True)
class Point:
    """One scenario of an axis."""

    label: str
    scenario: str
    """File in ``scenarios/``, without ending."""
    overrides: tuple[str, ...]
    """As of ``dumbbell run --set``."""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """Scenarios that differ in one thing."""

    name: str
    goal: str
    """What the rows are held against, in words."""
    points: tuple[Point, ...]


def point(label: str, scenario: str, *overrides: str) -> Point:
    """One scenario and what makes it this point of its axis."""
    return Point(label=label, scenario=scenario, overrides=overrides)


def _flows(count: int) -> Point:
    # The same span of starts for all, so that the shares of start and of steady state are the same.
    spacing_us = 500_000 // count
    return point(f"{count:,}", "flows", f"flow[0].count={count}", f"flow[0].spacing={spacing_us}us")


def _rate(rate: str, duration: str) -> Point:
    return point(rate, "bbr-cubic", f"path.rate={rate}", "path.rtt=20ms", "path.buffer=1bdp", f"duration={duration}")


def _buffer(bdp: str, duration: str = "25s") -> Point:
    rate = ("path.rate=1Gbps", "path.rtt=20ms")
    return point(f"{bdp} BDP", "bbr-cubic", *rate, f"path.buffer={bdp}bdp", f"duration={duration}")


AXES = (
    Axis(
        name="flows at 10 Gbit/s",
        goal="10,000 flows cost at most twice as much a packet as 100",
        points=tuple(_flows(count) for count in (1, 10, 100, 1_000, 10_000)),
    ),
    Axis(
        name="rate",
        goal="flat within a factor of 1.5",
        points=(
            _rate("1Mbps", "25000s"), _rate("10Mbps", "2500s"), _rate("100Mbps", "250s"),
            _rate("1Gbps", "25s"), _rate("10Gbps", "2800ms"), _rate("100Gbps", "700ms"),
        ),
    ),
    Axis(
        name="buffer at 1 Gbit/s, 20 ms",
        goal="flat within a factor of 1.5",
        # With 17 packets of buffer the link is idle most of the time.
        points=(_buffer("0.01", "110s"), *(_buffer(bdp) for bdp in ("0.1", "1", "10", "100"))),
    ),
    Axis(
        name="queue and loss, 100 CUBIC flows",
        goal="FQ-CoDel and 1 % loss within a factor of 1.5 of FIFO without loss",
        points=(
            point("drop tail", "cubic100", "duration=25s"),
            point("FQ-CoDel", "cubic100", "duration=25s", "path.qdisc=fq_codel"),
            point("loss 1 %", "cubic100", "duration=40s", "path.loss=1%"),
        ),
    ),
    Axis(
        name="queue and loss, BBR and CUBIC",
        goal="FQ-CoDel and 1 % loss within a factor of 1.5 of FIFO without loss",
        points=(
            point("drop tail", "bbr-cubic", "duration=250s"),
            point("FQ-CoDel", "bbr-cubic", "duration=250s", "path.qdisc=fq_codel"),
            point("loss 1 %", "bbr-cubic", "duration=250s", "path.loss=1%"),
        ),
    ),
    Axis(
        name="time between samples, 100 CUBIC flows",
        goal="10 ms cost less than 10 % more than none",
        points=(
            point("no samples", "cubic100", "duration=25s", "record.samples=false", "record.queue=false"),
            point("100 ms", "cubic100", "duration=25s"),
            point("10 ms", "cubic100", "duration=25s", "record.every=10ms"),
        ),
    ),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one point costs: medians over the repetitions."""

    axis: str
    label: str
    packets: float
    ns_per_packet: float


def main() -> int:
    """Measure, print the tables, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dumbbell", type=Path, default=Path(".venv/bin/dumbbell"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--only", default="", help="the axes whose name begins so; sweeps: start-up and sweeps alone")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    where = origin()
    print(f"{where}; medians of {args.repeats}, on one core", flush=True)
    rows = []
    for axis in AXES:
        if axis.name.startswith(args.only):
            rows += measured(axis, args)
            print(table(axis, [row for row in rows if row.axis == axis.name]), flush=True)
    result: dict = {"origin": where, "rows": [asdict(row) for row in rows]}
    if "sweeps".startswith(args.only):
        result["sweeps"] = sweeps(args)
        print(sweeps_table(result["sweeps"]))
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(result, indent=2) + "\n")
    return 0


def measured(axis: Axis, args: argparse.Namespace) -> list[Row]:
    """All points of an axis, in turn, as often as asked for."""
    runs: dict[str, list] = {one.label: [] for one in axis.points}
    for turn in range(args.repeats):
        for one in axis.points:
            print(f"{axis.name}, {one.label}: {turn + 1} of {args.repeats}", file=sys.stderr)
            scenario = HERE / "scenarios" / f"{one.scenario}.toml"
            runs[one.label].append(run_dumbbell(args.dumbbell, scenario, core=args.core, overrides=one.overrides))
    return [
        Row(
            axis=axis.name,
            label=label,
            packets=statistics.median(packets for _, packets in costs),
            ns_per_packet=statistics.median(cost.cpu_s / packets * 1e9 for cost, packets in costs),
        )
        for label, costs in runs.items()
    ]


def table(axis: Axis, rows: list[Row]) -> str:
    """An axis as a Markdown table; the last column is the cost over that of the cheapest row."""
    cheapest = min(row.ns_per_packet for row in rows)
    lines = [
        f"\n{axis.name} ({axis.goal})\n",
        "| | packets | ns per packet | to the cheapest |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| {row.label} | {row.packets:,.0f} | {row.ns_per_packet:.0f} | {row.ns_per_packet / cheapest:.2f} |"
        for row in rows
    ]
    return "\n".join(lines)


RUNS = 1000
"""Runs of a second in the sweep that tells what a run costs beside its simulation."""
LONG_RUNS, LONG_S = 96, 60
"""Runs, and seconds of each, of the sweep that tells what a second core gains."""
REPEATED = """
duration = "{seconds}s"
repetitions = {runs}

[path]
rate = "{rate}"
rtt = "40ms"
buffer = "1bdp"

[[flow]]
cca = "cubic"

[[flow]]
cca = "bbr"
"""


def sweeps(args: argparse.Namespace) -> dict[str, float]:
    """Start-up of one run, and what a run of a sweep costs beside its simulation.

    Returns
    -------
    dict
        ``one_run_ms``: wall time of a process that runs one second and prints its table, ``one_run_json_ms`` of one
        that prints JSON; ``overhead_ms``: wall time of a run in a sweep of 1000 with one worker, without the simulation
        itself; ``efficiency_short`` and ``efficiency``: the speed of two workers on two cores over twice that of one,
        for runs of a second and for runs of :data:`LONG_S`.
    """
    one, one_json, alone, overhead = [], [], [], []
    gains: dict[int, list[float]] = {RUNS: [], LONG_RUNS: []}
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        files = {}
        for runs, seconds, rate in ((1, 1, "10Mbps"), (RUNS, 1, "10Mbps"), (LONG_RUNS, LONG_S, "100Mbps")):
            files[runs] = Path(folder) / f"runs{runs}.toml"
            files[runs].write_text(REPEATED.format(runs=runs, seconds=seconds, rate=rate))
        for turn in range(args.repeats):
            print(f"sweeps: {turn + 1} of {args.repeats}", file=sys.stderr)
            one.append(_started(args, files[1], f"{folder}/one{turn}", jobs=1)[0])
            one_json.append(_wall_s(args, files[1], f"{folder}/json{turn}", jobs=1)[0])
            wall_s, simulated_s = _wall_s(args, files[RUNS], f"{folder}/alone{turn}", jobs=1)
            alone.append(wall_s)
            overhead.append((wall_s - simulated_s) / RUNS)
            gains[RUNS].append(wall_s / _wall_s(args, files[RUNS], f"{folder}/both{turn}", jobs=2)[0])
            long_s = _wall_s(args, files[LONG_RUNS], f"{folder}/long{turn}", jobs=1)[0]
            gains[LONG_RUNS].append(long_s / _wall_s(args, files[LONG_RUNS], f"{folder}/longs{turn}", jobs=2)[0])
    return {
        "one_run_ms": statistics.median(one) * 1e3,
        "one_run_json_ms": statistics.median(one_json) * 1e3,
        "run_of_sweep_ms": statistics.median(alone) * 1e3 / RUNS,
        "overhead_ms": statistics.median(overhead) * 1e3,
        "efficiency_short": statistics.median(gains[RUNS]) / 2,
        "efficiency": statistics.median(gains[LONG_RUNS]) / 2,
    }


def _wall_s(args: argparse.Namespace, scenario: Path, out: str, *, jobs: int) -> tuple[float, float]:
    """Wall time of a whole process on as many cores as workers, and the sum of what its runs say of theirs, seconds."""
    wall_s, stdout = _started(args, scenario, out, "--json", jobs=jobs)
    return wall_s, sum(json.loads(line)["wall_s"] for line in stdout.splitlines())


def _started(args: argparse.Namespace, scenario: Path, out: str, *more: str, jobs: int) -> tuple[float, str]:
    """Wall time of a whole process on as many cores as workers, seconds, and what it printed."""
    cores = ",".join(str(core) for core in sorted(os.sched_getaffinity(0), reverse=True)[:jobs])
    command = [str(args.dumbbell), "run", str(scenario), "--out", out, *more, "--jobs", str(jobs)]
    cost, stdout = measure(command, core=cores)
    return cost.wall_s, stdout


def sweeps_table(result: dict[str, float]) -> str:
    """The figures of :func:`sweeps` as a Markdown table."""
    return "\n".join((
        "\nstart-up and sweeps\n",
        "| | measured | goal |",
        "| --- | --- | --- |",
        f"| one run of one second with its table, wall time | {result['one_run_ms']:.0f} ms | 120 ms |",
        f"| the same with --json | {result['one_run_json_ms']:.0f} ms | |",
        f"| each of {RUNS} such runs, one worker, beside the simulation | {result['overhead_ms']:.2f} ms | 10 ms |",
        f"| two workers on two cores, of twice the speed, runs of {LONG_S} s | {result['efficiency']:.0%} | 95 % |",
        f"| the same, runs of one second | {result['efficiency_short']:.0%} | 95 % |",
    ))  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
