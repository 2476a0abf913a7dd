"""--resume: what is whole and the same is kept, what is damaged is run again, what is somebody else's is left alone.
And one command at a time.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from conftest import SMALL
from dumbbell import OutError, ResultError, from_text, load
from dumbbell.cli import main
from dumbbell.errors import DiskFullError
from dumbbell.runs.execute import Execution, execute
from dumbbell.runs.job import Outcome
from dumbbell.runs.jobs import jobs_of
from dumbbell.runs.place import LOCK, Place
from dumbbell.scenario.file import Given

FIRST = "small_buffer=0.5bdp"


def going(out: Path, text: str = SMALL, *, workers: int = 1, **options: Any) -> Execution:
    return Execution(jobs_of([Given(from_text(text), text)], Path()), Place(out, **options), workers=workers)


def run(out: Path, text: str = SMALL, *, workers: int = 1, **options: Any) -> tuple[list[Outcome], list[str]]:
    notes: list[str] = []
    planned = jobs_of([Given(from_text(text), text)], Path())
    return list(execute(planned, Place(out, **options), workers=workers, note=notes.append)), notes


def tables(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*.parquet"))}


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def zeroed(path: Path) -> None:
    path.write_bytes(b"\0" * path.stat().st_size)


def only_half_a_folder(run: Path) -> None:
    for name in ("manifest.json", "samples.parquet"):
        (run / name).unlink()


DAMAGE: list[tuple[str, Callable[[Path], object], str]] = [
    ("a table is missing", lambda run: (run / "flows.parquet").unlink(), "flows.parquet is missing"),
    ("a table is cut", lambda run: cut(run / "samples.parquet"), "samples.parquet has "),
    ("a table is empty", lambda run: os.truncate(run / "queue.parquet", 0), "queue.parquet has 0 bytes instead of "),
    ("a table is zeros", lambda run: zeroed(run / "events.parquet"), "events.parquet is not as it was written"),
    ("the manifest is empty", lambda run: os.truncate(run / "manifest.json", 0), "manifest.json is damaged"),
    ("the manifest is cut", lambda run: cut(run / "manifest.json"), "manifest.json is damaged"),
    ("the manifest is zeros", lambda run: zeroed(run / "manifest.json"), "manifest.json is damaged"),
    (
        "the manifest is a list",
        lambda run: (run / "manifest.json").write_text("[" * 100_000),
        "manifest.json is damaged",
    ),
    ("the manifest is missing", lambda run: (run / "manifest.json").unlink(), "manifest.json is missing"),
    ("half the files are missing", only_half_a_folder, "manifest.json is missing"),
    ("the folder is empty", lambda run: [path.unlink() for path in run.iterdir()], "manifest.json is missing"),
]


@pytest.mark.parametrize(("do", "problem"), [pytest.param(do, problem, id=name) for name, do, problem in DAMAGE])
def test_a_damaged_run_is_run_again_and_the_others_are_kept(
    tmp_path: Path, do: Callable[[Path], object], problem: str
) -> None:
    run(tmp_path / "out")
    whole = tables(tmp_path / "out")
    do(tmp_path / "out" / FIRST)
    outcomes, notes = run(tmp_path / "out", resume=True)
    assert [(outcome.error, outcome.was_there) for outcome in outcomes] == [(None, False), (None, True)]
    assert len(notes) == 1
    assert notes[0].startswith(f"{tmp_path / 'out' / FIRST}: {problem}")
    assert tables(tmp_path / "out") == whole


def test_the_note_is_one_line_on_stderr(cli: Any, small: Path) -> None:
    first = cli("run", small, "--out", "out", "--json")
    (small.parent / "out" / FIRST / "manifest.json").write_text("")
    again = cli("run", small, "--out", "out", "--json", "--resume")
    assert again.returncode == 0
    assert again.stderr == f"dumbbell: out/{FIRST}: manifest.json is damaged; it is run again\n"
    figures = [[{**json.loads(line), "wall_s": 0} for line in done.stdout.splitlines()] for done in (first, again)]
    assert figures[0] == figures[1]


def test_a_file_of_somebody_else_in_a_runs_place_is_never_removed(tmp_path: Path) -> None:
    run(tmp_path / "out")
    theirs = tmp_path / "out" / FIRST / "notes.txt"
    theirs.write_text("mine")
    (tmp_path / "out" / FIRST / "flows.parquet").unlink()
    with pytest.raises(ResultError, match=r"holds notes.txt and is no result of this program"):
        run(tmp_path / "out", resume=True)
    assert theirs.read_text() == "mine"


@pytest.mark.parametrize("stands", ["file", "link", "manifest of an extension"])
def test_what_is_no_run_is_refused_and_stays(tmp_path: Path, stands: str) -> None:
    place = tmp_path / "out" / FIRST
    place.parent.mkdir()
    if stands == "file":
        place.write_text("in the way")
    elif stands == "link":
        place.symlink_to(tmp_path)
    else:
        place.mkdir()
        (place / "manifest.json").write_text('{"manifest_version": 3}')
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ResultError, match=r"not a folder|no result of this program"):
        run(tmp_path / "out", resume=True)
    assert sorted(tmp_path.rglob("*")) == before


def test_leftovers_are_removed_whatever_process_has_their_number_now(tmp_path: Path) -> None:
    for pid in (1, os.getpid(), 99_999_999):
        (tmp_path / f".tmp-{pid}-small").mkdir()
        (tmp_path / f".tmp-{pid}-small" / "flows.parquet").write_text("half")
    (tmp_path / ".tmp-4-sweep.json").write_text("{")
    (tmp_path / ".tmp-2-file").write_text("a file is none of ours")
    (tmp_path / ".tmp-3-link").symlink_to(tmp_path.parent)
    run(tmp_path, resume=True)
    assert sorted(path.name for path in tmp_path.glob(".*")) == [".tmp-2-file", ".tmp-3-link"]
    assert tmp_path.parent.exists()


def test_a_second_command_on_one_folder_is_told_who_has_it(cli: Any, small: Path) -> None:
    with going(small.parent / "out") as made:
        second = cli("run", small, "--out", "out", "--resume")
        assert (second.returncode, second.stdout) == (1, "")
        assert second.stderr.startswith(f"dumbbell: out: process {os.getpid()} on {os.uname().nodename} (since 20")
        assert second.stderr.endswith("writes to it; wait until it has ended, or choose another --out\n")
        assert second.stderr.count("\n") == 1
        assert all(outcome.error is None for outcome in made.outcomes())
    assert not (small.parent / "out" / LOCK).exists()
    assert cli("run", small, "--out", "out", "--resume").returncode == 0


def test_of_many_commands_that_start_at_once_one_runs_and_the_others_say_so(small: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "dumbbell",
        "run",
        "small.toml",
        "--out",
        "out",
        "--resume",
        "--json",
        "--set",
        "repetitions=5",
        "--set",
        "seed=2",
    ]
    started = [
        subprocess.Popen(command, cwd=small.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    ended = [(*process.communicate(timeout=60), process.returncode) for process in started]
    assert any(status == 0 for *_, status in ended)
    for _, err, status in ended:
        assert status == 0 or (status == 1 and "writes to it" in err and err.count("\n") == 1), err
    out = small.parent / "out"
    assert not list(out.glob(".*"))
    assert all(not list(run.folder.glob(".*")) for run in load(out))


def test_a_lock_that_a_killed_command_left_is_none(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / LOCK).write_text("process 1 on elsewhere (since long ago)\n")
    outcomes, _ = run(tmp_path / "out")
    assert all(outcome.error is None for outcome in outcomes)
    assert not (tmp_path / "out" / LOCK).exists()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_ends_the_sweep_at_its_first_run(tmp_path: Path, double: ModuleType, workers: int) -> None:
    text = (
        SMALL.replace('["0.5bdp", "2bdp"]', '"1bdp"')
        .replace('cca = "cubic"', 'cca = "cubic"\nsize = ["1MB", "668B"]')
        .replace("name =", "repetitions = 20\nname =")
    )
    started: list[str] = []
    real = double.run
    double.run = lambda plan, *more: started.append(plan) or real(plan, *more)  # type: ignore[attr-defined,func-returns-value]
    outcomes, _ = run(tmp_path / "out", text, workers=workers)
    errors = [outcome.error for outcome in outcomes]
    assert errors[:-1] == [None] * (len(outcomes) - 1)
    assert isinstance(errors[-1], DiskFullError)
    assert len(started) < 25  # of 40: none after the full one


def test_a_real_full_disk_is_one_line_and_nothing_is_left(cli: Any, small: Path) -> None:
    out = small.parent / "tiny"
    out.mkdir()
    if (
        os.geteuid() != 0
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=120k", "none", out], check=False, capture_output=True
        ).returncode
    ):
        pytest.skip("no root: cannot mount a small file system")
    try:
        done = cli("run", small, "--out", "tiny", "--set", "repetitions=15", "--set", "path.loss=0.1%", "--jobs", "2")
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert "No space left on device; " in done.stderr
        assert "of 30 runs are finished in tiny, --resume runs the rest" in done.stderr
        assert not list(out.glob(".*"))
    finally:
        subprocess.run(["umount", out], check=True)


def test_a_disk_that_is_full_at_the_list_of_runs_is_the_same_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small, out = tmp_path / "small.toml", tmp_path / "out"
    small.write_text(SMALL)
    written = Path.write_text

    def write(path: Path, text: str, **more: Any) -> int:
        if not path.name.endswith("sweep.json"):
            return written(path, text, **more)
        written(path, text[: len(text) // 2], **more)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # without a name, as the kernel's write has none

    monkeypatch.setattr(Path, "write_text", write)
    assert main(["run", str(small), "--out", str(out), "--jobs", "1"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"dumbbell: {out}/sweep.json: No space left on device; 1 of 2 runs are finished in {out}, "
        "--resume runs the rest"
    )
    assert sorted(path.name for path in out.iterdir()) == [FIRST]
    monkeypatch.undo()
    assert main(["run", str(small), "--out", str(out), "--resume"]) == 0
    assert (out / "sweep.json").exists()


def test_force_replaces_results_and_their_pictures(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(out)
    (out / "vary.png").write_text("a picture that plot wrote")
    (out / FIRST / "rtt.pdf").write_text("another")
    (out / ".tmp-1-small").mkdir()
    shutil.copytree(out / FIRST, out / "older")
    (out / "older" / "manifest.json").write_text("")
    outcomes, _ = run(out, SMALL.replace("20Mbps", "30Mbps"), force=True)
    assert [outcome.error for outcome in outcomes] == [None, None]
    assert sorted(path.name for path in out.iterdir()) == sorted(
        ["sweep.json", *(outcome.job.folder.name for outcome in outcomes)]
    )


@pytest.mark.parametrize(
    "stranger",
    ["thesis.tex", "small_buffer=0.5bdp/notes.txt", "data/flows.csv", "mine.png", ".git/config", "manifest.json"],
)
def test_force_removes_nothing_of_somebody_else(tmp_path: Path, stranger: str) -> None:
    out = tmp_path / "out"
    run(out)
    (out / stranger).parent.mkdir(exist_ok=True)
    (out / stranger).write_text("mine")
    before = sorted(out.rglob("*"))
    with pytest.raises(OutError, match=f"holds {stranger}, which is not of this program"):
        run(out, force=True)
    assert sorted(out.rglob("*")) == before


def test_a_folder_that_was_made_for_nothing_is_taken_away(cli: Any, small: Path, tmp_path: Path) -> None:
    done = cli("run", small, "--out", "a/b", "--set", 'path.buffer="0pkt"')
    assert done.returncode == 2
    assert not (tmp_path / "a").exists()
    cli("run", small, "--set", 'path.buffer="0pkt"')
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
@pytest.mark.parametrize("name", ["manifest.json", "sweep.json", "flows.parquet", "samples.parquet"])
def test_a_pipe_or_a_device_in_the_place_of_a_result_is_refused_at_once(
    tmp_path: Path, cli: Any, name: str, kind: str
) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    out = tmp_path / "out"
    assert cli("run", tmp_path / "small.toml", "--out", out, "-q").returncode == 0
    at = out / name if name == "sweep.json" else out / FIRST / name
    at.unlink()
    if kind == "pipe":
        os.mkfifo(at)
    elif kind == "device":
        at.symlink_to("/dev/zero")
    else:
        at.mkdir()
    for command in (
        ["show", out],
        ["plot", "vary", out, "-o", tmp_path / "p.png"],
        ["report", out, "-o", tmp_path / "r.html"],
    ):
        done = cli(*command)
        assert "Traceback" not in done.stderr
        assert done.stderr.count("\n") <= 1
        if name == "manifest.json":  # not every command needs every other file
            assert done.returncode == 1
    again = cli("run", tmp_path / "small.toml", "--out", out, "--resume", "-q")
    assert "Traceback" not in again.stderr
    assert again.stderr.count("\n") <= 1
