r"""The network of a guest, from its plan: namespaces, links, addresses, queue disciplines, and how they change.

    s0 --- m0 ---\                            s a sender's host, d the receivers'
    s1 --- m1 ----  r ===bottleneck=== d      m routers that delay and impair the packets of one flow
    s2 --- m2 ---/                            r the bottleneck's router

Where the way up has a link, a router q is at its end:

    s0 --- m0 ---\                       /--- d
    e1 --- m1 ----  r ===both links=== q ---- n1 --- s1

Flow 1 goes up: its sender is behind q, and its receiver, e, where senders are otherwise; n is there where something
impairs its data before the link. Each flow has a host and a router of its own.

Several links of the way down are each between a router of its own, r, r1, r2, and a hub h:

    s0 --- m0 ---- r  ===bottleneck===\
    s1 --- m1 ---- r1 ====second====== h --- d (or q)
    s2 --- m2 ----/                    |
                                       t0      what follows a link: its delay, and what impairs packets behind it

The hub sends on what comes out of a link by the address that it comes from (routing rules with tables): round t, which
delays it, to the router of the next link of its flow, at last to d. So flows may cross any of the links, in any order.
What goes up passes no link of the way down: from the hub to the flow's first router, and on to m.

Devices have neither segmentation nor merging, so that every queue sees packets of the wire's size; a sender's bursts
are cut behind its queue discipline. With `host.nic = "virtual"` devices segment, as veth does unless told otherwise:
bursts stay whole unless a queue discipline cuts them. What
impairs packets after the bottleneck, where that is the only link, is between r and d (or q), on a router x.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dumbbell.backends import tc
from dumbbell.backends.script import host_of, initcwnd
from dumbbell.errors import ScenarioError

from . import ways

if TYPE_CHECKING:
    from dumbbell.plan.types import FlowPlan, HostPlan, LinkPlan, Plan, ProbePlan, Stage

#: Slowest rate that the guest's shapers can have with a burst of two frames, bit/s: an outage.
_OUTAGE_BPS = 100
#: Number of the hub's first routing table; the kernel's own are 0 and 253 to 255.
_FIRST_TABLE = 1001


class Network:
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
        self._gates: list[str] = []
        self._tables: dict[str, int] = {}
        self._delayers: dict[tuple[object, ...], tuple[str, str]] = {}
        self._addresses = 0
        self._build()

    def files(self) -> dict[str, str]:
        """Batches for `ip` and `tc`."""
        batches = {"namespaces": [f"netns add {name}" for name in self.hosts], "links": self.links}
        batches |= {f"{name}.ip": lines for name, lines in self.hosts.items()}
        batches |= {f"{name}.tc": lines for name, lines in self.queues.items() if lines}
        return {name: "".join(f"{line}\n" for line in lines) for name, lines in batches.items()}

    @property
    def has_hub(self) -> bool:
        """True if the way down has several links."""
        return len(self.plan["links"]) > 1

    def _build(self) -> None:
        plan = self.plan
        _refuse_before_link_up(plan)
        behind = None if self.has_hub else _behind(plan)
        between = [*map(_router, range(1, len(plan["links"]))), "h"] if self.has_hub else ["x"] if behind else []
        ups = plan["ack_links"]
        for name in ("r", *between, *(["q"] if ups else []), "d"):
            self._host(name)
        if self.has_hub:
            last, there = self._hub()
        else:
            last, there = self._behind(behind) if behind else ("r", "bott")
        if ups:
            self._link(last, there, "q", "rise")
            self.hosts["q"].append(f"route add default via {self._near}")
            if behind:
                self.beyond = self._far
            else:
                self.hosts[last].append(f"route add 10.0.0.0/8 via {self._far}")
            last, there = "q", "lan"
        self._link(last, there, "d", "eth0")
        self._receivers(last)
        for i, flow in enumerate(routed(plan)):
            self._flow(i, flow)
        for n, link in enumerate(plan["links"]):
            self._shaped(_router(n), "bott", link)
        if ups:
            self._shaped("q", "rise", ups[0])

    def _behind(self, words: tc.Argv) -> tuple[str, str]:
        """The router x, which impairs what comes out of the bottleneck; its device towards the receivers."""
        self._link("r", "bott", "x", "in")
        self.hosts["r"].append(f"route add 10.0.0.0/8 via {self._far}")
        self.hosts["x"].append(f"route add default via {self._near}")
        self.queues["x"].append(_add("far", words))
        return "x", "far"

    def _hub(self) -> tuple[str, str]:
        """The links of the way down, each from its router to the hub; the hub's device towards the receivers."""
        for n in range(len(self.plan["links"])):
            self._link(_router(n), "bott", "h", f"end{n}")
            self.hosts[_router(n)].append(f"route add 10.0.0.0/8 via {self._far}")
            self._gates.append(self._near)
        return "h", "lan"

    def _receivers(self, last: str) -> None:
        """The receivers' addresses: one, or one for each flow where each is a host of its own, as cake sees it."""
        host = self.plan["host"]
        gate, here = self._near, self._far
        quick = "" if host["delayed_ack"] else " quickack 1"
        self.hosts["d"].append(f"route add default via {gate}{quick}")
        addresses = [here] * len(routed(self.plan))
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
        router, key = f"m{i}", f"flow[{flow['table']}]"
        goes_up = flow.get("direction") == "up"
        there, back = flow["forward"], flow["back"]
        near, down, up = (f"e{i}", back, there) if goes_up else (f"s{i}", there, back)
        self._host(near)
        self._host(router)
        self._link(near, "eth0", router, "lan")
        gate, here = self._far, self._near
        quick = " quickack 1" if goes_up and not self.plan["host"]["delayed_ack"] else ""
        window = "" if goes_up else self._window(i)
        self.hosts[near].append(f"route add default via {gate}{quick}{window}")
        crossed = ways.crossed(down)
        entry = _router(crossed[0].link)
        self._link(router, "wan", entry, f"in{i}")
        self.hosts[router].append(f"route add default via {self._far}")
        self.hosts[entry].append(f"route add {here}/32 via {self._near}")
        if self.has_hub:
            self._cross(i, crossed, here, key)
        before, after = ways.around_link(up)
        if goes_up:
            self.ends.append((f"s{i}", self._sender_up(i, before, key), near, here))
        else:
            self.ends.append((near, here, "d", self._targets[i]))
        self._sender_queue(i)
        self._impair(router, "wan", ways.around_link(down)[0], key, i)
        *early, late = ways.netems(after) or [[]]
        self._impair(entry, f"in{i}", [stage for stages in early for stage in stages], key, i)
        self._impair(router, "lan", late, key, i)

    def _cross(self, i: int, crossed: list[ways.Crossed], here: str, key: str) -> None:
        """The way of what a flow sends down from `here`, from link to link, and of what goes up to it."""
        self.hosts["h"].append(f"route add {here}/32 via {self._gates[crossed[0].link]}")
        for at, (link, after) in enumerate(crossed):
            comes = f"end{link}"
            for number, stages in enumerate(ways.netems(after)):
                gate, back = self._delayer((link, number), stages, key, i)
                if gate:
                    self._send_on(here, comes, gate)
                    comes = back
            if at + 1 < len(crossed):
                self._send_on(here, comes, self._gates[crossed[at + 1].link])

    def _send_on(self, here: str, comes: str, gate: str) -> None:
        """Send what comes from `here` to this device of the hub to this gate."""
        if gate not in self._tables:
            self._tables[gate] = _FIRST_TABLE + len(self._tables)
            self.hosts["h"].append(f"route add default via {gate} table {self._tables[gate]}")
        self.hosts["h"].append(f"rule add from {here} iif {comes} lookup {self._tables[gate]}")

    def _delayer(self, place: tuple[int, int], stages: list[Stage], key: str, i: int) -> tuple[str, str]:
        """The router t that impairs a flow's packets behind a link: its address, and the hub's device to which they
        come back; nothing where they are not impaired. A constant delay is one for all flows; what is random, or
        changes, is the flow's own, as its counters are.
        """
        words = tc.netem(stages, key, in_virtual_time=True)
        if words is None:
            return "", ""
        which = (*place, words, None if ways.is_constant(stages) else i)
        if which not in self._delayers:
            number = len(self._delayers)
            name = f"t{number}"
            self._host(name)
            self._link("h", f"out{number}", name, "in")
            gate = self._far
            self._link(name, "out", "h", f"back{number}")
            self.hosts[name].append(f"route add default via {self._far}")
            if ways.is_constant(stages):
                self.queues[name].append(_add("out", words))
            else:
                self._impair(name, "out", stages, key, i)
            self._delayers[which] = gate, f"back{number}"
        return self._delayers[which]

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
        self.hosts[sender].append(f"route add default via {self._far}{self._window(i)}")
        if before:
            self.hosts["q"].append(f"route add {self._near}/32 via {way}")
        self._reach(f"{self._near}/32")
        return self._near

    def _window(self, i: int) -> str:
        """Window at the start of a flow, as its sender's route has it; series of probes have none."""
        return "".join(f" {word}" for word in initcwnd(self.plan, i)) if i < len(self.plan["flows"]) else ""

    def _sender_queue(self, i: int) -> None:
        sender, host = f"s{i}", hosts(self.plan)[i]
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
            for at, ns in ways.times(stage.get("steps") or [], stage.get("repeat_ns"), self.plan["duration_ns"]):
                now = [{**other, "ns": ns} if other is stage else other for other in stages]
                changed = tc.netem(now, key, in_virtual_time=True)
                self.steps.append((at, 0, router, f"qdisc change dev {device} root {' '.join(changed or ())}"))

    def _shaped(self, router: str, device: str, link: LinkPlan) -> None:
        """A link of the plan, at the end of a device."""
        first = next((max(rate, _OUTAGE_BPS) for at, rate in link["steps"] if not at), link["rate_bps"])
        shaped = tc.shaped({**link, "rate_bps": first}, device, "tbf", in_virtual_time=True)
        self.shaped.append((router, device))
        self.queues[router] += [" ".join(step.do[1:]) for step in shaped.steps]
        if link["policer"] is not None:
            self.queues[router] += [" ".join(words[1:]) for words in tc.policed(link["policer"], device)]
        for at, rate in ways.times(link["steps"], link["repeat_ns"], self.plan["duration_ns"]):
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


def routed(plan: Plan) -> list[FlowPlan | ProbePlan]:
    """The flows, and after them the series of probes: each has hosts and routers of its own."""
    return [*plan["flows"], *plan.get("probes", [])]


def hosts(plan: Plan) -> list[HostPlan]:
    """Settings of the hosts of each flow."""
    flows = [host_of(plan, i) for i in range(len(plan["flows"]))]
    return flows + [plan["host"]] * len(plan.get("probes", []))


def is_up(place: tuple[str, str]) -> bool:
    """True if a netem, by its namespace and device, impairs what goes up."""
    namespace, device = place
    return not (namespace[0] == "t" or (namespace[0] == "m" and device == "wan"))


def _router(link: int) -> str:
    """The router at the beginning of a link of the way down, by the link's number."""
    return f"r{link or ''}"


def _refuse_before_link_up(plan: Plan) -> None:
    """Raise ScenarioError where acknowledgements are impaired before the link of the way up."""
    for flow in routed(plan):
        if flow.get("direction") != "up" and ways.around_link(flow["back"])[0]:
            raise ScenarioError(
                f"path.{plan['ack_links'][0]['name']}",
                "impairs acknowledgements before its link, wanted impairments after it with --on uml"
                ' (impair = [{ kind = "links" }, ...]); --on sim and linux have both',
            )


def _behind(plan: Plan) -> tc.Argv | None:
    """Impairments after the bottleneck, which all flows have in common where that is the only link."""
    netems = []
    for flow in routed(plan):
        stages = ways.around_link(flow["back" if flow.get("direction") == "up" else "forward"])[1]
        if any(stage.get("steps") for stage in stages):
            raise ScenarioError(
                f"flow[{flow['table']}].rtt", "changes after the bottleneck, wanted before it with --on uml"
            )
        netems.append(tc.netem(stages, f"flow[{flow['table']}]", in_virtual_time=True))
    if any(netem != netems[0] for netem in netems):
        raise ScenarioError(
            "flow",
            "flows are impaired differently after the bottleneck, wanted the same impairments with --on uml; --on sim"
            " and linux allow it",
        )
    return netems[0]
