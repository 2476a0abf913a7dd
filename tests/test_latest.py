"""Commands without a folder take the latest results; folders that hold none name those below; pages are opened."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def _runs(cli: Any, small: Path, *names: str) -> None:
    for i, name in enumerate(names):
        assert cli("run", small, "--set", f"name={name}", "-q").returncode == 0
        for manifest in Path(small.parent, "results", f"{name}-1").glob("*/manifest.json"):
            os.utime(manifest, (1000 + i, 1000 + i))


def test_show_plot_and_report_take_what_was_run_last(cli: Any, small: Path) -> None:
    _runs(cli, small, "zebra", "ant")
    cli("plot", "vary", "results/zebra-1")  # a picture does not make older results the latest
    said = "dumbbell: results/ant-1, the latest results here\n"
    shown = cli("show")
    assert (shown.returncode, shown.stderr) == (0, said)
    assert shown.stdout == cli("show", "results/ant-1").stdout
    for command, path in ((["plot", "vary"], "vary.png"), (["report"], "report.html")):
        done = cli(*command)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"results/ant-1/{path}\n", said)
    assert cli("run", small, "--set", "name=ant", "--out", "results/ant-1", "--force", "-q").returncode == 0, "ours"


def test_without_results_the_command_that_makes_some_is_named(cli: Any) -> None:
    done = cli("show")
    assert (done.returncode, done.stderr) == (
        1, "dumbbell: DIR: not given, and there are no results in ./results; `dumbbell run FILE` makes some\n",
    )  # fmt: skip


def test_a_folder_without_results_names_those_below(cli: Any, small: Path) -> None:
    _runs(cli, small, "zebra", "ant")
    for command in (["show", "."], ["report", ".", "-o", "x.html"]):
        done = cli(*command)
        assert (done.returncode, done.stderr) == (
            1, "dumbbell: .: holds no results; those below it: results/ant-1, results/zebra-1\n",
        )  # fmt: skip


def test_open_says_where_the_file_is_without_a_display(cli: Any, small: Path) -> None:
    _runs(cli, small, "ant")
    plain = {name: text for name, text in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")}
    done = cli("report", "--open", env=plain)
    assert done.stderr.endswith(
        "there is no display (DISPLAY and BROWSER are not set); the file is results/ant-1/report.html\n"
    )
    opener = small.parent / "opener"
    opener.write_text('#!/bin/sh\necho "$1" > opened\n')
    opener.chmod(0o755)
    assert cli("plot", "vary", "--open", env={**plain, "BROWSER": str(opener)}).returncode == 0
    assert (small.parent / "opened").read_text().endswith("/results/ant-1/vary.png\n")
