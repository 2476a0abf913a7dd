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

from . import metrics, readers
from .readers import Measured as Measured  # noqa: PLC0414 - who reads figures takes it from here
from .statistic import jain, known

if TYPE_CHECKING:
    from .readers import OfLink, Read


#: The statistics of many times or delays: how names of figures end, and how titles do.
_WHICH = {
    "mean": ("", "mean"),
    "p50": ("_p50", "median"),
    "p95": ("_p95", "95th percentile"),
    "p99": ("_p99", "99th percentile"),
}

Place = Literal["table", "diff", "page", "repeated", "sweep", "links", "notebook", "words"]
"""Where figures are shown unless others are asked for: tables of `show` and `run`, changes, the table of a report, its
repetitions, its figures of a sweep, the table of several links, a notebook, the sentences of a report."""


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
    is_quiet: bool = False
    """Whether a table leaves it out where it is zero in all rows, unless it is asked for."""
    of_whole_runs: bool = False
    """Whether it counts every packet of a whole run, so that a window has none."""
    absent: str = "it was not recorded, or nothing arrived"
    """Why a run has none."""

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
        """True if it is at most 1 and tables print it so; of a fraction that they print in percent, False."""
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
    def times_title(self) -> str:
        """Title with unit of the times that a statistic is of, as in ``Completion time (s)``."""
        return f"{self.long.rpartition(', ')[0]} ({self.unit})"

    @property
    def heading(self) -> str:
        """Title with unit in one line, as in ``goodput, Mbit/s``."""
        return f"{self.title}, {self.unit}" if self.unit else self.title

    @property
    def is_bounded_by_link(self) -> bool:
        """True if a link's rate bounds it: a rate of all flows of a group."""
        return self.unit == "Mbit/s" and self.over == "sum"

    def possible(self, mean: float, half: float) -> tuple[float, float]:
        """The ends of an interval, cut to what is possible, all as people see them."""
        return max(mean - half, 0.0), min(mean + half, self.bound)

    def value(self, run: Measured, flows: Sequence[int] = ()) -> float | None:
        """The figure of these flows; None where there is none."""
        return known(self.read(run, flows))


def _statistics(
    name: str,
    long: str,
    unit: str,
    digits: int,
    reading: Callable[[str, str], dict[str, Any]],
    **shown: tuple[int, tuple[Place, ...]],
) -> list[Figure]:
    """Mean and percentiles, each read as ``reading(field, which)`` says; `shown` has rank and places of some."""
    listed = []
    for which, (ending, word) in _WHICH.items():
        rank, places = shown.get(which, (20, ()))
        read = reading(f"{name}_{which}_{unit}", which)
        listed.append(
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
    return listed


_GOODPUT = readers.of_flows("goodput_mbps", readers.mbps(metrics.goodput_bps))
#: Where most figures of a table are.
_OVERALL: tuple[Place, ...] = ("table", "diff", "page", "repeated", "sweep")
_TIMES = "none of their flows has a size, or a number of answers, and completed"

_ALL = [
    Figure(
        "goodput", "goodput", "Goodput", "Mbit/s", "goodput_mbps", 2, _GOODPUT,
        over="sum", rank=1, shown=(*_OVERALL, "words"),
    ),
    Figure(
        "goodput_flow_mean", "goodput a flow", "Goodput of a flow, mean", "Mbit/s", "goodput_flow_mean_mbps", 2,
        readers.of_each(_GOODPUT, fmean), over="mean", shown=("sweep", "notebook"),
    ),
    Figure(
        "goodput_flow_min", "goodput slowest", "Goodput of the slowest flow", "Mbit/s", "goodput_flow_min_mbps", 2,
        readers.of_each(_GOODPUT, min), over="min",
    ),
    Figure(
        "goodput_flow_sd", "goodput deviation", "Goodput of the flows, standard deviation", "Mbit/s",
        "goodput_flow_sd_mbps", 2, readers.of_each(_GOODPUT, pstdev), over="sd",
    ),
    Figure(
        "throughput", "throughput", "Throughput, retransmissions included", "Mbit/s", "throughput_mbps", 2,
        readers.of_flows("", readers.mbps(metrics.throughput_bps)), over="sum",
    ),
    Figure(
        "share", "share", "Share of all goodput", "", "share", 3, readers.of_flows("share", metrics.share),
        over="sum", most=1.0,
        rank=2, shown=(*_OVERALL, "notebook", "words"),
    ),
    Figure(
        "retrans_rate", "retrans", "Retransmitted segments", "%", "retrans_rate", 2,
        readers.of_flows("retrans_rate", metrics.retransmission_rate), most=1.0, rank=8, shown=_OVERALL,
    ),
    Figure(
        "lost", "lost", "Packets lost on the path", "%", "lost_share", 2, readers.of_flows("", metrics.lost_share),
        most=1.0,
        absent="nothing was sent, a kernel has the queues, or events are not recorded, which a window needs",
    ),
    *_statistics(
        "srtt", "Smoothed RTT", "ms", 1, readers.pooled("srtt_mean_ms", "srtt_p95_ms", smoothed=True),
        mean=(7, ("table", "diff", "page", "repeated", "notebook")), p95=(12, ("table", "sweep")),
    ),
    Figure(
        "srtt_flow_mean", "srtt a flow", "Smoothed RTT of a flow, mean", "ms", "srtt_flow_mean_ms", 1,
        readers.of_each(readers.of_flows("srtt_mean_ms", readers.srtt), fmean), over="mean",
    ),
    *_statistics("rtt", "RTT", "ms", 1, readers.pooled(smoothed=False), mean=(20, ("sweep",))),
    *(
        Figure(
            name, title, f"Congestion window, {word}", "segments", f"{name}_segments", 1, readers.windows(which),
            absent="no sample lies in that part of the run ([record] every)",
        )
        for name, title, word, which in (
            ("cwnd", "cwnd", "mean", fmean),
            ("cwnd_min", "cwnd least", "smallest", min),
            ("cwnd_max", "cwnd most", "largest", max),
        )
    ),
    *_statistics("owd", "One-way delay", "ms", 1, readers.one_way),
    *_statistics(
        "fct", "Completion time", "s", 3, readers.times(metrics.completion_s, 1.0, _TIMES),
        mean=(3, _OVERALL), p99=(6, ("table", "sweep")),
    ),
    Figure(
        "unfinished", "unfinished", "Transfers or messages that did not complete", "", "unfinished", 0,
        readers.of_flows("", readers.unfinished), over="sum", rank=10, shown=("table", "diff"), absent=_TIMES,
    ),
    *_statistics(
        "latency", "Request latency", "ms", 1,
        readers.times(metrics.latency_s, 1e3, "none of their flows has a workload of messages"),
        mean=(3, ("table", "diff", "sweep")), p99=(6, ("table", "sweep")),
    ),
    Figure(
        "cov", "CoV goodput", "Coefficient of variation of goodput", "", "cov", 3,
        readers.of_flows("", readers.in_bins(metrics.coefficient_of_variation)),
    ),
    Figure(
        "cov_arrivals", "CoV arrivals", "Coefficient of variation of arrivals", "", "cov_arrivals", 3,
        readers.of_flows("", readers.in_bins(metrics.arrival_variation)),
    ),
    Figure(
        "jain", "Jain", "Jain's index", "", "jain", 3, readers.jain, of_run=True, most=1.0, rank=9,
        shown=(*_OVERALL, "words"), absent="it is of flows that were active all the time, and fewer than two of several"
        " were",
    ),
    Figure(
        "jain_all", "Jain all", "Jain's index of all these flows", "", "jain_all", 3, readers.of_each(_GOODPUT, jain),
        most=1.0,
    ),
    Figure(
        "jain_flows", "Jain of", "Flows that Jain's index counts", "flows", "jain_flows", 0, readers.jain_flows,
        of_run=True,
    ),
    Figure(
        "convergence", "convergence", "Time from the last start until flows share fairly", "s", "convergence_s", 1,
        readers.convergence, of_run=True, of_whole_runs=True, absent="fewer than two flows run after the last start",
    ),
    Figure(
        "recovery", "recovery", "Time until the bottleneck is in use", "s", "recovery_s", 2,
        readers.of_flows("", readers.recovery), absent="less than a second is left of the run",
    ),
    Figure(
        "stall", "stall", "Longest time without anything new", "s", "stall_s", 3,
        readers.of_flows("", readers.stall), absent="no flow ran, or it has no samples",
    ),
    Figure(
        "breaker", "breaker", "Windows of 5 s in a row above ten times TCP's rate", "", "breaker_windows", 0,
        readers.of_flows("", readers.breaker), counts="windows",
    ),
    Figure(
        "utilization", "util.", "Utilization of the bottleneck", "", digits=3, most=1.0, rank=4,
        shown=(*_OVERALL, "links", "notebook", "words"), **readers.of_links("utilization", readers.utilization),
    ),
    *_statistics(
        "queue", "Queueing delay over time", "ms", 1, readers.queue,
        mean=(5, (*_OVERALL, "links", "notebook", "words")), p95=(13, ("table", "sweep", "links", "words")),
    ),
    *_statistics("sojourn", "Time of packets in the queue", "ms", 1, readers.sojourn),
    Figure(
        "drops", "drops", "Packets dropped at the bottleneck", "", digits=0, counts="packets", rank=11,
        shown=(*_OVERALL, "links"), **readers.of_links("drops", readers.counted("dropped_packets")),
    ),
    Figure(
        "marks", "marks", "Packets marked at the bottleneck", "", digits=0, counts="packets", rank=14, is_quiet=True,
        shown=("table", "page", "sweep", "links"), **readers.of_links("marks", readers.counted("marked_packets")),
    ),
    Figure(
        "drop_rate", "drop rate", "Packets dropped at the bottleneck", "%", digits=2, most=1.0,
        **readers.of_links("drop_rate", readers.drop_rate),
    ),
]  # fmt: skip

FIGURES = {one.name: one for one in _ALL}
"""Every figure by its name, in the order of tables."""


def shown(place: Place) -> list[str]:
    """The names of the figures that a place shows unless others are asked for, in the order of tables."""
    return [name for name, known in FIGURES.items() if place in known.shown]


#: Times until something comes, which are infinite where it does not.
EVENTS = ("convergence", "recovery")

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
        links = ", ".join(name for name, known in FIGURES.items() if known.of_link)
        raise wrong(
            at, name, f'a figure of a link before the @, and its name behind it, as "queue@up"; those are: {links}'
        )
    return plain + sign + link


def of_bottleneck(names: Iterable[str]) -> list[str]:
    """Names that are figures of a link without its name: these are the bottleneck's."""
    return [name for name in names if "@" not in name and FIGURES[name].of_link]


@cache
def figure(name: str) -> Figure:
    """The figure of a canonical name. One of a link by its name raises ResultError when it is read of a run that has no
    such link.
    """
    plain, _, link = name.partition("@")
    known = FIGURES[plain]
    of_link = known.of_link
    if not link or of_link is None:
        return known

    def read(run: Measured, _: Sequence[int]) -> float | None:
        return of_link(run.result, run.result.plan.link_number(link), run.window)

    long = known.long.replace("the bottleneck", link) if "the bottleneck" in known.long else f"{known.long}, of {link}"
    title, field = f"{known.title} {link}", f"{known.field}@{link}"
    return known._replace(name=name, title=title, long=long, field=field, read=read)
