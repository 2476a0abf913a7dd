"""Result folders as data: a manifest, and Arrow tables that go straight into polars (`pl.from_arrow`) or pandas (`to_pandas`).

Nothing here depends on the back end that wrote a folder.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from .errors import ResultError

if TYPE_CHECKING:
    import pyarrow as pa

#: Newest version of the folder's format that this module reads.
SCHEMA_VERSION = 1


class Result:
    """One run. Tables are read when first used; docs/results.md lists their columns and units."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            text = (self.folder / "manifest.json").read_text(encoding="utf-8")
            self.manifest: dict[str, Any] = json.loads(text)
            version = self.manifest["schema_version"]
        except OSError as error:
            raise ResultError(f"{self.folder}: no result folder ({error.strerror})") from None
        except (ValueError, KeyError, TypeError):
            raise ResultError(f"{self.folder}: its manifest.json is damaged") from None
        if version != SCHEMA_VERSION:
            raise ResultError(f"{self.folder}: format version {version}, wanted {SCHEMA_VERSION}")

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str(self.manifest["name"])

    @property
    def vary(self) -> dict[str, Any]:
        """Varied keys and their values in this run, such as ``{"path.buffer": "1bdp"}``."""
        return dict(self.manifest["vary"])

    @property
    def repetition(self) -> int:
        """Number of the repetition, from 0."""
        return int(self.manifest["repetition"])

    @property
    def plan(self) -> dict[str, Any]:
        """The plan as run: absolute integers."""
        return dict(self.manifest["plan"])

    @property
    def summary(self) -> dict[str, Any]:
        """The engine's own summary: link, flows, Jain's index."""
        return dict(self.manifest["summary"])

    @property
    def warnings(self) -> list[str]:
        """Why this result should be read with care; empty as a rule."""
        return list(self.manifest["warnings"])

    @cached_property
    def flows(self) -> pa.Table:
        """One row a flow: totals of the whole run."""
        return self._table("flows")

    @cached_property
    def samples(self) -> pa.Table:
        """One row per flow and sample time: rates, windows, RTTs, controller state."""
        return self._table("samples")

    @cached_property
    def queue(self) -> pa.Table:
        """One row per sample time: occupancy, sojourn time, drops of the bottleneck."""
        return self._table("queue")

    @cached_property
    def events(self) -> pa.Table:
        """One row per event: state changes, losses, timeouts."""
        return self._table("events")

    def _table(self, name: str) -> pa.Table:
        import pyarrow.parquet as pq

        path = self.folder / f"{name}.parquet"
        if not path.exists():
            raise ResultError(f"{path}: no such table; [record] {name} = true records it")
        return pq.read_table(path)

    def __repr__(self) -> str:
        return f"Result({str(self.folder)!r})"


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
        grouped: dict[str, list[Result]] = {}
        for run in self.runs:
            grouped.setdefault(run.name + json.dumps(run.vary), []).append(run)
        return iter([(runs[0].vary, runs) for runs in grouped.values()])

    def to_table(self) -> pa.Table:
        """One row per run and flow: name, repetition, seed, varied values, and the summary's figures (Mbit/s, ms, fractions)."""
        import pyarrow as pa

        rows = []
        for run in self.runs:
            link = {f"link_{k}": v for k, v in run.summary["link"].items()}
            head = {"scenario": run.name, "repetition": run.repetition, "seed": run.manifest["seed"], **run.vary}
            for i, flow in enumerate(run.summary["flows"]):
                rows.append({**head, "flow": i, **flow, "jain": run.summary["jain"], **link})
        return pa.Table.from_pylist(rows)


def load(folder: str | Path) -> Results:
    """The runs in a folder: one, or all of a sweep in the order in which the scenario asked for them."""
    folder = Path(folder)
    if (folder / "manifest.json").exists():
        return Results([Result(folder)])
    if not folder.is_dir():
        raise ResultError(f"{folder}: no such folder")
    runs = [Result(path.parent) for path in sorted(folder.glob("[!.]*/manifest.json"))]
    if not runs:
        raise ResultError(f"{folder}: holds no results")
    return Results(sorted(runs, key=lambda run: (run.name, run.manifest["position"])))
