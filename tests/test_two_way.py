"""Flows that go up: what their plans say, what is refused, and what results have of both ways."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell import ScenarioError, cli, plot
from dumbbell.results import metrics
from dumbbell.runs import plan
from dumbbell.scenario.file import from_dict

LINK = {"rate": "20Mbps", "buffer": "1bdp"}
BOTH = [{"cca": "cubic"}, {"cca": "cubic", "direction": "up"}]


def given(flows: list[dict[str, Any]] | None = None, duration: str = "5s", **path: Any) -> dict[str, Any]:
    return {"name": "t", "duration": duration, "path": {**LINK, "rtt": "40ms", **path}, "flow": flows or BOTH}


def planned(*arguments: Any, **path: Any) -> Any:
    return plan.runs(from_dict(given(*arguments, **path)))[0].plan


def kinds(stages: list[dict[str, Any]]) -> list[str]:
    return [stage["kind"] for stage in stages]


def test_what_one_flow_meets_with_its_data_the_other_meets_with_its_acknowledgements() -> None:
    path = {"loss": "1%", "up": {**LINK, "loss": "2%", "thin": {"every": 2, "hold": "1ms"}}}
    down, up = planned(**path)["flows"]
    assert (down.get("direction"), up["direction"]) == (None, "up")
    assert up["back"] == down["forward"]
    # Only acknowledgements are thinned.
    assert kinds(down["back"]) == ["thin", "loss", "link", "delay"]
    assert up["forward"] == down["back"][1:]
    assert down["rtt_ns"] == up["rtt_ns"] == 40_000_000


def test_a_flows_own_impairments_are_those_of_its_data() -> None:
    own = {"loss": "3%", "jitter": {"kind": "uniform", "spread": "1ms"}}
    down, up = planned([{"cca": "reno", **own}, {"cca": "reno", "direction": "up", **own}], up=LINK)["flows"]
    assert (kinds(down["forward"]), kinds(down["back"])) == (["loss", "delay", "link"], ["link", "delay"])
    assert (kinds(up["forward"]), kinds(up["back"])) == (["loss", "link", "delay"], ["delay", "link"])
    assert up["forward"][2]["jitter"]["spread_ns"] == 1_000_000
    assert up["back"][0]["jitter"] is None


def test_a_chain_impairs_what_goes_up_in_its_order() -> None:
    chain = [{"kind": "links"}, {"kind": "loss", "rate": "1%"}]
    down, up = planned(up={**LINK, "impair": chain})["flows"]
    assert kinds(up["forward"]) == kinds(down["back"]) == ["link", "loss", "delay"]


def test_the_way_up_has_its_former_name_too() -> None:
    one, other = (planned([{"cca": "reno"}], **{name: LINK}) for name in ("up", "ack"))
    assert [link.pop("name") for made in (one, other) for link in made["ack_links"]] == ["up", "ack"]
    assert one == other


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ({}, "path.up.rate: missing, wanted a rate, because flow[1] goes up"),
        ({"up": {"loss": "1%"}}, "path.up.rate: missing, wanted a rate"),
        ({"up": LINK, "ack": LINK}, "path.ack: got "),
        ({"up": {"rate": "1Mbps", "buffer": "100B"}}, "path.up.buffer: "),
        ({"up": {**LINK, "impair": [], "thin": {"every": 2}}}, "path.up.thin: "),
    ],
)
def test_what_the_way_up_lacks_is_one_error(path: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        planned(**path)
    assert str(error.value).startswith(message)


def test_results_have_both_ways(tmp_path: Path) -> None:
    results = dumbbell.run(from_dict(given(up={**LINK, "rate": "4Mbps"})), tmp_path / "out")
    result = results[0]
    assert [link.name for link in result.plan.recorded_links] == ["bottleneck", "up"]
    assert [flow.name for flow in result.plan.flows] == ["cubic down", "cubic up"]
    assert all(metrics.utilization(result, link=link) > 0.6 for link in (0, 1))
    assert result.summary.data_links[1].utilization == pytest.approx(metrics.utilization(result, link=1), abs=0.01)
    assert metrics.goodput_bps(result, 1) < 4e6 < metrics.goodput_bps(result, 0)
    assert plot.queue(result, link=1).get_figure() is not None
    with pytest.raises(dumbbell.DumbbellError, match="0 to 1"):
        plot.queue(result, link=2)


def test_without_flows_that_go_up_the_way_up_has_no_rows(tmp_path: Path) -> None:
    result = dumbbell.run(from_dict(given([{"cca": "reno"}], up=LINK)), tmp_path / "out")[0]
    assert set(result.queue["link"].to_pylist()) == {0}
    assert len(result.summary.data_links) == 1


PROBES = [
    {"cca": "cubic"},
    {"direction": "up", "workload": {"probe": "10ms"}},
    {"name": "down", "workload": {"probe": "20ms"}},
]


def test_probes_have_their_table_and_their_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = dumbbell.run(from_dict(given(PROBES, up=LINK)), tmp_path / "out")[0]
    assert [(one.name, one.every_ns) for one in result.plan.probes] == [("probes", 10_000_000), ("down", 20_000_000)]
    assert len(result.plan.flows) == 1
    sent, rtts = metrics.probe_series(result, 0)
    assert sent.size == 500
    assert 40 <= rtts[0] < 41
    # The queue of 40 ms is full for a while.
    assert max(rtts) > 70
    assert metrics.probe_series(result, 1, (1, 2))[0].size == 51
    assert plot.probes(result).get_figure() is not None
    assert cli.main(["show", str(tmp_path / "out")]) == 0
    assert "probes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        ({"workload": {"probe": "10ms"}, "cca": "reno"}, 'flow[1].cca: got "reno", wanted no such key next to probes'),
        ({"workload": {"probe": "10ms"}, "size": "1MB"}, 'flow[1].size: got "1MB", wanted no such key next to probes'),
        ({"workload": {"probe": "0s"}}, "flow[1].workload.probe: "),
        ({"workload": {"kind": "on_off", "on": "1s", "off": "1s"}}, "flow[1].cca: missing"),
    ],
)
def test_probes_are_no_flows(flow: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        planned([{"cca": "reno"}, flow])
    assert str(error.value).startswith(message)


def test_runs_without_probes_say_so(tmp_path: Path) -> None:
    result = dumbbell.run(from_dict(given([{"cca": "reno"}])), tmp_path / "out")[0]
    assert not (tmp_path / "out" / "probes.parquet").exists()
    with pytest.raises(dumbbell.ResultError, match="it has no probes"):
        plot.probes(result)


@pytest.mark.parametrize("on", ["netem", "linux"])
def test_real_hosts_refuse_what_goes_up(on: str) -> None:
    from dumbbell.backends import linux, pair
    from dumbbell.backends.request import Request

    refuse = {"netem": pair.refuse, "linux": linux.check}[on]
    for flows, key in ((BOTH, "flow[1].direction: got up"), (PROBES, "flow.workload: got probes")):
        given_runs = plan.runs(from_dict(given(flows, up=LINK)))
        with pytest.raises(ScenarioError, match=re.escape(key)):
            refuse(Request(given_runs[0], on))
