"""Warnings of what is legal in a scenario and hardly meant: results have them in their manifests, `check` and `run`
print them.

Everything is read from plans, which say what the engine will do, but for keys that leave no trace in a plan.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from dumbbell import units
from dumbbell.controllers import facts_of
from dumbbell.scenario.declare import is_written, raw_at
from dumbbell.scenario.impairments import GilbertElliott, RandomLoss, SteppedLoss
from dumbbell.scenario.qdiscs import Fifo, Qdisc, Red

if TYPE_CHECKING:
    from dumbbell.scenario.file import Flow, Path, Scenario
    from dumbbell.scenario.routes import Link, Up

    from .planned import Planned
    from .types import FlowPlan, LinkPlan, Plan, Settings, Stage

#: Settings of [host] that flows obey whatever carries them; `qdisc` on real hosts.
OF_ALL_HOSTS = frozenset({"ecn", "hz", "arp", "qdisc", "receivers", "start_jitter"})

#: A loss above this share is probably a percentage without its sign, 10^-9.
LOSS_LIKELY = 200_000_000

#: Spread of jitter from which on netem's correlation is noticed, ns.
CORRELATED_FROM_NS = 500_000_000

#: Plans of a grid beyond this size are not compared with one another, bytes.
COMPARED_MAX = 200_000_000

#: Pairs and combinations that a warning lists.
SHOWN = 3


def of_case(case: Scenario, plan: Plan) -> list[str]:
    """Warnings of one combination of the varied values."""
    return [
        *_losses(case),
        *_marks(plan),
        *_buffers(case),
        *_correlations(plan),
        *_samples(plan),
        *_hosts(case, plan),
        *_charges(plan),
    ]


def _losses(case: Scenario) -> Iterator[str]:
    """Losses that are probably percentages without their sign. One that is written "100%" cuts a way off, and is
    meant.
    """
    named, up = case.path.way_up
    ways: list[tuple[str, Path | Up]] = [("path", case.path), *([] if up is None else [(named, up)])]
    tables: list[tuple[str, Path | Up | Flow]] = [*ways, *((f"flow[{i}]", flow) for i, flow in enumerate(case.flow))]
    losses: list[tuple[str, object, object]] = [
        (f"{at}.loss", table.loss, raw_at(table, "loss")) for at, table in tables
    ]
    losses += [(f"{at}.impair[{i}]", part, None) for at, way in ways for i, part in enumerate(way.impair or ())]
    for at, loss, written in losses:
        yield from _loss(at, loss, written)


def _loss(at: str, loss: object, written: object) -> Iterator[str]:
    """Warnings of one loss, a share in 10^-9 or a table with a model."""
    match loss:
        case int():
            if loss > LOSS_LIKELY and str(written).strip() != "100%":
                yield f"{at}: {loss / 1e7:g} % of all packets are lost{_hint(written)}"
        case RandomLoss():
            yield from _loss(f"{at}.rate", loss.rate, raw_at(loss, "rate"))
        case SteppedLoss():
            steps = raw_at(loss, "steps")
            steps = steps if isinstance(steps, (list, tuple)) else []  # else those of a recording, which has its unit
            for (since_ns, share), (_, value) in zip(loss.steps.steps, steps):
                if share > LOSS_LIKELY and _hint(value):
                    since = units.span_text(since_ns)
                    yield f"{at}.steps: {share / 1e7:g} % of all packets are lost from {since} on{_hint(value)}"
        case GilbertElliott():
            share = _mean(loss.stage(at))
            if share > LOSS_LIKELY:
                yield f"{at}: {share / 1e7:g} % of all packets are lost on average{_hint(raw_at(loss, 'p'))}"


def _mean(stage: Stage) -> int:
    """Share of all packets that two states lose in the long run, 10^-9."""
    p, r = stage["p_ppb"], stage["r_ppb"]
    return int((stage["bad_loss_ppb"] * p + stage["good_loss_ppb"] * r) // (p + r or 1))


def _hint(written: object) -> str:
    """Form of a percentage; nothing where it was written so."""
    return "" if str(written).strip().endswith("%") else f'; a percentage is written "{str(written).strip()}%"'


def _correlations(plan: Plan) -> Iterator[str]:
    """Correlated jitter, of whose correlation a remainder leaves nothing (`tabledist`, net/sched/sch_netem.c)."""
    stages = [stage for flow in plan["flows"] for stage in (*flow["forward"], *flow["back"])]
    jitters = [jitter for stage in stages if (jitter := stage.get("jitter"))]
    if any(jitter["correlation_ppb"] and jitter["spread_ns"] < CORRELATED_FROM_NS for jitter in jitters):
        yield "jitter: its correlation has next to no effect, here as in netem; a recording of delays has one"


def _hosts(case: Scenario, plan: Plan) -> Iterator[str]:
    """Settings of TCP's hosts where no flow has TCP."""
    carriers = dict.fromkeys(flow["transport"]["kind"] for flow in plan["flows"])
    if not carriers or "tcp" in carriers:
        return
    for name in case.host.KEYS:
        if name not in OF_ALL_HOSTS and is_written(case.host, name):
            yield f"host.{name} has no effect: it is of TCP, and the flows have {' and '.join(carriers)}"


def _charges(plan: Plan) -> Iterator[str]:
    """Links whose CAKE charges packets for other bytes than those of the wire."""
    for link in (*plan["links"], *plan["ack_links"]):
        qdisc = link["qdisc"]
        if qdisc["kind"] == "cake" and (qdisc["overhead_bytes"] or qdisc["mpu_bytes"] or qdisc["framing"] != "none"):
            yield (
                f"{link['name']}: utilization counts bytes of the wire, without cake's overhead, mpu and framing, so"
                " that a full link has another value than 1"
            )


def _samples(plan: Plan) -> Iterator[str]:
    """Figures of a run that are made of one sample, or lack what they are made of."""
    every, length, record = plan["sample_ns"], plan["duration_ns"], plan["record"]
    for name in ("samples", "queue"):
        if plan["measure"] and not record[name]:
            yield f"record.{name} is off, of which [measure] makes its figures: tables of the run cannot be printed"
    if length < every and record["samples"]:
        yield f"record.every: {units.span_text(every)} is longer than the run, whose RTTs are those of one sample"


def _marks(plan: Plan) -> Iterator[str]:
    """ECN that nothing marks, and controllers that need marks and get none."""
    links = plan["links"]
    met = [*links, *(plan["ack_links"] if any(flow.get("direction") == "up" for flow in plan["flows"]) else ())]
    marking = [_is_marking(link) for link in met]
    kinds = ", ".join(dict.fromkeys(_kind(link["qdisc"]) for link in met))
    asking = ["host.ecn"] if plan["host"]["ecn"] != "off" else []
    asking += [f"flow[{flow['table']}].host.ecn" for flow in plan["flows"] if flow["host"].get("ecn", "off") != "off"]
    for at in dict.fromkeys(asking) if not any(marking) else ():
        yield f"{at} has no effect: no queue marks ({kinds}); a discipline with ecn = true or a ce_threshold does"
    for number, flow in {flow["table"]: flow for flow in reversed(plan["flows"])}.items():
        its_links = plan["ack_links"] if flow.get("direction") == "up" else links
        crossed = [its_links[stage["link"]] for stage in flow["forward"] if stage["kind"] == "link"]
        if facts_of(flow["cca"]).needs_marks and not any(_is_marking(link) for link in crossed):
            yield f"flow[{number}]: {flow['cca']} runs as Reno, because no queue on its way marks"
        elif facts_of(flow["cca"]).sends_ect1 and _ecn_of(plan, flow) == "classic":
            yield (
                f"flow[{number}]: {flow['cca']} runs as a paced Reno and sends ECT(0), because its peer has classic"
                ' ECN only (host.ecn); it has accurate ECN with "accurate" or false'
            )
    is_l4s = any(_sends_ect1(plan, flow) for flow in plan["flows"])
    for link in links:
        if link["qdisc"]["kind"] == "dualpi2" and not is_l4s:
            yield (
                f"{link['name']}: the low-latency queue of dualpi2 stays empty, because no flow sends ECT(1), as"
                " prague does; all flows share its classic queue"
            )


def _sends_ect1(plan: Plan, flow: FlowPlan) -> bool:
    if facts_of(flow["cca"]).sends_ect1:
        return _ecn_of(plan, flow) != "classic"
    return bool(flow["transport"].get("ecn") == "ect1")


def _kind(qdisc: Mapping[str, Any]) -> str:
    return f"{qdisc['kind']} with ecn = false" if qdisc.get("ecn") is False else str(qdisc["kind"])


def _ecn_of(plan: Plan, flow: FlowPlan) -> str:
    return str(flow["host"].get("ecn", plan["host"]["ecn"]))


def _is_marking(link: LinkPlan) -> bool:
    qdisc, policer = link["qdisc"], link["policer"]
    if policer is not None and policer["mark"]:
        return True
    return qdisc["kind"] in ("cake", "dualpi2") or bool(qdisc.get("ecn")) or qdisc.get("ce_threshold_ns") is not None


def _buffers(case: Scenario) -> Iterator[str]:
    """A buffer next to a discipline that has a limit of its own."""
    tables: list[tuple[str, Path | Link | Up]] = [("path", case.path)]
    tables += [(f"link[{i}]", link) for i, link in enumerate(case.link)]
    named, up = case.path.way_up
    tables += [] if up is None else [(named, up)]
    for at, table in tables:
        if table.buffer is None or _uses_buffer(table.qdisc):
            continue
        kind = table.qdisc.FORM
        hint = 'limit = "buffer"' if "limit" in Qdisc.FORMS[kind].KEYS else 'memory_limit = "buffer"'
        yield (
            f'{at}.buffer has no effect: {kind} has a limit of its own; {{ kind = "{kind}", {hint} }} gives it the'
            " buffer"
        )


def _uses_buffer(qdisc: Qdisc) -> bool:
    """RED and drop tail take the buffer where nothing else is written, the others where it is written."""
    if isinstance(qdisc, (Fifo, Red)) and not is_written(qdisc, "limit"):
        return True
    limits = [name for name in ("limit", "memory_limit", "flow_limit") if name in qdisc.KEYS]
    return "buffer" in [raw_at(qdisc, name) for name in limits]


def of_grid(scenario: Scenario, runs: Sequence[Planned]) -> list[str]:
    """Keys that are varied without effect, and lists of one value."""
    found_axes = scenario.axes
    texts_ = [
        f"{', '.join(keys)}: a list of one value varies nothing" for keys, points in found_axes if len(points) == 1
    ]
    first = [run for run in runs if run.repetition == 0]
    if len(first) < 2 or sum(len(run.plan["flows"]) for run in first) * 500 > COMPARED_MAX:
        return texts_
    texts = [_text(run.plan) for run in first]
    for keys, points in found_axes:
        groups: dict[str, list[int]] = {}
        for i, run in enumerate(first):
            groups.setdefault(
                json.dumps({key: value for key, value in run.vary.items() if key not in keys}, default=str), []
            ).append(i)
        idle = [key for key, group in groups.items() if len(group) > 1 and len({texts[i] for i in group}) == 1]
        if not idle:
            continue
        what = f"{', '.join(keys)} has no effect: its {len(points)} values make equal runs"
        where = (
            ""
            if len(idle) == len(groups)
            else " with " + "; ".join(units.varied_text(json.loads(key)) for key in idle[:SHOWN])
        )
        texts_.append(what + where + (f"; and {len(idle) - SHOWN} more" if where and len(idle) > SHOWN else ""))
    return texts_


def _text(plan: Plan) -> str:
    """A plan but for what does not decide what the engine does."""
    flows = [{key: value for key, value in flow.items() if key != "name"} for flow in plan["flows"]]
    return json.dumps({**plan, "flows": flows, "measure": None}, sort_keys=True, default=str)


def is_random(plan: Plan) -> bool:
    """True if another seed may give another result: whether the engine may draw anything but where to start.

    Errs on the side of yes: of a discipline that hashes flows, and of a controller that is not ours.
    """
    if not plan["host"]["shared_processor"]:
        return True  # when each host booted
    links = [*plan["links"], *plan["ack_links"]]
    return any(link["qdisc"]["kind"] not in ("fifo", "codel") for link in links) or any(map(_draws, plan["flows"]))


def _draws(flow: FlowPlan) -> bool:
    if flow["cca"] and not facts_of(flow["cca"]).is_steady:
        return True
    workload = flow["workload"] or {}
    if any(isinstance(value, dict) and value.get("exponential") for value in workload.values()):
        return True
    return any(map(_stage_draws, [*flow["forward"], *flow["back"]]))


def _stage_draws(stage: Stage) -> bool:
    match stage["kind"]:
        case "delay":
            varies = bool((stage["jitter"] or {}).get("spread_ns")) or stage["reorder"] is not None
            return varies or _slots_vary(stage.get("slot"))
        case "loss":
            if stage["model"] == "windows":
                return any(window["ppb"] not in (0, 10**9) for window in stage["windows"])
            return bool(stage["model"] != "list" and stage.get("ppb") != 10**9)
        case kind:
            return kind in ("duplicate", "corrupt")


def _slots_vary(slot: Settings | None) -> bool:
    return slot is not None and (slot["distribution"] != "uniform" or slot["max_ns"] not in (None, slot["min_ns"]))


def once(scenario: Scenario) -> str:
    """Warning that repetitions cannot differ, so that one is run."""
    return (
        f"repetitions: nothing here is random, so all {scenario.repetitions} would be equal and one is run; "
        'host.start_jitter = "20ms" lets flows start up to this much later at random'
    )


def tables(manifest: Mapping[str, Any]) -> str:
    """Identity of a run's tables; empty where it has no flows or no samples, so that all its tables may be alike
    whatever was run.
    """
    files = manifest.get("files", {})
    if not {"flows.parquet", "samples.parquet"} <= files.keys():
        return ""
    return " ".join(f"{name} {files[name]['sha256']}" for name in sorted(files) if name.endswith(".parquet"))


def equal_runs(done: Iterable[tuple[FilePath, str]]) -> list[str]:
    """Runs of a sweep whose tables are equal to the byte though they should differ; each is given by its folder and
    what its `tables` are known by.
    """
    met: dict[str, list[FilePath]] = {}
    for folder, known in done:
        if known:
            met.setdefault(known, []).append(folder)
    texts = []
    for same in met.values():
        if len(same) > 1:
            names = ", ".join(folder.name for folder in same[:SHOWN])
            more = f" and {len(same) - SHOWN} more" if len(same) > SHOWN else ""
            texts.append(f"equal to the byte: {names}{more}; the keys in which they differ have no effect")
    return texts


__all__ = ["equal_runs", "is_random", "of_case", "of_grid", "once", "tables"]
