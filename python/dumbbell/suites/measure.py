"""The metrics that claims name, each read from one run: ``(result, label)``, where `label` is the name of the flows to
read, None for all of them. Rates in Mbit/s, times as the name says, shares and Jain's index as fractions.

Throughput is goodput, as iperf3 prints it. The definitions are those of docs/metrics.md.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from statistics import fmean, median, pstdev
from typing import TYPE_CHECKING, Any

from dumbbell.results import metrics, statistic

if TYPE_CHECKING:
    from dumbbell.results.load import Result
    from dumbbell.results.manifest import FlowSummary, LinkSummary

Metric = Callable[["Result", "str | None"], Any]


def flows(result: Result, label: str | None) -> list[int]:
    """Numbers of the flows with this name, or of all."""
    return [i for i, flow in enumerate(result.plan.flows) if label is None or flow.name == label]


def _summaries(result: Result, label: str | None) -> list[FlowSummary]:
    return [result.summary.flows[i] for i in flows(result, label)]


def throughputs(result: Result, label: str | None) -> list[float]:
    """Throughput of each flow."""
    return [flow.goodput_mbps for flow in _summaries(result, label)]


def throughput(result: Result, label: str | None) -> float:
    """Throughput of a flow: mean over the flows."""
    return fmean(throughputs(result, label))


def _known(value: float | None) -> float:
    return nan if value is None else float(value)


def jain(result: Result, label: str | None) -> float:
    """Jain's index of the flows' throughputs."""
    return statistic.jain(throughputs(result, label))


def share(result: Result, label: str | None) -> float:
    """The flows' part of all bytes."""
    return sum(flow.share for flow in _summaries(result, label))


def retransmitted(result: Result, label: str | None) -> float:
    """Retransmitted segments, per cent of those sent."""
    return 100 * metrics.retransmission_rate(result, flows(result, label))


def srtt(result: Result, label: str | None) -> float:
    """Smoothed RTT, ms: mean over the flows of each one's mean."""
    return fmean(_known(flow.srtt_mean_ms) for flow in _summaries(result, label))


def completion_times(result: Result, label: str | None) -> list[float]:
    """Completion time of each flow, s; inf where it did not complete."""
    return [inf if flow.fct_s is None else flow.fct_s for flow in _summaries(result, label)]


def waiting_ms(link: LinkSummary) -> float:
    """Mean time in the queue, ms: of packets, or over time on a kernel, which does not tell it of packets."""
    return _known(link.queue_mean_ms if link.sojourn_mean_ms is None else link.sojourn_mean_ms)


def _rtts(result: Result, label: str | None) -> statistic.Distribution:
    return metrics.rtt_ms(result, flows(result, label))


def grows_with_rate(metric: str) -> bool:
    """Whether a metric of the papers is a rate or an amount of bytes: runs at a tenth of the paper's rates have a tenth
    of it. All others are times, shares, ratios or multiples of a BDP, which do not change with the rates.
    """
    return metric.endswith(("_mbps", "_kbps", "_bytes")) or metric in ("throughput", "bandwidth_estimates")


METRICS: dict[str, Metric] = {
    "jain": jain,
    "share": share,
    "link_util": lambda result, _: result.summary.link.utilization,
    "throughput_mbps": throughput,
    "throughput": throughput,
    "throughput_kbps": lambda result, label: throughput(result, label) * 1000,
    "mean_flow_throughput_mbps": throughput,
    "aggregate_throughput_mbps": lambda result, label: sum(throughputs(result, label)),
    "stddev_flow_throughput_mbps": lambda result, label: pstdev(throughputs(result, label)),
    "flow_throughputs_mbps": throughputs,
    "retrans_rate_pct": retransmitted,
    "rtt_ms": srtt,
    "fct_s": lambda result, label: fmean(completion_times(result, label)),
    "median_fct_s": lambda result, label: median(completion_times(result, label)),
    "flow_fcts_s": completion_times,
    "loss_rate_pct": lambda result, _: 100 * result.summary.link.drop_rate,
    "loss_fraction": lambda result, _: result.summary.link.drop_rate,
    "mean_owd_ms": lambda result, label: fmean(_known(flow.owd_mean_ms) for flow in _summaries(result, label)),
    "mean_queue_delay_ms": lambda result, _: waiting_ms(result.summary.link),
    "median_rtt_ms": lambda result, label: _rtts(result, label).p50,
}
