"""Variables of controllers, and columns of the samples, at the moments that sentences name."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dumbbell.errors import ResultError, listed
from dumbbell.results.columns import sample_column, unit_of
from dumbbell.results.stays import stays_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell.judge.values import Variable
    from dumbbell.results.load import Result

#: Units of variables, and what one of them is in that of a sentence's number.
_SCALES = {
    "bit/s": {"bit/s": 1.0, "bytes/s": 8.0},
    "s": {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "s/1024": 1 / 1024},
}


def read(run: Result, flow: int, asked: Variable) -> float | None:
    """A variable of one flow, or a column of its samples; None where it has no value then. Raises ResultError where its
    controller has none.
    """
    rows = _sampled(run, flow, asked.name) if asked.source == "sample" else _rows(run, flow, asked.name)
    if not rows:
        return None
    scale = _scale(asked, rows[0]["unit"])
    if asked.word is not None:
        _check_word(run, flow, asked, rows)
        rows = [{**row, "value": int(row["word"] == asked.word)} for row in rows]
    if asked.pick != "last":
        start, end = asked.start_s or 0.0, run.plan.duration_s if asked.end_s is None else asked.end_s
        held = _held(rows, start, end)
        best = _picked(held, asked.pick, start, end)
        return None if best is None else best * scale
    moment = _moment(run, flow, asked)
    held = [row for row in rows if moment is not None and row["t_ns"] / 1e9 <= moment]
    return held[-1]["value"] * scale if held and held[-1]["value"] is not None else None


def _picked(rows: Sequence[dict[str, Any]], pick: str, start: float, end: float) -> float | None:
    """The largest or smallest of these values, or their mean or median over time."""
    ends = [*(row["t_ns"] / 1e9 for row in rows[1:]), end]
    spans = [
        (float(row["value"]), until - max(row["t_ns"] / 1e9, start))
        for row, until in zip(rows, ends)
        if row["value"] is not None
    ]
    if not spans:
        return None
    if pick in ("largest", "smallest"):
        return (max if pick == "largest" else min)(value for value, _ in spans)
    total = sum(length for _, length in spans)
    if pick == "mean":
        return sum(value * length for value, length in spans) / total if total > 0 else spans[-1][0]
    passed = 0.0
    for value, length in sorted(spans):
        passed += length
        if passed >= total / 2:
            return value
    return spans[-1][0]


def _sampled(run: Result, flow: int, name: str) -> list[dict[str, Any]]:
    """A column of a flow's samples as rows of a variable."""
    unit = {"bit/s": "bit/s", "s": "us"}.get(unit_of(name)[0], "-")
    t, column = sample_column(run, flow, "t_us"), sample_column(run, flow, name)
    return [
        {"t_ns": at * 1e3, "value": None if math.isnan(value) else value, "unit": unit, "word": None}
        for at, value in zip(t.tolist(), column.tolist())
    ]


def _rows(run: Result, flow: int, name: str) -> list[dict[str, Any]]:
    """The rows of a variable of a flow, in their order."""
    import pyarrow.compute as pc

    table = run.variables
    mine = table.filter(pc.equal(table["flow"], flow))
    rows: list[dict[str, Any]] = mine.filter(pc.equal(mine["name"], name)).to_pylist()
    if not rows:
        names = sorted(set(mine["name"].to_pylist()))
        wanted = f"wanted one of: {', '.join(names)}" if names else "which declares none"
        raise ResultError(f"no variable {name} of {run.plan.flows[flow].cca}, {wanted}")
    return rows


def _held(rows: Sequence[dict[str, Any]], start: float, end: float) -> list[dict[str, Any]]:
    """The rows that hold at some time of a part of the run."""
    before = [row for row in rows if row["t_ns"] / 1e9 <= start]
    return before[-1:] + [row for row in rows if start < row["t_ns"] / 1e9 <= end]


def _moment(run: Result, flow: int, asked: Variable) -> float | None:
    """The second that is meant; None where the state never comes."""
    if asked.at_s is not None:
        return asked.at_s
    if asked.state is None:
        return run.plan.duration_s if asked.end_s is None else asked.end_s
    if not run.plan.record.events:
        raise ResultError(f"{run.folder.name}: it has no events, which {asked} needs; [record] events = true")
    stays = stays_of(run, flow)
    moments = [since if asked.edge == "begins" else until for name, since, until in stays if name == asked.state]
    if not moments:
        _check_state(run, flow, asked.state, {name for name, _, _ in stays})
    return moments[0] if moments else None


def _check_state(run: Result, flow: int, state: str, entered: set[str]) -> None:
    """Raise ResultError for a state that the controller does not have."""
    from dumbbell import controllers

    controller = controllers.known().get(run.plan.flows[flow].cca)
    states = entered | set(controller.states if controller else ())
    if state not in states:
        raise ResultError(
            f"{run.plan.flows[flow].cca} has no state {state}, wanted one of: {', '.join(sorted(states)) or 'none'}"
        )


def _scale(asked: Variable, unit: str) -> float:
    """What one unit of the variable is in that of the sentence."""
    if not asked.unit:
        return 1.0
    if unit not in _SCALES[asked.unit]:
        kind = {"bit/s": "rate", "s": "time"}[asked.unit]
        raise ResultError(f"{asked.name} is in {unit or 'words'}, got a {kind}")
    return _SCALES[asked.unit][unit]


def _check_word(run: Result, flow: int, asked: Variable, rows: Sequence[dict[str, Any]]) -> None:
    """Raise ResultError for a word that the variable never is."""
    from dumbbell import controllers

    words = {row["word"] for row in rows if row["word"]}
    controller = controllers.known().get(run.plan.flows[flow].cca)
    declared = controller.variables.get(asked.name) if controller else None
    words |= set(declared.words if declared else ())
    if not words:
        raise ResultError(f"{asked.name} is a number, got {asked.word}")
    if declared and asked.word not in words:
        raise ResultError(f"{asked.name} is never {asked.word}, wanted one of: {listed(sorted(words))}")
