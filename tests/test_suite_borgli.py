"""Borgli and Misund, and Gomez and others: arithmetic of the papers, set-ups, and figures of one paper computed again
from raw tables.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell
from dumbbell import suites
from dumbbell.results.load import Result
from dumbbell.suites import claims, timed
from dumbbell.suites.borgli import readings
from dumbbell.suites.gomez_fabric import readings as fabric
from dumbbell.suites.table import FAST, FULL


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A CUBIC flow, and one of BBR that joins after 5 s; queue of 52 packets."""
    case = next(iter(suites.entry_of("borgli/fig3").cases(FAST)))
    first, second = case.scenario["flow"]
    flows = [{**first, "start": "0s"}, {**second, "start": "5s"}]
    made = {**case.scenario, "flow": flows, "name": "joined", "duration": "20s", "repetitions": 1}
    made["path"] = {**made["path"], "buffer": "52pkt"}
    made["record"] = {"samples": True, "queue": True}
    return dumbbell.run(made, out=tmp_path_factory.mktemp("runs") / "out")[0]


def test_the_queue_of_55_packets_is_the_bdps_that_the_report_computes() -> None:
    assert readings.PACKET_BITS * 55 == 1_276_000
    bdps = readings.PACKET_BITS * 55 / readings.BDP_BITS
    assert bdps == pytest.approx(1.537, abs=0.001)


def test_a_queue_is_in_packets_of_mostly_two_segments_and_fq_paces_only_beside_bbr(joined: Result) -> None:
    limit = joined.plan.bottleneck.qdisc.limit
    assert limit is not None
    assert (limit.measure, limit.amount) == ("packets", 52)
    for case in suites.entry_of("borgli/fig9").cases(FULL):
        assert case.scenario["host"]["qdisc"] == {"CUBIC": "pfifo", "BBRv1": "fq"}[case.series or ""]
        assert case.scenario["duration"] == "300s"
    waiting = [(row["backlog_bytes"], row["backlog_packets"]) for row in joined.queue.to_pylist()]
    assert 1.5 < sum(held for held, _ in waiting) / sum(packets for _, packets in waiting) / 1514 <= 2
    assert {flow.params["rules_4_9"] for flow in joined.plan.flows if flow.cca == "bbr"} == {1}


def test_what_arrives_in_the_bins_is_what_the_flow_delivered(joined: Result) -> None:
    rows = joined.samples.to_pylist()
    for number in (0, 1):
        own = [row for row in rows if row["flow"] == number]
        ends, rates = timed.arrivals(joined, number)
        start = joined.plan.flows[number].start_ns // 1000
        count = {start: 0, **{row["t_us"]: row["delivered"] for row in own}}
        if start % 100_000:
            continue  # it starts between two samples, whose counts lie on a line
        wanted = [
            (count[at + 500_000] - count[at]) * 1448 * 8 / 0.5 / 1e6
            for at in range(start, own[-1]["t_us"] - 499_999, 500_000)
        ]
        assert list(rates) == pytest.approx(wanted)
        assert ends[0] == pytest.approx(start / 1e6 + 0.5)


def test_the_disturbance_is_the_deepest_half_second_after_the_second_start(joined: Result) -> None:
    ends, rates = timed.arrivals(joined, 0)
    begin = joined.plan.flows[1].start_ns / 1e9
    level = [rate for end, rate in zip(ends, rates, strict=True) if end <= begin]
    deepest = min(rate for end, rate in zip(ends, rates, strict=True) if begin < end <= begin + 5)
    found = readings.disturbance(joined)
    assert found == pytest.approx(1 - deepest / (sum(level) / len(level)))
    assert 0 < found < 1


def test_the_rtt_of_every_packet_is_that_of_the_capture_and_of_the_samples_without_one(tmp_path: Path) -> None:
    case = next(iter(suites.entry_of("borgli/fig8").cases(FULL)))
    assert case.scenario["record"]["pcap"] is True
    made = {**case.scenario, "name": "rtts", "duration": "10s", "repetitions": 1}
    with_capture = dumbbell.run(made, out=tmp_path / "with")[0]
    without = dumbbell.run({**made, "record": {"samples": True}}, out=tmp_path / "without")[0]
    rtts = readings.packet_rtts(with_capture, None)
    acks = with_capture.flows["acks_sent"].to_pylist()[0]
    assert 0.9 * acks < len(rtts) <= acks
    assert 76 <= rtts.min() < 90
    assert list(readings.packet_rtts(without, None)) == [value for value in timed.rtts(without, 0)[1] if value > 0]


def test_the_estimates_of_fabric_are_those_of_the_measured_part(tmp_path: Path) -> None:
    case = next(iter(suites.entry_of("gomez_fabric/exp-bw-cdf").cases(FAST)))
    path = {**case.scenario["path"], "rate": "20Mbps"}
    run = dumbbell.run({**case.scenario, "path": path, "name": "estimates", "duration": "8s"}, out=tmp_path / "out")[0]
    wanted = [row["bw_bps"] / 1e6 for row in run.samples.to_pylist() if row["t_us"] >= 5_000_000]
    assert fabric.bandwidth_estimates(run, None) == wanted


def test_the_printed_loss_of_fabric_is_one_packet_in_22000() -> None:
    assert round(100 / 22_000, 5) == 0.00455
    losses = {case.scenario["path"]["loss"] for case in suites.entry_of("gomez_fabric/exp-tput-rtt").cases(FULL)}
    assert list(losses) == [pytest.approx(1 / 22_000, rel=1e-4)]


def test_what_stands_in_a_queue_of_ten_gigabits_is_counted_in_bdp(tmp_path: Path) -> None:
    case = next(iter(suites.entry_of("gomez_fabric/exp6-queue").cases(FAST)))
    given = {name: table for name, table in case.scenario.items() if name != "measure"}
    path = {**given["path"], "rate": "20Mbps"}
    made = {**given, "name": "queue", "path": path, "flow": [{"cca": "cubic"}], "duration": "20s", "repetitions": 1}
    run = dumbbell.run({**made, "record": {"queue": True}}, out=tmp_path / "out")[0]
    assert fabric.bdp_mb(run) == 20e6 / 8 * 0.05 / 1e6
    backlog = [row["backlog_bytes"] for row in run.queue.to_pylist()]
    wanted = sum(backlog) / len(backlog) / 1e6 / fabric.bdp_mb(run)
    assert fabric.queue_occupancy(run, None) == pytest.approx(wanted, rel=0.05)


def test_what_cannot_be_judged_is_listed_with_its_reason() -> None:
    unjudged = suites.entry_of("gomez_fabric/exp-bw-cdf").unjudged
    assert set(unjudged) == {one.id for one in claims.of_suite("gomez_fabric")["gomez_fabric/exp-bw-cdf"].claims}
    assert {case.series for case in suites.entry_of("gomez_fabric/exp-aqm").cases(FULL)} >= {"FQ-CoDel", "CAKE"}
    assert suites.entry_of("gomez_fabric/exp-aqm").choices
