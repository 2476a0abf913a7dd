"""What sentences read of runs: one class for each kind of value, and its number as people read it. `parse_values.py`
reads them from text; docs/test.md has them for people.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from dumbbell.results.catalogue import figure

from .questions import Sign, number


class Rtts(float):
    """A time in the run as a number of RTTs: the propagation delay of the flows that a value is of."""

    __slots__ = ()


class Reading(NamedTuple):
    """A figure of the runs.

    Attributes
    ----------
    figure
        Its canonical name, with the link behind an @ if any.
    of
        Whose: a [[flow]] table by name, a controller, ``flow[N]``, ``all``, ``lowest``, ``highest``; None: each.
    case
        What is different in the runs that are read: a controller, NAME=CONTROLLER or KEY=VALUE,...; None: nothing.
    start_s, end_s
        The part of the run, in seconds or `Rtts`; None: that of the expectation, or of the scenario.
    """

    figure: str
    of: str | None = None
    case: str | None = None
    start_s: float | None = None
    end_s: float | None = None

    def __str__(self) -> str:
        return _with_clauses(self.figure, of=self.of, case=self.case, start_s=self.start_s, end_s=self.end_s)


class Baseline(NamedTuple):
    """The same figure in the runs of a baseline."""

    def __str__(self) -> str:
        return "baseline"


class Scaled(NamedTuple):
    """A value times a number."""

    factor: float
    value: Value | Baseline
    unit: float = 1.0
    """A unit of the value in that of what it is compared with."""

    def __str__(self) -> str:
        return str(self.value) if self.factor == 1 else f"{self.factor:g} x {self.value}"


class Count(NamedTuple):
    """How often something happened: events of a kind, or how often the controller entered a state."""

    what: Literal["event", "state"]
    kind: str
    of: str | None = None
    start_s: float | None = None
    end_s: float | None = None

    def __str__(self) -> str:
        return _with_clauses(f"{self.what} {self.kind}", of=self.of, start_s=self.start_s, end_s=self.end_s)


class Delay(NamedTuple):
    """Time from one change of state to the next entry of another: how long after `edge` of `after` the controller
    enters `state`.
    """

    state: str
    after: str
    edge: Literal["begins", "ends"]
    of: str | None = None

    def __str__(self) -> str:
        return f"state {self.state} after {self.after} {self.edge}"


class Stay(NamedTuple):
    """How long the controller stays in a state: each time, of which the longest or the shortest decides, the longest
    time, or the first.
    """

    state: str
    of: str | None = None
    which: Literal["each", "longest", "first"] = "each"
    shortest: bool = False
    start_s: float | None = None
    end_s: float | None = None

    def __str__(self) -> str:
        head = f"{'' if self.which == 'each' else f'{self.which} '}stay in {self.state}"
        return _with_clauses(head, start_s=self.start_s, end_s=self.end_s)


Pick = Literal["last", "largest", "smallest", "mean", "median"]


class Variable(NamedTuple):
    """A variable that the controller declares, or a column of the samples: at a time, when a state first begins or
    ends, at the end, or the largest, smallest, mean or median value of a part of the run.

    Attributes
    ----------
    pick
        Which of its values; the mean and the median are over time.
    unit
        What a number is in that it is compared with: ``bit/s``, ``s``, or the unit of the variable (empty).
    word
        The word that is asked for, of a variable that has words: its value is 1 where it has this one, else 0.
    """

    name: str
    pick: Pick = "last"
    of: str | None = None
    state: str | None = None
    edge: Literal["begins", "ends"] | None = None
    at_s: float | None = None
    start_s: float | None = None
    end_s: float | None = None
    unit: Literal["bit/s", "s", ""] = ""
    word: str | None = None
    source: Literal["variable", "sample"] = "variable"

    def __str__(self) -> str:
        when = (
            f"at {self.state} {self.edge}" if self.state else f"at {_span(self.at_s)}" if self.at_s is not None else ""
        )
        picked = "" if self.pick == "last" else self.pick
        return " ".join(filter(None, [picked, self.source, self.name, self.of and f"of {self.of}", when]))


class Counter(NamedTuple):
    """A counter of a flow (docs/results.md, flows.parquet), over the whole run or a part of it."""

    name: str
    of: str | None = None
    start_s: float | None = None
    end_s: float | None = None

    def __str__(self) -> str:
        return _with_clauses(f"count {self.name}", of=self.of, start_s=self.start_s, end_s=self.end_s)


class Limit(NamedTuple):
    """For what share of the time something limited a flow (docs/results.md, limits.parquet)."""

    what: str
    of: str | None = None
    start_s: float | None = None
    end_s: float | None = None

    def __str__(self) -> str:
        return _with_clauses(f"limit {self.what}", of=self.of, start_s=self.start_s, end_s=self.end_s)


class Given(NamedTuple):
    """What the scenario gives the path of a flow (`GIVEN`)."""

    what: str
    of: str | None = None
    start_s: float | None = None
    end_s: float | None = None

    def __str__(self) -> str:
        return _with_clauses(f"path {self.what}", of=self.of, start_s=self.start_s, end_s=self.end_s)


#: What `path WHAT` may be, each with its dimension.
GIVEN = {
    "rate": "bit/s", "top_rate": "bit/s", "capacity": "bit/s", "share": "bit/s", "up_rate": "bit/s",
    "policer_rate": "bit/s", "policer_burst": "bytes", "rtt": "s", "packet_rtt": "s", "outage": "s",
    "back": "s", "bdp": "segments",
    "bdp_share": "segments",
    "buffer": "segments", "rates": "count", "rtts": "count", "jitters": "count", "flows": "count", "up_flows": "count",
    "ack_parts": "count", "alike": "count", "max_rate": "bit/s",
}  # fmt: skip


class Derived(NamedTuple):
    """What follows from several tables (`DERIVED`)."""

    what: str
    of: str | None = None
    start_s: float | None = None
    end_s: float | None = None

    def __str__(self) -> str:
        return _with_clauses(f"derived {self.what}", of=self.of, start_s=self.start_s, end_s=self.end_s)


#: What `derived WHAT` may be, each with its dimension.
DERIVED = {
    "fair": "share", "cost": "share", "ack_load": "share", "spurious": "share", "loss_free": "share", "idle": "share",
    "ack_queue": "s", "life": "s", "length": "s", "connect": "s", "missed": "bytes",
    "burst": "segments",
}  # fmt: skip


class Test(NamedTuple):
    """A comparison of a column of the samples, or of the bottleneck's queue, with a number, a word, another column or
    what the scenario gives, times a factor.
    """

    column: str
    sign: Sign
    factor: float
    right: float | str | Given


class Time(NamedTuple):
    """For what share of the time something held that the samples show."""

    text: str
    tests: tuple[Test, ...]
    of: str | None = None
    start_s: float | None = None
    end_s: float | None = None

    def __str__(self) -> str:
        return _with_clauses(f'time "{self.text}"', of=self.of, start_s=self.start_s, end_s=self.end_s)


class Moment(NamedTuple):
    """When something first began or last ended: an event, a state of the controller, or a limit."""

    edge: Literal["first", "last"]
    what: Literal["event", "state", "limit"]
    kind: str
    of: str | None = None
    start_s: float | None = None
    end_s: float | None = None

    def __str__(self) -> str:
        return _with_clauses(f"{self.edge} {self.what} {self.kind}", of=self.of, start_s=self.start_s, end_s=self.end_s)


class Gap(NamedTuple):
    """The longest time in which a column of the samples that counts did not grow."""

    column: str
    of: str | None = None
    start_s: float | None = None
    end_s: float | None = None

    def __str__(self) -> str:
        return _with_clauses(f"longest gap in {self.column}", of=self.of, start_s=self.start_s, end_s=self.end_s)


class Reduction(NamedTuple):
    """By how much the window was less within two round trips after an event, as a part of the one before: the median
    over these events.
    """

    kind: str
    of: str | None = None
    start_s: float | None = None
    end_s: float | None = None

    def __str__(self) -> str:
        return _with_clauses(f"reduction after {self.kind}", of=self.of, start_s=self.start_s, end_s=self.end_s)


Timed = Reading | Count | Counter | Stay | Variable | Limit | Given | Derived | Time | Moment | Gap | Reduction
"""Values that may be of a part of the run."""
Value = Timed | Delay

#: Units of figures in those of other values.
_OF_FIGURES = {"Mbit/s": ("bit/s", 1e6), "ms": ("s", 1e-3), "%": ("share", 1.0), "": ("share", 1.0)}


def dimension(value: Value) -> tuple[str, float]:
    """What a value counts in, and how many of that are one of its own units."""
    if isinstance(value, Reading):
        unit = figure(value.figure).unit
        return _OF_FIGURES.get(unit, (unit, 1.0))
    if isinstance(value, (Given, Derived)):
        return (GIVEN if isinstance(value, Given) else DERIVED)[value.what], 1.0
    if isinstance(value, Variable):
        return value.unit, 1.0
    if isinstance(value, (Count, Counter)):
        return "count", 1.0
    return ("share" if isinstance(value, (Limit, Time, Reduction)) else "s"), 1.0


def shown(value: Value, amount: float) -> str:
    """A number of this value as people read it, with its unit."""
    if not math.isfinite(amount):
        return "none" if math.isnan(amount) else "never" if isinstance(value, (Delay, Stay)) else "infinite"
    if isinstance(value, Reading):
        known = figure(value.figure)
        return f"{number(known.scale * amount)}{f' {known.unit}' if known.unit else ''}"
    if isinstance(value, Variable) and value.word is not None:
        return value.word if amount == 1 else f"not {value.word}"
    counted = dimension(value)[0]
    if counted not in _SHOWN:
        return number(amount)
    size, unit = _SHOWN[counted]
    return f"{number(amount / size)} {unit}"


#: How numbers are shown: what one of the unit is, and the unit.
_SHOWN = {
    "share": (0.01, "%"), "bit/s": (1e6, "Mbit/s"), "s": (1.0, "s"), "bytes": (1e6, "MB"),
    "segments": (1.0, "segments"),
}  # fmt: skip


def _with_clauses(
    head: str,
    *,
    of: str | None = None,
    case: str | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
) -> str:
    clauses = [("of", of), ("with", case), ("from", _span(start_s)), ("to", _span(end_s))]
    return " ".join([head, *(f"{word} {value}" for word, value in clauses if value)])


def _span(time: float | None) -> str:
    return "" if time is None else f"{time:g}{'rtt' if isinstance(time, Rtts) else 's'}"
