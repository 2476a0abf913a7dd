"""The profile that the engine is compiled with: when builds use it, and what they keep of their own flags."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import pgo  # noqa: E402


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A profile of the compiler "rustc 1.2.3", which is the one that is installed."""
    path, compiler = tmp_path / "engine.profdata", tmp_path / "engine.profdata.rustc"
    path.touch()
    compiler.write_text("rustc 1.2.3\n1000\n")
    monkeypatch.setattr(pgo, "PROFILE", path)
    monkeypatch.setattr(pgo, "COMPILER", compiler)
    monkeypatch.setattr(pgo, "compiler", lambda: "rustc 1.2.3")
    return path


def test_a_build_uses_the_profile_of_its_compiler_and_no_other(profile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pgo.flags() == [f"-Cprofile-use={profile}", f"-Cllvm-args={pgo.LAYOUT}"]
    for other in ("rustc 1.2.4", ""):
        monkeypatch.setattr(pgo, "compiler", lambda other=other: other)
        assert pgo.flags() == []


def test_a_checkout_without_a_profile_is_built_without_one(profile: Path) -> None:
    profile.unlink()
    assert pgo.flags() == []


WARNING = (
    "warning: {crate}.2a0d4b55-cgu.0: function control flow change detected (hash mismatch) {function} "
    "Hash = 600650274199673449 up to {counts} count discarded\n"
)


def test_a_build_that_leaves_much_of_the_profile_unused_is_told(profile: Path) -> None:
    del profile
    few = WARNING.format(crate="sim", function="_ZN3sim3run17h00E", counts=50)
    assert pgo.stale(few) == ""
    # The same function in another crate is no other one.
    assert pgo.stale(few + few.replace("sim.", "quinn.")) == ""
    assert pgo.stale("   Compiling dumbbell-sim v0.1.0\n") == ""
    many = few + WARNING.format(crate="path", function="_ZN4path4wake17h01E", counts=200)
    assert "2 functions with 25% of its counts have changed since" in pgo.stale(many)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ["new"]),
        ({"RUSTFLAGS": "-a -b"}, ["-a", "-b", "new"]),
        ({"RUSTFLAGS": "-a", "CARGO_ENCODED_RUSTFLAGS": "-c\x1fwith a space"}, ["-c", "with a space", "new"]),
    ],
)
def test_flags_that_a_build_has_stay(
    given: dict[str, str], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert pgo.environment(["new"])["CARGO_ENCODED_RUSTFLAGS"].split("\x1f") == expected
    assert pgo.environment([]).get("CARGO_ENCODED_RUSTFLAGS") == given.get("CARGO_ENCODED_RUSTFLAGS")


def test_the_status_of_a_build_is_passed_on() -> None:
    build = [sys.executable, str(ROOT / "tools/pgo.py"), "run", sys.executable, "-c", "raise SystemExit(3)"]
    assert subprocess.run(build, check=False).returncode == 3


def test_the_profile_of_the_checkout_says_which_compiler_it_is_for() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("the profile belongs to a checkout")
    assert (ROOT / "crates/py/engine.profdata").stat().st_size > 100_000
    name, counts = pgo.made_for()
    assert name.startswith("rustc 1.")
    assert counts > 1_000_000_000
