"""The runs of the folders of a report, and what tells them apart."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import backends
from dumbbell.errors import ResultError
from dumbbell.plots import keys
from dumbbell.plots.keys import FOLDER
from dumbbell.results import figures
from dumbbell.results.load import Results, load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell.plan.view import Window
    from dumbbell.results.catalogue import Measured
    from dumbbell.results.load import Result

#: The key by which the runs of `dumbbell compare` differ.
ON = "on"


class Folder(NamedTuple):
    """A folder as it was given, and its runs."""

    name: str
    path: Path
    runs: list[Measured]


class Gathered(NamedTuple):
    """All folders of a report."""

    folders: list[Folder]
    title: str
    window: Window | None = None
    """Start and end in seconds, as asked for; None where each run has its own."""

    @property
    def runs(self) -> list[Measured]:
        """The runs of all folders."""
        return [run for folder in self.folders for run in folder.runs]

    @property
    def results(self) -> Results:
        """The same without their windows."""
        return Results([run.result for run in self.runs])


def gather(paths: Sequence[str | Path], *, start_s: float | None, end_s: float | None, title: str | None) -> Gathered:
    """The folders with their runs; runs of several folders differ by `FOLDER` too. Raises ResultError for one that
    holds neither runs nor a scoreboard.
    """
    names = _short([Path(path) for path in paths])
    folders = []
    for path, name in zip(map(Path, paths), names, strict=True):
        try:
            runs = _reference_first(list(load(path)))
        except ResultError:
            if not (path / "scoreboard.json").is_file():
                raise
            runs = []
        folders.append(Folder(name, path, [figures.measured(run, start_s, end_s) for run in runs]))
    if len(folders) > 1:
        for folder in folders:
            _vary_by_folder(folder)
    names_of_runs = ", ".join(dict.fromkeys(run.result.name for folder in folders for run in folder.runs))
    asked = None if start_s is None and end_s is None else (start_s or 0.0, inf if end_s is None else end_s)
    return Gathered(folders, title or names_of_runs or "The papers, reproduced", asked)


def _reference_first(runs: list[Result]) -> list[Result]:
    """The runs of `dumbbell compare` with those of its reference first, which ran before the others."""
    began: dict[Any, tuple[str, int]] = {}
    kinds = list(backends.KINDS)
    for run in runs:
        name = run.vary.get(ON)
        plain = str(name).partition(":")[0]
        place = kinds.index(plain) if plain in kinds else len(kinds)
        began[name] = min(began.get(name, (run.manifest.created, place)), (run.manifest.created, place))
    return sorted(runs, key=lambda run: began[run.vary.get(ON)])


def _short(paths: Sequence[Path]) -> list[str]:
    """Last parts of paths, as many as tell them apart."""
    parts = [path.resolve().parts for path in paths]
    if len(set(parts)) < len(parts):
        twice = next(str(path) for path, own in zip(paths, parts) if parts.count(own) > 1)
        raise ResultError(f"{twice}: given twice, wanted different folders")
    for count in range(1, max(map(len, parts)) + 1):
        names = ["/".join(own[-count:]) for own in parts]
        if len(set(names)) == len(names):
            return names
    return list(map(str, paths))


def _vary_by_folder(folder: Folder) -> None:
    from msgspec.structs import replace

    for run in folder.runs:
        own = run.result.manifest
        run.result.manifest = replace(own, vary={FOLDER: folder.name, **own.vary})


def labels(runs: Sequence[Result]) -> list[str]:
    """Labels that tell these runs apart: scenario, varied values, repetition."""
    several = len({run.name for run in runs}) > 1
    varied = {key: keys.of(key, list(runs)) for run in runs for key in run.vary}
    repeated = len({run.repetition for run in runs}) > 1
    labels_ = []
    for run in runs:
        words = [run.name] if several else []
        words += [
            value if key == FOLDER else varied[key].phrase(value)
            for key, value in run.vary.items()
            if len(varied[key].values) > 1
        ]
        words += [f"repetition {run.repetition}"] if repeated else []
        labels_.append(", ".join(words) or run.name)
    return labels_
