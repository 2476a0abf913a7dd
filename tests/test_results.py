"""Result folders as tables."""

from __future__ import annotations

import errno
import json
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dumbbell
from dumbbell import EngineError, ResultError, Results, load
from dumbbell.results.frame import Varied


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    from conftest import SMALL

    folder = tmp_path_factory.mktemp("results")
    (folder / "small.toml").write_text(SMALL)
    return dumbbell.run(folder / "small.toml", folder / "out")


def test_tables_go_straight_into_polars_and_pandas(results: Results) -> None:
    run = results[0]
    for table in (run.flows, run.samples, run.queue, run.events):
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        assert frame.height == table.num_rows == len(table.to_pandas())
        assert table.num_rows > 0
    assert isinstance(run.samples.to_pandas(), pd.DataFrame)


def test_times_have_one_unit_in_all_tables_and_events_their_nanoseconds_as_well(results: Results) -> None:
    for name in ("samples", "queue", "events"):
        table = results.table(name)
        assert table.schema.field("t_us").type == pa.int64(), name
        assert results[0].plan.duration_ns // 1000 >= max(table["t_us"].to_pylist()) > 10_000
    events = results[0].events
    assert [row["t_us"] for row in events.to_pylist()] == [row["t_ns"] // 1000 for row in events.to_pylist()]
    with pq.ParquetFile(results[0].folder / "events.parquet") as file:
        assert file.read().column_names == [name for name in events.column_names if name != "t_us"]


def test_results_are_data_frames_where_there_is_pandas_and_say_so_where_not(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert results.to_pandas().equals(results.to_table().to_pandas())
    assert results.to_pandas("queue").equals(results.table("queue").to_pandas())
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ResultError, match=r"needs pandas, which is not here .*: pip install pandas, or take the Arrow"):
        results.to_pandas()


def test_a_sweep_is_loaded_in_the_order_of_its_scenario(results: Results) -> None:
    loaded = load(results[0].folder.parent)
    assert (
        [run.vary for run in loaded]
        == [run.vary for run in results]
        == [{"path.buffer": "0.5bdp"}, {"path.buffer": "2bdp"}]
    )
    assert loaded.varied() == {"path.buffer": ["0.5bdp", "2bdp"]}


def test_a_run_folder_is_loaded_alone(results: Results) -> None:
    assert [run.vary for run in load(results[1].folder)] == [{"path.buffer": "2bdp"}]


def test_a_summary_table_has_a_row_per_run_and_flow(results: Results) -> None:
    table = results.to_table()
    assert table.num_rows == 4
    assert table["cca"].to_pylist() == ["cubic", "bbr"] * 2
    assert table["path.buffer"].to_pylist() == [0.5] * 2 + [2.0] * 2
    assert table["path.buffer.text"].to_pylist() == ["0.5bdp"] * 2 + ["2bdp"] * 2


def test_quantities_of_an_axis_are_numbers_in_a_unit_that_sort(results: Results) -> None:
    for table in (results.to_table(), results.table("flows"), results.samples()):
        assert table.schema.field("path.buffer").metadata == {b"unit": b"BDP"}
        assert sorted(set(table["path.buffer"].to_pylist())) == [0.5, 2.0]
    assert Varied.of("path.rate", ["9Mbps", "10Mbps"]).numbers == (9.0, 10.0)
    assert Varied.of("path.rtt", ["5ms", "1s"])[2:] == ((5.0, 1000.0), "ms")
    assert Varied.of("path.buffer", ["1bdp", "9kB"]).numbers is None


def test_a_notebook_shows_means_over_repetitions(tmp_path: Path) -> None:
    text = """
    name = "repeated"
    duration = "1s"
    repetitions = 3
    path = { rate = "5Mbps", rtt = "20ms", buffer = ["1bdp", "2bdp"] }
    host = { start_jitter = "50ms" }
    flow = [{ cca = "reno" }]
    """
    runs = dumbbell.run(dumbbell.from_text(text), tmp_path / "out")
    shown = runs._repr_html_()
    assert shown.count("<tr>") == 1 + 2
    assert "means of 3 repetitions" in shown
    assert repr(runs) == "<Results: 6 runs of repeated, path.buffer: 2 values, 3 repetitions>"


def test_a_summary_table_has_all_varied_keys_of_all_runs(results: Results, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(
        """
        name = "other"
        duration = "1s"
        [path]
        rate = "10Mbps"
        rtt = "20ms"
        buffer = "50kB"
        qdisc = ["fifo", { kind = "codel", limit = "buffer" }]
        loss = { steps = 2, from = 0, to = 0.01 }
        [[flow]]
        cca = "cubic"
        """
    )
    both = Results([*results, *dumbbell.run(tmp_path / "other.toml", tmp_path / "out")])
    summary, flows = both.to_table(), both.table("flows")
    for key in ("path.buffer", "path.qdisc"):
        assert summary[key].to_pylist() == flows[key].to_pylist()
    assert summary["path.qdisc"].to_pylist() == [None] * 4 + ["fifo"] * 2 + ["codel limit=buffer"] * 2
    assert summary["path.loss"].to_pylist() == [None] * 4 + [0, 0.01] * 2


def test_a_varied_seed_has_a_column_beside_the_seeds_of_the_runs(tmp_path: Path) -> None:
    text = """
    duration = "200ms"
    repetitions = 2
    seed = [5, 7]
    path = { rate = "5Mbps", rtt = "20ms", buffer = "1bdp" }
    host = { start_jitter = "50ms" }
    flow = [{ cca = "reno" }]
    """
    runs = dumbbell.run(dumbbell.from_text(text), tmp_path / "out")
    figures, flows = pl.from_arrow(runs.to_table()), pl.from_arrow(runs.table("flows"))
    assert isinstance(figures, pl.DataFrame)
    assert isinstance(flows, pl.DataFrame)
    for frame in (figures, flows):
        assert frame["seed"].to_list() == [run.seed for run in runs]
    assert figures["vary.seed"].to_list() == [5, 5, 7, 7]
    assert flows["vary.seed"].to_list() == [5, 5, 7, 7]
    assert len({run.seed for run in runs}) == 4


def test_a_folder_that_is_none_says_so(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="no such folder"):
        load(tmp_path / "missing")
    with pytest.raises(ResultError, match="holds no results"):
        load(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "manifest.json").write_text("{")
    with pytest.raises(ResultError, match=r"manifest\.json: damaged: Input data was truncated"):
        load(tmp_path)
    (tmp_path / "run" / "manifest.json").write_text(json.dumps({"schema_version": 99}))
    with pytest.raises(ResultError, match="format version 99, wanted 3: made by a newer dumbbell"):
        load(tmp_path)


@pytest.mark.parametrize(
    "error",
    [
        OSError("Unknown error: Failed to launch worker thread: Resource temporarily unavailable"),
        OSError(errno.EMFILE, "Too many open files"),
        pa.ArrowMemoryError("malloc of size 64 failed"),
    ],
)
def test_a_table_for_which_there_is_no_room_is_not_called_damaged(
    results: Results, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(pq, "ParquetFile", fail)
    with pytest.raises(EngineError, match=r"samples\.parquet: not read: "):
        _ = load(results[0].folder)[0].samples
