"""Each data set of docs/datasets.md is read by the very command of that page; the files are made up, and have the forms
that the data sets describe.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dumbbell.cli import main

PAGE = Path(__file__).resolve().parents[1] / "docs/datasets.md"
COMMANDS = re.findall(r"\| `(dumbbell trace [^`]+)` \|", PAGE.read_text(encoding="utf-8"))


class Case(NamedTuple):
    """A file, and what its data are."""

    text: str
    form: str
    length_s: float
    means: dict[str, float]
    """Of each column, in Mbit/s, ms or %."""


G_NETTRACK = (
    "Timestamp,Longitude,Latitude,Speed,Operatorname,CellID,NetworkMode,RSRP,RSRQ,SNR,CQI,RSSI,DL_bitrate,UL_bitrate,"
    "State,PINGAVG,PINGMIN,PINGMAX,PINGSTDEV,PINGLOSS\n"
)
CASES = {
    "Verizon-LTE-short.down": Case("1\n1\n2\n4\n", "mahimahi", 0.004, {"rate": 12.0}),
    "trace_5294.txt": Case("0.0\t2\n0.5\t4\n1.0\t6\n", "pensieve", 1.5, {"rate": 4.0}),
    "trace_1.txt": Case(
        "7.0 4000.5\n507.0 4000.5\n607.0 3000.25\n1107.0 3000.25\n", "oboe", 1.6, {"rate": (0.6 * 4.0005 + 3.00025) / 1.6}
    ),
    "report.2010-09-14_1415CEST.log": Case(
        "1289406399 549692 59.851754 10.781778 125000 1000\n1289406400 550772 59.85 10.78 270000 1080\n"
        "1289406401 551773 59.85 10.78 0 1001\n", "hsdpa", 3.081, {"rate": (1.0 + 2 * 1.08) / 3.081},
    ),
    "report_car_0001.log": Case(
        "1453121790686 39287 51.03 3.73 2500000 1000\n1453121791687 40288 51.03 3.73 2502500 1001\n"
        "1453121792686 41287 51.03 3.73 2497500 0999\n", "hsdpa", 3.0, {"rate": 20.0},
    ),
    "A_2018.01.18_15.46.51.csv": Case(
        G_NETTRACK + "".join(
            f"2018.01.18_15.46.{51 + i},-8.4,51.8,0,A,2,LTE,-90,-12,3,8,-,{rate},40,D,-,-,-,-,-\n"
            for i, rate in enumerate((8000, 0, 1000))
        ), "csv", 3.0, {"DL_bitrate": 3.0, "UL_bitrate": 0.04},
    ),
    "B_2019.12.14_10.16.30.csv": Case(
        G_NETTRACK + "2019.12.14_10.16.30,-8,51,0,B,11,5G,-95,-13,7,11,-79.0,10000,100,D,60.5,50,80,3,0\n"
        "2019.12.14_10.16.31,-8,51,0,B,11,5G,-95,-13,7,11,-79.0,20000,100,D,-,-,-,-,-\n"
        "2019.12.14_10.16.31,-8,51,0,B,11,5G,-95,-13,7,11,-79.0,12000,100,D,-,-,-,-,-\n",
        "csv", 2.0, {"DL_bitrate": 11.0, "UL_bitrate": 0.1, "PINGAVG": 60.5},
    ),
    "Lumos5G-v1.0.csv": Case(
        "run_num,seq_num,abstractSignalStr,latitude,longitude,movingSpeed,compassDirection,nrStatus,lte_rssi,Throughput\n"
        "1,1,2,44.9,-93.2,1.1,150,CONNECTED,-61,100\n1,2,2,44.9,-93.2,1.1,150,CONNECTED,-61,1300\n"
        "2,1,2,44.9,-93.2,1.1,150,NONE,-61,7\n", "csv", 2.0, {"Throughput": 700.0},
    ),
    "irtt-10ms-1h-2024-01-20.csv": Case(
        "timestamp,rtt,uplink,downlink\n1705744800600000000,40,25,15\n1705744800610000000,0,0,-1\n"
        "1705744800620000000,-1,0,0\n1705744800630000000,60,35,25\n",
        "csv", 0.04, {"rtt": 45.0, "uplink": 27.5, "downlink": 17.5},
    ),
    "ping-10ms-1h-2024-01-20.txt": Case(
        "PING 100.64.0.1 (100.64.0.1) from 192.168.1.2 eth0: 56(84) bytes of data.\n"
        "[1705744800.100000] 64 bytes from 100.64.0.1: icmp_seq=1 ttl=63 time=30.0 ms\n"
        "[1705744800.110000] 64 bytes from 100.64.0.1: icmp_seq=2 ttl=63 time=50.0 ms\n"
        "\n--- 100.64.0.1 ping statistics ---\n2 packets transmitted, 2 received, 0% packet loss, time 11ms\n"
        "rtt min/avg/max/mdev = 30.000/40.000/50.000/10.000 ms\n", "ping", 0.02, {"rtt": 40.0},
    ),
    "net_iperf.csv": Case(
        "site_name,timestamp_start,timestamp_end,server,ip_protocol,transport_protocol,download,upload\n"
        "Enschede,2023-10-01T00:00:00.5+00:00,2023-10-01T00:00:01.5+00:00,s,ipv4,udp,200000000.0,\n"
        "Enschede,2023-10-01T00:00:01.5+00:00,2023-10-01T00:00:02.5+00:00,s,ipv4,tcp,1,\n"
        "Enschede,2023-10-01T00:00:02.5+00:00,2023-10-01T00:00:03.5+00:00,s,ipv4,udp,100000000.0,\n",
        "csv", 4.0, {"download": 150.0},
    ),
    "net_ping.csv": Case(
        "site_name,timestamp_start,timestamp_end,target,ip_protocol,packet_loss,packets_send,ping_avg,ping_worst\n"
        "Enschede,2023-10-01T00:00:00Z,2023-10-01T00:00:49Z,t,ipv4,0.4,250,50.5,90\n"
        "Enschede,2023-10-01T00:03:00Z,2023-10-01T00:03:49Z,t,ipv4,0.0,250,40.5,80\n", "csv", 360.0, {"ping_avg": 45.5},
    ),
    "bw_1.txt": Case("".join(f"{ms}\n" for ms in range(1, 21)), "mahimahi", 0.02, {"rate_mbps": 12.0}),
    "delay_1.txt": Case("24\n18\n", "leoreplayer", 0.02, {"delay_ms": 21.0}),
    "tmobile-short-down.pdo": Case("0 20 0 1 1 2\n100 40 0 2\n200 30 0 0 1\n", "cellreplay", 0.2, {"delay_ms": 30.0}),
    "curr_httpgetmt.csv": Case(
        "unit_id,dtime,target,address,fetch_time,bytes_total,bytes_sec,bytes_sec_interval,warmup_time,warmup_bytes,"
        "sequence,threads,successes,failures,location_id\n"
        "386,2023-01-01 00:13:05,t,a,5000000,9,1000000,9,1,1,0,8,1,0,x\n"
        "386,2023-01-01 00:13:10,t,a,5000000,9,9,9,1,1,1,8,1,0,x\n"
        "386,2023-01-01 02:13:05,t,a,5000000,9,3000000,9,1,1,0,8,1,0,x\n"
        "387,2023-01-01 00:01:01,t,a,5000000,9,7,9,1,1,0,8,1,0,x\n", "csv", 14400.0, {"bytes_sec": 16.0},
    ),
    "video_sent_2020-01-01.csv": Case(
        "time (ns GMT),session_id,index,expt_id,channel,video_ts,format,size,ssim_index,cwnd,in_flight,min_rtt,rtt,"
        "delivery_rate\n"
        "1577836800000000000,a1,0,1,abc,0,f,1,0.9,10,0,40000,50000,250000\n"
        "1577836801000000000,b2,0,1,abc,0,f,1,0.9,10,0,40000,50000,9\n"
        "1577836802000000000,a1,0,1,abc,0,f,1,0.9,10,0,40000,50000,750000\n", "csv", 4.0, {"delivery_rate": 4.0},
    ),
}  # fmt: skip


def test_the_page_names_twelve_data_sets_and_each_file_is_tried() -> None:
    assert len(COMMANDS) >= 12
    named = {word for command in COMMANDS for word in shlex.split(command) if word in CASES}
    assert named == set(CASES)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split()[3])
def test_the_command_of_the_page_reads_the_data_set(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command)[1:]
    cases = [CASES[word] for word in words if word in CASES]
    for word in words:
        if word in CASES:
            (tmp_path / word).write_text(CASES[word].text)
    assert main([*words, *(["--json"] if words[1] == "info" else [])]) == 0
    if words[1] == "convert":
        capsys.readouterr()
        assert main(["trace", "info", words[words.index("-o") + 1], "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert words[1] == "convert" or found["format"] == cases[0].form
    assert found["length_s"] == pytest.approx(cases[0].length_s)
    means = {one["name"].split("_mbps")[0].split("_bps")[0]: one["mean"] for one in found["series"]}
    wanted = {name.split("_mbps")[0]: mean for case in cases for name, mean in case.means.items()}
    for name, mean in wanted.items():
        key = next(one for one in means if one.startswith(name))
        assert means[key] == pytest.approx(mean, rel=1e-4), (name, found)
