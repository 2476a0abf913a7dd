"""Tables and summary of whole runs against the capture alone: tshark reads it, and a token bucket of a few lines plays
it through the path again.
"""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest

import dumbbell
from checked import checks
from replay import Bucket, Frame, at, frames, head_ages, received, scoreboard, send, time_quantile

TSHARK = shutil.which("tshark")
pytestmark = pytest.mark.skipif(
    TSHARK is None, reason="tshark is not installed (`make setup` installs it where it can)"
)

#: An early stop, late starts, several RTTs, a short flow, QUIC; the run ends between two samples.
SCENARIO = """
name = "replay"
duration = "4.05s"
path = {{ rate = {rate}, rtt = "40ms", buffer = "60kB", loss = {{ packets = [30, 31, 90] }}{more} }}
host = {{ qdisc = "none" }}
record = {{ pcap = true }}
[[flow]]
cca = "cubic"
start = "13.0017ms"
stop = "3s"
[[flow]]
cca = "reno"
start = "1.0371s"
rtt = "60ms"
[[flow]]
name = "short"
cca = "reno"
start = "2.0113s"
size = "150kB"
rtt = "30ms"
[[flow]]
cca = "cubic"
start = "523ms"
transport = "quic"
"""
LOST = (30, 31, 90)
END = 4_050_000_000
LIMIT, BURST = 60_000, 3028
CONSTANT = [(0, 10_000_000)]
STEPS = [(0, 10_000_000), (1_500_000_000, 4_000_000), (2_200_000_000, 0), (2_400_000_000, 12_000_000)]
#: Name, rate as the scenario has it, its course, and the policer: (rate, burst).
PATHS: list[tuple[str, str, list[tuple[int, int]], tuple[int, int] | None]] = [
    ("constant", '"10Mbps"', CONSTANT, None),
    ("steps", '{ steps = [["0s", "10Mbps"], ["1.5s", "4Mbps"], ["2.2s", "0bps"], ["2.4s", "12Mbps"]] }', STEPS, None),
    ("policer", '"10Mbps"', CONSTANT, (8_000_000, 30_000)),
]


#: One way of each flow, ns.
HALVES = dict(enumerate((20_000_000, 30_000_000, 15_000_000, 20_000_000)))


class Played(NamedTuple):
    """A run: its tables and summary as written, its capture, and what came to the link when that was played again."""

    tables: dict[str, list[dict[str, Any]]]
    summary: dict[str, Any]
    seen: list[Frame]
    came: list[Frame]
    course: list[tuple[int, int]]

    def left(self, flow: int | None = None) -> list[Frame]:
        """What left the link until the end of the run."""
        return [one for one in self.came if one.left is not None and one.left <= END and flow in (None, one.flow)]


@pytest.fixture(scope="module", params=PATHS, ids=[path[0] for path in PATHS])
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Played:
    _, rate, course, policer = request.param
    more = "" if policer is None else f', policer = {{ rate = "{policer[0]}bps", burst = "{policer[1]}B" }}'
    folder = tmp_path_factory.mktemp("replay") / "run"
    (result,) = dumbbell.run(dumbbell.from_text(SCENARIO.format(rate=rate, more=more)), folder)
    folder = Path(result.folder)
    tables = {
        name: pq.read_table(folder / f"{name}.parquet").to_pylist() for name in ("flows", "samples", "queue", "events")
    }
    assert TSHARK is not None
    seen = frames(folder / "trace.pcap", TSHARK)
    came = send(
        seen,
        HALVES,
        Bucket(course, BURST),
        LIMIT,
        lost=LOST,
        policer=None if policer is None else Bucket([(0, policer[0])], policer[1]),
    )
    return Played(tables, json.loads((folder / "manifest.json").read_text())["summary"], seen, came, course)


@checks(
    "flows",
    "segs_sent bytes_sent retrans_segs acks_sent delivered_segs queue_drops policed_drops aqm_drops random_drops",
)
@checks("summary.flow", "packets_sent retrans_rate")
@checks("event", "drop_queue drop_random retransmit")
def test_what_a_flow_sent_and_lost_is_in_the_capture(played: Played) -> None:
    for flow, row in enumerate(played.tables["flows"]):
        data = [one for one in played.seen if one.flow == flow and one.is_data and one.size]
        assert (row["segs_sent"], row["bytes_sent"]) == (len(data), sum(one.size for one in data))
        again = len(data) - len({one.begin for one in data})
        of_flow = played.summary["flows"][flow]
        assert (row["retrans_segs"], of_flow["packets_sent"], of_flow["retrans_rate"]) == (
            again,
            len(data),
            pytest.approx(again / len(data)),
        )
        mine = [one for one in played.came if one.flow == flow and (one.arrived or 0) <= END]
        assert row["queue_drops"] == sum(one.left is None for one in mine) > 0 or row["transport"] == "quic"
        assert (row["policed_drops"], row["aqm_drops"]) == (sum(one.is_policed for one in mine), 0)
        sent = [one for one in played.seen if one.flow == flow and one.is_data]
        assert row["random_drops"] == sum(number < len(sent) for number in LOST)
        # A flow that is stopped counts what was sent until then.
        last = END if row["completed_us"] is not None else row["stop_us"] * 1000 + 999 + HALVES[flow]
        answers = [one for one in played.seen if one.flow == flow and not one.is_data and one.at <= last]
        # The answer to the SYN or Initial is none of them; those of the last half RTT have not arrived.
        assert 0 <= row["acks_sent"] - (len(answers) - 1) <= (0 if row["stop_us"] < 4e6 else 30)
        if row["transport"] == "tcp":
            assert row["delivered_segs"] == scoreboard(played.seen, flow, row["stop_us"] * 1000 + 999)["delivered"]
        for kind, count in (
            ("drop_queue", row["queue_drops"]),
            ("drop_random", row["random_drops"]),
            ("retransmit", row["retrans_segs"]),
        ):
            assert (
                sum(
                    event["value"]
                    for event in played.tables["events"]
                    if event["flow"] == flow and event["kind"] == kind
                )
                == count
            ), kind


@checks(
    "flows",
    "start_us stop_us established_us completed_us size_bytes goodput_bytes owd_mean_us owd_p50_us owd_p95_us owd_p99_us"
    " damaged duplicated",
)
@checks("summary.flow", "goodput_mbps goodput_bytes share fct_s owd_mean_ms owd_p95_ms owd_p99_ms")
@checks("summary", "packets_delivered")
@checks("event", "start established stop complete")
def test_what_a_flow_delivered_and_when_follows_from_the_capture(played: Played) -> None:
    got, delivered = [], 0
    for flow, row in enumerate(played.tables["flows"]):
        course = received(played.came, flow)
        answers = [one.at for one in played.seen if one.flow == flow and not one.is_data]
        sent = [one.at for one in played.seen if one.flow == flow and one.is_data]
        done = next((ns for ns, size in course if size >= 150_000), END + 1) if row["name"] == "short" else END + 1
        stop = min(done, 3_000_000_000 if flow == 0 else END)
        assert (row["start_us"], row["established_us"], row["stop_us"]) == (
            sent[0] // 1000,
            answers[0] // 1000,
            stop // 1000,
        )
        assert row["completed_us"] == (done // 1000 if done <= END else None)
        assert row["size_bytes"] == (150_000 if row["name"] == "short" else None)
        got.append(at(course, stop))
        assert row["goodput_bytes"] == got[-1]
        # Time stamps of packets have microseconds; two flows' packets that come at one instant may change places here,
        # which is a packet's time on the link (1 to 3 ms) for one of the 106 packets of the short flow.
        delays = sorted((one.left or 0) // 1000 - one.at // 1000 for one in played.left(flow))
        delivered += sum(one.size > 0 for one in played.left(flow))
        of_flow = played.summary["flows"][flow]
        assert row["owd_mean_us"] == pytest.approx(fmean(delays), rel=1e-3)
        assert of_flow["owd_mean_ms"] == pytest.approx(fmean(delays) / 1e3, rel=1e-3)
        for percent in (50, 95, 99):
            assert row[f"owd_p{percent}_us"] == pytest.approx(
                delays[math.ceil(len(delays) * percent / 100) - 1], rel=0.017
            ), percent
        assert (of_flow["owd_p95_ms"], of_flow["owd_p99_ms"]) == (row["owd_p95_us"] / 1e3, row["owd_p99_us"] / 1e3)
        assert of_flow["goodput_mbps"] == pytest.approx(got[-1] * 8e3 / (stop - sent[0]), rel=1e-6)
        assert of_flow["fct_s"] == (pytest.approx((done - sent[0]) / 1e9, abs=1e-9) if done <= END else None)
        assert (row["damaged"], row["duplicated"]) == (0, 0)
        events = {event["kind"]: event for event in played.tables["events"] if event["flow"] == flow}
        assert (events["start"]["t_ns"], events["established"]["t_ns"]) == (sent[0], answers[0])
        end = events["complete" if done <= END else "stop"]
        assert (end["t_ns"], end["value"]) == (stop, 150_000 if done <= END else None)
    assert [flow["share"] for flow in played.summary["flows"]] == pytest.approx([one / sum(got) for one in got])
    assert [flow["goodput_bytes"] for flow in played.summary["flows"]] == got
    assert played.summary["packets_delivered"] == delivered


@checks(
    "queue",
    "t_us link backlog_bytes backlog_packets sojourn_us sojourn_integral_us2 sent_bytes sent_packets dropped_packets"
    " dropped_bytes",
)
def test_the_queue_at_each_sample_time_is_what_the_capture_puts_there(played: Played) -> None:
    rows = played.tables["queue"]
    assert [row["t_us"] for row in rows] == [*range(0, 4_050_000, 100_000), 4_050_000], "and at the end of the run"
    tied = 0
    for row in rows:
        # What happens at the sample time itself may come before the sample or after it.
        wanted = [_queue(played.came, row["t_us"] * 1000 - before) for before in (0, 1)]
        found = {name: row[name] for name in wanted[0]}
        assert found in wanted, row["t_us"]
        tied += wanted[0] != wanted[1]
        mean, _ = head_ages(played.came, max(row["t_us"] * 1000, 1))
        assert row["sojourn_integral_us2"] == pytest.approx(mean * row["t_us"] / 1e3, rel=1e-6, abs=1), row["t_us"]
        assert row["link"] == 0
    assert tied < 6


def _queue(came: list[Frame], ns: int) -> dict[str, int]:
    waiting = [one for one in came if one.left is not None and (one.arrived or 0) <= ns < one.left]
    gone = [one for one in came if one.left is not None and one.left <= ns]
    dropped = [one for one in came if one.left is None and (one.arrived or 0) <= ns]
    return {
        "backlog_bytes": sum(one.wire for one in waiting), "backlog_packets": len(waiting),
        "sojourn_us": -(-ns // 1000) - (-(-(waiting[0].arrived or 0) // 1000)) if waiting else 0,
        "sent_bytes": sum(one.wire for one in gone), "sent_packets": len(gone),
        "dropped_packets": len(dropped), "dropped_bytes": sum(one.wire for one in dropped),
    }  # fmt: skip


@checks(
    "summary.link",
    "utilization queue_mean_ms queue_p50_ms queue_p95_ms queue_p99_ms"
    " sojourn_mean_ms sojourn_p50_ms sojourn_p95_ms sojourn_p99_ms drops drop_rate",
)
def test_the_figures_of_the_link_follow_from_the_capture(played: Played) -> None:
    link, gone = played.summary["link"], played.left()
    could = Bucket(played.course, BURST).yielded(0, END) / 8e9 + BURST
    assert link["utilization"] == pytest.approx(sum(one.wire for one in gone) / could, rel=1e-6)
    drops = sum(one.left is None and (one.arrived or 0) <= END for one in played.came)
    assert (link["drops"], link["drop_rate"]) == (drops, pytest.approx(drops / (drops + len(gone))))
    mean, stretches = head_ages(played.came, END)
    assert link["queue_mean_ms"] == pytest.approx(mean / 1e6, rel=1e-6)
    for name, part in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        assert link[f"queue_{name}_ms"] == pytest.approx(time_quantile(stretches, END, part) / 1e6, rel=0.017), name
    waits = sorted(((one.left or 0) - (one.arrived or 0)) / 1e6 for one in gone)
    assert link["sojourn_mean_ms"] == pytest.approx(fmean(waits), abs=1e-3)
    for percent in (50, 95, 99):
        assert link[f"sojourn_p{percent}_ms"] == pytest.approx(
            waits[math.ceil(len(waits) * percent / 100) - 1], rel=0.017, abs=2e-3
        ), percent


@checks("samples", "t_us flow goodput_bytes goodput_bps packets_out sacked delivered segs_sent retrans_total in_flight")
def test_samples_are_what_the_capture_had_until_then(played: Played) -> None:
    for flow, row in enumerate(played.tables["flows"]):
        course = received(played.came, flow)
        rows = [one for one in played.tables["samples"] if one["flow"] == flow]
        first = -(-row["start_us"] // 100_000) * 100_000
        times = [*range(first, row["stop_us"], 100_000), row["stop_us"]]
        assert [one["t_us"] for one in rows] == times, "from the flow's start to its end"
        before, since = 0, row["start_us"]
        for one in rows:
            exact = min(one["t_us"] * 1000 + (999 if one["t_us"] % 100_000 else 0), END)
            assert one["goodput_bytes"] in (at(course, exact), at(course, exact - 1)), (flow, one["t_us"])
            assert one["goodput_bps"] == pytest.approx(
                (one["goodput_bytes"] - before) * 8e6 / (one["t_us"] - since), rel=1e-3, abs=8
            )
            before, since = one["goodput_bytes"], one["t_us"]
            assert (
                one["in_flight"] == one["packets_out"] - one["sacked"] - one["lost"] + one["retrans_out"]
                or row["transport"] == "quic"
            )
        if row["transport"] == "tcp":
            for one in rows[::4]:
                exact = one["t_us"] * 1000
                known = [
                    scoreboard(played.seen, flow, exact - tie) for tie in (-999 if one["t_us"] % 100_000 else 0, 1)
                ]
                names = ("packets_out", "sacked", "delivered", "segs_sent", "retrans_total")
                assert {name: one[name] for name in names} in [{name: of[name] for name in names} for of in known], (
                    flow,
                    one["t_us"],
                )
