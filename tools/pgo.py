#!/usr/bin/env python3
"""Profile-guided optimisation: the compiler is told which ways through the engine are common, and which are not.

`pgo.py run COMMAND...` runs a build with the profile of the checkout, where that is of the compiler that is installed:
a function is found in a profile by a name that other versions of the compiler spell otherwise. A function that changed
since the profile was made is compiled as without one. What a run computes does not depend on any of this.

`pgo.py train` makes the profile: it builds the engine so that it counts, lets it run the gallery and the scenarios of
`bench/`, and merges the counts. It needs `llvm-profdata` of the compiler's LLVM (`rustup component add llvm-tools`).

`pgo.py stale LOG` reads what such a build wrote, and tells when functions that changed had much of the counts.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
PROFILE = ROOT / "crates/py/engine.profdata"
COMPILER = ROOT / "crates/py/engine.profdata.rustc"
"""What `rustc --version` says of the compiler that the profile is for, and in a second line all its counts together."""
WORK = ROOT / "build/pgo"
LONG = (
    ("cubic100", "duration=3s"),
    ("bbr-cubic", "duration=25s"),
    ("bbr-rtts", "duration=60s"),
    ("bbr-cubic", "duration=10s", "path.qdisc=fq_codel"),
    ("cubic100", "duration=1s", "path.qdisc=fq_codel"),
    ("flows", "duration=1s", "flow[0].spacing=100us"),
    ("flows", "duration=1s", "flow[0].count=10000", "flow[0].spacing=10us"),
    ("bbr-cubic", "duration=200s", "path.rate=1Mbps", "path.rtt=20ms", "path.buffer=1bdp"),
    ("bbr-cubic", "duration=1s", "path.rate=1Gbps", "path.rtt=20ms", "path.buffer=0.01bdp"),
)
"""Scenarios of `bench/` that train longer, each with what it is changed by: most of the counts are of plain bulk flows,
which most users run. Thousands of flows, and what makes packets rare or lost, run code that the others hardly do."""
SHORT = "5s"
"""Of a scenario of the gallery, so that every part of the engine is seen."""
LAYOUT = "-enable-ext-tsp-block-placement"
"""LLVM's order of a function's blocks in which those that run after each other lie together: the code that a packet
runs is as large as a processor's first cache of instructions."""
STALE = 0.05
"""Share of the counts that a build may leave unused before it is told."""
CHANGED = re.compile(r"control flow change detected \(hash mismatch\) (\S+) Hash = \d+ up to (\d+) count discarded")
"""The compiler's warning of a function that is not the one that was counted."""


def main() -> int:
    """Train, or run a build."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("train", help="make the profile")
    run = commands.add_parser("run", help="run a build with the profile, where it fits the compiler")
    run.add_argument("build", nargs=argparse.REMAINDER)
    old = commands.add_parser("stale", help="tell when the functions that changed had much of the counts")
    old.add_argument("log", type=Path)
    args = parser.parse_args()
    if args.command == "stale":
        print(stale(args.log.read_text(encoding="utf-8", errors="replace")), end="", file=sys.stderr)
        return 0
    if args.command == "train":
        train()
        return 0
    return subprocess.run(args.build, env=environment(flags()), check=False).returncode


def flags() -> list[str]:
    """Flags of rustc that use the profile; none where it is of another compiler."""
    if not PROFILE.exists() or made_for()[0] != compiler():
        return []
    return [f"-Cprofile-use={PROFILE}", f"-Cllvm-args={LAYOUT}"]


def made_for() -> tuple[str, int]:
    """The compiler that the profile is for, and all its counts together."""
    name, _, counts = COMPILER.read_text(encoding="utf-8").strip().partition("\n")
    return name, int(counts or 0)


def stale(log: str) -> str:
    """What to tell of a build that wrote this: a line, or nothing where most of the profile fits."""
    # A function that several crates have is warned of in each.
    unused = {name: int(counts) for name, counts in CHANGED.findall(log)}
    counts = made_for()[1] if unused else 0
    share = sum(unused.values()) / counts if counts else 0
    if share <= STALE:
        return ""
    return (
        f"the profile of the engine is stale: {len(unused)} functions with {share:.0%} of its counts have changed "
        f"since and are compiled without it (make pgo)\n"
    )


def environment(more: list[str]) -> dict[str, str]:
    """The environment of a build with flags of rustc beside those that it has."""
    if not more:
        return dict(os.environ)
    encoded = os.environ.get("CARGO_ENCODED_RUSTFLAGS")
    given = encoded.split("\x1f") if encoded else os.environ.get("RUSTFLAGS", "").split()
    return {**os.environ, "CARGO_ENCODED_RUSTFLAGS": "\x1f".join([*given, *more])}


def compiler() -> str:
    """Name and version of the compiler; empty where there is none, which the build will say."""
    try:
        done = subprocess.run(["rustc", "--version"], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def train() -> None:
    """Build, run, merge."""
    merger = profdata()
    shutil.rmtree(WORK / "raw", ignore_errors=True)
    engine, module = instrumented()
    package = packaged(module)
    plans = written_plans(WORK / "plans")
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        ran = list(workers.map(lambda plan: run_alone(engine, plan), plans))
    plans = [plan for plan, did in zip(plans, ran) if did]
    run_in_python(package, plans)
    raw = sorted(str(path) for path in (WORK / "raw").glob("*.profraw"))
    subprocess.run([merger, "merge", "--sparse", "--output", str(PROFILE), *raw], check=True)
    shown = subprocess.run([merger, "show", str(PROFILE)], capture_output=True, text=True, check=True).stdout
    [counts] = re.findall(r"^Total count: (\d+)$", shown, re.MULTILINE)
    COMPILER.write_text(f"{compiler()}\n{counts}\n", encoding="utf-8")
    print(f"{PROFILE.relative_to(ROOT)}: {PROFILE.stat().st_size / 1e6:.1f} MB from {len(plans)} runs")


def profdata() -> str:
    """The program that merges counts."""
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    found = sorted(Path(sysroot).glob("lib/rustlib/*/bin/llvm-profdata"))
    if not found:
        sys.exit("pgo.py: no llvm-profdata for this compiler: rustup component add llvm-tools")
    return str(found[0])


def instrumented() -> tuple[Path, Path]:
    """The engine alone, and the Python module, which count. Both are built as for use, one at a time: the features of
    what they depend on differ, and with them the names of functions.
    """
    build = WORK / "target"
    # What runs while they are built counts, too: elsewhere.
    count = environment([f"-Cprofile-generate={WORK / 'builders'}"])
    count["LLVM_PROFILE_FILE"] = str(WORK / "builders" / "%m.profraw")
    cargo = ["cargo", "build", "--locked", "--release", "--target-dir", str(build)]
    for what in (["--package", "dumbbell-py"], ["--package", "dumbbell-sim", "--bin", "dumbbell-sim"]):
        subprocess.run([*cargo, *what], cwd=ROOT, env=count, check=True)
    return build / "release/dumbbell-sim", build / "release/lib_native.so"


def packaged(module: Path) -> Path:
    """A folder with the Python package around that module."""
    package = WORK / "package"
    shutil.rmtree(package, ignore_errors=True)
    (package / "dumbbell").mkdir(parents=True)
    for path in (ROOT / "python/dumbbell").iterdir():
        if not path.name.startswith("_native."):
            (package / "dumbbell" / path.name).symlink_to(path)
    shutil.copy(module, package / "dumbbell/_native.abi3.so")
    return package


def written_plans(folder: Path) -> list[Path]:
    """Plans to train with, one file each."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    paths = []
    for number, plan in enumerate(plans()):
        paths.append(folder / f"{number:03}.json")
        paths[-1].write_text(json.dumps(plan), encoding="utf-8")
    return paths


def plans() -> Iterator[dict]:
    """A plan of every scenario that can be as short as that."""
    from dumbbell import plan
    from dumbbell.errors import DumbbellError
    from dumbbell.scenario import file

    long = [(ROOT / f"bench/scenarios/{name}.toml", changes) for name, *changes in LONG]
    short = [(path, [f"duration={SHORT}"]) for path in sorted((ROOT / "scenarios").rglob("*.toml"))]
    for path, changes in [*long, *short]:
        try:
            scenario = file.from_file(path, overrides=changes).scenario
            yield plan.runs(scenario)[0].plan
        except DumbbellError as error:
            print(f"left out: {error}", file=sys.stderr)


def counting() -> dict[str, str]:
    """The environment of a run that counts."""
    return {**os.environ, "LLVM_PROFILE_FILE": str(WORK / "raw" / "%p-%m.profraw")}


def run_alone(engine: Path, plan: Path) -> bool:
    """One run of the engine alone; False where it refuses the plan: some cannot be so short."""
    out = plan.with_suffix(".out")
    out.mkdir()
    done = subprocess.run([str(engine), str(plan), str(out)], env=counting(), check=False, stdout=subprocess.DEVNULL)
    shutil.rmtree(out)
    return done.returncode == 0


PROGRAM = """
import pathlib, shutil, sys
from dumbbell import _native
for name in sys.argv[1:]:
    out = pathlib.Path(name).with_suffix(".out")
    out.mkdir()
    _native.run(pathlib.Path(name).read_text(), str(out))
    shutil.rmtree(out)
"""


def run_in_python(package: Path, plans: list[Path]) -> None:
    """All runs in one process of Python, which ends as processes do: then the counts are written."""
    environment = {**counting(), "PYTHONPATH": str(package)}
    subprocess.run([sys.executable, "-c", PROGRAM, *map(str, plans)], env=environment, check=True)


if __name__ == "__main__":
    sys.exit(main())
