"""Real hosts over the emulated path: what iperf3 and the kernel measure, and that nothing is left behind. Needs root
and network namespaces.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell import shell
from dumbbell.errors import ScenarioError

#: Payload of a full segment over its bytes on the wire.
PAYLOAD = 1448 / 1514

SCENARIO = """\
duration = "{seconds}s"

[path]
rate = "20Mbps"
rtt = "20ms"
{path}

[host]
qdisc = "pfifo"
hz = {hz}
arp = true
{host}

{flows}
"""

#: What ping does, in an image that may have none: prints the RTT of each echo, ms.
PING = """
import socket, struct, sys, time
def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF
with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as s:
    s.settimeout(5)
    for i in range(int(sys.argv[1])):
        echo = struct.pack("!BBHHH", 8, 0, 0, 77, i)
        echo = struct.pack("!BBHHH", 8, 0, checksum(echo), 77, i)
        began = time.perf_counter()
        s.sendto(echo, ("10.2.0.1", 0))
        s.recv(200)
        print((time.perf_counter() - began) * 1e3)
"""


def why_not() -> str:
    """What is missing for these tests, if anything."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "real hosts need Linux and root"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "real hosts need /dev/net/tun"
    missing = [program for program in ("iperf3", "ip", "tc") if not shutil.which(program)]
    return f"real hosts need {', '.join(missing)}" if missing else ""


pytestmark = [
    pytest.mark.alone,
    pytest.mark.root,
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "everything is there"),
]


def scenario(
    folder: Path,
    name: str,
    *,
    seconds: int = 6,
    path: str = 'buffer = "2bdp"',
    flows: str = '[[flow]]\ncca = "cubic"',
    host: str = "",
) -> Path:
    hz = round(1 / time.clock_getres(6))  # CLOCK_MONOTONIC_COARSE, the kernel's tick
    file = folder / f"{name}.toml"
    file.write_text(SCENARIO.format(seconds=seconds, path=path, flows=flows, hz=hz, host=host))
    return file


def ran(cli: Any, folder: Path, name: str, **more: Any) -> dumbbell.Result:
    done = cli("run", scenario(folder, name, **more), "--on", "linux", "--out", folder / f"out-{name}")
    assert done.returncode == 0, done.stderr
    return dumbbell.load(folder / f"out-{name}")[0]


def untroubled(result: dumbbell.Result) -> list[str]:
    """Warnings that are not about a machine too busy to keep time."""
    return [text for text in result.warnings if "late" not in text]


@pytest.fixture
def untouched() -> Any:
    """Nothing of the emulator's is in the machine's own network, while it runs or afterwards, nor memory of its
    sockets; what others do meanwhile is theirs.
    """

    def ours() -> list[str]:
        commands = (["ip", "-o", "link"], ["ip", "-o", "address"], ["ip", "route", "show", "table", "all"])
        lines = [
            line
            for c in commands
            for line in subprocess.run(c, capture_output=True, text=True, check=True).stdout.splitlines()
        ]
        return [line for line in lines if any(word in line for word in ("path0", "10.1.0.", "10.2.0."))]

    def orphans() -> int:
        """Sockets without a process, in any namespace, which hold what was still under way."""
        words = Path("/proc/net/sockstat").read_text().split()
        return int(words[words.index("orphan") + 1])

    # Others' (of the tests between hosts, which have ended) may be there for minutes, and only become fewer.
    before, orphans_before = ours(), orphans()
    yield
    assert ours() == before
    for _ in range(100):
        if orphans() <= orphans_before:
            return
        time.sleep(0.1)
    pytest.fail(f"{orphans()} sockets without a process after ten seconds, {orphans_before} before the test")


def test_one_cubic_flow_gets_what_the_path_is_configured_for(tmp_path: Path, cli: Any, untouched: None) -> None:
    result = ran(cli, tmp_path, "cubic")
    samples = result.samples.to_pandas()
    late = samples[samples.t_us > 2_000_000]
    goodput = (
        (late.goodput_bytes.iloc[-1] - late.goodput_bytes.iloc[0]) * 8e6 / (late.t_us.iloc[-1] - late.t_us.iloc[0])
    )
    assert goodput == pytest.approx(20e6 * PAYLOAD, rel=0.03)
    report = json.loads((result.folder / "traffic" / "0.json").read_text())
    assert report["end"]["sum_sent"]["bits_per_second"] == pytest.approx(20e6 * PAYLOAD, rel=0.10)
    flow = result.flows.to_pandas().iloc[0]
    assert flow.min_rtt_us == pytest.approx(20_000, abs=1_000)
    assert flow.established_us - flow.start_us == pytest.approx(40_000, abs=2_000), "ARP and SYN, a round trip each"
    link = result.summary["link"]
    assert link["utilization"] > 0.95
    # Loss is found and repaired: each packet that the queue dropped was sent once more, but for the last.
    assert link["drops"] > 0
    assert 0 <= flow.queue_drops - flow.retrans_segs <= 3 or flow.retrans_segs <= flow.queue_drops * 1.1
    # A queue of 2 BDP is 40 ms: full at times, never longer.
    assert 20 < result.summary["flows"][0]["srtt_p95_ms"] <= 62
    assert untroubled(result) == []


def test_the_result_is_one_that_everything_else_reads(tmp_path: Path, cli: Any) -> None:
    result = ran(cli, tmp_path, "short", seconds=2)
    assert not (result.folder / "trace.pcap").exists()
    manifest = result.manifest
    assert (manifest["backend"], manifest["kernel"]) == ("linux", f"Linux {os.uname().release}")
    assert manifest["emulator"]["controllers"] == ["cubic"]
    assert manifest["emulator"]["sysctls"]["net.ipv4.tcp_no_metrics_save"] == "1"
    assert manifest["emulator"]["events"] > 1_000
    assert 18 <= len(result.samples) <= 20
    assert set(result.samples.to_pandas().cwnd > 0) == {True}
    assert len(result.queue) in (20, 21), "a row at each sample time, and one at the end where that is another time"
    kinds = result.events.to_pandas().kind.tolist()
    assert kinds[:2] == ["start", "established"]
    assert kinds[-1] == "stop"
    shown = cli("show", result.folder)
    assert shown.returncode == 0
    assert "cubic" in shown.stdout
    again = cli("run", tmp_path / "short.toml", "--on", "linux", "--out", result.folder.parent, "--resume", "--json")
    assert json.loads(again.stdout)["wall_s"] == manifest["wall_s"], "kept, not run again"


def test_bbr_and_cubic_share_and_each_socket_is_told_apart(tmp_path: Path, cli: Any) -> None:
    flows = '[[flow]]\ncca = "bbr"\n[[flow]]\ncca = "cubic"\nrtt = "30ms"\nstart = "500ms"\nstop = "6s"'
    result = ran(cli, tmp_path, "pair", seconds=8, flows=flows)
    bbr, cubic = result.summary["flows"]
    assert bbr["goodput_mbps"] > 1
    assert cubic["goodput_mbps"] > 1
    samples = result.samples.to_pandas()
    of_bbr, of_cubic = samples[samples.flow == 0], samples[samples.flow == 1]
    assert of_bbr.bw_bps.notna().mean() > 0.8
    assert of_cubic.bw_bps.isna().all()
    assert (of_cubic.t_us.min(), of_cubic.t_us.max()) == (
        pytest.approx(600_000, abs=150_000),
        pytest.approx(5_950_000, abs=150_000),
    )
    table = result.flows.to_pandas()
    assert table.min_rtt_us[1] == pytest.approx(30_000, abs=1_500) or table.min_rtt_us[1] > 30_000, (
        "BBR's queue may never let it see less"
    )
    assert table.stop_us[1] == pytest.approx(6_000_000, abs=60_000)
    assert untroubled(result) == []


def test_fq_codel_keeps_the_queue_short_for_real_tcp(tmp_path: Path, cli: Any) -> None:
    flows = '[[flow]]\ncca = "cubic"\ncount = 2'
    result = ran(cli, tmp_path, "aqm", path='qdisc = "fq_codel"', flows=flows)
    assert result.summary["link"]["utilization"] > 0.9
    assert result.summary["link"]["sojourn_p50_ms"] < 8, "CoDel's target is 5 ms"
    assert result.flows.to_pandas().aqm_drops.sum() > 0
    assert result.summary["jain"] > 0.95


def test_marks_reach_real_tcp_and_its_checksums_hold(tmp_path: Path, cli: Any) -> None:
    """Marking rewrites the IP header: with a wrong checksum the receiver would drop the packet, and the sender send it
    again.
    """
    result = ran(cli, tmp_path, "ecn", seconds=4, path='qdisc = { kind = "fq_codel", ecn = true }', host="ecn = true")
    flow = result.flows.to_pandas().iloc[0]
    assert flow.ecn_marks > 0
    assert (flow.queue_drops, flow.retrans_segs) == (0, 0)
    assert result.summary["link"]["utilization"] > 0.9


def test_impairments_are_the_simulators_own(tmp_path: Path, cli: Any) -> None:
    path = """buffer = "2bdp"
loss = "0.5%"
duplicate = "1%"
corrupt = "0.5%"
jitter = { kind = "gaussian", spread = "1ms" }

[path.ack]
rate = "500kbps"
qdisc = { kind = "cake", ack_filter = true }"""
    result = ran(cli, tmp_path, "impaired", seconds=3, path=path, flows='[[flow]]\ncca = "bbr"')
    flow = result.flows.to_pandas().iloc[0]
    for count, share in ((flow.random_drops, 0.005), (flow["duplicated"], 0.01), (flow.damaged, 0.005)):
        assert count == pytest.approx(share * flow.segs_sent, rel=0.75)
    assert flow.retrans_segs >= flow.random_drops + flow.damaged - 3
    simulated = cli("run", tmp_path / "impaired.toml", "--out", tmp_path / "simulated", "--json")
    assert result.summary["flows"][0]["goodput_mbps"] == pytest.approx(
        json.loads(simulated.stdout)["flows"][0]["goodput_mbps"], rel=0.1
    )


def test_netcat_makes_flows_too_with_a_controller_each(tmp_path: Path, cli: Any) -> None:
    if "OpenBSD" not in subprocess.run("nc -h 2>&1", shell=True, capture_output=True, text=True, check=False).stdout:
        pytest.skip("needs OpenBSD's netcat (Debian: netcat-openbsd)")
    flows = '[[flow]]\ncca = "bbr"\n[[flow]]\ncca = "reno"\nsize = "500kB"'
    result = ran(cli, tmp_path, "netcat", seconds=3, flows=flows, host='traffic = "netcat"')
    assert untroubled(result) == [], "no flow ran another controller than its own"
    assert result.flows.to_pandas().goodput_bytes[1] == 500_000
    assert result.samples.to_pandas().query("flow == 0").bw_bps.notna().any()
    assert (
        sorted(path.suffix for path in (result.folder / "traffic").iterdir())
        == [".client"] * 2 + [".json"] * 2 + [".server"] * 2
    )


def test_python_runs_it_too(tmp_path: Path) -> None:
    [result] = dumbbell.run(scenario(tmp_path, "python", seconds=1), tmp_path / "out", on="linux")
    assert (result.manifest["backend"], len(result.summary["flows"])) == ("linux", 1)


def test_a_sized_transfer_ends_and_a_paced_flow_is_paced(tmp_path: Path, cli: Any) -> None:
    flows = '[[flow]]\ncca = "reno"\nsize = "1MB"\n[[flow]]\ncca = "cubic"\nmax_rate = "5Mbps"\nstart = "1500ms"'
    result = ran(cli, tmp_path, "sized", seconds=5, flows=flows)
    sized, paced = result.summary["flows"]
    # 1 MB at 20 Mbit/s is 0.42 s; slow start from 10 segments and two round trips before it take about 0.2 s more.
    assert 0.45 < sized["fct_s"] < 0.9
    assert paced["goodput_mbps"] == pytest.approx(5 * PAYLOAD, rel=0.1)
    assert result.flows.to_pandas().queue_drops[1] == 0


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            'flows=[[flow]]\ncca = "cubic"\nworkload = { kind = "paced", rate = "1Mbps" }',
            "flow[0].workload: got one, wanted a transfer",
        ),
        ('flows=[[flow]]\ncca = "no-such"', "no-such"),
    ],
)
def test_what_real_hosts_cannot_do_is_one_error_before_anything_starts(
    tmp_path: Path, cli: Any, options: str, expected: str
) -> None:
    key, _, value = options.partition("=")
    done = cli("run", scenario(tmp_path, "refused", **{key: value}), "--on", "linux", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert expected in done.stderr
    assert not (tmp_path / "out").exists()


def test_runs_go_at_once_where_that_is_asked_for(tmp_path: Path, cli: Any) -> None:
    file = scenario(tmp_path, "both", seconds=4, flows='[[flow]]\ncca = ["cubic", "reno"]')
    began = time.monotonic()
    done = cli("run", file, "--on", "linux", "--jobs", "2", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 7.5, "less than both one after the other"
    assert [result.summary["flows"][0]["goodput_mbps"] > 15 for result in dumbbell.load(tmp_path / "out")] == [
        True,
        True,
    ]


def children(pid: int) -> list[int]:
    """Processes that this one has started, and theirs."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in listed.splitlines()]
    direct = [child for child, parent in pairs if parent == pid]
    return [*direct, *(deeper for child in direct for deeper in children(child))]


def programs(pid: int, name: str) -> list[int]:
    """Those of them that are this program, not what makes the path and is gone in a moment."""
    listed = subprocess.run(["ps", "-eo", "pid=,comm="], capture_output=True, text=True, check=True).stdout
    named = {int(line.split()[0]) for line in listed.splitlines() if line.split()[1:] == [name]}
    return [child for child in children(pid) if child in named]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_run_that_is(tmp_path: Path, cli: Any, untouched: None, ended_by: signal.Signals) -> None:
    file, out = scenario(tmp_path, "cut", seconds=60), tmp_path / "out"
    command = [sys.executable, "-m", "dumbbell", "run", str(file), "--on", "linux", "--out", str(out)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        deadline = time.monotonic() + 20
        while len(started := programs(process.pid, "iperf3")) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(1.5)
        assert len(started) >= 2, "a server and a client"
        assert "path0" not in subprocess.run(["ip", "link"], capture_output=True, text=True, check=True).stdout
        namespaces = {Path(f"/proc/{pid}/ns/net").stat().st_ino for pid in started}
        process.send_signal(ended_by)
        process.wait(timeout=10)
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -signal.SIGKILL}[ended_by]
    deadline = time.monotonic() + 5
    while any(map(is_alive, started)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_alive, started))
    listed = subprocess.run(["ps", "-eo", "netns="], capture_output=True, text=True, check=True).stdout.split()
    assert not namespaces & {int(inode) for inode in listed if inode.isdecimal()}
    assert not (out / "cut").exists(), "a folder is whole or not there"
    if ended_by != signal.SIGKILL:
        assert not out.exists(), "a folder that was made for nothing goes, too"
    else:
        file.write_text(file.read_text().replace('"60s"', '"1s"'))
        assert cli("run", file, "--on", "linux", "--out", out, "--resume").returncode == 0
        assert [path.name for path in out.iterdir()] == ["cut"], "what the killed one had begun is swept away"


def test_a_command_behind_a_path_sees_its_delay_and_its_status_is_passed_on(cli: Any, untouched: None) -> None:
    done = cli(
        "shell",
        "--rate",
        "12mbit",
        "--delay",
        "20ms",
        "--buffer",
        "2bdp",
        "--aqm",
        "codel",
        "--",
        sys.executable,
        "-c",
        PING,
        "10",
    )
    assert done.returncode == 0, done.stderr
    rtts = sorted(map(float, done.stdout.split()))
    # 42 bytes take 0.03 ms at 12 Mbit/s, each way.
    assert len(rtts) == 10
    assert rtts[0] >= 40
    assert rtts[5] == pytest.approx(40.1, abs=1)
    assert cli("shell", "--", "sh", "-c", "exit 7").returncode == 7
    assert cli("shell", "--", "sh", "-c", "kill -TERM $$").returncode == 128 + signal.SIGTERM


def test_a_command_behind_a_trace_gets_the_rate_of_the_trace(cli: Any, tmp_path: Path) -> None:
    # An opportunity of 1500 bytes each ms is 12 Mbit/s: here up at 6, down at 12.
    (tmp_path / "up").write_text("2\n")
    (tmp_path / "down").write_text("1\n")
    measure = "sleep 0.3; iperf3 -c $DUMBBELL_FAR -t 2 -J"
    options = [
        "--delay",
        "5ms",
        "--up-trace",
        tmp_path / "up",
        "--down-trace",
        tmp_path / "down",
        "--json",
        tmp_path / "ended",
        "--far",
        "iperf3 -s",
    ]
    done = cli("shell", *options, "--", "sh", "-c", measure)
    assert done.returncode == 0, done.stderr
    received = json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"]
    assert 4.5e6 < received < 6.1e6
    ended = json.loads((tmp_path / "ended").read_text())
    assert ended["up"]["utilization"] > 5 * ended["down"]["utilization"]


def test_a_port_of_the_far_end_stands_for_a_server_elsewhere(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "hello").write_text("hello from outside")
    command = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "0", "--directory", str(tmp_path)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as server:
        assert server.stdout
        port = server.stdout.readline().split(" port ")[1].split()[0]
        fetch = "import urllib.request as u; print(u.urlopen('http://10.2.0.1:8080/hello').read().decode())"
        done = cli("shell", "--delay", "10ms", "--forward", f"8080=127.0.0.1:{port}", "--", sys.executable, "-c", fetch)
        server.terminate()
    assert done.stdout.strip() == "hello from outside", done.stderr


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (shell.Path(up=shell.Way(rate="12parsec")), "shell, up"),
        (shell.Path(delay="20"), "--delay: got"),
        (shell.Path(aqm="codell"), 'did you mean "codel"?'),
        (shell.Path(buffer="2bdp"), "--buffer: got 2bdp, wanted a rate too"),
        (
            shell.Path(up=shell.Way(rate="1Mbps"), down=shell.Way(rate="1Mbps"), buffer="2bdp"),
            "--buffer: got 2bdp, wanted a delay too",
        ),
        (shell.Path(down=shell.Way(buffer="1bdp"), delay="1ms"), "--down-buffer: got 1bdp, wanted a rate too"),
        (
            shell.Path(up=shell.Way(rate="1Mbps", trace="x")),
            "--up-trace: got x and the rate 1Mbps, wanted one of the two",
        ),
        (shell.Path(up=shell.Way(onoff="4s")), '--up-onoff: got "4s", wanted two times above zero'),
        (shell.Path(down=shell.Way(onoff="4s,often")), '--down-onoff: got "4s,often", wanted two times above zero'),
    ],
)
def test_a_path_that_cannot_be_says_which_option_is_wrong(path: shell.Path, expected: str) -> None:
    with pytest.raises(ScenarioError) as error:
        shell.plan(path)
    assert expected in str(error.value)


def test_a_rate_of_both_directions_beside_a_trace_of_one_is_refused(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "up").write_text("2\n")
    done = cli("shell", "--rate", "12mbit", "--up-trace", tmp_path / "up", "--", "true")
    assert done.returncode == 2
    assert (
        done.stderr
        == "dumbbell: --rate: got 12mbit together with --up-trace, wanted --down-rate, for the other direction only\n"
    )


def test_each_direction_has_its_own_queue_and_loss(cli: Any) -> None:
    up, down = (
        shell.Way(rate="10Mbps", buffer="20pkt", loss="100%"),
        shell.Way(rate="20Mbps", aqm="codel", onoff="2s,1s"),
    )
    made = shell.plan(shell.Path(up=up, down=down, delay="10ms", loss="1%"))
    assert (made["bottleneck"]["rate_bps"], made["bottleneck"]["qdisc"]["kind"]) == (10_000_000, "fifo")
    assert (made["ack_links"][0]["rate_bps"], made["ack_links"][0]["qdisc"]["kind"]) == (20_000_000, "codel")
    forward, back = made["flows"][0]["forward"], made["flows"][0]["back"]
    assert [stage["ppb"] for stage in forward if stage["kind"] == "loss"] == [1_000_000_000]
    random, switched = (stage for stage in back if stage["kind"] == "loss")
    assert (random["ppb"], switched["model"]) == (10_000_000, "schedule")
    starts = [at for at, _ in switched["steps"]] + [switched["repeat_ns"]]
    lengths = [after - before for before, after in pairwise(starts)]
    assert sum(lengths[::2]) / len(lengths[::2]) == pytest.approx(2e9, rel=0.1)
    assert sum(lengths[1::2]) / len(lengths[1::2]) == pytest.approx(1e9, rel=0.1)
    assert {share for _, share in switched["steps"][1::2]} == {1_000_000_000}
    # What it says is what happens: nothing gets through where all is lost.
    done = cli(
        "shell", "--up-loss", "100%", "--", sys.executable, "-c", PING.replace("settimeout(5)", "settimeout(0.5)"), "1"
    )
    assert "TimeoutError" in done.stderr
    assert cli("shell", "--down-onoff", "1h,1ms", "--", sys.executable, "-c", PING, "1").returncode == 0


@pytest.mark.parametrize(
    ("command", "status", "why"),
    [("/no/such/command", 127, "No such file or directory"), ("/etc/passwd", 126, "Permission denied")],
)
def test_a_command_that_cannot_be_executed_has_the_status_that_shells_give_it(
    cli: Any, command: str, status: int, why: str
) -> None:
    done = cli("shell", "--", command)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith(f"dumbbell: {command}: {why}")


def test_the_memory_of_the_machine_is_watched_by_the_shell_too(tmp_path: Path) -> None:
    """From the first mark of tcp_mem on no send buffer grows; here a mount of the test's own says that it is one
    page.
    """
    (tmp_path / "tcp_mem").write_text("0 1 2\n")
    command = [sys.executable, "-m", "dumbbell", "shell", "--", "true"]
    script = 'mount --bind "$0" /proc/sys/net/ipv4/tcp_mem && exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, tmp_path / "tcp_mem", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(
        r"TCP used \d+ pages of this machine's memory, and from 0 on \(net.ipv4.tcp_mem\) the kernel lets no send"
        r" buffer grow",
        done.stderr,
    )


#: A command behind a path with a child in the foreground and two in the background, one of them in a session of its
#: own.
FAMILY = "sleep 300 & setsid sleep 301 & (sleep 302; true); true"
#: The same for SIGINT, which a shell that waits for a child in the foreground leaves to that.
INTERRUPTED = "trap 'exit 130' INT; sleep 300 & setsid sleep 301 & sleep 302 & wait"


def sleepers() -> list[str]:
    """The commands of such a family that are alive."""
    listed = subprocess.run(["ps", "-eo", "args="], capture_output=True, text=True, check=True).stdout
    return sorted(line for line in listed.splitlines() if re.fullmatch(r"sleep 30\d", line))


@pytest.mark.parametrize(
    ("ended_by", "status"),
    [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGINT, 128 + signal.SIGINT)],
)
def test_nothing_is_left_of_a_shell_that_is(untouched: None, ended_by: signal.Signals, status: int) -> None:
    command = [
        sys.executable,
        "-m",
        "dumbbell",
        "shell",
        "--far",
        "sleep 303",
        "--",
        "sh",
        "-c",
        INTERRUPTED if ended_by == signal.SIGINT else FAMILY,
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        deadline = time.monotonic() + 20
        while len(sleepers()) < 4 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert sleepers() == ["sleep 300", "sleep 301", "sleep 302", "sleep 303"]
        process.send_signal(ended_by)
        try:
            process.wait(timeout=10)
        finally:
            process.kill()
    assert process.returncode == status
    deadline = time.monotonic() + 5
    while sleepers() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert sleepers() == []


def test_processes_behind_a_path_have_a_list_of_their_own(cli: Any) -> None:
    done = cli(
        "shell",
        "--",
        "sh",
        "-c",
        "sleep 300 & ps -eo comm= | grep -cx sleep; ls -d /proc/[0-9]* | wc -l; kill -KILL $!",
    )
    assert done.returncode == 0, done.stderr
    mine, all_of_them = map(int, done.stdout.split())
    assert mine == 1
    assert all_of_them < 10


#: Mounts that only this command sees: a place where anybody may write, and a TUN device that anybody may open, as
#: distributions have it. Then not root.
UNPRIVILEGED = """
mount -t tmpfs none /mnt && cd /mnt && chmod 777 . && mknod -m 666 tun c 10 200 && mount --bind tun /dev/net/tun && cp "$0" given.toml || exit 77
export HOME=$PWD PYTHONDONTWRITEBYTECODE=1
exec setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"
"""


def unprivileged(file: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["unshare", "--mount", "sh", "-c", UNPRIVILEGED, str(file), sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_without_root_the_kernels_own_controllers_run_in_a_user_namespace(tmp_path: Path) -> None:
    file = scenario(tmp_path, "user", seconds=2)
    if unprivileged(file, "-c", "import dumbbell._native").returncode != 0:
        pytest.skip("an ordinary user cannot read this checkout, or this process may not mount")
    run = ["-m", "dumbbell", "run", "given.toml", "--on", "linux", "--json"]
    done = unprivileged(file, *run, "--out", "out")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["flows"][0]["goodput_mbps"] > 10
    done = unprivileged(file, *run, "--out", "out", "--set", "flow[0].cca=bbr2")
    assert done.returncode == 2
    assert "root could load it" in done.stderr
    done = unprivileged(file, "-m", "dumbbell", "shell", "--delay", "5ms", "--", "sh", "-c", "exit 5")
    assert (done.returncode, done.stderr) == (5, "")


def test_slow_start_ends_where_the_simulators_does(tmp_path: Path, cli: Any) -> None:
    """HyStart sees how ACKs are spaced: it tells whether a socket was paced that should not be, and whether iperf3's
    greeting shifted its rounds.
    """

    def exit_window(on: str) -> tuple[int, list[str]]:
        file = scenario(tmp_path, "hystart", seconds=2, path='buffer = "8bdp"', host='traffic = "iperf3"')
        out = tmp_path / f"out-{on}-{time.monotonic_ns()}"
        done = cli("run", file, "--on", on, "--out", out, "--set", "record.every=10ms")
        assert done.returncode == 0, done.stderr
        run = dumbbell.load(out)[0]
        table = run.samples.to_pydict()
        return next(int(value) for value in table["ssthresh"] if value and value < 1_000_000), run.manifest.warnings

    wanted, _ = exit_window("sim")
    # A virtual machine that stands still for some milliseconds in the first ten round trips moves it: an attempt
    # that agrees is enough, since a paced socket, or rounds that are shifted, agree in none.
    attempts = []
    while len(attempts) < 8:
        attempts.append(exit_window("linux"))
        if abs(attempts[-1][0] - wanted) <= 0.1 * wanted:
            return
    pytest.fail(f"slow start ends at {wanted} in the simulator, on Linux at {attempts}")
