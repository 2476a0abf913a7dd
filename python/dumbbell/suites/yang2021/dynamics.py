"""A rate that moves by 5 Mbit/s every 2 s (Figs. 11 and 15), and jitter on the last hop (Figs. 12 and 18)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Any

from dumbbell.results.columns import queue_column, sample_column
from dumbbell.suites import draw, measure, timed
from dumbbell.suites.compared import compared, over
from dumbbell.suites.draw import lines, page
from dumbbell.suites.table import Case, Entry, Profile, Reading, Table

from .testbed import COMMON, NO_LENGTH, flow, scenario

if TYPE_CHECKING:
    from dumbbell.results.load import Result
    from dumbbell.suites.claims import Claim
    from dumbbell.suites.table import Tables

#: Mbit/s at the start, steps of so much every 2 s, and how many: decreases end at 5 Mbit/s.
FIRST_MBPS, STEP_MBPS, EVERY_S, COUNT = 40, 5, 2, 8
BUFFER_BDP = 32
SAMPLES = "20ms"

STEP_CHOICES = {
    **COMMON,
    "first rate and length": "40 Mbit/s, the rate of the other experiments, and 16 s, when decreases have reached"
    " 5 Mbit/s: neither is printed",
    "BDP of the buffer": "that of 40 Mbit/s",
    "samples": "every 20 ms; theirs are 100 ms apart, longer than a probe of BBRv1",
}


def _steps(sign: int, *labels: str) -> Any:
    rate = {"steps": [[f"{EVERY_S * i}s", f"{FIRST_MBPS + sign * STEP_MBPS * i}Mbps"] for i in range(COUNT)]}

    def cases(profile: Profile) -> Iterator[Case]:
        for label in labels:
            made = scenario([flow(label)], duration=f"{EVERY_S * COUNT}s", repetitions=profile.pick(5, 3),
                            buffer=f"{BUFFER_BDP}bdp", rate=rate,
                            record={"samples": True, "queue": True, "every": SAMPLES})  # fmt: skip
            yield Case(label, {"direction": "increase" if sign > 0 else "decrease"}, made)

    return cases


def _dynamics(label: str) -> draw.Draw:
    return page(timed.estimate_and_queue({}, case=label), height=2.8)


def _states(result: Result) -> list[str]:
    return [str(state) for state in result.samples["cca_state"].to_pylist()]


def queue_by_phase(result: Result) -> tuple[float, float]:
    """Mean length of the queue in packets after STARTUP and DRAIN, when what was sent at a pacing gain up to 1, and
    above 1, arrives there: half an RTT later.
    """
    import numpy as np

    t, gain = (sample_column(result, 0, name) for name in ("t_us", "pacing_gain"))
    steady = np.array([state not in ("STARTUP", "DRAIN", "") for state in _states(result)])
    arrives = t + result.plan.flows[0].rtt_ns / 2000
    length = np.interp(arrives, queue_column(result, 0, "t_us"), queue_column(result, 0, "backlog_packets"))
    found = [length[steady & probing] for probing in (gain <= 1, gain > 1)]
    return tuple(float(one.mean()) if one.size else float("nan") for one in found)  # type: ignore[return-value]


def _spikes(label: str) -> Any:
    def read(table: Table, _: Claim, __: Tables) -> list[Reading]:
        runs = [queue_by_phase(run) for point, _ in table.points_of(label) for run in point.runs]
        return [Reading({"probe phase": i}, tuple(values)) for i, values in enumerate(zip(*runs, strict=True))]

    return read


#: When the queue of Figs. 11(b) and (d) drops because of PROBE_RTT, as their caption says.
DROP_S = 10.0


def probe_rtt(result: Result, _: str | None) -> float:
    """When the PROBE_RTT nearest to the drop of the caption begins, s; nan if there is none. BBRv2's come every 5 s."""
    t, states = sample_column(result, 0, "t_us") / 1e6, _states(result)
    begins = [float(t[i]) for i, state in enumerate(states) if state == "PROBE_RTT" != states[i - 1]]
    return min(begins, key=lambda at: abs(at - DROP_S), default=float("nan"))


def _probe_rtt_of(label: str) -> Any:
    def read(table: Table, _: Claim, __: Tables) -> list[Reading]:
        return [Reading({}, one.values) for one in table.read("time_of_probertt_s", label)]

    return read


def needless_ups(result: Result, _: str | None) -> float:
    """Of the probes that begin with an estimate of 95 % of the link's rate and more, the share that goes on to UP."""
    t, estimate = sample_column(result, 0, "t_us") / 1e6, sample_column(result, 0, "bw_bps") / 1e6
    phases = [state.removeprefix("PROBE_BW_") for state in _states(result)]
    begins = [i for i, (before, now) in enumerate(pairwise(phases), 1) if now == "PRE_UP" != before]
    if not begins:
        return float("nan")
    rate = [FIRST_MBPS + STEP_MBPS * int(at // EVERY_S) for at in t]
    needless = [i for i in begins if estimate[i] >= 0.95 * rate[i]]
    ends = {i: next((k for k in begins if k > i), len(phases)) for i in needless}
    return fmean("UP" in phases[i:end] for i, end in ends.items()) if ends else float("nan")


METRICS = {"time_of_probertt_s": probe_rtt, "probeup_fraction_without_bw_increase": needless_ups}


def _needless(table: Table, claim: Claim, _: Tables) -> list[Reading]:
    return [Reading({}, one.values) for one in table.read(claim.metric, "BBRv2+")]


# --- jitter: Figs. 12 and 18 ----------------------------------------------------------------------

LEVELS_MS = (0, 10, 20, 30, 40, 60, 80, 100, 120)

JITTER_CHOICES = {
    **COMMON,
    "length": NO_LENGTH,
    "levels": "0 to 120 ms, as printed; the points are not",
    "deviation": "equal to the mean. The paper has one number per level, and at 0 there is no jitter",
    "order": "kept, as netem keeps it where it has a rate; the paper sets rates with netem. With overtaking CUBIC would"
    " collapse on Linux as well, while the paper calls it unaffected",
}


def jittered(level_ms: int) -> list[dict[str, Any]]:
    """The path's delay, the bottleneck, and the last hop, whose normal delay has this mean and deviation."""
    last = {
        "kind": "delay",
        "time": f"{level_ms}ms",
        "jitter": {"kind": "normal", "spread": f"{level_ms}ms", "reorder": False},
    }
    return [{"kind": "delay"}, {"kind": "links"}, *([last] if level_ms else [])]


def _jitter(*labels: str) -> Any:
    def cases(profile: Profile) -> Iterator[Case]:
        for label in labels:
            for level in LEVELS_MS:
                made = scenario(
                    [flow(label)],
                    duration="60s",
                    repetitions=profile.pick(5, 3),
                    buffer=f"{BUFFER_BDP}bdp",
                    impair=jittered(level),
                    record={"samples": True},
                )
                yield Case(label, {"jitter_mean_ms": level}, made)

    return cases


def _falls_from(table: Table, claim: Claim, _: Tables) -> list[Reading]:
    """The first level at which throughput is at most 90 % of that without jitter."""
    made = []
    for label in claim.series:
        found = sorted(table.read("throughput_mbps", label), key=lambda one: one.at["jitter_mean_ms"])
        below = [one.at["jitter_mean_ms"] for one in found if one.mean <= 0.9 * found[0].mean]
        made.append(Reading({"cca": label}, (float(below[0]) if below else float("nan"),)))
    return made


def mean_in_flight(result: Result, label: str | None) -> float:
    """Mean over time of the payload in flight, bytes."""
    import numpy as np

    return fmean(float(np.nanmean(sample_column(result, i, "in_flight"))) * 1448 for i in measure.flows(result, label))


def _jitter_entry(y: str, *labels: str, **more: Any) -> Entry:
    return Entry(
        cases=_jitter(*labels), draw=page(lines("jitter_mean_ms", y, spread="sd")), choices=JITTER_CHOICES, **more
    )


_THREE = ("CUBIC", "BBRv1", "BBRv2")

ENTRIES = {
    "fig11a": Entry(
        cases=_steps(1, "BBRv1"), draw=_dynamics("BBRv1"), choices=STEP_CHOICES, read={"c1": _spikes("BBRv1")}
    ),
    "fig11b": Entry(cases=_steps(-1, "BBRv1"), draw=_dynamics("BBRv1"), choices=STEP_CHOICES, metrics=METRICS),
    "fig11c": Entry(
        cases=_steps(1, "BBRv1", "BBRv2"),
        draw=_dynamics("BBRv2"),
        choices=STEP_CHOICES,
        read={"c2": _spikes("BBRv2")},
    ),
    "fig11d": Entry(
        cases=_steps(-1, "BBRv1", "BBRv2"),
        draw=_dynamics("BBRv2"),
        choices=STEP_CHOICES,
        metrics=METRICS,
        read={"c2": _probe_rtt_of("BBRv2")},
    ),
    "fig12": _jitter_entry("throughput_mbps", *_THREE, read={"c2": _falls_from}),
    "fig15a": Entry(
        cases=_steps(1, "BBRv1", "BBRv2", "BBRv2+"),
        draw=_dynamics("BBRv2+"),
        choices=STEP_CHOICES,
        metrics=METRICS,
        read={"c1": compared("link_util", "BBRv2+", "BBRv1", over), "c4": _needless},
    ),
    "fig15b": Entry(cases=_steps(-1, "BBRv1", "BBRv2", "BBRv2+"), draw=_dynamics("BBRv2+"), choices=STEP_CHOICES),
    "fig18a": _jitter_entry("throughput_mbps", *_THREE, "BBRv2+"),
    "fig18b": _jitter_entry("inflight_bytes", *_THREE, "BBRv2+", metrics={"inflight_bytes": mean_in_flight}),
}
