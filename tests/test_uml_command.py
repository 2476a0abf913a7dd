"""`dumbbell uml`: what its commands print, and their exit statuses; without a kernel."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import Cli
from dumbbell.uml import source, store
from test_uml_store import kept


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache; the folder of its kernels."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return store.place()


def test_status_without_a_kernel_says_how_to_make_one(cli: Cli, cache: Path) -> None:
    done = cli("uml", "status")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"no kernel is in {cache}: `dumbbell uml build` makes one\n"


def test_status_lists_kernels_and_which_are_of_another_version(cli: Cli) -> None:
    kept("6.12")
    kept("6.1", 250)
    done = cli("uml", "status", env={**os.environ, "COLUMNS": "200"})
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["name", "release", "ticks/s", "key", "MB", "source", "made"]
    assert [line.split()[0] for line in lines[2:]] == ["6.1-hz250", "6.12-hz1000"]
    assert "6.12-hz1000 was built by another version of dumbbell" in done.stderr


def test_status_as_json_has_everything(cli: Cli) -> None:
    kernel = kept("6.12")
    (row,) = [json.loads(line) for line in cli("uml", "status", "--json").stdout.splitlines()]
    assert row["folder"] == str(kernel.folder)
    assert row["is_current"] is False
    assert {name: row[name] for name in ("series", "hz", "key", "package")} == {
        "series": "6.12", "hz": 1000, "key": "c" * 64, "package": "linux-source-6.12 6.12.1-1",
    }  # fmt: skip


def test_a_kernel_that_is_there_is_not_built_again(cli: Cli) -> None:
    kernel = kept("6.12", recipe=source.recipe(1000))
    done = cli("uml", "build")
    assert (done.returncode, done.stdout) == (0, f"{kernel.folder}\n")
    assert done.stderr == "Linux 6.12.1, 1000 ticks a second: is there\n"
    assert cli("uml", "build", "--quiet").stderr == ""


def test_remove_takes_a_name_a_series_or_all(cli: Cli, cache: Path) -> None:
    for series, hz in (("6.12", 1000), ("6.12", 250), ("6.1", 1000), ("6.18", 1000)):
        kept(series, hz)
    assert cli("uml", "remove", "6.12").stderr == "removed 6.12-hz250, 6.12-hz1000\n"
    assert cli("uml", "remove", "6.1-hz1000").stderr == "removed 6.1-hz1000\n"
    assert [kernel.series for kernel in store.all_kernels()] == ["6.18"]
    (cache / "packages").mkdir()
    assert cli("uml", "remove", "--all").returncode == 0
    assert sorted(path.name for path in cache.iterdir()) == [".lock"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["remove"], 'uml remove: got "", wanted the name of a kernel'),
        (["remove", "6.12", "--all"], 'uml remove: got "6.12", wanted the name of a kernel'),
        (["remove", "6.1"], 'uml remove: got "6.1", wanted one of: 6.12-hz1000'),
        (["build", "--hz", "7"], "--hz: got 7, wanted 24 to 10000 ticks per second"),
        (["build", "--hz", "x"], "argument --hz: got x, wanted a whole number from 1"),
        (["build", "--source", "/nowhere"], "--source: /nowhere: there is no such file or folder"),
        (["build", "--source", "/etc/passwd"], "--source: /etc/passwd: no package and no archive that can be read"),
    ],
)
def test_bad_input_is_one_line_with_status_2(cli: Cli, arguments: list[str], says: str) -> None:
    kept("6.12")
    done = cli("uml", *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_build_leaves_nothing_half_made(tmp_path: Path, cache: Path, number: int, status: int) -> None:
    given = tmp_path / "linux"
    (given / "arch" / "um").mkdir(parents=True)
    (given / "Makefile").write_text(
        "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 9\nallnoconfig:\n\techo $$$$ > ../make.pid; touch ../begun; sleep 100\n"
    )
    for edit in source.edits(1000):
        (given / edit.file).parent.mkdir(parents=True, exist_ok=True)
        with (given / edit.file).open("a") as file:
            file.write(f"{edit.find}\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "dumbbell", "uml", "build", "--source", str(given)],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not list(cache.glob(".build-*/begun")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    pid = int(next(cache.glob(".build-*/make.pid")).read_text())
    process.send_signal(number)
    _, said = process.communicate(timeout=20)
    assert process.returncode == status
    assert said.endswith("dumbbell: interrupted\n")
    assert sorted(path.name for path in cache.iterdir()) == [".lock", "build.log", "programs"]
    for _ in range(100):
        if not is_running(pid):
            return
        time.sleep(0.05)
    pytest.fail(f"process {pid} of the build still runs")


def is_running(pid: int) -> bool:
    """Not gone, and not a process whose end nobody has asked for yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
