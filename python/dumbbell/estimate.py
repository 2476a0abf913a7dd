"""What a scenario would run, in words, and how long that takes: `dumbbell check`."""

from __future__ import annotations

from typing import Any

from . import plan, schedule, sweep, units
from .declare import varied
from .own import Own
from .scenario import Path, Scenario

#: Packets delivered per CPU second. Measured on a 2-core Xeon virtual machine: 2.0 million with 100 CUBIC flows at 1 Gbit/s, 2.6 million with
#: BBR and CUBIC at 100 Mbit/s, 5.9 million in the demo; `make bench` measures it on the machine at hand.
PACKETS_PER_CPU_S = 3_000_000

#: Runs listed in full.
RUNS_SHOWN = 20


def packets(planned: dict[str, Any]) -> int:
    """Upper estimate of the packets that a run delivers: the bottleneck full of full segments, or all that finite flows have to send."""
    full = int(schedule.bits(planned["bottleneck"], 0, planned["duration_ns"])) // (8 * units.FRAME_BYTES)
    sizes = [flow["size_bytes"] for flow in planned["flows"]]
    return full if None in sizes else int(min(full, sum(-(-size // units.MSS_BYTES) for size in sizes)))


def describe(scenario: Scenario, own: Own | None = None) -> str:
    """The scenario as paragraphs: grid, each path, its flows, and the time that it takes."""
    runs = plan.runs(scenario, own.known() if own else None)
    cases = plan.cases(scenario)
    grid = [f"{path}: {', '.join(map(str, values))}" for path, values in varied(scenario)]
    repeated = f" ({len(cases)} x {scenario.repetitions} repetitions)" if scenario.repetitions > 1 else ""
    lines = [f"{scenario.name}: {len(runs)} run{'s' * (len(runs) != 1)}{repeated}"]
    lines += [f"  varies {one}" for one in grid]
    for case, one in list(zip(cases, runs[:: scenario.repetitions]))[:RUNS_SHOWN]:
        lines += ["", *_case(case, one.plan)]
    if len(cases) > RUNS_SHOWN:
        lines += ["", f"  ... and {len(cases) - RUNS_SHOWN} more"]
    total = sum(packets(one.plan) for one in runs)
    workers = min(sweep.default_workers(), len(runs))
    lines += ["", f"  about {total:,} packets, {_wall(total / PACKETS_PER_CPU_S / workers)} on {workers} core{'s' * (workers != 1)}"]
    return "\n".join(lines)


def _case(case: plan.Case, planned: dict[str, Any]) -> list[str]:
    path, link = case.scenario.path, planned["bottleneck"]
    assert isinstance(path, Path)
    head = ", ".join(f"{key} = {value}" for key, value in case.vary.items())
    bdp = plan.bdp_bytes(path)
    bdp_text = "" if bdp is None else f", RTT {path.rtt}, BDP {units.bytes_text(bdp)} ({bdp / units.FRAME_BYTES:.1f} packets)"
    return [
        *([f"  {head}"] if head else []),
        f"  path   {units.rate_text(link['rate_bps'])}{_course(link)}{bdp_text}, {link['qdisc']['kind']}, {units.span_text(planned['duration_ns'])}",
        f"  buffer {_buffer(path, planned, bdp)}",
        *_flows(planned),
    ]


def _course(link: dict[str, Any]) -> str:
    """What follows the first rate."""
    later = [f"{units.rate_text(rate)} from {units.span_text(at)}" for at, rate in link["steps"][1:]]
    again = [f"again every {units.span_text(link['repeat_ns'])}"] if link["repeat_ns"] else []
    return f" ({', '.join(later + again)})" if later else ""


def _buffer(path: Path, planned: dict[str, Any], bdp: int | None) -> str:
    qdisc, rate = planned["bottleneck"]["qdisc"], planned["bottleneck"]["rate_bps"]
    counted = qdisc["limit_packets"]
    size = counted * units.FRAME_BYTES if counted is not None else qdisc["limit_bytes"]
    times = "" if not bdp else f" = {size / bdp:.3g} BDP"
    return f"{path.buffer} = {size:,} bytes = {size // units.FRAME_BYTES} packets = {size * 8000 / rate:.4g} ms{times}"


def _flows(planned: dict[str, Any]) -> list[str]:
    """Flows that differ only in their start, on one line."""
    grouped: dict[str, list[int]] = {}
    for flow in planned["flows"]:
        parts = [flow["cca"], f"RTT {units.span_text(flow['rtt_ns'])}"]
        parts += [f"loss {flow['loss_ppb'] / 1e7:g} %"] if flow["loss_ppb"] else []
        parts += [_jitter(flow["jitter"])] if flow["jitter"] else []
        parts += [units.bytes_text(flow["size_bytes"])] if flow["size_bytes"] else []
        parts += [f"at most {units.rate_text(flow['max_rate_bps'])}"] if flow["max_rate_bps"] else []
        parts += [f"{name} = {value}" for name, value in flow["params"].items()]
        parts += [f"stops at {units.span_text(flow['stop_ns'])}"] if flow["stop_ns"] < planned["duration_ns"] else []
        grouped.setdefault(", ".join(parts), []).append(flow["start_ns"])
    return [f"  {len(starts):2d} x   {text}, starts at {_starts(starts)}" for text, starts in grouped.items()]


def _jitter(jitter: dict[str, Any]) -> str:
    return f"jitter +- {units.span_text(jitter['spread_ns'])}{'' if jitter['reorder'] else ' in order'}"


def _starts(starts: list[int]) -> str:
    first, last = units.span_text(min(starts)), units.span_text(max(starts))
    return first if first == last else f"{first} to {last}"


def _wall(seconds: float) -> str:
    if seconds < 1:
        return "less than a second"
    return f"about {seconds:.0f} s" if seconds < 120 else f"about {seconds / 60:.0f} min"
