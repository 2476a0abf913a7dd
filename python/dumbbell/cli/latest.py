"""What a command takes and does unless told: the newest results of the current folder, and a page or picture opened."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from dumbbell.errors import ResultError

from .output import note

#: Names that `runs.place.Place` gives to folders below ``results``.
_NUMBERED = re.compile(r"[^.].*-\d+")
#: Where manifests lie in them: of a run alone, of runs, of the back ends of a comparison.
_MANIFESTS = ("manifest.json", "*/manifest.json", "*/*/manifest.json")


def latest_folder(argument: str = "DIR") -> str:
    """The folder that run, sweep or compare wrote last below the current one; stderr says which.

    Raises
    ------
    ResultError
        There is none.
    """
    ended = {folder: at for folder in Path("results").glob("*") if (at := _ended(folder))}
    if not ended:
        raise ResultError(
            f"{argument}: not given, and there are no results in ./results; `dumbbell run FILE` makes some"
        )
    folder = max(ended, key=lambda path: ended[path])
    note(f"{folder}, the latest results here")
    return str(folder)


def latest_unless(given: Sequence[str]) -> list[str]:
    """The folders that were given, or the latest one where none was."""
    return list(given) or [latest_folder()]


def _ended(folder: Path) -> float:
    """When its last run ended; 0 where it holds none."""
    if not _NUMBERED.fullmatch(folder.name) or not folder.is_dir():
        return 0.0
    try:
        return max((path.stat().st_mtime for form in _MANIFESTS for path in folder.glob(form)), default=0.0)
    except OSError:  # somebody removes it just now
        return 0.0


def open_file(path: Path) -> None:
    """Show a file in the browser, or what the desktop has for it; a line on stderr says where that is not possible."""
    import webbrowser

    is_blind = sys.platform.startswith("linux") and not any(
        map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    )
    if is_blind or not webbrowser.open(path.resolve().as_uri()):
        why = "there is no display (DISPLAY and BROWSER are not set)" if is_blind else "no browser was found"
        note(f"--open: {why}; the file is {path}")
