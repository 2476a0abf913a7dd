"""`trace.sqlog`: what it holds, against the tables of the same run, and that readers of other projects take it."""

from __future__ import annotations

import copy
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from closed_form import rows
from dumbbell import ScenarioError, plan
from dumbbell.backends import lacking
from dumbbell.backends.request import Request
from qlogs import PATH, as_quiche_reads, events, hold_against_grammar, records, told_at_samples

FLOWS = """
[[flow]]
cca = "cubic"
transport = "quic"
[[flow]]
cca = "reno"
[[flow]]
cca = "bbr"
"""
SCENARIO = PATH + FLOWS


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dumbbell.Result:
    (result,) = dumbbell.run(dumbbell.from_text(SCENARIO), tmp_path_factory.mktemp("qlog") / "run")
    return result


def test_the_header_says_what_readers_look_for(made: dumbbell.Result) -> None:
    header = records(made)[0]
    assert header["file_schema"] == "urn:ietf:params:qlog:file:sequential"
    assert header["serialization_format"] == "application/qlog+json-seq"
    assert header["trace"]["event_schemas"] == ["urn:ietf:params:qlog:events:quic-12"]
    assert header["trace"]["description"] == (
        "flow0: cubic over the simplified QUIC; flow1: reno over TCP; flow2: bbr over TCP"
    )


def test_times_do_not_go_back(made: dumbbell.Result) -> None:
    times = [one["time"] for one in records(made)[1:]]
    assert times == sorted(times)
    assert 7_900 < times[-1] <= 8_000


def test_quic_packets_are_those_of_the_table(made: dumbbell.Result) -> None:
    (flow,) = rows(made, "flows", flow=0)
    sent = [one for one in events(made, 0, "quic:packet_sent") if one["data"]["header"]["packet_type"] == "1RTT"]
    numbers = [one["data"]["header"]["packet_number"] for one in sent]
    assert numbers == list(range(flow["segs_sent"]))
    payload = [one["data"]["frames"][0]["raw"]["payload_length"] for one in sent]
    assert sum(payload) == flow["bytes_sent"]
    offsets = [one["data"]["frames"][0]["offset"] for one in sent]
    assert len(offsets) - len(set(offsets)) == flow["retrans_segs"]
    lost = [one["data"]["header"]["packet_number"] for one in events(made, 0, "quic:packet_lost")]
    assert len(lost) == flow["lost_segs"] > 20
    acked = [number for one in events(made, 0, "quic:packets_acked") for number in one["data"]["packet_numbers"]]
    assert len(acked) == len(set(acked))
    assert len(acked) + len(set(lost) - set(acked)) <= len(numbers)
    # The ACK of the handshake is no event of the table: each other one is received once.
    received = events(made, 0, "quic:packet_received")
    assert 0 < len(received) <= flow["acks_sent"] + 1


def test_losses_of_tcp_are_those_of_the_table(made: dumbbell.Result) -> None:
    for number in (1, 2):
        (flow,) = rows(made, "flows", flow=number)
        lost = events(made, number, "quic:packet_lost")
        assert len(lost) == flow["lost_segs"] > 0
        assert all(one["protocol_types"] == ["TCP"] and "header" not in one["data"] for one in lost)
        assert not events(made, number, "quic:packet_sent")


def test_recoveries_and_states_are_those_of_the_event_table(made: dumbbell.Result) -> None:
    for number in (0, 1):
        (flow,) = rows(made, "flows", flow=number)
        states = [one["data"]["new"] for one in events(made, number, "quic:congestion_state_updated")]
        assert states.count("recovery") == flow["recoveries"] > 0
        assert states[0] == "slow_start"
    states = [one["data"]["new"] for one in events(made, 2, "quic:congestion_state_updated")]
    noted = [row["note"].lower() for row in rows(made, "events", flow=2, kind="cca_state")]
    assert states == noted


@pytest.mark.parametrize("flow", [0, 1, 2])
def test_metrics_at_sample_times_are_those_of_the_samples(flow: int, made: dumbbell.Result) -> None:
    mss = 1000 if flow == 0 else 1448
    seen = 0
    for now, row in told_at_samples(made, flow):
        assert now["congestion_window"] == row["cwnd"] * mss, row
        assert now["bytes_in_flight"] == row["in_flight"] * mss
        assert round(now.get("smoothed_rtt", 0) * 1e3) == (row["srtt_us"] or 0)
        seen += 1
    assert seen > 100


def test_a_qlog_changes_nothing_else(made: dumbbell.Result, tmp_path: Path) -> None:
    again, without = (
        dumbbell.run(dumbbell.from_text(text), tmp_path / name)[0]
        for name, text in (("again", SCENARIO), ("without", SCENARIO.replace("qlog = true", "qlog = false")))
    )
    for file in ("flows.parquet", "samples.parquet", "events.parquet", "queue.parquet"):
        content = (Path(made.folder) / file).read_bytes()
        assert content == (Path(again.folder) / file).read_bytes() == (Path(without.folder) / file).read_bytes()
    assert (Path(made.folder) / "trace.sqlog").read_bytes() == (Path(again.folder) / "trace.sqlog").read_bytes()
    assert not (Path(without.folder) / "trace.sqlog").exists()
    listed = json.loads((Path(made.folder) / "manifest.json").read_text())["files"]
    assert "trace.sqlog" in listed


def test_without_the_event_table_the_qlog_is_the_same(made: dumbbell.Result, tmp_path: Path) -> None:
    text = SCENARIO.replace("qlog = true", "qlog = true\nevents = false")
    (other,) = dumbbell.run(dumbbell.from_text(text), tmp_path / "run")
    assert rows(other, "events") == []
    assert (Path(made.folder) / "trace.sqlog").read_bytes() == (Path(other.folder) / "trace.sqlog").read_bytes()


def test_real_stacks_refuse_it_by_its_key() -> None:
    (planned,) = plan.runs(dumbbell.from_text(SCENARIO))
    with pytest.raises(ScenarioError, match=r"^record\.qlog: got true, wanted false with --on uml"):
        lacking(Request(planned, "uml"))


def test_quiches_reader_takes_every_event(made: dumbbell.Result) -> None:
    names = {
        "quic:packet_sent": "sent",
        "quic:packet_received": "received",
        "quic:packets_acked": "acked",
        "quic:packet_lost": "lost",
        "quic:recovery_metrics_updated": "metrics",
        "quic:congestion_state_updated": "state",
    }
    ours = records(made)[1:]
    theirs = as_quiche_reads(made)
    assert Counter(names[one["name"]] for one in ours) == Counter(one["kind"] for one in theirs)
    for mine, read in zip(ours, theirs, strict=True):
        assert (mine["time"], mine["group_id"]) == (read["time"], read["group"])
        if read["kind"] == "sent":
            assert read["data"]["header"]["packet_type"] == mine["data"]["header"]["packet_type"]
            assert read["data"]["raw"]["length"] == mine["data"]["raw"]["length"]
        if read["kind"] == "metrics":
            assert read["data"].get("congestion_window") == mine["data"].get("congestion_window")


def test_the_working_groups_grammar_allows_every_record(made: dumbbell.Result) -> None:
    hold_against_grammar(records(made))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("quic:packet_sent", {"header": {"packet_type": "2RTT"}}),
        ("quic:packet_sent", {"frames": [{"frame_type": "stream", "offset": 0}]}),
        ("quic:packet_received", {"header": {"packet_type": "1RTT", "number": 1}}),
        ("quic:packets_acked", {"packet_number_space": "data"}),
        ("quic:packet_lost", {"trigger": "age"}),
        ("quic:recovery_metrics_updated", {"cwnd": 1}),
        ("quic:recovery_metrics_updated", {"pto_count": 1 << 16}),
        ("quic:congestion_state_updated", {"new": 1}),
    ],
)
def test_the_grammar_refuses_what_is_wrong(name: str, wrong: dict[str, Any], made: dumbbell.Result) -> None:
    header, *following = records(made)
    event = copy.deepcopy(next(one for one in following if one["name"] == name))
    hold_against_grammar([header, event])
    event["data"] |= wrong
    with pytest.raises(AssertionError, match=r"^no \w+: "):
        hold_against_grammar([header, event])


@pytest.mark.parametrize("wrong", [{"trace": {}}, {"file_schema": 1}, {"traces": []}])
def test_the_grammar_refuses_a_wrong_header(wrong: dict[str, Any], made: dumbbell.Result) -> None:
    header = records(made)[0]
    hold_against_grammar([header])
    with pytest.raises(AssertionError, match=r"^no QlogFileSeq: "):
        hold_against_grammar([header | wrong])
