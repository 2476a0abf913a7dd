"""The folder of results as the page sees it: which runs there are, and reports of them. Names come from outside."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dumbbell.errors import ResultError, show
from dumbbell.files import MANIFEST_MAX, only_below, read_text
from dumbbell.report import sweeps
from dumbbell.report.document import document
from dumbbell.report.gathered import gather
from dumbbell.results.catalogue import shown
from dumbbell.results.load import load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

#: Folders in a list, the newest.
LISTED = 200


class Shelf:
    """Finished jobs below a folder."""

    def __init__(self, results: Path) -> None:
        self._results = results.resolve()

    def folder(self, name: object) -> Path:
        """The folder of that name. Raises ResultError for one that is not there, is a link, or has anything of a path
        in its name.
        """
        if not isinstance(name, str) or not name or name[0] in ".-" or not set(name).isdisjoint("/\\\0"):
            raise ResultError(f"got {show(name)}, wanted the name of a folder of results")
        path = self._results / name
        if path.is_symlink() or not path.is_dir() or path.resolve().parent != self._results:
            raise ResultError(f"got {show(name)}, wanted the name of a folder of results")
        for entry in path.rglob("*"):
            if entry.is_symlink():
                raise ResultError(f"{name}: holds a link, which is not followed")
        return path

    def names(self) -> list[dict[str, Any]]:
        """Folders with finished runs, the newest first, with their scenario's name and text."""
        folders = []
        for path in self._results.iterdir():
            if path.is_symlink() or not path.is_dir() or path.name.startswith("."):
                continue
            runs = sorted(path.glob("*/manifest.json"))
            if runs and not any(file.is_symlink() or file.parent.is_symlink() for file in runs):
                folders.append((max(file.stat().st_mtime for file in runs), path, runs))
        folders.sort(key=lambda file: file[0], reverse=True)
        return [self._entry(path, runs) for _, path, runs in folders[:LISTED]]

    def _entry(self, path: Path, runs: Sequence[Path]) -> dict[str, Any]:
        try:
            manifest = json.loads(read_text(runs[0], MANIFEST_MAX))
            return {"id": path.name, "runs": len(runs), "created": manifest["created"], "toml": manifest["scenario"]}
        except (OSError, ValueError, KeyError, TypeError):
            return {"id": path.name, "runs": len(runs), "created": "", "toml": ""}

    def growing(self, name: str, metric: str, whole: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """The figure of a sweep that goes on, as far as it is, and how many of its runs are there. Raises ResultError
        for a metric that no figure of a sweep has.
        """
        if metric not in shown("sweep"):
            raise ResultError(f"metric: got {show(metric)}, wanted one of: {', '.join(shown('sweep'))}")
        folder = self.folder(name)
        runs = load(folder) if any(folder.glob("[!.]*/manifest.json")) else None
        return {"figure": runs and sweeps.growing(runs, metric, whole), "runs": len(runs or ())}


def documented(paths: Sequence[Path], places: Sequence[Path], out: Path) -> dict[str, Any]:
    """The data of a report of these folders, which may read files below `places`; links begin at `out`."""
    with only_below(places):
        return document(gather(paths, start_s=None, end_s=None, title=None), out / "report.html", explains=False)
