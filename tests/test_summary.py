"""Figures of the summary, each computed again from the raw tables by pyarrow alone, or known beforehand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest

from dumbbell import _native, plan
from dumbbell.scenario.file import from_dict

PATH = {"rate": "20Mbps", "rtt": "40ms", "buffer": "100kB"}
STEP = {"steps": [["0s", "20Mbps"], ["10s", "2Mbps"]]}
OUTAGE = {"steps": [["0s", "20Mbps"], ["4s", "0bps"], ["6s", "20Mbps"]]}


class Ran(NamedTuple):
    """A run: its plan, its summary, and the rows of its tables."""

    plan: dict[str, Any]
    summary: dict[str, Any]
    flows: list[dict[str, Any]]
    samples: list[dict[str, Any]]
    queue: list[dict[str, Any]]
    events: list[dict[str, Any]]

    def link(self, number: int = 0) -> list[dict[str, Any]]:
        """The rows of a link's queue."""
        return [row for row in self.queue if row["link"] == number]


Runner = Callable[..., Ran]


@pytest.fixture
def ran(tmp_path: Path) -> Runner:
    def run(
        *flows: dict[str, Any], path: dict[str, Any], duration: str = "20s", every: str = "10ms", **more: Any
    ) -> Ran:
        given = {"duration": duration, "record": {"every": every}, "path": path, "flow": list(flows), **more}
        planned = plan.plan(from_dict(given, folder=tmp_path))
        out = tmp_path / "run"
        out.mkdir(exist_ok=True)
        summary = json.loads(_native.run(json.dumps(planned), str(out)))
        tables = [
            pq.read_table(out / f"{name}.parquet").to_pylist() for name in ("flows", "samples", "queue", "events")
        ]
        return Ran(planned, summary, *tables)

    return run


def rank(values: list[float], share: float) -> float:
    """The value that so large a share does not exceed."""
    return sorted(values)[max(0, -(-len(values) * int(share * 100) // 100) - 1)]


def test_the_queueing_delay_after_a_step_is_what_packets_waited(ran: Runner) -> None:
    run = ran({"cca": "cubic"}, path={**PATH, "rate": STEP})
    waits = [row["sojourn_us"] / 1000 for row in run.link()]
    link = run.summary["link"]
    assert link["queue_mean_ms"] == pytest.approx(fmean(waits), rel=0.02)
    assert link["queue_p95_ms"] == pytest.approx(rank(waits, 0.95), rel=0.02)
    assert 180 < link["queue_mean_ms"] < 197
    assert 380 < link["queue_p95_ms"] < 405
    # Packets that waited long are few: over packets the mean is far smaller.
    assert link["sojourn_mean_ms"] < link["queue_mean_ms"] / 2


QUEUES: list[tuple[str, dict[str, Any]]] = [
    ("fifo", PATH),
    ("head drop", {**PATH, "qdisc": {"kind": "fifo", "head_drop": True}}),
    ("codel", {**PATH, "qdisc": "codel"}),
    ("fq_codel", {**PATH, "qdisc": "fq_codel"}),
    ("pie", {**PATH, "qdisc": "pie"}),
    ("red", {**PATH, "qdisc": "red"}),
    ("dualpi2", {**PATH, "qdisc": "dualpi2"}),
    ("cake", {**PATH, "qdisc": "cake"}),
    ("step", {**PATH, "rate": STEP}),
    ("step codel", {**PATH, "rate": STEP, "qdisc": "codel"}),
    ("step fq_codel", {**PATH, "rate": STEP, "qdisc": "fq_codel"}),
    ("outage", {**PATH, "rate": OUTAGE}),
    ("outage codel", {**PATH, "rate": OUTAGE, "qdisc": "codel"}),
    ("outage fq_codel", {**PATH, "rate": OUTAGE, "qdisc": "fq_codel"}),
    ("lte", {**PATH, "rate": {"lte": "mobile", "mean": "8Mbps"}}),
    ("wifi fq_codel", {**PATH, "rate": {"wifi": "mobile", "mean": "8Mbps"}, "qdisc": "fq_codel"}),
    ("policer", {**PATH, "policer": {"rate": "10Mbps", "burst": "50kB"}}),
]


@pytest.mark.parametrize("path", [pytest.param(path, id=name) for name, path in QUEUES])
def test_the_queueing_delay_is_the_mean_over_time_of_the_head_s_age(ran: Runner, path: dict[str, Any]) -> None:
    path = {key: value for key, value in path.items() if key != "buffer" or path.get("qdisc", "fifo") not in ("cake",)}
    run = ran({"cca": "cubic", "count": 2}, {"cca": "bbr", "start": "1s"}, path=path, duration="12s", every="730us")
    waits = [row["sojourn_us"] / 1000 for row in run.link()]
    link = run.summary["link"]
    assert link["queue_mean_ms"] == pytest.approx(fmean(waits), rel=0.02, abs=0.15)
    assert link["queue_p95_ms"] == pytest.approx(rank(waits, 0.95), rel=0.04, abs=0.3)
    assert link["utilization"] <= 1
    last = run.link()[-1]
    assert link["drop_rate"] == pytest.approx(
        last["dropped_packets"] / (last["dropped_packets"] + last["sent_packets"]), rel=0.01, abs=1e-9
    )
    assert link["drops"] >= last["dropped_packets"]


def test_in_an_outage_the_head_grows_older_with_time(ran: Runner) -> None:
    run = ran({"cca": "cubic"}, path={**PATH, "rate": OUTAGE}, duration="8s")
    ages = {row["t_us"]: row["sojourn_us"] for row in run.link()}
    for before, after in ((4_300_000, 5_000_000), (5_000_000, 5_900_000)):
        assert ages[after] - ages[before] == after - before
    assert ages[5_900_000] > 1_890_000


@pytest.mark.parametrize("size", [1, 36, 37, 100])
def test_iperf3_says_37_bytes_at_once_before_the_smallest_transfer(ran: Runner, size: int) -> None:
    path = {"rate": "20Mbps", "rtt": "100ms", "buffer": "20bdp"}
    run = ran({"cca": "cubic", "size": f"{size}B"}, path=path, duration="2s", host={"traffic": "iperf3"})
    (flow,) = run.flows
    # SYN and greeting take a round trip each, the data half of one.
    assert (flow["segs_sent"], flow["goodput_bytes"], flow["bytes_sent"]) == (2, size, 37 + size)
    assert flow["completed_us"] / 1e3 == pytest.approx(250, abs=0.5)


def test_a_link_without_traffic_has_no_queue_and_one_beyond_its_rate_no_more_than_all(ran: Runner) -> None:
    idle = ran({"cca": "reno", "size": "1448B"}, path=PATH, duration="2s").summary["link"]
    assert (idle["queue_p95_ms"], idle["drops"], idle["drop_rate"]) == (0, 0, 0)
    assert idle["queue_mean_ms"] < 0.01


def test_utilization_and_drop_rate_of_a_tiny_link_are_at_most_one(ran: Runner) -> None:
    tiny = {"rate": "10kbps", "rtt": "20ms", "buffer": "3kB", "burst": "30kB"}
    run = ran({"cca": "cubic", "count": 20}, path=tiny, duration="1s", host={"arp": False})
    last = run.link()[-1]
    assert last["sent_bytes"] * 8 > 10_000, "more left than the rate alone lets"
    assert run.summary["link"]["utilization"] == pytest.approx(last["sent_bytes"] / (10_000 / 8 + 30_000), rel=0.05)
    assert last["dropped_packets"] > last["sent_packets"]
    assert 0.5 < run.summary["link"]["drop_rate"] < 1


def test_shares_are_bytes_over_bytes_and_jain_counts_flows_that_were_there_all_the_time(ran: Runner) -> None:
    short = {"cca": "bbr", "arrivals": {"rate": "10/s", "sizes": "20kB"}}
    run = ran(
        {"cca": "cubic", "count": 2},
        short,
        {"cca": "reno", "start": "5s"},
        {"cca": "reno", "stop": "5s"},
        path=PATH,
        duration="10s",
    )
    total = sum(row["goodput_bytes"] for row in run.flows)
    flows = run.summary["flows"]
    for row, flow in zip(run.flows, flows, strict=True):
        assert flow["share"] == pytest.approx(row["goodput_bytes"] / total)
        assert flow["goodput_bytes"] == row["goodput_bytes"]
        assert flow["goodput_mbps"] == pytest.approx(
            row["goodput_bytes"] * 8 / (row["stop_us"] - row["start_us"]), rel=1e-3
        )
        assert flow["retrans_rate"] == pytest.approx(row["retrans_segs"] / max(row["segs_sent"], 1))
        wanted = None if row["completed_us"] is None else (row["completed_us"] - row["start_us"]) / 1e6
        assert flow["fct_s"] == (None if wanted is None else pytest.approx(wanted, abs=2e-6))
        for name in ("mean", "p95", "p99"):
            # A flow that came just before the end has delivered nothing.
            delay = row[f"owd_{name}_us"]
            assert (delay is None) == (row["goodput_bytes"] == 0)
            assert flow[f"owd_{name}_ms"] == (None if delay is None else pytest.approx(delay / 1000, rel=0.01))
    assert sum(flow["share"] for flow in flows) == pytest.approx(1)
    rates = [row["goodput_bytes"] for row in run.flows[:2]]
    assert run.summary["jain"] == pytest.approx(sum(rates) ** 2 / (2 * sum(rate**2 for rate in rates)))
    assert run.summary["jain_flows"] == 2
    assert {flow["name"] for flow in flows} == {"cubic", "bbr", "reno from 5s", "reno"}


@pytest.mark.parametrize(
    ("flows", "jain", "count"),
    [
        ([{"cca": "cubic"}], 1.0, 1),
        ([{"cca": "cubic", "start": "8s"}], 1.0, 1),
        ([{"cca": "cubic"}, {"cca": "cubic", "start": "5s"}], None, 1),
        ([{"cca": "cubic", "size": "10kB"}, {"cca": "cubic", "size": "10kB"}], None, 0),
    ],
)
def test_jain_is_null_without_two_flows_to_compare(
    ran: Runner, flows: list[dict[str, Any]], jain: float | None, count: int
) -> None:
    run = ran(*flows, path=PATH, duration="10s")
    assert (run.summary["jain"], run.summary["jain_flows"]) == (jain, count)


def test_samples_and_events_add_up_to_the_flow_table(ran: Runner) -> None:
    flows = [{"cca": "cubic"}, {"cca": "cubic", "transport": "quic"}, {"cca": "bbr", "start": "1s", "stop": "6s"}]
    run = ran(*flows, path=PATH, duration="8s")
    for row in run.flows:
        of = [sample for sample in run.samples if sample["flow"] == row["flow"]]
        assert of[-1]["goodput_bytes"] <= row["goodput_bytes"] == pytest.approx(of[-1]["goodput_bytes"], rel=0.005), (
            "some may come at the last instant"
        )
        times = [row["start_us"], *(sample["t_us"] for sample in of)]
        carried = sum(
            sample["goodput_bps"] * (after - before) / 8e6 for sample, before, after in zip(of, times, times[1:])
        )
        assert carried == pytest.approx(of[-1]["goodput_bytes"], rel=1e-3)
        srtts = [sample["srtt_us"] / 1000 for sample in of if sample["srtt_us"] is not None]
        summed = run.summary["flows"][row["flow"]]
        assert summed["srtt_mean_ms"] == pytest.approx(fmean(srtts), rel=2e-3)
        assert summed["srtt_p95_ms"] == pytest.approx(rank(srtts, 0.95), rel=2e-3)
        again = sum(
            event["value"] for event in run.events if event["flow"] == row["flow"] and event["kind"] == "retransmit"
        )
        assert 0 < again <= row["retrans_segs"]
        assert again >= row["retrans_segs"] - 1, "what is sent again at the very end may go without its event"
        drops = sum(
            event["value"] for event in run.events if event["flow"] == row["flow"] and event["kind"] == "drop_queue"
        )
        assert drops == row["queue_drops"]
    assert sum(row["queue_drops"] for row in run.flows) == run.summary["link"]["drops"]


# --- runs that were measured elsewhere -------------------------------------------------------------


def measured(**changes: Any) -> dict[str, Any]:
    flow = {
        "name": "mine",
        "cca": "cubic",
        "transport": "tcp",
        "stop_ns": 10**10,
        "established_ns": 1,
        "goodput_bytes": 5_000_000,
    }
    totals = {"end_ns": 10**10, "links": [{"sent_packets": 9, "dropped_packets": 1}], "flows": [flow]}
    queue = {
        key: [0, 1]
        for key in ("t_us", "link", "backlog_bytes", "backlog_packets", "sojourn_us", "sent_bytes", "sent_packets")
    }
    queue |= {key: [0, 0] for key in ("dropped_packets", "dropped_bytes", "marked_packets")}
    events = {"t_ns": [5], "flow": [0], "kind": ["start"], "value": [None]}
    messages = {"flow": [0], "asked_us": [1], "written_us": [2], "bytes": [3]}
    return {"totals": totals, "queue": queue, "events": events, "messages": messages, **changes}


def test_a_run_that_was_measured_elsewhere_gets_the_same_tables_and_summary(tmp_path: Path, ran: Runner) -> None:
    summary = json.loads(_native.write_measured(json.dumps(measured()), str(tmp_path)))
    own = ran({"cca": "reno"}, path=PATH, duration="1s")
    assert summary.keys() == own.summary.keys()
    assert summary["link"].keys() == own.summary["link"].keys()
    assert summary["flows"][0].keys() == own.summary["flows"][0].keys()
    assert (summary["flows"][0]["goodput_mbps"], summary["link"]["drop_rate"], summary["warnings"]) == (4.0, 0.1, [])
    for name in ("flows", "samples", "queue", "events", "messages"):
        assert pq.read_schema(tmp_path / f"{name}.parquet") == pq.read_schema(tmp_path / "run" / f"{name}.parquet"), (
            name
        )
    assert pq.read_table(tmp_path / "queue.parquet")["sojourn_us"].to_pylist() == [0, 1]
    assert pq.read_table(tmp_path / "events.parquet").to_pylist() == [
        {"t_ns": 5, "flow": 0, "kind": "start", "value": None, "note": None}
    ]
    assert pq.read_table(tmp_path / "messages.parquet").to_pylist() == [
        {"flow": 0, "asked_us": 1, "written_us": 2, "bytes": 3, "completed_us": None}
    ]
    assert pq.read_table(tmp_path / "samples.parquet").num_rows == 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"events": {"t_ns": [1], "flow": [0], "kind": ["sneeze"]}}, "events.kind, row 0: missing, or of another type"),
        ({"events": {"t_ns": [1], "flow": [0], "king": ["start"]}}, "events.king, row 0: there is no such column"),
        ({"events": {"t_ns": [1, 2], "flow": [0], "kind": ["start"]}}, "columns are lists of one length"),
        ({"events": {"t_ns": [1], "flow": [0]}}, "events.kind, row 0"),
        ({"totals": {"flows": []}}, "totals.links: wanted one or more"),
        ({"totals": {"links": [{"speed": 1}]}}, "unknown field `speed`"),
        ({"total": {}}, "unknown field `total`"),
    ],
)
def test_what_is_no_measured_run_is_refused(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match="measured run: ") as error:
        _native.write_measured(json.dumps(measured(**changes)), str(tmp_path))
    assert said in str(error.value)


def test_quantiles_of_a_whole_run_are_over_time_however_rare_samples_are(ran: Runner) -> None:
    flows = ({"cca": "cubic"}, {"cca": "cubic", "workload": {"kind": "on_off", "on": "200ms", "off": "800ms"}})
    links = [ran(*flows, path=PATH, duration="10s", every=every).summary["link"] for every in ("1s", "1ms")]
    names = ("queue_p50_ms", "queue_p95_ms", "queue_p99_ms")
    rare, often = ([link[name] for name in names] for link in links)
    assert rare == often == sorted(rare)
