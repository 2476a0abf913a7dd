"""The folders of suites: those of the package, and those of one's own that a command names.

FOLDER/
    suite.toml       title, and the place in lists
    entries.toml     its figures and tables: cases, pictures (`entries.py`)
    claims.toml      what is claimed of them (`claims.py`)
    specification.toml
                     what is said of how algorithms work and tests are set up, as such claims
    findings.toml    why claims fail that do (`findings.py`)
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from dumbbell.errors import ScenarioError, wrong
from dumbbell.scenario.declare import Table, build, key
from dumbbell.scenario.plain_kinds import whole

from .words import TEXT

#: What makes a folder a suite.
HEAD = "suite.toml"
#: Claims about algorithms and set-ups; a file of its own, which `dumbbell cca show` reads at once.
SPECIFICATION = "specification.toml"
_ROOT = Path(__file__).parent


class Head(Table):
    """A suite."""

    title: str = key(TEXT, "what it is", varies=False)
    order: int = key(whole(0, 1000), "its place in lists", default=1000, varies=False)


class Suite(NamedTuple):
    """A suite by its folder."""

    name: str
    """That of the folder, which ids begin with."""
    title: str
    order: int
    folder: Path


@cache
def shipped() -> dict[str, Suite]:
    """The suites of the package, in their order."""
    suites = sorted((_suite(path.parent) for path in _ROOT.glob(f"*/{HEAD}")), key=lambda suite: suite.order)
    return {suite.name: suite for suite in suites}


_opened: dict[str, Suite] = {}


def known() -> dict[str, Suite]:
    """The suites of the package, then those that were opened."""
    return {**shipped(), **_opened}


def open_suite(folder: Path) -> Suite:
    """The suite of a folder, which is known by the folder's name from now on. Raises ScenarioError."""
    suite = _suite(folder.resolve())
    if suite.name in shipped():
        raise wrong("ID", str(folder), f"a folder with another name: {suite.name} is a suite of Dumbbell")
    _opened[suite.name] = suite
    return suite


def _suite(folder: Path) -> Suite:
    path = folder / HEAD
    head = read(path, Head)
    return Suite(folder.name, head.title, head.order, folder)


def tables(path: Path) -> dict[str, Any]:
    """Content of a TOML file; empty where there is none. Raises ScenarioError."""
    if not path.exists():
        return {}
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except (OSError, ValueError) as error:
        raise ScenarioError(str(path), f"no TOML file: {error}") from None


def read(path: Path, kind: type[Any], at: str = "") -> Any:
    """A file as the table that it is declared to be. Raises ScenarioError that names the file."""
    try:
        return build(kind, tables(path), at)
    except ScenarioError as error:
        raise error.under(str(path)) from None
