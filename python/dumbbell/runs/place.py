"""The folder that a command's results go to: made or found, held by one command at a time, and cleared of what killed
ones left.

OUT/
.dumbbell-lock          while a command runs; says which
.tmp-<process>-<run>/   a run that is not complete
<run>/                  a run that is
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dumbbell.backends.folder import BESIDE, MANIFEST, manifest_text, remove
from dumbbell.backends.folder import MADE as UNFINISHED
from dumbbell.errors import OutError, ResultError
from dumbbell.files import UnreadableError
from dumbbell.interrupts import Held

from . import locks

#: Name of the file that is locked.
LOCK = ".dumbbell-lock"
#: Name of the file that lists the folders of a sweep's runs, so that missing ones are known.
SWEEP = "sweep.json"
#: Name of the file that marks a folder as one that `dumbbell serve` made, and may take away again.
MADE = ".dumbbell-serve"
#: What is written beside its place: a run that is not complete, the list of a sweep's runs.
_LEFT = re.compile(rf"{re.escape(BESIDE)}(\d+)-(.*)", re.DOTALL)
#: What a run's folder may hold without its manifest saying so.
_TABLES = frozenset(
    f"{name}.parquet" for name in ("flows", "samples", "queue", "events", "messages", "probes", "variables", "limits")
)
_TRACES = ("trace.pcap", "trace.sqlog")
#: The page that `report` writes into a folder by default.
PAGE = "report.html"
#: What a picture's name may end with; plots are written next to what they show.
_PICTURES = (".png", ".pdf", ".svg")


def plain_name(name: str) -> str:
    """A name of a folder that shells, scp and other systems take as it is: letters, digits and ``.-_+%=``."""
    return "".join(c if c.isalnum() or c in ".-_+%=" else "-" for c in name)


class Place:
    """A folder for results, as a context that holds it: new or empty, or with runs to `resume`, or with results to
    replace (`force`).

    Without `out` it is ``results/<name>-<n>`` below the current folder, with the first n that is free. A folder that
    was made and stays empty is taken away.

    Raises
    ------
    OutError
        The folder cannot be made, or holds something and is neither to be resumed nor replaced.
    ResultError
        Another command writes to it at this time.
    """

    def __init__(self, out: Path | None, name: str = "", *, resume: bool = False, force: bool = False) -> None:
        self.path = out or Path()
        self.resume, self.force = resume, force
        self._name = plain_name(name) if out is None else ""
        self._made: list[Path] = []
        self._lock: int | None = None

    def __enter__(self) -> Path:
        try:
            with Held():
                if self._name:
                    self._make_new()
                else:
                    self._make(self.path)
                if not _is_there(self.path / LOCK):
                    self._refuse()  # before anything in it is touched
                self._lock = _lock(self.path)
            self._prepare()
        except OSError as error:
            self.__exit__()
            raise OutError(f"{self.path}: {error.strerror}") from None
        except BaseException:
            self.__exit__()
            raise
        return self.path

    def __exit__(self, *_: object) -> None:
        with Held():
            self._clear()
            if self._lock is not None:
                locks.leave(self.path / LOCK, self._lock)
                self._lock = None
            for folder in reversed(self._made):
                try:
                    folder.rmdir()
                except OSError:
                    break  # it holds something, as a rule
            self._made = []

    def _make_new(self) -> None:
        self._make(Path("results"))
        n = 1
        while True:
            self.path = Path("results") / f"{self._name}-{n}"
            try:
                self.path.mkdir()
            except FileExistsError:
                n += 1
            else:
                self._made.append(self.path)
                return

    def _make(self, path: Path) -> None:
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(exist_ok=True)
            self._made.append(folder)

    def _prepare(self) -> None:
        """See that nothing is in the way, and clear what is left of runs that were killed."""
        held = self._refuse()
        self._clear()
        if self.force and not self.resume:
            for path in held:
                if path.is_dir():
                    remove(path)
                else:
                    path.unlink()

    def _refuse(self) -> list[Path]:
        """Content of the folder without what killed commands left; raises OutError where that is in the way."""
        within = [path for path in sorted(self.path.iterdir()) if path.name != LOCK]
        held = [path for path in within if not is_left(path)]
        if not held or self.resume:
            return held
        if not self.force:
            raise OutError(
                f"{self.path}: holds {held[0].name} already; --resume runs only what is missing, --force replaces"
                " results, or choose another --out"
            )
        lefts = [path for path in within if path not in held]
        stranger = next((below for below in strangers(self.path) if not _is_below(below, lefts)), None)
        if stranger is not None:
            raise OutError(
                f"{self.path}: holds {stranger.relative_to(self.path)}, which is not of this program; --force replaces"
                " results alone, choose another --out"
            )
        return held

    def _clear(self) -> None:
        """Remove what runs that are not complete have left. Whoever holds the lock owns them all, also those of a
        process whose number was given again.
        """
        for path in self.path.glob(f"{BESIDE}*"):
            match = _LEFT.fullmatch(path.name)
            if match and (self._lock is not None or int(match[1]) == os.getpid()) and is_left(path):
                if path.is_dir():
                    remove(path)
                else:
                    path.unlink()


def is_left(path: Path) -> bool:
    """True if this is what a command that was killed has left: it has such a name, and is marked or holds nothing that
    a run does not write.
    """
    match = _LEFT.fullmatch(path.name)
    if match is None or path.is_symlink():
        return False
    if not path.is_dir():
        return match[2] == SWEEP and path.is_file()
    return (path / UNFINISHED).is_file() or next(strangers(path), None) is None


def _is_below(path: Path, folders: list[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _is_there(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def strangers(folder: Path) -> Iterator[Path]:
    """Files below a folder of results that this program has not written. Links are strangers, wherever they lead."""
    listed = _listed(folder)
    for path in sorted(folder.iterdir()):
        if path.is_symlink():
            yield path
        elif path.is_dir():
            yield from (below for below in strangers(path) if below.relative_to(folder).as_posix() not in listed)
        elif (
            path.name not in (LOCK, SWEEP, MADE, UNFINISHED, PAGE)
            and path.name not in listed
            and not _is_report(path)
            and not _is_picture(path)
        ):
            yield path


def _listed(folder: Path) -> set[str] | frozenset[str]:
    """Files that make a folder a run's: what its manifest lists, or, where that cannot be read, the names that tables
    have.
    """
    tables = {path.name for path in folder.glob("*.parquet") if path.name in _TABLES}
    try:
        text = manifest_text(folder) if _is_there(folder / MANIFEST) else ""
    except UnreadableError:
        text = "?"
    manifest = manifest_of(text)
    if manifest is not None:
        return {*tables, *manifest.get("files", {}), *_TRACES, MANIFEST}
    return {*tables, *_TRACES, MANIFEST} if tables or not text.strip("\0") else frozenset()


def manifest_of(text: str) -> dict[str, Any] | None:
    """A run's manifest; None where it is damaged, or is the manifest of something else."""
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError):
        return None
    is_ours = (
        isinstance(manifest, dict)
        and isinstance(manifest.get("schema_version"), int)
        and isinstance(manifest.get("plan"), dict)
    )
    return manifest if is_ours and isinstance(manifest.get("files", {}), dict) else None


def _is_report(path: Path) -> bool:
    """True if a file has the name of a report of iperf3 in a run's folder."""
    return path.parent.name in ("traffic", "iperf3") and path.suffix == ".json"


def _is_picture(path: Path) -> bool:
    """True if a file has the name of a picture that `plot`, `compare` or `demo` writes by default."""
    if path.suffix not in _PICTURES:
        return False
    from dumbbell import plots

    runs = (manifest.parent.name for pattern in ("*", "*/*") for manifest in path.parent.glob(f"{pattern}/{MANIFEST}"))
    return path.stem.startswith((*plots.KINDS, "kfoury-fig", *runs))


def _lock(out: Path) -> int | None:
    """Hold a folder; raises ResultError that says who does where somebody else does. None where the file system has no
    locks.
    """
    try:
        return locks.take(out / LOCK)
    except locks.TakenError as error:
        raise ResultError(f"{out}: {error} writes to it; wait until it has ended, or choose another --out") from None
