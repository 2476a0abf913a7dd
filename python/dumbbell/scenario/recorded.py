"""Keys of a scenario that name recordings. Apart from `traced.py`, so that scenarios without one do not load what reads
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .impairments import TracedLoss
from .schedule import TraceFile

if TYPE_CHECKING:
    from .file import Scenario


def named(case: Scenario) -> Iterator[tuple[list[str | int], str, Any, Any]]:
    """Each recording that a scenario names: its place, its key, its table and its value."""
    up_name, up = case.path.way_up
    tables: list[tuple[list[str | int], str, Any]] = [(["path"], "path", case.path)]
    tables += [] if up is None else [(["path", up_name.removeprefix("path.")], up_name, up)]
    tables += [(["link", i], f"link[{i}]", link) for i, link in enumerate(case.link)]
    tables += [(["flow", i], f"flow[{i}]", flow) for i, flow in enumerate(case.flow)]
    for place, at, table in tables:
        for name in ("rate", "rtt", "delay", "loss"):
            value = getattr(table, name, None)
            if isinstance(value, (TraceFile, TracedLoss)):
                yield [*place, name], f"{at}.{name}", table, value
        for i, part in enumerate(getattr(table, "impair", None) or ()):
            if isinstance(part, TracedLoss):
                yield [*place, "impair", i], f"{at}.impair[{i}]", None, part
            elif isinstance(getattr(part, "time", None), TraceFile):
                yield [*place, "impair", i, "time"], f"{at}.impair[{i}].time", part, part.time
