"""The window at the start of a connection: what a scenario says of it, what leaves in the first flight, and what routes of
real hosts are told.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell import ScenarioError, _native, plan
from dumbbell.backends import netem, ssh
from dumbbell.backends.request import Request
from dumbbell.results import packets
from dumbbell.scenario.file import from_text
from dumbbell.uml import script as guest
from dumbbell.uml.controllers import Loaded

RTT_S = 0.1
SCENARIO = """
name = "window"
duration = "1s"
[path]
rate = "1Gbps"
rtt = "100ms"
buffer = "1bdp"
{host}
[[flow]]
cca = "reno"
{flow}
[record]
pcap = true
"""


def written(flow: str = "", host: str = "") -> Any:
    return from_text(SCENARIO.format(flow=flow, host=host and f"[host]\n{host}"))


def planned(flow: str = "", host: str = "") -> Any:
    return plan.runs(written(flow, host))[0].plan


def large(folder: Path) -> list[float]:
    """When packets of more than 1000 bytes leave, s from the first packet."""
    return [at for at, frame in packets.frames(folder / "trace.pcap") if int.from_bytes(frame[16:18]) > 1000]


def least_window(flow: str, host: str, out: Path, cca: str = "reno") -> int:
    """The smallest window that samples have."""
    scenario = from_text(SCENARIO.format(flow=flow, host=host and f"[host]\n{host}").replace('"reno"', f'"{cca}"'))
    (result,) = dumbbell.run(scenario, out=out)
    return min(row["cwnd"] for row in result.samples.to_pylist() if row["cwnd"])


@pytest.mark.parametrize("window", [1, 3, 10, 32])
def test_the_first_flight_of_tcp_is_as_large_as_its_table_says(window: int, tmp_path: Path) -> None:
    for name, flow, host in (
        ("own", f"host = {{ initial_window = {window} }}", 'qdisc = "pfifo"'),
        ("all", "", f'qdisc = "pfifo"\ninitial_window = {window}'),
    ):
        (result,) = dumbbell.run(written(flow, host), out=tmp_path / name)
        assert sum(at < 1.99 * RTT_S for at in large(result.folder)) == window, name


def test_that_of_quic_is_the_hosts_unless_its_transport_has_one(tmp_path: Path) -> None:
    own = 'transport = { kind = "quic", initial_window = 7 }'
    assert least_window(own, "initial_window = 3", tmp_path / "own") == 7
    assert least_window('transport = "quic"', "initial_window = 3", tmp_path / "host") == 3


@pytest.mark.parametrize("cca", ["quinn:cubic", "cubic"])
def test_quinn_begins_with_that_many_datagrams(cca: str, tmp_path: Path) -> None:
    assert least_window('transport = "quinn"\nhost = { initial_window = 4 }', "", tmp_path / "out", cca) == 4


def test_a_plan_has_the_window_only_where_it_is_not_linuxs_own() -> None:
    assert "initial_window" not in planned()["host"]
    assert "initial_window" not in planned(host="initial_window = 10")["host"]
    assert planned(host="initial_window = 3")["host"]["initial_window"] == 3
    assert planned("host = { initial_window = 10 }", "initial_window = 3")["flows"][0]["host"] == {"initial_window": 10}


@pytest.mark.parametrize(
    ("flow", "host", "message"),
    [
        ("", "initial_window = 0", "host.initial_window: got 0, wanted a whole number from 1 to 10000"),
        (
            "host = { initial_window = 10001 }",
            "",
            "flow[0].host.initial_window: got 10001, wanted a whole number from 1",
        ),
        (
            'host = { initial_window = 3 }\ntransport = { kind = "quic", initial_window = 4 }',
            "",
            "flow[0].host.initial_window: got 3, wanted one initial window",
        ),
    ],
)
def test_a_window_that_cannot_be_is_an_error_at_its_key(flow: str, host: str, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        planned(flow, host)
    assert str(error.value).startswith(message)


def two_windows() -> Any:
    (run,) = plan.runs(
        from_text(
            SCENARIO.format(flow="host = { initial_window = 3 }\n[[flow]]\ncca = 'reno'", host="").replace(
                "true", "false"
            )
        )
    )
    return run


def test_routes_of_real_senders_have_the_window_of_their_flow() -> None:
    made = netem.topology(two_windows().plan, "x-", ["reno", "reno"])
    routes = [argv for argv in made.build if "congctl" in argv]
    assert [argv[-2:] == ("initcwnd", "3") for argv in routes] == [True, False]
    files = guest.guest(two_windows().plan, Loaded(["reno", "reno"])).files
    assert [line for line in files["s0.ip"].splitlines() if "initcwnd" in line] == [
        "route add default via 10.0.0.6 initcwnd 3"
    ]
    assert all("initcwnd" not in files[name] for name in ("s1.ip", "d.ip", "m0.ip"))
    _native.emulate(_json(two_windows().plan), None, ".")


def test_hosts_whose_routes_stay_as_they_are_refuse_another_window() -> None:
    with pytest.raises(
        ScenarioError, match=r"flow\[0\]\.host\.initial_window: got 3, wanted 10, Linux's own, with --on ssh"
    ):
        ssh.check(Request(two_windows(), on="ssh://a,b"))


def _json(given: Any) -> str:
    import json

    return json.dumps(given)


@pytest.mark.usefixtures("uml_kernel")
@pytest.mark.parametrize("window", [3, 32])
def test_linux_sends_the_first_flights_as_the_simulator_does(window: int, tmp_path: Path) -> None:
    scenario = written(f"host = {{ initial_window = {window} }}")
    times = []
    for on in ("sim", "uml"):
        (result,) = dumbbell.run(scenario, out=tmp_path / on, on=on)
        times.append([at for at in large(result.folder) if at < 2.9 * RTT_S])
    assert len(times[0]) >= 2 * window
    assert times[1] == pytest.approx(times[0], abs=0.0005)
