"""Stages of a flow's way through the plan, in the parts that links and netem take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dumbbell.plan.types import Stage


class Crossed(NamedTuple):
    """A link of a way down by its number, and what follows until the next one or the end."""

    link: int
    after: list[Stage]


def crossed(down: list[Stage]) -> list[Crossed]:
    """The links of a way down, in its order."""
    links: list[Crossed] = []
    for stage in down:
        if stage["kind"] == "link":
            links.append(Crossed(stage["link"], []))
        elif links:
            links[-1].after.append(stage)
    return links


def netems(stages: list[Stage]) -> list[list[Stage]]:
    """These parts in groups that one netem after the other does: each does every kind once."""
    groups: list[list[Stage]] = []
    for stage in stages:
        if not groups or any(other["kind"] == stage["kind"] for other in groups[-1]):
            groups.append([])
        groups[-1].append(stage)
    return groups


def is_constant(stages: list[Stage]) -> bool:
    """True if these parts delay every packet by the same time."""
    return all(
        stage["kind"] == "delay" and not (stage["steps"] or stage["jitter"] or stage["reorder"] or stage.get("slot"))
        for stage in stages
    )


def around_link(stages: list[Stage]) -> tuple[list[Stage], list[Stage]]:
    """The parts of a way before its first link, and after it; all are after where it has none."""
    links = [i for i, stage in enumerate(stages) if stage["kind"] == "link"]
    return (stages[: links[0]], stages[links[0] + 1 :]) if links else ([], stages)


def times(steps: list[tuple[int, int]], repeat_ns: int | None, duration_ns: int) -> Iterator[tuple[int, Any]]:
    """Each change of a value during the run: when it happens, ns after the start, and the new value."""
    begin = 0
    while steps and begin < duration_ns:
        for at, value in steps:
            if 0 < begin + at < duration_ns:
                yield begin + at, value
        if not repeat_ns:
            return
        begin += repeat_ns
