"""`dumbbell shell`: a command behind an emulated path. Needs root and network namespaces."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dumbbell import shell
from dumbbell.errors import ScenarioError
from emulated import NEEDS

pytestmark = NEEDS

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
        (shell.Path(up=shell.Direction(rate="12parsec")), '--up-rate: got "12parsec"'),
        (shell.Path(delay="20"), "--delay: got"),
        (shell.Path(delay="25h"), '--delay: got "25h", wanted a delay whose round trip, twice of it, is a time'),
        (shell.Path(aqm="codell"), 'did you mean "codel"?'),
        (shell.Path(buffer="2bdp"), "--buffer: got 2bdp, wanted a rate as well"),
        (
            shell.Path(up=shell.Direction(rate="1Mbps"), down=shell.Direction(rate="1Mbps"), buffer="2bdp"),
            "--buffer: got 2bdp, wanted a delay as well",
        ),
        (
            shell.Path(down=shell.Direction(buffer="1bdp"), delay="1ms"),
            "--down-buffer: got 1bdp, wanted a rate as well",
        ),
        (
            shell.Path(up=shell.Direction(rate="1Mbps", trace="x")),
            "--up-trace: got x and the rate 1Mbps, wanted one of the two",
        ),
        (shell.Path(up=shell.Direction(onoff="4s")), '--up-onoff: got "4s", wanted two times above zero'),
        (
            shell.Path(down=shell.Direction(onoff="4s,often")),
            '--down-onoff: got "4s,often", wanted two times above zero',
        ),
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


@pytest.mark.parametrize("place", ["missing/figures.json", "."])
def test_a_file_that_figures_cannot_go_to_is_refused_before_the_command_runs(
    cli: Any, tmp_path: Path, place: str
) -> None:
    done = cli("shell", "--json", tmp_path / place, "--", "touch", tmp_path / "ran")
    assert (done.returncode, (tmp_path / "ran").exists()) == (2, False)
    assert done.stderr.startswith("dumbbell: --json: got ")
    assert done.stderr.endswith(", wanted a file that can be written, in a folder that exists\n")


def test_each_direction_has_its_own_queue_and_loss(cli: Any) -> None:
    up, down = (
        shell.Direction(rate="10Mbps", buffer="20pkt", loss="100%"),
        shell.Direction(rate="20Mbps", aqm="codel", onoff="2s,1s"),
    )
    made = shell.plan(shell.Path(up=up, down=down, delay="10ms", loss="1%"))
    assert (made["links"][0]["rate_bps"], made["links"][0]["qdisc"]["kind"]) == (10_000_000, "fifo")
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


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_command_whenever_it_comes(untouched: None, sent: signal.Signals) -> None:
    command = [sys.executable, "-m", "dumbbell", "shell", "--", "sleep", "60"]
    for after_ms in range(0, 400, 40):
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
            time.sleep(after_ms / 1e3)
            process.send_signal(sent)
            try:
                status = process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                raise AssertionError(f"{sent.name} after {after_ms} ms is lost") from None
        assert status in (128 + sent, -sent, 1), after_ms  # 1: the interpreter itself had not started yet
