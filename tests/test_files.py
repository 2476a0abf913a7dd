"""Files that commands write are there whole or as they were before."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from conftest import Cli
from dumbbell.files import written_whole


def test_a_file_that_fails_half_written_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "p.png"
    path.write_text("earlier")

    def fail() -> None:
        with written_whole(path) as beside:
            beside.write_text("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        fail()
    assert path.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_takes_the_place_of_the_earlier_one_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("earlier")
    path.chmod(0o600)
    with written_whole(path) as beside:
        beside.write_text("new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o600)


def test_what_is_no_file_is_written_to_as_it_is() -> None:
    with written_whole(Path("/dev/null")) as beside:
        assert beside == Path("/dev/null")
    assert Path("/dev/null").is_char_device()


def test_a_full_disk_leaves_earlier_files_whole_and_no_others(sweep: Path, tmp_path: Path, cli: Cli) -> None:
    tiny = tmp_path / "tiny"
    tiny.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "none", tiny]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no root: cannot mount a small file system")
    try:
        (tiny / "p.png").write_text("earlier")
        for command in (
            ["plot", "vary", sweep, "-o", tiny / "p.png"],
            ["trace", "lte", "-o", tiny / "lte.trace"],
            ["cca", "headers", tiny / "headers"],
        ):
            done = cli(*command)
            assert done.returncode in (1, 2), command
            assert "No space left on device" in done.stderr
            assert done.stderr.count("\n") == 1
        assert (tiny / "p.png").read_text() == "earlier"
        assert [path for path in tiny.rglob("*") if path.is_file()] == [tiny / "p.png"]
    finally:
        subprocess.run(["umount", tiny], check=True)
