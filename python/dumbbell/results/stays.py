"""States of a flow's controller over time, from the events of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .result import Result


def stays_of(result: Result, flow: int) -> list[tuple[str, float, float]]:
    """State, and the seconds from and until which it lasted."""
    name = f"stays.{flow}"
    if name not in result.kept:
        result.kept[name] = list(_stays(result, flow))
    kept: list[tuple[str, float, float]] = result.kept[name]
    return kept


def _stays(result: Result, flow: int) -> Iterator[tuple[str, float, float]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    events = result.events
    tells = pc.is_in(events["kind"], pa.array(["cca_state", "stop", "complete"]))
    mine = events.filter(pc.and_(pc.equal(events["flow"], flow), tells))
    state, since = "", 0.0
    for row in mine.select(["t_ns", "kind", "note"]).to_pylist():
        now = row["t_ns"] / 1e9
        if state:
            yield state, since, now
        state, since = (row["note"] or "") if row["kind"] == "cca_state" else "", now
    if state:
        yield state, since, result.plan.duration_s
