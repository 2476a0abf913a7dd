"""Convergence, recovery and circuit breakers (results/transients.py), against the same computed from samples by hand."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from msgspec import structs

import dumbbell
from checked import checks
from dumbbell import metrics
from dumbbell.results.catalogue import FIGURES
from dumbbell.results.readers import Measured


@pytest.fixture(scope="module")
def outage(tmp_path_factory: pytest.TempPathFactory) -> dumbbell.Result:
    """CUBIC over a link that is gone from 5 to 7 s, and slow from 15 s on."""
    scenario = {
        "name": "outage", "duration": "20s", "flow": [{"cca": "cubic"}],
        "path": {
            "rate": {"steps": [["0s", "20Mbps"], ["5s", "0bps"], ["7s", "20Mbps"], ["15s", "1Mbps"]]},
            "rtt": "40ms", "buffer": "100kB",
        },
    }  # fmt: skip
    return dumbbell.run(scenario, out=tmp_path_factory.mktemp("outage") / "out")[0]


def goodput_in(result: dumbbell.Result, start: float) -> float:
    """Mbit/s in the second from `start` on."""
    return metrics.goodput_bps(result, 0, (start, start + 1)) / 1e6


@checks("metrics", "recovery_time_s")
@checks("figure", "recovery")
def test_recovery_is_the_time_until_a_second_in_which_the_link_is_in_use(outage):
    time = metrics.recovery_time_s(outage, window=(7, 15))
    assert FIGURES["recovery"].value(Measured(outage, (7, 15)), [0]) == time
    enough = 0.85 * 20 * 1448 / 1514
    assert 0 < time < 3
    assert goodput_in(outage, 7 + time) >= enough
    assert all(goodput_in(outage, 7 + early / 20) < enough for early in range(round(time * 20)))


def test_a_second_in_which_the_link_carries_nothing_is_no_recovery(outage):
    assert metrics.recovery_time_s(outage, window=(5, 6.9)) == math.inf


def test_recovery_is_held_against_the_rate_of_that_second(outage):
    assert 0 < metrics.recovery_time_s(outage, window=(16, 20)) < 1
    assert max(goodput_in(outage, second) for second in range(16, 19)) < 0.15 * 20  # of the rate before


@checks("metrics", "stall_time_s")
@checks("figure", "stall")
def test_a_stall_is_the_longest_time_without_anything_new_while_the_link_has_a_rate(outage):
    samples = outage.samples.select(["t_us", "goodput_bytes"]).to_pylist()
    silent = [
        (one["t_us"], other["t_us"])
        for one, other in pairwise(samples)
        if one["goodput_bytes"] == other["goodput_bytes"]
    ]
    begin, end = min(a for a, _ in silent if a > 4e6), max(b for _, b in silent if b < 9e6)
    time = metrics.stall_time_s(outage, window=(3, 9))
    assert FIGURES["stall"].value(Measured(outage, (3, 9)), [0]) == time
    assert time == pytest.approx((end - begin) / 1e6 - 2)  # without the outage
    assert metrics.stall_time_s(outage, window=(5.5, 6.5)) == pytest.approx(0)
    assert metrics.stall_time_s(outage, window=(8, 14)) < 0.2


@pytest.mark.parametrize(
    ("steps", "repeat_ns", "window", "down"),
    [
        ([[0, 5], [2, 0], [3, 5]], None, (0, 10), 1),
        ([[0, 5], [2, 0], [3, 5]], None, (2.25, 2.75), 0.5),
        ([[0, 0], [1, 5]], 4, (0, 10), 3),
        ([[0, 5], [3, 0]], 4, (3.5, 7.5), 1),
        ([], None, (0, 10), 0),
    ],
)
def test_a_link_is_down_where_its_steps_have_no_rate(steps, repeat_ns, window, down, outage):
    link = outage.plan.links[0]
    in_ns = tuple((at * 10**9, rate) for at, rate in steps)
    changed = structs.replace(link, steps=in_ns, repeat_ns=repeat_ns and repeat_ns * 10**9)
    assert changed.down_s(*window) == pytest.approx(down)


@checks("metrics", "breaker_windows")
@checks("figure", "breaker")
def test_a_circuit_breaker_counts_windows_in_a_row_above_ten_times_tcps_rate(tmp_path):
    path = {"rate": "20Mbps", "rtt": "40ms", "buffer": "1bdp", "loss": "10%"}
    rows = {}
    for cca in ("bbr", "reno"):
        scenario = {"name": cca, "duration": "20s", "path": path, "flow": [{"cca": cca}]}
        result = dumbbell.run(scenario, out=tmp_path / cca)[0]
        rows[cca] = metrics.breaker_windows(result, 0)
        assert FIGURES["breaker"].value(Measured(result, None), [0]) == rows[cca]
        sent = metrics.throughput_bps(result, 0, (10, 15))
        tcp = 1448 * 8 * math.sqrt(1.5 / 0.1) / 0.041  # 1.1 Mbit/s
        assert (sent > 10 * tcp) == (cca == "bbr")
    assert rows == {"bbr": 4, "reno": 0}


@checks("figure", "convergence")
def test_convergence_is_the_first_of_five_seconds_of_fair_shares(tmp_path):
    path = {"rate": "50Mbps", "rtt": "40ms", "buffer": "0.5bdp"}
    pair = {"name": "p", "duration": "40s", "path": path, "flow": [{"cca": "reno"}, {"cca": "reno", "start": "10s"}]}
    result = dumbbell.run(pair, out=tmp_path / "p")[0]
    start = float(result.flows.column("start_us")[1].as_py()) / 1e6

    def jain(second: int) -> float:
        window = (start + second, start + second + 1)
        mine, its = (metrics.goodput_bytes(result, flow, window) for flow in (0, 1))
        return (mine + its) ** 2 / (2 * (mine**2 + its**2))

    fair = [jain(second) >= 0.9 for second in range(29)]
    first = next(second for second in range(25) if all(fair[second : second + 5]))
    assert FIGURES["convergence"].value(Measured(result, None)) == first > 0


def test_flows_that_never_share_fairly_take_for_ever_and_one_flow_has_no_figure(tmp_path):
    path = {"rate": "20Mbps", "rtt": "40ms", "buffer": "1bdp"}
    unequal = {
        "name": "u",
        "duration": "12s",
        "path": path,
        "flow": [{"cca": "reno"}, {"cca": "reno", "max_rate": "1Mbps"}],
    }
    alone = {"name": "a", "duration": "2s", "path": path, "flow": [{"cca": "reno"}]}
    figure = FIGURES["convergence"]
    assert figure.value(Measured(dumbbell.run(unequal, out=tmp_path / "u")[0], None)) == math.inf
    assert figure.value(Measured(dumbbell.run(alone, out=tmp_path / "a")[0], None)) is None
