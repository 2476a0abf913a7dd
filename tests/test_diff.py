"""`dumbbell show --diff`: what changed between two folders, with Welch's interval, and whose figures a row has."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import dumbbell
from conftest import SWEEP
from dumbbell.results.statistic import difference_interval, mean_interval


def test_the_difference_of_two_folders_has_welchs_interval(show: Any, sweep: Path, tmp_path: Path) -> None:
    dumbbell.run(
        dumbbell.from_text(SWEEP.replace('transport = "quic"', 'transport = "quic", start = "500ms"')),
        tmp_path / "after",
    )
    lines = [
        json.loads(line)
        for line in show("--diff", sweep, tmp_path / "after", "--json", "--columns", "goodput,utilization").splitlines()
    ]
    assert [(line["vary"]["path.buffer"], line["name"], line["figure"]) for line in lines[:3]] == [
        ("1bdp", "cubic", "goodput_mbps"),
        ("1bdp", "mine", "goodput_mbps"),
        ("1bdp", "run", "utilization"),
    ]
    sides = []
    for folder in (sweep, tmp_path / "after"):
        rows = [pq.read_table(folder / f"sweep_buffer=1bdp_r{i}" / "flows.parquet").to_pylist()[0] for i in range(3)]
        sides.append([row["goodput_bytes"] * 8 / (row["stop_us"] - row["start_us"]) for row in rows])
    assert lines[0]["change"] == pytest.approx(statistics.fmean(sides[1]) - statistics.fmean(sides[0]))
    assert lines[0]["half_width"] == pytest.approx(difference_interval(*sides).half_width)
    assert "change ± 95 % interval" in show("--diff", sweep, tmp_path / "after")


def test_welchs_interval_of_a_worked_example() -> None:
    # Variances 20/3 and 5/3 of four each: standard error sqrt(25/12); 4.4 degrees of freedom, rounded down to 4: t =
    # 2.776.
    mean, half, n = difference_interval([10.0, 12.0, 14.0, 16.0], [15.0, 16.0, 17.0, 18.0])
    assert (mean, n) == (3.5, 4)
    assert half == pytest.approx(2.7764 * (25 / 12) ** 0.5, rel=1e-4)
    assert mean_interval([2.0, 2.0]).half_width == 0


def test_a_flow_that_has_another_name_after_the_change_is_called_by_both(show: Any, tmp_path: Path) -> None:
    text = """
    name = "NAME"
    duration = "2s"
    path = { rate = "10Mbps", rtt = "20ms", buffer = "1bdp" }
    flow = [{ cca = "CCA" }, { cca = "bbr" }]
    """
    for name, cca in (("old", "cubic"), ("new", "reno")):
        dumbbell.run(dumbbell.from_text(text.replace("NAME", name).replace("CCA", cca)), tmp_path / name)
    both = (tmp_path / "old", tmp_path / "new", "--columns", "goodput")
    lines = [json.loads(line) for line in show("--diff", *both, "--json").splitlines()]
    assert [(line["scenario"], line["name"]) for line in lines] == [("new", "cubic -> reno"), ("new", "bbr")]
    assert "cubic -> reno" in show("--diff", *both)
