"""The tables of papers: what is printed is read whole, and ours stand beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dumbbell import load
from dumbbell.papers import zhang2019
from dumbbell.runs import plan


def test_the_printed_tables_have_every_cell() -> None:
    assert {table: len(zhang2019.printed(table)) for table in (1, 2, 3, 4, 5, 6, 7)} == {
        1: 11,
        2: 9,
        3: 72,
        4: 24,
        5: 8,
        6: 9,
        7: 54,
    }
    for table in zhang2019.TABLES:
        assert {row["algo"] for row in zhang2019.printed(table)} <= set(zhang2019.CCAS)


def test_the_printed_indices_follow_from_the_printed_rates() -> None:
    for row in zhang2019.printed(3):
        one, two = float(row["x1_kbps"]), float(row["x2_kbps"])
        assert (one + two) ** 2 / 2 / (one**2 + two**2) == pytest.approx(float(row["jain"]), abs=0.006)


def test_the_paths_of_table_3_have_the_papers_round_trips() -> None:
    rtts = set()
    for scenario in zhang2019.scenarios(3):
        for run in plan.runs(scenario):
            rtts.add(tuple(flow["rtt_ns"] // 10**6 for flow in run.plan["flows"]))
            assert [link["rate_bps"] for link in run.plan["links"][1:]] == [10**8] * 4
    assert rtts == {(60, 100), (80, 120), (100, 140)}


def test_every_cell_has_a_run() -> None:
    counts = {
        table: sum(len(plan.runs(scenario)) for scenario in zhang2019.scenarios(table)) for table in zhang2019.TABLES
    }
    assert counts == {3: 72, 4: 120, 5: 8, 7: 54}


def test_the_command_prints_each_cell_beside_the_papers(cli: Any, tmp_path: Path) -> None:
    done = cli("paper", "zhang2019", "--table", "5", "--out", "out", "--duration", "60s", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    cells = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(cells) == 8 * 3
    assert cells[2]["metric"] == "utility"
    assert cells[2]["agrees"] == (abs(cells[2]["ours"] - cells[2]["paper"]) <= 0.03)
    found = {run.plan["flows"][0]["cca"]: run for run in load(tmp_path / "out")}
    assert cells[0]["ours"] == found["bbr"].summary["link"]["drop_rate"]
    output = cli("paper", "zhang2019", "--table", "5", "--out", "out", "--duration", "60s", "--resume").stdout
    assert "Table 5, utility:" in output
    assert "60s instead of the paper's time" in output
    assert cli("paper", "zhang2019", "--table", "6").stderr == "dumbbell: --table: got 6, wanted one of: 3, 4, 5, 7\n"
    assert "wanted one of: zhang2019" in cli("paper", "zhang").stderr


def test_a_synthetic_trace_is_the_same_each_time(cli: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert (
            cli("trace", "wifi", "--mean", "5Mbps", "--length", "2s", "--seed", "7", "-o", name).stdout == f"{name}\n"
        )
    times = [int(line) for line in (tmp_path / "a").read_text().splitlines()]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert times == sorted(times)
    assert len(times) * 1500 * 8 / times[-1] * 1000 == pytest.approx(5e6, rel=0.02)
    assert cli("trace", "lte", "--mean", "5", "-o", "c").stderr.startswith('dumbbell: --mean: got "5", wanted a rate')
