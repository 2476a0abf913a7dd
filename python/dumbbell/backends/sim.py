"""The simulator: a plan in, a result folder out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dumbbell.runs.plan import Planned
from dumbbell.scenario.own import Own

from .folder import Progress, ResultFolder


def run(
    planned: Planned, folder: Path, *, scenario_text: str, overrides: tuple[str, ...], progress: Progress, own: Own
) -> dict[str, Any]:
    """Run one plan into `folder`, which must not exist yet, and return its manifest. `progress` is what lets Ctrl-C
    through.
    """
    from dumbbell import _native

    with ResultFolder(planned, folder, scenario_text=scenario_text, overrides=overrides, backend="sim") as made:
        summary = json.loads(
            _native.run(json.dumps(planned.plan), str(made.path), progress, own.native(planned.plan["host"]["hz"]))
        )
        return made.finish(summary, controllers=own.record())
