"""Losses of what is sent in windows of time: what plans have of them, what is refused, and what they take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell import ScenarioError, plan
from dumbbell.scenario.file import from_dict

WINDOWS = [["1s", "1.2s", "100%"], ["2s", "3s", "100%", 6]]
CBR = {"kind": "paced", "rate": "1.2Mbps", "message": "150B"}
"""A datagram each ms."""


def given(flows: list[dict[str, Any]], **path: Any) -> dict[str, Any]:
    return {
        "name": "t",
        "duration": "4s",
        "path": {"rate": "50Mbps", "rtt": "20ms", "buffer": "1bdp", **path},
        "flow": flows,
    }


def planned(*flows: dict[str, Any], **path: Any) -> Any:
    return plan.runs(from_dict(given(list(flows), **path)))[0]


def losses(stages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [stage for stage in stages if stage["kind"] == "loss"]


def lost(result: dumbbell.Result, flow: int) -> tuple[float, float, int] | None:
    """When random loss took packets of a flow first and last, ms, and how many it took; None where it took none."""
    table = result.events
    rows = [
        (at / 1e6, count)
        for at, count, of, kind in zip(
            *(table[name].to_pylist() for name in ("t_ns", "value", "flow", "kind")), strict=True
        )
        if kind == "drop_random" and of == flow
    ]
    return (rows[0][0], rows[-1][0], sum(count for _, count in rows)) if rows else None


def test_a_window_has_a_begin_an_end_a_share_and_perhaps_a_number_of_packets() -> None:
    stage = losses(planned({"cca": "reno"}, loss={"windows": WINDOWS}).plan["flows"][0]["forward"])
    assert stage == [
        {
            "kind": "loss",
            "model": "windows",
            "windows": [
                {"from_ns": 10**9, "to_ns": 1_200_000_000, "ppb": 10**9, "packets": None},
                {"from_ns": 2 * 10**9, "to_ns": 3 * 10**9, "ppb": 10**9, "packets": 6},
            ],
        }
    ]


def test_a_loss_of_one_flow_is_in_no_other_route_whichever_way_it_goes() -> None:
    only = {"windows": WINDOWS, "flow": "mine"}
    flows = ({"cca": "reno", "name": "mine", "count": 2}, {"cca": "reno"})
    chain = [{"kind": "loss", **only}, {"kind": "delay"}]
    for path in ({"loss": only}, {"impair": chain}):
        made = planned(*flows, **path).plan["flows"]
        assert [len(losses(flow["forward"])) for flow in made] == [1, 1, 0]
    made = planned(*flows, up={"loss": only}).plan["flows"]
    assert [len(losses(flow["back"])) for flow in made] == [1, 1, 0]
    assert not any(losses(flow["forward"]) for flow in made)


def test_whole_windows_draw_nothing_so_that_repetitions_are_one_run() -> None:
    from dumbbell.plan.warn import is_random

    assert not is_random(planned({"cca": "reno"}, loss={"windows": WINDOWS}).plan)
    assert is_random(planned({"cca": "reno"}, loss={"windows": [["1s", "2s", "50%"]]}).plan)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ({"windows": []}, "path.loss.windows: got [], wanted windows such as"),
        ({"windows": [["2s", "1s", "1%"]]}, "wanted windows that end after they begin"),
        ({"windows": [["1s", "3s", "1%"], ["2s", "4s", "1%"]]}, "wanted windows in the order of time"),
        ({"windows": [["1s", "2s", "1%", 0]]}, "a number of packets from 1"),
        ({"windows": WINDOWS, "flow": "yours"}, 'path.loss.flow: got "yours", wanted the name of a [[flow]] table'),
    ],
)
def test_what_is_no_window_is_refused(loss: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        planned({"cca": "reno"}, loss=loss)
    assert message in str(error.value)


def test_a_flows_own_loss_names_no_other() -> None:
    with pytest.raises(ScenarioError, match=r"flow\[0\]\.loss\.flow: got \"a\", wanted no such key here"):
        planned({"cca": "reno", "name": "a", "loss": {"windows": WINDOWS, "flow": "a"}})


def test_what_is_sent_in_the_windows_is_lost_and_nothing_else(tmp_path: Path) -> None:
    udp = {"transport": "udp", "workload": CBR}
    flows = [{**udp, "name": "hit"}, {**udp, "name": "spared"}]
    loss = {"windows": WINDOWS, "flow": "hit"}
    result = next(iter(dumbbell.run(given(flows, loss=loss), out=tmp_path / "out")))
    # 200 datagrams from 1 s to 1.2 s, and six from 2 s on.
    assert lost(result, 0) == (1000.0, 2005.0, 206)
    assert lost(result, 1) is None


def test_six_acknowledgements_of_one_flow_are_lost_and_tcp_does_not_mind(tmp_path: Path) -> None:
    flows = [{"cca": "reno", "name": "hit"}, {"cca": "reno", "name": "spared"}]
    up = {"loss": {"windows": [["2s", "3s", "100%", 6]], "flow": "hit"}}
    result = next(iter(dumbbell.run(given(flows, up=up, buffer="8bdp"), out=tmp_path / "out")))
    assert result.flows["random_drops"].to_pylist() == [0, 0], "of data none was lost"
    assert max(result.flows["rtos"].to_pylist()) == 0
