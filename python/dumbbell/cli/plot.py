"""`dumbbell plot`: pictures of result folders; which runs, which options, and what the files are called."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.errors import ResultError, ScenarioError, wrong
from dumbbell.units import option_s

from .latest import latest_folder, open_file
from .output import note
from .status import OK

if TYPE_CHECKING:
    from dumbbell.results.load import Result, Results

#: What a picture can be.
SUFFIXES = (".png", ".pdf", ".svg")

#: Options whose name here differs from that of the drawing functions' settings.
_SETTINGS = {"bin": "bin_s"}
_OPTIONS = (
    "flows", "bin", "link", "unit", "rows", "metric", "x", "panels", "form", "jain", "delay", "pool", "log", "title",
    "width", "height", "caption", "paper",
)  # fmt: skip

#: Settings that options turn off.
_WORDS = {"caption": "no-caption"}

#: Options that make no other picture of the same, so that they are in no file's name.
_LOOKS = frozenset({"title", "width", "height", "caption"})


def main(arguments: argparse.Namespace) -> int:
    """Draw, and print the names of the pictures."""
    from dumbbell import plots
    from dumbbell.plots import rc
    from dumbbell.results.load import Results, load

    kind, asked, (folder, paper) = arguments.kind, arguments.run, _folder(arguments.dir, arguments.paper)
    options = {**vars(arguments), "paper": paper}
    given = {name: value for name in _OPTIONS if (value := options[name]) is not None}
    window = {name: value for name, value in (("from", arguments.start), ("to", arguments.end)) if value is not None}
    settings = _settings(kind, given, window, plots.options(kind))
    runs = chosen(load(folder), asked)
    each = kind in plots.OF_ONE_RUN
    if each and len(runs) > 1 and asked is None:
        names = ", ".join(run.folder.name for run in runs[:3])
        raise ResultError(
            f"{len(runs)} runs, and {kind} shows one: choose with --run a name, its beginning, a pattern, a number from"
            f" 0 to {len(runs) - 1}, or all ({names}{', ...' if len(runs) > 3 else ''})"
        )
    with rc.chosen(style=arguments.style, font=arguments.font, dpi=arguments.dpi, tex=bool(arguments.tex)):
        for some in [Results([run]) for run in runs] if each else [runs]:
            # The folder of a single run says which it is.
            stem = file_stem(kind, None if len(some) == 1 else asked, window, given)
            path = _place(arguments.output, folder, some, stem, several=each and len(runs) > 1)
            if arguments.output is None and paper:
                path = path.with_suffix(".pdf")
            boxes = plots.save(plots.draw(kind, some, **settings), path)
            print(path)
            if arguments.open:
                open_file(path)
            if boxes:
                note(
                    f"{path}: no font here has the letters {boxes}, which are boxes; a font with them, such as Noto"
                    " Sans CJK, is used where it is installed"
                )
    return OK


def _folder(given: str | None, paper: str | None) -> tuple[Path, str | None]:
    """The folder that is drawn, the latest unless given, and the width of a paper; `--paper DIR` means one column for
    that folder.
    """
    from dumbbell.plots.style import PAPER

    if given is None and paper not in (None, *PAPER):
        given, paper = paper, "column"
    return Path(given or latest_folder()), paper


def chosen(runs: Results, asked: str | None) -> Results:
    """The runs that ``--run`` asks for: a folder's name, the beginning of only one, a pattern, a number, or ``all``;
    raises ScenarioError.
    """
    from dumbbell.results.load import Results

    if asked is None or asked == "all":
        return runs
    names = [run.folder.name for run in runs]
    matching = [run for run in runs if run.folder.name == asked]
    if not matching and any(sign in asked for sign in "*?["):
        matching = [run for run in runs if fnmatchcase(run.folder.name, asked)]
    elif not matching and asked.isdecimal() and int(asked) < len(runs):
        matching = [runs[int(asked)]]
    elif not matching:
        matching = [run for run in runs if run.folder.name.startswith(asked)] if asked else []
    if not matching:
        shown = ", ".join(names[:4]) + (f", ... ({len(names)} in all)" if len(names) > 4 else "")
        raise wrong(
            "--run",
            asked,
            f"a name, its beginning, a pattern, a number from 0 to {len(names) - 1}, or all, of: {shown}",
            names,
        )
    if len(matching) > 1 and not any(sign in asked for sign in "*?["):
        shown = ", ".join([*(run.folder.name for run in matching[:4]), *(["..."] if len(matching) > 4 else [])])
        raise wrong(
            "--run",
            asked,
            f"the beginning of one run; {len(matching)} begin so ({shown}); '{asked}*' takes them all",
        )
    return Results(matching)


def _settings(kind: str, given: Mapping[str, Any], window: Mapping[str, str], known: Sequence[str]) -> dict[str, Any]:
    """Options that a drawing function takes; raises ScenarioError for one that it does not."""
    settings: dict[str, Any] = {}
    options = {theirs: ours for ours, theirs in _SETTINGS.items()}
    words = ", ".join(f"--{_WORDS.get(name) or options.get(name, name)}" for name in known if name != "window")
    for option, value in given.items():
        name = _SETTINGS.get(option, option)
        if name not in known:
            more = ", --from, --to" if "window" in known else ""
            raise ScenarioError(f"--{option}", f"not for {kind}, which takes {words}{more}")
        settings[name] = option_s("--bin", value) if option == "bin" else value
    if window:
        if "window" not in known:
            raise ScenarioError(f"--{next(iter(window))}", f"not for {kind}, which takes {words}")
        start, end = (option_s(f"--{name}", window.get(name)) for name in ("from", "to"))
        settings["window"] = (start or 0.0, float("inf") if end is None else end)
        if settings["window"][1] <= settings["window"][0]:
            raise wrong("--to", window["to"], f"a time after --from ({window.get('from', '0s')})")
    return settings


def file_stem(kind: str, asked: str | None, window: Mapping[str, str], given: Mapping[str, Any]) -> str:
    """The picture's name without its suffix: the kind, the metric, and each further option, so that no other picture
    has it.
    """
    metric = given.get("metric")
    parts = [kind, *([str(metric)] if metric not in (None, kind) else [])]
    if asked not in (None, "all"):
        parts.append(f"run-{asked}")
    parts += [f"{name}-{value}" for name, value in window.items()]
    for option, value in given.items():
        if option == "metric" or option in _LOOKS:
            continue
        parts.append(f"{option}-{value}" if not isinstance(value, bool) else option if value else "linear")
    return "".join(char if char.isalnum() or char in "-_.=," else "-" for char in "-".join(parts))


def _place(output: str | None, folder: Path, runs: Results, stem: str, *, several: bool) -> Path:
    """Path of a picture; raises ScenarioError for a folder that is missing, a suffix that is none, or one file for
    several runs.
    """
    run: Result | None = runs[0] if len(runs) == 1 else None
    if output is None:
        return (run.folder if run else folder) / f"{stem}.png"
    path = Path(output)
    if path.is_dir():
        return path / (f"{run.folder.name}-{stem}.png" if run else f"{stem}.png")
    if several:
        raise wrong("--output", output, "a folder that exists, because several runs make a picture each")
    if path.suffix not in SUFFIXES:
        raise wrong("--output", output, "a name that ends in .png, .pdf or .svg, or a folder that exists")
    if not path.parent.is_dir():
        raise wrong("--output", output, f"a file in a folder that exists; there is no {path.parent}")
    return path
