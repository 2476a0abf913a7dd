"""Probes between two hosts, as a program of its own that runs with Python 3.8 or later and needs nothing else.
A session ships its text to its host.

    prober.py answer ADDRESS PORT
    prober.py ask FROM TO PORT START EVERY STOP END     times in ns, START, STOP and END of this host's clock

Asking prints a line for each request: when it was sent, when the other end had it by its own clock, and when the answer
was back, -1 for what never was.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import sys
import time
from collections.abc import Sequence

#: Number of the request, and in an answer the other end's time; 56 bytes, as `ping` sends.
_FORM = struct.Struct("!Iq44x")


def answer(address: str, port: int) -> None:
    """Answer every request at once, until the process is ended."""
    here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    here.bind((address, port))
    while True:
        packet, back = here.recvfrom(2048)
        if len(packet) == _FORM.size:
            here.sendto(_FORM.pack(_FORM.unpack(packet)[0], time.time_ns()), back)


def ask(source: str, target: str, port: int, times: Sequence[int]) -> list[list[int]]:
    """Send requests at their times (start, interval, stop, end), and return a list of [sent, there, back]."""
    start, every, stop, end = times
    probes: list[list[int]] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
        here.bind((source, port))
        here.connect((target, port))
        here.setblocking(False)
        due = start
        while (now := time.time_ns()) < end:
            if due < stop and now >= due:
                probes.append([now, -1, -1])
                _send(here, len(probes) - 1)
                due += every
                continue
            until = min(due, end) if due < stop else end
            if select.select([here], [], [], (until - now) / 1e9)[0]:
                _take(here, probes)
    return probes


def _send(here: socket.socket, number: int) -> None:
    # Where nobody is there, or the device is full, this one is lost.
    with contextlib.suppress(ConnectionError, BlockingIOError):
        here.send(_FORM.pack(number, 0))


def _take(here: socket.socket, probes: list[list[int]]) -> None:
    try:
        packet = here.recv(2048)
    except ConnectionError:
        return
    now = time.time_ns()
    if len(packet) != _FORM.size:
        return
    number, there = _FORM.unpack(packet)
    if number < len(probes) and probes[number][2] < 0:  # of copies the first counts
        probes[number][1:] = [there, now]


if __name__ == "__main__":
    if sys.argv[1] == "answer":
        answer(sys.argv[2], int(sys.argv[3]))
    else:
        port, *times = map(int, sys.argv[4:])
        for row in ask(sys.argv[2], sys.argv[3], port, times):
            print(*row)
