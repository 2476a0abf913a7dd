"""Events of a run by their kind, as arrays: when, of which flow, and the number that belongs to each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .columns import floats

if TYPE_CHECKING:
    from .result import Result
    from .statistic import Column

#: Kinds of events whose value says how many packets they are of.
COUNTED = ("loss_detected", "retransmit", "drop_queue", "drop_random", "ecn_mark")


class Happened(NamedTuple):
    """Events of one kind: their times in seconds, flows (nan: of none), and how many packets they are of (1
    where they are of none).
    """

    t_s: Column
    flow: Column
    packets: Column

    def inside(self, flow: int | None, start: float, end: float) -> Happened:
        """Those of a flow, or of any, from one moment to another."""
        taken = (self.t_s >= start) & (self.t_s <= end)
        if flow is not None:
            taken &= self.flow == flow
        return Happened(self.t_s[taken], self.flow[taken], self.packets[taken])


def happened(result: Result, kind: str, note: str | None = None) -> Happened:
    """The events of this kind, and with this note where one is given."""
    import numpy as np
    import pyarrow.compute as pc

    name = f"events.{kind}.{note}"
    if name not in result.kept:
        table = result.events.filter(pc.equal(result.events["kind"], kind))
        if note is not None:
            table = table.filter(pc.equal(table["note"], note))
        counts = floats(table, "value") if kind in COUNTED else np.ones(table.num_rows)
        result.kept[name] = Happened(floats(table, "t_ns") / 1e9, floats(table, "flow"), np.nan_to_num(counts))
    kept: Happened = result.kept[name]
    return kept
