#!/usr/bin/env python3
"""Peak memory of a long run: 300 s of 100 CUBIC flows at 1 Gbit/s, 25 million data packets."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from measure import origin, run_dumbbell

HERE = Path(__file__).resolve().parent
PEAK_MB_MAX = 1024 * 1024 * 1024 / 1e6
"""One GiB."""


def main() -> int:
    """Run it once; fail when it needs more than :data:`PEAK_MB_MAX`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dumbbell", type=Path, default=Path(".venv/bin/dumbbell"))
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    where = origin()
    cost, packets = run_dumbbell(args.dumbbell, HERE / "scenarios/memory.toml", core=args.core)
    result = {"origin": where, "packets": packets, **asdict(cost), "limit_mb": PEAK_MB_MAX}
    print(
        f"{where}\n{packets / 1e6:.1f} million packets, {cost.cpu_s:.1f} CPU s, "
        f"{packets / cost.cpu_s:,.0f} packets per CPU s, peak {cost.peak_mb:.0f} MB "
        f"(limit {PEAK_MB_MAX:.0f})"
    )
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(result, indent=2) + "\n")
    return int(cost.peak_mb > PEAK_MB_MAX)


if __name__ == "__main__":
    sys.exit(main())
