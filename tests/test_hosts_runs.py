"""Real hosts: runs over namespaces with the kernel's own queue disciplines and with sshd in them; nothing is left
behind.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hosts
from conftest import ROOT, Cli
from dumbbell import kernel
from dumbbell.backends import netem, script, session, ssh
from dumbbell.backends.request import Request
from dumbbell.errors import EngineError
from dumbbell.results import load as results
from hosts import planned

pytestmark = pytest.mark.alone
needs_path = pytest.mark.skipif(
    hosts.missing(hosts.PATH_PROGRAMS) is not None, reason=str(hosts.missing(hosts.PATH_PROGRAMS))
)
needs_hosts = pytest.mark.skipif(hosts.missing() is not None, reason=str(hosts.missing()))


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
        monkeypatch.setattr(netem._Net, "controllers", lambda *_, **__: None)
    said = set()

    def look(_: int, __: int) -> None:
        sockets = kernel.status(controller.kernel_name)[0].sockets
        said.update(one.estimates.state for one in sockets if one.local.endswith(":50000") and one.cwnd)

    with kernel.load(str(ROOT / "tests" / "controllers" / "pacing.c"), numbered=True) as controller:
        of_it = planned([{"cca": "reno"}])
        of_it.plan["flows"][0]["cca"], of_it.plan["host"]["qdisc"] = controller.kernel_name, "pfifo"
        of_it.plan["duration_ns"] = of_it.plan["flows"][0]["stop_ns"] = 2 * 10**9
        netem.run(Request(of_it, "netem", progress=look), tmp_path / "out")
    assert said == {"UNPACED" if by_route else "PACED_BY_TCP"}


@needs_path
def test_a_module_that_the_kernel_lacks_is_named(tmp_path: Path) -> None:
    if netem._has("netem"):
        pytest.skip("this kernel has netem")
    with pytest.raises(EngineError, match="no module sch_netem"):
        netem.check(Request(planned(rtt="20ms"), "netem"))


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


BOTH_WAYS = """\
name = "t"
duration = "5s"
[host]
qdisc = "pfifo"
[path]
rate = "10Mbps"
rtt = "1us"
buffer = "100kB"
[path.up]
rate = "4Mbps"
buffer = "40kB"
[[flow]]
cca = "cubic"
[[flow]]
cca = "reno"
direction = "up"
[[flow]]
workload = { probe = "20ms" }
[[flow]]
name = "probes up"
direction = "up"
workload = { probe = "20ms" }
"""


def check_both_ways(folder: Path, *, clocks_us: int) -> None:
    """Each way is full, of data of one flow and acknowledgements of the other; probes wait in both queues."""
    result = results.load(folder)[0]
    down, up = result.flows.to_pylist()
    seconds = [(row["stop_us"] - row["start_us"]) / 1e6 for row in (down, up)]
    rates = [row["goodput_bytes"] * 8e-6 / s for row, s in zip((down, up), seconds)]
    # Acknowledgements of the other flow take their part of each way, and are lost and late where it is full.
    assert 0.956 * 10 * 0.5 < rates[0] < 0.956 * 10
    assert 0.956 * 4 * 0.5 < rates[1] < 0.956 * 4
    queue = result.queue.to_pylist()
    for link, rate in ((0, 10), (1, 4)):
        rows = [row for row in queue if row["link"] == link]
        assert rows[-1]["dropped_packets"] > 0
        # What the link sent is no more than its rate lets through, and most of that.
        assert 0.5 < rows[-1]["sent_bytes"] * 8 / (rate * rows[-1]["t_us"]) < 1.05
    assert {row["flow"] for row in result.samples.to_pylist()} == {0, 1}
    for series in (0, 1):
        rows = [row for row in result.probes.to_pylist() if row["probe"] == series]
        assert 230 <= len(rows) <= 250
        answered = [row for row in rows if row["rtt_us"] is not None]
        assert len(answered) > 0.8 * len(rows)
        assert all(-clocks_us <= row["there_us"] <= row["rtt_us"] + clocks_us for row in answered)
        # Both queues are full at times: 80 ms each.
        assert 80_000 < max(row["rtt_us"] for row in answered) < 250_000


@needs_path
def test_data_and_probes_go_both_ways_over_the_kernels_own_tbf(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "b.toml").write_text(BOTH_WAYS)
    done = cli("run", tmp_path / "b.toml", "--on", "netem", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    check_both_ways(tmp_path / "out", clocks_us=0)
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    assert "dumbbell-" not in left


@needs_hosts
def test_data_and_probes_go_both_ways_between_two_hosts(tmp_path: Path, two: hosts.Hosts) -> None:
    (tmp_path / "b.toml").write_text(BOTH_WAYS)
    process = two.start("run", tmp_path / "b.toml", "--out", tmp_path / "out", "--on", URL)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    # The clocks are compared over connections of ssh, which take a while to make.
    check_both_ways(tmp_path / "out", clocks_us=50_000)
    wait_for(lambda: two.left() == [], 3)


@needs_hosts
def test_a_papers_figure_runs_with_the_hosts_own_controllers_and_says_so(tmp_path: Path, two: hosts.Hosts) -> None:
    changed = ("--set", "duration=3s", "--set", "path.rtt=1us", "--at", "queue_packets=63", "--repetitions", "1")
    where = ("--on", URL, "--store", tmp_path / "store", "--out", tmp_path / "out")
    process = two.start("reproduce", "borgli/fig8", "--fast", *changed, *where, "--json")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    entry = json.loads(out)
    assert [remark.partition(":")[0] for remark in entry["left_out"]] == [
        "the hosts' own cubic instead of preset linux-4.9",
        "the hosts' own interfaces instead of host.nic = virtual",
        "no capture is kept",
        "the hosts' own bbr instead of preset linux-4.9",
    ]
    assert "on ssh: the hosts' own bbr instead of preset linux-4.9" in (tmp_path / "out" / "scoreboard.md").read_text()
    assert entry["claims"][0]["verdict"] in ("holds", "fails"), "the RTTs are there"
