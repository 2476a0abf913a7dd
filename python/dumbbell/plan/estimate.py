"""Description of what a scenario would run, and the number of its packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dumbbell import units
from dumbbell.scenario import axes
from dumbbell.scenario.declare import raw_at
from dumbbell.scenario.file import Scenario
from dumbbell.scenario.schedule import Schedule

from . import make
from .view import link_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .planned import Case, Planned
    from .types import FlowPlan, LinkPlan, Plan, ProbePlan, Settings, Stage

#: Combinations that are read for what all of them share.
RUNS_READ = 20

#: Most lines of what combinations have of their own, kinds of flows of one combination, values of an axis.
LINES_SHOWN = 12

#: An acknowledgement on the wire without SACK blocks: 14 Ethernet, 20 IPv4, 32 TCP with timestamps.
ACK_BYTES = 66

#: Steps of a rate or RTT that are listed.
STEPS_SHOWN = 4

#: Steps of a rate beyond which its range is told instead of the first of them.
COURSE_SHOWN = 20


def packets(planned: Plan) -> int:
    """Upper estimate of the packets that a run delivers: the links full of full segments and their buckets empty at the
    end, or all that finite flows have to send.
    """
    links = map(link_of, planned["links"])
    full = sum(int(link.bits(0, planned["duration_ns"])) + link.bucket_bits for link in links)
    full //= 8 * units.FRAME_BYTES
    sizes = _sizes(planned["flows"])
    return full if sizes is None else min(full, sum(-(-size // units.MSS_BYTES) for size in sizes))


def paragraphs(scenario: Scenario, runs: Sequence[Planned]) -> list[str]:
    """The scenario as lines: its grid, each path and its flows."""
    first = [run for run in runs if run.repetition == 0]
    cases = [case for case, _ in zip(make.cases(scenario), range(RUNS_READ))]
    grid = [f"{', '.join(axis.keys)}: {', '.join(_first(list(map(_point, axis.points))))}" for axis in scenario.axes]
    repeated = (
        f" ({len(first)} x {scenario.repetitions} repetitions)"
        if len(runs) == len(first) * scenario.repetitions > len(first)
        else ""
    )
    lines = [f"{scenario.name}: {len(runs)} run{'s' * (len(runs) != 1)}{repeated}"]
    lines += [f"  varies {item}" for item in grid]
    drawn = len(runs) > len(first) and any(
        later.plan["flows"] != first[0].plan["flows"] for later in runs if later.vary == first[0].vary
    )
    return lines + _paragraphs([_case(case, item.plan, drawn=drawn) for case, item in zip(cases, first)], len(first))


def _first(items: list[str]) -> list[str]:
    """The first of them, and how many more there are."""
    return items if len(items) <= LINES_SHOWN else [*items[:LINES_SHOWN], f"... and {len(items) - LINES_SHOWN} more"]


def _point(point: axes.Point) -> str:
    """The values of an axis that go together."""
    return " with ".join(map(units.value_text, point.vary.values()))


def _paragraphs(cases: list[list[str]], number: int) -> list[str]:
    """Lines that all combinations share, once, then the own ones of the first of `number`: the first two, and more
    while there is room.
    """
    if len(cases) == 1:
        return ["", *cases[0]]
    common = [line for line in cases[0] if all(line in case for case in cases)]
    lines = ["", *common] if common else []
    used = 0
    for shown, case in enumerate(cases):
        own = [line for line in case if line not in common]
        used += len(own)
        if shown > 1 and used > LINES_SHOWN and number > shown + 1:
            return [*lines, "", f"  ... and {number - shown} more"]
        lines += ["", *own] if len(own) > 1 or not lines else own
    return [*lines, "", f"  ... and {number - len(cases)} more"] if number > len(cases) else lines


def _case(case: Case, planned: Plan, *, drawn: bool) -> list[str]:
    path, link, duration = case.scenario.path, planned["links"][0], planned["duration_ns"]
    goes_up = any(_is_up(flow) for flow in planned["flows"])
    head = units.varied_text(case.vary)
    bdp = make.bdp_bytes(path, link["rate_bps"])
    rtt = _rtt(path.rtt) if isinstance(path.rtt, Schedule) else raw_at(path, "rtt")
    bdp_text = (
        "" if bdp is None else f", RTT {rtt}, BDP {units.bytes_text(bdp)} ({bdp / units.FRAME_BYTES:.1f} packets)"
    )
    return [
        *([f"  {head}"] if head else []),
        f"  path   {_rate(link, duration)}{bdp_text}, {link['qdisc']['kind']}, {units.span_text(duration)}",
        f"  buffer {_buffer(link, str(raw_at(path, 'buffer')), bdp)}",
        *[f"  link   {further['name']}: {_link(further, duration)}" for further in planned["links"][1:]],
        *[
            f"  {'up  ' if goes_up else 'acks'}   {_link(further, duration, acks=not goes_up)}"
            for further in planned["ack_links"]
        ],
        *_flows(planned, drawn=drawn),
    ]


def _rtt(course: Schedule) -> str:
    """An RTT in steps; of a recording the mean, which its BDP is made of, and the range within the run."""
    if course.mean is None:
        return "in steps"
    values = [value for _, value in course.steps]
    return (
        f"{units.span_text(course.mean)} in the mean of its recording ({units.span_text(min(values))} to"
        f" {units.span_text(max(values))}, {len(values)} steps)"
    )


def _link(link: LinkPlan, duration_ns: int, *, acks: bool = False) -> str:
    policer = link["policer"]
    policed = "" if policer is None else f", policed to {units.rate_text(policer['rate_bps'])}"
    return (
        f"{_rate(link, duration_ns)}, {link['qdisc']['kind']}, buffer {_buffer(link, None, None, acks=acks)}{policed}"
    )


def _rate(link: LinkPlan, duration_ns: int) -> str:
    """The rate and what follows its first step; of a trace the mean of the part that is used."""
    if link["trace"]:
        used = units.rate_text(round(link_of(link).bits(0, duration_ns) * 1e9 / duration_ns))
        whole = units.rate_text(link["rate_bps"])
        of_all = "" if used == whole else f"; {whole} in all of it"
        return f"{used} in the mean of the run ({link['trace']['path']}{of_all})"
    later = [
        f"{units.rate_text(rate)} {f'from {units.span_text(at)}' if at <= duration_ns else 'later'}"
        for at, rate in link["steps"][1:]
    ]
    if len(later) > COURSE_SHOWN:
        rates = [rate for _, rate in link["steps"]]
        low = units.rate_text(min(rates))
        return f"{units.rate_text(link['rate_bps'])} ({low} to {units.rate_text(max(rates))}, {len(rates)} steps)"
    more = [f"{len(later) - STEPS_SHOWN} more"] if len(later) > STEPS_SHOWN else []
    again = [f"again every {units.span_text(link['repeat_ns'])}"] if link["repeat_ns"] else []
    begins = link["steps"][0][1] if link["steps"] else link["rate_bps"]
    first = units.rate_text(begins)
    return first + (f" ({', '.join(later[:STEPS_SHOWN] + more + again)})" if later else "")


def _buffer(link: LinkPlan, written: str | None, bdp: int | None, *, acks: bool = False) -> str:
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
    return f"{head}{size:,} bytes = {_packets(qdisc, size, acks=acks)} = {size * 8000 / rate:.4g} ms{times}"


def _packets(qdisc: Settings, size: int, *, acks: bool) -> str:
    """Number of packets that a limit holds: full ones, or acknowledgements where it counts bytes of these."""
    if acks and qdisc.get("limit_bytes") is not None:
        return f"{size // ACK_BYTES} ACKs"
    return f"{size // units.FRAME_BYTES} packets"


def _flows(planned: Plan, *, drawn: bool) -> list[str]:
    """Flows that differ only in their start and size, on one line; `drawn`: each repetition has others."""
    which = " in repetition 0; each repetition draws its own" if drawn else ""
    grouped: dict[str, list[FlowPlan]] = {}
    for flow in planned["flows"]:
        grouped.setdefault(", ".join(_flow(flow, planned)), []).append(flow)
    lines = [
        f"  {len(flows):2d} x   {text}{_sizes_text(flows)}, starts at {_starts([f['start_ns'] for f in flows])}{which}"
        for text, flows in grouped.items()
    ]
    probes = [f"   1 x   {_probe(probe)}" for probe in planned.get("probes", [])]
    rest = list(grouped.values())[LINES_SHOWN:]
    more = [f"  ... and {len(rest)} more kinds of flow, {sum(map(len, rest))} flows"] if rest else []
    return lines[:LINES_SHOWN] + more + probes


def _probe(probe: ProbePlan) -> str:
    rtt, every = units.span_text(probe["rtt_ns"]), units.span_text(probe["every_ns"])
    return f"probes, RTT {rtt}, {probe['direction']}, every {every}"


def _carried(cca: str, kind: str) -> str:
    """A controller and what carries it; the transport alone without one."""
    if not cca:
        return kind.upper()
    return cca + ("" if kind == "tcp" else f" over {kind if kind == 'quinn' else kind.upper()}")


def _flow(flow: FlowPlan, planned: Plan) -> list[str]:
    kind = flow["transport"]["kind"]
    parts = [
        _carried(flow["cca"], kind),
        f"RTT {units.span_text(flow['rtt_ns'])}",
    ]
    if _is_up(flow):
        parts += ["up", *_route("by", flow["forward"], planned["ack_links"], ["link", "delay"])]
        parts += _route("back by", flow["back"], planned["links"], ["delay", "link"])
    else:
        parts += _route("by", flow["forward"], planned["links"], ["delay", "link"])
        parts += _route("back by", flow["back"], planned["ack_links"], ["delay"])
    parts += ["finite"] if flow["size_bytes"] is not None else []
    parts += [flow["workload"]["kind"].replace("_", "-")] if flow["workload"] else []
    parts += [f"at most {units.rate_text(flow['max_rate_bps'])}"] if flow["max_rate_bps"] else []
    parts += [f"{name} = {value}" for name, value in flow["params"].items()]
    return parts + (
        [f"stops at {units.span_text(flow['stop_ns'])}"] if flow["stop_ns"] < planned["duration_ns"] else []
    )


def _is_up(flow: FlowPlan) -> bool:
    return flow.get("direction") == "up"


def _route(head: str, stages: list[Stage], links: list[LinkPlan], usual: list[str]) -> list[str]:
    """The parts of a route by name; nothing for half the RTT and, in the data direction, the bottleneck."""
    is_usual = [stage["kind"] for stage in stages] == usual and not any(
        stage.get("link") or (stage["kind"] == "delay" and _varies(stage)) for stage in stages
    )
    words = [links[stage["link"]]["name"] if stage["kind"] == "link" else _stage(stage) for stage in stages]
    return [] if is_usual else [f"{head} {' > '.join(words)}"]


def _stage(stage: Stage) -> str:
    match stage["kind"]:
        case "delay":
            extras = _varies(stage)
            return f"{units.span_text(stage['ns'])}{' with ' + ' and '.join(extras) if extras else ''}"
        case "loss" if stage["model"] == "random":
            return f"loss {stage['ppb'] / 1e7:g} %"
        case "loss":
            return f"{stage['model'].replace('_', ' ')} loss"
        case kind:
            return str(kind)


def _varies(delay: Stage) -> list[str]:
    """Say how a delay varies."""
    steps = ["steps"] if delay["steps"] else []
    jitter = [_jitter(delay["jitter"])] if delay["jitter"] else []
    return steps + jitter + (["reorder"] if delay["reorder"] else []) + (["slots"] if delay.get("slot") else [])


def _sizes(flows: list[FlowPlan]) -> list[int] | None:
    """Sizes of the flows; None if one has no end."""
    sizes = [flow["size_bytes"] for flow in flows if flow["size_bytes"] is not None]
    return sizes if len(sizes) == len(flows) else None


def _sizes_text(flows: list[FlowPlan]) -> str:
    sizes = _sizes(flows)
    if sizes is None:
        return ""
    smallest, most = units.bytes_text(min(sizes)), units.bytes_text(max(sizes))
    return f", {smallest}" if smallest == most else f", {smallest} to {most}"


def _jitter(jitter: Settings) -> str:
    is_uniform, spread = jitter["distribution"] == "uniform", units.span_text(jitter["spread_ns"])
    return f"jitter {'+-' if is_uniform else 'sigma'} {spread}{'' if jitter['reorder'] else ' in order'}"


def _starts(starts: list[int]) -> str:
    first, last = units.span_text(min(starts)), units.span_text(max(starts))
    return first if first == last else f"{first} to {last}"
