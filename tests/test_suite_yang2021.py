"""Yang and others: the paper's arithmetic, its set-ups, and figures of its own computed again from raw tables."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell import ScenarioError, suites
from dumbbell.results.load import Result
from dumbbell.suites import claims
from dumbbell.suites.places import Case
from dumbbell.suites.table import FAST, FULL, Point, Table
from dumbbell.suites.yang2021 import readings

CUBIC, BBRV1, BBRV2 = (
    {"name": name, "cca": cca} for name, cca in (("CUBIC", "cubic"), ("BBRv1", "bbr"), ("BBRv2", "bbr2"))
)


def cases(name: str) -> list[Case]:
    """The cases of a figure."""
    return list(suites.entry_of(f"yang2021/{name}").cases(FULL))


def made(flows: list[dict[str, Any]], out: Path, *, rate: str = "40Mbps", **keys: Any) -> Result:
    """A short run of the testbed."""
    given = {
        "name": "short", "duration": "12s", "path": {"rate": rate, "rtt": "40ms", "buffer": "2bdp"}, "flow": flows,
        "host": {"start_jitter": "100ms"}, "record": {"samples": True, "queue": True, "events": False}, **keys,
    }  # fmt: skip
    return dumbbell.run(given, out=out)[0]


@pytest.fixture(scope="module")
def rising(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """BBRv2+ over a rate that grows."""
    (case,) = (case for case in cases("fig15a") if case.series == "BBRv2+")
    scenario = {**case.scenario, "repetitions": 1, "name": "rising"}
    return dumbbell.run(scenario, out=tmp_path_factory.mktemp("runs") / "out")[0]


def test_the_printed_thresholds_are_parts_of_256() -> None:
    for case in cases("fig9"):
        (flow,) = case.scenario["flow"]
        assert flow["params"]["loss_thresh"] == min(round(256 * case.at["alpha_pct"] / 100), 255)
    (flow,) = next(case for case in cases("fig8") if case.series == "BBRv2(20%,0)").scenario["flow"]
    assert flow["params"] == {"loss_thresh": 51, "beta": 0}


def test_a_comma_in_the_name_of_a_variant_does_not_split_it() -> None:
    of = {one.id: one for one in claims.of_suite("yang2021")["yang2021/fig8"].claims}
    assert of["c1"].series == ("BBRv2(2%,0.3)",)
    assert {one.series for one in claims.of_suite("yang2021")["yang2021/fig4a"].claims} == {(), ("BBRv1", "BBRv2")}


def test_the_printed_cell_has_a_buffer_of_2_percent_of_its_bdp() -> None:
    cell = next(case for case in cases("fig21") if (case.at["bandwidth_mbps"], case.at["rtt_ms"]) == (500, 75))
    assert 100 / cell.at["bdp_kb"] == pytest.approx(0.0213, abs=1e-4)
    assert cell.scenario["path"]["buffer"] == "100kB"


def test_the_rate_moves_by_5_mbit_every_2_seconds_from_40() -> None:
    for name, last in (("fig11a", "75Mbps"), ("fig11b", "5Mbps")):
        (case,) = cases(name)
        steps = case.scenario["path"]["rate"]["steps"]
        assert steps[0] == ["0s", "40Mbps"]
        assert steps[-1] == ["14s", last]
        assert case.scenario["duration"] == "16s"


def test_jitter_follows_the_bottleneck_and_keeps_the_order() -> None:
    chains = {case.at["jitter_mean_ms"]: case.scenario["path"]["impair"] for case in cases("fig12")}
    assert chains[0] == [{"kind": "delay"}, {"kind": "links"}]
    first, link, last = chains[40]
    assert [first["kind"], link["kind"], last["time"]] == ["delay", "links", "40ms"]
    assert last["jitter"] == {"kind": "normal", "spread": "40ms", "reorder": False}


def test_every_figure_has_the_papers_repetitions() -> None:
    figures = [name for name in suites.ids("yang2021") if suites.text_of(name).category != "specification"]
    for name in figures:
        assert {case.scenario["repetitions"] for case in suites.entry_of(name).cases(FULL)} == {5}, name


def test_what_is_in_flight_is_a_percentile_of_the_samples_in_bdp(tmp_path: Path) -> None:
    run = made([BBRV1], tmp_path / "out")
    values = sorted(row["in_flight"] for row in run.samples.to_pylist())
    bdp = 40e6 / 8 * 0.04 / 1514
    assert readings.in_flight_bdp(run, "BBRv1", 50) == pytest.approx(values[len(values) // 2] / bdp, rel=0.02)
    assert readings.in_flight_bdp(run, None, 95) == pytest.approx(values[int(0.95 * len(values))] / bdp, rel=0.05)
    assert readings.mean_in_flight(run, None) == pytest.approx(sum(values) / len(values) * 1448)


def test_probe_rtts_are_counted_as_the_events_say(tmp_path: Path) -> None:
    record = {"samples": True, "events": True}
    run = made([BBRV2, BBRV1], tmp_path / "out", record=record, duration="24s")
    entries = [row for row in run.events.to_pylist() if row["kind"] == "cca_state" and row["note"] == "PROBE_RTT"]
    assert len(entries) > 2
    assert readings.probe_rtts(run, None) == pytest.approx(len(entries) / 2 / (24 / 60))


def test_of_the_probe_rtts_of_bbr2_that_near_ten_seconds_is_read(tmp_path: Path) -> None:
    run = made([BBRV2], tmp_path / "out", record={"samples": True, "events": True}, duration="18s")
    rows = run.events.to_pylist()
    begins = [row["t_ns"] / 1e9 for row in rows if row["kind"] == "cca_state" and row["note"] == "PROBE_RTT"]
    assert begins[0] < 8, "BBRv2 has one every 5 s"
    nearest = min(begins, key=lambda at: abs(at - 10))
    assert readings.probe_rtt(run, None) == pytest.approx(nearest, abs=0.15)


def test_the_queue_by_phase_is_the_mean_of_its_samples(tmp_path: Path) -> None:
    run = made([BBRV1], tmp_path / "out", record={"samples": True, "queue": True, "every": "20ms"})
    backlog = {row["t_us"]: row["backlog_packets"] for row in run.queue.to_pylist()}
    found: dict[bool, list[int]] = {True: [], False: []}
    for row in run.samples.to_pylist():
        if row["cca_state"] in ("PROBE_BW", "PROBE_RTT") and row["t_us"] + 20_000 in backlog:
            found[row["pacing_gain"] > 1].append(backlog[row["t_us"] + 20_000])
    calm, probing = readings.queue_by_phase(run)
    assert calm == pytest.approx(sum(found[False]) / len(found[False]), rel=0.02)
    assert probing == pytest.approx(sum(found[True]) / len(found[True]), rel=0.02)
    assert probing > calm
    first = next(row["t_us"] for row in run.samples.to_pylist() if row["cca_state"] == "PROBE_RTT")
    assert readings.probe_rtt(run, None) == first / 1e6


def test_needless_ups_are_probes_at_a_full_link_that_go_on_to_up(rising: Result) -> None:
    rows = rising.samples.to_pylist()
    starts = [i for i, (a, b) in enumerate(pairwise(rows), 1)
              if b["cca_state"] == "PROBE_BW_PRE_UP" != a["cca_state"]]  # fmt: skip
    needless, ups = 0, 0
    for k, i in enumerate(starts):
        rate = 40 + 5 * (rows[i]["t_us"] // 2_000_000)
        if rows[i]["bw_bps"] / 1e6 >= 0.95 * rate:
            needless += 1
            end = starts[k + 1] if k + 1 < len(starts) else len(rows)
            ups += any(row["cca_state"] == "PROBE_BW_UP" for row in rows[i:end])
    assert needless
    assert readings.needless_ups(rising, None) == pytest.approx(ups / needless)


def test_figures_are_normalised_by_the_best_of_each_path(tmp_path: Path) -> None:
    points = []
    for name, rate in (("slow", "10Mbps"), ("fast", "40Mbps")):
        for flow in (CUBIC, BBRV1):
            label = flow["name"]
            run = made([flow], tmp_path / f"{name}-{label}", rate=rate, record={"samples": False, "queue": False})
            points.append(Point(label, {"trace": name}, (run,)))
    entry = suites.entry_of("yang2021/fig17")
    found = readings.normalised(Table(claims.of_suite("yang2021")["yang2021/fig17"], entry, points))
    for i in (0, 1):
        links = [point.runs[0].summary for point in points[2 * i : 2 * i + 2]]
        best = max(one.flows[0].goodput_mbps for one in links)
        least = min(one.link.sojourn_mean_ms or 0.0 for one in links)
        for label, one in zip(("CUBIC", "BBRv1"), links, strict=True):
            assert found[label].throughput[i] == pytest.approx(one.flows[0].goodput_mbps / best)
            assert found[label].delay[i] == pytest.approx((one.link.sojourn_mean_ms or 0.0) / least)


def test_an_order_over_the_links_has_means_and_deviations_and_leaves_out_orca_where_it_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = {"BBRv1": [1.0, 1.0], "BBRv2": [0.6, 1.0], "CUBIC": [0.5, 1.0], "BBRv2+": [0.8, 1.0], "Orca": [0.9, 1.0]}
    told = {one.id: one for one in claims.of_suite("yang2021")["yang2021/fig23b"].claims}
    lowest = next(one for one in claims.of_suite("yang2021")["yang2021/fig23a"].claims if one.id == "c3")

    def read(claim: claims.Claim, names: list[str]) -> list[float]:
        by_name = {name: readings.Normalised(values[name], [1.0, 1.0]) for name in names}
        monkeypatch.setattr(readings, "normalised", lambda _: by_name)
        table = Table(claims.of_suite("yang2021")["yang2021/fig23b"], suites.entry_of("yang2021/fig23b"), [])
        monkeypatch.setattr(table, "lines", lambda: names)
        return [part[0].mean for part in readings.READERS["normalised_order"](table, claim, None)]

    assert read(lowest, list(values)) == pytest.approx([0.75, 0.95])
    assert read(told["c5"], list(values)) == pytest.approx([0.05, 0.1])
    assert read(told["c5"], list(values)[:4]) == pytest.approx([0.2, 0.1])
    assert read(told["c6"], list(values)) == pytest.approx([0.05, 0.1])


def test_recordings_are_taken_from_the_folder_that_is_named_and_generated_links_fill_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(readings.VARIABLE, str(tmp_path))
    assert len(readings.moving()) == readings.LINKS
    assert not [link for link in readings.moving().values() if "trace" in link.rate]
    name = "ATT-LTE-driving.down"
    (tmp_path / name).write_text("1\n2\n")
    assert readings.recorded() == {name: ({"trace": str(tmp_path / name)}, "50ms", "0.1%")}
    assert len(readings.moving()) == readings.LINKS
    assert sum("trace" in link.rate for link in readings.moving().values()) == 1


def test_each_link_has_its_own_rtt_and_loss_and_a_reader_may_give_all_the_same() -> None:
    links = {case.at["trace"]: case.scenario["path"] for case in suites.entry_of("yang2021/fig23b").cases(FAST)}
    assert {name: (path["rtt"], path["loss"]) for name, path in links.items()} == {
        name: (link.rtt, link.loss) for name, link in readings.moving().items()
    }
    same = list(suites.entry_of("yang2021/fig23b").cases(FAST, ("path.loss=0%", "path.rtt=40ms")))
    assert len(same) == len(readings.lines()) * readings.LINKS
    assert {(case.scenario["path"]["rtt"], case.scenario["path"]["loss"]) for case in same} == {("40ms", "0%")}
    with pytest.raises(ScenarioError, match=r"path\.rate varies in the figure"):
        list(suites.entry_of("yang2021/fig23b").cases(FAST, ("path.rate=10Mbps",)))


def test_an_example_of_a_trace_is_drawn_with_its_rate_and_the_queueing_delay(rising: Result) -> None:
    text, entry = claims.of_suite("yang2021")["yang2021/fig16"], suites.entry_of("yang2021/fig16")
    table = Table(text, entry, [Point("BBRv2+", {}, (rising,))])
    assert entry.draw is not None
    rates, delays = entry.draw(table).axes[:2]
    (area,) = rates.collections
    assert area.get_paths()[0].vertices[:, 1].max() == 75, "Mbit/s, the last of fig15a's steps"
    (line,) = delays.lines
    wanted = [row["sojourn_us"] / 1000 for row in rising.queue.to_pylist()]
    assert list(line.get_ydata()) == pytest.approx(wanted)
