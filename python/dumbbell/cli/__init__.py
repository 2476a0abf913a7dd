"""The command line: arguments and printing only; each command's module is imported when it is used."""

from __future__ import annotations

import argparse
import os
import sys

from dumbbell.errors import DumbbellError, nearest, show

from . import status
from .output import guarded, note
from .status import BAD_INPUT, FAILED, INTERRUPTED

#: Set, an error that is none of ours keeps its traceback.
TRACEBACK = "DUMBBELL_TRACEBACK"


def _parse(argv: list[str]) -> argparse.Namespace:
    """Arguments of the command; only its own parser is made, because all of them take 4 ms, a tenth of a short run."""
    from .commands import COMMANDS, parser

    if argv == ["--version"]:
        return argparse.Namespace(command="version")
    if argv and argv[0] in COMMANDS:
        return parser(argv[0]).parse_args(argv[1:], argparse.Namespace(command=argv[0]))
    if argv and not argv[0].startswith("-"):
        hint = nearest(argv[0], list(COMMANDS))
        parser().error(f"there is no command {show(argv[0])}{hint or '; `dumbbell help` lists them'}")
    whole = parser()
    arguments = whole.parse_args(argv)
    if not arguments.version:
        whole.error(f"wanted a command: {', '.join(COMMANDS)}")
    return argparse.Namespace(command="version")


def _dispatch(arguments: argparse.Namespace) -> int:
    from importlib import import_module  # a command's module is imported when it runs: start-up counts

    from .commands import COMMANDS

    command = COMMANDS[arguments.command]
    if command.has_signals:
        _take_signals()
    module, _, function = command.runs.format_map(vars(arguments)).partition(":")
    ended: int = getattr(import_module(f".{module}", __package__), function)(arguments)
    # An error of it is reported from here; the interpreter's own flush at the end ends in a traceback.
    sys.stdout.flush()
    return ended


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
    with guarded():
        return _main(sys.argv[1:] if argv is None else argv)


def _main(argv: list[str]) -> int:
    try:
        return _dispatch(_parse(argv))
    except DumbbellError as error:
        text = str(error)
        return _fail(text.replace("\n", "\ndumbbell: ") if error.is_input else text, status.of(error))
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
        return _fail(_unexpected(error), BAD_INPUT if _is_backend(error) else FAILED)


def _unexpected(error: Exception) -> str:
    """One line for an error that no code foresaw: of the system, as a disk that is full, or a fault of this program."""
    if _is_backend(error):
        backend = show(os.environ.get("MPLBACKEND", ""))
        return f"MPLBACKEND: got {backend}, wanted a name that Matplotlib knows, such as agg, or none"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'output'}: {error.strerror}"
    if isinstance(error, MemoryError):
        return "out of memory"
    first = (str(error).splitlines() or [""])[0]
    return (
        f"a fault of this program: {type(error).__name__}: {first[:200]} ({TRACEBACK}=1 shows where; please report it)"
    )


def _is_backend(error: Exception) -> bool:
    """True if Matplotlib refuses the back end of the environment; no picture of ours needs one."""
    return isinstance(error, ValueError) and str(error).startswith("Key backend:")


def _drop_output() -> None:
    """Let nothing more come of what was not written, which the interpreter would try again at its end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = None


def _fail(text: str, ended: int) -> int:
    note(text)
    return ended
