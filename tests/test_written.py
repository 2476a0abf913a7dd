"""Nothing is written through a link that the program did not make, and nothing is removed that it did not write."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from conftest import SMALL, Cli
from dumbbell.errors import OutError
from dumbbell.files import make_folder, written_whole
from dumbbell.runs import locks
from dumbbell.runs.place import LOCK, Place


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file of somebody's that a link leads to."""
    path = tmp_path / "victim"
    path.write_text("precious")
    return path


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def content(folder: Path) -> dict[str, tuple[str, int]]:
    """Every file and link below a folder with its text, and the times of the folders."""
    return {
        path.relative_to(folder).as_posix(): (
            str(path.readlink()) if path.is_symlink() else path.read_text() if path.is_file() else "",
            path.lstat().st_mtime_ns,
        )
        for path in sorted([folder, *folder.rglob("*")])
    }


# --- locks ----------------------------------------------------------------------------------------


def test_a_lock_that_is_a_link_is_refused_wherever_it_leads(victim: Path) -> None:
    for number, target in enumerate([victim, victim.with_name("none"), Path("/dev/zero"), victim.parent]):
        lock = victim.parent / f"lock-{number}"
        lock.symlink_to(target)
        with pytest.raises(OSError, match=rf"lock-{number} is a link, wanted a file"):
            locks.take(lock)
        assert lock.is_symlink()
    assert victim.read_text() == "precious"
    assert not victim.with_name("none").exists()


@pytest.mark.parametrize("kind", ["a file of somebody", "a hard link", "a pipe"])
def test_a_lock_that_is_none_of_ours_is_refused_and_stays(victim: Path, kind: str) -> None:
    lock = victim.with_name("lock")
    if kind == "a pipe":
        os.mkfifo(lock)
    elif kind == "a hard link":
        victim.write_text("")
        os.link(victim, lock)
    else:
        lock.write_text("my notes")
    before = lock.lstat()
    with pytest.raises(OSError, match="not a lock of this program"):
        locks.take(lock)
    assert (lock.lstat().st_ino, lock.lstat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_what_was_put_in_the_place_of_a_lock_meanwhile_stays(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    held = locks.take(lock)
    assert held is not None
    lock.unlink()
    lock.write_text("somebody else's")
    locks.leave(lock, held)
    assert lock.read_text() == "somebody else's"


@pytest.mark.parametrize("more", [[], ["--resume"], ["--force"]])
@pytest.mark.parametrize("target", ["victim", "none"])
def test_a_folder_whose_lock_is_a_link_is_refused(
    small: Path, victim: Path, cli: Cli, target: str, more: list[str]
) -> None:
    out = small.parent / "out"
    out.mkdir()
    (out / LOCK).symlink_to(small.parent / target)
    done = cli("run", small, "--out", out, *more)
    assert done.returncode == 2
    assert done.stderr == f"dumbbell: {out}: {LOCK} is a link, wanted a file: nothing is written through links\n"
    assert victim.read_text() == "precious"
    assert not (small.parent / "none").exists()
    assert [path.name for path in out.iterdir()] == [LOCK]


@pytest.mark.parametrize("where", [".locks", "key's lock", "first digits"])
def test_a_store_is_not_written_to_through_links(small: Path, victim: Path, cli: Cli, where: str) -> None:
    store, elsewhere = small.parent / "store", small.parent / "elsewhere"
    elsewhere.mkdir()
    sweep = ["sweep", small, "--store", store]
    assert cli(*sweep).returncode == 0
    for run in store.glob("[0-9a-f][0-9a-f]/*"):
        key = run.name
        for path in (run / "manifest.json", run / "flows.parquet"):
            path.unlink()
        if where == ".locks":
            (store / ".locks").rmdir()
            (store / ".locks").symlink_to(elsewhere)
            break
        if where == "key's lock":
            (store / ".locks" / key).symlink_to(victim)
        else:
            run.parent.rename(store / f"moved-{key}")
            run.parent.symlink_to(elsewhere)
    done = cli(*sweep)
    assert done.returncode != 0
    assert "is a link" in done.stderr
    assert victim.read_text() == "precious"
    assert not list(elsewhere.iterdir())


# --- files that commands write --------------------------------------------------------------------


@pytest.mark.parametrize("target", ["victim", "none"])
def test_a_file_is_not_written_through_a_link(victim: Path, target: str) -> None:
    link = victim.with_name("link.png")
    link.symlink_to(victim.with_name(target))
    with pytest.raises(OSError, match=r"link.png is a link, wanted a file"), written_whole(link) as beside:
        beside.write_text("new")
    assert victim.read_text() == "precious"
    assert not victim.with_name("none").exists()
    assert link.is_symlink()


def test_the_standard_output_may_be_named_as_a_file(cli: Cli) -> None:
    done = cli("trace", "lte", "-o", "/dev/stdout")
    assert done.returncode == 0
    assert done.stdout.count("\n") > 100


@pytest.mark.parametrize("command", ["plot", "trace", "report", "cca headers"])
def test_a_command_names_the_link_that_it_does_not_write_through(
    sweep: Path, victim: Path, cli: Cli, command: str
) -> None:
    link = victim.with_name("p.html" if command == "report" else "p.png")
    link.symlink_to(victim)
    given = {
        "plot": ["plot", "vary", sweep, "-o", link],
        "trace": ["trace", "lte", "-o", link],
        "report": ["report", sweep, "-o", link],
        "cca headers": ["cca", "headers", victim.parent / "headers"],
    }[command]
    if command == "cca headers":
        (victim.parent / "headers").mkdir()
        (victim.parent / "elsewhere").mkdir()
        (victim.parent / "headers" / "cca").symlink_to(victim.parent / "elsewhere")
    done = cli(*given)
    assert done.returncode in (1, 2)
    assert "is a link, wanted a" in done.stderr
    assert done.stderr.count("\n") == 1
    assert victim.read_text() == "precious"
    assert not list(victim.parent.glob("elsewhere/*"))


def test_a_folder_within_one_of_ours_is_no_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    make_folder(tmp_path / "made")
    make_folder(tmp_path / "made")
    with pytest.raises(OSError, match="link is a link, wanted a folder"):
        make_folder(tmp_path / "link")


# --- folders for results --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "held", [".tmp-2024-backup/x", ".tmp-1-small/notes.txt", ".tmp-7-sweep.json/x", "notes.txt", "sub/x"]
)
@pytest.mark.parametrize("more", [{}, {"force": True}])
def test_a_folder_that_is_refused_is_left_as_it_was(tmp_path: Path, held: str, more: dict[str, bool]) -> None:
    out = tmp_path / "mine"
    (out / held).parent.mkdir(parents=True)
    (out / held).write_text("precious")
    (out / "manifest.txt").write_text("hi")
    before = content(out)
    with pytest.raises(OutError, match="holds"), Place(out, **more):
        pass
    assert content(out) == before


@pytest.mark.parametrize("name", [".tmp-2024-backup", ".tmp-1-x", ".tmp-99-small-1"])
def test_what_others_keep_under_a_name_of_ours_stays_also_where_results_are_resumed(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "thesis.tex").write_text("precious")
    (tmp_path / ".tmp-3-my-sweep.json").write_text("precious")
    with Place(tmp_path, resume=True):
        pass
    assert (tmp_path / name / "thesis.tex").read_text() == "precious"
    assert (tmp_path / ".tmp-3-my-sweep.json").exists()


@pytest.mark.parametrize("kind", ["marked", "tables", "empty"])
def test_what_a_killed_command_left_is_cleared(tmp_path: Path, kind: str) -> None:
    left = tmp_path / ".tmp-1-small"
    (left / "raw").mkdir(parents=True)
    if kind == "marked":
        (left / ".dumbbell-unfinished").touch()
        (left / "raw" / "script").touch()
    else:
        (left / "raw").rmdir()
        if kind == "tables":
            (left / "samples.parquet").touch()
    with Place(tmp_path):
        assert not left.exists()


@pytest.mark.parametrize("kind", ["a link", "other data"])
def test_a_list_of_runs_that_is_somebody_elses_is_not_replaced(small: Path, victim: Path, cli: Cli, kind: str) -> None:
    out = small.parent / "out"
    out.mkdir()
    if kind == "a link":
        (out / "sweep.json").symlink_to(victim)
    else:
        (out / "sweep.json").write_text('{"parameters": [1, 2]}')
    before = (out / "sweep.json").lstat()
    done = cli("run", small, "--out", out, "--resume", "-q")
    assert done.returncode == 1
    assert "sweep.json: not a list of runs of this program" in done.stderr
    after = (out / "sweep.json").lstat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert victim.read_text() == "precious"


def test_a_finished_run_holds_no_mark_and_has_the_callers_mode(small: Path, cli: Cli) -> None:
    assert cli("run", small, "--out", small.parent / "out").returncode == 0
    assert not list((small.parent / "out").rglob(".*"))
    run = next(small.parent.glob("out/*/"))
    assert stat.S_IMODE(run.stat().st_mode) & 0o700 == 0o700


# --- the store ------------------------------------------------------------------------------------


def test_a_store_drops_runs_only_and_none_with_a_file_of_somebody(small: Path, cli: Cli) -> None:
    store = small.parent / "store"
    assert cli("sweep", small, "--store", store).returncode == 0
    runs = sorted(store.glob("[0-9a-f][0-9a-f]/*"))
    (store / "ab").mkdir(exist_ok=True)
    theirs = store / "ab" / "backup"
    theirs.mkdir()
    (theirs / "notes").write_text("precious")
    (runs[0] / "notes").write_text("precious")
    done = cli("store", "drop", "--all", "--store", store)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f"{runs[0] / 'notes'}: not of this program" in done.stderr
    assert (runs[0] / "notes").exists()
    (runs[0] / "notes").unlink()
    assert cli("store", "drop", "--all", "--store", store).returncode == 0
    assert not [run for run in runs if run.exists()]
    assert (theirs / "notes").read_text() == "precious"


def test_a_run_of_a_store_that_is_damaged_and_holds_a_file_of_somebody_is_not_made_again(small: Path, cli: Cli) -> None:
    store = small.parent / "store"
    assert cli("sweep", small, "--store", store).returncode == 0
    run = next(store.glob("[0-9a-f][0-9a-f]/*"))
    (run / "notes").write_text("precious")
    (run / "flows.parquet").unlink()
    done = cli("sweep", small, "--store", store)
    assert done.returncode == 1
    assert "not of this program; move it out of the store" in done.stderr
    assert (run / "notes").read_text() == "precious"
