"""The commands with their help lines and arguments, and the parser made of them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from .options_host import add_cca, add_kernel, add_shell
from .options_papers import add_demo, add_fidelity, add_papers, add_reproduce
from .options_plot import add_plot
from .options_policy import add_policy
from .options_race import add_race
from .options_results import add_explain, add_export, add_report, add_serve, add_show
from .options_run import add_check, add_compare, add_run
from .options_search import add_search
from .options_sweep import add_sweep
from .options_test import add_evaluate, add_suite, add_test
from .options_trace import add_trace
from .options_uml import add_uml
from .status import BAD_INPUT


class _Formatter(argparse.HelpFormatter):
    """The usual form of help; the width is found without `shutil`, which every command would import for it."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=terminal_width() - 2)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Keep the lines of a list; sentences are filled."""
        return text if "\n" in text else super()._fill_text(text, width, indent)


class _GroupedFormatter(_Formatter):
    """The same for the list of all commands, which the epilog has in groups."""

    def _iter_indented_subactions(self, _: argparse.Action) -> Generator[argparse.Action, None, None]:
        yield from ()


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
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), help="for which shell")


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
        help="print the scenario of this name, or list those with all of these words in name, topic, comment or keys",
    )
    gallery.add_argument("--json", action="store_true", help="list them as one JSON object per scenario and line")


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
    examples: tuple[str, ...]
    """Command lines of it, at least two; `mine.toml` is a scenario of the reader's own."""
    has_signals: bool = False
    """Whether Ctrl-C is for the command's own code; it ends others, until `interrupts` is asked for more."""


#: The commands by what a person wants; the order of help and man page.
GROUPS = {
    "Ask": {
        "race": Command(
            "race controllers over a bottleneck, in one line: who gets how much, with as many repetitions as it takes",
            add_race,
            "race:main",
            (
                "dumbbell race cubic bbr3 --rate 100mbit --rtt 30ms --buffer 1bdp",
                "dumbbell race cubic ./mine.c --sweep buffer --save mine.toml",
            ),
            has_signals=True,
        ),
        "run": Command(
            "run scenarios and write a result folder per run",
            add_run,
            "run:main",
            ("dumbbell run gallery:pair-cubic-bbr", "dumbbell run mine.toml --set path.rate=10Mbps --cca mine.py"),
        ),
        "sweep": Command(
            "run a scenario over what varies: axes from the command line, random samples, repetitions until intervals"
            " are small, searches; what was run before is not run again",
            add_sweep,
            "sweep:main",
            (
                "dumbbell sweep gallery:pair-cubic-bbr --vary path.buffer=0.25bdp..8bdp/6/log",
                "dumbbell sweep mine.toml --vary path.buffer=1bdp..4bdp/9 --find min path.buffer --where 'jain >= 0.9'",
            ),
        ),
        "search": Command(
            "look for the worst case inside stated bounds: what breaks an expectation most, made small, as a scenario",
            add_search,
            "search:main",
            (
                "dumbbell search gallery:pair-cubic-bbr --worst 'jain >= 0.5' --within flow[1].rtt=5ms..200ms",
                "dumbbell search mine.toml --worst 'stall <= 1s' --within outages:100ms..10s --replay uml",
            ),
        ),
        "compare": Command(
            "run scenarios on two or three back ends, and say where their figures differ",
            add_compare,
            "compare:main",
            (
                "dumbbell compare gallery:pair-cubic-bbr --on sim,uml",
                "dumbbell compare mine.toml --on sim,linux --need 90% --json",
            ),
        ),
        "test": Command(
            "judge what scenario files expect of their runs ([[expect]]): a regression test of a controller",
            add_test,
            "test:main",
            (
                "dumbbell test gallery:regression-test",
                "dumbbell test gallery:regression-test -k queue --junit queue.xml",
            ),
            has_signals=True,
        ),
        "evaluate": Command(
            "evaluate a controller as RFC 9743 asks, section by section, beside Reno, CUBIC and BBRv3",
            add_evaluate,
            "evaluate:main",
            ("dumbbell evaluate bbr", "dumbbell evaluate ./mine.c --profile full --out mine.html"),
            has_signals=True,
        ),
        "suite": Command(
            "list suites of scenarios that judge a controller, the files of one, or evaluate a controller by it",
            add_suite,
            "evaluate:suite",
            ("dumbbell suite", "dumbbell suite rfc9743"),
            has_signals=True,
        ),
        "reproduce": Command(
            "run figures of papers, draw them as the paper does, and judge the paper's claims",
            add_reproduce,
            "papers:reproduce",
            ("dumbbell reproduce kfoury2020/fig14a --quick", "dumbbell reproduce all --fast"),
            has_signals=True,
        ),
        "papers": Command(
            "say what the papers conclude and whether it holds, or list their figures and tables",
            add_papers,
            "papers:main",
            ("dumbbell papers", "dumbbell papers kfoury2020 --json"),
        ),
        "demo": Command(
            "BBR against CUBIC over buffer size (Kfoury et al. 2020, Fig. 11a): picture, claims",
            add_demo,
            "papers:demo",
            ("dumbbell demo", "dumbbell demo --full --out results/fig11a"),
        ),
    },
    "Look": {
        "show": Command(
            "print result folders as a table, JSON, CSV or Markdown, or what changed between two",
            add_show,
            "show:main",
            ("dumbbell show --by table", "dumbbell show --columns goodput,rtt_p99 --csv"),
        ),
        "explain": Command(
            "say why flows got what they got: what limited them, and the run that proves it",
            add_explain,
            "explain:main",
            ("dumbbell explain --flow bbr", "dumbbell explain --run 0 --prove"),
        ),
        "plot": Command(
            "draw a result folder",
            add_plot,
            "plot:main",
            ("dumbbell plot goodput --run 0", "dumbbell plot rtt --run 0 --from 5s -o rtt.pdf"),
        ),
        "report": Command(
            "write result folders as one page in one file: verdict, tables, figures; it opens without a network",
            add_report,
            "report:main",
            ("dumbbell report --open", "dumbbell report -o report.html --title 'Two flows'"),
        ),
        "serve": Command(
            "serve a page of this machine: build a path, run it, see it while it runs; it prints its address",
            add_serve,
            "serve:main",
            ("dumbbell serve", "dumbbell serve --port 8080 --max-runs 50"),
            has_signals=True,
        ),
        "export": Command(
            "write a run in the format of another program: Perfetto",
            add_export,
            "export:main",
            (
                "dumbbell export perfetto -o run.pftrace",
                "dumbbell export perfetto results/mine-1/mine -o mine.pftrace",
            ),
        ),
        "store": Command(
            "list the finished runs that sweep and reproduce keep, and drop those that are old or no longer used",
            _add_store,
            "store:{action}_",
            ("dumbbell store list --stale", "dumbbell store drop --older 30 --dry-run"),
        ),
    },
    "Describe": {
        "gallery": Command(
            "list the scenarios that come with dumbbell by topic, find some by words, or print one",
            _add_gallery,
            "gallery:main",
            ("dumbbell gallery bbr wifi", "dumbbell gallery pair-cubic-bbr"),
        ),
        "new": Command(
            "copy a scenario of the gallery, to start from",
            _add_new,
            "gallery:main",
            ("dumbbell new pair-cubic-bbr mine.toml", "dumbbell new rtt-unfairness"),
        ),
        "check": Command(
            "say what a scenario would run, and how long it would take",
            add_check,
            "views:check",
            ("dumbbell check gallery:pair-cubic-bbr", "dumbbell check mine.toml --set flow[0].count=10"),
        ),
        "schema": Command(
            "print the JSON Schema of scenario files",
            _add_nothing,
            "views:schema",
            ("dumbbell schema", "dumbbell schema > scenario.schema.json"),
        ),
        "cca": Command(
            "list congestion controllers, or show one with its parameters",
            add_cca,
            "views:cca_{action}",
            ("dumbbell cca list", "dumbbell cca show bbr3"),
        ),
        "policy": Command(
            "import networks that somebody has trained as controllers, and say what is in a policy file",
            add_policy,
            "policy:{action}_",
            ("dumbbell policy import model.ckpt-1283529", "dumbbell policy import ppo.zip --name ppo"),
        ),
        "trace": Command(
            "say what recordings of paths hold, convert and draw them, or write synthetic ones",
            add_trace,
            "trace:main",
            (
                "dumbbell trace lte --mean 20Mbps -o lte.trace",
                "dumbbell trace info lte.trace",
            ),
        ),
    },
    "Linux": {
        "uml": Command(
            "make kernels that run in virtual time, for --on uml; say which there are, remove and compare them",
            add_uml,
            "uml:{action}_",
            ("dumbbell uml build --kernel 6.12", "dumbbell uml status"),
            has_signals=True,
        ),
        "kernel": Command(
            "put controllers into the running Linux kernel, look at their flows, change their parameters (root)",
            add_kernel,
            "kernel:{action}_",
            ("dumbbell kernel load bbr3", "dumbbell kernel status"),
            has_signals=True,
        ),
        "shell": Command(
            "run one command at one end of an emulated path",
            add_shell,
            "shell:main",
            (
                "dumbbell shell --rate 12Mbps --delay 20ms --buffer 2bdp -- bash",
                "dumbbell shell --rate 50Mbps --far 'iperf3 -s' -- iperf3 -c 10.2.0.1",
            ),
            has_signals=True,
        ),
        "fidelity": Command(
            "hold the simulator against Linux, row by row",
            add_fidelity,
            "fidelity:main",
            ("dumbbell fidelity --set smoke", "dumbbell fidelity mine.toml --seeds 5"),
        ),
    },
    "Help": {
        "help": Command(
            "list the commands, or explain one",
            _add_help,
            "words:help_",
            ("dumbbell help", "dumbbell help sweep"),
        ),
        "man": Command(
            "print the man page (roff)",
            _add_nothing,
            "manual:main",
            ("dumbbell man | man -l -", "dumbbell man > dumbbell.1"),
        ),
        "completion": Command(
            "print what a shell needs to complete commands, options and names",
            _add_completion,
            "words:completion",
            (
                "dumbbell completion bash > ~/.local/share/bash-completion/completions/dumbbell",
                "dumbbell completion zsh > ~/.zfunc/_dumbbell",
                "dumbbell completion fish > ~/.config/fish/completions/dumbbell.fish",
            ),
        ),
        "version": Command("print versions", _add_nothing, "words:version", ("dumbbell version", "dumbbell --version")),
    },
}

COMMANDS = {name: command for commands in GROUPS.values() for name, command in commands.items()}


def parser(name: str | None = None) -> argparse.ArgumentParser:
    """The parser of one command, or of all of them."""
    if name is not None:
        alone = _Parser(prog=f"dumbbell {name}", **_texts(COMMANDS[name]))
        COMMANDS[name].add(alone)
        return alone
    whole = _Parser(
        prog="dumbbell",
        description="A congestion-control laboratory.",
        epilog=_grouped(terminal_width() - 2),
        formatter_class=_GroupedFormatter,
    )
    whole.add_argument("--version", action="store_true", help="print versions and exit")
    commands = whole.add_subparsers(
        dest="command", metavar="COMMAND", help="one of those below; dumbbell help COMMAND has its options and examples"
    )
    for each, command in COMMANDS.items():
        command.add(commands.add_parser(each, help=command.text, formatter_class=_Formatter, **_texts(command)))
    return whole


def _texts(command: Command) -> dict[str, Any]:
    """What stands above and below the options of a command."""
    examples = "".join(f"\n  {example}" for example in command.examples)
    return {"description": f"{command.text[0].upper()}{command.text[1:]}.", "epilog": f"examples:{examples}"}


def _grouped(width: int) -> str:
    """The commands in their groups, a line or more each."""
    from textwrap import wrap

    lines: list[str] = []
    for title, commands in GROUPS.items():
        lines += ["", f"{title}:"] if lines else [f"{title}:"]
        for name, command in commands.items():
            first, *more = wrap(command.text, max(width - 18, 20))
            lines += [f"    {name:14}{first}", *(" " * 18 + line for line in more)]
    return "\n".join(lines)
