#!/usr/bin/env python3
"""Throws texts at the parsers of quantities, and damaged trace files at both readers of traces (Python's and the
engine's).

A quantity must come to exactly what fractions of integers say, or be refused by `UnitError`. Of a trace both readers
must say the same: yes, or one line of refusal that quotes nothing of the file. Anything else is a finding: the input is
written to ``build/fuzz`` and the status is 1. Input number i of a seed is always the same.

    fuzz/values.py --seconds 60 --seed 1
    fuzz/values.py --seed 1 --only 4711
"""

from __future__ import annotations

import copy
import json
import random
import sys
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from throwing import ROOT, StoppedError, arguments, refused, throw

from dumbbell import plan, units
from dumbbell._native import PlanError
from dumbbell._native import run as run_plan
from dumbbell.errors import ScenarioError
from dumbbell.scenario import file as scenario
from dumbbell.scenario import traces

#: Of each parser: its units, the factor of a number without one (None: a unit must be there), and the largest value.
PARSERS: dict[str, tuple[Callable[[Any], int], dict[str, int], int | None, int]] = {
    "rate": (units.rate_bps, units.BPS, None, units.MAX_INT),
    "span": (units.span_ns, units.NS, None, units.MAX_INT),
    "size": (units.size_bytes, units.BYTES, None, units.MAX_INT),
    "share": (units.loss_ppb, {"%": 10**7}, 10**9, 10**9),
}
DIGITS = (
    "0",
    "1",
    "9",
    "00",
    "5",
    "12",
    "1514",
    "4096",
    "9223372036854775807",
    "9223372036854775808",
    "999999999999999999",
    "٣",
    "²",
    "",
)
JOINTS = ("", "", "", ".", ".", "e", "E", "e-", "e+", ",", "_", "-", "+", " ", "\n", "\x00", "x", "0x", "inf", "nan")
FRACTIONS = ("", "", "0", "5", "25", "000000001", "0000000000000000001", "999999999999999999", "1.5")
SPACES = ("", "", " ", "  ", "\t", "\n", "\u00a0", "\u2003")
BASE = {"duration": "1s", "path": {"rtt": "20ms", "buffer": "100pkt"}, "flow": [{"cca": "cubic"}]}
TIMES = (0, 1, 2, 5, 1000, 2**31, 2**32 - 2, 2**32 - 1, 2**32, 2**63, 10**30)
SPOILT = (
    b"",
    b"\r",
    b" ",
    b"\t",
    b"-1",
    b"+1",
    b"1.5",
    b"1e3",
    b"0x1",
    b"\xff",
    b"\x00",
    b"#",
    b"007",
    b"\xd9\xa3",
    b"9" * 50,
    b"abc",
    b"# a remark",
    b" " * 45 + b"#",
    b" " * 45,
    b"#" * 45,
    b"\xef\xbb\xbf5",
    b"\xef\xbb\xbf#",
    b"7 \t\r",
    b"\x0c8",
)


def main() -> int:
    """Throw inputs until the time is over."""
    args = arguments(__doc__)

    def choose(rng: random.Random) -> tuple[Callable[..., str], Any]:
        return (parse_value, text(rng)) if rng.random() < 0.9 else (parse_trace, lines(rng).decode("latin-1"))

    return throw(args, choose)


def text(rng: random.Random) -> list[str]:
    """The name of a parser, and what it is to take apart."""
    name = rng.choice(list(PARSERS))
    known = [*PARSERS[name][1], "", *units.BPS, "bdp", "K", "%%"] if rng.random() < 0.3 else list(PARSERS[name][1])
    unit = rng.choice(known)
    if rng.random() < 0.1:
        unit = rng.choice((unit.upper(), unit.lower(), unit[:-1], unit * 2, unit + " "))
    number = rng.choice(DIGITS) + rng.choice(JOINTS) + rng.choice(FRACTIONS)
    exponent = rng.choice(("", "", "", "e3", "E-9", "e+2", "e99", "e-99", "e100"))
    return [name, rng.choice(SPACES) + number + exponent + rng.choice(SPACES) + unit + rng.choice(SPACES)]


def parse_value(given: list[str]) -> str:
    """A quantity; what it comes to is counted again by fractions."""
    name, written = given
    parser, scales, bare, most = PARSERS[name]
    try:
        found = parser(written)
    except units.UnitError as error:
        return refused(name, error)
    stripped = written.strip()
    unit = next((one for one in sorted(scales, key=len, reverse=True) if stripped.endswith(one)), "")
    scale = scales[unit] if unit else bare
    number = Fraction(stripped.removesuffix(unit).strip())
    if scale is None or found != number * scale or not 0 <= found <= most:
        raise AssertionError(f"{written!r} is {number} times {scale}, and {name} gave {found}")
    return f"{name} accepted"


def lines(rng: random.Random) -> bytes:
    """A trace file: times in ms, mostly in order, with a few of its lines, bytes or its end spoilt."""
    times = (
        [0]
        if rng.random() < 0.1
        else sorted(rng.choice(TIMES) if rng.random() < 0.05 else rng.randrange(50) for _ in range(rng.randint(1, 40)))
    )
    made = [str(time).encode() for time in times]
    for _ in range(rng.choice((0, 0, 1, 2))):
        made.insert(rng.randrange(len(made) + 1), rng.choice((*SPOILT, str(rng.choice(TIMES)).encode())))
    data = rng.choice((b"\n", b"\n", b"\n", b"\n", b"\r\n", b"\n\n", b" ")).join(made) + rng.choice(
        (b"\n", b"\n", b"", b"\n\n", b"\x00")
    )
    return data[: rng.randrange(len(data) + 1)] if rng.random() < 0.1 else data


def parse_trace(written: str) -> str:
    """A trace, read by both."""
    with tempfile.TemporaryDirectory() as at:
        file = Path(at) / "link.trace"
        file.write_bytes(written.encode("latin-1"))
        try:
            traces.read(file, "path.rate")
            problem = None
        except ScenarioError as error:
            problem = refused("trace", error)
        taken = engine_takes(file, Path(at))
    if taken != (problem is None):
        raise AssertionError(
            f"Python {problem or 'takes the trace'}, and the engine {'takes' if taken else 'refuses'} it"
        )
    return problem or "trace accepted"


def engine_takes(file: Path, out: Path) -> bool:
    """Whether the engine begins a run with this trace, as far as its lines are concerned."""
    given = copy.deepcopy(_plan())
    given["links"][0]["trace"] = {"path": str(file), "sha256": "", "opportunity_bytes": 1514, "repeat": True}

    def stop(ns: int, _packets: int) -> None:
        if ns:  # before, flows and links are being made, which may refuse
            raise StoppedError

    try:
        run_plan(json.dumps(given), str(out), stop)
    except PlanError as error:
        refused("trace", error)
        return False
    except StoppedError:
        pass
    return True


def _plan() -> dict[str, Any]:
    if not _PLANS:
        table = {**BASE, "path": {**BASE["path"], "rate": "10Mbps"}}  # type: ignore[dict-item]
        _PLANS.append(plan.runs(scenario.from_dict(table, folder=ROOT))[0].plan)
    return _PLANS[0]


_PLANS: list[dict[str, Any]] = []

if __name__ == "__main__":
    sys.exit(main())
