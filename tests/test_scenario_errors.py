"""Errors name the key, what was given and what is accepted, with a suggestion for a near miss."""

from __future__ import annotations

from pathlib import Path

import pytest

from dumbbell import Flow, Scenario, ScenarioError, from_file, from_text, plan
from dumbbell import Path as Bottleneck

BASE = {
    "duration": '"10s"',
    "path.rate": '"40Mbps"',
    "path.rtt": '"40ms"',
    "path.buffer": '"1bdp"',
    "flow": '[{ cca = "cubic" }]',
}

MISSING_BUFFER = (
    'path.buffer: missing: add buffer = "1bdp", or another limit of the queue in BDP, bytes, packets or time'
)

CASES = [
    ({"flow": '[{ cca = "cubic" }, { ccaa = "bbr" }]'},
     "flow[1].ccaa: unknown key, wanted one of: name, cca, direction, count, rtt, start, spacing, stop, size, workload, arrivals, transport, via, loss, jitter, impair, max_rate, host, receiver, preset, params; did you mean \"cca\"?"),
    ({"durration": '"1s"'}, "durration: unknown key, wanted one of: name, duration, seed, repetitions, together, path, link, host, flow, measure, record, limits, expect; did you mean \"duration\"?"),
    ({"host": '{ start_jitter = "1h" }'}, 'host.start_jitter: got "1h", wanted at most the duration (10 s), after which no flow can start'),
    ({"path.rate": "40"}, 'path.rate: got 40, wanted a rate with its unit, such as "40Mbps" (bps, kbps, Mbps, Gbps or kbit/s, Mbit/s, Gbit/s); did you mean "40Mbps"?'),
    ({"path.rate": '"40mbps"'},
     'path.rate: got "40mbps", wanted a rate with its unit, such as "40Mbps" (bps, kbps, Mbps, Gbps or kbit/s, Mbit/s, Gbit/s); did you mean "40Mbps"?'),
    ({"path.rate": '"0bps"'}, 'path.rate: got "0bps", wanted a rate with its unit, such as "40Mbps" (bps, kbps, Mbps, Gbps or kbit/s, Mbit/s, Gbit/s), 1kbps to 1Tbps'),
    ({"path.rtt": '"40MB"'}, 'path.rtt: got "40MB", wanted a time with its unit, such as "20ms" (ns, us, ms, s, min, h)'),
    ({"path.buffer": '"1bpd"'}, 'path.buffer: got "1bpd", wanted a buffer with its unit, such as "1bdp", "500kB", "100pkt" or "20ms"; did you mean "1bdp"?'),
    ({"path.buffer": '"1513B"'}, 'path.buffer: got "1513B", wanted at least one packet of 1514 bytes (it comes to 1513 bytes)'),
    ({"path.buffer": '"0.001bdp"'}, 'path.buffer: got "0.001bdp", wanted at least one packet of 1514 bytes (it comes to 200 bytes)'),
    ({"path.rtt": None, "flow": '[{ cca = "cubic", rtt = "20ms" }]'}, 'path.buffer: got "1bdp", wanted path.rtt as well, because a BDP is path.rate x path.rtt'),
    ({"path.rtt": None, "path.buffer": '"9kB"'}, "flow[0].rtt: missing, and there is no path.rtt (or path.delay with path.up.delay) to fall back on"),
    ({"path.buffer": None}, MISSING_BUFFER),
    ({"path.loss": '"101%"'}, 'path.loss: got "101%", wanted a probability from 0 to 1, such as "0.01%" or 0.0001'),
    ({"path.qdisc": '"fqcodel"'}, 'path.qdisc: got "fqcodel", wanted one of: "fifo", "codel", "fq_codel", "red", "pie", "cake", "dualpi2", "fq"; did you mean "fq_codel"?'),
    ({"path.qdisc": '{ kind = "sfq" }'}, 'path.qdisc.kind: got "sfq", wanted one of: "fifo", "codel", "fq_codel", "red", "pie", "cake", "dualpi2", "fq"; did you mean "fq"?'),
    ({"path.qdisc": '{ ecn = true }'}, 'path.qdisc.kind: missing: one of: "fifo", "codel", "fq_codel", "red", "pie", "cake", "dualpi2", "fq"'),
    ({"path.qdisc": '{ kind = "fifo", ecn = true }'}, "path.qdisc.ecn: unknown key, wanted one of: kind, limit, head_drop"),
    ({"path.qdisc": '{ kind = "codel", target = "5" }'}, 'path.qdisc.target: got "5", wanted a time with its unit, such as "20ms" (ns, us, ms, s, min, h)'),
    ({"path.qdisc": '{ kind = "codel", flows = 3 }'}, "path.qdisc.flows: unknown key, wanted one of: kind, limit, target, interval, ecn, ce_threshold"),
    ({"path.qdisc": '{ kind = "cake", isolation = "triple" }'},
     'path.qdisc.isolation: got "triple", wanted one of: "flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"; did you mean "triple-isolate"?'),
    ({"path.qdisc": '{ kind = "red", min = "10kB", max = "5kB" }'}, 'path.qdisc.max: got "5kB", wanted more than min (10000 bytes; it comes to 5000 bytes)'),
    ({"path.qdisc": '[{ kind = "codel", target = ["5ms", "1ms"] }, "fifo"]'},
     'path.qdisc: got {"kind": "codel", "target": ["5ms", "1ms"]}, wanted one value for each of its keys, because the list around it varies already'),
    ({"path.buffer": None, "path.qdisc": '{ kind = "fq_codel", limit = "buffer" }'},
     MISSING_BUFFER),
    ({"path.loss": '{ model = "four_state", p13 = "60%", p31 = "10%", p14 = "50%" }'}, 'path.loss.p13: got "60%", wanted at most 100% together with p14 (50%)'),
    ({"path.loss": '{ model = "four_state", p13 = "6%", p31 = "60%", p32 = 0.5 }'}, 'path.loss.p31: got "60%", wanted at most 100% together with p32 (0.5)'),
    ({"path.delay": '"60s"'}, "path.delay: comes to an RTT of 60.02 s with all delays of the flow's way, wanted 60 s at most"),
    ({"path.qdisc": '"codel"', "path.burst": '"0B"'}, 'path.burst: got "0B", wanted above zero: a serial line (0B) has a drop-tail queue and no trace'),
    ({"flow": '[{ cca = "cubic", count = 0 }]'}, "flow: got count = 0 in every [[flow]] of this run, wanted a flow in one of them"),
    ({"flow": '[{ cca = "cubic", workload = { kind = "on_off", on = "1ns", off = "1ns" } }]'},
     'flow[0].workload: got {"kind": "on_off", "on": "1ns", "off": "1ns"}, wanted at most 1000000 on times per second, which limits.messages raises (it comes to 500000000)'),
    ({"path.rtt": '{ from = nan, to = inf, steps = 2 }'}, "path.rtt: got NaN, wanted a finite number"),
    ({"path.loss": '{ p = "1%" }'}, 'path.loss.model: missing: one of: "random", "gilbert_elliott", "four_state", "steps", "trace", "packets", "windows"'),
    ({"path.loss": '{ model = "gilbert_elliott", p = "1%" }'}, "path.loss.r: missing: share of packets that change back"),
    ({"path.loss": '{ packets = [-1] }'}, "path.loss.packets: got [-1], wanted numbers of packets, from 0, such as [3, 17]"),
    ({"path.rtt": '{ steps = [["0s", "0ms"]] }'},
     'path.rtt: got {"steps": [["0s", "0ms"]]}, wanted steps whose first RTT is above zero, because buffers refer to it'),
    ({"path.rate": '{ steps = [["0s", "1Mbps"], ["1s", "0bps"]] }'},
     ('path.rate: got {"steps": [["0s", "1Mbps"], ["1s", "0bps"]]}, wanted steps whose outages end: a last rate above zero, '
      "or `repeat` and a rate above zero among its steps")),
    ({"path.rate": '{ steps = [["0s", "0bps"], ["1s", "0bps"]], repeat = true }'},
     ('path.rate: got {"steps": [["0s", "0bps"], ["1s", "0bps"]], "repeat": true}, wanted steps whose outages end: a last rate above zero, '
      "or `repeat` and a rate above zero among its steps")),
    ({"path.rate": '{ steps = [["0s", "1Mbps"], ["1ns", "2Mbps"]] }'},
     'path.rate: got {"steps": [["0s", "1Mbps"], ["1ns", "2Mbps"]]}, wanted steps at least 1 us apart'),
    ({"path.qdisc": '"droptail"'},
     'path.qdisc: got "droptail", wanted one of: "fifo", "codel", "fq_codel", "red", "pie", "cake", "dualpi2", "fq"; did you mean "fifo"?'),
    ({"path.rate": '"40"'},
     'path.rate: got "40", wanted a rate with its unit, such as "40Mbps" (bps, kbps, Mbps, Gbps or kbit/s, Mbit/s, Gbit/s); did you mean "40Mbps"?'),
    ({"duration": "10"}, 'duration: got 10, wanted a time with its unit, such as "20ms" (ns, us, ms, s, min, h); did you mean "10s"?'),
    ({"path.buffer": "2"}, 'path.buffer: got 2, wanted a buffer with its unit, such as "1bdp", "500kB", "100pkt" or "20ms"; did you mean "2bdp"?'),
    ({"flow": '[{ cca = "bbr", params = { cwnd_gain = 2.5 } }]'},
     'flow[0].params.cwnd_gain: got 2.5, wanted a whole number from 256 to 1023 (1/256); did you mean 640 (2.5 x 256)?'),
    ({"limits.runs": "1", "path.buffer": '["1bdp", "2bdp"]'}, "limits.runs: got 1, wanted as many as there are runs: 2 (path.buffer)"),
    ({"limits.messages": "1000", "flow": '[{ cca = "cubic", workload = { kind = "paced", rate = "1Tbps", message = "1B" } }]'},
     ('flow[0].workload: got {"kind": "paced", "rate": "1Tbps", "message": "1B"}, wanted at most 1000 messages per second, '
      "which limits.messages raises (it comes to 125000000000)")),
    ({"path.rate": '{ trace = "x", loop = true }'},
     'path.rate: got {"trace": "x", "loop": true}, wanted a trace such as { trace = "file", repeat = true, opportunity = "1514B" }; no key loop'),
    ({"path.rate": '{ trace = "nowhere" }'}, None),
    ({"path.rate": '{ lte = "train", mean = "8Mbps" }'},
     'path.rate: got {"lte": "train", "mean": "8Mbps"}, wanted a radio link such as { lte = "stationary" | "mobile", mean = "8Mbps", length = "60s", seed = 1 }'),
    ({"path.impair": '[{ kind = "delay" }, { kind = "delay" }]'}, "path.impair[1].time: missing: another part is the flow's own delay already"),
    ({"path.impair": '[{ kind = "lose" }]'},
     'path.impair[0].kind: got "lose", wanted one of: "loss", "delay", "duplicate", "corrupt", "thin", "aggregate", "segment", "links"; did you mean "loss"?'),
    ({"path.impair": '[{ kind = "loss", rate = "1%" }]', "path.loss": '"1%"'}, 'path.loss: got "1%", wanted no such key next to impair, whose list has it'),
    ({"path.ack": '{ aggregate = { packets = 4 } }'}, 'path.ack.aggregate: got {"packets": 4}, wanted either `every`, or `packets` with `hold`'),
    ({"path.up": "{ thin = { every = 8 } }"},
     'path.up.thin.hold: got "0ns", wanted a time above zero, such as "5ms", next to every = 8: nothing is thinned without it'),
    ({"path.up": '{ impair = [{ kind = "thin", every = 2, hold = "0s" }] }'},
     'path.up.impair[0].hold: got "0s", wanted a time above zero, such as "5ms", next to every = 2: nothing is thinned without it'),
    ({"path.up": '{ buffer = "2kB" }'}, 'path.up.buffer: got "2kB", wanted path.up.rate with it: without a rate there is no link'),
    ({"path.up": '{ qdisc = "codel" }'}, 'path.up.qdisc: got "codel", wanted path.up.rate with it: without a rate there is no link'),
    ({"path.up": '{ burst = "5kB" }'}, 'path.up.burst: got "5kB", wanted path.up.rate with it: without a rate there is no link'),
    ({"path.ack": '{ link_header = "4B" }'}, 'path.ack.link_header: got "4B", wanted path.ack.rate with it: without a rate there is no link'),
    ({"path.up": '{ policer = { rate = "1Mbps", burst = "20kB" } }'},
     'path.up.policer: got {"rate": "1Mbps", "burst": "20kB"}, wanted path.up.rate with it: without a rate there is no link'),
    ({"path.policer": '{ rate = "1Mbps", burst = "1kB" }'},
     'path.policer.burst: got "1kB", wanted a size with its unit, such as "500kB" (B, kB, MB, GB, KiB, MiB, GiB, pkt), at least one packet of 1514 bytes'),
    ({"link": '[{ name = "bottleneck", rate = "1Mbps", buffer = "10pkt" }]'},
     'link[0].name: got "bottleneck", wanted a name of its own, because the link of [path] has this one'),
    ({"link": '[{ name = "l1", rate = "1Mbps" }]'},
     MISSING_BUFFER.replace("path", "link[0]")),
    ({"flow": '[{ cca = "cubic", via = ["l9"] }]'}, 'flow[0].via: got "l9", wanted one of: "bottleneck"'),
    ({"flow": '[{ cca = "cubic", via = ["bottleneck", "bottleneck"] }]'}, 'flow[0].via: got "bottleneck", wanted each link once'),
    ({"flow": '[{ cca = "cubic", transport = "sctp" }]'}, 'flow[0].transport: got "sctp", wanted one of: "tcp", "quic", "quinn", "udp"'),
    ({"flow": '[{ cca = "cubic", transport = { kind = "quic", payload = "2kB" } }]'},
     'flow[0].transport.payload: got "2kB", wanted a size with its unit, such as "500kB" (B, kB, MB, GB, KiB, MiB, GiB, pkt), from 100B to 1400B'),
    ({"flow": '[{ cca = "cubic", workload = "paced" }]'}, 'flow[0].workload: got "paced", wanted a table such as { kind = "paced", ... }'),
    ({"flow": '[{ cca = "cubic", workload = { kind = "paced", rate = "1Mbps" }, size = "1MB" }]'}, 'flow[0].size: got "1MB", wanted no size next to workload'),
    ({"flow": '[{ cca = "cubic", arrivals = { rate = "10", sizes = "1kB" } }]'}, 'flow[0].arrivals.rate: got "10", wanted a frequency, such as "10/s" (/s, /min, /h)'),
    ({"flow": '[{ cca = "cubic", arrivals = { rate = "1e9/s", sizes = "1kB" } }]'}, 'flow[0].arrivals.rate: got "1e9/s", wanted at most 49151 flows in all'),
    ({"flow": '[{ cca = "cubic", arrivals = { rate = "1/s", sizes = "1kB" }, size = "1kB" }]'},
     'flow[0].size: got "1kB", wanted no such key next to arrivals, which has its own sizes and times'),
    ({"host.ecn": '"l4s"'}, 'host.ecn: got "l4s", wanted true, false, "classic" or "accurate"'),
    ({"host.qdisc": '"pfifo_fast"'}, 'host.qdisc: got "pfifo_fast", wanted one of: "fq", "pfifo", "none"; did you mean "pfifo"?'),
    ({"host.hz": "300"}, "host.hz: got 300, wanted ticks per second that divide 1000, such as 1000, 250 or 100"),
    ({"host.tso": "1"}, "host.tso: got 1, wanted true or false"),
    ({"duration": '"0s"'}, 'duration: got "0s", wanted a time with its unit, such as "20ms" (ns, us, ms, s, min, h), above zero and at most 24h'),
    ({"flow": "[]"}, "flow: got [], wanted at least one [[flow]] table"),
    ({"flow": '[{ cca = "cubbic" }]'}, None),
    ({"flow": '[{ cca = "cubic", start = "10s" }]'}, 'flow[0].start: got "10s", wanted every start before the end of the run (10 s)'),
    ({"flow": '[{ cca = "cubic", count = 3, spacing = "6s" }]'}, 'flow[0].spacing: got "6s", wanted every start before the end of the run (10 s)'),
    ({"flow": '[{ cca = "cubic", start = "5s", stop = "4s" }]'}, 'flow[0].stop: got "4s", wanted after the last start (5 s), up to the end of the run (10 s)'),
    ({"flow": '[{ cca = "cubic", params = { nonesuch = 1 } }]'}, None),
    ({"path.buffer": '["1bdp", "1bdp"]'}, 'path.buffer: got "1bdp", wanted each varied value once'),
    ({"path.buffer": "[]"}, "path.buffer: got [], wanted at least one value to vary"),
    ({"path.jitter": '{ spread = "10ms", reorder = "no" }'}, 'path.jitter.reorder: got "no", wanted true or false'),
    ({"repetitions": "[1, 2]"}, "repetitions: got [1, 2], wanted a whole number from 1 to 100000"),
    ({"name": '"a/b"'}, 'name: got "a/b", wanted a name of letters, digits, ".", "_" and "-" (it names folders), 80 at most'),
]  # fmt: skip


def toml(changes: dict[str, str | None]) -> str:
    keys = {**BASE, **changes}
    return "\n".join(f"{key} = {value}" for key, value in keys.items() if value is not None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [case for case in CASES if case[1]],
    ids=lambda case: "-".join(case) if isinstance(case, dict) else "",
)
def test_an_error_reads(changes: dict[str, str | None], message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        plan.runs(from_text(toml(changes)))
    assert str(caught.value) == message


def test_the_unchanged_scenario_runs() -> None:
    assert len(plan.runs(from_text(toml({})))) == 1


def test_thinning_that_replaces_none_needs_no_time_to_hold() -> None:
    assert len(plan.runs(from_text(toml({"path.up": "{ thin = { every = 1 } }"})))) == 1


def test_an_unknown_controller_gets_the_list_and_the_nearest() -> None:
    with pytest.raises(
        ScenarioError,
        match=r'^flow\[0\].cca: got "cubbic", wanted one of: .*"cubic".*, or one of your own \(`dumbbell run --cca FILE`\); did you mean "cubic"\?$',
    ):
        plan.runs(from_text(toml({"flow": '[{ cca = "cubbic" }]'})))


def test_an_unknown_parameter_gets_the_list(double: object) -> None:
    with pytest.raises(
        ScenarioError, match=r'^flow\[0\].params.bata: unknown key, wanted one of: beta; did you mean "beta"\?$'
    ):
        plan.runs(from_text(toml({"flow": '[{ cca = "cubic", params = { bata = 1 } }]'})))


def test_a_parameter_out_of_range_gets_its_range_and_unit(double: object) -> None:
    with pytest.raises(
        ScenarioError, match=r"^flow\[0\].params.beta: got 1025, wanted a whole number from 1 to 1024 \(1/1024\)$"
    ):
        plan.runs(from_text(toml({"flow": '[{ cca = "cubic", params = { beta = 1025 } }]'})))


def test_a_parameter_of_a_controller_that_has_none_is_refused(double: object) -> None:
    with pytest.raises(ScenarioError, match=r"^flow\[0\].params.x: got 1, wanted no parameters: reno has none$"):
        plan.runs(from_text(toml({"flow": '[{ cca = "reno", params = { x = 1 } }]'})))


def test_an_unknown_preset_gets_the_list_and_the_nearest() -> None:
    with pytest.raises(
        ScenarioError,
        match=r'^flow\[0\].preset: got "chromum", wanted one of: "chromium", "linux-4.9"; did you mean "chromium"\?$',
    ):
        plan.runs(from_text(toml({"flow": '[{ cca = "bbr", preset = "chromum" }]'})))
    with pytest.raises(ScenarioError, match=r'^flow\[0\].preset: got "chromium", wanted no preset: vegas has none$'):
        plan.runs(from_text(toml({"flow": '[{ cca = "vegas", preset = "chromium" }]'})))


def test_every_controllers_parameters_are_accepted_at_both_ends_of_their_range() -> None:
    from dumbbell.controllers import known

    for name, controller in known().items():
        for param in controller.params.values():
            for value in (param.minimum, param.maximum):
                planned = plan.runs(
                    from_text(toml({"flow": f'[{{ cca = "{name}", params = {{ {param.name} = {value} }} }}]'}))
                )
                assert planned[0].plan["flows"][0]["params"] == {param.name: value}


def test_errors_of_a_file_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text("duration = ")
    with pytest.raises(ScenarioError, match=r"x\.toml: not TOML: Invalid value"):
        from_file(file)
    file.write_bytes(b'name = "\xff"')
    with pytest.raises(ScenarioError, match=r"x\.toml: not TOML: not UTF-8 text"):
        from_file(file)
    with pytest.raises(ScenarioError, match="No such file"):
        from_file(tmp_path / "missing.toml")


def test_tables_made_in_python_are_checked_where_they_are_made() -> None:
    with pytest.raises(ScenarioError, match=r'^path.rate: got "fast", wanted a rate'):
        Bottleneck(rate="fast", buffer="1bdp")
    with pytest.raises(ScenarioError, match=r"^flow.speed: unknown key"):
        Flow(cca="cubic", speed=1)  # type: ignore[call-arg]


def test_tables_are_frozen() -> None:
    with pytest.raises(AttributeError, match="frozen"):
        Flow(cca="cubic").cca = "bbr"  # type: ignore[misc]


def test_a_grid_beyond_any_purpose_is_refused_before_it_fills_memory() -> None:
    values = [f"{n}kB" for n in range(2, 402)]
    scenario = Scenario(
        duration=[f"{n}s" for n in range(1, 400)],
        path=Bottleneck(rate="1Mbps", rtt="1ms", buffer=values),
        flow=[Flow(cca="cubic")],
    )
    with pytest.raises(
        ScenarioError,
        match=r"^limits.runs: got 100000, wanted as many as there are runs: 159600 \(duration x path.buffer\)$",
    ):
        plan.runs(scenario)


def all_of(text: str) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        plan.runs(from_text(text))
    return [str(error) for error in caught.value.errors]


def test_another_tools_name_of_a_key_is_known_and_its_absence_not_told_twice() -> None:
    (error,) = all_of(toml({"path.rate": None, "path.bandwidth": '"1Mbps"'}))
    assert error.startswith("path.bandwidth: unknown key, wanted one of: rate, rtt,")
    assert error.endswith('; did you mean "rate"?')
    (error,) = all_of(
        toml(
            {
                "path.rtt": None,
                "path.latency": '"10ms"',
                "path.buffer": '"9kB"',
                "flow": '[{ cca = "cubic", rtt = "1ms" }]',
            }
        )
    )
    assert error.endswith('; did you mean "rtt", which is two-way: twice the delay?')


@pytest.mark.parametrize(
    ("written", "bps"),
    [("10mbit", 10**7), ("100kbit", 10**5), ("1gbit", 10**9), ("10Mbit", 10**7), ("10 mbit/s", 10**7)],
)
def test_rates_may_be_written_as_tc_writes_them(written: str, bps: int) -> None:
    assert (
        plan.runs(from_text(toml({"path.rate": f'"{written}"', "path.buffer": '"9kB"'})))[0].plan["links"][0][
            "rate_bps"
        ]
        == bps
    )
