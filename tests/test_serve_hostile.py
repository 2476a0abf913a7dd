"""The server of the live page under requests that are slow, dear or wrong: it goes on answering who has the token."""

from __future__ import annotations

import json
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from dumbbell import ScenarioError
from dumbbell.serve import prune
from dumbbell.serve.check import Desk
from dumbbell.serve.checker import Checkers
from dumbbell.serve.connections import Connections
from dumbbell.serve.limits import CONNECTIONS_MAX, Limits
from serving import LONG, SCENARIO, serving, wait_for

#: What takes many times longer to check than the second that a test allows: an hour of each of many generated links.
_LINKS = 900
DEAR = {
    **SCENARIO,
    "duration": "3600s",
    "record": {"every": "1s"},
    "link": [
        {"name": f"l{i}", "rate": {"lte": "mobile", "mean": f"{1000 + i}kbps"}, "buffer": "100kB"}
        for i in range(_LINKS)
    ],
    "flow": [{"cca": "reno", "via": [f"l{i}"]} for i in range(_LINKS)],
}


# --- connections ----------------------------------------------------------------------------------


def test_slow_connections_without_a_token_lock_nobody_out(tmp_path: Path) -> None:
    with serving(tmp_path / "out") as server:
        slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(2 * CONNECTIONS_MAX)]
        for one in slow:
            one.sendall(b"GET / HTTP/1.1\r\nX: ")
        for _ in range(3):
            for one in slow:
                try:
                    one.sendall(b"a")
                except OSError:  # it gave way
                    continue
            assert server.ask("/api/known")[0] == 200
        for one in slow:
            one.close()


def test_a_request_that_does_not_come_in_time_is_closed_however_many_bytes_of_it_come() -> None:
    places = Connections(2, 0.05, more=0)
    (ours, theirs), (asked, asks) = socket.socketpair(), socket.socketpair()
    assert places.take(ours)
    assert places.take(asked)
    places.answer(asked)
    time.sleep(0.06)
    places.close_late()
    assert theirs.recv(1) == b""
    asks.setblocking(False)
    with pytest.raises(BlockingIOError):  # its request has come: it is answered as long as that takes
        asks.recv(1)
    for one in (ours, theirs, asked, asks):
        one.close()


def test_a_body_that_does_not_come_in_time_is_closed_too_but_gives_way_to_nobody() -> None:
    places = Connections(1, 0.05, more=0)
    (ours, theirs), (other, _) = socket.socketpair(), socket.socketpair()
    assert places.take(ours)
    places.wait_for_body(ours)
    assert not places.take(other)
    time.sleep(0.06)
    places.close_late()
    assert theirs.recv(1) == b""
    for one in (ours, theirs, other, _):
        one.close()


def test_beyond_the_places_are_a_few_for_those_who_are_quick_of_whom_the_oldest_gives_way() -> None:
    places = Connections(1, 60.0, more=1, haste_s=0.05)
    pairs = [socket.socketpair() for _ in range(3)]
    (first, at_first), (second, at_second), (third, at_third) = pairs
    assert places.take(first)
    assert places.take(second)
    threading.Timer(0.1, lambda: places.leave(second)).start()  # as its thread does, when it is closed
    assert places.take(third)
    assert at_second.recv(1) == b""
    time.sleep(0.06)
    places.close_late()
    assert at_third.recv(1) == b""
    at_first.setblocking(False)
    with pytest.raises(BlockingIOError):
        at_first.recv(1)
    for one in (one for pair in pairs for one in pair):
        one.close()


# --- checks ---------------------------------------------------------------------------------------


def test_a_check_that_takes_too_long_is_ended_and_the_next_one_is_answered(tmp_path: Path) -> None:
    checkers = Checkers(Desk(tmp_path, Limits()), time_s=1.0)
    try:
        began = time.monotonic()
        told = checkers.answer({"tables": DEAR})
        assert time.monotonic() - began < 10
        assert [one["text"] for one in told["errors"]] == [
            "checking this takes longer than 1 s: wanted fewer flows, runs or generated links"
        ]
        with pytest.raises(ScenarioError, match="takes longer than 1 s"):
            checkers.outline({"tables": DEAR})
        assert checkers.answer({"tables": SCENARIO})["errors"] == []
    finally:
        checkers.end()


def test_what_a_check_finds_wrong_comes_with_its_key_and_line(tmp_path: Path) -> None:
    checkers = Checkers(Desk(tmp_path, Limits()))
    try:
        told = checkers.answer(
            {"toml": 'duration = "2s"\n[path]\nrate = "fast"\nrtt = "1ms"\nbuffer = "1bdp"\n[[flow]]\ncca = "reno"\n'}
        )
        assert [(one["key"], one["line"]) for one in told["errors"]][:1] == [("path.rate", 3)]
        with pytest.raises(ScenarioError) as caught:
            checkers.outline({"tables": {**SCENARIO, "nonsense": 1}})
        assert caught.value.key == "nonsense"
    finally:
        checkers.end()


def test_the_page_is_answered_while_dear_scenarios_are_checked(tmp_path: Path) -> None:
    with serving(tmp_path / "out") as server:
        head = f"Host: 127.0.0.1:{server.port}\r\nX-Token: {server.token}\r\nContent-Type: application/json\r\n"
        body = json.dumps({"tables": DEAR})
        dear = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(3)]
        for one in dear:
            one.sendall(f"POST /api/check HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        time.sleep(0.5)
        began = time.monotonic()
        assert server.ask("/api/known")[0] == 200
        assert time.monotonic() - began < 5
        for one in dear:
            one.close()


# --- wrong requests -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x" * 5000, "a/" * 2000, "a%00b"])
def test_a_name_that_the_system_refuses_is_answered(tmp_path: Path, name: str) -> None:
    with serving(tmp_path / "out") as server:
        for path in ("document", "growing", "stream", "recording"):
            field = {"document": "run", "recording": "path"}.get(path, "job")
            status, _, body = server.ask(f"/api/{path}?{field}={name}")
            assert 400 <= status < 500, (path, status)
            assert body
        assert 400 <= server.ask(f"/report?run={name}")[0] < 500


@pytest.mark.parametrize("option", [["--max-time", "0s"], ["--max-memory", "0B"]])
def test_limits_that_let_nothing_run_are_refused(tmp_path: Path, cli: Cli, option: list[str]) -> None:
    done = cli("serve", "--out", tmp_path / "out", *option)
    assert done.returncode == 2
    assert done.stderr.startswith(f'dumbbell: {option[0]}: got "{option[1]}", wanted ')
    assert not (tmp_path / "out").exists()


# --- folders of jobs ------------------------------------------------------------------------------


def names(out: Path) -> list[str]:
    return sorted(path.name for path in out.iterdir())


def test_folders_of_a_killed_servers_jobs_are_cleared_or_counted(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with serving(out) as server:
        server.run(SCENARIO)
        job = server.json("/api/start", {"tables": LONG})["job"]
        wait_for((out / job / prune.MADE).exists)
        server.process.kill()
        server.process.wait()
    assert names(out) == [job, "two-1"]
    wait_for(lambda: not [path.name for path in (out / job).iterdir() if path.name != prune.MADE])  # its worker ended
    with serving(out):
        assert names(out) == ["two-1"]


def test_a_folder_of_a_job_that_goes_on_is_not_pruned_by_another_server(tmp_path: Path) -> None:
    (tmp_path / "live-1").mkdir()
    mark = prune.begin(tmp_path / "live-1")
    assert prune._ended(tmp_path / "live-1", "live-1") is None
    prune.sweep_up(tmp_path)
    assert names(tmp_path) == ["live-1"]
    (tmp_path / "live-1" / "run").mkdir()
    prune.end(tmp_path / "live-1", mark)
    assert prune._ended(tmp_path / "live-1", "live-1") is not None


@pytest.mark.parametrize("how", ["renamed", "copied", "with a file of somebody"])
def test_a_folder_that_somebody_made_their_own_is_not_pruned(tmp_path: Path, how: str) -> None:
    import os
    import shutil

    (tmp_path / "live-1" / "run").mkdir(parents=True)
    prune.end(tmp_path / "live-1", prune.begin(tmp_path / "live-1"))
    kept: Any = tmp_path / "mine"
    if how == "renamed":
        (tmp_path / "live-1").rename(kept)
    elif how == "copied":
        shutil.copytree(tmp_path / "live-1", kept)
    else:
        kept = tmp_path / "live-1"
        (kept / "notes.txt").write_text("precious")
    for folder in tmp_path.iterdir():
        os.utime(folder / prune.MADE, (0, 0))
    prune.prune(tmp_path, prune.Keep(0, 0), set())
    assert kept.exists()


# --- seats ----------------------------------------------------------------------------------------


def test_a_token_opens_its_own_room_and_nothing_of_another(tmp_path: Path) -> None:
    with serving(tmp_path / "out", "--seats", "2", "--seat-time", "7s") as server:
        links = dict(server.process.stdout.readline().strip().split(": ", 1) for _ in range(3))
        assert list(links) == ["seat-1", "seat-2", "watch"]
        one, two, watch = ({"X-Token": link.rpartition("=")[2]} for link in links.values())
        known = json.loads(server.ask("/api/known", headers=one)[2])
        assert (known["room"], known["limits"]["time_s"], known["backends"]) == (
            {"name": "seat-1", "watches": False, "shares": False}, 7.0, ["sim"]
        )  # fmt: skip
        job = json.loads(server.ask("/api/start", {"tables": SCENARIO}, headers=one)[2])["job"]
        server.ask(f"/api/stream?job={job}", headers=one)
        assert (tmp_path / "out" / "seat-1" / job).is_dir()
        for headers in (two, watch, {}):  # the last is the owner's
            assert server.ask(f"/api/document?run={job}", headers=headers)[0] == 422
            assert server.ask(f"/api/stream?job={job}", headers=headers)[0] == 422
        mine = server.run(SCENARIO)[0]["begin"]["job"]
        shared = f"shared:{mine}"
        assert server.ask(f"/api/document?run={shared}", headers=two)[0] == 422
        assert server.ask("/api/share", {"run": mine}, headers=two)[0] == 422  # a seat shares nothing
        assert server.ask("/api/share", {"run": mine})[0] == 200
        assert server.ask(f"/api/document?run={shared}", headers=two)[0] == 200
        assert [run["id"] for run in json.loads(server.ask("/api/runs", headers=two)[2])["runs"]] == [shared]
        assert server.ask(f"/api/document?run={mine}", headers=watch)[0] == 200
        for path, posted in (
            ("start", {"tables": SCENARIO}),
            ("check", {"tables": SCENARIO}),
            ("share", {"run": mine}),
        ):
            assert server.ask(f"/api/{path}", posted, headers=watch)[0] == 403


def test_a_seat_has_few_jobs_at_once(tmp_path: Path) -> None:
    with serving(tmp_path / "out", "--seats", "1") as server:
        token = {"X-Token": server.process.stdout.readline().strip().rpartition("=")[2]}
        statuses = [server.ask("/api/start", {"tables": LONG}, headers=token)[0] for _ in range(4)]
        assert statuses == [200, 200, 200, 422]


def test_every_address_at_once_is_refused_and_the_host_is_that_of_the_option(tmp_path: Path, cli: Cli) -> None:
    done = cli("serve", "--out", tmp_path / "out", "--host", "0.0.0.0")
    assert done.returncode == 2
    assert done.stderr.startswith('dumbbell: --host: got "0.0.0.0", wanted an address or a name of this machine')
    with serving(tmp_path / "out", "--host", "127.0.0.2") as server:
        assert server.url.startswith("http://127.0.0.2:")
        with socket.create_connection(("127.0.0.2", server.port)) as client:
            client.sendall(f"GET /api/known HTTP/1.1\r\nHost: evil.example:{server.port}\r\n\r\n".encode())
            assert b" 421 " in client.recv(100)
