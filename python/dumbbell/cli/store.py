"""`dumbbell store`: what the store of runs holds, and how runs leave it."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC
from typing import TYPE_CHECKING, Any

from dumbbell.errors import wrong
from dumbbell.runs import kept
from dumbbell.runs.store import Store

from .status import OK
from .table import Column, text
from .writers import write_object

if TYPE_CHECKING:
    from dumbbell.runs.kept import Kept

#: Digits of a key that a table shows; any number of first digits names a run.
_SHOWN = 12


def list_(arguments: argparse.Namespace) -> int:
    """List the runs of the store."""
    runs = kept.chosen(Store(arguments.store), arguments.key, older=arguments.older, stale=arguments.stale)
    if arguments.json:
        for run in runs:
            write_object(_row(run))
        return OK
    if runs:
        print(text(_columns(runs)), end="")
    print(_sum(runs), file=sys.stderr)
    return OK


def drop_(arguments: argparse.Namespace) -> int:
    """Take runs out of the store."""
    store = Store(arguments.store)
    runs = kept.chosen(store, arguments.key, older=arguments.older, stale=arguments.stale)
    if not (arguments.key or arguments.stale or arguments.all or arguments.older is not None):
        raise wrong("store drop", "", "keys, --stale, --older DAYS, or --all")
    if not arguments.dry_run:
        runs = [run for run in runs if kept.drop(store, run)]
    print(("would drop " if arguments.dry_run else "dropped ") + _sum(runs), file=sys.stderr)
    return OK


def _sum(runs: list[Kept]) -> str:
    stale = sum(run.is_current is False for run in runs)
    size = sum(run.bytes for run in runs) / 1e6
    return f"{len(runs)} runs, {size:.1f} MB" + (f"; {stale} are found no more (--stale)" if stale else "")


def _row(run: Kept) -> dict[str, Any]:
    when = run.made.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {**run._asdict(), "folder": str(run.folder), "made": when}


def _columns(runs: list[Kept]) -> list[Column]:
    rows = [_row(run) for run in runs]
    words = {True: "yes", False: "no", None: "?"}
    return [
        Column("key", ("key",), [run.key[:_SHOWN] for run in runs], right=False),
        Column("name", ("scenario",), [run.name for run in runs], right=False),
        Column("on", ("on",), [run.on for run in runs], right=False),
        Column("size", ("kB",), [f"{run.bytes / 1e3:.0f}" for run in runs]),
        Column("made", ("made",), [row["made"] for row in rows], right=False),
        Column("found", ("found",), [words[run.is_current] for run in runs], right=False),
    ]
