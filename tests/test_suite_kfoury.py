"""Kfoury and others: metrics as the paper defines them, run lengths of deep buffers, and how its figures are drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell import suites
from dumbbell.results.load import Result
from dumbbell.suites import judge
from dumbbell.suites.table import FAST, Point, Reading, Table

CUBIC, BBRV1, BBRV2 = (
    {"name": name, "cca": cca} for name, cca in (("CUBIC", "cubic"), ("BBRv1", "bbr"), ("BBRv2", "bbr2"))
)


def short(flows: list[dict[str, Any]], out: Path) -> Result:
    """A run of 4 s at 20 Mbit/s, else as the paper's."""
    case = next(iter(suites.entry_of("kfoury2020/fig11a").cases(FAST)))
    path = {**case.scenario["path"], "rate": "20Mbps", "buffer": "0.3bdp", "burst": "10kB"}
    given = {**case.scenario, "name": "short", "duration": "4s", "repetitions": 1, "path": path, "flow": flows}
    return dumbbell.run(given, out=out)[0]


def table(name: str, *points: Point) -> Table:
    """An entry with these runs."""
    return Table(suites.text_of(f"kfoury2020/{name}"), suites.entry_of(f"kfoury2020/{name}"), points)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Two BBRv1 flows with RTTs of 10 and 50 ms."""
    flows = [{**BBRV1, "name": f"{rtt} ms", "rtt": f"{rtt}ms"} for rtt in (10, 50)]
    return short(flows, tmp_path_factory.mktemp("runs") / "out")


def test_link_utilization_is_the_sum_of_throughputs_over_the_capacity(pair: Result) -> None:
    made = table("fig5a", Point("BBRv1", {"buffer_bdp": 0.01, "loss_pct": 0}, (pair,)))
    (found,) = made.read("capacity_used", "BBRv1")
    goodputs = [row["goodput_bytes"] * 8 / (row["stop_us"] - row["start_us"]) for row in pair.flows.to_pylist()]
    assert found.mean == pytest.approx(sum(goodputs) / 20, rel=1e-3)
    assert found.mean < pair.summary.link.utilization, "the link carries headers and retransmissions, too"


def test_the_rate_of_fig_15_is_the_average_of_both_flows(pair: Result) -> None:
    made = table("fig15a", Point("BBRv1", {"buffer_bdp": 0.1}, (pair,)))
    (found,) = made.read("retrans_flow_mean", "BBRv1")
    rows = pair.flows.to_pylist()
    rates = [100 * row["retrans_segs"] / row["segs_sent"] for row in rows]
    assert found.mean == pytest.approx(sum(rates) / 2)
    both = 100 * sum(row["retrans_segs"] for row in rows) / sum(row["segs_sent"] for row in rows)
    assert abs(found.mean - both) > 0.01, "of both flows together it is another"


def test_a_figure_of_the_fast_profile_has_one_run_length() -> None:
    for name in suites.ids("kfoury2020"):
        lengths = {case.scenario["duration"] for case in suites.entry_of(name).cases(FAST)}
        lengths |= {
            case.scenario["duration"]
            for also in suites.entry_of(name).also
            for case in suites.entry_of(also).cases(FAST)
        }
        assert len(lengths) <= 1, (name, lengths)  # fig3 runs nothing


def test_one_flow_each_in_a_deep_buffer_has_the_papers_time_in_the_fast_profile() -> None:
    for name in ("fig11a", "fig11b", "fig12", "fig14a", "fig14b", "fig21a"):
        for case in suites.entry_of(f"kfoury2020/{name}").cases(FAST):
            assert case.scenario["duration"] == "300s", (name, case.at)


def test_a_sentence_without_an_opponent_is_about_both(tmp_path: Path) -> None:
    points = [
        Point(f"{flow['name']} vs CUBIC", {"buffer_bdp": 100}, (short([flow, CUBIC], tmp_path / flow["name"]),))
        for flow in (BBRV1, BBRV2)
    ]
    made = table("fig11a", *points)
    (claim,) = (one for one in made.text.claims if one.id == "c4")
    found = judge.judge(claim, made, made, None).measured  # type: ignore[arg-type]
    assert [one["series"] for one in found] == ["BBRv1 vs CUBIC", "BBRv2 vs CUBIC"]


def test_small_rates_are_on_top_of_the_heat_maps(tmp_path: Path) -> None:
    run = short([CUBIC, BBRV2], tmp_path)
    made = table("fig13a", *(Point(None, {"bandwidth_mbps": rate, "delay_ms": 10}, (run,)) for rate in (20, 99)))
    assert made.entry.draw is not None
    ax = made.entry.draw(made).axes[0]
    ticks = zip(ax.get_yticklabels(), ax.get_yticks(), strict=True)
    heights = {tick.get_text(): ax.transData.transform((0, at))[1] for tick, at in ticks}
    assert heights["20"] > heights["99"]


def test_beside_another_back_end_each_line_has_an_entry_and_the_papers_mark_is_a_cross(pair: Result) -> None:
    points = [Point("BBRv2", {"buffer_bdp": buffer}, (pair,)) for buffer in (0.1, 0.5)]
    made = table("fig14a", *points)
    made.beside = table("fig14a", *points)
    made.beside.kind = "uml"
    assert made.entry.draw is not None
    figure = made.entry.draw(made)
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"all flows", "all flows, uml"} <= set(texts)
    marks = {line.get_marker() for line in figure.axes[0].lines if line.get_markersize() == 9}
    assert marks == {"x"}


def test_a_gap_that_is_reduced_is_still_a_gap() -> None:
    (claim,) = (one for one in suites.text_of("kfoury2020/fig17b").claims if one.id == "c2")

    def word(*gaps: float) -> str:
        class Gaps:
            """A table where CUBIC's median is this far behind BBRv2's."""

            kind, id = "sim", "kfoury2020/fig17b"

            class entry:  # noqa: N801
                unjudged: dict[str, str] = {}  # noqa: RUF012

            def __init__(self, gap: float) -> None:
                self.gap = gap

            def read(self, _: str, label: str, __: object) -> list[Reading]:
                return [Reading({}, (100 + (self.gap if label == "CUBIC" else 0),))]

        class Book:
            def table(self, name: str) -> Any:
                assert name == "kfoury2020/fig17a"
                return Gaps(gaps[0])

        made: Any = Gaps(gaps[1])
        return judge.judge(claim, made, made, Book()).verdict

    assert word(20, 15) == "holds"
    assert word(20, 20.1) == "fails"
    assert word(20, -8) == "fails", "CUBIC is first"
