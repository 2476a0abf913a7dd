"""Runs that `dumbbell explain` makes again: to prove a cause, and for tables; and the command."""

from __future__ import annotations

import json
from typing import Any

import pytest

import dumbbell
from dumbbell.errors import ResultError
from dumbbell.explain.explained import explain

PATH = {"rate": "100Mbps", "rtt": "40ms", "buffer": "1bdp"}


def flow(cca: str = "cubic", **keys: Any) -> dict[str, Any]:
    return {"name": "main", "cca": cca, **keys}


def test_a_proof_is_the_run_without_the_cause():
    scenario = {"name": "case", "duration": "12s", "path": PATH, "flow": [flow()], "host": {"rcvbuf": "64kB"}}
    (said,) = explain(dumbbell.run(scenario)[0], proves=True)
    proof = said.causes[0].proof
    assert proof
    assert proof.is_why
    assert "that is why" in said.causes[0].sentence
    assert proof.change == 'host.rcvbuf="auto"'


def test_what_changes_nothing_is_not_why():
    scenario = {
        "name": "case",
        "duration": "12s",
        "path": {**PATH, "rate": "4Mbps", "loss": 0.0002},
        "flow": [flow("bbr")],
    }
    result = dumbbell.run(scenario)[0]
    for said in explain(result, proves=True, everything=True):
        assert all(not cause.proof.is_why for cause in said.causes if cause.proof)


def of_uml(result: dumbbell.Result) -> dumbbell.Result:
    """The same run as one that is not made again: its manifest names another back end."""
    file = result.folder / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "backend": "uml"}))
    return dumbbell.Result(result.folder)


def small(**keys: Any) -> dict[str, Any]:
    return {"name": "case", "duration": "3s", "path": PATH, "flow": [flow()], "host": {"rcvbuf": "64kB"}, **keys}


def test_a_proof_that_cannot_be_made_is_named_with_its_reason(tmp_path):
    result = of_uml(dumbbell.run(small(record={"limits": True}), tmp_path / "out")[0])
    (said,) = explain(result, proves=True)
    assert said.untold == ""
    assert said.causes[0].proof is None
    reason = "only runs of the simulator are made again, and this is one of uml"
    assert said.causes[0].sentence.endswith(f"; not proved: {reason}.")


def test_what_a_run_without_tables_does_not_show_is_said_once(tmp_path):
    result = of_uml(dumbbell.run(small(), tmp_path / "out")[0])
    (said,) = explain(result)
    assert "receive-window" not in [cause.rule for cause in said.causes]
    assert said.untold.startswith("It has no limits, so what only they show is not told: only runs of the simulator")


def test_a_run_that_is_another_one_when_made_again_is_not_explained_by_it(tmp_path):
    result = dumbbell.run(small(), tmp_path / "out")[0]
    file = result.folder / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["summary"]["flows"][0]["packets_sent"] += 1
    file.write_text(json.dumps(manifest))
    (said,) = explain(dumbbell.Result(result.folder))
    assert "made again here it is another run" in said.untold


def test_a_flow_that_there_is_not_is_refused():
    scenario = {"name": "case", "duration": "2s", "path": PATH, "flow": [flow()]}
    with pytest.raises(ResultError, match='got "other", wanted one of: main'):
        explain(dumbbell.run(scenario)[0], "other")


def test_the_command_says_it_in_a_sentence(cli, tmp_path):
    (tmp_path / "x.toml").write_text(
        'duration = "8s"\n[path]\nrate = "100Mbps"\nrtt = "40ms"\nbuffer = "1bdp"\n[host]\nrcvbuf = "64kB"\n[[flow]]\ncca = "cubic"\n'
    )
    cli("run", "x.toml", "--out", "out")
    assert "cubic was held by the receive window" in cli("explain", "out").stdout
    (line,) = cli("explain", "out", "--json", "--prove").stdout.splitlines()
    assert json.loads(line)["causes"][0]["proof"]["is_why"]
