"""Shell scripts that hosts run on their own: each sets the host up, runs its part, and takes back all that it did
however it ends.

The same scripts run in a network namespace (netem) and on a host far away (ssh). Nothing here runs anything.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dumbbell.errors import ScenarioError, wrong
from dumbbell.scenario.host import INITIAL_WINDOW

from . import prober
from .tc import Argv, Step

if TYPE_CHECKING:
    from dumbbell.plan.types import FlowPlan, HostPlan, Plan, ProbePlan

#: First port of the data connections at the sender, one a flow; and where the first iperf3 server listens.
DATA_PORT, SERVER_PORT = 50_000, 5_201
#: More flows than ports between these.
FLOWS_MAX = 2_000
#: How long a receiver waits for a sender that does not come back, beyond the run, s.
PATIENCE_S = 120


class Ends(NamedTuple):
    """Addresses and ports of a flow."""

    source: str
    target: str
    server_port: int
    data_port: int


class Queue(NamedTuple):
    """Command that prints a link's counters, and the host that writes them into a file."""

    command: Argv
    handle: str
    host: str = "receiver"
    file: str = "queue.txt"


class Way(NamedTuple):
    """Part of a host where data, or probes, go both ways: flows and series by their number in the plan."""

    queues: Sequence[Queue]
    sends: Collection[int]
    serves: Collection[int]
    asks: Collection[int]
    answers: Collection[int]
    python: str


def is_two_way(plan: Plan) -> bool:
    """True if both hosts send data or probes, or answer probes."""
    return bool(plan.get("probes")) or any(_is_up(flow) for flow in plan["flows"])


def _is_up(item: FlowPlan | ProbePlan) -> bool:
    return item.get("direction") == "up"


def ways(plan: Plan, queues: Sequence[Queue], python: str) -> dict[str, Way]:
    """Part of each host; `python` runs a program there."""
    up = [_is_up(flow) for flow in plan["flows"]]
    asks_up = [_is_up(probe) for probe in plan.get("probes", [])]

    def those(all_: Sequence[bool], *, up: bool) -> list[int]:
        return [i for i, is_up in enumerate(all_) if is_up == up]

    return {
        host: Way(
            queues=[queue for queue in queues if queue.host == host],
            sends=those(up, up=is_far),
            serves=those(up, up=not is_far),
            asks=those(asks_up, up=is_far),
            answers=those(asks_up, up=not is_far),
            python=python,
        )
        for host, is_far in (("sender", False), ("receiver", True))
    }


#: Where all hosts share a kernel, a packet keeps the hash of its socket on its way, and queues that sort flows go by
#: it. After a timeout the socket would draw another (`sk_rethink_txhash`), so that what is sent again overtakes what
#: waits; a router between hosts hashes headers, which stay.
IN_ONE_KERNEL = {"net.core.txrehash": "0"}


def in_one_kernel() -> dict[str, str]:
    """Kernel parameters of hosts in this kernel beside :func:`sysctls`; Linux before 5.19 has none."""
    return IN_ONE_KERNEL if Path("/proc/sys/net/core/txrehash").exists() else {}


def sysctls(plan: Plan) -> dict[str, str]:
    """Kernel parameters of both hosts, as the plan wants them."""
    from dumbbell import _native

    return dict(_native.host_sysctls(json.dumps(plan)))


def host_of(plan: Plan, i: int) -> HostPlan:
    """Settings of a flow's hosts."""
    return {**plan["host"], **plan["flows"][i]["host"]}


def refuse_hosts(plan: Plan, possible: Collection[str], where: str) -> None:
    """Raise ScenarioError for a flow whose hosts differ from the others' in other settings than the `possible` ones."""
    for i, flow in enumerate(plan["flows"]):
        for name, value in flow["host"].items():
            key, at = name.removesuffix("_bytes"), f"flow[{i}].host"
            if name not in possible and value != plan["host"][name]:  # type: ignore[literal-required]
                raise ScenarioError(
                    f"{at}.{key}", f"differs from host.{key}, wanted the same for all flows {where}; --on sim allows it"
                )
            if name == "ecn" and value == "accurate":
                raise wrong(f"{at}.ecn", "accurate", f"true, false or classic {where}; --on sim has it")


def initial_window(plan: Plan, i: int) -> int:
    """Window at the start of a flow, segments."""
    return host_of(plan, i).get("initial_window", INITIAL_WINDOW)


def initcwnd(plan: Plan, i: int) -> Argv:
    """Words of a flow's route that set its window at the start; none where it is the kernel's own."""
    window = initial_window(plan, i)
    return () if window == INITIAL_WINDOW else ("initcwnd", str(window))


def asking_for_ecn(plan: Plan) -> list[bool]:
    """True if each flow's route to its receiver asks for ECN (`features ecn`); none where all flows agree."""
    modes = [host_of(plan, i)["ecn"] for i in range(len(plan["flows"]))]
    differ = any(mode != plan["host"]["ecn"] for mode in modes)
    return [differ and mode == "classic" for mode in modes]


def clients(plan: Plan, ends: Sequence[Ends], ccas: Sequence[str]) -> list[Argv]:
    """The iperf3 client of each flow."""
    from dumbbell import _native

    return [("iperf3", *words) for words in _native.iperf3_clients(json.dumps(plan), list(ends), list(ccas))]


def server(ends: Ends) -> Argv:
    """The iperf3 server of a flow, for one connection."""
    return ("iperf3", "-s", "-1", "-J", "-p", str(ends.server_port), "-B", ends.target)


_HEAD = """\
cd "$(dirname "$0")" || exit 1
exec >log 2>&1 </dev/null
umask 077
echo $$ >pid
say() { echo "$1" >status.new && mv status.new status; }
fail() { say "failed: $1"; exit 1; }
later() { { echo "$1"; cat undo.sh; } >undo.new && mv undo.new undo.sh; }
must() { "$@" 2>error || fail "$*: $(cat error)"; }
tune() {
  was=$(cat "/proc/sys/$1" 2>error) || fail "$(cat error)"
  later "echo '$was' >/proc/sys/$1"
  echo "$2" 2>error >"/proc/sys/$1" || fail "$1 = $2: $(cat error)"
}
ended() {
  trap '' INT TERM HUP
  touch stop
  kill -TERM 0
  sleep 0.1
  sh ./undo.sh
  touch undone
}
poll() {
  next=$(date +%s%N)
  while [ ! -e stop ]; do
    echo "@$(date +%s%N)"
    "$@"
    next=$((next + every)); now=$(date +%s%N); left=$((next - now))
    if [ $left -gt 0 ]; then sleep "$(printf %d.%09d $((left / 1000000000)) $((left % 1000000000)))"; else next=$now; fi
  done
}
: >undo.sh
say preparing
trap ended EXIT
trap 'exit 143' INT TERM HUP
"""


def head(every_ns: int, tuned: dict[str, str], steps: Sequence[Step]) -> str:
    """Begin of every script: undoing, kernel parameters, then the steps."""
    lines = [_HEAD, f"every={every_ns}\n"]
    lines += [f"tune {name.replace('.', '/')} {shlex.quote(value)}\n" for name, value in tuned.items()]
    for step in steps:
        lines.append(f"must {shlex.join(step.do)}\n")
        if step.undo is not None:
            lines.append(f"later {shlex.quote(shlex.join(step.undo))}\n")
    return "".join(lines)


def receiver(plan: Plan, tuned: dict[str, str], steps: Sequence[Step], ends: Sequence[Ends], queue: Queue) -> str:
    """The receiver's script: it serves, and writes down the queue's counters, until it is told to stop or nobody came
    for too long.
    """
    servers = [f"{shlex.join(server(end))} >{i}.server.json 2>{i}.server.err &\n" for i, end in enumerate(ends)]
    servers.append(_listening(ends))
    half_seconds = 2 * (-(-plan["duration_ns"] // 10**9) + PATIENCE_S)
    body = f"""\
poll {shlex.join(queue.command)} >queue.txt 2>queue.err &
say ready
left={half_seconds}
while [ ! -e stop ] && [ $left -gt 0 ]; do sleep 0.5; left=$((left - 1)); done
sleep 0.2
say done
"""
    return head(plan["sample_ns"], tuned, steps) + "".join(servers) + body


def sender(plan: Plan, tuned: dict[str, str], steps: Sequence[Step], ends: Sequence[Ends], ccas: Sequence[str]) -> str:
    """The sender's script: it starts and stops the flows, and writes down what their sockets say."""
    lines = [head(plan["sample_ns"], tuned, steps)]
    lines.append("date +%s%N >t0\nsay running\n")
    lines.append(_sockets(ends))
    flows = ""
    for i, (flow, client) in enumerate(zip(plan["flows"], clients(plan, ends, ccas))):
        lines.append(_client(flow, i, client))
        flows += f" $flow{i}"
    lines.append(f"sleep {_seconds(plan['duration_ns'])}\ntouch stop\nwait{flows} $polling\nsay done\n")
    return "".join(lines)


def both_ways(
    plan: Plan, tuned: dict[str, str], steps: Sequence[Step], flows: tuple[Sequence[Ends], Sequence[str]], way: Way
) -> str:
    """The script of one of two hosts that both send and receive. It gets ready, waits for the time at which the run
    begins, which the file `go` says by this host's clock, does its part, and stays for the other's until `leave`.
    """
    ends, ccas = flows
    lines = [head(plan["sample_ns"], tuned, steps)]
    lines += [f"{shlex.join(server(ends[i]))} >{i}.server.json 2>{i}.server.err &\n" for i in way.serves]
    probe_ends = ends[len(plan["flows"]) :]
    if plan.get("probes"):
        lines.append(f"cat >prober.py <<'END_OF_PROBER'\n{Path(prober.__file__).read_text()}END_OF_PROBER\n")
    for i in way.answers:
        lines.append(
            f"{way.python} prober.py answer {probe_ends[i].target} {probe_ends[i].data_port} 2>>prober.err &\n"
        )
    lines.append(_listening([ends[i] for i in way.serves]))
    for queue in way.queues:
        lines.append(f"poll {shlex.join(queue.command)} >{queue.file} 2>>queue.err &\n")
    lines.append(_START.format(patience=20 * PATIENCE_S))
    lines.append(_sockets([ends[i] for i in way.sends]))
    jobs = "$polling" if way.sends else ""
    programs = clients(plan, ends[: len(plan["flows"])], ccas)
    for i in way.sends:
        lines.append(_client(plan["flows"][i], i, programs[i]))
        jobs += f" $flow{i}"
    for i in way.asks:
        lines.append(_asking(plan, i, probe_ends[i], way.python))
        jobs += f" $probe{i}"
    lines.append(f"sleep {_seconds(plan['duration_ns'])}\ntouch stop\n")
    lines.append(f"wait {jobs}\n" if jobs else "")
    lines.append(_END.format(patience=2 * PATIENCE_S))
    return "".join(lines)


_START = """\
say ready
left={patience}
while [ ! -s go ]; do
  left=$((left - 1)); [ $left -gt 0 ] || fail "nobody came"
  sleep 0.05
done
t0=$(cat go)
until=$((t0 - $(date +%s%N)))
[ $until -gt 0 ] || fail "the start of the run was $((-until / 1000000)) ms past when this host heard of it"
sleep "$(printf %d.%09d $((until / 1000000000)) $((until % 1000000000)))"
echo "$t0" >t0
say running
"""

_END = """\
say over
left={patience}
while [ ! -e leave ] && [ $left -gt 0 ]; do sleep 0.5; left=$((left - 1)); done
say done
"""


def _listening(served: Sequence[Ends]) -> str:
    """Waits until all servers listen."""
    if not served:
        return ""
    first, last = min(end.server_port for end in served), max(end.server_port for end in served)
    return f"""\
tries=0
while [ "$(ss -tlnH 'sport >= :{first} and sport <= :{last}' | wc -l)" -lt {len(served)} ]; do
  tries=$((tries + 1)); [ $tries -lt 150 ] || fail "iperf3 -s: does not listen: $(cat *.server.err)"
  sleep 0.1
done
"""


def _sockets(sending: Sequence[Ends]) -> str:
    """Writes down what the sockets of flows say."""
    if not sending:
        return ""
    first, last = min(end.data_port for end in sending), max(end.data_port for end in sending)
    return f"poll ss -tinH 'sport >= :{first} and sport <= :{last}' >sockets.txt 2>sockets.err &\npolling=$!\n"


def _client(flow: FlowPlan, i: int, client: Argv) -> str:
    """Starts a flow at its time, and stops it."""
    limit = f"timeout --foreground -s INT -k 10 {_seconds(flow['stop_ns'] - flow['start_ns'])}"
    return (
        f"( sleep {_seconds(flow['start_ns'])}; date +%s%N >{i}.start; {limit} {shlex.join(client)} >{i}.json"
        f" 2>{i}.err; echo $? >{i}.rc; date +%s%N >{i}.end ) &\nflow{i}=$!\n"
    )


def _asking(plan: Plan, i: int, ends: Ends, python: str) -> str:
    """A series of probes, which hears answers until the run's end."""
    probe = plan["probes"][i]
    times = [f"$((t0 + {ns}))" for ns in (probe["start_ns"], probe["stop_ns"], plan["duration_ns"])]
    return (
        f"{python} prober.py ask {ends.source} {ends.target} {ends.data_port} {times[0]} {probe['every_ns']} {times[1]}"
        f" {times[2]} >{i}.probes 2>>prober.err &\nprobe{i}=$!\n"
    )


def _seconds(ns: int) -> str:
    return f"{ns // 10**9}.{ns % 10**9:09d}"
