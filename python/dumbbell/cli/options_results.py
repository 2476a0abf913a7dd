"""Options of the commands that read results: show, report, export."""

from __future__ import annotations

import argparse

from .options_run import add_rows, count

#: What a folder is that is not given.
LATEST = "default: what run, sweep or compare wrote last below ./results"


def add_explain(explain: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell explain`."""
    explain.add_argument("dir", nargs="?", metavar="RUN", help=f"folder of a run or of a sweep ({LATEST})")
    explain.add_argument("--run", metavar="RUN", help="which runs of a folder: a name, a number from 0, or all")
    explain.add_argument("--flow", metavar="NAME", help="one [[flow]] table, by its name (default: each)")
    explain.add_argument("--at", metavar="TIME", help="the time about a moment of the run, as 12.5s")
    explain.add_argument(
        "--prove",
        action="store_true",
        help="make the run again without the cause, and say what that changes",
    )
    explain.add_argument("--all", action="store_true", help="all rules that hold, instead of the two that matter most")
    explain.add_argument("--json", action="store_true", help="one JSON object per flow and line")


def add_show(show: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell show`."""
    show.add_argument(
        "dirs", nargs="*", metavar="DIR", help=f"folder of a run or of a sweep; several are shown together ({LATEST})"
    )
    add_rows(show)
    show.add_argument("--sort", metavar="KEY", help="order rows by a figure, a varied key, or name")
    show.add_argument("--reverse", action="store_true", help="reverse the order")
    _add_window(show)
    show.add_argument(
        "--diff",
        action="store_true",
        help="what changed from the first folder to the second, with intervals where there are repetitions",
    )
    show.add_argument(
        "--exit-status",
        action="store_true",
        help="with --diff: status 1 where figures changed, or differ between single runs; 0 where no change is shown",
    )
    show.add_argument(
        "--why",
        action="store_true",
        help="with --diff: say the causes on each side of what changed; runs may be made again for it",
    )
    form = show.add_mutually_exclusive_group()
    form.add_argument(
        "--json", action="store_true", help="print one JSON object per run (or combination) and line, and nothing else"
    )
    form.add_argument("--csv", action="store_true", help="print comma-separated values")
    form.add_argument("--markdown", action="store_true", help="print a Markdown table")


def _add_window(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--from",
        dest="start",
        metavar="TIME",
        help="figures from this time on (default: the scenario's measure.from, or the start)",
    )
    command.add_argument(
        "--to",
        dest="end",
        metavar="TIME",
        help="figures up to this time (default: the scenario's measure.to, or the end)",
    )


def add_report(report: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell report`."""
    report.add_argument(
        "dirs",
        nargs="*",
        metavar="DIR",
        help=f"folder of a run, a sweep, a comparison, or of `dumbbell reproduce`; several are compared ({LATEST})",
    )
    report.add_argument("-o", "--output", metavar="FILE", help="page to write (default: report.html in the first DIR)")
    report.add_argument("--open", action="store_true", help="show it in the browser")
    report.add_argument("--title", metavar="TEXT", help="title of the page (default: the scenarios' names)")
    _add_window(report)


def _port(text: str) -> int:
    """A number of a port, or 0 for any; raises ArgumentTypeError."""
    if not (text.isascii() and text.isdecimal() and int(text) < 65536):
        raise argparse.ArgumentTypeError(f"got {text}, wanted a port: 0 (one that is free) to 65535")
    return int(text)


def _seats(text: str) -> int:
    """A number of seats; raises ArgumentTypeError."""
    from dumbbell.serve.rooms import SEATS_MAX

    number = count(text)
    if number > SEATS_MAX:
        raise argparse.ArgumentTypeError(f"got {text}, wanted at most {SEATS_MAX} seats")
    return number


def add_serve(serve: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell serve`."""
    serve.add_argument("--port", type=_port, default=0, metavar="N", help="port (default: one that is free)")
    serve.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDR",
        help="address of this machine to listen on (default: 127.0.0.1, which no other machine reaches); there is no"
        " TLS",
    )
    seats = serve.add_argument_group("a class: links for its seats, each with results and limits of its own")
    seats.add_argument(
        "--seats", type=_seats, metavar="N", help="print a link for each of N seats, and one that only watches"
    )
    seats.add_argument(
        "--seat-time", metavar="TIME", default="60s", help="time that a scenario of a seat may take (default: 60s)"
    )
    seats.add_argument(
        "--seat-disk", metavar="SIZE", default="200MiB", help="bytes of a seat's scenarios together (default: 200MiB)"
    )
    serve.add_argument(
        "--out",
        metavar="DIR",
        default="results/serve",
        help="folder of results (default: results/serve); nothing outside of it is written, and of files that scenarios"
        " name only those in it, and those that come with dumbbell, are read",
    )
    serve.add_argument("--jobs", type=count, metavar="N", help="scenarios that run at once (default: one per core)")
    limits = serve.add_argument_group("limits of what may be asked for on the page")
    limits.add_argument(
        "--max-time", metavar="TIME", default="300s", help="time that a scenario may take (default: 300s)"
    )
    limits.add_argument("--max-runs", type=count, metavar="N", default=200, help="runs of a scenario (default: 200)")
    limits.add_argument(
        "--max-packets",
        type=count,
        metavar="N",
        default=1_000_000_000,
        help="packets that its links can carry, over all runs (default: 1000000000)",
    )
    limits.add_argument(
        "--max-memory", metavar="SIZE", default="2GiB", help="memory of a run for packets and samples (default: 2GiB)"
    )
    kept = serve.add_argument_group("what stays of finished scenarios in the folder: the oldest are removed first")
    kept.add_argument("--max-folders", type=count, metavar="N", default=200, help="scenarios (default: 200)")
    kept.add_argument("--max-disk", metavar="SIZE", default="5GiB", help="bytes of them together (default: 5GiB)")


def add_export(export: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell export`."""
    export.add_argument(
        "format", choices=("perfetto",), help="perfetto: a trace for ui.perfetto.dev (pip install 'dumbbell[perfetto]')"
    )
    export.add_argument("run", metavar="RUN", nargs="?", help=f"folder of one run ({LATEST})")
    export.add_argument("-o", "--output", metavar="FILE", required=True, help="file to write, such as run.pftrace")
