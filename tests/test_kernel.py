"""Our controllers in the running kernel: real TCP through each, between two network namespaces. Skipped, with the
reason, where that cannot be.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, Cli
from dumbbell import kernel
from kernel_path import LEFT, RECEIVER, RIGHT, SENDER, Relay, Veth, within

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
PINS = Path("/sys/fs/bpf/dumbbell")
BBRS = ["bbr", "bbr-drain", "bbr-hsr", "bbr2", "bbr2plus", "bbr3", "bbrplus", "tsunami", "tsunami-zhang"]
NAMES = [*BBRS, "cubic", "dctcp", "htcp", "reno", "vegas"]


def _why_not() -> str | None:
    if os.geteuid() != 0:
        return "needs root"
    if not Path("/sys/kernel/btf/vmlinux").exists():
        return "the kernel has no type information (/sys/kernel/btf/vmlinux)"
    missing = [tool for tool in ("iperf3", "ip", "tc", "ss") if not shutil.which(tool)]
    if missing:
        return f"missing: {', '.join(missing)}"
    if not Path("/dev/net/tun").exists():
        return "there is no /dev/net/tun"
    return None if kernel.built_in() else "built without clang, so there are no objects"


pytestmark = [pytest.mark.alone, pytest.mark.skipif(_why_not() is not None, reason=_why_not() or "")]


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Whatever a test does, it leaves no controller, pin or namespace."""
    before = AVAILABLE.read_text().split()
    yield
    assert AVAILABLE.read_text().split() == before
    assert not PINS.exists()
    assert not [netns for netns in (LEFT, RIGHT) if Path("/run/netns", netns).exists()]


class Iperf:
    """One flow of iperf3 between the namespaces, for some seconds."""

    def __init__(self, kernel_name: str, seconds: float) -> None:
        server = ["ip", "netns", "exec", RIGHT, "iperf3", "--server", "--one-off", "--json"]
        self._server = subprocess.Popen(server, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _wait(lambda: ":5201" in within(RIGHT, "ss", "-ltn"), "iperf3 listens")
        client = [
            "ip",
            "netns",
            "exec",
            LEFT,
            "iperf3",
            "--client",
            RECEIVER,
            "--congestion",
            kernel_name,
            "--time",
            str(seconds),
            "--json",
        ]
        self._client = subprocess.Popen(client, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def __enter__(self) -> Iperf:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (self._client, self._server):
            process.kill()
            process.communicate()

    @property
    def is_over(self) -> bool:
        """The client has ended."""
        return self._client.poll() is not None

    def result(self) -> dict[str, Any]:
        """What iperf3 reports at the end."""
        out, _ = self._client.communicate(timeout=60)
        self._server.wait(timeout=20)
        report: dict[str, Any] = json.loads(out)
        assert "error" not in report, report["error"]
        return report


def _wait(is_so: Callable[[], bool], what: str, seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.02)


def _sender(name: str) -> kernel.Socket | None:
    """The socket that sends the data, if it is there yet."""
    sockets = kernel.status(name)[0].sockets
    return next((s for s in sockets if s.netns == LEFT and s.local.startswith(f"{SENDER}:") and s.delivered > 20), None)


def _watch(name: str, flow: Iperf) -> list[kernel.Socket]:
    """The sending socket, again and again, as long as the flow lasts."""
    seen = []
    while not flow.is_over:
        socket = _sender(name)
        if socket:
            seen.append(socket)
        time.sleep(0.01)
    return seen


def test_all_controllers_of_the_simulator_are_there() -> None:
    from dumbbell.controllers import known

    assert set(kernel.built_in()) == set(known()) == set(NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_flow_runs_through(name: str) -> None:
    with kernel.load(name) as controller, Veth(mbps=20), Iperf(controller.kernel_name, 1) as flow:
        _wait(lambda: _sender(name) is not None, "data flows")
        assert re.search(rf"\b{controller.kernel_name} ", within(LEFT, "ss", "-tin"))
        socket = _sender(name)
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
        seen = _watch(name, flow)
        report = flow.result()
    states = [socket.estimates.state or "" for socket in seen]
    runs = [state for state, before in zip(states, ["", *states]) if state != before]
    assert runs[0] == "STARTUP", runs
    assert any(state.startswith("PROBE_BW") for state in runs), runs
    assert "STARTUP" not in runs[1:], runs
    assert report["end"]["sum_received"]["bits_per_second"] > 14e6
    late = [socket.estimates for socket in seen if socket.delivered > 3000]
    payload_bps = 20e6 * 1448 / 1500
    bandwidths = sorted(told.bw_bps or 0 for told in late)
    assert 0.75 * payload_bps < bandwidths[len(bandwidths) // 2] < 1.35 * payload_bps
    assert all(30_000 <= (told.min_rtt_us or 0) < 40_000 for told in late)
    if name in ("bbr2", "bbr2plus", "bbr3"):
        assert {"PROBE_BW_DOWN", "PROBE_BW_CRUISE"} & set(runs), runs


def test_set_takes_effect_while_a_flow_runs(cli: Cli) -> None:
    """BBR paces at 0.75 to 1.25 of its bandwidth, less a margin of 1 %; with one of 50 % the most is 0.625."""

    def ratio() -> float:
        socket = _sender("bbr")
        assert socket is not None
        assert socket.pacing_rate_bps is not None
        return socket.pacing_rate_bps / (socket.estimates.bw_bps or 1)

    with (
        Relay(mbps=20, one_way_s=0.01, buffer_bytes=100_000),
        kernel.load("bbr") as controller,
        Iperf(controller.kernel_name, 3),
    ):
        _wait(
            lambda: (socket := _sender("bbr")) is not None and socket.estimates.state == "PROBE_BW", "STARTUP is over"
        )
        assert ratio() > 0.7
        done = cli("kernel", "set", "bbr", "pacing_margin_percent=50")
        assert (done.returncode, done.stdout) == (0, "pacing_margin_percent = 50 %\n")
        _wait(lambda: ratio() < 0.63, "the pacing rate follows", seconds=1)


def test_a_loaded_controller_stays_until_unload_and_its_flows_keep_it(cli: Cli) -> None:
    done = cli("kernel", "load", "bbr2", "--param", "loss_thresh=10")
    assert (done.returncode, done.stdout, done.stderr) == (0, "bbr2\n", "")
    try:
        with Veth(mbps=20), Iperf("bbr2", 2) as flow:
            _wait(lambda: _sender("bbr2") is not None, "data flows")
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
        _wait(lambda: _sender("bbr2") is not None, "data flows")
        before = _sender("bbr2")
        first.unload()
        with pytest.raises(kernel.KernelError, match="bbr2: is not loaded; none is"):
            kernel.status("bbr2")
        with kernel.load("bbr2"):
            after = _sender("bbr2")
    assert before is not None
    assert after is not None
    assert before.estimates.state is not None
    assert after.instance == before.instance
    assert after.estimates.state is None, "the new load has no state of it"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_in_the_foreground_it_ends_with_its_process(cli: Cli, how: signal.Signals) -> None:
    command = [sys.executable, "-m", "dumbbell", "kernel", "load", "vegas", "--foreground"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "d_vegas\n"
    assert kernel.loaded() == {"vegas": ("d_vegas", False)}
    refused = cli("kernel", "unload", "vegas")
    assert refused.returncode == 1
    assert refused.stderr == "dumbbell: vegas: is held by another process (load --foreground): end that\n"
    process.send_signal(how)
    process.communicate(timeout=20)
    assert process.returncode == (0 if how != signal.SIGKILL else -signal.SIGKILL)
    _wait(lambda: "d_vegas" not in AVAILABLE.read_text(), "the kernel has let go of it")
    # What a killed process leaves are pins, which the next load sweeps away.
    kernel.load("reno").unload()


def test_an_own_file_is_compiled_and_loaded(cli: Cli) -> None:
    file = ROOT / "scenarios" / "examples" / "gentle.c"
    assert cli("kernel", "load", file, "--param", "beta=900").stdout == "gentle\n"
    try:
        assert kernel.status("gentle")[0].params["beta"].value == 900
        assert re.search(r"^gentle +gentle +yes +a file of your own$", cli("kernel", "list").stdout, re.MULTILINE)
    finally:
        assert cli("kernel", "unload", "gentle").stdout == "gentle is unloaded\n"


@pytest.mark.parametrize(
    ("file", "program", "reason"),
    [
        ("oversteps.c", "oversteps_cong_avoid", "no write support to tcp_sock at off"),
        ("unchecked.c", "unchecked_cong_avoid", "R0 invalid mem access 'map_value_or_null'"),
    ],
)
def test_the_verifiers_refusal_is_shown(cli: Cli, file: str, program: str, reason: str) -> None:
    done = cli("kernel", "load", ROOT / "tests" / "refused" / file)
    assert (done.returncode, done.stdout) == (1, "")
    first, *log = done.stderr.splitlines()
    assert first == f"dumbbell: {file.removesuffix('.c')}: the kernel's verifier refuses program `{program}`:"
    assert 1 < len(log) <= 8
    assert reason in log[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["load", "cubci"], "unknown controller cubci, wanted one of: bbr, .*, vegas"),
        (["load", "bbr22"], "unknown controller bbr22, .*; did you mean bbr2\\?"),
        (["load", "cubic", "--param", "bata=1"], "cubic: unknown parameter bata, did you mean beta\\?"),
        (["load", "cubic", "--param", "beta=1"], "cubic: beta: got 1, wanted a whole number from 256 to 1000"),
        (
            ["load", "bbr2", "--param", "colour=1"],
            "bbr2: unknown parameter colour, wanted one of \\d+ \\(`dumbbell cca show bbr2` lists them\\)",
        ),
        (
            ["load", "bbr2", "--as", "a-name"],
            "bbr2: got the name a-name for the kernel, wanted 1 to 15 letters, digits and _ \\(--as NAME\\)",
        ),
        (
            ["load", "bbr2", "--as", "longer_than_that"],
            "bbr2: got the name longer_than_that for the kernel, wanted 1 to 15 .*",
        ),
        (
            ["load", "bbr2", "--as", "cubic"],
            (
                "bbr2: the kernel has a controller cubic that was not loaded by this program; load this one under"
                " another name \\(--as NAME\\)"
            ),
        ),
        (["load", "cubic", "--param", "beta"], "got beta, wanted a parameter and its value, as in beta=76"),
        (["load", "none.c"], "none.c: No such file or directory .*"),
        (["set", "cubic", "beta=700"], "cubic: is not loaded; none is"),
        (["unload", "cubic"], "cubic: is not loaded; none is"),
        (["status", "cubic"], "cubic: is not loaded; none is"),
    ],
)
def test_wrong_input_is_one_line_and_status_2(cli: Cli, arguments: list[str], message: str) -> None:
    done = cli("kernel", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(f"dumbbell: {message}\n", done.stderr), done.stderr


def test_a_source_that_does_not_compile_names_file_and_line(cli: Cli, tmp_path: Path) -> None:
    broken = tmp_path / "broken.c"
    broken.write_text(
        (ROOT / "scenarios" / "examples" / "gentle.c").read_text()
        + "\nstatic inline u32 wrong(void) { return missing(); }\n"
    )
    done = cli("kernel", "load", broken)
    assert done.returncode == 2
    assert re.search(r"broken\.c:\d+:\d+: error: ", done.stderr), done.stderr
    module = cli("kernel", "load", ROOT / "scenarios" / "examples" / "tcp_steady.c")
    assert module.returncode == 2
    assert 'does not include "cca.h"' in module.stderr


def test_without_the_rights_it_says_so(tmp_path: Path) -> None:
    drop = [
        "setpriv",
        "--bounding-set=-all",
        "--inh-caps=-all",
        sys.executable,
        "-m",
        "dumbbell",
        "kernel",
        "load",
        "reno",
    ]
    done = subprocess.run(drop, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert (
        done.stderr
        == "dumbbell: loading and reading controllers needs root (CAP_SYS_ADMIN and CAP_NET_ADMIN), which this process"
        " is not\n"
    )


def test_loads_at_once_take_turns() -> None:
    """Two of one name: one gets it, the other is told; neither damages the other's pins."""
    results: list[object] = []

    def load() -> None:
        try:
            results.append(kernel.load("htcp"))
        except kernel.KernelError as error:
            results.append(error)

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    held = [result for result in results if isinstance(result, kernel.Loaded)]
    told = [str(result) for result in results if isinstance(result, kernel.KernelError)]
    assert len(held) == 1
    taken = (
        "htcp: the name d_htcp is taken by a controller that is loaded already; `dumbbell kernel unload d_htcp` first,"
        " or load this one under another name"
    )
    assert told == [f"{taken} (--as NAME)"] * 3
    held[0].unload()


def test_one_source_may_be_loaded_under_several_names_with_parameters_of_their_own(cli: Cli) -> None:
    try:
        assert cli("kernel", "load", "bbr2").stdout == "bbr2\n"
        done = cli("kernel", "load", "bbr2", "--as", "bbr2_lossy", "--param", "loss_thresh=20")
        assert (done.returncode, done.stdout, done.stderr) == (0, "bbr2_lossy\n", "")
        taken = cli("kernel", "load", "cubic", "--as", "bbr2_lossy")
        assert taken.returncode == 2
        assert "the name bbr2_lossy is taken by a controller that is loaded already" in taken.stderr
        assert {"bbr2", "bbr2_lossy"} <= set(AVAILABLE.read_text().split())
        assert [kernel.status(name)[0].params["loss_thresh"].value for name in ("bbr2_lossy", "bbr2")] == [20, 5]
        cli("kernel", "set", "bbr2", "loss_thresh=6")
        assert [kernel.status(name)[0].params["loss_thresh"].value for name in ("bbr2_lossy", "bbr2")] == [20, 6]
        listed = [json.loads(line) for line in cli("kernel", "list", "--json").stdout.splitlines()]
        of_bbr2 = [(one["kernel_name"], one["is_loaded"], one["is_kept"]) for one in listed if one["name"] == "bbr2"]
        assert of_bbr2 == [("bbr2", True, True), ("bbr2_lossy", True, True)]
        assert {one["name"]: one["kernel_name"] for one in listed if not one["is_loaded"]}["bbr-hsr"] == "bbr_hsr"
        assert cli("kernel", "unload", "bbr2_lossy").stdout == "bbr2_lossy is unloaded\n"
        assert "bbr2" in AVAILABLE.read_text().split()
    finally:
        for name in ("bbr2", "bbr2_lossy"):
            cli("kernel", "unload", name)


def test_where_linux_has_a_controller_of_that_name_ours_says_under_which_it_is(cli: Cli) -> None:
    done = cli("kernel", "load", "cubic")
    cli("kernel", "unload", "cubic")
    assert (done.returncode, done.stdout) == (0, "d_cubic\n")
    assert done.stderr == "dumbbell: as d_cubic, because the kernel has, or may have, a cubic of its own (--as NAME)\n"


def test_an_own_file_registers_under_its_own_name(cli: Cli, tmp_path: Path) -> None:
    """Whatever the name inside; so a changed copy of a controller stands beside it."""
    (tmp_path / "gentler.c").write_text((ROOT / "scenarios" / "examples" / "gentle.c").read_text())
    try:
        assert cli("kernel", "load", ROOT / "scenarios" / "examples" / "gentle.c").stdout == "gentle\n"
        assert cli("kernel", "load", tmp_path / "gentler.c").stdout == "gentler\n"
        assert set(kernel.loaded()) == {"gentle", "gentler"}
    finally:
        for name in ("gentle", "gentler"):
            cli("kernel", "unload", name)


def test_an_object_that_libbpf_refuses_comes_with_its_reason(cli: Cli, tmp_path: Path) -> None:
    """A hook that no member of the ops refers to."""
    text = (ROOT / "scenarios" / "examples" / "gentle.c").read_text()
    (tmp_path / "unused.c").write_text(
        text.replace(
            "CCA_INFO_OP(gentle_info)",
            "CCA_OP(u32, gentle_unused, struct sock *sk)\n{\n\treturn 1;\n}\n\nCCA_INFO_OP(gentle_info)",
        )
    )
    done = cli("kernel", "load", tmp_path / "unused.c")
    assert done.returncode == 1
    assert "gentle_unused" in done.stderr, done.stderr


def test_pins_of_a_killed_process_are_listed_and_swept(cli: Cli) -> None:
    command = [sys.executable, "-m", "dumbbell", "kernel", "load", "vegas", "--foreground"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    _wait(lambda: "d_vegas" not in AVAILABLE.read_text(), "the kernel has let go of it")
    assert (
        cli("kernel", "list").stderr
        == "dumbbell: left by processes that were killed, until the next load: d_vegas (in /sys/fs/bpf/dumbbell)\n"
    )
    kernel.load("bbr2").unload()
    assert cli("kernel", "list").stderr == ""


@pytest.mark.parametrize(
    ("owner", "mode", "got"), [(65534, 0o700, "got one of user 65534"), (0, 0o777, "got mode 0777")]
)
def test_pins_are_not_put_where_somebody_else_may_write(cli: Cli, owner: int, mode: int, got: str) -> None:
    """Where bpffs is mounted for all to write (1777), anybody may make the folder first."""
    PINS.mkdir()
    try:
        PINS.chmod(mode)
        os.chown(PINS, owner, owner)
        for arguments in (["load", "bbr2"], ["status"], ["unload", "bbr2"]):
            done = cli("kernel", *arguments)
            assert done.returncode == 1
            assert f"{PINS}: {got}, wanted a folder of root's that nobody else may write (0700)" in done.stderr
    finally:
        PINS.rmdir()


def test_status_shows_what_sends(cli: Cli) -> None:
    """Of a flow of iperf3 there are a sender, a receiver, a control connection with two ends, and a socket that
    listens; receivers have the default.
    """
    with Veth(mbps=20), kernel.load("bbr2") as controller:
        for netns in (LEFT, RIGHT):
            within(netns, "sysctl", "-q", "-w", "net.ipv4.tcp_congestion_control=bbr2")
        with Iperf(controller.kernel_name, 2) as flow:
            _wait(lambda: _sender("bbr2") is not None, "data flows")
            shown = cli("kernel", "status", "bbr2").stdout
            everything = cli("kernel", "status", "bbr2", "--all").stdout
            flow.result()
    assert len(re.findall(rf"\[{LEFT}\] ", shown)) == 1
    assert f"[{RIGHT}] " not in shown
    assert re.search(r"\d sockets that send next to nothing \(--all shows them\)", shown)
    assert f"[{RIGHT}] " in everything
    assert "next to nothing" not in everything
