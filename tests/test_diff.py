"""`dumbbell show --diff`: what changed between two folders, with its interval, and whose figures a row has."""

from __future__ import annotations

import csv
import io
import json
import re
import statistics
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest

import dumbbell
from conftest import SWEEP
from dumbbell.cli import main
from dumbbell.judge.change import Change, outcome
from dumbbell.results.statistic import Interval, difference_interval, mean_interval, paired_interval


def test_a_change_is_that_of_pairs_of_repetitions_with_the_same_seed(show: Any, sweep: Path, tmp_path: Path) -> None:
    dumbbell.run(
        dumbbell.from_text(SWEEP.replace('transport = "quic"', 'transport = "quic", start = "500ms"')),
        tmp_path / "after",
    )
    lines = [
        json.loads(line)
        for line in show("--diff", sweep, tmp_path / "after", "--json", "--columns", "goodput,utilization").splitlines()
    ]
    assert [(line["vary"]["path.buffer"], line["name"], line["figure"]) for line in lines[:3]] == [
        ("1bdp", "cubic", "goodput_mbps"),
        ("1bdp", "mine", "goodput_mbps"),
        ("1bdp", "run", "utilization"),
    ]
    sides = []
    for folder in (sweep, tmp_path / "after"):
        rows = [pq.read_table(folder / f"sweep_buffer=1bdp_r{i}" / "flows.parquet").to_pylist()[0] for i in range(3)]
        sides.append([row["goodput_bytes"] * 8 / (row["stop_us"] - row["start_us"]) for row in rows])
    assert lines[0]["change"] == pytest.approx(statistics.fmean(sides[1]) - statistics.fmean(sides[0]))
    steps = [after - before for before, after in zip(*sides)]
    assert lines[0]["half_width"] == pytest.approx(4.3027 * statistics.stdev(steps) / 3**0.5, rel=1e-4)
    assert (lines[0]["paired"], lines[0]["n"]) == (True, [3, 3])
    assert "change ± 95 % interval of pairs with the same seed" in show("--diff", sweep, tmp_path / "after")


def test_other_seeds_are_two_groups_with_welchs_interval(show: Any, sweep: Path, tmp_path: Path) -> None:
    dumbbell.run(dumbbell.from_text(f"seed = 77\n{SWEEP}"), tmp_path / "after")
    arguments = ("--diff", sweep, tmp_path / "after", "--columns", "goodput")
    line = json.loads(show(*arguments, "--json").splitlines()[0])
    sides = []
    for folder in (sweep, tmp_path / "after"):
        rows = [pq.read_table(folder / f"sweep_buffer=1bdp_r{i}" / "flows.parquet").to_pylist()[0] for i in range(3)]
        sides.append([row["goodput_bytes"] * 8 / (row["stop_us"] - row["start_us"]) for row in rows])
    assert line["half_width"] == pytest.approx(difference_interval(*sides).half_width)
    assert not line["paired"]
    assert "same seed" not in show(*arguments)


def test_pairs_tell_a_small_change_that_groups_hide() -> None:
    before, after = [10.0, 20.0, 30.0, 40.0], [10.5, 20.6, 30.4, 40.5]
    assert abs(difference_interval(before, after).mean) < difference_interval(before, after).half_width
    mean, half, n = paired_interval(before, after)
    assert (round(mean, 6), n) == (0.5, 4)
    assert half == pytest.approx(3.1824 * statistics.stdev([0.5, 0.6, 0.4, 0.5]) / 2, rel=1e-4)
    with pytest.raises(ValueError, match="shorter"):
        paired_interval(before, after[:3])


def test_it_says_how_many_changes_are_clear_by_chance(show: Any, sweep: Path, tmp_path: Path) -> None:
    dumbbell.run(dumbbell.from_text(f"seed = 77\n{SWEEP}"), tmp_path / "after")
    text = show("--diff", sweep, tmp_path / "after")
    marked = sum(line.rstrip().endswith("*") for line in text.splitlines())
    said = re.fullmatch(
        r"(\d+) of (\d+) figures moved \(about (\d+) by chance\): (no change shown|changed)", text.splitlines()[-1]
    )
    assert said
    assert [int(word) for word in said.groups()[:3]] == [marked, int(said[2]), max(round(int(said[2]) / 20), 1)]


def test_the_parts_of_the_runs_and_their_numbers_are_those_of_the_folders(show: Any, tmp_path: Path) -> None:
    text = """
    name = "x"
    duration = "3s"
    path = { rate = "5Mbps", rtt = "20ms", buffer = "1bdp" }
    flow = [{ cca = "bbr" }]
    """
    for folder, more in (("one", ""), ("two", "repetitions = 2"), ("late", 'measure = { from = "1s" }')):
        dumbbell.run(dumbbell.from_text(more + text), tmp_path / folder)
    one, two, late = (str(tmp_path / name) for name in ("one", "two", "late"))
    assert "means of 1 and 2 repetitions, without intervals, because one side has one run" in show("--diff", one, two)
    assert "whole runs and 1 to 3 s, one run each, so no intervals" in show("--diff", one, late)
    assert "1 to 3 s, one run each" in show("--diff", late, late)


def test_many_flows_are_compared_by_table_and_transfers_by_how_many_did_not_end(show: Any, tmp_path: Path) -> None:
    text = """
    name = "x"
    duration = "3s"
    path = { rate = "RATE", rtt = "20ms", buffer = "1bdp" }
    flow = [{ cca = "cubic", count = 12, size = "200kB" }]
    """
    for folder, rate in (("fast", "20Mbps"), ("slow", "2Mbps")):
        dumbbell.run(dumbbell.from_text(text.replace("RATE", rate)), tmp_path / folder)
    fast, slow = (str(tmp_path / name) for name in ("fast", "slow"))
    found = [json.loads(line) for line in show("--diff", fast, slow, "--json").splitlines()]
    assert sum(line["figure"] == "goodput_mbps" for line in found) == 1
    assert next(line for line in found if line["figure"] == "unfinished")["change"] > 0
    assert f"{slow}: warning:" in show("--diff", fast, slow)
    assert not any("unfinished" in line for line in show("--diff", fast, fast, "--json").splitlines())


def test_changes_as_csv_are_those_of_json(show: Any, sweep: Path) -> None:
    (first, *_) = csv.DictReader(io.StringIO(show("--diff", sweep, sweep, "--csv")))
    line = json.loads(show("--diff", sweep, sweep, "--json").splitlines()[0])
    assert (first["figure"], first["path.buffer"]) == (line["figure"], line["vary"]["path.buffer"])
    assert [float(first[name]) for name in ("before", "after", "change")] == [line["before"], line["after"], 0.0]


@pytest.mark.parametrize("option", [["--runs"], ["--sort", "goodput"], ["--reverse"]])
def test_options_of_one_table_are_refused(sweep: Path, option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--diff", str(sweep), str(sweep), *option]) == 2
    assert f"{option[0]}: " in capsys.readouterr().err


def change(mean: float, half_width: float, n: int = 5) -> Change:
    row: Any = SimpleNamespace(table=0, flow=0)
    return Change(row, row, "goodput", Interval(mean, half_width, n), is_paired=False)


def test_few_intervals_beside_zero_among_many_are_no_change_and_one_far_from_it_is() -> None:
    still = [change(0.1, 1.0)] * 95
    assert outcome([*still, *[change(1.1, 1.0)] * 5]).text == (
        "5 of 100 figures moved (about 5 by chance): no change shown"
    )
    assert outcome([*still, *[change(1.1, 1.0)] * 15]).word == "fails"
    assert outcome([*still, change(9.0, 1.0)]).text == "1 of 96 figures moved (about 5 by chance): changed"


def test_single_runs_that_differ_are_unclear_and_equal_ones_no_change() -> None:
    nan = float("nan")
    assert outcome([change(0.1, nan, 1), change(0.0, nan, 1)]).text.startswith(
        "1 of 2 figures differ, of one seed: uncl"
    )
    assert outcome([change(0.0, nan, 1)]).word == "holds"


def test_scripts_are_told_by_the_status_whether_figures_changed(
    sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = SWEEP.replace('"20ms"', '"40ms"')
    assert slow != SWEEP
    dumbbell.run(dumbbell.from_text(slow), tmp_path / "slow")
    same, other = (["show", "--diff", str(sweep), str(folder)] for folder in (sweep, tmp_path / "slow"))
    assert [main([*same, "--exit-status"]), main([*other, "--exit-status"]), main(other)] == [0, 1, 0]
    assert capsys.readouterr().out.rstrip().endswith(": changed")
    assert main(["show", str(sweep), "--exit-status"]) == 2


def test_a_change_over_combinations_has_its_direction_and_conditions_choose_rows(
    show: Any, sweep: Path, tmp_path: Path
) -> None:
    dumbbell.run(dumbbell.from_text(SWEEP.replace('"20ms"', '"40ms"')), tmp_path / "slow")
    text = show("--diff", sweep, tmp_path / "slow", "--columns", "srtt")
    assert re.search(
        r"^cubic, srtt.*: up in (\d), down in 0 of \1 combinations, clear in \1; on average \+", text, re.M
    )
    every = show("--diff", sweep, tmp_path / "slow", "--json").splitlines()
    some = show("--diff", sweep, tmp_path / "slow", "--json", "--where", "share > 0.5").splitlines()
    assert 0 < len(some) < len(every)
    assert set(some) <= set(every)


def test_welchs_interval_of_a_worked_example() -> None:
    # Variances 20/3 and 5/3 of four each: standard error sqrt(25/12); 4.4 degrees of freedom, rounded down to 4: t =
    # 2.776.
    mean, half, n = difference_interval([10.0, 12.0, 14.0, 16.0], [15.0, 16.0, 17.0, 18.0])
    assert (mean, n) == (3.5, 4)
    assert half == pytest.approx(2.7764 * (25 / 12) ** 0.5, rel=1e-4)
    assert mean_interval([2.0, 2.0]).half_width == 0


def test_a_flow_that_has_another_name_after_the_change_is_called_by_both(show: Any, tmp_path: Path) -> None:
    text = """
    name = "NAME"
    duration = "2s"
    path = { rate = "10Mbps", rtt = "20ms", buffer = "1bdp" }
    flow = [{ cca = "CCA" }, { cca = "bbr" }]
    """
    for name, cca in (("old", "cubic"), ("new", "reno")):
        dumbbell.run(dumbbell.from_text(text.replace("NAME", name).replace("CCA", cca)), tmp_path / name)
    both = (tmp_path / "old", tmp_path / "new", "--columns", "goodput")
    lines = [json.loads(line) for line in show("--diff", *both, "--json").splitlines()]
    assert [(line["scenario"], line["name"]) for line in lines] == [("new", "cubic -> reno"), ("new", "bbr")]
    assert "cubic -> reno" in show("--diff", *both)
