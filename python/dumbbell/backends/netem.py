"""The papers' own way: the kernel's TCP and iperf3 in network namespaces, with the kernel's tbf, netem and queue
disciplines between them.

    s --- a ===lanes=== b --- c --- d        s senders, d receivers; a, b, c route

The bottleneck is on b towards c. A lane is a pair of devices between a and b with netem at both ends, one for all flows
whose path is impaired in the same way; what impairs packets after the bottleneck is netem on c towards d.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import EngineError, ScenarioError

from . import linux, pair, script, tc
from .collected import Collected
from .session import Host, Session
from .tc import Argv

if TYPE_CHECKING:
    from dumbbell.runs.plan_types import FlowPlan, HostPlan, Plan

    from .request import Request

#: Names of the namespaces begin with it; the process that made them follows.
_PREFIX = "dumbbell-"
#: Where the sessions are.
_WHERE = Path("/run")
#: Lanes, and flows in one: both are a number of an address, 10.1.LANE.FLOW.
_LANES_MAX, _LANE_FLOWS_MAX = 250, 250


class Lane(NamedTuple):
    """How packets of some flows are impaired: before the bottleneck, after it, and in the return direction."""

    before: Argv | None
    after: Argv | None
    back: Argv | None


class Topology(NamedTuple):
    """Commands that build a path, those of the bottleneck's router, and where the flows end."""

    build: list[Argv]
    ends: list[script.Ends]
    handle: str


def check(request: Request) -> None:
    """Raise ScenarioError for what of a plan this back end cannot do, EngineError for what this machine lacks."""
    pair.refuse(request)
    planned = request.planned
    try:
        made = topology(planned.plan, "check-", [flow["cca"] for flow in planned.plan["flows"]])
    except ScenarioError as error:
        raise error.under(planned.name) from None
    linux.wanted(planned.plan)
    if os.geteuid() != 0:
        raise EngineError("--on netem: needs root, to create network namespaces and queue disciplines")
    for program in ("ip", "tc", "ss", "iperf3", "sysctl", "setsid", "unshare", "timeout"):
        if shutil.which(program) is None:
            raise EngineError(
                f"--on netem: needs the program {program}, which is not in PATH (Debian: iproute2, iperf3, procps,"
                " util-linux, coreutils)"
            )
    kinds = dict.fromkeys(kind for argv in made.build if (kind := tc.kind_of(_inner(argv))) and not _is_optional(argv))
    missing = [str(tc.module(f"tc qdisc add dev lo root {kind}")) for kind in kinds if not _has(kind)]
    if missing:
        raise EngineError(f"--on netem: this kernel has no module {', '.join(missing)}; --on linux needs none of them")


@cache
def _has(kind: str) -> bool:
    """Whether the kernel has this queue discipline: asked in a namespace that is gone with the question."""
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
    tuned = script.sysctls(plan)
    with ExitStack() as stack:
        ccas = stack.enter_context(linux.controllers(plan))
        made = topology(plan, prefix, ccas)
        warnings = stack.enter_context(_built(made, prefix))
        near, far = (
            Session(Host(name, ("ip", "netns", "exec", f"{prefix}{name}")), str(_WHERE / f"{prefix}{name}"))
            for name in "sd"
        )
        queue = script.Queue(
            ("ip", "netns", "exec", f"{prefix}b", "tc", "-s", "qdisc", "show", "dev", "out"), made.handle
        )
        sender, receiver = (
            script.sender(plan, tuned, (), made.ends, ccas),
            script.receiver(plan, tuned, (), made.ends, queue),
        )
        both = pair.Pair(near, far, sender, receiver, made.handle)

        def more(_: Collected) -> tuple[dict[str, Any], list[str]]:
            return {
                "hosts": {"commands": [" ".join(argv) for argv in made.build], "controllers": ccas, "sysctls": tuned}
            }, warnings

        return pair.run(request, folder, both, more=more)


@contextmanager
def _built(made: Topology, prefix: str) -> Iterator[list[str]]:
    """The path for as long as the run lasts; what its hosts do otherwise than planned."""
    warnings: list[str] = []
    try:
        for argv in made.build:
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
    names = [str(one["name"]) for one in json.loads(listed or "[]")]
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
    return "near" in argv and "qdisc" in argv


def topology(plan: Plan, prefix: str, ccas: Sequence[str]) -> Topology:
    """The whole path as commands, for flows with these controllers of the kernel's; raises ScenarioError for what netem
    cannot do.
    """
    lanes: list[Lane] = []
    where: list[int] = []
    for i, flow in enumerate(plan["flows"]):
        lane = _lane(flow, f"flow[{i}]")
        if lane not in lanes:
            lanes.append(lane)
        where.append(lanes.index(lane))
    if len(lanes) > _LANES_MAX:
        raise ScenarioError("flow", f"{len(lanes)} different paths, wanted at most {_LANES_MAX} with --on netem")
    if len({lane.after for lane in lanes}) > 1:
        raise ScenarioError(
            "flow",
            "flows are impaired differently after the bottleneck, wanted the same impairments with --on netem;"
            " --on linux allows it",
        )
    ends, counts = [], [0] * len(lanes)
    for i, lane_number in enumerate(where):
        counts[lane_number] += 1
        if counts[lane_number] > _LANE_FLOWS_MAX:
            raise ScenarioError("flow", f"more than {_LANE_FLOWS_MAX} flows on one path, wanted fewer with --on netem")
        host = f"{lane_number + 1}.{counts[lane_number]}"
        ends.append(script.Ends(f"10.1.{host}", f"10.2.{host}", script.SERVER_PORT, script.DATA_PORT + i))
    shaped = tc.shaped(plan["links"][0], "out", "tbf")
    net = _Net(prefix)
    net.hosts()
    net.link("s", "near", "a", "near")
    for number, lane in enumerate(lanes, 1):
        net.lane(number, lane)
    net.link("b", "out", "c", "in")
    net.link("c", "far", "d", "far")
    net.routes(len(lanes), delayed_ack=plan["host"]["delayed_ack"])
    net.controllers(ends, ccas, script.asking_for_ecn(plan))
    net.host_devices(plan["host"])
    if lanes[0].after:
        net.at("c", "tc", "qdisc", "add", "dev", "far", "root", *lanes[0].after)
    for step in shaped.steps:
        net.at("b", *step.do)
    return Topology(net.commands, ends, shaped.handle)


def _lane(flow: FlowPlan, at: str) -> Lane:
    forward, back = flow["forward"], flow["back"]
    there = [stage["kind"] for stage in forward].index("link")
    return Lane(tc.netem(forward[:there], at), tc.netem(forward[there + 1 :], at), tc.netem(back, at))


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

    def controllers(self, ends: Sequence[script.Ends], ccas: Sequence[str], asking: Sequence[bool]) -> None:
        """A way to each flow's receiver that names its controller, so that its socket has it from the first packet on,
        and asks for ECN where not all flows do.

        iperf3 asks for one only when it has connected, and until then the machine's default drives the socket: where
        that is BBR, every flow stays paced.
        """
        for one, cca, asks in zip(ends, ccas, asking):
            ecn = ("features", "ecn") if asks else ()
            self.at("s", "ip", "route", "add", one.target, "via", "10.0.1.2", "congctl", cca, *ecn)

    def host_devices(self, host: HostPlan) -> None:
        """The senders' queue discipline and size of bursts."""
        kind = (
            ("fq", "limit", "1000000", "flow_limit", "100000")
            if host["qdisc"] == "fq"
            else ("pfifo", "limit", "100000")
        )
        self.at("s", "tc", "qdisc", "add", "dev", "near", "root", *kind)
        if not host["tso"]:
            self.at("s", "ip", "link", "set", "near", "gso_max_segs", "1")
