"""What the playground answers (`dumbbell.playground`), with the native engine in the place of the browser's: in a process that
cannot import numpy, Arrow or threads' own modules, as Pyodide has none. The engine and the page: tests/wasm.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dumbbell.playground import native

#: Answers what a list of questions asks for, in order; `JOB` is the job that was started last.
PROGRAM = """
import json, sys
from pathlib import Path

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numpy", "pyarrow", "matplotlib", "rich"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
from dumbbell.playground.desk import Answers
answers = Answers(Path(sys.argv[1]))
job = None
for path, asked in json.loads(sys.stdin.read()):
    asked = json.loads(json.dumps(asked).replace("JOB", str(job)))
    told = json.loads(answers.answer(path, json.dumps(asked)))
    if path == "/api/start" and "answer" in told:
        job = told["answer"]["job"]
        told["ended"] = [json.loads(answers.finish(job, i)) for i in range(len(told["answer"]["runs"]))]
        told["zip"] = len(answers.folder(job))
    print(json.dumps(told))
"""
TWO = {
    "name": "two",
    "duration": "3s",
    "path": {"rate": "20Mbps", "rtt": "20ms", "buffer": "1bdp"},
    "flow": [{"cca": "cubic"}, {"cca": "bbr", "start": "137ms"}],
}


def ask(folder: Path, *questions: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers of a new page."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder)], input=json.dumps(questions), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_run_is_told_without_its_tables(tmp_path: Path) -> None:
    known, checked, started, runs, document = ask(
        tmp_path,
        ("/api/known", {}),
        ("/api/check", {"tables": TWO}),
        ("/api/start", {"tables": TWO}),
        ("/api/runs", {}),
        ("/api/document", {"run": ["JOB"]}),
    )
    assert known["answer"]["serverless"] is True
    assert known["answer"]["backends"] == ["sim"]
    assert checked["answer"]["errors"] == []
    assert started["answer"]["job"] == "two-1"
    assert started["ended"] == [{"done": "two"}]
    assert started["zip"] > 10_000
    assert [one["id"] for one in runs["answer"]["runs"]] == ["two-1"]
    told = document["answer"]
    summary = json.loads((tmp_path / "two-1/two/manifest.json").read_text())["summary"]
    assert f"BBR got {summary['flows'][1]['goodput_mbps']:.2f} Mbit/s" in told["verdict"][0]
    assert {"goodput", "share", "queue", "drops"} <= {column["name"] for column in told["table"]["columns"]}
    assert "cwnd" not in {column["name"] for column in told["table"]["columns"]}
    assert told["series"]["runs"] == [{"run": 0, "label": "two", "folder": "two-1", "number": 0}]


def test_a_sweep_has_its_figures(tmp_path: Path) -> None:
    swept = {**TWO, "path": {**TWO["path"], "buffer": ["0.5bdp", "2bdp"]}}  # type: ignore[dict-item]
    _, growing, none, document = ask(
        tmp_path,
        ("/api/start", {"tables": swept}),
        ("/api/growing", {"job": "JOB", "metric": "goodput"}),
        ("/api/growing", {"job": "JOB", "metric": "rtt"}),
        ("/api/document", {"run": ["JOB"]}),
    )
    assert growing["answer"]["runs"] == 2
    assert growing["answer"]["figure"]["forms"]
    assert none["answer"] == {"figure": None, "runs": 0}
    names = [one["metric"] for one in document["answer"]["sweeps"]["figures"]]
    assert {"goodput", "utilization", "queue"} <= set(names)
    assert len(document["answer"]["series"]["runs"]) == 2


def test_what_needs_tables_for_all_figures_says_so(tmp_path: Path) -> None:
    part = {**TWO, "measure": {"from": "1s"}}
    _, document = ask(tmp_path, ("/api/start", {"tables": part}), ("/api/document", {"run": ["JOB"]}))
    assert "the playground cannot" in document["answer"]["verdict"][0]


def test_what_it_has_not_is_refused_with_a_sentence(tmp_path: Path) -> None:
    large = {**TWO, "duration": "3000s", "path": {**TWO["path"], "rate": "10Gbps"}}  # type: ignore[dict-item]
    moment = {**TWO, "path": {**TWO["path"], "rate": {"steps": [["0s", "20Mbps"], ["DRAIN of bbr begins", "10Mbps"]]}}}  # type: ignore[dict-item]
    answers = ask(
        tmp_path,
        ("/api/why", {"run": "JOB", "number": 0}),
        ("/api/start", {"tables": TWO, "on": "linux"}),
        ("/api/start", {"tables": large}),
        ("/api/start", {"tables": moment}),
        ("/api/document", {"run": ["../elsewhere"]}),
        ("/api/start", {"tables": {**TWO, "flow": [{"cca": "./mine.c"}]}}),
    )
    said = [told.get("error") or told["errors"][0]["text"] for told in answers]
    assert said[0] == "the playground does not have this, `dumbbell serve` does"
    assert said[1].startswith('got "linux", wanted one of: sim')
    assert said[2].startswith("got up to ")
    assert "of this server" not in said[2]
    assert said[3].startswith("got steps that come when a controller's state changes")
    assert said[4].endswith("wanted the name of a folder of results")
    assert all(said)


def test_an_answer_of_the_engine_is_what_it_gives_or_an_error() -> None:
    assert native.given('{"given": 3}') == 3
    for name, error in (
        ("plan_error", native.PlanError),
        ("value_error", ValueError),
        ("runtime_error", RuntimeError),
    ):
        with pytest.raises(error, match="why"):
            native.given(json.dumps({name: "why"}))


def test_a_run_that_was_made_elsewhere_is_written_once(tmp_path: Path) -> None:
    engine = native.Engine(lambda _: "")
    engine.finished["plan"] = native.Finished('{"given": "{}"}', {"flows.parquet": b"PAR1"})
    assert engine.run("plan", str(tmp_path)) == "{}"
    assert (tmp_path / "flows.parquet").read_bytes() == b"PAR1"
    with pytest.raises(KeyError):
        engine.run("plan", str(tmp_path))
