#!/usr/bin/env python3
"""Instructions per delivered packet of the engine alone, and which functions they are in.

Seconds depend on who else uses the machine; instructions do not: callgrind counts them, two counts of one binary
agree to a few in a million, and so a change of a quarter of a percent is one. They do not tell what memory costs;
`make bench` does.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.runs import plan
from dumbbell.scenario import file

if TYPE_CHECKING:
    from collections.abc import Iterable

HERE = Path(__file__).resolve().parent


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
    """Count every case, print the table, write the JSON; status 1 when a case costs more than `--against` allows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", type=Path, default=Path("target/release/dumbbell-sim"))
    parser.add_argument("--only", help="the cases whose name begins so")
    parser.add_argument("--top", type=int, default=12, help="functions that are listed of each case")
    parser.add_argument("--json", type=Path, help="where the counts are written")
    parser.add_argument("--against", type=Path, help="counts of another commit, as --json wrote them")
    parser.add_argument("--more", type=float, default=1.0, help="how much more than those a case may cost, percent")
    args = parser.parse_args()
    before = json.loads(args.against.read_text()) if args.against else {}
    rows = {}
    for one in CASES:
        if one.name.startswith(args.only or ""):
            rows[one.name] = count(one, args.engine)
            print(report(one.name, rows[one.name], before.get(one.name), args.top), flush=True)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(rows, indent=2) + "\n")
    dearer = [name for name, row in rows.items() if name in before and change(row, before[name]) > args.more]
    if dearer:
        print(f"more than {args.more} % dearer: {', '.join(dearer)}", file=sys.stderr)
    return int(bool(dearer))


def count(one: Case, engine: Path) -> dict:
    """Run one case under callgrind; its instructions per delivered packet, whole and by function."""
    scenario = file.from_file(HERE / "scenarios" / f"{one.scenario}.toml", overrides=one.overrides).scenario
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        (out / "plan.json").write_text(json.dumps(plan.runs(scenario)[0].plan))
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}/counts", "--quiet"]
        run = [str(engine), f"{out}/plan.json", f"{out}"]
        done = subprocess.run([*command, *run], check=True, capture_output=True, text=True)
        functions = by_function((out / "counts").read_text().splitlines())
    packets = json.loads(done.stdout)["packets_delivered"]
    per_packet = {name: n / packets for name, n in functions.most_common()}
    return {"packets": packets, "instructions": functions.total() / packets, "functions": per_packet}


def by_function(lines: Iterable[str]) -> Counter[str]:
    """Instructions by function, of what callgrind wrote; what was inlined counts where it went.

    Format: https://valgrind.org/docs/manual/cl-format.html. A function is given with its number once, later by its
    number alone; the line after ``calls=`` has what a called function cost, which is listed under that one, too.

    Raises
    ------
    ValueError
        When the counts are not those of the whole program, as callgrind says them itself.
    """
    names: dict[str, str] = {}
    counts: Counter[str] = Counter()
    current, is_called = "", False
    for line in lines:
        key, _, value = line.partition("=")
        if key in {"fn", "cfn"}:
            number, _, name = value.partition(" ")
            names.setdefault(number, name)
            current = names[number] if key == "fn" else current
        elif key == "calls":
            is_called = True
        elif line[:1].isdigit() or line[:1] in {"+", "-", "*"}:
            if not is_called:
                counts[current] += int(line.split()[1])
            is_called = False
        elif line.startswith("totals: ") and counts.total() != int(line.split()[1]):
            msg = f"callgrind counted {line.split()[1]} instructions, its lines have {counts.total()}"
            raise ValueError(msg)
    return counts


def change(row: dict, before: dict) -> float:
    """Percent that a case costs more than before."""
    return (row["instructions"] / before["instructions"] - 1) * 100


def report(case_name: str, row: dict, before: dict | None, top: int) -> str:
    """The counts as text."""
    against = "" if before is None else f" ({change(row, before):+.2f} %)"
    lines = [f"{case_name}: {row['instructions']:,.1f} a packet{against}, {row['packets']:,} packets"]
    for name, n in list(row["functions"].items())[:top]:
        then = "" if before is None else f" ({n - before['functions'].get(name, 0):+.1f})"
        lines.append(f"  {n:8.1f}{then}  {name}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
