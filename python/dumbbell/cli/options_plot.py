"""Options of `dumbbell plot`: a parser for each kind of picture, which shows the options that this kind takes."""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

from dumbbell.errors import wrong

#: How each option is given; kinds share them.
_OPTIONS: dict[str, dict[str, Any]] = {
    "from": {"metavar": "TIME", "dest": "start", "help": "only from this simulated time on, such as 10s"},
    "to": {"metavar": "TIME", "dest": "end", "help": "only until this simulated time"},
    "flows": {"metavar": "LIST", "help": "only these flows, by number or name: 0,3-5 or bbr"},
    "bin": {"metavar": "TIME", "help": "averaging time (default: 1s)"},
    "link": {
        "type": int,
        "metavar": "N",
        "help": "which link; 0 is the bottleneck (default), then the [[link]] tables",
    },
    "unit": {
        "metavar": "UNIT",
        "help": "bytes, packets, or ms (time in the queue); default: the unit of its limit",
    },
    "rows": {
        "metavar": "LIST",
        "help": "rows in their order: goodput, throughput, rtt, cwnd, inflight, queue, states, events (default:"
        " goodput,rtt,queue,states,events, without what was not recorded)",
    },
    "metric": {
        "metavar": "NAME",
        "help": "goodput (default, sum of a table's flows), goodput_flow_mean, goodput_flow_min, throughput, share,"
        " retrans_rate, jain, utilization, drops, marks, drop_rate, unfinished; rtt, srtt, owd, fct, latency, queue"
        " (over time) and sojourn (over packets), means, or with _p50, _p95, _p99",
    },
    "x": {
        "metavar": "KEY",
        "help": "the varied key along x, such as path.buffer (default: the buffer, or the first with numbers)",
    },
    "panels": {"metavar": "KEY", "help": "a varied key with a panel for each value"},
    "form": {"metavar": "FORM", "help": "lines, bars or heat (default: what fits the varied keys)"},
    "jain": {"action": "store_true", "default": None, "help": "Jain's index in a panel above"},
    "delay": {"metavar": "NAME", "help": "owd (one-way delay, default), queue or rtt (default in a window)"},
    "pool": {"action": "store_true", "default": None, "help": "all paths together, each normalised"},
    "log": {"action": "store_true", "default": None, "help": "logarithmic axis"},
    "linear": {"action": "store_false", "dest": "log", "default": None, "help": "linear axis"},
}

#: How the picture looks; no other picture, so that no file has these in its name.
_LOOKS: dict[str, dict[str, Any]] = {
    "paper": {
        "nargs": "?",
        "const": "column",
        "metavar": "WIDTH",
        "help": "for a paper: one column (3.33 inches) or, with `wide`, both (7); serif type, a PDF with its fonts"
        " embedded, the caption in a .txt beside it",
    },
    "no-caption": {
        "action": "store_false",
        "dest": "caption",
        "default": None,
        "help": "write the caption into a .txt beside the picture instead",
    },
    "title": {"metavar": "TEXT", "help": "title above the picture"},
    "width": {"type": float, "metavar": "INCHES", "help": "width (default: 7)"},
    "height": {"type": float, "metavar": "INCHES", "help": "height (default: what the figure needs)"},
    "font": {"metavar": "NAME", "help": "a font that is installed, or serif, sans-serif, monospace"},
    "style": {"metavar": "FILE", "help": "matplotlib's settings (.mplstyle), which go before ours"},
    "tex": {"action": "store_true", "default": None, "help": "set text with LaTeX, which must be installed"},
    "dpi": {"type": float, "metavar": "N", "help": "dots per inch of a .png (default: 200; of a paper: 300)"},
}

_OVER_TIME = ("flows", "from", "to", "log", "linear")


class Kind(NamedTuple):
    """A kind of picture: what it shows, its options besides those of all, and a command that uses them."""

    text: str
    options: tuple[str, ...]
    example: str


KINDS = {
    "goodput": Kind("what arrived, over time", ("bin", *_OVER_TIME), "--run 0 --flows bbr --bin 200ms"),
    "throughput": Kind(
        "what was sent, retransmissions included, over time", ("bin", *_OVER_TIME), "--run 0 --from 10s"
    ),
    "rtt": Kind("round-trip times, and their distribution", _OVER_TIME, "--run 0 --paper"),
    "cwnd": Kind("congestion windows, over time", _OVER_TIME, "--run all --log"),
    "inflight": Kind("segments in flight, over time", _OVER_TIME, "--run 0 --to 5s"),
    "queue": Kind(
        "the queue of a link, over time", ("link", "unit", "from", "to", "log", "linear"), "--run 0 --unit ms"
    ),
    "states": Kind("states of the controllers, over time", ("flows", "from", "to"), "--run 0 --from 10s --to 12s"),
    "events": Kind(
        "drops, marks, recoveries, timeouts, start and stop of each flow",
        ("flows", "from", "to"),
        "--run 0 --flows 0-3",
    ),
    "timeline": Kind(
        "several of these above each other", ("rows", "flows", "from", "to"), "--run 0 --rows goodput,rtt,cwnd,events"
    ),
    "vary": Kind(
        "a figure of a sweep against what varies",
        ("metric", "x", "panels", "form", "jain", *_OVER_TIME),
        "--metric share --flows bbr3 --paper",
    ),
    "tradeoff": Kind(
        "goodput against delay, of a sweep", ("delay", "pool", *_OVER_TIME), "--delay queue --run '*buffer=1bdp*'"
    ),
    "fct": Kind("distributions of completion times", _OVER_TIME, "--flows short --linear"),
    "slowdown": Kind("completion times over the ideal ones, by size", ("flows", "from", "to"), "--from 10s"),
    "latency": Kind("distributions of latencies of requests", _OVER_TIME, "--flows rpc"),
    "probes": Kind("round-trip times of probes", ("from", "to", "log", "linear"), "--run 0 --from 10s"),
}


#: Leaves the examples below the help as they are.
_EXAMPLES = argparse.RawDescriptionHelpFormatter


class _Known(dict[str, argparse.ArgumentParser]):
    """The parsers by kind; another kind is refused as other wrong words are."""

    def __contains__(self, kind: object) -> bool:
        return True

    def __missing__(self, kind: str) -> argparse.ArgumentParser:
        raise wrong("KIND", kind, "one of: " + ", ".join(self), list(self))


def add_plot(plot: argparse.ArgumentParser) -> None:
    """A parser for each kind."""
    kinds = plot.add_subparsers(dest="kind", metavar="KIND", required=True)
    for name, kind in KINDS.items():
        told = f"examples:\n  dumbbell plot {name}\n  dumbbell plot {name} results/pair-1 {kind.example}"
        description = f"Draw {kind.text}."
        each = kinds.add_parser(name, help=kind.text, description=description, epilog=told, formatter_class=_EXAMPLES)
        _add_common(each)
        _add(each, _OPTIONS, kind.options)
        _add(each.add_argument_group("how it looks"), _LOOKS, tuple(_LOOKS))

    kinds._name_parser_map = kinds.choices = _Known(kinds.choices)


def _add_common(plot: argparse.ArgumentParser) -> None:
    plot.add_argument("dir", nargs="?", metavar="DIR", help="folder of a run or of a sweep (default: the latest here)")
    plot.add_argument("--open", action="store_true", help="show the pictures on the desktop")
    plot.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="picture to write: .png, .pdf or .svg; or a folder (default: KIND and options as the name, in the run or"
        " in DIR)",
    )
    plot.add_argument(
        "--run",
        metavar="RUN",
        help="which runs of a folder: a name, its beginning, a pattern ('*cca=bbr*'), a number from 0, or all",
    )


def _add(kind: argparse._ActionsContainer, options: dict[str, dict[str, Any]], shown: tuple[str, ...]) -> None:
    """The options; those that are not shown are known, so that they can be refused with a reason."""
    scale = kind.add_mutually_exclusive_group() if "log" in shown else kind
    for name, given in options.items():
        add = (scale if name in ("log", "linear") else kind).add_argument
        add(f"--{name}", **(given if name in shown else {**given, "help": argparse.SUPPRESS}))
