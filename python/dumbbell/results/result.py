"""One result folder as data: a typed manifest, and Arrow tables that go straight into polars (`pl.from_arrow`) or
pandas (`to_pandas`).

Nothing here depends on the back end that wrote a folder, and nothing here computes a figure.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.errors import EngineError, ResultError
from dumbbell.files import UnreadableError, regular
from dumbbell.plan.view import PlanView

from . import manifest as manifests
from .experiment import Key, key_of
from .manifest import Manifest, Summary

if TYPE_CHECKING:
    import pyarrow as pa

#: Columns without which a table is none of ours; docs/results.md lists all.
COLUMNS = {
    "flows": (
        "flow",
        "cca",
        "start_us",
        "stop_us",
        "completed_us",
        "goodput_bytes",
        "segs_sent",
        "retrans_segs",
        "bytes_sent",
    ),
    "samples": (
        "t_us",
        "flow",
        "goodput_bytes",
        "segs_sent",
        "retrans_total",
        "srtt_us",
        "rtt_us",
        "cwnd",
        "in_flight",
    ),
    "queue": (
        "t_us",
        "backlog_bytes",
        "backlog_packets",
        "sojourn_us",
        "sent_bytes",
        "sent_packets",
        "dropped_packets",
    ),
    "events": ("t_ns", "flow", "kind", "value", "note"),
    "messages": ("flow", "asked_us", "written_us", "bytes", "completed_us"),
    "probes": ("probe", "sent_us", "there_us", "rtt_us"),
    "variables": ("t_ns", "flow", "name", "value", "unit", "word"),
    "limits": ("t_ns", "flow", "limit"),
}
_TEXT = frozenset({"cca", "kind", "note", "name", "unit", "word", "limit"})
#: Columns of those that may hold nulls.
_NULLABLE = frozenset(
    {
        "completed_us", "there_us", "srtt_us", "rtt_us", "value", "note", "word", "retrans_segs", "retrans_total",
        "cwnd", "in_flight",
    }
)  # fmt: skip


class Result:
    """One run. Tables are read when first used; docs/results.md lists their columns and units.

    Raises
    ------
    ResultError
        The folder is none, its manifest is damaged or of another version, or a table is missing or damaged; the text
        names the file.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.manifest: Manifest = manifests.read(self.folder)
        self.kept: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return self.manifest.name

    @property
    def vary(self) -> dict[str, Any]:
        """Varied keys and their values in this run, such as ``{"path.buffer": "1bdp"}``."""
        return self.manifest.vary

    @property
    def experiment(self) -> Key:
        """Experiment that it repeats: its scenario and varied values."""
        return key_of(self.name, self.vary)

    @property
    def repetition(self) -> int:
        """Number of the repetition, from 0."""
        return self.manifest.repetition

    @property
    def seed(self) -> int:
        """Seed of everything random in this run."""
        return self.manifest.seed

    @property
    def plan(self) -> PlanView:
        """The plan as run: flows, links, length; absolute numbers."""
        return self.manifest.plan

    @property
    def summary(self) -> Summary:
        """The engine's own summary: links, flows, Jain's index. It covers the whole run, also where the scenario has a
        `measure`; functions of `dumbbell.metrics` take its window, ``run.plan.window``.
        """
        return self.manifest.summary

    @property
    def warnings(self) -> list[str]:
        """Why this result should be read with care; empty as a rule."""
        return self.manifest.warnings

    @cached_property
    def flows(self) -> pa.Table:
        """One row a flow: totals of the whole run."""
        table = self._table("flows")
        if table.num_rows != len(self.plan.flows):
            raise ResultError(
                f"{self.folder / 'flows.parquet'}: damaged: {table.num_rows} rows, wanted one for each of"
                f" {len(self.plan.flows)} flows"
            )
        return table

    @cached_property
    def samples(self) -> pa.Table:
        """One row per flow and sample time: rates, windows, RTTs, controller state."""
        return self._table("samples")

    @cached_property
    def queue(self) -> pa.Table:
        """One row per link and sample time: occupancy, sojourn time, drops."""
        return self._table("queue")

    @cached_property
    def events(self) -> pa.Table:
        """One row per event: state changes, losses, timeouts."""
        import pyarrow as pa
        from pyarrow import compute

        table = self._table("events")
        return table.append_column("t_us", compute.divide(table["t_ns"].cast(pa.int64()), 1000))

    @cached_property
    def messages(self) -> pa.Table:
        """One row per message of an application that writes in pieces: when it was asked for, written and received."""
        return self._table("messages")

    @cached_property
    def probes(self) -> pa.Table:
        """One row per probe: when it was sent, and its round trip; only of runs with probes."""
        if not self.plan.probes:
            raise ResultError(
                f'{self.folder}: it has no probes; a flow with workload = {{ probe = "10ms" }} sends them'
            )
        return self._table("probes")

    @cached_property
    def variables(self) -> pa.Table:
        """One row per variable of a controller and change of it; only of runs with ``[record] variables = true``."""
        return self._asked_for("variables")

    @cached_property
    def limits(self) -> pa.Table:
        """One row per change of what limits a flow; only of runs with ``[record] limits = true``."""
        return self._asked_for("limits")

    def _asked_for(self, name: str) -> pa.Table:
        """A table that the scenario has to ask for."""
        if not getattr(self.plan.record, name):
            raise ResultError(f"{self.folder}: it has no {name}; a run with [record] {name} = true has them")
        return self._table(name)

    def _table(self, name: str) -> pa.Table:
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.folder / f"{name}.parquet"
        try:
            size = regular(path)
        except UnreadableError as error:
            raise ResultError(f"{path}: {error}; a finished run has this table") from None
        written = self.manifest.files.get(path.name)
        if written is not None and size != written.bytes:
            raise ResultError(f"{path}: damaged: {size} bytes, {written.bytes} were written")
        try:
            # pq.read_table would import pyarrow's datasets, and pandas with them: 0.3 s.
            with pq.ParquetFile(path) as file:
                table = file.read()
            table.validate(full=True)
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            said = (str(error).splitlines() or [""])[0][:200]
            if _is_lack_of_room(error, said):
                raise EngineError(f"{path}: not read: {said}") from None
            raise ResultError(f"{path}: damaged: {said}") from None
        _check_columns(table, COLUMNS[name], path)
        return table

    def __repr__(self) -> str:
        return f"Result({str(self.folder)!r})"


def _is_lack_of_room(error: Exception, said: str) -> bool:
    """True if this process may have no more threads, files or memory, which says nothing of the file."""
    if isinstance(error, OSError) and error.errno in (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM):
        return True
    return isinstance(error, MemoryError) or any(os.strerror(number) in said for number in (errno.EAGAIN, errno.ENOMEM))


def _check_columns(table: pa.Table, names: Sequence[str], path: Path) -> None:
    from pyarrow import types

    for name in names:
        if table.column_names.count(name) != 1:
            raise ResultError(f"{path}: damaged: no column {name}")
        kind = table.schema.field(name).type
        fits = types.is_string(kind) or types.is_dictionary(kind) if name in _TEXT else types.is_integer(kind)
        if not fits and not types.is_null(kind):
            raise ResultError(f"{path}: damaged: column {name} holds {kind}")
        if name not in _NULLABLE and table[name].null_count and not (name == "flow" and path.stem == "events"):
            raise ResultError(f"{path}: damaged: column {name} has nulls")
