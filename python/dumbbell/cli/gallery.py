"""`dumbbell gallery` and `dumbbell new`: the scenarios that come with the package."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from dumbbell.scenario import gallery, source

from .output import note
from .status import BAD_INPUT, OK
from .writers import write_object


def main(arguments: argparse.Namespace) -> int:
    """List, print or copy."""
    if arguments.command == "new":
        return new(arguments.name, arguments.file, force=arguments.force)
    names = {entry.name: entry for entry in gallery.entries()}
    if len(arguments.words) == 1 and arguments.words[0] in names and not arguments.json:
        print(names[arguments.words[0]].path.read_text(encoding="utf-8"), end="")
        return OK
    return show(list(names.values()), arguments.words, as_json=arguments.json)


def show(entries: list[gallery.Entry], words: list[str], *, as_json: bool = False) -> int:
    """A line each of those that mention all words."""
    mentioned = [entry for entry in entries if all(entry.mentions(word) for word in words)]
    if not mentioned:
        note(f"no scenario of the gallery mentions {' and '.join(words)}; `dumbbell gallery` lists all")
        return BAD_INPUT
    if as_json:
        for entry in mentioned:
            write_object({"name": entry.name, "file": str(entry.path), "summary": entry.summary})
        return OK
    from rich.table import Table

    from .table import console

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for entry in mentioned:
        table.add_row(entry.name, entry.summary)
    console().print(table)
    return OK


def new(name: str, file: str | None, *, force: bool) -> int:
    """Copy a scenario, and print the command that runs it, with the controllers of one's own that came along."""
    to = Path(file) if file else Path(f"{Path(name).name}.toml")
    written = gallery.copy(name.removeprefix(source.GALLERY), to, force=force)
    for path in written:
        print(f"wrote {path}", file=sys.stderr)
    own = [word for path in written if path.suffix in (".c", ".py") for word in ("--cca", str(path))]
    print(shlex.join(["dumbbell", "run", str(to), *own]))
    return OK
