"""Writers of figures: text for a terminal, Markdown, CSV, lines of JSON. A result provides the content of each, and a
writer the form.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from dumbbell.errors import OutError
from dumbbell.files import written_whole

from . import table
from .table import Column, csv_cell


class Form(Enum):
    """Form of the output."""

    TEXT = 1
    MARKDOWN = 2
    CSV = 3
    JSON = 4

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Form:
        """Read the options of a command line."""
        return next((form for form in cls if options.get(form.name.lower())), cls.TEXT)


class Printed(Protocol):
    """Content of the output."""

    def text(self) -> str:
        """A table with its title and notes."""

    def columns(self) -> Sequence[Column]:
        """All columns, for Markdown."""

    def records(self) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        """The heads of CSV and its lines; None is an empty cell."""

    def objects(self) -> Iterable[Mapping[str, Any]]:
        """The objects of JSON."""


def write(printed: Printed, form: Form) -> None:
    """Write it to stdout."""
    if form is Form.JSON:
        for fields in printed.objects():
            write_object(fields)
    elif form is Form.CSV:
        _write_csv(*printed.records())
    elif form is Form.MARKDOWN:
        sys.stdout.write(table.markdown(printed.columns()))
    else:
        sys.stdout.write(printed.text())


def write_object(fields: Mapping[str, Any]) -> None:
    """Write one line of JSON, at once: who reads it may wait for it."""
    print(json.dumps(fields), flush=True)


def _write_csv(heads: Sequence[str], lines: Iterable[Sequence[object]]) -> None:
    import csv  # `run` prints a table and needs it not

    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(map(csv_cell, heads))
    for line in lines:
        out.writerow("" if cell is None else csv_cell(cell) for cell in line)


def write_file(option: str, path: str | Path, text: str | bytes, *, force: bool) -> None:
    """Write the file that an option names, whole or not at all. Raises OutError: also where it is there, without
    `force`.
    """
    file = Path(path)
    if file.exists() and not force:
        raise OutError(f"{option}: {file} exists; --force replaces it")
    try:
        with written_whole(file) as draft:
            draft.write_bytes(text if isinstance(text, bytes) else text.encode())
    except OSError as error:
        raise OutError(f"{option}: {file}: {error.strerror}") from None
