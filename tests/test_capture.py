"""The capture of a whole run, read by the real tshark, tells the same story as our own counts."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import dumbbell

TSHARK = shutil.which("tshark")
pytestmark = pytest.mark.skipif(TSHARK is None, reason="tshark is not installed (`make setup` installs it where it can)")

SCENARIO = """
duration = "6s"
[path]
rate = "20Mbps"
rtt = "40ms"
buffer = "0.5bdp"
loss = "0.2%"
[record]
pcap = true
[[flow]]
cca = "cubic"
[[flow]]
cca = "bbr"
start = "100ms"
[[flow]]
cca = "reno"
size = "300kB"
start = "1s"
"""

IN_HOST_MAX = 10
"""Segments below TCP: small queues allow two bursts or 1 ms at the pacing rate."""

FIELDS = (
    "ip.src",
    "tcp.stream",
    "tcp.len",
    "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission",
    "tcp.analysis.spurious_retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.ack_lost_segment",
    "tcp.checksum.status",
    "ip.checksum.status",
    "_ws.malformed",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[dumbbell.Result, list[dict[str, str]]]:
    out = tmp_path_factory.mktemp("capture")
    result = dumbbell.run(dumbbell.from_text(SCENARIO), out=out / "run")[0]
    return result, read(result.folder / "trace.pcap")


def read(capture: Path) -> list[dict[str, str]]:
    """One dictionary per packet, with checksums verified."""
    assert TSHARK is not None
    fields = [word for field in FIELDS for word in ("-e", field)]
    checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    done = subprocess.run([TSHARK, "-r", str(capture), *checks, "-T", "fields", *fields], capture_output=True, text=True, check=True)
    return [dict(zip(FIELDS, line.split("\t"), strict=True)) for line in done.stdout.splitlines()]


def is_sent_again(packet: dict[str, str]) -> bool:
    """Whether tshark saw the segment before; it calls one that fills a hole soon after a gap out of order."""
    return any(packet[f"tcp.analysis.{name}"] for name in ("retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order"))


def per_flow(packets: list[dict[str, str]], *, again: bool) -> list[int]:
    data = (packet for packet in packets if int(packet["tcp.len"]) > 0)
    counts = Counter(int(packet["tcp.stream"]) for packet in data if not again or is_sent_again(packet))
    return [counts[stream] for stream in range(3)]


def test_tshark_finds_nothing_malformed_and_every_checksum_right(run: tuple[dumbbell.Result, list[dict[str, str]]]) -> None:
    _, packets = run
    assert not [packet for packet in packets if packet["_ws.malformed"]]
    # 1 is good; 2 is unverified: captures hold headers only, so that segments with payload cannot be summed up.
    assert {packet["tcp.checksum.status"] for packet in packets if packet["tcp.len"] == "0"} == {"1"}
    assert {packet["tcp.checksum.status"] for packet in packets if packet["tcp.len"] != "0"} == {"2"}
    assert {packet["ip.checksum.status"] for packet in packets} == {"1"}


def test_data_segments_of_each_flow_are_those_we_count(run: tuple[dumbbell.Result, list[dict[str, str]]]) -> None:
    result, packets = run
    captured, sent = per_flow(packets, again=False), result.flows["segs_sent"].to_pylist()
    # TCP counts what it hands down; at the end a paced flow may have a few bursts waiting below it.
    assert all(0 <= ours - seen <= IN_HOST_MAX for ours, seen in zip(sent, captured, strict=True)), (sent, captured)


def test_retransmissions_of_each_flow_are_those_we_count(run: tuple[dumbbell.Result, list[dict[str, str]]]) -> None:
    result, packets = run
    ours = result.flows["retrans_segs"].to_pylist()
    assert min(ours) > 0, "a scenario without losses shows nothing"
    assert per_flow(packets, again=True) == ours


def test_no_acknowledgement_is_for_what_was_never_sent(run: tuple[dumbbell.Result, list[dict[str, str]]]) -> None:
    _, packets = run
    assert not [packet for packet in packets if packet["tcp.analysis.ack_lost_segment"]]


def test_iperf3_greets_and_sends_when_the_server_has_answered(tmp_path: Path) -> None:
    text = SCENARIO.replace("[record]", '[host]\ntraffic = "iperf3"\n[record]')
    result = dumbbell.run(dumbbell.from_text(text), out=tmp_path / "run")[0]
    assert TSHARK is not None
    fields = ["-e", "frame.time_relative", "-e", "tcp.stream", "-e", "tcp.len"]
    done = subprocess.run([TSHARK, "-r", str(result.folder / "trace.pcap"), "-T", "fields", *fields], capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    first, second = [(float(time), int(size)) for time, stream, size in rows if stream == "0" and int(size) > 0][:2]
    assert (first[1], second[1]) == (37, 1448)
    # 40 ms, and what 37 bytes with their headers take at 20 Mbit/s.
    assert second[0] - first[0] == pytest.approx(0.040, abs=0.0001)
    # The sized flow carries the greeting too, and its transfer in whole writes.
    assert result.flows["completed_us"][2].as_py() is not None
