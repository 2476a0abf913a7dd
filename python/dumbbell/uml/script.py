r"""What the guest of a run does, from its plan: the files of its folder, made without running anything.

    s0 --- m0 ---\                            s a sender's host, d the receivers'
    s1 --- m1 ----  r ===bottleneck=== d      m routers that delay and impair the packets of one flow
    s2 --- m2 ---/                            r the bottleneck's router

Where the way up has a link, a router q is at its end:

    s0 --- m0 ---\                       /--- d
    e1 --- m1 ----  r ===both links=== q ---- n1 --- s1

Flow 1 goes up: its sender is behind q, and its receiver, e, where senders are otherwise; n is there where something
impairs its data before the link. Each flow has a host and a router of its own.

Devices have neither segmentation nor merging, so that every queue sees packets of the wire's size; a sender's bursts
are cut behind its queue discipline. With `host.nic = "virtual"` devices segment, as veth does unless told otherwise:
bursts stay whole unless a queue discipline cuts them. What
impairs packets after the bottleneck is between r and d (or q), on a router x.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.backends import tc
from dumbbell.backends.script import DATA_PORT, host_of, refuse_hosts, sysctls
from dumbbell.errors import ScenarioError, wrong
from dumbbell.results.plan_view import qdisc_of

if TYPE_CHECKING:
    from dumbbell.runs.plan_types import FlowPlan, HostPlan, LinkPlan, Plan, ProbePlan, Settings, Stage, Steps

    from .controllers import Loaded

#: Most flows: each has two network namespaces and four devices.
FLOWS_MAX = 500
#: Bytes that wake the reader of a flow without an end (as crates/sim/src/flow.rs): one wakeup for each queue of this
#: size and not one for each packet, as of a program that is not alone on its processor.
_LOWAT = 32_768
#: Bytes of a write: as much as there is room for; iperf3's; OpenBSD netcat's.
_WRITES = {"auto": 262_144, "iperf3": 131_072, "netcat": 16_384}
#: iperf3's greeting (crates/path/src/plan/traffic.rs), bytes.
_GREETING = 37
#: What is written ahead of an application that may stop at any time, bytes: what is in the socket then is still sent.
_AHEAD = 16_384
#: Slowest rate that the guest's shapers can have with a burst of two frames, bit/s: an outage.
_OUTAGE_BPS = 100
#: Memory of the guest, MB: at least, and by how much more than what the path holds.
_MEMORY_MB, _MEMORY_PER_BYTE = 1024, 8
#: Of what a queue without a limit in bytes holds (Linux's own for fq_codel), bytes.
_UNLIMITED_BYTES = 32 << 20
#: Packets that wait for a processor that is busy (netdev_max_backlog): it is never, but a burst may come at once.
_BACKLOG = 1_000_000


class Guest(NamedTuple):
    """Files of a guest's folder by name, and its memory."""

    files: dict[str, str]
    script: str
    memory_mb: int


def guest(plan: Plan, loaded: Loaded) -> Guest:
    """All that a guest needs for a plan with these controllers. Raises ScenarioError for what the guest cannot do."""
    net = _Net(plan)
    files = {**net.files(), "specification": _specification(plan, net, loaded)}
    return Guest(files, _SCRIPT, memory_mb(plan))


def memory_mb(plan: Plan) -> int:
    """Memory of the guest, MB: a power of two, so that plans of one size have guests of one size."""
    held = _held_bytes(plan) * _MEMORY_PER_BYTE + len(plan["flows"]) * (4 << 20)
    return max(_MEMORY_MB, 1 << math.ceil(math.log2((held >> 20) + _MEMORY_MB // 2)))


def _held_bytes(plan: Plan) -> int:
    """What the path holds when it is full."""
    links = [*plan["links"], *plan["ack_links"]]
    rate: int = max(rate for link in links for rate in (link["rate_bps"], *(rate for _, rate in link["steps"])))
    delays: list[int] = [
        sum(max([stage["ns"], *(ns for _, ns in stage["steps"])]) for stage in route if stage["kind"] == "delay")
        for flow in _routed(plan)
        for route in (flow["forward"] + flow["back"],)
    ]
    limits = [qdisc_of(link["qdisc"]).limit for link in links]
    queues = [min(limit.wire_bytes, rate * 60 // 8) if limit else _UNLIMITED_BYTES for limit in limits]
    return rate * max(delays) // (8 * 10**9) + sum(queues)


#: What the guest's shell does: everything else is the agent's, whose programs need no file system of their own, as
#: those of `ip -n` do.
_SCRIPT = """\
set -e
ulimit -n 100000
ip -batch namespaces
ip -batch links
./agent specification .
"""


class _Net:
    """Namespaces, links, addresses and queue disciplines."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.knows = not plan["host"]["arp"]
        self.links: list[str] = []
        self.hosts: dict[str, list[str]] = {}
        self.queues: dict[str, list[str]] = {}
        self.devices: dict[str, list[str]] = {}
        self.steps: list[tuple[int, int, str, str]] = []
        self.impaired: list[tuple[str, str, int]] = []
        self.ends: list[tuple[str, str, str, str]] = []
        self.shaped: list[tuple[str, str]] = []
        self.beyond = ""
        self._addresses = 0
        self._build()

    def files(self) -> dict[str, str]:
        """Batches for `ip` and `tc`."""
        made = {"namespaces": [f"netns add {name}" for name in self.hosts], "links": self.links}
        made |= {f"{name}.ip": lines for name, lines in self.hosts.items()}
        made |= {f"{name}.tc": lines for name, lines in self.queues.items() if lines}
        return {name: "".join(f"{line}\n" for line in lines) for name, lines in made.items()}

    def _build(self) -> None:
        plan = self.plan
        behind = _behind(plan)
        ups = plan["ack_links"]
        for name in ("r", *(["x"] if behind else []), *(["q"] if ups else []), "d"):
            self._host(name)
        last = "r"
        if behind:
            self._link("r", "bott", "x", "in")
            self.hosts["r"].append(f"route add 10.0.0.0/8 via {self._far}")
            self.hosts["x"].append(f"route add default via {self._near}")
            self.queues["x"].append(_add("far", behind))
            last = "x"
        there = "far" if behind else "bott"
        if ups:
            self._link(last, there, "q", "rise")
            self.hosts["q"].append(f"route add default via {self._near}")
            if behind:
                self.beyond = self._far
            else:
                self.hosts["r"].append(f"route add 10.0.0.0/8 via {self._far}")
            last, there = "q", "lan"
        self._link(last, there, "d", "eth0")
        self._receivers(last)
        for i, flow in enumerate(_routed(plan)):
            self._flow(i, flow)
        self._shaped("r", "bott", plan["links"][0])
        if ups:
            self._shaped("q", "rise", ups[0])

    def _receivers(self, last: str) -> None:
        """The receivers' addresses: one, or one for each flow where each is a host of its own, as cake sees it."""
        host = self.plan["host"]
        gate, here = self._near, self._far
        quick = "" if host["delayed_ack"] else " quickack 1"
        self.hosts["d"].append(f"route add default via {gate}{quick}")
        addresses = [here] * len(_routed(self.plan))
        if not host["shared_receiver"]:
            addresses = [f"10.254.{i >> 8}.{i & 255}" for i in range(len(addresses))]
            self.hosts["d"] += [f"address add {address}/32 dev lo" for address in addresses]
            self.hosts[last].append(f"route add 10.254.0.0/16 via {here}")
            self._reach("10.254.0.0/16")
        self._reach(f"{here}/32")
        self._targets = addresses

    def _reach(self, net: str) -> None:
        """The way of a router x to what is behind q."""
        if self.beyond:
            self.hosts["x"].append(f"route add {net} via {self.beyond}")

    def _flow(self, i: int, flow: FlowPlan | ProbePlan) -> None:
        router, key = f"m{i}", f"flow[{i}]"
        goes_up = flow.get("direction") == "up"
        there, back = flow["forward"], flow["back"]
        near, down, up = (f"e{i}", back, there) if goes_up else (f"s{i}", there, back)
        self._host(near)
        self._host(router)
        self._link(near, "eth0", router, "lan")
        gate, here = self._far, self._near
        quick = " quickack 1" if goes_up and not self.plan["host"]["delayed_ack"] else ""
        self.hosts[near].append(f"route add default via {gate}{quick}")
        self._link(router, "wan", "r", f"in{i}")
        self.hosts[router].append(f"route add default via {self._far}")
        self.hosts["r"].append(f"route add {here}/32 via {self._near}")
        before, after = _around_link(up)
        if goes_up:
            self.ends.append((f"s{i}", self._sender_up(i, before, key), near, here))
        else:
            self.ends.append((near, here, "d", self._targets[i]))
        self._sender_queue(i)
        self._impair(router, "wan", _around_link(down)[0], key, i)
        self._impair(router, "lan", after, key, i)

    def _sender_up(self, i: int, before: list[Stage], key: str) -> str:
        """The sender of a flow that goes up; its address."""
        sender, gate = f"s{i}", "q"
        self._host(sender)
        if before:
            gate = f"n{i}"
            self._host(gate)
            self._link(gate, "wan", "q", f"in{i}")
            self.hosts[gate].append(f"route add default via {self._far}")
            way = self._near
            self._impair(gate, "wan", before, key, i)
        self._link(sender, "eth0", gate, f"in{i}")
        self.hosts[sender].append(f"route add default via {self._far}")
        if before:
            self.hosts["q"].append(f"route add {self._near}/32 via {way}")
        self._reach(f"{self._near}/32")
        return self._near

    def _sender_queue(self, i: int) -> None:
        sender, host = f"s{i}", _hosts(self.plan)[i]
        kinds = {
            "fq": "fq limit 1000000 flow_limit 100000",
            "pfifo": "pfifo limit 100000",
        }
        if host["qdisc"] in kinds:
            self.queues[sender].append(_add("eth0", kinds[host["qdisc"]].split()))
        if not host["tso"]:
            self.hosts[sender].append("link set eth0 gso_max_segs 1")

    def _impair(self, router: str, device: str, stages: list[Stage], key: str, i: int) -> None:
        words = tc.netem(stages, key, in_virtual_time=True)
        if words is None:
            return
        self.queues[router].append(_add(device, words))
        self.impaired.append((router, device, i))
        for stage in stages:
            for at, ns in _times(stage.get("steps") or [], stage.get("repeat_ns"), self.plan["duration_ns"]):
                now = [{**one, "ns": ns} if one is stage else one for one in stages]
                changed = tc.netem(now, key, in_virtual_time=True)
                self.steps.append((at, 0, router, f"qdisc change dev {device} root {' '.join(changed or ())}"))

    def _shaped(self, router: str, device: str, link: LinkPlan) -> None:
        """A link of the plan, at the end of a device."""
        shaped = tc.shaped(link, device, "tbf", in_virtual_time=True)
        self.shaped.append((router, device))
        self.queues[router] += [" ".join(step.do[1:]) for step in shaped.steps]
        for at, rate in _times(link["steps"], link["repeat_ns"], self.plan["duration_ns"]):
            now = tc.shaped({**link, "rate_bps": max(rate, _OUTAGE_BPS)}, device, "tbf", in_virtual_time=True)
            # A change of tbf sets the limit of a fifo in it to its own, which counts bytes.
            steps = now.steps if link["qdisc"]["kind"] == "fifo" else now.steps[:1]
            for step in steps:
                words = ["qdisc", "change", *step.do[3:]]
                self.steps.append((at, len(self.shaped) if step is steps[-1] else 0, router, " ".join(words)))

    def _host(self, name: str) -> None:
        self.hosts[name] = ["link set lo up"]
        self.queues[name] = []
        self.devices[name] = []

    def _link(self, one: str, one_device: str, other: str, other_device: str) -> None:
        """Two devices joined, each with an address, and each knowing the other's where nobody is to ask for it."""
        number = self._addresses
        self._addresses += 1
        net = f"10.{number >> 14}.{number >> 6 & 255}.{(number & 63) * 4}".rpartition(".")
        self._near, self._far = (f"{net[0]}.{int(net[2]) + end}" for end in (1, 2))
        macs = [f"02:00:{number >> 8:02x}:{number & 255:02x}:00:{end:02x}" for end in (1, 2)]
        self.links.append(
            f"link add name {one_device} address {macs[0]} netns {one} type veth"
            f" peer name {other_device} address {macs[1]} netns {other}"
        )
        ends = (
            (one, one_device, self._near, self._far, macs[1]),
            (other, other_device, self._far, self._near, macs[0]),
        )
        for host, device, mine, theirs, mac in ends:
            self.hosts[host] += [f"address add {mine}/30 dev {device}", f"link set {device} up"]
            if self.knows:
                self.hosts[host].append(f"neighbour add {theirs} lladdr {mac} dev {device} nud permanent")
            self.devices[host].append(device)


def _add(device: str, words: Sequence[str]) -> str:
    return f"qdisc add dev {device} root {' '.join(words)}"


def _routed(plan: Plan) -> list[FlowPlan | ProbePlan]:
    """The flows, and after them the series of probes: each has hosts and routers of its own."""
    return [*plan["flows"], *plan.get("probes", [])]


def _hosts(plan: Plan) -> list[HostPlan]:
    """How the hosts of each of them are set."""
    flows = [host_of(plan, i) for i in range(len(plan["flows"]))]
    return flows + [plan["host"]] * len(plan.get("probes", []))


def _around_link(stages: list[Stage]) -> tuple[list[Stage], list[Stage]]:
    """The parts of a way before its link and after it; all are after where it has none."""
    links = [i for i, stage in enumerate(stages) if stage["kind"] == "link"]
    return (stages[: links[0]], stages[links[0] + 1 :]) if links else ([], stages)


def _behind(plan: Plan) -> tc.Argv | None:
    """What impairs packets after the bottleneck, which all flows have in common."""
    found = []
    for i, flow in enumerate(_routed(plan)):
        goes_up = flow.get("direction") == "up"
        stages = _around_link(flow["back" if goes_up else "forward"])[1]
        if not goes_up and _around_link(flow["back"])[0]:
            raise ScenarioError(
                f"path.{plan['ack_links'][0]['name']}",
                "impairs acknowledgements before its link, wanted impairments after it with --on uml"
                ' (impair = [{ kind = "links" }, ...]); --on sim and linux have both',
            )
        if any(stage.get("steps") for stage in stages):
            raise ScenarioError(f"flow[{i}].rtt", "changes after the bottleneck, wanted before it with --on uml")
        found.append(tc.netem(stages, f"flow[{i}]", in_virtual_time=True))
    if any(one != found[0] for one in found):
        raise ScenarioError(
            "flow",
            "flows are impaired differently after the bottleneck, wanted the same impairments with --on uml; --on sim"
            " and linux allow it",
        )
    return found[0]


def _times(steps: Steps, repeat_ns: int | None, duration_ns: int) -> Iterator[tuple[int, Any]]:
    """Each change of a value during the run: when it happens, ns after the start, and the new value."""
    begin = 0
    while steps and begin < duration_ns:
        for at, value in steps:
            if 0 < begin + at < duration_ns:
                yield begin + at, value
        if not repeat_ns:
            return
        begin += repeat_ns


def _specification(plan: Plan, net: _Net, loaded: Loaded) -> str:
    """What the agent does; `agent/agent.c` says how it is written."""
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
    for name in net.hosts:
        host = _tuned(plan, host_of(plan, own[name])) if name in own else tuned
        lines += [f"set {name} {one}" for one in (host if name[0] in "sde" else ["net/ipv4/ip_forward 1"])]
    merges = int(plan["host"]["gro"])
    whole = [host["nic"] == "virtual" for host in _hosts(plan)]
    for name, devices in net.devices.items():
        segments = int(whole[int(name[1:])] if name[0] == "s" else any(whole))
        lines += [f"offloads {name} {device} {segments} {merges if name[0] in 'de' else 0}" for device in devices]
    lines += [f"queue {name} {device}" for name, device in net.shaped]
    lines += [f"netem {name} {device} {i}" for name, device, i in net.impaired if i < len(plan["flows"])]
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
    one: Plan = {**plan, "host": host, "flows": flows}
    return [f"{name.replace('.', '/')} {value}" for name, value in sysctls(one).items()]


def _settings(plan: Plan, flow: FlowPlan) -> dict[str, int]:
    """What a flow's application and its sockets are set to."""
    from dumbbell import _native

    host, work = plan["host"], flow["workload"]
    is_iperf3 = host["traffic"] == "iperf3"
    made = {"block": _WRITES[host["traffic"]], "nodelay": int(host["nodelay"])}
    if flow["size_bytes"] is not None:
        size = flow["size_bytes"]
        if is_iperf3:
            size = _native.iperf3_bytes(size) - _GREETING
            made["block"] = -(-size // -(-flow["size_bytes"] // _WRITES["iperf3"]))
        made["size"] = size
    if is_iperf3 and work is None:
        made["greeting"] = _GREETING
    if host["traffic"] == "auto" and flow["size_bytes"] is None and work is None:
        made["lowat"] = _LOWAT
    if flow["max_rate_bps"] is not None:
        made["max_rate"] = flow["max_rate_bps"] // 8
    return made if work is None else {**made, **_APPLICATIONS[work["kind"]](work)}


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
    made: list[int] = []
    left = flow["stop_ns"] - flow["start_ns"]
    while left > 0 and len(made) < _LENGTHS_MAX:
        drawn = [_drawn(turn, random) for turn in turns]
        made += drawn
        left -= sum(drawn)
    return made


def _drawn(turn: Settings, random: Random) -> int:
    mean: int = turn["ns"]
    return round(-math.log(1 - random.random()) * mean) if turn["exponential"] else mean


#: Lengths that are drawn for a flow; after these they begin again.
_LENGTHS_MAX = 100_000


def refuse(plan: Plan) -> None:
    """Raise ScenarioError for what of a plan the guest cannot do."""
    host = plan["host"]
    if len(_routed(plan)) > FLOWS_MAX:
        raise ScenarioError("flow", f"{len(_routed(plan))} flows in all, wanted at most {FLOWS_MAX} with --on uml")
    if plan["record"]["pcap"]:
        raise ScenarioError("record.pcap", "got true, wanted false with --on uml; --on sim and linux capture packets")
    if plan["links"][1:]:
        raise ScenarioError(
            "link", "got one, wanted none with --on uml: there is one bottleneck a way; --on sim and linux have more"
        )
    refuse_hosts(plan, ("qdisc", "tso", "nic", "ecn", "sndbuf_bytes"), "with --on uml")
    if host["ecn"] == "accurate":
        raise wrong("host.ecn", "accurate", "false or classic: this Linux has no AccECN; --on sim has it")
    if not host["shared_processor"]:
        raise ScenarioError(
            "host.processors", 'got "own", wanted "one": the guest has one processor; --on sim has more'
        )
    for i, flow in enumerate(plan["flows"]):
        if flow["transport"]["kind"] != "tcp":
            raise ScenarioError(
                f"flow[{i}].transport",
                f"got {flow['transport']['kind']}, wanted tcp, the kernel's own; --on sim has it",
            )
    for link in (*plan["links"], *plan["ack_links"]):
        tc.refuse(link, in_virtual_time=True)
        tc.leaf(link["qdisc"])
    _Net(plan)
