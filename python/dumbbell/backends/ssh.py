"""Two hosts far away: the flows of a scenario between them over the path that there is, with its bottleneck's queue at
the receiver.

    --on 'ssh://[user@]sender[:port],[user@]receiver[:port][?to=ADDRESS&from=ADDRESS&iface=DEVICE&port=5201]'

Packets of the flows, and no others, go through an ifb device of the receiver with htb and the scenario's queue
discipline, as Borgli and Misund had it. The hosts run scripts in sessions of their own, so that a run goes on while the
connection to them is lost. Names, keys and jump hosts are those of the user's ssh configuration.
"""

from __future__ import annotations

import ipaddress
import os
import shlex
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import EngineError, ScenarioError, wrong
from dumbbell.scenario.host import INITIAL_WINDOW

from . import pair, script, tc
from .collected import Collected
from .session import Host, Session
from .ssh_target import Target, target
from .tc import Argv, Step

if TYPE_CHECKING:
    from pathlib import Path

    from dumbbell.plan.types import FlowPlan, LinkPlan, Plan, ProbePlan

    from .request import Request

#: Instead of ``ssh``, with options, as in GIT_SSH_COMMAND.
_COMMAND = "DUMBBELL_SSH"
#: Nobody is there to answer; and a connection that is dead is found dead within 15 s (ssh_config(5)).
_OPTIONS = (
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=15",
    "-o",
    "ServerAliveInterval=5",
    "-o",
    "ServerAliveCountMax=3",
)
#: Where the sessions are on the hosts: only root may write there, and a restart of the host clears it.
SENDER_FOLDER, RECEIVER_FOLDER = "/run/dumbbell-sender", "/run/dumbbell-receiver"
#: Device of the receiver in which the bottleneck is.
DEVICE = "dumbbell0"
#: Controllers of Linux that leave pacing alone: all that it has (6.18) but BBR. What is not among them (bbr*, prague, a
#: module of one's own) is taken for one that asks for pacing when a socket gets it (sk_pacing_status), which Linux does
#: not take back when the socket gets another.
_UNPACED = {
    "reno",
    "cubic",
    "bic",
    "westwood",
    "htcp",
    "hybla",
    "vegas",
    "nv",
    "scalable",
    "lp",
    "veno",
    "yeah",
    "illinois",
    "dctcp",
    "cdg",
    "highspeed",
}
#: Share of the planned RTT by which the path's may differ before the result says so.
_RTT_OFF = 0.2


class Facts(NamedTuple):
    """Facts of the hosts that a run needs."""

    source: str
    target: str
    iface: str
    controllers: tuple[str, ...]
    default: str
    kernels: dict[str, str]
    skew_ns: int
    near_iface: str = ""
    far_default: str = ""


def check(request: Request) -> None:
    """Raise ScenarioError for what of a plan two hosts on a path of their own cannot do; the hosts are not asked
    yet.
    """
    given, planned = target(request.on), request.planned
    pair.refuse(request)
    try:
        _check_path(planned.plan)
        if given.port + len(planned.plan["flows"]) > 65_536:
            raise wrong("--on", given.port, f"a port followed by {len(planned.plan['flows'])} others")
    except ScenarioError as error:
        raise error.under(planned.name) from None


def _is_left_alone(flow: FlowPlan | ProbePlan) -> bool:
    """True if a flow's packets meet nothing but a constant delay and the bottleneck of each way."""
    down, up = flow["forward"], flow["back"]
    if flow.get("direction") == "up":
        down, up = up, down
    kinds = [[stage["kind"] for stage in stages] for stages in (down, up)]
    delays = [stage for stage in (*down, *up) if stage["kind"] == "delay"]
    varies = any(delay.get(name) for delay in delays for name in ("steps", "jitter", "reorder", "slot"))
    return kinds[0] == ["delay", "link"] and kinds[1] in (["delay"], ["link", "delay"]) and not varies


def _check_path(plan: Plan) -> None:
    for i, flow in enumerate(plan["flows"]):
        if flow["params"]:
            raise ScenarioError(
                f"flow[{i}].params",
                "got parameters, wanted none with --on ssh: the hosts run their own controllers unchanged",
            )
    routed: list[FlowPlan | ProbePlan] = [*plan["flows"], *plan.get("probes", [])]
    for i, item in enumerate(routed):
        if item["rtt_ns"] != plan["flows"][0]["rtt_ns"]:
            raise ScenarioError(
                f"flow[{i if i < len(plan['flows']) else item['table']}].rtt",
                "differs from another flow's, wanted the same for all flows with --on ssh: there is one real path",
            )
        if not _is_left_alone(item):
            raise ScenarioError(
                "path",
                "loses, delays or reorders packets, wanted no impairment with --on ssh, whose path is real; --on netem"
                " and --on linux can do this",
            )
    host = plan["host"]
    if host["nic"] == "virtual":
        raise wrong("host.nic", "virtual", "physical with --on ssh, whose hosts have the interfaces they have")
    for key, is_on in (("tso", host["tso"]), ("delayed_ack", host["delayed_ack"])):
        if not is_on:
            raise ScenarioError(
                f"host.{key}",
                "got false, wanted true with --on ssh, which does not change the hosts' devices and routes",
            )
    _check_windows(plan)


def _check_windows(plan: Plan) -> None:
    """Raise ScenarioError for a window at the start that only a route could set."""
    for i, flow in enumerate(plan["flows"]):
        if script.initcwnd(plan, i):
            at = f"flow[{i}].host" if "initial_window" in flow["host"] else "host"
            accepted = f"{INITIAL_WINDOW}, Linux's own, with --on ssh, which does not change the hosts' routes"
            raise wrong(f"{at}.initial_window", script.initial_window(plan, i), accepted)


def run(request: Request, folder: Path) -> dict[str, Any]:
    """Run one plan into `folder`, as `sim.run` does, and return its manifest."""
    check(request)
    given, plan = target(request.on), request.planned.plan
    ssh = (*shlex.split(os.environ.get(_COMMAND, "ssh")), *_OPTIONS)
    sender = Session(Host("sender " + given.sender[-1], (*ssh, *given.sender), True), SENDER_FOLDER)
    receiver = Session(Host("receiver " + given.receiver[-1], (*ssh, *given.receiver), True), RECEIVER_FOLDER)
    facts = _ask(given, sender.host, receiver.host, plan)
    ends = ends_of(plan, facts, given.port)
    steps, handle = bottleneck(plan, facts, given.port)
    near_steps, near_handle = upward(plan, facts, given.port)
    tuned = script.sysctls(plan)
    counters = ("tc", "-s", "qdisc", "show", "dev", DEVICE)
    queues = [script.Queue(counters, handle)]
    ccas = [flow["cca"] for flow in plan["flows"]]
    if script.is_two_way(plan):
        queues += [script.Queue(counters, near_handle, "sender")] if near_steps else []
        ways = script.ways(plan, queues, "python3")
        scripts = [
            script.both_ways(plan, tuned, its_steps, (ends, ccas), ways[host])
            for host, its_steps in (("sender", near_steps), ("receiver", steps))
        ]
    else:
        scripts = [
            script.sender(plan, tuned, near_steps, ends, ccas),
            script.receiver(plan, tuned, steps, ends, queues[0]),
        ]
    both = pair.Pair(sender, receiver, scripts[0], scripts[1], queues, facts.skew_ns)

    def more(collected: Collected) -> tuple[dict[str, Any], list[str]]:
        where = {
            "sender": given.sender[-1],
            "receiver": given.receiver[-1],
            "from": facts.source,
            "to": facts.target,
            "iface": facts.iface,
        }
        commands = [shlex.join(step.do) for step in (*steps, *near_steps)]
        hosts = {
            **where,
            "kernels": facts.kernels,
            "default_controller": facts.default,
            "commands": commands,
            "sysctls": tuned,
            "skew_ms": facts.skew_ns / 1e6,
        }
        return {"hosts": hosts}, [
            *_path_warnings(plan, collected),
            *default_warnings(plan, facts.default, facts.far_default),
        ]

    return pair.run(request, folder, both, more=more)


def _path_warnings(plan: Plan, collected: Collected) -> list[str]:
    """Warnings of a path that differs from the plan."""
    planned = plan["flows"][0]["rtt_ns"] / 1000
    rtts = [rtt for flow in collected.flows if (rtt := flow.totals().get("min_rtt_us"))]
    if not rtts or abs(min(rtts) - planned) <= _RTT_OFF * planned:
        return []
    return [f"path.rtt: the path's own is {min(rtts) / 1000:.3f} ms (smallest measured), not {planned / 1000:.3f} ms"]


def default_warnings(plan: Plan, default: str, far_default: str = "cubic") -> list[str]:
    """True if flows that do not pace themselves are paced all the same, because the default controller of the host that
    sends their data does.
    """
    down, up = ([flow for flow in plan["flows"] if (flow.get("direction") == "up") == is_up] for is_up in (False, True))
    return [*_paced(down, default, "sender"), *_paced(up, far_default, "receiver")]


def _paced(flows: list[FlowPlan], default: str, host: str) -> list[str]:
    ccas = dict.fromkeys(flow["cca"] for flow in flows if flow["cca"] in _UNPACED)
    if default in _UNPACED or not ccas:
        return []
    why = (
        f"{default} drives each socket until iperf3 has connected and asks for another, and Linux never takes its"
        " pacing back"
    )
    cure = f"on the {host}, before a run: sysctl net.ipv4.tcp_congestion_control=cubic"
    return [f"{', '.join(ccas)}: paced by TCP, for the {host}'s default controller is {default}: {why}; {cure}"]


def ends_of(plan: Plan, facts: Facts, port: int) -> list[script.Ends]:
    """Addresses and ports of each flow, then of each series of probes."""
    hosts = (facts.source, facts.target)
    both = enumerate([*plan["flows"], *plan.get("probes", [])])
    return [
        script.Ends(*(hosts[::-1] if item.get("direction") == "up" else hosts), port + i, script.DATA_PORT + i)
        for i, item in both
    ]


def bottleneck(plan: Plan, facts: Facts, port: int) -> tuple[list[Step], str]:
    """Commands at the receiver, and the handle of the queue: what comes of the flows is sent through an ifb device with
    htb (tc-mirred(8)).
    """
    return _ingress(plan, plan["links"][0], facts.iface, facts.source, port)


def upward(plan: Plan, facts: Facts, port: int) -> tuple[list[Step], str]:
    """The same at the sender for the link of the way up: none where there is none."""
    if not plan["ack_links"]:
        return [], ""
    return _ingress(plan, plan["ack_links"][0], facts.near_iface, facts.target, port)


def _ingress(plan: Plan, link: LinkPlan, iface: str, source: str, port: int) -> tuple[list[Step], str]:
    shaped = tc.shaped(link, DEVICE, "htb")
    steps = [
        Step(("ip", "link", "add", "name", DEVICE, "type", "ifb"), ("ip", "link", "delete", DEVICE)),
        Step(("ip", "link", "set", DEVICE, "up")),
        *shaped.steps,
        Step(
            ("tc", "qdisc", "add", "dev", iface, "handle", "ffff:", "ingress"),
            ("tc", "qdisc", "delete", "dev", iface, "ingress"),
        ),
    ]
    chosen = ("tc", "filter", "add", "dev", iface, "parent", "ffff:", "protocol", "ip", "prio", "1", "u32")
    to_ifb = ("action", "mirred", "egress", "redirect", "dev", DEVICE)
    steps += [Step((*chosen, "match", "ip", "src", f"{source}/32", *match, *to_ifb)) for match in _matches(plan, port)]
    return steps, shaped.handle


def _matches(plan: Plan, port: int) -> list[Argv]:
    """Filters for packets of the flows: their data, which go to the servers' ports, and where the link has more than
    data, acknowledgements and probes, which go to those of the clients.
    """
    flows, probes = len(plan["flows"]), len(plan.get("probes", []))
    ports = [("6", covering(port, flows))]
    if plan["ack_links"] or script.is_two_way(plan):
        ports.append(("6", covering(script.DATA_PORT, flows)))
    if probes:
        ports.append(("17", covering(script.DATA_PORT, flows + probes)))
    return [
        ("match", "ip", "protocol", protocol, "0xff", "match", "ip", "dport", str(first), f"{mask:#06x}")
        for protocol, (first, mask) in ports
    ]


def covering(port: int, count: int) -> tuple[int, int]:
    """The smallest block of ports that one mask selects and that has `count` of them from `port` on: its first, and the
    mask.

    >>> covering(5201, 1), covering(5201, 2)
    ((5201, 65535), (5200, 65532))
    """
    bits = 0
    while port >> bits != (port + count - 1) >> bits:
        bits += 1
    return port >> bits << bits, 0xFFFF >> bits << bits


_FACTS = """\
for program in iperf3 ss tc ip setsid timeout tar find {python}; do
  command -v $program >/dev/null || {{ echo "no $program in PATH" >&2; exit 1; }}
done
case $(date +%N) in ''|*[!0-9]*) echo "date knows no nanoseconds (coreutils)" >&2; exit 1 ;; esac
[ "$(id -u)" = 0 ] || {{ echo "no root, and no sudo without a password" >&2; exit 1; }}
{more}
echo "kernel $(uname -r)"
echo "address $(echo $SSH_CONNECTION | cut -d' ' -f3)"
echo "clock $(date +%s%N)"
"""

_CONTROLLERS = """\
for cca in {ccas}; do
  grep -qw "$cca" /proc/sys/net/ipv4/tcp_available_congestion_control || modprobe -q "tcp_$cca" 2>/dev/null || :
done
echo "controllers $(cat /proc/sys/net/ipv4/tcp_available_congestion_control)"
echo "default $(cat /proc/sys/net/ipv4/tcp_congestion_control)"
echo "route $(ip -o -4 route get {other})"
"""

_DEVICE_FACTS = """\
iface={iface}
[ -n "$iface" ] || iface=$(ip -o -4 route get {other} | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p')
[ -e "/sys/class/net/$iface" ] || ip link show dev "$iface" >/dev/null || exit 1
echo "iface $iface"
if [ ! -e {folder} ]; then
  ip link delete {device} 2>/dev/null && tc qdisc delete dev "$iface" ingress 2>/dev/null
  if tc qdisc show dev "$iface" | grep -Eq '^qdisc (ingress|clsact) '; then
    echo "$iface has an ingress queue discipline already" >&2; exit 1; fi
fi
"""


def _facts_of(plan: Plan, other: str, folder: str, *, iface: str, queues: bool) -> str:
    """Script that asks a host for its facts; `queues`: a link's queue will be there."""
    ccas = shlex.join(dict.fromkeys(flow["cca"] for flow in plan["flows"]))
    more = _CONTROLLERS.format(ccas=ccas, other=other)
    if queues:
        more += _DEVICE_FACTS.format(other=other, iface=shlex.quote(iface), device=DEVICE, folder=folder)
    return _FACTS.format(more=more, python="python3" if plan.get("probes") else "")


def _ask(given: Target, sender: Host, receiver: Host, plan: Plan) -> Facts:
    """Everything that has to be right before anything starts; raises EngineError for the first thing that is not."""
    to = given.to or _said(receiver, _FACTS.format(more="", python=""))[0].get("address", "")
    try:
        ipaddress.IPv4Address(to)
    except ValueError:
        raise EngineError(
            f"{receiver.name}: reached at {to or 'an unknown address'}, wanted the IPv4 address to which flows go:"
            " ?to=ADDRESS"
        ) from None
    near_asked = _facts_of(plan, to, SENDER_FOLDER, iface="", queues=bool(plan["ack_links"]))
    near, near_skew = _said(sender, near_asked)
    source = given.source or _after(near["route"], "src")
    if source is None:
        raise EngineError(f"{sender.name}: no route to {to}")
    far_asked = _facts_of(plan, source, RECEIVER_FOLDER, iface=given.iface or "", queues=True)
    far, far_skew = _said(receiver, far_asked)
    _check_controllers(plan, {False: (sender, near), True: (receiver, far)})
    return Facts(
        source,
        to,
        far["iface"],
        tuple(near["controllers"].split()),
        near["default"],
        {"sender": near["kernel"], "receiver": far["kernel"]},
        far_skew - near_skew,
        near.get("iface", ""),
        far["default"],
    )


def _check_controllers(plan: Plan, hosts: dict[bool, tuple[Host, dict[str, str]]]) -> None:
    """Raise ScenarioError for a controller that the host that sends a flow's data, by whether it goes up, lacks."""
    for i, flow in enumerate(plan["flows"]):
        host, said = hosts[flow.get("direction") == "up"]
        known = said["controllers"].split()
        if flow["cca"] not in known:
            raise wrong(f"flow[{i}].cca", flow["cca"], f"one that {host.name} has: {', '.join(known)}", known)


def _said(host: Host, asked: str) -> tuple[dict[str, str], int]:
    """Facts of a host by word, and how far its clock is ahead of ours (less the way of its last word), ns."""
    out = host.ask(asked)
    now = time.time_ns()
    lines = (line.partition(" ") for line in out.decode(errors="replace").splitlines())
    facts = {word: rest.strip() for word, _, rest in lines}
    return facts, int(facts["clock"]) - now


def _after(text: str, word: str) -> str | None:
    words = text.split()
    return words[words.index(word) + 1] if word in words[:-1] else None
