"""What pictures show where a plain figure would mislead or be empty: far limits, policers, points that crowd, long
names on ticks, zero on logarithmic axes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell
from dumbbell import Flow, ResultError, Results, plot
from dumbbell.plots import style, ticks


def run(tmp_path: Path, *, cca: object = "cubic", duration: str = "2s", flows: int = 1, **path: object) -> Results:
    given = {"rate": "20Mbps", "rtt": "20ms", "buffer": "1bdp"} | path
    return dumbbell.run(
        dumbbell.Scenario(duration=duration, path=dumbbell.Path(**given), flow=[Flow(cca=cca, count=flows)]),
        tmp_path / "out",
    )


def labels(ax: object) -> list[str]:
    return [text.get_text() for text in ax.figure.legends[0].get_texts()]  # type: ignore[attr-defined]


def caption(ax: object) -> str:
    return " ".join(ax.figure.legends[0].get_title().get_text().split())  # type: ignore[attr-defined]


def test_a_limit_far_above_the_queue_does_not_flatten_it(tmp_path: Path) -> None:
    ax = plot.queue(run(tmp_path, cca="bbr", buffer="100bdp"))
    longest = max(ax.get_lines()[0].get_ydata())
    assert ax.get_ylim()[1] < 1.2 * longest
    assert "limit" not in labels(ax)
    assert "buffer 5 MB" in caption(ax)


def test_a_policer_has_its_line_and_its_place_in_the_caption(tmp_path: Path) -> None:
    ax = plot.goodput(run(tmp_path, policer={"rate": "5Mbps", "burst": "20kB"}), bin_s=0.2)
    assert "policer's rate" in labels(ax)
    assert "policer 5 Mbit/s, burst 20 kB" in caption(ax)
    assert any(set(line.get_ydata()) == {5.0} for line in ax.get_lines())


def test_segments_of_transports_that_differ_have_their_size_in_the_caption(tmp_path: Path) -> None:
    both = dumbbell.Scenario(
        duration="2s",
        path=dumbbell.Path(rate="20Mbps", rtt="20ms", buffer="1bdp"),
        flow=[Flow(cca="cubic"), Flow(cca="cubic", transport="quic")],
    )
    results = dumbbell.run(both, tmp_path / "both")
    for draw in (plot.cwnd, plot.inflight):
        assert caption(draw(results)).endswith("; payload of a segment: 1,448 B with TCP, 1,000 B with QUIC")
        assert "payload" not in caption(draw(results, flows="0"))
    assert "payload" not in caption(plot.rtt(results))


def test_an_outage_is_called_nothing(tmp_path: Path) -> None:
    steps = {"steps": [["0s", "20Mbps"], ["1s", "0bps"], ["1.5s", "20Mbps"]]}
    assert "20 Mbit/s from 0 s, nothing from 1 s" in caption(plot.cwnd(run(tmp_path, rate=steps, buffer="100kB")))


def test_a_changing_rate_has_no_one_bdp(tmp_path: Path) -> None:
    steps = {"steps": [["0s", "20Mbps"], ["1s", "5Mbps"]]}
    assert "BDP" not in caption(plot.cwnd(run(tmp_path / "steps", rate=steps, buffer="100kB")))
    assert "(2 BDP)" in caption(plot.cwnd(run(tmp_path / "constant", buffer="100kB")))


@pytest.mark.parametrize(
    ("rtt", "of_flow", "said"),
    [
        ("20ms", None, "buffer 50 kB (1 BDP);"),
        ("20ms", "80ms", "buffer 50 kB (1 BDP at 20 ms);"),
        (["20ms", "40ms"], "80ms", "buffer 50 kB (1 BDP at 20 ms);"),
        ({"steps": [["0s", "20ms"], ["1s", "40ms"]]}, None, "buffer 50 kB (1 BDP);"),
        ({"steps": [["0s", "20ms"], ["1s", "40ms"]]}, "80ms", "buffer 50 kB;"),
    ],
)
def test_a_bdp_is_of_the_paths_rtt(rtt: object, of_flow: str | None, said: str, tmp_path: Path) -> None:
    path = dumbbell.Path(rate="20Mbps", rtt=rtt, buffer="1bdp")
    made = dumbbell.Scenario(duration="1s", path=path, flow=[Flow(cca="cubic", rtt=of_flow)])
    assert said in caption(plot.cwnd(dumbbell.run(made, tmp_path / "out")[0]))


def test_goodput_above_the_rate_is_explained(tmp_path: Path) -> None:
    lossy = plot.goodput(run(tmp_path / "loss", buffer="8bdp", duration="6s"), bin_s=0.1)
    assert max(max(line.get_ydata()) for line in lossy.get_lines() if line.get_label() == "CUBIC") > 20.4
    assert "bytes that waited for a retransmission" in caption(lossy)
    assert "retransmission" not in caption(
        plot.throughput(run(tmp_path / "sent", buffer="8bdp", duration="6s"), bin_s=0.1)
    )


def test_goodput_above_the_rate_that_a_burst_allows_names_the_burst(tmp_path: Path) -> None:
    path = dumbbell.Path(rate="10Mbps", rtt="20ms", buffer="2000pkt", burst="2MB")
    made = dumbbell.Scenario(duration="6s", path=path, flow=[Flow(cca="reno", size="4MB")])
    said = caption(plot.goodput(dumbbell.run(made, tmp_path / "out"), bin_s=0.2))
    assert "above the link's rate: the link's burst of 2 MB" in said
    assert "retransmission" not in said


def test_points_whose_labels_would_cover_each_other_are_refused(tmp_path: Path) -> None:
    path = dumbbell.Path(rate="20Mbps", rtt="20ms", buffer="1bdp")
    against = [Flow(cca=sorted(dumbbell.controllers.known())[:8]), Flow(cca="cubic", start="7ms")]
    results = dumbbell.run(dumbbell.Scenario(duration="0.5s", path=path, flow=against), tmp_path / "out")
    with pytest.raises(ResultError, match="16 points do not fit into one panel, which has room for 14"):
        plot.tradeoff(results)


def test_points_of_a_tradeoff_are_told_by_the_legend_and_one_arrow_says_what_is_better(tmp_path: Path) -> None:
    path = dumbbell.Path(rate="20Mbps", rtt="20ms", buffer=["1bdp", "4bdp"])
    beside = [Flow(cca=["bbr", "htcp"]), Flow(cca="cubic", start="7ms")]
    ax = plot.tradeoff(dumbbell.run(dumbbell.Scenario(duration="1s", path=path, flow=beside), tmp_path / "out"))
    assert labels(ax) == ["BBR", "CUBIC beside BBR", "H-TCP", "CUBIC beside H-TCP", "link rate"]
    first, second = ax.figure.axes
    assert [text.get_text() for text in first.texts if text.get_text()] == ["better"]
    assert not second.texts
    assert (first.get_xlim(), first.get_ylim()) == (second.get_xlim(), second.get_ylim())


def test_a_tradeoff_in_a_window_has_a_delay_that_has_one_and_says_so(tmp_path: Path) -> None:
    results = run(tmp_path, cca=["cubic", "bbr"])
    whole, part = plot.tradeoff(results), plot.tradeoff(results, window=(1.0, 2.0))
    assert whole.get_xlabel() == "One-way delay, mean (ms)"
    assert part.get_xlabel() == "RTT, mean (ms)"
    assert caption(part).endswith("; RTT, because one-way delays are counted over whole runs only")
    assert "RTT, because" not in caption(whole) + caption(plot.tradeoff(results, window=(1.0, 2.0), delay="queue"))
    measured = dumbbell.run(
        dumbbell.Scenario(
            duration="2s",
            measure={"from": "1s"},
            path=dumbbell.Path(rate="20Mbps", rtt="20ms", buffer="1bdp"),
            flow=[Flow(cca=["cubic", "bbr"])],
        ),
        tmp_path / "measured",
    )
    assert plot.tradeoff(measured, pool=True).get_xlabel().startswith("RTT, mean over the smallest")
    assert caption(plot.tradeoff(measured, pool=True)).endswith("whole runs only")
    with pytest.raises(ResultError, match="so it has no window"):
        plot.tradeoff(measured, delay="owd")


def test_long_values_have_the_part_in_which_they_differ(tmp_path: Path) -> None:
    rates = [
        {
            "steps": [
                ["0s", f"{first}Mbps"],
                ["0.1s", f"{first}.345678Mbps"],
                ["0.2s", f"{first}.25678Mbps"],
                ["0.3s", "9.345678Mbps"],
            ]
        }
        for first in (11, 12)
    ]
    results = run(tmp_path, rate=rates, buffer="50kB", cca=["cubic", "bbr"], duration="0.5s")
    for ax in (plot.vary(results, form="heat"), plot.vary(results, form="heat", x="flow[0].cca"), plot.vary(results)):
        names = [text.get_text() for text in (*ax.get_xticklabels(), *ax.get_yticklabels())]
        long = [text for text in names if "Mbps" in text]
        assert all(len(line) <= 28 for text in long for line in text.split("\n"))
        assert len(set(long)) == len(long) != 1
    assert "9.345678" not in str(plot.vary(results, form="heat").get_xticklabels())


def test_lines_near_the_maximum_have_the_axis_for_themselves_and_bars_begin_at_zero(tmp_path: Path) -> None:
    results = run(tmp_path, buffer=["1bdp", "2bdp", "4bdp"])
    low, high = plot.vary(results, metric="utilization").get_ylim()
    assert 0.8 < low < high < 1.02
    assert plot.vary(results, metric="utilization", form="bars").get_ylim() == (0, 1.05)
    assert plot.vary(results, metric="goodput").get_ylim()[0] == 0


def test_zero_stands_beside_the_smallest_number_of_a_logarithmic_axis(tmp_path: Path) -> None:
    ax = plot.vary(run(tmp_path, loss=["0%", "0.01%", "1%", "10%"], duration="0.5s"))
    low, high = ax.get_xlim()
    assert -0.01 < low < 0
    assert high > 10


def test_an_index_has_its_whole_axis(tmp_path: Path) -> None:
    ax = plot.vary(run(tmp_path, cca=["cubic", "reno"], flows=2), metric="jain")
    assert ax.get_ylim() == (0, 1.05)


def test_an_index_of_too_few_flows_says_why_there_is_none(tmp_path: Path) -> None:
    path = dumbbell.Path(rate="20Mbps", rtt="20ms", buffer=["1bdp", "2bdp"])
    results = dumbbell.run(
        dumbbell.Scenario(duration="1s", path=path, flow=[Flow(cca="cubic", count=2, spacing="0.5s")]), tmp_path / "out"
    )
    with pytest.raises(ResultError, match="no run has jain: it is of flows that were active all the time"):
        plot.vary(results, metric="jain")


def test_ticks_that_would_run_into_each_other_keep_the_first_name() -> None:
    sheet = style.Sheet(None, style.Page())
    assert ticks.spaced(sheet, sheet.ax, [13, 52, 55, 63, 207]) == ["13", "52", "", "63", "207"]
    assert ticks.spaced(sheet, sheet.ax, [1, 2, 3]) == ["1", "2", "3"]
