"""What the tests of closed forms share: rows of raw tables, figures as `show` tells them, the payload's part of a
packet.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from dumbbell import Result
from dumbbell.results import figures
from dumbbell.results.catalogue import FIGURES

Runner = Callable[..., Result]
#: Goodput of a full link over its rate.
PAYLOAD = 1448 / 1514


def rows(result: Result, table: str, **where: Any) -> list[dict[str, Any]]:
    """Rows of a table, read by pyarrow alone."""
    found: list[dict[str, Any]] = pq.read_table(Path(result.folder) / f"{table}.parquet").to_pylist()
    return [row for row in found if all(row[name] == value for name, value in where.items())]


def figure(result: Result, name: str, flows: list[int], window: tuple[float, float] | None = None) -> float | None:
    """What `show` tells."""
    return FIGURES[name].read(figures.Measured(result, window), flows)
