"""Every figure of a run by its name: what `show --columns` calls it, its heading, its unit, and how it is read.

What a figure means is said in `metrics.py`. Tables are opened only for figures that the summary of a run does not have.

Figures of a link are the bottleneck's, the link of [path]; with the name of a link behind an @ they are that link's:
``queue@up``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from dumbbell.errors import wrong

from . import metrics

if TYPE_CHECKING:
    from dumbbell.plan.view import Window

    from .result import Result

    Tables = Callable[[Result, Sequence[int], Window | None], float]
    Times = Callable[[Result, Sequence[int], Window | None], metrics.Distribution]
    OfLink = Callable[[Result, int, Window | None], float | None]


class Measured(NamedTuple):
    """A run and the part of it that figures cover; None for all of it."""

    result: Result
    window: Window | None


Read = Callable[[Measured, Sequence[int]], float | None]
"""``read(run, flows)`` gives a figure of these flows; None or nan where there is none."""

#: Bins in which rates vary: those of Borgli and Misund, Fig. 7, s.
BIN_S = 0.5

#: The statistics of many times or delays, and how their names end.
_WHICH = {"mean": "", "p50": "_p50", "p95": "_p95", "p99": "_p99"}


class Figure(NamedTuple):
    """One figure: its heading and unit, the field of JSON and CSV, the decimals of tables, and how it is read."""

    title: str
    unit: str
    field: str
    digits: int
    read: Read
    of_run: bool = False
    """Whether it is one figure for all flows of a run: of the bottleneck, or Jain's index."""
    over: str = ""
    """What it is over several flows: ``sum``, ``mean``, ``min``; empty where they are taken together."""
    of_link: OfLink | None = None
    """The same of any link, by the number that tables give it, where it is a figure of a link."""
    is_fraction: bool = False
    """Whether it is at most 1 and tables print it so; of a fraction that they print in percent, False."""


def _flow(field: str, measure: Tables, scale: float = 1.0) -> Read:
    """A figure of flows: the summary's field for one flow of a whole run, else from the tables."""

    def read(run: Measured, flows: Sequence[int]) -> float | None:
        if run.window is None and len(flows) == 1 and field:
            found: float | None = run.result.summary.flows[flows[0]][field]
            return found
        return measure(run.result, flows, run.window) * scale

    return read


def _link(
    title: str, unit: str, field: str, digits: int, measure: Callable[[Result, Window | None, int], float]
) -> Figure:
    """A figure of a link: the summary's field for a whole run, else from the tables; these also where an older version
    has made a summary without it.
    """

    def of_link(result: Result, link: int, window: Window | None) -> float | None:
        links = result.summary.data_links
        found: float | None = links[link][field] if window is None and link < len(links) else None
        return measure(result, window, link) if found is None else found

    def read(run: Measured, _: Sequence[int]) -> float | None:
        return of_link(run.result, 0, run.window)

    return Figure(title, unit, field, digits, read, of_run=True, of_link=of_link)


def _least(result: Result, flows: Sequence[int], window: Window | None) -> float:
    return min(metrics.goodputs_bps(result, flows, window), default=math.nan)


def _mean(result: Result, flows: Sequence[int], window: Window | None) -> float:
    rates = metrics.goodputs_bps(result, flows, window)
    return sum(rates) / len(rates) if rates else math.nan


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


def _times(short: str, unit: str, measure: Times, scale: float, digits: int) -> dict[str, Figure]:
    """Mean and percentiles of times that were measured one by one, those of all flows taken together."""

    def reading(which: str) -> Read:
        return _flow("", lambda result, flows, window: getattr(measure(result, flows, window), which), scale)

    named = {
        short + ending: Figure(f"{short} {which}", unit, f"{short}_{which}_{unit}", digits, reading(which))
        for which, ending in _WHICH.items()
    }
    return {name: one._replace(field="fct_s") if name == "fct" else one for name, one in named.items()}


def _pooled(short: str, known: dict[str, str], *, smoothed: bool) -> dict[str, Figure]:
    """RTTs at the sample times of all flows taken together."""

    def reading(which: str) -> Read:
        return _flow(
            known.get(which, ""),
            lambda result, flows, window: getattr(metrics.rtt_ms(result, flows, window, smoothed=smoothed), which),
        )

    return {
        short + ending: Figure(f"{short} {which}", "ms", f"{short}_{which}_ms", 1, reading(which))
        for which, ending in _WHICH.items()
    }


def _one_way() -> dict[str, Figure]:
    """One-way delays, which count packets of the whole run, and so are none of a window."""

    def measure(which: str) -> Tables:
        return lambda result, flows, window: (
            getattr(metrics.one_way_delay_ms(result, flows), which) if window is None else math.nan
        )

    return {
        "owd" + ending: Figure(f"owd {which}", "ms", f"owd_{which}_ms", 1, _flow("", measure(which)), over="mean")
        for which, ending in _WHICH.items()
    }


def _queue() -> dict[str, Figure]:
    """Queueing delay over time: the engine's for a whole run, whose quantiles are not those of the samples."""

    def reading(which: str) -> Callable[[Result, Window | None, int], float]:
        return lambda result, window, link: getattr(metrics.queueing_delay_ms(result, window, link=link), which)

    return {
        "queue" + ending: _link(f"queue {which}", "ms", f"queue_{which}_ms", 1, reading(which))
        for which, ending in _WHICH.items()
    }


def _sojourn() -> dict[str, Figure]:
    """Time in the queue over packets of the whole run."""
    return {
        "sojourn" + ending: _link(f"sojourn {which}", "ms", f"sojourn_{which}_ms", 1, lambda *_: math.nan)
        for which, ending in _WHICH.items()
    }


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


FIGURES: dict[str, Figure] = {
    "goodput": Figure(
        "goodput", "Mbit/s", "goodput_mbps", 2, _flow("goodput_mbps", metrics.goodput_bps, 1e-6), over="sum"
    ),
    "goodput_flow_mean": Figure(
        "goodput a flow", "Mbit/s", "goodput_flow_mean_mbps", 2, _flow("goodput_mbps", _mean, 1e-6), over="mean"
    ),
    "goodput_flow_min": Figure(
        "goodput slowest", "Mbit/s", "goodput_flow_min_mbps", 2, _flow("goodput_mbps", _least, 1e-6), over="min"
    ),
    "throughput": Figure(
        "throughput", "Mbit/s", "throughput_mbps", 2, _flow("", metrics.throughput_bps, 1e-6), over="sum"
    ),
    "share": Figure("share", "", "share", 3, _flow("share", metrics.share), over="sum", is_fraction=True),
    "retrans_rate": Figure("retrans", "%", "retrans_rate", 2, _flow("retrans_rate", metrics.retransmission_rate)),
    **_pooled("srtt", {"mean": "srtt_mean_ms", "p95": "srtt_p95_ms"}, smoothed=True),
    **_pooled("rtt", {}, smoothed=False),
    **_one_way(),
    **_times("fct", "s", metrics.completion_s, 1.0, 3),
    "unfinished": Figure("unfinished", "", "unfinished", 0, _flow("", _unfinished), over="sum"),
    **_times("latency", "ms", metrics.latency_s, 1e3, 1),
    "cov": Figure("CoV goodput", "", "cov", 3, _flow("", _in_bins(metrics.coefficient_of_variation))),
    "cov_arrivals": Figure("CoV arrivals", "", "cov_arrivals", 3, _flow("", _in_bins(metrics.arrival_variation))),
    "jain": Figure("Jain", "", "jain", 3, _jain, of_run=True, is_fraction=True),
    "jain_flows": Figure("Jain of", "flows", "jain_flows", 0, _jain_flows, of_run=True),
    "utilization": _link("util.", "", "utilization", 3, _utilization)._replace(is_fraction=True),
    **_queue(),
    **_sojourn(),
    "drops": _link("drops", "", "drops", 0, _counted("dropped_packets")),
    "marks": _link("marks", "", "marks", 0, _counted("marked_packets")),
    "drop_rate": _link("drop rate", "%", "drop_rate", 2, _drop_rate),
}
"""Every figure by its name, in the order of tables."""


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

    return one._replace(title=f"{one.title} {link}", field=f"{one.field}@{link}", read=read)
