"""Settings of the hosts of a [[flow]] table: what they come to in a plan, what they do to a run, and who refuses them."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell import ScenarioError, _native, plan
from dumbbell.backends import netem, pair, script
from dumbbell.backends.request import Request
from dumbbell.cli import main
from dumbbell.results import packets
from dumbbell.scenario.file import from_text
from dumbbell.uml import script as guest
from dumbbell.uml.controllers import Loaded

SCENARIO = """
name = "own-hosts"
duration = "5s"
[path]
rate = "20Mbps"
rtt = "20ms"
qdisc = {{ kind = "codel", ecn = true }}
[host]
{host}
[[flow]]
cca = "cubic"
name = "first"
[flow.host]
{first}
[[flow]]
cca = "cubic"
name = "second"
[record]
pcap = {pcap}
"""


def written(first: str, *, host: str = "", pcap: str = "false") -> Any:
    return from_text(SCENARIO.format(first=first, host=host, pcap=pcap))


def planned(first: str, *, host: str = "") -> Any:
    return plan.runs(written(first, host=host))[0].plan


def codes(capture: Path) -> dict[tuple[int, bool], set[int]]:
    """ECN code points of data, and whether ACKs echo a mark, by flow and direction (True: from the sender)."""
    found: dict[tuple[int, bool], set[int]] = {}
    for _, frame in packets.frames(capture):
        flags, (total,) = frame[47], struct.unpack_from(">H", frame, 16)
        source, target = (frame[i + 2] * 256 + frame[i + 3] for i in (26, 30))
        is_sender = not frame[27] & 128
        if flags & 2 or (is_sender and total == 52):
            continue  # set-up, and the sender's ACKs without data
        flow = (source if is_sender else target) - 1
        found.setdefault((flow, is_sender), set()).add(frame[15] & 3 if is_sender else flags >> 6 & 1)
    return found


def test_a_flow_has_what_its_own_table_says_and_the_rest_from_host() -> None:
    made = planned('ecn = true\nsndbuf = "100kB"\nhz = 250', host="tso = false")
    assert [flow["host"] for flow in made["flows"]] == [{"ecn": "classic", "sndbuf_bytes": 100_000, "hz": 250}, {}]
    assert script.host_of(made, 0) == {**made["host"], "ecn": "classic", "sndbuf_bytes": 100_000, "hz": 250}
    assert script.host_of(made, 1) == made["host"]
    assert made["host"]["ecn"] == "off"


def test_its_keys_vary_and_their_errors_name_them() -> None:
    made = plan.runs(written("ecn = [true, false]"))
    assert [run.vary for run in made] == [{"flow[0].host.ecn": True}, {"flow[0].host.ecn": False}]
    for given, message in (
        ("hz = 300", "flow[0].host.hz: got 300, wanted"),
        ("ecm = true", "flow[0].host.ecm: unknown"),
        ("arp = true", "flow[0].host.arp: unknown"),
    ):
        with pytest.raises(ScenarioError) as error:
            planned(given)
        assert str(error.value).startswith(message)


def test_ecn_without_a_queue_that_marks_is_warned_of_by_the_flows_key() -> None:
    text = SCENARIO.format(first="ecn = true", host="", pcap="false").replace("ecn = true }", "ecn = false }")
    (run,) = plan.runs(from_text(text))
    assert any(warning.startswith("flow[0].host.ecn has no effect: no queue marks") for warning in run.warnings)


def test_only_the_packets_of_the_flow_with_ecn_are_marked(tmp_path: Path) -> None:
    (result,) = dumbbell.run(written("ecn = true", pcap="true"), out=tmp_path / "out")
    first, second = result.flows.to_pylist()
    assert first["ecn_marks"] > 5
    assert first["aqm_drops"] == 0
    assert second["ecn_marks"] == 0
    assert second["aqm_drops"] > 5
    marked = {row["flow"] for row in result.events.to_pylist() if row["kind"] == "ecn_mark"}
    assert marked == {0}
    found = codes(result.folder / "trace.pcap")
    # Retransmissions and probes of an ECN flow are not ECN-capable (RFC 3168, section 6.1.5).
    assert 2 in found[0, True]
    assert found[1, True] == {0}
    assert found[0, False] == {0, 1}
    assert found[1, False] == {0}


def refuse(first: str, on: str) -> None:
    """What a back end says before anything starts."""
    (run,) = plan.runs(written(first))
    if on == "uml":
        guest.refuse(run.plan)
    elif on == "linux":
        _native.emulate(json.dumps(run.plan), None, ".")
    else:
        pair.refuse(Request(run, on=on))


@pytest.mark.parametrize(
    ("first", "on", "message"),
    [
        ("gro = true", "uml", "flow[0].host.gro: differs from host.gro, wanted the same for all flows with --on uml"),
        ("hz = 100", "uml", "flow[0].host.hz: differs"),
        ('rcvbuf = "1MB"', "uml", "flow[0].host.rcvbuf: differs"),
        ('ecn = "accurate"', "uml", 'flow[0].host.ecn: got "accurate", wanted true, false or classic with --on uml'),
        ('sndbuf = "1MB"', "netem", "flow[0].host.sndbuf: differs from host.sndbuf"),
        ("ecn = true", "ssh://a,b", "flow[0].host.ecn: differs"),
        ("tso = false", "linux", "flow[0].host: got settings of its own, wanted ecn"),
    ],
)
def test_a_back_end_that_cannot_says_so(first: str, on: str, message: str) -> None:
    with pytest.raises((ScenarioError, _native.PlanError)) as error:
        refuse(first, on)
    assert message in str(error.value)


def test_a_setting_that_is_the_hosts_own_is_refused_by_nobody() -> None:
    for on in ("uml", "netem", "ssh://a,b"):
        refuse('gro = false\nrcvbuf = "auto"', on)


def test_the_guest_sets_each_sender_as_its_flow_says() -> None:
    first = 'ecn = true\nqdisc = "pfifo"\ntso = false\nnic = "virtual"\nsndbuf = "100kB"'
    made = guest.guest(planned(first), Loaded(["cubic", "cubic"])).files
    lines = made["specification"].splitlines()
    assert [line for line in lines if "tcp_ecn" in line] == [
        "set d net/ipv4/tcp_ecn 2", "set s0 net/ipv4/tcp_ecn 1", "set s1 net/ipv4/tcp_ecn 2",
    ]  # fmt: skip
    assert "set s0 net/ipv4/tcp_wmem 4096 16384 100000" in lines
    assert {"offloads s0 eth0 1 0", "offloads s1 eth0 0 0", "offloads r bott 1 0"} <= set(lines)
    assert "pfifo" in made["s0.tc"]
    assert "fq" in made["s1.tc"]
    assert "gso_max_segs 1" in made["s0.ip"]
    assert "gso_max_segs" not in made["s1.ip"]


def test_in_one_namespace_a_route_asks_for_ecn() -> None:
    made = netem.topology(planned("ecn = true"), "x-", ["cubic", "cubic"])
    routes = [argv for argv in made.build if "congctl" in argv]
    assert [argv[-2:] == ("features", "ecn") for argv in routes] == [True, False]
    assert script.sysctls(planned("ecn = true"))["net.ipv4.tcp_ecn"] == "2"
    assert script.sysctls(planned("", host="ecn = true"))["net.ipv4.tcp_ecn"] == "1"


@pytest.mark.usefixtures("uml_kernel")
def test_linux_marks_only_the_flow_with_ecn(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(SCENARIO.format(first="ecn = true", host="", pcap="false"))
    assert main(["run", str(file), "--on", "uml", "--out", str(tmp_path / "out")]) == 0
    (result,) = dumbbell.load(tmp_path / "out")
    first, second = result.flows.to_pylist()
    assert result.summary.link.marks > 5
    # Slow start may overrun the queue; after it CoDel marks the one and drops from the other.
    assert first["retrans_segs"] == 0 < second["retrans_segs"]
