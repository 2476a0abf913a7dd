"""How many candidates `dumbbell search` tries until it is as bad as random search gets, on three questions.

    make bench-search [SEEDS=10] [BUDGET=2000]

For each question and seed, random search spends the budget. What it reaches in half of the seeds is the target; printed
is the number of candidates after which the search reaches it, over the same seeds, and how many times fewer that are.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dumbbell.searching.archive import Archive
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


class Reached(Exception):  # noqa: N818 (nothing is wrong)
    """As bad as is asked for: no need to go on."""


def reached(name: str, method: Method, seed: int, budget: int, target: float) -> tuple[float, float]:
    """How many a search tries until a margin is as small as `target`, infinite where it does not; and its smallest."""
    curve: list[tuple[int, float]] = []

    def heard(archive: Archive) -> None:
        curve[:] = archive.curve
        if curve and curve[-1][1] <= target:
            raise Reached

    scenario, worst, within = QUESTIONS[name]
    how: dict[str, Any] = {"budget": budget, "seed": seed, "method": method, "findings": 0, "tell": heard}
    with TemporaryDirectory() as folder, suppress(Reached):
        search(scenario, worst, within=within, out=Path(folder), **how)
    print(f"{method} {seed}: {curve[-1]}", file=sys.stderr, flush=True)
    return next((tried for tried, margin in curve if margin <= target), math.inf), curve[-1][1]


def main() -> None:
    """Print a line for each question."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=2000)
    given = parser.parse_args()
    seeds = range(1, given.seeds + 1)
    for name in QUESTIONS:
        target = statistics.median(reached(name, "random", seed, given.budget, -math.inf)[1] for seed in seeds)
        tried = [reached(name, "model", seed, given.budget, target)[0] for seed in seeds]
        median = statistics.median(tried)
        print(
            f"{name}: random reaches {target:.4g} in {given.budget}; the search after {median:g}"
            f" ({min(tried):g} to {max(tried):g}), {given.budget / median:.1f} times fewer",
            flush=True,
        )


if __name__ == "__main__":
    main()
