"""Options of the commands that read results: show, plot, report, export."""

from __future__ import annotations

import argparse

from .options_run import add_rows, count

#: What a folder is that is not given.
LATEST = "default: what run, sweep or compare wrote last below ./results"


def add_show(show: argparse.ArgumentParser) -> None:
    """Of `dumbbell show`."""
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
    """Of `dumbbell report`."""
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


def add_serve(serve: argparse.ArgumentParser) -> None:
    """Of `dumbbell serve`."""
    serve.add_argument(
        "--port", type=_port, default=0, metavar="N", help="port on 127.0.0.1 (default: one that is free)"
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
    """Of `dumbbell export`."""
    export.add_argument(
        "format", choices=("perfetto",), help="perfetto: a trace for ui.perfetto.dev (pip install 'dumbbell[perfetto]')"
    )
    export.add_argument("run", metavar="RUN", nargs="?", help=f"folder of one run ({LATEST})")
    export.add_argument("-o", "--output", metavar="FILE", required=True, help="file to write, such as run.pftrace")


def add_plot(plot: argparse.ArgumentParser) -> None:
    """Of `dumbbell plot`."""
    plot.add_argument(
        "kind",
        metavar="KIND",
        help=(
            "over time: goodput, throughput (what was sent), rtt, cwnd, inflight, queue, states (of the controllers);"
            " of sweeps: vary (a metric against what varies), tradeoff (goodput and delay); distributions: fct"
            " (completion times), slowdown (over size), latency (of requests), probes (idle and under load)"
        ),
    )
    plot.add_argument("dir", metavar="DIR", nargs="?", help=f"folder of a run or of a sweep ({LATEST})")
    plot.add_argument("--open", action="store_true", help="show the pictures on the desktop")
    plot.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help=(
            "picture to write: .png, .pdf or .svg; or a folder (default: KIND and options as the name, in the run or in"
            " DIR)"
        ),
    )
    plot.add_argument(
        "--run",
        metavar="RUN",
        help="which runs of a folder: a name, its beginning, a pattern ('*cca=bbr*'), a number from 0, or all",
    )
    plot.add_argument("--from", metavar="TIME", dest="start", help="only from this simulated time on, such as 10s")
    plot.add_argument("--to", metavar="TIME", dest="end", help="only until this simulated time")
    plot.add_argument("--flows", metavar="LIST", help="over time: only these flows, by number or name: 0,3-5 or bbr")
    plot.add_argument("--bin", metavar="TIME", help="goodput, throughput: averaging time (default: 1s)")
    plot.add_argument(
        "--link",
        type=int,
        metavar="N",
        help="queue: which link; 0 is the bottleneck (default), then the [[link]] tables",
    )
    plot.add_argument(
        "--unit",
        metavar="UNIT",
        help="queue: bytes, packets, or ms (time in the queue); default: the unit of its limit",
    )
    _add_sweep_plot(plot)
    scale = plot.add_mutually_exclusive_group()
    scale.add_argument("--log", action="store_true", default=None, help="logarithmic axis")
    scale.add_argument("--linear", action="store_false", dest="log", default=None, help="linear axis")
    plot.add_argument("--title", metavar="TEXT", help="title above the picture")
    plot.add_argument("--width", type=float, metavar="INCHES", help="width (default: 7)")
    plot.add_argument("--height", type=float, metavar="INCHES", help="height (default: what the figure needs)")


def _add_sweep_plot(plot: argparse.ArgumentParser) -> None:
    plot.add_argument(
        "--metric",
        metavar="NAME",
        help=(
            "vary: goodput (default, sum of a table's flows), goodput_flow_mean, goodput_flow_min, throughput, share,"
            " retrans_rate, jain, utilization, drops, marks, drop_rate, unfinished; rtt, srtt, owd, fct, latency, queue"
            " (over time) and sojourn (over packets), means, or with _p50, _p95, _p99"
        ),
    )
    plot.add_argument(
        "--x",
        metavar="KEY",
        help="vary: the varied key along x, such as path.buffer (default: the buffer, or the first with numbers)",
    )
    plot.add_argument("--panels", metavar="KEY", help="vary: a varied key with a panel for each value")
    plot.add_argument("--form", metavar="FORM", help="vary: lines, bars or heat (default: what fits the varied keys)")
    plot.add_argument("--jain", action="store_true", default=None, help="vary: Jain's index in a panel above")
    plot.add_argument(
        "--delay", metavar="NAME", help="tradeoff: owd (one-way delay, default), queue or rtt (default in a window)"
    )
    plot.add_argument("--pool", action="store_true", default=None, help="tradeoff: all paths together, each normalised")
