#!/usr/bin/env python3
"""One-way delays of UDP packets of 1500 bytes: ``receive FILE``, then ``send HOST PPS SECONDS``; and ``stalls``, what
the machine itself does to time.

Both ends share a clock, the machine's. The sender writes the time into each packet; the arrival is the kernel's own
timestamp (SO_TIMESTAMPNS), so that what the receiving program waits for its processor is not in the delay. What the
sender waits between reading the clock and the device is, so it runs before all ordinary programs where it may, and
after a path that does so too: beside compilers it otherwise reads the clock, waits for a processor and then sends, or
does not keep up, so that the queue meant to be full is not.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import sys
import time
from pathlib import Path

PORT = 7000
PAYLOAD_BYTES = 1472
"""With UDP and IP headers 1500 bytes."""

SO_TIMESTAMPNS = 35
PRIORITY = 5
"""Below that of ``dumbbell shell``'s path, 10."""

QUIET_S = 3.0
"""The receiver ends when nothing came for so long."""


def receive(out: Path) -> None:
    """Write a line per packet: when it was sent and how long it took, in nanoseconds."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here, out.open("w") as lines:
        here.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        here.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        here.bind(("0.0.0.0", PORT))
        here.settimeout(60)
        while True:
            try:
                data, ancillary, _, _ = here.recvmsg(2048, 64)
            except TimeoutError:
                return
            here.settimeout(QUIET_S)
            (sent,) = struct.unpack_from("!q", data)
            seconds, ns = struct.unpack("qq", ancillary[0][2])
            lines.write(f"{sent} {seconds * 1_000_000_000 + ns - sent}\n")


def send(host: str, pps: float, seconds: float) -> None:
    """Send at a steady rate; what falls behind is made up for."""
    with contextlib.suppress(PermissionError):  # Mahimahi's commands are not root
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    filling = bytes(PAYLOAD_BYTES - 8)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
        here.connect((host, PORT))
        begin = time.monotonic()
        for i in range(int(pps * seconds)):
            ahead = begin + i / pps - time.monotonic()
            if ahead > 0:
                time.sleep(ahead)
            here.send(struct.pack("!q", time.time_ns()) + filling)


def stalls() -> dict[str, float]:
    """How long a loop that does nothing is kept from running: before all ordinary threads, for 0.9 of each of five
    seconds, as the kernel lets it.
    """
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    worst, count = 0, 0
    for _ in range(5):
        last = time.monotonic_ns()
        end = last + 900_000_000
        while last < end:
            now = time.monotonic_ns()
            count += now - last > 200_000
            worst, last = max(worst, now - last), now
        time.sleep(0.1)
    return {"max_ms": worst / 1e6, "over_200us": count}


if __name__ == "__main__":
    if sys.argv[1] == "stalls":
        print(json.dumps(stalls()))
    elif sys.argv[1] == "receive":
        receive(Path(sys.argv[2]))
    else:
        send(sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))
