"""`dumbbell explain` on scenarios that were written down, with the cause that an engineer would name, after its rules were.
One expectation was wrong: 2 % of reordering, which CUBIC took for loss, cost nothing.
"""

from __future__ import annotations

from typing import Any

import pytest

import dumbbell
from dumbbell.explain.explained import explain

Scenario = dict[str, Any]


def flow(cca: str = "cubic", **keys: Any) -> Scenario:
    return {"name": "main", "cca": cca, **keys}


def on(rate: str, rtt: str, buffer: str = "1bdp", **keys: Any) -> Scenario:
    return {"rate": rate, "rtt": rtt, "buffer": buffer, **keys}


GONE = {"steps": [["0s", "30Mbps"], ["6s", "0bps"], ["9s", "30Mbps"]]}
OTHER = {"name": "other", "cca": "cubic"}
PAUSES = {"kind": "on_off", "on": "500ms", "off": "2s"}
UP = {**OTHER, "direction": "up"}
SLOW_UP = {"rate": "1Mbps", "buffer": "200ms"}

#: The cause, the seconds, the path, the flows, and the hosts.
HELD_OUT: dict[str, tuple[str, int, Scenario, list[Scenario], Scenario]] = {
    "reno on a quarter of a BDP": ("small-buffer", 40, on("50Mbps", "100ms", "0.25bdp"), [flow("reno")], {}),
    "a receive buffer of 300 kB": ("receive-window", 12, on("200Mbps", "30ms"), [flow()], {"rcvbuf": "300kB"}),
    "BBR beside CUBIC in 10 BDP": ("starved", 40, on("30Mbps", "50ms", "10bdp"), [flow("bbr"), OTHER], {}),
    "PIE at 120 ms": ("aqm", 30, on("100Mbps", "120ms", qdisc="pie"), [flow()], {}),
    "0.3 % of loss": ("random-loss", 20, on("30Mbps", "60ms", loss=0.003), [flow()], {}),
    "a policer of 8 Mbit/s": (
        "policer", 12, on("50Mbps", "40ms", policer={"rate": "8Mbps", "burst": "30kB"}), [flow("bbr2")], {},
    ),
    "a way back of 0.3 Mbit/s": (
        "ack-path", 20, on("30Mbps", "50ms", up={"rate": "0.3Mbps", "buffer": "50pkt"}), [flow("reno")], {},
    ),
    "60 kB at 80 ms": ("short-flow", 12, on("20Mbps", "80ms"), [flow(size="60kB")], {}),
    "half a second in two and a half": ("application", 20, on("100Mbps", "40ms"), [flow("reno", workload=PAUSES)], {}),
    "three seconds without a link": ("outage", 20, {**on("30Mbps", "30ms", "200kB"), "rate": GONE}, [flow()], {}),
    "160 ms beside 20 ms": (
        "starved", 40, on("50Mbps", "40ms", "200kB"), [flow(rtt="160ms"), {**OTHER, "rtt": "20ms"}], {},
    ),
    "BBRv3 alone": ("bottleneck", 40, on("50Mbps", "60ms", "2bdp"), [flow("bbr3")], {}),
    "2 % of reordering": ("bottleneck", 20, on("60Mbps", "40ms", reorder={"share": "2%"}), [flow()], {}),
    "BBR at 128 kbit/s": ("bandwidth-too-high", 30, on("128kbps", "20ms", "30pkt"), [flow("bbr")], {}),
    "a send buffer of 2 MB": ("send-buffer", 12, on("1Gbps", "60ms"), [flow()], {"sndbuf": "2MB"}),
    "both ways at 10 and 1 Mbit/s": ("two-way", 20, on("10Mbps", "30ms", "200ms", up=SLOW_UP), [flow(), UP], {}),
}  # fmt: skip


@pytest.mark.parametrize("name", HELD_OUT)
def test_the_first_cause_is_the_one_that_an_engineer_would_name(name: str) -> None:
    cause, seconds, path, flows, host = HELD_OUT[name]
    scenario = {"name": "case", "duration": f"{seconds}s", "path": path, "flow": flows, "host": host}
    (said,) = explain(dumbbell.run(scenario)[0], "main")
    assert said.causes[0].rule == cause
