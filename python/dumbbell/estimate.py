"""What a scenario would run, in words, and how long that takes: `dumbbell check`."""

from __future__ import annotations

from typing import Any

from . import plan, sweep, units
from .declare import varied
from .own import Own
from .plan_view import link_of
from .scenario import Path, Scenario

#: Packets delivered per CPU second. Measured on a 2-core Xeon virtual machine: 2.0 million with 100 CUBIC flows at 1 Gbit/s, 2.6 million with
#: BBR and CUBIC at 100 Mbit/s, 5.9 million in the demo; `make bench` measures it on the machine at hand.
PACKETS_PER_CPU_S = 3_000_000

#: Runs listed in full.
RUNS_SHOWN = 20

#: Steps of a rate or RTT that are listed.
STEPS_SHOWN = 4


def packets(planned: dict[str, Any]) -> int:
    """Upper estimate of the packets that a run delivers: the links full of full segments, or all that finite flows have to send."""
    links = [planned["bottleneck"], *planned["links"]]
    full = sum(int(link_of(link).bits(0, planned["duration_ns"])) for link in links) // (8 * units.FRAME_BYTES)
    sizes = [flow["size_bytes"] for flow in planned["flows"]]
    return full if None in sizes else int(min(full, sum(-(-size // units.MSS_BYTES) for size in sizes)))


def describe(scenario: Scenario, own: Own | None = None) -> str:
    """The scenario as paragraphs: grid, each path, its flows, and the time that it takes."""
    runs = plan.runs(scenario, own.known() if own else None)
    cases = plan.cases(scenario)
    grid = [f"{path}: {', '.join(units.value_text(value) for value, _ in values)}" for path, values in varied(scenario)]
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
    head = ", ".join(f"{key} = {units.value_text(value)}" for key, value in case.vary.items())
    bdp = plan.bdp_bytes(path, link["rate_bps"])
    rtt = path.rtt if isinstance(path.rtt, str) else "in steps"
    bdp_text = "" if bdp is None else f", RTT {rtt}, BDP {units.bytes_text(bdp)} ({bdp / units.FRAME_BYTES:.1f} packets)"
    return [
        *([f"  {head}"] if head else []),
        f"  path   {_rate(link)}{bdp_text}, {link['qdisc']['kind']}, {units.span_text(planned['duration_ns'])}",
        f"  buffer {_buffer(link, str(path.buffer), bdp)}",
        *[f"  link   {one['name']}: {_link(one)}" for one in planned["links"]],
        *[f"  acks   {_link(one)}" for one in planned["ack_links"]],
        *_flows(planned),
    ]


def _link(link: dict[str, Any]) -> str:
    policer = link["policer"]
    policed = "" if policer is None else f", policed to {units.rate_text(policer['rate_bps'])}"
    return f"{_rate(link)}, {link['qdisc']['kind']}, buffer {_buffer(link, None, None)}{policed}"


def _rate(link: dict[str, Any]) -> str:
    """The rate and what follows its first step."""
    if link["trace"]:
        return f"{units.rate_text(link['rate_bps'])} in the mean ({link['trace']['path']})"
    later = [f"{units.rate_text(rate) if rate else 'nothing'} from {units.span_text(at)}" for at, rate in link["steps"][1:]]
    more = [f"{len(later) - STEPS_SHOWN} more"] if len(later) > STEPS_SHOWN else []
    again = [f"again every {units.span_text(link['repeat_ns'])}"] if link["repeat_ns"] else []
    return units.rate_text(link["rate_bps"]) + (f" ({', '.join(later[:STEPS_SHOWN] + more + again)})" if later else "")


def _buffer(link: dict[str, Any], written: str | None, bdp: int | None) -> str:
    """The queue's limit in every measure."""
    qdisc, rate = link["qdisc"], link["rate_bps"]
    limit = link_of(link).qdisc.limit
    if limit is None:
        memory = qdisc.get("memory_limit_bytes")
        return "as much memory as the rate needs" if memory is None else f"{memory:,} bytes of memory"
    size = limit.wire_bytes
    said = written if written is not None and qdisc["kind"] == "fifo" else None
    head = f"{said} = " if said else ""
    times = "" if not bdp else f" = {size / bdp:.3g} BDP"
    return f"{head}{size:,} bytes = {size // units.FRAME_BYTES} packets = {size * 8000 / rate:.4g} ms{times}"


def _flows(planned: dict[str, Any]) -> list[str]:
    """Flows that differ only in their start and size, on one line."""
    grouped: dict[str, list[dict[str, Any]]] = {}
    for flow in planned["flows"]:
        grouped.setdefault(", ".join(_flow(flow, planned)), []).append(flow)
    return [f"  {len(flows):2d} x   {text}{_sizes(flows)}, starts at {_starts([f['start_ns'] for f in flows])}" for text, flows in grouped.items()]


def _flow(flow: dict[str, Any], planned: dict[str, Any]) -> list[str]:
    kind = flow["transport"]["kind"]
    parts = [flow["cca"] + ("" if kind == "tcp" else f" over {kind.upper()}"), f"RTT {units.span_text(flow['rtt_ns'])}"]
    parts += [f"loss {flow['loss_ppb'] / 1e7:g} %"] if flow["loss_ppb"] else []
    parts += [_jitter(flow["jitter"])] if flow["jitter"] else []
    parts += [_route("by", flow["forward"], planned)] if flow["forward"] else []
    parts += [_route("back by", flow["back"], planned)] if flow["back"] else []
    parts += ["finite"] if flow["size_bytes"] is not None else []
    parts += [flow["workload"]["kind"].replace("_", "-")] if flow["workload"] else []
    parts += [f"at most {units.rate_text(flow['max_rate_bps'])}"] if flow["max_rate_bps"] else []
    parts += [f"{name} = {value}" for name, value in flow["params"].items()]
    return parts + ([f"stops at {units.span_text(flow['stop_ns'])}"] if flow["stop_ns"] < planned["duration_ns"] else [])


def _route(head: str, stages: list[dict[str, Any]], planned: dict[str, Any]) -> str:
    """The parts of a way by name."""
    links = [planned["bottleneck"], *planned["links"]] if head == "by" else planned["ack_links"]
    return f"{head} " + " > ".join(links[stage["link"]]["name"] if stage["kind"] == "link" else _stage(stage) for stage in stages)


def _stage(stage: dict[str, Any]) -> str:
    if stage["kind"] != "delay":
        return str(stage.get("model", stage["kind"]) if stage["kind"] != "loss" else f"{stage['model'].replace('_', ' ')} loss")
    extras = ["in steps"] if stage["steps"] else []
    extras += [name for name in ("jitter", "reorder") if stage[name]]
    return f"{units.span_text(stage['ns'])}{' with ' + ' and '.join(extras) if extras else ''}"


def _sizes(flows: list[dict[str, Any]]) -> str:
    sizes = [flow["size_bytes"] for flow in flows]
    if None in sizes:
        return ""
    least, most = units.bytes_text(min(sizes)), units.bytes_text(max(sizes))
    return f", {least}" if least == most else f", {least} to {most}"


def _jitter(jitter: dict[str, Any]) -> str:
    width = jitter["spread_ns"] if jitter["kind"] == "uniform" else jitter["stddev_ns"]
    return f"jitter {'+- ' if jitter['kind'] == 'uniform' else 'sigma '}{units.span_text(width)}{'' if jitter['reorder'] else ' in order'}"


def _starts(starts: list[int]) -> str:
    first, last = units.span_text(min(starts)), units.span_text(max(starts))
    return first if first == last else f"{first} to {last}"


def _wall(seconds: float) -> str:
    if seconds < 1:
        return "less than a second"
    return f"about {seconds:.0f} s" if seconds < 120 else f"about {seconds / 60:.0f} min"
