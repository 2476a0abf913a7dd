"""A run's folder: whole or absent, and able to tell whether it still is what was written."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from conftest import SMALL
from dumbbell import ControllerError, EngineError, ScenarioError, _native, from_text, plan
from dumbbell.backends import folder
from dumbbell.backends.request import Request
from dumbbell.errors import DiskFullError


def made_in(out: Path, name: str = "run") -> folder.ResultFolder:
    planned = plan.runs(from_text(SMALL))[0]
    return folder.ResultFolder(Request(planned, scenario_text=SMALL), out / name)


def written(out: Path, name: str = "run", **more: Any) -> dict[str, Any]:
    with made_in(out, name) as made:
        (made.path / "flows.parquet").write_bytes(b"rows" * 100)
        (made.path / "traffic").mkdir()
        (made.path / "traffic" / "0.json").write_bytes(b"{}")
        return made.finish({"warnings": ["careful"]}, **more)


def test_a_manifest_lists_every_other_file_with_size_and_digest(tmp_path: Path) -> None:
    run = dumbbell.run(from_text(SMALL), tmp_path / "out", jobs=1)[0]
    files = {path.name: path.read_bytes() for path in run.folder.iterdir() if path.name != "manifest.json"}
    assert set(files) >= {"flows.parquet", "samples.parquet", "queue.parquet", "events.parquet"}
    listed = {name: (one.bytes, one.sha256) for name, one in run.manifest.files.items()}
    assert listed == {name: (len(data), hashlib.sha256(data).hexdigest()) for name, data in files.items()}


def test_a_manifest_has_what_a_back_end_adds(tmp_path: Path) -> None:
    made = written(tmp_path, warnings=["late"], more={"emulator": {"late": 1}}, controllers=[{"name": "mine"}])
    assert made == json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert made["warnings"] == ["careful", "late"]
    assert made["emulator"] == {"late": 1}
    assert made["controllers"] == [{"name": "mine"}]
    assert list(made["files"]) == ["flows.parquet", "traffic/0.json"]


def test_nothing_has_the_folders_name_before_it_is_complete(tmp_path: Path) -> None:
    with made_in(tmp_path) as made:
        assert not (tmp_path / "run").exists()
        assert made.path.parent == tmp_path
        made.finish({"warnings": []})
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize(
    ("raised", "seen", "text"),
    [
        (_native.PlanError("mtu: too small"), ScenarioError, "run: mtu: too small"),
        (_native.ControllerError("it failed"), ControllerError, "it failed"),
        (_native.EmulatorError("no /dev/net/tun"), EngineError, "run: no /dev/net/tun"),
        (
            RuntimeError("flows.parquet: No space left on device (os error 28)"),
            DiskFullError,
            "No space left on device",
        ),
        (OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)), DiskFullError, "Disk quota exceeded"),
        (OSError(errno.EIO, os.strerror(errno.EIO)), EngineError, "run: Input/output error"),
        (EngineError("as it is"), EngineError, "as it is"),
        (KeyboardInterrupt(), KeyboardInterrupt, ""),
        (ZeroDivisionError("a bug"), ZeroDivisionError, "a bug"),
    ],
)
def test_a_run_that_fails_leaves_nothing_and_says_why(
    tmp_path: Path, raised: BaseException, seen: type[BaseException], text: str
) -> None:
    def run() -> None:
        with made_in(tmp_path) as made:
            (made.path / "flows.parquet").write_bytes(b"rows")
            raise raised

    with pytest.raises(seen) as caught:
        run()
    assert text in str(caught.value)
    assert type(caught.value) is seen
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"missing/\.tmp-[0-9]+-run: No such file or directory"):
        made_in(tmp_path / "missing").__enter__()


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("flows.parquet", None, "flows.parquet is missing"),
        ("flows.parquet", b"rows" * 50, "flows.parquet has 200 bytes instead of 400"),
        ("flows.parquet", b"r0ws" * 100, "flows.parquet is not as it was written"),
        ("traffic/0.json", b"", "traffic/0.json has 0 bytes instead of 2"),
    ],
)
def test_damage_is_named(tmp_path: Path, name: str, content: bytes | None, problem: str) -> None:
    made = written(tmp_path)
    assert folder.damage(tmp_path / "run", made) == ""
    (tmp_path / "run" / name).unlink()
    if content is not None:
        (tmp_path / "run" / name).write_bytes(content)
    assert folder.damage(tmp_path / "run", made) == problem


@pytest.mark.parametrize("size", [0, 99_999, 100_000, 300_000])
def test_small_and_large_files_have_the_digest_that_everybody_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    (tmp_path / "file").write_bytes(data[:size])
    wanted = hashlib.sha256(data[:size]).hexdigest()
    assert folder.sha256(tmp_path / "file") == wanted
    monkeypatch.delitem(sys.modules, "hashlib")
    assert folder.sha256(tmp_path / "file") == wanted


def synced(out: Path, monkeypatch: pytest.MonkeyPatch, names: list[str]) -> list[str]:
    """What reaches the disk, and when folders get their names, in order."""
    seen: list[str] = []
    sync, rename = os.fsync, Path.rename

    def fsync(fd: int) -> None:
        seen.append(Path(f"/proc/self/fd/{fd}").readlink().name.removeprefix(f".tmp-{os.getpid()}-"))
        sync(fd)

    def renamed(self: Path, target: Path) -> Path:
        seen.append(f"rename {target.name}")
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "rename", renamed)
    for name in names:
        written(out, name)
    return seen


def test_what_a_folder_holds_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "_next_sync_s", 0.0)
    seen = synced(tmp_path, monkeypatch, ["one"])
    assert sorted(seen[:3]) == ["0.json", "flows.parquet", "manifest.json"]
    assert seen[3:] == ["one", "rename one", tmp_path.name]


def test_waiting_for_the_disk_takes_a_small_part_of_the_time_of_short_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(folder, "_next_sync_s", 0.0)
    monkeypatch.setattr(
        folder.time, "monotonic", lambda: now.append(now[-1] + 0.01) or now[-1]
    )  # each look at the clock is 10 ms later
    seen = synced(tmp_path, monkeypatch, [f"run{n:02}" for n in range(50)])
    synced_runs = [name for name in seen if name.startswith("run")]
    assert synced_runs == ["run00", "run20", "run40"]  # 10 ms of waiting for each 200 ms
    assert len([name for name in seen if name.startswith("rename")]) == 50
