"""The papers' own way: the kernel's TCP and iperf3 in network namespaces, with the kernel's tbf, netem and queue
disciplines between them.

    s --- a ===lanes=== b --- c --- d        s senders, d receivers; a, b, c route

The bottleneck is on b towards c. A lane is a pair of devices between a and b with netem at both ends, one for all flows
whose path is impaired in the same way; what impairs packets after the bottleneck is netem on c towards d.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.controllers import facts_of
from dumbbell.errors import EngineError, ScenarioError

from . import linux, pair, script, tc
from .collected import Collected
from .session import Host, Session
from .tc import Argv

if TYPE_CHECKING:
    from dumbbell.plan.types import FlowPlan, Plan, ProbePlan, Stage

    from .request import Request

#: Names of the namespaces begin with it; the process that made them follows.
_PREFIX = "dumbbell-"
#: Where the sessions are.
_WHERE = Path("/run")
#: Lanes, and flows in one: both are a number of an address, 10.1.LANE.FLOW.
_LANES_MAX, _LANE_FLOWS_MAX = 250, 250


class Lane(NamedTuple):
    """Impairments of some flows: before the bottleneck, after it, and in the return direction."""

    before: Argv | None
    after: Argv | None
    back: Argv | None


class Topology(NamedTuple):
    """Commands that build a path, where the flows and after them the series of probes end, and the devices of its links
    with the handles of their queues.
    """

    build: list[Argv]
    ends: list[script.Ends]
    links: list[tuple[str, str, str]]


def check(request: Request) -> None:
    """Raise ScenarioError for what of a plan this back end cannot do, EngineError for what this machine lacks."""
    pair.refuse(request)
    planned = request.planned
    try:
        path = topology(planned.plan, "check-", [flow["cca"] for flow in planned.plan["flows"]])
    except ScenarioError as error:
        raise error.under(planned.name) from None
    linux.wanted(planned.plan)
    if os.geteuid() != 0:
        raise EngineError("--on netem: needs root, to create network namespaces and queue disciplines")
    linux.refuse_ecn(request)
    for program in ("ip", "tc", "ss", "iperf3", "sysctl", "setsid", "unshare", "timeout"):
        if shutil.which(program) is None:
            raise EngineError(
                f"--on netem: needs the program {program}, which is not in PATH (Debian: iproute2, iperf3, procps,"
                " util-linux, coreutils)"
            )
    kinds = dict.fromkeys(kind for argv in path.build if (kind := tc.kind_of(_inner(argv))) and not _is_optional(argv))
    missing = [str(tc.module(f"tc qdisc add dev lo root {kind}")) for kind in kinds if not _has(kind)]
    if missing:
        raise EngineError(f"--on netem: this kernel has no module {', '.join(missing)}; --on linux needs none of them")


def warnings(request: Request) -> list[str]:
    """Warnings that every result of this plan has."""
    return linux.warnings(request)


@cache
def _has(kind: str) -> bool:
    """True if the kernel has this queue discipline: asked in a namespace that is gone with the question."""
    options = {
        "tbf": "rate 1mbit burst 3028b limit 30280b",
        "netem": "delay 1ms",
        "red": "limit 60000 avpkt 1000 bandwidth 1mbit",
    }.get(kind, "")
    asked = subprocess.run(
        ["unshare", "-n", "tc", *f"qdisc add dev lo root {kind} {options}".split()],
        capture_output=True,
        text=True,
        check=False,
    )
    return "kind is unknown" not in asked.stderr


def run(request: Request, folder: Path) -> dict[str, Any]:
    """Run one plan into `folder`, as `sim.run` does, and return its manifest."""
    check(request)
    clean()
    prefix = f"{_PREFIX}{os.getpid()}-"
    plan = request.planned.plan
    tuned = script.sysctls(plan) | script.in_one_kernel()
    with ExitStack() as stack:
        ccas = stack.enter_context(linux.controllers(plan))
        path = topology(plan, prefix, ccas)
        warnings = stack.enter_context(_built(path, prefix))
        near, far = (
            Session(Host(name, ("ip", "netns", "exec", f"{prefix}{name}")), str(_WHERE / f"{prefix}{name}"))
            for name in "sd"
        )
        queues = _queues(path, prefix, is_two_way=script.is_two_way(plan))
        if script.is_two_way(plan):
            ways = script.ways(plan, queues, shlex.quote(sys.executable))
            sender, receiver = (
                script.both_ways(plan, tuned, (), (path.ends, ccas), ways[host]) for host in ("sender", "receiver")
            )
        else:
            sender = script.sender(plan, tuned, (), path.ends, ccas)
            receiver = script.receiver(plan, tuned, (), path.ends, queues[0])
        both = pair.Pair(near, far, sender, receiver, queues)

        def more(_: Collected) -> tuple[dict[str, Any], list[str]]:
            return {
                "hosts": {"commands": [" ".join(argv) for argv in path.build], "controllers": ccas, "sysctls": tuned}
            }, [*warnings, *linux.ecn_warnings(plan)]

        return pair.run(request, folder, both, more=more)


def _queues(path: Topology, prefix: str, *, is_two_way: bool) -> list[script.Queue]:
    """Queues whose counters are recorded; that of the way up where data use it."""
    return [
        script.Queue(
            ("ip", "netns", "exec", f"{prefix}{router}", "tc", "-s", "qdisc", "show", "dev", device),
            handle,
            file=f"queue{i or ''}.txt",
        )
        for i, (router, device, handle) in enumerate(path.links if is_two_way else path.links[:1])
    ]


@contextmanager
def _built(path: Topology, prefix: str) -> Iterator[list[str]]:
    """The path for as long as the run lasts; what its hosts do otherwise than planned."""
    warnings: list[str] = []
    try:
        for argv in path.build:
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            if done.returncode and _is_optional(argv):
                warnings.append(
                    f"host.qdisc: this kernel has no {_inner(argv)[-1] if 'fq' not in argv else 'fq'}, senders are"
                    " paced by TCP's own timer"
                )
            elif done.returncode:
                raise pair.explained(EngineError(f"{' '.join(_inner(argv))}: {done.stderr.strip()}"))
        yield warnings
    finally:
        _remove(prefix)


def clean() -> None:
    """Remove what a command left that was killed: namespaces of a process that is no more, with the processes in them,
    and folders.
    """
    listed = subprocess.run(["ip", "-j", "netns", "list"], capture_output=True, text=True, check=False).stdout
    names = [str(namespace["name"]) for namespace in json.loads(listed or "[]")]
    names += [path.name for path in _WHERE.glob(f"{_PREFIX}[0-9]*-[sd]")]
    owners = {name.split("-")[1] for name in names if name.startswith(_PREFIX)}
    for owner in sorted(owners):
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            _remove(f"{_PREFIX}{owner}-")


def _remove(prefix: str) -> None:
    for letter in "sdabc":
        name = f"{prefix}{letter}"
        inside = subprocess.run(
            ["ip", "netns", "pids", name], capture_output=True, text=True, check=False
        ).stdout.split()
        for pid in inside:
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                continue
        subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)
        shutil.rmtree(_WHERE / name, ignore_errors=True)


def _inner(argv: Argv) -> Argv:
    """The command within ``ip netns exec NAME``."""
    return argv[4:] if argv[:3] == ("ip", "netns", "exec") else argv


def _is_optional(argv: Argv) -> bool:
    """The senders' own queue discipline, without which TCP paces by itself."""
    is_host = "near" in argv or (argv[3:4] and argv[3].endswith("d") and "far" in argv)
    return bool(is_host) and "qdisc" in argv


def topology(plan: Plan, prefix: str, ccas: Sequence[str]) -> Topology:
    """The whole path as commands, for flows with these controllers of the kernel's; raises ScenarioError for what netem
    cannot do.
    """
    routed: list[FlowPlan | ProbePlan] = [*plan["flows"], *plan.get("probes", [])]
    lanes, where = _lanes(routed)
    ends, counts = [], [0] * len(lanes)
    for i, (item, lane_number) in enumerate(zip(routed, where)):
        counts[lane_number] += 1
        if counts[lane_number] > _LANE_FLOWS_MAX:
            raise ScenarioError("flow", f"more than {_LANE_FLOWS_MAX} flows on one path, wanted fewer with --on netem")
        host = f"{lane_number + 1}.{counts[lane_number]}"
        source, target = (f"10.{net}.{host}" for net in ((2, 1) if item.get("direction") == "up" else (1, 2)))
        ends.append(script.Ends(source, target, script.SERVER_PORT, script.DATA_PORT + i))
    net = _Net(prefix)
    net.hosts()
    net.link("s", "near", "a", "near")
    for number, lane in enumerate(lanes, 1):
        net.lane(number, lane)
    net.link("b", "out", "c", "in")
    net.link("c", "far", "d", "far")
    net.routes(len(lanes), delayed_ack=plan["host"]["delayed_ack"])
    net.controllers(plan, ends, ccas, far=f"10.0.{len(lanes) + 3}.1")
    net.host_devices(plan)
    if lanes[0].after:
        net.at("c", "tc", "qdisc", "add", "dev", "far", "root", *lanes[0].after)
    links = []
    for link, router, device in [(plan["links"][0], "b", "out"), *((up, "c", "in") for up in plan["ack_links"])]:
        shaped = tc.shaped(link, device, "tbf")
        for step in shaped.steps:
            net.at(router, *step.do)
        links.append((router, device, shaped.handle))
    return Topology(net.commands, ends, links)


def _lanes(routed: Sequence[FlowPlan | ProbePlan]) -> tuple[list[Lane], list[int]]:
    """The lanes of a path, and which one each flow or series takes."""
    lanes: list[Lane] = []
    where: list[int] = []
    for item in routed:
        lane = _lane(item, f"flow[{item['table']}]")
        if lane not in lanes:
            lanes.append(lane)
        where.append(lanes.index(lane))
    if len(routed) > 1 and any("slot" in (words or ()) for lane in lanes for words in lane):
        raise ScenarioError(
            "path.slot",
            "got one with several flows, wanted one flow with --on netem, where flows share its slots; --on sim, linux"
            " and uml give each its own",
        )
    if len(lanes) > _LANES_MAX:
        raise ScenarioError("flow", f"{len(lanes)} different paths, wanted at most {_LANES_MAX} with --on netem")
    if len({lane.after for lane in lanes}) > 1:
        raise ScenarioError(
            "flow",
            "flows are impaired differently after the bottleneck, wanted the same impairments with --on netem;"
            " --on linux allows it",
        )
    return lanes, where


def _lane(flow: FlowPlan | ProbePlan, at: str) -> Lane:
    """Impairments of a flow's packets on their way, and of those that answer them."""
    down, up = flow["forward"], flow["back"]
    if flow.get("direction") == "up":
        down, up = up, down
    there = _place(down)
    before, behind = up[: _place(up, none=0)], up[_place(up, none=-1) + 1 :]
    if tc.netem(before, at):
        raise ScenarioError(
            f"{at}.impair" if len(before) > 1 else f"path.up.{before[0]['kind']}",
            "comes before the link of the way up, wanted it behind that with --on netem"
            ' (path.up.impair = [{ kind = "links" }, ...]); --on linux allows it',
        )
    return Lane(tc.netem(down[:there], at), tc.netem(down[there + 1 :], at), tc.netem(behind, at))


def _place(stages: Sequence[Stage], *, none: int | None = None) -> int:
    """Index of the link among the stages; `none` where there is none."""
    kinds = [stage["kind"] for stage in stages]
    return kinds.index("link") if none is None or "link" in kinds else none


class _Net:
    """Commands, in order."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.commands: list[Argv] = []
        self.links = 0

    def run(self, *argv: str) -> None:
        self.commands.append(argv)

    def at(self, host: str, *argv: str) -> None:
        """A command in a namespace."""
        self.run("ip", "netns", "exec", f"{self.prefix}{host}", *argv)

    def hosts(self) -> None:
        """The namespaces; those between the ends route."""
        for host in "sabcd":
            self.run("ip", "netns", "add", f"{self.prefix}{host}")
            self.at(host, "ip", "link", "set", "lo", "up")
        for host in "abc":
            self.at(host, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
        for host in "sabcd":
            self.at(host, "sysctl", "-q", "-w", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0")
        for host in "sd":  # as in crates/emu: sockets whose process is gone must not hold their memory for minutes
            self.at(host, "sysctl", "-q", "-w", "net.ipv4.tcp_orphan_retries=1")

    def link(self, one: str, one_device: str, other: str, other_device: str) -> None:
        """Two devices joined, each knowing the other's addresses, so that nobody asks for them during a run."""
        self.links += 1
        net = f"10.0.{self.links}"
        ends = ((one, one_device, 1, 2), (other, other_device, 2, 1))
        first, second = (f"02:00:00:00:{self.links:02x}:{end:02x}" for end in (1, 2))
        there = ("peer", "name", other_device, "address", second, "netns", f"{self.prefix}{other}")
        self.run(
            "ip",
            "link",
            "add",
            "name",
            one_device,
            "address",
            first,
            "netns",
            f"{self.prefix}{one}",
            "type",
            "veth",
            *there,
        )
        for host, device, mine, theirs in ends:
            self.at(host, "ip", "address", "add", f"{net}.{mine}/30", "dev", device)
            self.at(host, "ip", "link", "set", device, "up", "txqueuelen", "1000")
            self.at(
                host,
                "ip",
                "neighbour",
                "replace",
                f"{net}.{theirs}",
                "lladdr",
                (first, second)[theirs - 1],
                "dev",
                device,
                "nud",
                "permanent",
            )

    def lane(self, number: int, lane: Lane) -> None:
        """A pair of devices between the routers, impaired at both ends."""
        name = f"lane{number}"
        self.link("a", name, "b", name)
        net = f"10.0.{self.links}"
        self.at("a", "ip", "route", "add", f"10.2.{number}.0/24", "via", f"{net}.2")
        self.at("b", "ip", "route", "add", f"10.1.{number}.0/24", "via", f"{net}.1")
        for host, what in (("a", lane.before), ("b", lane.back)):
            if what:
                self.at(host, "tc", "qdisc", "add", "dev", name, "root", *what)

    def routes(self, lanes: int, *, delayed_ack: bool) -> None:
        """The rest of the ways: every address of the senders' and of the receivers' network is the host's own."""
        out, far = f"10.0.{lanes + 2}", f"10.0.{lanes + 3}"
        quick = () if delayed_ack else ("quickack", "1")
        for host, own, others, via in (
            ("s", "10.1.0.0/16", "10.2.0.0/16", "10.0.1.2"),
            ("d", "10.2.0.0/16", "10.1.0.0/16", f"{far}.1"),
        ):
            self.at(host, "ip", "route", "add", "local", own, "dev", "lo")
            self.at(host, "ip", "route", "add", others, "via", via, *quick)
        self.at("a", "ip", "route", "add", "10.1.0.0/16", "via", "10.0.1.1")
        self.at("b", "ip", "route", "add", "10.2.0.0/16", "via", f"{out}.2")
        self.at("c", "ip", "route", "add", "10.2.0.0/16", "via", f"{far}.2")
        self.at("c", "ip", "route", "add", "10.1.0.0/16", "via", f"{out}.1")

    def controllers(self, plan: Plan, ends: Sequence[script.Ends], ccas: Sequence[str], *, far: str) -> None:
        """A way to each flow's receiver that names its controller, so that its socket has it from the first packet on,
        with its window at the start, and that asks for ECN where not all flows do. A controller that needs ECN is named
        by the way back, too: a host accepts ECN from one only if its own needs it.

        iperf3 asks for one only when it has connected, and until then the machine's default drives the socket: where
        that is BBR, every flow stays paced.
        """
        quick = () if plan["host"]["delayed_ack"] else ("quickack", "1")
        for i, (flow, end, cca, asks) in enumerate(zip(plan["flows"], ends, ccas, script.asking_for_ecn(plan))):
            there, back = ("s", "10.0.1.2"), ("d", far)
            if flow.get("direction") == "up":
                there, back = back, there
            ecn = ("features", "ecn") if asks else ()
            own = ("congctl", cca, *ecn, *script.initcwnd(plan, i))
            self.at(there[0], "ip", "route", "add", end.target, "via", there[1], *own)
            if facts_of(flow["cca"]).needs_marks:
                self.at(back[0], "ip", "route", "add", end.source, "via", back[1], "congctl", cca, *quick)

    def host_devices(self, plan: Plan) -> None:
        """The senders' queue discipline and size of bursts."""
        host = plan["host"]
        kind = (
            ("fq", "limit", "1000000", "flow_limit", "100000")
            if host["qdisc"] == "fq"
            else ("pfifo", "limit", "100000")
        )
        sending = [("s", "near")]
        sending += [("d", "far")] if any(flow.get("direction") == "up" for flow in plan["flows"]) else []
        for name, device in sending:
            self.at(name, "tc", "qdisc", "add", "dev", device, "root", *kind)
            if not host["tso"]:
                self.at(name, "ip", "link", "set", device, "gso_max_segs", "1")
