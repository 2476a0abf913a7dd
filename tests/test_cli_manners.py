"""Output that cannot be written, wrong paths, faults of the program, --quiet and --force: one line and a status."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import SMALL

WRITES = [
    ["version"],
    ["help"],
    ["schema"],
    ["cca", "list"],
    ["check", "small.toml"],
    ["run", "small.toml", "--json"],
    ["run", "small.toml"],
    ["show", "out"],
]


@pytest.mark.parametrize("arguments", WRITES, ids=" ".join)
def test_output_that_cannot_be_written_is_one_line(cli: Any, small: Path, arguments: list[str]) -> None:
    cli("run", small, "--out", "out", "--json")
    command = [sys.executable, "-m", "dumbbell", *arguments]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, cwd=small.parent, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "dumbbell: output: No space left on device\n")


@pytest.mark.parametrize("arguments", WRITES, ids=" ".join)
def test_a_reader_that_goes_away_is_no_error_to_speak_of(cli: Any, small: Path, arguments: list[str]) -> None:
    cli("run", small, "--out", "out", "--json")
    process = subprocess.Popen(
        [sys.executable, "-m", "dumbbell", *arguments],
        cwd=small.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "."],
        ["run", "small.toml", "--out", "small.toml"],
        ["run", "small.toml", "--out", "/proc/none"],
        ["run", "small.toml", "--out", "small.toml/below"],
        ["run", "small.toml", "--out", "a" * 300],
        ["check", "none/such.toml"],
        ["show", "none"],
        ["show", "small.toml"],
        ["show", "a" * 300],
        ["plot", "rtt", "none"],
        ["plot", "vary", "out", "-o", "none/such/x.png"],
        ["trace", "lte", "-o", "none/such/x"],
        ["cca", "headers", "small.toml"],
        ["cca", "show", "none.c"],
        ["compare", "none.toml"],
    ],
    ids=lambda arguments: " ".join(arguments)[:40],
)
def test_a_wrong_path_is_one_line(cli: Any, small: Path, arguments: list[str]) -> None:
    cli("run", small, "--out", "out", "--json")
    done = cli(*arguments)
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    assert done.stderr.startswith("dumbbell: ")
    assert done.stderr.count("\n") == 1
    assert "None" not in done.stderr
    assert "fault of this program" not in done.stderr


def test_a_fault_of_ours_is_one_line_and_says_how_to_see_more(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dumbbell import cli as commands
    from dumbbell.plan import origin

    def broken() -> dict[str, str]:
        raise ZeroDivisionError("by zero\nand more")

    monkeypatch.setattr(origin, "versions", broken)
    monkeypatch.setattr(commands, "_drop_output", lambda: None)
    assert commands.main(["version"]) == 1
    message = (
        "dumbbell: a fault of this program: ZeroDivisionError: by zero (DUMBBELL_TRACEBACK=1 shows where; please report"
        " it)\n"
    )
    assert capsys.readouterr().err == message
    monkeypatch.setenv(commands.TRACEBACK, "1")
    with pytest.raises(ZeroDivisionError):
        commands.main(["version"])


def test_quiet_prints_errors_alone(cli: Any, small: Path) -> None:
    done = cli("run", small, "--out", "out", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert cli("run", small, "--out", "out2", "-q", "--json").stdout.count("\n") == 2
    assert cli("run", small, "--out", "out", "-q").stderr.startswith("dumbbell: out: holds ")


@pytest.mark.parametrize("options", [["--force"], ["--resume", "--force", "--out", "out"]])
def test_force_wants_a_folder_and_no_resumption(cli: Any, small: Path, options: list[str]) -> None:
    done = cli("run", small, *options)
    assert done.returncode == 2
    assert done.stderr.startswith("dumbbell: --force: ")


def test_edit_and_run_again_with_force(cli: Any, small: Path) -> None:
    assert cli("run", small, "--out", "out").returncode == 0
    small.write_text(SMALL.replace("2bdp", "3bdp"))
    assert cli("run", small, "--out", "out").returncode == 2
    assert cli("run", small, "--out", "out", "--force").returncode == 0
    assert sorted(path.name for path in (small.parent / "out").iterdir() if path.is_dir()) == [
        "small_buffer=0.5bdp",
        "small_buffer=3bdp",
    ]
