#!/usr/bin/env python3
"""Delivered datagrams per CPU second of quinn in virtual time: its own CUBIC and ours inside it, on one core.

Whole processes are measured, as by ``run.py``; nothing is compared.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from pathlib import Path

from measure import MSS_BYTES, run_dumbbell

SCENARIO = Path(__file__).resolve().parent / "scenarios" / "quinn.toml"
#: Of 1200 bytes 28 to 33 are header, tag and frame.
PAYLOAD_BYTES = 1169


def main() -> int:
    """Measure and print one line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dumbbell", type=Path, default=Path(".venv/bin/dumbbell"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    args = parser.parse_args()
    runs = [run_dumbbell(args.dumbbell, SCENARIO, core=args.core) for _ in range(args.repeats)]
    rates = [segments * MSS_BYTES / PAYLOAD_BYTES / cost.cpu_s for cost, segments in runs]
    print(
        f"quinn: {statistics.median(rates):,.0f} datagrams per CPU s ({min(rates):,.0f} to {max(rates):,.0f}),"
        f" {max(cost.peak_mb for cost, _ in runs):.0f} MB"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
