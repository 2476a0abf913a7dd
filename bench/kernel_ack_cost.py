#!/usr/bin/env python3
"""What an ACK costs in the running kernel: our controllers through BPF against the kernel's own BBR. Needs root,
iperf3, iproute2 and bpftool.

BPF's run statistics (``kernel.bpf_stats_enabled``) time every call of every hook. The kernel's BBR is timed by the same
clock: hooks that do nothing but call it (``kernel/linux_bbr.c``). An "ACK" is a call of cong_control or, for
controllers without, of cong_avoid; the time of all hooks that ran meanwhile is counted, those of sending included. The
path has a round-trip time, without which every ACK would begin a round: a relay in user space.

"ratio" is of these times as they are; "net" is without what hooks cost that do nothing (``kernel/nothing.c``), which is
the clock's own share. Noise only adds, so the minimum of several runs is taken. Not in any of these figures: the
trampoline through which the kernel enters a BPF hook, some ten nanoseconds that its own controllers do not pay.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from dumbbell import kernel  # noqa: E402
from kernel_path import RIGHT, Relay, iperf_client, sh  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

STATISTICS = Path("/proc/sys/kernel/bpf_stats_enabled")
REFERENCE, NOTHING = "linux_bbr", "nothing"
OWN_FILES = {REFERENCE: HERE / "kernel/linux_bbr.c", NOTHING: HERE / "kernel/nothing.c"}

#: The most that an ACK of one of ours may cost, in that of the kernel's BBR.
RATIO_MAX = 2.5


@contextmanager
def statistics_on() -> Iterator[None]:
    """Run statistics on, and afterwards as they were."""
    before = STATISTICS.read_text()
    STATISTICS.write_text("1")
    try:
        yield
    finally:
        STATISTICS.write_text(before)


def programs() -> dict[int, tuple[str, int, int]]:
    """Name, calls and nanoseconds of each hook that the kernel has, by number."""
    listed = json.loads(sh("bpftool", "prog", "list", "--json"))
    return {
        one["id"]: (one["name"], one.get("run_cnt", 0), one.get("run_time_ns", 0))
        for one in listed
        if one["type"] == "struct_ops"
    }


def flow(kernel_name: str, seconds: float) -> float:
    """One bulk flow; its goodput in Mbit/s."""
    server = subprocess.Popen(
        ["ip", "netns", "exec", RIGHT, "iperf3", "--server", "--one-off"], stdout=subprocess.DEVNULL
    )
    try:
        while ":5201" not in sh("ip", "netns", "exec", RIGHT, "ss", "-ltn"):
            pass
        report = json.loads(sh(*iperf_client(kernel_name, seconds)))
        server.wait(timeout=20)
    finally:
        server.kill()
    goodput: float = report["end"]["sum_received"]["bits_per_second"] / 1e6
    return goodput


def measure(name: str, *, mbps: int, seconds: float) -> dict[str, float]:
    """ACKs, and calls and nanoseconds of all hooks and of the one for ACKs."""
    before = programs()
    with (
        Relay(mbps=mbps, one_way_s=0.01, buffer_bytes=int(mbps * 5000)),
        kernel.load(str(OWN_FILES.get(name, name))) as controller,
    ):
        goodput = flow(controller.kernel_name, seconds)
        ran = [program for number, program in programs().items() if number not in before]
    acks, main_ns = max(
        ((calls, ns) for hook, calls, ns in ran if hook.endswith(("_main", "_cong_avoid"))), default=(0, 0)
    )
    if not acks:
        sys.exit(f"{name}: no ACK was counted")
    calls, ns = sum(calls for _, calls, _ in ran), sum(ns for _, _, ns in ran)
    return {"acks": acks, "calls": calls, "ns": ns, "main_ns": main_ns, "goodput_mbps": goodput}


def main() -> int:
    """Measure all in turn, some times; fail when one is above :data:`RATIO_MAX`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="controllers (default: all)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--mbps", type=int, default=60, help="rate of the bottleneck")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    names = [NOTHING, REFERENCE, *(args.names or kernel.built_in())]
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    with statistics_on():
        for _ in range(args.repeats):
            for name in names:
                runs[name].append(measure(name, mbps=args.mbps, seconds=args.seconds))
    per_call = min(run["ns"] / run["calls"] for run in runs[NOTHING])
    rows = {name: row(runs[name], per_call) for name in names if name != NOTHING}
    reference = rows[REFERENCE]
    print(
        f"Linux {os.uname().release}, {args.mbps} Mbit/s and 20 ms, minimum of {args.repeats} runs; a call that does"
        f" nothing: {per_call:.0f} ns\n"
    )
    print(
        f"{'controller':14} {'ACKs':>7} {'calls/ACK':>9} {'ns/ACK':>7} {'ratio':>6} {'net ns':>7} {'net':>5}"
        f" {'Mbit/s':>7}"
    )
    for name, one in rows.items():
        one["ratio"], one["net_ratio"] = (
            one["ns_per_ack"] / reference["ns_per_ack"],
            one["net_ns"] / reference["net_ns"],
        )
        cost = f"{one['ns_per_ack']:7.0f} {one['ratio']:6.2f} {one['net_ns']:7.0f} {one['net_ratio']:5.2f}"
        above = f"  above {RATIO_MAX}" if one["ratio"] > RATIO_MAX else ""
        print(f"{name:14} {one['acks']:7.0f} {one['calls_per_ack']:9.2f} {cost} {one['goodput_mbps']:7.1f}{above}")
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        result = {
            "kernel": os.uname().release,
            "empty_call_ns": per_call,
            "mbps": args.mbps,
            "runs": runs,
            "rows": rows,
        }
        args.json.write_text(json.dumps(result, indent=2) + "\n")
    return int(any(one["ratio"] > RATIO_MAX for one in rows.values()))


def row(runs: list[dict[str, float]], per_call: float) -> dict[str, float]:
    """The cheapest of the runs."""
    best = min(runs, key=lambda run: run["ns"] / run["acks"])
    return {
        "acks": best["acks"],
        "calls_per_ack": best["calls"] / best["acks"],
        "ns_per_ack": best["ns"] / best["acks"],
        "net_ns": (best["ns"] - best["calls"] * per_call) / best["acks"],
        "goodput_mbps": best["goodput_mbps"],
    }


if __name__ == "__main__":
    sys.exit(main())
