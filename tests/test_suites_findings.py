"""Findings on claims that fail: the commands that measure their evidence again can run."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from dumbbell import suites
from dumbbell.cli.commands import parser
from dumbbell.errors import ScenarioError
from dumbbell.scenario.declare import build
from dumbbell.suites import findings
from dumbbell.suites.changed import Changed
from dumbbell.suites.findings import Written
from dumbbell.suites.folders import shipped
from dumbbell.suites.table import PROFILES

if TYPE_CHECKING:
    from dumbbell.suites.findings import Finding

FOUND: list[tuple[str, Finding]] = [item for suite in shipped() for item in findings.of_suite(suite).items()]
COMMANDS = sorted({command for _, finding in FOUND for command in finding.run})


@pytest.mark.parametrize(("claim", "finding"), FOUND)
def test_what_fails_on_linux_too_has_the_command_that_shows_it(claim: str, finding: Finding) -> None:
    if finding.bin in findings.ON_LINUX:
        assert any(claim.partition("/")[0] in command and "--on uml" in command for command in finding.run), claim
        assert finding.evidence


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_of_a_finding_can_run(command: str) -> None:
    program, *words = shlex.split(command)
    assert program == "dumbbell"
    asked = parser().parse_args(words)
    changed = Changed.of(asked.scale, asked.overrides, asked.repetitions, asked.at)
    for name in suites.chosen(asked.id):
        cases = suites.entry_of(name).cases(PROFILES[asked.profile], changed.overrides)
        assert changed.chosen(name, cases)


def test_a_scale_is_named_where_there_is_one() -> None:
    given = {"claims": ["fig1#c1"], "bin": "scaled"}
    with pytest.raises(ScenarioError, match='wanted beside bin = "scaled"'):
        build(Written, given, "")
    with pytest.raises(ScenarioError, match='wanted beside bin = "scaled"'):
        build(Written, {**given, "bin": "linux", "scale": "a tenth"}, "")
