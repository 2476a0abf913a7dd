"""Metrics and readings of Borgli and Misund's own."""

from __future__ import annotations

from math import nan
from statistics import fmean, pstdev
from typing import TYPE_CHECKING

from dumbbell.results import metrics
from dumbbell.suites import measure, timed
from dumbbell.suites.measure import Metric
from dumbbell.suites.table import Reading

if TYPE_CHECKING:
    from dumbbell.results.load import Result
    from dumbbell.results.statistic import Column
    from dumbbell.suites.claims import Claim
    from dumbbell.suites.table import Table, Tables

#: Payload and headers of such a packet as the report counts it, bits, and its BDP.
PACKET_BITS, BDP_BITS = 2900 * 8, 830_000


def _convergence(result: Result, _: str | None) -> float:
    """From the second flow's start until Jain's index of both reaches 0.95 and keeps it for 5 s; nan where never."""
    time = metrics.convergence_time_s(result)
    return nan if time is None else time


def disturbance(result: Result, _: str | None = None) -> float:
    """Drop of the first flow's arrivals in the 5 s after the second one's start: smallest bin of 500 ms over the mean
    of the 20 s before, from 1.
    """
    ends, rates = timed.arrivals(result, 0)
    start = result.plan.flows[1].start_ns / 1e9
    before, after = (ends > start - 20) & (ends <= start), (ends > start) & (ends <= start + 5)
    if not (before.any() and after.any()):
        return nan
    return float(1 - rates[after].min() / rates[before].mean())


def _largest(result: Result, label: str | None) -> float:
    """Goodput of the flow that has most."""
    return max(result.summary.flows[i].goodput_mbps for i in measure.flows(result, label))


def packet_rtts(result: Result, label: str | None) -> Column:
    """RTT of every packet of a flow, ms: of each acknowledgement, as tshark computes it from the sender's capture."""
    import numpy as np

    (number,) = measure.flows(result, label)
    values = timed.packet_rtts(result, number)[1]
    return values[~np.isnan(values)]


def _median_rtt(result: Result, label: str | None) -> float:
    import numpy as np

    return float(np.median(packet_rtts(result, label)))


METRICS = {
    "convergence_time": Metric("Time until the shares are equal", "s", _convergence),
    "disturbance": Metric("Fall of the first flow", "", disturbance),
    "goodput_flow_max": Metric("Goodput of the largest flow", "Mbit/s", _largest),
    "packet_rtt_p50": Metric("RTT of packets, median", "ms", _median_rtt),
    "packet_rtt_sd": Metric(
        "RTT of packets, standard deviation", "ms", lambda run, label: float(packet_rtts(run, label).std())
    ),
}


def _by_number_of_flows(_: Table, __: Claim, book: Tables) -> list[Reading]:
    """Goodput of all flows together, over the number of flows: mean over queues and mixes."""
    sums: dict[int, list[float]] = {}
    for table in (book.table("borgli/fig5"), book.table("borgli/fig2")):
        for point in table.points:
            own = sums.setdefault(len(point.runs[0].plan.flows), [])
            own += [sum(flow.goodput_mbps for flow in run.summary.flows) for run in point.runs]
    return [Reading({"n_flows": count}, (fmean(values),)) for count, values in sorted(sums.items())]


def _spread_of_points(table: Table, _: Claim, __: Tables) -> list[Reading]:
    """Spread of the points of a line, in the smaller half of the queues and in the larger one: the figure has a point
    for each run, and the report's words are about the line.
    """
    points = sorted(table.read("jain_all", "b2"), key=lambda point: point.at["queue_packets"])
    halves = points[: len(points) // 2], points[len(points) // 2 :]
    return [
        Reading(
            {"queue_packets": half[0].at["queue_packets"]}, (pstdev(value for point in half for value in point.values),)
        )
        for half in halves
    ]


def _fairest(table: Table, name: str) -> float:
    """The queue at which a mix is fairest, in packets."""
    return float(max(table.read("jain_all", name), key=lambda point: point.mean).at["queue_packets"])


def _fairest_in_bdp(table: Table, claim: Claim, _: Tables) -> list[Reading]:
    return [Reading({}, (_fairest(table, claim.series[0]) * PACKET_BITS / BDP_BITS,))]


def _fairest_order(table: Table, claim: Claim, _: Tables) -> list[list[Reading]]:
    return [[Reading({}, (_fairest(table, name),))] for name in claim.order]


READERS = {
    "by_number_of_flows": _by_number_of_flows,
    "spread_of_points": _spread_of_points,
    "fairest_in_bdp": _fairest_in_bdp,
    "fairest_order": _fairest_order,
}
