"""`dumbbell plot`: pictures of result folders; which runs, which options, and what the files are called."""

from __future__ import annotations

import argparse
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import units
from dumbbell.errors import ResultError, ScenarioError, wrong

from .status import OK

if TYPE_CHECKING:
    from dumbbell.results.load import Result, Results

#: What a picture can be.
SUFFIXES = (".png", ".pdf", ".svg")

#: Options whose name here differs from that of the drawing functions' settings.
_SETTINGS = {"bin": "bin_s"}
_OPTIONS = (
    "flows",
    "bin",
    "link",
    "unit",
    "metric",
    "x",
    "panels",
    "form",
    "jain",
    "delay",
    "pool",
    "log",
    "title",
    "width",
    "height",
)

#: Options that make no other picture of the same, so that they are in no file's name.
_LOOKS = frozenset({"title", "width", "height"})


def main(arguments: argparse.Namespace) -> int:
    """Draw, and print the names of the pictures."""
    from dumbbell import plots
    from dumbbell.results.load import Results, load

    known = plots.options(arguments.kind)
    settings = _given(arguments, known)
    folder = Path(arguments.dir)
    runs = chosen(load(folder), arguments.run)
    each = arguments.kind in plots.SINGLE
    if each and len(runs) > 1 and arguments.run is None:
        names = ", ".join(run.folder.name for run in runs[:3])
        raise ResultError(
            f"{len(runs)} runs, and {arguments.kind} shows one: choose with --run a name, its beginning, a pattern, a"
            f" number from 0 to {len(runs) - 1}, or all ({names}{', ...' if len(runs) > 3 else ''})"
        )
    stem = file_stem(arguments.kind, arguments)
    for one in [Results([run]) for run in runs] if each else [runs]:
        path = _place(arguments, one, stem, several=each and len(runs) > 1)
        boxes = plots.save(plots.draw(arguments.kind, one, **settings), path)
        print(path)
        if boxes:
            print(
                f"dumbbell: {path}: no font here has the letters {boxes}, which are boxes; a font with them, such as"
                " Noto Sans CJK, is used where it is installed",
                file=sys.stderr,
            )
    return OK


def chosen(runs: Results, asked: str | None) -> Results:
    """The runs that ``--run`` asks for: a folder's name, the beginning of only one, a pattern, a number, or ``all``;
    raises ScenarioError.
    """
    from dumbbell.results.load import Results

    if asked is None or asked == "all":
        return runs
    names = [run.folder.name for run in runs]
    found = [run for run in runs if run.folder.name == asked]
    if not found and any(sign in asked for sign in "*?["):
        found = [run for run in runs if fnmatchcase(run.folder.name, asked)]
    elif not found and asked.isdecimal() and int(asked) < len(runs):
        found = [runs[int(asked)]]
    elif not found:
        found = [run for run in runs if run.folder.name.startswith(asked)] if asked else []
    if not found:
        shown = ", ".join(names[:4]) + (f", ... ({len(names)} in all)" if len(names) > 4 else "")
        raise wrong(
            "--run",
            asked,
            f"a name, its beginning, a pattern, a number from 0 to {len(names) - 1}, or all, of: {shown}",
            names,
        )
    if len(found) > 1 and not any(sign in asked for sign in "*?["):
        shown = ", ".join(run.folder.name for run in found[:4])
        raise wrong(
            "--run",
            asked,
            f"the beginning of one run; {len(found)} begin so ({shown}{', ...' if len(found) > 4 else ''}); '{asked}*'"
            " takes them all",
        )
    return Results(found)


def _given(arguments: argparse.Namespace, known: list[str]) -> dict[str, Any]:
    """The settings that were given; raises ScenarioError for one that this kind does not take."""
    settings: dict[str, Any] = {}
    takes = [name for name in known if name != "window"]
    words = ", ".join(
        f"--{next((ours for ours, theirs in _SETTINGS.items() if theirs == name), name)}" for name in takes
    )
    for option in _OPTIONS:
        value = getattr(arguments, option)
        if value is None:
            continue
        name = _SETTINGS.get(option, option)
        if name not in known:
            raise ScenarioError(
                f"--{option}",
                f"not for {arguments.kind}, which takes {words}{', --from, --to' if 'window' in known else ''}",
            )
        settings[name] = _seconds("--bin", value) if option == "bin" else value
    if arguments.start is not None or arguments.end is not None:
        if "window" not in known:
            raise ScenarioError(
                "--from" if arguments.start is not None else "--to", f"not for {arguments.kind}, which takes {words}"
            )
        start = _seconds("--from", arguments.start) if arguments.start is not None else 0.0
        end = _seconds("--to", arguments.end) if arguments.end is not None else float("inf")
        if end <= start:
            raise wrong("--to", arguments.end, f"a time after --from ({arguments.start or '0s'})")
        settings["window"] = (start, end)
    return settings


def _seconds(option: str, text: str) -> float:
    try:
        return units.span_ns(text) / 1e9
    except units.UnitError as error:
        raise wrong(option, text, str(error)) from None


def file_stem(kind: str, arguments: argparse.Namespace) -> str:
    """The picture's name without its suffix: the kind, the metric, and each further option, so that no other picture
    has it.
    """
    parts = [kind]
    for option in ("metric", "run", "start", "end", *_OPTIONS):
        value = getattr(arguments, option)
        if value is None or option in _LOOKS or (option == "run" and value == "all"):
            continue
        named = {"start": "from", "end": "to"}.get(option, option)
        if option == "metric":
            if value not in parts:
                parts.append(str(value))
        elif isinstance(value, bool):
            parts.append(named if value else "linear")
        else:
            parts.append(f"{named}-{value}")
    return "".join(char if char.isalnum() or char in "-_.=," else "-" for char in "-".join(parts))


def _place(arguments: argparse.Namespace, runs: Results, stem: str, *, several: bool) -> Path:
    """Where a picture goes; raises ScenarioError for a folder that is missing, a suffix that is none, or one file for
    several runs.
    """
    run: Result = runs[0]
    single = len(runs) == 1
    if single and arguments.run is not None:
        stem = stem.replace(
            "-run-" + "".join(char if char.isalnum() or char in "-_.=," else "-" for char in arguments.run), ""
        )
    if arguments.output is None:
        return (run.folder if single else Path(arguments.dir)) / f"{stem}.png"
    output = Path(arguments.output)
    if output.is_dir():
        return output / (f"{run.folder.name}-{stem}.png" if single else f"{stem}.png")
    if several:
        raise wrong("--output", str(output), "a folder that exists, because several runs make a picture each")
    if output.suffix not in SUFFIXES:
        raise wrong("--output", str(output), "a name that ends in .png, .pdf or .svg, or a folder that exists")
    if not output.parent.is_dir():
        raise wrong("--output", str(output), f"a file in a folder that exists; there is no {output.parent}")
    return output
