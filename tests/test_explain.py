"""`dumbbell explain`: each rule has a run where it is told first, and a like one where it is not told at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from conftest import Cli
from dumbbell.errors import ResultError
from dumbbell.explain.explained import Explained, explain
from dumbbell.explain.proofs import Proof
from dumbbell.explain.rules import rules

ROOT = Path(__file__).resolve().parent.parent
PATH = {"rate": "100Mbps", "rtt": "40ms", "buffer": "1bdp"}
SLOW = {**PATH, "rate": "20Mbps"}
PACED = {"kind": "paced", "rate": "5Mbps", "message": "10kB"}

Scenario = dict[str, Any]


def flow(cca: str = "cubic", **keys: Any) -> Scenario:
    return {"name": "main", "cca": cca, **keys}


def path(base: Mapping[str, Any] = PATH, **keys: Any) -> Scenario:
    return {"path": {**base, **keys}}


def outage(begin: str, end: str) -> Scenario:
    return path(buffer="100kB", rate={"steps": [["0s", "20Mbps"], [begin, "0bps"], [end, "20Mbps"]]})


def own(name: str, window: int, rate_mbps: int) -> str:
    """A Linux module with a constant window and pacing rate."""
    return f"""#include <linux/module.h>
#include <net/tcp.h>
static void {name}_init(struct sock *sk)
{{
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	sk->sk_pacing_rate = {rate_mbps}000000 / 8;
}}
static void {name}_control(struct sock *sk, const struct rate_sample *rs)
{{
	tcp_sk(sk)->snd_cwnd = {window};
	sk->sk_pacing_rate = {rate_mbps}000000 / 8;
}}
static u32 {name}_window(struct sock *sk) {{ return {window}; }}
static struct tcp_congestion_ops {name} = {{
	.init = {name}_init, .cong_control = {name}_control, .ssthresh = {name}_window, .undo_cwnd = {name}_window,
	.name = "{name}", .owner = THIS_MODULE,
}};
static int __init {name}_register(void) {{ return tcp_register_congestion_control(&{name}); }}
static void __exit {name}_unregister(void) {{ tcp_unregister_congestion_control(&{name}); }}
module_init({name}_register);
module_exit({name}_unregister);
MODULE_LICENSE("GPL");
"""


OWN = {"small": own("small", 50, 200), "slow": own("slow", 2000, 18), "plenty": own("plenty", 400, 200)}
JITTER = path(jitter={"spread": "10ms"})
KEPT = path(jitter={"spread": "10ms", "reorder": False})
BEHIND = {"workload": {"kind": "paced", "rate": "1Mbps"}}
STEP = {"steps": [["0s", "20Mbps"], ["5s", "100Mbps"]]}
MANY = {"duration": "25s", **path(SLOW, buffer="8bdp"), "flow": [flow("bbr", count=10, spacing="500ms")]}
ECN = {"host": {"ecn": "classic"}, "path": {**PATH, "qdisc": {"kind": "codel", "ecn": True, "ce_threshold": "1ms"}}}
MARKED = {
    **path(rate="1Gbps", rtt="1ms", qdisc={"kind": "codel", "ecn": True, "ce_threshold": "100us"}),
    "host": {"ecn": True},
    "duration": "2s",
    "flow": [flow("dctcp", count=4)],
}
FAST = {"kind": "paced", "rate": "30Mbps"}
UDP = {"name": "main", "transport": "udp", "workload": {"kind": "paced", "rate": "5Mbps"}}
BOTH_WAYS = path(SLOW, up={"rate": "2Mbps", "buffer": "250ms"})
RIVAL = {"name": "rival", "cca": "bbr"}
OLDER = {"name": "older", "cca": "cubic"}
FAR = {"path": {**PATH, "rtt": "60ms"}, "duration": "40s"}
FIXED = {"cca_file": "small", "flow": [flow("small")]}
LONG = {**path(rtt="100ms"), "duration": "15s"}

#: Of each rule a scenario that it explains first, and a like one that it does not explain: what differs from a flow of
#: CUBIC on `PATH`. `at` is a moment that is asked for, `cca_file` a controller of `OWN`.
CASES: Mapping[str, tuple[Scenario, Scenario]] = {
    "probe-rtt-stall": (
        {**outage("10s", "15s"), "duration": "30s", "flow": [flow("bbr")]},
        {**outage("10s", "15s"), "duration": "30s", "flow": [flow("bbr2")]},
    ),
    "outage": ({**outage("5s", "8s"), "duration": "20s"}, {}),
    "timeouts": (
        {**path(SLOW, rate="5Mbps", buffer="6pkt"), "flow": [flow(count=30)]},
        {**path(SLOW, rate="5Mbps", buffer="200pkt"), "flow": [flow(count=3)]},
    ),
    "timer": ({**path(SLOW, loss={"packets": [21, 22]}), "flow": [flow(size="30kB")]}, {"flow": [flow(size="30kB")]}),
    "connection": ({**path(loss={"packets": [0]}), "flow": [flow(size="1MB")]}, {"flow": [flow(size="1MB")]}),
    "two-way": (
        {**BOTH_WAYS, "flow": [flow(), {"name": "up", "cca": "cubic", "direction": "up"}]},
        {**BOTH_WAYS, "flow": [flow()]},
    ),
    "ack-path": (path(up={"rate": "0.5Mbps", "buffer": "100pkt"}), path(up={"rate": "10Mbps", "buffer": "100pkt"})),
    "short-flow": ({**LONG, "flow": [flow(size="100kB")]}, {**LONG, "flow": [flow(size="100MB")]}),
    "receive-window": ({"host": {"rcvbuf": "64kB"}}, {}),
    "send-buffer": ({"host": {"sndbuf": "64kB"}}, {}),
    "max-rate": ({"flow": [flow(max_rate="30Mbps")]}, {}),
    "application": ({**path(SLOW), "flow": [flow(workload=PACED)]}, path(SLOW)),
    "policer": (path(policer={"rate": "20Mbps", "burst": "100kB"}), path(SLOW)),
    "spurious-recovery": (JITTER, KEPT),
    "random-loss": (path(loss=0.01), {**path(loss=0.01), "flow": [flow("bbr")]}),
    "corruption": (path(corrupt=0.005), {}),
    "aqm": (path(rtt="100ms", qdisc="codel"), path(rtt="100ms")),
    "marks": (MARKED, {**MARKED, "path": {**PATH, "rtt": "1ms"}, "duration": "12s"}),
    "changing-rate": (path(SLOW, rate={"steps": [["0s", "10Mbps"], ["5s", "100Mbps"]]}), {}),
    "changing-rtt": (
        {**path(rtt={"steps": [["0s", "20ms"], ["4s", "120ms"]]}), "flow": [flow("bbr")], "duration": "20s"},
        {"flow": [flow("bbr")]},
    ),
    "bursts": ({**path(buffer="4pkt"), "flow": [flow("reno")]}, {**path(buffer="40pkt"), "flow": [flow("reno")]}),
    "small-buffer": (
        {**path(buffer="0.1bdp"), "flow": [flow("reno")]},
        {**path(buffer="2bdp"), "flow": [flow("reno")]},
    ),
    "hystart": (KEPT, {**KEPT, "flow": [flow(params={"hystart": 0})]}),
    "late": ({**FAR, "flow": [OLDER, flow(start="5s")]}, {**FAR, "flow": [{**OLDER, **BEHIND}, flow(start="5s")]}),
    "starved": (
        {**path(buffer="0.5bdp"), "flow": [flow(), RIVAL]},
        {**path(buffer="0.5bdp"), "flow": [flow(), {**RIVAL, "cca": "cubic"}]},
    ),
    "jitter": (
        {**path(jitter={"spread": "20ms", "reorder": False}), "flow": [flow("bbr3")]},
        {"flow": [flow("bbr3")]},
    ),
    "bandwidth-too-high": (
        {**path(rate="256kbps", rtt="10ms", buffer="20pkt"), "flow": [flow("bbr")]},
        {**path(rtt="10ms", buffer="20pkt"), "flow": [flow("bbr")]},
    ),
    "min-rtt-too-high": (MANY, {**MANY, "flow": [flow("bbr", count=2)]}),
    "base-rtt-too-high": (
        {**path(SLOW, buffer="4bdp"), "duration": "40s", "flow": [{**OLDER, "cca": "vegas"}, flow("vegas", start="10s")]},
        {**path(SLOW, buffer="4bdp"), "flow": [flow("vegas")]},
    ),
    "unequal": (
        {**path(SLOW, buffer="4bdp"), "duration": "20s", "flow": [flow(count=4, spacing="4s")]},
        {**path(SLOW, buffer="4bdp"), "duration": "20s", "flow": [flow(count=4)]},
    ),
    "ack-bursts": (
        {**path(up={"aggregate": {"hold": "20ms", "packets": 64}}), "flow": [flow("bbr2")]},
        {"flow": [flow("bbr2")]},
    ),
    "bandwidth-too-low": (
        {**path(SLOW, rate=STEP), "flow": [flow("bbr3")], "at": 6},
        {**path(SLOW, rate=STEP), "flow": [flow("bbr3")], "at": 3},
    ),
    "slow-start": ({"flow": [flow(size="10MB")]}, {"flow": [flow(size="100MB")]}),
    "probing": (
        {**path(rate="10Mbps", rtt="200ms"), "duration": "30s", "flow": [flow("bbr3")]},
        {**path(rate="10Mbps", rtt="200ms"), "duration": "30s", "flow": [flow("bbr")]},
    ),
    "small-window": (FIXED, {"cca_file": "plenty", "flow": [flow("plenty")]}),
    "pacing": ({"cca_file": "slow", "flow": [flow("slow")]}, {"cca_file": "plenty", "flow": [flow("plenty")]}),
    "recovery": (
        {"flow": [flow(params={"hystart": 0})], "at": 0.45},
        {"flow": [flow(params={"hystart": 0})], "at": 6},
    ),
    "datagrams": ({**path(SLOW), "flow": [UDP]}, {**path(SLOW), "flow": [{**UDP, "workload": FAST}]}),
    "bottleneck": ({}, {"host": {"rcvbuf": "64kB"}}),
}  # fmt: skip

#: Rules that stand behind another one where they hold.
BEHIND_OTHERS: Mapping[str, tuple[Scenario, Scenario]] = {
    "bound": (
        {**path(buffer="0.02bdp"), "flow": [flow("bbr3")], "at": 5},
        {**path(buffer="2bdp"), "flow": [flow("bbr3")], "at": 5},
    ),
    "probing-cost": ({"duration": "30s", "flow": [flow("bbr3")]}, {"duration": "30s"}),
    "ecn-ignored": ({**ECN, "flow": [flow("bbr")]}, ECN),
    "hystart-exit": (path(buffer="2bdp"), {**path(buffer="2bdp"), "flow": [flow(params={"hystart": 0})]}),
}

#: The lines of the table that the rules were made from: the rule, where it holds, and the neighbour where it does not.
TRUTH: Mapping[str, tuple[str, Scenario, Scenario]] = {
    "3, paced 5 Mbit/s on 20": ("application", {**path(SLOW), "flow": [flow(workload=PACED)]}, path(SLOW)),
    "4, rcvbuf 64 kB": ("receive-window", {"host": {"rcvbuf": "64kB"}}, {"host": {"rcvbuf": "auto"}}),
    "5, sndbuf 64 kB": ("send-buffer", {"host": {"sndbuf": "64kB"}}, {"host": {"sndbuf": "auto"}}),
    "6, outage of 5 s": ("outage", {**outage("10s", "15s"), "duration": "30s"}, path(SLOW)),
    "7, the timer after it": ("timer", {**outage("10s", "15s"), "duration": "30s"}, path(SLOW)),
    "9, 100 kB at 100 ms": ("short-flow", *CASES["short-flow"]),
    "10, BBRv3 alone for 30 s": ("probing-cost", *BEHIND_OTHERS["probing-cost"]),
    "13, a window that is small": ("small-window", *CASES["small-window"]),
    "d, a policer": ("policer", *CASES["policer"]),
    "e, loss 1 %": ("random-loss", path(loss=0.01), path(loss=0)),
    "f, jitter without order": ("spurious-recovery", JITTER, KEPT),
    "h, CUBIC at 2 BDP": ("hystart-exit", *BEHIND_OTHERS["hystart-exit"]),
    "i, 50 BBRv1 at 4 BDP": (
        "min-rtt-too-high",
        {**path(buffer="4bdp"), "duration": "30s", "flow": [flow("bbr", count=50, spacing="200ms")]},
        {**path(buffer="4bdp"), "duration": "30s", "flow": [flow("bbr", count=2, spacing="200ms")]},
    ),
    "j, 256 kbit/s at 10 ms": ("bandwidth-too-high", *CASES["bandwidth-too-high"]),
    "k, a way back of 0.5 Mbit/s": ("ack-path", *CASES["ack-path"]),
    "p, BBR with ECN": ("ecn-ignored", *BEHIND_OTHERS["ecn-ignored"]),
    "T1, outage of 10 s": (
        "probe-rtt-stall",
        {**outage("23.3s", "33.3s"), "duration": "60s", "flow": [flow("bbr")]},
        {**outage("23.3s", "33.3s"), "duration": "60s", "flow": [flow("bbr2")]},
    ),
}


@pytest.fixture(scope="session")
def own_files(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    folder = tmp_path_factory.mktemp("own")
    for name, text in OWN.items():
        (folder / f"{name}.c").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.c" for name in OWN}


@cache
def _explained(text: str, file: Path | None) -> Explained:
    differs = json.loads(text)
    at = differs.pop("at", None)
    scenario = {"name": "case", "duration": "12s", "path": PATH, "flow": [flow()], **differs}
    run = dumbbell.run(scenario, cca=[file] if file else [])[0]
    (said,) = explain(run, "main", at=at, everything=True)
    return said


def told(case: Scenario, files: Mapping[str, Path]) -> list[str]:
    """All rules that hold for the flow, the most telling one first."""
    plain = {key: value for key, value in case.items() if key != "cca_file"}
    file = files[case["cca_file"]] if "cca_file" in case else None
    return [cause.rule for cause in _explained(json.dumps(plain), file).causes]


@pytest.mark.parametrize("rule", CASES)
def test_the_mechanism_is_told_first_where_it_is_at_work(rule: str, own_files: Mapping[str, Path]) -> None:
    assert told(CASES[rule][0], own_files)[:1] == [rule]


@pytest.mark.parametrize(("name", "said"), [("rival", "rival (bbr) got"), ("bbr", ": bbr got")])
def test_a_flow_that_is_called_as_its_controller_is_not_named_twice(name: str, said: str) -> None:
    case = {**path(buffer="0.5bdp"), "flow": [flow(), {**RIVAL, "name": name}]}
    (starved,) = (one for one in _explained(json.dumps(case), None).causes if one.rule == "starved")
    assert said in starved.text


def test_losses_of_a_schedule_are_not_said_to_be_at_random() -> None:
    case = path(loss={"steps": [["0s", "0%"], ["0.95s", "100%"]], "repeat": "1s"})
    (lost,) = (one for one in _explained(json.dumps(case), None).causes if one.rule == "random-loss")
    assert "packets on the path, and not in a queue" in lost.text
    assert "random" not in lost.text


@pytest.mark.parametrize("rule", [*CASES, *BEHIND_OTHERS])
def test_it_is_not_told_where_it_is_not(rule: str, own_files: Mapping[str, Path]) -> None:
    assert rule not in told({**CASES, **BEHIND_OTHERS}[rule][1], own_files)


@pytest.mark.parametrize("rule", BEHIND_OTHERS)
def test_what_costs_little_is_told_behind_the_cause(rule: str, own_files: Mapping[str, Path]) -> None:
    said = told(BEHIND_OTHERS[rule][0], own_files)
    assert rule in said[1:]


@pytest.mark.parametrize("line", TRUTH)
def test_the_truth_table(line: str, own_files: Mapping[str, Path]) -> None:
    rule, holds, neighbour = TRUTH[line]
    assert rule in told(holds, own_files)
    assert rule not in told(neighbour, own_files)


def test_every_rule_has_cases() -> None:
    assert [rule.name for rule in rules()] == sorted(
        {**CASES, **BEHIND_OTHERS}, key=[rule.name for rule in rules()].index
    )


def test_what_a_rule_hides_is_a_rule_behind_it() -> None:
    names = [rule.name for rule in rules()]
    for rule in rules():
        assert all(names.index(hidden) > names.index(rule.name) for hidden in rule.hides), rule.name


def test_the_page_has_every_rule_and_says_which_have_a_proof() -> None:
    text = (ROOT / "docs/explain.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| `")]
    assert [row[1].strip(" `") for row in rows] == [rule.name for rule in rules()]
    assert [bool(row[3].strip()) for row in rows] == [bool(rule.prove) for rule in rules()]


def proof(case: Scenario, rule: str) -> Proof | None:
    """The proof of a rule that is told."""
    scenario = {"name": "case", "duration": "12s", "path": PATH, "flow": [flow()], **case}
    (said,) = explain(dumbbell.run(scenario)[0], "main", proves=True, everything=True)
    return next(cause.proof for cause in said.causes if cause.rule == rule)


#: Rules whose case is proved, and what is changed for that.
PROVED = {
    "receive-window": 'host.rcvbuf="auto"',
    "send-buffer": 'host.sndbuf="auto"',
    "outage": 'path.rate="20Mbit/s"',
    "timer": "path.loss=0",
    "connection": "path.loss=0",
    "late": 'flow[1].start="0s"',
    "two-way": "flow[1].count=0",
    "ack-path": 'path.up.rate="100Mbit/s"',
    "short-flow": "host.initial_window=100",
    "max-rate": 'flow[0].max_rate="100Mbit/s"',
    "policer": 'path.policer.rate="100Mbit/s"',
    "spurious-recovery": "path.jitter.reorder=false",
    "random-loss": "path.loss=0",
    "corruption": "path.corrupt=0",
    "aqm": 'path.qdisc="fifo", path.buffer="1bdp"',
    "changing-rate": 'path.rate="62.5Mbit/s"',
    "changing-rtt": 'path.rtt="20ms"',
    "bursts": "host.tso=false",
    "small-buffer": 'path.buffer="2bdp"',
    "hystart": "flow[0].params.hystart=0",
    "starved": "flow[1].count=0",
    "jitter": 'path.jitter.spread="0ms"',
    "ack-bursts": 'path.up.aggregate.hold="1us"',
}


@pytest.mark.parametrize("rule", PROVED)
def test_a_proof_is_the_run_without_the_cause(rule: str) -> None:
    proved = proof(CASES[rule][0], rule)
    assert proved
    assert proved.change == PROVED[rule]
    assert proved.is_why


def test_what_changes_nothing_is_no_proof() -> None:
    """The loss stands in a chain of impairments, which `path.loss` does not change."""
    lossy = path(impair=[{"kind": "loss", "rate": "1%"}, {"kind": "links"}])
    assert proof(lossy, "random-loss") is None


def test_what_hardly_moves_the_figure_is_not_why() -> None:
    run = dumbbell.run({"name": "case", "duration": "12s", **path(buffer="2bdp"), "flow": [flow()]})[0]
    (said,) = explain(run, proves=True, everything=True)
    cause = next(cause for cause in said.causes if cause.rule == "hystart-exit")
    assert "that is not why" in cause.sentence


def test_a_moment_is_explained_by_the_time_about_it() -> None:
    scenario = {"name": "case", "duration": "20s", **path(loss={"windows": [["8s", "9s", "5%"]]}), "flow": [flow()]}
    run = dumbbell.run(scenario)[0]
    (before,), (within,), (after,) = (explain(run, at=at) for at in (5, 8.5, 10))
    assert [said.causes[0].rule for said in (before, within, after)] == ["bottleneck", "random-loss", "small-window"]
    assert within.part.endswith("in RENO_FRIENDLY")
    assert "it last found a loss at 9.01 s" in after.causes[0].sentence


def test_a_moment_without_a_long_state_is_explained_by_round_trips() -> None:
    run = dumbbell.run({"name": "case", "duration": "5s", "path": PATH, "flow": [flow()]})[0]
    assert explain(run, at=0.3)[0].part == "from 0 to 0.7 s, 20 round trips about 0.3 s"


def test_a_moment_at_which_the_flow_is_not_there_is_refused() -> None:
    run = dumbbell.run({"name": "case", "duration": "5s", "path": PATH, "flow": [flow(start="2s")]})[0]
    with pytest.raises(ResultError, match="got 1 s, wanted a time from 2 to 5 s"):
        explain(run, at=1)


def test_a_flow_that_there_is_not_is_refused() -> None:
    scenario = {"name": "case", "duration": "2s", "path": PATH, "flow": [flow()]}
    with pytest.raises(ResultError, match='got "other", wanted one of: main'):
        explain(dumbbell.run(scenario)[0], "other")


def test_nothing_is_said_that_no_rule_explains() -> None:
    """A link in use to 93 % under losses that BBRv3 mends: nothing is wrong enough to be named."""
    scenario = {"name": "case", "duration": "12s", **path(loss=0.003, rate="20Mbps"), "flow": [flow("bbr3")]}
    assert explain(dumbbell.run(scenario)[0])[0].causes == []


def test_the_command_says_it_in_a_sentence(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(
        'duration = "8s"\n[path]\nrate = "100Mbps"\nrtt = "40ms"\nbuffer = "1bdp"\n[host]\nrcvbuf = "64kB"\n[[flow]]\ncca = "cubic"\n'
    )
    cli("run", "x.toml", "--out", "out")
    assert "cubic was held by the receive window" in cli("explain", "out").stdout
    (line,) = cli("explain", "out", "--json", "--prove").stdout.splitlines()
    assert json.loads(line)["causes"][0]["proof"]["is_why"]
    (line,) = cli("explain", "out", "--at", "5s").stdout.splitlines()
    assert line.startswith("cubic, from 3 to 7 s, in SLOW_START: was held by the receive window")
