#!/usr/bin/env python3
"""Throws broken scenarios and plans at the two parsers: Python's of the scenario file and the engine's of the plan.

Whatever is thrown, the first may raise `ScenarioError` and the second `PlanError`, each with a text; anything else (another exception, a
panic, an endless loop) is a finding: the input is written to ``build/fuzz`` and the status is 1. Input number i of a seed is always the same.

    fuzz/scenario.py --seconds 60 --seed 1
    fuzz/scenario.py --seed 1 --only 4711
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import random
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dumbbell import plan, scenario
from dumbbell._native import PlanError
from dumbbell._native import run as run_plan
from dumbbell.errors import ScenarioError

ROOT = Path(__file__).resolve().parent.parent
INPUT_S_MAX = 20
"""Longer than this on one input is a hang."""

BAD: tuple[Any, ...] = (
    0, -1, 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, 10**30, -(2**63), 0.0, -0.5, 1e-300, 1e308, math.nan, math.inf, True, False,
    "", " ", "0", "-1", "1", "auto", "fifo", "cubic", "1e99Gbps", "0Mbps", "-5ms", "5 ms", "5ms ", "1bdp", "0.0001bdp", "1e-18bdp", "9e18B",
    "100%", "101%", "1e2%", "nan", "infs", "٣ms", "1µs", "1ns", "1h", "99999999999h", "../x", "a\0b", "x" * 10_000, "1.5.5Mbps", "0x10kB",
    [], [[]], [1, [2]], ["1ms", "1ms"], {}, {"kind": "fifo"}, {"kind": []}, {"spread": "1ms"}, {"": 0},
    "fq_codel", "cake", "quic", "buffer", "10/s", {"kind": "red", "min": "9kB"}, {"kind": "quic", "payload": "100B"}, {"steps": [["0s", "1Mbps"], ["1s", "0bps"]]},
    {"steps": [["0s", 0], ["1s", "1%"]], "repeat": True}, {"trace": "traces/lte-mobile.trace"}, {"lte": "mobile", "mean": "1Mbps"}, {"packets": [0]},
    {"model": "gilbert_elliott", "p": 0.1, "r": 0.5}, {"every": "1ms"}, {"packets": 4, "hold": "1ms"}, ["bottleneck"], {"rate": "1/s", "sizes": "1kB"},
    [{"kind": "links"}, {"kind": "delay"}, {"kind": "loss", "rate": 0.1}], {"rate": "1Mbps", "burst": "2kB"}, {"kind": "pareto", "least": "1kB"},
)  # fmt: skip
TOKENS = ("[", "]", "[[flow]]", "[path]", "=", '"', '"""', ",", "{", "}", "#", "\\u0000", "\n", "'", "1e999", "inf", "1979-05-27", ".", "\x00", "\ufeff")


class StoppedError(Exception):
    """Raised from the progress call: the plan was accepted, and that is all that is asked."""


def main() -> int:
    """Throw inputs until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, metavar="I", help="only input number I")
    args = parser.parse_args()
    signal.signal(signal.SIGALRM, _hang)
    seeds = sorted([*ROOT.glob("scenarios/*.toml"), *ROOT.glob("bench/scenarios/*.toml")])
    tables = [tomllib.loads(path.read_text(encoding="utf-8")) for path in seeds]
    texts = [path.read_text(encoding="utf-8") for path in seeds]
    plans = [planned.plan for path in seeds for planned in plan.runs(scenario.from_file(path).scenario)[:1]]
    seen: Counter[str] = Counter()
    for i in numbers(args):
        rng = random.Random(f"{args.seed}:{i}")
        target, thrown = rng.choice(((parse_text, broken_text(rng, texts)), (parse_table, broken(rng, tables)), (parse_plan, broken(rng, plans))))
        signal.alarm(INPUT_S_MAX)
        try:
            seen[target(thrown)] += 1
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            return found(args.seed, i, target, thrown, error)
        finally:
            signal.alarm(0)
    print(f"{sum(seen.values())} inputs of seed {args.seed}: " + ", ".join(f"{name} {count}" for name, count in sorted(seen.items())))
    return 0


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


def parse_text(text: str) -> str:
    """A scenario file."""
    try:
        made = scenario.from_text(text, folder=ROOT / "scenarios")
        plan.runs(made)
    except ScenarioError as error:
        return refused("text", error)
    return "text accepted"


def parse_table(table: dict[str, Any]) -> str:
    """A scenario as nested tables."""
    try:
        plan.runs(scenario.from_dict(table, folder=ROOT / "scenarios"))
    except ScenarioError as error:
        return refused("table", error)
    return "table accepted"


def parse_plan(given: dict[str, Any]) -> str:
    """A plan, which the engine begins to run if it accepts it."""

    def stop(_ns: int, _packets: int) -> None:
        raise StoppedError

    with tempfile.TemporaryDirectory() as out:
        try:
            run_plan(json.dumps(given), out, stop)
        except PlanError as error:
            return refused("plan", error)
        except StoppedError:
            pass
    return "plan accepted"


def refused(what: str, error: Exception) -> str:
    """An error must say something, in one line."""
    text = str(error)
    if not text or "\n" in text.strip():
        raise AssertionError(f"an error of one line was wanted, got {text!r}")
    return f"{what} refused"


def broken_text(rng: random.Random, texts: list[str]) -> str:
    """A scenario file with some of its text wrong."""
    text = rng.choice(texts)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        end = min(len(text), at + rng.choice((1, 1, 2, 8, 40)))
        lines = text.splitlines(keepends=True)
        text = rng.choice(
            (
                text[:at] + rng.choice(TOKENS) + text[at:],
                text[:at] + text[end:],
                text[:at] + text[at:end] * 2 + text[end:],
                text[:at] + chr(rng.choice((rng.randrange(128), rng.randrange(0x250)))) + text[end:],
                "".join(rng.sample(lines, len(lines))),
                text[:at],
            )
        )
    return text


def broken(rng: random.Random, tables: list[dict[str, Any]]) -> dict[str, Any]:
    """Nested tables with some keys missing, misspelt or holding something else."""
    made = copy.deepcopy(rng.choice(tables))
    for _ in range(rng.randint(1, 3)):
        holder, key = rng.choice(list(places(made)))
        change = rng.randrange(6)
        if change == 0:
            del holder[key]
        elif change == 1 and isinstance(key, str):
            holder[misspelt(rng, key)] = holder.pop(key)
        elif change == 2:
            holder[key] = [holder[key], copy.deepcopy(rng.choice(BAD))]
        elif change == 3:
            _, other = rng.choice(list(places(made)))
            holder[key] = other
        else:
            holder[key] = copy.deepcopy(rng.choice(BAD))
        if not made:
            break
    return made


def places(table: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of nested tables and lists."""
    items = table.items() if isinstance(table, dict) else enumerate(table)
    for key, value in items:
        yield table, key
        if isinstance(value, (dict, list)):
            yield from places(value)


def misspelt(rng: random.Random, key: str) -> str:
    """A key with one letter off."""
    at = rng.randrange(len(key) + 1)
    return rng.choice((key[:at] + key[at + 1 :], key[:at] + "x" + key[at:], key.upper(), ""))


def found(seed: int, i: int, target: Callable[..., str], thrown: object, error: BaseException) -> int:
    """Keep the input that broke something and say how to see it again."""
    folder = ROOT / "build/fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{target.__name__}-{seed}-{i}.txt"
    path.write_text(thrown if isinstance(thrown, str) else json.dumps(thrown, indent=1), encoding="utf-8", errors="surrogatepass")
    print(f"{target.__name__}: {type(error).__name__}: {error}\ninput: {path}\nagain: {Path(__file__).name} --seed {seed} --only {i}", file=sys.stderr)
    return 1


def _hang(_signal: int, _frame: object) -> None:
    raise TimeoutError(f"more than {INPUT_S_MAX} s on one input")


if __name__ == "__main__":
    sys.exit(main())
