"""Real hosts, without any: commands for the papers' paths as text, what is refused before anything starts, and what is
read from what `ss` and `tc` print.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from dumbbell import ScenarioError, from_file, plan
from dumbbell.backends import netem, script, sockets, ssh, ssh_target
from dumbbell.backends.request import Request
from dumbbell.backends.tc import module
from hosts import planned

SNAPSHOTS = Path(__file__).parent / "snapshots" / "commands"
FACTS = ssh.Facts("192.0.2.1", "198.51.100.2", "eth0", ("reno", "cubic"), "cubic", {}, 0)

pytestmark = pytest.mark.alone


def of(name: str, i: int = 0) -> plan.Planned:
    return plan.runs(from_file(ROOT / "scenarios" / f"{name}.toml").scenario)[i]


def overtaking(run: plan.Planned) -> plan.Planned:
    """The same, with jitter that netem can do: packets overtake."""
    for flow in run.plan["flows"]:
        for stage in flow["forward"]:
            if stage.get("jitter"):
                stage["jitter"]["reorder"] = True
    return run


def netem_text(run: plan.Planned) -> str:
    return "".join(
        f"{shlex.join(argv)}\n"
        for argv in netem.topology(run.plan, "", [flow["cca"] for flow in run.plan["flows"]]).build
    )


def ssh_text(run: plan.Planned) -> str:
    steps, _ = ssh.bottleneck(run.plan, FACTS, 5201)
    ends = ssh.ends_of(run.plan, FACTS, 5201)
    lines = [shlex.join(step.do) for step in steps]
    for one, client in zip(ends, script.clients(run.plan, ends, [flow["cca"] for flow in run.plan["flows"]])):
        lines += [shlex.join(script.server(one)), shlex.join(client)]
    return "".join(f"{line}\n" for line in lines)


#: What Kfoury et al. had: tail drop, FQ-CoDel with its own limit and with the buffer as limit, FQ-CoDel that marks as
#: DCTCP wants it, CAKE; at 1 BDP.
CASES = {
    "netem-kfoury-fifo": lambda: netem_text(of("kfoury-fig21a", 12)),
    "netem-kfoury-cake": lambda: netem_text(of("kfoury-fig21a", 13)),
    "netem-kfoury-fq_codel": lambda: netem_text(of("kfoury-fig21a", 14)),
    "netem-kfoury-fq_codel-buffer": lambda: netem_text(of("kfoury-fig21a", 15)),
    "netem-kfoury-fq_codel-ecn": lambda: netem_text(of("kfoury-fig21a-ecn", 0)),
    "netem-yang-jitter": lambda: netem_text(overtaking(of("yang-jitter", 8))),
    "ssh-borgli-fig1": lambda: ssh_text(of("borgli-fig1")),
    "ssh-fabric-10g": lambda: ssh_text(of("fabric-10g")),
}


@pytest.mark.parametrize("name", CASES)
def test_the_papers_paths_become_these_commands(name: str) -> None:
    made, snapshot = CASES[name](), SNAPSHOTS / f"{name}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        snapshot.write_text(made)
    assert made == snapshot.read_text()


def shapers() -> list[str]:
    """Every `tc qdisc` and `tc class` command of the snapshots, without where it is to run."""
    lines = {line for snapshot in SNAPSHOTS.iterdir() for line in snapshot.read_text().splitlines()}
    return sorted({line[line.index("tc ") :] for line in lines if re.search(r"(^| )tc (qdisc|class) ", line)})


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("tc") is None, reason="needs root and tc")
@pytest.mark.parametrize("command", shapers())
def test_the_real_tc_understands_each_command(command: str) -> None:
    """Also for modules that this kernel lacks: `tc` ends with 1 where it does not understand, with 2 where the kernel
    refuses what it understood.
    """
    on_a_device = re.sub(r"dev \S+", "dev d0", command)
    script = f"ip link add d0 type veth peer name d1 && {on_a_device}"
    done = subprocess.run(["unshare", "--net", "sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 2), done.stderr


def test_flows_that_are_delayed_differently_have_lanes_of_their_own() -> None:
    flows = [{"cca": "reno", "rtt": "10ms"}, {"cca": "reno", "rtt": "50ms"}, {"cca": "cubic", "rtt": "10ms"}]
    made = netem.topology(planned(flows, loss="0.01%").plan, "", ["reno", "reno", "d_cubic"])
    assert [one.target for one in made.ends] == ["10.2.1.1", "10.2.2.1", "10.2.1.2"]
    impaired = [(argv[3], argv[8], " ".join(argv[12:])) for argv in made.build if "netem" in argv]
    assert impaired == [
        ("a", "lane1", "1000000 loss random 0.01% delay 5000us"), ("b", "lane1", "1000000 delay 5000us"),
        ("a", "lane2", "1000000 loss random 0.01% delay 25000us"), ("b", "lane2", "1000000 delay 25000us"),
    ]  # fmt: skip
    chosen = {argv[7]: argv[-1] for argv in made.build if "congctl" in argv}
    assert chosen == {"10.2.1.1": "reno", "10.2.2.1": "reno", "10.2.1.2": "d_cubic"}, "by the route, before iperf3 asks"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ({"rate": {"steps": [["0s", "40Mbps"], ["1s", "20Mbps"]]}}, "t: path.rate: changes, wanted a constant rate"),
        ({"qdisc": "dualpi2"}, 't: path.qdisc: got "dualpi2", wanted one of: '),
        ({"jitter": {"kind": "normal", "spread": "1ms", "reorder": False}}, "t: flow[0].jitter.reorder: got false"),
    ],
)
def test_what_netem_cannot_do_is_one_error_before_anything_starts(path: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        netem.check(Request(planned(**path), "netem"))
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("flows", "path", "message"),
    [
        (None, {"loss": "1%"}, "t: path: loses, delays or reorders packets"),
        ([{"cca": "reno", "rtt": "1ms"}, {"cca": "reno"}], {}, "t: flow[1].rtt: differs"),
        ([{"cca": "bbr", "params": {"startup_gain": 700}}], {}, "t: flow[0].params: got parameters"),
    ],
)
def test_what_a_path_of_its_own_cannot_do_is_one_error_before_a_host_is_asked(
    flows: Any, path: dict[str, Any], message: str
) -> None:
    with pytest.raises(ScenarioError) as error:
        ssh.check(Request(planned(flows, **path), "ssh://a,b"))
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("ccas", "default", "paced"),
    [
        (
            ("cubic", "bbr", "reno", "cubic"),
            "bbr",
            "cubic, reno: paced by TCP, for the sender's default controller is bbr",
        ),
        (("dctcp",), "prague", "dctcp: paced by TCP, for the sender's default controller is prague"),
        (("cubic", "reno"), "cubic", None),
        (("bbr",), "bbr2", None),
    ],
)
def test_a_default_that_paces_is_a_warning_for_flows_that_do_not(
    ccas: tuple[str, ...], default: str, paced: str | None
) -> None:
    warnings = ssh.default_warnings(planned([{"cca": cca} for cca in ccas]).plan, default)
    assert [warning.startswith(str(paced)) for warning in warnings] == ([True] if paced else [])


def test_a_url_names_two_hosts_as_ssh_takes_them() -> None:
    made = ssh_target.target("ssh://me@a:2222,[2001:db8::1]:22?to=192.0.2.7&iface=ens7&port=6000")
    assert made == (("-p", "2222", "me@a"), ("-p", "22", "2001:db8::1"), "192.0.2.7", None, "ens7", 6000)
    assert ssh_target.target("ssh://near,far").receiver == ("far",)


@pytest.mark.parametrize(
    "url",
    [
        "ssh://a",
        "ssh://a,b,c",
        "ssh://a,",
        "ssh:a,b",
        "ssh://-oProxyCommand=x,b",
        "ssh://a:x,b",
        "ssh://a,b?to=host",
        "ssh://a,b?iface=",
        "ssh://a,b?port=80",
        "ssh://a,b?cc=1",
    ],
)
def test_a_url_that_says_something_else_is_refused(url: str) -> None:
    with pytest.raises(ScenarioError, match=r"^--on: got "):
        ssh_target.target(url)


@pytest.mark.parametrize(("port", "count"), [(5201, 1), (5201, 2), (5201, 100), (65_000, 500), (1024, 2000)])
def test_a_mask_of_ports_covers_all_of_them_and_no_smaller_one_does(port: int, count: int) -> None:
    first, mask = ssh.covering(port, count)
    assert {p & mask for p in range(port, port + count)} == {first}
    narrower = mask >> 1 | 0x8000
    assert mask == 0xFFFF or len({p & narrower for p in range(port, port + count)}) > 1


#: As ss 6.1 prints them; BBR's line follows misc/ss.c (tcp_stats_print).
SS = """\
ESTAB 0      0      127.0.0.1:50000 127.0.0.1:5999
\t ts sack bbr wscale:10,10 rto:204 rtt:0.181/0.293 mss:1448 cwnd:237 ssthresh:12 bytes_sent:40 bytes_retrans:9 bytes_acked:31 data_segs_out:7 \
bbr:(bw:9.5Mbps,mrtt:20.5,pacing_gain:2.88672,cwnd_gain:2) send 1bps lastack:3 pacing_rate 1.5Gbps delivery_rate 209545600000bps delivered:5 busy:612ms \
unacked:9 retrans:1/16 lost:2 sacked:3 minrtt:0.002
"""


def test_a_socket_is_read_from_what_ss_prints() -> None:
    [one] = sockets.sockets(SS)
    assert (one.data_port, one.cca, one.whole("cwnd"), one.us("rtt"), one.us("minrtt")) == (50_000, "bbr", 237, 181, 2)
    assert (one.whole("retrans"), one.whole("retrans_other"), one.whole("pacing_rate")) == (1, 16, 1_500_000_000)
    assert one.bbr == {"bw": 9_500_000, "mrtt": 20.5, "pacing_gain": 2.88672, "cwnd_gain": 2}


def test_counters_are_those_of_the_queue_and_not_of_the_shaper_around_it() -> None:
    said = """\
qdisc htb 1: root refcnt 2 r2q 10 default 0x1 direct_packets_stat 0 direct_qlen 32
 Sent 1 bytes 2 pkt (dropped 3, overlimits 4 requeues 0)
 backlog 0b 0p requeues 0
qdisc fq_codel 10: parent 1:1 limit 50p
 Sent 1514000 bytes 1000 pkt (dropped 17, overlimits 0 requeues 0)
 backlog 74Kb 50p requeues 0
  maxpacket 1514 drop_overlimit 0 new_flow_count 0 ecn_mark 5
"""
    assert sockets.counters(said, "10:") == (1_514_000, 1000, 17, 74 << 10, 50, 5)
    assert sockets.counters(said, "2:") is None


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("tc qdisc add dev out root handle 1: tbf rate 1bit", "sch_tbf"),
        ("tc qdisc add dev out parent 1:1 handle 10: pfifo limit 5", "sch_fifo"),
        ("ip link add name dumbbell0 type ifb", "ifb"),
        ("ip route add default", None),
    ],
)
def test_a_command_tells_which_module_it_needs(command: str, name: str | None) -> None:
    assert module(command) == name


@pytest.mark.parametrize(
    "hosts",
    ["u@-oX,b", "-oX,b", "a,u@-oProxyCommand=x", "a,-b", "@b,c", "u@,c", "-u@b,c", "a b,c", "u@$(x),c", "a;x,c",
     "u@b\x1b,c", "a`x`,c", "u@-oX:22,b", "[-oX]:22,b"],
)  # fmt: skip
def test_a_host_that_ssh_or_a_shell_would_take_for_something_else_is_refused(hosts: str) -> None:
    with pytest.raises(ScenarioError, match="wanted"):
        ssh_target.target(f"ssh://{hosts}")


@pytest.mark.parametrize(
    "host", ["u@b", "b.example.org", "u@[fe80::1%eth0]:22", "me@corp@b", "10.0.0.1:2222", "u-x@b_c"]
)
def test_hosts_as_ssh_takes_them_are_taken(host: str) -> None:
    assert ssh_target.target(f"ssh://{host},other").sender[-1].rpartition("@")[2]
