#!/usr/bin/env python3
"""What each part of the engine costs alone, as one table: the benchmarks of ``crates/bench/benches/parts.rs``
(criterion) and of ``crates/cca/benches/per_ack.rs``.

A part alone has the caches to itself and always goes the same way: in the engine it costs more. What it is good for is
to tell which part a change made cheaper. criterion keeps its measurements in ``build/criterion`` and prints how each
changed since the run before.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from measure import origin


@dataclass(frozen=True, kw_only=True)
class Row:
    """Nanoseconds of one operation, and the interval that holds the median with 95 %, where it is known."""

    name: str
    ns: float
    low: float | None = None
    high: float | None = None


def main() -> int:
    """Build, run, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--only", default="", help="the parts whose name contains this")
    parser.add_argument("--kept", type=Path, default=Path("build/criterion"), help="criterion's own measurements")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    where = origin()
    began = time.time()
    bench("dumbbell-bench", "parts", args, "--noplot", *([args.only] if args.only else []))
    rows = measured(args.kept, began)
    if not args.only:
        rows += controllers(bench("dumbbell-cca", "per_ack", args))
    print(f"{where}; on one core\n\n{table(rows)}")
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        result = {"origin": where, "rows": [asdict(row) for row in rows]}
        args.json.write_text(json.dumps(result, indent=2) + "\n")
    return 0


def bench(package: str, name: str, args: argparse.Namespace, *options: str) -> str:
    """Run one of cargo's benchmarks on one core, built before on all; what it printed is shown and returned."""
    cargo = ["cargo", "bench", "--locked", "--package", package, "--bench", name]
    subprocess.run([*cargo, "--no-run"], check=True)
    environment = {**os.environ, "CRITERION_HOME": str(args.kept.resolve())}
    command = ["taskset", "--cpu-list", str(args.core), *cargo, "--", *options]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    print(done.stdout, file=sys.stderr)
    return done.stdout


def measured(kept: Path, since: float) -> list[Row]:
    """What criterion measured from that time on, in the order of the benchmarks."""
    files = [file for file in kept.glob("*/new/estimates.json") if file.stat().st_mtime >= since]
    rows = []
    for file in sorted(files, key=lambda file: file.stat().st_mtime):
        median = json.loads(file.read_text(encoding="utf-8"))["median"]
        interval = median["confidence_interval"]
        name = json.loads(file.with_name("benchmark.json").read_text(encoding="utf-8"))["full_id"]
        row = Row(name=name, ns=median["point_estimate"], low=interval["lower_bound"], high=interval["upper_bound"])
        rows.append(row)
    return rows


def controllers(stdout: str) -> list[Row]:
    """What ``per_ack`` printed below its heading: a controller and the median of its runs in each line."""
    lines = [line.split() for line in stdout.splitlines()[1:]]
    return [Row(name=f"controller: an ACK, {line[0]}", ns=float(line[1])) for line in lines if len(line) == 2]


def table(rows: list[Row]) -> str:
    """The rows in Markdown."""
    lines = ["| part, and what is done | ns | with 95 % |", "| --- | --- | --- |"]
    for row in rows:
        interval = "" if row.low is None or row.high is None else f"{row.low:.1f} to {row.high:.1f}"
        lines += [f"| {row.name} | {row.ns:.1f} | {interval} |"]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
