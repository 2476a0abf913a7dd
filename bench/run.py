#!/usr/bin/env python3
"""Delivered packets per CPU second: dumbbell and ns-3, in turn, on one core, in one session.

Whole processes are measured: interpreter, set-up and the writing of results count. The ns-3 that a
registry offers is not its fastest build, so the ratio to an optimised build is derived with a factor
that was measured once (see ``OPTIMISED``), and is said to be derived.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from measure import MSS_BYTES, Cost, measure, run_dumbbell

HERE = Path(__file__).resolve().parent
PACKETS_MIN = 2_000_000
"""Of a run of dumbbell: with fewer its start, of some 60 ms, would count for much."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One scenario for both simulators."""

    name: str
    """File in ``scenarios/``, without ending."""
    duration: str
    """That of dumbbell's run, in which :data:`PACKETS_MIN` packets are delivered."""
    ns3: tuple[str, ...]
    """The same scenario as arguments of ``peers/ns3/dumbbell.cc``. Its run is as long as the file says: at its rate its
    start counts for nothing, and as many packets would take minutes."""
    optimised: float
    """Packets per CPU second of ns-3.48's optimised build over those of the 3.44 wheel, measured
    with both on one machine (2-core Xeon, November 2026)."""


CASES = (
    Case(
        name="cubic100",
        duration="30s",
        ns3=("--rate=1Gbps", "--flows=TcpCubic*100@20", "--bufferBytes=2500000", "--time=10"),
        optimised=1.61,
    ),
    Case(
        name="bbr-cubic",
        duration="260s",
        ns3=("--rate=100Mbps", "--flows=TcpBbr*1@40,TcpCubic*1@40", "--bufferBytes=500000", "--time=30"),
        optimised=3.10,
    ),
    Case(
        name="bbr-rtts",
        duration="660s",
        ns3=("--rate=40Mbps", "--flows=TcpBbr*1@40,TcpBbr*1@150", "--bufferBytes=750000", "--time=60"),
        optimised=6.64,
    ),
)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One simulator on one scenario: the median over the repetitions."""

    packets: float
    cpu_s: float
    packets_per_cpu_s: float
    """Median of the repetitions' rates, and their extremes."""
    slowest: float
    fastest: float
    peak_mb: float


def main() -> int:
    """Measure, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dumbbell", type=Path, default=Path(".venv/bin/dumbbell"))
    parser.add_argument("--build", type=Path, default=Path("build/peers/ns3"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--only", help="one scenario by name")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    subprocess.run([HERE / "peers/ns3/build.sh", args.build], check=True)
    rows = [compare(case, args) for case in CASES if args.only in (None, case.name)]
    print(table(rows))
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(rows, indent=2) + "\n")
    return 0


def compare(case: Case, args: argparse.Namespace) -> dict:
    """Run both simulators in turn, so that a busy neighbour slows both.

    Raises
    ------
    ValueError
        When a run of dumbbell delivers too few packets to tell what one costs.
    """
    scenario = HERE / "scenarios" / f"{case.name}.toml"
    ours, theirs = [], []
    for turn in range(args.repeats):
        print(f"{case.name}: {turn + 1} of {args.repeats}", file=sys.stderr)
        overrides = [f"duration={case.duration}"]
        ours.append(run_dumbbell(args.dumbbell, scenario, core=args.core, overrides=overrides))
        if ours[-1][1] < PACKETS_MIN:
            msg = f"{case.name}: {ours[-1][1]:,.0f} packets delivered, wanted {PACKETS_MIN:,}"
            raise ValueError(msg)
        cost, stdout = measure([str(args.build / "dumbbell"), *case.ns3], core=args.core)
        theirs.append((cost, json.loads(stdout)["goodput_bytes"] / MSS_BYTES))
    dumbbell, ns3 = summary(ours), summary(theirs)
    ratio = dumbbell.packets_per_cpu_s / ns3.packets_per_cpu_s
    return {
        "scenario": case.name,
        "dumbbell": asdict(dumbbell),
        "ns3_wheel": asdict(ns3),
        "ratio": ratio,
        "optimised_over_wheel": case.optimised,
        "ratio_to_optimised_derived": ratio / case.optimised,
    }


def summary(runs: list[tuple[Cost, float]]) -> Measured:
    """The median run."""
    rates = [packets / cost.cpu_s for cost, packets in runs]
    return Measured(
        packets=statistics.median(packets for _, packets in runs),
        cpu_s=statistics.median(cost.cpu_s for cost, _ in runs),
        packets_per_cpu_s=statistics.median(rates),
        slowest=min(rates),
        fastest=max(rates),
        peak_mb=max(cost.peak_mb for cost, _ in runs),
    )


def table(rows: list[dict]) -> str:
    """The result as a Markdown table."""
    lines = [
        (
            "| scenario | packets | dumbbell, packets per CPU s | ns-3.44 wheel | ratio | to ns-3.48 optimised"
            " (derived) | peak MB: dumbbell, ns-3 |"
        ),
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        ours, theirs = row["dumbbell"], row["ns3_wheel"]
        cells = (
            row["scenario"],
            f"{ours['packets']:,.0f}",
            f"{ours['packets_per_cpu_s']:,.0f} ({ours['slowest']:,.0f} to {ours['fastest']:,.0f})",
            f"{theirs['packets_per_cpu_s']:,.0f} ({theirs['slowest']:,.0f} to {theirs['fastest']:,.0f})",
            f"{row['ratio']:.1f}",
            f"{row['ratio_to_optimised_derived']:.1f}",
            f"{ours['peak_mb']:.0f}, {theirs['peak_mb']:.0f}",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
