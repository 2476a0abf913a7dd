"""Metrics as Zhang's scripts count them, and the rates over time that Figs. 7 to 14 draw."""

from __future__ import annotations

from math import nan
from statistics import fmean
from typing import TYPE_CHECKING, Any

from dumbbell.plots import look, style
from dumbbell.plots.goodput import draw_fair_share
from dumbbell.results import metrics, statistic
from dumbbell.suites import phases, timed
from dumbbell.suites.measure import Metric
from dumbbell.suites.table import Reading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from dumbbell.results.load import Result
    from dumbbell.suites.claims import Claim
    from dumbbell.suites.draw import Panel
    from dumbbell.suites.table import Point, Table, Tables

#: UDP payload of a packet over its stream data (most have a header of 9 bytes): his scripts sum the lengths that the
#: receivers' sockets gave. The printed rates need it: Cubic's 1716 and 2166 kbit/s (Table 3, case 1) are 0.97 of the
#: link, and stream data alone would come to 0.96 of it at most.
DATAGRAM = 1009 / 1000

#: The time with all four flows, seconds.
ALL_FOUR = (120.0, 200.0)


def flows_of(result: Result, label: str | None) -> list[int]:
    """Numbers of a controller's flows, of pairs too; of all flows without a label."""
    return [i for i, flow in enumerate(result.plan.flows) if label is None or flow.name.removesuffix(" 2") == label]


def rates_kbps(result: Result) -> list[float]:
    """Rate that the socket of each flow's receiver got, kbit/s."""
    return [flow.goodput_mbps * 1000 * DATAGRAM for flow in result.summary.flows]


def ratio(result: Result, _: str | None) -> float:
    """The highest rate of a flow over the lowest (Equation 12)."""
    rates = rates_kbps(result)
    return max(rates) / (min(rates) or nan)


def utility(result: Result, _: str | None) -> float:
    """Bytes of all receivers over what the link could carry (Equation 13)."""
    capacity = result.plan.bottleneck.bits(0, result.plan.duration_ns) * 1e6 / result.plan.duration_ns
    return sum(rates_kbps(result)) / capacity


def mean_delay_ms(result: Result, label: str | None) -> float:
    """Mean one-way delay over all packets of these flows, as `script/pro-owd.py` takes it."""
    parts = [
        (flow.owd_mean_ms, flow.goodput_bytes)
        for flow in (result.summary.flows[i] for i in flows_of(result, label))
        if flow.owd_mean_ms is not None
    ]
    return sum(delay * size for delay, size in parts) / (sum(size for _, size in parts) or nan)


def own_share(result: Result, _: str | None) -> float:
    """The part of the first two flows."""
    return sum(result.summary.flows[i].share for i in flows_of(result, result.plan.flows[0].name))


def mean_rate_kbps(result: Result, label: str | None) -> float:
    """Goodput of a controller's flow, mean over its flows."""
    return fmean(result.summary.flows[i].goodput_mbps * 1000 for i in flows_of(result, label))


def _rate_ratio(result: Result, _: str | None) -> float:
    """Goodput of the first flow over that of the last."""
    return result.summary.flows[0].goodput_mbps / result.summary.flows[-1].goodput_mbps


def occupancy(result: Result, _: str | None) -> float:
    """Mean of the queue over its limit."""
    limit = result.plan.bottleneck.qdisc.limit
    assert limit is not None
    return metrics.queue_occupancy_bytes(result).mean / limit.wire_bytes


def rate_over_time(result: Result, number: int) -> tuple[Any, Any]:
    """Rate that the framework traces with every packet: the controller's `BandwidthEstimate`, which is BBR's maximum of
    the delivery rate, and window over smoothed RTT for Reno and Cubic. Times in s, Mbit/s.
    """
    import numpy as np

    from dumbbell.results.columns import sample_column

    t = sample_column(result, number, "t_us") / 1e6
    rate = sample_column(result, number, "bw_bps") / 1e6
    if np.isnan(rate).all():
        rate = sample_column(result, number, "cwnd") * 1460 * 8 / sample_column(result, number, "srtt_us")
    return t, rate


def variation(result: Result, label: str | None, window: tuple[float, float] = (20.0, 200.0)) -> float:
    """Standard deviation over mean of the rate over time in this window (s), mean over the flows."""
    import numpy as np

    values = []
    for number in flows_of(result, label):
        t, rate = rate_over_time(result, number)
        inside = rate[(t >= window[0]) & (t <= window[1]) & ~np.isnan(rate)]
        values.append(float(np.std(inside) / np.mean(inside)) if inside.size else nan)
    return statistic.distribution(values).mean


METRICS = {
    **phases.METRICS,
    "x1_kbps": Metric("Rate of the first flow", "kbit/s", lambda result, _: rates_kbps(result)[0]),
    "x2_kbps": Metric("Rate of the second flow", "kbit/s", lambda result, _: rates_kbps(result)[1]),
    "ratio": Metric("Highest rate over the lowest", "", ratio),
    "utility": Metric("Received over the capacity", "", utility),
    "owd": Metric("One-way delay of packets, mean", "ms", mean_delay_ms),
    "loss_fraction": Metric("Dropped at the bottleneck", "", lambda result, _: result.summary.link.drop_rate),
    "share_of_pair": Metric("Share of the first two flows", "", own_share),
    "share_of_others": Metric("Share of the others", "", lambda result, label: 1 - own_share(result, label)),
    "pair_kbps": Metric("Goodput of a flow", "kbit/s", mean_rate_kbps),
    "rate_ratio": Metric("Goodput of the first flow over the last", "", _rate_ratio),
    "cov_rate": Metric("Coefficient of variation of the rate", "", variation),
    "occupancy": Metric("Mean of the queue over its limit", "", occupancy),
}


def window_of(claim: Claim) -> tuple[float, float]:
    """The window that a claim names, in seconds: ``120-200 s``; else the time with all four flows."""
    begin, _, end = claim.at.get("window", "").removesuffix(" s").partition("-")
    return (float(begin), float(end)) if end else ALL_FOUR


def _windowed(table: Table, claim: Claim, book: Tables) -> list[Reading] | list[list[Reading]]:
    """Jain's index or the variation of the rate in the claim's window; an ordering compares with BBR's figure."""

    def reading(of: Table, label: str) -> Reading:
        point = of.points_of(label)[0][0]
        return Reading(point.at, tuple(_in_window(run, claim) for run in point.runs))

    if claim.kind != "ordering" or claim.read is None:
        return [reading(table, claim.series[0])]
    (other,) = claim.read.entry
    return [[reading(book.table(f"zhang2019/{other}") if name == "BBR" else table, name)] for name in claim.order]


def _in_window(run: Result, claim: Claim) -> float:
    """The figure of a claim in its window; nan where the run ends before that."""
    if run.plan.duration_s <= window_of(claim)[0]:
        return nan
    if claim.metric == "jain":
        index = metrics.jain_index(run, window_of(claim))
        return nan if index is None else index
    return variation(run, None, window_of(claim))


def peak_mbps(run: Result, number: int) -> float:
    """The highest rate of a flow in its first five seconds, Mbit/s."""
    begin = run.plan.flows[number].start_ns / 1e9
    t, rate = rate_over_time(run, number)
    return float(max(rate[(t >= begin) & (t <= begin + 5)], default=nan))


def _spikes(table: Table, _: Claim, __: Tables) -> list[list[Reading]]:
    """The peaks of the second and third flow, and an equal part of the link among the flows that have started."""
    runs = table.points_of("BBR")[0][0].runs
    places = [(number, {"flow": f"flow{number + 1}"}) for number in (1, 2)]
    return [
        [Reading(place, tuple(peak_mbps(run, number) for run in runs)) for number, place in places],
        [
            Reading(place, tuple(run.plan.bottleneck.rate_bps / 1e6 / (number + 1) for run in runs))
            for number, place in places
        ],
    ]


READERS = {"windowed": _windowed, "spikes": _spikes}


def rates(*, rate: float | None = None, label: str | None = None, title: str = "") -> Panel:
    """The rate of each flow of the first repetition, the link's rate, in its steps where `rate` is None, and where that
    is constant the fair share.

    What differs has the colours: controllers, or flows of one.
    """

    def draw(table: Table, sheet: style.Sheet, ax: Axes) -> None:
        (point, _), *_ = table.points_of(label)
        run = point.runs[0]
        ccas = [flow.cca for flow in run.plan.flows]
        dresses = look.dress([[look.Trait(cca, is_cca=True), look.Trait(i)] for i, cca in enumerate(ccas)])
        for number, (cca, own) in enumerate(zip(ccas, dresses)):
            t, values = rate_over_time(run, number)
            (handle,) = ax.step(t, values, where="post", **{**own.line, "linewidth": 1.0})
            sheet.entry(handle, f"flow{number + 1}" + (f" ({look.name(cca)})" if len(set(ccas)) > 1 else ""))
        sheet.entry(_capacity(point, ax, rate), timed.RATE)
        draw_fair_share(sheet, ax, run, (0.0, run.plan.duration_s))
        ax.set_xlim(0, run.plan.duration_s)
        ax.set_ylim(0, 1.15 * max(_levels(point, rate)))
        ax.set_xlabel("Time (s)")
        style.value_title(sheet, ax, "Rate (Mbit/s)")
        if title:
            style.panel_title(sheet, ax, title)

    return draw


def _levels(point: Point, rate: float | None) -> list[float]:
    plan = point.runs[0].plan
    return [rate] if rate else plan.bottleneck.changes(plan.duration_ns)[1]


def _capacity(point: Point, ax: Axes, rate: float | None) -> Line2D:
    plan = point.runs[0].plan
    if rate:
        return ax.axhline(rate, color=look.NEUTRAL, ls="--", lw=0.8)
    times, values = plan.bottleneck.changes(plan.duration_ns)
    return ax.step(times, values, where="post", color=look.NEUTRAL, ls="--", lw=0.8)[0]


PANELS = {"rates": rates}
