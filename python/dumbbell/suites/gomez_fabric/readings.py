"""Metrics of the FABRIC poster's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dumbbell.results import metrics
from dumbbell.results.columns import sample_column
from dumbbell.suites import measure
from dumbbell.suites.measure import Metric

if TYPE_CHECKING:
    from dumbbell.results.load import Result


def bdp_mb(result: Result, _: str | None = None) -> float:
    """Rate times RTT of the path, MB."""
    return result.plan.bottleneck.rate_bps / 8 * result.plan.flows[0].rtt_ns / 1e9 / 1e6


def queue_occupancy(result: Result, _: str | None) -> float:
    """Queue in the measured part, mean over the sample times, in BDP."""
    return metrics.queue_occupancy_bytes(result, result.plan.window).mean / 1e6 / bdp_mb(result)


def bandwidth_estimates(result: Result, label: str | None) -> list[float]:
    """The controller's estimate of the bandwidth at every sample in the measured part, Mbit/s."""
    import numpy as np

    begin, end = result.plan.window or (0.0, result.plan.duration_s)
    estimates = []
    for number in measure.flows(result, label):
        t, own = (sample_column(result, number, name) for name in ("t_us", "bw_bps"))
        estimates += list(own[(t >= begin * 1e6) & (t <= end * 1e6) & ~np.isnan(own)] / 1e6)
    return [float(value) for value in estimates]


METRICS = {
    "bandwidth_estimates": Metric("Estimate of the bandwidth", "Mbit/s", bandwidth_estimates),
    "queue_occupancy": Metric("In the queue", "BDP", queue_occupancy),
}
