"""Every figure of a run, declared once: its name, titles, unit, scale and bounds, how it is read, and where it is shown
unless others are asked for.

What a figure means is said in `metrics.py`. Tables are opened only for figures that the summary of a run does not have.

Figures of a link are the bottleneck's, the link of [path]; with the name of a link behind an @ they are that link's:
``queue@up``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from dumbbell.errors import wrong

from . import metrics
from .statistic import jain, known

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
        """Which experiment it repeats."""
        return self.result.experiment


Read = Callable[[Measured, Sequence[int]], float | None]
"""``read(run, flows)`` gives a figure of these flows; None or nan where there is none."""

#: Bins in which rates vary: those of Borgli and Misund, Fig. 7, s.
BIN_S = 0.5

#: The statistics of many times or delays: how names of figures end, and how titles do.
_WHICH = {
    "mean": ("", "mean"),
    "p50": ("_p50", "median"),
    "p95": ("_p95", "95th percentile"),
    "p99": ("_p99", "99th percentile"),
}

Place = Literal["table", "diff", "page", "repeated", "sweep", "links", "notebook"]
"""Where figures are shown unless others are asked for: tables of `show` and `run`, changes, the table of a report, its
repetitions, its figures of a sweep, the table of several links, a notebook."""


class Figure(NamedTuple):
    """One figure: its name, what it is called where, its unit, and how it is read."""

    name: str
    title: str
    """The heading of a column."""
    long: str
    """The same for the axis of a picture."""
    unit: str
    """That of tables: `%` for a fraction that people see in percent."""
    field: str
    """Its key in JSON and CSV, which have it as it is computed."""
    digits: int
    """Decimals in tables."""
    read: Read
    of_run: bool = False
    """Whether it is one figure for all flows of a run: of the bottleneck, or Jain's index."""
    over: str = ""
    """What it is over several flows: ``sum``, ``mean``, ``min``, ``sd``; empty where they are taken together."""
    of_link: OfLink | None = None
    """The same of any link, by the number that tables give it, where it is a figure of a link."""
    most: float = math.inf
    """The largest value that is possible, as it is computed."""
    counts: str = ""
    """The unit on an axis of what tables count without one."""
    shown: tuple[Place, ...] = ()
    """Where it is shown unless others are asked for."""
    rank: int = 20
    """A narrow terminal omits high ranks first."""

    @property
    def scale(self) -> int:
        """The factor from what is computed to what people see: 100 for percent. The only place that knows it."""
        return 100 if self.unit == "%" else 1

    @property
    def bound(self) -> float:
        """The largest value that people may see."""
        return self.most * self.scale

    @property
    def is_fraction(self) -> bool:
        """Whether it is at most 1 and tables print it so; of a fraction that they print in percent, False."""
        return self.bound == 1

    @property
    def axis_unit(self) -> str:
        """The unit on the axis of a picture."""
        return self.unit or self.counts

    @property
    def axis_title(self) -> str:
        """Long title with unit, as in ``Goodput (Mbit/s)``."""
        return f"{self.long} ({self.axis_unit})" if self.axis_unit else self.long

    @property
    def heading(self) -> str:
        """Title with unit in one line, as in ``goodput, Mbit/s``."""
        return f"{self.title}, {self.unit}" if self.unit else self.title

    @property
    def is_bounded_by_link(self) -> bool:
        """Whether a link's rate bounds it: a rate of all flows of a group."""
        return self.unit == "Mbit/s" and self.over == "sum"

    def possible(self, mean: float, half: float) -> tuple[float, float]:
        """The ends of an interval, cut to what is possible, all as people see them."""
        return max(mean - half, 0.0), min(mean + half, self.bound)

    def value(self, run: Measured, flows: Sequence[int] = ()) -> float | None:
        """The figure of these flows; None where there is none."""
        return known(self.read(run, flows))


def _flow(field: str, measure: Tables, scale: float = 1.0) -> Read:
    """A figure of flows: the summary's field for one flow of a whole run, else from the tables."""

    def read(run: Measured, flows: Sequence[int]) -> float | None:
        if run.window is None and len(flows) == 1 and field:
            found: float | None = run.result.summary.flows[flows[0]][field]
            return found
        return measure(run.result, flows, run.window) * scale

    return read


def _link(field: str, measure: Callable[[Result, Window | None, int], float]) -> dict[str, Any]:
    """How a figure of a link is read: the summary's field for a whole run, else from the tables; these also where an
    older version has made a summary without it.
    """

    def of_link(result: Result, link: int, window: Window | None) -> float | None:
        links = result.summary.data_links
        found: float | None = links[link][field] if window is None and link < len(links) else None
        return measure(result, window, link) if found is None else found

    def read(run: Measured, _: Sequence[int]) -> float | None:
        return of_link(run.result, 0, run.window)

    return {"field": field, "read": read, "of_run": True, "of_link": of_link}


def _of_each(read: Read, together: Callable[[list[float]], float]) -> Read:
    """A statistic of the flows' own figures, of those that have one."""

    def read_each(run: Measured, flows: Sequence[int]) -> float | None:
        values = [value for flow in flows if (value := known(read(run, [flow]))) is not None]
        return together(values) if values else None

    return read_each


def _unfinished(result: Result, flows: Sequence[int], window: Window | None) -> float:
    """Finite flows without a completion; of flows without an end, messages that did not arrive."""
    finite = [flow for flow in flows if result.plan.flows[flow].is_finite]
    endless = [flow for flow in flows if result.plan.flows[flow].sends_messages and flow not in finite]
    if not finite and not endless:
        return math.nan
    return float(
        metrics.unfinished_flows(result, finite, window) + metrics.unfinished_requests(result, endless, window)
    )


def _in_bins(measure: Callable[..., float]) -> Tables:
    """A figure over bins: of half a second, or as far apart as samples are; none without samples."""

    def read(result: Result, flows: Sequence[int], window: Window | None) -> float:
        if not result.plan.record.samples:
            return math.nan
        return measure(result, flows, window, bin_s=max(BIN_S, result.plan.sample_ns / 1e9))

    return read


def _statistics(
    name: str,
    long: str,
    unit: str,
    digits: int,
    reading: Callable[[str, str], dict[str, Any]],
    **shown: tuple[int, tuple[Place, ...]],
) -> list[Figure]:
    """Mean and percentiles, each read as ``reading(field, which)`` says; `shown` has rank and places of some."""
    made = []
    for which, (ending, word) in _WHICH.items():
        rank, places = shown.get(which, (20, ()))
        read = reading(f"{name}_{which}_{unit}", which)
        made.append(
            Figure(
                name + ending,
                f"{name} {which}",
                f"{long}, {word}",
                unit,
                digits=digits,
                rank=rank,
                shown=places,
                **read,
            )
        )
    return made


def _times(measure: Times, scale: float) -> Callable[[str, str], dict[str, Any]]:
    """Times that were measured one by one, those of all flows taken together."""
    return lambda field, which: {
        "field": "fct_s" if field == "fct_mean_s" else field,
        "read": _flow("", lambda result, flows, window: getattr(measure(result, flows, window), which), scale),
    }


def _pooled(*known_fields: str, smoothed: bool) -> Callable[[str, str], dict[str, Any]]:
    """RTTs at the sample times of all flows taken together; the summary of a flow has those `known_fields`."""
    return lambda field, which: {
        "field": field,
        "read": _flow(
            field if field in known_fields else "",
            lambda result, flows, window: getattr(metrics.rtt_ms(result, flows, window, smoothed=smoothed), which),
        ),
    }


def _one_way(field: str, which: str) -> dict[str, Any]:
    """One-way delays, which count packets of the whole run, and so are none of a window."""

    def measure(result: Result, flows: Sequence[int], window: Window | None) -> float:
        delay: float = getattr(metrics.one_way_delay_ms(result, flows), which) if window is None else math.nan
        return delay

    return {"field": field, "read": _flow("", measure), "over": "mean"}


def _queue(field: str, which: str) -> dict[str, Any]:
    """Queueing delay over time: the engine's for a whole run, whose quantiles are not those of the samples."""
    return _link(
        field, lambda result, window, link: getattr(metrics.queueing_delay_ms(result, window, link=link), which)
    )


def _sojourn(field: str, _: str) -> dict[str, Any]:
    """Time in the queue over packets of the whole run."""
    return _link(field, lambda *_: math.nan)


def _jain(run: Measured, _: Sequence[int]) -> float | None:
    return run.result.summary.jain if run.window is None else metrics.jain_index(run.result, run.window)


def _jain_flows(run: Measured, _: Sequence[int]) -> float | None:
    return run.result.summary.jain_flows if run.window is None else len(metrics.steady_flows(run.result, run.window))


def _counted(name: str) -> Callable[[Result, Window | None, int], float]:
    return lambda result, window, link: metrics.counted(result, name, window, link=link)


def _utilization(result: Result, window: Window | None, link: int) -> float:
    return metrics.utilization(result, window, link=link)


def _drop_rate(result: Result, window: Window | None, link: int) -> float:
    return metrics.loss_rate(result, window, link=link)


def _srtt(result: Result, flows: Sequence[int], window: Window | None) -> float:
    return metrics.rtt_ms(result, flows, window, smoothed=True).mean


_GOODPUT = _flow("goodput_mbps", metrics.goodput_bps, 1e-6)
#: Where most figures of a table are.
_OVERALL: tuple[Place, ...] = ("table", "diff", "page", "repeated", "sweep")

_ALL = [
    Figure(
        "goodput", "goodput", "Goodput", "Mbit/s", "goodput_mbps", 2, _GOODPUT,
        over="sum", rank=1, shown=_OVERALL,
    ),
    Figure(
        "goodput_flow_mean", "goodput a flow", "Goodput of a flow, mean", "Mbit/s", "goodput_flow_mean_mbps", 2,
        _of_each(_GOODPUT, fmean), over="mean", shown=("sweep", "notebook"),
    ),
    Figure(
        "goodput_flow_min", "goodput slowest", "Goodput of the slowest flow", "Mbit/s", "goodput_flow_min_mbps", 2,
        _of_each(_GOODPUT, min), over="min",
    ),
    Figure(
        "goodput_flow_sd", "goodput deviation", "Goodput of the flows, standard deviation", "Mbit/s",
        "goodput_flow_sd_mbps", 2, _of_each(_GOODPUT, pstdev), over="sd",
    ),
    Figure(
        "throughput", "throughput", "Throughput, retransmissions included", "Mbit/s", "throughput_mbps", 2,
        _flow("", metrics.throughput_bps, 1e-6), over="sum",
    ),
    Figure(
        "share", "share", "Share of all goodput", "", "share", 3, _flow("share", metrics.share), over="sum", most=1.0,
        rank=2, shown=(*_OVERALL, "notebook"),
    ),
    Figure(
        "retrans_rate", "retrans", "Retransmitted segments", "%", "retrans_rate", 2,
        _flow("retrans_rate", metrics.retransmission_rate), most=1.0, rank=8, shown=_OVERALL,
    ),
    *_statistics(
        "srtt", "Smoothed RTT", "ms", 1, _pooled("srtt_mean_ms", "srtt_p95_ms", smoothed=True),
        mean=(7, ("table", "diff", "page", "repeated", "notebook")), p95=(12, ("table", "sweep")),
    ),
    Figure(
        "srtt_flow_mean", "srtt a flow", "Smoothed RTT of a flow, mean", "ms", "srtt_flow_mean_ms", 1,
        _of_each(_flow("srtt_mean_ms", _srtt), fmean), over="mean",
    ),
    *_statistics("rtt", "RTT", "ms", 1, _pooled(smoothed=False), mean=(20, ("sweep",))),
    *_statistics("owd", "One-way delay", "ms", 1, _one_way),
    *_statistics(
        "fct", "Completion time", "s", 3, _times(metrics.completion_s, 1.0),
        mean=(3, _OVERALL), p99=(6, ("table", "sweep")),
    ),
    Figure(
        "unfinished", "unfinished", "Transfers or messages that did not complete", "", "unfinished", 0,
        _flow("", _unfinished), over="sum", rank=10, shown=("table", "diff"),
    ),
    *_statistics(
        "latency", "Request latency", "ms", 1, _times(metrics.latency_s, 1e3),
        mean=(3, ("table", "diff", "sweep")), p99=(6, ("table", "sweep")),
    ),
    Figure(
        "cov", "CoV goodput", "Coefficient of variation of goodput", "", "cov", 3,
        _flow("", _in_bins(metrics.coefficient_of_variation)),
    ),
    Figure(
        "cov_arrivals", "CoV arrivals", "Coefficient of variation of arrivals", "", "cov_arrivals", 3,
        _flow("", _in_bins(metrics.arrival_variation)),
    ),
    Figure(
        "jain", "Jain", "Jain's index", "", "jain", 3, _jain, of_run=True, most=1.0, rank=9, shown=_OVERALL,
    ),
    Figure(
        "jain_all", "Jain all", "Jain's index of all these flows", "", "jain_all", 3, _of_each(_GOODPUT, jain),
        most=1.0,
    ),
    Figure(
        "jain_flows", "Jain of", "Flows that Jain's index counts", "flows", "jain_flows", 0, _jain_flows, of_run=True,
    ),
    Figure(
        "utilization", "util.", "Utilization of the bottleneck", "", digits=3, most=1.0, rank=4,
        shown=(*_OVERALL, "links", "notebook"), **_link("utilization", _utilization),
    ),
    *_statistics(
        "queue", "Queueing delay over time", "ms", 1, _queue,
        mean=(5, (*_OVERALL, "links", "notebook")), p95=(13, ("table", "sweep", "links")),
    ),
    *_statistics("sojourn", "Time of packets in the queue", "ms", 1, _sojourn),
    Figure(
        "drops", "drops", "Packets dropped at the bottleneck", "", digits=0, counts="packets", rank=11,
        shown=(*_OVERALL, "links"), **_link("drops", _counted("dropped_packets")),
    ),
    Figure(
        "marks", "marks", "Packets marked at the bottleneck", "", digits=0, counts="packets", rank=14,
        shown=("table", "page", "sweep", "links"), **_link("marks", _counted("marked_packets")),
    ),
    Figure(
        "drop_rate", "drop rate", "Packets dropped at the bottleneck", "%", digits=2, most=1.0,
        **_link("drop_rate", _drop_rate),
    ),
]  # fmt: skip

FIGURES = {one.name: one for one in _ALL}
"""Every figure by its name, in the order of tables."""


def shown(place: Place) -> list[str]:
    """The names of the figures that a place shows unless others are asked for, in the order of tables."""
    return [name for name, one in FIGURES.items() if place in one.shown]


#: Other spellings of names.
SPELLINGS = {"utilisation": "utilization"}


def canonical(name: str, at: str = "--columns") -> str:
    """The name of a figure as :func:`figure` takes it: of other spellings, ours. Raises ScenarioError that names the
    option `at` where there is no such figure.
    """
    plain, sign, link = name.partition("@")
    plain = SPELLINGS.get(plain, plain)
    if plain not in FIGURES:
        raise wrong(at, name, "one of: " + ", ".join(FIGURES), list(FIGURES))
    if sign and (FIGURES[plain].of_link is None or not link):
        links = ", ".join(name for name, one in FIGURES.items() if one.of_link)
        raise wrong(
            at, name, f'a figure of a link before the @, and its name behind it, as "queue@up"; those are: {links}'
        )
    return plain + sign + link


def of_bottleneck(names: Iterable[str]) -> list[str]:
    """Those of these names that are figures of a link, and do not say which: they are the bottleneck's."""
    return [name for name in names if "@" not in name and FIGURES[name].of_link]


@cache
def figure(name: str) -> Figure:
    """The figure of a canonical name. One of a link by its name raises ResultError when it is read of a run that has no
    such link.
    """
    plain, _, link = name.partition("@")
    one = FIGURES[plain]
    of_link = one.of_link
    if not link or of_link is None:
        return one

    def read(run: Measured, _: Sequence[int]) -> float | None:
        return of_link(run.result, run.result.plan.link_number(link), run.window)

    long = one.long.replace("the bottleneck", link) if "the bottleneck" in one.long else f"{one.long}, of {link}"
    title, field = f"{one.title} {link}", f"{one.field}@{link}"
    return one._replace(name=name, title=title, long=long, field=field, read=read)
