"""Why flows got what they got, asked of the server of the live page: of a finished run, at a time, within its limits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import dumbbell
from dumbbell.errors import ResultError
from dumbbell.explain.told import Told
from dumbbell.serve.check import Desk
from dumbbell.serve.checker import Checkers
from dumbbell.serve.limits import Limits
from serving import SCENARIO, Server, serving

HELD_BY = "cubic was held by the receive window 100 % of the time"
#: The page calls the flow by its controller's own name.
HELD = {**SCENARIO, "name": "held", "host": {"rcvbuf": "16kB"}, "flow": [{"cca": "cubic", "start": "1s"}]}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("why") / "out") as made:
        yield made


@pytest.fixture(scope="module")
def job(server: Server) -> str:
    news = server.run(HELD)
    return str(news[0]["begin"]["job"])


def of_page(told: Told) -> list[str]:
    return [text.replace("cubic", "CUBIC") for text in told.sentences]


def test_a_run_is_explained_as_in_python(server: Server, job: str) -> None:
    said = dumbbell.why(dumbbell.load(server.out / job)[0])
    assert said.sentences[0].lower().startswith(HELD_BY)
    assert server.json("/api/why", {"run": job}) == {"sentences": of_page(said), "note": ""}


def test_a_time_has_its_own_sentences(server: Server, job: str) -> None:
    run = dumbbell.load(server.out / job)[0]
    at = {time: server.json("/api/why", {"run": job, "number": 0, "at": time})["sentences"] for time in (1.01, 4)}
    assert at == {time: of_page(dumbbell.why(run, at=time)) for time in at}
    assert at[1.01] != at[4]


@pytest.mark.parametrize(
    ("posted", "message"),
    [
        ({}, "run: got null"),
        ({"run": "../out"}, "wanted the name of a folder of results"),
        ({"run": "none-1"}, "wanted the name of a folder of results"),
        ({"number": 1}, "number: got 1, wanted one below 1"),
        ({"number": True}, "number: got true, wanted the number of a run from 0"),
        ({"at": "now"}, 'at: got "now", wanted a time in seconds'),
        ({"at": 99}, "got 99 s, wanted a time from 1 to 5 s, in which the flow is there"),
    ],
)
def test_what_is_no_time_of_a_run_is_refused(server: Server, job: str, posted: dict[str, object], message: str) -> None:
    status, _, body = server.ask("/api/why", {"run": job, **posted} if posted else {})
    assert status == 422
    assert message in json.loads(body)["error"]


def test_a_run_with_a_recording_is_made_again_from_the_servers_folder(server: Server) -> None:
    kept = server.json("/api/record", {"name": "steps.csv", "text": "time_s,rate_mbps\n0,20\n1,10\n2,20\n"})
    trace = {"trace": kept["path"], "repeat": True}
    news = server.run({**HELD, "name": "recorded", "path": {**SCENARIO["path"], "rate": trace}})  # type: ignore[dict-item]
    found = server.json("/api/why", {"run": news[0]["begin"]["job"]})
    assert found["note"] == ""
    assert found["sentences"][0].lower().startswith(HELD_BY)


def doctored(server: Server, job: str, name: str, **fields: object) -> str:
    """A copy of the run whose manifest says something else."""
    whole = server.out / job / "held"
    copy = server.out / name / "held"
    copy.mkdir(parents=True)
    for file in whole.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    manifest = json.loads((whole / "manifest.json").read_text())
    (copy / "manifest.json").write_text(json.dumps({**manifest, **fields}))
    return name


def test_a_run_that_took_long_is_not_made_again(server: Server, job: str) -> None:
    found = server.json("/api/why", {"run": doctored(server, job, "slow", wall_s=11.0)})
    assert found["sentences"] == []
    assert found["note"].startswith("Not explained: it would be made again for its tables")


def test_a_controller_in_a_file_is_not_loaded(server: Server, job: str, tmp_path: Path) -> None:
    mine = [{"name": "cubic", "file": str(tmp_path / "mine.py")}]
    found = server.json("/api/why", {"run": doctored(server, job, "own", controllers=mine)})
    assert found["note"].startswith("Not explained: its controller is a file, which this server does not load")


def test_an_explanation_that_takes_too_long_ends_with_its_process(server: Server, job: str) -> None:
    desk = Desk(server.out, Limits())
    checkers = Checkers(desk, time_s=0.01)
    try:
        with pytest.raises(ResultError, match=r"explaining this run takes longer than 0\.01 s"):
            checkers.why({"run": str(server.out / job)}, desk)
    finally:
        checkers.end()
