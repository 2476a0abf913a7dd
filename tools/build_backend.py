"""The build backend of the package (PEP 517, 660): maturin, and what it does not do.

- The commit goes into the package as ``dumbbell/_build.py``, so that two builds of one version can be told apart. In a
  source distribution the file is there already. In a checkout with git nothing reads it, so what a killed build leaves
  does no harm.
- The engine is compiled with its profile (`pgo.py`).
- The man page and the completions of shells are in the wheel (`wheel_files.py`).
- Links of README.md hold on the page of an index, too (`readme_links.py`).
- Where the headers of libelf and zlib are missing, the package is built without `dumbbell kernel`, and says so.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import maturin

import pgo
import readme_links
import wheel_files

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "python" / "dumbbell" / "_build.py"
HEADERS = "#include <libelf.h>\n#include <gelf.h>\n#include <zlib.h>\n"

get_requires_for_build_wheel = maturin.get_requires_for_build_wheel
get_requires_for_build_sdist = maturin.get_requires_for_build_sdist
get_requires_for_build_editable = maturin.get_requires_for_build_editable
prepare_metadata_for_build_wheel = maturin.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(folder: str, settings: dict[str, Any] | None = None, metadata: str | None = None) -> str:
    """A wheel with the commit in it, the man page, completions, and a description whose links hold."""
    with _stamp(), _features(), _profile():
        name = str(maturin.build_wheel(folder, settings, metadata))
    wheel_files.add(Path(folder) / name)
    return name


def build_sdist(folder: str, settings: dict[str, Any] | None = None) -> str:
    """A source distribution with the commit in it."""
    with _stamp():
        name = str(maturin.build_sdist(folder, settings))
    readme_links.describe(Path(folder) / name)
    return name


def build_editable(folder: str, settings: dict[str, Any] | None = None, metadata: str | None = None) -> str:
    """A wheel that points here, where the commit can be read."""
    with _features(), _profile():
        return str(maturin.build_editable(folder, settings, metadata))


def commit() -> str | None:
    """Commit of this checkout, with ``+`` if files differ from it; None outside of one."""
    try:
        if Path(_git("rev-parse", "--show-toplevel")) != ROOT:
            return None
        return _git("rev-parse", "HEAD") + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


@contextmanager
def _stamp() -> Iterator[None]:
    """Leave the commit in a file of the package as long as it is built."""
    found = commit()
    if found is None:
        yield
        return
    BUILD.write_text(
        f'"""What this package was built from; made by its build."""\n\nCOMMIT = "{found}"\n', encoding="utf-8"
    )
    try:
        yield
    finally:
        BUILD.unlink(missing_ok=True)


@contextmanager
def _features() -> Iterator[None]:
    """Leave out what cannot be compiled here."""
    asked = os.environ.get("MATURIN_PEP517_ARGS")
    if sys.platform == "linux" and not _compiles(HEADERS):
        print(
            "no headers of libelf and zlib: building without `dumbbell kernel` (Debian and Ubuntu: apt install"
            " libelf-dev)",
            file=sys.stderr,
        )
        os.environ["MATURIN_PEP517_ARGS"] = f"{asked or ''} --no-default-features --features emulator".strip()
    try:
        yield
    finally:
        if asked is None:
            os.environ.pop("MATURIN_PEP517_ARGS", None)
        else:
            os.environ["MATURIN_PEP517_ARGS"] = asked


@contextmanager
def _profile() -> Iterator[None]:
    """Tell the compiler what the engine does often."""
    before = dict(os.environ)
    os.environ.update(pgo.environment(pgo.flags()))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _compiles(text: str) -> bool:
    compiler = os.environ.get("CC", "cc").split()
    try:
        return (
            subprocess.run(
                [*compiler, "-E", "-xc", "-"], input=text, text=True, capture_output=True, check=False
            ).returncode
            == 0
        )
    except OSError:
        return False  # maturin will say what it misses
