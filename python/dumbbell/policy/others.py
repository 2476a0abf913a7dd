"""Networks that others have trained and that are no part of Dumbbell, where the environment says that the user has
them: `dumbbell reproduce` runs their controllers then.
"""

from __future__ import annotations

from functools import cache
from os import environ
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.errors import ScenarioError, show

if TYPE_CHECKING:
    from .file import Policy

#: Names of controllers, each with the variable that names its checkpoint, or the policy file made of it.
VARIABLES = {"orca": "DUMBBELL_ORCA"}


def place(name: str) -> str:
    """The checkpoint or policy file that the environment names; empty where it names none."""
    return environ.get(VARIABLES[name], "")


def told(name: str) -> str:
    """Say in one line whose network a controller has, or how to get it."""
    variable = VARIABLES[name]
    if not place(name):
        return f"not here: set ${variable} to its authors' checkpoint, or to a policy file of it (docs/policies.md)"
    try:
        origin = read(name).header.origin or "unknown"
    except ScenarioError as error:
        return str(error)
    from .imports import AUTHORS

    whose = "its authors'" if origin.startswith(f"checkpoint {AUTHORS}") else "not its authors'"
    return f"the network of ${variable}, which is {whose} (origin: {origin})"


def read(name: str) -> Policy:
    """The policy of a controller, from where the environment says. Raises ScenarioError that names the variable."""
    return _read(name, place(name))


@cache
def _read(name: str, given: str) -> Policy:
    from . import ENDING, file, imports

    key, path = f"${VARIABLES[name]}", Path(given)
    try:
        policy = file.read(path) if path.suffix == ENDING else imports.policy(path)[0]
    except ScenarioError as error:
        raise ScenarioError(key, error.problem) from None
    if policy.header.name != name:
        raise ScenarioError(key, f"got {show(given)}, the policy {show(policy.header.name)}; wanted {name}")
    return policy
