"""Borgli and Misund, and Gomez and others: arithmetic of the papers, set-ups, and figures of one paper computed again
from raw tables.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell
from dumbbell.results.load import Result
from dumbbell.suites import borgli, claims, gomez_fabric, timed
from dumbbell.suites.table import FAST, FULL


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A CUBIC flow, and one of BBR that joins after 5 s; queue of 52 packets."""
    tables = [borgli.flow("CUBIC"), borgli.flow("BBRv1", start="5s")]
    made = {**borgli.scenario(tables, 52, FAST), "name": "joined", "duration": "20s", "repetitions": 1}
    made["record"] = {"samples": True, "queue": True}
    return dumbbell.run(made, out=tmp_path_factory.mktemp("runs") / "out")[0]


def test_the_queue_of_55_packets_is_the_bdps_that_the_report_computes() -> None:
    assert borgli.PACKET_BITS * 55 == 1_276_000
    bdps = borgli.PACKET_BITS * 55 / borgli.BDP_BITS
    assert bdps == pytest.approx(1.537, abs=0.001)


def test_a_queue_is_in_packets_of_mostly_two_segments_and_fq_paces_only_beside_bbr(joined: Result) -> None:
    limit = joined.plan.bottleneck.qdisc.limit
    assert limit is not None
    assert (limit.measure, limit.amount) == ("packets", 52)
    for case in borgli.ENTRIES["fig9"].cases(FULL):
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
    found = borgli.ENTRIES["fig1"].metrics["max_throughput_drop_of_flow1_first_5s"](joined, None)
    assert found == pytest.approx(1 - deepest / (sum(level) / len(level)))
    assert 0 < found < 1


def test_the_printed_loss_of_fabric_is_one_packet_in_22000() -> None:
    assert round(100 * gomez_fabric.LOSS_SHARE, 5) == 0.00455
    losses = {case.scenario["path"]["loss"] for case in gomez_fabric.ENTRIES["exp-tput-rtt"].cases(FULL)}
    assert list(losses) == [pytest.approx(1 / 22_000, rel=1e-4)]


def test_what_stands_in_a_queue_of_ten_gigabits_is_counted_in_bdp(tmp_path: Path) -> None:
    tables = [gomez_fabric.flow("CUBIC")]
    made = gomez_fabric.scenario(tables, duration="20s", repetitions=1, rtt="50ms", buffer_bdp=1, rate="20Mbps")
    run = dumbbell.run({**made, "name": "queue", "record": {"queue": True}}, out=tmp_path / "out")[0]
    assert gomez_fabric.bdp_bytes(run) == 20e6 / 8 * 0.05
    backlog = [row["backlog_bytes"] for row in run.queue.to_pylist()]
    wanted = sum(backlog) / len(backlog) / gomez_fabric.bdp_bytes(run)
    assert gomez_fabric.queue_occupancy(run, None) == pytest.approx(wanted, rel=0.05)


def test_what_cannot_be_run_is_listed_with_its_reason() -> None:
    unjudged = gomez_fabric.ENTRIES["exp-bw-cdf"].unjudged
    assert set(unjudged) == {one.id for one in claims.of_suite("gomez_fabric")["gomez_fabric/exp-bw-cdf"].claims}
    assert not list(gomez_fabric.ENTRIES["exp-aqm"].cases(FULL))
    assert gomez_fabric.ENTRIES["exp-aqm"].choices
