"""The server of the live page: the same results as the command line, and nothing for who should not have it."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from conftest import Cli
from dumbbell import ScenarioError, plan
from dumbbell.scenario.file import from_dict
from dumbbell.scenario.toml_text import to_toml
from dumbbell.serve.check import Desk
from dumbbell.serve.limits import Limits
from serving import LONG, SCENARIO, Server, serving, wait_for

TABLES = ("samples", "queue", "events", "flows", "messages")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("serve") / "out") as made:
        yield made


def folders(out: Path) -> list[str]:
    return sorted(path.name for path in out.iterdir())


def test_a_run_has_the_bytes_of_the_command_line(server: Server, tmp_path: Path, cli: Cli) -> None:
    news = server.run(SCENARIO)
    assert [one["done"] for one in news if "done" in one] == ["two"]
    job = news[0]["begin"]["job"]
    (tmp_path / "two.toml").write_text(to_toml(dumbbell.from_dict(SCENARIO)))
    assert cli("run", "two.toml", "--out", "here", "--quiet").returncode == 0
    for name in TABLES:
        here = (tmp_path / "here" / "two" / f"{name}.parquet").read_bytes()
        assert (server.out / job / "two" / f"{name}.parquet").read_bytes() == here


def test_points_that_stream_are_those_of_the_tables(server: Server) -> None:
    news = server.run(SCENARIO)
    result = dumbbell.load(server.out / news[0]["begin"]["job"])[0]
    rows = result.samples.to_pylist()
    points = [row for one in news for row in one.get("points", {}).get("samples", [])]
    wanted = {(row["t_us"] / 1e6, row["flow"]): row for row in rows}
    assert len(points) == len(rows)
    for t, flow, _, _, cwnd, in_flight, rtt_ms, state in points:
        row = wanted[t, flow]
        assert (cwnd, in_flight, state) == (row["cwnd"], row["in_flight"], row["cca_state"])
        assert rtt_ms == (None if row["rtt_us"] is None else row["rtt_us"] / 1000)
    # Rates are differences of counters: over the run they add up to what was delivered.
    bits = sum(rate * 0.1 for t, flow, rate, *_ in points if flow == 0) * 1e6
    assert bits == pytest.approx(max(row["goodput_bytes"] for row in rows if row["flow"] == 0) * 8, rel=0.01)
    queue = [row for one in news for row in one.get("points", {}).get("queue", [])]
    assert sum(row[2] for row in queue) == result.queue.to_pylist()[-1]["dropped_packets"]


def test_throughput_that_streams_is_what_was_sent_whatever_packets_carry(server: Server) -> None:
    paced = {"cca": "cubic", "workload": {"kind": "paced", "rate": "1Mbps", "message": "100B"}}
    flows = [{"cca": "cubic"}, {"cca": "cubic", "transport": "quic"}, {"cca": "cubic", "transport": "quinn"}, paced]
    news = server.run({**SCENARIO, "flow": flows})
    sent = dumbbell.load(server.out / news[0]["begin"]["job"])[0].flows["bytes_sent"].to_pylist()
    points = [row for one in news for row in one.get("points", {}).get("samples", [])]
    for flow, wanted in enumerate(sent):
        bits = sum(throughput * 0.1 for _, of, _, throughput, *_ in points if of == flow) * 1e6
        assert bits == pytest.approx(wanted * 8, rel=1e-3), flow


def test_a_run_that_streams_is_held_against_the_bdp_of_the_report(server: Server) -> None:
    news = server.run({**SCENARIO, "flow": [{"cca": "cubic"}, {"cca": "bbr", "rtt": "50ms"}]})
    begin = news[0]["begin"]
    report = server.json(f"/api/document?run={begin['job']}")["series"]["runs"][0]
    assert begin["runs"][0]["bdp"] == report["charts"]["inflight"]["bdp"]
    assert [label for label, _ in begin["runs"][0]["bdp"]] == ["BDP at 20 ms", "BDP at 50 ms"]


def test_a_message_names_the_key_as_the_command_line_does(server: Server) -> None:
    wrong = {**SCENARIO, "path": {"rate": "40", "rtt": "20"}}
    with pytest.raises(dumbbell.ScenarioError) as refused:
        dumbbell.from_dict(wrong)
    errors = server.json("/api/check", {"tables": wrong})["errors"]
    assert [(one["key"], one["text"]) for one in errors] == [(one.key, one.problem) for one in refused.value.errors]
    assert [one["key"] for one in errors] == ["path.rate", "path.rtt"]
    status, _, body = server.ask("/api/start", {"tables": wrong})
    assert status == 422
    assert json.loads(body)["errors"][0]["key"] == "path.rate"


def test_a_text_that_is_imported_comes_back_as_tables(server: Server) -> None:
    text = server.json("/api/gallery?name=pair-cubic-bbr")["toml"]
    found = server.json("/api/check", {"toml": text})
    assert found["errors"] == []
    assert found["tables"]["flow"][1] == {"cca": "bbr", "start": "137ms"}
    assert server.json("/api/check", {"toml": "rate = ["})["errors"][0]["text"].startswith("not TOML")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"X-Token": ""}, 403),
        ({"X-Token": "wrong"}, 403),
        ({"X-Token": "é"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:{port}"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/runs", "/report?run=two-1"])
def test_who_is_not_the_page_gets_nothing(server: Server, path: str, headers: dict[str, str], status: int) -> None:
    made = {name: value.format(port=server.port) for name, value in headers.items()}
    found, answered, body = server.ask(path, headers=made)
    assert found == status
    assert server.token.encode() not in body
    assert not [name for name in answered if name.startswith("Access-Control")]


def test_the_token_in_the_address_reads_but_starts_nothing(server: Server) -> None:
    assert server.ask(f"/?token={server.token}", headers={"X-Token": ""})[0] == 200
    posted = {"tables": SCENARIO}
    assert server.ask(f"/api/start?token={server.token}", posted, headers={"X-Token": ""})[0] == 403


def test_the_page_may_talk_to_its_own_server_only(server: Server) -> None:
    _, headers, _ = server.ask("/")
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy
    assert "connect-src 'self'" in policy
    assert "unsafe-eval" not in policy
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"


def test_only_get_and_post_are_known(server: Server) -> None:
    for method in ("OPTIONS", "PUT", "DELETE", "TRACE"):
        with socket.create_connection(("127.0.0.1", server.port)) as link:
            link.sendall(f"{method} /api/start HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
            answer = link.recv(4096).decode()
        assert answer.startswith("HTTP/1.1 501")
        assert "Access-Control" not in answer


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"Content-Length": "99999999"}, b"{}", 413),
        ({"Content-Length": "9" * 5000}, b"{}", 413),
        ({"Content-Length": "-1"}, b"{}", 411),
        ({"Content-Length": "2", "Transfer-Encoding": "chunked"}, b"{}", 411),
        ({"Content-Type": "text/plain"}, b"{}", 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, b"tables=1", 415),
        ({}, b"[1]", 400),
        ({}, b"{", 400),
        ({}, b"[" * 100_000, 400),
        ({}, b"\xff\xfe", 400),
    ],
)
def test_a_body_that_is_none_of_the_page_is_refused(
    server: Server, headers: dict[str, str], body: bytes, status: int
) -> None:
    before = folders(server.out)
    made = {"Content-Type": "application/json", **headers}
    assert server.ask("/api/start", headers=made, body=body)[0] == status
    assert folders(server.out) == before


NAMES = ["..", "../..", "two-1/two", "/etc", "%2e%2e", "..%2f..%2fetc", ".dumbbell-lock", "two-1%00", "", "-1", "link"]


@pytest.mark.parametrize("name", NAMES)
def test_no_name_of_a_run_leads_out_of_the_folder(server: Server, name: str) -> None:
    link = server.out / "link"
    if not link.is_symlink():
        link.symlink_to("/")
    status, _, body = server.ask(f"/api/document?run={name}")
    assert status == 422
    assert b"wanted" in body
    assert server.ask(f"/report?run={name}")[0] == 422


def test_a_link_within_a_run_is_not_followed(server: Server, tmp_path: Path) -> None:
    job = server.run(SCENARIO)[0]["begin"]["job"]
    (tmp_path / "secret").write_text("secret")
    (server.out / job / "two" / "more").symlink_to(tmp_path / "secret")
    status, _, body = server.ask(f"/api/document?run={job}")
    assert status == 422
    assert b"link" in body
    (server.out / job / "two" / "more").unlink()
    assert server.ask(f"/api/document?run={job}")[0] == 200


@pytest.mark.parametrize("path", ["/../etc/passwd", "/page.js", "/api/", "/api/start", "/%2e%2e/etc/passwd"])
def test_there_are_no_other_pages(server: Server, path: str) -> None:
    assert server.ask(path)[0] == 404


def test_files_outside_are_not_read(server: Server, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.write_text("1\n2\n3\n")
    (server.out / "inside").write_text("1\n2\n3\n")
    leads_out = server.out / "leads-out"
    leads_out.symlink_to(trace)

    def errors(file: str) -> list[dict[str, Any]]:
        tables = {**SCENARIO, "path": {**SCENARIO["path"], "rate": {"trace": file}}}  # type: ignore[dict-item]
        found: list[dict[str, Any]] = server.json("/api/check", {"tables": tables})["errors"]
        return found

    assert errors("inside") == []
    for file in (str(trace), "../../" + str(trace), "/etc/passwd", "leads-out", "/proc/self/environ"):
        (error,) = errors(file)
        assert "outside of the folders" in error["text"]
        assert "root:" not in error["text"]


@pytest.mark.parametrize("cca", ["/x.c", "x.c", "./x.py", "../x"])
def test_a_controller_is_no_file(server: Server, cca: str) -> None:
    (server.out / "x.c").write_text("int x;")
    tables = {**SCENARIO, "flow": [{"cca": cca}]}
    (error,) = server.json("/api/check", {"tables": tables})["errors"]
    assert error["key"] == "flow[0].cca"
    assert server.ask("/api/start", {"tables": tables, "cca": ["x.c"], "own": ["x.c"]})[0] == 422


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ({"duration": "100000s", "path": {"rate": "100Gbps", "rtt": "1ms"}, "record": {"every": "10s"}}, "duration"),
        ({"repetitions": 201}, ""),
        ({"seed": list(range(201))}, ""),
        ({"flow": [{"cca": "cubic", "count": 40_000}], "seed": [1, 2, 3, 4, 5, 6]}, "flow"),
        ({"repetitions": 200, "duration": "10s", "flow": [{"cca": "cubic", "arrivals": {"rate": "4000/s", "sizes": "1kB"}}]}, "flow"),
        ({"record": {"every": "1us"}, "limits": {"samples": 10**12}, "flow": [{"cca": "cubic", "count": 1000}]}, "record.every"),
        ({"record": {"pcap": True}}, "record.pcap"),
        ({"record": {"qlog": True}}, "record.qlog"),
        ({"name": "../../x"}, "name"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_over_the_limits_is_refused_before_it_runs(server: Server, changed: dict[str, Any], key: str) -> None:
    before = folders(server.out)
    status, _, body = server.ask("/api/start", {"tables": {**SCENARIO, **changed}})
    (error,) = json.loads(body)["errors"]
    assert (status, error["key"]) == (422, key)
    assert "wanted" in error["text"]
    assert folders(server.out) == before


def test_planning_ends_with_the_run_that_passes_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[int] = []

    def counting(case: Any, known: Any = None, *, seed: int | None = None) -> Any:
        planned.append(1)
        return make(case, known, seed=seed)

    make = plan.plan
    monkeypatch.setattr("dumbbell.plan.make.plan", counting)
    desk = Desk(tmp_path, Limits(packets=20_000))  # a run has 8258 at most
    tables = {**SCENARIO, "repetitions": 100, "host": {"start_jitter": "20ms"}}
    with pytest.raises(ScenarioError, match="got up to 24,774 packets in the first 3 runs"):
        desk.check({"tables": tables})
    assert len(planned) == 3


@pytest.mark.parametrize(("rate", "is_over"), [("1990/s", True), ("1970/s", False)])
def test_flows_that_arrive_at_random_count_with_what_chance_may_add(rate: str, *, is_over: bool) -> None:
    flow = {"cca": "cubic", "start": "2s", "stop": "12s", "arrivals": {"rate": rate, "sizes": "1kB", "until": "10s"}}
    others = {"cca": "bbr", "count": 4_000}
    scenario = from_dict({**SCENARIO, "duration": "20s", "repetitions": 10, "flow": [flow, others]})
    with pytest.raises(ScenarioError, match="got up to") if is_over else nullcontext():
        Limits().check_size(scenario)


def test_limits_are_flags(tmp_path: Path) -> None:
    with serving(tmp_path / "out", "--max-packets", "1000", "--max-runs", "2", "--max-time", "1s") as server:
        assert server.json("/api/known")["limits"]["packets"] == 1000
        (error,) = server.json("/api/check", {"tables": SCENARIO})["errors"]
        assert "--max-packets" in error["text"]


def test_a_run_that_takes_too_long_is_ended_and_leaves_nothing(tmp_path: Path) -> None:
    with serving(tmp_path / "out", "--max-time", "1s", "--max-packets", str(10**12)) as server:
        news = server.run(LONG)
        assert any("--max-time" in one.get("stopped", "") for one in news)
        assert news[-1] == {"end": True}
        assert not any("done" in one for one in news)
        assert folders(server.out) == []


def test_a_cancelled_sweep_keeps_its_finished_runs(server: Server) -> None:
    tables = {**LONG, "name": "part", "duration": ["500ms", "600s"]}
    job = server.json("/api/start", {"tables": tables})["job"]
    # Under a name that begins with a dot a run is not finished yet.
    wait_for(lambda: list((server.out / job).glob("[!.]*/manifest.json")))
    server.json("/api/cancel", {"job": job})
    news = server.news(job)
    assert any(one.get("stopped") == "cancelled" for one in news)
    assert len(dumbbell.load(server.out / job)) == 1
    assert [path.name for path in (server.out / job).iterdir() if path.name.startswith(".tmp")] == []


def test_a_new_run_takes_the_place_of_the_one_before(server: Server) -> None:
    first = server.json("/api/start", {"tables": LONG})["job"]
    second = server.json("/api/start", {"tables": SCENARIO, "instead": first})["job"]
    assert any(one.get("stopped") for one in server.news(first))
    assert any("done" in one for one in server.news(second))


def test_a_second_client_a_closed_tab_and_a_slow_reader_lose_nothing(server: Server) -> None:
    job = server.json("/api/start", {"tables": {**SCENARIO, "name": "shared", "duration": "60s"}})["job"]
    request = f"GET /api/stream?job={job} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-Token: {server.token}\r\n\r\n"
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        slow.connect(("127.0.0.1", server.port))
        slow.sendall(request.encode())  # and it reads nothing
        with socket.create_connection(("127.0.0.1", server.port)) as closed:
            closed.sendall(request.encode())
            closed.recv(100)
        news = server.news(job)
    assert [one["done"] for one in news if "done" in one] == ["shared"]
    again = [one for one in server.news(job) if "progress" not in one]
    assert again == [one for one in news if "progress" not in one]
    assert len(dumbbell.load(server.out / job)) == 1


def test_more_connections_than_allowed_are_closed_and_others_still_answered(tmp_path: Path) -> None:
    with serving(tmp_path / "out") as server:
        idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(60)]
        idle[-1].settimeout(5)
        assert idle[-1].recv(1) == b""
        for one in idle:
            one.close()
        wait_for(lambda: answers(server))


def answers(server: Server) -> bool:
    try:
        return server.ask("/api/runs")[0] == 200
    except OSError:
        return False


def test_a_killed_server_loses_no_finished_run_and_its_workers_end(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with serving(out) as server:
        server.run(SCENARIO)
        job = server.json("/api/start", {"tables": {**LONG, "duration": ["500ms", "600s"]}})["job"]
        wait_for(lambda: list((out / job).glob("[!.]*/manifest.json")) and list((out / job).glob(".tmp-*")))
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()
    # The worker clears up what is not whole when it finds that nobody reads.
    wait_for(lambda: not list((out / job).glob(".tmp-*")))
    with serving(out) as server:
        assert {one["id"] for one in server.json("/api/runs")["runs"]} == {"two-1", job}
        assert server.json(f"/api/document?run=two-1&run={job}")["verdict"]
    assert len(dumbbell.load(out / job)) == 1


def test_it_ends_by_a_signal_and_leaves_nothing_half_done(tmp_path: Path) -> None:
    with serving(tmp_path / "out") as server:
        job = server.json("/api/start", {"tables": LONG})["job"]
        wait_for(lambda: list((server.out / job).glob(".tmp-*")))
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(10) == 0
    assert folders(server.out) == []


def test_the_report_of_runs_is_that_of_the_command_line(server: Server, cli: Cli, tmp_path: Path) -> None:
    jobs = [server.run({**SCENARIO, "seed": seed})[0]["begin"]["job"] for seed in (1, 2)]
    query = "&".join(f"run={job}" for job in jobs)
    _, headers, body = server.ask(f"/report?{query}&save=1")
    assert headers["Content-Disposition"] == 'attachment; filename="report.html"'
    made = cli("report", *(server.out / job for job in jobs), "-o", server.out / "report.html")
    assert made.returncode == 0
    assert body.decode() == (server.out / "report.html").read_text()
    (server.out / "report.html").unlink()


@pytest.mark.parametrize("name", ["quic-on-lte", "leo-reconfiguration", "5g-mobile"])
def test_a_gallery_scenario_finds_its_trace(server: Server, name: str) -> None:
    text = server.json(f"/api/gallery?name={name}")["toml"]
    assert server.json("/api/check", {"toml": text, "base": name})["errors"] == []
    assert server.ask("/api/gallery?name=../../etc/passwd")[0] == 422


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--port", "65536"], "65535"),
        (["--port", "x"], "65535"),
        (["--max-time", "foo"], '--max-time: got "foo", wanted a time with its unit'),
        (["--max-memory", "2"], '--max-memory: got "2", wanted a size with its unit'),
        (["--max-disk=-5GB"], '--max-disk: got "-5GB", wanted a size with its unit'),
        (["--max-runs", "0"], "whole number"),
    ],
)  # fmt: skip
def test_wrong_options_are_one_line(cli: Cli, options: list[str], said: str) -> None:
    made = cli("serve", *options)
    assert made.returncode == 2
    assert said in made.stderr
    assert len(made.stderr.splitlines()) == 1


def test_a_port_that_is_taken_is_said(cli: Cli, server: Server) -> None:
    made = cli("serve", "--port", str(server.port))
    assert made.returncode == 2
    assert str(server.port) in made.stderr


@pytest.mark.parametrize("module", ["json", "numpy", "msgspec"])
def test_no_module_of_the_current_folder_is_executed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    (tmp_path / f"{module}.py").write_text("open('executed', 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    with serving(tmp_path / "out") as server:
        assert server.run(SCENARIO)[-1] == {"end": True}
    assert not (tmp_path / "executed").exists()
