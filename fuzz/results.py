#!/usr/bin/env python3
"""Damages result folders (manifests, Parquet tables, whole files) and hands them to every reader: `load`, metrics,
`show` in each of its forms.

A reader may raise `DumbbellError` of one line or give figures; anything else (another exception, an endless loop) is a
finding: the folder is kept in ``build/fuzz`` and the status is 1. Damage number i of a seed is always the same.

    fuzz/results.py --seconds 60 --seed 1
    fuzz/results.py --seed 1 --only 4711
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

from throwing import ROOT, arguments, numbers, summarize, watched

import dumbbell
from dumbbell import cli
from dumbbell.errors import DumbbellError
from dumbbell.results import metrics
from dumbbell.results.catalogue import FIGURES, Measured

SCENARIO = """
duration = "1s"
repetitions = 2
[path]
rate = { steps = [["0s", "5Mbps"], ["300ms", "3Mbps"]], repeat = true }
rtt = "20ms"
buffer = "1bdp"
[host]
start_jitter = "10ms"
[[flow]]
cca = "cubic"
[[flow]]
cca = "bbr"
transport = "quic"
[[flow]]
cca = "reno"
size = "20kB"
[[flow]]
cca = "reno"
workload = { kind = "request_response", response = "3kB", think = "20ms" }
"""
BAD: tuple[Any, ...] = (
    None, 0, -1, 1, 2**31, 2**63, 2**64, 10**400, -0.5, 1e308, True, "", "x", "\x00", "é" * 3000, [], {}, [[]], {"": 0},
    [None] * 5, {"kind": "fifo"},
    [[0, 1], [0, 2]], [[5, 1]], "1e999",
)  # fmt: skip
VIEWS = (
    ["--json"],
    ["--csv", "--columns", "all"],
    ["--markdown", "--runs"],
    ["--by", "table", "--from", "200ms"],
    ["--by", "run", "--wide"],
)


def main() -> int:
    """Damage folders until the time is over."""
    args = arguments(__doc__)
    with tempfile.TemporaryDirectory() as made:
        whole = Path(made) / "whole"
        dumbbell.run(dumbbell.from_text(SCENARIO), whole)
        return throw(whole, Path(made), args)


def throw(whole: Path, at: Path, args: argparse.Namespace) -> int:
    """Damage copies of a folder; the status."""
    with mock.patch.dict(os.environ, DUMBBELL_TRACEBACK="1"):  # a fault of the program is to be seen
        return _throw(whole, at, args)


def _throw(whole: Path, at: Path, args: argparse.Namespace) -> int:
    seen: Counter[str] = Counter()
    for i in numbers(args):
        rng = random.Random(f"{args.seed}:{i}")
        folder = at / "damaged"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(whole, folder)
        what = damage(folder, rng)
        try:
            with watched():
                seen[f"{what} {read(folder, rng)}"] += 1
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            kept = ROOT / "build/fuzz" / f"results-{args.seed}-{i}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept)
            print(
                f"damage {i} of seed {args.seed} ({what}): {type(error).__name__}: {error}; kept in {kept}",
                file=sys.stderr,
            )
            import traceback

            traceback.print_exception(error, limit=-6)
            return 1
    summarize(args, seen, "folders")
    return 0


def damage(folder: Path, rng: random.Random) -> str:
    """Damage one file of one run, or of the sweep; says what."""
    run = rng.choice(sorted(path for path in folder.iterdir() if path.is_dir()))
    manifest = run / "manifest.json"
    if rng.random() < 0.4:
        tree = json.loads(manifest.read_text())
        for _ in range(rng.randint(1, 3)):
            spoil(tree, rng)
        manifest.write_text(json.dumps(tree))
        return "value"
    if rng.random() < 0.2:
        manifest.write_bytes(bytes_of(manifest.read_bytes(), rng))
        return "text"
    if rng.random() < 0.1:
        (folder / "sweep.json").write_text(
            rng.choice(["", "{", "[]", '{"runs": 5}', '{"runs": [[]]}', '{"runs": ["../x", "\\u0000"]}', "[" * 10**5])
        )
        return "sweep"
    table = rng.choice(sorted(run.glob("*.parquet")))
    if rng.random() < 0.5:  # as wide as it was, so that its size does not tell
        tree = json.loads(manifest.read_text())
        tree["files"] = {}
        manifest.write_text(json.dumps(tree))
    if rng.random() < 0.1:
        table.unlink()
    else:
        table.write_bytes(bytes_of(table.read_bytes(), rng))
    return "table"


def spoil(tree: Any, rng: random.Random) -> None:
    """Replace, remove or add one value somewhere below."""
    while True:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(tree[key], (dict, list)) and tree[key] and rng.random() < 0.8:
            tree = tree[key]
            continue
        if rng.random() < 0.3:
            del tree[key]
        else:
            tree[key] = copy.deepcopy(rng.choice(BAD))  # itself may be spoiled next
        return


def bytes_of(data: bytes, rng: random.Random) -> bytes:
    """The bytes cut, emptied, or with some of them changed."""
    how = rng.randrange(5)
    if how == 0:
        return data[: rng.randrange(len(data))]
    if how == 1:
        return rng.choice([b"", b"[" * 100_000, b"null", b"\xff\xfe", b"PAR1" * 3, data * 2])
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 3, 30))):
        made[rng.randrange(len(made))] = rng.randrange(256)
    return bytes(made)


def read(folder: Path, rng: random.Random) -> str:
    """Every reader; says whether they gave figures."""
    refused = False
    for look in (functions, lambda path: shown(path, rng.choice(VIEWS))):
        try:
            look(folder)
        except DumbbellError as error:
            said(str(error))
            refused = True
    return "refused" if refused else "read"


def functions(folder: Path) -> None:
    """The functions of Python."""
    results = dumbbell.load(folder)
    results.to_table()
    for run in results:
        for window in (None, (0.2, 0.9)):
            for name, one in FIGURES.items():
                with contextlib.suppress(DumbbellError):
                    one.read(Measured(run, window), [*range(len(run.plan.flows))])
                assert name
            with contextlib.suppress(DumbbellError):
                metrics.coefficient_of_variation(run, "all", window)


def shown(folder: Path, options: list[str]) -> None:
    """The command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = cli.main(["show", str(folder), *options])
    if status not in (0, 1):
        raise AssertionError(f"status {status}: {err.getvalue()}")
    if status:
        said(err.getvalue().splitlines()[-1])


def said(text: str) -> None:
    """An error must say something, in one line."""
    if not text or "\n" in text.strip() or "Traceback" in text:
        raise AssertionError(f"an error of one line was wanted, got {text!r}")


if __name__ == "__main__":
    sys.exit(main())
