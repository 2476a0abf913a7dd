"""Columns of a run's tables as arrays of floats, nulls as nan, found by flow or link without searching the table
again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dumbbell.errors import ResultError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from .result import Result
    from .statistic import Column

#: Columns of the samples that have a number for every row or null.
SAMPLES = ("t_us", "goodput_bytes", "segs_sent", "retrans_total", "srtt_us", "rtt_us", "cwnd", "in_flight")
#: Columns of the samples that count up.
COUNTING = ("goodput_bytes", "segs_sent", "delivered", "lost_total", "retrans_total")
#: Columns of the samples that sentences read: numbers, and words.
SAMPLE_NUMBERS = (
    *COUNTING, "goodput_bps", "cwnd", "ssthresh", "pacing_bps", "srtt_us", "rtt_us", "min_rtt_us", "in_flight",
    "packets_out", "sacked", "lost", "retrans_out", "delivery_rate_bps", "ca_state", "bw_bps", "cca_min_rtt_us",
    "pacing_gain", "cwnd_gain", "inflight_lo", "inflight_hi",
)  # fmt: skip
SAMPLE_WORDS = ("cca_state",)
#: Columns of the queue table that are of one moment.
QUEUE_STATES = ("backlog_bytes", "backlog_packets", "sojourn_us")


def unit_of(column: str) -> tuple[str, float]:
    """The unit of a column: what it counts in, and how many of that are one of its own."""
    endings = {"bps": ("bit/s", 1.0), "us": ("s", 1e-6)}
    return endings.get(column.rpartition("_")[2], ("", 1.0))


def floats(table: pa.Table, name: str) -> Column:
    """A column as floats; nulls are nan."""
    import numpy as np

    return np.asarray(table[name].to_numpy(zero_copy_only=False), dtype=float)


class Keyed:
    """A table whose rows belong to flows or links by number; the rows of each in their order."""

    def __init__(self, table: pa.Table, key: str, count: int, where: object) -> None:
        import numpy as np

        self.table = table
        of = floats(table, key) if key in table.column_names else np.zeros(table.num_rows)
        if of.size and not (of.min() >= 0 and of.max() < count):
            raise ResultError(f"{where}: damaged: column {key} has numbers beyond 0 to {count - 1}")
        self._order = None if bool(np.all(of[1:] >= of[:-1])) else np.argsort(of, kind="stable")
        self._edges = np.searchsorted(of if self._order is None else of[self._order], np.arange(count + 1))
        self._columns: dict[str, Column] = {}

    def column(self, number: int, name: str) -> Column:
        """A column of one flow or link."""
        if name not in self._columns:
            whole = floats(self.table, name)
            self._columns[name] = whole if self._order is None else whole[self._order]
        return self._columns[name][self._edges[number] : self._edges[number + 1]]


def flow_column(result: Result, name: str) -> Column:
    """A column of flows.parquet, a number for each flow."""
    column: Column = _kept(result, f"flows.{name}", lambda: floats(result.flows, name))
    return column


def sample_column(result: Result, flow: int, name: str) -> Column:
    """A column of the samples of one flow."""
    kept: Keyed = _kept(
        result,
        "samples",
        lambda: Keyed(result.samples, "flow", len(result.plan.flows), result.folder / "samples.parquet"),
    )
    return kept.column(flow, name)


def queue_column(result: Result, link: int, name: str) -> Column:
    """A column of the queue table for one link; 0 is the bottleneck."""
    links = len(result.plan.recorded_links)
    kept: Keyed = _kept(result, "queue", lambda: Keyed(result.queue, "link", links, result.folder / "queue.parquet"))
    return kept.column(link, name)


def joined(columns: Sequence[Column]) -> Column:
    """Several columns, one after the other."""
    import numpy as np

    return np.concatenate(columns) if columns else np.empty(0)


def _kept(result: Result, name: str, make: Any) -> Any:
    """Value computed from a result's tables before, or now."""
    if name not in result.kept:
        result.kept[name] = make()
    return result.kept[name]
