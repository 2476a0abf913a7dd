"""The capture of a whole run, read by the real tshark, tells the same story as our own counts."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import dumbbell

TSHARK = shutil.which("tshark")
pytestmark = pytest.mark.skipif(
    TSHARK is None, reason="tshark is not installed (`make setup` installs it where it can)"
)

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
    done = subprocess.run(
        [TSHARK, "-r", str(capture), *checks, "-T", "fields", *fields], capture_output=True, text=True, check=True
    )
    return [dict(zip(FIELDS, line.split("\t"), strict=True)) for line in done.stdout.splitlines()]


def test_requests_are_segments_of_the_receiver_that_the_next_data_acknowledge(tmp_path: Path) -> None:
    given = SCENARIO.split("[[flow]]", maxsplit=1)[0].replace("0.2%", "0%") + (
        '[[flow]]\ncca = "cubic"\nworkload = { kind = "request_response", response = "18kB", think = "20ms", count = 5 }'
    )
    result = dumbbell.run(dumbbell.from_text(given), out=tmp_path / "run")[0]
    words = [word for field in ("tcp.srcport", "tcp.len", "tcp.seq", "tcp.ack") for word in ("-e", field)]
    command = [str(TSHARK), "-r", str(result.folder / "trace.pcap"), "-T", "fields", *words]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    port, *_ = lines[0].split("\t")
    packets = [(words[0] == port, *map(int, words[1:])) for words in (line.split("\t") for line in lines)]
    requests = [packet for packet in packets if not packet[0] and packet[1]]
    assert requests == [(False, 1, 1 + i, 1 + 18_000 * i) for i in range(5)]
    # Data tell how many requests were there, and the answers are whole.
    data = [packet for packet in packets if packet[0] and packet[1]]
    assert {(seq - 1) // 18_000 for _, _, seq, _ in data} == set(range(5))
    assert all(ack == 2 + (seq - 1) // 18_000 for _, _, seq, ack in data)
    # All but the first end with an odd segment whose ACK leaves with the next request.
    assert not [p for p in packets if not p[0] and not p[1] and p[3] - 1 in (36_000, 54_000, 72_000)]


def is_sent_again(packet: dict[str, str]) -> bool:
    """Whether tshark saw the segment before; it calls one that fills a hole soon after a gap out of order."""
    return any(
        packet[f"tcp.analysis.{name}"]
        for name in ("retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order")
    )


def per_flow(packets: list[dict[str, str]], *, again: bool) -> list[int]:
    data = (packet for packet in packets if int(packet["tcp.len"]) > 0)
    counts = Counter(int(packet["tcp.stream"]) for packet in data if not again or is_sent_again(packet))
    return [counts[stream] for stream in range(3)]


def test_tshark_finds_nothing_malformed_and_every_checksum_right(
    run: tuple[dumbbell.Result, list[dict[str, str]]],
) -> None:
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
    done = subprocess.run(
        [TSHARK, "-r", str(result.folder / "trace.pcap"), "-T", "fields", *fields],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    first, second = [(float(time), int(size)) for time, stream, size in rows if stream == "0" and int(size) > 0][:2]
    assert (first[1], second[1]) == (37, 1448)
    # 40 ms, and what 37 bytes with their headers take at 20 Mbit/s.
    assert second[0] - first[0] == pytest.approx(0.040, abs=0.0001)
    # The sized flow carries the greeting too, and its transfer in whole writes.
    assert result.flows["completed_us"][2].as_py() is not None


MIXED = """
duration = "4s"
[path]
rate = "20Mbps"
rtt = "40ms"
buffer = "1bdp"
[host]
arp = true
ecn = {ecn}
[record]
pcap = true
"""

TCP_FLOWS = """
[[flow]]
cca = "cubic"
[[flow]]
cca = "cubic"
start = "500ms"
workload = { kind = "paced", rate = "500kbps", message = "700B" }
"""

QUIC_FLOWS = """
[[flow]]
cca = "bbr"
start = "100ms"
transport = "quic"
[[flow]]
cca = "reno"
size = "100kB"
start = "1s"
transport = "quic"
"""

QUIC_HEADERS = 1 + 4 + 6
"""Bytes in a datagram beside stream data: flags, packet number, STREAM frame."""
STOP_WAITING = 5


class Seen:
    """What a capture has of one flow: frames and payload from the sender, frames from the receiver."""

    def __init__(self, frames: list[dict[str, str]], number: int) -> None:
        mine = f"10.0.0.{number + 1}"
        sent = [frame for frame in frames if frame["ip.src"] == mine]
        self.acks = sum(frame["ip.dst"] == mine for frame in frames)
        self.ecn = Counter(frame["ip.dsfield.ecn"] for frame in sent)
        self.data = [
            frame for frame in sent if int(frame["tcp.len"] or frame["udp.length"]) > 0 and not _is_initial(frame)
        ]
        self.bytes = sum(int(frame["tcp.len"]) if frame["tcp.len"] else _stream_bytes(frame) for frame in self.data)


def _payload(frame: dict[str, str]) -> bytes:
    return bytes.fromhex(frame["udp.payload"])


def _is_initial(frame: dict[str, str]) -> bool:
    return bool(frame["udp.payload"]) and _payload(frame)[0] == 0x63


def _stream_bytes(frame: dict[str, str]) -> int:
    has_stop_waiting = _payload(frame)[5] == 0x06
    return int(frame["udp.length"]) - 8 - QUIC_HEADERS - STOP_WAITING * has_stop_waiting


def fields(capture: Path, *names: str, only: str = "") -> list[dict[str, str]]:
    """One dictionary per frame that matches a display filter."""
    assert TSHARK is not None
    words = [word for name in names for word in ("-e", name)]
    done = subprocess.run(
        [TSHARK, "-n", "-r", str(capture), "-Y", only, "-T", "fields", *words],
        capture_output=True,
        text=True,
        check=True,
    )
    return [dict(zip(names, line.split("\t"), strict=True)) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("ecn", ["false", "true", '"accurate"'])
@pytest.mark.parametrize("flows", [TCP_FLOWS, QUIC_FLOWS, TCP_FLOWS + QUIC_FLOWS], ids=["tcp", "quic", "mixed"])
def test_a_capture_has_every_packet_of_both_transports(flows: str, ecn: str, tmp_path: Path) -> None:
    result = dumbbell.run(dumbbell.from_text(MIXED.format(ecn=ecn) + flows), out=tmp_path / "run")[0]
    capture = result.folder / "trace.pcap"
    wrong = ("_ws.malformed", "tcp.analysis.lost_segment", "tcp.analysis.ack_lost_segment")
    frames = fields(
        capture,
        "ip.src",
        "ip.dst",
        "tcp.len",
        "udp.length",
        "udp.payload",
        "ip.dsfield.ecn",
        *wrong,
        only="ip or _ws.malformed",
    )
    assert not [frame for frame in frames if any(frame[name] for name in wrong)]
    for number, flow in enumerate(result.flows.to_pylist()):
        seen = Seen(frames, number)
        is_quic = flow["bytes_sent"] == flow["segs_sent"] * 1000
        # TCP counts what it hands down; at the end a paced flow may have a few bursts waiting below it. QUIC has no
        # queue there.
        waiting = flow["segs_sent"] - len(seen.data)
        assert 0 <= waiting <= (0 if is_quic else IN_HOST_MAX), (number, flow, len(seen.data))
        assert flow["bytes_sent"] == seen.bytes or waiting > 0, (number, flow, seen.bytes)
        # Acknowledgements on their way at the end are not there yet: one RTT's worth at most. The answer to the SYN or
        # Initial is there beside.
        on_the_way = flow["acks_sent"] + 1 - seen.acks
        assert 0 <= on_the_way <= 20e6 * 0.04 / 8 / 1053, (number, flow, seen.acks)
        assert set(seen.ecn) <= ({"0"} if ecn == "false" else {"0", "2"})
        assert (
            ecn == "false" or seen.ecn["2"] == len([frame for frame in seen.data if frame["ip.dsfield.ecn"] == "2"]) > 0
        )


def test_address_resolution_is_captured_and_the_handshake_comes_after_it(tmp_path: Path) -> None:
    result = dumbbell.run(dumbbell.from_text(MIXED.format(ecn="false") + TCP_FLOWS + QUIC_FLOWS), out=tmp_path / "run")[
        0
    ]
    capture = result.folder / "trace.pcap"
    resolved = fields(
        capture, "frame.time_relative", "arp.opcode", "arp.src.proto_ipv4", "arp.dst.proto_ipv4", only="arp"
    )
    assert len(resolved) == 2 * 4
    for number, start in enumerate((0.0, 0.5, 0.1, 1.0)):
        sender, receiver = f"10.0.0.{number + 1}", f"10.128.0.{number + 1}"
        request, answer = (row for row in resolved if sender in (row["arp.src.proto_ipv4"], row["arp.dst.proto_ipv4"]))
        assert (request["arp.opcode"], request["arp.dst.proto_ipv4"]) == ("1", receiver)
        assert (answer["arp.opcode"], answer["arp.src.proto_ipv4"]) == ("2", receiver)
        first = fields(capture, "frame.time_relative", only=f"ip.src == {sender}")[0]
        times = [float(row["frame.time_relative"]) for row in (request, answer, first)]
        assert times == pytest.approx([start, start + 0.04, start + 0.04], abs=1e-6)
    # The first flow meets an empty path: its handshake takes the RTT, not twice that.
    measured = fields(capture, "tcp.analysis.initial_rtt", only="tcp.stream == 0 and tcp.analysis.initial_rtt")
    assert float(measured[0]["tcp.analysis.initial_rtt"]) == pytest.approx(0.04, abs=1e-4)
    times = [float(row["frame.time_relative"]) for row in fields(capture, "frame.time_relative")]
    assert times == sorted(times)


def test_a_first_packet_that_the_path_loses_has_waited_for_the_address_and_the_next_does_not(tmp_path: Path) -> None:
    text = MIXED.format(ecn="false").replace("[host]", 'loss = "50%"\n[host]') + '[[flow]]\ncca = "reno"\n'
    # This seed loses the first packet and not the second.
    result = dumbbell.run(dumbbell.from_text("seed = 5\n" + text), out=tmp_path / "run")[0]
    shown = fields(result.folder / "trace.pcap", "frame.time_relative", "ip.src", only="tcp.flags.syn == 1")
    assert [row["ip.src"] for row in shown] == ["10.0.0.1", "10.0.0.1", "10.128.0.1"]
    first, second, answer = (float(row["frame.time_relative"]) for row in shown)
    assert first == pytest.approx(0.04, abs=1e-6)
    assert second == pytest.approx(1.0, abs=0.03), "the initial timeout, to a tick of its timer wheel"
    assert answer - second == pytest.approx(0.04, abs=1e-4), "one RTT after the SYN left"


def test_without_address_resolution_the_first_frame_is_the_first_packet(tmp_path: Path) -> None:
    text = MIXED.format(ecn="true").replace("arp = true\n", "") + QUIC_FLOWS
    result = dumbbell.run(dumbbell.from_text(text), out=tmp_path / "run")[0]
    capture = result.folder / "trace.pcap"
    assert not fields(capture, "frame.number", only="arp")
    first, answer = fields(capture, "frame.len", "udp.dstport", "udp.payload")[:2]
    assert (first["frame.len"], first["udp.dstport"], first["udp.payload"][:2]) == ("1242", "443", "63")
    assert answer["frame.len"] == "1242"


def test_datagrams_carry_packet_numbers_and_stream_offsets_in_the_clear(tmp_path: Path) -> None:
    result = dumbbell.run(dumbbell.from_text(MIXED.format(ecn="false") + QUIC_FLOWS), out=tmp_path / "run")[0]
    frames = fields(
        result.folder / "trace.pcap",
        "udp.payload",
        "frame.time_relative",
        only="ip.src == 10.0.0.2 and not udp.payload[0] == 63",
    )
    numbers = [int.from_bytes(_payload(frame)[1:5], "big") for frame in frames]
    assert numbers == list(range(result.flows["segs_sent"][1].as_py()))
    offsets = set()
    for frame in frames:
        stream = _payload(frame)[5:] if _payload(frame)[5] == 0x0C else _payload(frame)[10:]
        assert stream[:2] == b"\x0c\x00"
        offsets.add(int.from_bytes(stream[2:6], "big") & 0x3FFFFFFF)
    assert offsets == set(range(0, 100_000, 1000))


def test_the_handshake_negotiates_ecn_as_rfc_3168_and_rfc_9768_say(tmp_path: Path) -> None:
    for ecn, asked, answered in (("false", 0, 0), ("true", 0xC0, 0x40), ('"accurate"', 0x1C0, 0x80)):
        result = dumbbell.run(dumbbell.from_text(MIXED.format(ecn=ecn) + TCP_FLOWS), out=tmp_path / str(asked))[0]
        flags = [
            int(row["tcp.flags"], 16) & 0x1C0
            for row in fields(result.folder / "trace.pcap", "tcp.flags", only="tcp.flags.syn == 1 and tcp.stream == 0")
        ]
        assert flags == [asked, answered]
