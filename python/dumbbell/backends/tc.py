"""A plan's link and impairments in the kernel: lists of `tc` commands, made without running anything.

A limit counts wire bytes, as in the plan. References: tc-tbf(8), tc-htb(8), tc-netem(8), tc-fq_codel(8), tc-cake(8).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import ScenarioError, wrong
from dumbbell.plan.view import qdisc_of

if TYPE_CHECKING:
    from dumbbell.plan.types import LinkPlan, Plan, Settings

Argv = tuple[str, ...]

#: Bytes that a shaper may send at once, as a time at its rate, ns: timers are no finer than some 50 us, and what they
#: miss beyond the burst is lost.
_BURST_NS = 250_000
#: Most that netem holds, packets: it must not drop by itself.
_NETEM_LIMIT = 1_000_000
#: Delays below it are none, ns: a network namespace alone takes longer.
_LEAST_NS = 1_000
#: Longest packet that a policer looks at, bytes: longer ones exceed it, whatever tokens there are. A buffer of 64 kB
#: has the headers of each of its segments besides.
_POLICED_MAX = 1 << 17
#: Most ticks that a policer's bucket holds, and their length (`PSCHED_SHIFT`, include/net/pkt_sched.h), ns.
_TICKS_MAX, _TICK_NS = (1 << 32) - 1, 64
#: Handle of the shaper, and of the queue in it.
SHAPER, QUEUE = "1:", "10:"
#: Modules whose names do not follow from their queue discipline's.
_MODULES = {"pfifo": "sch_fifo", "bfifo": "sch_fifo", "pfifo_head_drop": "sch_fifo"}


class Step(NamedTuple):
    """A command, and the one that takes back what it did."""

    do: Argv
    undo: Argv | None = None


class Shaped(NamedTuple):
    """A link on a device: commands, and the handle of the queue discipline whose counters are the link's."""

    steps: list[Step]
    handle: str


def module(command: str) -> str | None:
    """The kernel module that a `tc` or `ip link` command needs; None where it needs none in particular."""
    words = command.split()
    if words[:2] == ["ip", "link"] and "type" in words:
        return words[words.index("type") + 1]
    kind = kind_of(words)
    return None if kind is None else _MODULES.get(kind, f"sch_{kind}")


def kind_of(words: list[str] | Argv) -> str | None:
    """The queue discipline that a `tc qdisc` command adds."""
    if tuple(words[:2]) != ("tc", "qdisc") or words[2] not in ("add", "replace"):
        return None
    rest = list(words[3:])
    while rest:
        word = rest.pop(0)
        if word in ("dev", "handle", "parent"):
            rest.pop(0)
        elif word != "root":
            return word
    return None


def shaped(link: LinkPlan, device: str, shaper: str, *, in_virtual_time: bool = False) -> Shaped:
    """A link of a plan on a device, inside `shaper` ("tbf" or "htb"); raises ScenarioError for what these cannot do.

    In virtual time no timer is late: the burst is the plan's, and the rate may change (the commands are those of its
    first).
    """
    refuse(link, in_virtual_time=in_virtual_time)
    qdisc, rate = link["qdisc"], int(link["rate_bps"])
    if qdisc["kind"] == "cake" and qdisc["bandwidth_bps"] is not None and not link["steps"]:
        return Shaped([_qdisc(device, ("root", "handle", QUEUE), leaf(qdisc))], QUEUE)
    late_ns = 0 if in_virtual_time else _BURST_NS
    burst = max(int(link["burst_bytes"]), rate * late_ns // (8 * 10**9))
    bytes_only = qdisc["kind"] == "fifo" and qdisc["limit_bytes"] is not None
    if shaper == "htb":
        steps = [
            _qdisc(device, ("root", "handle", SHAPER), ("htb", "default", "1")),
            Step(("tc", "class", "add", "dev", device, "parent", SHAPER, "classid", "1:1", "htb", *_htb(rate, burst))),
        ]
        return Shaped([*steps, _qdisc(device, ("parent", "1:1", "handle", QUEUE), leaf(qdisc))], QUEUE)
    most = qdisc_of(qdisc).limit
    limit = most.wire_bytes if most else burst * 100
    tbf = ("tbf", "rate", f"{rate}bit", "burst", f"{burst}b", "limit", f"{max(limit, burst)}b")
    root = _qdisc(device, ("root", "handle", SHAPER), tbf)
    if bytes_only and limit >= burst:
        return Shaped([root], SHAPER)
    return Shaped([root, _qdisc(device, ("parent", "1:1", "handle", QUEUE), leaf(qdisc))], QUEUE)


def policed(policer: Settings, device: str) -> list[Argv]:
    """A policer in front of the queue of a device: what exceeds it is dropped before the queue discipline sees it, and
    counted by the device's `clsact` (`tc_run`, net/core/dev.c). It counts bytes on the wire, as the queue does; what
    comes in on a device is counted without Ethernet's header.
    """
    bucket = ("rate", f"{policer['rate_bps']}bit", "burst", f"{policer['burst_bytes']}b", "mtu", f"{_POLICED_MAX}b")
    action = ("action", "police", *bucket, "conform-exceed", "drop/ok")
    return [
        ("tc", "qdisc", "add", "dev", device, "clsact"),
        ("tc", "filter", "add", "dev", device, "egress", "protocol", "ip", "matchall", *action),
    ]


def _htb(rate: int, burst: int) -> Argv:
    return ("rate", f"{rate}bit", "ceil", f"{rate}bit", "burst", f"{burst}b", "cburst", f"{burst}b")


def _qdisc(device: str, where: Argv, what: Argv) -> Step:
    return Step(("tc", "qdisc", "add", "dev", device, *where, *what))


def refuse(link: LinkPlan, *, in_virtual_time: bool = False) -> None:
    """Raise ScenarioError for a link that no shaper of the kernel is; in virtual time its rate may change in steps."""
    if link["trace"] is not None and in_virtual_time:
        raise ScenarioError("path.rate", "got a trace, wanted a rate or steps; --on sim and linux have traces")
    if (link["steps"] and not in_virtual_time) or link["trace"] is not None:
        raise ScenarioError(
            "path.rate", "changes, wanted a constant rate: the kernel's shapers support no other; --on linux does"
        )
    if link["burst_bytes"] == 0:
        raise ScenarioError("path.burst", "got 0B, a serial line, wanted a depth: tbf has one; --on sim takes 0B")
    if "header_bytes" in link:
        raise ScenarioError("path.link_header", "got another than Ethernet's 14B; --on sim and linux have others")
    if link["qdisc"].get("adaptive"):
        why = "tc no longer sets the flag by which the kernel starts it (iproute2 5.7); --on sim and linux adapt"
        raise ScenarioError("path.qdisc.adaptive", f"got true, wanted false on this back end: {why}")
    _refuse_qdisc(link["qdisc"])
    if link["policer"] is not None:
        _refuse_policer(link["policer"], in_virtual_time=in_virtual_time)


def _refuse_policer(policer: Settings, *, in_virtual_time: bool) -> None:
    if not in_virtual_time:
        raise ScenarioError("path.policer", "got one, wanted none on this back end; --on linux and uml have policers")
    if policer["mark"]:
        raise ScenarioError(
            "path.policer.mark",
            "got true, wanted false on this back end: tc police does not mark; --on sim and linux do",
        )
    most = policer["rate_bps"] // 8 * _TICKS_MAX * _TICK_NS // 10**9
    if policer["burst_bytes"] > most:
        given = f"{policer['burst_bytes']}B"
        raise wrong("path.policer.burst", given, f"at most {most}B, the most of tc at this rate; --on sim takes more")


def _refuse_qdisc(qdisc: dict[str, Any]) -> None:
    """Raise ScenarioError for a setting that the kernel's discipline does not have, or follows in another way here."""
    if qdisc.get("gentle"):
        raise ScenarioError("path.qdisc.gentle", "got true, wanted false on this back end: Linux's red is not gentle")
    if qdisc.get("ecn_limit_percent", 10) != 10:
        given = f"{qdisc['ecn_limit_percent']}%"
        raise ScenarioError(
            "path.qdisc.ecn_limit", f"got {given}, wanted 10% on this back end: Linux's pie has no other"
        )
    if qdisc["kind"] == "fq" and qdisc["maxrate_bps"] is not None:
        raise ScenarioError(
            "path.qdisc.maxrate",
            "got one, wanted none on this back end: forwarded packets keep their departure times, and fq then spaces"
            " each by its own length; --on sim and linux have it",
        )


def links_of(plan: Plan) -> Iterator[tuple[LinkPlan, str]]:
    """The links of a plan, each with the table of the scenario that has its keys: ``path``, ``link[0]``,
    ``path.up``.
    """
    bottleneck, *others = plan["links"]
    yield bottleneck, "path"
    yield from ((link, f"link[{i}]") for i, link in enumerate(others))
    yield from ((link, f"path.{link['name']}") for link in plan["ack_links"])


@contextmanager
def keys_of(table: str) -> Iterator[None]:
    """Errors of a link, which name keys of ``path``, name those of its own table."""
    try:
        yield
    except ScenarioError as error:
        raise ScenarioError(error.key.replace("path", table, 1), error.problem) from None


def leaf(qdisc: dict[str, Any]) -> Argv:
    """Kind and options of a queue discipline of a plan, as `tc` takes them."""
    write = _LEAVES.get(qdisc["kind"])
    if write is None:
        known = f"one of: {', '.join(_LEAVES)}; --on sim and linux have more"
        raise wrong("path.qdisc", qdisc["kind"], known, list(_LEAVES))
    return write(qdisc)


def _fifo(q: dict[str, Any]) -> Argv:
    if q["head_drop"]:
        return ("pfifo_head_drop", "limit", str(q["limit_packets"]))
    if q["limit_packets"] is not None:
        return ("pfifo", "limit", str(q["limit_packets"]))
    return ("bfifo", "limit", f"{q['limit_bytes']}b")


#: Settings that `tc` does not have.
_NOT_IN_TC = {"red": {"gentle"}, "pie": {"ecn_limit_percent"}}


def _options(q: dict[str, Any], *, but: Collection[str] = ()) -> Argv:
    """Settings of a plan as `tc` names and writes them: a number after its name, a switch by its name alone."""
    words: list[str] = []
    for key, value in q.items():
        if value is None or key == "kind" or key in but or key in _NOT_IN_TC.get(q["kind"], ()):
            continue
        name, _, unit = key.rpartition("_")
        write = _WRITTEN.get(unit, str)
        name = name if unit in _WRITTEN else key
        if isinstance(value, bool):
            words += [name] if value else ["noecn"] if name == "ecn" and q["kind"] != "red" else []
        else:
            words += [name, f"{value}b" if name == "memory_limit" else write(value)]
    return tuple(words)


def _own(q: dict[str, Any]) -> Argv:
    """A discipline whose options are its settings."""
    return (q["kind"], *_options(q))


def _fq_codel(q: dict[str, Any]) -> Argv:
    selector = "ce_threshold_selector", "ce_threshold_mask"
    value, mask = (q[name] for name in selector)
    return ("fq_codel", *_options(q, but=selector), *((selector[0], f"{value:#x}/{mask:#x}") if mask else ()))


def _cake(q: dict[str, Any]) -> Argv:
    rate = ("unlimited",) if q["bandwidth_bps"] is None else ("bandwidth", f"{q['bandwidth_bps']}bit")
    overhead = () if q["overhead_bytes"] is None else ("overhead", str(q["overhead_bytes"]), "mpu", str(q["mpu_bytes"]))
    framing = {"none": "noatm"}.get(q["framing"], q["framing"])
    acks = {"off": "no-ack-filter", "on": "ack-filter", "aggressive": "ack-filter-aggressive"}[q["ack_filter"]]
    ways = ("ingress" if q["ingress"] else "egress", "wash" if q["wash"] else "nowash")
    memory = () if q["memory_limit_bytes"] is None else ("memlimit", f"{q['memory_limit_bytes']}b")
    return (
        "cake",
        *rate,
        "rtt",
        time(q["rtt_ns"]),
        q["diffserv"],
        q["isolation"],
        *overhead,
        framing,
        acks,
        *ways,
        *memory,
        *_options(q, but=_CAKE),
    )


#: Settings of `cake` that have words of their own.
_CAKE = {
    *("bandwidth_bps", "rtt_ns", "diffserv", "isolation", "overhead_bytes", "mpu_bytes", "framing", "ack_filter"),
    *("ingress", "wash", "memory_limit_bytes"),
}

_LEAVES = {
    "fifo": _fifo,
    "codel": _own,
    "fq_codel": _fq_codel,
    "pie": _own,
    "red": _own,
    "cake": _cake,
    "fq": _own,
}


def time(ns: int) -> str:
    """A time as `tc` reads it, exact; not every version knows nanoseconds by their name.

    >>> time(4_570_000), time(4_570_500), time(20)
    ('4570us', '4570.5us', '0.02us')
    """
    us, rest = divmod(ns, 1000)
    return f"{us}.{rest:03}".rstrip("0").rstrip(".") + "us" if rest else f"{us}us"


def share(ppb: int, *, whole: int = 100) -> str:
    """Parts in 10^9 as a decimal of `whole` (100: a percentage with its sign)."""
    digits = f"{ppb * whole / 10**9:.9f}".rstrip("0").rstrip(".")
    return f"{digits}%" if whole == 100 else digits


#: How `tc` reads the units that names in a plan end with.
_WRITTEN: dict[str, Callable[[int], str]] = {
    "ns": time,
    "bps": lambda value: f"{value}bit",
    "ppb": lambda value: share(value, whole=1),
    "bytes": str,
    "packets": str,
    "percent": str,
}


def netem(stages: list[dict[str, Any]], at: str, *, in_virtual_time: bool = False) -> Argv | None:
    """One netem that does what these impairments do; None where they do nothing. It loses, copies and damages before it
    delays, whatever their order.

    In virtual time the delay may change in steps (the command is that of its first), and packets may be kept in order.
    """
    words: dict[str, Argv] = {}
    for stage in stages:
        kind = stage["kind"]
        if kind in words:
            raise wrong(
                f"{at}.impair",
                kind,
                "each kind once on each side of the link, because one netem does all of them; --on linux has chains",
            )
        write = _STAGES.get(kind)
        if write is None:
            raise wrong(
                f"{at}.impair", kind, f"one of {', '.join(_STAGES)}, which netem has; --on linux has the others"
            )
        words[kind] = _varying(stage, at) if kind == "delay" and in_virtual_time else write(stage, at)
    all_words = tuple(word for kind in _STAGES for word in words.get(kind, ()))
    return ("netem", "limit", str(_NETEM_LIMIT), *all_words) if all_words else None


#: A netem with a rate sends no packet before the one ahead of it (`netem_enqueue`, net/sched/sch_netem.c): with one at
#: which a frame takes 12 ps, jitter and changes of the delay keep the order.
_IN_ORDER = ("rate", "1000tbit")


def _varying(stage: dict[str, Any], at: str) -> Argv:
    """The first step of a delay; packets keep their order in it where they do so in the simulator."""
    jitter = stage["jitter"]
    is_ordered = bool(stage["steps"]) if jitter is None else not jitter["reorder"]
    first = {**stage, "steps": [], "jitter": jitter and {**jitter, "reorder": True}}
    return _delay(first, at) + (_IN_ORDER if is_ordered else ())


def _delay(stage: dict[str, Any], at: str) -> Argv:
    if stage["steps"]:
        raise ScenarioError(f"{at}.rtt", "changes, wanted a constant RTT: netem supports no other; --on linux does")
    jitter, reorder = stage["jitter"], stage["reorder"]
    spread = 0 if jitter is None else jitter["spread_ns"]
    out: list[str] = ["delay", time(stage["ns"])] if stage["ns"] >= _LEAST_NS or spread else []
    if spread:
        if not jitter["reorder"]:
            raise ScenarioError(
                f"{at}.jitter.reorder",
                "got false, wanted true: packets overtake each other in netem; --on linux keeps their order",
            )
        if jitter["distribution"] == "gaussian":
            raise wrong(f"{at}.jitter.kind", "gaussian", "uniform or one of netem's tables; --on sim and linux have it")
        out += [time(spread), *((share(jitter["correlation_ppb"]),) if jitter["correlation_ppb"] else ())]
        out += [] if jitter["distribution"] == "uniform" else ["distribution", jitter["distribution"]]
    if reorder:
        out += ["reorder", share(reorder["ppb"]), share(reorder["correlation_ppb"]), "gap", str(reorder["gap"])]
    return (*out, *_slot(stage.get("slot"), at))


#: From here on the time to the next slot overflows, in kernels before 2026 (`get_slot_next`), ns.
_SLOT_WIDTH_MAX = 1 << 31


def _slot(slot: Settings | None, at: str) -> Argv:
    if slot is None:
        return ()
    if slot["distribution"] == "uniform":
        low, high = slot["min_ns"], slot["min_ns"] if slot["max_ns"] is None else slot["max_ns"]
        if high - low >= _SLOT_WIDTH_MAX:
            raise ScenarioError(
                f"{at}.slot.max",
                "2.147 s above min or more, which overflows in netem; wanted less; --on linux has more",
            )
        times: Argv = (time(low), time(high))
    else:
        times = ("distribution", slot["distribution"], time(slot["delay_ns"]), time(slot["spread_ns"]))
    limits = [word for name in ("packets", "bytes") if slot[name] for word in (name, str(slot[name]))]
    return ("slot", *times, *limits)


def _loss(stage: dict[str, Any], at: str) -> Argv:
    if stage["model"] == "random":
        correlation = (share(stage["correlation_ppb"]),) if stage["correlation_ppb"] else ()
        return ("loss", "random", share(stage["ppb"]), *correlation) if stage["ppb"] else ()
    if stage["model"] == "gilbert_elliott":
        return ("loss", "gemodel", *(share(stage[f"{name}_ppb"]) for name in ("p", "r", "bad_loss", "good_loss")))
    if stage["model"] == "four_state":
        return ("loss", "state", *(share(stage[f"{name}_ppb"]) for name in ("p13", "p31", "p32", "p23", "p14")))
    accepted = "a share or a table of model random, gilbert_elliott or four_state, which netem has; --on linux has it"
    if stage["model"] == "list":
        raise wrong(f"{at}.loss.packets", stage["packets"], accepted)
    raise ScenarioError(f"{at}.loss", f"changes, wanted {accepted}")


def _share_of(stage: dict[str, Any], _: str) -> Argv:
    return (
        stage["kind"],
        share(stage["ppb"]),
        *((share(stage["correlation_ppb"]),) if stage.get("correlation_ppb") else ()),
    )


_STAGES = {"loss": _loss, "duplicate": _share_of, "corrupt": _share_of, "delay": _delay}
