"""The commands with their help lines and arguments, and the parser made of them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from .options_host import add_cca, add_kernel, add_shell
from .options_plot import add_plot
from .options_race import add_race
from .options_results import add_export, add_report, add_serve, add_show
from .options_run import add_check, add_compare, add_run, count, share
from .options_sweep import add_sweep
from .options_trace import add_trace
from .options_uml import add_uml
from .status import BAD_INPUT


class _Formatter(argparse.HelpFormatter):
    """The usual form of help; the width is found without `shutil`, which every command would import for it."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=terminal_width() - 2)


def terminal_width() -> int:
    """Characters of a line: COLUMNS, or the terminal's, or 80, as `shutil.get_terminal_size` finds them."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):  # no terminal, or no stdout at all
        return 80


#: A thousand years: dates do not go back further than twice as far.
_DAYS_MAX = 365_000


class _Parser(argparse.ArgumentParser):
    """Argument errors in one line, status 2."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**{"formatter_class": _Formatter, **given})

    def error(self, message: str) -> None:  # type: ignore[override]
        self.exit(BAD_INPUT, f"{self.prog}: {message}\n")


def _days(text: str) -> float:
    """A number of days that may lie behind us; raises ArgumentTypeError."""
    try:
        days = float(text)
    except ValueError:
        days = -1.0
    if not 0 <= days <= _DAYS_MAX:  # nor nan
        raise argparse.ArgumentTypeError(f"got {text[:40]}, wanted a number of days, 0 to {_DAYS_MAX}")
    return days


def _add_nothing(_: argparse.ArgumentParser) -> None:
    """A command without arguments."""


def _add_help(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", metavar="COMMAND", nargs="?", choices=list(COMMANDS), help="only this one")


def _add_completion(completion: argparse.ArgumentParser) -> None:
    completion.add_argument("shell", choices=("bash", "zsh"), help="for which shell")


def _add_demo(demo: argparse.ArgumentParser) -> None:
    demo.add_argument("--full", action="store_true", help="the paper's ten repetitions instead of one")
    demo.add_argument("--out", metavar="DIR", help="folder for picture and scoreboard (default: results/demo)")
    _add_kept(demo)


def _add_kept(command: argparse.ArgumentParser) -> None:
    """Add options of the store and of runs."""
    command.add_argument(
        "--store", metavar="DIR", help="where runs are kept (default: $DUMBBELL_STORE or results/.store)"
    )
    command.add_argument("--jobs", type=count, metavar="N", help="runs at the same time (default: one per core)")
    command.add_argument("-q", "--quiet", action="store_true", help="no progress")


def _factor(text: str) -> float:
    """A number above 0; raises ArgumentTypeError."""
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 0 < factor < float("inf"):
        raise argparse.ArgumentTypeError(f"got {text}, wanted a number above 0, such as 0.1")
    return factor


def _add_papers(listed: argparse.ArgumentParser) -> None:
    listed.add_argument("id", metavar="ID", nargs="*", help="only these papers or figures")
    listed.add_argument("--json", action="store_true", help="print one JSON object per figure and line")


def _add_fidelity(fidelity: argparse.ArgumentParser) -> None:
    fidelity.add_argument("files", nargs="*", metavar="FILE", help="scenarios of your own instead of a set")
    fidelity.add_argument(
        "--set", default="tests", metavar="NAME",
        help="tests (default: 200 rows), random (drawn), means (of 16 seeds), smoke (a few), both-ways",
    )  # fmt: skip
    fidelity.add_argument("--only", default="", metavar="REGEX", help="rows whose name has this")
    fidelity.add_argument("--seeds", type=count, metavar="N", help="of each row on each side (default: 3; means: 16)")
    fidelity.add_argument("--seed", type=int, default=1, metavar="N", help="of --set random: what it is drawn by")
    fidelity.add_argument("--count", type=count, default=100, metavar="N", help="of --set random: how many scenarios")
    fidelity.add_argument(
        "--on", default="uml", metavar="BACKEND", help="what stands for Linux: uml (default), or uml:VERSION"
    )
    fidelity.add_argument(
        "--need", type=share, default="0", metavar="SHARE", help="share of rows that must agree for status 0"
    )
    fidelity.add_argument("--against", metavar="FILE", help="say what moved since this stored table")
    fidelity.add_argument("--stored", action="store_true", help="take Linux's figures from it; needs no kernel")
    fidelity.add_argument("--save", metavar="FILE", help="put what was measured into this table")
    fidelity.add_argument("--json", action="store_true", help="print one JSON object per row and line")
    _add_kept(fidelity)


def _add_reproduce(reproduce: argparse.ArgumentParser) -> None:
    reproduce.add_argument(
        "id",
        metavar="ID",
        nargs="+",
        help="all, a paper (kfoury2020), a figure (kfoury2020/fig14a), or the folder of a suite of your own"
        " (docs/suites.md)",
    )
    profile = reproduce.add_mutually_exclusive_group()
    profile.add_argument(
        "--fast",
        action="store_const",
        const="fast",
        dest="profile",
        default="full",
        help="shorter runs and fewer repetitions than the paper's; verdicts are provisional",
    )
    profile.add_argument(
        "--quick", action="store_const", const="quick", dest="profile", help="still fewer, for a first look"
    )
    reproduce.add_argument(
        "--on", metavar="BACKEND", default="sim", help="sim (default), or uml: Linux in virtual time"
    )
    reproduce.add_argument(
        "--beside", metavar="BACKEND", help="run it on this back end too, and draw both into one picture: linux, uml"
    )
    reproduce.add_argument(
        "--scale", type=_factor, default=1.0, metavar="FACTOR",
        help="rates and sizes times this, where a back end does not carry the paper's; buffers in BDP follow, and"
        " figures are brought to the paper's scale",
    )  # fmt: skip
    reproduce.add_argument("--out", metavar="DIR", help="folder for figures and scoreboard (default: results/papers)")
    reproduce.add_argument("--json", action="store_true", help="print one JSON object per figure and line")
    _add_kept(reproduce)


def _add_store(store: argparse.ArgumentParser) -> None:
    actions = store.add_subparsers(dest="action", metavar="ACTION", required=True)
    listed = actions.add_parser("list", help="list its runs with size, age, and whether they are still found")
    listed.add_argument("--json", action="store_true", help="print one JSON object per run and line")
    drop = actions.add_parser("drop", help="take runs out of it; all conditions given must hold")
    drop.add_argument("--all", action="store_true", help="all runs")
    drop.add_argument("--dry-run", action="store_true", help="say what would go, and keep it")
    for action in (listed, drop):
        action.add_argument("key", metavar="KEY", nargs="*", help="first digits of the keys of runs")
        action.add_argument(
            "--stale",
            action="store_true",
            help="runs that are found no more: the engine, a controller or the back end has changed since",
        )
        action.add_argument("--older", type=_days, metavar="DAYS", help="runs that were made before this many days")
        action.add_argument(
            "--store", metavar="DIR", help="folder of finished runs (default: $DUMBBELL_STORE or results/.store)"
        )


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
        help="file to write (default: NAME.toml); traces and controllers go to the same folder",
    )
    new.add_argument("--force", action="store_true", help="overwrite what is there")


class Command(NamedTuple):
    """A command: its help line, what adds its arguments, and the function that runs it (with actions, one for each), in
    a module that is imported when it is used.
    """

    text: str
    add: Callable[[argparse.ArgumentParser], None]
    runs: str
    has_signals: bool = False
    """Whether Ctrl-C is for the command's own code; it ends others, until `interrupts` is asked for more."""


COMMANDS = {
    "race": Command(
        "race controllers over a bottleneck, in one line: who gets how much, with as many repetitions as it takes",
        add_race,
        "race:main",
        has_signals=True,
    ),
    "run": Command("run scenarios and write a result folder per run", add_run, "run:main"),
    "compare": Command(
        "run scenarios on two or three back ends, and say where their figures differ", add_compare, "compare:main"
    ),
    "sweep": Command(
        "run a scenario over what varies: axes from the command line, random samples, repetitions until intervals are"
        " small, searches; what was run before is not run again",
        add_sweep,
        "sweep:main",
    ),
    "store": Command(
        "list the finished runs that sweep and reproduce keep, and drop those that are old or found no more",
        _add_store,
        "store:{action}_",
    ),
    "check": Command("say what a scenario would run, and how long it would take", add_check, "views:check"),
    "show": Command(
        "print result folders as a table, JSON, CSV or Markdown, or what changed between two", add_show, "show:main"
    ),
    "plot": Command("draw a result folder", add_plot, "plot:main"),
    "report": Command(
        "write result folders as one page in one file: verdict, tables, figures; it opens without a network",
        add_report,
        "report:main",
    ),
    "serve": Command(
        "serve a page of this machine: build a path, run it, see it while it runs; it prints its address",
        add_serve,
        "serve:main",
        has_signals=True,
    ),
    "export": Command("write a run in the format of another program: Perfetto", add_export, "export:main"),
    "cca": Command("list congestion controllers, or show one with its parameters", add_cca, "views:cca_{action}"),
    "kernel": Command(
        "put controllers into the running Linux kernel, look at their flows, change their parameters (root)",
        add_kernel,
        "kernel:{action}_",
        has_signals=True,
    ),
    "uml": Command(
        "make kernels that run in virtual time, for --on uml; say which there are, remove and compare them",
        add_uml,
        "uml:{action}_",
        has_signals=True,
    ),
    "shell": Command("run one command at one end of an emulated path", add_shell, "shell:main", has_signals=True),
    "schema": Command("print the JSON Schema of scenario files", _add_nothing, "views:schema"),
    "demo": Command(
        "BBR against CUBIC over buffer size (Kfoury et al. 2020, Fig. 11a): picture, claims",
        _add_demo,
        "papers:demo",
    ),
    "papers": Command("list the figures and tables of papers that can be reproduced", _add_papers, "papers:main"),
    "fidelity": Command("hold the simulator against Linux, row by row", _add_fidelity, "fidelity:main"),
    "reproduce": Command(
        "run figures of papers, draw them as the paper does, and judge the paper's claims",
        _add_reproduce,
        "papers:reproduce",
        has_signals=True,
    ),
    "gallery": Command("list the scenarios that come with dumbbell, or print one", _add_gallery, "gallery:main"),
    "new": Command("copy a scenario of the gallery, to start from", _add_new, "gallery:main"),
    "trace": Command(
        "say what recordings of paths hold, convert and draw them, or write synthetic ones", add_trace, "trace:main"
    ),
    "completion": Command(
        "print what a shell needs to complete commands and options", _add_completion, "words:completion"
    ),
    "man": Command("print the man page (roff), as in: dumbbell man | man -l -", _add_nothing, "manual:main"),
    "help": Command("list the commands, or explain one", _add_help, "words:help_"),
    "version": Command("print versions", _add_nothing, "words:version"),
}


def parser(name: str | None = None) -> argparse.ArgumentParser:
    """The parser of one command, or of all of them."""
    if name is not None:
        alone = _Parser(prog=f"dumbbell {name}", description=_sentence(COMMANDS[name].text))
        COMMANDS[name].add(alone)
        return alone
    whole = _Parser(prog="dumbbell", description="A congestion-control laboratory.")
    whole.add_argument("--version", action="store_true", help="print versions and exit")
    commands = whole.add_subparsers(dest="command", metavar="COMMAND")
    for each, command in COMMANDS.items():
        command.add(commands.add_parser(each, help=command.text, description=_sentence(command.text)))
    return whole


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
