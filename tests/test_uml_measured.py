"""What the guest's agent wrote becomes tables and a summary; no guest is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from dumbbell.uml.measured import Measured
from test_uml_script import planned

INFO = (
    "received acks acked sent retrans_total segs_sent delivered delivered_ce srtt_us min_rtt_us cwnd ssthresh"
    " packets_out sacked lost retrans_out pacing_rate delivery_rate ca_state busy_us rwnd_us sndbuf_us rtos"
    " bbr_bw bbr_min_rtt_us bbr_pacing_gain bbr_cwnd_gain"
)
FIRST = "12500 5 12501 20000 0 14 9 0 21000 20000 20 2147483647 5 1 1 0 1250000 1000000 0 90000 0 0 0 - - - -"
LAST = "125000 50 125001 150000 3 104 95 0 25000 20000 10 12 9 0 0 2 1250000 1000000 3 190000 0 0 1 - - - -"
FILES = {
    "specification": "flow s0 10.0.0.5 50000 d 10.0.0.2 50001 bbr2 0 200000000\n",
    "samples": f"t flow {INFO}\n100000000 0 {FIRST}\n200000000 0 {LAST}\n",
    "flows": f"flow opened established done ended has_info {INFO}\n0 0 20000000 -1 200000000 1 {LAST}\n",
    "messages": "flow asked written bytes completed\n",
    "queue": "t link backlog_bytes backlog_packets dropped sent_bytes sent_packets marked policed\n"
    "100000000 0 12500 9 0 20000 14 0 0\n200000000 0 25000 17 4 150000 100 2 3\n",
    "reports": "@100000000 bbr2\nnetns local remote lost state bw min_rtt pacing_gain cwnd_gain inflight_lo inflight_hi\n"
    "1 10.0.0.2:50001 10.0.0.5:50000 0 STARTUP 1 - - - - -\n"
    "1 10.0.0.5:50000 10.0.0.2:50001 7 DRAIN 125000 20000 128 512 - 4294967295\n",
    "counters": "@- /proc/net/softnet_stat\n00000010 00000003 00000000\n@s0 /proc/self/net/netstat\n"
    "TcpExt: TCPSackRecovery TCPLossProbes PruneCalled\nTcpExt: 2 1 5\n@m0 netem 0 wan\n0 0 6 0 0 0\n",
}


def measured(tmp_path: Path, **path: Any) -> tuple[Measured, dict[str, Any]]:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    plan = planned([{"cca": "bbr2"}], duration="200ms", **path)
    made = Measured(plan, tmp_path)
    return made, made.write(tmp_path)


def test_samples_hold_what_the_socket_and_the_module_say(tmp_path: Path) -> None:
    measured(tmp_path, loss="1%")
    first, last = pq.read_table(tmp_path / "samples.parquet").to_pylist()
    assert (first["goodput_bps"], first["in_flight"], first["ssthresh"]) == (1_000_000, 3, None)
    assert (first["cca_state"], first["bw_bps"], first["pacing_gain"], first["lost_total"]) == ("DRAIN", 10**6, 0.5, 7)
    assert first["inflight_hi"] is None
    assert (last["goodput_bps"], last["ssthresh"], last["ca_state"]) == (9_000_000, 12, 3)
    kinds = [row["kind"] for row in pq.read_table(tmp_path / "events.parquet").to_pylist()]
    assert kinds == ["start", "established", "cca_state", "ca_state", "stop"]


def test_a_flow_has_the_counters_of_its_senders_namespace(tmp_path: Path) -> None:
    measured(tmp_path, loss="1%")
    (flow,) = pq.read_table(tmp_path / "flows.parquet").to_pylist()
    counted = {name: flow[name] for name in ("recoveries", "tlps", "rtos", "random_drops", "lost_segs", "acks_sent")}
    assert counted == {"recoveries": 2, "tlps": 1, "rtos": 1, "random_drops": 6, "lost_segs": 7, "acks_sent": 50}


def test_a_guest_that_shaped_the_result_says_so(tmp_path: Path) -> None:
    made, summary = measured(tmp_path)
    assert made.warnings() == [
        "flow 0: the guest had too little memory (PruneCalled 5)",
        "the guest itself dropped 3 packets between devices",
        "flow 0: netem dropped 6 packets beyond its limit",
    ]
    assert summary["link"]["drops"] == 4


def test_a_backlog_takes_as_long_as_the_rates_to_come_need(tmp_path: Path) -> None:
    rate = {"steps": [["0s", "10Mbps"], ["110ms", "0bps"], ["150ms", "1Mbps"]]}
    made, _ = measured(tmp_path, rate=rate, buffer="50pkt")
    # 12,500 B at 100 ms: 10 ms at 10 Mbit/s carry all but nothing; at 200 ms 25,000 B at 1 Mbit/s.
    assert [row["sojourn_us"] for row in made.queue()] == [10_000, 200_000]


def test_random_drops_of_a_flow_that_goes_up_are_those_of_its_data(tmp_path: Path) -> None:
    """Its acknowledgements are impaired where the data of flows that go down are: by m, and by t behind links."""
    places = (
        "@m0 netem 0 wan\n0 0 340 0 0 0\n@t3 netem 0 out\n0 0 4 0 0 0\n"
        "@n0 netem 0 wan\n0 0 31 0 0 0\n@r netem 0 in0\n0 0 5 0 0 0\n@m0 netem 0 lan\n0 0 5 0 0 0\n"
    )
    for name, text in {**FILES, "counters": FILES["counters"].partition("@m0")[0] + places}.items():
        (tmp_path / name).write_text(text)
    for direction, lost in (("down", 344), ("up", 41)):
        flow = {"cca": "bbr2", "direction": direction}
        made = Measured(planned([flow], duration="200ms", up={"rate": "5Mbps", "buffer": "1bdp"}), tmp_path)
        assert made.data_lost(0) == lost


def test_what_a_link_and_its_policer_drop_is_a_flows_where_no_other_crosses_the_link(tmp_path: Path) -> None:
    for name, text in {**FILES, "queue": FILES["queue"] + "200000000 1 0 0 7 150000 100 0 0\n"}.items():
        (tmp_path / name).write_text(text)
    links = [{"name": "second", "rate": "10Mbps", "buffer": "1bdp"}]
    flow, other = {"cca": "bbr2"}, {"cca": "bbr2", "via": ["second"]}
    assert Measured(planned([flow], duration="200ms"), tmp_path).link_drops(0) == (4, 3)
    apart = Measured(planned([flow, other], links=links, duration="200ms"), tmp_path)
    assert [apart.link_drops(i) for i in range(2)] == [(4, 3), (7, 0)]
    shared = Measured(planned([flow, flow], duration="200ms"), tmp_path)
    assert [shared.link_drops(i) for i in range(2)] == [(0, 0), (0, 0)]


def test_variables_of_a_module_have_a_row_when_they_differ_from_the_sample_before(tmp_path: Path) -> None:
    columns = "netns local remote lost state bw .max_bw:bit/s .k:1/1024_s .end:none|loss"
    socket = "1 10.0.0.5:50000 10.0.0.2:50001 0"
    reports = (
        f"@50000000 bbr2\n{columns}\n{socket} STARTUP 1 - - -\n"
        f"@100000000 bbr2\n{columns}\n{socket} STARTUP 1 8000 - 0\n"
        f"@150000000 bbr2\n{columns}\n{socket} STARTUP 1 9000 - 0\n"
        f"@200000000 bbr2\n{columns}\n{socket} DRAIN 1 9000 7 1\n"
    )
    for name, text in {**FILES, "reports": reports}.items():
        (tmp_path / name).write_text(text)
    plan = planned([{"cca": "bbr2"}], duration="200ms")
    plan["record"]["variables"] = True
    Measured(plan, tmp_path).write(tmp_path)
    rows = [tuple(row.values()) for row in pq.read_table(tmp_path / "variables.parquet").to_pylist()]
    assert rows == [
        (100_000_000, 0, "max_bw", 8000, "bit/s", None),
        (100_000_000, 0, "k", None, "1/1024 s", None),
        (100_000_000, 0, "end", 0, "", "none"),
        (150_000_000, 0, "max_bw", 9000, "bit/s", None),
        (200_000_000, 0, "max_bw", 9000, "bit/s", None),
        (200_000_000, 0, "k", 7, "1/1024 s", None),
        (200_000_000, 0, "end", 1, "", "loss"),
    ]


def test_limits_of_a_socket_have_a_row_when_they_differ_from_the_sample_before(tmp_path: Path) -> None:
    columns, socket = "netns local remote lost state limit bw", "1 10.0.0.5:50000 10.0.0.2:50001 0 -"
    limits = ("-", "cwnd", "cwnd", "application")
    reports = "".join(f"@{50 * (i + 1)}000000 bbr2\n{columns}\n{socket} {limit} 1\n" for i, limit in enumerate(limits))
    for name, text in {**FILES, "reports": reports}.items():
        (tmp_path / name).write_text(text)
    plan = planned([{"cca": "bbr2"}], duration="200ms")
    plan["record"]["limits"] = True
    Measured(plan, tmp_path).write(tmp_path)
    rows = [tuple(row.values()) for row in pq.read_table(tmp_path / "limits.parquet").to_pylist()]
    assert rows == [(100_000_000, 0, "cwnd"), (200_000_000, 0, "application")]
