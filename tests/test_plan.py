"""Plans are what the scenario says, in absolute integers."""

from __future__ import annotations

from pathlib import Path as FilePath

import pytest

from dumbbell import Flow, Jitter, Scenario, ScenarioError, from_text, plan, run
from dumbbell import Path as Bottleneck
from dumbbell.scenario.toml_text import to_toml


def one(path: Bottleneck, *flows: Flow, duration: str = "10s") -> dict[str, object]:
    runs = plan.runs(Scenario(duration=duration, path=path, flow=list(flows or [Flow(cca="cubic")])))
    assert len(runs) == 1
    return runs[0].plan


@pytest.mark.parametrize(("buffer", "packets"), [("1bdp", 132), ("100pkt", 100), ("20ms", 66), ("50kB", 33)])
def test_a_queue_that_drops_its_head_counts_packets_as_linux_does(buffer: str, packets: int) -> None:
    """`pfifo_head_drop` has no limit in bytes: they become full packets of 1514 bytes."""
    planned = one(Bottleneck(rate="40Mbps", rtt="40ms", buffer=buffer, qdisc={"kind": "fifo", "head_drop": True}))
    link = planned["links"][0]  # type: ignore[index]
    assert link["qdisc"] == {"kind": "fifo", "head_drop": True, "limit_bytes": None, "limit_packets": packets}


@pytest.mark.parametrize(
    ("buffer", "limit"),
    [
        ("1bdp", {"limit_bytes": 200_000, "limit_packets": None}),
        ("1.5bdp", {"limit_bytes": 300_000, "limit_packets": None}),
        ("0.33333bdp", {"limit_bytes": 66_666, "limit_packets": None}),
        ("500kB", {"limit_bytes": 500_000, "limit_packets": None}),
        ("100pkt", {"limit_bytes": None, "limit_packets": 100}),
        ("20ms", {"limit_bytes": 100_000, "limit_packets": None}),
    ],
)
def test_a_buffer_becomes_bytes_rounded_down_or_packets(buffer: str, limit: dict[str, int | None]) -> None:
    planned = one(Bottleneck(rate="40Mbps", rtt="40ms", buffer=buffer))
    link = planned["links"][0]
    assert link["qdisc"] == {"kind": "fifo", "head_drop": False, **limit}  # type: ignore[index]
    assert (link["rate_bps"], link["steps"], link["trace"], link["burst_bytes"]) == (40_000_000, [], None, 3028)  # type: ignore[index]


def test_bdp_refers_to_the_rtt_of_the_path_whatever_the_flows_have() -> None:
    planned = one(Bottleneck(rate="40Mbps", rtt="40ms", buffer="1bdp"), Flow(cca="bbr", rtt="150ms"))
    assert planned["links"][0]["qdisc"]["limit_bytes"] == 200_000  # type: ignore[index]
    assert planned["flows"][0]["rtt_ns"] == 150_000_000  # type: ignore[index]


def test_count_makes_equal_flows_and_spacing_sets_their_starts_apart() -> None:
    flows = one(
        Bottleneck(rate="40Mbps", rtt="40ms", buffer="1bdp"), Flow(cca="cubic", count=3, start="1s", spacing="2s")
    )["flows"]
    assert [flow["start_ns"] for flow in flows] == [10**9, 3 * 10**9, 5 * 10**9]  # type: ignore[attr-defined]
    assert len({(flow["cca"], flow["rtt_ns"], flow["stop_ns"]) for flow in flows}) == 1  # type: ignore[attr-defined]


def test_what_a_flow_sets_overrides_the_path() -> None:
    path = Bottleneck(rate="40Mbps", rtt="40ms", buffer="1bdp", loss="1%", jitter=Jitter(spread="5ms"))
    flows = one(path, Flow(cca="cubic"), Flow(cca="cubic", loss=0, jitter=Jitter(spread="1ms", reorder=False)))["flows"]
    lossy, still = (flow["forward"] for flow in flows)  # type: ignore[attr-defined]
    assert [stage["kind"] for stage in lossy] == ["loss", "delay", "link"]
    assert [stage["kind"] for stage in still] == ["delay", "link"]
    jitters = [(stage["jitter"]["spread_ns"], stage["jitter"]["reorder"]) for stage in (lossy[1], still[0])]
    assert jitters == [(5_000_000, True), (1_000_000, False)]


def test_the_first_key_written_varies_slowest_and_repetitions_fastest() -> None:
    text = """
        duration = "1s"
        repetitions = 2
        [path]
        buffer = ["1bdp", "2bdp"]
        rate = "10Mbps"
        rtt = "20ms"
        [[flow]]
        cca = ["cubic", "reno"]
    """
    runs = plan.runs(from_text(text))
    assert [(*run.vary.values(), run.repetition) for run in runs] == [
        ("1bdp", "cubic", 0), ("1bdp", "cubic", 1), ("1bdp", "reno", 0), ("1bdp", "reno", 1),
        ("2bdp", "cubic", 0), ("2bdp", "cubic", 1), ("2bdp", "reno", 0), ("2bdp", "reno", 1),
    ]  # fmt: skip
    assert list(runs[0].vary) == ["path.buffer", "flow[0].cca"]
    assert [run.position for run in runs] == list(range(8))


def test_parameters_and_jitter_vary_too(double: object) -> None:
    path = Bottleneck(rate="10Mbps", rtt="20ms", buffer="1bdp", jitter=Jitter(spread=["0ms", "5ms"]))
    runs = plan.runs(Scenario(duration="1s", path=path, flow=[Flow(cca="cubic", params={"beta": [512, 717]})]))
    assert [list(run.vary.items()) for run in runs][-1] == [("path.jitter.spread", "5ms"), ("flow[0].params.beta", 717)]
    assert runs[-1].plan["flows"][0]["params"] == {"beta": 717}


def test_a_preset_becomes_its_parameters_and_params_go_over_them() -> None:
    path = Bottleneck(rate="10Mbps", rtt="100ms", buffer="150ms")
    flows = one(
        path,
        Flow(cca="cubic", preset="chromium"),
        Flow(cca="cubic", preset="chromium", params={"beta": 717}),
        Flow(cca="cubic"),
    )["flows"]
    chromium = {"beta": 870, "friendly_connections": 2, "hystart_detect": 2, "hystart_once": 1}
    assert [flow["params"] for flow in flows] == [chromium, {**chromium, "beta": 717}, {}]  # type: ignore[attr-defined]
    assert not any("preset" in flow for flow in flows)  # type: ignore[attr-defined]


def test_a_preset_may_go_with_varied_controllers_and_parameters() -> None:
    text = """
        duration = "1s"
        path = { rate = "10Mbps", rtt = "100ms", buffer = "150ms" }
        flow = [{ cca = ["bbr", "reno"], preset = "chromium" }]
    """
    assert [run.plan["flows"][0]["params"].get("beta") for run in plan.runs(from_text(text))] == [None, 717]


def test_repetition_0_has_the_seed_itself_and_the_others_their_own() -> None:
    seeds = [plan.derived_seed(7, repetition) for repetition in range(1000)]
    assert seeds[0] == 7
    assert len(set(seeds)) == 1000
    assert all(0 <= seed < 2**53 for seed in seeds)
    # SplitMix64 of state 0, as published: first output e220a8397b1dcdaf.
    assert plan.derived_seed(0, 1) == 0xE220A8397B1DCDAF & (2**53 - 1)


def test_a_scenario_written_as_a_file_means_the_same() -> None:
    scenario = Scenario(
        name="round-trip",
        duration="3s",
        repetitions=2,
        path=Bottleneck(rate=["10Mbps", "20Mbps"], rtt="20ms", buffer="1bdp", jitter=Jitter(spread="1ms")),
        flow=[Flow(cca="cubic", loss=[0.001, "1%"]), Flow(cca="bbr", size="1MB")],
    )
    assert plan.runs(from_text(to_toml(scenario))) == plan.runs(scenario)


def test_start_jitter_moves_each_flow_by_its_own_seeded_draw() -> None:
    def starts(seed: int) -> list[int]:
        text = (
            f'seed = {seed}\nduration = "10s"\n[path]\nrate = "10Mbps"\nrtt = "20ms"\nbuffer ='
            ' "1bdp"\n[host]\nstart_jitter = "5ms"\n'
        )
        return [
            flow["start_ns"]
            for flow in plan.runs(from_text(text + '[[flow]]\ncca = "reno"\ncount = 3\nstart = "1s"\n'))[0].plan[
                "flows"
            ]
        ]

    assert starts(1) == starts(1)
    assert starts(1) != starts(2)
    assert len(set(starts(1))) == 3
    assert all(10**9 <= start <= 10**9 + 5_000_000 for start in starts(1))


STEPS = (
    'duration = "10s"\n[path]\nrate = {{ steps = {steps}{repeat} }}\nrtt = "40ms"\nbuffer = "1bdp"\n[[flow]]\ncca ='
    ' "reno"\n'
)


def link(steps: str, repeat: str = "") -> dict[str, object]:
    return plan.runs(from_text(STEPS.format(steps=steps, repeat=repeat)))[0].plan["links"][0]


def test_a_course_keeps_its_last_rate_as_long_as_the_one_before_it() -> None:
    planned = link('[["0s", "40Mbps"], ["2s", "45Mbps"]]', ", repeat = true")
    assert (planned["rate_bps"], planned["steps"], planned["repeat_ns"]) == (
        40_000_000,
        [(0, 40_000_000), (2 * 10**9, 45_000_000)],
        4 * 10**9,
    )


def test_a_bdp_refers_to_the_first_rate_of_a_course() -> None:
    assert link('[["0s", "40Mbps"], ["2s", "400Mbps"]]')["qdisc"]["limit_bytes"] == 200_000  # type: ignore[index]


@pytest.mark.parametrize(
    ("steps", "repeat", "wanted"),
    [
        ('[["1s", "40Mbps"]]', "", "the first of them"),
        ('[["0s", "40Mbps"], ["0s", "45Mbps"]]', "", "ascending"),
        ('[["0s", "40Mbps"]]', ", repeat = true", "two steps"),
        ('[["0s", "40Mbps"], ["2s", "45Mbps"]]', ', repeat = "1s"', "after the last step"),
        ('[["0s", "40"]]', "", "such as"),
        ("[]", "", "steps"),
    ],
)
def test_a_course_that_makes_no_sense_is_an_error_that_names_the_key(steps: str, repeat: str, wanted: str) -> None:
    with pytest.raises(ScenarioError, match=rf"path\.rate.*{wanted}"):
        link(steps, repeat)


def test_hosts_know_each_other_unless_the_scenario_says_that_they_are_fresh() -> None:
    text = 'duration = "1s"\npath = { rate = "10Mbps", rtt = "20ms", buffer = "1bdp" }\nflow = [{ cca = "cubic" }]\n'
    assert plan.plan(from_text(text))["host"]["arp"] is False
    assert plan.plan(from_text(text + "host = { arp = true }"))["host"]["arp"] is True


def test_a_short_flow_takes_a_round_trip_longer_between_fresh_hosts(tmp_path: FilePath) -> None:
    path = Bottleneck(rate="10Mbps", rtt="100ms", buffer="1bdp")
    times = {}
    for arp in (False, True):
        scenario = Scenario(duration="5s", path=path, flow=[Flow(cca="cubic", size="10kB")], host={"arp": arp})
        times[arp] = run(scenario, tmp_path / str(arp))[0].summary["flows"][0]["fct_s"]
    assert times[False] == pytest.approx(0.156, abs=0.005), "SYN and its answer, then seven packets one way"
    assert times[True] - times[False] == pytest.approx(0.1, abs=0.001)
