"""Runs of scenarios by an unmodified Linux in virtual time; skipped where no such kernel is built."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import dumbbell
from dumbbell.backends.folder import sha256
from dumbbell.errors import EngineError
from dumbbell.uml import store

TSHARK = shutil.which("tshark")
SCENARIO = """
name = "{name}"
duration = "{duration}"
seed = 7
[path]
rate = {rate}
rtt = {rtt}
buffer = {buffer}
{path}
[host]
traffic = "{traffic}"
arp = {arp}
{flows}
"""
TWO = '[[flow]]\ncca = "cubic"\n[[flow]]\ncca = "bbr"\nstart = "100ms"\n'


@pytest.fixture(autouse=True)
def _kernel() -> None:
    try:
        store.find()
    except EngineError as error:
        pytest.skip(str(error))


def ran(folder: Path, *arguments: str, **given: str) -> Any:
    """The result of a scenario's run, by the command line."""
    from dumbbell.cli import main

    given = {"name": "t", "duration": "3s", "rate": '"20Mbps"', "rtt": '"20ms"', "buffer": '"50pkt"', "path": "", "traffic": "auto",
             "arp": "false", "flows": TWO, **given}  # fmt: skip
    folder.mkdir(exist_ok=True)
    file = folder / "x.toml"
    file.write_text(SCENARIO.format(**given))
    assert main(["run", str(file), "--on", "uml", "--out", str(folder / "out"), *arguments]) == 0
    return dumbbell.load(folder / "out")


def test_two_runs_and_two_at_once_are_the_same_bytes(tmp_path: Path) -> None:
    two = '["1bdp", "2bdp"]'
    made = [ran(tmp_path / "a", buffer=two), ran(tmp_path / "b", "--jobs", "2", buffer=two)]
    tables = [
        [sha256(path) for result in results for path in sorted(result.folder.glob("*.parquet"))] for results in made
    ]
    assert len(tables[0]) >= 8
    assert tables[0] == tables[1]


def test_a_pair_fills_its_link_and_its_tables(tmp_path: Path) -> None:
    (result,) = ran(tmp_path, duration="5s")
    assert result.summary.link.utilization > 0.9
    samples = result.samples.to_pylist()
    assert [row["t_us"] for row in samples if row["flow"] == 0] == [100_000 * (i + 1) for i in range(50)]
    last = samples[-1]
    assert last["goodput_bytes"] == result.summary.flows[1].goodput_bytes > 0
    assert last["bw_bps"] > 1e6
    assert last["pacing_gain"] > 0.7
    kinds = {row["kind"] for row in result.events.to_pylist()}
    assert {"start", "established", "stop"} <= kinds
    flow = result.flows.to_pylist()[0]
    assert flow["acks_sent"] > 1000
    assert flow["min_rtt_us"] in range(20_000, 21_000)
    assert result.manifest.kernel.startswith("Linux 6.")


def test_super_packets_reach_netem_and_the_shaper_whole_and_the_simulator_loses_as_many_segments(
    tmp_path: Path,
) -> None:
    from dumbbell.cli import main

    path = 'burst = "128kB"\nloss = "0.5%"'
    flow = '[[flow]]\ncca = "bbr"\n'
    given = {"rate": '"100Mbps"', "buffer": '"4bdp"', "path": path, "flows": flow, "duration": "20s"}
    (linux,) = ran(tmp_path, "--set", "host.nic=virtual", "--set", "host.tso=true", **given)
    assert main(["run", str(tmp_path / "x.toml"), "--set", "host.nic=virtual", "--out", str(tmp_path / "sim")]) == 0
    (simulated,) = dumbbell.load(tmp_path / "sim")
    row, same = (result.flows.to_pylist()[0] for result in (linux, simulated))
    # netem counts buffers, TCP segments: each buffer has many.
    assert row["retrans_segs"] > 5 * row["random_drops"] > 0
    assert abs(row["goodput_bytes"] / same["goodput_bytes"] - 1) < 0.05
    assert abs(row["acks_sent"] / same["acks_sent"] - 1) < 0.1
    assert 0.5 < row["retrans_segs"] / same["retrans_segs"] < 2
    # What is lost just before the end is not sent again: one or two buffers.
    assert same["random_drops"] <= same["retrans_segs"] + 2 * 45


@pytest.mark.parametrize("qdisc", ["fq_codel", "fq"])
def test_what_is_sent_again_after_a_timeout_goes_to_its_flows_queue(tmp_path: Path, qdisc: str) -> None:
    from dumbbell.cli import main

    given = {
        "rate": '{ steps = [["0s", "20Mbps"], ["3s", "0bps"], ["4200ms", "20Mbps"]] }',
        "buffer": '"100kB"',
        "path": f'qdisc = "{qdisc}"',
        "flows": '[[flow]]\ncca = "cubic"\n',
        "duration": "8s",
    }
    (linux,) = ran(tmp_path, **given)
    assert main(["run", str(tmp_path / "x.toml"), "--out", str(tmp_path / "sim")]) == 0
    (simulated,) = dumbbell.load(tmp_path / "sim")
    assert linux.flows.to_pylist()[0]["rtos"] > 0
    assert linux.summary.link.utilization == pytest.approx(simulated.summary.link.utilization, abs=0.01)


def test_merging_receivers_are_warned_of(tmp_path: Path) -> None:
    (plain,) = ran(tmp_path / "plain", duration="1s")
    (merging,) = ran(tmp_path / "merging", "--set", "host.gro=true", duration="1s")
    assert [warning[:9] for warning in merging.warnings if warning not in plain.warnings] == ["host.gro:"]


def test_a_rate_and_an_rtt_that_change_are_seen_at_their_times(tmp_path: Path) -> None:
    rate = '{ steps = [["0s", "20Mbps"], ["2s", "5Mbps"], ["4s", "20Mbps"]] }'
    (result,) = ran(tmp_path, duration="6s", rate=rate, rtt='{ steps = [["0s", "20ms"], ["2s", "60ms"]] }')
    sent = {row["t_us"]: row["sent_bytes"] for row in result.queue.to_pylist()}
    mbps = [
        8 * (sent[end] - sent[begin]) / (end - begin) for begin, end in ((500_000, 2_000_000), (2_500_000, 4_000_000))
    ]
    assert mbps[0] > 15
    assert 4 < mbps[1] < 5.1


def test_applications_write_messages_and_transfers_end(tmp_path: Path) -> None:
    flows = """
[[flow]]
cca = "reno"
size = "200kB"
[[flow]]
cca = "cubic"
workload = { kind = "request_response", response = "50kB", think = "50ms", count = 5 }
[[flow]]
cca = "cubic"
workload = { kind = "on_off", on = "300ms", off = "200ms" }
"""
    (result,) = ran(tmp_path, flows=flows, traffic="iperf3")
    first, second, third = result.flows.to_pylist()
    assert first["goodput_bytes"] == 200_000
    assert first["completed_us"] > 5 * 20_000
    assert second["goodput_bytes"] == 250_000
    assert second["completed_us"] > 5 * 70_000
    assert third["completed_us"] is None
    assert json.loads((result.folder / "manifest.json").read_text())["warnings"] == []
    messages = pq.read_table(result.folder / "messages.parquet").to_pylist()
    assert [(row["flow"], row["bytes"]) for row in messages] == [(1, 50_000)] * 5
    for row, following in pairwise(messages):
        assert row["asked_us"] + 10_000 <= row["written_us"], "a request takes half an RTT"
        assert row["written_us"] + 10_000 < row["completed_us"]
        assert row["completed_us"] + 50_000 == following["asked_us"], "the time to think"


def test_our_controllers_are_modules_with_parameters_of_their_own_and_report(tmp_path: Path) -> None:
    flows = """
[[flow]]
cca = "bbr2"
params = { loss_thresh = 10 }
[[flow]]
cca = "bbr2"
[[flow]]
cca = "cubic"
"""
    (result,) = ran(tmp_path, flows=flows)
    manifest = json.loads((result.folder / "manifest.json").read_text())
    assert manifest["hosts"]["modules"] == ["bbr2.ko loss_thresh=10", "bbr2_2.ko"]
    assert manifest["hosts"]["controllers"] == ["bbr2", "bbr2_2", "cubic"]
    states = {(row["flow"], row["cca_state"]) for row in result.samples.to_pylist()}
    assert {(0, "STARTUP"), (1, "STARTUP"), (2, "")} <= states
    assert len(states) > 4
    assert "cca_state" in {row["kind"] for row in result.events.to_pylist()}


@pytest.mark.parametrize("cca", ["bbr2", "bbr3"])
def test_in_a_shallow_buffer_a_module_learns_the_upper_bound_that_the_simulator_learns(
    cca: str, tmp_path: Path
) -> None:
    """Bursts are lost in the middle of a flight here: without the hook for them the bound is 15 % lower."""
    given = {"rate": '"99754000bps"', "rtt": '"2893us"', "buffer": '"6056B"', "duration": "4s"}
    given["path"] = '[record]\nevery = "2ms"'
    (linux,) = ran(tmp_path, flows=f'[[flow]]\ncca = "{cca}"\n', **given)
    here = dumbbell.run(str(tmp_path / "x.toml"), tmp_path / "sim")[0]
    bounds = [
        [row["inflight_hi"] for row in result.samples.to_pylist() if row["inflight_hi"] is not None]
        for result in (linux, here)
    ]
    means = [sum(values) / len(values) for values in bounds]
    assert means[0] == pytest.approx(means[1], rel=0.08)


def test_a_linux_module_replaces_one_that_the_kernel_has(tmp_path: Path) -> None:
    text = (Path(__file__).parent.parent / "scenarios/examples/tcp_steady.c").read_text()
    own = tmp_path / "own.c"
    own.write_text(text.replace('"steady"', '"vegas"') + "\nint tcp_vegas_init;\nEXPORT_SYMBOL_GPL(tcp_vegas_init);\n")
    flows = '[[flow]]\ncca = "vegas"\n[[flow]]\ncca = "vegas"\nparams = { alpha = 3 }\n[[flow]]\ncca = "htcp"\n'
    (result,) = ran(tmp_path, "--cca", str(own), flows=flows)
    hosts = json.loads((result.folder / "manifest.json").read_text())["hosts"]
    assert hosts["controllers"] == ["d_vegas", "d_vegas_2", "htcp"]
    assert hosts["modules"] == ["d_vegas.ko", "d_vegas_2.ko alpha=3"]
    assert all(flow.goodput_bytes > 0 for flow in result.summary.flows)


def test_an_unknown_controller_is_refused_before_anything_starts(tmp_path: Path, capsys: Any) -> None:
    from dumbbell.cli import main

    file = tmp_path / "x.py"
    file.write_text("class Mine:\n    def on_ack(self, ack):\n        pass\n")
    scenario = tmp_path / "x.toml"
    scenario.write_text(SCENARIO.format(name="t", duration="1s", rate='"1Mbps"', rtt='"1ms"', buffer='"9pkt"', path="",
                                        traffic="auto", arp="false", flows='[[flow]]\ncca = "mine"'))  # fmt: skip
    assert main(["check", str(scenario), "--on", "uml", "--cca", str(file)]) == 2
    assert "wanted a controller in C: a kernel runs no Python and no program; --on sim does" in capsys.readouterr().err


@pytest.mark.skipif(TSHARK is None, reason="tshark is not installed (`make setup` installs it where it can)")
def test_a_capture_has_every_segment_of_the_senders_in_order_and_with_right_checksums(tmp_path: Path) -> None:
    given = {"duration": "4s", "rate": '"30Mbps"', "path": 'loss = "1%"', "traffic": "iperf3"}
    (result,), (again,) = (ran(tmp_path / name, "--pcap", **given) for name in ("once", "again"))
    capture = result.folder / "trace.pcap"
    assert sha256(capture) == sha256(again.folder / "trace.pcap")
    assert result.manifest.warnings == []
    rows = frames(capture, "frame.time_epoch", "tcp.dstport", "tcp.seq_raw", "tcp.len", "tcp.checksum.status")
    times = [float(row["frame.time_epoch"]) for row in rows]
    assert times == sorted(times)
    assert times[0] < 0.001
    assert 3.9 < times[-1] <= 4.0
    # Without payload tshark cannot judge a checksum (2); acknowledgements are whole and right (1), and none is bad (0).
    judged = {(row["tcp.len"] == "0", row["tcp.checksum.status"]) for row in rows}
    assert judged == {(True, "1"), (False, "2")}
    for i, flow in enumerate(result.flows.to_pylist()):
        data = [row["tcp.seq_raw"] for row in rows if row["tcp.dstport"] == str(50001 + i) and row["tcp.len"] != "0"]
        # TCP counts a segment when fq takes it: at the end a burst may wait there.
        waits = flow["segs_sent"] - len(data)
        assert 0 <= waits < 16
        assert len(data) > 1000
        assert 0 <= flow["retrans_segs"] - (len(data) - len(set(data))) <= waits
        assert flow["retrans_segs"] > 10


def frames(capture: Path, *names: str) -> list[dict[str, str]]:
    """Fields of each frame, by tshark."""
    assert TSHARK is not None
    words = [word for name in names for word in ("-e", name)]
    told = [TSHARK, "-n", "-o", "tcp.check_checksum:TRUE", "-r", str(capture), "-T", "fields", *words]
    lines = subprocess.run(told, capture_output=True, text=True, check=True).stdout.splitlines()
    return [dict(zip(names, line.split("\t"), strict=True)) for line in lines]


@pytest.mark.skipif(TSHARK is None, reason="tshark is not installed (`make setup` installs it where it can)")
@pytest.mark.parametrize(
    ("rate", "rtt", "cca", "bursts"), [("1Gbps", "20ms", "cubic", 130), ("10Mbps", "100ms", "reno", 300)]
)
def test_slow_start_sends_the_bursts_of_linux(rate: str, rtt: str, cca: str, bursts: int, tmp_path: Path) -> None:
    from dumbbell.cli import main

    given = {"rate": f'"{rate}"', "rtt": f'"{rtt}"', "flows": f'[[flow]]\ncca = "{cca}"', "buffer": '"1bdp"'}
    (linux,) = ran(tmp_path, "--pcap", duration="1s", **given)
    assert main(["run", str(tmp_path / "x.toml"), "--pcap", "--out", str(tmp_path / "sim")]) == 0
    (simulated,) = dumbbell.load(tmp_path / "sim")
    sent = [burst_bytes(result.folder / "trace.pcap")[:bursts] for result in (linux, simulated)]
    assert len(sent[0]) == bursts
    assert sent[0] == sent[1]


def burst_bytes(capture: Path) -> list[int]:
    """Payload of each group of segments that leave within 3 us of each other."""
    made: list[int] = []
    last = float("-inf")
    for frame in frames(capture, "frame.time_epoch", "tcp.len"):
        at, length = float(frame["frame.time_epoch"]), int(frame["tcp.len"])
        if length and at - last > 3e-6:
            made.append(0)
        if length:
            made[-1] += length
            last = at
    return made


@pytest.mark.parametrize("sndbuf", ["60kB", "200kB", "0B"])
def test_a_source_that_pauses_sends_what_its_buffer_holds_as_linux_does(tmp_path: Path, sndbuf: str) -> None:
    scenario = {
        "duration": "6s",
        "path": {"rate": "50Mbps", "rtt": "40ms", "buffer": "1bdp"},
        "host": {"sndbuf": sndbuf} if sndbuf != "0B" else {},
        "flow": [{"cca": "cubic", "workload": {"kind": "on_off", "on": "500ms", "off": "700ms"}}],
    }
    (here,) = dumbbell.run(dumbbell.from_dict(scenario), tmp_path / "sim")
    (there,) = dumbbell.run(dumbbell.from_dict(scenario), tmp_path / "uml", on="uml")
    sent, retransmitted = (
        [run.flows[name][0].as_py() for run in (here, there)] for name in ("segs_sent", "retrans_segs")
    )
    assert sent[0] == pytest.approx(sent[1], rel=0.004)
    assert retransmitted[0] == pytest.approx(retransmitted[1], rel=0.05)


@pytest.mark.parametrize(("key", "buffer", "about"), [("rcvbuf", "receive", 83), ("sndbuf", "send", 68)])
def test_a_flow_waits_for_a_buffer_that_is_too_small_as_long_as_in_linux(
    tmp_path: Path, key: str, buffer: str, about: int
) -> None:
    scenario = {
        "duration": "5s",
        "path": {"rate": "1Gbps", "rtt": "100ms", "buffer": "1bdp"},
        "host": {key: "2MB"},
        "flow": [{"cca": "bbr"}],
    }
    for on in ("sim", "uml"):
        (result,) = dumbbell.run(dumbbell.from_dict(scenario), tmp_path / on, on=on)
        (warning,) = (line for line in result.manifest["warnings"] if "waited" in line)
        said = re.fullmatch(rf"flow 0 waited for its {buffer} buffer (\d+) % of the time", warning)
        assert said, warning
        assert int(said[1]) == pytest.approx(about, abs=3), on


#: A further link, and a flow that crosses both.
SECOND = '[[link]]\nname = "second"\nrate = "{rate}"\nbuffer = "50pkt"\ndelay = "{delay}"\n'
BOTH = '[[flow]]\ncca = "cubic"\nvia = ["bottleneck", "second"]\n'


@pytest.mark.parametrize(("first", "second"), [("10Mbps", "20Mbps"), ("20Mbps", "10Mbps")])
def test_of_two_links_in_a_row_the_slow_one_queues_and_drops_as_in_the_simulator(
    first: str, second: str, tmp_path: Path
) -> None:
    given = {"rate": f'"{first}"', "path": SECOND.format(rate=second, delay="5ms"), "flows": BOTH, "duration": "20s"}
    (linux,) = ran(tmp_path, **given)
    (simulated,) = dumbbell.run(str(tmp_path / "x.toml"), tmp_path / "sim")
    slow, fast = (0, 1) if first == "10Mbps" else (1, 0)
    here, there = (run.summary.data_links for run in (simulated, linux))
    for link in (0, 1):
        assert there[link].utilization == pytest.approx(here[link].utilization, abs=0.01)
        assert there[link].queue_mean_ms == pytest.approx(here[link].queue_mean_ms, abs=1, rel=0.05)
    assert there[slow].drops == pytest.approx(here[slow].drops, rel=0.2)
    assert there[fast].drops == here[fast].drops
    assert linux.flows["min_rtt_us"][0].as_py() == pytest.approx(simulated.flows["min_rtt_us"][0].as_py(), abs=100)


@pytest.mark.parametrize("delay", ["0s", "5ms"])
@pytest.mark.parametrize("second", ["10Mbps", "20Mbps", "40Mbps"])
def test_at_each_link_what_comes_is_what_leaves_and_what_is_dropped(second: str, delay: str, tmp_path: Path) -> None:
    flows = BOTH + "size = '4MB'\n"
    (result,) = ran(tmp_path, path=SECOND.format(rate=second, delay=delay), flows=flows, duration="10s")
    first, last = result.queue.to_pylist()[-2:]
    (flow,) = result.flows.to_pylist()
    assert flow["goodput_bytes"] == 4_000_000
    assert first["backlog_packets"] == last["backlog_packets"] == 0
    opening = 2  # a SYN, and the acknowledgement of the receiver's
    assert first["sent_packets"] + first["dropped_packets"] == flow["segs_sent"] + opening
    assert last["sent_packets"] + last["dropped_packets"] == first["sent_packets"]
    assert first["dropped_packets"] + last["dropped_packets"] > 0


def test_flows_cross_the_links_of_their_own_way_and_no_other(tmp_path: Path) -> None:
    flows = """
[[flow]]
cca = "reno"
size = "500kB"
[[flow]]
cca = "reno"
size = "300kB"
via = ["second"]
[[flow]]
cca = "reno"
size = "200kB"
via = ["second", "bottleneck"]
"""
    path = SECOND.format(rate="30Mbps", delay="5ms").replace("50pkt", "1MB")
    (result,) = ran(tmp_path, path=path, flows=flows, buffer='"1MB"')
    carried = [row["sent_bytes"] for row in result.queue.to_pylist()[-2:]]
    frames = 1514 / 1448
    assert carried == pytest.approx([700_000 * frames, 500_000 * frames], rel=0.002)
    rtts = [flow["min_rtt_us"] for flow in result.flows.to_pylist()]
    assert rtts == pytest.approx([20_000, 30_000, 30_000], rel=0.05)


@pytest.mark.parametrize(("cca", "burst"), [("cubic", "20kB"), ("cubic", "100kB"), ("bbr", "100kB")])
def test_a_policer_drops_what_it_drops_in_the_simulator(cca: str, burst: str, tmp_path: Path) -> None:
    given = {
        "rate": '"100Mbps"',
        "rtt": '"40ms"',
        "buffer": '"1bdp"',
        "path": f'policer = {{ rate = "20Mbps", burst = "{burst}" }}',
        "flows": f'[[flow]]\ncca = "{cca}"\n',
        "duration": "20s",
    }
    (linux,) = ran(tmp_path, **given)
    (simulated,) = dumbbell.run(str(tmp_path / "x.toml"), tmp_path / "sim")
    here, there = (run.flows.to_pylist()[0] for run in (simulated, linux))
    assert there["goodput_bytes"] == pytest.approx(here["goodput_bytes"], rel=0.03)
    assert there["policed_drops"] == pytest.approx(here["policed_drops"], rel=0.15)
    assert there["policed_drops"] == there["queue_drops"] == linux.summary.link.drops > 0
    assert linux.summary.link.queue_mean_ms == 0


def test_a_policer_of_any_link_drops_what_did_not_come_through_it(tmp_path: Path) -> None:
    policed = SECOND.format(rate="40Mbps", delay="5ms") + 'policer = { rate = "10Mbps", burst = "30kB" }\n'
    (result,) = ran(tmp_path, path=policed, flows=BOTH + "size = '4MB'\n", duration="15s")
    first, last = result.queue.to_pylist()[-2:]
    (flow,) = result.flows.to_pylist()
    assert flow["goodput_bytes"] == 4_000_000
    assert first["sent_packets"] == last["sent_packets"] + last["dropped_packets"]
    assert flow["policed_drops"] == last["dropped_packets"] > 0
    assert flow["queue_drops"] == flow["policed_drops"] + first["dropped_packets"]


def test_a_policer_of_the_way_up_polices_what_goes_up(tmp_path: Path) -> None:
    path = '[path.up]\nrate = "20Mbps"\nbuffer = "100kB"\npolicer = { rate = "5Mbps", burst = "30kB" }\n'
    (result,) = ran(tmp_path, path=path, flows='[[flow]]\ncca = "reno"\ndirection = "up"\n', duration="10s")
    (flow,) = result.flows.to_pylist()
    assert flow["goodput_bytes"] * 8 / 10 == pytest.approx(4.4e6, rel=0.1)
    assert flow["policed_drops"] == result.queue.to_pylist()[-1]["dropped_packets"] > 20
    assert result.summary.data_links[0].drops == 0


def test_variables_of_modules_are_those_of_the_simulator(tmp_path: Path) -> None:
    flows = (
        '[record]\nvariables = true\nevery = "10ms"\n[[flow]]\ncca = "bbr3"\n[[flow]]\ncca = "counting"\nstart = "1s"\n'
    )
    own = str(Path(__file__).parent / "controllers/counting.c")
    (result,) = ran(tmp_path, "--cca", own, flows=flows, buffer='"4bdp"')
    drain = next(row["t_ns"] for row in result.events.to_pylist() if row["note"] == "DRAIN")
    rows = result.variables.to_pylist()
    then = {row["name"]: row for row in rows if row["flow"] == 0 and row["t_ns"] == drain}
    assert then["startup_end"]["word"] == "plateau"
    assert (then["full_bw_count"]["value"], then["full_bw_reached"]["value"]) == (3, 1)
    assert then["max_bw"]["unit"] == "bit/s"
    assert then["max_bw"]["value"] == pytest.approx(20e6 * 1448 / 1514, rel=0.05)
    assert then["inflight_lo"]["value"] is None
    assert [row["word"] for row in rows if row["flow"] == 1 and row["name"] == "is_many"] == ["few", "many"]


@pytest.mark.parametrize(
    ("flow", "limit", "setting"),
    [
        ('cca = "cubic"', "cwnd", "host.rcvbuf=auto"),
        ('cca = "cubic"', "receive_window", "host.rcvbuf=40kB"),
        ('cca = "cubic"\nworkload = { kind = "paced", rate = "2Mbps" }', "application", "host.rcvbuf=auto"),
        ('cca = "bbr"', "pacing", "host.rcvbuf=auto"),
    ],
)
def test_limits_of_modules_are_those_of_the_simulator(tmp_path: Path, flow: str, limit: str, setting: str) -> None:
    from dumbbell.cli import main

    flows = f'[record]\nlimits = true\nevery = "10ms"\n[[flow]]\n{flow}\n'
    (linux,) = ran(tmp_path, "--on", "uml-ours", "--set", setting, flows=flows, duration="10s")
    assert main(["run", str(tmp_path / "x.toml"), "--set", setting, "--out", str(tmp_path / "sim"), "-q"]) == 0
    (simulated,) = dumbbell.load(tmp_path / "sim")
    held = [limit_share(result, limit) for result in (linux, simulated)]
    assert min(held) > 0.3, held
    assert abs(held[0] - held[1]) < 0.15, held


def limit_share(result: dumbbell.Result, limit: str) -> float:
    """Share of the samples from 2 s on at which a limit held."""
    rows = [(row["t_ns"], row["limit"]) for row in result.limits.to_pylist()]
    times = range(2_000_000_000, int(result.plan.duration_s * 1e9), 10_000_000)
    return sum([word for at, word in rows if at <= time][-1] == limit for time in times) / len(times)
