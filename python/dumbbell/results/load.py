"""Result folders as data: a typed manifest, and Arrow tables that go straight into polars (`pl.from_arrow`) or pandas
(`to_pandas`).

Nothing here depends on the back end that wrote a folder.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from dumbbell.errors import EngineError, ResultError, listed
from dumbbell.files import UnreadableError, regular

from . import manifest as manifests
from .experiment import Key, key_of, repetitions
from .manifest import Manifest, Summary
from .plan_view import PlanView

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
}
_TEXT = frozenset({"cca", "kind", "note"})
#: Columns of those that may hold nulls.
_NULLABLE = frozenset({"completed_us", "there_us", "srtt_us", "rtt_us", "value", "note"})


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
        """Which experiment it repeats: its scenario and varied values."""
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
        return self._table("events")

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

    def _repr_html_(self) -> str:
        from . import frame

        return frame.html([self])


def _is_lack_of_room(error: Exception, said: str) -> bool:
    """Whether this process may have no more threads, files or memory, which says nothing of the file."""
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


class Results(Sequence[Result]):
    """Runs in the order in which the scenario asked for them."""

    def __init__(self, runs: Sequence[Result]) -> None:
        self.runs = list(runs)

    @classmethod
    def of(cls, folders: Sequence[Path]) -> Results:
        """The runs in these folders."""
        return cls([Result(folder) for folder in folders])

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> Results: ...
    def __getitem__(self, index: int | slice) -> Result | Results:
        return Results(self.runs[index]) if isinstance(index, slice) else self.runs[index]

    def __len__(self) -> int:
        return len(self.runs)

    def __repr__(self) -> str:
        return f"<Results: {len(self)} runs>"

    def _repr_html_(self) -> str:
        from . import frame

        return frame.html(self.runs)

    def varied(self) -> dict[str, list[Any]]:
        """Each varied key with its values, in order of appearance."""
        found: dict[str, list[Any]] = {}
        for run in self.runs:
            for key, value in run.vary.items():
                values = found.setdefault(key, [])
                if value not in values:
                    values.append(value)
        return found

    def groups(self) -> Iterator[tuple[dict[str, Any], list[Result]]]:
        """Runs that differ only in their repetition, together, with what they share."""
        return iter([(runs[0].vary, runs) for runs in repetitions(self.runs).values()])

    def samples(self) -> pa.Table:
        """The samples of all runs as one table, with columns that say which run a row is of (`table`)."""
        return self.table("samples")

    def table(self, name: str) -> pa.Table:
        """One table of all runs, runs in their order: ``flows``, ``samples``, ``queue``, ``events`` or ``messages``.

        Before its own columns (docs/results.md) stand ``run`` (the folder's name), ``scenario``, ``repetition``,
        ``seed`` and one for each varied key, such as ``path.buffer``, as text. ``seed`` is that of the run; a varied
        seed, as it was written, is ``vary.seed``. Each run's columns stay as they were read; nothing is copied.
        """
        import pyarrow as pa

        from . import frame

        if name not in COLUMNS:
            raise ResultError(f"there is no table {name}, wanted one of: {', '.join(COLUMNS)}")
        varied = list(self.varied())
        return (
            pa.concat_tables([frame.told_apart(run, getattr(run, name), varied) for run in self.runs])
            if self.runs
            else pa.table({})
        )

    def to_table(self) -> pa.Table:
        """One row per run and flow with its figures, those of `dumbbell show` (Mbit/s, ms, fractions): they cover the
        scenario's `measure`, or the whole run where it has none.

        Columns: ``scenario``, ``repetition``, ``seed``; a column for each varied key, such as ``path.buffer``, null
        for runs that do not have the key (``vary.seed`` for a varied seed); ``window_start_s`` and
        ``window_end_s``, the part of the run that the figures cover; ``flow`` (its number), ``name``, ``transport``,
        ``table``, ``cca`` and the flow's figures, named as in `run.summary`; ``jain``; and the bottleneck's figures,
        each with ``link_`` before its name. The values of a key are text, as in `table`, unless all are numbers.

        Raises
        ------
        ResultError
            A table that the figures of a window need is missing or damaged.
        """
        from . import frame

        return frame.of_flows(self)


def load(folder: str | Path) -> Results:
    """The runs in a folder: one, or all of a sweep in the order in which the scenario asked for them.

    Of a folder that `dumbbell compare` wrote, those of all back ends, varied by ``on``.

    Raises
    ------
    ResultError
        There is no such folder, it holds no results, or those of several experiments, which are not repetitions of each
        other.
    """
    folder = Path(folder)
    try:
        if (folder / "manifest.json").exists():
            return Results([Result(folder)])
        if not folder.is_dir():
            raise ResultError(f"{folder}: no such folder")
        runs = [Result(path.parent) for path in sorted(folder.glob("[!.]*/manifest.json"))]
        is_deep = not runs
        if is_deep:
            runs = [Result(path.parent) for path in sorted(folder.glob("[!.]*/[!.]*/manifest.json"))]
    except OSError as error:
        raise ResultError(f"{folder}: {error.strerror}") from None
    if not runs:
        raise ResultError(f"{folder}: holds no results")
    if not _tell_back_ends(folder, runs) and is_deep:
        names = list(dict.fromkeys(run.folder.parent.name for run in runs))
        raise ResultError(f"{folder}: holds folders of results, wanted one of them: {listed(names)}")
    made = Results(sorted(runs, key=lambda run: (run.name, run.manifest.position)))
    _check_repetitions(folder, made)
    return made


def _tell_back_ends(folder: Path, runs: Sequence[Result]) -> bool:
    """Whether there is a folder for each back end; which one it was is one more thing that varies then."""
    from msgspec.structs import replace

    names = [run.folder.relative_to(folder).parts[0] for run in runs]
    if len(set(names)) < 2 or names != [run.manifest.backend for run in runs]:
        return False
    for run in runs:
        run.manifest = replace(run.manifest, vary={"on": run.manifest.backend, **run.manifest.vary})
    return True


def _check_repetitions(folder: Path, runs: Results) -> None:
    """Each repetition of a combination is there once; else the folder has several experiments of one name."""
    for _, same in runs.groups():
        seen: dict[int, Result] = {}
        for run in same:
            first = seen.setdefault(run.repetition, run)
            if first is not run:
                raise ResultError(
                    f"{folder}: {first.folder.name} and {run.folder.name} are runs of different experiments called"
                    f' "{run.name}", wanted the folder of one of them'
                )
