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
    words = arguments.words
    names = {entry.name: entry for entry in gallery.entries()}
    if len(words) == 1 and (words[0] in names or words[0].startswith(gallery.SUITES)) and not arguments.json:
        print(gallery.find(words[0]).read_text(encoding="utf-8"), end="")
        return OK
    mentioned = gallery.mentioning(words) if words else list(names.values())
    if not mentioned:
        _note_topics(words)
        return BAD_INPUT
    show(mentioned, as_json=arguments.json)
    return OK


def _note_topics(words: list[str]) -> None:
    """Say that nothing has all words, what is named like them, and what there is."""
    like = list(dict.fromkeys(name for word in words for name in gallery.near(word)))
    hint = f"; did you mean {' or '.join(like[:3])}?" if like else ""
    note(f"no scenario of the gallery mentions {' and '.join(words)}{hint}")
    note(f"its topics: {'; '.join(gallery.TOPICS)} (`dumbbell gallery` lists all)")


def show(entries: list[gallery.Entry], *, as_json: bool = False) -> None:
    """A line each, below the heading of its topic."""
    if as_json:
        for entry in entries:
            write_object({"name": entry.name, "topic": entry.topic, "file": str(entry.path), "summary": entry.summary})
        return
    from rich.table import Table

    from .table import console

    width = max(len(entry.name) for entry in entries)
    screen = console()
    for number, (topic, below) in enumerate(gallery.by_topic(entries).items()):
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True, min_width=width + 2)
        table.add_column()
        for entry in below:
            table.add_row(f"  {entry.name}", entry.summary)
        if number:
            screen.print()
        screen.print(topic or "Others", style="bold")
        screen.print(table)


def new(name: str, file: str | None, *, force: bool) -> int:
    """Copy a scenario, and print the command that runs it, with the controllers of one's own that came along."""
    to = Path(file) if file else Path(f"{Path(name).name}.toml")
    written = gallery.copy(name.removeprefix(source.GALLERY), to, force=force)
    for path in written:
        print(f"wrote {path}", file=sys.stderr)
    own = [word for path in written if path.suffix in (".c", ".py") for word in ("--cca", str(path))]
    print(shlex.join(["dumbbell", "run", str(to), *own]))
    return OK
