"""Origin of results: environment, scenario, the command that repeats them, their data; the papers' scoreboard."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING, Any

from dumbbell.errors import ResultError, listed
from dumbbell.files import MANIFEST_MAX, read_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dumbbell.results.load import Result
    from dumbbell.results.manifest import Manifest

    from .gathered import Folder

#: Runs that are linked one by one.
LINKS_MOST = 200


def origins(folders: Sequence[Folder], out: Path) -> list[dict[str, Any]]:
    """For each folder and scenario: versions, seeds, the file, the command."""
    listed = []
    for folder in folders:
        by_name: dict[tuple[str, str, str], list[Result]] = {}
        for run in folder.runs:
            own = run.result.manifest
            by_name.setdefault((own.name, own.scenario, own.backend), []).append(run.result)
        listed += [_origin(folder, same, out) for same in by_name.values()]
    return listed


def _origin(folder: Folder, runs: Sequence[Result], out: Path) -> dict[str, Any]:
    first = runs[0].manifest
    facts = {
        "Back end": first.backend,
        **{name.capitalize(): version for name, version in first.versions.items()},
        "Commit": first.git or "not known",
        "Kernel": first.kernel,
        "Made": first.created,
        "Runs": str(len(runs)),
        "Seeds": _seeds(runs),
        "Wall-clock time, added up over the runs": f"{sum(run.manifest.wall_s for run in runs):.2f} s",
    }
    return {
        "folder": folder.name,
        "name": first.name,
        "facts": [[name, text] for name, text in facts.items() if text],
        "controllers": [
            f"{controller.get('name')}: {controller.get('file')} (SHA-256 {controller.get('sha256')})"
            for controller in first.controllers
        ],
        "scenario": first.scenario,
        "command": _command(first),
        "links": [_link(run, out) for run in runs[:LINKS_MOST]],
        "more": max(len(runs) - LINKS_MOST, 0),
    }


def _seeds(runs: Sequence[Result]) -> str:
    return listed(list(dict.fromkeys(run.seed for run in runs)))


def _command(manifest: Manifest) -> str:
    """The command that repeats a run. A class that was given from Python has no file (and no digest): it is left
    out.
    """
    words = ["dumbbell", "run", f"{manifest.name}.toml"]
    for override in manifest.set:
        words += ["--set", override]
    for own in manifest.controllers:
        words += ["--cca", str(own.get("file"))] if own.get("sha256") else []
    return shlex.join(words + (["--on", manifest.backend] if manifest.backend != "sim" else []))


def _link(run: Result, out: Path) -> list[str]:
    """The run's name, and its folder as seen from the page, so that both may move together."""
    return [run.folder.name, relative(run.folder, out)]


def relative(path: Path, out: Path) -> str:
    """A path as a link of the page has it."""
    from urllib.parse import quote

    return quote(os.path.relpath(path.resolve(), out.resolve().parent).replace(os.sep, "/"))


def scoreboards(folders: Sequence[Folder], out: Path) -> list[dict[str, Any]]:
    """The scoreboard of each folder that `dumbbell reproduce` wrote."""
    boards = []
    for folder in folders:
        path = folder.path / "scoreboard.json"
        if not path.is_file():
            continue
        try:
            written = json.loads(read_bytes(path, MANIFEST_MAX))
            papers = [{str(key): str(value) for key, value in entry.items()} for entry in written["papers"]]
            entries = [_entry(entry, folder, out) for entry in written["entries"]]
            provisional, scale = bool(written["provisional"]), float(written.get("scale", 1))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ResultError(f"{path}: damaged: {type(error).__name__}: {error}") from None
        scaled = (
            "" if scale == 1 else f"Made with --scale {scale:g}: what was measured is brought to the papers' scale."
        )
        board = {"folder": folder.name, "provisional": provisional, "scaled": scaled}
        boards.append({**board, "papers": papers, "entries": entries})
    return boards


def _entry(entry: dict[str, Any], folder: Folder, out: Path) -> dict[str, Any]:
    picture = folder.path / (entry["id"].replace("/", "-") + ".png")
    claims = [
        {name: claim.get(name) for name in ("id", "text", "verdict", "measured", "expected", "reason")}
        for claim in entry["claims"]
    ]
    for claim in claims:
        claim["measured"] = _text(claim["measured"])
        claim["expected"] = _text(claim["expected"])
    return {"id": entry["id"], "picture": relative(picture, out) if picture.is_file() else "", "claims": claims}


def _text(value: object) -> str:
    """A number, a few of them, or words."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        parts = [_text(item.get("value") if isinstance(item, dict) else item) for item in value[:6]]
        return ", ".join(parts) + (", ..." if len(value) > len(parts) else "")
    return "" if value is None else str(value)
