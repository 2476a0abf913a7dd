#!/usr/bin/env python3
"""What the real-time path does to delays and how much it forwards, next to Mahimahi in the same session. Needs root,
iperf3 and iproute2.

Delay error: UDP packets of 1500 bytes (``delay_probe.py``) over 100 Mbit/s and 10 ms one way, at a low load, and at 120
% of the link so that a drop-tail queue of 1 BDP (167 packets) is full and the delay is known too. Limit: two flows of
``dumbbell run --on linux`` at rising rates. Peer: one flow of iperf3 through both emulators. What the machine itself
does (stalls of a loop that does nothing; the probe over the loopback) comes first: no emulator is better than that.
Medians of the repeats.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import mahimahi

HERE = Path(__file__).resolve().parent
#: Mahimahi's commands are not root: an interpreter that anybody may run.
PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable
PROBE = f"{PYTHON} {HERE / 'delay_probe.py'}"
DELAY_MS, MBPS, PACKETS = 10, 100, 167
SECONDS, WARM_S = 8, 1.5
LOW_PPS = 200
FULL_PPS = MBPS * 1.2e6 / 8 / 1500
#: Share of events late by more than 1 ms, and minimum utilisation, up to which a rate is kept.
LATE_SHARE_MAX, UTILIZATION_MIN = 1e-3, 0.95
#: Delay error p99 at low load, ms.
ERROR_MS_MAX = 1.0

SCENARIO = """\
duration = "10s"
[path]
rate = "{mbps}Mbps"
rtt = "20ms"
buffer = "1bdp"
[[flow]]
cca = "cubic"
[[flow]]
cca = "{second}"
"""


def stalls() -> dict[str, float]:
    """How long a loop that does nothing is kept from running."""
    return dict(json.loads(subprocess.run([*PROBE.split(), "stalls"], check=True, stdout=subprocess.PIPE).stdout))


def quantile(ordered: list[float], share: float) -> float:
    """The value that this share of the sorted values does not exceed."""
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def errors(file: Path, nominal_ms: float) -> dict[str, float]:
    """Delays against the nominal one, ms: the median with its sign, the others without."""
    rows = [tuple(map(int, line.split())) for line in file.read_text().splitlines()]
    begin = rows[0][0] + WARM_S * 1e9
    off = [delay / 1e6 - nominal_ms for sent, delay in rows if sent >= begin]
    sizes = sorted(map(abs, off))
    return {
        "p50_ms": quantile(sorted(off), 0.5),
        "p99_ms": quantile(sizes, 0.99),
        "max_ms": sizes[-1],
        "packets": len(off),
    }


class Loopback:
    """No emulator: what the probe measures of itself."""

    name = "the probe alone (loopback)"
    wire_bytes, lone_packets, far = 0, 0, "127.0.0.1"

    def run(self, folder: Path, *, mbps: float, packets: int, near: str, far: str) -> str:
        """Both commands here; the path's parameters do not matter."""
        del folder, mbps, packets
        with subprocess.Popen(["sh", "-c", far], stdout=subprocess.DEVNULL):
            time.sleep(0.5)
            return subprocess.run(["sh", "-c", near], check=True, stdout=subprocess.PIPE, text=True).stdout


class Ours:
    """``dumbbell shell``."""

    name, wire_bytes, far = "dumbbell shell", 1514, "10.2.0.1"
    #: A token bucket lets a lone packet pass at once, as tbf does.
    lone_packets = 0

    def __init__(self, dumbbell: Path) -> None:
        self.dumbbell = dumbbell

    def run(self, folder: Path, *, mbps: float, packets: int, near: str, far: str) -> str:
        """`near` behind the path, `far` at its other end."""
        path = [
            "--rate",
            f"{mbps:g}mbit",
            "--delay",
            f"{DELAY_MS}ms",
            "--buffer",
            f"{packets}pkt",
            "--json",
            folder / "path.json",
        ]
        done = subprocess.run(
            [self.dumbbell, "shell", *path, "--far", far, "--", "sh", "-c", near],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return done.stdout


class Mahimahi:
    """mm-delay and mm-link."""

    name, wire_bytes, far = "mm-delay, mm-link", mahimahi.OPPORTUNITY_BYTES, mahimahi.FAR
    #: A lone packet waits for the next opportunity, on average half a packet time; the whole is granted.
    lone_packets = 1

    def run(self, folder: Path, *, mbps: float, packets: int, near: str, far: str) -> str:
        """`near` inside the shells, `far` outside."""
        return mahimahi.run(folder, mbps=mbps, delay_ms=DELAY_MS, packets=packets, near=near, far=far)


Emulator = Loopback | Ours | Mahimahi


def delay_error(emulator: Emulator, *, pps: float, is_full: bool) -> dict[str, float]:
    """One run of the probe."""
    packet_ms = emulator.wire_bytes * 8 / (MBPS * 1e3)
    nominal_ms = (
        0.0
        if isinstance(emulator, Loopback)
        else DELAY_MS + packet_ms * (PACKETS if is_full else emulator.lone_packets)
    )
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        near = f"sleep 1; {PROBE} send {emulator.far} {pps} {SECONDS}; sleep 4"
        emulator.run(folder, mbps=MBPS, packets=PACKETS, near=near, far=f"{PROBE} receive {folder / 'delays'}")
        return errors(folder / "delays", nominal_ms)


def bulk(emulator: Emulator, mbps: int) -> dict[str, float]:
    """One flow of iperf3, with the system's controller and a buffer of 1 BDP; what arrived, as a share of what the link
    carries.
    """
    packets = round(mbps * 1e6 * 2 * DELAY_MS / 1e3 / 8 / 1500)
    with tempfile.TemporaryDirectory() as made:
        near = f"sleep 1; iperf3 --client {emulator.far} --time {SECONDS} --omit 2 --json"
        report = json.loads(
            emulator.run(Path(made), mbps=mbps, packets=packets, near=near, far="iperf3 --server --one-off")
        )
    goodput = report["end"]["sum_received"]["bits_per_second"] / 1e6
    carried = mbps * 1448 / (emulator.wire_bytes or 1500)
    return {
        "goodput_mbps": goodput,
        "share": goodput / carried,
        "retransmits": report["end"]["sum_sent"]["retransmits"],
    }


def forward(dumbbell: Path, mbps: int) -> dict[str, float]:
    """Two flows at that rate, as the manifest tells."""
    controllers = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    with tempfile.TemporaryDirectory() as made:
        file, out = Path(made, "x.toml"), Path(made, "out")
        file.write_text(SCENARIO.format(mbps=mbps, second="bbr" if "bbr" in controllers else "cubic"))
        subprocess.run(
            [dumbbell, "run", file, "--on", "linux", "--out", out],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        manifest = json.loads(next(out.glob("*/manifest.json")).read_text())
    emulator, summary = manifest["emulator"], manifest["summary"]
    frames = 2 * summary["packets_delivered"]  # an acknowledgement for a segment: busy receivers acknowledge each
    busy_s = emulator["cpu_s"] - emulator["spin_s"]
    kept = {
        key: emulator[key]
        for key in ("lateness_p50_ms", "lateness_p99_ms", "lateness_max_ms", "cpu_share", "own_drops")
    }
    late = emulator["missed"] / emulator["events"]
    return {
        **kept,
        "late_share": late,
        "utilization": summary["link"]["utilization"],
        "busy_s": busy_s,
        "us_per_segment": 2e6 * busy_s / frames,
    }


def medians(runs: list[dict[str, float]]) -> dict[str, float]:
    """Of each figure on its own."""
    return {key: median(run[key] for run in runs) for key in runs[0]}


def print_delays(result: dict[str, dict[str, float]]) -> None:
    """Error of one-way delays."""
    print(f"\none-way delay against nominal, ms: {MBPS} Mbit/s, {DELAY_MS} ms, UDP packets of 1500 bytes")
    print(f"{'':42} {'median':>8} {'p99':>8} {'most':>8} {'packets':>8}")
    for name, one in result.items():
        print(f"{name:42} {one['p50_ms']:+8.3f} {one['p99_ms']:8.3f} {one['max_ms']:8.3f} {one['packets']:8.0f}")


def print_forward(result: dict[int, dict[str, float]]) -> int:
    """Table of rates; the highest that is kept."""
    print(
        f"\n{'Mbit/s':>6} {'p50 ms':>8} {'p99 ms':>8} {'most ms':>8} {'>1 ms, %':>8} {'used':>6} {'CPU':>5} {'busy':>5}"
        f" {'us/segment':>10}"
    )
    limit = 0
    for mbps, one in result.items():
        late = (
            f"{one['lateness_p50_ms']:8.3f} {one['lateness_p99_ms']:8.3f} {one['lateness_max_ms']:8.2f}"
            f" {100 * one['late_share']:8.3f}"
        )
        print(
            f"{mbps:6} {late} {one['utilization']:6.3f} {one['cpu_share']:5.2f} {one['busy_s'] / 10:5.2f}"
            f" {one['us_per_segment']:10.2f}"
        )
        if one["late_share"] <= LATE_SHARE_MAX and one["utilization"] >= UTILIZATION_MIN:
            limit = mbps
    print(
        f"limit: {limit} Mbit/s (at most {100 * LATE_SHARE_MAX:g} % of events late by more than 1 ms, the link used to"
        f" {100 * UTILIZATION_MIN:g} %)"
    )
    return limit


def print_bulk(result: dict[str, dict[int, dict[str, float]]]) -> None:
    """Goodput of one flow."""
    print("\none flow of iperf3, 20 ms, 1 BDP: goodput as a share of what the link carries (retransmissions)")
    for name, rows in result.items():
        print(
            f"{name:24}"
            + "".join(f"  {mbps}: {one['share']:.2f} ({one['retransmits']:.0f})" for mbps, one in rows.items())
        )


def main() -> int:
    """Measure everything; fail when the p99 delay error at low load is above :data:`ERROR_MS_MAX`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dumbbell", type=Path, default=Path(".venv/bin/dumbbell"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rates", type=int, nargs="+", default=[100, 400, 800, 1000, 1500, 2000, 3000])
    parser.add_argument("--bulk", type=int, nargs="+", default=[100, 400, 700, 1000])
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    dumbbell, repeats = args.dumbbell.resolve(), range(args.repeats)
    machine = medians([stalls() for _ in repeats])
    print(
        f"Linux {os.uname().release}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; medians of"
        f" {args.repeats}"
    )
    print(
        f"a loop that does nothing: stalled for {machine['max_ms']:.2f} ms at most, {machine['over_200us']:.0f} times"
        " in 5 s for more than 0.2 ms"
    )
    emulators: list[Emulator] = [Ours(dumbbell)]
    if missing := mahimahi.why_not():
        print(missing)
    else:
        emulators.append(Mahimahi())
    delays = {Loopback.name: medians([delay_error(Loopback(), pps=LOW_PPS, is_full=False) for _ in repeats])}
    for is_full, what, pps in (
        (False, f"{LOW_PPS} packets a second", LOW_PPS),
        (True, "queue of 1 BDP full", FULL_PPS),
    ):
        for one in emulators:
            delays[f"{one.name}, {what}"] = medians([delay_error(one, pps=pps, is_full=is_full) for _ in repeats])
    print_delays(delays)
    forwarded = {mbps: medians([forward(dumbbell, mbps) for _ in repeats]) for mbps in args.rates}
    limit = print_forward(forwarded)
    flows = {one.name: {mbps: medians([bulk(one, mbps) for _ in repeats]) for mbps in args.bulk} for one in emulators}
    print_bulk(flows)
    print(f"load {os.getloadavg()[0]:.1f}")
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        result = {
            "kernel": os.uname().release,
            "machine": machine,
            "delays": delays,
            "forward": forwarded,
            "limit_mbps": limit,
            "bulk": flows,
        }
        args.json.write_text(json.dumps(result, indent=2) + "\n")
    return int(delays[f"{Ours.name}, {LOW_PPS} packets a second"]["p99_ms"] > ERROR_MS_MAX)


if __name__ == "__main__":
    sys.exit(main())
