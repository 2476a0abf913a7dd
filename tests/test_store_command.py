"""`dumbbell store`: what a store holds, what is found no more, and what leaves it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Cli
from dumbbell.backends.folder import MANIFEST
from dumbbell.runs import kept, locks
from dumbbell.runs.store import LOCKS, Store
from test_store import jobs


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two runs: one that is found, and one of another engine, whose folder bears a key that nobody asks for."""
    made = Store(tmp_path / "store")
    for job in jobs()[:2]:
        made.put(job.request)
    first, other = (made.folder(made.key(job.request)) for job in jobs()[:2])
    moved = made.folder("0" * 64)
    moved.parent.mkdir(exist_ok=True)
    other.rename(moved)
    assert first.is_dir()
    return made


def test_the_list_says_of_each_run_its_size_and_whether_it_is_found(store: Store, cli: Cli) -> None:
    done = cli("store", "list", "--json", "--store", store.path)
    rows = {row["key"]: row for row in map(json.loads, done.stdout.splitlines())}
    found = store.key(jobs()[0].request)
    assert {key: row["is_current"] for key, row in rows.items()} == {found: True, "0" * 64: False}
    for key, row in rows.items():
        assert row["bytes"] == sum(path.stat().st_size for path in store.folder(key).iterdir())
        assert row["on"] == "sim"
    table = cli("store", "list", "--store", store.path)
    assert len(table.stdout.splitlines()) == 4
    assert table.stderr.startswith("2 runs, ")
    assert "1 are found no more" in table.stderr


def test_what_is_found_no_more_goes_and_what_is_found_stays(store: Store, cli: Cli) -> None:
    assert "would drop 1 runs" in cli("store", "drop", "--stale", "--dry-run", "--store", store.path).stderr
    assert len(list(kept.runs(store))) == 2
    assert "dropped 1 runs" in cli("store", "drop", "--stale", "--store", store.path).stderr
    assert [run.is_current for run in kept.runs(store)] == [True]
    assert store.get(store.key(jobs()[0].request)) is not None


def test_a_run_without_a_manifest_is_one_that_is_found_no_more(store: Store) -> None:
    (store.folder("0" * 64) / MANIFEST).unlink()
    assert [run.is_current for run in kept.runs(store)] == [False, True]


def test_conditions_hold_together_and_a_run_under_way_stays(store: Store, cli: Cli) -> None:
    cli("store", "drop", "000", "--older", "1", "--store", store.path)
    assert len(list(kept.runs(store))) == 2, "it is younger than a day"
    stale = next(run for run in kept.runs(store) if not run.is_current)
    (store.path / LOCKS).mkdir(exist_ok=True)
    held = locks.take(store.path / LOCKS / stale.key)
    assert held is not None
    assert not kept.drop(store, stale)
    locks.leave(store.path / LOCKS / stale.key, held)
    assert kept.drop(store, stale)
    assert not stale.folder.exists()


def test_dropping_wants_to_be_told_what(store: Store, cli: Cli) -> None:
    for words, wanted in (((), "--stale, --older DAYS, or --all"), (("ab12",), "first digits of the key")):
        done = cli("store", "drop", *words, "--store", store.path)
        assert done.returncode == 2
        assert wanted in done.stderr
    assert len(list(kept.runs(store))) == 2
