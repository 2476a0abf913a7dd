"""The section "Why" of `dumbbell report`: what `dumbbell explain` says, where it is cheap, and what it says where not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell.cli import main
from dumbbell.explain import told
from dumbbell.report.document import document
from dumbbell.report.gathered import gather

#: What is read of a run that is not made again.
TABLES = {"limits": True, "variables": True, "every": "20ms"}
PATH = {"rate": "100Mbps", "rtt": "40ms", "buffer": "1bdp"}
HELD = {
    "name": "held", "duration": "3s", "path": PATH, "host": {"rcvbuf": "64kB", "start_jitter": "50ms"},
    "flow": [{"name": "main", "cca": "cubic"}, {"cca": "bbr"}],
}  # fmt: skip


def made(*folders: Path, **window: Any) -> dict[str, Any]:
    asked = {"start_s": None, "end_s": None, "title": None, **window}
    return document(gather(folders, **asked), folders[0].parent / "page.html")


def test_a_run_is_explained_as_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dumbbell.run(HELD, tmp_path / "out")
    found = made(tmp_path / "out")["why"]
    assert main(["explain", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("main ")
    (case,) = found["cases"]
    assert case == {"case": "", "sentences": [said[0], *(f"BBR{text[3:]}" for text in said[1:])], "note": ""}
    assert found["notes"] == []


def test_of_a_sweep_the_first_repetition_of_each_combination_is_told(tmp_path: Path) -> None:
    path = {**PATH, "buffer": ["1bdp", "2bdp"]}
    dumbbell.run({**HELD, "path": path, "repetitions": 2}, tmp_path / "out")
    found = made(tmp_path / "out", start_s=1.0)["why"]
    assert [case["case"] for case in found["cases"]] == ["buffer 1 BDP", "buffer 2 BDP"]
    assert all("main was held by the receive window" in case["sentences"][0] for case in found["cases"])
    assert found["notes"] == [
        "Of the first repetition.",
        "Of the part that each scenario measures, whatever --from and --to choose.",
    ]


def test_a_report_of_many_combinations_says_why_it_does_not_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dumbbell.report.why.RUNS", 1)
    dumbbell.run({**HELD, "path": {**PATH, "buffer": ["1bdp", "2bdp"]}}, tmp_path / "out")
    found = made(tmp_path / "out")["why"]
    assert found["cases"] == []
    left_out = "Left out: 2 combinations, and at most 1 are explained here."
    assert found["notes"] == [f"{left_out} `dumbbell explain out --run NAME` explains one run."]


def test_a_run_that_would_take_long_again_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told, "AGAIN_S", 0.0)
    dumbbell.run(HELD, tmp_path / "out")
    (case,) = made(tmp_path / "out")["why"]["cases"]
    assert case["sentences"] == []
    assert case["note"].startswith("Not explained: it would be made again for its tables")
    dumbbell.run({**HELD, "record": TABLES}, tmp_path / "has")
    (case,) = made(tmp_path / "has")["why"]["cases"]
    assert case["sentences"]


def test_what_moved_between_two_folders_is_told_by_its_causes(tmp_path: Path) -> None:
    dumbbell.run({**HELD, "repetitions": 3}, tmp_path / "before")
    dumbbell.run({**HELD, "repetitions": 3, "host": {"start_jitter": "50ms"}, "duration": "8s"}, tmp_path / "after")
    report = made(tmp_path / "before", tmp_path / "after")
    (main_, bbr) = report["changes"]["why"]
    assert main_.startswith("main: in before it was held by the receive window")
    assert "; in after it " in main_
    assert bbr.startswith("bbr: in before it was held by the receive window")
    assert report["why"] == {"cases": [], "notes": []}


def test_a_comparison_tells_the_causes_of_each_side(tmp_path: Path) -> None:
    for name, host in (("sim", {}), ("twin", {"rcvbuf": "64kB"})):
        scenario = {**HELD, "host": host, "duration": "8s", "record": {"limits": True}}
        (run,) = dumbbell.run(scenario, tmp_path / "both" / name)
        file = run.folder / "manifest.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "backend": name}))
    report = made(tmp_path / "both")
    (row,) = report["comparison"]["rows"]
    assert row["causes"][0].startswith("main: on sim it ")
    assert "; on twin it was held by the receive window" in row["causes"][0]
    assert report["why"] == {"cases": [], "notes": []}
