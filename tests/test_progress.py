"""The progress line: what is done, how fast, and how long it still takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import SMALL
from dumbbell import from_text, sweep
from dumbbell.cli.progress import Progress
from dumbbell.scenario import Given


@pytest.fixture
def jobs() -> list[sweep.Job]:
    return sweep.jobs_of([Given(from_text(SMALL), SMALL)], Path())


def test_it_tells_runs_simulated_time_packets_per_second_and_time_left(jobs: list[sweep.Job]) -> None:
    progress = Progress(jobs)
    assert progress.text(0.0) == "0/2 runs  simulated 0.0 of 4 s  0.00 M packets/s  ..."
    progress.observe(jobs[0], 2 * 10**9, 3_000_000)
    progress.observe(jobs[1], 10**9, 1_000_000)
    assert progress.text(2.0) == "1/2 runs  simulated 3.0 of 4 s  2.00 M packets/s  1 s left"


def test_a_single_run_has_no_count_of_runs(jobs: list[sweep.Job]) -> None:
    assert Progress(jobs[:1]).text(1.0) == "simulated 0.0 of 2 s  0.00 M packets/s  ..."


def test_every_run_reports_its_end(tmp_path: Path, jobs: list[sweep.Job]) -> None:
    progress = Progress(jobs)
    placed = [job._replace(folder=tmp_path / job.folder) for job in jobs]
    assert all(outcome.error is None for outcome in sweep.execute(placed, workers=2, observe=progress.observe))
    assert progress.text(1.0).startswith("2/2 runs  simulated 4.0 of 4 s")


def test_the_line_is_wiped_before_anything_else_is_printed(jobs: list[sweep.Job], capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(jobs)
    progress._drawn = 0.0
    progress.observe(jobs[0], 10**9, 10)
    drawn = capsys.readouterr().err
    assert drawn.startswith("\r0/2 runs")
    progress.clear()
    progress.clear()
    assert capsys.readouterr().err == "\r" + " " * (len(drawn) - 1) + "\r"
