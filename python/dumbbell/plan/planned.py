"""A combination of the varied values, and a run of it with its plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dumbbell.scenario.file import Scenario

    from .types import Plan


class Case(NamedTuple):
    """One combination of the varied values."""

    vary: dict[str, Any]
    scenario: Scenario
    """With the values of recordings in the place of their names."""
    warnings: tuple[str, ...] = ()
    """What these recordings give reason to warn of."""


class Planned(NamedTuple):
    """One run: its place in the scenario's order, a case, its repetition, and the plan for the engine."""

    position: int
    name: str
    vary: dict[str, Any]
    repetition: int
    plan: Plan
    warnings: tuple[str, ...] = ()
    """What the scenario itself gives reason to warn of."""
    together: tuple[tuple[str, ...], ...] = ()
    """Keys of `vary` whose values go in step."""
