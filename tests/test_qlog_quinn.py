"""`trace.sqlog` of flows of quinn, against the tables of the same run, and that readers of other projects take it."""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell
from closed_form import rows
from qlogs import PATH, as_quiche_reads, events, hold_against_grammar, records, told_at_samples

FLOWS = """
[[flow]]
cca = ["quinn:cubic", "bbr"]
transport = "quinn"
[[flow]]
cca = "reno"
"""
SCENARIO = PATH + FLOWS


@pytest.fixture(scope="module", params=[0, 1], ids=["quinn:cubic", "bbr"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dumbbell.Result:
    results = dumbbell.run(dumbbell.from_text(SCENARIO), tmp_path_factory.mktemp("qlog") / "run")
    return list(results)[request.param]


def test_packets_are_those_of_the_table(made: dumbbell.Result) -> None:
    (flow,) = rows(made, "flows", flow=0)
    sent = [one["data"] for one in events(made, 0, "quic:packet_sent")]
    assert sum(packet["raw"]["length"] for packet in sent) == flow["bytes_sent"]
    types = [packet["header"]["packet_type"] for packet in sent]
    assert set(types) == {"initial", "handshake", "1RTT"}
    numbers = [packet["header"]["packet_number"] for packet in sent if packet["header"]["packet_type"] == "1RTT"]
    assert numbers == sorted(set(numbers)), "none is used twice"
    # quinn counts packets that ask for an acknowledgement; the few that only acknowledge are not among them.
    assert flow["segs_sent"] <= len(sent) <= flow["segs_sent"] + 10


def test_stream_frames_cover_what_arrived(made: dumbbell.Result) -> None:
    (flow,) = rows(made, "flows", flow=0)
    lost = {one["data"]["header"]["packet_number"] for one in events(made, 0, "quic:packet_lost")}
    assert len(events(made, 0, "quic:packet_lost")) == flow["lost_segs"] > 20
    acked = [
        number
        for one in events(made, 0, "quic:packets_acked")
        if one["data"]["packet_number_space"] == "application_data"
        for number in one["data"]["packet_numbers"]
    ]
    assert len(acked) == len(set(acked))
    assert not lost & set(acked)
    arrived = set(acked)
    pieces = sorted(
        (frame["offset"], frame["offset"] + frame["raw"]["payload_length"])
        for one in events(made, 0, "quic:packet_sent")
        if one["data"]["header"].get("packet_number") in arrived and one["data"]["header"]["packet_type"] == "1RTT"
        for frame in one["data"]["frames"]
        if frame["frame_type"] == "stream"
    )
    end = 0
    for start, stop in pieces:
        if start > end:
            break
        end = max(end, stop)
    # All before the first gap was read; what is acknowledged on the way back is read already.
    assert end <= flow["goodput_bytes"] <= end + 100 * 1200


def test_acknowledgements_are_those_that_came(made: dumbbell.Result) -> None:
    (flow,) = rows(made, "flows", flow=0)
    received = events(made, 0, "quic:packet_received")
    assert 0.9 * flow["acks_sent"] < len(received) <= flow["acks_sent"] + 3
    acks = [frame for one in received for frame in one["data"]["frames"] if frame["frame_type"] == "ack"]
    assert all(first <= last for ack in acks for first, last in ack["acked_ranges"])
    assert any(len(ack["acked_ranges"]) > 1 for ack in acks), "there were gaps"


def test_metrics_at_sample_times_are_those_of_the_samples(made: dumbbell.Result) -> None:
    seen = 0
    for now, row in told_at_samples(made, 0):
        assert now["congestion_window"] // 1200 == row["cwnd"], row
        assert -(-now["bytes_in_flight"] // 1200) == row["in_flight"], row
        assert round(now.get("smoothed_rtt", 0) * 1e3) == (row["srtt_us"] or 0)
        seen += 1
    assert seen > 100


def test_a_qlog_changes_nothing_else(made: dumbbell.Result, tmp_path: Path) -> None:
    text = SCENARIO.replace("qlog = true", "qlog = false")
    runs = {Path(one.folder).name: one for one in dumbbell.run(dumbbell.from_text(text), tmp_path / "without")}
    without = runs[Path(made.folder).name]
    for file in ("flows.parquet", "samples.parquet", "events.parquet", "queue.parquet"):
        assert (Path(made.folder) / file).read_bytes() == (Path(without.folder) / file).read_bytes()


def test_quiches_reader_takes_every_event(made: dumbbell.Result) -> None:
    theirs = as_quiche_reads(made)
    ours = records(made)[1:]
    assert len(theirs) == len(ours)
    assert "other" not in {one["kind"] for one in theirs}
    frames = [
        (mine["data"]["frames"], read["data"]["frames"])
        for mine, read in zip(ours, theirs, strict=True)
        if read["kind"] in ("sent", "received")
    ]
    for mine, read in frames:
        assert [one["frame_type"] for one in mine] == [one["frame_type"] for one in read]


def test_the_working_groups_grammar_allows_every_record(made: dumbbell.Result) -> None:
    hold_against_grammar(records(made))
