"""`dumbbell report`: every figure of the page's data held against `dumbbell show --json` or the raw tables; what is kept
of a series; size; names that are hostile; what is refused.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import dumbbell
from conftest import ROOT, SWEEP_PATH, Cli
from dumbbell.plan.make import runs
from dumbbell.plan.view import view
from dumbbell.plots import look, reading
from dumbbell.plots.states import colours_of
from dumbbell.report import html
from dumbbell.report.decimate import summed, thinned
from dumbbell.report.document import document
from dumbbell.report.gathered import gather
from dumbbell.report.looks import CONTRAST, DARK, on_dark
from dumbbell.report.overtime import bdps
from dumbbell.results.catalogue import FIGURES

SWEEP = SWEEP_PATH + 'flow = [{ cca = "cubic" }, { cca = "bbr", name = "mine" }]\n'
LINK = 'rate = "20Mbps"\nrtt = "20ms"\nbuffer = "1bdp"'
#: Student's t, two-sided 95 %, two degrees of freedom (tables).
T2 = 4.302652729911275
HOSTILE = "</script><img src=x onerror=alert(1)>"


def written(page: Path) -> dict[str, Any]:
    """The data that a page carries."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "sweep"
    dumbbell.run(dumbbell.from_text(SWEEP), out)
    return out


@pytest.fixture(scope="module")
def data(sweep: Path) -> dict[str, Any]:
    return document(gather([sweep], start_s=None, end_s=None, title=None), sweep.parent / "page.html")


def shown(cli: Cli, *arguments: object) -> list[dict[str, Any]]:
    """The lines of `dumbbell show --json`."""
    return [json.loads(line) for line in cli("show", *arguments, "--json").stdout.splitlines()]


def test_the_table_has_the_figures_of_show(sweep: Path, data: dict[str, Any], cli: Cli) -> None:
    names = [column["name"] for column in data["table"]["columns"]]
    fields = {"goodput": ("goodput_mbps", 2, 1), "share": ("share", 3, 1), "retrans_rate": ("retrans_rate", 2, 100)}
    lines = shown(cli, sweep)
    rows = iter(data["table"]["rows"])
    for line in lines:
        for flow in line["flows"]:
            row = next(rows)
            assert (row["flow"], row["vary"]) == (flow["name"], [line["vary"]["path.buffer"]])
            for name, (field, digits, scale) in fields.items():
                text, value = row["cells"][names.index(name)]
                half = flow["half_width"][field]
                assert text == f"{flow[field] * scale:.{digits}f} ± {half * scale:.{digits}f}"
                assert value == pytest.approx(flow[field], rel=1e-5)
            text, _ = row["cells"][names.index("utilization")]
            assert text == f"{line['link']['utilization']:.3f} ± {line['link']['half_width']['utilization']:.3f}"
    assert next(rows, None) is None


def test_the_verdict_says_who_got_what_as_show_has_it(tmp_path: Path, cli: Cli) -> None:
    dumbbell.run(
        dumbbell.from_text(SWEEP.replace('["1bdp", "3bdp"]', '"1bdp"').replace("= 3", "= 1")), tmp_path / "one"
    )
    (line,) = shown(cli, tmp_path / "one")
    (said,) = document(gather([tmp_path / "one"], start_s=None, end_s=None, title=None), tmp_path / "x.html")["verdict"]
    for flow in line["flows"]:
        assert f"got {flow['goodput_mbps']:.2f} Mbit/s ({flow['share'] * 100:.1f} %)" in said
    assert f"{line['link']['utilization'] * 100:.1f} % full" in said
    assert f"{line['link']['queue_mean_ms']:.1f} ms long on average" in said
    assert f"Jain's index is {line['jain']:.3f}" in said


def test_an_index_that_some_repetitions_lack_is_said_to_be_of_the_others(tmp_path: Path) -> None:
    path = dumbbell.Path(rate="10Mbps", rtt="20ms", buffer=["1bdp", "2bdp"])
    # The second flow is there from 60 to 140 ms on; the index counts no flow that begins after 100 ms.
    flows = [dumbbell.Flow(cca="cubic"), dumbbell.Flow(cca="reno", start="60ms")]
    host = dumbbell.Host(start_jitter="80ms")
    results = dumbbell.run(
        dumbbell.Scenario(duration="1s", path=path, flow=flows, repetitions=5, host=host, seed=1), tmp_path / "out"
    )
    have = [sum(run.summary.jain is not None for run in runs) for _, runs in results.groups()]
    assert 0 < min(have) < 5
    made = document(gather([tmp_path / "out"], start_s=None, end_s=None, title=None), tmp_path / "x.html")
    for said, n in zip(made["told"], have, strict=True):
        assert re.search(rf"Jain's index is \S+( ± \S+)? in {n} of 5 repetitions, the others have none\.", said)
    some = f"in {2 * sum(n < 5 for n in have)} of 4 rows some repetitions have none, and the mean is of the others."
    assert any(note.startswith("Jain") and note.endswith(some) for note in made["table"]["notes"])
    (legend,) = dumbbell.plot.vary(results, jain=True).get_figure().legends
    caption = " ".join(legend.get_title().get_text().split())
    assert f"; {10 - sum(have)} of 10 runs lack a value" in caption


def test_the_verdict_of_a_sweep_names_the_extremes(sweep: Path, cli: Cli, tmp_path: Path) -> None:
    wide = tmp_path / "wide"
    dumbbell.run(dumbbell.from_text(SWEEP.replace('"3bdp"', '"3bdp", "5bdp", "8bdp"').replace("= 3", "= 1")), wide)
    lines = shown(cli, wide)
    shares = {line["vary"]["path.buffer"].removesuffix("bdp"): line["flows"][0]["share"] for line in lines}
    low, high = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
    said = document(gather([wide], start_s=None, end_s=None, title=None), tmp_path / "x.html")["told"]
    assert said[1] == (
        f"CUBIC got {shares[low] * 100:.1f} % (buffer {low} BDP) to {shares[high] * 100:.1f} % (buffer {high} BDP) of the"
        " bytes."
    )


def test_series_are_the_samples(sweep: Path, data: dict[str, Any]) -> None:
    run = dumbbell.load(sweep)[0]
    charts = data["series"]["runs"][0]["charts"]
    mine = run.samples.filter(pc.equal(run.samples["flow"], 0))
    at = dict(zip(charts["cwnd"]["x"], charts["cwnd"]["y"][0]))
    for t, cwnd in zip(mine["t_us"].to_pylist(), mine["cwnd"].to_pylist()):
        assert at[round(t / 1e6, 4)] == cwnd
    queue = run.queue.filter(pc.equal(run.queue["link"], 0))
    assert sum(charts["queue"]["drops"]) == queue["dropped_packets"].to_pylist()[-1] == run.summary.link.drops
    assert max(charts["queue"]["y"][0]) == pytest.approx(pc.max(queue["sojourn_us"]).as_py() / 1000, rel=1e-4)
    goodput = charts["goodput"]
    got = sum(value * goodput["bin"] / 8 * 1e6 for value in goodput["y"][0] if value)
    assert got == pytest.approx(run.summary.flows[0].goodput_bytes, rel=0.03)  # its last part of a bin is not drawn
    assert set(goodput["rate"]) == {10}
    assert charts["inflight"]["bdp"] == [["BDP", round(10e6 * 0.02 / 8 / 1514, 1)]]


@pytest.mark.parametrize(
    ("flows", "packet"),
    [
        ([{"cca": "bbr", "transport": "quic"}], 1053),
        ([{"cca": "bbr", "transport": {"kind": "quic", "payload": "1400B"}}], 1453),
        ([{"cca": "bbr", "transport": {"kind": "quic", "payload": "1400B", "write": "3000B"}}], None),
        ([{"cca": "bbr", "transport": {"kind": "quic", "compact": True}}], None),
        ([{"cca": "bbr", "transport": {"kind": "quinn", "datagram": "1400B"}}], 1442),
        ([{"cca": "bbr"}, {"cca": "cubic"}], 1514),
        ([{"cca": "bbr"}, {"cca": "bbr", "transport": "quic"}], None),
    ],
)
def test_a_bdp_is_in_packets_of_the_flows_transport(flows: list[dict[str, Any]], packet: int | None) -> None:
    path = {"rate": "20Mbps", "rtt": "40ms", "buffer": "1bdp"}
    made = runs(dumbbell.from_dict({"duration": "1s", "path": path, "flow": flows}))[0].plan
    assert bdps(view(made)) == ([["BDP", round(100_000 / packet, 1)]] if packet else [])


def test_the_figures_of_the_sweep_are_means_over_repetitions(data: dict[str, Any], sweep: Path, cli: Cli) -> None:
    (figure,) = [one for one in data["sweeps"]["figures"] if one["metric"] == "goodput"]
    form = figure["forms"][0]
    assert form["form"] == "lines"
    assert form["x"]["ticks"] == ["1", "3"]
    for number, row in enumerate(form["panels"][0]["rows"]):
        for line, (_, mean, low, high, n, _) in zip(shown(cli, sweep), row["points"]):
            flow = line["flows"][number]
            half = flow["half_width"]["goodput_mbps"]
            assert (mean, n) == (pytest.approx(flow["goodput_mbps"], rel=1e-5), 3)
            assert (low, high) == (pytest.approx(max(mean - half, 0), rel=1e-4), pytest.approx(mean + half, rel=1e-4))


def test_distributions_and_repetitions_are_those_of_the_tables(data: dict[str, Any], sweep: Path) -> None:
    runs = [run for run in dumbbell.load(sweep) if run.vary == {"path.buffer": "1bdp"}]
    rtts = [
        rtt / 1000
        for run in runs
        for rtt in run.samples.filter(pc.equal(run.samples["flow"], 1))["rtt_us"].to_pylist()
        if rtt is not None
    ]
    line = next(one for one in data["cdfs"]["figures"] if one["kind"] == "rtt")["panels"][0]["lines"][1]
    assert line["count"] == len(rtts)
    assert line["at"][0] == pytest.approx(min(rtts), rel=1e-4)
    assert line["at"][100] == pytest.approx(max(rtts), rel=1e-4)
    assert line["at"][50] == pytest.approx(float(np.median(rtts)), rel=1e-4)
    share = next(one for one in data["repeated"] if one["metric"] == "share")["rows"][0]
    assert share["values"] == [float(f"{run.summary.flows[0].share:.6g}") for run in runs]
    half = T2 * float(np.std(share["values"], ddof=1)) / 3**0.5
    mean = float(np.mean(share["values"]))
    assert share["interval"] == pytest.approx([max(mean - half, 0), min(mean + half, 1)], rel=1e-4)


def test_an_interval_ends_at_what_is_possible() -> None:
    assert FIGURES["goodput"].possible(10.0, 20.0) == (0.0, 30.0)
    assert FIGURES["share"].possible(0.9, 0.2) == pytest.approx((0.7, 1.0), rel=1e-12)


def test_decimation_keeps_minima_and_maxima_and_counts() -> None:
    seed = 7
    values = np.random.default_rng(seed).normal(size=(3, 10_007))
    values[1, 400:900] = np.nan
    thin = thinned(np.arange(10_007.0), values, 500)
    assert thin.rows.shape[1] <= 502, seed
    assert np.array_equal(np.nanmin(thin.rows, axis=1), np.nanmin(values, axis=1))
    assert np.array_equal(np.nanmax(thin.rows, axis=1), np.nanmax(values, axis=1))
    for i in range(10_007 // thin.width):
        part, kept = values[0, i * thin.width : (i + 1) * thin.width], thin.rows[0, 2 * i : 2 * i + 2]
        assert sorted(kept) == [part.min(), part.max()]
    assert np.all(np.diff(thin.t) > 0)
    counts = np.random.default_rng(seed).poisson(0.2, 10_007)
    assert summed(counts, thin.width).sum() == counts.sum()
    assert summed(counts, thin.width).size == thin.t.size


def test_a_page_of_a_hundred_runs_is_smaller_than_2_mb_and_says_what_it_left_out(tmp_path: Path, cli: Cli) -> None:
    many = SWEEP.replace("= 3", "= 10").replace(
        '["1bdp", "3bdp"]', "[" + ",".join(f'"{i}bdp"' for i in range(1, 11)) + "]"
    )
    dumbbell.run(dumbbell.from_text(many.replace('"4s"', '"20s"').replace('"50ms"', '"10ms"')), tmp_path / "many")
    done = cli("report", tmp_path / "many", "-o", "many.html")
    assert done.returncode == 0, done.stderr
    page = tmp_path / "many.html"
    assert page.stat().st_size < 2_000_000
    series = written(page)["series"]["runs"]
    assert len(series) == 100
    assert all(run["charts"]["cwnd"]["width"] > 1 for run in series)


def test_two_folders_stand_on_one_axis_with_what_changed(sweep: Path, tmp_path: Path, cli: Cli) -> None:
    dumbbell.run(dumbbell.from_text(SWEEP.replace("20ms", "30ms")), tmp_path / "slow")
    found = document(gather([sweep, tmp_path / "slow"], start_s=None, end_s=None, title="both"), tmp_path / "x.html")
    assert found["table"]["keys"][0] == "folder"
    figure = next(one for one in found["sweeps"]["figures"] if one["metric"] == "share")["forms"][0]
    assert {row["label"] for panel in figure["panels"] for row in panel["rows"]} >= {"CUBIC, folder sweep"}
    changes = [*found["changes"]["rows"], *found["changes"]["still"]]
    shift = next(change for change in changes if change["figure"] == "goodput, Mbit/s")
    assert (found["kind"], found["verdict"]) == ("difference", [found["changes"]["text"]])
    lines = [json.loads(line) for line in cli("show", "--diff", "--json", sweep, tmp_path / "slow").stdout.splitlines()]
    assert lines
    mean = {
        name: next(row["flows"][0]["goodput_mbps"] for row in shown(cli, path))
        for name, path in (("b", sweep), ("a", tmp_path / "slow"))
    }
    assert (shift["before"], shift["after"]) == (f"{mean['b']:.2f}", f"{mean['a']:.2f}")


def test_a_window_is_that_of_every_figure_of_the_page(sweep: Path, cli: Cli) -> None:
    found = document(gather([sweep], start_s=0.5, end_s=None, title=None), sweep.parent / "page.html")
    (figure,) = [one for one in found["sweeps"]["figures"] if one["metric"] == "goodput"]
    lines = shown(cli, sweep, "--from", "0.5s")
    for number, row in enumerate(figure["forms"][0]["panels"][0]["rows"]):
        for line, (_, mean, *_) in zip(lines, row["points"], strict=True):
            assert mean == pytest.approx(line["flows"][number]["goodput_mbps"], rel=1e-4)
    assert "0.5 to" in figure["caption"]


def test_a_change_of_controllers_is_said(tmp_path: Path) -> None:
    for name, ccas in (("before", ("cubic", "bbr")), ("after", ("bbr", "reno"))):
        flows = "".join(f'[[flow]]\ncca = "{cca}"\n' for cca in ccas)
        dumbbell.run(dumbbell.from_text(f'duration = "1s"\n[path]\n{LINK}\n{flows}'), tmp_path / name)
    found = document(gather([tmp_path / "before", tmp_path / "after"], start_s=None, end_s=None, title=""), tmp_path)
    assert {row["flow"] for row in found["changes"]["rows"]} >= {"cubic -> bbr", "bbr -> reno"}
    figure = next(one for one in found["sweeps"]["figures"] if one["metric"] == "goodput")["forms"][0]
    (panel,) = figure["panels"]
    count = {row["label"]: len(row["points"]) for row in panel["rows"]}
    assert count == {"CUBIC": 1, "BBR": 2, "Reno": 1}, "the second table of one folder is the first of the other"


#: A table whose flows arrive by chance, before another.
BY_CHANCE = """
[[flow]]
name = "short"
cca = "reno"
arrivals = { rate = "0.7/s", sizes = "20kB" }
[[flow]]
name = "long"
cca = "cubic"
count = 2
"""


def test_the_verdict_of_a_sweep_finds_flows_by_their_table(tmp_path: Path) -> None:
    several = LINK.replace('"1bdp"', '["1bdp", "2bdp", "3bdp", "4bdp"]')
    text = f'duration = "2s"\nrepetitions = 4\nseed = 3\n[path]\n{several}\n{BY_CHANCE}'
    runs = dumbbell.run(dumbbell.from_text(text), tmp_path / "chance")
    having = [any(flow.name == "short" for flow in run.plan.flows) for run in runs if run.repetition == 0]
    assert not all(having), "a first repetition lacks a table"
    said = document(gather([tmp_path / "chance"], start_s=None, end_s=None, title=None), tmp_path / "x.html")["told"]
    assert said
    short, long = (next(line for line in said if line.startswith(f"{name} got")) for name in ("short", "long"))
    assert float(short.split()[2]) < 5
    assert float(long.split()[2]) > 90


def test_folders_need_not_vary_the_same_links(tmp_path: Path) -> None:
    path = {"rate": "8Mbps", "rtt": "20ms", "buffer": "1bdp"}
    plain = {"name": "plain", "duration": "1s", "path": {**path, "rtt": ["20ms", "30ms"]}, "flow": [{"cca": "reno"}]}
    link = {"name": "access", "rate": ["6Mbps", "9Mbps"], "buffer": "1bdp"}
    flow = {"cca": "reno", "via": ["bottleneck", "access"]}
    for scenario in (plain, {**plain, "name": "linked", "path": path, "link": [link], "flow": [flow]}):
        dumbbell.run(scenario, tmp_path / str(scenario["name"]))
    folders = [str(tmp_path / name) for name in ("plain", "linked")]
    said = " ".join(document(gather(folders, start_s=None, end_s=None, title=None), tmp_path / "page.html")["verdict"])
    assert "rate of link access 6 Mbit/s" in said


def test_repetitions_and_distributions_find_flows_by_their_table(tmp_path: Path) -> None:
    text = f'duration = "2s"\nrepetitions = 4\n[path]\n{LINK}\n{BY_CHANCE}'
    runs = dumbbell.run(dumbbell.from_text(text), tmp_path / "chance")
    numbers = [[i for i, flow in enumerate(run.plan.flows) if flow.name == "long"] for run in runs]
    assert len({tuple(own) for own in numbers}) > 2, "flows that arrive shift those of the next table"
    found = document(gather([tmp_path / "chance"], start_s=None, end_s=None, title=None), tmp_path / "page.html")
    figure = next(one for one in found["repeated"] if one["metric"] == "goodput")
    rows = [row["values"] for row in figure["rows"] if row["flow"].endswith("long")]
    assert rows == [
        [float(f"{run.summary.flows[own[nth]].goodput_mbps:.6g}") for run, own in zip(runs, numbers)] for nth in (0, 1)
    ]
    (panel,) = next(one for one in found["cdfs"]["figures"] if one["kind"] == "rtt")["panels"]
    lines = {line["label"]: line["count"] for line in panel["lines"]}
    wanted = [
        pc.sum(pc.is_valid(run.samples.filter(pc.is_in(run.samples["flow"], pa.array(own)))["rtt_us"])).as_py()
        for run, own in zip(runs, numbers)
    ]
    assert lines["long"] == sum(wanted)


def test_rtts_beside_those_of_a_kernel_are_smoothed_as_those_are() -> None:
    def run(rtt_us: list[int | None], srtt_us: list[int | None]) -> Any:
        columns = {"rtt_us": pa.array(rtt_us, pa.int64()), "srtt_us": pa.array(srtt_us, pa.int64())}
        return SimpleNamespace(samples=pa.table(columns))

    simulated, kernel = run([1, None], [1, 2]), run([None, None], [1, 2])
    silent, none = run([None], [None]), run([], [])
    assert reading.rtt_column(simulated, silent, none) == ("rtt_us", "RTT (ms)")
    assert reading.rtt_column(simulated, kernel) == ("srtt_us", reading.SMOOTHED)


def test_the_command_that_repeats_a_run_names_its_own_controllers(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "mine.py").write_text("class Mine:\n    def on_ack(self, sample):\n        return 10, None\n")
    text = SWEEP_PATH.replace('"sweep"', '"own"') + 'flow = [{ cca = "mine" }]\n'
    (tmp_path / "own.toml").write_text(text)
    given = ["--set", "repetitions=1", "--set", "duration=1s", "--cca", "mine.py"]
    assert cli("run", "own.toml", *given, "--out", "runs").returncode == 0
    [own] = document(gather([tmp_path / "runs"], start_s=None, end_s=None, title=None), tmp_path / "x.html")["origins"]
    assert own["command"].split() == ["dumbbell", "run", "own.toml", *given]
    wall = sum(run.manifest.wall_s for run in dumbbell.load(tmp_path / "runs"))
    assert ["Wall-clock time, added up over the runs", f"{wall:.2f} s"] in own["facts"]


def test_a_hostile_name_is_text(tmp_path: Path, cli: Cli) -> None:
    text = SWEEP.replace('"sweep"', '"small"').replace('"mine"', json.dumps(HOSTILE)).replace("= 3", "= 1")
    dumbbell.run(dumbbell.from_text(text), tmp_path / "runs")
    done = cli("report", tmp_path / "runs", "-o", "x.html", "--title", HOSTILE)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "x.html").read_text()
    assert "<img" not in page.partition("<script>")[0]
    assert page.count("</script>") == 2
    assert written(tmp_path / "x.html")["title"] == HOSTILE


def test_the_policy_allows_the_pages_own_program_and_nothing_else(tmp_path: Path) -> None:
    page = html.page({"title": "x", "verdict": []})
    program = re.search(r"<script>(.*)</script>\n</body>", page, re.DOTALL)
    assert program
    digest = base64.b64encode(hashlib.sha256(program[1].encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    assert f"script-src 'sha256-{digest}';" in policy[1]
    assert policy[1].startswith("default-src 'none';")


def test_states_queue_drops_and_marks_have_the_colours_of_the_pictures(data: dict[str, Any], sweep: Path) -> None:
    """On the light page; and the page's program, which draws what it is told, has no colours but those of its theme."""
    assert {name: data["looks"][name][0] for name in ("queue", "drops", "marks", "reference")} == {
        "queue": look.NEUTRAL, "drops": look.VERMILION, "marks": look.GREEN, "reference": look.QUIET,
    }  # fmt: skip
    told = {name: light for run in data["series"]["runs"] for name, light, _ in run["state_names"]}
    assert told == colours_of(list(told))
    assert len(told) > 3
    sources = [file for file in (ROOT / "web" / "src").rglob("*.ts") if file.name != "theme.ts"]
    assert [file.name for file in sources if re.search(r"#[0-9a-fA-F]{6}\b", file.read_text())] == []


def test_colours_on_a_dark_page_have_contrast() -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear))

    for colour in ("#000000", "#332288", "#0072B2", "#F0E442"):
        assert (luminance(on_dark(colour)) + 0.05) / (luminance(DARK) + 0.05) >= CONTRAST - 0.05


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nowhere", "-o", "x.html"], (1, "nowhere: no such folder")),
        (["SWEEP", "-o", "x.pdf"], (2, '--output: got "x.pdf", wanted a file whose name ends in .html')),
        (["SWEEP", "-o", "none/x.html"], (2, "there is no none")),
        (["SWEEP", "SWEEP", "-o", "x.html"], (1, "given twice")),
        (["SWEEP", "-o", "x.html", "--from", "7"], (2, "--from")),
        (["SWEEP", "-o", "x.html", "--from", "9s"], (1, "no part of its 4 s")),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line_and_nothing_is_written(
    arguments: list[str], expected: tuple[int, str], sweep: Path, cli: Cli, tmp_path: Path
) -> None:
    done = cli("report", *(str(sweep) if one == "SWEEP" else one for one in arguments))
    assert (done.returncode, done.stderr.count("\n")) == (expected[0], 1), done.stderr
    assert expected[1] in done.stderr
    assert not list(tmp_path.glob("*.html"))
    assert not list(tmp_path.glob(".report-*"))


def test_a_damaged_scoreboard_is_an_error_and_a_whole_one_a_section(tmp_path: Path, cli: Cli) -> None:
    claim = {"id": "c1", "text": "more", "verdict": "holds", "measured": 0.51, "expected": 0.5, "reason": ""}
    board = {
        "provisional": True,
        "scale": 0.1,
        "papers": [{"paper": "p", "claims": "1"}],
        "entries": [{"id": "p/f", "claims": [claim]}],
    }
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "scoreboard.json").write_text(json.dumps(board))
    assert cli("report", "papers", "-o", "x.html").returncode == 0
    (found,) = written(tmp_path / "x.html")["scoreboards"]
    assert found["entries"][0]["claims"][0]["measured"] == "0.51"
    assert found["scaled"] == "Made with --scale 0.1: what was measured is brought to the papers' scale."
    (tmp_path / "papers" / "scoreboard.json").write_text('{"papers": 1}')
    done = cli("report", "papers", "-o", "x.html")
    assert (done.returncode, "scoreboard.json: damaged" in done.stderr) == (1, True)
