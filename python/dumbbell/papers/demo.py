"""Kfoury, Gomez, Crichigno and Bou-Harb, "An emulation-based evaluation of TCP BBRv2 alpha for wired broadband",
Computer Communications 161 (2020).

Fig. 11a: one BBR flow against one CUBIC flow at 1 Gbit/s and 20 ms, over the size of a drop-tail buffer.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from dumbbell.scenario.file import Flow, Path, Record, Scenario

if TYPE_CHECKING:
    from dumbbell.results.load import Results
    from dumbbell.results.manifest import Summary

#: Buffers of the demo, in BDP. The paper's list is not printed; its axis runs from 0.1 to 100, and 1, 4 and 100 are
#: named.
BUFFERS_BDP = ("0.01", "0.1", "0.5", "1", "2", "10", "100")

#: What differs from the paper's set-up, whatever the figures come to.
DIFFERENCES = (
    "simulated TCP by the rules of Linux 6.12; the paper ran 5.2-rc3 in Mininet on one virtual machine",
    "token bucket of two frames; the paper's public scripts give tbf 500 kB, 0.2 BDP on top of every buffer",
    "socket buffers never limit; the paper sets 10 BDP (its scripts far more)",
    "both flows open at 0 s exactly; the paper starts them in a loop without a fixed offset",
)


class Claim(NamedTuple):
    """What the paper says, what was found, and whether it holds; None where these runs cannot tell."""

    text: str
    found: str
    holds: bool | None


class Point(NamedTuple):
    """Means over the repetitions at one buffer size; rates in Mbit/s."""

    buffer_bdp: float
    cubic_mbps: float
    bbr_mbps: float
    jain: float
    queue_mean_ms: float

    @property
    def bbr_share(self) -> float:
        """BBR's part of all goodput."""
        return self.bbr_mbps / ((self.bbr_mbps + self.cubic_mbps) or 1.0)


def fig11a(*, full: bool = False) -> Scenario:
    """The experiment at 120 s and once, or with the paper's 300 s and ten repetitions (`full`)."""
    return Scenario(
        name="kfoury-fig11a",
        duration="300s" if full else "120s",
        repetitions=10 if full else 1,
        path=Path(rate="1Gbps", rtt="20ms", buffer=[f"{size}bdp" for size in BUFFERS_BDP], qdisc="fifo"),
        host={"arp": True},  # a new Mininet: hosts meet for the first time
        flow=[Flow(cca="cubic"), Flow(cca="bbr")],
        record=Record(every="100ms"),
    )


def points(results: Results) -> list[Point]:
    """A point per buffer size, smallest first."""
    found = [
        _point(float(str(vary["path.buffer"]).removesuffix("bdp")), [run.summary for run in runs])
        for vary, runs in results.groups()
    ]
    return sorted(found)


def _point(buffer_bdp: float, summaries: list[Summary]) -> Point:
    rates = [{flow.cca: flow.goodput_mbps for flow in summary.flows} for summary in summaries]
    return Point(
        buffer_bdp,
        fmean(rate["cubic"] for rate in rates),
        fmean(rate["bbr"] for rate in rates),
        fmean(_known(summary.jain) for summary in summaries),
        fmean(_known(summary.link.queue_mean_ms) for summary in summaries),
    )


def _known(value: float | None) -> float:
    """A figure, nan where it is not defined."""
    return float("nan") if value is None else value


def claims(found: list[Point]) -> list[Claim]:
    """The paper's claims on Fig. 11a (sec. 5.5), held against these points."""
    at = {point.buffer_bdp: point for point in found}
    small = [at[size].bbr_share for size in (0.1, 0.5)]
    cubic = [1 - point.bbr_share for point in found if point.buffer_bdp >= 1]
    rises = cubic[-1] > cubic[0] and all(after >= before * 0.95 for before, after in pairwise(cubic))
    last = at[100.0].jain
    return [
        Claim(
            "below 1 BDP, BBR takes about 90 % of the bandwidth",
            "share " + " and ".join(f"{value:.2f}" for value in small) + " at 0.1 and 0.5 BDP; within 0.1 holds",
            all(abs(value - 0.9) <= 0.1 for value in small),
        ),
        Claim(
            "above 1 BDP, the CUBIC share rises",
            "shares " + ", ".join(f"{value:.2f}" for value in cubic) + "; dips of 5 % are allowed",
            rises,
        ),
        Claim("at 100 BDP, Jain's index is about 0.6", f"{last:.2f}; within 0.1 holds", abs(last - 0.6) <= 0.1),
        Claim("BBRv2 coexists better than BBR, most with a small buffer", "BBRv2 is not in these runs", None),
    ]


def crossover_bdp(found: list[Point]) -> float | None:
    """Buffer at which CUBIC overtakes BBR, interpolated along the logarithm of the buffer; None where it does not."""
    for before, after in pairwise(found):
        above, below = before.bbr_share - 0.5, after.bbr_share - 0.5
        if above >= 0 > below:
            part = above / (above - below)
            return float(before.buffer_bdp * (after.buffer_bdp / before.buffer_bdp) ** part)
    return None
