"""What a figure or table of a paper is made of: its cases, how it is drawn, and how its claims are read.

A case is one set-up: a scenario without lists, and its place on the entry's axes. An entry's cases are made for a
profile (`FULL`: the paper's times and repetitions; `FAST`: shorter and fewer). Two entries that make the same scenario
share its runs, because runs are kept by their content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .book import Book
    from .cells import Column
    from .claims import Claim
    from .table import Reading, Table

T = TypeVar("T")

Place = Mapping[str, Any]
"""Where a case stands on the axes of its figure: ``{"buffer_bdp": 0.1}``."""


class Profile(NamedTuple):
    """How much of the paper's effort is spent."""

    name: str
    is_full: bool

    def pick(self, full: T, fast: T) -> T:
        """What this profile takes."""
        return full if self.is_full else fast


FULL, FAST = Profile("full", True), Profile("fast", False)


class Case(NamedTuple):
    """One set-up of an entry."""

    series: str | None
    """The line of the figure that all of its flows belong to; None where the lines are the flows' names."""
    at: Place
    scenario: dict[str, Any]
    """The tables of a scenario file, with one value per key; `name` is given to it."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """How one figure or table is run, drawn and judged; what it claims is in the paper's TOML file."""

    cases: Callable[[Profile], Iterable[Case]]
    draw: Callable[[Table], Figure] | None
    """The figure as the paper draws it; None where the paper draws none."""
    choices: Mapping[str, str] = field(default_factory=dict)
    """What the paper leaves open: what was chosen, and why."""
    metrics: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """Metrics of this entry alone, by the names that its claims have for them: ``(result, label) -> value``."""
    series: Mapping[str, Callable[[Table, str, Place], list[Reading]]] = field(default_factory=dict)
    """Names in claims that are no line of the figure: ``(table, metric, at) -> readings``."""
    read: Mapping[str, Callable[[Table, Claim, Book], list[Reading] | list[list[Reading]]]] = field(
        default_factory=dict
    )
    """Claims whose figures are read in a way of their own, by number: ``(table, claim, book) -> readings``; for an
    ordering, one list of readings for each name in it."""
    also: tuple[str, ...] = ()
    """Other entries whose cases a trend of this one needs, because each panel of a figure is an entry."""
    needs: tuple[str, ...] = ()
    """Other entries that `read` asks the book for."""
    cells: Sequence[Column] = ()
    """The columns of a table of numbers, which is printed with the paper's beside ours (`cells.py`)."""
    unjudged: Mapping[str, str] = field(default_factory=dict)
    """Claims that cannot be judged, with the reason."""
