"""Figures of runs whose answer is known beforehand, in closed form: one full link, windows, late starts, early stops."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean, pstdev

import pytest

import dumbbell
from checked import checks
from closed_form import PAYLOAD, Runner, figure, rows
from dumbbell.results import metrics

#: CUBIC, 10 Mbit/s, whose HyStart ends at a standing queue that never overflows: from 1 s on all is known.
FULL = """
duration = "9.05s"
path = { rate = "10Mbps", rtt = "40ms", buffer = "20bdp" }
record = { every = "50ms" }
[[flow]]
name = "one"
cca = "cubic"
[[flow]]
name = "late"
cca = "reno"
start = "4s"
stop = "6s"
[[flow]]
name = "other"
cca = "reno"
transport = "quic"
start = "6s"
stop = "6.0001s"
"""


@checks(
    "metrics",
    "goodput_bps goodput_bytes goodputs_bps throughput_bps utilization active_s goodput_series coefficient_of_variation"
    " link_plan counted",
)
@checks("metrics", "queue_series samples loss_rate mark_rate share goodput_ratio")
@checks("summary.flow", "name transport table cca packets_sent")
@checks("flows", "flow name table transport cca")
@checks("figure", "goodput throughput share utilization drops marks drop_rate")
@checks("summary.link", "utilization marks")
@checks("samples", "delivery_rate_bps goodput_bps")
def test_a_full_link_carries_its_rate_in_every_window(ran: Runner) -> None:
    result = ran(FULL)
    assert [(row["flow"], row["name"], row["table"], row["transport"], row["cca"]) for row in rows(result,
        "flows")] == [
        (0, "one", 0, "tcp", "cubic"), (1, "late", 1, "tcp", "reno"), (2, "other", 2, "quic", "reno"),
    ]  # fmt: skip
    assert [(flow.name, flow.table, flow.transport, flow.cca) for flow in result.summary.flows] == [
        ("one", 0, "tcp", "cubic"), ("late", 1, "tcp", "reno"), ("other", 2, "quic", "reno"),
    ]  # fmt: skip
    full = 10e6 * PAYLOAD
    one, late = rows(result, "flows")[:2]
    for window in ((2.0, 3.0), (1.51, 3.999), (4.0, 6.0)):
        assert metrics.utilization(result, window) == pytest.approx(1, abs=2e-3)
        assert metrics.goodput_bps(result, "all", window) == pytest.approx(full, rel=0.02)
    assert metrics.goodput_bps(result, 0, (2, 3.5)) == pytest.approx(full, rel=5e-3)
    sent = {row["t_us"]: row["segs_sent"] for row in rows(result, "samples", flow=0)}
    assert metrics.throughput_bps(result, 0, (2, 3.5)) == pytest.approx(
        (sent[3_500_000] - sent[2_000_000]) * 1448 * 8 / 1.5
    )
    assert (
        metrics.throughput_bps(result, 1)
        == pytest.approx(late["bytes_sent"] * 8 / 2)
        == pytest.approx((figure(result, "throughput", [1]) or 0) * 1e6)
    )
    assert metrics.active_s(result, "late") == (4, 6)
    assert metrics.active_s(result, 1, (5, 9)) == (5, 6)
    assert metrics.goodput_bytes(result, [0, 1]) == one["goodput_bytes"] + late["goodput_bytes"]
    rates = [one["goodput_bytes"] * 8 / 9.05, late["goodput_bytes"] * 8 / 2]
    assert metrics.goodputs_bps(result, [0, 1]) == pytest.approx(rates)
    assert figure(result, "goodput", [0, 1]) == pytest.approx(
        (one["goodput_bytes"] + late["goodput_bytes"]) * 8e-6 / 9.05
    )
    assert metrics.goodput_ratio(result, "one", "late") == pytest.approx(rates[0] / rates[1])
    total = sum(row["goodput_bytes"] for row in rows(result, "flows"))
    assert metrics.share(result, "late") == pytest.approx(late["goodput_bytes"] / total) == figure(result, "share", [1])
    assert metrics.share(result, "other") == 0, "it had no time to send"
    ends, series = metrics.goodput_series(result, 0, bin_s=0.5, window=(1.5, 3.5))
    assert list(ends) == pytest.approx([2, 2.5, 3, 3.5])
    assert list(series) == pytest.approx([full] * 4, rel=0.01)
    assert metrics.coefficient_of_variation(result, 0, (1.5, 3.5)) == pytest.approx(pstdev(series) / fmean(series))
    assert metrics.coefficient_of_variation(result, 0, (1.5, 3.5)) < 0.01
    queue = rows(result, "queue", link=0)
    assert metrics.link_plan(result, 0).rate_bps == 10_000_000
    assert queue[-1]["t_us"] == 9_050_000
    link = result.summary.link
    assert (
        (link.drops, link.marks)
        == (queue[-1]["dropped_packets"], queue[-1]["marked_packets"])
        == (figure(result, "drops", []), figure(result, "marks", []))
    )
    assert (
        metrics.counted(result, "sent_bytes")
        == queue[-1]["sent_bytes"]
        == metrics.queue_series(result, "sent_bytes")[1][-1]
    )
    assert (
        metrics.loss_rate(result)
        == pytest.approx(link.drops / (link.drops + queue[-1]["sent_packets"]))
        == figure(result, "drop_rate", [])
    )
    assert metrics.mark_rate(result) == 0
    assert metrics.utilization(result) == pytest.approx(link.utilization, rel=1e-9) == figure(result, "utilization", [])
    rate = [row["delivery_rate_bps"] for row in rows(result, "samples", flow=0) if 1_500_000 < row["t_us"] < 3_900_000]
    assert fmean(rate) == pytest.approx(full, rel=0.01)
    assert metrics.samples(result, 1)["t_us"][0] == rows(result, "samples", flow=1)[0]["t_us"]


@checks("figure", "goodput_flow_mean goodput_flow_min goodput_flow_sd jain_all srtt_flow_mean")
def test_figures_of_several_flows_are_statistics_of_each_flows_own(ran: Runner) -> None:
    result = ran(FULL)
    one, late = rows(result, "flows")[:2]
    rates = [one["goodput_bytes"] * 8 / 9.05, late["goodput_bytes"] * 8 / 2]
    assert figure(result, "goodput_flow_mean", [0, 1]) == pytest.approx(fmean(rates) / 1e6)
    assert figure(result, "goodput_flow_min", [0, 1]) == pytest.approx(min(rates) / 1e6)
    assert figure(result, "goodput_flow_sd", [0, 1]) == pytest.approx(abs(rates[0] - rates[1]) / 2e6)
    assert figure(result, "jain_all", [0, 1]) == pytest.approx(sum(rates) ** 2 / (2 * sum(rate**2 for rate in rates)))
    srtts = [
        fmean(row["srtt_us"] / 1000 for row in rows(result, "samples", flow=i) if row["srtt_us"] is not None)
        for i in (0, 1)
    ]
    assert figure(result, "srtt_flow_mean", [0, 1]) == pytest.approx(fmean(srtts))


@checks("samples", "pacing_bps in_flight rtt_us lost lost_total retrans_out")
def test_a_standing_queue_is_the_window_less_the_path(ran: Runner) -> None:
    result = ran(FULL)
    for row in rows(result, "samples", flow=0):
        if not 1_000_000 < row["t_us"] < 3_900_000 or row["ca_state"]:
            continue
        # What was in flight took its time at the link; the window grows by a few per cent in that time.
        assert row["rtt_us"] == pytest.approx(row["in_flight"] * 1514 * 8 / 10, rel=0.1)
        assert row["in_flight"] == pytest.approx(row["cwnd"], abs=2)
        # Linux paces at 200 % of window over RTT in slow start, 120 % in congestion avoidance.
        factor = 2 if row["ssthresh"] is None or row["cwnd"] < row["ssthresh"] / 2 else 1.2
        assert row["pacing_bps"] == pytest.approx(factor * row["cwnd"] * 1448 * 8e6 / row["srtt_us"], rel=0.02)
        assert (row["lost"], row["retrans_out"]) == (0, 0)
    assert rows(result, "samples", flow=0)[-1]["lost_total"] <= rows(result, "flows")[0]["lost_segs"]


@checks("metrics", "utilization loss_rate counted")
def test_figures_of_a_run_are_complete_where_samples_are_far_apart(ran: Runner) -> None:
    result = ran(
        'duration = "2.9s"\nrecord = { every = "1s" }\npath = { rate = "10Mbps", rtt = "20ms", buffer = "1bdp" }\nflow'
        ' = [{ cca = "cubic" }]\n'
    )
    assert metrics.utilization(result) == pytest.approx(result.summary.link.utilization, rel=1e-9)
    assert metrics.utilization(result) > 0.97
    assert metrics.counted(result, "dropped_packets") == result.summary.link.drops > 0


@checks("metrics", "utilization")
def test_a_link_without_a_bucket_may_send_a_frame_on_top_of_its_rate(ran: Runner) -> None:
    result = ran(
        'duration = "6.05s"\npath = { rate = "50kbps", rtt = "20ms", qdisc = "cake" }\nflow = [{ cca = "cubic" }]\n'
    )
    sent = rows(result, "queue")[-1]["sent_bytes"]
    assert (
        metrics.utilization(result)
        == pytest.approx(sent / (50e3 * 6.05 / 8 + 1514), rel=1e-4)
        == pytest.approx(result.summary.link.utilization, rel=1e-4)
    )


@checks("metrics", "utilization")
def test_a_deep_bucket_is_no_capacity_where_packets_wait(ran: Runner) -> None:
    result = ran(
        'duration = "10s"\npath = { rate = "1Mbps", rtt = "20ms", buffer = "200kB", burst = "100kB" }\nflow = [{ cca ='
        ' "cubic" }]\n'
    )
    assert rows(result, "queue")[50]["backlog_bytes"] > 0
    assert metrics.utilization(result, (5, 6)) == pytest.approx(1, abs=0.02)


@checks("metrics", "goodput_series arrival_series")
@pytest.mark.parametrize(("bin_s", "window"), [(1.0, None), (0.4, None), (0.5, (3.3, 4.4)), (5.0, (1.0, 3.0))])
def test_bins_begin_with_the_flow_and_hold_all_its_bytes(
    ran: Runner, bin_s: float, window: tuple[float, float] | None
) -> None:
    # Starts between two samples; the short one ends within its first bin.
    result = ran(
        'duration = "6s"\nrecord = { every = "100ms" }\npath = { rate = "10Mbps", rtt = "40ms", buffer = "20bdp" }\n'
        'flow = [{ cca = "cubic", start = "333ms", stop = "5.21s" }, { cca = "cubic", start = "2.05s", size = "9kB" }]\n'
    )
    for flow in (0, 1):
        first, last = metrics.active_s(result, flow, window)
        ends, rates = metrics.goodput_series(result, flow, bin_s=bin_s, window=window)
        assert sum(rates) * bin_s / 8 == pytest.approx(metrics.goodput_bytes(result, flow, window), abs=1e-3)
        if last > first:
            assert ends[0] == pytest.approx(first + bin_s)
            assert ends[-1] - bin_s < last <= ends[-1] + 1e-9
        whole = metrics.goodput_series(result, flow, bin_s=bin_s, window=window, whole=True)[0]
        assert list(whole) == [end for end in ends if end <= last + 1e-9]
        arrived_at, segments = metrics.arrival_series(result, flow, bin_s=bin_s, window=window)
        assert list(arrived_at) == list(whole)
        if window is None and flow == 0 and bin_s == 1:
            got = metrics.goodput_bytes(result, 0, (first, whole[-1]))
            assert sum(segments) == pytest.approx(got / 1448, rel=0.02), "all arrive in order"


@checks("metrics", "coefficient_of_variation convergence_time_s goodput_series")
def test_bins_that_lie_between_two_samples_are_refused(ran: Runner) -> None:
    result = ran(
        'duration = "8s"\nrecord = { every = "2s" }\npath = { rate = "10Mbps", rtt = "40ms", buffer = "0.3bdp" }\nflow'
        ' = [{ cca = "reno" }]\n'
    )
    with pytest.raises(dumbbell.ResultError, match=r"bins of 0.5 s: wanted 2 s or more, as its samples are apart"):
        metrics.coefficient_of_variation(result, 0)
    with pytest.raises(dumbbell.ResultError, match=r"bins of 1 s: wanted 2 s or more"):
        metrics.convergence_time_s(result)
    assert metrics.coefficient_of_variation(result, 0, bin_s=2) > 0


@checks("flows", "min_rtt_us")
def test_the_smallest_rtt_is_that_of_the_whole_run(ran: Runner) -> None:
    # CUBIC keeps a queue all the time; TCP itself forgets the empty path after five minutes.
    result = ran(
        'duration = "330s"\nrecord = { every = "1s" }\npath = { rate = "1Mbps", rtt = "20ms", buffer = "6bdp" }\nflow ='
        ' [{ cca = "cubic" }]\n'
    )
    assert rows(result, "samples")[-1]["min_rtt_us"] > 25_000
    assert rows(result, "flows")[0]["min_rtt_us"] == 20_000


@checks("summary", "link links flows events")
def test_the_summary_has_a_part_for_each_link_and_flow(ran: Runner) -> None:
    result = ran(FULL)
    summary = json.loads((Path(result.folder) / "manifest.json").read_text())["summary"]
    assert (len(summary["flows"]), len(summary["links"])) == (3, 0)
    # A packet has at least one event when it reaches the link, one when it leaves it, and its ACK one.
    assert summary["events"] > rows(result, "queue")[-1]["sent_packets"] * 2


#: UDP of 1200 bytes, 1242 on the wire, at 41.4 Mbit/s into a link of 10 Mbit/s.
BLAST = """
duration = "5s"
path = { rate = "10Mbps", rtt = "40ms", buffer = "1bdp" }
[[flow]]
transport = "udp"
workload = { kind = "paced", rate = "40Mbps", message = "1200B" }
"""


@checks("metrics", "lost_share")
@checks("figure", "lost")
def test_a_sender_that_does_not_respond_loses_what_the_link_does_not_carry(ran: Runner) -> None:
    result = ran(BLAST)
    # The queue is full from 13 ms on: 50 kB at 31.4 Mbit/s.
    assert metrics.lost_share(result, 0, window=(1, 4)) == pytest.approx(1 - 10 / 41.4, abs=5e-4)
    assert figure(result, "lost", [0]) == metrics.lost_share(result, 0) == pytest.approx(1 - 10 / 41.4, abs=1e-2)
    assert figure(result, "lost", [0]) == result.flows["queue_drops"][0].as_py() / result.flows["segs_sent"][0].as_py()
