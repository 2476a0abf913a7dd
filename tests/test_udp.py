"""UDP that does not respond: what its plan says, what is refused, what results have of it, and what not."""

from __future__ import annotations

from typing import Any

import pytest

import dumbbell
from dumbbell import ScenarioError, plan, plot
from dumbbell.results import metrics
from dumbbell.results.catalogue import Measured, figure
from dumbbell.runs import vary
from dumbbell.scenario.file import from_dict
from dumbbell.uml import script

PACED = {"kind": "paced", "rate": "100Mbps", "message": "1200B"}
UDP = {"transport": "udp", "workload": PACED}


def given(*flows: dict[str, Any], **path: Any) -> dict[str, Any]:
    return {
        "name": "t",
        "duration": "4s",
        "path": {"rate": "10Mbps", "rtt": "40ms", "buffer": "1bdp", **path},
        "flow": list(flows),
    }


def planned(*flows: dict[str, Any], **path: Any) -> Any:
    return plan.runs(from_dict(given(*flows, **path)))[0].plan


@pytest.fixture(scope="module")
def blasted(tmp_path_factory: pytest.TempPathFactory) -> dumbbell.Result:
    """A flow of Reno, and UDP at ten times the link until 3 s."""
    out = tmp_path_factory.mktemp("udp") / "out"
    return next(iter(dumbbell.run(given({**UDP, "stop": "3s"}, {"cca": "reno"}), out=out)))


def test_a_flow_of_udp_has_a_rate_and_no_controller() -> None:
    plain, marked = planned(UDP, {**UDP, "transport": {"kind": "udp", "ecn": "ect1"}, "count": 1})["flows"]
    assert (plain["cca"], plain["params"], plain["name"]) == ("", {}, "udp")
    assert (plain["transport"], marked["transport"]) == ({"kind": "udp"}, {"kind": "udp", "ecn": "ect1"})


def test_flows_of_udp_are_called_by_their_transport() -> None:
    names = [flow["name"] for flow in planned(UDP, {**UDP, "start": "1s"}, {"cca": "reno"})["flows"]]
    assert names == ["udp", "udp from 1s", "reno"]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"cca": "cubic"}, 'flow[0].cca: got "cubic", wanted no such key next to transport udp'),
        ({"size": "1MB"}, "flow[0].size: "),
        ({"host": {"ecn": "classic"}}, "flow[0].host: "),
        ({"workload": None}, "flow[0].workload: missing next to transport udp"),
        ({"workload": {"kind": "on_off", "on": "1s", "off": "1s"}}, "with a rate, next to transport udp"),
        ({"workload": {**PACED, "message": "1473B"}}, 'flow[0].workload.message: got "1473B", wanted at most 1472B'),
        ({"transport": {"kind": "udp", "ecn": "ce"}}, "flow[0].transport.ecn: "),
    ],
)
def test_what_udp_does_not_have_is_refused_by_its_key(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        planned({key: value for key, value in {**UDP, **keys}.items() if value is not None})
    assert message in str(error.value)


def test_a_controller_of_all_flows_is_of_those_that_have_one() -> None:
    text = """duration = "1s"
path = { rate = "10Mbps", rtt = "40ms", buffer = "1bdp" }
flow = [{ transport = "udp", workload = { kind = "paced", rate = "1Mbps" } }, { cca = "reno" }]
"""
    wanted = vary.of({"flow.cca": ["reno", "cubic"]})
    assert vary.overrides(text, (), wanted) == ('flow[1].cca=["reno", "cubic"]',)


def test_a_guest_refuses_it_in_one_line() -> None:
    with pytest.raises(ScenarioError, match=r"flow\[0\].transport: got udp, wanted tcp"):
        script.refuse(planned(UDP))


def test_it_sends_its_rate_and_loses_what_the_link_does_not_carry(blasted: dumbbell.Result) -> None:
    assert metrics.throughput_bps(blasted, "udp") == pytest.approx(100e6, rel=1e-3)
    # 1242 bytes on the wire of each datagram; what is on its way at 3 s is neither lost nor goodput yet.
    assert metrics.goodput_bps(blasted, "udp") == pytest.approx(10e6 * 1200 / 1242, rel=0.02)
    assert metrics.lost_share(blasted, "udp") == pytest.approx(1 - 10 / 103.5, abs=0.005)
    assert metrics.lost_share(blasted, "udp", (1, 2)) == pytest.approx(1 - 10 / 103.5, abs=0.002)
    assert metrics.one_way_delay_ms(blasted, "udp").p50 == pytest.approx(20 + 40, rel=0.03)


def test_figures_that_it_does_not_have_are_absent_and_not_zero(blasted: dumbbell.Result) -> None:
    run = Measured(blasted, None)
    for name in ("retrans_rate", "srtt", "rtt", "cwnd", "cwnd_max", "latency", "unfinished", "fct"):
        assert figure(name).value(run, [0]) is None, name
    assert figure("retrans_rate").value(run, [0, 1]) == figure("retrans_rate").value(run, [1])
    assert figure("cwnd").value(run, [0, 1]) == figure("cwnd").value(run, [1])
    row = blasted.flows.to_pylist()[0]
    absent = ("established_us", "min_rtt_us", "retrans_segs", "lost_segs", "rtos", "acks_sent", "completed_us")
    assert {name: row[name] for name in absent} == dict.fromkeys(absent)
    assert row["delivered_segs"] * 1200 >= row["goodput_bytes"] > 0
    assert blasted.messages.num_rows == 0


def test_a_picture_of_windows_has_no_line_of_what_has_none(blasted: dumbbell.Result) -> None:
    drawn = {str(line.get_label()): line.get_ydata() for line in plot.cwnd(blasted).lines}
    assert set(drawn) == {"Reno (TCP)"}
    assert {str(line.get_label()) for line in plot.goodput(blasted).lines} >= {"UDP", "Reno (TCP)"}
