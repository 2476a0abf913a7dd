"""The fidelity table: its judge, its drawn scenarios, the page that it writes, and a short comparison with Linux."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import fidelity_page  # noqa: E402
from dumbbell.backends.request import Request  # noqa: E402
from dumbbell.cli import main  # noqa: E402
from dumbbell.judge import versus  # noqa: E402
from dumbbell.suites import fidelity  # noqa: E402
from dumbbell.suites.fidelity import draw as fidelity_draw  # noqa: E402
from dumbbell.suites.fidelity import means as fidelity_means  # noqa: E402
from dumbbell.suites.fidelity import rows as fidelity_rows  # noqa: E402
from dumbbell.suites.fidelity import table as fidelity_table  # noqa: E402
from dumbbell.suites.fidelity.table import Record, Section, Table  # noqa: E402
from dumbbell.uml import backend as uml  # noqa: E402
from dumbbell.uml.store import Kernel  # noqa: E402
from fidelity_page import Cause  # noqa: E402


def record(linux: list[float], sim: list[float], name: str = "utilization", **more: Any) -> Record:
    given: dict[str, Any] = {"row": "a", "family": "plain", "path": "drop tail", **more}
    return Record(linux=[{name: value} for value in linux], sim=[{name: value} for value in sim], **given)


@pytest.mark.parametrize(
    ("name", "linux", "sim", "word"),
    [
        ("utilization", [0.9, 0.9, 0.9], [0.93, 0.93, 0.93], "holds"),
        ("utilization", [0.9, 0.9, 0.9], [0.93, 0.93, 0.934], "fails"),
        # Welch's interval of the difference of 0.15 is 0.25 wide on either side.
        ("bbr[0] share", [0.4, 0.5, 0.6], [0.65, 0.65, 0.65], "unclear"),
        ("cubic[0] fct_s", [1.0, 1.2], [1.232, 1.232], "holds"),
        ("cubic[0] fct_s", [1.0, 1.0], [1.13, 1.13], "unclear"),
        ("cubic[0] fct_s", [1.0] * 3, [1.13] * 3, "fails"),
    ],
)
def test_a_row_is_judged_by_means_tolerance_and_chance(
    name: str, linux: list[float], sim: list[float], word: str
) -> None:
    assert record(linux, sim, name).word == word


def test_a_figure_that_one_side_lacks_differs() -> None:
    one = Record(row="a", family="plain", path="short transfers", linux=[{"cubic[0] fct_s": 1.0}], sim=[{}])
    assert [figure.name for figure in one.differences] == ["cubic[0] fct_s"]
    assert math.isnan(one.differences[0].other)
    swapped = Record(row="a", family="plain", path="short transfers", linux=[{}], sim=[{"cubic[0] fct_s": 1.0}])
    assert swapped.word == "fails"


def test_single_seeds_are_judged_against_the_other_seeds_of_linux() -> None:
    one = record([0.90, 0.92, 0.99], [0.95, 0.94, 0.945])
    # The means without each: 0.955, 0.945 and 0.91; the tolerance is 0.03.
    assert one.ceiling() == [False, True, False]
    assert one.single() == [True, True, False]


def test_rows_count_in_their_family_in_their_kind_of_path_and_in_all() -> None:
    rows = [
        record([0.9, 0.9], [0.9, 0.9]),
        record([0.9, 0.9], [0.5, 0.5], family="BBRv2 family"),
    ]
    counts = fidelity_table.counts(rows)
    assert {name: (count.rows, count.agree) for name, count in counts.items()} == {
        "plain": (1, 1),
        "BBRv2 family": (1, 0),
        "drop tail": (2, 1),
        "all": (2, 1),
    }
    assert counts["all"].ceiling == [True] * 4
    assert counts["all"].singles == [True, True, False, False]


def test_what_moved_since_the_stored_table_is_named() -> None:
    before, after = record([0.9, 0.9], [0.9, 0.9]), record([0.9, 0.9], [0.8, 0.9])
    assert fidelity_table.moved(before, before) == []
    assert fidelity_table.moved(before, after) == ["unclear now, holds before", "sim utilization 0.9 -> 0.85"]


def test_the_stored_table_reads_back_with_a_line_for_each_row(tmp_path: Path) -> None:
    row = record([0.9, 0.91], [0.92, 0.93], warnings=["tcp_mem"])
    table = Table(sections={"tests": Section(commit="c", kernel="k", seeds=2, rows=[row])}, more={"a": row})
    path = tmp_path / "table.json"
    fidelity_table.write(table, path)
    assert fidelity_table.read(path) == table
    assert sum("utilization" in line for line in path.read_text().splitlines()) == 2
    assert fidelity_table.read(tmp_path / "none.json") == Table()


@pytest.mark.parametrize(
    ("flows", "qdisc", "forward", "groups"),
    [
        (["cubic"], "fifo", [], ("plain", "drop tail")),
        (["cubic", "bbr"], "codel", [], ("BBRv1 family", "queue discipline")),
        (["bbr", "bbr2"], "fifo", [{"kind": "loss"}], ("BBRv2 family", "loss or jitter")),
        (["reno"], "fifo", [{"kind": "delay", "jitter": {}}], ("plain", "drop tail")),
        (["reno"], "fifo", [{"kind": "delay", "jitter": {"spread_ns": 1}}], ("plain", "loss or jitter")),
        (["bbr"] * 9, "codel", [{"kind": "loss"}], ("BBRv1 family", "crowd")),
    ],
)
def test_a_plan_belongs_to_one_family_and_one_kind_of_path(
    flows: list[str], qdisc: str, forward: list[dict[str, Any]], groups: tuple[str, str]
) -> None:
    plan = {
        "flows": [{"cca": cca, "size_bytes": None, "forward": forward} for cca in flows],
        "links": [{"qdisc": {"kind": qdisc}}],
    }
    assert (fidelity_rows.family(plan), fidelity_rows.path(plan)) == groups
    plan["flows"][0]["size_bytes"] = 1
    assert fidelity_rows.path(plan) == "short transfers"


def test_every_row_of_the_table_has_a_name_of_its_own() -> None:
    rows = fidelity_rows.rows(fidelity_rows.tests(), seeds=1)
    assert len({row.name for row in rows}) == len(rows) > 150
    assert {row.path for row in rows} == set(fidelity_rows.PATHS)


def test_the_same_seed_draws_the_same_scenarios_and_more_only_adds_some() -> None:
    few, many = fidelity_draw.draw(7, 3), fidelity_draw.draw(7, 5)
    assert list(many.values())[:3] == list(few.values())
    assert fidelity_draw.draw(8, 3) != few
    assert len(set(many.values())) == 5


def test_drawn_scenarios_stay_within_their_bounds_and_linux_can_run_them(tmp_path: Path) -> None:
    rows = fidelity_rows.rows(fidelity_draw.write(3, 150, tmp_path), seeds=1)
    assert len(rows) == 150
    for row in rows:
        plan = row.plans[0].plan
        assert 10**6 <= plan["links"][0]["rate_bps"] <= 500 * 10**6
        assert 1 <= len(plan["flows"]) <= 40
        assert all(2 * 10**6 <= flow["rtt_ns"] <= 300 * 10**6 for flow in plan["flows"])
        uml.refuse(Request(row.plans[0], "uml"))


def test_linux_can_run_the_scenarios_of_the_table() -> None:
    for row in fidelity_rows.rows([*fidelity_rows.tests(), *fidelity.files_of("smoke")], seeds=1):
        uml.refuse(Request(row.plans[0], "uml"))


def section(*rows: Record) -> Table:
    return Table(sections={"tests": Section(commit="c", kernel="k", seeds=3, rows=list(rows))})


def test_a_row_that_differs_needs_a_cause_and_chance_needs_more_seeds() -> None:
    differs, fine = record([0.9], [0.5]), record([0.9], [0.9], row="b")
    table = section(differs, fine)
    assert fidelity_page.complaints(table, {}) == ["a: differs, and has no cause in causes.toml"]
    assert fidelity_page.complaints(table, {"a": Cause("timers")}) == []
    assert fidelity_page.complaints(table, {"a": Cause("")}) == ["a: its cause has no text"]
    assert "does not differ" in fidelity_page.complaints(table, {"a": Cause("x"), "b": Cause("x")})[0]
    chance = {"a": Cause("", is_chance=True)}
    assert "chance needs 10 seeds" in fidelity_page.complaints(table, chance)[0]
    table.more["a"] = record([0.9] * 10, [0.9] * 9)
    assert "chance needs 10 seeds" in fidelity_page.complaints(table, chance)[0]
    table.more["a"] = record([0.9] * 10, [0.5] * 10)
    assert "not chance" in fidelity_page.complaints(table, chance)[0]
    table.more["a"] = record([0.5, 0.98] * 5, [0.4, 0.75] * 5)
    assert fidelity_page.complaints(table, chance) == []
    table.more["a"] = record([0.9] * 10, [0.9] * 10)
    assert fidelity_page.complaints(table, chance) == []


def test_only_what_is_between_the_markers_is_written() -> None:
    table = section(record([0.9, 0.9], [0.5, 0.5], itself=True))
    text = f"before\n{fidelity_page.BEGIN}\nold\n{fidelity_page.END}\nafter"
    made = fidelity_page.renewed(text, table, {"a": Cause("timers")})
    assert made.startswith(f"before\n{fidelity_page.BEGIN}\n\n| figure | tolerance |")
    assert made.endswith(f"\n{fidelity_page.END}\nafter")
    assert "| `a` | utilisation 0.5 / 0.9 | timers |" in made
    assert "| **plain** | 0 of 1 (0%) | 1 | 1 of 1 (100%) | 0 of 2 (0%) | 2 of 2 (100%) |" in made
    assert "old" not in made
    assert fidelity_page.renewed(made, table, {"a": Cause("timers")}) == made
    with pytest.raises(ValueError, match="begin"):
        fidelity_page.renewed("no markers", table, {})


def test_the_readme_says_what_the_table_comes_to() -> None:
    alike, apart = record([0.9, 0.9], [0.9, 0.9]), record([0.9, 0.9], [0.5, 0.5], row="b")
    text = f"So: {fidelity_page.BEGIN}old{fidelity_page.END} And:"
    made = fidelity_page.renewed_readme(text, section(alike, apart))
    assert (
        "\nOf 2 scenarios of our table 1 agree in every figure, 1 differs, 0 need more than 3 seeds to tell.\n" in made
    )
    assert "old" not in made
    assert made.startswith("So: ")
    assert made.endswith(" And:")


def test_means_are_held_against_the_standard_error_of_their_difference() -> None:
    # Variances of 4 and 1 over four seeds: an error of sqrt(5/4).
    sim = [{"utilization": 10.0 + value} for value in (-2.0, 2.0, -1.41421356, 1.41421356)]
    linux = [{"utilization": 7.0 + value} for value in (-1.0, 1.0, -0.707106781, 0.707106781)]
    mean = fidelity_means.by_figure(sim, linux)["utilization"]
    assert (mean.sim, mean.linux, mean.error) == (10.0, 7.0, 1.118)
    assert (round(mean.difference, 3), round(mean.errors, 2), mean.is_listed) == (0.429, 2.68, False)
    assert fidelity_means.Mean(10.0, 7.0, 0.9).is_listed
    assert not fidelity_means.Mean(1.001, 1.0, 1e-6).is_listed, "a thousandth does not matter"


def test_means_of_flows_of_one_controller_are_one_figure() -> None:
    run = {"cubic[0] share": 0.2, "cubic[1] share": 0.4, "bbr[2] share": 0.4, "jain": 0.9}
    found = fidelity_means.by_figure([run, run], [run, run])
    assert {name: mean.sim for name, mean in found.items()} == {"cubic share": 0.3, "bbr share": 0.4}
    alone = {"cubic[0] share": 1.0, "cubic[0] srtt_mean_ms": 50.0}
    assert list(fidelity_means.by_figure([alone, alone], [alone, alone])) == ["cubic srtt_mean_ms"]


def test_the_page_lists_means_that_chance_does_not_explain() -> None:
    rows = {
        "a": {"utilization": fidelity_means.Mean(0.9, 0.91, 0.001)},
        "b": {"utilization": fidelity_means.Mean(1, 1, 0)},
    }
    found = fidelity_means.Means(commit="c", kernel="Linux", seeds=16, rows=rows)
    text = "\n".join(fidelity_means.lines(found))
    assert "| `a` | utilization | 0.9 / 0.91 | 10.0 |" in text
    assert "`b`" not in text
    assert "| utilisation | 0.55%, 1.1% | 0.16% |" in text


def test_every_tolerance_has_its_word_on_the_page() -> None:
    assert fidelity_page.WORDS.keys() == versus.TOLERANCES.keys()


def test_page_readme_and_causes_are_those_of_the_stored_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["fidelity_page.py", "--check"])
    assert fidelity_page.main() == 0


def test_a_run_is_made_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["fidelity", "--set", "smoke", "--only", "short", "--on", "sim", "--store", str(tmp_path), "--need", "1"]
    assert main([*given, "--quiet"]) == 0
    first = capsys.readouterr()
    assert "1 of 1 rows agree in every figure with sim" in first.out
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/*/manifest.json")}
    assert len(kept) == 6
    assert main([*given, "--quiet"]) == 0
    assert capsys.readouterr().out == first.out
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/*/manifest.json")} == kept


def test_what_moved_since_a_stored_table_needs_no_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = str(tmp_path / "table.json")
    given = ["fidelity", "--set", "smoke", "--store", str(tmp_path / "store"), "--quiet"]
    assert main([*given, "--on", "sim", "--save", table]) == 0
    capsys.readouterr()
    assert main([*given, "--against", table, "--stored"]) == 0
    assert "0 of 4 rows moved" in capsys.readouterr().out
    changed = Path(table).read_text().replace('"utilization":[0.9', '"utilization":[0.1')
    Path(table).write_text(changed)
    assert main([*given, "--against", table, "--stored", "--only", "short|pair"]) in (0, 1)
    assert "rows moved" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--set", "tsets"], '--set: got "tsets"'),
        (["--stored"], "--stored: got it without --against FILE"),
        (["--against", "none.json"], "--against: got none.json"),
        (["--set", "smoke", "--on", "sim", "--only", "short", "--save", "part.json"], "--save: got a part of a set"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["fidelity", "--store", "store", "--quiet", *options]) == 2
    assert said in capsys.readouterr().err


def test_a_scenario_of_ones_own_is_rows_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'duration = "2s"\npath = { rate = "10Mbps", rtt = "20ms", buffer = ["1bdp", "2bdp"] }\nflow = [{ cca = "cubic" }]\n'
    )
    assert main(["fidelity", str(file), "--on", "sim", "--store", str(tmp_path / "store"), "--json", "--quiet"]) == 0
    assert [json.loads(line)["row"] for line in capsys.readouterr().out.splitlines()] == [
        "mine_buffer=1bdp", "mine_buffer=2bdp"
    ]  # fmt: skip


@pytest.mark.slow
def test_the_simulator_agrees_with_linux_on_a_few_short_rows(tmp_path: Path, uml_kernel: Kernel) -> None:
    assert uml_kernel
    assert main(["fidelity", "--set", "smoke", "--store", str(tmp_path), "--need", "1", "--quiet"]) == 0
