#!/usr/bin/env python3
"""Where the engine spends its time on a scenario: samples of Linux perf, the functions with most of them first.

Runs the engine alone, in a build with symbols and frame pointers (the profile ``profiling``). perf counts the
processor's cycles; where it has no counters, as on most virtual machines, it samples by the clock (cpu-clock). What
was inlined is in the function it went into; ``perf annotate`` on the file of samples tells lines.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import paired

from dumbbell import plan
from dumbbell.scenario import file

#: Samples a second, no multiple of what the engine may do regularly.
HZ = 4999
PERCENT_MIN = 0.5


def main() -> int:
    """Record and print; what perf recorded stays for its other commands."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--engine", type=Path, default=Path("target/profiling/dumbbell-sim"))
    parser.add_argument("--scenario", default="bbr-cubic", choices=[case.name for case in paired.CASES])
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=Path, default=Path("build/profile.data"))
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    case = next(case for case in paired.CASES if case.name == args.scenario)
    record(case, args)
    print(report(args.out))
    print(f"samples: {args.out} (perf report --input {args.out})")
    return 0


def record(case: paired.Case, args: argparse.Namespace) -> None:
    """Run the case under perf, with the callers of each sample."""
    scenario = file.from_file(paired.HERE / "scenarios" / f"{case.scenario}.toml", overrides=case.overrides).scenario
    with tempfile.TemporaryDirectory() as out:
        plan_file = Path(out, "plan.json")
        plan_file.write_text(json.dumps(plan.runs(scenario)[0].plan))
        run = ["taskset", "--cpu-list", str(args.core), str(args.engine), str(plan_file), out]
        perf = ["perf", "record", "--quiet", f"--freq={HZ}", "--call-graph=fp", f"--output={args.out}", "--"]
        subprocess.run([*perf, *run], check=True, stdout=subprocess.DEVNULL)


def report(samples: Path) -> str:
    """Functions by their own share of the samples, without those that have next to none."""
    options = ["--stdio", "--no-children", "--call-graph=none", f"--percent-limit={PERCENT_MIN}"]
    command = ["perf", "report", f"--input={samples}", "--fields=overhead,symbol", *options]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    # Of perf's own comments only the one that tells how many samples of what there are.
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join(line for line in lines if line and (line[0] != "#" or line.startswith("# Samples")))


if __name__ == "__main__":
    sys.exit(main())
