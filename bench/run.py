#!/usr/bin/env python3
"""Delivered packets per CPU second: dumbbell and other simulators, in turn, on one core, in one session.

Whole processes are measured: interpreter, set-up and the writing of results count. What the others simulate is as close
to dumbbell's scenario as they can; ``simulators.py`` says what they lack. Where only a slower build of one is at hand,
the rate of the faster one is derived with a factor that was measured once, and is said to be derived.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import simulators
from measure import MSS_BYTES, Cost, measure, origin, run_dumbbell

HERE = Path(__file__).resolve().parent
PACKETS_MIN = 4_000_000
"""Of a run of dumbbell: with fewer its start, of some 40 ms, would count for more than 6 %."""
GOODPUT_MIN = 0.85
"""Share of the link's rate that every simulator has to deliver: with less it does not simulate the scenario."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One scenario for all simulators that can run it."""

    name: str
    """File in ``scenarios/``, without ending."""
    title: str
    rate_mbps: float
    duration_s: float
    """That of dumbbell's run, in which :data:`PACKETS_MIN` packets are delivered."""


CASES = (
    Case(name="cubic100", title="1 Gbit/s, 100 CUBIC flows, 20 ms", rate_mbps=1000, duration_s=60),
    Case(name="bbr-cubic", title="100 Mbit/s, BBR and CUBIC, 40 ms", rate_mbps=100, duration_s=600),
    Case(name="bbr-rtts", title="40 Mbit/s, two BBR, 40 and 150 ms", rate_mbps=40, duration_s=1400),
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One simulator on one scenario: the median over the repetitions."""

    scenario: str
    simulator: str
    what: str
    packets_per_cpu_s: float
    """Median of the repetitions' rates, and their extremes."""
    slowest: float
    fastest: float
    packets: float
    goodput_mbps: float
    cpu_s: float
    peak_mb: float
    factor: float | None = None
    """Where the rate is derived: what the row above was multiplied with."""


def main() -> int:
    """Measure, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dumbbell", type=Path, default=Path(".venv/bin/dumbbell"))
    parser.add_argument("--build", type=Path, default=Path("build/peers"))
    parser.add_argument("--htsim", type=Path, help="a checkout of htsim")
    parser.add_argument("--ns3", type=Path, help="a checkout of ns-3, whose optimised build replaces the registry's")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--only", help="one scenario by name")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    peers, left_out = simulators.available(args.build.resolve(), htsim_checkout=args.htsim, ns3_checkout=args.ns3)
    where = origin()
    cases = [case for case in CASES if args.only in (None, case.name)]
    rows = [row for case in cases for row in compare(case, peers, args)]
    print(f"{where}; medians of {args.repeats}, in turn, on one core\n\n{table(rows)}\n")
    for reason in left_out:
        print(f"left out: {reason}")
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        result = {"origin": where, "rows": [asdict(row) for row in rows], "left_out": left_out}
        args.json.write_text(json.dumps(result, indent=2) + "\n")
    return 0


def compare(case: Case, peers: list[simulators.Peer], args: argparse.Namespace) -> list[Row]:
    """Run all simulators in turn, so that a busy neighbour slows all.

    Raises
    ------
    ValueError
        When a run of dumbbell delivers too few packets to tell what one costs.
    """
    able = [peer for peer in peers if case.name in peer.calls]
    scenario = HERE / "scenarios" / f"{case.name}.toml"
    ours: list[tuple[Cost, float]] = []
    theirs: dict[str, list[tuple[Cost, float]]] = {peer.name: [] for peer in able}
    for turn in range(args.repeats):
        print(f"{case.name}: {turn + 1} of {args.repeats}", file=sys.stderr)
        overrides = [f"duration={case.duration_s:g}s"]
        ours.append(run_dumbbell(args.dumbbell, scenario, core=args.core, overrides=overrides))
        if ours[-1][1] < PACKETS_MIN:
            msg = f"{case.name}: {ours[-1][1]:,.0f} packets delivered, wanted {PACKETS_MIN:,}"
            raise ValueError(msg)
        for peer in able:
            cost, stdout = measure([*peer.program, *peer.calls[case.name].arguments], core=args.core)
            theirs[peer.name].append((cost, delivered(stdout)))
    rows = [summary(case, "dumbbell", "as Linux: RACK, TLP, PRR, TSO, pacing", ours, case.duration_s)]
    for peer in able:
        row = summary(case, peer.name, peer.what, theirs[peer.name], peer.calls[case.name].seconds)
        rows += [row, *derived(peer, case, row)]
    return rows


def delivered(stdout: str) -> float:
    """Packets that a peer says it delivered, among other things that it says."""
    line = next(line for line in reversed(stdout.splitlines()) if line.startswith("{"))
    return float(json.loads(line)["goodput_bytes"]) / MSS_BYTES


def summary(case: Case, simulator: str, what: str, runs: list[tuple[Cost, float]], seconds: float) -> Row:
    """The median run.

    Raises
    ------
    ValueError
        When the goodput is not that of a link which is used, and no more than it: it was another scenario.
    """
    rates = [packets / cost.cpu_s for cost, packets in runs]
    packets = statistics.median(packets for _, packets in runs)
    goodput_mbps = packets * MSS_BYTES * 8e-6 / seconds
    if not GOODPUT_MIN <= goodput_mbps / case.rate_mbps <= 1:
        msg = f"{case.name}: {simulator} delivers {goodput_mbps:.1f} of {case.rate_mbps:g} Mbit/s"
        raise ValueError(msg)
    return Row(
        scenario=case.title,
        simulator=simulator,
        what=what,
        packets_per_cpu_s=statistics.median(rates),
        slowest=min(rates),
        fastest=max(rates),
        packets=packets,
        goodput_mbps=goodput_mbps,
        cpu_s=statistics.median(cost.cpu_s for cost, _ in runs),
        peak_mb=max(cost.peak_mb for cost, _ in runs),
    )


def derived(peer: simulators.Peer, case: Case, row: Row) -> list[Row]:
    """What the peer's faster build would do, by the factor that was measured once; nothing where there is none."""
    if case.name not in peer.factors:
        return []
    factor = peer.factors[case.name]
    return [
        replace(
            row,
            simulator=f"{peer.faster_build} (derived: times {factor:g})",
            packets_per_cpu_s=row.packets_per_cpu_s * factor,
            factor=factor,
        )
    ]


def table(rows: list[Row]) -> str:
    """The result as a Markdown table; the last column is above 1 where dumbbell is faster."""
    lines = [
        "| | simulator | packets per CPU second | single runs | Mbit/s | peak MB | dumbbell's rate to it |",
        "| --- " * 7 + "|",
    ]
    titles = [row.scenario for row in rows]
    for i, row in enumerate(rows):
        first = titles.index(row.scenario)
        is_measured = row.factor is None
        cells = (
            row.scenario if i == first else "",
            f"{row.simulator}: {row.what}" if is_measured else row.simulator,
            f"{row.packets_per_cpu_s:,.0f}",
            f"{row.slowest:,.0f} to {row.fastest:,.0f}" if is_measured else "",
            f"{row.goodput_mbps:.1f}" if is_measured else "",
            f"{row.peak_mb:.0f}" if is_measured else "",
            "" if i == first else f"{rows[first].packets_per_cpu_s / row.packets_per_cpu_s:.3g}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
