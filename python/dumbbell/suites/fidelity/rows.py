"""Rows of the fidelity table: every combination of varied values of some scenario files, with the groups that it counts
in and its plans, one for each seed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import controllers, plan
from dumbbell.runs.jobs import folder_name
from dumbbell.scenario.file import from_file

if TYPE_CHECKING:
    from dumbbell.plan.planned import Planned

#: The scenario files; those of other sets lie in folders below it.
FOLDER = Path(__file__).resolve().parent
#: Families of controllers that rows are counted by, as the controllers' heads have them; all others are plain.
FAMILIES = ("BBRv2 family", "BBRv1 family")
PLAIN = "plain"
#: Kinds of paths; a row counts in the first that fits.
PATHS = ("short transfers", "crowd", "queue discipline", "loss or jitter", "drop tail")
#: Flows from which on they are a crowd.
CROWD = 9


Runs = list[dict[str, float]]
"""Figures of each repetition by name."""


class Row(NamedTuple):
    """One combination: its name, its groups, its plans, and the text that they are made from."""

    name: str
    family: str
    path: str
    plans: tuple[Planned, ...]
    text: str


def rows(files: Iterable[Path], *, seeds: int, only: str = "", seed: int | None = None) -> list[Row]:
    """The rows of these files whose name has `only` in it, a regular expression; `seed` instead of that of the
    files.
    """
    listed = []
    for file in files:
        overrides = (f"repetitions={seeds}", *(() if seed is None else (f"seed={seed}",)))
        given = from_file(file, overrides=overrides)
        runs = plan.runs(given.scenario)
        for i in range(0, len(runs), seeds):
            plans = tuple(runs[i : i + seeds])
            name = folder_name(plans[0])
            if re.search(only, name):
                listed.append(Row(name, family(plans[0].plan), path(plans[0].plan), plans, given.text))
    return listed


def tests() -> list[Path]:
    """The scenario files of the table; those that take longest come last."""
    files = sorted(FOLDER.glob("*.toml"), key=lambda file: ("gigabit" in file.name, file.name))
    return [file for file in files if file != CAUSES]


#: Why the rows differ that differ, written by hand.
CAUSES = FOLDER / "causes.toml"


def family(whole: Mapping[str, Any]) -> str:
    """The family of controllers that a plan counts in: of several, the first of `FAMILIES`."""
    families = {f"{controllers.facts_of(flow['cca']).family} family" for flow in whole["flows"]}
    return next((name for name in FAMILIES if name in families), PLAIN)


def path(whole: Mapping[str, Any]) -> str:
    """The kind of path that a plan counts in."""
    flows = whole["flows"]
    stages = [stage for flow in flows for stage in flow["forward"]]
    fits = (
        any(flow["size_bytes"] is not None for flow in flows),
        len(flows) >= CROWD,
        whole["links"][0]["qdisc"]["kind"] != "fifo",
        any(stage["kind"] == "loss" or stage.get("jitter") for stage in stages),
        True,
    )
    return PATHS[fits.index(True)]
