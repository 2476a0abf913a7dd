"""`dumbbell explain`: each rule has a run where it must be told first, and one where it must not be told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

import dumbbell
from dumbbell.errors import ResultError
from dumbbell.explain.explained import explain
from dumbbell.explain.rules import rules

PATH = {"rate": "100Mbps", "rtt": "40ms", "buffer": "1bdp"}
OUTAGE = {**PATH, "rate": {"steps": [["0s", "20Mbps"], ["10s", "0bps"], ["15s", "20Mbps"]]}, "buffer": "100kB"}
PACED = {"kind": "paced", "rate": "5Mbps", "message": "10kB"}


def flow(cca: str = "cubic", **keys: Any) -> dict[str, Any]:
    return {"name": "main", "cca": cca, **keys}


#: Of each rule a scenario that it explains, and a like one that it does not: what differs from a flow of CUBIC on `PATH`.
CASES: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "receive-window": ({"host": {"rcvbuf": "64kB"}}, {}),
    "send-buffer": ({"host": {"sndbuf": "64kB"}}, {}),
    "application": ({"flow": [flow(workload=PACED)]}, {}),
    "random-loss": ({"path": {**PATH, "loss": 0.01}}, {"path": {**PATH, "loss": 0.01}, "flow": [flow("bbr")]}),
    "policer": ({"path": {**PATH, "policer": {"rate": "20Mbps", "burst": "100kB"}}}, {}),
    "probe-rtt-stall": (
        {"path": OUTAGE, "duration": "30s", "flow": [flow("bbr")]},
        {"path": OUTAGE, "duration": "30s", "flow": [flow("bbr2")]},
    ),
    "bottleneck": ({}, {"host": {"rcvbuf": "64kB"}}),
}


@cache
def told(text: str) -> list[str]:
    """The rules that are told of the flow, the first one first."""
    differs = json.loads(text)
    scenario = {"name": "case", "duration": "12s", "path": PATH, "flow": [flow()], **differs}
    (said,) = explain(dumbbell.run(scenario)[0], "main")
    return [cause.rule for cause in said.causes]


@pytest.mark.parametrize("rule", CASES)
def test_the_mechanism_is_told_first_where_it_is_at_work(rule):
    assert told(json.dumps(CASES[rule][0]))[:1] == [rule]


@pytest.mark.parametrize("rule", CASES)
def test_it_is_not_told_where_it_is_not(rule):
    assert rule not in told(json.dumps(CASES[rule][1]))


def test_every_rule_has_cases():
    assert {rule.name for rule in rules()} - CASES.keys() == {"spurious-recovery", "starved", "small-window"}


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
