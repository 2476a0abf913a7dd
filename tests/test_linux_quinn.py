"""Flows of quinn over UDP sockets between namespaces: what its ends tell against the capture, the links and the
simulator. Needs root and network namespaces.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

import dumbbell
from closed_form import rows
from emulated import NEEDS, ran, scenario, untroubled

pytestmark = NEEDS

TSHARK = shutil.which("tshark")
PATH = """buffer = "1bdp"

[path.up]
rate = "8Mbps"
buffer = "40kB"

[record]
pcap = true
"""
#: Down a transfer of a size and quinn's own CUBIC after it, up our BBR, and TCP beside them.
FLOWS = """
[[flow]]
transport = "quinn"
cca = "quinn:cubic"
size = "2MB"
[[flow]]
transport = "quinn"
cca = "bbr"
direction = "up"
start = "500ms"
stop = "5s"
[[flow]]
cca = "cubic"
start = "2s"
"""
QUINN = """
[[flow]]
transport = "quinn"
cca = "{}"
"""


def datagrams(capture: Path) -> list[tuple[str, int]]:
    """Sender and payload of each UDP datagram, as tshark counts them."""
    assert TSHARK is not None
    fields = ["-e", "ip.src", "-e", "udp.length"]
    command = [TSHARK, "-n", "-r", str(capture), "-Y", "udp", "-T", "fields", *fields]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    words = [line.split("\t") for line in lines]
    return [(source, int(length) - 8) for source, length in words]


@pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")
def test_its_ends_tell_what_the_capture_and_the_links_have(tmp_path: Path, cli: Any, untouched: None) -> None:
    result = ran(cli, tmp_path, "both", path=PATH, flows=FLOWS)
    down, up, tcp = rows(result, "flows")
    assert [flow["transport"] for flow in (down, up, tcp)] == ["quinn", "quinn", "tcp"]
    seen = datagrams(Path(result.folder) / "trace.pcap")
    # The flow down starts on an empty path. The first round trips of the flow up wait in the queue that it has built:
    # 7.5 ms in the simulator, where the flow up therefore measures a least RTT of 27.6 ms. Later ones wait in its own.
    assert 20_000 <= down["min_rtt_us"] < 23_000
    assert 24_000 <= up["min_rtt_us"] < 32_000
    for flow, source, answering in ((down, "10.1.0.1", "10.2.0.1"), (up, "10.2.0.2", "10.1.0.2")):
        sent = [length for one, length in seen if one == source]
        # At its stop a sender has written a datagram or two that the path does not take any more.
        assert 0 <= flow["bytes_sent"] - sum(sent) <= 2 * 1200
        answers = sum(one == answering for one, _ in seen)
        # What is on the way back, or was lost there.
        assert 0 <= flow["acks_sent"] - answers <= 60
        # The other end's address and the handshake; at most a queue of 20 ms is on one of the ways.
        assert 40_000 <= flow["established_us"] - flow["start_us"] < 66_000
        # Of 1200 bytes 28 to 33 are header, tag and frame; what was lost is sent again.
        kept = sum(sent) - 1200 * (flow["queue_drops"] + flow["random_drops"])
        # At its stop the flow up has two windows under way, 8 Mbit/s for 60 ms.
        under_way = 0 if flow["completed_us"] else 60_000
        assert 0.96 * kept - under_way < flow["goodput_bytes"] < 0.98 * kept
        # A loss is known a round trip later.
        assert flow["lost_segs"] == pytest.approx(flow["queue_drops"], abs=40)
    assert down["completed_us"] is not None
    assert down["goodput_bytes"] == 2_000_000
    assert tcp["goodput_bytes"] > 1_000_000
    last = [row for row in rows(result, "queue") if row["link"] == 1][-1]
    # Up: datagrams of one flow, acknowledgements of the others.
    upward = sum(length + 42 for source, length in seen if source == "10.2.0.2")
    assert last["sent_bytes"] + last["dropped_bytes"] >= upward


def test_samples_follow_the_window_and_the_receiver(tmp_path: Path, cli: Any) -> None:
    result = ran(cli, tmp_path, "samples", flows=QUINN.format("quinn:cubic"))
    assert not untroubled(result)
    samples = [row for row in rows(result, "samples") if row["t_us"] > 1_000_000]
    assert len(samples) > 40
    for row in samples:
        paced = 1.25 * row["cwnd"] * 1200 * 8 / (row["srtt_us"] / 1e6)
        assert row["pacing_bps"] == pytest.approx(paced, rel=1.1 / row["cwnd"])
        assert row["in_flight"] <= row["cwnd"] / 0.7 + 2, "a reduction takes a round to show"
        assert 20_000 <= row["min_rtt_us"] <= min(row["srtt_us"], row["rtt_us"])
    (flow,) = rows(result, "flows")
    assert samples[-1]["goodput_bytes"] == pytest.approx(flow["goodput_bytes"], rel=0.05)
    found = [row["value"] for row in rows(result, "events") if row["kind"] == "loss_detected"]
    assert sum(found) == flow["lost_segs"] > 0


@pytest.mark.parametrize("cca", ["quinn:cubic", "quinn:newreno", "cubic", "bbr"])
def test_the_simulator_has_the_same_figures(tmp_path: Path, cli: Any, cca: str) -> None:
    flows = QUINN.format(cca)
    real = ran(cli, tmp_path, "real", seconds=8, flows=flows)
    (simulated,) = dumbbell.run(scenario(tmp_path, "sim", seconds=8, flows=flows), tmp_path / "sim")
    ((seen,), (expected,)) = rows(real, "flows"), rows(simulated, "flows")
    assert seen["goodput_bytes"] == pytest.approx(expected["goodput_bytes"], rel=0.03)
    assert seen["lost_segs"] == pytest.approx(expected["lost_segs"], rel=0.35, abs=30)
    means = [fmean(row["srtt_us"] for row in rows(one, "samples") if row["srtt_us"]) for one in (real, simulated)]
    assert means[0] == pytest.approx(means[1], rel=0.12)


def test_marks_cross_the_sockets_both_ways(tmp_path: Path, cli: Any) -> None:
    path = 'buffer = "1bdp"\nqdisc = { kind = "codel", target = "2ms", ecn = true }'
    result = ran(cli, tmp_path, "marks", path=path, flows=QUINN.format("quinn:cubic"), host="ecn = true")
    (flow,) = rows(result, "flows")
    assert flow["ecn_marks"] > 0
    # A mark is an event, and no packet is lost to CoDel.
    assert flow["recoveries"] > 0
    assert flow["aqm_drops"] == 0


@pytest.mark.parametrize(
    ("on", "flow", "said"),
    [
        ("bpf", QUINN.format("cubic"), r"flow\[0\]\.transport: got \"quinn\", wanted tcp with --on bpf"),
        ("linux", QUINN.format("dctcp"), "number of CE marks"),
        ("linux", QUINN.format("cubic") + 'workload = { kind = "paced", rate = "1Mbps", message = "1kB" }', "workload"),
        ("linux", '[[flow]]\ncca = "cubic"\ntransport = "quic"', r"transport: got quic, wanted tcp.* or quinn"),
    ],
)
def test_what_real_hosts_cannot_do_with_quinn_is_refused(
    tmp_path: Path, cli: Any, on: str, flow: str, said: str
) -> None:
    done = cli("run", scenario(tmp_path, "refused", flows=flow), "--on", on, "--out", tmp_path / "out")
    assert done.returncode != 0
    assert re.search(said, done.stderr), done.stderr
    assert not (tmp_path / "out").exists()
