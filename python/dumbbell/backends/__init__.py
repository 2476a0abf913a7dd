"""Back ends: each turns a plan into a result folder. None is imported before it is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from dumbbell.own import Own
    from dumbbell.plan import Planned

    from .sim import Progress

#: Names of those that there are, as ``--on`` takes them.
NAMES = ("sim", "linux", "netem", "ssh")


class Backend(Protocol):
    """What a back end's module has."""

    def run(self, planned: Planned, folder: Path, *, scenario_text: str, overrides: tuple[str, ...], progress: Progress, own: Own) -> dict[str, Any]:
        """Run one plan into `folder`, which must not exist yet, and return its manifest."""


def named(name: str) -> Backend:
    """The back end of this name."""
    module: Any = import_module(f"{__name__}.{name.partition(':')[0]}")
    backend: Backend = module
    return backend
