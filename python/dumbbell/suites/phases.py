"""Figures of a controller's own states, for claims about how an algorithm works: how long its phases last, what is in
flight when they end, how its bounds move.

They read samples that are much closer together than a round trip (`record.every`). Each is a list of numbers, one for
each phase of the first flow of a line, so that `read = { ends = true }` holds the smallest and the largest against a
claim. Phases of PROBE_BW that have no name of their own, as those of BBRv1, are UP, DOWN and CRUISE by their gain.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import ceil, nan
from typing import TYPE_CHECKING, NamedTuple

from dumbbell.results.columns import sample_column
from dumbbell.units import MSS_BYTES

from .measure import Metric, flows

if TYPE_CHECKING:
    from dumbbell.plan.view import FlowView
    from dumbbell.results.load import Result
    from dumbbell.results.statistic import Column


class Phase(NamedTuple):
    """Samples of one flow, from `begin` to before `end`, with one state and one pacing gain."""

    name: str
    gain: float
    begin: int
    end: int


class Course:
    """The samples of the first flow of a line."""

    def __init__(self, result: Result, label: str | None) -> None:
        self.flow = flows(result, label)[0]
        self.result = result
        numbers = result.samples["flow"].to_pylist()
        states = result.samples["cca_state"].to_pylist()
        self.states = [str(state) for state, number in zip(states, numbers, strict=True) if number == self.flow]
        self.time_s = self.column("t_us") / 1e6
        self.rtt_s = self.column("rtt_us") / 1e6
        self.min_rtt_s = self.column("cca_min_rtt_us") / 1e6

    def column(self, name: str) -> Column:
        """A column of its samples."""
        return sample_column(self.result, self.flow, name)

    @property
    def bdp(self) -> Column:
        """The controller's estimate of the BDP at each sample, in what it counts (`counted_bytes`)."""
        bytes_counted = counted_bytes(self.result.plan.flows[self.flow])
        return self.column("bw_bps") / 8 * self.min_rtt_s / bytes_counted

    def phases(self, *names: str) -> list[Phase]:
        """Its phases of these names, without those that PROBE_RTT or the end of the run cuts; or all but the last."""
        import numpy as np

        gains = np.nan_to_num(self.column("pacing_gain")).round(3).tolist()
        both = list(zip(self.states, gains, strict=True))
        starts = [0, *(i for i, (before, now) in enumerate(pairwise(both), 1) if before != now)]
        listed = [Phase(_name(*both[begin]), both[begin][1], begin, end) for begin, end in pairwise(starts)]
        return [
            phase
            for phase in listed
            if not names or (phase.name in names and (self.states[phase.end] != "PROBE_RTT" or "PROBE_RTT" in names))
        ]

    def seconds(self, phase: Phase) -> float:
        """Duration of a phase."""
        return float(self.time_s[phase.end] - self.time_s[phase.begin])

    def mean_rtt(self, phase: Phase) -> float:
        """Mean of the round trips that were measured in a phase, s."""
        return float(self.rtt_s[phase.begin : phase.end].mean())


def counted_bytes(flow: FlowView) -> float:
    """Stream data of what windows and flights count: a part, a packet of the mean size, or a segment of TCP."""
    transport = flow.transport
    if transport.part_bytes:
        return transport.part_bytes
    if transport.write_bytes:
        return transport.write_bytes / ceil(transport.write_bytes / transport.payload_bytes)
    return transport.payload_bytes or MSS_BYTES


def _name(state: str, gain: float) -> str:
    """UP, DOWN or CRUISE in PROBE_BW; other states by their own name."""
    if state == "PROBE_BW":
        return "UP" if gain > 1 else "DOWN" if gain < 1 else "CRUISE"
    return state.removeprefix("PROBE_BW_")


Figure = Callable[[Course], list[float]]


def in_flight_at_end(*names: str) -> Figure:
    """What is in flight when these phases end, in BDP."""

    def figure(course: Course) -> list[float]:
        in_flight, bdp = course.column("in_flight"), course.bdp
        return [float(in_flight[phase.end - 1] / bdp[phase.end - 1]) for phase in course.phases(*names)]

    return figure


def rtts(*names: str) -> Figure:
    """How long each of these phases lasts, in round trips measured in it."""
    return lambda course: [course.seconds(phase) / course.mean_rtt(phase) for phase in course.phases(*names)]


def min_rtts(*names: str) -> Figure:
    """How long each of these phases lasts, in minimum round trips."""
    return lambda course: [
        course.seconds(phase) / float(course.min_rtt_s[phase.begin]) for phase in course.phases(*names)
    ]


def gains(*names: str) -> Figure:
    """The pacing gains of these phases."""
    return lambda course: [phase.gain for phase in course.phases(*names)]


def try_rtts(course: Course) -> list[float]:
    """How long PRE_UP and GUARD last together, in round trips."""
    return [
        course.seconds(first) / course.mean_rtt(first) + course.seconds(second) / course.mean_rtt(second)
        for first, second in pairwise(course.phases())
        if (first.name, second.name) == ("PRE_UP", "GUARD")
    ]


def seconds(*names: str) -> Figure:
    """How long each of these phases lasts, s."""
    return lambda course: [course.seconds(phase) for phase in course.phases(*names)]


def startup_growth(course: Course) -> float:
    """How much more is sent in a round trip of STARTUP than in the one before: the mean over those before the last in
    which what is sent grows.
    """
    import numpy as np

    startup = next(iter(course.phases("STARTUP")[-1:]), None)
    if startup is None or not (course.column("segs_sent")[: startup.end] > 0).any():
        return nan
    sent_so_far = course.column("segs_sent")
    rtt = float(np.nanmin(course.rtt_s[: startup.end]))
    first = max(0, int(np.argmax(sent_so_far > 0)) - 1)
    edges = np.arange(course.time_s[first], course.time_s[startup.end], rtt)
    sent = np.diff(np.interp(edges, course.time_s, sent_so_far))
    last = int(np.argmax(sent)) - 1 if sent.size else 0
    return float((sent[last] / sent[0]) ** (1 / last)) if last > 0 and sent[0] > 0 else nan


def other_exits(course: Course) -> float:
    """Number of times that STARTUP ended neither on a plateau nor with an upper bound of what is in flight.

    A plateau is growth below a quarter in the last two round trips: the three rounds before were shorter, as the queue
    was.
    """
    import numpy as np

    bw, bound = course.column("bw_bps"), course.column("inflight_hi")
    ends = [phase.end for phase in course.phases("STARTUP") if _name(course.states[phase.end], 1) != "STARTUP"]
    others = 0
    for end in ends:
        then = int(np.searchsorted(course.time_s, course.time_s[end] - 2 * course.rtt_s[end]))
        others += bool(np.isnan(bound[end])) and not bw[end] < 1.25 * bw[then]
    return float(others) if ends else nan


def cruise_share(course: Course) -> float:
    """The part of all time that the flow is in CRUISE."""
    every, own = (sum(map(course.seconds, course.phases(*names))) for names in ((), ("CRUISE",)))
    return own / every if every else nan


def queue_of_refill(course: Course) -> list[float]:
    """The mean round trip of each REFILL over the mean of the CRUISE before it."""
    return [
        course.mean_rtt(refill) / course.mean_rtt(cruise)
        for cruise, refill in pairwise(course.phases())
        if (cruise.name, refill.name) == ("CRUISE", "REFILL")
    ]


def waits(course: Course) -> list[float]:
    """Time from the end of each probe to the next REFILL, s; without those that PROBE_RTT takes part of."""
    listed: list[float] = []
    begin: float | None = None
    for before, phase in pairwise(course.phases()):
        if before.name == "UP" and phase.name == "DOWN":
            begin = float(course.time_s[phase.begin])
        elif phase.name == "PROBE_RTT":
            begin = None
        elif phase.name == "REFILL" and begin is not None:
            listed.append(float(course.time_s[phase.begin]) - begin)
    return listed


def _cycles(course: Course) -> list[list[Phase]]:
    """The phases of each whole cycle of PROBE_BW, which begins with the highest gain."""
    listed: list[list[Phase]] = []
    inside = course.phases("UP", "DOWN", "CRUISE")
    highest = max((phase.gain for phase in inside), default=nan)
    for phase in inside:
        if listed and listed[-1][-1].end != phase.begin:
            listed.append([])  # something else came between them
        if phase.gain == highest:
            listed.append([])
        if listed:
            listed[-1].append(phase)
    return [
        cycle
        for cycle, following in pairwise(listed)
        if cycle and following and cycle[0].gain == following[0].gain == highest and cycle[-1].end == following[0].begin
    ]


def cruise_rtts(course: Course) -> list[float]:
    """How long a cycle of PROBE_BW has a gain of 1, in minimum round trips."""
    return [
        sum(course.seconds(phase) for phase in cycle if phase.name == "CRUISE")
        / float(course.min_rtt_s[cycle[0].begin])
        for cycle in _cycles(course)
    ]


def cycle_rtts(course: Course) -> list[float]:
    """How long each cycle of PROBE_BW lasts, in minimum round trips."""
    return [
        sum(course.seconds(phase) for phase in cycle) / float(course.min_rtt_s[cycle[0].begin])
        for cycle in _cycles(course)
    ]


def cycle_gains(course: Course) -> list[float]:
    """Mean gain of each cycle, whose phases count by their whole minimum round trips."""
    listed = []
    for cycle in _cycles(course):
        lengths = [max(1, round(course.seconds(phase) / float(course.min_rtt_s[phase.begin]))) for phase in cycle]
        listed.append(sum(n * phase.gain for n, phase in zip(lengths, cycle, strict=True)) / sum(lengths))
    return listed


def bound_growth(course: Course) -> list[float]:
    """How much more the upper bound grows in a round of UP than in the one before: the mean over the rounds of each UP
    in which it grows for four and more.
    """
    bound = course.column("inflight_hi")
    listed = []
    for phase in course.phases("UP"):
        grown = [growth for growth in _by_round(course, phase, bound) if growth >= 1]
        if len(grown) >= 4:
            listed.append(float((grown[-1] / grown[0]) ** (1 / (len(grown) - 1))))
    return listed


def _by_round(course: Course, phase: Phase, column: Column) -> list[float]:
    """How much a column grows in each whole round trip of a phase."""
    import numpy as np

    rtt = course.mean_rtt(phase)
    edges = np.arange(course.time_s[phase.begin], course.time_s[phase.end - 1], rtt)
    return [float(grown) for grown in np.diff(np.interp(edges, course.time_s, column))]


def _falls(course: Course) -> list[int]:
    """The samples at which the estimate of the bandwidth is below that before, by a twentieth at least."""
    bw = course.column("bw_bps")
    return [i for i, (before, now) in enumerate(pairwise(bw), 1) if now < 0.95 * before]


def falls_elsewhere(course: Course) -> float:
    """Number of falls of the estimate in other phases than CRUISE and DOWN."""
    falls = _falls(course)
    allowed = ("PROBE_BW_CRUISE", "PROBE_BW_DOWN", "PROBE_BW_DOWN_SLIGHTLY")
    return float(sum(course.states[i - 1] not in allowed for i in falls)) if falls else nan


def falls_a_round(course: Course) -> float:
    """The most falls of the estimate within a minimum round trip."""
    times = [float(course.time_s[i]) for i in _falls(course)]
    rtt = float(course.min_rtt_s[-1])
    return float(max((sum(0 <= other - time < 0.9 * rtt for other in times) for time in times), default=nan))


def probes_to_forget(course: Course) -> float:
    """Number of probes that end after the link's rate falls and before the estimate has fallen half of the way, too."""
    times, rates = course.result.plan.bottleneck.changes(course.result.plan.duration_ns)
    fall = next((i for i, (before, now) in enumerate(pairwise(rates), 1) if now < before), None)
    if fall is None:
        return nan
    middle = (rates[fall - 1] + rates[fall]) / 2 * 1e6
    bw = course.column("bw_bps")
    forgotten = next((t for t, estimate in zip(course.time_s, bw) if t > times[fall] and estimate < middle), None)
    if forgotten is None:
        return nan
    ends = [course.time_s[phase.end] for phase in course.phases("UP")]
    return float(sum(times[fall] < end <= forgotten for end in ends))


def lower_bound_cuts(course: Course) -> list[float]:
    """The lower bound of what is in flight over what it was before, wherever it falls."""
    bound = course.column("inflight_lo")
    return [float(now / before) for before, now in pairwise(bound) if now < before]


def window_over_bounds(course: Course) -> list[float]:
    """The window in CRUISE over the smaller of both bounds, the upper one less 15 %; the largest of each phase."""
    import numpy as np

    most = np.fmin(course.column("inflight_lo"), 0.85 * course.column("inflight_hi"))
    over = course.column("cwnd") / np.where(most > 0, most, nan)
    halves = [over[(phase.begin + phase.end) // 2 : phase.end] for phase in course.phases("CRUISE")]
    return [float(np.nanmax(half)) for half in halves if not np.isnan(half).all()]


def _each(title: str, unit: str, figure: Figure) -> Metric:
    """A figure of every phase."""

    def read(result: Result, label: str | None) -> list[float]:
        return figure(Course(result, label)) or [nan]

    return Metric(title, unit, read)


def _one(title: str, unit: str, figure: Callable[[Course], float]) -> Metric:
    """A figure of the whole run."""
    return Metric(title, unit, lambda result, label: figure(Course(result, label)))


METRICS = {
    "startup_growth": _one("Sent in a round of STARTUP over the one before", "", startup_growth),
    "other_exits": _one("Other ends of STARTUP", "", other_exits),
    "drain_end": _each("In flight when DRAIN ends", "BDP", in_flight_at_end("DRAIN")),
    "up_end": _each("In flight when UP ends", "BDP", in_flight_at_end("UP")),
    "down_end": _each("In flight when DOWN ends", "BDP", in_flight_at_end("DOWN", "DOWN_SLIGHTLY")),
    "cruise_share": _one("Part of the time in CRUISE", "", cruise_share),
    "refill_rtts": _each("Length of REFILL", "RTT", rtts("REFILL")),
    "refill_queue": _each("RTT of REFILL over that of CRUISE", "", queue_of_refill),
    "up_rtts": _each("Length of UP", "RTT", min_rtts("UP")),
    "cruise_rtts": _each("Of a cycle at a gain of 1", "RTT", cruise_rtts),
    "cycle_rtts": _each("Length of a cycle", "RTT", cycle_rtts),
    "cycle_gains": _each("Mean gain of a cycle", "", cycle_gains),
    "waits": _each("Time between probes", "s", waits),
    "probe_rtt_s": _each("Length of PROBE_RTT", "s", seconds("PROBE_RTT")),
    "try_rtts": _each("Length of ProbeTry", "RTT", try_rtts),
    "guard_gains": _each("Gain in the second round of ProbeTry", "", gains("GUARD")),
    "bound_growth": _each("Growth of inflight_hi over that of the round before", "", bound_growth),
    "falls_elsewhere": _one("Falls of the estimate outside CRUISE and DOWN", "", falls_elsewhere),
    "falls_a_round": _one("Falls of the estimate in a round", "", falls_a_round),
    "probes_to_forget": _one("Probes until a fall of the rate is known", "", probes_to_forget),
    "lower_bound_cuts": _each("inflight_lo over what it was", "", lower_bound_cuts),
    "window_over_bounds": _each("Window in CRUISE over the bounds", "", window_over_bounds),
}
"""Metrics that suites about these controllers have among their own."""
