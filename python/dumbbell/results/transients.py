"""Figures of what passes: how long flows take to share fairly, how long a link stands idle after an event, how long
nothing arrives, and how long a flow sends far more than TCP would. `metrics` has them too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dumbbell.units import FRAME_BYTES, MSS_BYTES

from .columns import flow_column, sample_column
from .statistic import jain
from .windows import Which, Window, check_bin, counted_at, flows_of, grown, inside, link_plan, windowed

if TYPE_CHECKING:
    from .result import Result
    from .statistic import Column

#: A circuit breaker looks at windows of so long, s, and opens above so many times what TCP would send (RFC 8083, 4.3).
BREAKER_S = 5.0
BREAKER_TIMES = 10.0
#: Constant of TCP's throughput over loss and RTT: sqrt(3/2) (Mathis, Semke, Mahdavi and Ott 1997).
_MATHIS = math.sqrt(1.5)
#: Distance of the seconds that `recovery_time_s` looks at, s.
_STEP_S = 0.05


def convergence_time_s(
    result: Result, *, fairness: float = 0.95, bin_s: float = 1.0, hold_s: float = 5.0
) -> float | None:
    """Time from the start of the last flow until Jain's index of the running flows' goodputs reaches `fairness` and
    keeps it for `hold_s`.

    Those that ended before do not count; when the next one ends, the time is over. Goodputs are taken in bins of
    `bin_s`. None where it never happens, and where fewer than two of several flows are left. After Jain's own use of
    the index for convergence (Chiu and Jain 1989, on responsiveness); the three settings are ours, and part of any
    number quoted.
    """
    import numpy as np

    check_bin(result, bin_s)
    begin, running = _after_last_start(result)
    if len(running) < min(2, len(result.plan.flows)):
        return None
    end = min(running.values())
    grid = np.arange(begin, end + 1e-9, bin_s)
    rates = np.array([np.diff(_received(result, flow, grid)) for flow in running])
    fair = [jain(list(rates[:, i])) >= fairness and bool(rates[:, i].any()) for i in range(rates.shape[1])]
    need = max(1, round(hold_s / bin_s))
    for i in range(len(fair) - need + 1):
        if all(fair[i : i + need]):
            return float(grid[i] - begin)
    return None


def has_rivals(result: Result) -> bool:
    """True if two flows or more run after the start of the last one, so that they can converge."""
    return len(_after_last_start(result)[1]) >= 2


def recovery_time_s(result: Result, which: Which = "all", window: Window = None, *, share: float = 0.85) -> float:
    """Time from the beginning of the window until the first second in which these flows get `share` of the payload that
    the bottleneck can carry in full segments, to 50 ms; infinite where there is no such second. A second in which the
    link carries nothing does not count.

    It is 0 where the link is in use at once; a queue that was full may hide a stall of less than a second. The
    definition is ours.
    """
    import numpy as np

    begin, end = (0.0, result.plan.duration_s) if window is None else inside(result, window)
    starts = np.arange(begin, end - 1.0 + 1e-9, _STEP_S)
    if not starts.size:
        return math.nan
    link = link_plan(result, 0)
    could = np.array([link.bits(int(t * 1e9), int((t + 1.0) * 1e9)) for t in starts]) * (MSS_BYTES / FRAME_BYTES)
    got = sum(
        (_received(result, flow, starts + 1.0) - _received(result, flow, starts)) * 8
        for flow in flows_of(result, which)
    )
    used = np.flatnonzero((could > 0) & (got >= share * could))
    return float(starts[used[0]] - begin) if used.size else math.inf


def stall_time_s(result: Result, which: Which = "all", window: Window = None) -> float:
    """Longest time without anything new for the applications of these flows, between samples, while one of them runs;
    less the time in which the bottleneck had no rate. Its handshake and the pauses of an application count, too.

    A sample that stands still within a longer time is part of it: the figure is exact to one sample. The definition is
    ours.
    """
    import numpy as np

    begin, end = (0.0, result.plan.duration_s) if window is None else inside(result, window)
    flows = flows_of(result, which)
    starts, stops = (flow_column(result, name)[flows] / 1e6 for name in ("start_us", "stop_us"))
    begin, end = max(begin, float(starts.min())), min(end, float(stops.max()))
    if end <= begin:
        return math.nan
    sampled = np.concatenate([sample_column(result, flow, "t_us") / 1e6 for flow in flows])
    times = np.unique(np.concatenate([[begin, end], sampled[(sampled > begin) & (sampled < end)]]))
    grows = np.diff(sum(_received(result, flow, times) for flow in flows)) > 0
    link, longest, since = link_plan(result, 0), 0.0, begin
    for moment, grown_now in zip(times[1:], grows):
        if grown_now:
            since = float(moment)
        else:
            longest = max(longest, float(moment) - since - link.down_s(since, float(moment)))
    return round(longest, 9)


def breaker_windows(result: Result, flow: int, window: Window = None) -> int:
    """Most windows of 5 s in a row in which a flow sends more than ten times what TCP would at the loss and the RTT of
    that window (RFC 8083, 4.3, whose circuit breaker then opens): MSS / RTT x sqrt(3 / 2p), with p the part of the
    segments that are sent again, and the mean of the smoothed RTT. Without losses there is no limit.
    """
    begin, end = (0.0, result.plan.duration_s) if window is None else inside(result, window)
    most = row = 0
    for number in range(int((end - begin) / BREAKER_S + 1e-9)):
        start = begin + number * BREAKER_S
        row = row + 1 if _exceeds_tcp(result, flow, (start, start + BREAKER_S)) else 0
        most = max(most, row)
    return most


def _exceeds_tcp(result: Result, flow: int, window: tuple[float, float]) -> bool:
    sent = grown(result, [flow], "segs_sent", "segs_sent", window)
    again = grown(result, [flow], "retrans_segs", "retrans_total", window)
    rtt_us = windowed(result, flow, "srtt_us", window)
    if not sent or not again or not rtt_us.size:
        return False
    tcp = _MATHIS / (float(rtt_us.mean()) / 1e6 * math.sqrt(again / sent))
    return sent / (window[1] - window[0]) > BREAKER_TIMES * tcp


def _after_last_start(result: Result) -> tuple[float, dict[int, float]]:
    """Start of the last flow, s, and the flows that run after it, each with its stop, s."""
    starts, stops = (flow_column(result, name) / 1e6 for name in ("start_us", "stop_us"))
    begin = float(starts.max())
    return begin, {i: float(stop) for i, stop in enumerate(stops) if stop > begin}


def _received(result: Result, flow: int, at_s: Column) -> Column:
    """Bytes that the application had got at these times."""
    return counted_at(result, flow, "goodput_bytes", "goodput_bytes", at_s)
