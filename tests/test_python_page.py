"""docs/python.md: its snippets run as they stand; and what a notebook and `help` are told of the tables of a
scenario.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

import dumbbell
from dumbbell import ResultError

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
            assert set(part["path.buffer"].to_pylist()) == {run.vary["path.buffer"]}
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


def test_a_notebook_shows_a_row_for_each_table_of_flows(results: dumbbell.Results) -> None:
    shown = results._repr_html_()
    assert shown.count("<tr>") == 1 + 2 * 4
    assert "2 x &lt;mine&gt;" in shown
    assert "<mine>" not in shown
    assert results[0]._repr_html_().count("<tr>") == 3
