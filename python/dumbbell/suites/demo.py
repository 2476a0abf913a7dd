"""Kfoury, Gomez, Crichigno and Bou-Harb, "An emulation-based evaluation of TCP BBRv2 alpha for wired broadband",
Computer Communications 161 (2020).

Fig. 11a: one BBR flow against one CUBIC flow at 1 Gbit/s and 20 ms, over the size of a drop-tail buffer.
"""

from __future__ import annotations

from itertools import pairwise
from math import nan
from typing import TYPE_CHECKING, NamedTuple

from dumbbell.judge import UNJUDGED, Tolerance, Trend, Verdict, Within
from dumbbell.judge.questions import together
from dumbbell.results import figures
from dumbbell.results.experiment import repetitions
from dumbbell.scenario.file import Flow, Path, Record, Scenario

if TYPE_CHECKING:
    from dumbbell.results.figures import Row
    from dumbbell.results.load import Results

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


#: The figures that the demo tells of.
FIGURES = ("goodput", "share", "jain", "queue")


class Claim(NamedTuple):
    """What the paper says, and what the judge says of it."""

    text: str
    measured: str
    verdict: Verdict


class Point(NamedTuple):
    """The two flows at one buffer size, each over its repetitions."""

    buffer_bdp: float
    cubic: Row
    bbr: Row

    @property
    def bbr_share(self) -> float:
        """BBR's part of all goodput."""
        return self.bbr.sample("share").interval.mean


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
    rows = [row for run in results for row in figures.rows(figures.measured(run), FIGURES)]
    flows = [{row.cca: row for row in same} for same in repetitions(figures.over_repetitions(rows)).values()]
    return sorted((_point(by_cca) for by_cca in flows), key=lambda point: point.buffer_bdp)


def _point(by_cca: dict[str, Row]) -> Point:
    cubic, bbr = by_cca["cubic"], by_cca["bbr"]
    return Point(float(cubic.vary_text("path.buffer").removesuffix("bdp")), cubic, bbr)


def claims(points: list[Point]) -> list[Claim]:
    """The paper's claims on Fig. 11a (sec. 5.5), held against these points."""
    at = {point.buffer_bdp: point for point in points}
    small = [at[size] for size in (0.1, 0.5)]
    large = [point for point in points if point.buffer_bdp >= 1]
    near = Tolerance(amount=0.1)
    most = Within(0.9, 0.9, near)
    rises = Trend("increase", Tolerance(share=0.05), "buffer_bdp")
    jain = at[100.0].bbr.sample("jain")
    return [
        Claim(
            "below 1 BDP, BBR takes about 90 % of the bandwidth",
            "share "
            + " and ".join(f"{point.bbr_share:.2f}" for point in small)
            + " at 0.1 and 0.5 BDP; within 0.1 holds",
            together([most.judge(point.bbr.sample("share")) for point in small]),
        ),
        Claim(
            "above 1 BDP, the CUBIC share rises",
            "shares "
            + ", ".join(f"{point.cubic.sample('share').interval.mean:.2f}" for point in large)
            + "; dips of 5 % are allowed",
            rises.judge([(point.buffer_bdp, point.cubic.sample("share")) for point in large]),
        ),
        Claim(
            "at 100 BDP, Jain's index is about 0.6",
            f"{jain.interval.mean:.2f}; within 0.1 holds",
            Within(0.6, 0.6, near).judge(jain),
        ),
        Claim(
            "BBRv2 coexists better than BBR, most with a small buffer",
            "BBRv2 is not in these runs",
            Verdict(UNJUDGED, None, nan, "BBRv2 is not in these runs"),
        ),
    ]


def crossover_bdp(points: list[Point]) -> float | None:
    """Buffer at which CUBIC overtakes BBR, interpolated along the logarithm of the buffer; None where it does not."""
    for before, after in pairwise(points):
        above, below = before.bbr_share - 0.5, after.bbr_share - 0.5
        if above >= 0 > below:
            part = above / (above - below)
            return float(before.buffer_bdp * (after.buffer_bdp / before.buffer_bdp) ** part)
    return None
