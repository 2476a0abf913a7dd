"""The simulator: a plan in, a result folder out, whole or not at all."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dumbbell.errors import ControllerError, EngineError, ScenarioError
from dumbbell.own import Own
from dumbbell.plan import Planned

#: Version of the manifest and of the tables beside it; docs/results.md describes both.
SCHEMA_VERSION = 1

Progress = Callable[[int, int], None]
"""Called with (simulated nanoseconds, delivered packets); an exception from it stops the run."""


def run(planned: Planned, folder: Path, *, scenario_text: str, overrides: tuple[str, ...], progress: Progress, own: Own) -> dict[str, Any]:
    """Run one plan into `folder`, which must not exist yet, and return its manifest.

    Everything is written beside and renamed at the end, so a folder that exists is complete. `progress` is what lets Ctrl-C through.
    """
    from dumbbell import _native

    beside = folder.parent / f".tmp-{os.getpid()}-{folder.name}"
    try:
        beside.mkdir()
    except OSError as error:
        raise EngineError(f"{beside}: {error.strerror}") from None
    try:
        began = time.perf_counter()
        summary = json.loads(_native.run(json.dumps(planned.plan), str(beside), progress, own.native(planned.plan["host"]["hz"])))
        made = manifest(planned, scenario_text, overrides, summary, wall_s=time.perf_counter() - began, backend="sim")
        made["controllers"] = own.record()
        (beside / "manifest.json").write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        beside.rename(folder)
    except _native.ControllerError as error:
        remove(beside)
        raise ControllerError(folder.name, error.__cause__ or error) from error.__cause__
    except _native.PlanError as error:
        remove(beside)
        raise ScenarioError("", str(error), source=folder.name) from None
    except (RuntimeError, OSError) as error:
        remove(beside)
        raise EngineError(f"{folder}: {error}") from None
    except BaseException:
        remove(beside)
        raise
    return made


def remove(folder: Path) -> None:
    """Take away what a run that failed had written."""
    from shutil import rmtree  # only when a run failed

    rmtree(folder, ignore_errors=True)


def manifest(planned: Planned, scenario_text: str, overrides: tuple[str, ...], summary: dict[str, Any], *, wall_s: float, backend: str) -> dict[str, Any]:
    """What a result folder says of itself, whichever back end made it."""
    return {
        "schema_version": SCHEMA_VERSION,
        "name": planned.name,
        "position": planned.position,
        "vary": planned.vary,
        "repetition": planned.repetition,
        "seed": planned.plan["seed"],
        "scenario": scenario_text,
        "set": list(overrides),
        "plan": planned.plan,
        "summary": summary,
        "warnings": summary["warnings"],
        "versions": versions(),
        "git": git_revision(),
        "kernel": f"{os.uname().sysname} {os.uname().release}",
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "wall_s": round(wall_s, 6),
        "backend": backend,
    }


def versions() -> dict[str, str]:
    """Versions of what made a result."""
    from dumbbell import __version__, _native

    return {"dumbbell": __version__, "engine": _native.version(), "python": sys.version.split()[0]}


def git_revision() -> str | None:
    """Commit of the checkout that this package runs from; None for an installed one. Read from files: starting git would take longer than a short run."""
    git = Path(__file__).resolve().parents[3] / ".git"
    try:
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head
        name = head.removeprefix("ref: ")
        if (git / name).exists():
            return (git / name).read_text().strip()
        packed = (git / "packed-refs").read_text().splitlines()
        return next((line.split()[0] for line in packed if line.endswith(f" {name}")), None)
    except OSError:
        return None
