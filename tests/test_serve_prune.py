"""Old results of the live page make room for new ones; nothing goes that is looked at, runs, or is somebody else's."""

from __future__ import annotations

import os
import time
from pathlib import Path

from dumbbell.runs.place import MADE
from dumbbell.serve import prune
from dumbbell.serve.limits import Keep
from serving import SCENARIO, serving

KB = 1000
NO_LIMIT = Keep(10**6, 10**12)


def made(results: Path, name: str, *, minutes_ago: float, size: int = KB) -> Path:
    """A folder as the server leaves it."""
    folder = results / name
    (folder / "run").mkdir(parents=True)
    (folder / "run" / "samples.parquet").write_bytes(bytes(size))
    (folder / MADE).touch()
    then = time.time() - 60 * minutes_ago
    os.utime(folder / MADE, (then, then))
    return folder


def names(results: Path) -> list[str]:
    return sorted(path.name for path in results.iterdir())


def test_the_oldest_go_first_until_the_number_is_right(tmp_path: Path) -> None:
    for minutes in (2, 4, 3):
        made(tmp_path, f"live-{minutes}", minutes_ago=minutes)
    assert prune.prune(tmp_path, NO_LIMIT._replace(folders=2), set()) == ["live-4"]
    assert names(tmp_path) == ["live-2", "live-3"]


def test_the_oldest_go_first_until_the_bytes_are_few_enough(tmp_path: Path) -> None:
    for minutes in (2, 3, 4):
        made(tmp_path, f"live-{minutes}", minutes_ago=minutes, size=1000 * KB)
    limit = 1100 * KB
    assert prune.prune(tmp_path, NO_LIMIT._replace(disk_bytes=limit), set()) == ["live-4", "live-3"]


def test_what_is_shown_stays_and_the_next_oldest_goes(tmp_path: Path) -> None:
    for minutes in (2, 3, 4):
        made(tmp_path, f"live-{minutes}", minutes_ago=minutes)
    assert prune.prune(tmp_path, NO_LIMIT._replace(folders=2), {"live-4"}) == ["live-3"]


def test_what_has_just_ended_stays_until_its_page_has_asked_for_it(tmp_path: Path) -> None:
    made(tmp_path, "live-1", minutes_ago=0.5)
    assert prune.prune(tmp_path, Keep(0, 0), set()) == []


def test_what_no_server_made_stays(tmp_path: Path) -> None:
    mine = made(tmp_path, "mine", minutes_ago=9)
    (mine / MADE).unlink()
    (tmp_path / "trace").write_text("1\n")
    outside = made(tmp_path.parent / "outside", "live-1", minutes_ago=9)
    (tmp_path / "link").symlink_to(outside)
    assert prune.prune(tmp_path, Keep(0, 0), set()) == []
    assert names(tmp_path) == ["link", "mine", "trace"]
    assert (outside / "run").is_dir()


def test_a_page_shows_what_it_asked_for_last() -> None:
    shown = prune.Shown()
    shown.note("a", ["live-1"])
    shown.note("b", ["live-2"])
    shown.note("a", ["live-3", "live-4"])
    assert shown.names() == {"live-2", "live-3", "live-4"}
    for i in range(prune.PAGES):
        shown.note(f"later-{i}", [])
    assert shown.names() == set()


def test_a_server_prunes_when_a_run_ends_but_not_what_a_page_shows(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with serving(out, "--max-folders", "2") as server:
        for minutes in (2, 3, 4):
            made(out, f"two-{minutes}", minutes_ago=minutes)
        looked_at = server.run(SCENARIO)[0]["begin"]["job"]
        assert looked_at == "two-5"  # two runs never have the same name, also when the first is gone
        assert names(out) == ["two-2", "two-5"]
        server.ask(f"/api/document?run={looked_at}", headers={"X-Page": "mine"})
        os.utime(out / looked_at / MADE, (0, 0))
        server.run(SCENARIO)
        assert names(out) == ["two-5", "two-6"]


def test_what_a_killed_server_had_begun_to_remove_is_cleared(tmp_path: Path) -> None:
    out = tmp_path / "out"
    made(out, "live-1", minutes_ago=2).rename(out / ".gone-live-1")
    with serving(out) as server:
        assert server.json("/api/runs") == {"runs": [], "jobs": []}
        assert names(out) == []
