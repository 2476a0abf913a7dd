"""Result folders: one, or all of a sweep, as a list of results and as one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from dumbbell.errors import ResultError, listed

from .experiment import repetitions
from .result import COLUMNS, Result

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def _html(run: Result) -> str:
    """A run as a table of its figures, for a notebook."""
    from . import frame

    return frame.html([run])


#: Given from here, because `result.py` is data, and figures are made of it.
setattr(Result, "_repr_html_", _html)  # noqa: B010


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
        names = listed(list(dict.fromkeys(run.name for run in self.runs)), 3)
        varied = "".join(f", {key}: {len(values)} values" for key, values in self.varied().items())
        most = max((len(runs) for _, runs in self.groups()), default=0)
        repeated = f", {most} repetitions" if most > 1 else ""
        return f"<Results: {len(self)} runs{f' of {names}' if names else ''}{varied}{repeated}>"

    def _repr_html_(self) -> str:
        from . import frame

        return frame.html(self.runs)

    def varied(self) -> dict[str, list[Any]]:
        """Each varied key with its values, in order of appearance."""
        by_key: dict[str, list[Any]] = {}
        for run in self.runs:
            for key, value in run.vary.items():
                values = by_key.setdefault(key, [])
                if value not in values:
                    values.append(value)
        return by_key

    def groups(self) -> Iterator[tuple[dict[str, Any], list[Result]]]:
        """Runs that differ only in their repetition, together, with what they share."""
        return iter([(runs[0].vary, runs) for runs in repetitions(self.runs).values()])

    def samples(self) -> pa.Table:
        """The samples of all runs as one table, with columns that say which run a row is of (`table`)."""
        return self.table("samples")

    def table(self, name: str) -> pa.Table:
        """One table of all runs, runs in their order: ``flows``, ``samples``, ``queue``, ``events`` or ``messages``;
        ``variables`` and ``limits`` where the scenario asks for them.

        Before its own columns (docs/results.md) stand ``run`` (the folder's name), ``scenario``, ``repetition``,
        ``seed`` and those of each varied key, as in `to_table`. ``seed`` is that of the run; a varied seed is
        ``vary.seed``. Each run's columns stay as they were read; nothing is copied.
        """
        import pyarrow as pa

        from . import frame

        if name not in COLUMNS:
            raise ResultError(f"there is no table {name}, wanted one of: {', '.join(COLUMNS)}")
        varied = [frame.Varied.of(*each) for each in self.varied().items()]
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
        each with ``link_`` before its name.

        Quantities of a key are numbers in one unit, the one that pictures have on their axis (``BDP``, ``ms``,
        ``Mbit/s``), which is the column's metadata ``unit``; ``path.buffer.text`` has them as they were written. Words
        are text, and so are quantities of several kinds, such as BDPs and bytes.

        Raises
        ------
        ResultError
            A table that the figures of a window need is missing or damaged.
        """
        from . import frame

        return frame.of_flows(self.runs, [frame.Varied.of(*each) for each in self.varied().items()])

    def to_pandas(self, name: str | None = None) -> pd.DataFrame:
        """`to_table`, or `table` of this name, as a data frame of pandas.

        Raises
        ------
        ResultError
            pandas is not installed, or a table is missing or damaged.
        """
        try:
            import pandas  # noqa: F401 -- pyarrow's own message does not say what to do
        except ImportError as error:
            raise ResultError(
                f"to_pandas needs pandas, which is not here ({error}): pip install pandas, or take the Arrow table of"
                " to_table() or table(NAME), which polars reads as well"
            ) from None
        return (self.to_table() if name is None else self.table(name)).to_pandas()


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
        below = {path.parent.parent: path.stat().st_mtime for path in folder.glob("[!.]*/[!.]*/[!.]*/manifest.json")}
        names = [str(path.relative_to(folder)) for path in sorted(below, key=lambda path: -below[path])]
        raise ResultError(f"{folder}: holds no results" + (f"; those below it: {listed(names)}" if names else ""))
    if not _tell_back_ends(folder, runs) and is_deep:
        names = list(dict.fromkeys(run.folder.parent.name for run in runs))
        raise ResultError(f"{folder}: holds folders of results, wanted one of them: {listed(names)}")
    results = Results(sorted(runs, key=lambda run: (run.name, run.manifest.position)))
    _check_repetitions(folder, results)
    return results


def _tell_back_ends(folder: Path, runs: Sequence[Result]) -> bool:
    """True if there is a folder for each back end; which one it was is one more thing that varies then."""
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


__all__ = ["COLUMNS", "Result", "Results", "load"]
