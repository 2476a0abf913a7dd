"""Programs with controllers in Rust (crates/test): which controllers one has, and how it runs a plan.

    PROGRAM --dumbbell describe           one answer: its engine, its controllers
    PROGRAM --dumbbell run FOLDER         the plan on standard input; how far it is, and at last the summary

Answers are lines `dumbbell JSON` on standard output; other lines are the controllers' own, and go to standard error.
The program writes the tables by its own engine, which has to be the one that this package has.
"""

from __future__ import annotations

import json
import sys
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from .errors import ScenarioError, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

#: The text by which such a program is known.
MARK = b"dumbbell asks for controllers 1"
#: What each line of an answer begins with.
_ANSWER = "dumbbell "
#: A program that has not described itself after so long is none, s.
_DESCRIBE_MAX_S = 60


class Described(NamedTuple):
    """A controller of a program: `transport` is tcp or quinn."""

    name: str
    summary: str
    transport: str


def is_program(file: Path) -> bool:
    """True if it is a program of controllers: `file` can be started, and has the text that all of them have."""
    import mmap
    import os

    if not file.is_file() or not os.access(file, os.X_OK) or not file.stat().st_size:
        return False
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as held:
        return held.find(MARK) >= 0


def describe(file: Path) -> list[Described]:
    """Controllers of a program; raises ScenarioError where it does not answer, or has another engine."""
    import subprocess

    from dumbbell import _native

    command = [str(file.resolve()), "--dumbbell", "describe"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_DESCRIBE_MAX_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ScenarioError("--cca", f"got {show(str(file))}, which does not say its controllers: {error}") from None
    answers = list(_answers(iter(done.stdout.splitlines(keepends=True))))
    if len(answers) != 1 or "controllers" not in answers[0]:
        said = done.stderr.strip().rpartition("\n")[2] or _ended(done.returncode)
        raise ScenarioError("--cca", f"got {show(str(file))}, which does not say its controllers: {said}")
    answer = answers[0]
    engine = tuple(answer.get(name) for name in ("engine", "manifest", "schema"))
    if engine != (_native.version(), _native.MANIFEST_VERSION, _native.SCHEMA_VERSION):
        accepted = f"one built with dumbbell-test {_native.version()}, as this program is"
        raise ScenarioError(
            "--cca", f"got {show(str(file))}, built with dumbbell-test {answer.get('engine')}, wanted {accepted}"
        )
    return [Described(told["name"], told["summary"], told["transport"]) for told in answer["controllers"]]


def run(file: str, plan: str, folder: Path, progress: Callable[[int, int], None]) -> str:
    """Summary of a plan that a program runs, as `_native.run` gives it, with the same errors."""
    import subprocess
    from pathlib import Path

    from dumbbell import _native

    command = [str(Path(file).resolve()), "--dumbbell", "run", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as going:
        assert going.stdin is not None
        assert going.stdout is not None
        try:
            _send(going.stdin, plan)
            last: dict[str, Any] = {}
            for answer in _answers(going.stdout):
                if "at" in answer:
                    progress(answer["at"], answer["packets"])
                else:
                    last = answer
        except BaseException:
            going.kill()
            raise
    if "summary" in last:
        return json.dumps(last["summary"])
    if "refused" in last:
        raise _native.PlanError(last["refused"])
    if "failed" in last:
        raise RuntimeError(last["failed"])
    raise _native.ControllerError(f"{file}: {last.get('panic') or _ended(going.returncode)}")


def _send(stdin: IO[str], plan: str) -> None:
    """Write the plan; a program that has ended does not read it, and the end of its answers tells why."""
    try:
        stdin.write(plan)
        stdin.close()
    except BrokenPipeError:
        pass


def _answers(lines: Iterator[str] | IO[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.startswith(_ANSWER):
            yield json.loads(line.removeprefix(_ANSWER))
        else:
            sys.stderr.write(line)


def _ended(status: int) -> str:
    """How a process ended.

    >>> _ended(-11), _ended(3)
    ('ended by SIGSEGV', 'ended with status 3')
    """
    import signal

    return f"ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
