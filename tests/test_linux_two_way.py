"""Real hosts over the emulated path with data both ways, probes, and ECN at both ends. Needs root and network
namespaces.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell import kernel
from emulated import NEEDS, PAYLOAD, ran, scenario, untroubled

pytestmark = NEEDS

PATH = """buffer = "1bdp"

[path.up]
rate = "5Mbps"
buffer = "30kB"
"""
BOTH = '[[flow]]\ncca = "cubic"\nstop = "5s"\n[[flow]]\ncca = "reno"\ndirection = "up"\nstop = "5s"'
PROBES = (
    '\n[[flow]]\nworkload = { probe = "20ms" }\n[[flow]]\nname = "up"\ndirection = "up"\nworkload = { probe = "10ms" }'
)


def test_each_way_has_its_own_link_and_every_packet_on_it_is_accounted_for(
    tmp_path: Path, cli: Any, untouched: None
) -> None:
    result = ran(cli, tmp_path, "both", seconds=6, path=PATH, flows=BOTH)
    down, up = result.flows.to_pylist()
    assert (down["cca"], up["cca"]) == ("cubic", "reno")
    # Its acknowledgements wait behind the data that go up: CUBIC gets less than half of its link, here as in the simulator.
    simulated = dumbbell.run(
        scenario(tmp_path, "sim", seconds=6, path=PATH, flows=BOTH, host='traffic = "iperf3"'), tmp_path / "sim"
    )[0].flows.to_pylist()
    for flow, expected in zip((down, up), simulated):
        assert flow["goodput_bytes"] == pytest.approx(expected["goodput_bytes"], rel=0.25)
    assert up["goodput_bytes"] * 8 / 5 < 5e6 * PAYLOAD
    for flow in (down, up):
        assert flow["min_rtt_us"] == pytest.approx(20_000, abs=3_000)
        assert flow["established_us"] - flow["start_us"] == pytest.approx(40_000, abs=6_000)
    # Sent into a link: data of one flow, acknowledgements of the other, what opens and closes connections, and a reset
    # for each segment that comes to a closed socket: at most what was in flight at the stop.
    queue = result.queue.to_pylist()
    for link, (data, acks) in enumerate(((down, up), (up, down))):
        last = [row for row in queue if row["link"] == link][-1]
        came = data["segs_sent"] + acks["acks_sent"]
        left = last["sent_packets"] + last["dropped_packets"] + last["backlog_packets"]
        assert last["backlog_packets"] == 0
        assert 0 <= left - came <= 80
        assert last["dropped_packets"] >= data["queue_drops"] > 0
    samples = result.samples.to_pandas()
    for i in (0, 1):
        mine = samples[samples.flow == i]
        assert len(mine) > 40
        # The socket's own count of what it has sent is the path's.
        assert mine.segs_sent.max() == pytest.approx((down, up)[i]["segs_sent"], rel=0.05)


def test_probes_wait_behind_data_and_are_exact_on_an_idle_path(tmp_path: Path, cli: Any) -> None:
    late = BOTH.replace('stop = "5s"', 'start = "3s"\nstop = "5s"')
    result = ran(cli, tmp_path, "probes", seconds=6, path=PATH, flows=late + PROBES)
    rows = result.probes.to_pandas()
    for series, count in ((0, 300), (1, 600)):
        mine = rows[rows.probe == series]
        # Those of the last round trip have no row.
        assert count - 12 <= len(mine) < count
        idle = mine[(mine.sent_us > 500_000) & (mine.sent_us < 2_900_000)]
        assert idle.rtt_us.notna().all()
        # 20 ms, and what the hosts and this machine take.
        assert idle.rtt_us.min() >= 20_000
        assert idle.rtt_us.median() == pytest.approx(20_150, abs=250)
        assert idle.there_us.median() == pytest.approx(10_050, abs=150)
    # Both queues together hold 20 and 48 ms.
    loaded = rows[(rows.probe == 1) & (rows.sent_us > 3_500_000) & (rows.sent_us < 5_000_000)]
    assert 45_000 < loaded.rtt_us.max() < 95_000
    assert [text for text in untroubled(result) if "probe" in text] == []


def test_both_ways_go_with_our_controllers_and_their_states_too(tmp_path: Path, cli: Any) -> None:
    if not kernel.built_in():
        pytest.skip("built without clang: no controllers for the kernel")
    flows = '[[flow]]\ncca = "bbr2"\n[[flow]]\ncca = "bbr2"\ndirection = "up"'
    result = ran(cli, tmp_path, "ours", seconds=4, path=PATH, flows=flows)
    samples = result.samples.to_pandas()
    for i, rate in ((0, 20e6), (1, 5e6)):
        mine = samples[(samples.flow == i) & (samples.t_us > 2_000_000)]
        assert set(mine.cca_state) & {"PROBE_BW_CRUISE", "PROBE_BW_DOWN", "PROBE_BW_UP", "PROBE_BW_REFILL"}
        assert mine.bw_bps.median() == pytest.approx(rate, rel=0.2)


@pytest.mark.parametrize("direction", ["down", "up"])
def test_a_controller_that_needs_ecn_has_it_from_its_receiver(tmp_path: Path, cli: Any, direction: str) -> None:
    if not kernel.built_in():
        pytest.skip("built without clang: no controllers for the kernel")
    codel = 'qdisc = { kind = "codel", ecn = true, ce_threshold = "1ms" }'
    path = f'{codel}\n[path.up]\nrate = "20Mbps"\n{codel}'
    flows = f'[[flow]]\ncca = "dctcp"\ndirection = "{direction}"'
    result = ran(cli, tmp_path, "dctcp", seconds=4, path=path, flows=flows)
    [flow] = result.flows.to_pylist()
    assert flow["ecn_marks"] > 0
    assert (flow["queue_drops"], flow["retrans_segs"]) == (0, 0)
    samples = result.samples.to_pandas()
    # It hears the marks: its window stays near the path's 33 segments, where a deaf one grows past the queue.
    assert samples[samples.t_us > 1_500_000].cwnd.max() < 60
    assert any("dctcp: its receiver echoes" in text for text in result.warnings)


@pytest.mark.parametrize("on", ["linux", "netem"])
def test_accurate_ecn_where_the_kernel_has_none_is_the_same_error_of_check_and_of_run(
    tmp_path: Path, cli: Any, on: str
) -> None:
    given = scenario(tmp_path, "accurate", seconds=1, host='ecn = "accurate"')
    checked = cli("check", given, "--on", on)
    if checked.returncode == 0:
        return  # this kernel has it
    done = cli("run", given, "--on", on, "--out", tmp_path / "o")
    for each in (checked, done):
        assert each.returncode == 2
        assert (
            'host.ecn: got "accurate", wanted false or classic: this kernel\'s TCP has no accurate ECN' in each.stderr
        )
