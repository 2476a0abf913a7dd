"""The store of runs: known by their content, run once, and safe from whatever ends a process."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import dumbbell
from conftest import SMALL
from dumbbell import ScenarioError, from_text
from dumbbell.backends import builds
from dumbbell.backends.folder import damage
from dumbbell.errors import DiskFullError
from dumbbell.runs.execute import execute
from dumbbell.runs.job import Job
from dumbbell.runs.jobs import jobs_of
from dumbbell.runs.place import Place
from dumbbell.runs.store import LOCKS, Store
from dumbbell.scenario.file import Given
from dumbbell.scenario.own import Own

TABLES = ("flows", "samples", "queue", "events")


def jobs(text: str = SMALL, **options: Any) -> list[Job]:
    return jobs_of([Given(from_text(text), text)], Path(), **options)


def made_in(store: Store, wanted: list[Job], workers: int | None = None) -> Iterator[tuple[Job, Path]]:
    """Each of these runs with its folder in the store, where it is made if it is missing."""
    for outcome in execute(wanted, None, store=store, workers=workers):
        if outcome.error is not None:
            raise outcome.error
        yield outcome.job, store.folder(store.key(outcome.job.request))


def tables(folder: Path) -> dict[str, bytes]:
    return {name: (folder / f"{name}.parquet").read_bytes() for name in TABLES}


def runs_in(store: Path) -> list[Path]:
    return sorted(path.parent for path in store.glob("??/[!.]*/manifest.json"))


def test_a_run_has_the_bytes_that_it_has_elsewhere_and_is_made_once(tmp_path: Path) -> None:
    store, made = Store(tmp_path / "store"), []
    counting = Store(
        tmp_path / "store", make=lambda request, folder: made.append(folder) or store._make(request, folder)
    )  # type: ignore[func-returns-value]
    for _ in range(2):
        for job, folder in made_in(counting, jobs()):
            assert store.get(store.key(job.request)) == folder
    assert len(made) == len(runs_in(tmp_path / "store")) == 2
    dumbbell.run(from_text(SMALL), tmp_path / "plain")
    for job, folder in made_in(counting, jobs()):
        assert tables(folder) == tables(tmp_path / "plain" / job.folder.name)
    assert list((tmp_path / "store" / LOCKS).iterdir()) == []


def test_runs_are_shared_by_whoever_asks_and_each_has_them_under_its_own_names(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    first = jobs()
    assert len(list(made_in(store, first))) == 2
    other = SMALL.replace('name = "small"', 'name = "other"').replace("[path]", '[measure]\nfrom = "1s"\n\n[path]')
    other = other.replace('["0.5bdp", "2bdp"]', '["2bdp", "3bdp"]')
    second = jobs(other)
    assert store.get(store.key(second[0].request)) == store.get(store.key(first[1].request))
    list(made_in(store, second))
    assert len(runs_in(store.path)) == 3
    for one, asked in ((store.results(first), first), (store.results(second), second)):
        assert [run.vary for run in one] == [job.planned.vary for job in asked]
        assert [(run.name, run.manifest.position) for run in one] == [
            (job.planned.name, i) for i, job in enumerate(asked)
        ]
    assert [run.plan.window for run in store.results(second)] == [(1.0, 2.0)] * 2
    assert [run.plan.window for run in store.results(first)] == [None] * 2


def test_a_sweep_with_a_store_writes_the_folders_that_one_without_it_writes(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    for out, kept in (("plain", None), ("first", store), ("again", store)):
        outcomes = execute(jobs(), Place(tmp_path / out), store=kept, workers=2)
        assert all(outcome.error is None for outcome in outcomes)
    names = sorted(path.name for path in (tmp_path / "plain").iterdir())
    for out in ("first", "again"):
        assert sorted(path.name for path in (tmp_path / out).iterdir()) == names
        for run in dumbbell.load(tmp_path / out):
            assert tables(run.folder) == tables(tmp_path / "plain" / run.folder.name)
            manifest, plain = (
                json.loads((tmp_path / folder / run.folder.name / "manifest.json").read_text())
                for folder in (out, "plain")
            )
            assert not damage(run.folder, manifest)
            assert {**manifest, "wall_s": 0, "created": ""} == {**plain, "wall_s": 0, "created": ""}
    assert (tmp_path / "first" / names[0] / "flows.parquet").stat().st_nlink == 3


SAME = [
    {"name": "another"},
    {"measure": {"from": "1s"}},
    {"limits": {"memory": "1GiB"}},
]
OTHER = [
    {"seed": 2},
    {"duration": "3s"},
    {"flow": [{"cca": "bbr"}]},
    {"flow": [{"cca": "cubic", "params": {"beta": 700}}]},
    {"record": {"samples": False}},
    {"host": {"ecn": True}},
]
BASE: dict[str, Any] = {
    "duration": "2s",
    "path": {"rate": "10Mbps", "rtt": "20ms", "buffer": "1bdp"},
    "flow": [{"cca": "cubic"}],
}


def key_of(changed: dict[str, Any], **options: Any) -> str:
    scenario = dumbbell.from_dict({**BASE, **changed})
    (job,) = jobs_of([Given(scenario, "")], Path(), **options)
    return builds.key(job.request)


@pytest.mark.parametrize("changed", SAME)
def test_what_changes_no_table_changes_no_key(changed: dict[str, Any]) -> None:
    assert key_of(changed) == key_of({})


@pytest.mark.parametrize("changed", OTHER)
def test_what_changes_tables_changes_the_key(changed: dict[str, Any]) -> None:
    assert key_of(changed) != key_of({})


@pytest.mark.parametrize(
    ("changed", "keys"),
    [("engine", 2), ("cca/cubic", 2), ("cca/bbr", 1), ("modules", 1), ("all", 1)],
)
def test_another_engine_or_another_controller_of_the_plan_changes_the_key(
    changed: str, keys: int, double: ModuleType
) -> None:
    before, known = key_of({}), double.digests()
    double.digests = lambda: {**known, changed: "changed"}  # type: ignore[attr-defined]
    assert len({before, key_of({})}) == keys


def test_every_controller_has_a_digest_and_variants_have_that_of_what_they_share() -> None:
    from dumbbell import _native, controllers

    digests = _native.digests()
    assert {name.removeprefix("cca/") for name in digests if "/" in name} == set(controllers.known())
    assert len(set(digests.values())) == len(digests)


def test_a_controller_of_ones_own_is_known_by_its_text_and_only_where_it_runs(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    keys = []
    for window in (10, 20):
        file.write_text(f"class Mine:\n    def on_ack(self, sample):\n        return {window}, None\n")
        own = Own.load([file])
        keys.append(key_of({"flow": [{"cca": "mine"}]}, own=own))
        assert key_of({}, own=own) == key_of({})
    assert keys[0] != keys[1]
    with pytest.raises(ScenarioError, match="is a class without a file"):
        key_of(
            {"flow": [{"cca": "held"}]}, own=Own.load([], {"held": type("Held", (), {"on_ack": lambda *_: (4, None)})})
        )


def test_a_trace_is_known_by_its_content_wherever_it_lies(tmp_path: Path) -> None:
    keys = []
    for folder, content in (("a", "1\n2\n"), ("b", "1\n2\n"), ("c", "1\n3\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "t").write_text(content)
        keys.append(key_of({"path": {**BASE["path"], "rate": {"trace": str(tmp_path / folder / "t")}}}))
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize("harm", ["truncate", "remove", "manifest"])
def test_a_damaged_run_is_run_again(tmp_path: Path, harm: str) -> None:
    store = Store(tmp_path)
    ((_, folder),) = made_in(store, jobs()[:1])
    before = tables(folder)
    if harm == "remove":
        (folder / "queue.parquet").unlink()
    else:
        os.truncate(folder / ("manifest.json" if harm == "manifest" else "samples.parquet"), 100)
    assert store.get(folder.name) is None
    ((_, again),) = made_in(store, jobs()[:1])
    assert (again, tables(again)) == (folder, before)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_comes_in_its_turn_and_what_is_finished_stays(
    tmp_path: Path, double: ModuleType, workers: int
) -> None:
    text = SMALL.replace('cca = "cubic"', 'cca = "cubic"\nsize = ["1MB", "668B", "2MB"]').replace(
        '["0.5bdp", "2bdp"]', '"1bdp"'
    )
    store, got = Store(tmp_path), []
    with pytest.raises(DiskFullError):
        got.extend(folder for _, folder in made_in(store, jobs(text), workers))
    assert [store.get(folder.name) for folder in got] == got
    assert len(runs_in(tmp_path)) >= 1
    assert not list(tmp_path.glob("??/.*"))


def test_a_real_full_disk_loses_no_finished_run(tmp_path: Path) -> None:
    tmp_path /= "tiny"
    tmp_path.mkdir()
    mounted = (
        os.geteuid() == 0
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=200k", "none", tmp_path], check=False, capture_output=True
        ).returncode
    )
    if not mounted:
        pytest.skip("no root: cannot mount a small file system")
    try:
        wanted = jobs(SMALL.replace("name =", "repetitions = 15\nname =").replace("[path]", '[path]\nloss = "0.1%"'))
        store, got = Store(tmp_path), []
        with pytest.raises(DiskFullError):
            got.extend(folder for _, folder in made_in(store, wanted, 2))
        finished = runs_in(tmp_path)
        assert finished
        assert all(store.get(folder.name) for folder in finished)
        assert not list(tmp_path.glob("??/.*"))
        subprocess.run(["mount", "-o", "remount,size=20m", tmp_path], check=True)
        assert len(list(made_in(store, wanted, 2))) == 30
        assert all(store.get(folder.name) for folder in finished)
    finally:
        subprocess.run(["umount", tmp_path], check=True)


PROGRAM = """\
import sys
from pathlib import Path
from dumbbell.runs.execute import execute
from dumbbell.runs.jobs import jobs_of
from dumbbell.runs.store import Store
from dumbbell.scenario.file import from_file
from dumbbell import backends
def make(request, folder):
    print("made", folder.name, file=sys.stderr, flush=True)
    return backends.run(request, folder)
store = Store(sys.argv[2], make=make)
for outcome in execute(jobs_of([from_file(sys.argv[1])], Path()), None, store=store, workers=2):
    if outcome.error:
        raise outcome.error
    print(store.key(outcome.job.request), flush=True)
"""


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A scenario of 24 short runs."""
    path = tmp_path / "many.toml"
    path.write_text(SMALL.replace("name =", "repetitions = 12\nname =").replace("[path]", '[path]\nloss = "0.1%"'))
    return path


def process(scenario: Path, store: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, str(scenario), str(store)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_process_that_is_killed_at_any_moment_loses_no_finished_run(many: Path, tmp_path: Path) -> None:
    seed = random.randrange(10**9)
    print("seed", seed)
    draw, store, told = random.Random(seed), Store(tmp_path / "store"), set()
    for _ in range(8):
        going = process(many, store.path)
        time.sleep(draw.uniform(0.15, 0.8))
        going.send_signal(signal.SIGKILL)
        told |= set(going.communicate(timeout=20)[0].split())
        assert all(store.get(key) for key in told)  # what was said to be there is
        assert all(store.get(folder.name) for folder in runs_in(store.path))
    finished = {folder: (folder / "manifest.json").stat().st_mtime_ns for folder in runs_in(store.path)}
    keys = process(many, store.path).communicate(timeout=60)[0].split()
    assert len(set(keys)) == 24
    assert all((folder / "manifest.json").stat().st_mtime_ns == at for folder, at in finished.items())  # none again
    assert not list(store.path.glob("??/.*"))


def test_processes_on_one_store_share_the_work_and_run_nothing_twice(many: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    going = [process(many, store) for _ in range(3)]
    said = [one.communicate(timeout=60) for one in going]
    assert [one.returncode for one in going] == [0, 0, 0]
    assert said[0][0] == said[1][0] == said[2][0]
    made = [line for _, err in said for line in err.splitlines()]
    assert len(made) == len(set(made)) == len(runs_in(store)) == 24
    assert not [*store.glob("??/.*"), *(store / LOCKS).iterdir()]


def test_a_run_that_another_has_under_way_is_waited_for(tmp_path: Path) -> None:
    from dumbbell.runs import locks

    store, (job, *_) = Store(tmp_path), jobs()
    key = store.key(job.request)
    (tmp_path / LOCKS).mkdir()
    held = locks.take(tmp_path / LOCKS / key)
    assert held is not None
    looks: list[int] = []

    def progress(_ns: int, _packets: int) -> None:
        looks.append(len(runs_in(tmp_path)))
        if len(looks) == 3:
            locks.leave(tmp_path / LOCKS / key, held)

    store.put(job.request._replace(progress=progress))
    assert looks[:3] == [0, 0, 0]
    assert store.get(key) is not None


@pytest.mark.parametrize("days", ["nan", "inf", "-inf", "1e308", "-1", "1e9", "soon", ""])
def test_days_that_no_date_has_are_refused(tmp_path: Path, cli: Any, days: str) -> None:
    for action in ("drop", "list"):
        done = cli("store", action, f"--older={days}", "--store", tmp_path)
        assert done.returncode == 2
        assert "wanted a number of days, 0 to 365000" in done.stderr
        assert done.stderr.count("\n") == 1
