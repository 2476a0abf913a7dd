"""Options of the commands that run scenarios: run, compare, check; and those that others share with them."""

from __future__ import annotations

import argparse

from dumbbell import backends

ON = "back end: " + "; ".join(kind.text for kind in backends.KINDS.values())


#: Headings of options.
HOW, WHERE = "how it is run", "what is written, and where"


def titled(command: argparse.ArgumentParser, title: str) -> argparse._ArgumentGroup:
    """The options of a command under this heading, made when it is first asked for."""
    there = (group for group in command._action_groups if group.title == title)
    return next(there, None) or command.add_argument_group(title)


def count(text: str) -> int:
    """A whole number from 1; raises ArgumentTypeError."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"got {text}, wanted a whole number from 1")
    return int(text)


def share(text: str) -> int:
    """A share as scenarios write it ("90%", 0.9), in parts per billion; raises ArgumentTypeError."""
    from dumbbell import units

    try:
        return units.loss_ppb(text)
    except units.UnitError:
        raise argparse.ArgumentTypeError(f'got {text}, wanted a share from 0 to 1, such as "90%" or 0.9') from None


def add_run(run: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell run`."""
    run.add_argument("files", nargs="+", metavar="FILE", help="scenario (TOML), or gallery:NAME")
    written = titled(run, WHERE)
    written.add_argument(
        "--out", metavar="DIR", help="folder for the results, new or empty (default: results/<name>-<n>)"
    )
    written.add_argument("--json", action="store_true", help="print one JSON object per run and line, and nothing else")
    written.add_argument("--pcap", action="store_true", help="also write a capture of each run (trace.pcap)")
    titled(run, HOW).add_argument("--on", metavar="BACKEND", default="sim", help=ON)
    add_jobs(run)
    add_own(run)
    add_set(run)
    add_rows(run.add_argument_group("table at the end"))


def add_compare(compare: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell compare`."""
    compare.add_argument("files", nargs="+", metavar="FILE", help="scenario (TOML), or gallery:NAME")
    compare.add_argument(
        "--on",
        metavar="A,B",
        default="sim,linux",
        help="two or three back ends; the first is the reference (default: sim,linux)",
    )
    _add_compared(compare)


def add_compare_kernels(compare: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell uml compare`."""
    compare.add_argument(
        "kernels",
        nargs=2,
        metavar="SERIES",
        help="two kernels that are built, such as 6.1 6.12; the first is the reference",
    )
    compare.add_argument("files", nargs="+", metavar="FILE", help="scenario (TOML), or gallery:NAME")
    _add_compared(compare)


def _add_compared(compare: argparse.ArgumentParser) -> None:
    """Add options of what is drawn, printed and judged."""
    compare.add_argument(
        "--plot",
        metavar="KIND",
        default="goodput",
        help="what to draw: goodput (default), throughput, rtt, cwnd, inflight, queue, or states (of sim, bpf and"
        " uml-ours, whose controllers tell them)",
    )
    compare.add_argument(
        "--packets",
        action="store_true",
        help="also capture the runs, and say how many packets of each TCP flow are the same, and the first that differ",
    )
    compare.add_argument(
        "--need",
        type=share,
        default="1",
        metavar="SHARE",
        help="share of the runs that must agree for status 0, such as 90%% or 0.9 (default: 1)",
    )
    compare.add_argument(
        "--out",
        metavar="DIR",
        help="folder for the results of both, new or empty (default: results/compare-<name>-<n>)",
    )
    compare.add_argument(
        "--json", action="store_true", help="print one JSON object per combination and line, and nothing else"
    )
    add_jobs(compare)
    add_own(compare)
    add_set(compare)


def add_own(command: argparse.ArgumentParser) -> None:
    """Controllers of the user."""
    titled(command, HOW).add_argument(
        "--cca",
        action="append",
        default=[],
        metavar="FILE",
        help=(
            "a controller of your own: C source (also an unmodified Linux module) or Python, which runs with your"
            " rights; repeatable"
        ),
    )


def add_jobs(command: argparse.ArgumentParser) -> None:
    """Add options of runs: how many at once, which folder, how much is said."""
    titled(command, HOW).add_argument(
        "--jobs",
        type=count,
        metavar="N",
        help="number of runs at the same time (default: one per core; in real time, one); results of the simulator do"
        " not depend on it",
    )
    titled(command, WHERE).add_argument(
        "--resume", action="store_true", help="keep finished runs in DIR and run what is missing or damaged"
    )
    titled(command, WHERE).add_argument(
        "--force",
        action="store_true",
        help="replace the results in DIR; refused where DIR holds files that dumbbell has not written",
    )
    titled(command, WHERE).add_argument(
        "-q", "--quiet", action="store_true", help="print errors, results asked for (--json), and nothing else"
    )


def add_set(command: argparse.ArgumentParser) -> None:
    """Overrides of keys."""
    titled(command, HOW).add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="overrides",
        help="override a key, such as path.rate=10Mbps",
    )


def add_check(check: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell check`."""
    check.add_argument("files", nargs="+", metavar="FILE", help="scenario (TOML), or gallery:NAME")
    check.add_argument(
        "--on",
        metavar="BACKEND",
        default="sim",
        help="back end whose time is estimated: sim (default), linux, bpf, uml, netem, ssh://...",
    )
    check.add_argument("--jobs", type=count, metavar="N", help="number of runs at the same time")
    check.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object per scenario and line: runs, packets, estimated time in seconds, warnings",
    )
    add_own(check)
    add_set(check)


def add_rows(command: argparse._ActionsContainer) -> None:
    """Rows and columns of a table of figures."""
    command.add_argument(
        "--runs",
        action="store_true",
        help="a row for each run, instead of means over the repetitions with 95 %% intervals",
    )
    command.add_argument(
        "--by",
        choices=("flow", "table", "run"),
        help="a row per flow, per [[flow]] table, or per run (default: flow; with 9 flows or more: table)",
    )
    command.add_argument(
        "--flows",
        metavar="LIST",
        help="only these flows: numbers, ranges, names of tables or controllers, such as 0,3-5,bbr",
    )
    command.add_argument(
        "--columns",
        metavar="LIST",
        help="figures to show, such as goodput,rtt_p99,fct_p99; queue@NAME: of this link; all: every figure"
        " (docs/metrics.md)",
    )
    command.add_argument(
        "--where",
        action="append",
        metavar="CONDITION",
        help="only rows that meet 'COLUMN OP NUMBER', such as 'utilization >= 95%%'; repeatable",
    )
    command.add_argument("--wide", action="store_true", help="all columns, even if the terminal is too narrow")
