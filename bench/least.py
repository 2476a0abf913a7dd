#!/usr/bin/env python3
"""Instructions that a delivered packet takes at least: those of the loops of ``crates/sim/examples/floor.rs``, each
with one part more than the one before.

callgrind counts two runs of each loop, one twice as long: their difference is free of start-up.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

PACKETS = 200_000
#: The loops in their order, and the parts of the engine (:data:`parts.PARTS`) that do the same and more.
LINES = (
    ("events", ("event queue", "event loop and hosts")),
    ("and the bytes of packets and ACKs", ("route and delay lines", "link")),
    ("and the stamps of segments", ("scoreboard and RACK",)),
    ("and the state of both ends", ("sender: ACKs and timers", "controller", "receiver")),
)


def main() -> int:
    """Count and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--floor", type=Path, default=Path("target/release/examples/floor"))
    parser.add_argument("--flows", type=int, default=100)
    args = parser.parse_args()
    whole = [per_packet(args.floor.resolve(), args.flows, line) for line in range(len(LINES))]
    print(table(whole, args.flows))
    return 0


def per_packet(floor: Path, flows: int, line: int) -> float:
    """Instructions per packet of one loop."""
    short, long = (_count([str(floor), str(flows), str(packets), str(line)]) for packets in (PACKETS, 2 * PACKETS))
    return (long - short) / PACKETS


def _count(command: list[str]) -> int:
    with tempfile.NamedTemporaryFile("r") as counts:
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={counts.name}", "--quiet"]
        subprocess.run([*valgrind, *command], check=True, stdout=subprocess.DEVNULL)
        return next(int(line.split()[1]) for line in counts if line.startswith("summary: "))


def table(whole: list[float], flows: int) -> str:
    """The loops as a Markdown table: instructions of each, what its part adds, and who does that in the engine."""
    lines = [f"| at least, {flows} flows | instructions | more | parts of the engine that do it |", "| --- " * 4 + "|"]
    before = 0.0
    for (name, who), n in zip(LINES, whole):
        lines.append(f"| {name} | {n:.0f} | {n - before:.0f} | {', '.join(who)} |")
        before = n
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
