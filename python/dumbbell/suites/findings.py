"""Findings: why claims do not hold, traced by hand, in a suite's file `findings.toml`.

A finding has `claims` (such as ``fig11a#c2``), `bin`, `evidence` (what was run, and its numbers) and `mechanism`.
Bins: ``linux``: it fails on a real stack in the same setting too; ``program``: it fails in the program that the paper
ran, too, or by its source; ``contradiction``: the paper contradicts itself or arithmetic; ``chance``: repetitions
fall on both sides; ``setup``: a choice that the paper leaves open decides it; ``tie``: what it puts in an order
differs by less than the tolerance, and no finding says more; ``here``: it fails in this simulator only, or nobody
knows better. ``linux`` is for the paper's own rate and number of flows; ``scaled``: on a real stack at another scale,
which `scale` names; ``printed``: the algorithm that the paper prints does not do what it reports. `run` has the
commands that measure the evidence again.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import ScenarioError
from dumbbell.scenario.declare import Each, Table, key
from dumbbell.scenario.plain_kinds import Choice

from .folders import known, read
from .words import TEXTS, WORDS

if TYPE_CHECKING:
    from dumbbell.scenario.keytypes import Fixed

#: The bins of failing claims, with what the scoreboard calls them.
BINS = {
    "linux": "fails on real Linux too",
    "scaled": "fails on real Linux too, at a smaller scale",
    "printed": "the printed algorithm does not do it",
    "program": "fails in the paper's own program too",
    "contradiction": "the paper contradicts itself",
    "chance": "chance",
    "setup": "decided by what the paper leaves open",
    "tie": "a tie",
    "here": "fails here only, or not known",
}


#: The bins of what fails on real Linux too.
ON_LINUX = ("linux", "scaled")


class Finding(NamedTuple):
    """Why claims do not hold."""

    bin: str
    evidence: str
    mechanism: str
    run: tuple[str, ...] = ()
    """Commands that measure the evidence again."""
    scale: str = ""
    """Of ``scaled``: what was smaller than in the paper."""

    def as_json(self) -> dict[str, Any]:
        """As `dumbbell reproduce --json` prints it, without what it lacks."""
        return {name: list(value) if name == "run" else value for name, value in self._asdict().items() if value}


class Written(Table):
    """A finding."""

    claims: Fixed[tuple[str, ...]] = key(TEXTS, "the claims that it is about, such as `fig11a#c2`", varies=False)
    bin: Fixed[str] = key(Choice(*BINS), "what lies behind it", varies=False)
    evidence: Fixed[str] = key(WORDS, "what was run, and its numbers", default="", varies=False)
    mechanism: Fixed[str] = key(WORDS, "why", default="", varies=False)
    run: Fixed[tuple[str, ...]] = key(TEXTS, "commands that measure the evidence again", default=(), varies=False)
    scale: Fixed[str] = key(WORDS, "of `scaled`: what is smaller than in the paper", default="", varies=False)

    def check(self) -> None:
        """Raise ScenarioError where a scale is missing."""
        if (self.bin == "scaled") != bool(self.scale):
            raise ScenarioError("scale", 'wanted beside bin = "scaled", and there alone')


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
        f"{suite}/{claim}": Finding(finding.bin, finding.evidence, finding.mechanism, finding.run, finding.scale)
        for finding in findings
        for claim in finding.claims
    }


def of(claim: str) -> Finding | None:
    """The finding on a claim, by its id with the paper and figure."""
    return of_suite(claim.partition("/")[0]).get(claim)
