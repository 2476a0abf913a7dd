"""What the fuzzers of inputs share: numbered inputs until the time is over, what counts as a refusal, and what is kept
of a finding.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dumbbell.errors import ERRORS_SHOWN, ScenarioError

ROOT = Path(__file__).resolve().parent.parent
INPUT_S_MAX = 20
"""More processor time than this on one input is a hang."""
WAIT_S_MAX = 300
"""So is a wait of this long; on processors that others use an input may wait for its turn."""
LINE_MAX = 2_000
"""Letters of one error of a scenario: it names a key, what was given (shortened) and all that is accepted."""


class StoppedError(Exception):
    """Raised from the progress call: the plan was accepted, and that is all that is asked."""


def arguments(text: str | None) -> argparse.Namespace:
    """What the command line of a fuzzer says."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0] if text else None)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, metavar="I", help="only input number I")
    return parser.parse_args()


def throw(args: argparse.Namespace, choose: Callable[[random.Random], tuple[Callable[..., str], Any]]) -> int:
    """Hand what `choose` makes, (target, input), to its target until the time is over; the status."""
    seen: Counter[str] = Counter()
    for i in numbers(args):
        target, thrown = choose(random.Random(f"{args.seed}:{i}"))
        try:
            with watched():
                seen[target(thrown)] += 1
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            return found(args.seed, i, target, thrown, error)
    summarize(args, seen, "inputs")
    return 0


def summarize(args: argparse.Namespace, seen: Counter[str], what: str) -> None:
    """How many of each kind there were."""
    kinds = ", ".join(f"{name} {count}" for name, count in sorted(seen.items()))
    print(f"{sum(seen.values())} {what} of seed {args.seed}: {kinds}")


def numbers(args: argparse.Namespace) -> Iterator[int]:
    """Input numbers until the time is over."""
    if args.only is not None:
        yield args.only
        return
    end = time.monotonic() + args.seconds
    i = 0
    while time.monotonic() < end:
        yield i
        i += 1


def refused(what: str, error: Exception) -> str:
    """An error must say something, in one line; several errors of a scenario, in a line each, and each of a bounded
    length.
    """
    for one in getattr(error, "errors", (error,)):
        text = str(one)
        if not text.strip() or "\n" in text.strip() or (isinstance(one, ScenarioError) and len(text) > LINE_MAX):
            raise AssertionError(f"an error of one line was wanted, got {shortened(text)}")
    if str(error).count("\n") > ERRORS_SHOWN:
        raise AssertionError(
            f"at most {ERRORS_SHOWN} errors and how many more there are were wanted, got {str(error)!r}"
        )
    return f"{what} refused"


def shortened(text: str) -> str:
    """The beginning of a text, for a person."""
    return repr(text if len(text) <= LINE_MAX else text[:LINE_MAX] + "...")


def found(seed: int, i: int, target: Callable[..., str], thrown: object, error: BaseException) -> int:
    """Keep the input that broke something and say how to see it again."""
    folder = ROOT / "build/fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{target.__name__}-{seed}-{i}.txt"
    path.write_text(
        thrown if isinstance(thrown, str) else json.dumps(thrown, indent=1), encoding="utf-8", errors="surrogatepass"
    )
    print(
        f"{target.__name__}: {type(error).__name__}: {shortened(str(error))}\ninput: {path}\nagain:"
        f" {Path(sys.argv[0]).name} --seed {seed} --only {i}",
        file=sys.stderr,
    )
    return 1


@contextmanager
def watched() -> Iterator[None]:
    """Raises TimeoutError where what is inside hangs."""
    signal.signal(signal.SIGPROF, _hang)
    signal.signal(signal.SIGALRM, _hang)
    signal.setitimer(signal.ITIMER_PROF, INPUT_S_MAX)
    signal.alarm(WAIT_S_MAX)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


def _hang(number: int, _frame: object) -> None:
    """What the alarms do."""
    spent = f"{INPUT_S_MAX} s of processor time" if number == signal.SIGPROF else f"{WAIT_S_MAX} s"
    raise TimeoutError(f"more than {spent} on one input")
