"""Origin of a result: versions of the program, its commit, the kernel."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def versions() -> dict[str, str]:
    """Versions of package, engine and Python."""
    from dumbbell import _native

    return {"dumbbell": _native.version(), "engine": _native.version(), "python": sys.version.split()[0]}


def git_revision() -> str | None:
    """Commit of the checkout that this runs from, or else that this was built from, with ``+`` if files differed from
    it; None if nothing tells it.
    """
    from importlib import import_module

    checkout = Path(__file__).resolve().parents[3]
    # In a checkout the file of a build (tools/build_backend.py) is what one that was killed has left.
    if (checkout / ".git").exists() and (checkout / "tools" / "build_backend.py").exists():
        return _checked_out(checkout / ".git")
    try:
        commit: str = import_module("dumbbell._build").COMMIT
    except ImportError:
        return None
    return commit


def _checked_out(git: Path) -> str | None:
    """Read from files: starting git would take longer than a short run."""
    try:
        if git.is_file():  # a worktree outside of the repository
            git = git.parent / git.read_text().strip().removeprefix("gitdir: ")
        shared = git / (git / "commondir").read_text().strip() if (git / "commondir").exists() else git
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head
        name = head.removeprefix("ref: ")
        if (shared / name).exists():
            return (shared / name).read_text().strip()
        packed = (shared / "packed-refs").read_text().splitlines()
        return next((line.split()[0] for line in packed if line.endswith(f" {name}")), None)
    except OSError:
        return None


def kernel() -> str:
    """Name and release of the kernel."""
    return f"{os.uname().sysname} {os.uname().release}"


def host() -> str:
    """Name of this machine."""
    return os.uname().nodename
