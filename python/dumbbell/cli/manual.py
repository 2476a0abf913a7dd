"""The man page of the command line, in roff (man(7)), made from the parsers; `groff -man -Tutf8` or `man -l` reads it.

Own code, because the well-kept generator (argparse-manpage) has no wheel, and the lock files take wheels only.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator

from .commands import COMMANDS, parser
from .status import BAD_INPUT, FAILED, OK

#: Files and folders that commands read and write; docs/results.md has those of a result.
FILES = (
    ("results/NAME-N", "results of run and sweep, below the current folder, unless --out says where"),
    ("results/compare-NAME-N", "results of compare, a folder for each back end"),
    ("results/.store", "finished runs of sweep and reproduce, which are not run again"),
    ("~/.cache/dumbbell", "kernels of uml, and controllers that were compiled"),
)
#: What the environment changes.
ENVIRONMENT = (
    ("DUMBBELL_STORE", "the store, instead of results/.store"),
    ("DUMBBELL_ORCA", "checkpoint or policy file of Orca, which reproduce then runs (docs/policies.md)"),
    ("DUMBBELL_TRACES", "Mahimahi's recordings for reproduce, instead of /usr/share/mahimahi/traces"),
    ("DUMBBELL_SSH", "the command that --on ssh:// uses, instead of ssh"),
    ("DUMBBELL_TRACEBACK", "set: a fault of this program keeps its traceback"),
    ("XDG_CACHE_HOME", "instead of ~/.cache"),
    ("RAY_ADDRESS", "the cluster of --on ray://"),
    ("BROWSER, DISPLAY", "what --open shows files with, and where"),
    ("COLUMNS", "width of help and tables, instead of the terminal's"),
    ("NO_COLOR", "set: no colour"),
)
#: What the exit statuses mean; signals add their number to 128, as in shells.
STATUSES = (
    (OK, "all went well"),
    (FAILED, "a run or a command failed"),
    (BAD_INPUT, "wrong input"),
    (130, "interrupted (SIGINT)"),
    (143, "ended by SIGTERM"),
)


def main(_: argparse.Namespace) -> int:
    """Print the page."""
    print("\n".join(lines()))
    return OK


def lines() -> Iterator[str]:
    """The page, line by line: one section for every command, in the order of `dumbbell help`."""
    from dumbbell import _native

    yield f'.TH DUMBBELL 1 "" "dumbbell {roff(_native.version())}" "User Commands"'
    yield from (
        ".SH NAME",
        r"dumbbell \- a congestion-control laboratory",
        ".SH SYNOPSIS",
        r".B dumbbell",
        r"\fICOMMAND\fR [\fIARGUMENTS\fR]",
    )
    yield from (
        ".SH DESCRIPTION",
        "Describe a path and the flows that share it, and see who gets what. The commands are:",
    )
    for name in COMMANDS:
        yield from _command(f"dumbbell {name}", parser(name))
    yield ".SH EXAMPLES"
    for command in COMMANDS.values():
        yield from _examples(command.examples)
    for title, entries in (("EXIT STATUS", STATUSES), ("FILES", FILES), ("ENVIRONMENT", ENVIRONMENT)):
        yield f".SH {title}"
        for entry, meaning in entries:
            yield from (".TP", rf"\fB{roff(str(entry))}\fR", roff(meaning))


def _examples(commands: Iterable[str]) -> Iterator[str]:
    """A line each, not filled."""
    for command in commands:
        yield from (".PP", rf"\fB{roff(command)}\fR")


def _command(name: str, command: argparse.ArgumentParser, level: str = ".SH") -> Iterator[str]:
    """The section of a command, then those of its actions."""
    yield f'{level} "{roff(name)}"'
    yield roff(command.description or "")
    usage = " ".join(command.format_usage().removeprefix("usage: ").split())
    yield from (".PP", f"Usage: {roff(usage)}")
    actions = [
        action
        for action in command._actions
        if action.help not in (None, argparse.SUPPRESS) and "--help" not in action.option_strings
    ]
    inner = [action for action in command._actions if isinstance(action, argparse._SubParsersAction)]
    formatter = command._get_formatter()
    for action in actions:
        if action in inner:
            continue
        heading = formatter._format_action_invocation(action)
        yield from (".TP", rf"\fB{roff(heading)}\fR", roff(formatter._expand_help(action)))
    for action in inner:
        for word, below in action.choices.items():
            below.description = below.description or next(
                choice.help for choice in action._choices_actions if choice.dest == word
            )
            yield from _command(f"{name} {word}", below, ".SS")


def roff(text: str) -> str:
    r"""The text with what roff takes for its own escaped: backslashes, hyphens, a dot or an apostrophe that opens a
    line.

    >>> roff("-o FILE"), roff(".toml")
    ('\\-o FILE', '\\&.toml')
    """
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("\n", " ")
    return f"\\&{escaped}" if escaped[:1] in {".", "'"} else escaped
