"""What made a result: versions of the program, its commit, the kernel."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def versions() -> dict[str, str]:
    """Versions of package, engine and Python."""
    from . import __version__, _native

    return {"dumbbell": __version__, "engine": _native.version(), "python": sys.version.split()[0]}


def git_revision() -> str | None:
    """Commit of the checkout that this package runs from; None for an installed one. Read from files: starting git would take longer than a short run."""
    git = Path(__file__).resolve().parents[2] / ".git"
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


def kernel() -> str:
    """Name and release of the kernel."""
    return f"{os.uname().sysname} {os.uname().release}"
