"""What the tests of real hosts over the emulated path share: what they need, scenarios, runs, and what must stay
untouched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import dumbbell

#: Payload of a full segment over its bytes on the wire.
PAYLOAD = 1448 / 1514

SCENARIO = """\
duration = "{seconds}s"

[path]
rate = "20Mbps"
rtt = "20ms"
{path}

[host]
qdisc = "pfifo"
hz = {hz}
arp = true
{host}

{flows}
"""


def why_not() -> str:
    """What is missing for these tests, if anything."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "real hosts need Linux and root"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "real hosts need /dev/net/tun"
    missing = [program for program in ("iperf3", "ip", "tc") if not shutil.which(program)]
    return f"real hosts need {', '.join(missing)}" if missing else ""


NEEDS = [
    pytest.mark.alone,
    pytest.mark.root,
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "everything is there"),
]


def scenario(
    folder: Path,
    name: str,
    *,
    seconds: int = 6,
    path: str = 'buffer = "2bdp"',
    flows: str = '[[flow]]\ncca = "cubic"',
    host: str = "",
) -> Path:
    hz = round(1 / time.clock_getres(6))  # CLOCK_MONOTONIC_COARSE, the kernel's tick
    file = folder / f"{name}.toml"
    file.write_text(SCENARIO.format(seconds=seconds, path=path, flows=flows, hz=hz, host=host))
    return file


def ran(cli: Any, folder: Path, name: str, *options: str, **more: Any) -> dumbbell.Result:
    done = cli("run", scenario(folder, name, **more), "--on", "linux", "--out", folder / f"out-{name}", *options)
    assert done.returncode == 0, done.stderr
    return dumbbell.load(folder / f"out-{name}")[0]


def untroubled(result: dumbbell.Result) -> list[str]:
    """Warnings that are not about a machine too busy to keep time."""
    return [text for text in result.warnings if "late" not in text]


def children(pid: int) -> list[int]:
    """Processes that this one has started, and theirs."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in listed.splitlines()]
    direct = [child for child, parent in pairs if parent == pid]
    return [*direct, *(deeper for child in direct for deeper in children(child))]


def programs(pid: int, name: str) -> list[int]:
    """Those of them that are this program, not what makes the path and is gone in a moment."""
    listed = subprocess.run(["ps", "-eo", "pid=,comm="], capture_output=True, text=True, check=True).stdout
    named = {int(line.split()[0]) for line in listed.splitlines() if line.split()[1:] == [name]}
    return [child for child in children(pid) if child in named]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
