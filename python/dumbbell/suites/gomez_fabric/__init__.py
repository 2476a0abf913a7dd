"""Gomez, Kfoury and Crichigno, "Understanding the performance of TCP BBRv2 using FABRIC" (poster): flows across the
sites of a national testbed, whose router is a software switch with a buffer of the authors' choice.

The poster's figures are not in its text. What the text names is set up here; rates, RTTs and times are choices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dumbbell.results import metrics
from dumbbell.results.columns import sample_column
from dumbbell.suites import measure
from dumbbell.suites.draw import bars, cdf, lines, page
from dumbbell.suites.table import Case, Entry, Profile, Reading, Table, by_place

if TYPE_CHECKING:
    from dumbbell.results.load import Result
    from dumbbell.suites.claims import Claim
    from dumbbell.suites.table import Tables

CCAS = {"BBRv1": "bbr", "BBRv2": "bbr2", "CUBIC": "cubic", "Reno": "reno", "HTCP": "htcp"}

#: The emulated loss, which the poster prints as 0.0046 %.
LOSS_SHARE = 1 / 22_000

COMMON = {
    "rate": "1 Gbit/s: the poster prints 10 Gbit/s for experiment 6 only, and runs cost a tenth",
    "flows": "one of each controller, alone on the path: their number is not printed",
    "TCP": "the rules of Linux 6.12 with BBRv2 of Google's v2alpha; the poster names no kernel",
    "repetitions": "starts at random within 100 ms, so that they differ",
}


def scenario(
    tables: Sequence[dict[str, Any]],
    *,
    duration: str,
    repetitions: int,
    rtt: str,
    buffer_bdp: float,
    rate: str = "1Gbps",
    **path: Any,
) -> dict[str, Any]:
    """A scenario of this testbed."""
    return {
        "duration": duration,
        "repetitions": repetitions,
        "path": {"rate": rate, "rtt": rtt, "buffer": f"{buffer_bdp:g}bdp", **path},
        "host": {"start_jitter": "100ms"},
        "flow": list(tables),
        "record": {"samples": False, "queue": False, "events": False},
    }


def flow(label: str, **keys: Any) -> dict[str, Any]:
    """A [[flow]] table of a controller, named as the poster names it."""
    return {"name": label, "cca": CCAS[label], **keys}


RTTS = (1, 10, 20, 50, 80, 100)


def _over_rtts(profile: Profile) -> Iterator[Case]:
    for rtt in profile.pick(RTTS, (1, 20, 50, 100)):
        for label in CCAS:
            yield Case(
                label,
                {"rtt_ms": rtt},
                scenario([flow(label)], duration=profile.pick("120s", "60s"), repetitions=profile.pick(5, 2),
                         rtt=f"{rtt}ms", buffer_bdp=1, loss=round(LOSS_SHARE, 9)),
            )  # fmt: skip


def _loss_set(table: Table, _: Claim, __: Tables) -> list[Reading]:
    """The loss of the scenarios, per cent."""
    return [Reading({}, (share / 1e7,)) for share in {point.runs[0].plan.flows[0].loss_ppb for point in table.points}]


def _ratio_to_bbr(table: Table, _: Claim, __: Tables) -> list[Reading]:
    parts = [table.read("throughput", label) for label in ("BBRv2", "BBRv1")]
    return [
        Reading(at, tuple(a / b for a, b in zip(one.values, other.values, strict=True)))
        for at, (one, other) in by_place(parts)
    ]


def _two_rtts(profile: Profile) -> Iterator[Case]:
    for label in ("BBRv1", "BBRv2"):
        yield Case(
            label,
            {"rtt_ms": "10 and 50"},
            scenario([{**flow(label), "name": f"{rtt} ms", "rtt": f"{rtt}ms"} for rtt in (10, 50)],
                     duration=profile.pick("300s", "60s"), repetitions=profile.pick(5, 2), rtt="50ms", buffer_bdp=1),
        )  # fmt: skip


BLOATED = (1, 2, 4, 8, 10)


def _bloated(profile: Profile) -> Iterator[Case]:
    lines = (("BBRv2", "BBRv2", 1), ("BBRv1", "BBRv1", 1), ("CUBIC", "CUBIC", 1), ("BBRv2, 10 flows", "BBRv2", 10))
    for buffer in profile.pick(BLOATED, (1, 4)):
        for name, label, count in lines:
            made = scenario([flow(label, count=count)], duration=profile.pick("60s", "12s"),
                            repetitions=profile.pick(3, 1), rtt="50ms", rate="10Gbps", buffer_bdp=buffer)  # fmt: skip
            record = {**made["record"], "queue": True, "every": "20ms"}
            yield Case(name, {"buffer_bdp": buffer}, {**made, "measure": {"from": "5s"}, "record": record})


def bdp_bytes(result: Result) -> float:
    """Rate times RTT of the path."""
    return result.plan.bottleneck.rate_bps / 8 * result.plan.flows[0].rtt_ns / 1e9


def _bdp(table: Table, _: Claim, __: Tables) -> list[Reading]:
    """Rate times RTT of the scenarios, MB, at the paper's scale."""
    return [Reading({}, (mb,)) for mb in {bdp_bytes(point.runs[0]) / table.scale / 1e6 for point in table.points}]


def queue_occupancy(result: Result, _: str | None) -> float:
    """What waits in the queue in the measured part, mean over the sample times, in BDP."""
    return metrics.queue_occupancy_bytes(result, result.plan.window).mean / bdp_bytes(result)


def _over_buffers(profile: Profile) -> Iterator[Case]:
    for buffer in profile.pick((0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2), (0.02, 0.1, 0.5)):
        for label in ("BBRv1", "BBRv2", "CUBIC"):
            yield Case(
                label,
                {"buffer_bdp": buffer},
                scenario([flow(label)], duration=profile.pick("120s", "30s"), repetitions=profile.pick(5, 1),
                         rtt="50ms", buffer_bdp=buffer),
            )  # fmt: skip


def _emulated(profile: Profile) -> Iterator[Case]:
    for label in ("BBRv1", "BBRv2"):
        made = scenario([flow(label)], duration=profile.pick("120s", "30s"), repetitions=1, rtt="45ms", buffer_bdp=1)
        yield Case(label, {"rtt_ms": 45}, {**made, "record": {"samples": True, "queue": False, "events": False}})


def bandwidth_estimates(result: Result, label: str | None) -> list[float]:
    """The controller's estimate of the bandwidth at every sample, Mbit/s."""
    import numpy as np

    found = [sample_column(result, i, "bw_bps") for i in measure.flows(result, label)]
    return [float(value) / 1e6 for one in found for value in one if not np.isnan(value)]


def _nothing(_: Profile) -> Iterator[Case]:
    """No runs."""
    return iter(())


ENTRIES: dict[str, Entry] = {
    "exp-bw-cdf": Entry(
        cases=_emulated,
        draw=page(cdf("bandwidth_estimates")),
        choices={**COMMON, "delay": "45 ms of RTT, emulated: panel (a); panel (b) is a path of the real testbed"},
        metrics={"bandwidth_estimates": bandwidth_estimates},
        unjudged={"c1": "compares with the propagation delay of a real testbed, which is not simulated"},
    ),
    "exp-tput-rtt": Entry(
        cases=_over_rtts,
        draw=page(lines("rtt_ms", "throughput")),
        choices={**COMMON, "RTTs": "1 to 100 ms: the list is not in the text", "buffer": "1 BDP"},
        read={"c1": _loss_set, "c3": _ratio_to_bbr},
    ),
    "exp-rtt-unfair": Entry(
        cases=_two_rtts,
        draw=page(bars("throughput_mbps")),
        choices={
            **COMMON,
            "RTTs": "10 and 50 ms, as in the authors' earlier paper (Kfoury et al. 2020, Fig. 14)",
            "buffer": "1 BDP",
        },
    ),
    "exp6-queue": Entry(
        cases=_bloated,
        draw=page(lines("buffer_bdp", "queue_occupancy_bdp")),
        choices={
            **COMMON,
            "rate": "10 Gbit/s and 50 ms, as printed",
            "flows": "one, as in the other experiments: the number is not printed. The figure has ten of BBRv2 as well",
            "buffers": '1 to 10 BDP: "even with bloated" buffers',
            "measured part": "from 5 s on, after STARTUP",
        },
        metrics={"queue_occupancy_bdp": queue_occupancy},
        read={"c1": _bdp},
    ),
    "exp-loss-buffer": Entry(
        cases=_over_buffers,
        draw=page(lines("buffer_bdp", "retrans_rate_pct")),
        choices={
            **COMMON,
            "RTT": "50 ms, as in experiment 6",
            "buffers": "0.01 to 2 BDP: where a router's size matters",
        },
    ),
    "exp-aqm": Entry(
        cases=_nothing,
        draw=None,
        choices={"set-up": "the text names no queue discipline, rate or result: there is nothing to run"},
    ),
}
