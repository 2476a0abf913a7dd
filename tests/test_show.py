"""`dumbbell show`: each figure held against one computed from the raw tables with pyarrow alone, and what the command
prints at several widths.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
import math
import re
import shutil
import statistics
from argparse import Namespace
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import dumbbell
from conftest import SWEEP, SWEEP_PATH
from dumbbell import cli
from dumbbell.judge.grammar import bound
from dumbbell.report import words
from dumbbell.results import figures, metrics
from dumbbell.results.load import load

SHORT = """
name = "short"
duration = "10s"
path = { rate = "20Mbps", rtt = "20ms", buffer = "2bdp" }
flow = [{ cca = "cubic", count = 2 }, { cca = "reno", name = "web", arrivals = { rate = "5/s", sizes = "30kB" } }]
"""


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("show") / "short"
    dumbbell.run(dumbbell.from_text(SHORT), out)
    return out


def _flows(folder: Path) -> list[dict[str, Any]]:
    return pq.read_table(folder / "flows.parquet").to_pylist()


def test_a_line_of_json_has_the_figures_of_the_raw_tables(show: Any, sweep: Path) -> None:
    lines = [json.loads(line) for line in show(sweep, "--json", "--runs", "--columns", "rtt_p99,owd_p99").splitlines()]
    assert len(lines) == 6
    for line in lines:
        rows = _flows(Path(line["dir"]))
        total = sum(row["goodput_bytes"] for row in rows)
        samples = pq.read_table(Path(line["dir"]) / "samples.parquet")
        assert [flow["name"] for flow in line["flows"]] == ["cubic", "mine"]
        assert [flow["transport"] for flow in line["flows"]] == ["tcp", "quic"]
        assert [flow["table"] for flow in line["flows"]] == [0, 1]
        for i, (flow, row) in enumerate(zip(line["flows"], rows)):
            assert flow["goodput_mbps"] == pytest.approx(
                row["goodput_bytes"] * 8 / (row["stop_us"] - row["start_us"]), rel=1e-6
            )
            assert flow["share"] == pytest.approx(row["goodput_bytes"] / total)
            assert flow["retrans_rate"] == pytest.approx(row["retrans_segs"] / row["segs_sent"])
            rtts = [
                value / 1e3
                for value in samples.filter(pc.equal(samples["flow"], i))["rtt_us"].to_pylist()
                if value is not None
            ]
            assert flow["rtt_p99_ms"] == pytest.approx(statistics.quantiles(rtts, n=100, method="inclusive")[98])
            assert flow["owd_p99_ms"] == row["owd_p99_us"] / 1e3


def test_a_window_counts_what_came_inside_it(show: Any, sweep: Path) -> None:
    line = json.loads(show(sweep, "--json", "--runs", "--from", "1s", "--to", "3s").splitlines()[0])
    assert line["window_s"] == [1, 3]
    folder = Path(line["dir"])
    samples, queue = pq.read_table(folder / "samples.parquet"), pq.read_table(folder / "queue.parquet")
    got = []
    for i in range(2):
        of = {row["t_us"]: row["goodput_bytes"] for row in samples.filter(pc.equal(samples["flow"], i)).to_pylist()}
        got.append(of[3_000_000] - of[1_000_000])
    assert [flow["goodput_bytes"] for flow in line["flows"]] == got
    assert [flow["goodput_mbps"] for flow in line["flows"]] == pytest.approx([size * 8 / 2e6 for size in got])
    assert [flow["share"] for flow in line["flows"]] == pytest.approx([size / sum(got) for size in got])
    inside = [row for row in queue.to_pylist() if 1_000_000 <= row["t_us"] <= 3_000_000 and row["link"] == 0]
    waited = inside[-1]["sojourn_integral_us2"] - inside[0]["sojourn_integral_us2"]
    assert line["link"]["queue_mean_ms"] == pytest.approx(waited / 2e6 / 1e3)
    assert line["link"]["drops"] == inside[-1]["dropped_packets"] - inside[0]["dropped_packets"]
    wire = (inside[-1]["sent_bytes"] - inside[0]["sent_bytes"]) * 8
    held = 0 if inside[0]["backlog_bytes"] else 8 * 3028
    assert line["link"]["utilization"] == pytest.approx(min(1.0, wire / (10e6 * 2 + held)))
    assert line["jain"] == pytest.approx(sum(got) ** 2 / (2 * sum(size**2 for size in got)))
    assert line["flows"][0]["owd_mean_ms"] is None, "one-way delays count packets of the whole run"


def test_a_flow_that_was_not_there_in_the_window_has_no_goodput(show: Any, tmp_path: Path) -> None:
    path = dumbbell.Path(rate="10Mbps", rtt="20ms", buffer="1bdp")
    flows = [dumbbell.Flow(cca="cubic"), dumbbell.Flow(cca="reno", stop="1s")]
    dumbbell.run(dumbbell.Scenario(duration="2s", path=path, flow=flows, repetitions=2), tmp_path / "out")
    for each in ([], ["--runs"]):
        (line, *_) = show(tmp_path / "out", "--json", "--from", "1.5s", *each).splitlines()
        goodputs = [flow["goodput_mbps"] for flow in json.loads(line)["flows"]]
        assert goodputs[0] > 9
        assert goodputs[1] is None


def test_an_index_and_how_many_flows_it_counts_are_of_the_same_repetitions(show: Any, tmp_path: Path) -> None:
    path = dumbbell.Path(rate="10Mbps", rtt="20ms", buffer="1bdp")
    # The second flow is there from 60 to 140 ms on; those after 100 ms do not count.
    flows = [dumbbell.Flow(cca="cubic"), dumbbell.Flow(cca="reno", start="60ms")]
    host = dumbbell.Host(start_jitter="80ms")
    dumbbell.run(
        dumbbell.Scenario(duration="1s", path=path, flow=flows, repetitions=5, host=host, seed=1), tmp_path / "out"
    )
    runs = [json.loads(line) for line in show(tmp_path / "out", "--json", "--runs").splitlines()]
    assert {(run["jain_flows"], run["jain"] is None) for run in runs} == {(1, True), (2, False)}
    (line,) = map(json.loads, show(tmp_path / "out", "--json").splitlines())
    assert line["jain"] == pytest.approx(statistics.fmean(run["jain"] for run in runs if run["jain"] is not None))
    assert line["jain_flows"] == 2
    assert line["lacking"] == {"jain": sum(run["jain"] is None for run in runs)}


def test_repetitions_are_means_with_students_interval(show: Any, sweep: Path) -> None:
    line = json.loads(show(sweep, "--json").splitlines()[0])
    values = []
    for repetition in range(3):
        row = _flows(sweep / f"sweep_buffer=1bdp_r{repetition}")[1]
        values.append(row["goodput_bytes"] * 8 / (row["stop_us"] - row["start_us"]))
    half = 4.302653 * statistics.stdev(values) / 3**0.5  # t of 2 degrees of freedom at 97.5 %
    assert (line["n"], line["flows"][1]["name"]) == (3, "mine")
    assert line["flows"][1]["goodput_mbps"] == pytest.approx(statistics.fmean(values))
    assert line["flows"][1]["half_width"]["goodput_mbps"] == pytest.approx(half, rel=1e-5)
    table = show(sweep)
    assert "means of 3 repetitions ± 95 % interval" in table
    assert f"{statistics.fmean(values):.2f} ± {half:.2f}" in table


VARIED = """
name = "varied"
duration = "300ms"
path = { rate = "10Mbps", rtt = "20ms", buffer = "2bdp", policer = { rate = ["8Mbps", "9Mbps"], burst = "30kB" } }
link = [{ name = "access", rate = ["20Mbps", "30Mbps"], buffer = "1bdp" }]
flow = [{ cca = ["cubic", "bbr"], via = ["access", "bottleneck"] }]
host = { qdisc = ["pfifo", "fq"] }
"""


def test_a_varied_key_keeps_what_tells_it_from_one_of_the_path(show: Any, tmp_path: Path) -> None:
    dumbbell.run(dumbbell.from_text(VARIED), tmp_path / "varied")
    printed = show(tmp_path / "varied", "--wide", "--columns", "goodput")
    heads = next(line.split() for line in printed.splitlines() if "policer.rate" in line)
    assert heads[:5] == ["policer.rate", "access.rate", "flow[0].cca", "host.qdisc", "flow"]
    labels = printed.split("util.")[1]
    assert "varied (policer.rate = 8Mbps, access.rate = 20Mbps, flow[0].cca = cubic, host.qdisc = pfifo)" in labels
    first = show(tmp_path / "varied", "--csv", "--columns", "goodput", "--sort", "access.rate", "--reverse")
    assert next(csv.DictReader(io.StringIO(first)))["link[0].rate"] == "30Mbps"


def test_repetitions_with_different_numbers_of_flows_say_the_fewest_and_the_most(show: Any, tmp_path: Path) -> None:
    text = SHORT.replace('"10s"', '"3s"\nrepetitions = 3')
    runs = dumbbell.run(dumbbell.from_text(text), tmp_path / "out")
    sizes = [len(run.plan.groups["web"]) for run in runs]
    fewest, most = min(sizes), max(sizes)
    assert fewest < most
    assert f"{fewest} to {most} x web" in show(tmp_path / "out", "--by", "table")
    greedy, web = json.loads(show(tmp_path / "out", "--json", "--by", "table"))["flows"]
    assert (greedy["flows_min"], greedy["flows"], web["flows_min"], web["flows"]) == (2, 2, fewest, most)
    row = list(csv.DictReader(io.StringIO(show(tmp_path / "out", "--csv", "--by", "table"))))[1]
    assert (row["name"], row["flows_min"], row["flows"]) == ("web", str(fewest), str(most))


BOTH_WAYS = """
name = "both-ways"
duration = "2s"
path = { rate = "20Mbps", rtt = "20ms", buffer = "2bdp", up = { rate = "4Mbps", buffer = "2bdp" } }
flow = [{ cca = "cubic" }, { cca = "cubic", direction = "DIRECTION" }]
"""


@pytest.mark.parametrize("direction", ["up", "down"])
def test_jains_index_and_shares_of_flows_down_and_up_say_that_both_count(
    show: Any, tmp_path: Path, direction: str
) -> None:
    text = BOTH_WAYS.replace("DIRECTION", direction)
    (run,) = dumbbell.run(dumbbell.from_text(text), tmp_path / "out")
    note = "of the flows down and up together, which cross different links"
    assert (f"Jain's index and share: {note}\n" in show(tmp_path / "out", "--wide")) == (direction == "up")
    assert (f"\nshare: {note}\n" in show(tmp_path / "out", "--columns", "share")) == (direction == "up")
    assert note not in show(tmp_path / "out", "--columns", "goodput")
    assert (note in words.verdict([figures.measured(run)])[0]) == (direction == "up")
    four = text.replace('"4Mbps"', '["4Mbps", "5Mbps", "6Mbps", "7Mbps"]')
    sweep = dumbbell.run(dumbbell.from_text(four), tmp_path / "sweep")
    said = words.verdict([figures.measured(one) for one in sweep])
    assert (f"Parts of the bytes are {note}." in said) == (direction == "up")


def test_different_experiments_never_share_an_interval(sweep: Path) -> None:
    rows = [row for run in dumbbell.load(sweep) for row in figures.rows(figures.measured(run), ["goodput"])]
    together = figures.over_repetitions(rows)
    assert [(row.vary["path.buffer"], row.name, row.n) for row in together] == [
        (b, name, 3) for b in ("1bdp", "3bdp") for name in ("cubic", "mine")
    ]


@pytest.mark.parametrize("columns", [60, 80, 130])
def test_a_table_fits_its_terminal_and_says_what_it_left_out(show: Any, sweep: Path, short: Path, columns: int) -> None:
    for folder in (sweep, short):
        printed = show(folder, columns=columns)
        body = printed.split("\n\n")[1].splitlines()
        assert max(map(len, body)) <= columns
        assert all(line == line.rstrip() for line in body)
        assert ("left out to fit: " in printed) == (columns < 130 or folder == sweep)
        assert "left out" not in show(folder, "--wide", columns=columns)


def test_groups_say_how_many_flows_and_whether_they_are_summed(show: Any, short: Path) -> None:
    line = json.loads(show(short, "--json", "--by", "table", "--columns", "fct_p99,goodput_flow_min"))
    rows = _flows(next(path for path in (short, *short.iterdir()) if (path / "flows.parquet").exists()))
    web = [row for row in rows if row["name"] == "web"]
    greedy, of_web = line["flows"]
    assert (greedy["flows"], of_web["flows"], of_web["name"]) == (2, len(web), "web")
    total = sum(row["goodput_bytes"] for row in rows)
    assert greedy["share"] == pytest.approx(sum(row["goodput_bytes"] for row in rows[:2]) / total)
    assert greedy["goodput_flow_min_mbps"] == pytest.approx(
        min(row["goodput_bytes"] * 8 / (row["stop_us"] - row["start_us"]) for row in rows[:2])
    )
    times = sorted((row["completed_us"] - row["start_us"]) / 1e6 for row in web if row["completed_us"] is not None)
    missing = len(web) - len(times)
    assert missing == 1, "so that 99 % of so few is not reached"
    assert of_web["fct_p99_s"] is None
    (row,) = (row for row in figures.rows(figures.measured(dumbbell.load(short)[0]), ["fct_p50"], by="table")[1:])
    assert row.value("fct_p50") == pytest.approx(statistics.median([*times, math.inf]))
    span = (max(row["stop_us"] for row in web) - min(row["start_us"] for row in web)) / 1e6
    assert of_web["goodput_mbps"] == pytest.approx(sum(row["goodput_bytes"] for row in web) * 8e-6 / span)
    printed = show(short)
    assert f"{len(web)} x web" in printed
    assert "Mbit/s sum" in printed
    assert f"Jain's index is of 2 of {len(rows)} flows" in printed
    assert line["jain_flows"] == 2


def test_columns_are_chosen_sorted_and_exported(show: Any, sweep: Path) -> None:
    rows = list(
        csv.DictReader(
            io.StringIO(
                show(sweep, "--csv", "--runs", "--columns", "goodput,rtt_p99,drops", "--sort", "goodput", "--reverse")
            )
        )
    )
    assert list(rows[0])[-3:] == ["goodput_mbps", "rtt_p99_ms", "drops"]
    assert len(rows) == 12
    assert [float(row["goodput_mbps"]) for row in rows] == sorted(
        (float(row["goodput_mbps"]) for row in rows), reverse=True
    )
    assert {row["path.buffer"] for row in rows} == {"1bdp", "3bdp"}
    marked = show(sweep, "--markdown", "--columns", "goodput,share", "--flows", "mine").splitlines()
    assert marked[0] == "| buffer | flow | goodput Mbit/s | share |"
    assert len(marked) == 2 + 2
    assert all("mine (QUIC)" in line for line in marked[2:])


def test_a_wrong_column_key_or_window_is_status_2(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, said in (
        (["--columns", "goodputt"], '--columns: got "goodputt", wanted one of: goodput, '),
        (["--sort", "bufer"], '--sort: got "bufer", wanted one of: name, path.buffer, '),
        (["--from", "10"], '--from: got "10", wanted a time with its unit'),
        (["--diff"], "--diff: got 1 folders, wanted two: before and after"),
    ):
        assert cli.main(["show", str(sweep), *options]) == 2
        assert capsys.readouterr().err.startswith(f"dumbbell: {said}")
    assert cli.main(["show", str(sweep), "--from", "9s"]) == 1
    assert "no part of its 4 s is in the window from 9 s on" in capsys.readouterr().err


def test_where_keeps_the_rows_that_meet_all_conditions(
    show: Any, sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def goodputs(*arguments: str) -> list[float]:
        return [
            float(row["goodput_mbps"])
            for row in csv.DictReader(io.StringIO(show(sweep, "--csv", "--runs", "--columns", "goodput", *arguments)))
        ]

    every = goodputs()
    middle = sorted(every)[len(every) // 2]
    assert goodputs("--where", f"goodput >= {middle}") == [value for value in every if value >= middle]
    assert goodputs("--where", f"goodput<{middle}", "--where", "share > 1%") == [
        value for value in every if value < middle
    ]
    assert show(sweep, "--csv", "--where", "utilization >= 101%").count("\n") == 1
    for given, said in (
        ("utilised > 1", "wanted one of: goodput, "),
        ("goodput = 3", 'got "goodput = 3", wanted COLUMN OP NUMBER'),
        ("srtt > 5%", "wanted a number in ms: srtt is no fraction"),
        ("drops <= 2%", "wanted a number: drops is no fraction"),
        ("utilisation >= 95", 'got "utilisation >= 95", wanted "0.95" or "95%": utilization is at most 1'),
        ("share < 1.5", 'wanted "0.015" or "1.5%": share is at most 1'),
        ("jain > 2", 'wanted "0.02" or "2%": jain is at most 1'),
        (
            "drop_rate<0.02",
            'got "drop_rate<0.02", wanted "0.02%" or "2%": drop_rate is percent in tables, a fraction in JSON',
        ),
    ):
        capsys.readouterr()
        assert cli.main(["show", str(sweep), "--where", given]) == 2
        assert said in capsys.readouterr().err


def test_a_number_in_a_condition_is_in_the_unit_that_tables_print() -> None:
    assert bound("retrans_rate <= 2") == bound("retrans_rate <= 2%") == ("retrans_rate", "<=", 0.02)
    assert bound("drop_rate == 0") == ("drop_rate", "==", 0.0)
    assert bound("drop_rate < 0.5%") == ("drop_rate", "<", 0.005)
    assert bound("utilization >= 0.95") == bound("utilization >= 95%") == ("utilization", ">=", 0.95)


def test_columns_that_are_blank_for_want_of_samples_say_so(show: Any, tmp_path: Path) -> None:
    text = SHORT.replace('"10s"', '"1s"') + "record = { samples = false }\n"
    dumbbell.run(dumbbell.from_text(text), tmp_path / "out")
    shown = show(tmp_path / "out", "--columns", "goodput,rtt,cov")
    assert "\nblank: rtt, cov, because record.samples is off\n" in shown
    assert "blank:" not in show(tmp_path / "out", "--columns", "goodput")


@pytest.mark.parametrize(("start", "is_said"), [("0s", False), ("5s", True)])
def test_a_share_of_bytes_is_told_where_the_rates_divide_otherwise(
    show: Any, tmp_path: Path, *, start: str, is_said: bool
) -> None:
    text = SHORT[: SHORT.index("flow =")] + f'flow = [{{ cca = "cubic" }}, {{ cca = "bbr", start = "{start}" }}]'
    out = tmp_path / "out"
    dumbbell.run(dumbbell.from_text(text), out)
    said = "\nshare: of all bytes; goodput: over the time that each flow ran\n"
    assert (said in show(out)) == is_said
    assert said not in show(out, "--columns", "share,jain")
    [told] = words.verdict([figures.measured(one) for one in load(out)])
    assert ("% of the bytes)" in told) == is_said


def test_an_interrupted_sweep_says_how_many_runs_are_there(
    sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(sweep, tmp_path / "part")
    shutil.rmtree(tmp_path / "part" / "sweep_buffer=3bdp_r2")
    assert cli.main(["show", str(tmp_path / "part")]) == 0
    said = f"{tmp_path / 'part'}: 5 of 6 runs are there; the command that made it runs the rest with"
    assert f"{said} --out {tmp_path / 'part'} --resume\n" in capsys.readouterr().err
    assert cli.main(["show", str(sweep)]) == 0
    assert capsys.readouterr().err == ""


def test_a_measured_part_is_what_run_and_show_tell(
    show: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SHORT.replace('duration = "10s"', 'duration = "10s"\nmeasure = { from = "2s", to = "8s" }')
    (tmp_path / "m.toml").write_text(text)
    assert cli.main(["run", str(tmp_path / "m.toml"), "--json", "--out", str(tmp_path / "out")]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["window_s"] == [2, 8]
    assert json.loads(show(tmp_path / "out", "--json")) == shown
    (run,) = dumbbell.load(tmp_path / "out")
    assert shown["flows"][0]["goodput_mbps"] == pytest.approx(metrics.goodput_bps(run, 0, (2, 8)) / 1e6)
    assert shown["flows"][0]["goodput_mbps"] != pytest.approx(run.summary.flows[0].goodput_mbps, rel=1e-6)


def test_the_links_have_a_table_and_requests_their_latency(show: Any, tmp_path: Path) -> None:
    text = """
    duration = "4s"
    path = { rate = "10Mbps", rtt = "20ms", buffer = "1bdp" }
    link = [{ name = "narrow", rate = "4Mbps", buffer = "2bdp" }]
    flow = [{ cca = "cubic", via = ["bottleneck", "narrow"], workload = { kind = "request_response", response = "50kB" } }]
    """
    dumbbell.run(dumbbell.from_text(text), tmp_path / "out")
    folder = next(
        path for path in (tmp_path / "out", *(tmp_path / "out").iterdir()) if (path / "messages.parquet").exists()
    )
    messages = pq.read_table(folder / "messages.parquet").to_pylist()
    times = [(row["completed_us"] - row["asked_us"]) / 1e3 for row in messages if row["completed_us"] is not None]
    line = json.loads(show(tmp_path / "out", "--json", "--columns", "latency,latency_p95"))
    assert line["flows"][0]["latency_mean_ms"] == pytest.approx(statistics.fmean(times))
    place = 0.95 * (len(messages) - 1)  # of all that were asked for; the last had not arrived at the end
    low, high = (sorted([*times, math.inf])[at(place)] for at in (math.floor, math.ceil))
    assert line["flows"][0]["latency_p95_ms"] == pytest.approx(low + (place % 1) * (high - low))
    printed = show(tmp_path / "out")
    assert "latency" in printed
    assert re.search(rf"narrow +{dumbbell.load(tmp_path / 'out')[0].summary.links[0].utilization:.3f}", printed)


def test_table_json_and_picture_agree_on_requests_that_starve(show: Any, tmp_path: Path) -> None:
    text = """
    duration = "10s"
    path = { rate = "10Mbps", rtt = "40ms", buffer = ["1bdp", "4bdp"] }
    flow = [
        { cca = "cubic", count = 4 },
        { cca = "cubic", start = "2s", name = "asks", workload = { kind = "request_response", response = "100kB", think = "100ms" } },
    ]
    """
    dumbbell.run(dumbbell.from_text(text), tmp_path / "out")
    figures = ("--flows", "asks", "--columns", "latency_p50,latency_p99,unfinished")
    printed = show(tmp_path / "out", *figures)
    axes = dumbbell.plot.latency(dumbbell.load(tmp_path / "out"))
    legend = [entry.get_text() for entry in axes.figure.legends[0].get_texts()] if axes.figure.legends else []
    lines = [json.loads(line)["flows"][0] for line in show(tmp_path / "out", *figures, "--json").splitlines()]
    assert [line["unfinished"] for line in lines] == [1, 0]
    assert lines[0]["latency_p99_ms"] is None, "one of some 13 did not end"
    for line, label in zip(lines, legend, strict=True):
        of_all, p50, p99 = re.search(r"\((.+)\): ● p50 (.+), ◆ p99 (.+)$", label.replace("\n", " ")).groups()  # type: ignore[union-attr]
        assert ("complete" in of_all) == bool(line["unfinished"])
        for drawn, told in ((p50, line["latency_p50_ms"]), (p99, line["latency_p99_ms"])):
            assert drawn == ("not reached" if told is None else f"{told:.3g} ms")
    table = [row.split()[-4:] for row in printed.splitlines() if " asks " in row]
    assert table[0] == [f"{lines[0]['latency_p50_ms']:.1f}", "not", "reached", "1"]
    assert table[1][1:] == [f"{lines[1]['latency_p50_ms']:.1f}", f"{lines[1]['latency_p99_ms']:.1f}", "0"]
    assert "percentiles count unfinished ones as longer" in show(tmp_path / "out", "--wide")


PROBED = """\
name = "probed"
duration = "2s"
path = { rate = "10Mbps", rtt = "20ms", buffer = "1bdp" }
link = [{ name = "narrow", rate = "4Mbps", buffer = "2bdp" }]
flow = [
    { cca = "cubic", via = ["bottleneck", "narrow"] },
    { name = "ping", workload = { probe = "100ms" } },
]
"""


def test_each_folder_has_its_own_figures_of_run_link_and_probes(show: Any, tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder, rate in zip(folders, ("10Mbps", "5Mbps")):
        dumbbell.run(dumbbell.from_text(PROBED.replace('rate = "10Mbps"', f'rate = "{rate}"')), folder)
    lines = show(*folders, "--columns", "utilization").splitlines()
    for run in (dumbbell.load(folder)[0] for folder in folders):
        mine = [line.split() for line in lines if line.startswith(f"{run.folder.parent} ")]
        assert len(mine) == 4, "the flow, two links, the probes"
        flow, bottleneck, narrow, ping = mine
        assert flow[-1] == bottleneck[3] == f"{run.summary.link.utilization:.3f}"
        assert narrow[3] == f"{run.summary.links[0].utilization:.3f}"
        assert ping[3] == str(run.probes.num_rows)


def test_what_is_off_is_part_of_a_name(show: Any, tmp_path: Path) -> None:
    text = SHORT.replace('buffer = "2bdp" }', 'qdisc = ["fq_codel", { kind = "fq_codel", ecn = false }] }')
    dumbbell.run(dumbbell.from_text(text), tmp_path)
    rows = list(csv.DictReader(io.StringIO(show(tmp_path, "--csv", "--by", "run"))))
    assert [row["path.qdisc"] for row in rows] == ["fq_codel", "fq_codel ecn=false"]


def test_a_folder_above_those_of_several_experiments_is_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        dumbbell.run(dumbbell.from_text(SHORT), tmp_path / name)
        shutil.copytree(tmp_path / name / "short", tmp_path / "single" / name)
        dumbbell.run(dumbbell.from_text(SHORT + "\nrepetitions = 2"), tmp_path / "repeated" / name)
    with pytest.raises(dumbbell.ResultError, match="single: a and b are runs of different experiments called"):
        dumbbell.load(tmp_path / "single")
    with pytest.raises(dumbbell.ResultError, match="repeated: holds folders of results, wanted one of them: a, b"):
        dumbbell.load(tmp_path / "repeated")


def test_damaged_folders_never_give_a_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent.parent / "fuzz")
    fuzz = importlib.import_module("results")
    dumbbell.run(dumbbell.from_text(fuzz.SCENARIO), tmp_path / "whole")
    assert fuzz.throw(tmp_path / "whole", tmp_path, Namespace(seconds=6, seed=11, only=None)) == 0


def test_run_takes_the_rows_and_columns_of_its_table(
    show: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sweep.toml").write_text(SWEEP.replace('"4s"', '"1s"'))
    wanted = ("--by", "table", "--columns", "share,rtt_p99", "--where", "utilization >= 1%")
    assert cli.main(["run", "sweep.toml", "--out", "out", *wanted]) == 0
    table = capsys.readouterr().out
    assert table == show("out", *wanted)
    assert table.splitlines()[2].split() == ["rtt"]
    assert cli.main(["run", "sweep.toml", "--out", "none", "--where", "utilization >= 101%"]) == 0
    assert capsys.readouterr().out == "none: no row has utilization >= 101%\n"


def test_a_mean_of_fewer_repetitions_than_its_row_is_said(show: Any, tmp_path: Path) -> None:
    text = SWEEP_PATH.replace('"4s"', '"1s"').replace('["1bdp", "3bdp"]', '"1bdp", loss = "5%"')
    text += 'flow = [{ cca = "reno", size = "350kB" }, { cca = "cubic", size = "10kB" }]\n'
    runs = dumbbell.run(dumbbell.from_text(text), tmp_path / "some")
    whole = [sum(run.summary.flows[flow].fct_s is not None for run in runs) for flow in (0, 1)]
    assert 0 < whole[0] < whole[1] == 3
    said = "fct: in 1 of 2 rows some repetitions have none, and the mean is of the others"
    assert said in show(tmp_path / "some")
    assert said not in show(tmp_path / "some", "--columns", "goodput")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--columns", "goodputs"], '--columns: got "goodputs", wanted one of: goodput, '),
        (["--where", "utilization"], '--where: got "utilization", wanted COLUMN OP NUMBER'),
        (["--wide", "--quiet"], "--wide: is of the table, which --quiet leaves out"),
        (["--by", "run", "--json"], "--by: is of the table, which --json leaves out"),
    ],
)
def test_a_table_that_cannot_be_is_refused_before_anything_runs(
    options: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sweep.toml").write_text(SWEEP)
    assert cli.main(["run", "sweep.toml", "--out", "out", *options]) == 2
    assert said in capsys.readouterr().err
    assert not Path("out").exists()


def test_a_queueing_delay_that_is_an_estimate_is_said_to_be_one(show: Any, short: Path, tmp_path: Path) -> None:
    said = "queue: the backlog over the rate, because tc tells no waiting times (netem, ssh, uml)\n"
    for backend in ("sim", "netem", "ssh://a,b", "uml-ours"):
        run = tmp_path / backend.partition(":")[0]
        shutil.copytree(short, run)
        for path in run.rglob("manifest.json"):
            path.write_text(json.dumps({**json.loads(path.read_text()), "backend": backend}))
        assert (said in show(run, "--columns", "goodput,queue")) == (backend != "sim")
        assert said not in show(run, "--columns", "goodput")
