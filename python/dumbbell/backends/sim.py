"""The simulator: a plan in, a result folder out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from .request import Request


def check(_: Request) -> None:
    """Raise nothing: the simulator runs every plan."""


def run(request: Request, folder: Path) -> dict[str, Any]:
    """Run one plan into `folder`, which must not exist yet, and return its manifest."""
    from dumbbell import _native

    from .folder import ResultFolder

    plan, own = request.planned.plan, request.own
    with ResultFolder(request, folder) as made:
        native = own.native(plan["host"]["hz"])
        summary = json.loads(_native.run(json.dumps(plan), str(made.path), request.progress, native))
        return made.finish(summary, controllers=own.record())
