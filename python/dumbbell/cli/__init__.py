"""The command line: arguments and printing only; each command's module is imported when it is used."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import NamedTuple

from dumbbell.errors import DumbbellError, OutError, ScenarioError

#: Exit statuses that scripts rely on: all ran; something failed; bad input; interrupted (128 and the signal, as shells
#: have it: SIGTERM is 143).
OK, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
#: Set, an error that is none of ours keeps its traceback.
TRACEBACK = "DUMBBELL_TRACEBACK"

_ON = (
    "back end: sim (default); linux: the kernel's TCP and iperf3 over the same path in real time; "
    "bpf: the same with our controllers only; netem: over the kernel's own tbf and netem; "
    "ssh://SENDER,RECEIVER: between two hosts, with the queue at the receiver (docs/hosts.md)"
)


class _Parser(argparse.ArgumentParser):
    """Argument errors in one line, status 2."""

    def error(self, message: str) -> None:  # type: ignore[override]
        self.exit(BAD_INPUT, f"{self.prog}: {message}\n")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"got {text}, wanted a whole number from 1")
    return int(text)


def _add_run(run: argparse.ArgumentParser) -> None:
    run.add_argument("files", nargs="+", metavar="FILE", help="scenario (TOML), or gallery:NAME")
    run.add_argument("--out", metavar="DIR", help="folder for the results, new or empty (default: results/<name>-<n>)")
    run.add_argument("--json", action="store_true", help="print one JSON object per run and line, and nothing else")
    run.add_argument("--on", metavar="BACKEND", default="sim", help=_ON)
    _add_jobs(run)
    _add_own(run)
    run.add_argument("--pcap", action="store_true", help="also write a capture of each run (trace.pcap)")
    _add_set(run)


def _add_compare(compare: argparse.ArgumentParser) -> None:
    compare.add_argument("files", nargs="+", metavar="FILE", help="scenario (TOML), or gallery:NAME")
    compare.add_argument(
        "--on",
        metavar="A,B",
        default="sim,linux",
        help="two or three back ends; the first is the reference (default: sim,linux)",
    )
    compare.add_argument(
        "--plot",
        metavar="KIND",
        default="goodput",
        help="what to draw: goodput (default), throughput, rtt, cwnd, inflight or queue",
    )
    compare.add_argument(
        "--need",
        type=float,
        default=1.0,
        metavar="SHARE",
        help="share of the runs that must agree for status 0 (default: 1)",
    )
    compare.add_argument(
        "--out",
        metavar="DIR",
        help="folder for the results of both, new or empty (default: results/compare-<name>-<n>)",
    )
    compare.add_argument(
        "--json", action="store_true", help="print one JSON object per combination and line, and nothing else"
    )
    _add_jobs(compare)
    _add_own(compare)
    _add_set(compare)


def _add_own(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--cca",
        action="append",
        default=[],
        metavar="FILE",
        help=(
            "a controller of your own: C source (a Linux module as it is, too) or Python, which runs with your rights;"
            " repeatable"
        ),
    )


def _add_jobs(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--jobs",
        type=_count,
        metavar="N",
        help="runs at once (default: one per core, in real time one); results of the simulator do not depend on it",
    )
    command.add_argument(
        "--resume", action="store_true", help="keep finished runs in DIR and run what is missing or damaged"
    )
    command.add_argument(
        "--force",
        action="store_true",
        help="replace the results in DIR; nothing that this program has not written is removed",
    )
    command.add_argument(
        "-q", "--quiet", action="store_true", help="print errors, results asked for (--json), and nothing else"
    )


def _add_set(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="overrides",
        help="override a key, as in path.rate=10Mbps",
    )


def _add_check(check: argparse.ArgumentParser) -> None:
    check.add_argument("files", nargs="+", metavar="FILE", help="scenario (TOML), or gallery:NAME")
    check.add_argument(
        "--on",
        metavar="BACKEND",
        default="sim",
        help="back end whose time is told: sim (default), linux, bpf, netem, ssh://...",
    )
    check.add_argument("--jobs", type=_count, metavar="N", help="runs at once")
    _add_own(check)
    _add_set(check)


def _add_show(show: argparse.ArgumentParser) -> None:
    show.add_argument("dirs", nargs="+", metavar="DIR", help="folder of a run or of a sweep; several go side by side")
    show.add_argument(
        "--runs",
        action="store_true",
        help="a row for each run, instead of means over the repetitions with 95 %% intervals",
    )
    show.add_argument(
        "--by",
        choices=("flow", "table", "run"),
        help="rows: flow, [[flow]] table, or all flows of a run (default: flow, from 9 flows on table)",
    )
    show.add_argument(
        "--flows",
        metavar="LIST",
        help="only these flows: numbers, ranges, names of tables or controllers, as in 0,3-5,bbr",
    )
    show.add_argument(
        "--columns",
        metavar="LIST",
        help="figures to show, as in goodput,rtt_p99,fct_p99; all for every one (docs/metrics.md)",
    )
    show.add_argument(
        "--where",
        action="append",
        metavar="CONDITION",
        help="only rows with 'COLUMN OP NUMBER', as in 'utilization >= 95%%'; may be repeated",
    )
    show.add_argument("--sort", metavar="KEY", help="order rows by a figure, a varied key, or name")
    show.add_argument("--reverse", action="store_true", help="largest, or last, first")
    _add_window(show)
    show.add_argument(
        "--diff",
        action="store_true",
        help="what changed from the first folder to the second, with intervals where there are repetitions",
    )
    show.add_argument("--wide", action="store_true", help="all columns, however narrow the terminal")
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


def _add_plot(plot: argparse.ArgumentParser) -> None:
    plot.add_argument(
        "kind",
        metavar="KIND",
        help=(
            "over time: goodput, throughput (what was sent), rtt, cwnd, inflight, queue, states (of the controllers);"
            " of sweeps: vary (a metric against what varies), tradeoff (goodput and delay); distributions: fct"
            " (completion times), slowdown (over size), latency (of requests)"
        ),
    )
    plot.add_argument("dir", metavar="DIR", help="folder of a run or of a sweep")
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
    plot.add_argument("--delay", metavar="NAME", help="tradeoff: owd (one-way delay, default), queue or rtt")
    plot.add_argument("--pool", action="store_true", default=None, help="tradeoff: all paths together, each normalised")


def _add_cca(cca: argparse.ArgumentParser) -> None:
    actions = cca.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=_Parser)
    _add_own(actions.add_parser("list", help="all of them"))
    show = actions.add_parser("show", help="one in full")
    show.add_argument("name", metavar="NAME", nargs="?", help="name, or a file as --cca takes it")
    _add_own(show)
    actions.add_parser("headers", help="write the headers that a C controller includes, for an editor").add_argument(
        "dir", metavar="DIR"
    )


def _add_kernel(kernel: argparse.ArgumentParser) -> None:
    actions = kernel.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=_Parser)
    listing = actions.add_parser(
        "list", help="what can be loaded, under which name sockets ask for it, and what is loaded"
    )
    listing.add_argument(
        "--json", action="store_true", help="print one JSON object per controller and line, and nothing else"
    )
    load = actions.add_parser("load", help="register one, until unload")
    load.add_argument("name", metavar="NAME", help="name, or a C file that includes cca.h (needs clang)")
    load.add_argument("--param", action="append", default=[], metavar="K=V", help="a parameter of it; repeatable")
    load.add_argument(
        "--as",
        dest="kernel_name",
        metavar="NAME",
        help="what the kernel is to call it, up to 15 letters; so several of one may be loaded",
    )
    load.add_argument("--foreground", action="store_true", help="only as long as this process runs")
    change = actions.add_parser("set", help="change parameters of a loaded one; its flows obey from their next ACK")
    change.add_argument("name", metavar="NAME", help="name of a loaded one")
    change.add_argument("values", nargs="+", metavar="K=V", help="a parameter and its new value")
    actions.add_parser("unload", help="take one away; flows that use it keep it until they end").add_argument(
        "name", metavar="NAME"
    )
    status = actions.add_parser(
        "status", help="loaded ones, the flows that use them in all network namespaces, and what they estimate"
    )
    status.add_argument("name", metavar="NAME", nargs="?", help="only this one")
    status.add_argument(
        "--all",
        action="store_true",
        help="also sockets that send next to nothing: receivers, control connections, listening ones",
    )
    status.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object per controller and line, with all sockets, and nothing else",
    )


def _add_shell(shell: argparse.ArgumentParser) -> None:
    shell.add_argument(
        "--rate", metavar="RATE", help="rate of both directions (12mbit, 12Mbps); unlimited unless given"
    )
    shell.add_argument(
        "--delay", metavar="TIME", default="0s", help="one-way delay (20ms); the round trip takes twice that"
    )
    shell.add_argument(
        "--buffer", metavar="SIZE", help="buffer of each direction, such as 2bdp, 100pkt, 150kB (default: 1000pkt)"
    )
    shell.add_argument("--aqm", metavar="NAME", help="queue discipline of each direction (default: fifo)")
    shell.add_argument("--loss", metavar="SHARE", default="0%", help="random loss in each direction (0.1%%)")
    for name, which in (("up", "from the command to the far end"), ("down", "from the far end to the command")):
        shell.add_argument(f"--{name}-rate", metavar="RATE", help=f"rate {which}")
        shell.add_argument(f"--{name}-trace", metavar="FILE", help=f"Mahimahi trace instead of a rate, {which}")
        shell.add_argument(f"--{name}-buffer", metavar="SIZE", help=f"buffer {which}")
        shell.add_argument(f"--{name}-aqm", metavar="NAME", help=f"queue discipline {which}")
        shell.add_argument(f"--{name}-loss", metavar="SHARE", help=f"random loss {which}")
        shell.add_argument(
            f"--{name}-onoff",
            metavar="ON,OFF",
            help=f"switched on and off, for exponential times with these means (4s,500ms), {which}",
        )
    shell.add_argument("--seed", type=int, default=1, help="seed of what is random (default: 1)")
    shell.add_argument(
        "--far",
        action="append",
        default=[],
        metavar="COMMAND",
        help="run this at the far end meanwhile, such as 'iperf3 -s'; repeatable",
    )
    shell.add_argument(
        "--forward",
        action="append",
        default=[],
        metavar="PORT=HOST:PORT",
        help="a port of the far end that stands for a server of this machine's network; repeatable",
    )
    shell.add_argument("--json", metavar="FILE", help="write what both directions did into FILE")
    shell.add_argument(
        "argv",
        nargs=argparse.REMAINDER,
        metavar="-- COMMAND",
        help="what runs behind the path; the far end is $DUMBBELL_FAR (10.2.0.1)",
    )


def _add_nothing(_: argparse.ArgumentParser) -> None:
    """A command without arguments."""


def _add_help(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", metavar="COMMAND", nargs="?", choices=list(COMMANDS), help="only this one")


def _add_completion(completion: argparse.ArgumentParser) -> None:
    completion.add_argument("shell", choices=("bash", "zsh"), help="for which shell")


def _add_demo(demo: argparse.ArgumentParser) -> None:
    demo.add_argument(
        "--full", action="store_true", help="the paper's 300 s and ten repetitions instead of 120 s and one"
    )
    demo.add_argument("--out", metavar="DIR", help="folder for the results (default: results/kfoury-fig11a-<n>)")
    _add_jobs(demo)


def _add_paper(paper: argparse.ArgumentParser) -> None:
    paper.add_argument("name", metavar="NAME", help="zhang2019 (BBR and its variants, arXiv:1909.03673)")
    paper.add_argument("--table", type=_count, nargs="+", metavar="N", help="which tables: 3, 4, 5, 7 (default: all)")
    paper.add_argument("--out", metavar="DIR", help="folder for the results (default: results/NAME-<n>)")
    paper.add_argument("--json", action="store_true", help="print one JSON object per cell and line, and nothing else")
    paper.add_argument("--duration", metavar="TIME", help="another simulated time than the paper's, for a first look")
    _add_jobs(paper)


def _add_trace(trace: argparse.ArgumentParser) -> None:
    trace.add_argument("radio", choices=("lte", "wifi"), help="what it looks like")
    trace.add_argument(
        "--mobility",
        choices=("stationary", "mobile"),
        default="stationary",
        help="at rest (default), or on the move: fading and outages",
    )
    trace.add_argument("--mean", metavar="RATE", default="10Mbps", help="mean capacity (default: 10Mbps)")
    trace.add_argument("--length", metavar="TIME", default="60s", help="after which it repeats (default: 60s)")
    trace.add_argument("--seed", type=int, default=1, metavar="N", help="same seed, same trace (default: 1)")
    trace.add_argument("-o", "--output", metavar="FILE", required=True, help="file to write")


def _add_gallery(gallery: argparse.ArgumentParser) -> None:
    gallery.add_argument(
        "words",
        nargs="*",
        metavar="NAME|WORD",
        help="print the scenario of this name, or list those with all of these words",
    )


def _add_new(new: argparse.ArgumentParser) -> None:
    new.add_argument("name", metavar="NAME", help="scenario of the gallery")
    new.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help="file to write (default: NAME.toml); traces and controllers go beside it",
    )
    new.add_argument("--force", action="store_true", help="overwrite what is there")


class Command(NamedTuple):
    """A command: its help line, what adds its arguments, and the function that runs it, in a module that is imported
    when it is used.
    """

    text: str
    add: Callable[[argparse.ArgumentParser], None]
    runs: str
    has_signals: bool = False
    """Whether Ctrl-C is for the command's own code; it ends others, until `interrupts` is asked for more."""


COMMANDS = {
    "run": Command("run scenarios and write a result folder per run", _add_run, "run:main"),
    "compare": Command(
        "run scenarios on two or three back ends, and say where their figures differ", _add_compare, "compare:main"
    ),
    "check": Command("say what a scenario would run, and how long it would take", _add_check, "views:check"),
    "show": Command(
        "print result folders as a table, JSON, CSV or Markdown, or what changed between two", _add_show, "show:main"
    ),
    "plot": Command("draw a result folder", _add_plot, "plot:main"),
    "cca": Command("list congestion controllers, or show one with its parameters", _add_cca, "views:cca"),
    "kernel": Command(
        "put controllers into the running Linux kernel, look at their flows, change their parameters (root)",
        _add_kernel,
        "kernel:main",
        has_signals=True,
    ),
    "shell": Command("run one command behind an emulated path", _add_shell, "shell:main", has_signals=True),
    "schema": Command("print the JSON Schema of scenario files", _add_nothing, "views:schema"),
    "demo": Command(
        "BBR against CUBIC over buffer size (Kfoury et al. 2020, Fig. 11a): run, table, picture", _add_demo, "demo:main"
    ),
    "paper": Command("run the tables of a published paper, and print ours beside them", _add_paper, "paper:main"),
    "gallery": Command("list the scenarios that come with dumbbell, or print one", _add_gallery, "gallery:main"),
    "new": Command("copy a scenario of the gallery, to start from", _add_new, "gallery:main"),
    "trace": Command("write the Mahimahi trace of a synthetic radio link", _add_trace, "trace:main"),
    "completion": Command(
        "print what a shell needs to complete commands and options", _add_completion, "words:completion"
    ),
    "man": Command("print the man page (roff), as in: dumbbell man | man -l -", _add_nothing, "manual:main"),
    "help": Command("say what there is, or what a command takes", _add_help, "words:help_"),
    "version": Command("print versions", _add_nothing, "words:version"),
}


def parser(name: str | None = None) -> argparse.ArgumentParser:
    """The parser of one command, or of all of them."""
    if name is not None:
        one = _Parser(prog=f"dumbbell {name}", description=_sentence(COMMANDS[name].text))
        COMMANDS[name].add(one)
        return one
    made = _Parser(prog="dumbbell", description="A congestion-control laboratory.")
    made.add_argument("--version", action="store_true", help="print versions and exit")
    commands = made.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    for each, command in COMMANDS.items():
        command.add(commands.add_parser(each, help=command.text, description=_sentence(command.text)))
    return made


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _parse(argv: list[str]) -> argparse.Namespace:
    """Arguments of the command; only its own parser is made, because all of them take 4 ms, a tenth of a short run."""
    if argv and argv[0] in COMMANDS:
        return parser(argv[0]).parse_args(argv[1:], argparse.Namespace(command=argv[0]))
    made = parser()
    arguments = made.parse_args(argv)
    if not arguments.version:
        made.error(f"wanted a command: {', '.join(COMMANDS)}")
    return argparse.Namespace(command="version")


def _dispatch(arguments: argparse.Namespace) -> int:
    from importlib import import_module  # a command's module is imported when it runs: start-up counts

    command = COMMANDS[arguments.command]
    if command.has_signals:
        _take_signals()
    module, _, function = command.runs.partition(":")
    status: int = getattr(import_module(f".{module}", __package__), function)(arguments)
    # An error of it is reported from here; the interpreter's own flush at the end ends in a traceback.
    sys.stdout.flush()
    return status


def _take_signals(*, last: bool = False) -> None:
    """Ctrl-C is an exception from here on; after the last one it is nothing, because the program is about to end."""
    import signal

    if last:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    elif signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def main(argv: list[str] | None = None) -> int:
    """Run a command and return its exit status: 0, 1 (a run failed), 2 (bad input) or 128 and the signal that
    interrupted it.
    """
    try:
        return _dispatch(_parse(sys.argv[1:] if argv is None else argv))
    except (OutError, ScenarioError) as error:
        return _fail(str(error).replace("\n", "\ndumbbell: "), BAD_INPUT)
    except DumbbellError as error:
        return _fail(str(error), FAILED)
    except KeyboardInterrupt as error:
        _take_signals(last=True)
        return _fail("interrupted", getattr(error, "status", INTERRUPTED))
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        _drop_output()
        return FAILED
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        _drop_output()
        return _fail(_unexpected(error), FAILED)


def _unexpected(error: Exception) -> str:
    """One line for an error that no code foresaw: of the system, as a disk that is full, or a fault of this program."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'output'}: {error.strerror}"
    if isinstance(error, MemoryError):
        return "out of memory"
    first = (str(error).splitlines() or [""])[0]
    return (
        f"a fault of this program: {type(error).__name__}: {first[:200]} ({TRACEBACK}=1 shows where; please report it)"
    )


def _drop_output() -> None:
    """Let nothing more come of what was not written, which the interpreter would try again at its end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = None


def _fail(text: str, status: int) -> int:
    print(f"dumbbell: {text}", file=sys.stderr)
    return status
