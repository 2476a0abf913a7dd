"""Many runs on several processes: what they write, what is said of them, and that none of them stays."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import SMALL
from dumbbell import ScenarioError, from_text
from dumbbell.errors import ControllerError, DiskFullError, DumbbellError, EngineError, together
from dumbbell.runs.job import Job, Outcome
from dumbbell.runs.jobs import jobs_of
from dumbbell.runs.workers import Workers
from dumbbell.scenario.file import Given

#: Many short runs, and as many that take hours.
MANY = SMALL.replace('"2s"', '"200ms"').replace("[path]", "repetitions = 20\n[path]", 1)
LONG = MANY.replace('"200ms"', '"86400s"') + '\n[record]\nevery = "1s"\n'


def jobs(count: int) -> list[Job]:
    one = jobs_of([Given(from_text(SMALL), SMALL)], Path("out"))[0]
    return [one._replace(number=number) for number in range(count)]


def outcomes(count: int, one: Callable[[Job, Any], Outcome], observe: Any = None) -> list[Outcome]:
    workers = Workers(jobs(count), 3, one)
    try:
        return list(workers.outcomes(observe))
    finally:
        workers.end()
        with pytest.raises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)


def made(job: Job, _: Any) -> Outcome:
    return Outcome(job, {"number": job.number}, None, packets=7)


def test_outcomes_come_in_order_also_of_more_jobs_than_a_pipe_holds():
    found = outcomes(20_000, made)
    assert [outcome.manifest["number"] for outcome in found if outcome.manifest] == list(range(20_000))
    assert found[5].manifest == made(found[5].job, None).manifest


def test_how_far_runs_are_is_told_and_their_end():
    told = []

    def slow(job: Job, tell: Any) -> Outcome:
        time.sleep(0.1)
        tell(5, job.number)
        return made(job, None)

    outcomes(3, slow, lambda job, sim_ns, packets: told.append((job.number, sim_ns, packets)))
    for number in range(3):
        assert [news[1:] for news in told if news[0] == number] == [(5, number), (2 * 10**9, 7)]


def test_nothing_is_started_after_a_full_disk():
    def full(job: Job, _: Any) -> Outcome:
        return Outcome(job, None, DiskFullError("full")) if job.number == 3 else made(job, None)

    workers = Workers(jobs(50_000), 2, full)
    found = []
    for outcome in workers.outcomes(None):
        found.append(outcome)
        if outcome.error:
            break
    assert [str(outcome.error) for outcome in found] == ["None"] * 3 + ["full"]
    assert os.read(workers._take, 4) == b""
    workers.end()


def test_a_worker_that_is_killed_fails_its_run_and_no_other():
    def killed(job: Job, _: Any) -> Outcome:
        if job.number in (4, 8):
            os.kill(os.getpid(), signal.SIGKILL)
        return made(job, None)

    found = outcomes(30, killed)
    failed = {outcome.job.number: str(outcome.error) for outcome in found if outcome.error}
    assert set(failed) == {4, 8}
    assert "its process was killed by signal 9, as the system does when memory runs out" in failed[4]


def test_a_process_that_ends_is_replaced_so_that_every_run_is_tried():
    found = outcomes(6, lambda *_: os._exit(3))
    assert all(isinstance(outcome.error, EngineError) for outcome in found)
    assert {str(outcome.error).partition(": ")[2] for outcome in found} == {"its process ended"}


@pytest.mark.parametrize(
    "error",
    [
        EngineError("x"),
        ScenarioError("a.b", "wrong", source="file", line=3),
        together([ScenarioError("a", "wrong", line=1), ScenarioError("b", "worse", line=2)]),
        ControllerError("run", "crashed"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_come_whole_from_another_process(error: DumbbellError):
    found = pickle.loads(pickle.dumps(error))
    assert (type(found), str(found), found.args) == (type(error), str(error), error.args)
    assert found.__dict__.keys() == error.__dict__.keys()
    if isinstance(error, ScenarioError):
        assert [(one.key, one.line) for one in found.errors] == [(one.key, one.line) for one in error.errors]


def test_results_are_those_of_one_worker(cli: Any, small: Path):
    small.write_text(MANY)
    for count in ("1", "2", "3"):
        assert cli("run", small, "--out", count, "-q", "--jobs", count).returncode == 0
    folder = small.parent
    files = sorted(path.relative_to(folder / "1") for path in (folder / "1").rglob("*.parquet"))
    assert len(files) == 40 * 5
    for count in ("2", "3"):
        assert files == sorted(path.relative_to(folder / count) for path in (folder / count).rglob("*.parquet"))
        assert all((folder / "1" / name).read_bytes() == (folder / count / name).read_bytes() for name in files)
        assert (folder / "1" / "sweep.json").read_text() == (folder / count / "sweep.json").read_text()


@pytest.fixture
def running(small: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A sweep of long runs on two processes, which are under way."""
    small.write_text(LONG)
    terminal = {signal.SIGHUP: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    command = [sys.executable, "-m", "dumbbell", "run", small.name, "--out", "out", "-q", "--jobs", "2"]
    before = {number: signal.signal(number, handler) for number, handler in terminal.items()}
    process = subprocess.Popen(command, cwd=small.parent, stderr=subprocess.PIPE, start_new_session=True)
    for number, handler in before.items():
        signal.signal(number, handler)
    until = time.monotonic() + 20
    while len(list(small.parent.glob("out/.tmp-*/samples.parquet"))) < 2:
        assert time.monotonic() < until
        time.sleep(0.01)
    yield process
    process.kill()
    process.wait()
    assert process.stderr
    process.stderr.close()


def group(process: subprocess.Popen[bytes]) -> list[str]:
    """The processes of a session, zombies included."""
    done = subprocess.run(["ps", "-s", str(process.pid), "-o", "pid="], capture_output=True, text=True, check=False)
    return done.stdout.split()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
@pytest.mark.parametrize("is_for_all", [True, False])
def test_a_signal_ends_all_processes_and_leaves_nothing(
    running: subprocess.Popen[bytes], small: Path, number: int, status: int, *, is_for_all: bool
):
    assert len(group(running)) == 3
    if is_for_all:
        os.killpg(running.pid, number)  # as a terminal does
    else:
        running.send_signal(number)
    _, err = running.communicate(timeout=20)
    assert running.returncode == status
    assert err == b"dumbbell: interrupted; 0 of 40 runs are finished in out, --resume runs the rest\n"
    assert group(running) == []
    assert not (small.parent / "out").exists()


def test_processes_end_with_a_parent_that_is_killed(running: subprocess.Popen[bytes], cli: Any, small: Path):
    running.kill()
    running.wait()
    until = time.monotonic() + 5
    while group(running):
        assert time.monotonic() < until
        time.sleep(0.01)
    small.write_text(MANY)
    assert cli("run", small, "--out", "out", "-q", "--resume", "--jobs", "2").returncode == 0
    assert not list((small.parent / "out").glob(".tmp-*"))
