"""The [host] table: settings of the end hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dumbbell.units import UnitError

from .declare import Key, Table, is_written, key
from .kinds import SOCKET_BUFFER, SPAN, TICK
from .plain_kinds import SWITCH, Choice, Kind, whole

if TYPE_CHECKING:
    from .keytypes import MaybeNumber, MaybeQuantity, MaybeWord, Number, Quantity, Switch, Word, WordOrSwitch


def _ecn(value: object) -> str:
    words = {False: "off", True: "classic", "classic": "classic", "accurate": "accurate"}
    if not isinstance(value, (bool, str)) or value not in words:
        raise UnitError('true, false, "classic" or "accurate"')
    return words[value]


#: Window at the start where nothing else is said, segments: Linux's (TCP_INIT_CWND, RFC 6928), and QUIC's.
INITIAL_WINDOW = 10

ECN = Kind(_ecn, {"enum": [False, True, "classic", "accurate"]})


class Host(Table):
    """Settings of the end hosts."""

    AT = "host"

    qdisc: Word = key(
        Choice("fq", "pfifo", "none"),
        "queue discipline of the senders: fq paces, pfifo leaves pacing to TCP, none hands packets to the wire",
        default="fq",
    )
    tso: Switch = key(
        SWITCH, "sends of several segments that leave back to back, sized by the pacing rate", default=True
    )
    nic: Word = key(
        Choice("physical", "virtual"),
        "the senders' interface: physical cuts such a send into frames, virtual (veth, as of Mininet and namespaces)"
        " passes it whole, so that loss, delay and queues act on up to 64 kB at once (docs/models/link.md)",
        default="physical",
    )
    gro: Switch = key(SWITCH, "whether receivers see merged segments, and so send fewer ACKs", default=False)
    ecn: WordOrSwitch = key(
        ECN,
        'whether connections negotiate ECN: true or "classic" (RFC 3168; for DCTCP its own echo), "accurate" (AccECN)',
        default=False,
    )
    hz: Number = key(TICK, "ticks per second that jiffies-based rules count in, a divisor of 1000", default=1000)
    rcvbuf: Quantity = key(
        SOCKET_BUFFER,
        "receive buffer of a socket; auto grows with the flow; a run warns of flows that waited for a buffer",
        default="auto",
    )
    sndbuf: Quantity = key(SOCKET_BUFFER, "send buffer of a socket; auto as for rcvbuf", default="auto")
    delayed_ack: Switch = key(
        SWITCH, "whether receivers delay ACKs (RFC 1122, 4.2.3.2); false: one per segment", default=True
    )
    arp: Switch = key(
        SWITCH,
        "whether hosts meet for the first time, as on a new testbed (Mininet, namespaces): ARP crosses the path's"
        " delay once each way before a flow's first packet, so every flow takes a round trip longer",
        default=False,
    )
    nodelay: Switch = key(SWITCH, "a segment that ends a message leaves at once (TCP_NODELAY)", default=True)
    slow_start_after_idle: Switch = key(
        SWITCH, "the window restarts after an idle time (tcp_slow_start_after_idle)", default=True
    )
    initial_window: Number = key(
        whole(1, 10_000),
        "window at the start of a connection, in segments (initcwnd of the route), below which an idle or unused window"
        " does not shrink; of QUIC in packets, unless its transport says otherwise",
        default=INITIAL_WINDOW,
    )
    receivers: Word = key(
        Choice("one", "own"),
        "all receivers are on one host, as cake's isolation sees it, or each has its own",
        default="one",
    )
    processors: Word = key(
        Choice("one", "own"),
        "processor of the hosts: one for all, as for namespaces, so that their timers fire together, or each"
        " its own, with ticks at random times (docs/fidelity.md)",
        default="one",
    )
    traffic: Word = key(
        Choice("auto", "iperf3", "netcat"),
        "program that makes the flows; in the simulator iperf3 greets and waits a round trip (docs/linux.md), auto"
        " sends at once; on real hosts auto is iperf3",
        default="auto",
    )
    start_jitter: Quantity = key(
        SPAN,
        "each flow starts up to this much later, at random; makes repetitions differ if nothing else is random",
        default="0s",
    )


def _own(of: Key[Any, Any]) -> Any:
    """A key of [host] that a flow may have differently."""
    return Key(of.kind, f"host.{of.name} of these flows", default=None, varies=True)


class FlowHost(Table):
    """Settings of the hosts of a table's flows, with the rules of [host], which has what is left out."""

    AT = "flow.host"

    qdisc: MaybeWord = _own(Host.qdisc)
    tso: Key[Any, bool | None] = _own(Host.tso)
    nic: MaybeWord = _own(Host.nic)
    gro: Key[Any, bool | None] = _own(Host.gro)
    ecn: Key[Any, str | None] = _own(Host.ecn)
    hz: MaybeNumber = _own(Host.hz)
    rcvbuf: MaybeQuantity = _own(Host.rcvbuf)
    sndbuf: MaybeQuantity = _own(Host.sndbuf)
    initial_window: MaybeNumber = _own(Host.initial_window)

    def plan(self) -> dict[str, Any]:
        """Written settings, as the engine takes them."""
        names = {"rcvbuf": "rcvbuf_bytes", "sndbuf": "sndbuf_bytes"}
        return {names.get(name, name): getattr(self, name) for name in self.KEYS if is_written(self, name)}
