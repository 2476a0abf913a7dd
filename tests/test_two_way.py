"""Flows that go up: what their plans say, what is refused, and what results have of both ways."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell import ScenarioError, cli, plan, plot
from dumbbell.results import metrics
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


#: Flows over the bottleneck, over a slower link, and up.
APART = [
    {"name": "main", "cca": "cubic"},
    {"name": "slow", "cca": "cubic", "via": ["slow"]},
    {"name": "up", "cca": "cubic", "direction": "up"},
]


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> dumbbell.Results:
    finite = [{**one, "count": 5, "size": "100kB", "spacing": "700ms"} for one in APART]
    made = given(finite, buffer=["1bdp", "2bdp"], up={**LINK, "rate": "2Mbps"})
    link = {"name": "slow", "rate": "4Mbps", "buffer": "1bdp"}
    return dumbbell.run(from_dict({**made, "link": [link]}), tmp_path_factory.mktemp("apart") / "out")


def test_slowdown_reckons_with_the_slowest_link_of_a_flows_way(apart: dumbbell.Results) -> None:
    run = apart[0]
    ax = plot.slowdown(run)
    drawn = [line.get_ydata()[0] for line in ax.lines if line.get_linestyle() == "-" and len(line.get_ydata())]
    for number, mbps in enumerate((20, 4, 2)):
        rows = [row for row in run.flows.to_pylist() if row["table"] == number]
        times = sorted(row["completed_us"] - row["start_us"] for row in rows)
        assert drawn[number] == pytest.approx(times[2] / (100_000 * 8 / mbps + 40_000), rel=1e-6)


@pytest.mark.parametrize(
    ("flows", "label", "mbps"),
    [
        ("main", "link rate", 20),
        ("up", "link rate (up)", 2),
        ("slow", "link rate (slow)", 4),
        (None, "link rate (bottleneck)", 20),
        ("5-14", None, None),
    ],
)
def test_a_rate_is_drawn_of_the_link_that_the_flows_cross(
    flows: str | None, label: str | None, mbps: float | None, apart: dumbbell.Results
) -> None:
    lines = {str(line.get_label()): line.get_ydata() for line in plot.goodput(apart[0], flows=flows).lines}
    found = [name for name in lines if "rate" in name]
    assert found == ([label] if label else [])
    assert not label or set(lines[label]) == {mbps}


def test_where_not_all_flows_cross_the_bottleneck_no_chart_has_its_rate_or_bdp(apart: dumbbell.Results) -> None:
    from dumbbell.report import overtime, sweeps
    from dumbbell.results.catalogue import Measured

    assert "link rate" not in [line.get_label() for line in plot.vary(apart).lines]
    charts = overtime.overtime([Measured(apart[0], None)])["runs"][0]["charts"]
    assert "rate" not in charts["goodput"]
    assert charts["inflight"]["bdp"] == []
    figure = sweeps.growing(apart, "goodput", apart.varied())
    assert figure is not None
    assert [form["rate"] for form in figure["forms"] if "rate" in form] == [None]


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
    # Of 500 those of the end's last round trip, of 40 to 80 ms, are not back.
    assert 492 <= sent.size < 496
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


def test_a_probe_that_is_under_way_at_the_end_is_not_lost(tmp_path: Path) -> None:
    # A round trip takes 40 ms and the time of 98 bytes at 20 Mbit/s each way where a bucket is empty; nothing is lost.
    result = dumbbell.run(
        from_dict(given([{"cca": "reno", "size": "1kB"}, PROBES[1]], duration="1s", up=LINK)), tmp_path / "out"
    )[0]
    rows = result.probes.to_pylist()
    assert [row["sent_us"] for row in rows] == list(range(0, 970_000, 10_000))
    assert all(row["rtt_us"] is not None for row in rows)


@pytest.mark.parametrize(
    ("answers", "kept"),
    [
        ([40, 40, 40, 24], [0, 1, 2, 3]),
        # One of the middle is lost: a later one came back.
        ([40, None, 40, 24], [0, 1, 2, 3]),
        # The last two were sent 25 and 50 ms before the end, with a round trip of 40 ms.
        ([40, 40, None, None], [0, 1]),
        # Nothing came back: those that had twice the path's 40 ms are lost.
        ([None, None, None, None], [0]),
        # An answer after the end tells nothing of the run.
        ([40, 40, 40, 26], [0, 1, 2]),
    ],
)
def test_of_hosts_the_last_probes_without_an_answer_are_under_way(answers: list[Any], kept: list[int]) -> None:
    from dumbbell.backends import tables

    run = planned([{"cca": "reno"}, {"workload": {"probe": "25ms"}}], "100ms")
    rows = [
        {"probe": 0, "sent_us": 25_000 * i, "there_us": None, "rtt_us": rtt and rtt * 1000}
        for i, rtt in enumerate(answers)
    ]
    assert [row["sent_us"] // 25_000 for row in tables.decided(run, rows)] == kept


def test_every_controller_that_needs_marks_has_its_controller_at_both_ends() -> None:
    from dumbbell import controllers
    from dumbbell.backends import netem

    for cca in [name for name, facts in controllers.facts().items() if facts.needs_marks]:
        run = planned([{"cca": cca}, {"cca": cca, "direction": "up"}, {"cca": "cubic"}], up=LINK)
        made = netem.topology(run, "", [cca, cca, "cubic"]).build
        named = [(argv[3], argv[7], argv[11]) for argv in made if "congctl" in argv]
        assert named == [
            ("s", "10.2.1.1", cca), ("d", "10.1.1.1", cca),
            ("d", "10.1.1.2", cca), ("s", "10.2.1.2", cca),
            ("s", "10.2.1.3", "cubic"),
        ]  # fmt: skip


def test_netem_has_the_link_of_the_way_up_behind_the_bottleneck() -> None:
    from dumbbell.backends import netem

    run = planned([*BOTH, PROBES[1]], up={"rate": "5Mbps", "buffer": "30kB", "qdisc": "fq_codel"})
    made = netem.topology(run, "", ["cubic", "cubic"])
    ends = [(one.source, one.target) for one in made.ends]
    assert ends == [("10.1.1.1", "10.2.1.1"), ("10.2.1.2", "10.1.1.2"), ("10.2.1.3", "10.1.1.3")]
    shaped = [(argv[3], argv[8], " ".join(argv[9:15])) for argv in made.build if "tbf" in argv]
    assert shaped == [
        ("b", "out", "root handle 1: tbf rate 20000000bit"), ("c", "in", "root handle 1: tbf rate 5000000bit")
    ]  # fmt: skip
    assert made.links == [("b", "out", "1:"), ("c", "in", "10:")]
    delays = [(argv[3], argv[-2:]) for argv in made.build if "netem" in argv]
    assert delays == [("a", ("delay", "20000us")), ("b", ("delay", "20000us"))]


@pytest.mark.parametrize(
    ("up", "on", "message"),
    [
        ({"loss": "1%"}, "netem", "t: path.up.loss: comes before the link of the way up"),
        ({"qdisc": "dualpi2"}, "netem", 't: path.up.qdisc: got "dualpi2", wanted one of: '),
        ({"policer": {"rate": "1Mbps", "burst": "10kB"}}, "netem", "t: path.up.policer: got one"),
        ({"loss": "1%"}, "ssh://a,b", "t: path: loses, delays or reorders packets"),
    ],
)
def test_what_the_kernel_has_not_on_the_way_up_is_refused_by_its_key(up: dict[str, Any], on: str, message: str) -> None:
    from dumbbell.backends import netem, ssh
    from dumbbell.backends.request import Request

    run = plan.runs(from_dict(given(BOTH, up={**LINK, **up})))[0]
    with pytest.raises(ScenarioError) as error:
        {"netem": netem, "ssh": ssh}[on.partition(":")[0]].check(Request(run, on))
    assert str(error.value).startswith(message)


def test_over_ssh_each_host_sends_what_comes_of_the_other_through_a_link_of_its_own() -> None:
    from dumbbell.backends import ssh

    facts = ssh.Facts("192.0.2.1", "198.51.100.2", "eth0", ("cubic",), "cubic", {}, 0, "eth1", "cubic")
    run = planned([*BOTH, PROBES[1]], up={"rate": "5Mbps", "buffer": "30kB"})
    for steps, iface, other, rate in (
        (ssh.bottleneck(run, facts, 5201)[0], "eth0", "192.0.2.1", "20000000bit"),
        (ssh.upward(run, facts, 5201)[0], "eth1", "198.51.100.2", "5000000bit"),
    ):
        commands = [" ".join(step.do) for step in steps]
        assert any(f"htb rate {rate}" in command for command in commands)
        chosen = [command for command in commands if "filter" in command]
        assert all(f"dev {iface} " in command and f"src {other}/32" in command for command in chosen)
        # Data to the servers' ports, acknowledgements to the clients', probes to theirs.
        ports = [re.search(r"protocol (6|17) 0xff match ip dport (\d+) (0x\w+)", command) for command in chosen]
        assert [found.groups() if found else None for found in ports] == [
            ("6", "5200", "0xfffc"), ("6", "50000", "0xfffe"), ("17", "50000", "0xfffc")
        ]  # fmt: skip


@pytest.mark.alone
def test_a_prober_measures_over_the_loopback() -> None:
    """At both ends by one clock: a request is there before its answer is back, and one that nobody answers is lost."""
    import subprocess
    import sys
    import time

    from dumbbell.backends import prober

    answering = subprocess.Popen([sys.executable, prober.__file__, "answer", "127.0.0.2", "47001"])
    try:
        ms = 1_000_000
        first = [[0, -1, -1]]
        for _ in range(100):  # until the other end has begun
            now = time.time_ns()
            first = prober.ask("127.0.0.1", "127.0.0.2", 47_001, [now, 100 * ms, now + ms, now + 100 * ms])
            if first and first[0][2] > 0:
                break
        assert first[0][2] > 0
        start = time.time_ns() + 50 * ms
        rows = prober.ask("127.0.0.1", "127.0.0.2", 47_001, [start, 10 * ms, start + 200 * ms, start + 250 * ms])
    finally:
        answering.kill()
        answering.wait()
    assert len(rows) == 20
    assert all(start + 10 * ms * i <= row[0] < row[1] < row[2] for i, row in enumerate(rows))
    start = time.time_ns()
    assert prober.ask("127.0.0.1", "127.0.0.3", 47_002, [start, 10 * ms, start + 15 * ms, start + 20 * ms])[0][1:] == [
        -1,
        -1,
    ]
