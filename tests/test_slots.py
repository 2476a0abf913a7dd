"""netem's slots: what a plan has of them, what is refused, what `tc` is told, and what they do to packets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell import ScenarioError, plan
from dumbbell.backends import netem, tc
from dumbbell.results import metrics
from dumbbell.scenario.file import from_dict

SLOT = {"min": "800us", "max": "5ms", "packets": 16}
NORMAL = {"kind": "normal", "delay": "3ms", "spread": "1ms", "bytes": "20kB"}


def given(flows: int = 1, **path: Any) -> dict[str, Any]:
    return {
        "name": "t",
        "duration": "4s",
        "path": {"rate": "50Mbps", "rtt": "20ms", "buffer": "1bdp", **path},
        "flow": [{"cca": "cubic", "count": flows}],
    }


def stages(**path: Any) -> list[dict[str, Any]]:
    forward: list[dict[str, Any]] = plan.runs(from_dict(given(**path)))[0].plan["flows"][0]["forward"]
    return forward


def goodput_mbps(out: Path, flows: int = 1, **path: Any) -> float:
    return metrics.goodput_bps(next(iter(dumbbell.run(given(flows, **path), out=out))), "all") / 1e6


def test_a_plan_without_slots_is_as_it_was() -> None:
    assert "slot" not in stages()[0]


def test_slots_are_those_of_the_delay_or_of_a_part_of_a_chain() -> None:
    alone = stages(slot=SLOT)[0]
    chain = stages(impair=[{"kind": "delay"}, {"kind": "delay", "time": "200us", "slot": SLOT}])
    assert alone["slot"] == chain[1]["slot"]
    assert (alone["ns"], chain[0]["ns"], chain[1]["ns"]) == (10_000_000, 10_000_000, 200_000)
    assert "slot" not in chain[0]
    assert (alone["slot"]["min_ns"], alone["slot"]["max_ns"], alone["slot"]["packets"]) == (800_000, 5_000_000, 16)


def test_tc_is_told_the_slots_of_a_delay() -> None:
    words = tc.netem(stages(slot=SLOT)[:1], "path")
    assert words is not None
    assert words[3:] == ("delay", "10000us", "slot", "800us", "5000us", "packets", "16")
    words = tc.netem(stages(slot=NORMAL)[:1], "path", in_virtual_time=True)
    assert words is not None
    assert words[5:] == ("slot", "distribution", "normal", "3000us", "1000us", "bytes", "20000")


@pytest.mark.parametrize(
    ("slot", "message"),
    [
        ({}, "slot.min: missing next to kind uniform"),
        ({"min": "0ms"}, 'slot.min: got "0ms", wanted a time above zero'),
        ({"min": "5ms", "max": "1ms"}, "slot.max: got"),
        ({"min": "5ms", "spread": "1ms"}, "slot.spread: got"),
        ({"kind": "pareto", "delay": "1ms"}, "slot.spread: missing next to kind pareto"),
        ({**NORMAL, "max": "1ms"}, "slot.max: got"),
        ({**SLOT, "packets": 0}, "path.slot.packets: got 0"),
    ],
)
def test_times_of_another_distribution_are_refused(slot: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        stages(slot=slot)
    assert message in str(error.value)


def test_netem_gives_slots_to_one_flow_only_because_flows_would_share_them() -> None:
    one, two = (plan.runs(from_dict(given(count, slot=SLOT)))[0].plan for count in (1, 2))
    assert any("slot" in command for command in netem.topology(one, "t-", ["cubic"]).build)
    with pytest.raises(ScenarioError, match=r"path\.slot: got one with several flows"):
        netem.topology(two, "t-", ["cubic", "cubic"])


def test_a_time_that_overflows_in_kernels_is_refused_by_them() -> None:
    with pytest.raises(ScenarioError, match=r"slot\.max: 2\.147 s above min or more"):
        tc.netem(stages(slot={"min": "1s", "max": "5s"})[:1], "path")


def test_a_slot_each_5_ms_for_4_packets_lets_9_7_mbits_through_and_each_flow_has_its_own(tmp_path: Path) -> None:
    slot = {"min": "5ms", "packets": 4}
    payload = 4 * 1448 * 8 / 5e3
    assert goodput_mbps(tmp_path / "one", slot=slot) == pytest.approx(payload, rel=0.02)
    assert goodput_mbps(tmp_path / "two", 2, slot=slot) == pytest.approx(2 * payload, rel=0.02)


def test_bytes_close_a_slot_behind_the_packet_that_reaches_them(tmp_path: Path) -> None:
    slot = {"min": "5ms", "bytes": "1515B"}
    assert goodput_mbps(tmp_path / "out", slot=slot) == pytest.approx(2 * 1448 * 8 / 5e3, rel=0.02)
