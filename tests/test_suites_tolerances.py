"""The tolerances of printed tables tell algorithms apart: the numbers of a wrong one fail, and so does one number for all."""

from __future__ import annotations

from collections import defaultdict
from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from dumbbell.judge import HOLDS
from dumbbell.results.statistic import Sample
from dumbbell.suites import text_of
from dumbbell.suites.judge import within

if TYPE_CHECKING:
    from dumbbell.suites.claims import Claim

TABLES = ("table3", "table4", "table5", "table7")


def cells(table: str) -> list[Claim]:
    return [claim for claim in text_of(f"zhang2019/{table}").claims if claim.origin == "table"]


def holds(claim: Claim, value: float | None) -> bool:
    assert value is not None
    return within(claim, claim.tol.of("sim")).judge(Sample((value,), (0,))).word == HOLDS


@pytest.mark.parametrize("table", TABLES)
def test_what_is_printed_of_another_algorithm_fails_in_most_cells(table: str) -> None:
    beside: dict[tuple[str, str], list[Claim]] = defaultdict(list)
    for claim in cells(table):
        beside[claim.metric, str(sorted(claim.at.items()))].append(claim)
    judged = [holds(own, other.expected) for claims in beside.values() for own, other in permutations(claims, 2)]
    assert sum(judged) < 0.45 * len(judged)


def test_one_number_for_every_algorithm_and_case_fails_in_most_cells() -> None:
    held = total = 0
    for table in TABLES:
        of_metric: dict[str, list[Claim]] = defaultdict(list)
        for claim in cells(table):
            of_metric[claim.metric].append(claim)
        for claims in of_metric.values():
            values = {claim.expected for claim in claims}
            held += max(sum(holds(claim, value) for claim in claims) for value in values)
            total += len(claims)
    assert total == 541
    assert held < 0.5 * total
