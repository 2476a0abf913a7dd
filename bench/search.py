"""How many candidates `dumbbell search` tries until it is as bad as random search gets, on three questions.

    make bench-search [SEEDS=10] [BUDGET=2000]

For each question and seed, random search spends the budget. What it reaches in half of the seeds is the target; printed
is the number of candidates after which CMA-ES reaches it, over the same seeds, and how many times fewer that are.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dumbbell.searching.search import Method, search

ONE: dict[str, Any] = {"name": "main", "cca": "reno"}
PATH = {"rate": "10Mbps", "rtt": "40ms", "buffer": "1bdp"}
#: Of each question the scenario, what is to be broken, and what may change.
QUESTIONS: dict[str, tuple[dict[str, Any], str, tuple[str, ...]]] = {
    "low-rate attack on Reno, at most 5 % of the time": (
        {"name": "shrew", "duration": "20s", "path": PATH, "flow": [ONE]},
        "goodput of main >= 9Mbps",
        ("cuts:200ms..2s:0.5%..5%", "path.buffer=0.5bdp..4bdp", "path.rtt=20ms..200ms"),
    ),
    "two outages that silence BBR": (
        {"name": "outage", "duration": "45s", "path": {**PATH, "rate": "6Mbps"}, "flow": [{**ONE, "cca": "bbr"}]},
        "stall of main <= 1s",
        ("outages=2..2:100ms..2s@1s..40s", "path.buffer=0.5bdp..4bdp"),
    ),
    "starvation of BBR by RTTs, start and buffer": (
        {
            "name": "rtt",
            "duration": "20s",
            "path": {**PATH, "rate": "12Mbps"},
            "flow": [{**ONE, "cca": "bbr"}, {"name": "other", "cca": "bbr"}],
        },
        "share of main >= 50%",
        (
            "flow[0].rtt=5ms..200ms", "flow[1].rtt=5ms..200ms", "flow[1].start=0.001s..5s",
            "path.buffer=0.5bdp..8bdp", "path.loss=0.00001..0.01", "flow[1].jitter.spread=0.1ms..10ms",
        ),
    ),
}  # fmt: skip


def reached(curve: list[tuple[int, float]], target: float) -> float:
    """How many were tried when the margin was as small as this."""
    return next((tried for tried, margin in curve if margin <= target), math.inf)


def main() -> None:
    """Print a line for each question."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=2000)
    given = parser.parse_args()
    for name, (scenario, worst, within) in QUESTIONS.items():
        curves: dict[Method, list[list[tuple[int, float]]]] = {"random": [], "cma": []}
        for method, own in curves.items():
            for seed in range(1, given.seeds + 1):
                with TemporaryDirectory() as folder:
                    how = {"budget": given.budget, "seed": seed, "method": method}
                    found = search(scenario, worst, within=within, out=Path(folder), findings=0, **how)
                own.append(found.archive.curve)
                print(f"{method} {seed}: {own[-1][-1]}", file=sys.stderr)
        bests = sorted(curve[-1][1] for curve in curves["random"])
        target = statistics.median(bests)
        tried = [reached(curve, target) for curve in curves["cma"]]
        median = statistics.median(tried)
        print(
            f"{name}: random reaches {target:.4g} in {given.budget}; CMA-ES after {median:g}"
            f" ({min(tried):g} to {max(tried):g}), {given.budget / median:.1f} times fewer",
            flush=True,
        )


if __name__ == "__main__":
    main()
