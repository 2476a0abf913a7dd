"""Figures: units on the axes, a colour per controller, and what is drawn is what was measured."""

from __future__ import annotations

import json
import math
import shutil
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dumbbell
from conftest import Cli
from dumbbell import Flow, ResultError, Results, Scenario, plot
from dumbbell.plots import look, style
from dumbbell.plots.pooled import Spot, ellipse, normalised, panel
from dumbbell.results import metrics


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    scenario = Scenario(
        name="plots",
        duration="3s",
        repetitions=2,
        path=dumbbell.Path(rate="20Mbps", rtt="20ms", buffer=["0.1bdp", "1bdp", "10bdp"]),
        flow=[Flow(cca="cubic"), Flow(cca="bbr", start="137ms")],
    )
    return dumbbell.run(scenario, tmp_path_factory.mktemp("plots") / "out")


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        ("goodput", "Goodput (Mbit/s)"),
        ("throughput", "Throughput (Mbit/s)"),
        ("rtt", "RTT (ms)"),
        ("cwnd", "Congestion window (segments)"),
        ("inflight", "In flight (segments)"),
        ("queue", "Queue (kB)"),
    ],
)
def test_a_series_has_units_on_both_axes_and_spans_the_run(results: Results, kind: str, label: str) -> None:
    ax = plot.SINGLE[kind](results[:1])
    assert (ax.get_xlabel(), " ".join(ax.get_ylabel().split())) == ("Time (s)", label)
    assert ax.get_xlim() == (0, 3)


def test_a_controller_has_its_colour_in_every_figure(results: Results) -> None:
    for draw in (plot.goodput, plot.rtt, plot.cwnd, plot.inflight):
        colours = {line.get_label(): line.get_color() for line in draw(results[:1]).get_lines()}
        assert colours["CUBIC"] == look.of("cubic").colour
        assert colours["BBR"] == look.of("bbr").colour
    varied = {container.get_label(): container[0].get_color() for container in plot.vary(results).containers}
    assert varied == {"CUBIC": look.of("cubic").colour, "BBR": look.of("bbr").colour}


def test_no_two_controllers_look_alike() -> None:
    from dumbbell import controllers

    looks = {name: look.of(name) for name in controllers.known()}
    assert not any(look.is_own(name) for name in looks), "every built-in controller has a look of its own"
    assert len({one.colour for one in looks.values()}) == len(looks)
    assert len({str(one.marker) for one in looks.values()}) == len(looks)
    assert look.of("somebody-elses") == look.of("somebody-elses")
    assert look.of("somebody-elses").colour not in {one.colour for one in looks.values()}


def test_states_are_drawn_from_one_change_to_the_next(results: Results) -> None:
    ax = plot.states(results[:1])
    assert (ax.get_xlabel(), ax.get_xlim()) == ("Time (s)", (0, 3))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0: CUBIC", "1: BBR"]
    events = [row for row in results[0].events.to_pylist() if row["flow"] == 1 and row["kind"] == "cca_state"]
    [startup] = [made for made in ax.collections if made.get_label() == "STARTUP"]
    [bar] = startup.get_paths()
    assert [event["note"] for event in events[:2]] == ["STARTUP", "DRAIN"]
    assert (bar.vertices[:, 0].min(), bar.vertices[:, 0].max()) == pytest.approx(
        [event["t_ns"] / 1e9 for event in events[:2]]
    )
    for row in range(2):
        bars = [
            path.vertices
            for made in ax.collections
            for path in made.get_paths()
            if abs(path.vertices[:, 1].mean() - row) < 0.4
        ]
        total = sum(bar[:, 0].max() - bar[:, 0].min() for bar in bars)
        assert total == pytest.approx(3 - (0, 0.137)[row]), "every moment since the start, once"


def test_states_that_nobody_tells_are_one_error(tmp_path: Path) -> None:
    own = Path(__file__).parent.parent / "scenarios" / "examples" / "delay_target.py"
    scenario = Scenario(
        name="silent",
        duration="1s",
        path=dumbbell.Path(rate="20Mbps", rtt="20ms", buffer="1bdp"),
        flow=[Flow(cca="delay-target")],
    )
    silent = dumbbell.run(scenario, tmp_path / "out", cca=[own])
    with pytest.raises(ResultError, match="no flow has states of its controller"):
        plot.states(silent)


def test_rtt_has_its_distribution_beside_it(results: Results) -> None:
    figure = plot.rtt(results[:1]).get_figure()
    assert figure is not None
    _, cdf = figure.axes
    assert (cdf.get_xlabel(), cdf.get_ylabel()) == ("RTT (ms)", "Share of samples (CDF)")
    assert cdf.get_lines()[0].get_ydata()[-1] == 1


def test_of_a_kernel_that_tells_no_rtt_the_smoothed_one_is_drawn_and_named(results: Results, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(results[0].folder, folder)
    table = pq.read_table(folder / "samples.parquet")
    column = table.schema.get_field_index("rtt_us")
    nothing = pa.nulls(table.num_rows, table.schema.field(column).type)
    pq.write_table(table.set_column(column, table.schema.field(column), nothing), folder / "samples.parquet")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["samples.parquet"]["bytes"] = (folder / "samples.parquet").stat().st_size
    (folder / "manifest.json").write_text(json.dumps(manifest))
    result = dumbbell.load(folder)[0]

    ax = plot.rtt(result)
    assert ax.get_ylabel() == "Smoothed RTT (ms)"
    drawn = ax.get_lines()[0].get_ydata()
    srtt = [row["srtt_us"] / 1000 for row in table.to_pylist() if row["flow"] == 0 and row["srtt_us"] is not None]
    assert [value for value in drawn if not math.isnan(value)] == pytest.approx(srtt)
    assert plot.rtt_cdf(result).get_xlabel() == "Smoothed RTT (ms)"


def test_goodput_and_throughput_stand_at_the_middle_of_their_bins(results: Results) -> None:
    rows = pq.read_table(results[0].folder / "samples.parquet").to_pylist()
    totals = pq.read_table(results[0].folder / "flows.parquet").to_pylist()[1]
    for draw, column, scale in (
        (plot.goodput, "goodput_bytes", 8e-6),
        (plot.throughput, "segs_sent", 8e-6 * totals["bytes_sent"] / totals["segs_sent"]),
    ):
        total = {row["t_us"]: row[column] for row in rows if row["flow"] == 1}
        [line] = [one for one in draw(results[0], bin_s=0.5).get_lines() if one.get_label() == "BBR"]
        edges = [500_000 * i for i in range(7)]
        assert list(line.get_xdata()) == pytest.approx([(a + b) / 2e6 for a, b in pairwise(edges)])
        expected = [(total[b] - total.get(a, 0)) * scale / 0.5 for a, b in pairwise(edges)]
        assert list(line.get_ydata()) == pytest.approx(expected)


@pytest.mark.parametrize("count", [1, 12])
def test_what_lives_within_one_bin_has_a_marker(count: int, tmp_path: Path) -> None:
    short = Flow(cca="bbr", start="10.1s", size="3kB", count=count)
    path = dumbbell.Path(rate="20Mbps", rtt="20ms", buffer="1bdp")
    made = dumbbell.run(Scenario(duration="40s", path=path, flow=[Flow(cca="cubic"), short]), tmp_path / "out")
    for ax in plot.goodput(made).get_figure().axes:
        line = next(line for line in ax.lines if "BBR" in line.get_label())
        shown = [i for i, rate in enumerate(line.get_ydata()) if not math.isnan(rate)]
        assert len(shown) == 1
        assert line.get_marker() in (".", look.of("bbr").marker)
        assert shown[0] in line.get_markevery()


def test_buffers_in_bdp_are_on_a_logarithmic_axis(results: Results) -> None:
    ax = plot.vary(results)
    assert ax.get_xscale() == "log"
    assert ax.get_xlabel() == "Buffer (BDP)"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.1", "1", "10"]


def test_a_varied_metric_is_the_mean_over_repetitions(results: Results) -> None:
    line = plot.vary(results, metric="share", flows="1").containers[0][0]
    shares = [run.summary["flows"][1]["share"] for run in results]
    assert list(line.get_ydata()) == pytest.approx([(shares[i] + shares[i + 1]) / 2 for i in (0, 2, 4)])


def test_jain_is_drawn_above_on_the_same_axis(results: Results) -> None:
    figure = plot.vary(results, jain=True).get_figure()
    assert figure is not None
    above, below = figure.axes
    assert (above.get_ylabel(), below.get_ylabel()) == ("Jain's index", "Goodput (Mbit/s)")
    assert above.get_xlim() == below.get_xlim()


def test_a_series_of_many_runs_asks_which(results: Results) -> None:
    with pytest.raises(ResultError, match=r"^6 runs, and this plot shows one: choose it with --run NAME"):
        plot.cwnd(results)


def test_what_does_not_vary_is_refused(results: Results) -> None:
    with pytest.raises(dumbbell.ScenarioError, match=r"^--x: got \"path.rate\", wanted a varied key: path.buffer"):
        plot.vary(results, x="path.rate")
    with pytest.raises(dumbbell.ScenarioError, match="--metric"):
        plot.vary(results, metric="speed")
    with pytest.raises(ResultError, match="no key varies"):
        plot.vary(results[:2])


def test_flows_into_axes_that_are_given(results: Results) -> None:
    _, ax = style.figure()
    assert plot.goodput(results[0], ax=ax) is ax


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_same_results_make_the_same_file(results: Results, tmp_path: Path, suffix: str) -> None:
    files = [tmp_path / f"{n}.{suffix}" for n in range(2)]
    for file in files:
        plot.save(plot.draw("vary", results, jain=True), file)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert files[0].stat().st_size > 5000


def test_every_metric_draws_finite_values(results: Results) -> None:
    from dumbbell.results.catalogue import FIGURES

    for metric in [name for name in FIGURES if not name.startswith(("fct", "latency", "unfinished", "convergence"))]:
        for container in plot.vary(results, metric=metric).containers:
            assert all(math.isfinite(y) for y in container[0].get_ydata()), metric


def test_completion_times_are_drawn_as_their_distribution(tmp_path: Path) -> None:
    path = dumbbell.Path(rate="20Mbps", rtt="20ms", buffer="1bdp")
    arrivals = {"rate": "5/s", "until": "2s", "sizes": "20kB"}
    scenario = Scenario(duration="4s", path=path, flow=[Flow(cca="bbr"), Flow(cca="cubic", arrivals=arrivals)])
    found = dumbbell.run(scenario, tmp_path / "out")
    ax = plot.fct(found)
    line = ax.get_lines()[0]
    times = list(metrics.completion_times_s(found[0]))
    assert list(line.get_xdata()) == pytest.approx([times[0], *times]), (
        "it begins at 0, so that one flow alone is a line"
    )
    assert line.get_ydata()[-1] == len(times) / sum(flow.is_finite for flow in found[0].plan.flows)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Completion time (s)", "Share of flows (CDF)")


def test_a_run_without_finite_flows_has_no_completion_times(results: Results) -> None:
    with pytest.raises(ResultError, match="none has a completion time"):
        plot.fct(results)


def test_the_tradeoff_is_normalised_on_each_path_and_its_ellipse_is_that_of_the_covariance() -> None:
    spots = [
        Spot("a", "cubic", 10.0, 40.0, 80.0),
        Spot("a", "bbr", 5.0, 20.0, 30.0),
        Spot("b", "cubic", 1.0, 10.0, 20.0),
        Spot("b", "bbr", 2.0, 30.0, 60.0),
    ]
    assert normalised(spots) == {"cubic": [(2.0, 1.0, 4.0), (1.0, 0.5, 2.0)], "bbr": [(1.0, 0.5, 1.5), (3.0, 1.0, 6.0)]}
    # Points on a line have no width across it: deviations 1 and 2 of (x, 2x) for x = 0, 2 make a half axis of sqrt(5)
    # at atan(2).
    shape = ellipse([0.0, 2.0], [0.0, 4.0])
    assert (shape.x, shape.y) == (1, 2)
    assert shape.width == pytest.approx(2 * math.sqrt(5))
    assert shape.height == pytest.approx(0, abs=1e-6)
    assert shape.angle == pytest.approx(math.degrees(math.atan(2)))
    assert shape.at(0) == pytest.approx((2, 4))


def test_the_tradeoff_is_in_mbits_and_ms_with_a_panel_for_each_path(results: Results, tmp_path: Path) -> None:
    figure = plot.tradeoff(results).get_figure()
    assert figure is not None
    assert len(figure.axes) == 3, "a panel for each buffer"
    assert figure.get_supxlabel() == "One-way delay, mean (ms)"
    for ax, runs in zip(figure.axes, (results[0:2], results[2:4], results[4:6]), strict=True):
        point = next(line for line in ax.get_lines() if line.get_label() == "BBR")
        owd = [pq.read_table(run.folder / "flows.parquet").to_pylist()[1]["owd_mean_us"] / 1000 for run in runs]
        goodput = [pq.read_table(run.folder / "flows.parquet").to_pylist()[1] for run in runs]
        rates = [row["goodput_bytes"] * 8 / (row["stop_us"] - row["start_us"]) for row in goodput]
        assert list(point.get_xdata()) == pytest.approx([sum(owd) / 2])
        assert list(point.get_ydata()) == pytest.approx([sum(rates) / 2])
    with pytest.raises(ResultError, match="for runs of one controller each"):
        plot.tradeoff(results, pool=True)
    path = dumbbell.Path(rate=["10Mbps", "20Mbps"], rtt="20ms", buffer="1bdp")
    found = dumbbell.run(Scenario(duration="2s", path=path, flow=[Flow(cca=["cubic", "bbr"])]), tmp_path / "out")
    assert {"CUBIC", "BBR"} <= {line.get_label() for line in plot.tradeoff(found, pool=True).get_lines()}
    sheet = style.Sheet(None, {}, height=3.0)
    panel(sheet, [Spot(path, "bbr", 1.0, delay, delay) for path, delay in (("a", 1.0), ("b", 9.0))]
          + [Spot(path, "cubic", 2.0, 1.0, 1.0) for path in "ab"], "")  # fmt: skip
    (mark,) = (line for line in sheet.ax.get_lines() if line.get_label() == "BBR")
    assert (list(mark.get_xdata()), list(mark.get_ydata())) == ([5.0], [0.5]), "arithmetic means over the paths"
    with pytest.raises(ResultError, match="one point shows no trade-off"):
        plot.tradeoff(found[:1])


def test_tables_of_one_controller_are_one_mark_of_a_path_in_the_tradeoff(tmp_path: Path) -> None:
    ccas = ["cubic", "bbr"]
    path = dumbbell.Path(rate=["10Mbps", "20Mbps"], rtt="20ms", buffer="1bdp")
    drawn = []
    for flow, together in (
        ([Flow(cca=ccas), Flow(cca=ccas)], [["flow.cca"]]),
        ([Flow(cca=ccas, count=2)], []),
    ):
        scenario = Scenario(
            duration="2s", path=path, flow=flow, together=together, host=dumbbell.Host(start_jitter="30ms")
        )
        ax = plot.tradeoff(dumbbell.run(scenario, tmp_path / str(len(flow))), pool=True)
        drawn.append([line.get_xydata().tolist() for line in ax.get_lines()])
    assert drawn[0] == drawn[1]


def test_a_path_without_delay_has_nothing_to_divide_by() -> None:
    spots = [Spot("a", "vegas", 9.0, 0.0, 0.0), Spot("a", "cubic", 9.0, 5.0, 8.0)]
    with pytest.raises(ResultError, match="the mean delay of Vegas is 0 on a path"):
        normalised(spots)


def test_an_ellipse_of_the_tradeoff_ends_where_the_possible_does(tmp_path: Path) -> None:
    scenario = Scenario(
        duration="2s",
        repetitions=4,
        path=dumbbell.Path(rate="20Mbps", rtt="20ms", buffer="2bdp", loss="0.5%"),
        flow=[Flow(cca="bbr"), Flow(cca="cubic", start="100ms")],
    )
    ax = plot.tradeoff(dumbbell.run(scenario, tmp_path / "out"))
    shapes = [patch.get_xy() for patch in ax.patches if len(patch.get_xy()) > 50]
    assert len(shapes) == 2
    for shape in shapes:
        assert shape[:, 0].min() > 0
        assert shape[:, 1].min() >= 0
        assert shape[:, 1].max() <= 20


def test_the_queue_of_an_aqm_shows_its_marks_and_no_limit_far_away(tmp_path: Path) -> None:
    path = dumbbell.Path(rate="10Mbps", rtt="20ms", qdisc={"kind": "codel", "ecn": True})
    (result,) = dumbbell.run(
        Scenario(duration="3s", path=path, host=dumbbell.Host(ecn=True), flow=[Flow(cca="cubic")]), tmp_path / "out"
    )
    ax = plot.queue(result)
    labels = {line.get_label() for line in ax.get_lines()}
    assert ax.get_ylabel() == "Queue (packets)"
    assert "marks" in labels
    assert "limit" not in labels


def test_percentiles_of_completion_times_are_those_that_the_curve_shows(tmp_path: Path) -> None:
    scenario = Scenario(
        duration="2s",
        path=dumbbell.Path(rate="10Mbps", rtt="20ms", buffer="1bdp"),
        flow=[Flow(cca="cubic", count=10, spacing="150ms", size="250kB")],
    )
    found = dumbbell.run(scenario, tmp_path / "out")
    flows = found[0].flows.to_pylist()
    times = sorted((one["completed_us"] - one["start_us"]) / 1e6 for one in flows if one["completed_us"] is not None)
    assert 5 < len(times) < 10
    ax = plot.fct(found)
    [made] = ax.figure.legends
    median = (times[4] + times[5]) / 2
    told = f"{median * 1000:.3g} ms" if median < 1 else f"{median:.3g} s"
    assert made.get_texts()[0].get_text() == f"CUBIC ({len(times)} of 10 complete): ● p50 {told}, ◆ p99 not reached"
    [mark] = [line for line in ax.get_lines() if line.get_marker() == "o"]
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (pytest.approx(median), 0.5)
    caption = " ".join(made.get_title().get_text().split())
    assert "; p50 and p99 are of all flows, those that did not complete included" in caption


def test_a_back_end_of_matplotlib_that_there_is_not_is_one_line(
    sweep: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLBACKEND", "nope")
    for command in (
        ["plot", "vary", sweep, "-o", tmp_path / "p.png"],
        ["report", sweep, "-o", tmp_path / "r.html"],
        ["serve", "--out", tmp_path / "out"],
    ):
        done = cli(*command)
        if done.returncode == 0:  # it draws nothing by Matplotlib
            continue
        assert (done.returncode, done.stderr) == (
            2, 'dumbbell: MPLBACKEND: got "nope", wanted a name that Matplotlib knows, such as agg, or none\n'
        )  # fmt: skip
