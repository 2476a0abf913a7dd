"""The arguments of `dumbbell trace`."""

from __future__ import annotations

import argparse

from dumbbell.scenario.recordings.forms import NAMES


def add_trace(trace: argparse.ArgumentParser) -> None:
    """The actions of the command."""
    actions = trace.add_subparsers(dest="action", metavar="ACTION", required=True)
    info = actions.add_parser("info", help="say how long recordings are, what they hold, and where they have gaps")
    info.add_argument("--json", action="store_true", help="print one JSON object per file and line")
    convert = actions.add_parser("convert", help="write recordings in another form, and say what is lost")
    convert.add_argument(
        "--to", choices=("csv", "mahimahi", "leoreplayer"), default="csv", help="form to write (default: csv)"
    )
    plot = actions.add_parser("plot", help="draw rate, delay and loss of recordings over time")
    for action in (info, convert, plot):
        _add_files(action)
    convert.add_argument("-o", "--output", metavar="FILE", required=True, help="file to write")
    plot.add_argument("-o", "--output", metavar="FILE", required=True, help="picture to write: .png, .pdf or .svg")
    for name, text, mean in (
        ("lte", "write the Mahimahi trace of a synthetic LTE link", "10Mbps"),
        ("wifi", "write the Mahimahi trace of a synthetic WiFi link", "10Mbps"),
        ("leo", "write rate, RTT and loss of a synthetic path over LEO satellites as a table", "100Mbps"),
        ("5g", "write rate, RTT and loss of a synthetic path over 5G as a table", "200Mbps"),
    ):
        _add_generated(actions.add_parser(name, help=text), name, mean)


def _add_files(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "file", metavar="FILE", nargs="+", help="table, Mahimahi trace, or another recording (docs/recordings.md)"
    )
    action.add_argument(
        "--format",
        choices=NAMES,
        action="append",
        default=[],
        metavar="FORM",
        help=f"form of the files, or once for each: {', '.join(NAMES)} (default: by their content)",
    )
    action.add_argument("--column", metavar="NAME", help="only this column of each file, by its heading")
    action.add_argument("--unit", metavar="UNIT", help="unit of the column (default: as its heading says)")
    action.add_argument("--time", metavar="NAME", help="column of the times, by its heading")
    action.add_argument("--time-unit", metavar="UNIT", help="unit of the times (default: as their heading says)")
    action.add_argument(
        "--where",
        metavar="NAME=TEXT",
        action="append",
        default=[],
        help="only rows whose cell has this text; repeatable",
    )
    action.add_argument("--bin", metavar="TIME", help="over which the rate of a trace is taken (default: 100ms)")
    action.add_argument(
        "--opportunity", metavar="SIZE", help="what an opportunity carries (default: 1514B, or as mm-link's log says)"
    )


def _add_generated(action: argparse.ArgumentParser, name: str, mean: str) -> None:
    if name != "leo":
        usual = "mobile" if name == "5g" else "stationary"
        action.add_argument(
            "--mobility",
            choices=("stationary", "mobile"),
            default=usual,
            help=f"at rest, or moving: with fading and outages (default: {usual})",
        )
    action.add_argument("--mean", metavar="RATE", default=mean, help=f"mean capacity (default: {mean})")
    action.add_argument("--length", metavar="TIME", default="60s", help="after which it repeats (default: 60s)")
    action.add_argument("--seed", type=int, default=1, metavar="N", help="same seed, same trace (default: 1)")
    action.add_argument("-o", "--output", metavar="FILE", required=True, help="file to write")
