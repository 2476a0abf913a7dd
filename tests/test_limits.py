"""Nothing that a small file asks for runs without end or eats memory without bound; each test has a time far above the
truth.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell import ScenarioError, _native, from_dict, from_text, plan
from dumbbell.cli import main

ONE: dict[str, Any] = {
    "duration": "2s",
    "path": {"rate": "10Mbps", "rtt": "20ms", "buffer": "100pkt"},
    "flow": [{"cca": "cubic"}],
}

TEXT = 'duration = "2s"\npath = {{ rate = {rate}, rtt = "20ms", buffer = "100pkt" }}\n[[flow]]\ncca = "cubic"\n'


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    """No test here takes more than 30 s, whatever it waits for."""

    def late(_signal: int, _frame: object) -> None:
        raise TimeoutError("30 s have passed")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def scenario(**path: Any) -> dict[str, Any]:
    return {**ONE, "path": {**ONE["path"], **path}}


def refused(given: dict[str, Any], folder: Path | None = None) -> str:
    with pytest.raises(ScenarioError) as caught:
        plan.runs(from_dict(given, folder=folder or ""))
    return str(caught.value)


def timed(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


# --- rates that stop


OUTAGES = {
    "in the middle": {"steps": [["0s", "10Mbps"], ["500ms", "0bps"], ["1s", "10Mbps"]]},
    "at the start": {"steps": [["0s", "0bps"], ["500ms", "10Mbps"]]},
    "again and again": {"steps": [["0s", "10Mbps"], ["500ms", "0bps"]], "repeat": True},
}


@pytest.mark.parametrize("qdisc", ["fifo", "codel", "fq_codel", "red", "pie", "cake", "dualpi2", "fq"])
@pytest.mark.parametrize("outage", OUTAGES)
def test_an_outage_that_ends_is_legal_with_any_queue(tmp_path: Path, outage: str, qdisc: str) -> None:
    (run,) = dumbbell.run(scenario(rate=OUTAGES[outage], qdisc=qdisc), tmp_path / "out")
    assert 0 < run.flows["goodput_bytes"][0].as_py() < 1.6 * 10e6 / 8
    # Nothing leaves while the rate is zero: 0.6 to 0.9 s are within each outage but the first.
    queue = run.queue.to_pandas()
    within = queue[(queue.t_us >= 600_000) & (queue.t_us <= 900_000)].sent_bytes.diff().dropna()
    assert (within == 0).all() == (outage != "at the start")


@pytest.mark.parametrize("steps", [[["0s", "10Mbps"], ["500ms", "0bps"]], [["0s", "0bps"]]])
def test_an_outage_without_end_is_an_error_at_its_key(steps: list[list[str]]) -> None:
    assert refused(scenario(rate={"steps": steps})).startswith("path.rate: got ")
    link = {"name": "l1", "rate": {"steps": steps}, "buffer": "9kB"}
    assert refused({**ONE, "link": [link]}).startswith("link[0].rate: got ")


def test_the_engine_refuses_an_outage_without_end_in_a_plan(tmp_path: Path) -> None:
    planned = plan.plan(from_dict(ONE))
    planned["links"][0]["steps"] = [(0, 10_000_000), (500_000_000, 0)]
    with pytest.raises(
        _native.PlanError, match=r"links\[0\]\.steps: .*a rate above 0 in the end, got an outage without end"
    ):
        _native.run(json.dumps(planned), str(tmp_path))


def test_short_steps_cost_no_more_than_long_ones(tmp_path: Path) -> None:
    steps = {"steps": [["0s", "8Mbps"], ["1us", "12Mbps"]], "repeat": True}
    (run,) = dumbbell.run({**scenario(rate=steps), "duration": "60s"}, tmp_path / "out")
    assert run.summary["link"]["utilization"] > 0.95
    assert run.manifest["wall_s"] < 10


# --- a panic of the engine


def test_a_panic_in_the_engine_ends_its_own_run_with_a_message(
    tmp_path: Path, small: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for jobs in ("1", "2"):
        _native._panic_in_next_run()
        status = main(["run", str(small), "--jobs", jobs, "--out", str(tmp_path / jobs)])
        stderr = capfd.readouterr().err
        assert status == 1
        assert re.search(
            r"^dumbbell: \S+small_buffer=\S+: the engine failed, which is a bug: please report it with the scenario \(a"
            r" test asked for this \(\S+\.rs:\d+\)\)$",
            stderr,
            re.MULTILINE,
        ), stderr
        assert "panicked" not in stderr
        assert "Traceback" not in stderr
        assert len(list((tmp_path / jobs).glob("*/manifest.json"))) == 1, "the other run goes on"
        assert not list((tmp_path / jobs).glob(".tmp-*"))


# --- work and memory


def test_a_run_that_ends_before_the_first_look_at_its_limits_is_held_to_them(tmp_path: Path) -> None:
    given = {**scenario(), "limits": {"events": 1}}
    with pytest.raises(dumbbell.EngineError, match=r"more than 1 events per simulated second"):
        dumbbell.run(given, tmp_path / "out")


def test_events_per_simulated_second_are_bounded(tmp_path: Path) -> None:
    given = {**scenario(rate="1Gbps"), "limits": {"events": 10_000}}
    with pytest.raises(
        dumbbell.EngineError,
        match=r"more than 10000 events per simulated second \(at .* s\); limits\.events raises that",
    ):
        dumbbell.run(given, tmp_path / "out")
    assert not list((tmp_path / "out").glob("*"))


def test_memory_is_bounded(tmp_path: Path) -> None:
    given = {
        **scenario(rate="100Gbps", rtt="1s", buffer="8000GB", burst="4GB"),
        "duration": "60s",
        "limits": {"memory": "20MB"},
    }
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(
        dumbbell.EngineError, match=r"more than 20000000 bytes of memory .*; limits\.memory raises that"
    ):
        dumbbell.run(given, tmp_path / "out")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < 100e6, f"{grown / 1e6:.0f} MB for a limit of 20 MB"


def test_messages_per_second_are_bounded() -> None:
    flow = {"cca": "cubic", "workload": {"kind": "paced", "rate": "1Tbps", "message": "1B"}}
    assert refused({**ONE, "flow": [flow]}).startswith("flow[0].workload: got ")


@pytest.mark.parametrize(
    ("change", "jobs"),
    [
        ("path.rate={steps=[['0s','1Gbps'],['1us','2Gbps']],repeat=true}", "1"),
        ("flow[0].workload={kind='on_off',on='1us',off='1us'}", "2"),
        ("path={rate='1Tbps',rtt='1ms',buffer='8000GB',burst='4GB'}", "1"),
        ("flow[0].count=49151", "1"),
    ],
)
def test_ctrl_c_is_answered_whatever_a_run_does(tmp_path: Path, change: str, jobs: str) -> None:
    # Each takes hours: what ends before the test's alarm does so by the signal.
    file = tmp_path / "x.toml"
    file.write_text(TEXT.format(rate='"1Gbps"').replace('"2s"', '"24h"'))
    command = [
        sys.executable,
        "-m",
        "dumbbell",
        "run",
        file,
        "--out",
        tmp_path / "out",
        "--jobs",
        jobs,
        "--set",
        change,
        "--set",
        "record.every=24h",
        "--set",
        "limits.events=1000000000000",
    ]
    process = subprocess.Popen([*map(str, command), "--set", "seed=1"], stderr=subprocess.PIPE, text=True)
    try:
        while process.poll() is None and not list(tmp_path.glob("out/.tmp-*/samples.parquet")):
            time.sleep(0.02)
        time.sleep(0.5)  # into the run
        assert process.poll() is None, "it ends by itself"
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate()
    finally:
        process.kill()
    assert process.returncode == 130, stderr
    assert "interrupted; 0 of 1 runs are finished" in stderr
    assert "Traceback" not in stderr


# --- files


def files(tmp_path: Path) -> dict[str, str]:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as file:
        file.truncate(8 << 30)
    return {
        str(fifo): "it is a pipe, wanted a regular file",
        str(tmp_path): "it is a folder, wanted a regular file",
        "/dev/zero": "it is a device, wanted a regular file",
        str(sparse): "it has 8.59 GB, wanted at most 67.11 MB",
        str(tmp_path / "none"): "No such file or directory",
        "/proc/self/mem": "it has no",
    }


def test_only_regular_files_of_a_size_are_read(tmp_path: Path) -> None:
    for name, why in files(tmp_path).items():
        trace = refused(scenario(rate={"trace": name}))
        assert trace.startswith("path.rate: got ")
        assert why in trace or name.startswith("/proc"), trace
        sizes = refused({**ONE, "flow": [{"cca": "cubic", "arrivals": {"rate": "10/s", "sizes": {"file": name}}}]})
        assert sizes.startswith("flow[0].arrivals.sizes.file: got ")
        assert why in sizes or name.startswith("/proc"), sizes


def test_only_regular_files_are_controllers(tmp_path: Path, small: Path, cli: Any) -> None:
    for suffix in (".c", ".py"):
        fifo, zero = tmp_path / f"fifo{suffix}", tmp_path / f"zero{suffix}"
        os.mkfifo(fifo)
        zero.symlink_to("/dev/zero")
        for file, why in ((fifo, "it is a pipe"), (zero, "it is a device")):
            done = cli("check", small, "--cca", file)
            assert done.returncode == 2
            assert done.stderr.startswith("dumbbell: --cca: got ")
            assert f"({why}, wanted a regular file), wanted a C or Python source" in done.stderr


def test_an_error_quotes_nothing_of_a_file_that_is_not_the_scenario(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("1\nroot:hunter2:0\n")
    for text in (
        refused(scenario(rate={"trace": str(secret)})),
        refused({**ONE, "flow": [{"cca": "cubic", "arrivals": {"rate": "10/s", "sizes": {"file": str(secret)}}}]}),
    ):
        assert "hunter2" not in text
        assert "line " in text


def test_a_long_name_of_a_file_is_cut(tmp_path: Path) -> None:
    assert len(refused(scenario(rate={"trace": "x" * 5_000}))) < 300


def test_a_large_trace_is_read_in_bounded_memory(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text("\n".join(map(str, range(1, 1_000_001))) + "\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    took = timed(lambda: plan.runs(from_dict(scenario(rate={"trace": "trace"}), folder=tmp_path)))
    assert took < 10
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) < 150_000


# --- ranges that the engine holds


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"buffer": "0pkt"}, "path.buffer: "),
        ({"buffer": "0bdp"}, "path.buffer: "),
        ({"buffer": "9e18B"}, "path.buffer: "),
        ({"buffer": "9e9GB"}, "path.buffer: "),
        ({"buffer": "1e10pkt"}, "path.buffer: "),
        ({"buffer": "1e12bdp"}, "path.buffer: "),
        ({"burst": "4GiB"}, "path.burst: "),
        ({"qdisc": {"kind": "fifo", "limit": "0pkt"}}, "path.qdisc.limit: "),
        ({"ack": {"rate": "1Mbps", "buffer": "0pkt"}}, "path.ack.buffer: "),
        ({"qdisc": "red", "buffer": "9GB"}, "path.buffer: "),
        ({"qdisc": {"kind": "red", "limit": "9GB"}}, "path.qdisc.limit: "),
        ({"qdisc": {"kind": "red", "min": "8GB", "max": "9GB"}}, "path.qdisc.min: "),
        ({"qdisc": {"kind": "red", "min": "100kB", "limit": "1MB", "burst": "1pkt"}}, "path.qdisc.burst: "),
        ({"qdisc": "red", "buffer": "1GB"}, "path.buffer: "),
        ({"qdisc": {"kind": "red", "min": "1MB", "max": "250MB"}}, "path.qdisc.max: "),
        ({"qdisc": {"kind": "red", "probability": 1e-9}}, "path.qdisc.probability: "),
        ({"impair": [{"kind": "delay", "time": "1ms"}] * 65}, "path.impair: "),
        ({"impair": [{"kind": "delay", "time": "1ms"}] * 64}, "path.impair: "),
    ],
)
def test_what_the_engine_cannot_hold_is_refused_at_its_key(tmp_path: Path, given: dict[str, Any], error: str) -> None:
    assert refused(scenario(**given)).startswith(error)


@pytest.mark.parametrize("given", [{"buffer": "8796GB"}, {"burst": "4294967295B"}, {"qdisc": "red", "buffer": "4MB"}])
def test_the_largest_legal_values_run(tmp_path: Path, given: dict[str, Any]) -> None:
    made = dumbbell.run(from_dict(scenario(**given)), tmp_path / "out")
    assert made.runs[0].summary.flows[0].goodput_mbps > 0


# --- planning


def test_planning_takes_time_in_proportion_to_the_values() -> None:
    values = [f"{n}kB" for n in range(2, 20_002)]
    assert (
        timed(lambda: from_dict(scenario(buffer=values))) < 3
    )  # 0.2 s of processor time; the plans of all 20,000 runs are 4.5 s
    assert timed(lambda: plan.cases(from_dict(scenario(buffer=values)))) < 5


def test_a_grid_is_counted_before_it_is_made() -> None:
    values = [f"{n}kB" for n in range(2, 10_002)]
    rates = [f"{n}Mbps" for n in range(1, 10_001)]
    given = {**scenario(buffer=values, rate=rates), "duration": [f"{n}s" for n in range(1, 10_001)]}
    took = timed(lambda: refused(given))
    assert took < 5
    assert "limits.runs" in refused(given)


def test_a_grid_may_be_larger_where_the_scenario_says_so() -> None:
    given = scenario(buffer=["9kB", "10kB"])
    assert "limits.runs" in refused({**given, "limits": {"runs": 1}})
    assert len(plan.runs(from_dict({**given, "limits": {"runs": 2}}))) == 2


TEXTS = {
    "a deep key": "a" + ".a" * 100_000 + " = 1",
    "a deep key in a table": "x = { a" + ".a" * 100_000 + " = 1 }",
    "a deep table": "[a" + ".a" * 100_000 + "]",
    "a deep array": "path = " + "[" * 5_000,
    "many digits": "seed = " + "9" * 5_000,
    "a hexadecimal number": "seed = 0x" + "f" * 100_000,
    "many links": "[[link]]\n" * 100_000,
    "many flows": "[[flow]]\n" * 100_000,
    "a long text": 'name = "' + "x" * 3_000_000 + '"',
    "a long key": "x" * 1_000_000 + " = 1",
    "many steps": "path = { rate = { steps = [" + '["0s","1Mbps"],' * 200_000 + "] } }",
    "many values": "path = { rate = [" + '"1Mbps",' * 200_000 + "] }",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_is_large_or_deep_is_refused_in_one_short_line(name: str) -> None:
    def refuse() -> None:
        with pytest.raises(ScenarioError) as caught:
            from_text(TEXTS[name])
        assert all(len(str(error)) < 500 for error in caught.value.errors), str(caught.value)[:1000]

    assert timed(refuse) < 15


def test_overrides_are_bounded_too(small: Path, cli: Any) -> None:
    for override in (
        "path.rate=" + "[" * 5_000,
        "seed=" + "9" * 5_000,
        "path.rate={a" + ".a" * 2_000 + "=1}",
        "x" * 9_000,
        "a.b" * 500 + "=1",
    ):
        done = cli("check", small, "--set", override)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr[:500]
        assert len(done.stderr) < 500


def test_a_scenario_file_has_a_largest_size(tmp_path: Path, cli: Any) -> None:
    file = tmp_path / "x.toml"
    file.write_text("#" * (2 << 20))
    done = cli("check", file)
    assert (done.returncode, done.stderr) == (
        2,
        f"dumbbell: {file}: larger than 1.049 MB, the most that a scenario may have\n",
    )
    assert cli("check", "/dev/zero").returncode == 2


def test_pareto_with_a_tail_beyond_all_numbers_gives_the_largest_size() -> None:
    sizes = {"kind": "pareto", "least": "1kB", "shape": 1e-9, "most": "1MB"}
    (run,) = plan.runs(from_dict({**ONE, "flow": [{"cca": "cubic", "arrivals": {"rate": "1000/s", "sizes": sizes}}]}))
    assert {flow["size_bytes"] for flow in run.plan["flows"]} == {1_000_000}


def test_a_controller_file_that_exits_is_an_error(tmp_path: Path, small: Path, cli: Any) -> None:
    (tmp_path / "bad.py").write_text("raise SystemExit(0)\n")
    done = cli("run", small, "--cca", tmp_path / "bad.py", "--out", "out")
    assert done.returncode != 0
    assert "SystemExit" in done.stderr
    assert not (tmp_path / "out").exists()


# --- copies of packets


def peak_of(command: list[str], folder: Path) -> tuple[subprocess.CompletedProcess[str], int, float]:
    """A command, the most memory that it had, MB, and its seconds."""
    code = (
        "import json, resource, subprocess, sys, time; began = time.monotonic();"
        "done = subprocess.run(sys.argv[1:], check=False);"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024;"
        "print(json.dumps([done.returncode, used, time.monotonic() - began]))"
    )
    program = [sys.executable, "-c", code, sys.executable, "-m", "dumbbell", *command]
    ran = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
    status, used, seconds = json.loads(ran.stdout.splitlines()[-1])
    return subprocess.CompletedProcess(command, status, ran.stdout, ran.stderr), used, seconds


DUPLICATE = '{kind="duplicate",rate="100%"}'
COPIES = {
    "before the link": f"impair = [{','.join([DUPLICATE] * 30)}]",
    "on the way back": f"up = {{ impair = [{','.join([DUPLICATE] * 30)}] }}",
    "both ways": f"impair = [{','.join([DUPLICATE] * 16)}], up = {{ impair = [{','.join([DUPLICATE] * 16)}] }}",
    "and lost again": f'impair = [{",".join([DUPLICATE] * 30)},{{kind="loss",rate="100%"}}]',
}


@pytest.mark.parametrize("where", COPIES)
def test_copies_of_packets_end_at_the_limit_of_memory_while_they_are_made(tmp_path: Path, where: str) -> None:
    text = TEXT.format(rate='"10Mbps"').replace(" }", f", {COPIES[where]} }}")
    (tmp_path / "bomb.toml").write_text(text)
    command = ["run", "bomb.toml", "--out", "o", "--set", "limits.memory=100MB", "--set", "limits.events=1000000"]
    done, used_mb, seconds = peak_of(command, tmp_path)
    assert done.returncode == 1
    assert "limits.memory raises that" in done.stderr or "limits.events raises that" in done.stderr
    assert used_mb < 350
    assert seconds < 15
    assert not (tmp_path / "o").exists() or not list((tmp_path / "o").iterdir())


def test_a_series_of_many_probes_ends_at_the_limit_of_memory(tmp_path: Path) -> None:
    text = TEXT.format(rate='"10Gbps"').replace("2s", "600s") + '[[flow]]\nworkload = { probe = "1us" }\n'
    (tmp_path / "probes.toml").write_text(text)
    command = ["run", "probes.toml", "--out", "o", "--set", "limits.memory=20MB", "--set", "path.rate=100Mbps"]
    done, used_mb, _ = peak_of(command, tmp_path)
    assert done.returncode == 1
    assert "limits.memory raises that" in done.stderr
    assert used_mb < 350
