"""Readers of the catalogue's figures: from its summary, or from the metrics of its tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import metrics, transients
from .statistic import known

if TYPE_CHECKING:
    from dumbbell.plan.view import Window

    from .experiment import Key
    from .result import Result

    Tables = Callable[[Result, Sequence[int], Window | None], float]
    Times = Callable[[Result, Sequence[int], Window | None], metrics.Distribution]
    OfLink = Callable[[Result, int, Window | None], float | None]


class Measured(NamedTuple):
    """A run and the part of it that figures cover; None for all of it."""

    result: Result
    window: Window | None

    @property
    def experiment(self) -> Key:
        """Experiment that it repeats."""
        return self.result.experiment


Read = Callable[[Measured, Sequence[int]], float | None]
"""``read(run, flows)`` gives a figure of these flows; None or nan where there is none."""

#: Jain's index from which on flows share fairly, in bins of 1 s for 5 s.
FAIR = 0.9
#: Bins in which rates vary: those of Borgli and Misund, Fig. 7, s.
BIN_S = 0.5


def of_flows(field: str, measure: Tables, scale: float = 1.0) -> Read:
    """A figure of flows: the summary's field for one flow of a whole run, else from the tables."""

    def read(run: Measured, flows: Sequence[int]) -> float | None:
        if run.window is None and len(flows) == 1 and field:
            value: float | None = run.result.summary.flows[flows[0]][field]
            return value
        return measure(run.result, flows, run.window) * scale

    return read


def mbps(measure: Tables) -> Tables:
    """A rate in Mbit/s, of one in bit/s."""
    return lambda result, flows, window: measure(result, flows, window) / 1e6


def of_links(field: str, measure: Callable[[Result, Window | None, int], float]) -> dict[str, Any]:
    """Reader of a link's figure: the summary's field for a whole run, else from the tables; these also where an older
    version has made a summary without it.
    """

    def of_link(result: Result, link: int, window: Window | None) -> float | None:
        links = result.summary.data_links
        value: float | None = links[link][field] if window is None and link < len(links) else None
        return measure(result, window, link) if value is None else value

    def read(run: Measured, _: Sequence[int]) -> float | None:
        return of_link(run.result, 0, run.window)

    return {"field": field, "read": read, "of_run": True, "of_link": of_link}


def of_each(read: Read, together: Callable[[list[float]], float]) -> Read:
    """A statistic of the flows' own figures, of those that have one."""

    def read_each(run: Measured, flows: Sequence[int]) -> float | None:
        values = [value for flow in flows if (value := known(read(run, [flow]))) is not None]
        return together(values) if values else None

    return read_each


def unfinished(result: Result, flows: Sequence[int], window: Window | None) -> float:
    """Finite flows without a completion; of flows without an end, messages that did not arrive."""
    finite = [flow for flow in flows if result.plan.flows[flow].is_finite]
    endless = [flow for flow in flows if result.plan.flows[flow].sends_messages and flow not in finite]
    if not finite and not endless:
        return math.nan
    return float(
        metrics.unfinished_flows(result, finite, window) + metrics.unfinished_requests(result, endless, window)
    )


def convergence(run: Measured, _: Sequence[int]) -> float | None:
    """Time until the flows share fairly, s; infinite where they never do, none where there are not two."""
    if run.window is not None or not transients.has_rivals(run.result):
        return None
    time = metrics.convergence_time_s(run.result, fairness=FAIR)
    return math.inf if time is None else time


def recovery(result: Result, flows: Sequence[int], window: Window | None) -> float:
    """Time until a second in which these flows use the link, s."""
    return metrics.recovery_time_s(result, flows, window)


def stall(result: Result, flows: Sequence[int], window: Window | None) -> float:
    """Longest time without anything new, s; none without samples."""
    return metrics.stall_time_s(result, flows, window) if result.plan.record.samples else math.nan


def breaker(result: Result, flows: Sequence[int], window: Window | None) -> float:
    """Windows in a row of a flow that sends more than ten times what TCP would: of the worst of these."""
    return max(metrics.breaker_windows(result, flow, window) for flow in flows)


def in_bins(measure: Callable[..., float]) -> Tables:
    """A figure over bins: of half a second, or as far apart as samples are; none without samples."""

    def read(result: Result, flows: Sequence[int], window: Window | None) -> float:
        if not result.plan.record.samples:
            return math.nan
        return measure(result, flows, window, bin_s=max(BIN_S, result.plan.sample_ns / 1e9))

    return read


def times(measure: Times, scale: float, absent: str) -> Callable[[str, str], dict[str, Any]]:
    """Times that were measured one by one, those of all flows taken together; `absent` says why there are none."""
    return lambda field, which: {
        "absent": absent,
        "field": "fct_s" if field == "fct_mean_s" else field,
        "read": of_flows("", lambda result, flows, window: getattr(measure(result, flows, window), which), scale),
    }


def pooled(*known_fields: str, smoothed: bool) -> Callable[[str, str], dict[str, Any]]:
    """RTTs at the sample times of all flows taken together; the summary of a flow has those `known_fields`."""
    return lambda field, which: {
        "field": field,
        "read": of_flows(
            field if field in known_fields else "",
            lambda result, flows, window: getattr(metrics.rtt_ms(result, flows, window, smoothed=smoothed), which),
        ),
    }


def windows(together: Callable[[Any], Any]) -> Read:
    """A statistic of the congestion windows at the sample times of all flows."""

    def measure(result: Result, flows: Sequence[int], window: Window | None) -> float:
        sampled = metrics.windows_segments(result, flows, window)
        return float(together(sampled)) if sampled.size else math.nan

    return of_flows("", measure)


def one_way(field: str, which: str) -> dict[str, Any]:
    """One-way delays, which count packets of the whole run, and so are none of a window."""

    def measure(result: Result, flows: Sequence[int], window: Window | None) -> float:
        delay: float = getattr(metrics.one_way_delay_ms(result, flows), which) if window is None else math.nan
        return delay

    return {"field": field, "read": of_flows("", measure), "over": "mean", "of_whole_runs": True}


def queue(field: str, which: str) -> dict[str, Any]:
    """Queueing delay over time: the engine's for a whole run, whose quantiles are not those of the samples."""
    return of_links(
        field, lambda result, window, link: getattr(metrics.queueing_delay_ms(result, window, link=link), which)
    )


def sojourn(field: str, _: str) -> dict[str, Any]:
    """Time in the queue over packets of the whole run."""
    return {**of_links(field, lambda *_: math.nan), "of_whole_runs": True}


def jain(run: Measured, _: Sequence[int]) -> float | None:
    """Jain's index of the flows that were active throughout."""
    return run.result.summary.jain if run.window is None else metrics.jain_index(run.result, run.window)


def jain_flows(run: Measured, _: Sequence[int]) -> float | None:
    """Number of flows that the index counts."""
    return run.result.summary.jain_flows if run.window is None else len(metrics.steady_flows(run.result, run.window))


def counted(name: str) -> Callable[[Result, Window | None, int], float]:
    """Growth of a count of the queue table."""
    return lambda result, window, link: metrics.counted(result, name, window, link=link)


def utilization(result: Result, window: Window | None, link: int) -> float:
    """Part of what a link can send that left it."""
    return metrics.utilization(result, window, link=link)


def drop_rate(result: Result, window: Window | None, link: int) -> float:
    """Part of the packets offered to a link that it dropped."""
    return metrics.loss_rate(result, window, link=link)


def srtt(result: Result, flows: Sequence[int], window: Window | None) -> float:
    """Mean smoothed RTT, ms."""
    return metrics.rtt_ms(result, flows, window, smoothed=True).mean
