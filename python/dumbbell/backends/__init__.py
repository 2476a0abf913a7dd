"""Back ends: each turns a plan into a result folder. None is imported before it is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from dumbbell.errors import show, wrong

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from dumbbell.own import Own
    from dumbbell.plan import Planned

    from .sim import Progress

#: Names of those that there are, as ``--on`` takes them.
NAMES = ("sim", "linux")


class Backend(Protocol):
    """What a back end's module has."""

    def run(self, planned: Planned, folder: Path, *, scenario_text: str, overrides: tuple[str, ...], progress: Progress, own: Own) -> dict[str, Any]:
        """Run one plan into `folder`, which must not exist yet, and return its manifest."""


def named(name: str) -> Backend:
    """The back end of this name."""
    module: Any = import_module(f"{__name__}.{name}")
    backend: Backend = module
    return backend


def check_name(name: str) -> None:
    """Raise ScenarioError for a back end that there is not."""
    if name not in NAMES:
        raise wrong("--on", name, f"one of: {', '.join(map(show, NAMES))}", list(NAMES))


def workers(name: str, plans: Iterable[tuple[Planned, Own]], wanted: int | None) -> int | None:
    """How many runs go at once, `None` for the default, on a back end that can run these plans. Raises ScenarioError for one that it cannot."""
    if name != "linux":
        return wanted
    from . import linux

    return linux.workers(plans, wanted)
