"""Real hosts as in `linux`, with every flow's controller ours, also where the kernel has one of that name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import linux

if TYPE_CHECKING:
    from pathlib import Path

    from dumbbell.runs.plan import Planned
    from dumbbell.scenario.own import Own

    from .folder import Progress


def check(planned: Planned, own: Own) -> None:
    """Raise ScenarioError for what of a plan real hosts cannot do."""
    linux.check(planned, own, ours=True)


def run(
    planned: Planned, folder: Path, *, scenario_text: str, overrides: tuple[str, ...], progress: Progress, own: Own
) -> dict[str, Any]:
    """Run one plan into `folder`, as `linux.run` does, and return its manifest."""
    return linux.run(
        planned, folder, scenario_text=scenario_text, overrides=overrides, progress=progress, own=own, ours=True
    )
