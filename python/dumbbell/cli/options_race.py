"""Options of `dumbbell race`."""

from __future__ import annotations

import argparse

from .options_run import ON, add_own, add_set, count


def add_race(race: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell race`."""
    race.add_argument(
        "ccas", nargs="+", metavar="CCA",
        help="controllers: bbr3, 2xbbr for two flows, cubic@10ms for an RTT of its own, or a file: ./tcp_mine.c",
    )  # fmt: skip
    _add_path(race.add_argument_group("path"))
    how = race.add_argument_group("runs")
    how.add_argument("--duration", metavar="TIME", default="60s", help="simulated time of a run (default: 60s)")
    how.add_argument(
        "--sweep", metavar="KEY[=VALUES]", action="append", default=[],
        help="what varies: buffer, rate, rtt or loss, alone or with values as of sweep --vary; or any other key"
        " with values; repeatable",
    )  # fmt: skip
    how.add_argument(
        "--max", type=count, metavar="N", dest="most", default=30, help="repetitions that it may take (default: 30)"
    )
    how.add_argument("--on", metavar="BACKEND", default="sim", help=ON)
    how.add_argument("--jobs", type=count, metavar="N", help="runs at the same time (default: one per core)")
    add_own(race)
    add_set(race)
    output = race.add_argument_group("output")
    output.add_argument("--save", metavar="FILE", help="write the scenario, for dumbbell run")
    output.add_argument("--force", action="store_true", help="replace that file")
    output.add_argument("--store", metavar="DIR", help="keep the runs there, and take from there what it has")
    output.add_argument(
        "--json", action="store_true", help="print one JSON object per controller and point, and the answer as the last"
    )
    output.add_argument("-q", "--quiet", action="store_true", help="print the answer alone")


def _add_path(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--rate", metavar="RATE", help="of the bottleneck (default: 100Mbps)")
    group.add_argument("--rtt", metavar="TIME", help="without queueing (default: 30ms)")
    group.add_argument("--buffer", metavar="SIZE", help="1bdp, 100kB, 500pkt or 20ms (default: 1bdp)")
    group.add_argument("--qdisc", metavar="NAME", help="queue discipline: fifo (default), fq_codel, cake, ...")
    group.add_argument("--loss", metavar="SHARE", help="random loss, such as 0.1%%")
    group.add_argument(
        "--trace",
        metavar="FILE",
        help="a recorded link instead of a rate: a file, or 5g, leo, lte-mobile; where it ends before the run,"
        " --set path.rate.repeat=true lets it begin again",
    )
