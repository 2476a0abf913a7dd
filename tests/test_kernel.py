"""Our controllers in the running kernel: real TCP through each, between two network namespaces. Skipped, with the
reason, where that cannot be.
"""

from __future__ import annotations

import json
import re

import pytest

from bpf import (
    AVAILABLE,
    BBRS,
    NAMES,
    NEEDS,
    Iperf,
    nothing_left,  # noqa: F401 - the fixture of every test here
    sender_of,
    wait_until,
    watch,
)
from conftest import Cli
from dumbbell import kernel
from kernel_path import LEFT, RECEIVER, RIGHT, SENDER, Relay, Veth, within

pytestmark = NEEDS


def test_all_controllers_of_the_simulator_are_there() -> None:
    from dumbbell.controllers import known

    assert set(kernel.built_in()) == set(known()) == set(NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_flow_runs_through(name: str) -> None:
    with kernel.load(name) as controller, Veth(mbps=20), Iperf(controller.kernel_name, 1) as flow:
        wait_until(lambda: sender_of(name) is not None, "data flows")
        assert re.search(rf"\b{controller.kernel_name} ", within(LEFT, "ss", "-tin"))
        socket = sender_of(name)
        report = flow.result()
    assert socket is not None
    assert socket.remote == f"{RECEIVER}:5201"
    assert socket.cwnd > 0
    assert socket.mss == 1448
    assert socket.estimates.state in _states(name)
    assert report["end"]["sender_tcp_congestion"] == controller.kernel_name
    # 20 Mbit/s less headers; BBRs without a delay to measure hold little in flight.
    assert 8e6 < report["end"]["sum_received"]["bits_per_second"] < 20.5e6


def _states(name: str) -> list[str]:
    from dumbbell.controllers import known

    return known()[name].states


@pytest.mark.slow
@pytest.mark.parametrize("name", BBRS)
def test_bbrs_find_rate_and_delay_of_the_path_and_go_through_their_states(name: str) -> None:
    """20 Mbit/s and 30 ms, two BDP of buffer: out of STARTUP within a second, then probing at what the path has."""
    with (
        Relay(mbps=20, one_way_s=0.015, buffer_bytes=150_000),
        kernel.load(name) as controller,
        Iperf(controller.kernel_name, 4) as flow,
    ):
        seen = watch(name, flow)
        report = flow.result()
    states = [socket.estimates.state or "" for socket in seen]
    runs = [state for state, before in zip(states, ["", *states]) if state != before]
    assert runs[0] == "STARTUP", runs
    assert any(state.startswith("PROBE_BW") for state in runs), runs
    assert "STARTUP" not in runs[1:], runs
    assert report["end"]["sum_received"]["bits_per_second"] > 14e6
    late = [socket.estimates for socket in seen if socket.delivered > 3000]
    payload_bps = 20e6 * 1448 / 1500
    bandwidths = sorted(row.bw_bps or 0 for row in late)
    assert 0.75 * payload_bps < bandwidths[len(bandwidths) // 2] < 1.35 * payload_bps
    assert all(30_000 <= (row.min_rtt_us or 0) < 40_000 for row in late)
    if name in ("bbr2", "bbr2plus", "bbr3"):
        assert {"PROBE_BW_DOWN", "PROBE_BW_CRUISE"} & set(runs), runs


def test_set_takes_effect_while_a_flow_runs(cli: Cli) -> None:
    """BBR paces at 0.75 to 1.25 of its bandwidth, less a margin of 1 %; with one of 50 % the most is 0.625."""

    def ratio() -> float:
        socket = sender_of("bbr")
        assert socket is not None
        assert socket.pacing_rate_bps is not None
        return socket.pacing_rate_bps / (socket.estimates.bw_bps or 1)

    with (
        Relay(mbps=20, one_way_s=0.01, buffer_bytes=100_000),
        kernel.load("bbr") as controller,
        Iperf(controller.kernel_name, 3),
    ):
        wait_until(
            lambda: (socket := sender_of("bbr")) is not None and socket.estimates.state == "PROBE_BW", "STARTUP is over"
        )
        assert ratio() > 0.7
        done = cli("kernel", "set", "bbr", "pacing_margin_percent=50")
        assert (done.returncode, done.stdout) == (0, "pacing_margin_percent = 50 %\n")
        wait_until(lambda: ratio() < 0.63, "the pacing rate follows", seconds=1)


def test_a_loaded_controller_stays_until_unload_and_its_flows_keep_it(cli: Cli) -> None:
    done = cli("kernel", "load", "bbr2", "--param", "loss_thresh=10")
    assert (done.returncode, done.stdout, done.stderr) == (0, "bbr2\n", "")
    try:
        with Veth(mbps=20), Iperf("bbr2", 2) as flow:
            wait_until(lambda: sender_of("bbr2") is not None, "data flows")
            shown = cli("kernel", "status", "bbr2").stdout
            assert "bbr2 (bbr2)" in shown
            assert "loss_thresh = 10 1/256 (default 5)" in shown
            assert f"[{LEFT}] {SENDER}:" in shown
            [line] = cli("kernel", "status", "--json").stdout.splitlines()
            assert json.loads(line)["params"]["loss_thresh"] == 10
            gone = cli("kernel", "unload", "bbr2")
            assert gone.returncode == 0
            assert re.search(
                rf"^bbr2 is unloaded; \d sockets? keeps? it until closed: .*\[{LEFT}\] {SENDER}", gone.stdout
            ), gone.stdout
            assert "bbr2" not in AVAILABLE.read_text().split()
            assert " bbr2 " in within(LEFT, "ss", "-tin")
            assert flow.result()["end"]["sum_received"]["bits_per_second"] > 8e6
    finally:
        cli("kernel", "unload", "bbr2")


def test_sockets_that_outlive_a_load_are_told_from_those_of_the_next() -> None:
    with Veth(mbps=20), kernel.load("bbr2") as first, Iperf(first.kernel_name, 3):
        wait_until(lambda: sender_of("bbr2") is not None, "data flows")
        before = sender_of("bbr2")
        first.unload()
        with pytest.raises(kernel.KernelError, match="bbr2: is not loaded; none is"):
            kernel.status("bbr2")
        with kernel.load("bbr2"):
            after = sender_of("bbr2")
    assert before is not None
    assert after is not None
    assert before.estimates.state is not None
    assert after.instance == before.instance
    assert after.estimates.state is None, "the new load has no state of it"


def test_status_shows_what_sends(cli: Cli) -> None:
    """Of a flow of iperf3 there are a sender, a receiver, a control connection with two ends, and a socket that
    listens; receivers have the default.
    """
    with Veth(mbps=20), kernel.load("bbr2") as controller:
        for netns in (LEFT, RIGHT):
            within(netns, "sysctl", "-q", "-w", "net.ipv4.tcp_congestion_control=bbr2")
        with Iperf(controller.kernel_name, 2) as flow:
            wait_until(lambda: sender_of("bbr2") is not None, "data flows")
            shown = cli("kernel", "status", "bbr2").stdout
            everything = cli("kernel", "status", "bbr2", "--all").stdout
            flow.result()
    assert len(re.findall(rf"\[{LEFT}\] ", shown)) == 1
    assert f"[{RIGHT}] " not in shown
    assert re.search(r"\d sockets that send next to nothing \(--all shows them\)", shown)
    assert f"[{RIGHT}] " in everything
    assert "next to nothing" not in everything
