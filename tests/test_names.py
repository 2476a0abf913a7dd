"""What flows are called: in the scenario, or made from what tells tables apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dumbbell import plan
from dumbbell.errors import ScenarioError
from dumbbell.scenario import names
from dumbbell.scenario.file import from_dict

PATH = {"rate": "10Mbps", "rtt": "20ms", "buffer": "1bdp"}


def _called(*flows: dict[str, Any], path: dict[str, Any] | None = None) -> list[str]:
    made = plan.plan(from_dict({"duration": "10s", "path": path or PATH, "flow": list(flows)}))
    by_table = {flow["table"]: flow["name"] for flow in made["flows"]}
    return [by_table[i] for i in range(len(flows))]


QUIC = {"cca": "cubic", "transport": "quic"}
SHORT = {"cca": "cubic", "arrivals": {"rate": "10/s", "sizes": "10kB"}}


@pytest.mark.parametrize(
    ("flows", "called"),
    [
        ([{"cca": "cubic"}], ["cubic"]),
        ([{"cca": "cubic", "rtt": "50ms", "start": "1s"}, {"cca": "bbr"}], ["cubic", "bbr"]),
        ([{"cca": "cubic"}, QUIC], ["cubic", "cubic quic"]),
        ([{"cca": "cubic"}, {"cca": "cubic", "rtt": "50ms"}], ["cubic 20ms", "cubic 50ms"]),
        ([{"cca": "cubic"}, {"cca": "cubic", "start": "2s"}], ["cubic", "cubic from 2s"]),
        ([{"cca": "cubic"}, {"cca": "cubic", "stop": "2s"}], ["cubic", "cubic until 2s"]),
        ([{"cca": "cubic"}, {"cca": "cubic", "size": "1MB"}, SHORT], ["cubic", "cubic 1MB", "cubic short flows"]),
        ([{"cca": "bbr"}, {"cca": "bbr", "params": {"cwnd_gain": 700}}], ["bbr", "bbr cwnd_gain=700"]),
        ([{"cca": "bbr"}, {"cca": "bbr", "preset": "chromium"}], ["bbr", "bbr chromium"]),
        ([{"cca": "reno"}, {"cca": "reno", "max_rate": "1Mbps"}], ["reno", "reno at most 1Mbit/s"]),
        ([{"cca": "cubic"}, {"cca": "cubic"}, {"cca": "cubic"}], ["cubic", "cubic #2", "cubic #3"]),
        ([{"cca": "cubic"}, QUIC, {**QUIC, "rtt": "50ms"}], ["cubic", "cubic quic 20ms", "cubic quic 50ms"]),
        ([{"cca": "cubic", "name": "mine"}, {"cca": "cubic"}], ["mine", "cubic"]),
        ([{"cca": "bbr", "name": "cubic"}, {"cca": "cubic"}], ["cubic", "cubic #2"]),
        ([{"cca": "cubic", "name": "Käse 1 & 2"}], ["Käse 1 & 2"]),
    ],
)
def test_a_flow_is_called_by_its_table_or_what_tells_it_apart(flows: list[dict[str, Any]], called: list[str]) -> None:
    assert _called(*flows) == called


def test_all_flows_of_a_table_share_its_name_and_number() -> None:
    made = plan.plan(
        from_dict(
            {
                "duration": "10s",
                "path": PATH,
                "flow": [{"cca": "reno", "count": 3}, {"cca": "reno", "rtt": "1ms", "count": 2}],
            }
        )
    )
    found = [(flow["table"], flow["name"]) for flow in made["flows"]]
    assert found == [(0, "reno 20ms")] * 3 + [(1, "reno 1ms")] * 2


def test_names_are_unique_and_short_whatever_the_parameters_are() -> None:
    params = "x" * 100
    made = names.names([("bbr", params), ("bbr", params), ("bbr", "")], [None, None, None])
    assert len(set(made)) == 3
    assert all(len(name) <= names.LENGTH_MAX for name in made)


@pytest.mark.parametrize("name", ["", " mine", "a\nb", "x" * 41, 7])
def test_a_name_that_cannot_be_one_is_refused(name: object) -> None:
    with pytest.raises(ScenarioError, match=r"flow\[0\].name: got .*wanted printable text"):
        from_dict({"duration": "10s", "path": PATH, "flow": [{"cca": "cubic", "name": name}]})


def test_two_tables_cannot_have_one_name() -> None:
    with pytest.raises(
        ScenarioError, match=r'flow\[1\].name: got "a", wanted a name of its own, because flow\[0\] has this one'
    ):
        _called({"cca": "cubic", "name": "a"}, {"cca": "bbr", "name": "a"})


@pytest.mark.parametrize(
    ("measure", "window"),
    [
        ({"from": "2s", "to": "8s"}, {"from_ns": 2_000_000_000, "to_ns": 8_000_000_000}),
        ({"from": "2s"}, {"from_ns": 2_000_000_000, "to_ns": 10_000_000_000}),
        ({"to": "8s"}, {"from_ns": 0, "to_ns": 8_000_000_000}),
    ],
)
def test_a_part_of_the_run_can_be_measured(measure: dict[str, str], window: dict[str, int]) -> None:
    given = {"duration": "10s", "path": PATH, "flow": [{"cca": "cubic"}]}
    assert plan.plan(from_dict({**given, "measure": measure}))["measure"] == window
    assert plan.plan(from_dict(given))["measure"] is None


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        ({"from": "8s", "to": "8s"}, 'measure.from: got "8s", wanted before the end of what is measured'),
        ({"from": "10s"}, 'measure.from: got "10s"'),
        ({"to": "11s"}, 'measure.to: got "11s", wanted up to the end of the run'),
        ({"since": "1s"}, "measure.since"),
    ],
)
def test_a_part_that_is_none_is_refused(measure: dict[str, str], said: str) -> None:
    with pytest.raises(ScenarioError) as error:
        plan.plan(from_dict({"duration": "10s", "path": PATH, "measure": measure, "flow": [{"cca": "cubic"}]}))
    assert said in str(error.value)


def test_names_reach_the_tables_and_the_summary(cli: Any, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    (tmp_path / "x.toml").write_text(
        'duration = "1s"\n[path]\nrate = "10Mbps"\nrtt = "20ms"\nbuffer = "1bdp"\n'
        '[[flow]]\ncca = "cubic"\nname = "mine"\n[[flow]]\ncca = "cubic"\ntransport = "quic"\ncount = 2\n'
    )
    done = cli("run", "x.toml", "--out", "out", "--json")
    [line] = [json.loads(text) for text in done.stdout.splitlines()]
    wanted = [("mine", 0, "tcp"), ("cubic", 1, "quic"), ("cubic", 1, "quic")]
    assert [(flow["name"], flow["table"], flow["transport"]) for flow in line["flows"]] == wanted
    rows = pq.read_table(tmp_path / line["dir"] / "flows.parquet").to_pylist()
    assert [(row["name"], row["table"], row["transport"]) for row in rows] == wanted
