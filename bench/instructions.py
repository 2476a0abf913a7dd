#!/usr/bin/env python3
"""Instructions per delivered packet of the engine alone: by part of the simulator, and by function.

Seconds depend on who else uses the machine; instructions do not: callgrind counts them, two counts of one binary
agree to a few in a million, and so a change of a quarter of a percent is one. They do not tell what memory costs;
`make bench` does. Which part an instruction belongs to is said in ``parts.py``.

The code that a packet runs is as large as the first cache of instructions of most processors. How often an
instruction is not there is counted, too, for a cache as many have (`CACHE`); that changes with the order in which the
compiler lays out the code.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import callgrind
import parts

from dumbbell import plan
from dumbbell.scenario import file

HERE = Path(__file__).resolve().parent
#: Size in bytes, ways, and length of a line in bytes of the cache of instructions.
CACHE = "32768,8,64"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A scenario of ``scenarios/``, short enough for a machine that executes fifty times slower."""

    name: str
    scenario: str
    overrides: tuple[str, ...]


def case(scenario: str, duration: str, variant: str = "", *overrides: str) -> Case:
    """One case; `variant` is what `overrides` make of the scenario."""
    name = f"{scenario} {variant}".strip()
    return Case(name=name, scenario=scenario, overrides=(f"duration={duration}", *overrides))


CASES = (
    case("cubic100", "2s"),
    case("bbr-cubic", "15s"),
    case("bbr-rtts", "30s"),
    case("cubic100", "2s", "fq_codel", "path.qdisc=fq_codel"),
    case("bbr-cubic", "15s", "loss 1%", "path.loss=1%"),
    case("quinn", "5s"),
)


def main() -> int:
    """Count every case, print the table, write the JSON; status 1 when a case is worse than `--against` allows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", type=Path, default=Path("target/release/dumbbell-sim"))
    parser.add_argument("--only", help="the cases whose name begins so")
    parser.add_argument("--top", type=int, default=12, help="functions that are listed of each case")
    parser.add_argument("--json", type=Path, help="where the counts are written")
    parser.add_argument("--against", type=Path, help="counts of another commit, as --json wrote them")
    parser.add_argument("--more", type=float, default=1.0, help="how much more than those a case may cost, percent")
    parser.add_argument(
        "--misses", type=float, default=5.0, help="how many more a packet may miss in the first cache of instructions"
    )
    args = parser.parse_args()
    before = json.loads(args.against.read_text()) if args.against else {}
    rows = {}
    for one in CASES:
        if one.name.startswith(args.only or ""):
            rows[one.name] = count(one, args.engine)
            print(report(one.name, rows[one.name], before.get(one.name), args.top), flush=True)
    print(parts.table({name: row["parts"] for name, row in rows.items()}))
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(rows, indent=2) + "\n")
    status = 0
    for grown, most, unit in ((change, args.more, "% dearer"), (misses, args.misses, "misses a packet more")):
        worse = [name for name, row in rows.items() if name in before and grown(row, before[name]) > most]
        if worse:
            print(f"more than {most} {unit}: {', '.join(worse)}", file=sys.stderr)
            status = 1
    return status


def count(one: Case, engine: Path) -> dict:
    """Run one case under callgrind; its instructions per delivered packet, whole, by part and by function."""
    scenario = file.from_file(HERE / "scenarios" / f"{one.scenario}.toml", overrides=one.overrides).scenario
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        (out / "plan.json").write_text(json.dumps(plan.runs(scenario)[0].plan))
        counted = ["--dump-instr=yes", "--cache-sim=yes", f"--I1={CACHE}"]
        command = ["valgrind", "--tool=callgrind", *counted, f"--callgrind-out-file={out}/counts", "--quiet"]
        run = [str(engine.resolve()), f"{out}/plan.json", f"{out}"]
        done = subprocess.run([*command, *run], check=True, capture_output=True, text=True)
        written = (out / "counts").read_text().splitlines()
        counts = callgrind.read(written)
    packets = json.loads(done.stdout)["packets_delivered"]
    files = callgrind.files(engine, {place.address for place in counts if place.ob == run[0]})
    return {
        "packets": packets,
        "instructions": counts.total() / packets,
        "misses": callgrind.totals(written)["I1mr"] / packets,
        "parts": {part: n / packets for part, n in parts.by_part(counts, files, run[0]).items()},
        "functions": {name: n / packets for name, n in callgrind.by_function(counts).most_common()},
    }


def change(row: dict, before: dict) -> float:
    """Percent that a case costs more than before."""
    return (row["instructions"] / before["instructions"] - 1) * 100


def misses(row: dict, before: dict) -> float:
    """Misses in the first cache of instructions that a packet of a case has more than before; 0 where those were not
    counted.
    """
    return row["misses"] - before.get("misses", row["misses"])


def report(case_name: str, row: dict, before: dict | None, top: int) -> str:
    """The counts as text."""
    against = "" if before is None else f" ({change(row, before):+.2f} %)"
    more = "" if before is None else f" ({misses(row, before):+.1f})"
    missing = f"of which {row['misses']:.1f}{more} are not in the first cache of instructions"
    lines = [f"{case_name}: {row['instructions']:,.1f} a packet{against}, {missing}; {row['packets']:,} packets"]
    for name, n in list(row["functions"].items())[:top]:
        then = "" if before is None else f" ({n - before['functions'].get(name, 0):+.1f})"
        lines.append(f"  {n:8.1f}{then}  {name}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
