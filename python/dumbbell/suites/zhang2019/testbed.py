"""Zhang's dumbbell in ns-3 and his QUIC sender, and how his scripts count.

What the paper does not print is taken from his public code (SoonyangZhang/DrainQueueCongestion).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.results import statistic
from dumbbell.suites.table import Reading

if TYPE_CHECKING:
    from dumbbell.results.load import Result
    from dumbbell.suites.claims import Claim
    from dumbbell.suites.table import Profile, Table, Tables

#: His names and the controllers here, in his order.
CCAS = {
    "BBR": "bbr",
    "BBR'": "bbr-drain",
    "BBRPlus": "bbrplus",
    "Tsunami": "tsunami-zhang",
    "BBR+": "bbr-hsr",
    "BBRv2": "bbr2",
    "Cubic": "cubic",
    "Reno": "reno",
}

#: His sender (dqc/model, October 2019): the application writes 3000 bytes at a time, which leave in packets of 1400,
#: 1400 and 200; every packet is acknowledged; no handshake; 100 ms count as the first RTT; polled every 500 us; windows
#: of 1460 bytes, so that the first of ten lets 15 packets of the mean size out; any gap is a loss; a clock of
#: milliseconds; Chromium's bandwidth samples and proportional rate reduction.
TRANSPORT: dict[str, Any] = {
    "kind": "quic",
    "payload": "1400B",
    "write": "3000B",
    "ack_every": 1,
    "handshake": False,
    "initial_rtt": "100ms",
    "initial_sample": True,
    "window_unit": "1460B",
    "packet_threshold": 1,
    "clock": "1ms",
    "poll": "500us",
    "rto_min": "200ms",
    "counts_sent": True,
    "prr": True,
    "compact": True,
}
#: Window at the start of controllers that set it themselves, in packets: 14,600 bytes of 1009 each. That of others is
#: ten units.
FIRST_WINDOW = 15
#: Cubic's window grows by the bytes acknowledged, and BBRv2 judges losses against flights in bytes, where half of the
#: packets that a full queue drops carry 200: their flows count in parts of 200 bytes (seven in a packet of 1400), which
#: come to 201.8 with their headers.
IN_PARTS: dict[str, Any] = {"part": "200B"}

#: Parameters that his packets, 1009 bytes in the mean, need where windows are of 1460 (a minimum window of four
#: segments lets six packets out, and Cubic counts bytes: `cubic_bytes.cc`; 142/1024 is 202/1460), and values of the
#: paper's year: growth of a half keeps STARTUP going (`kStartupGrowthTarget`), and Reno stands for two connections,
#: too, one of which halves (`kRenoBeta`, `kDefaultNumConnections`: (2 - 1 + 0.5) / 2).
PARAMS: dict[str, dict[str, int]] = {
    **{label: {"cwnd_min": 6, "full_bw_thresh": 384} for label in ("BBR", "BBR'", "BBRPlus", "Tsunami", "BBR+")},
    "Cubic": {"byte_count": 142},
    "Reno": {"beta": 768, "connections": 2},
    # 1460 bytes are 7.23 parts: four of them, one, two, and the BDP in them.
    "BBRv2": {"cwnd_min_target": 29, "hi_step": 7, "up_margin": 14, "bw_probe_reno_gain": 35},
}

#: UDP payload of a packet over its stream data (most have a header of 9 bytes): his scripts sum the lengths that the
#: receivers' sockets gave. The printed rates need it: Cubic's 1716 and 2166 kbit/s (Table 3, case 1) are 0.97 of the
#: link, and stream data alone would come to 0.96 of it at most.
DATAGRAM = 1009 / 1000

#: Keys of the transport that a controller has in another way than most.
OWN: dict[str, dict[str, Any]] = {"Cubic": IN_PARTS, "Reno": {}, "BBRv2": {**IN_PARTS, "initial_window": 72}}


#: ns-3's point-to-point links, which the path is made of: a serial line whose frames have PPP's header.
LINE = {"burst": "0B", "link_header": "2B"}


class Link(NamedTuple):
    """The bottleneck of a case: Mbit/s, one-way propagation delay in ms, and its queue as a time at that rate in ms."""

    rate: int
    delay: int
    queue: int

    @property
    def bdp(self) -> float:
        """The queue in BDP."""
        return self.queue / (2 * self.delay)

    @property
    def path(self) -> dict[str, Any]:
        """As a path: the way back is the same line, which acknowledgements take their time on."""
        line = {"rate": f"{self.rate}Mbps", "buffer": f"{self.queue}ms", **LINE}
        return {**line, "rtt": f"{2 * self.delay}ms", "up": line}


#: Table 1: four flows of one controller.
INTRA = {
    1: Link(5, 50, 100),
    2: Link(5, 50, 150),
    3: Link(5, 50, 200),
    4: Link(6, 50, 100),
    5: Link(6, 50, 150),
    6: Link(7, 50, 150),
    7: Link(7, 100, 300),
    8: Link(8, 100, 200),
    9: Link(8, 100, 300),
    10: Link(10, 50, 150),
    11: Link(10, 50, 200),
}
#: Table 2: two flows over paths of unequal length.
UNEQUAL = {
    1: Link(4, 10, 150),
    2: Link(4, 20, 180),
    3: Link(4, 30, 210),
    4: Link(6, 10, 150),
    5: Link(6, 20, 180),
    6: Link(6, 30, 210),
    7: Link(8, 10, 150),
    8: Link(8, 20, 180),
    9: Link(8, 30, 210),
}
#: Table 6: two flows against two of Cubic.
INTER = {
    1: Link(4, 50, 100),
    2: Link(4, 50, 150),
    3: Link(4, 50, 200),
    4: Link(6, 50, 100),
    5: Link(6, 50, 150),
    6: Link(6, 50, 200),
    7: Link(8, 50, 150),
    8: Link(10, 50, 150),
    9: Link(12, 50, 150),
}

#: Choices that hold for every entry.
COMMON = {
    "controllers": "preset `chromium`, of BBRv2 `chromium-2019`: the framework's are quiche's (docs/cca/chromium.md)",
    "order of the senders": "that of their numbers, also within a millisecond: the framework polls them in turn",
    "repetitions": "five, where the paper has one run each: chance decides the phases of BBR's cycles",
    "start of the flows": "exactly at the time given, as in the scripts",
    "rates": "of all that the receivers' sockets got, QUIC's headers included, as in the scripts",
    "line": "ns-3's device: a packet is dropped unless 1500 bytes of the queue are free, however small it is",
    "frames": "PPP's header, 2 bytes, as ns-3's links have it: the lengths decide which flow meets a full queue",
}


def flow(label: str, turn: int = 0, **keys: Any) -> dict[str, Any]:
    """A [[flow]] table of a controller, named as the paper names it. Senders share a processor, which polls them in
    turn (`DqcSender::Process`): where alarms of several are due in one millisecond, the first flow sends first.
    """
    own = OWN.get(label, {"initial_window": FIRST_WINDOW})
    transport = {**TRANSPORT, **own, **({"clock_offset": f"{turn}us"} if turn else {})}
    return {
        "name": label,
        "cca": CCAS[label],
        "preset": "chromium-2019" if label == "BBRv2" else "chromium",
        "params": PARAMS[label],
        "transport": transport,
        **keys,
    }


def pair(label: str, turn: int = 0) -> list[dict[str, Any]]:
    """Two flows of a controller, polled one after the other."""
    return [flow(label, turn), flow(label, turn + 1, name=f"{label} 2")]


def flows_of(result: Result, label: str | None) -> list[int]:
    """Numbers of a controller's flows, of pairs too; of all flows without a label."""
    return [i for i, one in enumerate(result.plan.flows) if label is None or one.name.removesuffix(" 2") == label]


def scenario(
    path: Mapping[str, Any],
    flows: Sequence[Mapping[str, Any]],
    *,
    duration: str,
    profile: Profile,
    is_drawn: bool = False,
    **tables: Any,
) -> dict[str, Any]:
    """A scenario of this dumbbell; samples and queue over time are recorded where a figure needs them."""
    return {
        "duration": duration,
        "repetitions": profile.pick(5, 1),
        "path": dict(path),
        "host": {"arp": False},
        "flow": list(flows),
        "record": {"samples": is_drawn, "queue": is_drawn, "events": False},
        **tables,
    }


def rates_kbps(result: Result) -> list[float]:
    """What the socket of each flow's receiver got, kbit/s."""
    return [flow.goodput_mbps * 1000 * DATAGRAM for flow in result.summary.flows]


def ratio(result: Result, _: str | None) -> float:
    """The highest rate of a flow over the lowest (Equation 12)."""
    rates = rates_kbps(result)
    return max(rates) / (min(rates) or float("nan"))


def utility(result: Result, _: str | None) -> float:
    """What all receivers got over what the link could carry (Equation 13)."""
    capacity = result.plan.bottleneck.bits(0, result.plan.duration_ns) * 1e6 / result.plan.duration_ns
    return sum(rates_kbps(result)) / capacity


def mean_delay_ms(result: Result, label: str | None) -> float:
    """Mean one-way delay over all packets of these flows, as `script/pro-owd.py` takes it."""
    parts = [
        (flow.owd_mean_ms, flow.goodput_bytes)
        for flow in (result.summary.flows[i] for i in flows_of(result, label))
        if flow.owd_mean_ms is not None
    ]
    return sum(delay * size for delay, size in parts) / (sum(size for _, size in parts) or float("nan"))


def rate_over_time(result: Result, number: int) -> tuple[Any, Any]:
    """What the framework traces with every packet: the controller's `BandwidthEstimate`, which is BBR's maximum of the
    delivery rate, and window over smoothed RTT for Reno and Cubic. Times in s, Mbit/s.
    """
    import numpy as np

    from dumbbell.results.columns import sample_column

    t = sample_column(result, number, "t_us") / 1e6
    rate = sample_column(result, number, "bw_bps") / 1e6
    if np.isnan(rate).all():
        rate = sample_column(result, number, "cwnd") * 1460 * 8 / sample_column(result, number, "srtt_us")
    return t, rate


def variation(window: tuple[float, float]) -> Any:
    """A metric: standard deviation over mean of the rate over time in this window (s), mean over the flows."""

    def read(result: Result, label: str | None) -> float:
        import numpy as np

        found = []
        for number in flows_of(result, label):
            t, rate = rate_over_time(result, number)
            inside = rate[(t >= window[0]) & (t <= window[1]) & ~np.isnan(rate)]
            found.append(float(np.std(inside) / np.mean(inside)) if inside.size else float("nan"))
        return statistic.distribution(found).mean

    return read


def cases_in_order(table: Table, claim: Claim, _: Tables) -> list[list[Reading]]:
    """A controller in the cases that the order names."""
    found = [table.read(claim.metric, claim.series[0], {"case": int(name.split()[1])}) for name in claim.order]
    return [[Reading({}, one.values) for one in part] for part in found]


#: Metrics of the paper that are counted in its own way.
METRICS = {
    "x1_kbps": lambda result, _: rates_kbps(result)[0],
    "x2_kbps": lambda result, _: rates_kbps(result)[1],
    "ratio": ratio,
    "link_util": utility,
    "mean_owd_ms": mean_delay_ms,
}
