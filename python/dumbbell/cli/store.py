"""`dumbbell store`: what the store of runs holds, and how runs leave it."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime, timedelta
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


def main(arguments: argparse.Namespace) -> int:
    """The action in `arguments`."""
    store = Store(arguments.store)
    found = _chosen(list(kept.runs(store)), arguments)
    return {"list": _list, "drop": _drop}[arguments.action](store, found, arguments)


def _chosen(runs: list[Kept], arguments: argparse.Namespace) -> list[Kept]:
    """The runs that the command line names: all of its conditions hold."""
    for key in arguments.key:
        if not any(run.key.startswith(key) for run in runs):
            raise wrong("store", key, "the first digits of the key of a run (`dumbbell store list`)")
    oldest = datetime.now(UTC) - timedelta(days=arguments.older) if arguments.older is not None else None
    return [
        run
        for run in runs
        if (not arguments.key or any(run.key.startswith(key) for key in arguments.key))
        and (oldest is None or run.made < oldest)
        and not (arguments.stale and run.is_current is not False)
    ]


def _list(_: Store, runs: list[Kept], arguments: argparse.Namespace) -> int:
    if arguments.json:
        for run in runs:
            write_object(_row(run))
        return OK
    if runs:
        print(text(_columns(runs)), end="")
    print(_sum(runs), file=sys.stderr)
    return OK


def _drop(store: Store, runs: list[Kept], arguments: argparse.Namespace) -> int:
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
    made = run.made.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {**run._asdict(), "folder": str(run.folder), "made": made}


def _columns(runs: list[Kept]) -> list[Column]:
    rows = [_row(run) for run in runs]
    found = {True: "yes", False: "no", None: "?"}
    return [
        Column("key", ("key",), [run.key[:_SHOWN] for run in runs], right=False),
        Column("name", ("scenario",), [run.name for run in runs], right=False),
        Column("on", ("on",), [run.on for run in runs], right=False),
        Column("size", ("kB",), [f"{run.bytes / 1e3:.0f}" for run in runs]),
        Column("made", ("made",), [row["made"] for row in rows], right=False),
        Column("found", ("found",), [found[run.is_current] for run in runs], right=False),
    ]
