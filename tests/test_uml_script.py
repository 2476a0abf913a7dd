"""What the guest of a run in virtual time does, without any guest: its files as text, and what is refused before
anything starts.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from dumbbell import ScenarioError, from_file, plan
from dumbbell.runs.check import describe
from dumbbell.scenario.file import from_dict
from dumbbell.uml import script
from dumbbell.uml.controllers import Loaded

SNAPSHOTS = Path(__file__).parent / "snapshots" / "uml"
PATH = {"rate": "10Mbps", "rtt": "20ms", "buffer": "1bdp"}


def planned(flows: Any = None, host: Any = None, duration: str = "10s", links: Any = None, **path: Any) -> Any:
    given = {"name": "t", "duration": duration, "path": {**PATH, **path}, "flow": flows or [{"cca": "reno"}]}
    return plan.runs(from_dict({**given, "host": host or {}, "link": links or []}))[0].plan


def of(name: str, i: int = 0) -> Any:
    return plan.runs(from_file(ROOT / "scenarios" / f"{name}.toml").scenario)[i].plan


def text(given: Any) -> str:
    made = script.guest(given, Loaded([flow["cca"] for flow in given["flows"]]))
    files = "".join(f"== {name}\n{content}" for name, content in made.files.items())
    return f"memory {made.memory_mb} MB\n== script\n{made.script}{files}"


STEPS = {"steps": [["0s", "10Mbps"], ["1s", "0bps"], ["2s", "20Mbps"]]}
TURNS = {"kind": "on_off", "on": "300ms", "off": "200ms"}
SECOND = {"name": "second", "rate": "20Mbps", "buffer": "1bdp", "delay": "5ms"}
CASES = {
    "pair": lambda: of("pair-cubic-bbr"),
    "kfoury-cake": lambda: of("kfoury-fig21a", 13),
    "kfoury-fq_codel": lambda: of("kfoury-fig21a", 14),
    "steps": lambda: planned(rate=STEPS, qdisc={"kind": "fifo", "limit": "50pkt"}, duration="3s"),
    "rtt-steps": lambda: planned(rtt={"steps": [["0s", "20ms"], ["1s", "60ms"]]}, duration="3s"),
    "in-order": lambda: planned(jitter={"kind": "normal", "spread": "5ms", "reorder": False}, loss="1%"),
    "super-packets": lambda: planned(host={"nic": "virtual"}, burst="128kB", loss="1%"),
    "two-way": lambda: planned(
        [{"cca": "cubic"}, {"cca": "bbr", "direction": "up", "loss": "1%"}],
        {"receivers": "own", "gro": True},
        up={"rate": "2Mbps", "buffer": "20kB"},
        impair=[{"kind": "links"}, {"kind": "delay"}],
    ),
    "several-links": lambda: planned(
        [
            {"cca": "cubic", "via": ["bottleneck", "second"]},
            {"cca": "bbr", "via": ["second", "bottleneck"], "impair": [{"kind": "links"}, {"kind": "loss", "rate": 0.01}]},
            {"cca": "reno", "direction": "up"},
            {"workload": {"probe": "10ms"}, "via": ["second"]},
        ],
        links=[SECOND],
        up={"rate": "2Mbps", "buffer": "20kB"},
    ),
    "policers": lambda: planned(
        [{"cca": "bbr", "via": ["bottleneck", "second"]}],
        links=[{**SECOND, "policer": {"rate": "8Mbps", "burst": "30kB"}}],
        policer={"rate": "9Mbps", "burst": "20kB"},
        up={"rate": "2Mbps", "buffer": "20kB", "policer": {"rate": "1Mbps", "burst": "10kB"}},
    ),
    "applications": lambda: planned(
        [
            {"cca": "cubic", "workload": TURNS},
            {"cca": "bbr", "workload": {"kind": "request_response", "response": "100kB", "think": "50ms", "count": 3}},
            {"cca": "reno", "size": "1MB", "max_rate": "2Mbps"},
        ],
        {"qdisc": "pfifo", "tso": False, "gro": True, "arp": True, "receivers": "own", "traffic": "iperf3",
         "delayed_ack": False},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_plan_becomes_these_files(name: str) -> None:
    made, snapshot = text(CASES[name]()), SNAPSHOTS / f"{name}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        snapshot.parent.mkdir(exist_ok=True)
        snapshot.write_text(made)
    assert made == snapshot.read_text()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rate": {"trace": str(ROOT / "scenarios" / "traces" / "lte-mobile.trace")}}, "path.rate: got a trace"),
        (
            {"policer": {"rate": "5Mbps", "burst": "10kB", "mark": True}},
            "path.policer.mark: got true, wanted false on this back end: tc police does not mark",
        ),
        (
            {"up": {"rate": "1Mbps", "buffer": "1bdp", "policer": {"rate": "1Mbps", "burst": "10kB", "mark": True}}},
            "path.up.policer.mark: got true, wanted false",
        ),
        ({"qdisc": {"kind": "red", "adaptive": True}}, "path.qdisc.adaptive: got true, wanted false on this back end"),
        ({"qdisc": "dualpi2"}, 'path.qdisc: got "dualpi2", wanted one of: '),
        (
            {"up": {"rate": "1Mbps", "buffer": "1bdp", "loss": "1%"}},
            "path.up: impairs acknowledgements before its link, wanted impairments after it with --on uml",
        ),
        (
            {"qdisc": {"kind": "fq", "ce_threshold": "1ms"}},
            "path.qdisc.ce_threshold: got one of fq, wanted none with --on uml",
        ),
        ({"loss": {"packets": [3, 5]}}, "flow[0].loss.packets: got [3, 5], wanted a share or a table of model random"),
        ({"loss": {"steps": [["0s", "0%"], ["1s", "1%"]]}}, "flow[0].loss: changes, wanted a share or a table"),
        ({"jitter": {"kind": "gaussian", "spread": "1ms"}}, 'flow[0].jitter.kind: got "gaussian", wanted uniform'),
        ({"flows": [{"cca": "reno", "transport": "quic"}]}, "flow[0].transport: got quic, wanted tcp"),
        ({"host": {"ecn": "accurate"}}, 'host.ecn: got "accurate", wanted false or classic'),
        ({"host": {"processors": "own"}}, 'host.processors: got "own", wanted "one"'),
        ({"flows": [{"cca": "reno", "count": 501}]}, "flow: 501 flows in all, wanted at most 500"),
    ],
)
def test_what_the_guest_cannot_do_is_one_error_that_says_what_can(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        script.refuse(planned(**given))
    assert str(error.value).startswith(message)
    assert "--on" in str(error.value) or "wanted one of" in str(error.value)


@pytest.mark.parametrize(
    ("link", "key"),
    [
        ({"burst": "0B"}, "link[1].burst"),
        ({"link_header": "2B"}, "link[1].link_header"),
        ({"qdisc": "dualpi2"}, "link[1].qdisc"),
        ({"policer": {"rate": "1Mbps", "burst": "10kB", "mark": True}}, "link[1].policer.mark"),
        ({"policer": {"rate": "8kbps", "burst": "300kB"}}, "link[1].policer.burst"),
        ({"qdisc": {"kind": "fq", "ce_threshold": "1ms"}}, "link[1].qdisc.ce_threshold"),
        ({"rate": {"trace": str(ROOT / "scenarios" / "traces" / "lte-mobile.trace")}}, "link[1].rate"),
    ],
)
def test_what_is_not_possible_at_a_further_link_is_refused_by_the_key_of_that_link(link: Any, key: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        script.refuse(planned(links=[SECOND, {**SECOND, "name": "third", **link}]))
    assert refused.value.key == key


def test_a_way_may_have_as_many_links_as_the_language_allows() -> None:
    links = [{"name": f"l{i}", "rate": "20Mbps", "buffer": "1bdp", "delay": "1us"} for i in range(30)]
    made = planned([{"cca": "reno", "via": ["bottleneck", *(link["name"] for link in links)]}], links=links)
    script.refuse(made)
    # A packet that goes down passes m, and of each link its router, the hub, and t with the hub again.
    passed = 1 + 2 + 4 * len(links)
    assert f"set s0 net/ipv4/ip_default_ttl {script.TTL}" in text(made)
    assert 64 < passed < script.TTL


def test_delays_that_netem_cannot_do_at_once_are_two_netems_in_their_order() -> None:
    up = {"jitter": {"spread": "2ms"}, "loss": "1%"}
    made = script.guest(planned([{"cca": "reno", "via": ["second"]}], links=[SECOND], up=up), Loaded(["reno"]))
    assert "dev in0 root netem limit 1000000 loss random 1% delay 10000us 2000us" in made.files["r1.tc"]
    assert made.files["m0.tc"].splitlines()[1:] == ["qdisc add dev lan root netem limit 1000000 delay 5000us"]


def test_what_the_guest_does_in_another_way_is_said_before_it_runs() -> None:
    given = {"name": "t", "duration": "1s", "path": PATH, "flow": [{"cca": "reno"}], "host": {"gro": True}}
    scenario = from_dict(given)
    assert [warning[:9] for warning in describe(scenario, on="uml")[1]] == ["host.gro:"]
    assert describe(scenario, on="sim")[1] == []


@pytest.mark.parametrize("every_ms", [20, 100, 400, 1000])
def test_a_rate_that_changes_often_is_warned_of_or_refused_because_each_change_fills_tbfs_bucket(every_ms: int) -> None:
    steps = {"steps": [["0s", "8Mbps"], [f"{every_ms}ms", "4Mbps"]], "repeat": f"{2 * every_ms}ms"}
    made = planned(duration="2s", rate=steps)
    # 3028 bytes at each change, of 6 Mbit/s.
    share = (2000 // every_ms - 1) * 3028 * 8 / 12e6
    said = [f"path.rate: each change fills the bucket of tbf: the link may send {share:.1%} more than allowed"]
    assert script.warnings(made) == (said if share > 0.005 else [])
    if share < 0.05:
        script.refuse(made)
        return
    with pytest.raises(ScenarioError, match=rf"path\.rate: .* may send {share:.0%} more than allowed"):
        script.refuse(made)


def test_the_guest_has_memory_for_what_the_path_holds() -> None:
    assert script.memory_mb(planned()) == 1024
    assert script.memory_mb(planned(rate="1Gbps", rtt="300ms", buffer="10bdp")) == 4096
    assert script.memory_mb(planned([{"cca": "reno", "count": 400}])) == 4096


def test_times_that_are_drawn_are_those_of_the_seed() -> None:
    work = {"kind": "on_off", "on": "1s", "off": "1s", "random": True}
    first, again = (text(planned([{"cca": "reno", "workload": work}])) for _ in range(2))
    assert first == again
    assert len(set(first.partition("lengths ")[2].splitlines()[0].split())) > 2


def test_a_rate_of_nothing_is_an_outage_and_every_change_of_a_shaper_restores_its_queue() -> None:
    made = script.guest(planned(rate=STEPS, qdisc={"kind": "fifo", "limit": "50pkt"}), Loaded(["reno"]))
    steps = [line.split() for line in made.files["specification"].splitlines() if line.startswith("step ")]
    assert [(step[1], step[2]) for step in steps] == [
        ("1000000000", "0"), ("1000000000", "1"), ("2000000000", "0"), ("2000000000", "1"),
    ]  # fmt: skip
    assert "100bit" in steps[0]
    assert steps[1][-3:] == ["pfifo", "limit", "50"]


@pytest.mark.parametrize(
    ("qdisc", "key"),
    [
        ({"kind": "fq", "maxrate": "2Mbps"}, "path.qdisc.maxrate"),
        ({"kind": "pie", "ecn_limit": 1}, "path.qdisc.ecn_limit"),
        ({"kind": "red", "min": "8kB", "max": "24kB", "gentle": True}, "path.qdisc.gentle"),
    ],
)
def test_settings_that_the_kernels_disciplines_lack_or_follow_otherwise_are_refused(qdisc: Any, key: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        script.refuse(planned(qdisc=qdisc))
    assert refused.value.key == key
    script.refuse(planned(qdisc={name: value for name, value in qdisc.items() if key != f"path.qdisc.{name}"}))
