"""Runs that fail: each error once with a count, and how many of how many, from run, sweep and show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conftest import SMALL

BROKEN = """\
class Broken:
    def on_ack(self, sample):
        return sample.now_us // 0
"""
TEXT = SMALL.replace('cca = "bbr"', 'cca = ["reno", "broken"]').replace(
    "duration = ", 'repetitions = 3\nhost.start_jitter = "9ms"\nduration = '
)


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_an_error_of_all_repetitions_is_told_once_and_the_missing_rows_counted(
    cli: Any, tmp_path: Path, command: str
) -> None:
    (tmp_path / "x.toml").write_text(TEXT)
    (tmp_path / "broken.py").write_text(BROKEN)
    done = cli(command, "x.toml", "--cca", "broken.py", "--set", "path.buffer=1bdp", "--out", "out")
    assert done.returncode == 1
    assert done.stderr.count("ZeroDivisionError") == 1
    assert (
        "dumbbell: the same error in 2 more runs: small_flow1.cca=broken_r1, small_flow1.cca=broken_r2\n" in done.stderr
    )
    assert done.stdout.endswith("3 of 6 runs failed, and the table has no rows of them\n")
    assert "out: 3 of 6 runs are there" in cli("show", "out").stderr


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_where_all_fail_it_is_said(cli: Any, tmp_path: Path, command: str) -> None:
    (tmp_path / "x.toml").write_text(TEXT)
    (tmp_path / "broken.py").write_text(BROKEN)
    done = cli(command, "x.toml", "--cca", "broken.py", "--set", "path.buffer=1bdp", "--set", "flow[1].cca=broken")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("dumbbell: 3 of 3 runs failed\n")
