"""What is legal and hardly meant is warned of: by `check`, by `run`, and in the results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell import controllers, from_dict, plan
from dumbbell.plan import warn

QUEUE = {"rate": "10Mbps", "rtt": "20ms", "buffer": "2bdp"}


def scenario(flow: dict[str, Any] | None = None, path: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"duration": "2s", "path": {**QUEUE, **(path or {})}, "flow": [flow or {"cca": "cubic"}], **more}


CODEL = (
    'path.buffer has no effect: codel has a limit of its own; { kind = "codel", limit = "buffer" } gives it the buffer'
)
CASES = [
    (scenario(), []),
    (scenario(path={"loss": 0.5}), ['path.loss: 50 % of all packets are lost; a percentage is written "0.5%"']),
    (scenario({"cca": "cubic", "loss": "30%"}),
     ["flow[0].loss: 30 % of all packets are lost"]),
    (scenario(path={"loss": 0.2}), []),
    (scenario(path={"loss": 1}), ['path.loss: 100 % of all packets are lost; a percentage is written "1%"']),
    (scenario(path={"loss": "100%"}), []),
    (scenario(path={"loss": {"model": "random", "rate": 1}}),
     ['path.loss.rate: 100 % of all packets are lost; a percentage is written "1%"']),
    (scenario(path={"loss": {"model": "random", "rate": 0.3, "correlation": "10%"}}),
     ['path.loss.rate: 30 % of all packets are lost; a percentage is written "0.3%"']),
    (scenario(path={"impair": [{"kind": "loss", "rate": 1}, {"kind": "delay", "time": "10ms"}]}),
     ['path.impair[0].rate: 100 % of all packets are lost; a percentage is written "1%"']),
    (scenario(path={"loss": {"steps": [["0s", 0], ["1s", 1]]}}),
     ['path.loss.steps: 100 % of all packets are lost from 1 s on; a percentage is written "1%"']),
    (scenario(path={"loss": {"steps": [["0s", "0%"], ["1s", "100%"]]}}), []),
    (scenario(path={"loss": {"model": "gilbert_elliott", "p": 0.5, "r": 0.5}}),
     ['path.loss: 50 % of all packets are lost on average; a percentage is written "0.5%"']),
    (scenario(path={"loss": {"model": "gilbert_elliott", "p": "1%", "r": "50%"}}), []),
    (scenario(path={"ack": {"loss": 1}}), ['path.ack.loss: 100 % of all packets are lost; a percentage is written "1%"']),
    (scenario(path={"jitter": {"kind": "normal", "spread": "4ms", "correlation": "50%"}}),
     ["jitter: its correlation has next to no effect, here as in netem; a recording of delays has one"]),
    (scenario(record={"every": "30s"}), ["record.every: 30 s is longer than the run, whose RTTs are those of one sample"]),
    (scenario(record={"samples": False}, measure={"from": "1s"}),
     ["record.samples is off, of which [measure] makes its figures: tables of the run cannot be printed"]),
    (scenario({"cca": "dctcp"}), ["flow[0]: dctcp runs as Reno, because no queue on its way marks"]),
    (scenario({"cca": "dctcp"}, {"buffer": None, "qdisc": {"kind": "codel", "ecn": True}}), []),
    (scenario(host={"ecn": True}),
     ["host.ecn has no effect: no queue marks (fifo); a discipline with ecn = true or a ce_threshold does"]),
    (scenario(path={"buffer": None, "qdisc": "fq_codel"}, host={"ecn": True}), []),
    (scenario({"cca": "cubic", "transport": "quic"}, host={"rcvbuf": "20kB", "hz": 250}),
     ["host.rcvbuf has no effect: it is of TCP, and the flows have quic"]),
    (scenario(path={"buffer": None, "qdisc": "cake"}), []),
    (scenario(path={"buffer": None, "qdisc": {"kind": "cake", "framing": "atm"}}),
     ["bottleneck: utilization counts bytes of the wire, without cake's overhead, mpu and framing, so that a full link has another value than 1"]),
    (scenario(path={"qdisc": "codel"}), [CODEL]),
    (scenario(path={"qdisc": {"kind": "codel", "limit": "buffer"}}), []),
    (scenario(path={"qdisc": "red"}), []),
    (scenario(path={"qdisc": {"kind": "fifo", "limit": "9kB"}}),
     ['path.buffer has no effect: fifo has a limit of its own; { kind = "fifo", limit = "buffer" } gives it the buffer']),
    (scenario(path={"buffer": None, "qdisc": "dualpi2"}),
     ["bottleneck: the low-latency queue of dualpi2 stays empty, because no flow sends ECT(1), as prague does; all flows share its classic queue"]),
]  # fmt: skip


@pytest.mark.parametrize(("given", "warnings"), CASES)
def test_a_scenario_is_warned_of(given: dict[str, Any], warnings: list[str]) -> None:
    (run,) = plan.runs(from_dict(given))
    assert list(run.warnings) == warnings


def test_what_is_measured_has_two_sample_times_in_it() -> None:
    ends = scenario(record={"every": "1500ms"}, measure={"from": "1500ms"})
    assert plan.runs(from_dict(ends))[0].plan["measure"] == {"from_ns": 1_500_000_000, "to_ns": 2_000_000_000}
    with pytest.raises(dumbbell.ScenarioError, match=r"record.every: got .*, wanted two sample times or more between"):
        plan.runs(from_dict(scenario(record={"every": "1500ms"}, measure={"from": "1600ms"})))


def test_a_key_that_is_varied_without_effect_is_named_with_where() -> None:
    given = from_dict(scenario(path={"buffer": ["1bdp", "2bdp"], "qdisc": ["fifo", "codel"]}))
    assert warn.of_grid(given, plan.runs(given)) == [
        "path.buffer has no effect: its 2 values make equal runs with path.qdisc = codel"
    ]
    given = from_dict(scenario(path={"buffer": ["1bdp", "2bdp"], "qdisc": "codel"}))
    assert warn.of_grid(given, plan.runs(given)) == ["path.buffer has no effect: its 2 values make equal runs"]
    given = from_dict(scenario(path={"buffer": ["1bdp", "40ms", "3bdp"]}))
    assert warn.of_grid(given, plan.runs(given)) == []
    given = from_dict(scenario(path={"buffer": ["1bdp"]}))
    assert warn.of_grid(given, plan.runs(given)) == ["path.buffer: a list of one value varies nothing"]


RANDOM = [
    scenario(host={"processors": "own"}),
    scenario({"cca": "bbr"}),
    scenario(path={"loss": "1%"}),
    scenario(path={"jitter": {"spread": "1ms"}}),
    scenario(path={"duplicate": "1%"}),
    scenario(path={"qdisc": "red"}),
    scenario({"cca": "cubic", "workload": {"kind": "on_off", "on": "1s", "off": "1s", "random": True}}),
    scenario({"cca": "cubic", "arrivals": {"rate": "10/s", "sizes": "10kB"}}),
    scenario(host={"start_jitter": "20ms"}),
]
STEADY = [
    scenario(),
    scenario(path={"loss": {"packets": [3]}}),
    scenario(path={"buffer": None, "qdisc": "codel"}),
    scenario(path={"rate": {"lte": "mobile", "mean": "8Mbps"}}),
    scenario({"cca": "reno", "workload": {"kind": "on_off", "on": "1s", "off": "1s"}}),
    scenario({"cca": "cubic", "transport": "quic"}),
]


@pytest.mark.parametrize("given", RANDOM)
def test_repetitions_that_differ_are_run(given: dict[str, Any]) -> None:
    assert len(plan.runs(from_dict({**given, "repetitions": 3}), once=True)) == 3


@pytest.mark.parametrize("given", STEADY)
def test_of_repetitions_that_cannot_differ_one_is_run_and_it_says_so(tmp_path: Path, given: dict[str, Any]) -> None:
    repeated = from_dict({**given, "repetitions": 3})
    (run,) = plan.runs(repeated, once=True)
    assert run.warnings[-1].startswith(
        "repetitions: nothing here is random, so all 3 would be equal and one is run; host.start_jitter"
    )
    assert len(plan.runs(repeated)) == 3, "on real hosts they differ"
    digests = set()
    for seed in (1, 2):
        (result,) = dumbbell.run({**given, "seed": seed}, tmp_path / str(seed))
        digests.add(json.dumps({name: one["sha256"] for name, one in result.manifest["files"].items()}))
    assert len(digests) == 1, "another seed gives the same bytes"


def test_the_controllers_that_draw_nothing_are_those_that_are_said_to(tmp_path: Path) -> None:
    for cca in [name for name, facts in controllers.facts().items() if facts.is_steady]:
        runs = [dumbbell.run(scenario({"cca": cca}, seed=seed), tmp_path / f"{cca}{seed}")[0] for seed in (1, 2)]
        assert len({run.manifest["files"]["samples.parquet"]["sha256"] for run in runs}) == 1, cca


def test_runs_whose_probes_alone_differ_are_not_equal(tmp_path: Path, cli: Any) -> None:
    for name, loss, said in (("some", ["1%", "5%"], False), ("none", ["0%", "0.0%"], True)):
        (tmp_path / f"{name}.toml").write_text(
            f'duration = "1s"\npath = {{ rate = "10Mbps", rtt = "20ms", buffer = "1bdp", loss = {loss} }}\nflow ='
            ' [{ workload = { probe = "10ms" } }, { cca = "cubic", start = "900ms", size = "1kB" }]\n'
        )
        done = cli("run", f"{name}.toml", "--out", name)
        assert done.returncode == 0, done.stderr
        assert ("equal to the byte" in done.stderr) is said, done.stderr


def test_check_and_run_say_it_once_per_file_and_results_keep_it(tmp_path: Path, cli: Any) -> None:
    file = tmp_path / "x.toml"
    file.write_text(
        'duration = "1s"\nrepetitions = 4\npath = { rate = "10Mbps", rtt = "20ms", buffer = ["1bdp", "2bdp"], qdisc ='
        ' "codel" }\nflow = [{ cca = "cubic" }]\n'
    )
    for command in (("check", file), ("run", file, "--json", "--out", "out")):
        done = cli(*command)
        assert done.returncode == 0, done.stderr
        warnings = [
            line.removeprefix(f"dumbbell: warning: {file}: ") for line in done.stderr.splitlines() if str(file) in line
        ]
        assert [line.split(";")[0][:60] for line in warnings] == [
            CODEL[:60].split(";", maxsplit=1)[0],
            "repetitions: nothing here is random, so all 4 would be equal",
            "path.buffer has no effect: its 2 values make equal runs"[:60],
        ], done.stderr
    assert (
        "equal to the byte: x_buffer=1bdp_r0, x_buffer=2bdp_r0; the keys in which they differ have no effect"
        in done.stderr
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == 2
    assert all(CODEL in line["warnings"] for line in lines)
    assert all(CODEL in run.warnings for run in dumbbell.load(tmp_path / "out"))


def test_check_tells_the_time_of_real_back_ends(tmp_path: Path, cli: Any) -> None:
    file = tmp_path / "x.toml"
    file.write_text(
        'duration = "60s"\nrepetitions = 6\npath = { rate = "10Mbps", rtt = "20ms", buffer = "1bdp" }\nflow = [{ cca ='
        ' "cubic" }]\n'
    )
    assert "about 6 min on linux, in real time, 1 run at once" in cli("check", file, "--on", "linux").stdout
    assert (
        "about 3 min on linux, in real time, 2 runs at once"
        in cli("check", file, "--on", "linux", "--jobs", "2").stdout
    )
    assert cli("check", file, "--on", "nowhere").returncode == 2


def test_check_says_what_a_run_on_this_machine_would_refuse(tmp_path: Path, cli: Any) -> None:
    file = tmp_path / "x.toml"
    file.write_text(
        'duration = "1s"\npath = { rate = "10Mbps", rtt = "20ms", buffer = "1bdp" }\nflow = [{ cca = "cubic" }]\n'
    )
    checked, ran = cli("check", file, "--on", "uml:6.99"), cli("run", file, "--on", "uml:6.99", "--out", "out")
    assert (checked.returncode, ran.returncode) == (0, 1)
    assert checked.stderr == f"dumbbell: warning: {file}: not on this machine: {ran.stderr.removeprefix('dumbbell: ')}"
    quic = cli("check", file, "--on", "linux", "--set", 'flow[0].transport="quic"')
    assert quic.returncode == 2
    assert "flow[0].transport: got quic, wanted tcp" in quic.stderr
