"""Options of `dumbbell sweep`."""

from __future__ import annotations

import argparse

from .options_run import HOW, ON, WHERE, add_jobs, add_own, add_set, count, titled


def add_sweep(sweep: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell sweep`."""
    sweep.add_argument("file", metavar="FILE", help="scenario (TOML), or gallery:NAME")
    _add_axes(sweep.add_argument_group("what varies, besides the lists of the file"))
    _add_repetitions(sweep.add_argument_group("repetitions"))
    _add_search(sweep.add_argument_group("search"))
    table = sweep.add_argument_group("table at the end")
    table.add_argument(
        "--by", choices=("flow", "table", "run"), help="rows that --until, --where and the table at the end are of"
    )
    table.add_argument("--flows", metavar="LIST", help="only these flows: numbers, ranges, names, such as 0,3-5,bbr")
    table.add_argument("--columns", metavar="LIST", help="figures of the table at the end (docs/metrics.md)")
    table.add_argument("--wide", action="store_true", help="all columns, even if the terminal is too narrow")
    written = titled(sweep, WHERE)
    written.add_argument(
        "--store", metavar="DIR", help="folder of finished runs (default: $DUMBBELL_STORE, or results/.store)"
    )
    written.add_argument("--out", metavar="DIR", help="folder for the results (default: results/<name>-<n>)")
    written.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object per run, or answer of --find, and line",
    )
    titled(sweep, HOW).add_argument("--on", metavar="BACKEND", default="sim", help=ON)
    add_jobs(sweep)
    add_own(sweep)
    add_set(sweep)


def _add_axes(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="KEY=VALUES",
        help=(
            "a key with its values: path.buffer=1bdp,2bdp; path.rate=10Mbps..1Gbps/7 for seven, /7/log with equal"
            " factors; flow.cca=bbr,cubic for every [[flow]] table; flow[0].params.NAME=1,2; repeatable"
        ),
    )
    group.add_argument(
        "--together",
        action="append",
        default=[],
        metavar="KEY,KEY",
        help="keys whose values go in step instead of making a grid; repeatable",
    )
    group.add_argument(
        "--sample",
        type=count,
        metavar="N",
        help="draw N points of all that varies at random; then FROM..TO (/log) without steps is any value between",
    )
    group.add_argument("--seed", type=count, default=1, metavar="N", help="of the sample (default: 1)")


def _add_repetitions(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--repetitions", type=count, metavar="N", help="of each combination")
    group.add_argument(
        "--until",
        action="append",
        default=[],
        metavar="GOAL",
        help="repeat until a 95 %% interval is small, such as 'goodput ci 2%%' or 'queue ci 0.5'; repeatable",
    )
    group.add_argument(
        "--max", type=count, metavar="N", dest="most", help="repetitions that --until may take (default: 30)"
    )


def _add_search(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--find",
        nargs=2,
        metavar=("min|max", "KEY"),
        help="the smallest (or largest) value of a varied key at which --where holds, by bisection",
    )
    group.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="CONDITION",
        help="a condition that must hold, such as 'utilization >= 95%%'; repeatable, then all must",
    )
