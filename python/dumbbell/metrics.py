"""Figures from result tables, each with its definition and source.

Times are seconds, rates bit/s, unless the name says otherwise. A `window` is ``(start_s, end_s)`` of simulated time; without one a figure covers
the whole run, start included. Windowed figures come from the samples, so their edges are the first and last sample time inside the window.
Flows are counted from 0, in the order of the plan.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import ResultError
from .units import MSS_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .plan_view import LinkView
    from .results import Result

    Column = NDArray[np.float64]

Window = tuple[float, float] | None


class Distribution(NamedTuple):
    """Mean and percentiles of samples that are equally spaced in time."""

    mean: float
    p50: float
    p95: float
    p99: float


class Interval(NamedTuple):
    """A mean over repetitions and the half width of its confidence interval (nan for a single one)."""

    mean: float
    half_width: float


def distribution(values: Sequence[float] | Column) -> Distribution:
    """Mean and percentiles by linear interpolation between order statistics (Hyndman and Fan 1996, type 7)."""
    import numpy as np

    data = np.asarray(values, dtype=float)
    data = data[~np.isnan(data)]
    if not data.size:
        return Distribution(*[float("nan")] * 4)
    return Distribution(float(data.mean()), *(float(p) for p in np.percentile(data, [50, 95, 99])))


def goodput_bps(result: Result, flow: int, window: Window = None) -> float:
    """Payload that reached the receiving application, over the flow's active time or the window (goodput of RFC 2647, 3.17)."""
    if window is None:
        row = _flow(result, flow)
        active_us = row["stop_us"] - row["start_us"]
        return float(row["goodput_bytes"] * 8e6 / active_us) if active_us > 0 else 0.0
    return _growth(result, flow, "goodput_bytes", window) * 8


def throughput_bps(result: Result, flow: int, window: Window = None) -> float:
    """Payload that the sender put on the path, retransmissions included, over the flow's active time or the window.

    In a window it is counted in segments of 1448 bytes, so a short last segment counts as a full one.
    """
    if window is None:
        row = _flow(result, flow)
        active_us = row["stop_us"] - row["start_us"]
        return float(row["bytes_sent"] * 8e6 / active_us) if active_us > 0 else 0.0
    return _growth(result, flow, "segs_sent", window) * 8 * MSS_BYTES


def utilization(result: Result, window: Window = None, *, link: int = 0) -> float:
    """Wire bytes that left a link over what its rate, steps or trace allow in the time; 0 is the bottleneck, then the links of the plan."""
    t, sent = _queue(result, "t_us", link), _queue(result, "sent_bytes", link)
    planned = link_plan(result, link)
    if window is None:
        return float(sent[-1] * 8 / (planned.bits(0, result.plan.duration_ns) or math.nan))
    first, last = _edges(t, window)
    return float((sent[last] - sent[first]) * 8 / (planned.bits(int(t[first]) * 1000, int(t[last]) * 1000) or math.nan))


def link_plan(result: Result, link: int) -> LinkView:
    """The plan of a link by the number that tables give it: 0 is the bottleneck, then those of the data direction in their order."""
    links = result.plan.data_links
    if not 0 <= link < len(links):
        raise ResultError(f"{result.folder}: there is no link {link}, wanted 0 to {len(links) - 1}")
    return links[link]


def jain(shares: Sequence[float]) -> float:
    """Jain's fairness index (Jain, Chiu and Hawe, DEC-TR-301, 1984): (sum x)^2 / (n sum x^2).

    1 is equal, 1/n is one flow taking all, and 0 stands for nobody getting anything.

    >>> jain([1, 1]), jain([1, 0]), jain([3, 1])
    (1.0, 0.5, 0.8)
    """
    squares = sum(x * x for x in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 0.0


def jain_index(result: Result, window: Window = None) -> float | None:
    """Jain's index of the goodputs of the flows that were active for all of the run or window, its first and last tenth apart.

    None when several flows ran and fewer than two of them were; 1 for a flow alone.
    """
    begin, end = (0.0, result.plan["duration_ns"] / 1e9) if window is None else window
    margin = _JAIN_MARGIN * (end - begin)
    lives = result.flows.select(["start_us", "stop_us"]).to_pylist()
    steady = [i for i, life in enumerate(lives) if life["start_us"] / 1e6 <= begin + margin and life["stop_us"] / 1e6 >= end - margin]
    counted = steady if len(lives) > 1 else [0]
    return jain([goodput_bps(result, flow, window) for flow in counted]) if len(counted) > 1 or len(lives) == 1 else None


#: Part of a run at its begin and at its end that a flow may miss and still count in Jain's index.
_JAIN_MARGIN = 0.1


def share(result: Result, cca: str, window: Window = None) -> float:
    """Payload that all flows of a controller got over what all flows got, bytes over bytes."""
    return _bytes_of(result, cca, window) / (_bytes_of(result, None, window) or 1.0)


def throughput_ratio(result: Result, cca: str, other: str, window: Window = None) -> float:
    """Mean goodput of a flow of one controller over that of the other (1 is fair; infinite where the other got nothing)."""
    names = result.flows["cca"].to_pylist()
    mine, its = _goodput_of(result, cca, window) / names.count(cca), _goodput_of(result, other, window) / names.count(other)
    return mine / its if its else float("inf")


def retransmission_rate(result: Result, flow: int, window: Window = None) -> float:
    """Retransmitted over sent data segments, as `netstat -s` counts them."""
    if window is None:
        row = _flow(result, flow)
        return float(row["retrans_segs"] / row["segs_sent"]) if row["segs_sent"] else 0.0
    sent = _growth(result, flow, "segs_sent", window)
    return _growth(result, flow, "retrans_total", window) / sent if sent else 0.0


def loss_rate(result: Result, window: Window = None, *, link: int = 0) -> float:
    """Packets that a link (0: the bottleneck) dropped over those that it was offered (dropped + sent), as `tc -s qdisc` counts them."""
    t, dropped, sent = (_queue(result, name, link) for name in ("t_us", "dropped_packets", "sent_packets"))
    first, last = _edges(t, window) if window else (None, -1)
    drops = dropped[last] - (dropped[first] if first is not None else 0)
    passed = sent[last] - (sent[first] if first is not None else 0)
    return float(drops / (drops + passed)) if drops + passed else 0.0


def rtt_ms(result: Result, flow: int, window: Window = None, *, smoothed: bool = False) -> Distribution:
    """Round-trip times that the sender measured (RFC 7323 timestamps and SACK times), or its smoothed RTT (RFC 6298), at the sample times."""
    of = samples(result, flow, window)
    return distribution(of["srtt_us" if smoothed else "rtt_us"] / 1000)


def mark_rate(result: Result, window: Window = None, *, link: int = 0) -> float:
    """Packets that a link (0: the bottleneck) marked CE over those that left it."""
    t, marked, sent = (_queue(result, name, link) for name in ("t_us", "marked_packets", "sent_packets"))
    first, last = _edges(t, window) if window else (None, -1)
    marks, passed = (column[last] - (column[first] if first is not None else 0) for column in (marked, sent))
    return float(marks / passed) if passed else 0.0


def queueing_delay_ms(result: Result, window: Window = None, *, link: int = 0) -> Distribution:
    """Time that a packet leaving a link (0: the bottleneck) has spent in its queue, at the sample times."""
    return distribution(_inside(result, "sojourn_us", window, link) / 1000)


def sojourn_ms(result: Result, *, link: int = 0) -> dict[str, float | None]:
    """Percentiles of the time that packets spent in a link's queue, every packet of the whole run counted (50, 95, 99; to 1.6 %)."""
    link_plan(result, link)
    of = result.summary.data_links[link]
    return {"p50": of.sojourn_p50_ms, "p95": of.sojourn_p95_ms, "p99": of.sojourn_p99_ms}


def queue_occupancy_bytes(result: Result, window: Window = None, *, link: int = 0) -> Distribution:
    """Wire bytes in the queue of a link (0: the bottleneck), at the sample times."""
    return distribution(_inside(result, "backlog_bytes", window, link))


def one_way_delay_ms(result: Result, flow: int) -> Distribution:
    """Times from the sender's interface to the receiver, every packet of the whole run counted (percentiles to 1.6 %); nan where none arrived."""
    row = _flow(result, flow)
    values = (row.get(f"owd_{name}_us") for name in ("mean", "p50", "p95", "p99"))
    return Distribution(*(float("nan") if value is None else value / 1000 for value in values))


def coefficient_of_variation(result: Result, flow: int, window: Window = None, *, bin_s: float = 0.5) -> float:
    """Standard deviation over mean of a flow's goodput in bins of `bin_s` (Floyd, Handley, Padhye and Widmer, SIGCOMM 2000).

    The default bin is that of Borgli and Misund (500 ms, Fig. 7).
    """
    import numpy as np

    rates = goodput_series(result, flow, bin_s=bin_s, window=window)[1]
    return float(np.std(rates) / np.mean(rates)) if rates.size and np.mean(rates) else float("nan")


def goodput_series(result: Result, flow: int, *, bin_s: float = 1.0, window: Window = None) -> tuple[Column, Column]:
    """Goodput of a flow in whole bins of `bin_s` from its first sample: (ends of the bins in s, bit/s)."""
    import numpy as np

    of = samples(result, flow, window)
    t, total = of["t_us"] / 1e6, of["goodput_bytes"]
    if t.size < 2:
        return np.empty(0), np.empty(0)
    edges = t[0] + bin_s * np.arange(int((t[-1] - t[0]) / bin_s + 1e-9) + 1)
    return edges[1:], np.diff(np.interp(edges, t, total)) * 8 / bin_s


def convergence_time_s(result: Result, *, fairness: float = 0.95, bin_s: float = 1.0, hold_s: float = 5.0) -> float | None:
    """Time from the start of the last flow until Jain's index of the running flows' goodputs reaches `fairness` and keeps it for `hold_s`.

    Goodputs are taken in bins of `bin_s`. None where that never happens. After Jain's own use of the index for convergence
    (Chiu and Jain 1989, on responsiveness); the three settings are ours, and part of any number quoted.
    """
    import numpy as np

    plan = result.plan
    begin = max(flow.start_ns for flow in plan.flows) / 1e9
    end = min(flow.stop_ns for flow in plan.flows) / 1e9
    grid = np.arange(begin, end + 1e-9, bin_s)
    totals = [samples(result, i, None) for i in range(len(plan.flows))]
    rates = np.array([np.diff(np.interp(grid, s["t_us"] / 1e6, s["goodput_bytes"])) for s in totals])
    fair = [jain(list(rates[:, i])) >= fairness and bool(rates[:, i].any()) for i in range(rates.shape[1])]
    need = max(1, round(hold_s / bin_s))
    for i in range(len(fair) - need + 1):
        if all(fair[i : i + need]):
            return float(grid[i] - begin)
    return None


def completion_time_s(result: Result, flow: int) -> float | None:
    """Time from a finite flow's start (its SYN) until its last byte reached the receiver; None where it did not complete."""
    row = _flow(result, flow)
    return None if row["completed_us"] is None else (row["completed_us"] - row["start_us"]) / 1e6


def completion_times_s(result: Result, cca: str | None = None) -> Column:
    """Completion times of all finite flows (of a controller) that completed, in ascending order: their distribution is the FCT's."""
    import numpy as np

    rows = result.flows.select(["cca", "start_us", "completed_us"]).to_pylist()
    times = [(row["completed_us"] - row["start_us"]) / 1e6 for row in rows if row["completed_us"] is not None and cca in (None, row["cca"])]
    return np.sort(np.asarray(times, dtype=float))


def mean_interval(values: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """Mean over repetitions with its Student-t confidence interval: t(n - 1) s / sqrt(n).

    >>> [round(x, 3) for x in mean_interval([1.0, 2.0, 3.0])]
    [2.0, 2.484]
    """
    from math import sqrt
    from statistics import fmean, stdev

    if len(values) < 2:
        return Interval(fmean(values) if values else float("nan"), float("nan"))
    return Interval(fmean(values), student_t(confidence, len(values) - 1) * stdev(values) / sqrt(len(values)))


def student_t(confidence: float, degrees: int) -> float:
    """Two-sided quantile of Student's t: bisection on its closed form for whole degrees of freedom (Abramowitz and Stegun, 26.7.3-4).

    >>> round(student_t(0.95, 9), 3)
    2.262
    """
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_inside(middle, degrees) < confidence else (low, middle)
    return (low + high) / 2


def _student_inside(t: float, degrees: int) -> float:
    """Probability that T lies between -t and t."""
    from math import atan, cos, pi, sin, sqrt

    angle = atan(t / sqrt(degrees))
    odd = degrees % 2
    term = total = (cos(angle) if odd else 1.0) if degrees > 1 else 0.0
    for k in range(3 if odd else 2, degrees - 1, 2):
        term *= cos(angle) ** 2 * (k - 1) / k
        total += term
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total


def _flow(result: Result, flow: int) -> dict[str, Any]:
    rows = result.flows.num_rows
    if not 0 <= flow < rows:
        raise ResultError(f"{result.folder}: there is no flow {flow}, wanted 0 to {rows - 1}")
    return dict(result.flows.slice(flow, 1).to_pylist()[0])


def _goodput_of(result: Result, cca: str | None, window: Window) -> float:
    names = result.flows["cca"].to_pylist()
    if cca is not None and cca not in names:
        raise ResultError(f"{result.folder}: no flow runs {cca}, wanted one of: {', '.join(dict.fromkeys(names))}")
    return sum(goodput_bps(result, i, window) for i, name in enumerate(names) if cca in (None, name))


def _bytes_of(result: Result, cca: str | None, window: Window) -> float:
    """Payload that flows of a controller (or all) got."""
    _goodput_of(result, cca, window)  # refuses a controller that no flow runs
    rows = result.flows.select(["cca", "goodput_bytes"]).to_pylist()
    mine = [i for i, row in enumerate(rows) if cca in (None, row["cca"])]
    if window is None:
        return float(sum(rows[i]["goodput_bytes"] for i in mine))
    seen = [samples(result, i, window)["goodput_bytes"] for i in mine]
    return float(sum(of[-1] - of[0] for of in seen if of.size > 1))


def samples(result: Result, flow: int, window: Window = None) -> dict[str, Column]:
    """The numeric columns of a flow's samples; nulls are nan."""
    import numpy as np
    import pyarrow.compute as pc

    _flow(result, flow)
    table = result.samples.filter(pc.equal(result.samples["flow"], flow))
    columns = {name: np.asarray(table[name].to_numpy(zero_copy_only=False), dtype=float) for name in _NUMERIC if name in table.column_names}
    if window is None:
        return columns
    inside = (columns["t_us"] >= window[0] * 1e6) & (columns["t_us"] <= window[1] * 1e6)
    return {name: column[inside] for name, column in columns.items()}


_NUMERIC = ("t_us", "goodput_bytes", "goodput_bps", "segs_sent", "retrans_total", "srtt_us", "rtt_us", "cwnd", "in_flight")


def _growth(result: Result, flow: int, name: str, window: tuple[float, float]) -> float:
    """Growth of a cumulative column over the window, per second between its first and last sample there; 0 where there are not two."""
    of = samples(result, flow, window)
    t = of["t_us"]
    return float(of[name][-1] - of[name][0]) * 1e6 / float(t[-1] - t[0]) if t.size > 1 else 0.0


def _queue(result: Result, name: str, link: int = 0) -> Column:
    """A column of the queue table for one link."""
    import numpy as np
    import pyarrow.compute as pc

    table = result.queue
    if "link" in table.column_names:
        link_plan(result, link)
        table = table.filter(pc.equal(table["link"], link))
    return np.asarray(table[name].to_numpy(zero_copy_only=False), dtype=float)


def queue_series(result: Result, name: str, *, link: int = 0) -> tuple[Column, Column]:
    """A column of the queue table over time for a link (0: the bottleneck): (times in s, values)."""
    return _queue(result, "t_us", link) / 1e6, _queue(result, name, link)


def _inside(result: Result, name: str, window: Window, link: int = 0) -> Column:
    t, column = _queue(result, "t_us", link), _queue(result, name, link)
    return column if window is None else column[(t >= window[0] * 1e6) & (t <= window[1] * 1e6)]


def _edges(t_us: Column, window: tuple[float, float]) -> tuple[int, int]:
    """First and last sample inside the window."""
    import numpy as np

    inside = np.flatnonzero((t_us >= window[0] * 1e6) & (t_us <= window[1] * 1e6))
    if inside.size < 2:
        raise ResultError(f"window {window[0]:g} to {window[1]:g} s: wanted two sample times inside it")
    return int(inside[0]), int(inside[-1])
