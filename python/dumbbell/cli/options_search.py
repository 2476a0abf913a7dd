"""Options of `dumbbell search`."""

from __future__ import annotations

import argparse

from dumbbell.searching import BATCH, BUDGET

from .options_run import HOW, ON, add_own, add_set, count, titled


def add_search(search: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell search`."""
    search.add_argument("file", metavar="FILE", help="scenario (TOML), or gallery:NAME")
    search.add_argument(
        "--worst", metavar="EXPECT",
        help="what is to be broken: a sentence of [[expect]], such as 'goodput of main >= 8Mbps', or the name of a"
        " table of the file (default: its only one)",
    )  # fmt: skip
    search.add_argument(
        "--within", metavar="BOUNDS", action="append", default=[],
        help="what may change: KEY=A..B, KEY=A,B,C, or outages, rate_steps, rtt_steps, cuts, losses, bursts, rivals,"
        " with their number and ranges: outages=2:20ms..10s@5s..20s (docs/search.md); repeatable",
    )  # fmt: skip
    search.add_argument(
        "--budget", type=count, metavar="N", default=BUDGET, help=f"candidates that are tried ({BUDGET})"
    )
    search.add_argument("--for", metavar="TIME", dest="limit", help="end the search after this time, such as 10min")
    search.add_argument("--seed", type=count, metavar="N", default=1, help="seed of what is drawn (1)")
    search.add_argument("--batch", type=count, metavar="N", default=BATCH, help=f"candidates that go at once ({BATCH})")
    search.add_argument("--findings", type=count, metavar="N", default=3, help="findings that are made small (3)")
    search.add_argument(
        "--method",
        choices=("model", "random"),
        default="model",
        help="what a model of the tried ones promises (default), or at random for comparison",
    )
    search.add_argument(
        "--replay",
        metavar="BACKEND",
        help="run the findings on this back end too, such as uml, and say what comes of it",
    )
    how = titled(search, HOW)
    how.add_argument("--on", metavar="BACKEND", default="sim", help=ON)
    how.add_argument(
        "--out",
        metavar="DIR",
        help="folder for findings and the trials; a search there goes on (default: one of its own in results)",
    )
    how.add_argument("--jobs", type=count, metavar="N", help="runs at the same time (default: one per core)")
    how.add_argument("-q", "--quiet", action="store_true", help="no progress")
    how.add_argument("--exit-status", action="store_true", help="end with status 1 if anything breaks the expectation")
    how.add_argument("--json", action="store_true", help="print one JSON object per finding and line, and nothing else")
    add_own(search)
    add_set(search)
