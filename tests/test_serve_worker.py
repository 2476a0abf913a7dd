"""The process that waits for the next job of the live page: it is there before the job, and gone with the server."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from serving import SCENARIO, Server, serving, wait_for


def workers(server: Server) -> list[int]:
    """Processes of the server that run jobs, or wait for one."""
    children = Path(f"/proc/{server.process.pid}/task").glob("*/children")
    pids = [int(pid) for one in children for pid in one.read_text().split()]
    return [pid for pid in pids if b"dumbbell.serve.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def is_dead(process: int) -> bool:
    """Whether it has ended, and only waits for its parent to ask how: on a busy machine that takes a while after the signal."""
    state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    return state == "Z"


def test_a_process_waits_for_the_next_job(tmp_path: Path) -> None:
    with serving(tmp_path / "out") as server:
        wait_for(lambda: len(workers(server)) == 1)
        (first,) = workers(server)
        server.run(SCENARIO)
        wait_for(lambda: len(workers(server)) == 1 and workers(server) != [first])


def test_a_process_that_died_while_it_waited_is_replaced(tmp_path: Path) -> None:
    with serving(tmp_path / "out") as server:
        wait_for(lambda: len(workers(server)) == 1)
        (waiting,) = workers(server)
        os.kill(waiting, signal.SIGKILL)
        wait_for(lambda: is_dead(waiting))
        assert [one["done"] for one in server.run(SCENARIO) if "done" in one] == ["two"]


def test_it_ends_with_a_server_that_ends_and_with_one_that_is_killed(tmp_path: Path) -> None:
    for how in (signal.SIGTERM, signal.SIGKILL):
        with serving(tmp_path / "out") as server:
            wait_for(lambda: len(workers(server)) == 1)
            (waiting,) = workers(server)
            server.process.send_signal(how)
            server.process.wait()
        wait_for(lambda: not Path(f"/proc/{waiting}").exists())  # noqa: B023
