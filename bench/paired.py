#!/usr/bin/env python3
"""What got slower than another commit: both engines in turn, on one core, pair by pair.

A busy neighbour slows both runs of a pair, so each pair gives a ratio, and the median of the ratios is what is told,
with the interval that holds it with 95 %. Which pages of memory a file of code lies in decides what it drives out of
the processor's caches: of one engine, copies differ by up to 7 %, each always in the same way. So each run is of a copy
of its own. Where code lies within the file moves times by some percent, too; ``make bench-instructions`` tells these
cases apart. Speed must not change what is computed: whether both wrote the same bytes is told for each case.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from measure import MEMORY, measure

from dumbbell import plan
from dumbbell.scenario import file

HERE = Path(__file__).resolve().parent
ENGINE = Path("release/dumbbell-sim")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A scenario of ``scenarios/`` and what is changed of it: some two million packets."""

    name: str
    scenario: str
    overrides: tuple[str, ...]


CASES = (
    Case(name="cubic100", scenario="cubic100", overrides=("duration=30s",)),
    Case(name="bbr-cubic", scenario="bbr-cubic", overrides=("duration=250s",)),
    Case(name="bbr-rtts", scenario="bbr-rtts", overrides=("duration=650s",)),
    Case(name="1,000 flows at 10 Gbit/s", scenario="flows", overrides=()),
    Case(name="10,000 flows at 10 Gbit/s", scenario="flows", overrides=("flow[0].count=10000", "flow[0].spacing=50us")),
    Case(name="quinn", scenario="quinn", overrides=("duration=60s",)),
)


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of one engine."""

    ns_per_packet: float
    digest: str


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """Time now over time before: median of the pairs, and the interval that holds it with 95 %."""

    median: float
    low: float
    high: float


def main() -> int:
    """Build, run in turn, print; status 1 when a case is slower than `--more` allows, or its bytes differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commit", default="HEAD~1", help="the one before")
    parser.add_argument("--repeats", type=int, default=11, help="pairs of runs; below six no interval is known")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--only", default="", help="the cases whose name begins so")
    parser.add_argument("--more", type=float, default=3.0, help="how much slower a case may surely be, percent")
    args = parser.parse_args()
    engines = (build(Path(), Path("target")), build_commit(args.commit))
    failed = []
    for case in CASES:
        if not case.name.startswith(args.only):
            continue
        now, before = in_turn(case, engines, args)
        ratio = compared(now, before)
        is_same = now[0].digest == before[0].digest
        print(report(case.name, now, before, ratio) + ("" if is_same else "; the bytes differ"), flush=True)
        if ratio.low > 1 + args.more / 100 or not is_same:
            failed.append(case.name)
    if failed:
        print(f"slower, or other bytes: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


def build(tree: Path, target: Path) -> Path:
    """The engine of a tree, with the profile that it has."""
    command = ["cargo", "build", "--locked", "--release", "-p", "dumbbell-sim", "--bin", "dumbbell-sim"]
    if (tree / "tools/pgo.py").exists():
        command = [sys.executable, "tools/pgo.py", "run", *command]
    target = target.resolve()
    subprocess.run([*command, "--target-dir", str(target)], cwd=tree, check=True)
    return target / ENGINE


def build_commit(commit: str) -> Path:
    """The engine of a commit, in a folder of its own."""
    folder = Path("build/paired")
    with tempfile.TemporaryDirectory(dir=folder_made(folder)) as tree:
        files = subprocess.run(["git", "archive", commit], check=True, capture_output=True).stdout
        subprocess.run(["tar", "--extract", "--directory", tree], input=files, check=True)
        return build(Path(tree), folder / "target")


def folder_made(folder: Path) -> Path:
    """The folder, which exists now."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def in_turn(case: Case, engines: tuple[Path, Path], args: argparse.Namespace) -> tuple[list[Run], list[Run]]:
    """All runs of both engines; which of the two goes first changes with each pair."""
    scenario = file.from_file(HERE / "scenarios" / f"{case.scenario}.toml", overrides=case.overrides).scenario
    runs: tuple[list[Run], list[Run]] = ([], [])
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "plan.json"
        text.write_text(json.dumps(plan.runs(scenario)[0].plan))
        for turn in range(args.repeats):
            for i in (0, 1) if turn % 2 == 0 else (1, 0):
                runs[i].append(run(engines[i], text, args.core))
    return runs


def run(engine: Path, text: Path, core: int) -> Run:
    """One run of the engine alone, of a copy of its file."""
    with tempfile.TemporaryDirectory() as copies, tempfile.TemporaryDirectory(dir=MEMORY) as out:
        copied = shutil.copy(engine, copies)
        cost, stdout = measure([copied, str(text), out], core=core)
        files = sorted(Path(out).iterdir())
        digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
        return Run(ns_per_packet=cost.cpu_s * 1e9 / json.loads(stdout)["packets_delivered"], digest=digest)


def compared(now: list[Run], before: list[Run]) -> Ratio:
    """The ratio of the pairs. The interval is that of order statistics, which asks nothing of the distribution."""
    ratios = sorted(a.ns_per_packet / b.ns_per_packet for a, b in zip(now, before))
    n = len(ratios)
    # The lowest `out` and the highest `out` are left out: the median is beyond them with 5 % at most.
    below = [2 * sum(math.comb(n, k) for k in range(out + 1)) / 2**n for out in range(n)]
    out = sum(chance <= 0.05 for chance in below)
    low, high = (ratios[out - 1], ratios[n - out]) if out else (0.0, math.inf)
    return Ratio(median=statistics.median(ratios), low=low, high=high)


def report(name: str, now: list[Run], before: list[Run], ratio: Ratio) -> str:
    """One line."""
    ns = [statistics.median(run.ns_per_packet for run in runs) for runs in (before, now)]
    change, low, high = ((value - 1) * 100 for value in (ratio.median, ratio.low, ratio.high))
    return f"{name}: {ns[0]:.0f} to {ns[1]:.0f} ns a packet, {change:+.1f} % ({low:+.1f} to {high:+.1f})"


if __name__ == "__main__":
    sys.exit(main())
