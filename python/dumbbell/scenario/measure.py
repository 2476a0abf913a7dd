"""The ``[measure]`` table: which part of a run figures cover."""

from __future__ import annotations

from .declare import Key, Table, key
from .kinds import SPAN, SPAN_ABOVE_ZERO


class Measure(Table):
    """The part of a run that figures cover: those of `run`, `show`, plots, reports, and of tables in Python.

    The whole run is simulated and recorded. `summary` in its manifest covers all of it, as a function of
    `dumbbell.metrics` does unless it is given a window: `result.plan.window` is this one.
    """

    AT = "measure"

    from_: Key[str, int] = key(SPAN, "start of that part", default="0s", varies=False)
    to: Key[str | None, int | None] = key(
        SPAN_ABOVE_ZERO, "end of that part; default: the end of the run", default=None, varies=False
    )
