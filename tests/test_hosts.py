"""Real hosts: commands for the papers' paths as text, and runs over namespaces with the kernel's own queue disciplines
and with sshd in them.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hosts
from conftest import ROOT, Cli
from dumbbell import ScenarioError, from_dict, from_file, kernel
from dumbbell.backends import netem, script, session, sockets, ssh
from dumbbell.backends.tc import module
from dumbbell.errors import EngineError
from dumbbell.results import load as results
from dumbbell.runs import plan
from dumbbell.scenario.own import Own

SNAPSHOTS = Path(__file__).parent / "snapshots" / "commands"
PATH = {"rate": "10Mbps", "rtt": "1us", "buffer": "50pkt"}
TWO = [{"cca": "cubic"}, {"cca": "reno"}]
FACTS = ssh.Facts("192.0.2.1", "198.51.100.2", "eth0", ("reno", "cubic"), "cubic", {}, 0)

pytestmark = pytest.mark.alone
needs_path = pytest.mark.skipif(
    hosts.missing(hosts.PATH_PROGRAMS) is not None, reason=str(hosts.missing(hosts.PATH_PROGRAMS))
)
needs_hosts = pytest.mark.skipif(hosts.missing() is not None, reason=str(hosts.missing()))


def planned(flows: list[dict[str, Any]] | None = None, **path: Any) -> plan.Planned:
    return plan.runs(from_dict({"name": "t", "duration": "5s", "path": {**PATH, **path}, "flow": flows or TWO}))[0]


def of(name: str, i: int = 0) -> plan.Planned:
    return plan.runs(from_file(ROOT / "scenarios" / f"{name}.toml").scenario)[i]


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
    "netem-yang-jitter": lambda: netem_text(of("yang-jitter", 8)),
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
        netem.check(planned(**path), Own())
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
        ssh.check(planned(flows, **path), Own(), "ssh://a,b")
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
    made = ssh.target("ssh://me@a:2222,[2001:db8::1]:22?to=192.0.2.7&iface=ens7&port=6000")
    assert made == (("-p", "2222", "me@a"), ("-p", "22", "2001:db8::1"), "192.0.2.7", None, "ens7", 6000)
    assert ssh.target("ssh://near,far").receiver == ("far",)


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
        ssh.target(url)


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


def test_a_script_takes_back_what_it_did_in_reverse_and_also_when_a_step_fails(tmp_path: Path) -> None:
    mark = tmp_path / "marks"
    steps = [script.Step(("true",), ("sh", "-c", f"echo {name} >>{mark}")) for name in ("first", "second")]
    text = script.head(10**9, {}, [*steps, script.Step(("false",)), script.Step(("touch", str(tmp_path / "never")))])
    (tmp_path / "run.sh").write_text(text)
    subprocess.run(["setsid", "--wait", "sh", str(tmp_path / "run.sh")], check=False)
    assert mark.read_text() == "second\nfirst\n"
    assert (tmp_path / "status").read_text().startswith("failed: false:")
    assert not (tmp_path / "never").exists()


def test_a_user_who_is_not_root_becomes_it_by_sudo_without_a_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With stand-ins for id and sudo: what is asked of them, and that the script runs and knows where the connection
    came in.
    """
    for name, text in (("id", "echo 1000"), ("sudo", f'printf "%s\\n" "$*" >>{tmp_path}/asked\nshift\nexec "$@"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("SSH_CONNECTION", "192.0.2.1 40000 192.0.2.7 22")
    host = session.Host("node", ("sh", "-c"), is_remote=True)
    assert host.ask("echo $SSH_CONNECTION") == b"192.0.2.1 40000 192.0.2.7 22\n"
    assert (tmp_path / "asked").read_text() == "-n env SSH_CONNECTION=192.0.2.1 40000 192.0.2.7 22 sh -s\n"
    (tmp_path / "sudo").write_text("#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n")
    with pytest.raises(EngineError, match=r"^node: sudo: a password is required$"):
        host.ask("echo never")


def test_a_session_whose_script_was_killed_is_an_error_and_what_it_did_is_taken_back(tmp_path: Path) -> None:
    there = session.Session(session.Host("here", ()), str(tmp_path / "session"))
    there.claim()
    with pytest.raises(EngineError, match="here: a run of"):
        there.claim()
    there.launch(
        script.head(10**9, {}, [script.Step(("true",), ("touch", str(tmp_path / "undone")))]) + "say ready\nsleep 60\n"
    )
    there.wait("ready", until=time.monotonic() + 10, tick=lambda: None)
    os.killpg(int((tmp_path / "session" / "pid").read_text()), signal.SIGKILL)
    with pytest.raises(EngineError, match="here: its session was killed"):
        there.wait("done", until=time.monotonic() + 10, tick=lambda: None)
    there.remove()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["undone"]


def scenario(folder: Path, *, duration: str) -> Path:
    path = folder / "s.toml"
    path.write_text(
        f'name = "t"\nduration = "{duration}"\n[path]\nrate = "10Mbps"\nrtt = "1us"\nbuffer = "50pkt"\n[[flow]]\ncca ='
        ' "cubic"\n[[flow]]\ncca = "reno"\n'
    )
    return path


def goodput_share(line: dict[str, Any]) -> float:
    """Of all payload over the rate, from the first flow's start on: 1448 of 1514 bytes where the link is always
    busy.
    """
    rows = results.load(line["dir"])[0].flows.to_pylist()
    active_us = max(row["stop_us"] for row in rows) - min(row["start_us"] for row in rows)
    return float(sum(row["goodput_bytes"] for row in rows) * 8 / (10 * active_us))


@needs_path
def test_a_path_without_delay_runs_over_the_kernels_own_tbf(tmp_path: Path, cli: Cli) -> None:
    done = cli("run", scenario(tmp_path, duration="3s"), "--json", "--on", "netem")
    assert done.returncode == 0, done.stderr
    line = json.loads(done.stdout)
    assert 0.956 * 0.95 < goodput_share({**line, "dir": tmp_path / line["dir"]}) < 0.956 * 1.05
    assert line["link"]["drops"] > 0
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    assert "dumbbell-" not in left


@needs_path
@pytest.mark.parametrize("chosen", ["by route", "by iperf3 alone"])
def test_a_flow_over_netem_is_paced_by_nobody_whatever_the_machines_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    """Asked from the socket by a controller that tells. Without the route, a default of BBR leaves its pacing behind:
    what the route is for.
    """
    by_route = chosen == "by route"
    default = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
    if not kernel.built_in():
        pytest.skip("built without clang: no controllers for the kernel")
    if not by_route and default in ssh._UNPACED:
        pytest.skip(f"the default here is {default}, which leaves nothing behind")
    if not by_route:
        monkeypatch.setattr(netem._Net, "controllers", lambda *_: None)
    said = set()

    def look(_: int, __: int) -> bool:
        sockets = kernel.status(controller.kernel_name)[0].sockets
        said.update(one.estimates.state for one in sockets if one.local.endswith(":50000") and one.cwnd)
        return True

    with kernel.load(str(ROOT / "tests" / "controllers" / "pacing.c"), numbered=True) as controller:
        of_it = planned([{"cca": "reno"}])
        of_it.plan["flows"][0]["cca"], of_it.plan["host"]["qdisc"] = controller.kernel_name, "pfifo"
        of_it.plan["duration_ns"] = of_it.plan["flows"][0]["stop_ns"] = 2 * 10**9
        netem.run(of_it, tmp_path / "out", scenario_text="", overrides=(), progress=look, own=Own())
    assert said == {"UNPACED" if by_route else "PACED_BY_TCP"}


@needs_path
def test_a_module_that_the_kernel_lacks_is_named(tmp_path: Path) -> None:
    if netem._has("netem"):
        pytest.skip("this kernel has netem")
    with pytest.raises(EngineError, match="no module sch_netem"):
        netem.check(planned(rtt="20ms"), Own())


@pytest.fixture
def two(tmp_path: Path) -> Iterator[hosts.Hosts]:
    with hosts.made(tmp_path) as found:
        yield found


def wait_for(condition: Any, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not come to it"
        time.sleep(0.05)


def connections(process: subprocess.Popen[str]) -> list[int]:
    """The ssh processes that the command line has started."""
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


T0 = Path(ssh.SENDER_FOLDER) / "t0"
URL = f"ssh://near,far?to={hosts.RECEIVER}"


def began() -> str:
    """When the flows of the run between the hosts began, as its session noted it; empty before, also while the file is
    there and not yet written.
    """
    try:
        return T0.read_text()
    except FileNotFoundError:
        return ""


@needs_hosts
def test_a_run_between_two_hosts_survives_a_lost_connection_and_leaves_nothing(
    tmp_path: Path, two: hosts.Hosts
) -> None:
    default = two.at(two.sender, "cat", "/proc/sys/net/ipv4/tcp_congestion_control").strip()
    process = two.start("run", scenario(tmp_path, duration="5s"), "--json", "--out", tmp_path / "out", "--on", URL)
    wait_for(began)
    time.sleep(2)
    killed = connections(process)
    assert killed
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    line = json.loads(out)
    assert any(
        "reno: paced by TCP, for the sender's default controller is" in warning for warning in line["warnings"]
    ) == (default not in ssh._UNPACED)
    assert 0.956 * 0.95 < goodput_share(line) < 0.956 * 1.05
    assert line["link"]["drops"] > 0
    assert 0.95 < line["link"]["utilization"] < 1.02
    wait_for(lambda: two.left() == [], 3)


@needs_hosts
def test_a_run_outlives_a_network_that_is_gone_for_longer_than_a_connection_lasts(
    tmp_path: Path, two: hosts.Hosts
) -> None:
    """From a third host; nothing comes through from or to the sender for 20 s, and ssh gives up after 15
    (ServerAliveInterval).
    """
    process = two.start(
        "run", scenario(tmp_path, duration="30s"), "--json", "--out", tmp_path / "out", "--on", URL, at=two.router
    )
    wait_for(began)
    wait_for(lambda: len(connections(process)) == 1)  # the one that launched the session has ended
    [lost] = connections(process)
    time.sleep(2)  # the flows have opened
    two.at(two.router, "ip", "link", "set", "tos", "down")
    time.sleep(20)
    assert not Path(f"/proc/{lost}").exists(), "the connection that watched the sender has ended"
    two.at(two.router, "ip", "link", "set", "tos", "up")
    out, err = process.communicate(timeout=90)
    assert process.returncode == 0, err
    [result] = results.load(json.loads(out)["dir"])
    goodput = [row["goodput_bytes"] for row in result.flows.to_pylist()]
    assert all(some > 0 for some in goodput)
    assert sum(goodput) * 8 < 10e6 * 15, "the flows had the path for a third of the time"
    wait_for(lambda: two.left() == [], 3)


@needs_hosts
def test_an_interrupt_leaves_nothing_and_what_a_killed_command_left_goes_with_the_next(
    tmp_path: Path, two: hosts.Hosts
) -> None:
    file = scenario(tmp_path, duration="60s")
    first = two.start("run", file, "--out", tmp_path / "first", "--on", URL)
    wait_for(began)
    of_first = began()
    first.kill()
    first.communicate()
    assert "dumbbell0" in two.left()
    second = two.start("run", file, "--out", tmp_path / "second", "--on", URL)
    wait_for(lambda: began() not in ("", of_first))
    second.send_signal(signal.SIGINT)
    _, err = second.communicate(timeout=30)
    assert second.returncode == 130, err
    wait_for(lambda: two.left() == [], 3)
