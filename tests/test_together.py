"""Values that go in step, controllers tied over several flows, and ranges of values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell import Flow, Scenario, ScenarioError, from_text, plan, plot, ranged
from dumbbell import Path as Bottleneck
from dumbbell.plots.cells import varied_keys
from dumbbell.runs.check import describe
from dumbbell.runs.jobs import jobs_of
from dumbbell.scenario.file import Given
from dumbbell.scenario.toml_text import to_toml

CASES = """
name = "cases"
duration = "1s"
together = [["path.rate", "path.rtt", "path.buffer"], ["flow.cca"]]

[path]
rate = ["5Mbps", "6Mbps", "6Mbps"]
rtt = ["20ms", "20ms", "40ms"]
buffer = ["50ms", "50ms", "80ms"]

[[flow]]
cca = ["bbr", "cubic"]

[[flow]]
cca = ["bbr", "cubic"]
start = "100ms"

[[flow]]
cca = "reno"
"""
AXIS = "path.rate+path.rtt+path.buffer"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dumbbell.Results:
    return dumbbell.run(from_text(CASES), tmp_path_factory.mktemp("cases") / "out")


def test_lists_that_go_together_are_one_axis_and_a_tied_controller_is_one_key() -> None:
    runs = plan.runs(from_text(CASES))
    assert [tuple(run.vary.values()) for run in runs] == [
        (*path, cca)
        for path in (("5Mbps", "20ms", "50ms"), ("6Mbps", "20ms", "50ms"), ("6Mbps", "40ms", "80ms"))
        for cca in ("bbr", "cubic")
    ]
    assert list(runs[0].vary) == ["path.rate", "path.rtt", "path.buffer", "flow.cca"]
    assert runs[0].together == (("path.rate", "path.rtt", "path.buffer"),)
    for run in runs:
        link, flows = run.plan["links"][0], run.plan["flows"]
        assert f"{link['rate_bps'] // 10**6}Mbps" == run.vary["path.rate"]
        assert f"{flows[0]['rtt_ns'] // 10**6}ms" == run.vary["path.rtt"]
        assert [flow["cca"] for flow in flows] == [run.vary["flow.cca"]] * 2 + ["reno"]


def test_the_same_in_python_and_as_written_by_it() -> None:
    given = from_text(CASES)
    made = Scenario(
        name="cases",
        duration="1s",
        together=[["path.rate", "path.rtt", "path.buffer"], ["flow.cca"]],
        path=Bottleneck(
            rate=["5Mbps", "6Mbps", "6Mbps"], rtt=["20ms", "20ms", "40ms"], buffer=["50ms", "50ms", "80ms"]
        ),
        flow=[Flow(cca=["bbr", "cubic"]), Flow(cca=["bbr", "cubic"], start="100ms"), Flow(cca="reno")],
    )
    assert plan.runs(made) == plan.runs(given) == plan.runs(from_text(to_toml(made)))


def test_tied_keys_with_other_values_are_named_each() -> None:
    runs = plan.runs(from_text(CASES.replace('cca = ["bbr", "cubic"]\nstart', 'cca = ["cubic", "bbr"]\nstart')))
    assert [(run.vary["flow[0].cca"], run.vary["flow[1].cca"]) for run in runs[:2]] == [
        ("bbr", "cubic"),
        ("cubic", "bbr"),
    ]
    assert runs[0].together[1] == ("flow[0].cca", "flow[1].cca")


def test_parameters_go_with_the_controller_that_has_them() -> None:
    text = """
        duration = "1s"
        together = [["flow[0].cca", "flow[0].params"], ["path.qdisc", "host.ecn"]]
        [path]
        rate = "10Mbps"
        rtt = "20ms"
        buffer = "1bdp"
        qdisc = ["fifo", { kind = "codel", ecn = true }]
        [host]
        ecn = [false, true]
        [[flow]]
        cca = ["reno", "cubic", "cubic"]
        params = [{}, {}, { beta = 800 }]
    """
    runs = plan.runs(from_text(text))
    assert [run.plan["flows"][0]["params"] for run in runs[:3]] == [{}, {}, {"beta": 800}]
    assert {(run.plan["links"][0]["qdisc"]["kind"], run.plan["host"]["ecn"]) for run in runs} == {
        ("fifo", "off"),
        ("codel", "classic"),
    }
    names = [job.folder.name for job in jobs_of([Given(from_text(text), text)], Path())]
    assert names[-1] == "scenario_qdisc=codel-ecn_host.ecn=true_flow0.cca=cubic_flow0.params=beta=800"
    assert len(set(names)) == len(runs) == 6


REFUSED = [
    ('[["path.rate", "path.rtt"]]', "rtt = [\"20ms\", \"20ms\", \"40ms\"]", 'rtt = ["20ms", "40ms"]',
     "together[0]: path.rate has 3 values and path.rtt 2, wanted as many in each"),
    ('[["path.rate", "path.rat"]]', "", "",
     'together[0]: got "path.rat", wanted a key that has a list of values: path.rate, path.rtt, path.buffer, flow[0].'),
    ('[["path.rate"]]', "", "", 'together[0]: got ["path.rate"], wanted two keys or more that have lists of values'),
    ('[["path.rate", "path.rtt"], ["path.buffer", "path.rate"]]', "", "",
     'together[1]: got "path.rate", wanted each key once; together[0] has it too'),
    ('["path.rate"]', "", "", 'together: got ["path.rate"], wanted lists of keys, such as'),
    ('[["path.rate", "path.rtt"]]', '"40ms"]', '"20ms"]',
     'together[0]: got ["6Mbps", "20ms"], wanted each varied value once'),
]  # fmt: skip


@pytest.mark.parametrize(("together", "old", "new", "message"), REFUSED)
def test_what_cannot_go_together_is_an_error(together: str, old: str, new: str, message: str) -> None:
    text = CASES.replace('[["path.rate", "path.rtt", "path.buffer"], ["flow.cca"]]', together).replace(old or "~", new)
    text = text.replace('buffer = ["50ms", "50ms", "80ms"]', 'buffer = ["50ms", "60ms", "80ms"]')
    with pytest.raises(ScenarioError) as caught:
        from_text(text)
    assert str(caught.value).startswith(message)
    assert caught.value.line == 4


def test_values_are_told_apart_by_all_keys_of_an_axis_and_by_one_alone_where_it_stands_alone() -> None:
    with pytest.raises(ScenarioError, match=r'path.rate: got "6Mbps", wanted each varied value once'):
        from_text(CASES.replace('together = [["path.rate", "path.rtt", "path.buffer"], ["flow.cca"]]', ""))


def test_results_say_every_value(ran: dumbbell.Results, cli: Any) -> None:
    folder = ran[0].folder.parent
    assert ran[0].folder.name == "cases_rate=5Mbps_rtt=20ms_buffer=50ms_flow.cca=bbr"
    assert json.loads((ran[0].folder / "manifest.json").read_text())["together"] == [
        ["path.rate", "path.rtt", "path.buffer"]
    ]
    shown = cli("show", folder, "--wide").stdout
    assert [word in shown.split() for word in ("rate", "rtt", "buffer", "flow.cca", "6Mbps", "80ms")].count(False) <= 1
    line = json.loads(cli("show", folder, "--json").stdout.splitlines()[-1])
    assert line["vary"] == {"path.rate": "6Mbps", "path.rtt": "40ms", "path.buffer": "80ms", "flow.cca": "cubic"}
    assert "path.rate, path.rtt, path.buffer: 5Mbps with 20ms with 50ms, 6Mbps" in describe(from_text(CASES))[0]
    assert not cli("show", folder, folder, "--diff").stderr


def test_pictures_take_what_goes_together_as_one_axis(ran: dumbbell.Results) -> None:
    found = varied_keys(ran)
    assert list(found) == [AXIS, "flow.cca"]
    assert found[AXIS].values == (("5Mbps", "20ms", "50ms"), ("6Mbps", "20ms", "50ms"), ("6Mbps", "40ms", "80ms"))
    assert found[AXIS].text(found[AXIS].values[2]) == "6 Mbit/s, 40 ms, 80 ms"
    ax = plot.vary(ran, metric="goodput")
    ticks = [label.get_text() for axes in ax.figure.axes for label in axes.get_xticklabels()]
    assert "6 Mbit/s, 40 ms, 80 ms".replace("\n", " ") in [tick.replace("\n", " ") for tick in ticks]
    labels = {text.get_text() for legend in ax.figure.legends for text in legend.get_texts()}
    assert all("beside" in label for label in labels if "Reno" in label)
    with pytest.raises(dumbbell.ResultError, match=r"path\.rate: several of the cases"):
        plot.vary(ran, metric="goodput", x="path.rate")


def test_a_key_that_tells_its_group_apart_may_stand_for_it(tmp_path: Path) -> None:
    text = CASES.replace('["5Mbps", "6Mbps", "6Mbps"]', '["5Mbps", "6Mbps", "7Mbps"]')
    results = dumbbell.run(from_text(text), tmp_path / "out")
    ax = plot.vary(results, metric="utilization", x="path.rate")
    assert ax.get_xlabel() == "Rate (Mbit/s)"
    assert len(ax.lines) >= 2


RANGES = [
    ({"from": "10Mbps", "to": "1Gbps", "steps": 3, "spacing": "log"}, ["10Mbps", "100Mbps", "1Gbps"]),
    ({"from": "1bdp", "to": "2bdp", "steps": 4}, ["1bdp", "1.33333bdp", "1.66667bdp", "2bdp"]),
    ({"from": "1bdp", "to": "2bdp", "step": "0.4bdp"}, ["1bdp", "1.4bdp", "1.8bdp"]),
    ({"from": "500us", "to": "1ms", "step": "250us"}, ["500us", "750us", "1000us"]),
    ({"from": 1, "to": 100, "steps": 5, "spacing": "log"}, [1, 3, 10, 32, 100]),
    ({"from": 0.1, "to": 0.4, "step": 0.1}, [0.1, 0.2, 0.3, 0.4]),
    ({"from": "10pkt", "to": "1000pkt", "steps": 4, "spacing": "log"}, ["10pkt", "46pkt", "215pkt", "1000pkt"]),
    ({"from": "0.01%", "to": "1%", "steps": 3, "spacing": "log"}, ["0.01%", "0.1%", "1%"]),
    ({"from": "1s", "to": "10000s", "steps": 3, "spacing": "log"}, ["1s", "100s", "10000s"]),
]


@pytest.mark.parametrize(("given", "values"), RANGES)
def test_a_range_has_the_values_that_a_person_would_write(given: dict[str, Any], values: list[Any]) -> None:
    more = {name: value for name, value in given.items() if name not in ("from", "to")}
    assert ranged(given["from"], given["to"], **more) == values


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ('{ from = "1Mbps", to = "10ms", steps = 3 }', 'path.rate: the units "Mbps" and "ms" measure different things'),
        ('{ from = "9Mbps", to = "1Mbps", steps = 3 }', "whose `to` is above its `from`"),
        ('{ from = "1Mbps", to = "9Mbps" }', "wanted a range such as"),
        ('{ from = "1Mbps", to = "9Mbps", steps = 3, step = "1Mbps" }', "wanted a range such as"),
        ('{ from = "1Mbps", to = "9Mbps", steps = 3, space = "log" }', "no key space"),
        ('{ from = "0bps", to = "9Mbps", steps = 3, spacing = "log" }', "begins above zero"),
        ('{ from = "1Mbps", to = "9Mbps", steps = 1 }', "2 to 10000 steps"),
        ('{ from = "1Mbps", to = "9Mbps", step = "1bps" }', "a step above zero that makes 10000 values at most"),
        ('{ from = "1000bps", to = "1003bps", steps = 9 }', "wanted each varied value once"),
    ],
)
def test_a_range_that_makes_no_sense_is_an_error(written: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        from_text(f'duration = "1s"\n[path]\nrate = {written}\nrtt = "10ms"\nbuffer = "1bdp"\n[[flow]]\ncca = "reno"\n')
    assert message in str(caught.value)
    assert caught.value.line == 3


def test_ranges_are_taken_where_lists_are(cli: Any, small: Path) -> None:
    shown = cli("check", small, "--set", 'path.buffer={ from = "1bdp", to = "4bdp", steps = 3, spacing = "log" }')
    assert "varies path.buffer: 1bdp, 2bdp, 4bdp" in shown.stdout
    text = 'duration = "1s"\n[path]\nrate = "1Mbps"\nrtt = "10ms"\nbuffer = "5bdp"\n[[flow]]\ncca = "cubic"\n'
    made = from_text(text, overrides=("flow[0].params.beta={ from = 500, to = 700, step = 100 }",))
    assert [run.plan["flows"][0]["params"]["beta"] for run in plan.runs(made)] == [500, 600, 700]
