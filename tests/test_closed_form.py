"""Figures of runs whose answer is known beforehand, in closed form: idle paths, known losses, several flows,
controllers that tell of themselves. `test_closed_form_link.py` has the full link.
"""

from __future__ import annotations

import math
from statistics import fmean, quantiles

import pytest

from checked import checks
from closed_form import PAYLOAD, Runner, figure, rows
from dumbbell.results import metrics

# --- a path that nobody else uses ------------------------------------------------------------------

#: 100 Mbit/s, 40 ms: a short flow, a lone byte, requests one segment long, a paced flow of 1 Mbit/s.
IDLE = """
duration = "6.05s"
path = {{ rate = "100Mbps", rtt = "40ms", buffer = "1bdp" }}
[[flow]]
cca = "reno"
{}
"""


@checks("metrics", "completion_time_s completion_times_s completion_s unfinished_flows")
@checks("summary.flow", "fct_s")
@checks("figure", "fct fct_p50 fct_p95 fct_p99 unfinished")
@pytest.mark.parametrize(
    ("size", "trips"), [("1B", 1.5), ("14480B", 1.5), ("14481B", 2.5), ("43440B", 2.5), ("43441B", 3.5)]
)
def test_a_short_flow_takes_its_handshake_and_a_round_trip_for_each_doubling(
    ran: Runner, size: str, trips: float
) -> None:
    # Without fq nothing is paced, so a round's segments leave as ACKs come.
    result = ran(IDLE.format(f'size = "{size}"\nstart = "300ms"') + '[host]\nqdisc = "none"\n')
    fct = metrics.completion_time_s(result, 0)
    # What leaves at once takes its serialization; the path adds no more than the last round's segments.
    segments = math.ceil(int(size[:-1]) / 1448)
    assert fct is not None
    assert trips * 0.04 <= fct <= trips * 0.04 + segments * 1514 * 8 / 100e6
    assert list(metrics.completion_times_s(result)) == [fct]
    assert [figure(result, name, [0]) for name in ("fct", "fct_p50", "fct_p95", "fct_p99")] == pytest.approx([fct] * 4)
    assert list(metrics.completion_s(result)) == pytest.approx([fct] * 4)
    assert figure(result, "unfinished", [0]) == metrics.unfinished_flows(result) == 0
    assert result.summary.flows[0].fct_s == pytest.approx(fct, abs=2e-6)
    assert list(metrics.completion_times_s(result, window=(0.4, 1))) == [], "it started before"


@checks("metrics", "request_latencies_s latency_s unfinished_requests")
@checks("messages", "flow asked_us written_us bytes completed_us")
@checks("figure", "latency latency_p50 latency_p95 latency_p99")
def test_a_request_takes_one_round_trip(ran: Runner) -> None:
    result = ran(
        IDLE.format(
            'start = "1s"\nworkload = { kind = "request_response", response = "1000B", think = "300ms", count = 5 }'
        )
    )
    asked = [1_060_000 + i * 340_000 for i in range(5)]
    wanted = [
        {"flow": 0, "asked_us": at, "written_us": at + 20_000, "bytes": 1000, "completed_us": at + 40_000}
        for at in asked
    ]
    assert rows(result, "messages") == wanted
    assert list(metrics.request_latencies_s(result)) == pytest.approx([0.04] * 5)
    assert len(metrics.request_latencies_s(result, window=(1.5, 2.2))) == 2
    assert [
        figure(result, name, [0]) for name in ("latency", "latency_p50", "latency_p95", "latency_p99")
    ] == pytest.approx([40.0] * 4)


def test_what_had_not_ended_lies_above_every_percentile(ran: Runner) -> None:
    # A message of 1000 bytes each 100 ms from 60 ms on, and hardly a path from 4.5 s on.
    work = 'workload = { kind = "paced", rate = "80kbps", message = "1000B" }\n'
    result = ran(
        IDLE.format(work).replace('rate = "100Mbps"', 'rate = { steps = [["0s", "100Mbps"], ["4.5s", "0bps"], ["6.04s", "1Mbps"]] }')
        .replace('buffer = "1bdp"', 'buffer = "500kB"')
    )  # fmt: skip
    messages = rows(result, "messages")
    times = sorted(row["completed_us"] - row["asked_us"] for row in messages if row["completed_us"] is not None)
    missing = len(messages) - len(times)
    assert missing > 10
    latency = metrics.latency_s(result)
    assert latency.mean == pytest.approx(fmean(times) / 1e6)
    place = 0.5 * (len(messages) - 1)
    assert latency.p50 * 1e6 == pytest.approx((times[math.floor(place)] + times[math.ceil(place)]) / 2, abs=1)
    assert (latency.p95, latency.p99) == (math.inf, math.inf)
    assert figure(result, "latency_p99", [0]) == math.inf
    assert figure(result, "unfinished", [0]) == metrics.unfinished_requests(result) == missing
    assert metrics.unfinished_requests(result, window=(0, 4)) == 0
    assert metrics.latency_s(result, window=(0, 4)).p99 == pytest.approx(0.02, rel=0.02)


def test_answers_of_a_count_that_are_missing_are_unfinished_and_said(ran: Runner) -> None:
    work = 'workload = {{ kind = "request_response", response = "1000B", think = "300ms", count = {} }}\n'
    # An answer takes 40 ms, after 300 ms: 17 in 6 s, from 60 ms on.
    result = ran(IDLE.format("[[flow]]\ncca = 'reno'\n".join(work.format(count) for count in (5, 0, 99))))
    assert [figure(result, "unfinished", [flow]) for flow in range(3)] == [0, 0, 1], "the endless one: messages"
    assert [flow.fct_s is None for flow in result.summary.flows] == [False, True, True]
    assert result.warnings == ["flow 2 did not give all answers of its workload.count within the run"]
    many = ran(IDLE.format(work.format(99) + "count = 7\n"))
    assert figure(many, "unfinished", range(7)) == 7
    assert many.warnings == [
        "7 of 7 flows (0, 1, 2, 3, 4, ...) did not give all answers of their workload.count within the run"
    ]


@checks("metrics", "rtt_ms one_way_delay_ms queueing_delay_ms queue_occupancy_bytes sojourn_ms")
@checks("samples", "rtt_us srtt_us min_rtt_us")
@checks("flows", "min_rtt_us rtt_us owd_mean_us")
@checks("summary.flow", "srtt_mean_ms srtt_p95_ms owd_mean_ms rtt_ms")
@checks(
    "figure",
    "rtt rtt_p50 rtt_p95 rtt_p99 srtt srtt_p50 srtt_p95 srtt_p99 owd owd_p50 owd_p95 owd_p99 queue queue_p50 queue_p95"
    " queue_p99",
)
@checks("figure", "sojourn sojourn_p50 sojourn_p95 sojourn_p99")
def test_a_paced_flow_far_below_the_rate_finds_no_queue(ran: Runner) -> None:
    # A segment every 11.584 ms; the receiver answers each second one, and at the latest after its delayed-ACK timer.
    result = ran(
        IDLE.format('workload = { kind = "paced", rate = "1Mbps", message = "1448B" }')
        + "[host]\ndelayed_ack = false\n"
    )
    assert rows(result, "flows")[0]["min_rtt_us"] == rows(result, "flows")[0]["rtt_us"] == 40_000
    assert {(row["rtt_us"], row["srtt_us"], row["min_rtt_us"]) for row in rows(result, "samples")} == {
        (40_000, 40_000, 40_000)
    }
    assert metrics.rtt_ms(result) == metrics.rtt_ms(result, smoothed=True) == (40, 40, 40, 40)
    assert {
        figure(result, kind + ending, [0]) for kind in ("rtt", "srtt") for ending in ("", "_p50", "_p95", "_p99")
    } == {40.0}
    for found in (
        metrics.one_way_delay_ms(result),
        [figure(result, "owd" + ending, [0]) for ending in ("", "_p50", "_p95", "_p99")],
    ):
        assert list(found) == pytest.approx([20.0] * 4, rel=0.017)
    for found in (metrics.queueing_delay_ms(result), metrics.queue_occupancy_bytes(result), metrics.sojourn_ms(result)):
        assert tuple(found) == (0, 0, 0, 0)
    assert {
        figure(result, kind + ending, [0]) for kind in ("queue", "sojourn") for ending in ("", "_p50", "_p95", "_p99")
    } == {0.0}
    of = result.summary.flows[0]
    assert (of.srtt_mean_ms, of.srtt_p95_ms, of.rtt_ms, of.owd_mean_ms) == (40, 40, 40, 20)


@checks("samples", "cwnd ssthresh cca_state")
@checks("metrics", "windows_segments")
@checks("figure", "cwnd cwnd_min cwnd_max")
def test_slow_start_doubles_the_window_each_round(ran: Runner) -> None:
    result = ran(
        IDLE.format('size = "1MB"').replace("6.05s", "300ms")
        + '[host]\ndelayed_ack = false\nqdisc = "none"\n[record]\nevery = "20ms"\n'
    )
    windows = {row["t_us"] // 1000: row["cwnd"] for row in rows(result, "samples")}
    assert [windows[ms] for ms in (60, 100, 140, 180)] == [10, 20, 40, 80], "half a round trip after each round began"
    for window, sampled in (((0.059, 0.061), [10]), ((0.059, 0.101), [windows[80], 10, 20])):
        assert sorted(metrics.windows_segments(result, 0, window)) == sorted(sampled)
        assert figure(result, "cwnd_min", [0], window) == 10
        assert figure(result, "cwnd_max", [0], window) == max(sampled)
        assert figure(result, "cwnd", [0], window) == pytest.approx(fmean(sampled))
    assert math.isnan(figure(result, "cwnd", [0], (0.062, 0.063)) or math.nan)
    assert {row["ssthresh"] for row in rows(result, "samples")} == {None}
    assert {row["cca_state"] for row in rows(result, "samples")} == {"SLOW_START"}


# --- packets lost, by list -------------------------------------------------------------------------


@checks("flows", "tlps rtos recoveries lost_segs random_drops retrans_segs segs_sent undos")
@checks("event", "tlp rto loss_detected ca_state")
@checks("metrics", "retransmission_rate segments_sent")
@checks("figure", "retrans_rate")
@pytest.mark.parametrize(
    # Packets 0 and 1 open the connection: five segments are 2 to 6, a probe or retransmission is 7, and so on.
    ("lost", "repair"),  # probes, timeouts, recoveries, segments sent again
    [([6], (1, 0, 0, 1)), ([6, 7], (1, 1, 0, 2)), ([6, 7, 8], (1, 2, 0, 3)), ([2], (0, 0, 1, 1))],
)
def test_a_known_loss_takes_the_known_repair(ran: Runner, lost: list[int], repair: tuple[int, int, int, int]) -> None:
    tlps, rtos, recoveries, again = repair
    text = IDLE.format('size = "7240B"').replace('buffer = "1bdp"', f'buffer = "1bdp", loss = {{ packets = {lost} }}')
    result = ran(text)
    (row,) = rows(result, "flows")
    assert {name: row[name] for name in ("tlps", "rtos", "random_drops", "retrans_segs", "segs_sent")} == {
        "tlps": tlps, "rtos": rtos, "random_drops": len(lost), "retrans_segs": again, "segs_sent": 5 + again,
    }  # fmt: skip
    assert (
        metrics.retransmission_rate(result, 0)
        == pytest.approx(again / (5 + again))
        == figure(result, "retrans_rate", [0])
    )
    assert metrics.segments_sent(result) == 5 + again
    assert row["undos"] == 0
    events = rows(result, "events")
    count = {kind: sum(event["kind"] == kind for event in events) for kind in ("tlp", "rto")}
    assert count == {"tlp": tlps, "rto": rtos}
    assert [event["value"] for event in events if event["kind"] == "rto"] == list(range(1, rtos + 1))
    entered = [event["note"] for event in events if event["kind"] == "ca_state"]
    assert (row["recoveries"], entered.count("Recovery")) == (recoveries, recoveries)
    assert row["lost_segs"] == sum(event["value"] for event in events if event["kind"] == "loss_detected")


@checks("flows", "duplicated damaged")
def test_what_is_damaged_is_sent_again_and_what_is_doubled_is_not(ran: Runner) -> None:
    for key, column in (("corrupt", "damaged"), ("duplicate", "duplicated")):
        result = ran(IDLE.format('size = "800kB"').replace('buffer = "1bdp"', f'buffer = "10bdp", {key} = "2%"'))
        (row,) = rows(result, "flows")
        # Four standard deviations of a binomial count.
        assert abs(row[column] - 0.02 * row["segs_sent"]) < 4 * math.sqrt(0.02 * row["segs_sent"])
        assert row["retrans_segs"] == (row["damaged"] if key == "corrupt" else 0)
        assert row["goodput_bytes"] == 800_000


# --- several flows ---------------------------------------------------------------------------------


@checks("metrics", "convergence_time_s jain jain_index steady_flows flows_of")
@checks("summary", "jain jain_flows")
@checks("figure", "jain jain_flows")
def test_convergence_and_jains_index_are_of_the_flows_that_run(ran: Runner) -> None:
    # Two paced flows of equal rate beside one that ended before the second began: fair from the first whole bin on.
    flow = '[[flow]]\ncca = "reno"\nworkload = {{ kind = "paced", rate = "{}", message = "1000B" }}\n{}\n'
    head = 'duration = "20s"\npath = { rate = "10Mbps", rtt = "20ms", buffer = "1bdp" }\n'
    result = ran(
        head + flow.format("1Mbps", "") + flow.format("1Mbps", 'stop = "3s"') + flow.format("1Mbps", 'start = "8s"')
    )
    assert metrics.convergence_time_s(result) == 0
    assert metrics.flows_of(result, "all") == [0, 1, 2]
    assert (result.summary.jain, result.summary.jain_flows, metrics.jain_index(result)) == (None, 1, None)
    assert metrics.steady_flows(result, (10, 18)) == [0, 2]
    assert metrics.jain_index(result, (10, 18)) == pytest.approx(1, abs=1e-4)
    uneven = ran(head + flow.format("3Mbps", "") + flow.format("1Mbps", ""))
    for found in (uneven.summary.jain, metrics.jain_index(uneven), figure(uneven, "jain", []), metrics.jain([3, 1])):
        assert found == pytest.approx(0.8, abs=2e-3)
    assert uneven.summary.jain_flows == len(metrics.steady_flows(uneven)) == figure(uneven, "jain_flows", []) == 2
    assert metrics.convergence_time_s(uneven) is None
    assert metrics.convergence_time_s(uneven, fairness=0.79) == 0


@checks("flows", "ecn_marks aqm_drops queue_drops policed_drops")
@checks("event", "ecn_mark")
@checks("queue", "marked_packets link")
@checks("metrics", "mark_rate")
def test_marks_of_two_links_are_counted_at_each_link_and_for_each_flow(ran: Runner) -> None:
    marking = 'qdisc = { kind = "codel", ecn = true }'
    result = ran(
        f'duration = "6s"\nhost = {{ ecn = true }}\npath = {{ rate = "10Mbps", rtt = "40ms", {marking}'
        f' }}\n[[link]]\nname = "b"\nrate = "9Mbps"\ndelay = "5ms"\n{marking}\n[[flow]]\ncca = "cubic"\nvia ='
        ' ["bottleneck", "b"]\n[[flow]]\ncca = "reno"\n[[flow]]\ncca = "reno"\nvia = ["b"]\n'
    )
    last = [rows(result, "queue", link=number)[-1] for number in (0, 1)]
    flows = rows(result, "flows")
    assert [link.marks for link in result.summary.data_links] == [row["marked_packets"] for row in last]
    assert sum(row["ecn_marks"] for row in flows) == sum(row["marked_packets"] for row in last) > 20
    assert metrics.mark_rate(result, link=1) == pytest.approx(last[1]["marked_packets"] / last[1]["sent_packets"])
    for row in flows:
        assert row["ecn_marks"] == sum(
            event["value"] for event in rows(result, "events", flow=row["flow"], kind="ecn_mark")
        )
        assert (row["queue_drops"], row["aqm_drops"], row["policed_drops"]) == (0, 0, 0)
        # The first link alone marks the second flow, the second alone the third.
    assert flows[1]["ecn_marks"] <= last[0]["marked_packets"]
    assert flows[2]["ecn_marks"] <= last[1]["marked_packets"]
    assert [row["rtt_us"] for row in flows] == [50_000, 40_000, 50_000]


@checks("flows", "undos")
@checks("event", "undo")
def test_a_retransmission_for_nothing_is_taken_back(ran: Runner) -> None:
    # The RTT grows at once beyond any timeout: the timer fires, and the ACKs of the originals come after it.
    text = (
        'duration = "4s"\npath = { rate = "100Mbps", rtt = { steps = [["0s", "20ms"], ["1s", "900ms"]] }, buffer ='
        ' "10bdp" }\n'
    )
    result = ran(text + 'flow = [{ cca = "reno", max_rate = "2Mbps" }]\n')
    (row,) = rows(result, "flows")
    assert row["rtos"] >= 1
    assert row["undos"] == len(rows(result, "events", kind="undo")) >= 1
    assert row["queue_drops"] == row["random_drops"] == 0


# --- controllers that tell of themselves -----------------------------------------------------------


@checks("samples", "bw_bps cca_min_rtt_us pacing_gain cwnd_gain inflight_lo inflight_hi cca_state ca_state")
@checks("event", "cca_state")
@checks("events", "t_ns flow kind value note")
def test_bbr_alone_finds_the_rate_and_the_delay(ran: Runner) -> None:
    for cca in ("bbr", "bbr3"):
        result = ran(
            f'duration = "8s"\npath = {{ rate = "10Mbps", rtt = "40ms", buffer = "4bdp" }}\nflow = [{{ cca = "{cca}"'
            " }]\n"
        )
        samples = rows(result, "samples")
        late = [row for row in samples if row["t_us"] > 2_000_000]
        assert all(row["bw_bps"] == pytest.approx(10e6 * PAYLOAD, rel=0.03) for row in late)
        assert all(row["cca_min_rtt_us"] == pytest.approx(40_000, abs=2500) for row in late)
        assert all(
            row["pacing_gain"] > 2.7 for row in samples if row["cca_state"] == "STARTUP" and row["t_us"] > 100_000
        )
        assert all(0.3 < row["pacing_gain"] <= 1.25 and 0.4 <= row["cwnd_gain"] <= 2.9 for row in late)
        if cca == "bbr":
            assert {(row["inflight_lo"], row["inflight_hi"]) for row in samples} == {(None, None)}
        else:
            assert {row["inflight_lo"] for row in samples if row["t_us"] < 200_000} == {None}
            found = [row["inflight_hi"] for row in samples if row["inflight_hi"] is not None]
            assert all(10e6 * 0.04 / 8 / 1514 / 2 < hi < 6 * 10e6 * 0.04 / 8 / 1514 for hi in found)
        changes = rows(result, "events", kind="cca_state")
        assert [event["t_ns"] for event in changes] == sorted(event["t_ns"] for event in changes)
        assert {event["flow"] for event in changes} == {0}
        assert {event["value"] for event in changes} == {None}
        for row in samples:
            before = [event["note"] for event in changes if event["t_ns"] < row["t_us"] * 1000]
            assert row["cca_state"] in before[-2:], "the state entered last, or now"
        entered = rows(result, "events", kind="ca_state")
        for row in samples:
            now = next((event["note"] for event in reversed(entered) if event["t_ns"] < row["t_us"] * 1000), "Open")
            assert ("Open", "Disorder", "CWR", "Recovery", "Loss")[row["ca_state"]] == now or row["t_us"] * 1000 in {
                event["t_ns"] for event in entered
            }


# --- few values, and several of them ---------------------------------------------------------------


@checks("metrics", "distribution mean_interval difference_interval paired_interval student_t")
@checks("summary.flow", "srtt_p95_ms srtt_mean_ms")
def test_percentiles_of_few_samples_are_the_same_everywhere(ran: Runner) -> None:
    result = ran(
        'duration = "420ms"\npath = { rate = "5Mbps", rtt = "20ms", buffer = "20bdp" }\nflow = [{ cca = "reno" }]\n'
    )
    srtts = [row["srtt_us"] / 1e3 for row in rows(result, "samples") if row["srtt_us"] is not None]
    assert len(srtts) == 5
    wanted = quantiles(srtts, n=100, method="inclusive")
    assert result.summary.flows[0].srtt_p95_ms == pytest.approx(wanted[94])
    assert result.summary.flows[0].srtt_mean_ms == pytest.approx(fmean(srtts))
    assert metrics.rtt_ms(result, smoothed=True) == pytest.approx((fmean(srtts), wanted[49], wanted[94], wanted[98]))
    assert metrics.distribution([1.0, 2.0, 4.0]) == pytest.approx((7 / 3, 2, 3.8, 3.96))
    # t of two degrees of freedom is 4.303, of four 2.776 (any printed table); all variances are 1.
    assert metrics.student_t(0.95, 2) == pytest.approx(4.303, abs=5e-4)
    assert metrics.mean_interval([1.0, 2.0, 3.0]) == pytest.approx((2, 4.303 / math.sqrt(3), 3), rel=1e-3)
    assert metrics.difference_interval([1.0, 2.0, 3.0], [5.0, 6.0, 7.0]) == pytest.approx(
        (4, 2.776 * math.sqrt(2 / 3), 3), rel=1e-3
    )
    # Steps of 3, 4 and 5 between pairs, whose variance is 1.
    assert metrics.paired_interval([1.0, 2.0, 3.0], [4.0, 6.0, 8.0]) == pytest.approx(
        (4, 4.303 / math.sqrt(3), 3), rel=1e-3
    )
