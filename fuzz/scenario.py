#!/usr/bin/env python3
"""Throws broken scenarios and plans at the two parsers: Python's of the scenario file and the engine's of the plan.

Whatever is thrown, the first may raise `ScenarioError` and the second `PlanError`, each with a text; anything else
(another exception, a panic, an endless loop) is a finding: the input is written to ``build/fuzz`` and the status is 1.
Input number i of a seed is always the same.

    fuzz/scenario.py --seconds 60 --seed 1
    fuzz/scenario.py --seed 1 --only 4711
"""

from __future__ import annotations

import copy
import json
import math
import random
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

from throwing import ROOT, StoppedError, arguments, refused, throw

from dumbbell import plan
from dumbbell._native import PlanError
from dumbbell._native import run as run_plan
from dumbbell.errors import ScenarioError
from dumbbell.scenario import file as scenario

BAD: tuple[Any, ...] = (
    0, -1, 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, 10**30, -(2**63), 0.0, -0.5, 1e-300, 1e308, math.nan, math.inf,
    True, False,
    "", " ", "0", "-1", "1", "auto", "fifo", "cubic", "1e99Gbps", "0Mbps", "-5ms", "5 ms", "5ms ", "1bdp", "0.0001bdp",
    "1e-18bdp", "9e18B",
    "100%", "101%", "1e2%", "nan", "infs", "٣ms", "1µs", "1ns", "1h", "99999999999h", "../x", "a\0b", "x" * 10_000,
    "1.5.5Mbps", "0x10kB",
    [], [[]], [1, [2]], ["1ms", "1ms"], {}, {"kind": "fifo"}, {"kind": []}, {"spread": "1ms"}, {"": 0},
    "fq_codel", "cake", "quic", "buffer", "10/s", {"kind": "red", "min": "9kB"}, {"kind": "quic", "payload": "100B"},
    {"steps": [["0s", "1Mbps"], ["1s", "0bps"]]},
    {"steps": [["0s", 0], ["1s", "1%"]], "repeat": True}, {"trace": "traces/lte-mobile.trace"},
    {"lte": "mobile", "mean": "1Mbps"}, {"packets": [0]},
    {"model": "gilbert_elliott", "p": 0.1, "r": 0.5}, {"every": "1ms"}, {"packets": 4, "hold": "1ms"}, ["bottleneck"],
    {"rate": "1/s", "sizes": "1kB"},
    [{"kind": "links"}, {"kind": "delay"}, {"kind": "loss", "rate": 0.1}], {"rate": "1Mbps", "burst": "2kB"},
    {"kind": "pareto", "least": "1kB"},
)  # fmt: skip
TOKENS = (
    "[",
    "]",
    "[[flow]]",
    "[path]",
    "=",
    '"',
    '"""',
    ",",
    "{",
    "}",
    "#",
    "\\u0000",
    "\n",
    "'",
    "1e999",
    "inf",
    "1979-05-27",
    ".",
    "\x00",
    "\ufeff",
)


def main() -> int:
    """Throw inputs until the time is over."""
    args = arguments(__doc__)
    seeds = sorted([*ROOT.glob("scenarios/*.toml"), *ROOT.glob("bench/scenarios/*.toml")])
    tables = [tomllib.loads(path.read_text(encoding="utf-8")) for path in seeds]
    texts = [path.read_text(encoding="utf-8") for path in seeds]
    plans = [planned.plan for path in seeds for planned in plan.runs(scenario.from_file(path).scenario)[:1]]

    def choose(rng: random.Random) -> tuple[Callable[..., str], Any]:
        return rng.choice(
            (
                (parse_text, broken_text(rng, texts)),
                (parse_table, broken(rng, tables)),
                (parse_plan, broken(rng, plans)),
            )
        )

    return throw(args, choose)


def parse_text(text: str) -> str:
    """A scenario file."""
    try:
        made = scenario.from_text(text, folder=ROOT / "scenarios")
        plan.runs(made)
    except ScenarioError as error:
        return refused("text", error)
    return "text accepted"


def parse_table(table: dict[str, Any]) -> str:
    """A scenario as nested tables; what planning accepts the engine must not refuse."""
    try:
        runs = plan.runs(scenario.from_dict(table, folder=ROOT / "scenarios"))
    except ScenarioError as error:
        return refused("table", error)
    for one in (runs[0], runs[-1]):
        if parse_plan(one.plan) != "plan accepted":
            raise AssertionError("the engine refuses the plan of a scenario that was accepted")
    return "table accepted"


def parse_plan(given: dict[str, Any]) -> str:
    """A plan, which the engine begins to run if it accepts it."""

    def stop(ns: int, _packets: int) -> None:
        if ns:  # before, flows and links are being made, which may refuse
            raise StoppedError

    with tempfile.TemporaryDirectory() as out:
        try:
            run_plan(json.dumps(given), out, stop)
        except PlanError as error:
            return refused("plan", error)
        except StoppedError:
            pass
        except RuntimeError as error:
            if "raises that" not in str(
                error
            ):  # of the plan's own bounds, which a short run reaches before it is stopped
                raise
    return "plan accepted"


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
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        holder, key = rng.choice(list(places(made)))
        change = rng.randrange(9)
        if change == 0:
            del holder[key]
        elif change == 1 and isinstance(key, str):
            holder[misspelt(rng, key)] = holder.pop(key)
        elif change == 2:
            holder[key] = [holder[key], copy.deepcopy(rng.choice(BAD))]
        elif change == 3:
            _, other = rng.choice(list(places(made)))
            holder[key] = other
        elif change == 4 or not isinstance(holder[key], (str, int)):
            holder[key] = copy.deepcopy(rng.choice(BAD))
        else:
            holder[key] = near(rng, holder[key])
        if not made:
            break
    return made


def near(rng: random.Random, value: str | int) -> str | int:
    """A value that is probably legal still: one digit of a text, or a number by one or by half."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((value + 1, value - 1, value * 2, value // 2))
    digits = [i for i, letter in enumerate(value) if letter.isdigit()]
    if not digits:
        return value
    at = rng.choice(digits)
    return value[:at] + str(rng.randrange(10)) + value[at + 1 :]


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


if __name__ == "__main__":
    sys.exit(main())
