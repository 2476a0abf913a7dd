"""Figures of the FABRIC poster, held against the tables."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest

import dumbbell
from dumbbell.suites.gomez_fabric import readings

TEXT = """
duration = "4s"
measure = { from = "2s" }
record = { every = "20ms", samples = false, events = false }
path = { rate = "50Mbps", rtt = "20ms", buffer = "4bdp" }
flow = [{ cca = "bbr2" }]
"""


def test_the_queue_is_that_of_the_measured_part_in_bdp(tmp_path: Path) -> None:
    (run,) = dumbbell.run(dumbbell.from_text(TEXT), tmp_path)
    rows = [row for row in run.queue.to_pylist() if row["link"] == 0]
    late = fmean(row["backlog_bytes"] for row in rows if row["t_us"] >= 2_000_000)
    whole = fmean(row["backlog_bytes"] for row in rows)
    found = readings.queue_occupancy(run, None)
    assert found == pytest.approx(late / (50e6 / 8 * 0.02), rel=0.02)
    assert whole > 2 * late, "STARTUP fills the queue, and is no part of it"
