"""Work of a run's guest, from its plan: the files of its folder, made without running anything. `network.py` has its
network, `agent/agent.c` the form of these files.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from dumbbell.backends import tc
from dumbbell.backends.script import DATA_PORT, IN_ONE_KERNEL, host_of, refuse_hosts, sysctls
from dumbbell.backends.tables import IPERF3_GREETING
from dumbbell.errors import ScenarioError, wrong
from dumbbell.plan.view import link_of, qdisc_of

from . import ways
from .network import Network, hosts, routed

if TYPE_CHECKING:
    from dumbbell.plan.types import FlowPlan, HostPlan, LinkPlan, Plan, Settings

    from .controllers import Loaded

#: Most flows: each has two network namespaces and four devices.
FLOWS_MAX = 500
#: By how much a link whose rate changes may send more than its rate allows, as a part of that: at most, and without a
#: warning.
REFILLED_MOST, REFILLED_TOLD = 0.05, 0.005
#: Bytes that wake the reader of a flow without an end (as crates/sim/src/flow.rs): one wakeup for each queue of this
#: size and not one for each packet, as of a program that is not alone on its processor.
_LOWAT = 32_768
#: What is written ahead of an application that may stop at any time, bytes: what is in the socket then is still sent.
_AHEAD = 16_384
#: Memory of the guest, MB: at least, and by how much more than what the path holds.
_MEMORY_MB, _MEMORY_PER_BYTE = 1024, 8
#: Of what a queue without a limit in bytes holds (Linux's own for fq_codel), bytes.
_UNLIMITED_BYTES = 32 << 20
#: Packets that wait for a processor that is busy (netdev_max_backlog): it is never, but a burst may come at once.
_BACKLOG = 1_000_000
#: Routers that a packet may pass: a link is up to four of them, and a way has up to 64 parts.
TTL = 255


class Guest(NamedTuple):
    """Files of a guest's folder by name, and its memory."""

    files: dict[str, str]
    script: str
    memory_mb: int


def guest(plan: Plan, loaded: Loaded) -> Guest:
    """All that a guest needs for a plan with these controllers. Raises ScenarioError for what the guest cannot do."""
    net = Network(plan)
    files = {**net.files(), "specification": _specification(plan, net, loaded)}
    return Guest(files, _SCRIPT, memory_mb(plan))


def memory_mb(plan: Plan) -> int:
    """Memory of the guest, MB: a power of two, so that plans of one size have guests of one size."""
    held = _held_bytes(plan) * _MEMORY_PER_BYTE + len(plan["flows"]) * (4 << 20)
    return max(_MEMORY_MB, 1 << math.ceil(math.log2((held >> 20) + _MEMORY_MB // 2)))


def _held_bytes(plan: Plan) -> int:
    """Bytes that the path holds when it is full."""
    links = [*plan["links"], *plan["ack_links"]]
    rate: int = max(rate for link in links for rate in (link["rate_bps"], *(rate for _, rate in link["steps"])))
    delays: list[int] = [
        sum(max([stage["ns"], *(ns for _, ns in stage["steps"])]) for stage in route if stage["kind"] == "delay")
        for flow in routed(plan)
        for route in (flow["forward"] + flow["back"],)
    ]
    limits = [qdisc_of(link["qdisc"]).limit for link in links]
    queues = [min(limit.wire_bytes, rate * 60 // 8) if limit else _UNLIMITED_BYTES for limit in limits]
    return rate * max(delays) // (8 * 10**9) + sum(queues)


#: What the guest's shell does: everything else is the agent's, whose programs need no file system of their own, as
#: those of `ip -n` do. CoDel takes what it finds in the first 1.6 s of a kernel for the rest of what went on at its
#: zero, as no testbed does that is up for longer.
_SCRIPT = """\
set -e
ulimit -n 100000
sleep 2
ip -batch namespaces
ip -batch links
./agent specification .
"""


def _specification(plan: Plan, net: Network, loaded: Loaded) -> str:
    """Work of the agent, in the form that `agent/agent.c` describes."""
    lines = [f"duration {plan['duration_ns']}", f"sample {plan['sample_ns']}"]
    lines += [f"run {name} ip -batch {name}.ip" for name in net.hosts]
    lines += [f"run {name} tc -batch {name}.tc" for name in net.hosts if net.queues[name]]
    pages = memory_mb(plan) * 256
    lines += [
        f"set - net/ipv4/tcp_mem {pages // 2} {pages * 3 // 4} {pages * 7 // 8}",
        f"set - net/core/netdev_max_backlog {_BACKLOG}",
    ]
    lines += [f"load {module}" for module in loaded.modules]
    own = {f"s{i}": i for i, flow in enumerate(plan["flows"]) if flow["host"]}
    tuned = _tuned(plan, plan["host"])
    far = [f"net/ipv4/ip_default_ttl {TTL}"] if net.has_hub else []
    for name in net.hosts:
        host = (_tuned(plan, host_of(plan, own[name])) if name in own else tuned) + far
        lines += [f"set {name} {setting}" for setting in (host if name[0] in "sde" else ["net/ipv4/ip_forward 1"])]
    merges = int(plan["host"]["gro"])
    whole = [host["nic"] == "virtual" for host in hosts(plan)]
    for name, devices in net.devices.items():
        segments = int(whole[int(name[1:])] if name[0] == "s" else any(whole))
        lines += [f"offloads {name} {device} {segments} {merges if name[0] in 'de' else 0}" for device in devices]
    lines += [f"queue {name} {device}" for name, device in net.shaped]
    lines += [f"netem {name} {device} {i}" for name, device, i in net.impaired if i < len(plan["flows"])]
    if plan["record"]["pcap"]:
        lines += [f"capture {net.ends[i][0]} eth0" for i in range(len(plan["flows"]))]
    lines += [f"report {name}" for name in loaded.reports]
    for i, (flow, cca) in enumerate(zip(plan["flows"], loaded.names, strict=True)):
        sender, source, receiver, target = net.ends[i]
        lines.append(
            f"flow {sender} {source} {DATA_PORT} {receiver} {target} {DATA_PORT + 1 + i} {cca} {flow['start_ns']}"
            f" {flow['stop_ns']}"
        )
        lines.append("with " + " ".join(f"{name}={value}" for name, value in _settings(plan, flow).items()))
        lengths = _lengths(plan, i)
        lines += [f"lengths {' '.join(map(str, lengths))}"] if lengths else []
    for i, probe in enumerate(plan.get("probes", []), len(plan["flows"])):
        sender, source, receiver, target = net.ends[i]
        lines.append(
            f"probe {sender} {source} {DATA_PORT} {receiver} {target} {DATA_PORT + 1 + i} {probe['every_ns']}"
            f" {probe['start_ns']} {probe['stop_ns']}"
        )
    lines += [
        f"step {at} {kick} {name} tc {words}" for at, kick, name, words in sorted(net.steps, key=lambda step: step[0])
    ]
    return "".join(f"{line}\n" for line in lines)


def _tuned(plan: Plan, host: HostPlan) -> list[str]:
    """Kernel parameters of a host that is set like this, as the agent writes them."""
    flows: list[FlowPlan] = [{**flow, "host": {}} for flow in plan["flows"]]
    alone: Plan = {**plan, "host": host, "flows": flows}
    tuned = {**sysctls(alone), **IN_ONE_KERNEL}
    return [f"{name.replace('.', '/')} {value}" for name, value in tuned.items()]


def _settings(plan: Plan, flow: FlowPlan) -> dict[str, int]:
    """Settings of a flow's application and sockets."""
    from dumbbell import _native

    host, work = plan["host"], flow["workload"]
    is_iperf3 = host["traffic"] == "iperf3"
    size = flow["size_bytes"]
    settings = {"block": _native.write_bytes(host["traffic"], size), "nodelay": int(host["nodelay"])}
    if size is not None:
        settings["size"] = _native.iperf3_bytes(size) - IPERF3_GREETING if is_iperf3 else size
    if is_iperf3 and work is None:
        settings["greeting"] = IPERF3_GREETING
    if host["traffic"] == "auto" and size is None and work is None:
        settings["lowat"] = _LOWAT
    if flow["max_rate_bps"] is not None:
        settings["max_rate"] = flow["max_rate_bps"] // 8
    return settings if work is None else {**settings, **_APPLICATIONS[work["kind"]](work)}


def _on_off(work: Settings) -> dict[str, int]:
    rate = work["rate_bps"]
    return {"app": 1, "unsent": _AHEAD} if rate is None else {"app": 1, "rate": rate, "message": work["message_bytes"]}


_APPLICATIONS: dict[str, Callable[[Settings], dict[str, int]]] = {
    "on_off": _on_off,
    "paced": lambda work: {"app": 2, "rate": work["rate_bps"], "message": work["message_bytes"]},
    "request_response": lambda work: {"app": 3, "message": work["response_bytes"], "count": work["count"]},
}


def _lengths(plan: Plan, i: int) -> list[int]:
    """On and off times by turns, or times to think, until the flow's end."""
    flow = plan["flows"][i]
    work = flow["workload"]
    random = Random(f"{plan['seed']} flow{i}.app")
    if work is None or work["kind"] == "paced":
        return []
    turns = (work["on"], work["off"]) if work["kind"] == "on_off" else (work["think"],)
    if not any(turn["exponential"] for turn in turns):
        return [turn["ns"] for turn in turns]
    lengths: list[int] = []
    left = flow["stop_ns"] - flow["start_ns"]
    while left > 0 and len(lengths) < _LENGTHS_MAX:
        drawn = [_drawn(turn, random) for turn in turns]
        lengths += drawn
        left -= sum(drawn)
    return lengths


def _drawn(turn: Settings, random: Random) -> int:
    mean: int = turn["ns"]
    return round(-math.log(1 - random.random()) * mean) if turn["exponential"] else mean


#: Lengths that are drawn for a flow; after these they begin again.
_LENGTHS_MAX = 100_000


def refuse(plan: Plan) -> None:
    """Raise ScenarioError for what of a plan the guest cannot do."""
    host = plan["host"]
    if len(routed(plan)) > FLOWS_MAX:
        raise ScenarioError("flow", f"{len(routed(plan))} flows in all, wanted at most {FLOWS_MAX} with --on uml")
    refuse_hosts(plan, ("qdisc", "tso", "nic", "ecn", "sndbuf_bytes", "initial_window"), "with --on uml")
    if host["ecn"] == "accurate":
        raise wrong("host.ecn", "accurate", "false or classic: this Linux has no AccECN; --on sim has it")
    if not host["shared_processor"]:
        raise ScenarioError(
            "host.processors", 'got "own", wanted "one": the guest has one processor; --on sim has more'
        )
    for i, flow in enumerate(plan["flows"]):
        kind = flow["transport"]["kind"]
        if kind != "tcp":
            others = "--on linux and sim run quinn" if kind == "quinn" else "--on sim has it"
            raise ScenarioError(f"flow[{i}].transport", f"got {kind}, wanted tcp, the guest's own; {others}")
    for link, at in tc.links_of(plan):
        with tc.keys_of(at):
            _refuse_link(link)
            _refuse_refills(link, plan["duration_ns"])
    Network(plan)


def warnings(plan: Plan) -> list[str]:
    """Warnings where the guest differs from the other back ends."""
    texts = []
    if plan["host"]["gro"]:
        differs = "the guest merges what its device hands over at one instant"
        texts.append(f"host.gro: {differs}; the simulator and --on linux hold segments for up to 50 us")
    for link, at in tc.links_of(plan):
        share = refilled(link, plan["duration_ns"])
        if share > REFILLED_TOLD:
            texts.append(
                f"{at}.rate: each change fills the bucket of tbf: the link may send {share:.1%} more than allowed"
            )
    return texts


def refilled(link: LinkPlan, duration_ns: int) -> float:
    """Part by which a link can send more than its rates allow, at most: `tc qdisc change` fills the bucket of tbf
    (`tbf_change` in net/sched/sch_tbf.c), which holds a burst.
    """
    allowed_bits = link_of(link).bits(0, duration_ns)
    changes = sum(1 for _ in ways.times(link["steps"], link["repeat_ns"], duration_ns))
    return changes * 8 * link["burst_bytes"] / allowed_bits if allowed_bits else 0.0


def _refuse_refills(link: LinkPlan, duration_ns: int) -> None:
    share = refilled(link, duration_ns)
    if share > REFILLED_MOST:
        raise ScenarioError(
            "path.rate",
            f"changes so often that the link may send {share:.0%} more than allowed, wanted at most {REFILLED_MOST:.0%}"
            " with --on uml: each change fills the bucket of Linux's tbf; --on sim and linux have no such limit",
        )


def _refuse_link(link: LinkPlan) -> None:
    tc.refuse(link, in_virtual_time=True)
    if link["qdisc"]["kind"] == "fq" and link["qdisc"]["ce_threshold_ns"] is not None:
        raise ScenarioError(
            "path.qdisc.ce_threshold",
            "got one of fq, wanted none with --on uml: packets between namespaces keep their departure times, from"
            " which fq reckons what they waited; --on sim and linux have it",
        )
    tc.leaf(link["qdisc"])
