"""Sweeps: the same bytes whoever runs them, whole folders only, and nothing lost."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import dumbbell
from conftest import SMALL
from dumbbell import ResultError, ScenarioError, _native, from_text, load
from dumbbell.errors import EngineError
from dumbbell.plan import origin
from dumbbell.runs.execute import Execution
from dumbbell.runs.job import Job, Outcome
from dumbbell.runs.jobs import jobs_of
from dumbbell.runs.place import Place
from dumbbell.scenario.file import Given

TABLES = ("flows", "samples", "queue", "events")


def tables(folder: Path) -> dict[str, bytes]:
    return {
        f"{run.folder.name}/{name}": (run.folder / f"{name}.parquet").read_bytes()
        for run in load(folder)
        for name in TABLES
    }


def run(text: str, out: Path, **options: Any) -> list[Outcome]:
    with going(text, out, **options) as made:
        return list(made.outcomes())


def going(text: str, out: Path, *, workers: int = 1, **options: Any) -> Execution:
    return Execution(jobs_of([Given(from_text(text), text)], Path()), Place(out, **options), workers=workers)


def test_one_and_two_workers_and_a_second_run_write_the_same_bytes(tmp_path: Path) -> None:
    text = SMALL + "\n[record]\nevery = '10ms'\n"
    for name, workers in (("one", 1), ("two", 2), ("again", 2)):
        assert all(outcome.error is None for outcome in run(text, tmp_path / name, workers=workers))
    one = tables(tmp_path / "one")
    assert len(one) == 2 * len(TABLES)
    assert one == tables(tmp_path / "two") == tables(tmp_path / "again")


def test_random_loss_and_jitter_are_the_same_for_any_number_of_workers(tmp_path: Path) -> None:
    text = SMALL.replace("[path]", '[path]\nloss = "1%"\njitter = { spread = "2ms" }')
    run(text, tmp_path / "one", workers=1)
    run(text, tmp_path / "two", workers=2)
    assert tables(tmp_path / "one") == tables(tmp_path / "two")


def test_another_seed_gives_other_results_where_something_is_random(tmp_path: Path) -> None:
    text = SMALL.replace("[path]", '[path]\nloss = "1%"')
    run(text, tmp_path / "one")
    run("seed = 2\n" + text, tmp_path / "two")
    assert tables(tmp_path / "one") != tables(tmp_path / "two")


def test_outcomes_come_in_order_whichever_ends_first(tmp_path: Path) -> None:
    text = SMALL.replace('duration = "2s"', 'duration = ["4s", "1s"]').replace('["0.5bdp", "2bdp"]', '"1bdp"')
    outcomes = run(text, tmp_path / "out", workers=2)
    assert [outcome.job.planned.vary["duration"] for outcome in outcomes] == ["4s", "1s"]


def test_the_manifest_tells_where_a_result_comes_from(tmp_path: Path) -> None:
    outcome, _ = run(SMALL, tmp_path / "out")
    manifest = json.loads((outcome.job.folder / "manifest.json").read_text())
    assert manifest["scenario"] == SMALL
    assert manifest["plan"] == outcome.job.planned.plan
    assert manifest["vary"] == {"path.buffer": "0.5bdp"}
    assert set(manifest) == {
        "schema_version", "name", "position", "vary", "repetition", "seed", "scenario", "set", "plan", "summary",
        "warnings", "versions", "digests", "git",
        "kernel", "created", "wall_s", "backend", "controllers", "files",
    }  # fmt: skip
    assert set(manifest["versions"]) == {"dumbbell", "engine", "python"}
    known = _native.digests()
    assert manifest["digests"] == {name: known[name] for name in ("engine", "cca/bbr", "cca/cubic")}


def test_a_checkout_is_believed_before_what_a_killed_build_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "python" / "dumbbell" / "runs" / "origin.py"
    monkeypatch.setattr(origin, "__file__", str(module))
    monkeypatch.setitem(sys.modules, "dumbbell._build", SimpleNamespace(COMMIT="left"))
    for folder in ("tools", ".git"):
        (tmp_path / folder).mkdir()
    (tmp_path / ".git" / "HEAD").write_text("checked out\n")
    assert origin.git_revision() == "left"  # a package below somebody else's repository
    (tmp_path / "tools" / "build_backend.py").touch()
    assert origin.git_revision() == "checked out"
    (tmp_path / ".git").rename(tmp_path / "gone")
    assert origin.git_revision() == "left"  # a source distribution


def test_resume_keeps_what_is_finished_and_runs_what_is_missing(tmp_path: Path) -> None:
    first, second = run(SMALL, tmp_path / "out")
    kept = (first.job.folder / "manifest.json").stat().st_mtime_ns
    for file in second.job.folder.iterdir():
        file.unlink()
    second.job.folder.rmdir()
    again = run(SMALL, tmp_path / "out", resume=True)
    assert [outcome.was_there for outcome in again] == [True, False]
    assert (first.job.folder / "manifest.json").stat().st_mtime_ns == kept
    assert len(load(tmp_path / "out")) == 2


def test_resume_refuses_the_result_of_another_plan(tmp_path: Path) -> None:
    run(SMALL, tmp_path / "out")
    with pytest.raises(ResultError, match="holds the result of another plan"):
        run(SMALL.replace("20Mbps", "30Mbps"), tmp_path / "out", resume=True)


@pytest.mark.parametrize(
    ("changed", "others"),
    [("engine", "engine"), ("cca/cubic", "cca/cubic"), ("cca/reno", ""), ("modules", ""), ("all", "")],
)
def test_resume_refuses_the_result_of_another_engine_or_controller(
    tmp_path: Path, double: ModuleType, changed: str, others: str
) -> None:
    run(SMALL, tmp_path / "out")
    known = double.digests()
    double.digests = lambda: {**known, changed: "another"}  # type: ignore[attr-defined]
    if not others:
        assert all(outcome.was_there for outcome in run(SMALL, tmp_path / "out", resume=True))
        return
    with pytest.raises(ResultError, match=f"made by another build than this, with another {others}; --force replaces"):
        run(SMALL, tmp_path / "out", resume=True)


def test_resume_refuses_a_result_that_does_not_say_with_which_engine_it_was_made(tmp_path: Path) -> None:
    first, _ = run(SMALL, tmp_path / "out")
    file = first.job.folder / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "digests": {}}))
    with pytest.raises(ResultError, match="and does not say with which engine; --force replaces all results"):
        run(SMALL, tmp_path / "out", resume=True)


def test_a_folder_that_holds_something_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(
        ResultError, match=r"holds thesis.tex already; --resume runs only what is missing, --force replaces results"
    ):
        run(SMALL, tmp_path)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_that_fails_leaves_no_folder_and_the_others_run(tmp_path: Path, double: ModuleType, workers: int) -> None:
    text = SMALL.replace('cca = "cubic"', 'cca = "cubic"\nsize = ["666B", "1MB"]')
    outcomes = run(text, tmp_path / "out", workers=workers)
    assert [type(outcome.error) for outcome in outcomes] == [EngineError, type(None)] * 2
    assert str(outcomes[0].error).endswith("flow0.size=666B: Input/output error")
    assert sorted(path.name for path in (tmp_path / "out").iterdir() if path.is_dir()) == [
        outcomes[i].job.folder.name for i in (1, 3)
    ]


def test_a_plan_that_the_engine_refuses_is_bad_input(tmp_path: Path, double: ModuleType) -> None:
    outcome, _ = run(SMALL.replace('cca = "cubic"', 'cca = "cubic"\nsize = "667B"'), tmp_path / "out")
    assert isinstance(outcome.error, ScenarioError)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_stops_the_running_ones_and_keeps_the_finished(tmp_path: Path, workers: int) -> None:
    text = SMALL.replace('"2s"', '["1s", "3000s"]').replace('["0.5bdp", "2bdp"]', '"1bdp"')
    planned = jobs_of([Given(from_text(text), text)], Path())
    watcher = Interrupting() if workers == 1 else None
    with Execution(planned, Place(tmp_path), workers=workers, progress=watcher) as made:
        outcomes = made.outcomes()
        assert next(outcomes).error is None
        if workers == 1:
            with pytest.raises(KeyboardInterrupt):
                next(outcomes)
    assert [run.vary["duration"] for run in load(tmp_path)] == ["1s"]
    assert not list(tmp_path.glob(".tmp-*"))


class Interrupting:
    """Interrupts long runs."""

    def expect(self, jobs: Iterable[Job]) -> None:
        """Nothing yet."""

    def observe(self, job: Job, _sim_ns: int, _packets: int) -> None:
        """Interrupt a long one."""
        if job.planned.vary["duration"] == "3000s":
            raise KeyboardInterrupt

    def clear(self) -> None:
        """Nothing is shown."""


def test_two_scenarios_of_one_name_are_refused() -> None:
    scenario = Given(from_text(SMALL), SMALL)
    with pytest.raises(ScenarioError, match=r'name: two scenarios .*are called "small"'):
        jobs_of([scenario, scenario], Path())


def test_folder_names_are_short_and_of_their_own() -> None:
    text = SMALL.replace('["0.5bdp", "2bdp"]', str(["500kB", "20ms", "1 bdp"]).replace("'", '"')).replace(
        "20Mbps", "20Mbit/s"
    )
    names = [job.folder.name for job in jobs_of([Given(from_text(text), text)], Path())]
    assert names == ["small_buffer=500kB", "small_buffer=20ms", "small_buffer=1-bdp"]


def test_python_takes_a_scenario_a_file_or_dictionaries(tmp_path: Path, small: Path) -> None:
    made = dumbbell.Scenario(
        name="small",
        duration="2s",
        path=dumbbell.Path(rate="20Mbps", rtt="20ms", buffer=["0.5bdp", "2bdp"]),
        flow=[dumbbell.Flow(cca="cubic"), dumbbell.Flow(cca="bbr", start="137ms")],
    )
    import tomllib

    for name, given in (("scenario", made), ("file", small), ("dict", tomllib.loads(SMALL))):
        results = dumbbell.run(given, tmp_path / name, jobs=1)
        assert [run.vary for run in results] == [{"path.buffer": "0.5bdp"}, {"path.buffer": "2bdp"}]
    assert tables(tmp_path / "scenario") == tables(tmp_path / "file") == tables(tmp_path / "dict")


def test_resume_knows_a_plan_with_steps_again(tmp_path: Path) -> None:
    text = (
        'duration = "1s"\n[path]\nrate = { steps = [["0s", "10Mbps"], ["500ms", "5Mbps"]] }\nrtt = "20ms"\nbuffer ='
        ' "1bdp"\n[[flow]]\ncca = "reno"\n'
    )
    first = dumbbell.run(dumbbell.from_text(text), tmp_path / "out")[0].manifest["created"]
    again = dumbbell.run(dumbbell.from_text(text), tmp_path / "out", resume=True)[0].manifest
    assert again["created"] == first


def test_without_a_folder_results_live_as_long_as_one_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    results = dumbbell.run(from_text(SMALL), jobs=1)
    assert list(tmp_path.iterdir()) == []  # no ./results
    last = results[1]
    home = last.folder.parent
    assert tmp_path not in home.parents
    del results
    gc.collect()
    assert last.samples.num_rows > 0
    del last
    gc.collect()
    assert not home.exists()
