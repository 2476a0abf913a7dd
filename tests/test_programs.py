"""Programs with controllers in Rust (crates/test), as `dumbbell` asks them; the Rust half is tested by `cargo test`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dumbbell
from dumbbell import _native, programs
from dumbbell.errors import ControllerError, ScenarioError
from dumbbell.scenario.own import Own

ENGINE = {"engine": _native.version(), "manifest": _native.MANIFEST_VERSION, "schema": _native.SCHEMA_VERSION}
SCENARIO = {
    "name": "own", "duration": "2s", "path": {"rate": "10Mbps", "rtt": "40ms", "buffer": "1bdp"},
    "flow": [{"cca": "mine"}],
}  # fmt: skip


def program(folder: Path, run: str, engine: dict[str, object] = ENGINE, transport: str = "tcp") -> Path:
    """A program of one controller, whose runs do what the shell text `run` does."""
    name = "quinn:mine" if transport == "quinn" else "mine"
    told = {**engine, "controllers": [{"name": name, "summary": "a controller", "transport": transport}]}
    file = folder / "controllers"
    file.write_text(
        f"#!/bin/sh\n# {programs.MARK.decode()}\n"
        f"if [ $2 = describe ]; then echo noise; echo 'dumbbell {json.dumps(told)}'; exit; fi\n{run}\n"
    )
    file.chmod(0o755)
    return file


def test_its_controllers_are_known_by_name(tmp_path):
    own = Own.load([program(tmp_path, "")])
    assert own.known()["mine"].summary == "a controller"
    assert len(own.record()[0]["sha256"]) == 64


def test_a_file_without_the_mark_is_not_started(tmp_path):
    file = tmp_path / "script"
    file.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    file.chmod(0o755)
    with pytest.raises(ScenarioError, match="wanted a C source"):
        Own.load([file])
    assert not (tmp_path / "started").exists()


def test_one_with_another_engine_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match=r"built with dumbbell-test 0\.0\.9, wanted one built with"):
        Own.load([program(tmp_path, "", {**ENGINE, "engine": "0.0.9"})])


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("kill -SEGV $$", "ended by SIGSEGV"),
        ("cat > /dev/null; exit 3", "ended with status 3"),
        ("""echo 'dumbbell {"panic": "index out of bounds (src/mine.rs:7)"}'""", "index out of bounds"),
    ],
)
def test_one_that_fails_is_an_error_of_the_controller(tmp_path, run, said):
    with pytest.raises(ControllerError, match=said):
        dumbbell.run(SCENARIO, out=tmp_path / "out", cca=[program(tmp_path, run)])


def test_what_its_engine_refuses_is_an_error_of_the_scenario(tmp_path):
    refuses = """cat > /dev/null; echo 'dumbbell {"refused": "flows[0].cca: no"}'"""
    with pytest.raises(ScenarioError, match=r"flows\[0\]\.cca: no"):
        dumbbell.run(SCENARIO, out=tmp_path / "out", cca=[program(tmp_path, refuses)])


def test_a_controller_in_quinns_interface_wants_that_transport(tmp_path):
    file = program(tmp_path, "", transport="quinn")
    wrong = {**SCENARIO, "flow": [{"cca": "quinn:mine"}]}
    with pytest.raises(ScenarioError, match='wanted this controller with transport = "quinn"'):
        dumbbell.run(wrong, out=tmp_path / "out", cca=[file])


def test_a_run_has_controllers_of_one_program_and_no_other_file(tmp_path):
    gentle = Path(__file__).parents[1] / "scenarios/examples/gentle.c"
    both = {**SCENARIO, "flow": [{"cca": "mine"}, {"cca": "gentle"}]}
    with pytest.raises(ScenarioError, match="wanted controllers of one file beside one in Rust"):
        dumbbell.run(both, out=tmp_path / "out", cca=[program(tmp_path, ""), gentle])


def test_no_kernel_runs_it(tmp_path):
    with pytest.raises(ScenarioError, match="a kernel runs no Python and no program"):
        dumbbell.run(SCENARIO, out=tmp_path / "out", cca=[program(tmp_path, "")], on="uml")
