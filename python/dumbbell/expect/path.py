"""What a scenario gives the path of a flow: `path WHAT` of sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dumbbell.results import metrics
from dumbbell.results.columns import flow_column
from dumbbell.units import FRAME_BYTES, MSS_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell.judge.values import Given
    from dumbbell.plan.view import FlowView, LinkView
    from dumbbell.results.load import Result

Part = tuple[float, float]
#: All packets, as a share in parts of 10^9.
_ALL = 1_000_000_000


def given(run: Result, flow: int, asked: Given, part: Part) -> float | None:
    """What `asked` names, rates in bit/s, times in s; None where the path has none."""
    end = min(part[1], run.plan.duration_s)
    for of in (_rates, _delays, _others):
        known = of(run, flow, (part[0], end))
        if asked.what in known:
            return known[asked.what]
    return None


def _rates(run: Result, flow: int, part: Part) -> dict[str, float | None]:
    planned, link = run.plan.flows[flow], run.plan.recorded_links[busiest(run, flow)]
    rate = mean_rate(link, *part)
    capacity, flows = rate * payload_share(planned), max(1.0, flows_there(run, flow, part))
    bdp = rate * planned.rtt_ns / 1e9 / (8 * FRAME_BYTES)
    return {
        "rate": rate,
        "top_rate": float(link.fastest_bps),
        "capacity": capacity,
        "share": capacity / flows,
        "up_rate": up_rate(run, flow, *part),
        "policer_rate": float(link.policer.rate_bps) if link.policer else None,
        "bdp": bdp,
        "bdp_share": bdp / flows,
        "rates": math.inf if link.trace else float(len(_values(link.course, link.repeat_ns, part) - {0})),
    }


def _delays(run: Result, flow: int, part: Part) -> dict[str, float | None]:
    planned, link = run.plan.flows[flow], run.plan.recorded_links[busiest(run, flow)]
    stages = [stage for stage in (*planned.forward, *planned.back) if stage.kind == "delay"]
    rtt, rate = (sum(stage.ns for stage in stages) or planned.rtt_ns) / 1e9, mean_rate(link, *part)
    gone = _outages(planned, link, part[1])
    courses = [len(_values(stage.steps, stage.repeat_ns, part)) for stage in stages if stage.steps]
    return {
        "rtt": rtt,
        "packet_rtt": rtt + (8 * FRAME_BYTES / rate if rate else 0.0),
        "rtts": float(max(courses, default=1)),
        "jitters": float(sum(stage.jitter is not None for stage in stages)),
        "outage": _gone(gone, part),
        "back": max((until for _, until in gone if until <= part[1]), default=None),
    }


def _others(run: Result, flow: int, part: Part) -> dict[str, float | None]:
    planned, link = run.plan.flows[flow], run.plan.recorded_links[busiest(run, flow)]
    limit, policer = link.qdisc.limit, link.policer
    return {
        "buffer": limit.wire_bytes / FRAME_BYTES if limit else None,
        "policer_burst": float(policer.burst_bytes) if policer else None,
        "flows": flows_there(run, flow, part),
        "max_rate": None if planned.max_rate_bps is None else float(planned.max_rate_bps),
        "alike": float(sum(one.table == planned.table for one in run.plan.flows)),
        "ack_parts": float(sum(stage.kind in ("thin", "aggregate") for stage in planned.back)),
        "up_flows": float(sum(one.direction != planned.direction for one in run.plan.flows)),
    }


def active(run: Result, flow: int, part: Part) -> Part:
    """The time of a part of the run in which a flow was there."""
    start, stop = (float(flow_column(run, name)[flow]) for name in ("start_us", "stop_us"))
    return max(start / 1e6, part[0]), min((stop + 1) / 1e6, part[1])  # events have parts of a microsecond


def rivals(run: Result, flow: int) -> list[int]:
    """The flows whose data cross the link that is a flow's bottleneck, itself included."""
    link = busiest(run, flow)
    if f"rivals.{link}" not in run.kept:
        of = run.plan.recorded_links[link]
        crossing = [i for i in range(len(run.plan.flows)) if any(of is one for one in run.plan.way(i))]
        run.kept[f"rivals.{link}"] = crossing
    kept: list[int] = run.kept[f"rivals.{link}"]
    return kept


def flows_there(run: Result, flow: int, part: Part) -> float:
    """How many flows were on its bottleneck, on average over a part of the run."""
    import numpy as np

    of = rivals(run, flow)
    start, stop = (flow_column(run, name)[of] / 1e6 for name in ("start_us", "stop_us"))
    lengths = np.minimum(stop, part[1]) - np.maximum(start, part[0])
    return float(lengths.clip(min=0.0).sum()) / (part[1] - part[0]) if part[1] > part[0] else 1.0


def goodputs(run: Result, flow: int, part: Part) -> dict[int, float]:
    """What each of the flows on its bottleneck got in a part of the run, bytes; without those that were not there."""
    got = {}
    start, stop, total = (flow_column(run, name) for name in ("start_us", "stop_us", "goodput_bytes"))
    for other in rivals(run, flow):
        since, until = start[other] / 1e6, stop[other] / 1e6
        if since >= part[0] and until <= part[1]:
            got[other] = float(total[other])
        elif since < part[1] and until > part[0]:
            got[other] = metrics.goodput_bytes(run, other, part)
    return got


def busiest(run: Result, flow: int) -> int:
    """The number of the link of a flow's way that is in use for the largest share of the time; where that is not
    recorded, the slowest.
    """
    name = f"busiest.{flow}"
    if name not in run.kept:
        way, links = run.plan.way(flow), run.plan.recorded_links
        numbers = [i for i, link in enumerate(links) if any(link is one for one in way)] or [0]
        slowest = min(numbers, key=lambda i: links[i].fastest_bps)
        use = (
            {i: metrics.utilization(run, link=i) for i in numbers} if len(numbers) > 1 and run.plan.record.queue else {}
        )
        run.kept[name] = max(use, key=lambda i: use[i]) if use else slowest
    number: int = run.kept[name]
    return number


def mean_rate(link: LinkView, start_s: float, end_s: float) -> float:
    """The mean rate of a link over a part of the run, bit/s on the wire."""
    start, end = round(start_s * 1e9), round(end_s * 1e9)
    return link.bits(start, end) / ((end - start) / 1e9) if end > start else float(link.fastest_bps)


def payload_share(flow: FlowView) -> float:
    """Payload over wire bytes of a flow's full packets."""
    size = flow.transport.packet_bytes
    return flow.transport.payload_bytes / size if flow.transport.payload_bytes and size else MSS_BYTES / FRAME_BYTES


def up_rate(run: Result, flow: int, start_s: float, end_s: float) -> float | None:
    """The mean rate of the slowest link of a flow's way back, bit/s; None where it has no link of its own."""
    planned = run.plan.flows[flow]
    links = run.plan.links if planned.direction == "up" else run.plan.ack_links
    back = [links[stage.link] for stage in planned.back if stage.link is not None]
    return min((mean_rate(link, start_s, end_s) for link in back), default=None)


def _course(steps: Sequence[tuple[int, int]], repeat_ns: int | None, end_s: float) -> list[tuple[float, float, int]]:
    """A course of steps until `end_s`: from when, until when, and its value."""
    repeat = (repeat_ns or 0) / 1e9
    rounds = math.ceil(end_s / repeat) if repeat else 1
    changes = [(turn * repeat + at / 1e9, value) for turn in range(rounds) for at, value in steps]
    ends = [at for at, _ in changes[1:]] + [math.inf]
    return [(at, until, value) for (at, value), until in zip(changes, ends) if at < end_s]


def _values(steps: Sequence[tuple[int, int]], repeat_ns: int | None, part: Part) -> set[int]:
    """The values of a course in a part of the run."""
    return {value for at, until, value in _course(steps, repeat_ns, part[1]) if until > part[0]}


def _outages(planned: FlowView, link: LinkView, end_s: float) -> list[Part]:
    """The times until `end_s` at which the rate is 0, or all is lost there or back; of a trace, not its rate."""
    gone = [] if link.trace is not None else _where(link.course, link.repeat_ns, 0, end_s)
    for stage in (*planned.forward, *planned.back):
        if stage.kind == "loss":
            gone += _where(stage.steps, stage.repeat_ns, _ALL, end_s)
            windows = [one for one in stage.windows if one.ppb == _ALL and one.packets is None]
            gone += [(one.from_ns / 1e9, one.to_ns / 1e9) for one in windows if one.from_ns / 1e9 < end_s]
    return sorted(gone)


def _where(steps: Sequence[tuple[int, int]], repeat_ns: int | None, value: int, end_s: float) -> list[Part]:
    """Where a course has a value."""
    return [(at, until) for at, until, one in _course(steps, repeat_ns, end_s) if one == value]


def _gone(outages: Sequence[Part], part: Part) -> float:
    """How long they are together in a part of the run, s."""
    total, passed = 0.0, part[0]
    for at, until in outages:
        total += max(0.0, min(until, part[1]) - max(at, passed))
        passed = max(passed, until)
    return total
