"""quinn in a scenario: figures, captures, and what is refused by its key."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import dumbbell
from closed_form import rows
from dumbbell import ScenarioError, plan
from dumbbell.backends import lacking
from dumbbell.backends.request import Request
from dumbbell.plots import look
from dumbbell.results import packets

PATH = """
duration = "8s"
[path]
rate = "20Mbps"
rtt = "40ms"
buffer = "1bdp"
"""
FLOW = """
[[flow]]
transport = "quinn"
"""
BOTH = f"""{PATH}
loss = "0.2%"
[record]
pcap = true
{FLOW}
cca = "quinn:cubic"
[[flow]]
cca = "cubic"
"""
#: Link, IPv4 and UDP header.
HEADERS = 14 + 20 + 8


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dumbbell.Result:
    (result,) = dumbbell.run(dumbbell.from_text(BOTH), tmp_path_factory.mktemp("quinn") / "run")
    return result


def udp_lengths(capture: Path) -> list[tuple[bool, int]]:
    """Of each UDP datagram: whether it goes to port 443, and its length without headers."""
    found = []
    for _, frame in packets.frames(capture):
        if frame[12:14] == b"\x08\x00" and frame[23] == 17:
            _, to, length = struct.unpack_from(">HHH", frame, 34)
            found.append((to == 443, length - 8))
    return found


def test_tables_name_the_transport_and_quinns_controller(made: dumbbell.Result) -> None:
    quinn, tcp = rows(made, "flows")
    assert (quinn["transport"], quinn["cca"], quinn["name"]) == ("quinn", "quinn:cubic", "quinn:cubic")
    assert (tcp["transport"], tcp["cca"]) == ("tcp", "cubic")
    assert quinn["lost_segs"] > 0
    assert look.of("quinn:cubic").name == "quinn CUBIC"


def test_a_capture_has_each_datagram_in_its_length(made: dumbbell.Result) -> None:
    quinn = rows(made, "flows")[0]
    sent = [length for goes, length in udp_lengths(Path(made.folder) / "trace.pcap") if goes]
    assert sum(sent) == quinn["bytes_sent"]
    assert max(sent) == 1200
    full = sum(length == 1200 for length in sent)
    assert full > 0.99 * len(sent)


def test_the_bottleneck_carries_what_both_senders_sent_and_did_not_lose(made: dumbbell.Result) -> None:
    quinn, tcp = rows(made, "flows")
    last = rows(made, "queue")[-1]
    datagrams = [length for goes, length in udp_lengths(Path(made.folder) / "trace.pcap") if goes]
    offered = sum(length + HEADERS for length in datagrams) + tcp["bytes_sent"] + 66 * tcp["segs_sent"] + 66
    lost = quinn["random_drops"] * 1242 + tcp["random_drops"] * 1514
    carried = last["sent_bytes"] + last["dropped_bytes"] + last["backlog_bytes"]
    # On the way to the link at the end: 20 ms at no more than the windows of both.
    under_way = (1242 + 1514) * 200
    assert -2_000 <= offered - lost - carried <= under_way


def test_samples_have_windows_in_datagrams_and_quinns_pacing(made: dumbbell.Result) -> None:
    samples = [row for row in rows(made, "samples", flow=0) if row["t_us"] > 1_000_000]
    for row in samples:
        paced = 1.25 * row["cwnd"] * 1200 * 8 / (row["srtt_us"] / 1e6)
        assert row["pacing_bps"] == pytest.approx(paced, rel=1.1 / row["cwnd"])
        assert row["in_flight"] <= row["cwnd"] / 0.7 + 2, "a reduction takes a round to show"
        assert 40_000 <= row["min_rtt_us"] <= row["srtt_us"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[flow]]\ncca = "quinn:bbr"\n', r'flow\[0\]\.cca: got "quinn:bbr", wanted this controller with transport'),
        (FLOW + 'cca = "quinn:vegas"\n', r'flow\[0\]\.cca: got "quinn:vegas", wanted one of: .*"quinn:newreno"'),
        (FLOW + 'cca = "quinn:bbr"\nparams = { beta = 1 }\n', r"flow\[0\]\.params\.beta: .*quinn:bbr has none"),
        (
            FLOW + 'cca = "cubic"\nhost = { sndbuf = "1MB" }\n',
            r"flow\[0\]\.host\.sndbuf: .*hz, ecn and initial_window only",
        ),
        (
            FLOW + 'cca = "cubic"\nworkload = { kind = "on_off", on = "1s", off = "1s" }\n',
            r"flow\[0\]\.workload: .*with a rate",
        ),
        ('[[flow]]\ncca = "cubic"\ntransport = { kind = "quinn", datagram = "1500B" }\n', r"datagram: .*1448"),
        (
            FLOW + 'cca = "dctcp"\n',
            r'^flow\[0\]\.cca: got "dctcp", wanted a controller that needs no number of CE marks',
        ),
        (FLOW + 'cca = "prague"\n', r'^flow\[0\]\.cca: got "prague", wanted .*, or transport = "tcp"'),
    ],
)
def test_what_quinn_cannot_do_is_refused_by_its_key(text: str, said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        list(plan.runs(dumbbell.from_text(PATH + text)))


def test_linux_in_virtual_time_refuses_quinn() -> None:
    (planned,) = plan.runs(dumbbell.from_text(PATH + FLOW + 'cca = "cubic"\n'))
    with pytest.raises(ScenarioError, match=r"flow\[0\]\.transport: got quinn, wanted tcp"):
        lacking(Request(planned, "uml"))
