"""Metrics against vectors worked out by hand, and against the engine's own summary."""

from __future__ import annotations

import inspect
import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dumbbell
from dumbbell import Result, ResultError, from_dict, plan
from dumbbell.results import metrics
from dumbbell.scenario import traces

#: Two flows over 10 s at 8 Mbit/s, sampled every second: flow 0 gets 0.75 MB/s, flow 1 starts at 4 s and gets 0.25 MB/s
#: from 6 s on.
RATE_BPS = 8_000_000


def _sample(t_s: int, flow: int, **known: int) -> dict[str, int | None]:
    blank = {
        "goodput_bytes": 0,
        "segs_sent": 0,
        "delivered": 0,
        "retrans_total": 0,
        "rtt_us": None,
        "srtt_us": None,
        "cwnd": 10,
        "in_flight": 5,
    }
    return {"t_us": t_s * 10**6, "flow": flow, **blank, **known}


def _write(folder: Path) -> Result:
    flows = [
        {"flow": 0, "cca": "cubic", "start_us": 0, "stop_us": 10_000_000, "goodput_bytes": 7_500_000,
         "bytes_sent": 8_000_000, "segs_sent": 1000,
         "retrans_segs": 50, "delivered_segs": 1000, "completed_us": None, "owd_mean_us": math.nan},
        {"flow": 1, "cca": "bbr", "start_us": 4_000_000, "stop_us": 10_000_000, "goodput_bytes": 1_000_000,
         "bytes_sent": 1_000_000, "segs_sent": 100,
         "retrans_segs": 0, "delivered_segs": 100, "completed_us": 9_500_000, "owd_mean_us": math.nan},
    ]  # fmt: skip
    samples = []
    for t in range(11):
        samples.append(
            _sample(
                t,
                0,
                goodput_bytes=t * 750_000,
                segs_sent=t * 100,
                delivered=t * 100,
                retrans_total=min(t * 10, 50),
                rtt_us=20_000 + 1000 * t,
                srtt_us=30_000,
            )
        )
        if t >= 4:
            samples.append(_sample(t, 1, goodput_bytes=max(t - 6, 0) * 250_000))
    queue = [
        {"t_us": t * 10**6, "backlog_bytes": 1514 * t, "backlog_packets": t, "sojourn_us": 1000 * t,
         "sent_bytes": t * 500_000, "sent_packets": t * 90,
         "dropped_packets": t * 10, "dropped_bytes": 0, "marked_packets": t}
        for t in range(11)
    ]  # fmt: skip
    for name, rows in (("flows", flows), ("samples", samples), ("queue", queue)):
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
    (folder / "manifest.json").write_text(json.dumps(_manifest()))
    return Result(folder)


def _manifest() -> dict[str, Any]:
    flows = [("cubic", 0, 7_500_000), ("bbr", 4, 1_000_000)]
    path = {"rate": f"{RATE_BPS}bps", "rtt": "20ms", "buffer": "100pkt"}
    tables = [{"cca": cca, "start": f"{start}s"} for cca, start, _ in flows]
    planned = plan.runs(from_dict({"duration": "10s", "path": path, "flow": tables}))[0].plan
    planned["links"][0]["burst_bytes"] = 0
    blank = {
        "rtt_ms": 20,
        "retrans_rate": 0,
        "srtt_mean_ms": None,
        "srtt_p95_ms": None,
        "fct_s": None,
        "packets_sent": 0,
    }
    of = [
        {
            "name": cca,
            "table": 0,
            "transport": "tcp",
            "cca": cca,
            "goodput_mbps": size * 8e-6 / (10 - start),
            "goodput_bytes": size,
            "share": size / 8.5e6,
            **blank,
        }
        for cca, start, size in flows
    ]
    summary = {"link": {"utilization": 0.5, "drops": 0, "drop_rate": 0}, "flows": of, "jain": None, "jain_flows": 1}
    head = {"schema_version": 3, "name": "hand", "position": 0, "vary": {}, "repetition": 0, "seed": 1, "warnings": []}
    return {**head, "plan": planned, "summary": summary}


@pytest.fixture(scope="module")
def hand(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return _write(tmp_path_factory.mktemp("hand"))


def test_goodput_is_over_the_flows_own_time_or_the_window(hand: Result) -> None:
    assert metrics.goodput_bps(hand, 0) == 6_000_000
    assert metrics.goodput_bps(hand, 1) == pytest.approx(8e6 / 6)
    assert metrics.goodput_bps(hand, 1, (6, 10)) == 2_000_000
    assert metrics.goodput_bps(hand, 1, (4, 6)) == 0


def test_throughput_counts_retransmissions(hand: Result) -> None:
    assert metrics.throughput_bps(hand, 0) == 6_400_000
    assert metrics.throughput_bps(hand, 0, (2, 4)) == 100 * 8000 * 8, (
        "100 segments a second, 8000 bytes each in the mean"
    )


def test_utilization_is_wire_bytes_over_what_the_rate_allows(hand: Result) -> None:
    assert metrics.utilization(hand) == 0.5
    assert metrics.utilization(hand, (3, 7)) == 0.5


@pytest.mark.parametrize(
    ("shares", "index"), [([1, 1, 1, 1], 1.0), ([4, 0, 0, 0], 0.25), ([1, 2, 3], 36 / 42), ([5], 1.0), ([0, 0], 0.0)]
)
def test_jains_index(shares: list[float], index: float) -> None:
    assert metrics.jain(shares) == pytest.approx(index)


def test_jains_index_of_a_run_and_of_a_window(hand: Result) -> None:
    assert metrics.jain_index(hand, (6, 10)) == pytest.approx((6 + 2) ** 2 / (2 * (36 + 4)))
    assert metrics.jain_index(hand) is None, "one of two flows came at 4 s of 10"
    assert metrics.steady_flows(hand) == [0]
    assert metrics.jain_index(hand, (4, 10)) == pytest.approx((6 + 8 / 6) ** 2 / (2 * (36 + (8 / 6) ** 2)))


def test_share_and_throughput_ratio(hand: Result) -> None:
    assert metrics.share(hand, "bbr", (6, 10)) == 0.25
    assert metrics.share(hand, "bbr") == pytest.approx(1 / 8.5), "1 of 8.5 megabytes"
    assert metrics.goodput_ratio(hand, "cubic", "bbr", (6, 10)) == 3
    assert metrics.goodput_ratio(hand, "cubic", "bbr", (4, 6)) == math.inf
    with pytest.raises(ResultError, match="no flow has the name or controller reno, wanted one of: cubic, bbr, or all"):
        metrics.share(hand, "reno")


def test_retransmission_and_loss_rates(hand: Result) -> None:
    assert metrics.retransmission_rate(hand, 0) == 0.05
    assert metrics.retransmission_rate(hand, 0, (0, 5)) == 0.1
    assert metrics.retransmission_rate(hand, 0, (6, 10)) == 0
    assert metrics.loss_rate(hand) == metrics.loss_rate(hand, (2, 5)) == 0.1


def test_rtt_queueing_delay_and_occupancy_have_mean_and_percentiles(hand: Result) -> None:
    # 0 to 10: mean 5, median 5, 95th and 99th percentile by interpolation at ranks 9.5 and 9.9.
    assert metrics.rtt_ms(hand, 0) == pytest.approx((25, 25, 29.5, 29.9))
    assert metrics.queueing_delay_ms(hand) == pytest.approx((5, 5, 9.5, 9.9))
    assert metrics.queueing_delay_ms(hand, (0, 2)) == pytest.approx((1, 1, 1.9, 1.98))
    assert metrics.queue_occupancy_bytes(hand).mean == pytest.approx(5 * 1514)
    assert metrics.rtt_ms(hand, 0, smoothed=True).p99 == 30
    assert math.isnan(metrics.rtt_ms(hand, 1).mean)


def test_coefficient_of_variation(hand: Result) -> None:
    assert metrics.coefficient_of_variation(hand, 0, bin_s=1) == pytest.approx(0)
    # Flow 1 from 4 to 10 s: 0, 0, then four bins of 2 Mbit/s: mean 4/3, deviation sqrt(8/9).
    assert metrics.coefficient_of_variation(hand, 1, bin_s=1) == pytest.approx(math.sqrt(8 / 9) / (4 / 3))


def test_convergence_time_counts_from_the_last_start(hand: Result) -> None:
    # 6 and 2 Mbit/s have an index of 0.8 from 6 s on, two seconds after the last start.
    assert metrics.convergence_time_s(hand, fairness=0.8, hold_s=3) == 2
    assert metrics.convergence_time_s(hand, fairness=0.8, hold_s=5) is None
    assert metrics.convergence_time_s(hand, fairness=0.95) is None


def test_completion_time_is_that_of_finished_transfers_only(hand: Result) -> None:
    assert metrics.completion_time_s(hand, 0) is None
    assert metrics.completion_time_s(hand, 1) == 5.5


def test_a_window_without_two_samples_is_refused(hand: Result) -> None:
    with pytest.raises(ResultError, match=r"window 0.1 to 0.2 s: wanted two sample times inside it"):
        metrics.utilization(hand, (0.1, 0.2))


#: The metrics that take a window, but for those of messages and probes, which the run by hand has none of.
OF_WINDOWS = [
    name
    for name in metrics.__all__
    if inspect.isfunction(getattr(metrics, name))
    and "window" in inspect.signature(getattr(metrics, name)).parameters
    and name not in ("request_latencies_s", "latency_s", "unfinished_requests", "probe_series")
]


def _of_window(run: Result, name: str, window: tuple[float, float]) -> Any:
    """A metric in a window, of flow 0 where it asks for flows."""
    measure = getattr(metrics, name)
    asked = inspect.signature(measure).parameters
    given = {"which": 0, "other": 1, "flow": 0, "name": "sent_packets"}
    if "bin_s" in asked:
        given["bin_s"] = 1
    return measure(run, **{key: value for key, value in given.items() if key in asked}, window=window)


@pytest.mark.parametrize("name", OF_WINDOWS)
@pytest.mark.parametrize("window", [(4, 1), (2, 2), (60, 70), (-3, 5), (math.nan, 5)])
def test_a_window_without_a_part_of_the_run_is_refused_by_every_metric(
    hand: Result, name: str, window: tuple[float, float]
) -> None:
    with pytest.raises(ResultError, match=r"no part of its 10 s is in the window .*, wanted a start from 0 to 10 s"):
        _of_window(hand, name, window)


@pytest.mark.parametrize("name", OF_WINDOWS)
def test_a_window_that_ends_after_the_run_ends_with_it(hand: Result, name: str) -> None:
    cut, given = (repr(_of_window(hand, name, (1, end))) for end in (10, 50))
    assert given == cut


def test_a_flow_that_is_not_there_is_refused(hand: Result) -> None:
    with pytest.raises(ResultError, match="there is no flow 2, wanted 0 to 1"):
        metrics.goodput_bps(hand, 2)


@pytest.mark.parametrize(
    ("degrees", "t"), [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (9, 2.262), (30, 2.042), (120, 1.980)]
)
def test_students_t_is_that_of_the_printed_tables(degrees: int, t: float) -> None:
    assert metrics.student_t(0.95, degrees) == pytest.approx(t, abs=5e-4)


def test_students_t_at_99_percent() -> None:
    assert metrics.student_t(0.99, 9) == pytest.approx(3.250, abs=5e-4)


def test_a_confidence_interval_of_repetitions() -> None:
    mean, half, n = metrics.mean_interval([10.0, 12.0, 14.0, 16.0])
    assert (mean, n) == (13, 4)
    assert half == pytest.approx(3.1824 * math.sqrt(20 / 3) / 2, rel=1e-4)
    assert math.isnan(metrics.mean_interval([1.0]).half_width)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_value_that_is_not_finite_leaves_a_mean_without_an_interval(value: float) -> None:
    mean, half, n = metrics.mean_interval([1.0, value, 3.0])
    assert repr(mean) == repr(value), "the mean of some repetitions is not that of all"
    assert math.isnan(half)
    assert n == 3
    change = metrics.difference_interval([1.0, 2.0], [1.0, value])
    assert repr(change.mean) == repr(value)
    assert math.isnan(change.half_width)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("real")
    scenario = dumbbell.Scenario(
        duration="10s",
        path=dumbbell.Path(rate="20Mbps", rtt="20ms", buffer="1bdp"),
        flow=[
            dumbbell.Flow(cca="cubic", stop="9s"),
            dumbbell.Flow(cca="bbr", start="1s"),
            dumbbell.Flow(cca="reno", start="2s", size="1MB"),
        ],
        record=dumbbell.Record(every="10ms"),
    )
    run = dumbbell.run(scenario, folder / "out")[0]
    return {"run": run, "summary": run.summary}


def test_metrics_over_the_tables_are_the_engines_summary(real: dict[str, Any]) -> None:
    run, summary = real["run"], real["summary"]
    for i, flow in enumerate(summary["flows"]):
        assert metrics.goodput_bps(run, i) / 1e6 == pytest.approx(flow["goodput_mbps"], rel=1e-4)
        assert metrics.retransmission_rate(run, i) == pytest.approx(flow["retrans_rate"], rel=1e-9)
        assert metrics.rtt_ms(run, i, smoothed=True).mean == pytest.approx(flow["srtt_mean_ms"], rel=0.02)
        assert metrics.rtt_ms(run, i, smoothed=True).p95 == pytest.approx(flow["srtt_p95_ms"], rel=0.05)
        assert run.flows["segs_sent"][i].as_py() == flow["packets_sent"]
    assert metrics.share(run, "bbr") == pytest.approx(
        run.flows["goodput_bytes"][1].as_py() / sum(run.flows["goodput_bytes"].to_pylist())
    )
    assert metrics.utilization(run) == pytest.approx(summary["link"]["utilization"], rel=1e-3)
    assert metrics.queueing_delay_ms(run).mean == pytest.approx(summary["link"]["queue_mean_ms"], rel=1e-6)
    assert metrics.completion_time_s(run, 2) == pytest.approx(summary["flows"][2]["fct_s"], rel=1e-3)
    drops = run.queue["dropped_packets"][-1].as_py()
    assert drops == summary["link"]["drops"] > 0
    assert metrics.completion_time_s(run, 0) is None


def test_the_whole_run_as_a_window_is_the_whole_run(real: dict[str, Any]) -> None:
    run = real["run"]
    assert metrics.goodput_bps(run, 1, (1, 10)) == pytest.approx(metrics.goodput_bps(run, 1), rel=0.01)
    assert metrics.utilization(run, (0, 10)) == pytest.approx(metrics.utilization(run), rel=0.01)
    assert metrics.retransmission_rate(run, 0, (0, 9)) == pytest.approx(metrics.retransmission_rate(run, 0), rel=0.02)


def test_the_queue_of_a_link_is_read_by_its_number(tmp_path: Path) -> None:
    scenario = dumbbell.Scenario(
        duration="3s",
        path=dumbbell.Path(rate="10Mbps", rtt="20ms", buffer="1bdp"),
        link=[dumbbell.Link(name="narrow", rate="4Mbps", buffer="2bdp", qdisc="codel")],
        flow=[dumbbell.Flow(cca="cubic", via=["bottleneck", "narrow"])],
    )
    (result,) = dumbbell.run(scenario, tmp_path / "out")
    for link, of in ((0, result.summary["link"]), (1, result.summary["links"][0])):
        assert metrics.utilization(result, link=link) == pytest.approx(of["utilization"], rel=2.5e-3)
    assert metrics.utilization(result, link=1) > 0.8
    assert metrics.queueing_delay_ms(result, link=1).mean > metrics.queueing_delay_ms(result).mean
    assert metrics.sojourn_ms(result, link=1).p95 == result.summary["links"][0]["sojourn_p95_ms"]
    owd = metrics.one_way_delay_ms(result, 0)
    assert owd.p95 > owd.p50 > 10
    assert owd.mean == pytest.approx(result.summary["flows"][0]["owd_mean_ms"], abs=0.01)
    with pytest.raises(ResultError, match="there is no link 2, wanted 0 to 1"):
        metrics.queueing_delay_ms(result, link=2)


def test_utilization_of_a_trace_is_held_against_what_its_file_could_carry(tmp_path: Path) -> None:
    trace = tmp_path / "t.trace"
    trace.write_text("".join(f"{ms}\n" for ms in range(1, 501)))  # one full frame a millisecond, so 12.112 Mbit/s
    text = (
        f'duration = "4s"\n[path]\nrate = {{ trace = "{trace}" }}\nrtt = "20ms"\nbuffer = "2bdp"\n[[flow]]\ncca ='
        ' "reno"\n'
    )
    (result,) = dumbbell.run(dumbbell.from_text(text), tmp_path / "out")
    assert metrics.utilization(result) == pytest.approx(result.summary["link"]["utilization"], rel=1e-3)
    assert 0.9 < metrics.utilization(result, (1, 4)) <= 1
    trace.write_text("1\n")
    with pytest.raises(ResultError, match="has changed since the run"):
        metrics.utilization(result)


def test_opportunities_before_a_time_count_the_last_of_a_round_at_its_end() -> None:
    trace = traces.Trace("", [0, 1, 1, 4])
    ms = 1_000_000
    assert [traces.before(trace, t * ms, repeat=True) for t in (0, 1, 2, 4, 5)] == [0, 1, 3, 3, 5]
    assert traces.before(trace, 4 * ms + 1, repeat=True) == 5, "the last of the first round and the first of the second"
    assert traces.before(trace, 1000 * ms, repeat=False) == 4
    assert traces.before(trace, 4000 * ms, repeat=True) == 4 * 1000 - 1


def test_completion_times_are_those_of_the_flows_that_completed(hand: Result) -> None:
    assert list(metrics.completion_times_s(hand)) == [5.5]
    assert list(metrics.completion_times_s(hand, "cubic")) == []


def test_marks_are_counted_over_what_left(tmp_path: Path) -> None:
    text = (
        'duration = "3s"\n[path]\nrate = "10Mbps"\nrtt = "20ms"\nqdisc = { kind = "codel", ecn = true }\n[host]\necn ='
        ' true\n[[flow]]\ncca = "cubic"\n'
    )
    (result,) = dumbbell.run(dumbbell.from_text(text), tmp_path / "out")
    marks = result.summary["link"]["marks"]
    assert marks > 0
    sent = metrics.queue_series(result, "sent_packets")[1][-1]
    assert metrics.mark_rate(result) == pytest.approx(marks / sent, rel=0.05)


def test_a_figure_takes_a_flow_several_a_table_a_controller_or_all(hand: Result) -> None:
    assert metrics.flows_of(hand, "all") == metrics.flows_of(hand, [0, 1]) == [0, 1]
    assert metrics.flows_of(hand, "bbr") == metrics.flows_of(hand, 1) == [1]
    assert metrics.goodput_bytes(hand) == 8_500_000
    assert metrics.goodput_bps(hand, "all") == 8_500_000 * 8 / 10
    assert metrics.goodput_bps(hand, "all", (6, 10)) == 8_000_000
    assert metrics.goodputs_bps(hand, "all", (0, 3)) == [6_000_000], "flow 1 was not there"
    assert math.isnan(metrics.goodput_bps(hand, 1, (0, 3)))
    assert metrics.retransmission_rate(hand, "all") == 50 / 1100
    assert metrics.rtt_ms(hand, "all", (0, 2)) == pytest.approx(metrics.rtt_ms(hand, 0, (0, 2)))
    assert metrics.share(hand, [0]) + metrics.share(hand, "bbr") == 1
    assert metrics.share(hand, [1, 1]) == metrics.share(hand, 1), "a flow that stands there twice counts once"
    assert metrics.goodput_bps(hand, [0, 0]) == metrics.goodput_bps(hand, 0)


def test_a_window_between_samples_is_interpolated(hand: Result) -> None:
    assert metrics.goodput_bytes(hand, 0, (0.5, 2.25)) == pytest.approx(1.75 * 750_000)
    assert metrics.share(hand, "bbr", (6.5, 7.5)) == pytest.approx(0.25)


def test_the_queueing_delay_is_the_measured_one_after_a_step_of_the_rate(tmp_path: Path) -> None:
    text = """
    duration = "20s"
    path = { rate = { steps = [["0s", "20Mbps"], ["10s", "2Mbps"]] }, rtt = "40ms", buffer = "100kB" }
    record = { every = "10ms" }
    flow = [{ cca = "cubic" }]
    """
    (run,) = dumbbell.run(dumbbell.from_text(text), tmp_path / "out")
    sojourns = [row["sojourn_us"] / 1e3 for row in pq.read_table(run.folder / "queue.parquet").to_pylist()]
    mean = sum(sojourns) / len(sojourns)
    assert mean > 100, "two thirds of 100 kB take 266 ms at 2 Mbit/s"
    assert metrics.queueing_delay_ms(run).mean == pytest.approx(mean, rel=0.01)
    late = metrics.queueing_delay_ms(run, (12, 20))
    assert late.mean == pytest.approx(sum(s for s in sojourns[1199:2000]) / 801, rel=0.01)


def test_the_mean_queueing_delay_of_a_window_does_not_depend_on_when_samples_are_taken(tmp_path: Path) -> None:
    # Two messages a second that take 48 ms at the link: samples each 500 ms see the same instant of each.
    text = """
    duration = "6s"
    path = { rate = "5Mbps", rtt = "10ms", buffer = "100kB" }
    record = { every = ["500ms", "1ms"] }
    flow = [{ cca = "reno", workload = { kind = "paced", rate = "480kbps", message = "30kB" } }]
    """
    rare, often = dumbbell.run(dumbbell.from_text(text), tmp_path / "out")
    means = [metrics.queueing_delay_ms(run, (2, 5)).mean for run in (rare, often)]
    sampled = [metrics.queueing_delay_ms(often, (2, 5)).p95, metrics.queueing_delay_ms(rare, (2, 5)).p95]
    assert means[0] == pytest.approx(means[1], rel=1e-6)
    assert means[0] > 0.5
    assert sampled[0] > 2 * sampled[1] + 1, "the percentiles are those of the samples"


def test_a_window_without_samples_says_what_would_record_them(tmp_path: Path) -> None:
    text = (
        'duration = "2s"\npath = { rate = "5Mbps", rtt = "20ms", buffer = "1bdp" }\nrecord = { samples = false }\nflow'
        ' = [{ cca = "cubic" }]\n'
    )
    (run,) = dumbbell.run(dumbbell.from_text(text), tmp_path / "out")
    assert metrics.goodput_bps(run, 0) > 0
    with pytest.raises(
        ResultError, match=r"it has no samples, which a window needs; \[record\] samples = true records them"
    ):
        metrics.goodput_bps(run, 0, (1, 2))
