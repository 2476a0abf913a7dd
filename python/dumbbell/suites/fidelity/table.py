"""The fidelity table as data: figures of each row by seed, from Linux and from the simulator, and what they say.

The judge is `dumbbell.judge.versus`. The ceiling judges Linux by Linux, one seed against the others; the simulator's
single seeds are judged against the same seeds, so that both columns compare.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, field

from dumbbell.errors import ResultError
from dumbbell.judge import FAILS, HOLDS, Word
from dumbbell.judge.versus import Figure, Side, agreement, versus

from .means import Means
from .rows import FAMILIES, PATHS, PLAIN, Runs

#: Seeds from which on a row counts as repeated often enough to call a difference chance.
SEEDS_CHANCE = 10
#: Significant digits that are kept.
DIGITS = 5


class Record(Struct, kw_only=True, omit_defaults=True):
    """A row with what was measured."""

    row: str
    family: str
    path: str
    linux: Runs
    sim: Runs
    itself: bool | None = None
    """Whether the simulator agrees with itself: these seeds, judged by as many others; None where these are missing."""
    warnings: list[str] = field(default_factory=list)
    """What the guest warned of."""

    def figures(self) -> list[Figure]:
        """Every figure with its verdict: the simulator against Linux."""
        return versus(Side(self.linux), Side(self.sim))

    @property
    def differences(self) -> list[Figure]:
        """The figures that differ."""
        return [figure for figure in self.figures() if figure.word == FAILS]

    @property
    def word(self) -> Word:
        """One word for all figures."""
        return agreement(self.figures())

    def single(self) -> list[bool]:
        """For each seed: True if the simulator's run agrees with Linux's other seeds."""
        return [agree(self._without(i), [run]) for i, run in enumerate(self.sim[: len(self.linux)])]

    def ceiling(self) -> list[bool]:
        """For each seed: True if Linux's run agrees with Linux's other seeds."""
        return [agree(self._without(i), [run]) for i, run in enumerate(self.linux)]

    def _without(self, i: int) -> Runs:
        return self.linux[:i] + self.linux[i + 1 :]


def agree(reference: Runs, other: Runs) -> bool:
    """True if every figure does."""
    return agreement(versus(Side(reference), Side(other))) == HOLDS


class Section(Struct, kw_only=True):
    """Rows that were measured together, and on what."""

    commit: str
    kernel: str
    seeds: int
    rows: list[Record]
    failed: dict[str, str] = field(default_factory=dict)
    """Rows that a side could not run, with its error."""


class Table(Struct, kw_only=True):
    """The file: sections by name (`tests`, `random-1`), rows repeated with more seeds, and means of many."""

    sections: dict[str, Section] = field(default_factory=dict)
    more: dict[str, Record] = field(default_factory=dict)
    means: Means | None = None


class Count(NamedTuple):
    """Counts of rows: in how many the simulator agrees with Linux, differs from it, and agrees with itself; and for
    each single seed of the simulator, and of Linux, whether it agrees with Linux's others.
    """

    rows: int
    agree: int
    differ: int
    itself: list[bool]
    singles: list[bool]
    ceiling: list[bool]


def read(path: Path) -> Table:
    """The stored table; an empty one where there is none. Raises ResultError for another file."""
    try:
        whole = json.loads(path.read_bytes()) if path.exists() else {}
        for record in [
            *whole.get("more", {}).values(),
            *(r for s in whole.get("sections", {}).values() for r in s["rows"]),
        ]:
            record.update({side: _by_run(record[side]) for side in ("linux", "sim")})
        return msgspec.convert(whole, Table)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ResultError(f"{path}: no fidelity table: {error}") from None


def write(table: Table, path: Path) -> None:
    """Store it: a line for each row, and of each figure its values by seed."""
    whole = msgspec.to_builtins(table)
    for record in [
        *whole["more"].values(),
        *(row for section in whole["sections"].values() for row in section["rows"]),
    ]:
        record.update({side: _by_figure(record[side]) for side in ("linux", "sim")})
    path.write_text(_text(whole, depth=4) + "\n", encoding="utf-8")


def _by_figure(runs: Runs) -> dict[str, list[float | None]]:
    return {name: [run.get(name) for run in runs] for name in dict.fromkeys(name for run in runs for name in run)}


def _by_run(figures: dict[str, list[float | None]]) -> Runs:
    count = max(map(len, figures.values()), default=0)
    return [{name: values[i] for name, values in figures.items() if values[i] is not None} for i in range(count)]  # type: ignore[misc]


def _text(value: Any, depth: int) -> str:
    """JSON whose outer levels have a line for each item."""
    is_row = isinstance(value, dict) and (depth < 2 or "row" in value)
    if not depth or not isinstance(value, (dict, list)) or not value or is_row:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, list):
        return "[\n" + ",\n".join(_text(item, 0) for item in value) + "\n]"
    lines = [f"{json.dumps(name, ensure_ascii=False)}: {_text(item, depth - 1)}" for name, item in value.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def rounded(figures: Mapping[str, float | None]) -> dict[str, float]:
    """Figures as they are stored."""
    return {name: float(f"{value:.{DIGITS}g}") for name, value in figures.items() if value is not None}


def counts(rows: Iterable[Record]) -> dict[str, Count]:
    """By family, by kind of path, and of all."""
    rows = list(rows)
    counted = {}
    for name, belongs in _groups():
        members = [row for row in rows if belongs(row)]
        if members:
            singles = [agrees for row in members for agrees in row.single()]
            ceiling = [agrees for row in members for agrees in row.ceiling()]
            counted[name] = Count(
                len(members),
                sum(row.word == HOLDS for row in members),
                sum(row.word == FAILS for row in members),
                [row.itself for row in members if row.itself is not None],
                singles,
                ceiling,
            )
    return counted


def _groups() -> Iterator[tuple[str, Callable[[Record], bool]]]:
    for family in (PLAIN, *FAMILIES):
        yield family, lambda row, family=family: row.family == family  # type: ignore[misc]
    for path in PATHS:
        yield path, lambda row, path=path: row.path == path  # type: ignore[misc]
    yield "all", lambda _: True


def moved(before: Record, after: Record) -> list[str]:
    """Changes of a row: the verdict, and means of either side by more than rounding."""
    texts = [] if before.word == after.word else [f"{after.word} now, {before.word} before"]
    was = {figure.name: figure for figure in before.figures()}
    for figure in after.figures():
        old = was.get(figure.name)
        for side, new, value in (
            ("Linux", figure.reference, old.reference if old else math.nan),
            ("sim", figure.other, old.other if old else math.nan),
        ):
            if not math.isclose(new, value, rel_tol=10**-4, abs_tol=1e-9) and not (
                math.isnan(new) and math.isnan(value)
            ):
                texts.append(f"{side} {figure.name} {value:.4g} -> {new:.4g}")
    return texts
