"""What the tests of controllers in the running kernel share: what they need, a flow of iperf3, waiting."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dumbbell import kernel
from kernel_path import LEFT, RIGHT, SENDER, iperf_client, within

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
PINS = Path("/sys/fs/bpf/dumbbell")
BBRS = ["bbr", "bbr-draft", "bbr-drain", "bbr-hsr", "bbr2", "bbr2plus", "bbr3", "bbrplus", "tsunami", "tsunami-zhang"]
NAMES = [*BBRS, "cubic", "dctcp", "htcp", "prague", "reno", "vegas"]


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


NEEDS = [pytest.mark.alone, pytest.mark.skipif(_why_not() is not None, reason=_why_not() or "")]


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
        wait_until(lambda: ":5201" in within(RIGHT, "ss", "-ltn"), "iperf3 listens")
        self._client = subprocess.Popen(
            iperf_client(kernel_name, seconds), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

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


def wait_until(is_so: Callable[[], bool], what: str, seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.02)


def sender_of(name: str) -> kernel.Socket | None:
    """The socket that sends the data, if it is there yet."""
    sockets = kernel.status(name)[0].sockets
    return next((s for s in sockets if s.netns == LEFT and s.local.startswith(f"{SENDER}:") and s.delivered > 20), None)


def watch(name: str, flow: Iperf) -> list[kernel.Socket]:
    """The sending socket, again and again, as long as the flow lasts."""
    seen = []
    while not flow.is_over:
        socket = sender_of(name)
        if socket:
            seen.append(socket)
        time.sleep(0.01)
    return seen
