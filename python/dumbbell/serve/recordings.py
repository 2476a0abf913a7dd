"""Recordings of paths that a visitor of the page brings: kept in a folder within that of the results, and nowhere else.

A file that is there never changes, because results name it: another one of the same name gets a number.
"""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path
from typing import Any

from dumbbell import units
from dumbbell.errors import OutError, ResultError, ScenarioError, show
from dumbbell.files import only_below
from dumbbell.scenario import traces
from dumbbell.scenario.recordings import reader
from dumbbell.scenario.recordings.model import Choice

#: The folder within that of the results.
FOLDER = "recordings"
#: Bytes of a file, so that a request has room for it, and files.
FILE_MAX, FILES_MAX = 1 << 20, 50

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,79}")


class Recordings:
    """The recordings in a folder of results."""

    def __init__(self, results: Path) -> None:
        self._results = results

    def names(self) -> list[dict[str, Any]]:
        """List the recordings with their contents; other files are left out."""
        described = []
        for path in sorted(self._folder().iterdir()) if self._folder().is_dir() else []:
            try:
                described.append(self._described(path))
            except ScenarioError:
                continue
        return described[:FILES_MAX]

    def keep(self, name: object, text: object) -> dict[str, Any]:
        """Keep a file, and say what it holds. Raises ResultError for a name that is none or a file that is too large,
        ScenarioError for one that is no recording, OutError where there is no room.
        """
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ResultError(f"got {show(name)}, wanted the name of a file: letters, digits, dots, dashes")
        if not isinstance(text, str) or not text.strip():
            raise ResultError(f"{name}: it is empty")
        data = text.encode()
        if len(data) > FILE_MAX:
            raise ResultError(
                f"{name}: it has {units.bytes_text(len(data))}, wanted at most {units.bytes_text(FILE_MAX)}"
            )
        try:
            path = self._written(name, data)
        except OSError as error:
            raise OutError(f"{name}: {error.strerror}") from None
        try:
            return self._described(path)
        except ScenarioError:
            path.unlink()
            raise

    def text(self, path: str) -> str:
        """Text of a recording, whose path is that of `names`. Raises ResultError for one that is not there."""
        name = path.removeprefix(f"{FOLDER}/")
        file = self._folder() / name
        if not (path == f"{FOLDER}/{name}" and _NAME.fullmatch(name) and file.is_file() and not file.is_symlink()):
            raise ResultError(f"got {show(path)}, wanted the path of a recording")
        if file.stat().st_size > FILE_MAX:
            raise ResultError(f"{name}: it has more than {units.bytes_text(FILE_MAX)}")
        return file.read_text(encoding="utf-8", errors="replace")

    def _folder(self) -> Path:
        folder = self._results / FOLDER
        if folder.is_symlink():
            raise OutError(f"{FOLDER} is a link, wanted a folder")
        return folder

    def _written(self, name: str, data: bytes) -> Path:
        """The file with this content, which may be there already."""
        folder = self._folder()
        folder.mkdir(exist_ok=True)
        stem, suffix = Path(name).stem, Path(name).suffix
        for number in count(1):
            path = folder / (name if number == 1 else f"{stem}-{number}{suffix}")
            if path.is_file() and not path.is_symlink() and path.read_bytes() == data:
                return path
            if sum(1 for _ in folder.iterdir()) >= FILES_MAX:
                raise OutError(f"{FILES_MAX} recordings are there already; remove some from {FOLDER}")
            try:
                with path.open("xb") as file:
                    file.write(data)
            except FileExistsError:
                continue
            return path
        raise AssertionError("numbers do not end")

    def _described(self, path: Path) -> dict[str, Any]:
        """Path, length and columns of a recording; a Mahimahi trace has a rate only."""
        with only_below([self._results]):
            form = _form(path)
            if form == reader.MAHIMAHI:
                length_s = traces.read(path, path.name).period_ms / 1e3
                return _told(path, form, length_s, [{"name": "rate", "quantity": "rate"}])
            recording = reader.read(path, path.name, Choice(form), lambda option: option)
        columns = [{"name": column.name, "quantity": column.quantity} for column in recording.columns]
        return _told(path, form, recording.length_ns / 1e9, columns)


def _form(path: Path) -> str:
    """The form of a file. Lines of one number that rise and fall may be delays alone, if anything: the page offers them
    as delays, and writes the form into the scenario.
    """
    try:
        return reader.form_of(path, path.name, Choice())[0]
    except ScenarioError as error:
        try:
            form = reader.form_of(path, path.name, Choice(quantity="delay"))[0]
        except ScenarioError:
            form = ""
        if form != "leoreplayer":
            raise error from None
    return form


def _told(path: Path, form: str, length_s: float, columns: list[dict[str, str]]) -> dict[str, Any]:
    return {"path": f"{FOLDER}/{path.name}", "form": form, "length_s": length_s, "columns": columns}
