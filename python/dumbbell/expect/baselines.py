"""Baselines: figures of earlier runs, as JSON in the folder `baselines` beside the scenario files, so that they are
committed and reviewed with them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.errors import ScenarioError
from dumbbell.files import MANIFEST_MAX, make_folder, read_text, written_whole
from dumbbell.judge.sentence import Named
from dumbbell.results.statistic import Sample

if TYPE_CHECKING:
    from dumbbell.judge.values import Value

    from .asked import Asked, File

#: The folder beside the scenario files.
FOLDER = "baselines"


class Baselines:
    """The baselines of one scenario file, each read when it is asked for."""

    def __init__(self, file: File) -> None:
        self.folder, self.scenario = file.path.parent / FOLDER, file.given.scenario.name
        self._known: dict[str, dict[str, Any]] = {}

    def read(self, asked: Asked, value: Value, vary: Mapping[str, Any]) -> list[Named]:
        """A value of the baseline of this expectation, for each row; empty where it was not kept."""
        kept = self._of(asked.baseline or "").get(self.scenario, {}).get(_key(asked, value, vary), {})
        return [Named(label, Sample(tuple(row["values"]), tuple(row["seeds"]))) for label, row in kept.items()]

    def keep(self, asked: Asked, value: Value, vary: Mapping[str, Any], rows: list[Named]) -> None:
        """Remember a value as that of the baseline; `write` puts it on the disk."""
        of_scenario = self._of(asked.baseline or "").setdefault(self.scenario, {})
        of_scenario[_key(asked, value, vary)] = {
            row.label: {"values": list(row.sample.values), "seeds": list(row.sample.seeds)} for row in rows
        }

    def write(self, name: str) -> Path:
        """Write a baseline, and give its file; raises ScenarioError where the disk does not take it."""
        path = self.folder / f"{name}.json"
        try:
            make_folder(self.folder)
            with written_whole(path) as draft:
                draft.write_text(json.dumps(self._of(name), indent=1, sort_keys=True) + "\n", encoding="utf-8")
        except OSError as error:
            raise ScenarioError("--save-baseline", f"{path}: {error.strerror}") from None
        return path

    def _of(self, name: str) -> dict[str, Any]:
        if name not in self._known:
            path = self.folder / f"{name}.json"
            try:
                self._known[name] = json.loads(read_text(path, MANIFEST_MAX)) if path.exists() else {}
            except (OSError, ValueError, RecursionError):
                raise ScenarioError("baseline", "not a baseline; write it again", source=str(path)) from None
        return self._known[name]


def _key(asked: Asked, value: Value, vary: Mapping[str, Any]) -> str:
    """What a value is known by: what it is of, which part of the run, and where."""
    measure = asked.table.measure
    part = f" measured {measure}" if measure else ""
    where = ", ".join(f"{key} {vary[key]}" for key in sorted(vary))
    return f"{value}{part}" + (f" at {where}" if where else "")
