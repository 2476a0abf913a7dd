"""docs/python.md: its snippets run as they stand; and what a notebook and `help` are told of the tables of a
scenario.
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

import dumbbell
from dumbbell import ResultError
from dumbbell.results import metrics

PAGE = Path(__file__).parent.parent / "docs/python.md"


def test_the_snippets_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    snippets = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(snippets) >= 6
    names: dict[str, object] = {}
    for snippet in snippets:
        exec(snippet, names)
    printed = capsys.readouterr().out
    assert printed.startswith("{'path.buffer': '1bdp'} 0 1\n['cubic', 'mine']\n")
    assert (tmp_path / "rtt.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    "table",
    [dumbbell.Flow, dumbbell.Path, dumbbell.Host, dumbbell.Scenario, dumbbell.Link, dumbbell.Record, dumbbell.Jitter],
)
def test_a_table_has_a_signature_and_a_text_for_each_key(table: type[dumbbell.Flow]) -> None:
    parameters = inspect.signature(table).parameters
    assert [name.removesuffix("_") for name in parameters] == list(table.KEYS)
    text = inspect.getdoc(table) or ""
    for name, key in table.KEYS.items():
        assert key.doc in text, name
    assert all(one.kind is inspect.Parameter.KEYWORD_ONLY for one in parameters.values())


def test_a_default_is_in_the_signature_and_a_required_key_has_none() -> None:
    parameters = inspect.signature(dumbbell.Flow).parameters
    assert parameters["start"].default == "0s"
    assert parameters["cca"].default is inspect.Parameter.empty


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dumbbell.Results:
    text = """
    duration = "2s"
    repetitions = 2
    path = { rate = "5Mbps", rtt = "20ms", buffer = ["1bdp", "2bdp"] }
    host = { start_jitter = "50ms" }
    flow = [{ cca = "cubic" }, { cca = "reno", name = "<mine>", count = 2 }]
    """
    return dumbbell.run(dumbbell.from_text(text), tmp_path_factory.mktemp("page") / "out")


@pytest.mark.parametrize("name", ["samples", "flows", "queue", "events", "messages"])
def test_one_table_of_a_sweep_has_every_row_and_says_of_which_run(results: dumbbell.Results, name: str) -> None:
    table = results.table(name)
    assert table.column_names[:5] == ["run", "scenario", "repetition", "seed", "path.buffer"]
    at = 0
    for run in results:
        own = pq.read_table(run.folder / f"{name}.parquet")
        part = table.slice(at, own.num_rows)
        at += own.num_rows
        assert part.select(own.column_names).to_pylist() == own.to_pylist()
        if own.num_rows:
            assert set(part["run"].to_pylist()) == {run.folder.name}
            assert set(part["path.buffer.text"].to_pylist()) == {run.vary["path.buffer"]}
            assert set(part["repetition"].to_pylist()) == {run.repetition}
    assert at == table.num_rows
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    assert frame.height == at
    assert len(table.to_pandas()) == at


def test_a_table_that_is_none_is_refused(results: dumbbell.Results) -> None:
    with pytest.raises(
        ResultError, match="there is no table sample, wanted one of: flows, samples, queue, events, messages"
    ):
        results.table("sample")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dumbbell.Results:
    """BBR's start, of which figures cover nothing, and the part that they do."""
    text = """
    name = "measured"
    duration = "4s"
    measure = { from = "2s", to = "3s" }
    path = { rate = "10Mbps", rtt = "20ms", buffer = "1bdp" }
    flow = [{ cca = "bbr" }, { cca = "cubic", start = "3500ms" }]
    """
    return dumbbell.run(dumbbell.from_text(text), tmp_path_factory.mktemp("measured") / "out")


def test_a_table_of_figures_covers_the_scenarios_measure_as_show_does(measured: dumbbell.Results, show: Any) -> None:
    (run,), rows = measured, measured.to_table().to_pylist()
    line = json.loads(show(run.folder, "--json"))
    assert [row["goodput_mbps"] for row in rows] == [flow["goodput_mbps"] for flow in line["flows"]]
    assert rows[0]["goodput_mbps"] == metrics.goodput_bps(run, 0, run.plan.window) / 1e6
    assert rows[1]["goodput_mbps"] is None, "it starts after the window"
    assert rows[0]["link_queue_mean_ms"] == line["link"]["queue_mean_ms"] != run.summary.link.queue_mean_ms
    assert [rows[0]["window_start_s"], rows[0]["window_end_s"]] == line["window_s"] == [2, 3]


def test_a_table_of_figures_without_a_measure_is_of_the_whole_run(results: dumbbell.Results) -> None:
    rows = results.to_table().to_pylist()
    assert rows[0]["goodput_mbps"] == results[0].summary.flows[0].goodput_mbps
    assert [rows[0]["window_start_s"], rows[0]["window_end_s"]] == [0, results[0].plan.duration_s]


def test_a_notebook_shows_the_figures_of_the_scenarios_measure_and_says_which_part_it_is(
    measured: dumbbell.Results,
) -> None:
    shown = measured._repr_html_()
    goodput, queue = (
        f"<td>{number}</td>"
        for number in (
            f"{metrics.goodput_bps(measured[0], 0, (2, 3)) / 1e6:.2f}",
            f"{metrics.queueing_delay_ms(measured[0], (2, 3)).mean:.1f}",
        )
    )
    assert "<th>window, s</th>" in shown
    assert "<td>2 to 3</td>" in shown
    assert goodput in shown
    assert queue in shown


def test_a_notebook_shows_a_row_for_each_table_of_flows(results: dumbbell.Results) -> None:
    shown = results._repr_html_()
    assert shown.count("<tr>") == 1 + 2 * 2, "two buffers, repetitions together"
    assert "2 x &lt;mine&gt;" in shown
    assert "<mine>" not in shown
    assert results[0]._repr_html_().count("<tr>") == 3
