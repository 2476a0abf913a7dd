"""What a release says of itself: its version stands in Cargo.toml, and what has to repeat it agrees."""

from __future__ import annotations

import re
import subprocess
import tomllib

import pytest

from conftest import ROOT

VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]


def test_the_engine_the_package_and_the_newest_notes_have_the_version_of_cargo_toml() -> None:
    import dumbbell
    from dumbbell import _native

    assert dumbbell.__version__ == _native.version() == VERSION
    newest = re.search(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == VERSION


def test_no_other_file_holds_the_version() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("what is of the project is known in a checkout only")
    found = subprocess.run(
        ["git", "grep", "--fixed-strings", "--word-regexp", "--files-with-matches", f'"{VERSION}"'],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    # Lock files have those of others, too; of web/package-lock.json all are.
    assert [name for name in found.stdout.split() if "lock" not in name] == ["Cargo.toml"]
    assert "version" not in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_a_wheel_is_built_for_each_system_that_the_notes_of_a_release_name() -> None:
    workflow = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    built = set(re.findall(r"build: cp311-(\w+) ", workflow))
    linux = {f"{libc}linux_{machine}" for libc in ("many", "musl") for machine in ("x86_64", "aarch64")}
    assert built == {*linux, "macosx_arm64"}
    assert "id-token: write" in workflow
