"""Figures from result tables, each with its definition and source.

Times are seconds, rates bit/s, unless the name says otherwise. `which` says whose figure it is: the number of a flow
(from 0, in the order of the plan), several numbers (one given twice counts once), the name of a [[flow]]
table, the name of a controller (all flows that run it), or ``"all"``. A `window` is ``(start_s, end_s)`` of simulated
time; without one a figure covers the whole run, start included, also where the scenario has a `measure`: its window is
``result.plan.window``. An end after the run's is cut to it. ResultError is raised for a window of which no part is in
the run. Counts at the edges of a window are interpolated between samples.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from dumbbell.plan.view import Window as Span
from dumbbell.units import FRAME_BYTES

from .columns import flow_column, joined, queue_column
from .statistic import (
    Distribution,
    Interval,
    difference_interval,
    distribution,
    jain,
    mean_interval,
    paired_interval,
    student_t,
)
from .transients import breaker_windows, convergence_time_s, recovery_time_s, stall_time_s
from .windows import (
    Which,
    Window,
    check_bin,
    counted_at,
    edges,
    flows_of,
    grown,
    inside,
    link_plan,
    mean_over_time,
    queue_inside,
    queue_series,
    windowed,
    within,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .result import Result
    from .statistic import Column as Column  # noqa: PLC0414 - plots take it from here

#: Part of the run or window, at either end, in which a flow need not be there to count in Jain's index.
JAIN_MARGIN = 0.1
#: Share of its capacity by which a link may seem to exceed it.
ROUNDING = 0.01


def active_s(result: Result, which: Which, window: Window = None) -> Span:
    """From the first start of these flows to their last stop, inside the window; the end is not after the start where
    none was there.
    """
    flows = flows_of(result, which)
    start, stop = flow_column(result, "start_us")[flows].min() / 1e6, flow_column(result, "stop_us")[flows].max() / 1e6
    if window is None:
        return float(start), float(stop)
    begin, end = inside(result, window)
    return max(float(start), begin), min(float(stop), end)


def goodput_bytes(result: Result, which: Which = "all", window: Window = None) -> float:
    """Payload that the receiving applications got, each byte once."""
    return grown(result, flows_of(result, which), "goodput_bytes", "goodput_bytes", window)


def goodput_bps(result: Result, which: Which, window: Window = None) -> float:
    """Payload that reached the receiving application, over the flow's active time, inside the window if there is one
    (goodput of RFC 2647, 3.17).

    Of several flows it is what all of them got, over the time from the first start to the last stop. nan where no flow
    was there.
    """
    start, stop = active_s(result, which, window)
    return goodput_bytes(result, which, window) * 8 / (stop - start) if stop > start else math.nan


def goodputs_bps(result: Result, which: Which = "all", window: Window = None) -> list[float]:
    """Goodput of each of these flows over its own active time; those that were not there in the window are left out."""
    rates = [goodput_bps(result, flow, window) for flow in flows_of(result, which)]
    return [value for value in rates if not math.isnan(value)]


def throughput_bps(result: Result, which: Which, window: Window = None) -> float:
    """Payload that senders put on the path, retransmissions included, over the time that `goodput_bps` takes. Of quinn
    it is that of UDP, with QUIC's headers and all that is no data: some 3 to 4 % more for full packets.

    In a window it is counted in segments of the mean size that the flow's have.
    """
    start, stop = active_s(result, which, window)
    sent = sum(_sent_bytes(result, flow, window) for flow in flows_of(result, which))
    return sent * 8 / (stop - start) if stop > start else math.nan


def _sent_bytes(result: Result, flow: int, window: Window) -> float:
    sent, segments = (float(flow_column(result, name)[flow]) for name in ("bytes_sent", "segs_sent"))
    return (
        sent if window is None else grown(result, [flow], "segs_sent", "segs_sent", window) * sent / (segments or 1.0)
    )


def utilization(result: Result, window: Window = None, *, link: int = 0) -> float:
    """Wire bytes that left a link over what its rate, steps or trace allow in the time and its token bucket held at its
    begin; 0 is the bottleneck.

    The bucket held nothing where packets waited, else at most its depth. The edges of a window are sample times. A
    hundredth and a burst above 1 count as 1; a link that sent more, as Linux's tbf may whose rate changes often, is
    shown as it is.
    """
    planned = link_plan(result, link)
    t, sent, backlog = (queue_column(result, link, name) for name in ("t_us", "sent_bytes", "backlog_bytes"))
    if not t.size:
        return math.nan
    first, last = (-1, t.size - 1) if window is None else edges(result, t, window)
    begin_ns, before, is_waiting = (
        (0, 0.0, False) if window is None else (int(t[first]) * 1000, float(sent[first]), bool(backlog[first]))
    )
    could = planned.bits(begin_ns, int(t[last]) * 1000) + (0 if is_waiting else planned.bucket_bits)
    left = float(sent[last] - before) * 8
    if could < left <= (1 + ROUNDING) * could + max(planned.bucket_bits, 8 * FRAME_BYTES):
        return 1.0
    return left / could if could else 0.0


def steady_flows(result: Result, window: Window = None) -> list[int]:
    """Flows that were active throughout: they started before the first tenth of the run or window was over, and stopped
    after its last tenth had begun. Jain's index counts these. A flow alone is always one of them.
    """
    begin, end = (0.0, result.plan.duration_s) if window is None else inside(result, window)
    margin = JAIN_MARGIN * (end - begin)
    starts, stops = flow_column(result, "start_us") / 1e6, flow_column(result, "stop_us") / 1e6
    if starts.size == 1:
        return [0]
    return [i for i in range(starts.size) if starts[i] <= begin + margin and stops[i] >= end - margin]


def jain_index(result: Result, window: Window = None) -> float | None:
    """Jain's index of the goodputs of the flows that were active throughout the run or window (`steady_flows`).

    None when several flows ran and fewer than two of them were; 1 for a flow alone.
    """
    counted = steady_flows(result, window)
    if len(counted) < 2 < len(result.plan.flows) + 1:
        return None
    return jain([0.0 if math.isnan(rate := goodput_bps(result, flow, window)) else rate for flow in counted])


def share(result: Result, which: Which, window: Window = None) -> float:
    """Payload that these flows got over what all flows got, bytes over bytes."""
    return goodput_bytes(result, which, window) / (goodput_bytes(result, "all", window) or 1.0)


def goodput_ratio(result: Result, which: Which, other: Which, window: Window = None) -> float:
    """Mean goodput of a flow of one group over that of another (1 is fair; infinite where the other got nothing)."""
    mine, its = (goodputs_bps(result, group, window) for group in (which, other))
    if not mine or not its:
        return math.nan
    below = sum(its) / len(its)
    return sum(mine) / len(mine) / below if below else math.inf


def retransmission_rate(result: Result, which: Which, window: Window = None) -> float:
    """Retransmitted over sent data segments of these flows together, as `netstat -s` counts them; 0 where nothing was
    sent, nan of UDP alone, which sends nothing again.
    """
    flows = [flow for flow in flows_of(result, which) if result.plan.flows[flow].is_acknowledged]
    if not flows:
        return math.nan
    sent = segments_sent(result, flows, window)
    return grown(result, flows, "retrans_segs", "retrans_total", window) / sent if sent else 0.0


def lost_share(result: Result, which: Which, window: Window = None) -> float:
    """Packets of these flows that queues dropped or random loss took, over the data packets that they sent; nan where
    nothing was sent, where a kernel has the queues, which tell nobody whose packets they drop, and in a window of a run
    without its events.
    """
    flows = flows_of(result, which)
    if window is not None:
        inside(result, window)
    if not all(_are_packets_seen(result, flow) for flow in flows):
        return math.nan
    sent = segments_sent(result, flows, window)
    if window is None:
        lost = float(sum(flow_column(result, name)[flows].sum() for name in ("queue_drops", "random_drops")))
    elif result.plan.record.events:
        lost = _lost_inside(result, flows, window)
    else:
        return math.nan
    return lost / sent if sent else math.nan


def _are_packets_seen(result: Result, flow: int) -> bool:
    """True where whoever has the path follows each packet: only then there are one-way delays, and UDP."""
    arrived = not math.isnan(float(flow_column(result, "owd_mean_us")[flow]))
    return arrived or not result.plan.flows[flow].is_acknowledged


def _lost_inside(result: Result, flows: Sequence[int], window: Span) -> float:
    import numpy as np

    from .columns import floats

    table = result.events
    of, t_s, count = floats(table, "flow"), floats(table, "t_ns") / 1e9, floats(table, "value")
    are_losses = np.isin(np.asarray(table["kind"].to_pylist()), ("drop_queue", "drop_random"))
    return float(count[are_losses & np.isin(of, flows) & within(result, t_s, window)].sum())


def loss_rate(result: Result, window: Window = None, *, link: int = 0) -> float:
    """Packets that a link (0: the bottleneck) dropped over those that it was offered (dropped + sent), as `tc -s qdisc`
    counts them.
    """
    dropped, sent = (counted(result, name, window, link=link) for name in ("dropped_packets", "sent_packets"))
    return dropped / (dropped + sent) if dropped + sent else 0.0


def mark_rate(result: Result, window: Window = None, *, link: int = 0) -> float:
    """Packets that a link (0: the bottleneck) marked CE over those that left it."""
    marked, sent = (counted(result, name, window, link=link) for name in ("marked_packets", "sent_packets"))
    return marked / sent if sent else 0.0


def rtt_ms(result: Result, which: Which = "all", window: Window = None, *, smoothed: bool = False) -> Distribution:
    """Round-trip times that senders measured (RFC 7323 timestamps and SACK times), or smoothed ones (RFC 6298), at the
    sample times of all these flows.
    """
    name = "srtt_us" if smoothed else "rtt_us"
    return distribution(joined([windowed(result, flow, name, window) for flow in flows_of(result, which)]) / 1000)


def windows_segments(result: Result, which: Which = "all", window: Window = None) -> Column:
    """Congestion windows at the sample times of these flows, in segments; UDP has none."""
    flows = [flow for flow in flows_of(result, which) if result.plan.flows[flow].is_acknowledged]
    return joined([windowed(result, flow, "cwnd", window) for flow in flows])


def queueing_delay_ms(result: Result, window: Window = None, *, link: int = 0) -> Distribution:
    """Waiting time of the packet at the head of a link's queue (0: the bottleneck): its mean over time, and percentiles
    at the sample times.

    The mean is that of all instants between the first and the last sample, where the queue is ours; a kernel's queue is
    only looked at when samples are taken, so that its mean is theirs, too.
    """
    sampled = distribution(queue_inside(result, "sojourn_us", window, link) / 1000)
    exact = mean_over_time(result, "sojourn_integral_us2", window, link)
    return sampled if exact is None else sampled._replace(mean=exact / 1000)


def sojourn_ms(result: Result, *, link: int = 0) -> Distribution:
    """The time that packets spent in a link's queue, every packet of the whole run counted (percentiles to 1.6 %); nan
    where none left it.
    """
    link_plan(result, link)
    if link >= len(result.summary.data_links):
        return distribution([])
    of = result.summary.data_links[link]
    return Distribution(
        *(
            math.nan if value is None else value
            for value in (of.sojourn_mean_ms, of.sojourn_p50_ms, of.sojourn_p95_ms, of.sojourn_p99_ms)
        )
    )


def queue_occupancy_bytes(result: Result, window: Window = None, *, link: int = 0) -> Distribution:
    """Wire bytes in the queue of a link (0: the bottleneck), at the sample times."""
    return distribution(queue_inside(result, "backlog_bytes", window, link))


def one_way_delay_ms(result: Result, which: Which = "all") -> Distribution:
    """Times from the sender's interface to the receiver, every packet of the whole run counted (percentiles to 1.6 %);
    nan where none arrived.

    Of several flows each figure is the mean of the flows' own.
    """
    import numpy as np

    flows = flows_of(result, which)
    columns = [flow_column(result, f"owd_{name}_us")[flows] for name in ("mean", "p50", "p95", "p99")]
    return Distribution(
        *(float(np.nanmean(column)) / 1000 if not np.isnan(column).all() else math.nan for column in columns)
    )


def coefficient_of_variation(result: Result, which: Which, window: Window = None, *, bin_s: float = 0.5) -> float:
    """Standard deviation over mean of the goodput in whole bins of `bin_s` (Floyd, Handley, Padhye and Widmer, SIGCOMM
    2000).

    The default bin is that of Borgli and Misund (500 ms, Fig. 7).
    """
    return _variation(_series(result, which, "goodput_bytes", "goodput_bytes", bin_s=bin_s, window=window))


def arrival_variation(result: Result, which: Which, window: Window = None, *, bin_s: float = 0.5) -> float:
    """Standard deviation over mean of the segments that arrive in whole bins of `bin_s`, in whichever order (as Borgli
    and Misund, Fig. 7, who bin captured packets).

    A segment counts when its acknowledgement, selective or not, reaches the sender. `coefficient_of_variation` counts
    goodput, which stands still while a hole in front of it is filled.
    """
    return _variation(_series(result, which, "delivered", "delivered_segs", bin_s=bin_s, window=window))


def _variation(bins: Bins) -> float:
    """Standard deviation over mean of the whole bins; nan where nothing came."""
    import numpy as np

    amounts = bins.amounts[: bins.whole]
    return float(np.std(amounts) / np.mean(amounts)) if amounts.size and np.mean(amounts) else math.nan


def goodput_series(
    result: Result, which: Which, *, bin_s: float = 1.0, window: Window = None, whole: bool = False
) -> tuple[Column, Column]:
    """Goodput of these flows together in bins of `bin_s`, no shorter than samples are apart, from the start of the
    first flow or of the window: (ends in s, bit/s).

    The last bin may end after the flows do, so that the bins hold all of their bytes; `whole` leaves such a bin out.
    """
    bins = _series(result, which, "goodput_bytes", "goodput_bytes", bin_s=bin_s, window=window)
    count = bins.whole if whole else bins.ends.size
    return bins.ends[:count], bins.amounts[:count] * 8 / bin_s


def arrival_series(result: Result, which: Which, *, bin_s: float = 0.5, window: Window = None) -> tuple[Column, Column]:
    """Segments of these flows that arrive in each whole bin of `bin_s`, counted as by `arrival_variation`: (ends in s,
    segments per s).
    """
    bins = _series(result, which, "delivered", "delivered_segs", bin_s=bin_s, window=window)
    return bins.ends[: bins.whole], bins.amounts[: bins.whole] / bin_s


class Bins(NamedTuple):
    """Growth of a count in bins of one length."""

    ends: Column
    """s"""
    amounts: Column
    whole: int
    """How many bins end before the flows or the window do; at most one does not."""


def _series(result: Result, which: Which, sampled: str, total: str, *, bin_s: float, window: Window) -> Bins:
    """Bin a count of these flows together, by its names in the samples and in the table of flows."""
    import numpy as np

    flows = flows_of(result, which)
    check_bin(result, bin_s)
    begin, end = active_s(result, flows, window)
    if not end > begin:
        return Bins(np.empty(0), np.empty(0), 0)
    whole = int((end - begin) / bin_s + 1e-9)
    edges = begin + bin_s * np.arange(whole + 1 + (end - begin > (whole + 1e-9) * bin_s))
    # What comes after a window is not of its last bin.
    count = sum(
        (counted_at(result, flow, total, sampled, np.minimum(edges, end)) for flow in flows), np.zeros(edges.size)
    )
    return Bins(np.asarray(edges[1:], dtype=np.float64), np.diff(count), whole)


def completion_time_s(result: Result, flow: int) -> float | None:
    """Time from a finite flow's start (its SYN) until its last byte had reached the receiver; None where it did not
    complete.
    """
    times = completion_times_s(result, flow)
    return float(times[0]) if times.size else None


def completion_times_s(result: Result, which: Which = "all", window: Window = None) -> Column:
    """Completion times of these flows, of those that completed (and started in the window), in ascending order: their
    distribution is the FCT's.
    """
    import numpy as np

    flows = flows_of(result, which)
    starts, ends = (flow_column(result, name)[flows] / 1e6 for name in ("start_us", "completed_us"))
    taken = ~np.isnan(ends) & within(result, starts, window)
    return np.sort(ends[taken] - starts[taken])


def completion_s(result: Result, which: Which = "all", window: Window = None) -> Distribution:
    """Completion times of the finite flows among these that started in the window: the mean of those that completed,
    and percentiles of all, which are infinite where too few completed.
    """
    return distribution(completion_times_s(result, which, window), unreached=unfinished_flows(result, which, window))


def unfinished_flows(result: Result, which: Which = "all", window: Window = None) -> int:
    """Finite flows among these that started in the window and did not complete."""
    begin, end = (0.0, math.inf) if window is None else inside(result, window)
    planned = [(flow, result.plan.flows[flow]) for flow in flows_of(result, which)]
    finite = [flow for flow, plan in planned if plan.is_finite and begin <= plan.start_ns / 1e9 <= end]
    return len(finite) - completion_times_s(result, finite).size if finite else 0


def request_latencies_s(result: Result, which: Which = "all", window: Window = None) -> Column:
    """Times from asking for a message until the last of it had arrived, of the messages that arrived (and were asked
    for in the window), ascending.
    """
    import numpy as np

    asked, done = _messages(result, which, window)
    arrived = ~np.isnan(done)
    return np.sort(done[arrived] - asked[arrived]) / 1e6


def latency_s(result: Result, which: Which = "all", window: Window = None) -> Distribution:
    """Latencies of the messages that were asked for in the window: the mean of those that arrived, and percentiles of
    all, which are infinite where too few arrived.
    """
    return distribution(
        request_latencies_s(result, which, window), unreached=unfinished_requests(result, which, window)
    )


def unfinished_requests(result: Result, which: Which = "all", window: Window = None) -> int:
    """Messages of these flows that were asked for in the window and had not arrived in whole when the run ended."""
    import numpy as np

    return int(np.isnan(_messages(result, which, window)[1]).sum())


def _messages(result: Result, which: Which, window: Window) -> tuple[Column, Column]:
    """Times at which messages of these flows were asked for, in the window, and had arrived, us; nan for not at all."""
    import numpy as np

    from .columns import floats

    table = result.messages
    asked, done, of = (floats(table, name) for name in ("asked_us", "completed_us", "flow"))
    taken = np.isin(of, flows_of(result, which)) & within(result, asked / 1e6, window)
    return asked[taken], done[taken]


def probe_series(result: Result, probe: int, window: Window = None) -> tuple[Column, Column]:
    """Times at which the probes of a series were sent (in the window), seconds, and their round-trip times, ms; nan of
    those that were lost, there or on the way back, or still under way at the end.
    """
    from .columns import floats

    table = result.probes
    of, sent, rtts = (floats(table, name) for name in ("probe", "sent_us", "rtt_us"))
    taken = (of == probe) & within(result, sent / 1e6, window)
    return sent[taken] / 1e6, rtts[taken] / 1e3


def samples(result: Result, flow: int, window: Window = None) -> dict[str, Column]:
    """The numeric columns of a flow's samples; nulls are nan."""
    from .columns import SAMPLES

    flows_of(result, flow)
    return {name: windowed(result, flow, name, window) for name in SAMPLES}


def counted(result: Result, name: str, window: Window = None, *, link: int = 0) -> float:
    """Growth of a count of the queue table (``dropped_packets``, ``marked_packets``, ``sent_packets``, ``sent_bytes``);
    0: the bottleneck.
    """
    t, count = queue_series(result, name, link=link)
    if window is None:
        return float(count[-1]) if count.size else 0.0
    first, last = edges(result, t * 1e6, window)
    return float(count[last] - count[first])


def segments_sent(result: Result, which: Which = "all", window: Window = None) -> float:
    """Data segments that these flows sent, retransmissions included."""
    return grown(result, flows_of(result, which), "segs_sent", "segs_sent", window)


__all__ = [
    "JAIN_MARGIN", "Distribution", "Interval", "Which", "Window", "active_s", "arrival_series", "arrival_variation",
    "breaker_windows", "coefficient_of_variation", "completion_s",
    "completion_time_s", "completion_times_s",
    "convergence_time_s", "counted", "difference_interval", "distribution", "flows_of", "goodput_bps", "goodput_bytes",
    "goodput_ratio", "goodput_series",
    "goodputs_bps", "jain", "jain_index", "latency_s", "link_plan", "loss_rate", "lost_share",
    "mark_rate", "mean_interval",
    "one_way_delay_ms",
    "paired_interval",
    "queue_occupancy_bytes",
    "queue_series", "queueing_delay_ms", "recovery_time_s",
    "request_latencies_s", "retransmission_rate", "rtt_ms", "samples",
    "segments_sent", "share", "sojourn_ms", "stall_time_s",
    "steady_flows", "student_t", "throughput_bps", "unfinished_flows", "unfinished_requests", "utilization",
    "windows_segments",
]  # fmt: skip
