#!/usr/bin/env python3
"""How long `dumbbell reproduce` takes with the papers' full times and repetitions, extrapolated from a sample of runs.

The runs of a profile stand in the order of the papers, each with the packets that its links could carry as its weight.
Every N-th part of the whole weight picks the run that it falls into, so that long runs are picked as often as they
matter (systematic sampling with probability proportional to size). A picked run is made and its processor time taken.
The mean of time over weight, times the whole weight, estimates the time of all runs; its spread gives the interval.
Reading, drawing and judging are not in it; `dumbbell reproduce all --fast` shows them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell import backends, suites
from dumbbell.runs.progress import effort
from dumbbell.runs.store import Store
from dumbbell.suites.book import Book
from dumbbell.suites.table import FAST, FULL

if TYPE_CHECKING:
    from dumbbell.runs.job import Job


@dataclass(frozen=True, kw_only=True)
class Row:
    """A paper, or all."""

    name: str
    runs: int
    simulated_s: float
    sampled: int
    cpu_s: float
    """Of all runs, estimated."""
    error_s: float
    """Half of the 95 % interval of it."""


def picks(weights: Sequence[int], count: int) -> list[int]:
    """Numbers of the runs that `count` equal steps through the weight fall into, from the middle of the first step on.

    A run that is heavier than a step comes more than once.
    """
    step = sum(weights) / count
    found: list[int] = []
    reached = 0
    for number, weight in enumerate(weights):
        reached += weight
        while len(found) < count and (len(found) + 0.5) * step < reached:
            found.append(number)
    return found


def total(weights: Sequence[int], sample: Sequence[tuple[int, float]]) -> tuple[float, float]:
    """Seconds of all runs, and half of the 95 % interval, by the (weight, seconds) of picked ones."""
    whole = sum(weights)
    ratios = [seconds / weight for weight, seconds in sample]
    spread = statistics.stdev(ratios) / math.sqrt(len(ratios)) if len(ratios) > 1 else math.nan
    return whole * statistics.fmean(ratios), 1.96 * whole * spread


def cpu_s(job: Job) -> float:
    """Processor seconds of one run, its files included."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        backends.run(job.request, Path(folder) / "run")
        return time.process_time() - began


def row(name: str, jobs: Sequence[Job], count: int) -> Row:
    """Sample the runs of a paper."""
    weights = [effort(job) for job in jobs]
    numbers = picks(weights, min(count, len(jobs)))
    once = {number: cpu_s(jobs[number]) for number in dict.fromkeys(numbers)}
    seconds, error = total(weights, [(weights[number], once[number]) for number in numbers])
    return Row(
        name=name, runs=len(jobs), simulated_s=sum(job.planned.plan["duration_ns"] for job in jobs) / 1e9,
        sampled=len(once), cpu_s=seconds, error_s=error,
    )  # fmt: skip


def together(rows: Sequence[Row]) -> Row:
    """All papers; runs that two papers share would count twice, but no two have any."""
    return Row(
        name="all", runs=sum(one.runs for one in rows), simulated_s=sum(one.simulated_s for one in rows),
        sampled=sum(one.sampled for one in rows), cpu_s=sum(one.cpu_s for one in rows),
        error_s=math.hypot(*(one.error_s for one in rows)),
    )  # fmt: skip


def table(rows: Sequence[Row], cores: int) -> str:
    """As Markdown."""
    lines = [
        f"| paper | runs | simulated, hours | sampled runs | processor, hours | on {cores} cores, hours |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {one.name} | {one.runs:,} | {one.simulated_s / 3600:.1f} | {one.sampled} |"
        f" {one.cpu_s / 3600:.2f} ± {one.error_s / 3600:.2f} | {one.cpu_s / 3600 / cores:.2f} |"
        for one in rows
    ]
    return "\n".join(lines)


def main() -> int:
    """Sample each paper's runs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=30, help="picked runs of each paper (30)")
    parser.add_argument("--fast", action="store_true", help="the fast profile instead of the full one")
    parser.add_argument("--json", type=Path)
    parser.add_argument("paper", nargs="*", help="papers or figures (all)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        book = Book(Store(folder), FAST if args.fast else FULL)
        by_paper: dict[str, list[str]] = {}
        for name in suites.chosen(args.paper or ["all"]):
            by_paper.setdefault(name.partition("/")[0], []).append(name)
        rows = [row(paper, book.jobs(book.needed(names)), args.count) for paper, names in by_paper.items()]
    if len(rows) > 1:
        rows.append(together(rows))
    print(table(rows, os.cpu_count() or 1))
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps([asdict(one) for one in rows], indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
