"""The metrics of `plot vary`: the figures of `catalogue.py` with the titles that axes have, and what is possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dumbbell.results.catalogue import FIGURES, Measured, canonical, figure

if TYPE_CHECKING:
    from dumbbell.plan.view import Window
    from dumbbell.results.load import Result

    from .groups import Group

#: No bound above.
_OPEN = float("inf")

#: Figures whose catalogue counts fractions, and axes percent.
_PERCENT = frozenset({"retrans_rate", "drop_rate"})


class Metric(NamedTuple):
    """A figure of a group of flows, or of the run as a whole."""

    name: str
    title: str
    unit: str
    how: str
    """What it is over the flows of a group: ``sum``, ``mean``, ``min``, ``all`` (taken together); empty for a figure of
    the run."""
    most: float
    """The largest value that is possible."""

    @property
    def axis_title(self) -> str:
        """Title with unit."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    @property
    def of_run(self) -> bool:
        """Whether it is one figure for all flows of a run."""
        return not self.how

    @property
    def is_bounded_by_link(self) -> bool:
        """Whether a link's rate bounds it: a rate of all flows of a group."""
        return self.unit == "Mbit/s" and not self.title.startswith("Goodput of")

    def possible(self, mean: float, half: float) -> tuple[float, float]:
        """The ends of an interval, cut to what is possible."""
        return max(mean - half, 0.0), min(mean + half, self.most)

    def read(self, result: Result, group: Group | None, window: Window | None) -> float | None:
        """The figure of a group of a run; None or nan where there is none."""
        value = figure(self.name).read(Measured(result, window), group.flows if group else ())
        return value * 100 if value is not None and self.name.partition("@")[0] in _PERCENT else value


_ENDINGS = {"": "mean", "_p50": "median", "_p95": "95th percentile", "_p99": "99th percentile"}
_PREFIXES = {
    "rtt": "RTT",
    "srtt": "Smoothed RTT",
    "owd": "One-way delay",
    "fct": "Completion time",
    "latency": "Request latency",
    "queue": "Queueing delay over time",
    "sojourn": "Time of packets in the queue",
}
_TITLES = {
    "goodput": "Goodput",
    "goodput_flow_mean": "Goodput of a flow, mean",
    "goodput_flow_min": "Goodput of the slowest flow",
    "throughput": "Throughput, retransmissions included",
    "share": "Share of all goodput",
    "retrans_rate": "Retransmitted segments",
    "unfinished": "Transfers or messages that did not complete",
    "cov": "Coefficient of variation of goodput",
    "cov_arrivals": "Coefficient of variation of arrivals",
    "jain": "Jain's index",
    "jain_flows": "Flows that Jain's index counts",
    "utilization": "Utilization of the bottleneck",
    "drops": "Packets dropped at the bottleneck",
    "marks": "Packets marked at the bottleneck",
    "drop_rate": "Packets dropped at the bottleneck",
    **{
        f"{prefix}{ending}": f"{title}, {word}"
        for prefix, title in _PREFIXES.items()
        for ending, word in _ENDINGS.items()
    },
}
_MOST = {"share": 1.0, "jain": 1.0, "utilization": 1.0, "retrans_rate": 100.0, "drop_rate": 100.0}
_UNITS = {"drops": "packets", "marks": "packets"}


def metric(name: str) -> Metric:
    """The metric of a name; raises ScenarioError."""
    name = canonical(name, "--metric")
    found, (plain, _, link) = figure(name), name.partition("@")
    how = "" if found.of_run else found.over or "all"
    title = _TITLES.get(plain, found.title)
    if link:
        title = title.replace("the bottleneck", link) if "the bottleneck" in title else f"{title}, of {link}"
    return Metric(name, title, _UNITS.get(plain, found.unit), how, _MOST.get(plain, _OPEN))


METRICS: dict[str, Metric] = {name: metric(name) for name in FIGURES}
