"""One process from start to end on one core: CPU seconds, peak memory, what it printed; and where that was."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MSS_BYTES = 1448
"""Payload of a full segment: the packet that rates are counted in."""

MEMORY = "/dev/shm" if "TMPDIR" not in os.environ and os.access("/dev/shm", os.W_OK) else None
"""Where results are written: in memory where there is such a folder, as files of a disk take its own time; TMPDIR
chooses another. `None`: where temporary files are by default.
"""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a process cost, its children included."""

    cpu_s: float
    """User and system time."""
    wall_s: float
    peak_mb: float
    """Largest resident set of the process or of one of its children, in 10^6 bytes."""


class FailedError(Exception):
    """A measured process did not end well."""


def measure(command: list[str], *, core: int | str) -> tuple[Cost, str]:
    """Run ``command`` on ``core`` alone (or on a list of cores, ``"0,1"``) and return its cost and its standard output.

    Python may keep what it compiled, as it does for a user: where the environment forbids that, each run would compile
    every module again.

    Raises
    ------
    FailedError
        When the process ends with another status than 0; its last words are in the message.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        process = subprocess.Popen(
            ["taskset", "--cpu-list", str(core), *command], stdout=out, stderr=err, env=environment
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.monotonic() - start
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            words = err.read().decode(errors="replace").strip().splitlines()[-5:]
            msg = f"{command[0]} ended with status {process.returncode}: {' / '.join(words)}"
            raise FailedError(msg)
        cost = Cost(
            cpu_s=usage.ru_utime + usage.ru_stime,
            wall_s=wall_s,
            peak_mb=usage.ru_maxrss * 1024 / 1e6,
        )
        return cost, out.read().decode()


def origin() -> str:
    """Machine, commit and day of a measurement, for the line above its table."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    # Other processors than those of x86 have no such line.
    model = next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), os.uname().machine
    )
    commit = subprocess.run(
        ["git", "-C", Path(__file__).parent, "describe", "--always", "--exclude=*", "--dirty=, changed"],
        check=False,
        capture_output=True,
        text=True,
    ).stdout.strip()
    day = time.strftime("%-d %B %Y")
    system = f"Linux {os.uname().release}, Python {platform.python_version()}"
    machine = f"{model}, {len(os.sched_getaffinity(0))} processors, load {os.getloadavg()[0]:.1f} before"
    return f"{machine}; {system}; commit {commit or 'unknown'}; {day}"


def run_dumbbell(dumbbell: Path, scenario: Path, *, core: int, overrides: Iterable[str] = ()) -> tuple[Cost, float]:
    """Run a scenario as a user would and return the cost and the delivered packets.

    `overrides` are keys of the scenario that are changed, ``key=value``.

    Tables are written as by default; the packets are the payload that applications got, in
    segments of :data:`MSS_BYTES`.
    """
    with tempfile.TemporaryDirectory(dir=MEMORY) as out:
        changed = [word for override in overrides for word in ("--set", override)]
        command = [str(dumbbell), "run", str(scenario), "--out", f"{out}/result", "--json", *changed]
        cost, stdout = measure(command, core=core)
        return cost, _goodput_bytes(json.loads(stdout.splitlines()[0])) / MSS_BYTES


def _goodput_bytes(line: dict) -> float:
    """Sum over the flows of goodput x active time.

    Not from the Parquet table: reading it would make this process large, and a process that is started counts the
    memory of the one that started it in its own peak (getrusage(2): the high-water mark survives exec).
    """
    flows = json.loads((Path(line["dir"]) / "manifest.json").read_text(encoding="utf-8"))["plan"]["flows"]
    return sum(
        flow_result["goodput_mbps"] / 8e3 * (flow["stop_ns"] - flow["start_ns"])
        for flow_result, flow in zip(line["flows"], flows)
    )
