"""Sweeps from the command line and from Python: axes, samples, repetitions until intervals are small, searches."""

from __future__ import annotations

import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from conftest import Cli
from dumbbell import ScenarioError, plan
from dumbbell.judge.grammar import precision
from dumbbell.results.figures import Row
from dumbbell.results.statistic import Interval, Sample, mean_interval
from dumbbell.runs import vary as varying
from dumbbell.runs.search import Bisection
from dumbbell.runs.store import Store
from dumbbell.runs.study import Choice, missed, prepared, wanted_repetitions

#: Two short flows over a link with loss: each repetition is another.
TEXT = """\
name = "study"
duration = "2s"

[path]
rate = "10Mbps"
rtt = "20ms"
buffer = "1bdp"
loss = "0.1%"

[[flow]]
cca = "cubic"

[[flow]]
cca = "cubic"
start = "100ms"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(TEXT)
    return path


def varies(file: Path, *texts: str, **more: Any) -> list[dict[str, Any]]:
    choice = Choice(vary=[varying.wanted(text) for text in texts], **more)
    return [job.planned.vary for job in prepared(file, choice).jobs]


def test_any_key_is_an_axis_as_a_list_or_a_range(file: Path) -> None:
    found = varies(file, "path.rate=1Mbps..100Mbps/3/log", "path.qdisc=fifo,codel", "flow[1].params.beta=[600, 717]")
    assert len(found) == 12
    assert found[0] == {"path.rate": "1Mbps", "path.qdisc": "fifo", "flow[1].params.beta": 600}
    assert list(dict.fromkeys(one["path.rate"] for one in found)) == ["1Mbps", "10Mbps", "100Mbps"]
    assert varies(file, 'path.rtt={ from = "10ms", to = "30ms", step = "10ms" }') == [
        {"path.rtt": rtt} for rtt in ("10ms", "20ms", "30ms")
    ]


def test_a_key_of_flows_without_a_number_is_that_of_all(file: Path) -> None:
    assert varies(file, "flow.cca=bbr,reno") == [{"flow.cca": "bbr"}, {"flow.cca": "reno"}]
    choice = Choice(vary=[varying.wanted("flow.cca=bbr,reno")])
    assert [[flow["cca"] for flow in job.planned.plan["flows"]] for job in prepared(file, choice).jobs] == [
        ["bbr"] * 2,
        ["reno"] * 2,
    ]


def test_keys_go_together_from_the_command_line(file: Path) -> None:
    found = varies(file, "path.rate=10Mbps,20Mbps", "path.rtt=10ms,30ms", together=[["path.rate", "path.rtt"]])
    assert [tuple(one.values()) for one in found] == [("10Mbps", "10ms"), ("20Mbps", "30ms")]


def test_a_random_sample_depends_on_its_seed_and_each_key_has_a_stream_of_its_own(file: Path) -> None:
    wanted = ("path.rate=1Mbps..100Mbps/log", "path.rtt=10ms..20ms", "flow.cca=bbr,cubic,reno")
    first, again, other = (varies(file, *wanted, sample=20, seed=seed) for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) == len({json.dumps(one) for one in first}) == 20
    rates = [float(one["path.rate"].removesuffix("Mbps")) for one in first]
    assert all(1 <= rate <= 100 for rate in rates)
    assert 4 <= sum(rate < 10 for rate in rates) <= 16  # half of them, uniform in the logarithm
    assert all(10 <= float(one["path.rtt"].removesuffix("ms")) <= 20 for one in first)
    assert {one["flow.cca"] for one in first} == {"bbr", "cubic", "reno"}
    more = varies(file, *wanted, "path.loss=0,1%", sample=20, seed=1)
    assert [one["path.rate"] for one in more] == [one["path.rate"] for one in first]


@pytest.mark.parametrize(
    "axis",
    [
        "path.loss=0.001%..1%/log",
        "path.loss=0.000001..0.00001/log",
        "path.rate=9kbps..11kbps",
        "path.rtt=1us..20us",
        "path.rtt=0.0001min..0.001min/log",
        "path.buffer=4KiB..9KiB",
        "path.buffer=1MiB..2MiB",
        "path.buffer=0.5GiB..2GiB/log",
        "path.buffer=3kB..9kB",
        "path.buffer=1bdp..2bdp",
    ],
)
def test_a_value_of_a_sample_or_a_range_is_no_finer_than_its_key_takes(file: Path, axis: str) -> None:
    file.write_text(TEXT.replace('"1bdp"', '"100pkt"'))
    axes = (axis, "path.rate=1Mbps..1Gbps/log") if "rate" not in axis else (axis,)
    key = axis.partition("=")[0]
    found = varies(file, *axes, sample=30)
    assert len({str(one[key]) for one in found}) > 20
    head, log, _ = axis.partition("/log")
    assert len(varies(file, f"{head}/7{log}")) == 7


def test_a_sample_of_lists_is_of_their_grid_without_repeats(file: Path) -> None:
    grid = varies(file, "path.rate=10Mbps,20Mbps,30Mbps", "path.rtt=10ms,20ms,30ms")
    found = varies(file, "path.rate=10Mbps,20Mbps,30Mbps", "path.rtt=10ms,20ms,30ms", sample=9)
    assert sorted(map(json.dumps, found)) == sorted(map(json.dumps, grid))
    with pytest.raises(ScenarioError, match="got 10, wanted at most 9"):
        varies(file, "path.rate=10Mbps,20Mbps,30Mbps", "path.rtt=10ms,20ms,30ms", sample=10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--vary", "path.rate"], '--vary: got "path.rate", wanted KEY=VALUES'),
        (["--vary", "path.rate=1Mbps..2Mbps"], "path.rate: 1Mbps..2Mbps has no steps"),
        (["--vary", "path.rate=2Mbps..1Mbps", "--sample", "3"], "an upper end above the lower"),
        (["--vary", "link.rate=1Mbps,2Mbps"], "link.rate: there is no [[link]] table"),
        (["--vary", "path.bufer=1bdp,2bdp"], 'did you mean "buffer"?'),
        (["--until", "goodput < 2%"], '--until: got "goodput < 2%", wanted FIGURE ci WIDTH'),
        (["--until", "godput ci 2%"], 'did you mean "goodput"?'),
        (
            ["--until", "utilization ci 2"],
            'got "utilization ci 2", wanted "0.02", or "2%" of the mean: utilization is at',
        ),
        (["--until", "goodput ci 2%", "--repetitions", "3"], "--repetitions: --until says how many"),
        (["--max", "9"], "--max: is of --until"),
        (["--find", "min", "path.buffer"], "--find: wanted --find min|max KEY and --where CONDITION together"),
        (["--find", "most", "path.buffer", "--where", "share > 0"], '--find: got "most"'),
        (["--find", "min", "path.buffer", "--where", "share > 0"], '--find: got "path.buffer", wanted a varied key'),
        (["--find", "min", "flow.cca", "--where", "share > 0", "--vary", "flow.cca=bbr,reno"], 'flow.cca: got "bbr"'),
        (["--find", "min", "path.buffer", "--where", "share > 0", "--vary", "path.buffer=1bdp,5pkt"], "in one measure"),
    ],
)
def test_what_makes_no_sense_is_one_clear_error(file: Path, cli: Cli, arguments: list[str], message: str) -> None:
    done = cli("sweep", file, *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert message in done.stderr
    assert not (file.parent / "results").exists()


def row(values: Sequence[float | None], name: str = "goodput") -> Row:
    """A flow with a figure in so many repetitions."""
    seeds = tuple(range(len(values)))
    return Row(
        scenario="s", vary={}, run="r", repetition=None, flow=0, flows=1, name="f", transport="tcp", table=0,
        cca="cubic", samples={name: Sample(tuple(values), seeds)}, flows_min=1, seeds=seeds,
    )  # fmt: skip


def needed(text: str, one: Row) -> int:
    """How many repetitions a precision needs of a row."""
    goal = precision(text)
    return goal.wanted(one.sample(goal.name))


def test_repetitions_end_where_the_interval_is_small_and_grow_as_its_width_says() -> None:
    assert precision("goodput ci 10%") == ("goodput", 0.1, True)
    assert needed("goodput ci 10%", row([10.0, 10.1, 9.9])) == 3  # 4.97 times 0.1 over the root of 3: 0.25, of 1
    wide = [8.0, 12.0, 10.0, 9.0, 11.0, 10.5]
    half = mean_interval(wide).half_width
    assert half > 1
    assert needed("goodput ci 10%", row(wide)) == min(12, math.ceil(6 * half**2))
    assert needed("goodput ci 5", row(wide)) == 6
    assert needed("goodput ci 10%", row([5.0])) == 2
    goals = [precision("goodput ci 10%"), precision("goodput ci 0.01")]
    assert wanted_repetitions(goals, [row([10.0, 10.1, 9.9]), row(wide)]) == 12
    assert precision("retrans_rate ci 0.5") == ("retrans_rate", 0.005, False)  # percentage points, as tables print it
    assert precision("retrans_rate ci 2%") == ("retrans_rate", 0.02, True)
    assert needed("share ci 1%", row(wide)) == 6  # a figure that the row does not have decides nothing


def test_a_figure_that_no_row_has_is_never_known_well_enough() -> None:
    jain = precision("jain ci 0.05")
    assert wanted_repetitions([jain], [row([1.0, 2.0, 3.0])]) == 6
    assert missed([jain], [row([1.0, 2.0, 3.0])]) == ["jain: none of 3 repetitions has it"]
    some = row([0.9, 0.9] + [None] * 10, "jain")
    assert wanted_repetitions([jain], [some]) == 13
    assert missed([jain], [some]) == ["jain: 2 of 12 repetitions have it"]
    # Only the transfer counts, because a bulk flow never completes.
    transfer = row([2.0, 2.0, 2.0], "fct")
    assert missed([precision("fct ci 5%")], [row([1.0] * 3), transfer]) == []


def test_until_an_interval_is_small_or_there_are_enough(file: Path, tmp_path: Path, cli: Cli) -> None:
    args = (
        "--vary",
        "path.rate=5Mbps,20Mbps",
        "--until",
        "utilization ci 2%",
        "--max",
        "12",
        "--store",
        tmp_path / "store",
    )
    done = cli("sweep", file, *args, "--out", "out", "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    found: dict[str, list[float]] = {}
    for line in lines:
        found.setdefault(line["vary"]["path.rate"], []).append(line["link"]["utilization"])
    for values in found.values():
        mean, half, count = mean_interval(values)
        assert 3 <= count <= 12
        assert half <= 0.02 * mean or count == 12
    assert min(map(len, found.values())) < 12
    said = cli(
        "sweep", file, *args[:2], "--until", "utilization ci 0.001%", "--max", "4", "--store", tmp_path / "store"
    )
    both = "in 2 of 2 combinations (path.rate = 5Mbps; path.rate = 20Mbps)"
    assert f"utilization: wider than wanted after 4 repetitions, {both}" in said.stderr
    results = dumbbell.sweep(
        file, {"path.rate": ["5Mbps", "20Mbps"]}, until="utilization ci 2%", most=12, store=tmp_path / "store"
    )
    assert [run.summary.link.utilization for run in results] == [
        line["link"]["utilization"]
        for line in sorted(lines, key=lambda one: (one["vary"]["path.rate"] == "20Mbps", one["repetition"]))
    ]


def searched(truth: list[bool]) -> tuple[int | None, Bisection]:
    one = Bisection(len(truth))
    while (i := one.next()) is not None:
        assert i not in one.told
        one.told[i] = (truth[i],)
    return one.first, one


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 64, 1000])
def test_bisection_finds_every_change_with_few_looks_and_checks_its_neighbours(count: int) -> None:
    for change in range(count + 1) if count <= 64 else random.Random(1).sample(range(count + 1), 40):
        first, one = searched([i >= change for i in range(count)])
        assert first == (change if change < count else None)
        assert one.is_monotone
        assert len(one.told) <= math.log2(count) + 5
        if first is not None:
            assert {i for i in (first - 2, first - 1, first, first + 1) if 0 <= i < count} <= one.told.keys()


def test_a_neighbour_that_does_not_agree_is_told() -> None:
    truth = [i >= 10 for i in range(20)]
    truth[11] = False
    first, one = searched(truth)
    assert first == 10
    assert not one.is_monotone
    truth = [i >= 10 for i in range(20)]
    truth[8] = True
    first, one = searched(truth)
    assert first == 8
    assert not one.is_monotone


@pytest.mark.parametrize("count", [2, 3, 64])
def test_a_condition_that_holds_at_the_near_end_only_has_that_end_as_its_answer(count: int) -> None:
    for change in {1, count // 2, count - 1} - {0}:
        first, one = searched([i < change for i in range(count)])
        assert (first, one.is_end, one.is_reversed, one.is_monotone) == (0, True, True, True)
    first, one = searched([True] * count)
    assert (first, one.is_end, one.is_reversed) == (0, True, False)


@pytest.mark.parametrize("count", [3, 20, 64])
def test_conditions_that_change_in_opposite_ways_are_searched_where_they_meet(count: int) -> None:
    """A full link wants a large buffer, a short queue a small one: neither end of the axis has both."""
    for begin in range(1, count):
        for end in range(count - 1):
            one = Bisection(count)
            while (i := one.next()) is not None:
                one.told[i] = (i >= begin, i <= end)
            assert one.first == (begin if begin <= end else None)
            assert one.is_monotone
            assert not one.is_end
            assert len(one.told) <= math.log2(count) + 5


def test_a_condition_that_holds_at_neither_end_ends_the_search() -> None:
    one = Bisection(50)
    while (i := one.next()) is not None:
        one.told[i] = (i >= 7, False)
    assert (one.first, sorted(one.told)) == (None, [0, 49])


def test_two_conditions_have_the_answer_of_the_whole_grid_or_a_reason_why_not(
    file: Path, tmp_path: Path, cli: Cli
) -> None:
    axis, store = "0.1bdp..4bdp/9/log", tmp_path / "s"
    links = [run.summary.link for run in dumbbell.sweep(file, {"path.buffer": axis}, store=store)]
    delays = [link.queue_mean_ms or 0.0 for link in links]
    full, late = links[4].utilization, delays[6]
    wanted = [f"utilization >= {full:.6f}", f"queue <= {late:.6f}"]
    holds = [link.utilization >= full - 1e-6 and delay <= late for link, delay in zip(links, delays)]
    (found,) = dumbbell.find(file, "path.buffer", wanted, {"path.buffer": axis}, store=store)
    values = [one["path.buffer"] for one in varies(file, f"path.buffer={axis}")]
    assert found.value == values[holds.index(True)]
    assert holds.index(True) not in (0, 8)

    def ask(*where: str) -> str:
        texts = [word for text in where for word in ("--where", text)]
        find = ("--find", "min", "path.buffer", "--vary", f"path.buffer={axis}", "--store", store)
        return cli("sweep", file, *find, *texts).stdout

    assert f"  {found.value}\n" in ask(*wanted)
    apart = ask(f"utilization >= {links[7].utilization}", f"queue <= {delays[1]}")
    assert "none: they nowhere hold together: queue <=" in apart
    assert "at the lower end of the axis, utilization >=" in apart
    assert "none: goodput >= 90: at neither end of the axis" in ask("goodput >= 90", "queue <= 1000")


def test_the_largest_value_at_which_more_is_better_is_the_end_of_the_axis(file: Path, tmp_path: Path, cli: Cli) -> None:
    ask = ("--vary", "path.buffer=0.1bdp..4bdp/9/log", "--store", tmp_path / "s", "--where", "utilization >= 90%")
    largest = cli("sweep", file, *ask, "--find", "max", "path.buffer")
    assert largest.returncode == 0, largest.stderr
    assert "  4bdp (the end of the axis: it does not hold at the other end; --find min finds where" in largest.stdout
    (line,) = map(json.loads, cli("sweep", file, *ask, "--find", "max", "path.buffer", "--json").stdout.splitlines())
    assert (line["value"], line["end"], line["reversed"]) == ("4bdp", True, True)
    always = cli("sweep", file, *ask[:-1], "utilization >= 1%", "--find", "min", "path.buffer")
    assert "  0.1bdp (the end of the axis, which may go on)" in always.stdout


def test_a_warning_is_told_once_before_the_runs(tmp_path: Path, cli: Cli) -> None:
    text = """
    name = "marks"
    duration = "1s"
    path = { rate = "5Mbps", rtt = "20ms", buffer = "1bdp" }
    host = { ecn = true }
    flow = [{ cca = "reno" }]
    """
    (tmp_path / "marks.toml").write_text(text)
    done = cli("sweep", tmp_path / "marks.toml", "--vary", "path.rtt=20ms,40ms", "--store", tmp_path / "store")
    assert (done.stdout + done.stderr).count("host.ecn") == 1, done.stdout + done.stderr


def test_the_smallest_buffer_is_that_of_the_whole_grid(file: Path, tmp_path: Path, cli: Cli) -> None:
    store = tmp_path / "store"
    axes = {"path.buffer": "0.1bdp..4bdp/25/log", "flow.cca": ["reno", "cubic"]}
    scenario = {**dumbbell.from_file(file).scenario.__dict__["_raw"], "path": {"rate": "10Mbps", "rtt": "20ms"}}
    every = dumbbell.sweep(scenario, axes, store=store)
    bound = 0.95
    smallest = {
        cca: next(
            run.vary["path.buffer"]
            for run in every
            if run.vary["flow.cca"] == cca and run.summary.link.utilization >= bound
        )
        for cca in ("reno", "cubic")
    }
    found = dumbbell.find(scenario, "path.buffer", "utilization >= 95%", axes, store=tmp_path / "other")
    assert {one.vary["flow.cca"]: one.value for one in found if one.is_monotone} == smallest
    assert len(list((tmp_path / "other").glob("??/*/manifest.json"))) < 2 * 12  # of 2 x 25
    made = ("--vary", "path.buffer=0.1bdp..4bdp/25/log", "--vary", "flow.cca=reno,cubic", "--set", "path.loss=0")
    done = cli("sweep", file, *made, "--find", "min", "path.buffer", "--where", "utilisation >= 0.95", "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert {line["vary"]["flow.cca"]: line["value"] for line in lines} == smallest
    assert all(line["monotone"] and line["certain"] is None and not line["error"] for line in lines)
    text = cli("sweep", file, *made, "--find", "max", "path.buffer", "--where", "utilization < 95%").stdout
    assert "largest path.buffer with utilization < 95%" in text
    assert "This assumes that the condition changes only once along the axis" in text
    values = [run.vary["path.buffer"] for run in every if run.vary["flow.cca"] == "reno"]
    below = values[values.index(smallest["reno"]) - 1]
    assert f"flow.cca = reno: {below}" in text


def test_a_condition_that_holds_nowhere_has_no_answer(file: Path, tmp_path: Path) -> None:
    (found,) = dumbbell.find(
        file, "path.rate", "utilization > 200%", {"path.rate": "5Mbps..20Mbps/9"}, store=tmp_path / "s"
    )
    assert (found.value, found.is_monotone, len(found.looked)) == (None, True, 2)


def test_an_answer_says_whose_figure_it_is_about_and_that_one_run_proves_little(file: Path, cli: Cli) -> None:
    ask = ("--vary", "path.buffer=0.5bdp,8bdp", "--find", "max", "path.buffer", "--where", "share > 0.01")
    file.write_text(TEXT.replace('cca = "cubic"', 'cca = "bbr"', 1))
    text = cli("sweep", file, *ask).stdout
    said = re.search(r"8bdp  share 0\.\d+ of (bbr|cubic)  holds", text)
    assert said
    assert "Each point is one run" in text
    (line,) = map(json.loads, cli("sweep", file, *ask, "--json").stdout.splitlines())
    assert line["looked"][-1]["figures"]["share"]["flow"] == said[1]
    assert "Each point is one run" not in cli("sweep", file, *ask, "--repetitions", "3").stdout


def test_a_condition_on_a_figure_that_some_repetitions_lack_does_not_hold(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "f.toml").write_text(TEXT + 'size = "300kB"\n')
    ask = ("--vary", "path.loss=1%,15%", "--repetitions", "4", "--find", "max", "path.loss", "--flows", "1")
    ask = (*ask, "--where", "fct < 1.9", "--store", tmp_path / "s")
    text = cli("sweep", tmp_path / "f.toml", *ask).stdout
    (line,) = map(json.loads, cli("sweep", tmp_path / "f.toml", *ask, "--json").stdout.splitlines())
    assert line["value"] == "1%"
    few, many = line["looked"]
    assert (few["holds"], few["lacking"]) == (True, {})
    lacking = many["lacking"]["fct"]["repetitions"]
    assert (many["holds"], many["lacking"]) == (False, {"fct": {"repetitions": lacking, "of": 4}})
    assert 0 < lacking < 4
    assert many["figures"]["fct"]["n"] == 4 - lacking
    assert many["figures"]["fct"]["mean"] < 1.9
    assert f" in {4 - lacking} of 4 repetitions, the others have none  does not\n" in text


def test_an_answer_within_its_interval_is_not_certain(file: Path, tmp_path: Path) -> None:
    runs = dumbbell.sweep(file, {"path.rate": ["10Mbps"]}, repetitions=5, store=tmp_path / "s")
    mean = mean_interval([run.summary.link.utilization for run in runs]).mean
    where = f"utilization >= {mean - 1e-6:.9f}"
    (found,) = dumbbell.find(file, "path.rate", where, {"path.rate": ["10Mbps"]}, repetitions=5, store=tmp_path / "s")
    assert (found.value, found.is_certain) == ("10Mbps", False)
    assert isinstance(found.looked[0].figures["utilization"], Interval)


def test_what_was_run_before_is_not_run_again_whoever_asked(file: Path, tmp_path: Path, cli: Cli) -> None:
    first = cli("sweep", file, "--vary", "path.rate=5Mbps,10Mbps", "--out", "a", "--store", "s", "--json")
    second = cli("sweep", file, "--vary", "path.rate=10Mbps,20Mbps", "--out", "b", "--store", "s", "--json")
    assert (first.returncode, second.returncode) == (0, 0)
    made = sorted((tmp_path / "s").glob("??/*/manifest.json"))
    assert len(made) == 3
    for out, rates in (("a", ["5Mbps", "10Mbps"]), ("b", ["10Mbps", "20Mbps"])):
        assert [run.vary["path.rate"] for run in dumbbell.load(tmp_path / out)] == rates
    shared = [tmp_path / out / "study_rate=10Mbps" / "samples.parquet" for out in ("a", "b")]
    assert shared[0].stat().st_ino == shared[1].stat().st_ino


def test_a_sweep_that_is_killed_at_random_goes_on_where_it_was(file: Path, tmp_path: Path) -> None:
    seed = random.randrange(10**9)
    print("seed", seed)
    draw = random.Random(seed)
    command = [
        sys.executable,
        "-m",
        "dumbbell",
        "sweep",
        file,
        "--vary",
        "path.rate=5Mbps..20Mbps/6",
        "--until",
        "utilization ci 1%",
    ]
    command += ["--max", "6", "--store", tmp_path / "store", "--out", tmp_path / "out", "--json", "--force"]
    for _ in range(6):
        going = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
        time.sleep(draw.uniform(0.2, 1.2))
        going.send_signal(signal.SIGKILL)
        going.communicate(timeout=20)
        store = Store(tmp_path / "store")
        finished = [path.parent for path in store.path.glob("??/[!.]*/manifest.json")]
        assert all(store.get(folder.name) for folder in finished)
    times = {folder: (folder / "flows.parquet").stat().st_ctime_ns for folder in finished}
    inodes = {folder: (folder / "flows.parquet").stat().st_ino for folder in finished}
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, check=True, timeout=60)
    assert all((folder / "flows.parquet").stat().st_ino == inodes[folder] for folder in times)
    again = dumbbell.sweep(
        file, {"path.rate": "5Mbps..20Mbps/6"}, until="utilization ci 1%", most=6, store=tmp_path / "fresh"
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(line["link"]["utilization"] for line in lines) == sorted(
        run.summary.link.utilization for run in again
    )


@pytest.mark.parametrize(("out", "more"), [(["--out", "out"], ["--resume"]), ([], [])])
def test_an_interrupted_sweep_names_the_command_that_runs_the_rest(
    file: Path, tmp_path: Path, cli: Cli, out: list[str], more: list[str]
) -> None:
    args = ["sweep", str(file), "--vary", "path.rate=5Mbps,10Mbps", "--jobs", "1", *out]
    cut = (
        "import sys\nfrom dumbbell import cli\nfrom dumbbell.runs import study\nrun = study.Study.run\n"
        "def interrupted(self):\n    run(self)\n    raise KeyboardInterrupt\n"
        "study.Study.run = interrupted\nsys.exit(cli.main(sys.argv[1:]))"
    )
    process = subprocess.run(
        [sys.executable, "-c", cut, *args], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert process.returncode == 130
    said = f"the same command {'with --resume ' if more else ''}runs the rest"
    assert process.stderr == f"dumbbell: interrupted; 2 runs are finished, {said}\n"
    assert cli(*args, *more).returncode == 0


def test_a_full_disk_ends_a_sweep_with_one_line_and_loses_nothing(file: Path, tmp_path: Path, cli: Cli) -> None:
    tiny = tmp_path / "tiny"
    tiny.mkdir()
    mounted = (
        os.geteuid() == 0
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=200k", "none", tiny], check=False, capture_output=True
        ).returncode
    )
    if not mounted:
        pytest.skip("no root: cannot mount a small file system")
    try:
        args = ("sweep", file, "--vary", "path.rate=5Mbps..20Mbps/30", "--store", tiny / "store", "--jobs", "2")
        done = cli(*args, "--out", tiny / "out")
        assert done.returncode == 1
        assert done.stderr.count("No space left on device") == 1
        finished = [path.parent for path in (tiny / "store").glob("??/[!.]*/manifest.json")]
        assert finished
        assert all(Store(tiny / "store").get(folder.name) for folder in finished)
        subprocess.run(["mount", "-o", "remount,size=50m", tiny], check=True)
        assert cli(*args, "--out", tiny / "out", "--resume").returncode == 0
        assert len(dumbbell.load(tiny / "out")) == 30
    finally:
        subprocess.run(["umount", tiny], check=True)


def test_the_plan_of_a_sweep_is_that_of_a_file_that_says_the_same(file: Path) -> None:
    made = prepared(file, Choice(vary=[varying.wanted("path.rate=5Mbps,10Mbps")], repetitions=2)).jobs
    written = TEXT.replace('rate = "10Mbps"', 'rate = ["5Mbps", "10Mbps"]').replace(
        "duration", "repetitions = 2\nduration"
    )
    assert [job.planned for job in made] == plan.runs(dumbbell.from_text(written))
