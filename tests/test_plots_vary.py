"""`plot vary`: a line is one group of flows under one combination of values, an interval is over repetitions only, and
what does not fit is refused.
"""

from __future__ import annotations

import statistics
from math import isnan
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import dumbbell
from conftest import Cli
from dumbbell import Flow, ResultError, Results, Scenario, ScenarioError, plot
from dumbbell.plots import keys
from dumbbell.report import sweeps
from dumbbell.report.gathered import gather
from dumbbell.results.catalogue import shown

#: Student's t, two-sided 95 %, two degrees of freedom (tables).
T2 = 4.302652729911275


def run(
    tmp_path: Path,
    flow: list[Flow],
    *,
    duration: str = "1s",
    repetitions: int = 1,
    host: dumbbell.Host | None = None,
    **path: object,
) -> Results:
    given = {"rate": "20Mbps", "rtt": "20ms", "buffer": "1bdp", **path}
    scenario = Scenario(
        name="vary",
        duration=duration,
        repetitions=repetitions,
        path=dumbbell.Path(**given),
        flow=flow,
        host=host or dumbbell.Host(),
    )
    return dumbbell.run(scenario, tmp_path / "out")


def goodput(result: dumbbell.Result, flows: list[int]) -> float:
    rows = [pq.read_table(result.folder / "flows.parquet").to_pylist()[flow] for flow in flows]
    span = max(row["stop_us"] for row in rows) - min(row["start_us"] for row in rows)
    return sum(row["goodput_bytes"] for row in rows) * 8 / span


def drawn(ax: object) -> dict[str, list[float]]:
    return {made.get_label(): list(made[0].get_ydata()) for made in ax.containers}  # type: ignore[attr-defined]


def legend(ax: object) -> list[str]:
    [made] = ax.get_figure().legends  # type: ignore[attr-defined]
    return [text.get_text() for text in made.get_texts()]


def caption(ax: object) -> str:
    [made] = ax.get_figure().legends  # type: ignore[attr-defined]
    return " ".join(made.get_title().get_text().split())


def test_an_opponent_that_varies_is_said_and_never_averaged_over(tmp_path: Path) -> None:
    found = run(
        tmp_path,
        [Flow(cca=["bbr", "reno"]), Flow(cca="cubic", start="100ms")],
        buffer=["0.5bdp", "4bdp"],
        duration="2s",
    )
    ax = plot.vary(found)
    lines = drawn(ax)
    assert set(lines) == {"BBR", "Reno", "CUBIC beside BBR", "CUBIC beside Reno"}
    for opponent in ("bbr", "reno"):
        mine = [one for one in found if one.vary["flow[0].cca"] == opponent]
        label = {"bbr": "BBR", "reno": "Reno"}[opponent]
        assert lines[f"CUBIC beside {label}"] == pytest.approx([goodput(one, [1]) for one in mine])
        assert lines[label] == pytest.approx([goodput(one, [0]) for one in mine])
    assert all(made.lines[2] == () for made in ax.containers), "nothing is repeated, so there is no whisker"
    assert "link rate" in legend(ax)


def test_an_interval_is_students_over_the_repetitions_and_the_caption_says_so(tmp_path: Path) -> None:
    host = dumbbell.Host(start_jitter="200ms")
    found = run(
        tmp_path,
        [Flow(cca="bbr"), Flow(cca="cubic")],
        buffer=["0.5bdp", "4bdp"],
        duration="2s",
        repetitions=3,
        host=host,
    )
    ax = plot.vary(found)
    [cubic] = [made for made in ax.containers if made.get_label() == "CUBIC"]
    bars = cubic.lines[2][0].get_segments()
    for i, runs in enumerate((found[:3], found[3:])):
        values = [goodput(one, [1]) for one in runs]
        half = T2 * statistics.stdev(values) / 3**0.5
        low, high = bars[i][:, 1]
        assert high == pytest.approx(statistics.fmean(values) + half)
        assert low == pytest.approx(max(statistics.fmean(values) - half, 0))
        assert ax.get_ylim()[0] <= low
        assert high <= ax.get_ylim()[1]
    assert "3 repetitions, whiskers: 95 % interval of the mean (Student's t)" in caption(ax)


def test_a_caption_has_the_buffer_in_bdps_where_only_its_bytes_differ(tmp_path: Path) -> None:
    found = run(tmp_path, [Flow(cca="reno")], rate=["5Mbps", "8Mbps"], buffer="1.5bdp", duration="500ms")
    assert "; fifo, buffer 1.5 BDP;" in caption(plot.vary(found))


def test_a_caption_says_how_many_runs_lack_the_figure(tmp_path: Path) -> None:
    flows = [Flow(cca="cubic"), Flow(cca="cubic", size="300kB")]
    found = run(tmp_path, flows, duration="2s", repetitions=4, loss=["1%", "15%"])
    lacking = sum(one.summary.flows[1].fct_s is None for one in found)
    assert 0 < lacking < 4
    assert f"; {lacking} of 8 runs lack a value: means are of the others" in caption(plot.vary(found, metric="fct"))
    assert "lack" not in caption(plot.vary(found, metric="goodput"))


def test_two_tables_of_one_controller_and_two_transports_have_lines_of_their_own(tmp_path: Path) -> None:
    flows = [Flow(cca="cubic", transport={"kind": "quic"}), Flow(cca="cubic", count=2, name="crowd")]
    found = run(tmp_path, flows, buffer=["0.5bdp", "4bdp"])
    ax = plot.vary(found)
    assert set(drawn(ax)) == {"CUBIC (QUIC)", "crowd (TCP) (sum of 2)"}
    assert drawn(ax)["crowd (TCP) (sum of 2)"] == pytest.approx([goodput(one, [1, 2]) for one in found])
    assert set(drawn(plot.vary(found, metric="goodput_flow_min"))) == {"CUBIC (QUIC)", "crowd (TCP) (least of 2)"}


def test_the_transport_of_an_opponent_is_said_too(tmp_path: Path) -> None:
    quinn = Flow(cca=["quinn:cubic", "cubic"], transport="quinn")
    found = run(tmp_path, [quinn, Flow(cca="cubic")], buffer=["0.5bdp", "4bdp"])
    of_tcp = {"CUBIC (TCP) beside quinn CUBIC", "CUBIC (TCP) beside CUBIC (quinn)"}
    assert set(drawn(plot.vary(found))) == {"quinn CUBIC", "CUBIC (quinn)", *of_tcp}
    on_the_axis = legend(plot.vary(found, x="flow[0].cca"))
    assert "the controller on the axis (quinn), buffer 0.5 BDP" in on_the_axis
    assert "CUBIC (TCP) beside the one on the axis, buffer 4 BDP" in on_the_axis


def test_a_name_of_ones_own_leaves_the_transport_of_quinns_controller_to_be_said(tmp_path: Path) -> None:
    named = Flow(name="mine", cca="quinn:cubic", transport="quinn")
    found = run(tmp_path, [named, Flow(cca="cubic")], buffer=["0.5bdp", "4bdp"])
    assert set(drawn(plot.vary(found))) == {"mine (quinn)", "CUBIC (TCP)"}


def test_categories_are_bars_in_the_colours_of_the_controllers(tmp_path: Path) -> None:
    found = run(tmp_path, [Flow(cca=["cubic", "bbr", "reno"])])
    ax = plot.vary(found)
    assert not [line for line in ax.get_lines() if len(line.get_xdata()) == 3], "no line joins categories"
    assert [bar.get_height() for bar in ax.patches] == pytest.approx([goodput(one, [0]) for one in found])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["CUBIC", "BBR", "Reno"]
    assert ax.get_xlabel() == "Controller"


def test_many_combinations_are_heat_maps_with_their_numbers(tmp_path: Path) -> None:
    flows = [Flow(cca=["cubic", "bbr", "reno", "bbr2"]), Flow(cca=["cubic", "bbr", "reno", "bbr2"])]
    found = run(tmp_path, flows, duration="500ms")
    figure = plot.vary(found).get_figure()
    assert figure is not None
    maps = [ax for ax in figure.axes if ax.images]
    assert len(maps) == 2, "one for each table"
    image = maps[1].images[0].get_array()
    for one in found:
        across, up = (["cubic", "bbr", "reno", "bbr2"].index(one.vary[f"flow[{i}].cca"]) for i in (0, 1))
        assert image[up, across] == pytest.approx(goodput(one, [1]))
    assert len(maps[1].texts) == 16
    [written] = [text.get_text() for text in maps[0].texts if text.get_position() == (0, 0)]
    assert float(written) == pytest.approx(goodput(found[0], [0]), rel=5e-3)


def titles(ax: object) -> list[str]:
    return [one.get_title(loc="left") for one in ax.get_figure().axes if one.get_xlabel() or one.get_title(loc="left")]  # type: ignore[attr-defined]


def test_panels_of_two_controllers_over_buffers_say_what_each_shows(tmp_path: Path) -> None:
    ccas = ["cubic", "bbr", "reno"]
    found = run(tmp_path, [Flow(cca=ccas), Flow(cca=ccas)], duration="300ms", buffer=["1bdp", "4bdp"])
    assert titles(plot.vary(found)) == ["flow[0] CUBIC", "flow[0] BBR", "flow[0] Reno"]
    assert titles(plot.vary(found, form="heat")) == [
        f"the controller of flow[{flow}], buffer {size} BDP" for size in (1, 4) for flow in (0, 1)
    ]
    assert titles(plot.vary(found, form="heat", metric="jain")) == ["buffer 1 BDP", "buffer 4 BDP"]
    along = titles(plot.vary(found, form="heat", x="path.buffer"))
    assert along == [
        part
        for cca in ("CUBIC", "BBR", "Reno")
        for part in (f"the controller of flow[0], against {cca}", f"{cca} #2" if cca == "CUBIC" else cca)
    ]
    assert titles(plot.vary(found, form="heat", metric="jain", x="path.buffer")) == [
        f"flow[1] {cca}" for cca in ("CUBIC", "BBR", "Reno")
    ]
    for number, one in enumerate(found):
        expected = goodput(one, [0])
        maps = [ax for ax in plot.vary(found, form="heat").get_figure().axes if ax.images]  # type: ignore[union-attr]
        across, up = (ccas.index(one.vary[f"flow[{i}].cca"]) for i in (0, 1))
        size = ["1bdp", "4bdp"].index(one.vary["path.buffer"])
        assert maps[2 * size].images[0].get_array()[up, across] == pytest.approx(expected), number


def test_each_panel_shows_the_rate_of_its_link(tmp_path: Path) -> None:
    found = run(tmp_path, [Flow(cca="cubic")], rate=["40Mbps", "5Mbps"], buffer=["1bdp", "2bdp"])
    axes = plot.vary(found, panels="path.rate").get_figure().axes
    rates = [[line.get_ydata()[0] for line in ax.lines if line.get_label() == "link rate"] for ax in axes]
    assert rates == [[40.0], [5.0]]
    assert all(ax.get_ylim()[1] > 40 for ax in axes)


def test_three_keys_make_panels_and_too_many_are_refused(tmp_path: Path) -> None:
    found = run(
        tmp_path,
        [Flow(cca=["cubic", "bbr", "reno"])],
        duration="300ms",
        buffer=["1bdp", "2bdp"],
        rtt=["10ms", "20ms", "40ms"],
    )
    figure = plot.vary(found).get_figure()
    assert figure is not None
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == ["RTT 10 ms", "RTT 20 ms", "RTT 40 ms"]
    many = run(
        tmp_path / "many",
        [Flow(cca=["cubic", "bbr", "reno", "bbr2"], count=[1, 2]), Flow(cca="cubic")],
        duration="100ms",
        rtt=["10ms", "20ms", "40ms"],
        rate=["10Mbps", "20Mbps", "40Mbps"],
        buffer=["1bdp", "2bdp"],
    )
    with pytest.raises(ResultError, match=r"too much varies for one figure: .*choose some runs with --run"):
        plot.vary(many)


def test_an_axis_is_named_after_its_key_with_its_unit(tmp_path: Path) -> None:
    flow = [Flow(cca="bbr", params={"cwnd_gain": [512, 768]}), Flow(cca="cubic")]
    found = run(tmp_path, flow, ack={"rate": ["0.5Mbps", "1Mbps", "5Mbps"], "buffer": "64kB"}, duration="500ms")
    ax = plot.vary(found, x="path.ack.rate")
    assert ax.get_xlabel() == "ACK path rate (Mbit/s)"
    assert ax.get_xscale() == "log", "5 is a decade from 0.5"
    assert plot.vary(found, x="flow[0].params.cwnd_gain").get_xlabel() == "cwnd_gain of BBR (1/256)"


@pytest.mark.parametrize(
    ("key", "values", "title", "numbers"),
    [
        ("path.buffer", ["0.5bdp", "2bdp"], "Buffer (BDP)", (0.5, 2)),
        ("path.buffer", ["10pkt", "20pkt"], "Buffer (packets)", (10, 20)),
        ("path.buffer", ["50kB", "1MB"], "Buffer (kB)", (50, 1000)),
        ("path.buffer", ["50kB", "1bdp"], "Buffer", ()),
        ("path.rtt", ["500us", "100ms"], "RTT (ms)", (0.5, 100)),
        ("path.loss", [0.001, "1%"], "Random loss (%)", (0.1, 1)),
        ("path.qdisc", ["fifo", {"kind": "codel", "target": "1ms"}], "Queue discipline", ()),
        ("path.qdisc.target", ["5ms", "20ms"], "Queue discipline target (ms)", (5, 20)),
        ("host.ecn", [True, False], "ECN", ()),
        ("host.qdisc", ["pfifo", "fq"], "Queue discipline of the hosts", ()),
        ("path.policer.burst", ["20kB", "100kB"], "Policer burst (kB)", (20, 100)),
    ],
)
def test_a_key_is_numbers_in_one_unit_or_categories(
    key: str, values: list[object], title: str, numbers: tuple[float, ...]
) -> None:
    of = keys.of(key, [], values)
    assert of.axis_title == title
    assert of.numbers == pytest.approx(numbers)


def test_a_metric_that_no_run_has_is_refused(tmp_path: Path) -> None:
    found = run(tmp_path, [Flow(cca="cubic")], buffer=["1bdp", "2bdp"])
    with pytest.raises(
        ResultError, match="no run has fct: none of their flows has a size, or a number of answers, and completed"
    ):
        plot.vary(found, metric="fct")
    with pytest.raises(ResultError, match="no run has latency_p99: none of their flows has a workload"):
        plot.vary(found, metric="latency_p99")


def test_what_counts_whole_runs_has_no_window(tmp_path: Path) -> None:
    found = run(tmp_path, [Flow(cca="cubic")], buffer=["1bdp", "2bdp"])
    with pytest.raises(
        ResultError, match="no run has owd_p99: it counts every packet of a whole run, so it has no window"
    ):
        plot.vary(found, metric="owd_p99", window=(0.2, 0.8))


def test_percentiles_are_over_all_samples_of_a_group_inside_the_window(tmp_path: Path) -> None:
    import numpy as np

    found = run(tmp_path, [Flow(cca="cubic", count=2, spacing="50ms")], buffer=["1bdp", "4bdp"], duration="2s")
    expected = []
    for one in found:
        rows = pq.read_table(one.folder / "samples.parquet").to_pylist()
        expected.append(
            np.percentile(
                [row["rtt_us"] / 1000 for row in rows if row["rtt_us"] is not None and 1e6 <= row["t_us"] <= 2e6], 99
            )
        )
    lines = drawn(plot.vary(found, metric="rtt_p99", window=(1.0, 2.0)))
    assert lines == {"CUBIC (2 flows)": pytest.approx(expected)}


def test_scenarios_that_vary_the_same_are_told_apart_and_others_refused(tmp_path: Path) -> None:
    def one(name: str, buffer: list[str] | str) -> dumbbell.Results:
        path = dumbbell.Path(rate="20Mbps", rtt="20ms", buffer=buffer)
        return dumbbell.run(Scenario(name=name, duration="500ms", path=path, flow=[Flow(cca="cubic")]), tmp_path / name)

    first, second, third = one("a", ["1bdp", "2bdp"]), one("b", ["1bdp", "2bdp"]), one("c", "1bdp")
    assert set(drawn(plot.vary(Results([*first, *second])))) == {"CUBIC, a", "CUBIC, b"}
    with pytest.raises(
        ResultError,
        match=r"2 scenarios in this folder \(a, c\), which do not vary the same keys: choose one with --run",
    ):
        plot.vary(Results([*first, *third]))


def by_chance(tmp_path: Path) -> Results:
    """Repetitions of which some have no flow of the first table."""
    short = Flow(cca="reno", name="short", arrivals={"rate": "0.7/s", "sizes": "20kB"})
    flows = [short, Flow(cca="cubic", name="long"), Flow(cca="bbr", name="rival")]
    found = run(tmp_path, flows, buffer=["1bdp", "2bdp"], duration="2s", repetitions=4)
    having = [{flow.name for flow in one.plan.flows} for one in found]
    assert {"long", "rival"} in having
    assert {"short", "long", "rival"} in having
    return found


def test_a_repetition_without_arrivals_gives_no_flow_the_figures_of_another(tmp_path: Path) -> None:
    found = by_chance(tmp_path)
    lines = {label.partition(" (")[0]: values for label, values in drawn(plot.vary(found)).items()}
    for name in ("short", "long", "rival"):
        wanted = [
            statistics.fmean(
                goodput(one, own)
                for one in found
                if one.vary["path.buffer"] == buffer
                and (own := [i for i, flow in enumerate(one.plan.flows) if flow.name == name])
            )
            for buffer in ("1bdp", "2bdp")
        ]
        assert lines[name] == pytest.approx(wanted), name


def test_a_legend_says_how_many_flows_arrived_at_least_and_at_most(tmp_path: Path) -> None:
    found = by_chance(tmp_path)
    counts = {sum(flow.name == "short" for flow in one.plan.flows) for one in found} - {0}
    assert len(counts) > 1
    assert f"short (sum of {min(counts)} to {max(counts)})" in drawn(plot.vary(found))


def test_completion_times_are_of_all_repetitions_when_the_first_has_none(tmp_path: Path) -> None:
    found = by_chance(tmp_path)
    having_first = sorted(found, key=lambda run: any(flow.name == "short" for flow in run.plan.flows))
    ax = plot.draw("fct", Results([run for run in having_first if run.vary["path.buffer"] == "1bdp"]))
    assert [text.partition(" ")[0] for text in legend(ax)] == ["short"]


def test_flows_that_end_with_a_number_of_answers_have_completion_times_and_no_size(tmp_path: Path) -> None:
    answers = {"kind": "request_response", "response": "20kB", "think": "10ms", "count": 5}
    found = run(tmp_path, [Flow(cca="cubic", workload=answers), Flow(cca="reno", workload={**answers, "count": 900})])
    assert [flow.fct_s is None for flow in found[0].summary.flows] == [False, True]
    texts = legend(plot.draw("fct", found))
    assert [text.partition(":")[0] for text in texts] == ["CUBIC (1)", "Reno"]
    with pytest.raises(ResultError, match="a bin of size needs 5 flows"):
        plot.draw("slowdown", found)


def test_tables_of_two_scenarios_are_matched_by_their_flows(tmp_path: Path) -> None:
    def one(name: str, *ccas: str) -> Results:
        path = dumbbell.Path(rate="20Mbps", rtt="20ms", buffer="1bdp")
        flows = [Flow(cca=cca) for cca in ccas]
        return dumbbell.run(Scenario(name=name, duration="1s", path=path, flow=flows), tmp_path / name)

    first, second = one("a", "cubic", "bbr"), one("b", "bbr", "reno", "cubic")
    ax = plot.vary(Results([*first, *second]))
    bars = {made.get_label(): [bar.get_height() for bar in made] for made in ax.containers if hasattr(made, "patches")}
    assert bars == {
        "CUBIC": pytest.approx([goodput(first[0], [0]), goodput(second[0], [2])]),
        "BBR": pytest.approx([goodput(first[0], [1]), goodput(second[0], [0])]),
        "Reno": pytest.approx([goodput(second[0], [1])]),
    }


def test_where_all_tables_have_the_controller_on_the_axis_each_is_named(tmp_path: Path) -> None:
    ccas = ["bbr", "reno"]
    scenario = Scenario(
        name="all",
        duration="1s",
        path=dumbbell.Path(rate="20Mbps", rtt="20ms", buffer=["1bdp", "2bdp"]),
        flow=[Flow(cca=ccas), Flow(cca=ccas, start="200ms"), Flow(cca=ccas, name="rival")],
        together=[["flow.cca"]],
    )
    found = dumbbell.run(scenario, tmp_path / "all")
    axis = "the controller on the axis"
    one = Results([run for run in found if run.vary["path.buffer"] == "1bdp"])
    bars = plot.vary(one, x="flow.cca", form="bars")
    assert legend(bars)[:3] == [f"flow[0], {axis}", f"flow[1], {axis}", f"rival, {axis}"]
    heat = plot.vary(found, form="heat")
    assert titles(heat) == [f"the controller of {table}" for table in ("flow[0]", "flow[1]", "rival")]


def test_an_option_that_a_kind_does_not_use_is_refused(tmp_path: Path) -> None:
    found = run(tmp_path, [Flow(cca="cubic")])
    with pytest.raises(ScenarioError, match=r"--metric: got \"srtt\", wanted no such option for queue"):
        plot.draw("queue", found, metric="srtt")


def test_a_random_sample_is_points_along_a_key_with_numbers_and_the_caption_has_the_others(tmp_path: Path) -> None:
    file = tmp_path / "sample.toml"
    file.write_text(
        'name = "sample"\nduration = "1s"\npath = { rate = "10Mbps", rtt = "20ms", buffer = "1bdp" }\n'
        'flow = [{ cca = "reno" }, { cca = "cubic" }]\n'
    )
    axes = {"path.rate": "5Mbps..20Mbps", "path.rtt": "5ms..80ms/log", "flow[1].cca": ["cubic", "bbr"]}
    found = dumbbell.sweep(file, axes, sample=14, seed=3, store=tmp_path / "store")
    ax = plot.vary(found)
    assert ax.get_xlabel() == "Rate (Mbit/s)"
    assert {line.get_linestyle() for line in ax.get_lines()} == {"None"}
    assert sum(len(made[0].get_xdata()) for made in ax.containers) == 28
    assert set(legend(ax)) == {"Reno beside CUBIC", "Reno beside BBR", "CUBIC", "BBR"}
    rtts = [float(run.vary["path.rtt"].removesuffix("ms")) for run in found]
    also = f"a random sample, whose points also differ in RTT {min(rtts):.3g} to {max(rtts):.3g} ms"
    assert caption(ax).endswith(also)
    assert plot.vary(found, x="path.rtt").get_xlabel() == "RTT (ms)"
    with pytest.raises(ResultError, match="a heat map needs a grid, and these combinations are a random sample"):
        plot.vary(found, form="heat")
    [figure, *_], notes = sweeps._of(found, "", None, shown("sweep"))
    assert notes == []
    assert [(form["form"], form["x"]["scattered"]) for form in figure["forms"]] == [("lines", True)]
    assert figure["caption"].endswith(also)


def test_letters_that_no_font_has_are_told_in_one_line(tmp_path: Path, cli: Cli) -> None:
    run(tmp_path, [Flow(cca="cubic", name="\U00013000 mine"), Flow(cca="bbr")], buffer=["1bdp", "2bdp"])
    done = cli("plot", "vary", "out", "-o", "x.png")
    assert (done.returncode, done.stdout) == (0, "x.png\n")
    assert done.stderr.startswith("dumbbell: x.png: no font here has the letters \U00013000, which are boxes")
    assert done.stderr.count("\n") == 1


def test_the_caption_of_a_heat_map_names_the_half_widths_that_it_has(tmp_path: Path) -> None:
    host = dumbbell.Host(start_jitter="200ms")
    flows = [Flow(cca=["cubic", "reno"])]
    found = run(tmp_path, flows, repetitions=2, host=host, buffer=["1bdp", "2bdp"])
    assert "±: half the 95 % interval of the mean (Student's t)" in caption(plot.vary(found, form="heat"))
    assert "whiskers: 95 % interval of the mean" in caption(plot.vary(found))
    figure = sweeps._of(found, "", None, shown("sweep"))[0][0]
    assert "whiskers" in figure["caption"]
    assert "±: half the" in next(form["caption"] for form in figure["forms"] if form["form"] == "heat")


def test_bars_that_stand_alone_in_their_category_stand_at_its_tick(tmp_path: Path) -> None:
    for name, cca in (("a", "cubic"), ("b", "bbr")):
        scenario = Scenario(
            name="one",
            duration="1s",
            path=dumbbell.Path(rate="20Mbps", rtt="20ms", buffer="1bdp"),
            flow=[Flow(cca=cca)],
        )
        dumbbell.run(scenario, tmp_path / name)
    folders = [tmp_path / "a", tmp_path / "b"]
    found = gather(folders, start_s=None, end_s=None, title=None).results
    ax = plot.vary(found)
    centres = [bar.get_x() + bar.get_width() / 2 for made in ax.containers if hasattr(made, "patches") for bar in made]
    assert centres == pytest.approx([0, 1])


def test_a_caption_keeps_what_the_runs_share_of_queue_and_rtts(tmp_path: Path) -> None:
    codel = {"kind": "codel", "limit": "buffer"}
    disciplines = run(tmp_path / "a", [Flow(cca="cubic")], qdisc=["fifo", codel])
    assert "; buffer 50 kB (1 BDP); " in caption(plot.vary(disciplines))
    buffers = run(tmp_path / "b", [Flow(cca="cubic")], buffer=["1bdp", "2bdp"])
    assert "; fifo; " in caption(plot.vary(buffers))
    both = run(tmp_path / "c", [Flow(cca="cubic")], buffer=["1bdp", "2bdp"], qdisc=["fifo", codel])
    assert "fifo" not in caption(plot.vary(both))
    near, far = Flow(cca="cubic", name="near", rtt="10ms"), Flow(cca="cubic", name="far", rtt=["20ms", "80ms"])
    assert "; RTT of near 10 ms; fifo, buffer 50 kB; " in caption(plot.vary(run(tmp_path / "d", [near, far])))


@pytest.mark.parametrize("form", ["lines", "bars"])
def test_a_zero_on_a_logarithmic_axis_is_marked_at_its_edge_and_said(form: str, tmp_path: Path) -> None:
    found = run(tmp_path, [Flow(cca="reno", size="400kB")], buffer=["0.2bdp", "0.5bdp", "20bdp"], duration="3s")
    drops = {run.vary["path.buffer"]: run.summary.link.drops for run in found}
    assert drops["0.2bdp"] > 0 == drops["20bdp"]
    ax = plot.vary(found, metric="drops", form=form, log=True)
    [marks] = [line for line in ax.get_lines() if line.get_marker() == "v"]
    at = [2] if form == "bars" else [20]
    zeros = sum(value == 0 for value in drops.values())
    assert list(marks.get_xdata())[-1:] == at
    assert len(marks.get_xdata()) == zeros
    assert caption(ax).endswith("▼: 0, for which a logarithmic axis has no place")
    assert all(y > 0 or isnan(y) for line in ax.get_lines() if line is not marks for y in line.get_ydata())
    assert "▼" not in caption(plot.vary(found, metric="drops", form=form))
    with pytest.raises(ResultError, match="all values are 0, for which a logarithmic axis has no place: omit --log"):
        plot.vary(found, metric="marks", form=form, log=True)
