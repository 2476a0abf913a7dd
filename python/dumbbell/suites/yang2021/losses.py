"""Retransmissions and throughput with a small buffer (Figs. 6, 7, 21), random loss (Fig. 8), and the loss threshold
(Fig. 9).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dumbbell.results.load import Result
from dumbbell.suites import draw
from dumbbell.suites.compared import compared, over, pair
from dumbbell.suites.draw import Number, heat, lines, page
from dumbbell.suites.table import Case, Entry, Place, Profile, Reading, Table, by_place

from .fairness import median_in_flight
from .testbed import ALPHAS, COMMON, NO_LENGTH, flow, scenario, variant

if TYPE_CHECKING:
    from dumbbell.suites.claims import Claim
    from dumbbell.suites.table import Tables

RATES, RTTS = (10, 20, 50, 100, 250, 500, 750), (5, 10, 25, 50, 75, 100, 150)

MAP_CHOICES = {**COMMON, "axes": "7 rates from 10 to 750 Mbit/s and 7 RTTs from 5 to 150 ms: one cell is printed"}


def _cells(buffer_kb: int, *labels: str) -> Any:
    def cases(profile: Profile) -> Iterator[Case]:
        for label in labels:
            for rate in RATES:
                for rtt in RTTS:
                    made = scenario([flow(label)], duration="30s", repetitions=profile.pick(5, 1),
                                    rate=f"{rate}Mbps", rtt=f"{rtt}ms", buffer=f"{buffer_kb}kB",
                                    record={"samples": buffer_kb == SMALL_KB})  # fmt: skip
                    yield Case(label, {"bandwidth_mbps": rate, "rtt_ms": rtt, "bdp_kb": rate * rtt / 8}, made)

    return cases


SMALL_KB, LARGE_KB = 100, 10_000


def _map(metric: str, label: str | None, *, high: float, low: float = 0.0) -> draw.Draw:
    number = Number(metric, label, form=".1f")
    return page(heat("rtt_ms", "bandwidth_mbps", number, low=low, high=high), height=3.8, width=6.0)


def _gain(table: Table, _: str, at: Place) -> list[Reading]:
    """BBRv1's throughput over BBRv2's, less 1, per cent (Eq. 2)."""
    parts = [table.read("throughput_mbps", label, at) for label in ("BBRv1", "BBRv2")]
    return [pair(place, lambda a, b: 100 * (over(a, b) - 1), *found) for place, found in by_place(parts)]


def _gains(table: Table, claim: Claim, _: Tables) -> list[Reading]:
    return _gain(table, "", claim.at)


def _deficit(one: float, other: float) -> float:
    """How far BBRv2 is below BBRv1, per cent of BBRv1."""
    return 100 * (1 - over(one, other))


def _buffer_bdp(_: Table, __: Claim, ___: Tables) -> list[Reading]:
    """The buffer in BDP of the printed cell, 500 Mbit/s and 75 ms."""
    return [Reading({}, (SMALL_KB / (500 * 75 / 8),))]


def _shortfall(result: Result, _: str | None) -> float:
    """What the link's rate is not used for, per cent."""
    return 100 * (1 - result.summary.link.utilization)


def _part_of_capacity(result: Result, _: str | None) -> float:
    """Throughput of the flow over the link's rate."""
    return result.summary.flows[0].goodput_mbps * 1e6 / result.plan.bottleneck.rate_bps


# --- random loss: Fig. 8 --------------------------------------------------------------------------

LOSSES = (0, 1, 2, 3, 5, 10, 15, 20, 25, 30)
VARIANTS = [variant(2), variant(5), variant(10), variant(20), variant(2, 0), variant(20, 0)]


def _lossy(profile: Profile) -> Iterator[Case]:
    for table in (flow("CUBIC"), flow("BBRv1"), *VARIANTS):
        for loss in LOSSES:
            made = scenario([table], duration=profile.pick("60s", "30s"), repetitions=profile.pick(5, 2),
                            buffer="32bdp", loss=f"{loss}%")  # fmt: skip
            yield Case(table["name"], {"loss_pct": loss}, made)


def _by_alpha(table: Table, claim: Claim, _: Tables) -> list[Reading]:
    """Throughput over alpha at beta 0.3, a line for each loss rate."""
    made = []
    for loss in claim.at["loss_pct"]:
        for alpha in (2, 5, 10, 20):
            one = table.read(claim.metric, f"BBRv2({alpha}%,0.3)", {"loss_pct": loss})[0]
            made.append(Reading({"alpha_pct": alpha}, one.values, f"{loss} % loss"))
    return made


def _collapse(table: Table, _: Claim, __: Tables) -> list[Reading]:
    """The first loss rate at which BBRv1 has less than half of its throughput without loss."""
    found = sorted(table.read("throughput_mbps", "BBRv1"), key=lambda one: one.at["loss_pct"])
    below = [one.at["loss_pct"] for one in found if one.mean < found[0].mean / 2]
    return [Reading({}, (float(below[0]) if below else float("nan"),))]


# --- the threshold over buffers: Fig. 9 -----------------------------------------------------------

THRESHOLD_BUFFERS = (0.2, 0.5, 1.0, 1.5, 2.0)


def _thresholds(profile: Profile) -> Iterator[Case]:
    for buffer in THRESHOLD_BUFFERS:
        for alpha in ALPHAS:
            made = scenario([{**variant(alpha), "name": "BBRv2"}], duration=profile.pick("60s", "30s"),
                            repetitions=profile.pick(5, 2), buffer=f"{buffer:g}bdp")  # fmt: skip
            yield Case(f"{buffer:g} BDP", {"alpha_pct": alpha, "buffer_bdp": buffer}, made)


def _by_threshold(table: Table, claim: Claim, _: Tables) -> list[Reading]:
    """A line for each buffer."""
    return [
        Reading(one.at, one.values, f"{buffer:g} BDP")
        for buffer in claim.at["buffer_bdp"]
        for one in table.read(claim.metric, f"{buffer:g} BDP")
    ]


def _worst(table: Table, claim: Claim, _: Tables) -> list[Reading]:
    """The line of the largest buffer."""
    return table.read(claim.metric, f"{claim.at['buffer_bdp']:g} BDP")


ENTRIES = {
    "fig6a": Entry(
        cases=_cells(SMALL_KB, "BBRv1"), draw=_map("retrans_rate_pct", "BBRv1", high=10), choices=MAP_CHOICES
    ),
    "fig6b": Entry(
        cases=_cells(SMALL_KB, "BBRv1", "BBRv2"),
        draw=_map("retrans_rate_pct", "BBRv2", high=10),
        choices=MAP_CHOICES,
        metrics={"median_inflight_bdp": median_in_flight},
    ),
    "fig7a": Entry(
        cases=_cells(SMALL_KB, "BBRv1", "BBRv2"),
        draw=_map("tput_gain_pct", "gain", low=-20, high=20),
        choices=MAP_CHOICES,
        metrics={"link_util_shortfall_pct": _shortfall},
        series={"gain": _gain},
        read={"c1": compared("throughput_mbps", "BBRv2", "BBRv1", _deficit)},
    ),
    "fig7b": Entry(
        cases=_cells(LARGE_KB, "BBRv1", "BBRv2"),
        draw=_map("tput_gain_pct", "gain", low=-20, high=20),
        choices=MAP_CHOICES,
        series={"gain": _gain},
        read={"c1": _gains},
    ),
    "fig8": Entry(
        cases=_lossy,
        draw=page(lines("loss_pct", "throughput_mbps", spread="sd"), height=3.0),
        choices={
            **COMMON,
            "length": NO_LENGTH,
            "loss rates": "0 to 30 %, as printed; the points are not",
            "variants": "alpha 2, 5, 10 and 20 %, and beta 0 at 2 and 20 %: the text names some",
        },
        metrics={"throughput_fraction_of_capacity": _part_of_capacity},
        read={
            "c4": compared("throughput_mbps", "BBRv2(20%,0)", "BBRv1", over),
            "c5": _by_alpha,
            "c7": _collapse,
        },
    ),
    "fig9": Entry(
        cases=_thresholds,
        draw=page(lines("alpha_pct", "retrans_rate_pct", spread="sd")),
        choices={
            **COMMON,
            "length": NO_LENGTH,
            "alpha": "2 to 100 %, as printed; the points are not. 100 % is 255/256",
        },
        read={"c1": _by_threshold, "c2": _worst},
    ),
    "fig21": Entry(
        cases=_cells(SMALL_KB, "BBRv2+", "BBRv1", "BBRv2"),
        draw=_map("retrans_rate_pct", "BBRv2+", high=10),
        choices=MAP_CHOICES,
        read={"c3": _buffer_bdp},
    ),
}
