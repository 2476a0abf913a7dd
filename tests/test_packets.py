"""Packets of captures, flow by flow, and where two captures part."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

import dumbbell
from dumbbell import cli
from dumbbell.cli.compare import packet_lines
from dumbbell.errors import ResultError
from dumbbell.results import packets, parting
from dumbbell.results.packets import Flow, Heard, Sent

SCENARIO = """
duration = "3s"
[path]
rate = "10Mbps"
rtt = "20ms"
buffer = "0.3bdp"
[record]
pcap = true
[host]
ecn = true
[[flow]]
cca = "cubic"
start = "100ms"
[[flow]]
cca = "reno"
[[flow]]
cca = "cubic"
workload = { kind = "request_response", response = "30kB", think = "20ms" }
"""
SYN, ACK, PSH, ECE, CWR = 0x02, 0x10, 0x08, 0x40, 0x80
HERE, THERE = (b"\x0a\x00\x00\x01", 49_152), (b"\x0a\x80\x00\x01", 5_201)


def frame(
    *, back: bool = False, seq: int, ack: int = 0, flags: int = ACK, size: int = 0, options: bytes = b""
) -> bytes:
    """Headers of one segment, as a capture has them."""
    (source, sport), (target, dport) = (THERE, HERE) if back else (HERE, THERE)
    options += b"\x01" * (-len(options) % 4)
    header = 20 + len(options)
    tcp = struct.pack("!HHIIBBHHH", sport, dport, seq, ack, header // 4 << 4, flags, 100, 0, 0) + options
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + header + size, 0, 0, 64, 6, 0, source, target)
    return b"\x02" * 12 + b"\x08\x00" + ip + tcp


def capture(path: Path, *frames: bytes, order: str = "<", magic: int = 0xA1B23C4D, link: int = 1) -> Path:
    """A file of these, one every 1.5 s."""
    units = packets.UNITS[magic]
    data = struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65_535, link)
    for i, one in enumerate(frames):
        at = 7 * units + i * units * 3 // 2
        data += struct.pack(f"{order}4I", at // units, at % units, len(one), len(one)) + one
    path.write_bytes(data)
    return path


def sack(*blocks: tuple[int, int]) -> bytes:
    return b"\x01\x01" + bytes([5, 2 + 8 * len(blocks)]) + b"".join(struct.pack("!II", *block) for block in blocks)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("magic", [0xA1B2C3D4, 0xA1B23C4D])
def test_numbers_count_from_the_syn_whatever_the_byte_order_and_the_unit_of_time(
    tmp_path: Path, order: str, magic: int
) -> None:
    isn = 2**32 - 1000  # it wraps
    end = (isn + 1449) % 2**32
    made = capture(
        tmp_path / "x.pcap",
        frame(seq=isn, flags=SYN | ECE | CWR),
        frame(back=True, seq=77, ack=isn + 1, flags=SYN | ACK),
        frame(seq=isn + 1, ack=78),
        frame(seq=isn + 1, ack=78, flags=ACK | CWR, size=1448),
        frame(back=True, seq=78, ack=end, flags=ACK | ECE, options=sack((2000, 3448), (5000, 6448))),
        frame(back=True, seq=78, ack=end, flags=ACK | PSH, size=1),
        b"\xff" * 60,
        order=order,
        magic=magic,
    )
    (flow,) = packets.flows(made)
    assert flow.sent == [(4.5, Sent(0, 1448, cwr=True))]
    assert flow.heard == [
        (6.0, Heard(1448, 0, ((2999, 4447), (5999, 7447)), ece=True)),
        (7.5, Heard(1448, 1, (), ece=False)),
    ]
    assert [str(packet) for _, packet in (*flow.sent, *flow.heard)] == [
        "data 0-1448 CWR",
        "ACK 1448, SACK 2999-4447, 5999-7447, ECE",
        "ACK 1448, 1 B of data",
    ]


def test_a_round_trip_counts_from_the_first_sending_of_the_segment_that_an_acknowledgement_ends_with() -> None:
    flow = Flow(
        [(1.0, Sent(0, 10, cwr=False)), (1.5, Sent(10, 10, cwr=False)), (4.0, Sent(10, 10, cwr=False))],
        [
            (2.0, Heard(10, 0, (), ece=False)),
            (2.5, Heard(10, 0, ((20, 30),), ece=False)),  # acknowledges nothing new
            (3.0, Heard(15, 0, (), ece=False)),  # ends inside a segment
            (5.0, Heard(20, 0, (), ece=False)),
        ],
    )
    assert packets.round_trips(flow) == [(2.0, 1.0), (5.0, 3.5)]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda path: path.unlink(), "No such file or directory; `--pcap` writes a capture"),
        (lambda path: path.write_bytes(b"PAR1" * 20), "no capture in the format of tcpdump (pcap)"),
        (lambda path: path.write_bytes(path.read_bytes()[:20]), "no capture in the format of tcpdump (pcap)"),
        (lambda path: capture(path, link=113), "frames of link type 113, wanted 1 (Ethernet)"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "damaged: it ends inside a packet"),
    ],
)
def test_what_is_no_capture_is_refused(tmp_path: Path, change: object, why: str) -> None:
    made = capture(tmp_path / "x.pcap", frame(seq=1, flags=SYN))
    change(made)  # type: ignore[operator]
    with pytest.raises(ResultError) as caught:
        packets.flows(made)
    assert str(caught.value) == f"{made}: {why}"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> dumbbell.Result:
    out = tmp_path_factory.mktemp("packets")
    return dumbbell.run(dumbbell.from_text(SCENARIO), out=out / "run")[0]


def test_damage_is_refused_or_read(run: dumbbell.Result, tmp_path: Path) -> None:
    whole = (run.folder / "trace.pcap").read_bytes()[:20_000]
    rng = random.Random(1)
    for _ in range(300):
        data = bytearray(whole[: rng.randrange(len(whole))] if rng.random() < 0.3 else whole)
        for _ in range(rng.randrange(1, 40)):
            if data:
                data[rng.randrange(len(data))] = rng.choice((0, 1, 255, rng.randrange(256)))
        (tmp_path / "x.pcap").write_bytes(data)
        with contextlib.suppress(ResultError):
            packets.flows(tmp_path / "x.pcap")


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed (`make setup` installs it)")
def test_tshark_reads_the_same_packets(run: dumbbell.Result) -> None:
    names = ("tcp.stream", "tcp.srcport", "tcp.seq", "tcp.ack", "tcp.len", "tcp.options.sack_le", "tcp.options.sack_re")
    fields = [word for name in (*names, "tcp.flags.syn", "tcp.flags.ece", "tcp.flags.cwr") for word in ("-e", name)]
    command = ["tshark", "-r", str(run.folder / "trace.pcap"), "-Y", "tcp", "-T", "fields", *fields]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    sent: dict[str, list[Sent]] = {}
    heard: dict[str, list[Heard]] = {}
    for line in done.stdout.splitlines():
        stream, port, seq, ack, size, left, right, syn, ece, cwr = line.split("\t")
        if syn in ("1", "True"):
            continue
        if port == "5201":
            edges = zip(left.split(","), right.split(","), strict=True) if left else ()
            blocks = tuple((int(start) - 1, int(end) - 1) for start, end in edges)
            heard.setdefault(stream, []).append(Heard(int(ack) - 1, int(size), blocks, ece in ("1", "True")))
        elif size != "0":
            sent.setdefault(stream, []).append(Sent(int(seq) - 1, int(size), cwr in ("1", "True")))
    ours = packets.flows(run.folder / "trace.pcap")
    assert [[packet for _, packet in flow.sent] for flow in ours] == list(sent.values())
    assert [[packet for _, packet in flow.heard] for flow in ours] == list(heard.values())
    assert any(packet.sacks for flow in ours for _, packet in flow.heard)
    assert any(packet.len for flow in ours for _, packet in flow.heard)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed (`make setup` installs it)")
def test_round_trips_are_those_of_tshark(run: dumbbell.Result) -> None:
    names = ("tcp.stream", "frame.time_relative", "tcp.analysis.ack_rtt")
    fields = [word for name in names for word in ("-e", name)]
    chosen = "tcp.srcport == 5201 && tcp.flags.syn == 0 && tcp.analysis.ack_rtt"
    command = ["tshark", "-r", str(run.folder / "trace.pcap"), "-Y", chosen, "-T", "fields", *fields]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    wanted: dict[str, list[tuple[float, float]]] = {}
    for line in done.stdout.splitlines():
        stream, at, rtt = line.split("\t")
        wanted.setdefault(stream, []).append((float(at), float(rtt)))
    ours = [packets.round_trips(flow) for flow in packets.flows(run.folder / "trace.pcap")]
    assert len(ours) == len(wanted) == 3
    for own, theirs in zip(ours, wanted.values(), strict=True):
        assert len(own) > 30
        assert own == [pytest.approx(pair, abs=1e-6) for pair in theirs]


def test_the_kth_syn_is_of_the_kth_flow_to_start(run: dumbbell.Result) -> None:
    found = parting.compared(run, {"twin": run})["twin"]
    assert [(flow.flow, flow.name) for flow in found] == [(i, run.plan.flows[i].name) for i in range(3)]
    # At most ten segments wait below TCP, where a capture does not see them, when the run ends.
    counted = run.flows["segs_sent"].to_pylist()
    assert all(0 <= sent - flow.parting.sent <= 10 for flow, sent in zip(found, counted, strict=True))
    assert all(flow.parting.first is None and len(set(flow.parting.of[0])) == 1 for flow in found)


def test_two_captures_part_at_the_earlier_difference_and_not_at_an_end() -> None:
    sent = [(0.1 * i, Sent(i, 1, cwr=False)) for i in range(9)]
    heard = [(0.1 * i + 0.05, Heard(i, 0, (), ece=False)) for i in range(9)]
    whole = Flow(sent, heard)
    assert packets.part(whole, Flow(sent[:5], heard[:4])) == (5, 4, ((9, 5), (9, 4)), None)
    other = Flow([*sent[:6], (9.0, Sent(2, 1, cwr=False))], [*heard[:3], (9.0, Heard(0, 0, (), ece=False))])
    assert packets.part(whole, other) == (6, 3, ((9, 7), (9, 4)), (heard[3], other.heard[3]))


def test_where_one_capture_ends_before_the_other_both_lengths_are_told() -> None:
    both = packets.Parting(10, 5, ((10, 9_000), (5, 4_500)), None)
    (_, line) = packet_lines([parting.Compared(0, "bbr", both)], ("sim", "uml"))
    assert line == (
        "    flow 0 (bbr): 10 data segments and 5 acknowledgements, all the same, as far as both go:"
        " sim has 10 and 5, uml has 9,000 and 4,500"
    )


def test_the_command_tells_how_far_two_back_ends_are_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dumbbell.backends import sim
    from test_compare import register

    def other(request: object, folder: Path) -> dict[str, object]:
        made = sim.run(request, folder)  # type: ignore[arg-type]
        # The first full packet is a byte shorter.
        data = (folder / "trace.pcap").read_bytes()
        at = data.index(struct.pack("!H", 1500), 24)
        (folder / "trace.pcap").write_bytes(data[:at] + struct.pack("!H", 1499) + data[at + 2 :])
        return made

    register(monkeypatch, twin=sim.run, other=other)
    (tmp_path / "x.toml").write_text(SCENARIO.replace("[record]\npcap = true\n", ""))
    command = ["compare", str(tmp_path / "x.toml"), "--packets", "--out"]
    assert cli.main([*command, str(tmp_path / "same"), "--on", "sim,twin"]) == 0
    text = capsys.readouterr().out
    assert "packets of sim and twin, first repetition: 3 of 3 flows the same throughout" in text
    assert text.count(", all the same\n") == 3
    assert cli.main([*command, str(tmp_path / "parts"), "--on", "sim,other", "--json"]) == 0
    (row,) = map(json.loads, capsys.readouterr().out.splitlines())
    first = [flow["first"] for flow in row["packets"]["other"]]
    (parts,) = [one for one in first if one]
    # 37 bytes are the greeting of iperf3, which a back end in real time takes.
    assert (parts["sim"]["packet"], parts["other"]["packet"]) == ("data 37-1485", "data 37-1484")
