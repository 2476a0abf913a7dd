"""Why the sides of one experiment differ: two back ends, or two folders, of the same scenario."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from dumbbell.results.catalogue import figure
from dumbbell.results.experiment import key_of
from dumbbell.units import varied_text

if TYPE_CHECKING:
    from dumbbell.judge.change import Change
    from dumbbell.results.experiment import Key
    from dumbbell.results.load import Result

    from .explained import Cause
    from .told import Teller, Told

#: Flows of which the sides are told, and experiments.
_FLOWS, _EXPERIMENTS = 4, 4


def apart(sides: Mapping[str, Told], flows: Iterable[str], *, at: str = "on") -> list[str]:
    """Lines on these flows: the causes of each side where they differ, and that no rule explains it where they do not.
    `at` is the word before the name of a side.
    """
    lines, alike = [], []
    names, is_told = list(flows), all(told.flows for told in sides.values())
    for flow in names[:_FLOWS] if is_told else []:
        causes = {side: [cause for one in told.of(flow) for cause in one.causes] for side, told in sides.items()}
        if len({frozenset(cause.rule for cause in of_side) for of_side in causes.values()}) == 1:
            alike.append(flow)
        else:
            lines.append(f"{flow}: {'; '.join(_side(side, of_side, causes, at) for side, of_side in causes.items())}.")
    if alike:
        each = " and ".join(sides)
        lines.append(f"{', '.join(alike)}: the same is told {at} {each}, so no rule explains why they differ.")
    if is_told and len(names) > _FLOWS:
        lines.append(f"{len(names) - _FLOWS} more flows differ.")
    return [*lines, *(f"{side}: {told.note}" for side, told in sides.items() if told.note)]


def _side(side: str, of_side: list[Cause], causes: Mapping[str, list[Cause]], at: str) -> str:
    """What one side has of its own, or else all that is told of it."""
    common = set.intersection(*({cause.rule for cause in one} for one in causes.values()))
    own = [cause for cause in of_side if cause.rule not in common] or of_side
    if not own:
        return f"{at} {side} no rule explains what it got"
    return f"{at} {side} it {', and it '.join(cause.text for cause in own)}"


def firsts(runs: Iterable[Result], *, without: str | None = None) -> dict[Key, Result]:
    """The first repetition of each experiment; `without` is a key that varies and tells no experiments apart."""
    found: dict[Key, Result] = {}
    for run in runs:
        vary = {key: value for key, value in run.vary.items() if key != without}
        found.setdefault(key_of(run.name, vary), run)
    return found


def moved(changes: Sequence[Change], sides: Mapping[str, Mapping[Key, Result]], teller: Teller) -> list[str]:
    """Lines on the experiments of these changes, from one folder to the other; `sides` has a run of each experiment by
    the names of the folders.
    """
    by_experiment: dict[Key, list[Change]] = {}
    for change in changes:
        if all(change.after.experiment in runs for runs in sides.values()):
            by_experiment.setdefault(change.after.experiment, []).append(change)
    lines = []
    for key, own in list(by_experiment.items())[:_EXPERIMENTS]:
        runs = {name: of_side[key] for name, of_side in sides.items()}
        groups = list(next(iter(runs.values())).plan.groups)
        named = {change.after.name for change in own if not figure(change.name).of_run}
        flows = [group for group in groups if group in named] or groups
        said = apart({name: teller.tell(run) for name, run in runs.items()}, flows, at="in")
        where = varied_text(own[0].after.vary) if len(by_experiment) > 1 else ""
        lines += [f"{where}: {line}" if where else line for line in said]
    more = len(by_experiment) - _EXPERIMENTS
    return [*lines, *([f"Of {more} more combinations it is not told why they moved."] if more > 0 else [])]
