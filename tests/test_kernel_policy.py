"""Policies in the running kernel: flows through them, and their answers, which are those of the same integers in Python.
Skipped, with the reason, where that cannot be.
"""

from __future__ import annotations

import ctypes
import os
import platform
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from bpf import (
    NEEDS,
    Iperf,
    nothing_left,  # noqa: F401 - the fixture of every test here
    watch,
)
from conftest import Cli
from dumbbell import kernel
from dumbbell.policy import file
from dumbbell.policy.network import Dense
from kernel_path import LEFT, Relay, within
from test_policy import INPUTS, answer, floats, policy

pytestmark = NEEDS

#: Of bpf(2), by the machine's architecture, and its commands.
_CALLS = {"x86_64": 321, "aarch64": 280}
_LOOKUP, _NEXT_MAP, _MAP_BY_ID, _INFO = 1, 12, 14, 15
#: Bytes of the state behind the history: two rows of hidden values (struct orca).
_HIDDEN = 2 * 256 * 4


def steady(kind: str, width: int) -> list[Dense]:
    """A network whose answers stay near 100 %."""
    *hidden, last = floats(kind, width)
    return [*hidden, last._replace(weights=last.weights * 0.02, bias=last.bias * 0)]


def linear() -> list[Dense]:
    """A network without a hidden layer."""
    return [Dense(np.full((1, INPUTS), 0.001), np.zeros(1))]


@pytest.mark.parametrize(
    "layers",
    [linear(), steady("leaky", 16)[::2], steady("tanh", 64)],
    ids=["70-1", "70-16-1", "70-64-64-1"],
)
def test_a_policy_carries_a_flow(tmp_path: Path, cli: Cli, layers: list[Dense]) -> None:
    file.write(policy(layers), tmp_path / "a.safetensors")
    done = cli("kernel", "load", tmp_path / "a.safetensors")
    assert (done.returncode, done.stdout, done.stderr) == (0, "mine\n", "")
    try:
        with Relay(mbps=20, one_way_s=0.01, buffer_bytes=100_000):
            # From the handshake on, whose RTT Linux measures before it begins the controller.
            within(LEFT, "sysctl", "-qw", "net.ipv4.tcp_congestion_control=mine")
            with Iperf("mine", 3) as flow:
                seen = watch("mine", flow)
                report = flow.result()
    finally:
        assert cli("kernel", "unload", "mine").stdout == "mine is unloaded\n"
    assert report["end"]["sender_tcp_congestion"] == "mine"
    assert report["end"]["sum_received"]["bits_per_second"] > 8e6
    assert seen[-1].estimates.state == "STEER"
    # Its own bound, the window over the RTT, which is below Linux's rate of 1.2 times that.
    late = [one for one in seen if one.delivered > 2000]
    ratios = sorted((one.pacing_rate_bps or 0) * (one.srtt_us or 0) / (one.cwnd * 1500 * 8e6) for one in late)
    assert 0.9 < ratios[len(ratios) // 2] < 1.1


@pytest.mark.parametrize(("kind", "width"), [("leaky", 16), ("tanh", 64), ("leaky", 256)])
def test_it_answers_in_the_kernel_as_the_same_integers_do_in_python(tmp_path: Path, kind: str, width: int) -> None:
    made = policy(floats(kind, width))
    file.write(made, tmp_path / "a.safetensors")
    # It steers from the first window on, and often.
    params = {"hystart": 0, "initial_ssthresh": 5, "period_us": 5000, "age_us": 0}
    with kernel.load(str(tmp_path / "a.safetensors"), params) as controller:
        answers = dict(islice(readings(controller.kernel_name), 200))
    assert len(answers) > 20
    assert len(set(answers.values())) > 5
    for history, percent in answers.items():
        assert percent == answer(made, np.frombuffer(history, dtype=np.int32).astype(np.int64))


def readings(kernel_name: str) -> Iterator[tuple[bytes, int]]:
    """What the network of a socket was told last, and its answer, again and again while it sends in bursts."""
    with echo(kernel_name) as sender, closing(Storage("orca_storage")) as storage:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            sender.sendall(b"x" * 30_000)
            assert sender.recv(1)
            state = storage.of(sender)
            history = state[-_HIDDEN - 4 * INPUTS : -_HIDDEN]
            # Before them are the last answer and whether slow start has ended, a byte of a word.
            percent, is_steering = struct.unpack_from("=I?", state, len(state) - _HIDDEN - 4 * INPUTS - 8)
            if is_steering and percent and state == storage.of(sender):
                yield history, percent
            time.sleep(0.002)


@contextmanager
def echo(kernel_name: str) -> Iterator[socket.socket]:
    """A socket of this controller, whose peer answers 30,000 bytes with one."""

    def serve() -> None:
        with listening.accept()[0] as peer:
            while peer.recv(30_000, socket.MSG_WAITALL):
                peer.sendall(b"y")

    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as sender:
        thread = threading.Thread(target=serve)
        thread.start()
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, kernel_name.encode())
        sender.connect(listening.getsockname())
        yield sender
        sender.close()
        thread.join(timeout=10)


class Storage:
    """The state that a controller keeps outside of sockets, of the newest map of this name."""

    def __init__(self, name: str) -> None:
        self._fd = -1
        for fd, size, named in _maps():
            if named == name:
                self.close()
                self._fd, self._size = fd, size
            else:
                os.close(fd)
        assert self._fd >= 0, f"no map {name}"

    def close(self) -> None:
        """Give back the map."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def of(self, sock: socket.socket) -> bytes:
        """The state of a socket."""
        key, state = ctypes.c_int(sock.fileno()), ctypes.create_string_buffer(self._size)
        _bpf(_LOOKUP, struct.pack("=IIQQQ", self._fd, 0, ctypes.addressof(key), ctypes.addressof(state), 0))
        return state.raw


def _maps() -> Iterator[tuple[int, int, str]]:
    """A descriptor of each of BPF's maps, the size of its values, and its name, oldest first."""
    at = 0
    while True:
        try:
            _, out = _bpf(_NEXT_MAP, struct.pack("=II", at, 0))
        except FileNotFoundError:
            return
        at = struct.unpack_from("=I", out, 4)[0]
        fd, _ = _bpf(_MAP_BY_ID, struct.pack("=I", at))
        said = ctypes.create_string_buffer(80)
        _bpf(_INFO, struct.pack("=IIQ", fd, len(said), ctypes.addressof(said)))
        yield fd, struct.unpack_from("=I", said.raw, 12)[0], said.raw[24:40].rstrip(b"\0").decode()


def _bpf(command: int, attributes: bytes) -> tuple[int, bytes]:
    """What bpf(2) returns, and the attributes after it."""
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(attributes, 144)
    result = libc.syscall(_CALLS[platform.machine()], command, buffer, len(buffer))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result, buffer.raw
