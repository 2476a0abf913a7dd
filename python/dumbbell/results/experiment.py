"""Experiments and their repetitions: runs, or rows, of one scenario with the same varied values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar

Key = tuple[str, str]
"""The scenario's name, and the varied values as text."""


def key_of(scenario: str, vary: Mapping[str, Any]) -> Key:
    """The experiment of these values, in whichever order they are."""
    return scenario, json.dumps(vary, sort_keys=True)


def head(manifest: Any, folder: object) -> dict[str, Any]:
    """Begin of a run's object in JSON, from its manifest as JSON or as `manifest.py` has it."""
    names = {"scenario": "name", **{name: name for name in ("vary", "repetition", "seed")}}
    begin = {name: manifest[key] for name, key in names.items()}
    return {**begin, "dir": str(folder), "warnings": manifest["warnings"], "wall_s": manifest["wall_s"]}


class Repetition(Protocol):
    """A run, or what is of one."""

    @property
    def experiment(self) -> Key:
        """Experiment that it repeats."""
        ...


Run = TypeVar("Run", bound=Repetition)


def repetitions(runs: Iterable[Run]) -> dict[Key, list[Run]]:
    """Group the runs or rows of one experiment, in the order of their first ones."""
    cases: dict[Key, list[Run]] = {}
    for run in runs:
        cases.setdefault(run.experiment, []).append(run)
    return cases
