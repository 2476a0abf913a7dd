"""Temporary folders: a killed process leaves none for long, and nothing else in their place is ever removed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from dumbbell.runs.execute import Execution
from dumbbell.runs.jobs import given, jobs_of
from dumbbell.temporary import Temporary, clear


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of the test's own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def _another_process(place: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process that holds a temporary folder until it reads a line."""
    code = "from dumbbell.temporary import Temporary; made = Temporary('cca'); print(made.path, flush=True); input()"
    given: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    child = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(place)}, **given)
    assert child.stdout is not None
    return child, Path(child.stdout.readline().strip())


def test_that_of_a_killed_process_is_removed_and_that_of_a_living_one_is_not(place: Path) -> None:
    (first, killed), (second, living) = _another_process(place), _another_process(place)
    assert killed.is_dir()
    first.kill()
    first.communicate()
    mine = Temporary("run")
    assert not killed.parent.exists()
    assert living.exists()
    second.communicate("\n")
    assert not living.parent.exists()
    mine.remove()
    assert not mine.path.parent.exists()


@pytest.mark.parametrize(
    "name", ["dumbbell-exp-1", "dumbbell-my-thesis", "dumbbell-cca-abcd1234", "dumbbell-{uid}/mine-1"]
)
def test_a_folder_that_the_program_did_not_make_stays_whatever_it_is_called(place: Path, name: str) -> None:
    theirs = place / name.format(uid=os.geteuid())
    theirs.mkdir(parents=True)
    theirs.parent.chmod(0o700)
    (theirs / "chapter1.tex").write_text("precious")
    os.utime(theirs, (0, 0))
    Temporary("cca").remove()
    assert (theirs / "chapter1.tex").read_text() == "precious"


@pytest.mark.parametrize("mark", ["empty", "other text", "link to a true one", "pipe", "folder"])
def test_a_mark_that_the_program_did_not_write_is_none(place: Path, mark: str) -> None:
    private = place / f"dumbbell-{os.geteuid()}"
    (private / "run-1").mkdir(parents=True)
    private.chmod(0o700)
    at = private / "run-1" / "made-by"
    if mark == "pipe":
        os.mkfifo(at)
    elif mark == "folder":
        at.mkdir()
    elif mark == "link to a true one":
        (place / "true").write_text("dumbbell, process 1\n")
        at.symlink_to(place / "true")
    else:
        at.write_text("" if mark == "empty" else "made by hand\n")
    clear()
    assert at.parent.is_dir()


def test_a_folder_of_results_that_is_linked_into_the_private_one_stays(place: Path) -> None:
    private = place / f"dumbbell-{os.geteuid()}"
    private.mkdir(mode=0o700)
    (place / "results").mkdir()
    (place / "results" / "made-by").write_text("dumbbell, process 1\n")
    (private / "run-1").symlink_to(place / "results")
    clear()
    assert (place / "results" / "made-by").exists()


@pytest.mark.parametrize("wrong", ["a link", "others may write", "a file"])
def test_a_private_folder_that_is_not_ours_alone_is_not_taken(place: Path, wrong: str) -> None:
    private = place / f"dumbbell-{os.geteuid()}"
    if wrong == "a link":
        (place / "elsewhere").mkdir(mode=0o700)
        private.symlink_to(place / "elsewhere")
    elif wrong == "a file":
        private.touch()
    else:
        private.mkdir()
        private.chmod(0o777)
    made = Temporary("run")
    assert made.path.parent.parent == place
    assert stat.S_IMODE(made.path.parent.stat().st_mode) == 0o700
    assert private.is_file() or not list(private.iterdir())
    made.remove()
    assert not made.path.parent.exists()


def test_a_folder_stays_as_long_as_somebody_means_to_remove_it(place: Path) -> None:
    remove = (made := Temporary("run")).remove
    path = made.path
    del made
    assert path.is_dir()
    remove()
    assert not path.parent.exists()


def test_runs_without_a_folder_of_their_own_leave_none(place: Path) -> None:
    path = {"rate": "10Mbps", "rtt": "10ms", "buffer": "1bdp"}
    scenario = {"name": "short", "duration": "1s", "path": path, "flow": [{"cca": "reno"}]}
    with Execution(jobs_of([given(scenario)], Path()), None) as going:
        assert stat.S_IMODE(going.out.parent.parent.stat().st_mode) == 0o700
        assert [outcome.error for outcome in going.outcomes()] == [None]
        assert going.out.is_dir()
    assert not list(place.iterdir())


def test_what_a_forked_process_ends_with_stays_the_first_ones(place: Path) -> None:
    made = Temporary("run")
    child = os.fork()
    if not child:
        made.remove()
        os._exit(0)
    os.waitpid(child, 0)
    assert made.path.is_dir()
    made.remove()
