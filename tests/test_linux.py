"""Real hosts over the emulated path: what iperf3 and the kernel measure. Needs root and network namespaces."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from emulated import NEEDS, PAYLOAD, ran, scenario, untroubled

pytestmark = NEEDS


def test_one_cubic_flow_gets_what_the_path_is_configured_for(tmp_path: Path, cli: Any, untouched: None) -> None:
    result = ran(cli, tmp_path, "cubic")
    samples = result.samples.to_pandas()
    late = samples[samples.t_us > 2_000_000]
    goodput = (
        (late.goodput_bytes.iloc[-1] - late.goodput_bytes.iloc[0]) * 8e6 / (late.t_us.iloc[-1] - late.t_us.iloc[0])
    )
    assert goodput == pytest.approx(20e6 * PAYLOAD, rel=0.03)
    report = json.loads((result.folder / "traffic" / "0.json").read_text())
    assert report["end"]["sum_sent"]["bits_per_second"] == pytest.approx(20e6 * PAYLOAD, rel=0.10)
    flow = result.flows.to_pandas().iloc[0]
    assert flow.min_rtt_us == pytest.approx(20_000, abs=1_000)
    assert flow.established_us - flow.start_us == pytest.approx(40_000, abs=2_000), "ARP and SYN, a round trip each"
    link = result.summary["link"]
    assert link["utilization"] > 0.95
    # Loss is found and repaired: each packet that the queue dropped was sent once more, but for the last.
    assert link["drops"] > 0
    assert 0 <= flow.queue_drops - flow.retrans_segs <= 3 or flow.retrans_segs <= flow.queue_drops * 1.1
    # A queue of 2 BDP is 40 ms: full at times, never longer.
    assert 20 < result.summary["flows"][0]["srtt_p95_ms"] <= 62
    assert untroubled(result) == []


def test_the_result_is_one_that_everything_else_reads(tmp_path: Path, cli: Any) -> None:
    result = ran(cli, tmp_path, "short", seconds=2)
    assert not (result.folder / "trace.pcap").exists()
    manifest = result.manifest
    assert (manifest["backend"], manifest["kernel"]) == ("linux", f"Linux {os.uname().release}")
    assert manifest["emulator"]["controllers"] == ["cubic"]
    assert manifest["emulator"]["sysctls"]["net.ipv4.tcp_no_metrics_save"] == "1"
    assert manifest["emulator"]["events"] > 1_000
    assert 18 <= len(result.samples) <= 20
    assert set(result.samples.to_pandas().cwnd > 0) == {True}
    assert len(result.queue) in (20, 21), "a row at each sample time, and one at the end where that is another time"
    kinds = result.events.to_pandas().kind.tolist()
    assert kinds[:2] == ["start", "established"]
    assert kinds[-1] == "stop"
    shown = cli("show", result.folder)
    assert shown.returncode == 0
    assert "cubic" in shown.stdout
    again = cli("run", tmp_path / "short.toml", "--on", "linux", "--out", result.folder.parent, "--resume", "--json")
    assert json.loads(again.stdout)["wall_s"] == manifest["wall_s"], "kept, not run again"


def test_bbr_and_cubic_share_and_each_socket_is_told_apart(tmp_path: Path, cli: Any) -> None:
    flows = '[[flow]]\ncca = "bbr"\n[[flow]]\ncca = "cubic"\nrtt = "30ms"\nstart = "500ms"\nstop = "6s"'
    result = ran(cli, tmp_path, "pair", seconds=8, flows=flows)
    bbr, cubic = result.summary["flows"]
    assert bbr["goodput_mbps"] > 1
    assert cubic["goodput_mbps"] > 1
    samples = result.samples.to_pandas()
    of_bbr, of_cubic = samples[samples.flow == 0], samples[samples.flow == 1]
    assert of_bbr.bw_bps.notna().mean() > 0.8
    assert of_cubic.bw_bps.isna().all()
    assert (of_cubic.t_us.min(), of_cubic.t_us.max()) == (
        pytest.approx(600_000, abs=150_000),
        pytest.approx(5_950_000, abs=150_000),
    )
    table = result.flows.to_pandas()
    assert table.min_rtt_us[1] == pytest.approx(30_000, abs=1_500) or table.min_rtt_us[1] > 30_000, (
        "BBR's queue may never let it see less"
    )
    assert table.stop_us[1] == pytest.approx(6_000_000, abs=60_000)
    assert untroubled(result) == []


def test_fq_codel_keeps_the_queue_short_for_real_tcp(tmp_path: Path, cli: Any) -> None:
    flows = '[[flow]]\ncca = "cubic"\ncount = 2'
    result = ran(cli, tmp_path, "aqm", path='qdisc = "fq_codel"', flows=flows)
    assert result.summary["link"]["utilization"] > 0.9
    assert result.summary["link"]["sojourn_p50_ms"] < 8, "CoDel's target is 5 ms"
    assert result.flows.to_pandas().aqm_drops.sum() > 0
    assert result.summary["jain"] > 0.95


def test_marks_reach_real_tcp_and_its_checksums_hold(tmp_path: Path, cli: Any) -> None:
    """Marking rewrites the IP header: with a wrong checksum the receiver would drop the packet, and the sender send it
    again.
    """
    result = ran(cli, tmp_path, "ecn", seconds=4, path='qdisc = { kind = "fq_codel", ecn = true }', host="ecn = true")
    flow = result.flows.to_pandas().iloc[0]
    assert flow.ecn_marks > 0
    assert (flow.queue_drops, flow.retrans_segs) == (0, 0)
    assert result.summary["link"]["utilization"] > 0.9


def test_receivers_that_merge_segments_acknowledge_less_often(tmp_path: Path, cli: Any) -> None:
    """At 800 Mbit/s a frame comes every 15 us, so that 50 us hold three or four of them, each such piece with one ACK."""
    acks_per_segment = {}
    for gro in ("false", "true"):
        path = 'buffer = "1bdp"'
        file = scenario(tmp_path, f"gro-{gro}", seconds=2, path=path, host=f"gro = {gro}")
        file.write_text(file.read_text().replace('rate = "20Mbps"', 'rate = "800Mbps"'))
        out = tmp_path / gro
        done = cli("run", file, "--on", "linux", "--out", out)
        assert done.returncode == 0, done.stderr
        result = dumbbell.load(out)[0]
        flow = result.flows.to_pandas().iloc[0]
        acks_per_segment[gro] = flow.acks_sent / (flow.goodput_bytes / 1448)
        assert flow.damaged == 0
        assert flow.retrans_segs <= flow.queue_drops * 1.1 + 3
    assert acks_per_segment["true"] < 0.8 * acks_per_segment["false"], acks_per_segment


def test_impairments_are_the_simulators_own(tmp_path: Path, cli: Any) -> None:
    path = """buffer = "2bdp"
loss = "0.5%"
duplicate = "1%"
corrupt = "0.5%"
jitter = { kind = "gaussian", spread = "1ms" }

[path.ack]
rate = "500kbps"
qdisc = { kind = "cake", ack_filter = true }"""
    result = ran(cli, tmp_path, "impaired", seconds=3, path=path, flows='[[flow]]\ncca = "bbr"')
    flow = result.flows.to_pandas().iloc[0]
    for count, share in ((flow.random_drops, 0.005), (flow["duplicated"], 0.01), (flow.damaged, 0.005)):
        assert count == pytest.approx(share * flow.segs_sent, rel=0.75)
    assert flow.retrans_segs >= flow.random_drops + flow.damaged - 3
    simulated = cli("run", tmp_path / "impaired.toml", "--out", tmp_path / "simulated", "--json")
    assert result.summary["flows"][0]["goodput_mbps"] == pytest.approx(
        json.loads(simulated.stdout)["flows"][0]["goodput_mbps"], rel=0.1
    )


def test_netcat_makes_flows_too_with_a_controller_each(tmp_path: Path, cli: Any) -> None:
    if "OpenBSD" not in subprocess.run("nc -h 2>&1", shell=True, capture_output=True, text=True, check=False).stdout:
        pytest.skip("needs OpenBSD's netcat (Debian: netcat-openbsd)")
    flows = '[[flow]]\ncca = "bbr"\n[[flow]]\ncca = "reno"\nsize = "500kB"'
    result = ran(cli, tmp_path, "netcat", seconds=3, flows=flows, host='traffic = "netcat"')
    assert untroubled(result) == [], "no flow ran another controller than its own"
    assert result.flows.to_pandas().goodput_bytes[1] == 500_000
    assert result.samples.to_pandas().query("flow == 0").bw_bps.notna().any()
    assert (
        sorted(path.suffix for path in (result.folder / "traffic").iterdir())
        == [".client"] * 2 + [".json"] * 2 + [".server"] * 2
    )


def test_python_runs_it_too(tmp_path: Path) -> None:
    [result] = dumbbell.run(scenario(tmp_path, "python", seconds=1), tmp_path / "out", on="linux")
    assert (result.manifest["backend"], len(result.summary["flows"])) == ("linux", 1)


def test_a_sized_transfer_ends_and_a_paced_flow_is_paced(tmp_path: Path, cli: Any) -> None:
    flows = '[[flow]]\ncca = "reno"\nsize = "1MB"\n[[flow]]\ncca = "cubic"\nmax_rate = "5Mbps"\nstart = "1500ms"'
    result = ran(cli, tmp_path, "sized", seconds=5, flows=flows)
    sized, paced = result.summary["flows"]
    # 1 MB at 20 Mbit/s is 0.42 s; slow start from 10 segments and two round trips before it take about 0.2 s more.
    assert 0.45 < sized["fct_s"] < 0.9
    assert sized["goodput_bytes"] == 1_000_000, "without the 37 bytes that iperf3 says first"
    assert paced["goodput_mbps"] == pytest.approx(5 * PAYLOAD, rel=0.1)
    assert result.flows.to_pandas().queue_drops[1] == 0


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            'flows=[[flow]]\ncca = "cubic"\nworkload = { kind = "paced", rate = "1Mbps" }',
            "flow[0].workload: got one, wanted a transfer",
        ),
        ('flows=[[flow]]\ncca = "no-such"', "no-such"),
    ],
)
def test_what_real_hosts_cannot_do_is_one_error_before_anything_starts(
    tmp_path: Path, cli: Any, options: str, expected: str
) -> None:
    key, _, value = options.partition("=")
    done = cli("run", scenario(tmp_path, "refused", **{key: value}), "--on", "linux", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert expected in done.stderr
    assert not (tmp_path / "out").exists()


def test_runs_go_at_once_where_that_is_asked_for(tmp_path: Path, cli: Any) -> None:
    file = scenario(tmp_path, "both", seconds=4, flows='[[flow]]\ncca = ["cubic", "reno"]')
    began = time.monotonic()
    done = cli("run", file, "--on", "linux", "--jobs", "2", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 7.5, "less than both one after the other"
    assert [result.summary["flows"][0]["goodput_mbps"] > 15 for result in dumbbell.load(tmp_path / "out")] == [
        True,
        True,
    ]


# A virtual machine that stands still for some milliseconds in the first ten round trips moves the exit; a paced
# socket, or rounds that are shifted, agree in no attempt.
@pytest.mark.flaky(reruns=7)
def test_slow_start_ends_where_the_simulators_does(tmp_path: Path, cli: Any) -> None:
    """HyStart sees how ACKs are spaced: it tells whether a socket was paced that should not be, and whether iperf3's
    greeting shifted its rounds.
    """

    def exit_window(on: str) -> int:
        file = scenario(tmp_path, "hystart", seconds=2, path='buffer = "8bdp"', host='traffic = "iperf3"')
        out = tmp_path / f"out-{on}-{time.monotonic_ns()}"
        done = cli("run", file, "--on", on, "--out", out, "--set", "record.every=10ms")
        assert done.returncode == 0, done.stderr
        table = dumbbell.load(out)[0].samples.to_pydict()
        return next(int(value) for value in table["ssthresh"] if value and value < 1_000_000)

    wanted = exit_window("sim")
    assert abs(exit_window("linux") - wanted) <= 0.1 * wanted
