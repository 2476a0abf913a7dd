#!/usr/bin/env python3
"""The table of docs/kestrel.md: controllers on the links of gallery:held-out.

``held_out.py CCA|FILE ...`` runs them and prints Markdown.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

import dumbbell
from dumbbell.results.load import Results
from dumbbell.scenario.own import is_file, name_in
from dumbbell.units import value_text

SCENARIO = "gallery:held-out"


class Got(NamedTuple):
    """Goodput, Mbit/s, and the mean time in the queue, ms."""

    goodput: float
    delay: float


def main(arguments: Sequence[str]) -> int:
    """Run the controllers, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ccas", nargs="+", metavar="CCA|FILE")
    asked = parser.parse_args(arguments)
    files = [given for given in asked.ccas if is_file(given)]
    names = [name_in(given) if is_file(given) else given for given in asked.ccas]
    scenario = dumbbell.from_file(SCENARIO, overrides=(f"flow[0].cca={names!r}".replace("'", '"'),)).scenario
    print("\n".join(tables(dumbbell.run(scenario, cca=files), names)))
    return 0


def tables(runs: Results, names: Sequence[str]) -> list[str]:
    """Of each link goodput and delay, then what they come to."""
    links: dict[str, dict[str, Got]] = {}
    for run in runs:
        flow, link = run.summary.flows[0], run.summary.link
        links.setdefault(value_text(run.vary["path.rate"]), {})[flow.cca] = Got(
            flow.goodput_mbps, link.sojourn_mean_ms or 0.0
        )
    lines = ["| link | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    for link, got in links.items():
        cells = [f"{got[name].goodput:.1f}, {got[name].delay:.0f} ms" for name in names]
        lines.append(f"| `{link}` | " + " | ".join(cells) + " |")
    rows = list(links.values())
    lines += ["", "| | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    shares = {name: [got[name].goodput / max(one.goodput for one in got.values()) for got in rows] for name in names}
    delays = {name: [got[name].delay / min(one.delay for one in got.values()) for got in rows] for name in names}
    ranks = {name: sum(_rank(got, name) for got in rows) for name in names}
    for title, cells in (
        ("goodput over the best one's, mean", [f"{fmean(shares[name]):.2f}" for name in names]),
        ("the same, worst link", [f"{min(shares[name]):.2f}" for name in names]),
        ("delay over the least, mean", [f"{fmean(delays[name]):.1f}" for name in names]),
        ("the same, worst link", [f"{max(delays[name]):.1f}" for name in names]),
        ("sum of ranks in both", [str(ranks[name]) for name in names]),
    ):
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return lines


def _rank(got: Mapping[str, Got], name: str) -> int:
    """1 for the best: in goodput, and in delay."""
    own = got[name]
    better = sum(one.goodput > own.goodput for one in got.values()) + sum(one.delay < own.delay for one in got.values())
    return 2 + better


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
