"""`dumbbell uml`: kernels that run in virtual time, for ``--on uml``."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from dumbbell.errors import wrong
from dumbbell.uml import store

from .status import OK
from .table import Column, text
from .writers import write_object


def build_(arguments: argparse.Namespace) -> int:
    """Make a kernel, unless it is there; stdout is its folder."""
    from dumbbell.runs.progress import screen
    from dumbbell.uml import build as building

    began, drawn = time.monotonic(), screen()
    shown = [began]

    def step(line: str) -> None:
        drawn.clear()
        print(line, file=sys.stderr, flush=True)

    def now(line: str) -> None:
        if time.monotonic() - shown[0] >= drawn.every_s:
            shown[0] = time.monotonic()
            drawn.draw(line[: drawn.width])

    plan = building.Plan(
        series=arguments.kernel,
        hz=arguments.hz,
        source=Path(arguments.source) if arguments.source else None,
        force=arguments.force,
    )
    try:
        kernel = building.build(plan, building.Shown() if arguments.quiet else building.Shown(step, now))
    finally:
        drawn.clear()
    if not arguments.quiet:
        how = f"built in {time.monotonic() - began:.0f} s" if kernel.made >= _utc(began) else "is there"
        print(f"Linux {kernel.release}, {kernel.hz} ticks a second: {how}", file=sys.stderr)
    print(kernel.folder)
    return OK


def compare_(arguments: argparse.Namespace) -> int:
    """One scenario on two kernels, and which figures moved, by the tolerances of two real kernels."""
    from .compare import Wanted, on_backends

    return on_backends([f"uml:{series}" for series in arguments.kernels], Wanted.of(vars(arguments)))


def _utc(monotonic: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - time.monotonic() + monotonic))


def status_(arguments: argparse.Namespace) -> int:
    """The kernels that there are."""
    rows = [_row(kernel) for kernel in store.all_kernels()]
    if arguments.json:
        for row in rows:
            write_object(row)
        return OK
    if not rows:
        print(f"no kernel is in {store.place()}: `dumbbell uml build` makes one", file=sys.stderr)
        return OK
    print(text(_columns(rows)), end="")
    for row in rows:
        if not row["is_current"]:
            print(
                f"{row['name']} was built by another version of dumbbell: `dumbbell uml build --kernel"
                f" {row['series']} --hz {row['hz']}` renews it",
                file=sys.stderr,
            )
    return OK


def _row(kernel: store.Kernel) -> dict[str, Any]:
    from dumbbell.uml import source

    return {
        "name": kernel.name,
        **kernel.record,
        "is_current": kernel.recipe == source.recipe(kernel.hz),
        "bytes": store.size(kernel.folder),
        "folder": str(kernel.folder),
    }


def _columns(rows: list[dict[str, Any]]) -> list[Column]:
    return [
        Column("name", ("name",), [row["name"] for row in rows], right=False),
        Column("release", ("release",), [row["release"] for row in rows], right=False),
        Column("hz", ("ticks/s",), [str(row["hz"]) for row in rows]),
        Column("key", ("key",), [row["key"][:12] for row in rows], right=False),
        Column("size", ("MB",), [f"{row['bytes'] / 1e6:.0f}" for row in rows]),
        Column("package", ("source",), [row["package"] for row in rows], rank=1, right=False),
        Column("made", ("made",), [row["made"] for row in rows], rank=2, right=False),
    ]


def remove_(arguments: argparse.Namespace) -> int:
    """Take kernels away, or all with what was loaded and compiled for them."""
    from dumbbell.uml import build as building

    if arguments.all == (arguments.name is not None):
        raise wrong("uml remove", arguments.name or "", "the name of a kernel (`dumbbell uml status`), or --all")
    if arguments.all:
        building.remove_all()
        return OK
    kernels = store.named(arguments.name)
    if not kernels:
        there = ", ".join(kernel.name for kernel in store.all_kernels())
        raise wrong("uml remove", arguments.name, f"one of: {there}" if there else "a kernel, and none is built")
    building.remove(kernels)
    print("removed " + ", ".join(kernel.name for kernel in kernels), file=sys.stderr)
    return OK
