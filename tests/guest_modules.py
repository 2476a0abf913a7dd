"""Runs inside a guest, with Python's standard library only: loads modules one after the other, sends data through each
between the network namespaces s and d, reads what the module reports meanwhile, and unloads it.

python3 guest_modules.py FILE.ko[,PARAM=VALUE ...] ...    (the file's name is the controller's)

Each module makes one line of JSON on stdout.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import struct
import sys
import threading
import time
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
#: x86-64.
FINIT_MODULE, DELETE_MODULE = 313, 176
TCP_CC_INFO = 26
#: The receiver's, in namespace d.
ADDRESS = ("10.0.1.2", 5000)
SENT = 6_000_000


def checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def load(file: str, params: str) -> None:
    fd = os.open(file, os.O_RDONLY)
    try:
        checked(LIBC.syscall(FINIT_MODULE, fd, params.encode(), 0))
    finally:
        os.close(fd)


def unload(name: str) -> None:
    """As soon as the last socket is gone."""
    for _ in range(100):
        try:
            checked(LIBC.syscall(DELETE_MODULE, name.encode(), os.O_NONBLOCK))
        except BlockingIOError:
            time.sleep(0.1)
        else:
            return
    raise OSError(f"{name} is in use")


def socket_in(netns: str) -> socket.socket:
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{netns}", os.O_RDONLY)
    checked(LIBC.setns(there, 0))
    try:
        return socket.socket()
    finally:
        checked(LIBC.setns(home, 0))
        os.close(there)
        os.close(home)


def report(name: str) -> list[dict[str, str]]:
    head, *rows = Path(f"/proc/net/dumbbell_{name}").read_text().splitlines()
    return [dict(zip(head.split(), row.split(), strict=True)) for row in rows]


def drain(listening: socket.socket, got: list[int]) -> None:
    accepted, _ = listening.accept()
    buffer = bytearray(1 << 18)
    while count := accepted.recv_into(buffer):
        got[0] += count
    accepted.close()


def flow(name: str) -> dict[str, object]:
    got, samples = [0], []
    with socket_in("d") as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(ADDRESS)
        listening.listen()
        reader = threading.Thread(target=drain, args=(listening, got))
        reader.start()
        with socket_in("s") as sender:
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
            before = report(name)
            sender.connect(ADDRESS)
            sender.setblocking(False)
            left = SENT
            while left:
                try:
                    left -= sender.send(bytes(min(left, 1 << 16)))
                except BlockingIOError:
                    time.sleep(0.05)
                    samples += report(name)
            local = "{}:{}".format(*sender.getsockname())
            info = sender.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 20)
        reader.join()
    bbr = (
        dict(zip(("bw_lo", "bw_hi", "min_rtt", "pacing_gain", "cwnd_gain"), struct.unpack("5I", info)))
        if info
        else None
    )
    return {"got": got[0], "before": before, "local": local, "samples": samples, "bbr": bbr}


def main() -> None:
    for argument in sys.argv[1:]:
        file, *params = argument.split(",")
        name = Path(file).stem
        load(file, " ".join(params))
        values = {one.name: one.read_text().strip() for one in Path(f"/sys/module/{name}/parameters").glob("*")}
        told = {"name": name, "params": values, **flow(name)}
        unload(name)
        told["is_gone"] = not Path(f"/proc/net/dumbbell_{name}").exists()
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
