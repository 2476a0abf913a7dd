"""A path between two network namespaces for tests of real TCP: a TUN device on each side and a relay between them, with
a rate, a delay and a buffer.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
import subprocess
import threading
import time
from collections import deque
from types import TracebackType

#: ioctl and flags of <linux/if_tun.h>.
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000

LEFT, RIGHT = f"dumbbell-{os.getpid()}-left", f"dumbbell-{os.getpid()}-right"
SENDER, RECEIVER = "10.99.0.1", "10.99.0.2"


def sh(*command: str) -> str:
    """Output of a command that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
    return done.stdout


def within(netns: str, *command: str) -> str:
    """Output of a command in a namespace."""
    return sh("ip", "netns", "exec", netns, *command)


def iperf_client(kernel_name: str, seconds: float) -> list[str]:
    """The command of a bulk flow between the namespaces, which prints JSON."""
    flow = ["--client", RECEIVER, "--congestion", kernel_name, "--time", str(seconds), "--json"]
    return ["ip", "netns", "exec", LEFT, "iperf3", *flow]


class Namespaces:
    """Two network namespaces, removed at the end with all that is in them."""

    def __enter__(self) -> Namespaces:
        for netns in (LEFT, RIGHT):
            sh("ip", "netns", "add", netns)
            sh("ip", "-n", netns, "link", "set", "lo", "up")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for netns in (LEFT, RIGHT):
            sh("ip", "netns", "del", netns)


class Veth(Namespaces):
    """A pair of virtual Ethernet devices with a token bucket of `mbps` and 50 ms of queue on the sender's side; no
    delay of its own.
    """

    def __init__(self, mbps: int) -> None:
        self.mbps = mbps

    def __enter__(self) -> Veth:
        super().__enter__()
        sh("ip", "link", "add", "veth0", "netns", LEFT, "type", "veth", "peer", "name", "veth0", "netns", RIGHT)
        for netns, address in ((LEFT, SENDER), (RIGHT, RECEIVER)):
            sh("ip", "-n", netns, "addr", "add", f"{address}/24", "dev", "veth0")
            sh("ip", "-n", netns, "link", "set", "veth0", "up")
        sh(
            "tc",
            "-n",
            LEFT,
            "qdisc",
            "add",
            "dev",
            "veth0",
            "root",
            "tbf",
            "rate",
            f"{self.mbps}mbit",
            "burst",
            "3028",
            "latency",
            "50ms",
        )
        return self


class Relay(Namespaces):
    """A bottleneck of `mbps` and `buffer_bytes` (drop-tail, IP packets) towards the receiver, and `one_way_s` of delay
    each way.
    """

    def __init__(self, mbps: float, one_way_s: float, buffer_bytes: int) -> None:
        self.bytes_per_s, self.one_way_s, self.buffer_bytes = mbps * 1e6 / 8, one_way_s, buffer_bytes
        self.drops = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="relay")

    def __enter__(self) -> Relay:
        super().__enter__()
        self._fds = [self._tun(LEFT, SENDER), self._tun(RIGHT, RECEIVER)]
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        for fd in self._fds:
            os.close(fd)
        super().__exit__(kind, error, traceback)

    def _tun(self, netns: str, address: str) -> int:
        fd, name = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK), f"dbtun-{os.getpid()}"
        fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
        sh("ip", "link", "set", name, "netns", netns)
        sh("ip", "-n", netns, "link", "set", name, "name", "tun0")
        sh("ip", "-n", netns, "addr", "add", f"{address}/24", "dev", "tun0")
        sh("ip", "-n", netns, "link", "set", "tun0", "up")
        return fd

    def _run(self) -> None:
        left, right = self._fds
        free_at = 0.0  # when the bottleneck has sent all that it has accepted
        waiting: dict[int, deque[tuple[float, bytes]]] = {left: deque(), right: deque()}
        while not self._stop.is_set():
            now = time.monotonic()
            due = min((queue[0][0] for queue in waiting.values() if queue), default=now + 0.05)
            ready, _, _ = select.select([left, right], [], [], max(0.0, due - now))
            now = time.monotonic()
            for fd in ready:
                for packet in _packets(fd):
                    if fd == right:
                        waiting[left].append((now + self.one_way_s, packet))
                    elif (max(free_at, now) - now) * self.bytes_per_s + len(packet) > self.buffer_bytes:
                        self.drops += 1
                    else:
                        free_at = max(free_at, now) + len(packet) / self.bytes_per_s
                        waiting[right].append((free_at + self.one_way_s, packet))
            for fd, queue in waiting.items():
                while queue and queue[0][0] <= now:
                    _write(fd, queue.popleft()[1])


def _packets(fd: int) -> list[bytes]:
    """What the device has now, a few at most, lest the other side wait."""
    packets = []
    for _ in range(32):
        try:
            packets.append(os.read(fd, 65536))
        except BlockingIOError:
            break
    return packets


def _write(fd: int, packet: bytes) -> None:
    """Hands a packet over; the kernel refuses some when a device goes down, and then they are lost as on any path."""
    try:
        os.write(fd, packet)
    except OSError:
        return
