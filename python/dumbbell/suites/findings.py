"""Findings: why claims do not hold, traced by hand, in a suite's file `findings.toml`.

A finding has `claims` (such as ``fig11a#c2``), `bin`, `evidence` (what was run, and its numbers) and
`mechanism`. Bins: ``linux``: it fails on a real stack in the same setting too; ``program``: it fails in the program
that the paper ran, too; ``contradiction``: the paper contradicts itself or arithmetic; ``chance``: repetitions fall on
both sides; ``setup``: a choice that the paper leaves open decides it; ``tie``: what it puts in an order differs by less
than the tolerance, and no finding says more; ``here``: it fails in this simulator only, or nobody knows better.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from dumbbell.scenario.declare import Each, Table, key
from dumbbell.scenario.plain_kinds import Choice

from .folders import known, read
from .words import TEXTS, WORDS

if TYPE_CHECKING:
    from dumbbell.scenario.keytypes import Fixed

#: The bins of failing claims, with what the scoreboard calls them.
BINS = {
    "linux": "fails on real Linux too",
    "program": "fails in the paper's own program too",
    "contradiction": "the paper contradicts itself",
    "chance": "chance",
    "setup": "decided by what the paper leaves open",
    "tie": "a tie",
    "here": "fails here only, or not known",
}


class Finding(NamedTuple):
    """Why claims do not hold."""

    bin: str
    evidence: str
    mechanism: str


class Written(Table):
    """A finding."""

    claims: Fixed[tuple[str, ...]] = key(TEXTS, "the claims that it is about, such as `fig11a#c2`", varies=False)
    bin: Fixed[str] = key(Choice(*BINS), "what lies behind it", varies=False)
    evidence: Fixed[str] = key(WORDS, "what was run, and its numbers", default="", varies=False)
    mechanism: Fixed[str] = key(WORDS, "why", default="", varies=False)


class _File(Table):
    """The file."""

    finding: Fixed[tuple[Written, ...]] = key(
        Each(Written, minimum=0, most=1000), "the findings", default=(), varies=False
    )


@cache
def of_suite(suite: str) -> dict[str, Finding]:
    """The findings of a suite by the claim's id."""
    findings = read(known()[suite].folder / "findings.toml", _File).finding
    return {
        f"{suite}/{claim}": Finding(finding.bin, finding.evidence, finding.mechanism)
        for finding in findings
        for claim in finding.claims
    }


def of(claim: str) -> Finding | None:
    """The finding on a claim, by its id with the paper and figure."""
    return of_suite(claim.partition("/")[0]).get(claim)
