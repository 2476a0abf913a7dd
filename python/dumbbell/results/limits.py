"""What limits a flow over time, from the table of limits (docs/results.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .result import Result

#: What limits a sender; where several do, the first here counts.
LIMITS = ("recovery", "application", "cwnd", "send_buffer", "receive_window", "pacing", "host_queue")


class Held(NamedTuple):
    """A limit, and the seconds from and until which it held."""

    limit: str
    since: float
    until: float


def limits_of(result: Result, flow: int) -> list[Held]:
    """What limited a flow, from when it was established until its end; raises ResultError for a run without the
    table.
    """
    import pyarrow.compute as pc

    name = f"limits.{flow}"
    if name not in result.kept:
        table = result.limits
        mine = table.filter(pc.equal(table["flow"], flow))
        since = [t / 1e9 for t in mine["t_ns"].to_pylist()]
        ends = [*since[1:], _end(result, flow)]
        result.kept[name] = [Held(*row) for row in zip(mine["limit"].to_pylist(), since, ends)]
    kept: list[Held] = result.kept[name]
    return kept


def share_of_time(held: Iterable[Held], limit: str, start: float, end: float) -> float | None:
    """Share of the time between two moments that a limit held; None where none held at all."""
    parts = [(one.limit, min(one.until, end) - max(one.since, start)) for one in held]
    total = sum(length for _, length in parts if length > 0)
    return sum(length for name, length in parts if name == limit and length > 0) / total if total > 0 else None


def _end(result: Result, flow: int) -> float:
    row = result.flows.slice(flow, 1)
    completed, stopped = row["completed_us"][0].as_py(), row["stop_us"][0].as_py()
    ends = [us / 1e6 for us in (completed, stopped) if us is not None]
    return float(min([*ends, result.plan.duration_s]))
