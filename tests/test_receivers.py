"""Receivers that break the rules of TCP: what a scenario says of them, what they do to a run, and who refuses them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell import ScenarioError, _native, backends, plan
from dumbbell.backends.request import Request
from dumbbell.results import packets
from dumbbell.results.result import Result
from dumbbell.scenario.file import from_text

SCENARIO = """
name = "receivers"
duration = "10s"
[path]
rate = "10Mbps"
rtt = "40ms"
buffer = "1bdp"
[[flow]]
cca = "reno"
{flow}
[record]
pcap = {pcap}
"""


def written(flow: str, *, pcap: str = "false") -> Any:
    return from_text(SCENARIO.format(flow=flow, pcap=pcap))


def planned(flow: str) -> Any:
    (run,) = plan.runs(written(flow))
    return run.plan["flows"][0]


def ran(flow: str, out: Path, *, pcap: str = "false") -> Result:
    (result,) = dumbbell.run(written(flow, pcap=pcap), out=out)
    return result


def test_a_receiver_is_a_word_or_a_table_with_its_number() -> None:
    assert planned('receiver = "ack_division"')["receiver"] == {"kind": "ack_division", "pieces": 10}
    assert planned('receiver = { kind = "optimistic_acks", ahead = 0 }')["receiver"]["ahead"] == 0
    assert planned('receiver = { kind = "dupack_spoofing", copies = 3 }')["receiver"]["copies"] == 3


def test_an_honest_one_is_no_part_of_a_plan_and_may_be_varied_with_others() -> None:
    assert planned("") == planned('receiver = "honest"')
    assert "receiver" not in planned("")
    made = plan.runs(written('receiver = ["honest", "ack_division"]'))
    assert [run.vary for run in made] == [{"flow[0].receiver": "honest"}, {"flow[0].receiver": "ack_division"}]


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        ('receiver = "ack-division"', "flow[0].receiver: "),
        ('receiver = { kind = "ack_division", pieces = 1 }', "flow[0].receiver.pieces: got 1, wanted a whole number"),
        (
            'receiver = "ack_division"\ntransport = "quic"',
            'flow[0].receiver: got "ack_division", wanted none but over TCP',
        ),
        (
            'receiver = "optimistic_acks"\nworkload = { kind = "paced", rate = "1Mbps" }',
            'flow[0].receiver: got "optimistic_acks", wanted a transfer without workload',
        ),
    ],
)
def test_a_receiver_that_cannot_be_is_an_error_at_its_key(flow: str, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        planned(flow)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("on", ["linux", "bpf", "netem", "uml", "uml-ours", "ssh://a,b"])
def test_a_back_end_with_a_kernels_receiver_refuses_another(on: str) -> None:
    (run,) = plan.runs(written('receiver = "dupack_spoofing"'))
    with pytest.raises(ScenarioError, match=r'flow\[0\]\.receiver: got "dupack_spoofing", wanted none with --on'):
        backends.workers(on, [Request(run, on=on)], None)
    with pytest.raises(_native.PlanError, match=r"flow\[0\]\.receiver"):
        _native.emulate(json.dumps(run.plan), None, ".")


def test_the_pieces_of_an_acknowledgement_are_in_the_capture(tmp_path: Path) -> None:
    result = ran('receiver = { kind = "ack_division", pieces = 4 }\nsize = "29kB"', tmp_path / "out", pcap="true")
    acks = [
        int.from_bytes(frame[42:46])
        for _, frame in packets.frames(result.folder / "trace.pcap")
        if frame[26 + 1] & 128 and not frame[47] & 2
    ]
    assert acks[:8] == [363, 725, 1087, 1449, 1811, 2173, 2535, 2897]
    assert acks == sorted(acks)
    assert acks[-1] == 29_001


def test_goodput_of_optimistic_acks_is_what_came_and_such_a_transfer_never_ends(tmp_path: Path) -> None:
    flow = 'size = "1MB"\nmax_rate = "8Mbps"\nloss = "2%"\nreceiver = { kind = "optimistic_acks", ahead = 0 }'
    lossy, clean = (ran(flow.replace("2%", loss), tmp_path / loss) for loss in ("2%", "0%"))
    (row,), (whole,) = lossy.flows.to_pylist(), clean.flows.to_pylist()
    assert row["retrans_segs"] <= 2, "what is lost at the end has nothing after it that hides it"
    assert lossy.summary.flows[0].fct_s is None
    assert row["goodput_bytes"] == pytest.approx(1_000_000 - 1448 * row["random_drops"], abs=2 * 1448)
    assert clean.summary.flows[0].fct_s is not None
    assert whole["goodput_bytes"] == 1_000_000
