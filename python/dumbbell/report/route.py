"""The path of a scenario for its drawing: senders, links with their queues, the way back, what varies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dumbbell.plots import captions, groups, keys, look
from dumbbell.results.texts import several
from dumbbell.units import bytes_text, rate_text, span_text

from .looks import pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell.plan.view import LinkView
    from dumbbell.results.load import Result

#: Scenarios that are drawn.
MOST = 4


def paths(runs: Sequence[Result]) -> list[dict[str, Any]]:
    """A drawing for each scenario, from its first run."""
    firsts: dict[str, list[Result]] = {}
    for run in runs:
        firsts.setdefault(run.name, []).append(run)
    return [_path(name, same) for name, same in list(firsts.items())[:MOST]]


def _path(name: str, runs: Sequence[Result]) -> dict[str, Any]:
    run = runs[0]
    varied = {key: keys.of(key, list(runs)) for other in runs for key in other.vary}
    varies = [
        f"{key.title}: {', '.join(key.text(value) for value in key.values)} {key.unit}".rstrip()
        for key in varied.values()
        if len(key.values) > 1
    ]
    plan = run.plan
    return {
        "name": name,
        "senders": [_sender(group, run) for group in groups.of(run)],
        "links": [_link(link, plan.duration_ns, is_first=i == 0) for i, link in enumerate(plan.links)],
        "back": [_link(link, plan.duration_ns, is_first=False) for link in plan.ack_links],
        "impairments": list(
            dict.fromkeys(
                stage.kind for flow in plan.flows for stage in flow.forward if stage.kind not in ("delay", "link")
            )
        ),
        "probes": len(plan.probes),
        "varies": varies,
        "caption": captions.of_run(run),
    }


def _sender(group: groups.Group, run: Result) -> dict[str, Any]:
    flows = [run.plan.flows[i] for i in group.flows]
    rtts = sorted({flow.rtt_ns for flow in flows})
    starts = sorted({flow.start_ns for flow in flows})
    return {
        "label": several(str(group.size), group.label, group.size),
        "cca": look.name(group.cca),
        "colour": pair(look.of(group.cca).colour),
        "rtt": "RTT " + (span_text(rtts[0]) if len(rtts) == 1 else f"{span_text(rtts[0])} to {span_text(rtts[-1])}"),
        "start": f"from {span_text(starts[0])}" if starts[0] else "",
        "up": flows[0].direction == "up",
        "over": [stage.link for stage in flows[0].forward if stage.kind == "link"],
    }


def _link(link: LinkView, duration_ns: int, *, is_first: bool) -> dict[str, Any]:
    limit = link.qdisc.limit
    size = (
        "" if limit is None else f"{limit.amount} packets" if limit.measure == "packets" else bytes_text(limit.amount)
    )
    policer = f"policer {rate_text(link.policer.rate_bps)}" if link.policer else ""
    return {
        "name": "bottleneck" if is_first else link.name,
        "rate": captions.course_text(link, duration_ns),
        "queue": f"{link.qdisc.kind}{', ' + size if size else ''}",
        "policer": policer,
    }
