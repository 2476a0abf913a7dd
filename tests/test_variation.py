"""How much rates vary: goodput in its order, and segments that arrive, held against the bytes that leave the link."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import fmean, pstdev

import pytest

from checked import checks
from closed_form import Runner, figure, rows
from dumbbell import Result
from dumbbell.results import metrics

LOSSES = """
duration = "40s"
path = {{ rate = "10Mbps", rtt = "200ms", buffer = "1bdp" }}
record = {{ every = "100ms", samples = {samples} }}
[[flow]]
cca = "{cca}"
"""
WINDOW = (10.0, 40.0)


def of_the_link(result: Result) -> float:
    """Standard deviation over mean of the wire bytes that leave the bottleneck, in bins of half a second."""
    sent = {row["t_us"]: row["sent_bytes"] for row in rows(result, "queue", link=0)}
    ends = [sent[t] for t in range(10_000_000, 40_000_001, 500_000)]
    amounts = [later - before for before, later in pairwise(ends)]
    return pstdev(amounts) / fmean(amounts)


@checks("metrics", "arrival_variation")
@checks("figure", "cov cov_arrivals")
@pytest.mark.parametrize("cca", ["cubic", "bbr"])
def test_arrivals_vary_as_the_bytes_on_the_wire_do(ran: Runner, cca: str) -> None:
    result = ran(LOSSES.format(cca=cca, samples="true"))
    wire = of_the_link(result)
    arrivals = metrics.arrival_variation(result, 0, WINDOW)
    assert arrivals == pytest.approx(wire, rel=0.1, abs=0.01)
    assert figure(result, "cov_arrivals", [0], WINDOW) == arrivals
    bins = [row["goodput_bytes"] for row in rows(result, "samples", flow=0) if row["t_us"] % 500_000 == 0]
    got = [later - before for before, later in pairwise(bins)][-60:]
    assert figure(result, "cov", [0], WINDOW) == pytest.approx(pstdev(got) / fmean(got), rel=0.05, abs=0.01)


def test_goodput_that_waits_for_a_hole_varies_more_than_what_arrives(ran: Runner) -> None:
    result = ran(LOSSES.format(cca="cubic", samples="true"))
    assert result.summary.link.drops > 0
    assert metrics.coefficient_of_variation(result, 0, WINDOW) > 2 * metrics.arrival_variation(result, 0, WINDOW)


def test_without_samples_and_with_rare_ones_the_table_of_figures_has_what_there_is(ran: Runner) -> None:
    bare = figure(ran(LOSSES.format(cca="cubic", samples="false")), "cov_arrivals", [0])
    assert bare is not None
    assert math.isnan(bare)
    rare = figure(ran(LOSSES.format(cca="cubic", samples="true").replace("100ms", "2s")), "cov_arrivals", [0])
    assert rare is not None
    assert rare > 0
