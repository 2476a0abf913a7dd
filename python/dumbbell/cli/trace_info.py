"""`dumbbell trace info`: how long a recording is, what it holds, and where it has gaps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dumbbell import units
from dumbbell.errors import printable
from dumbbell.scenario.recordings.forms import BY_NAME

from .table import Column, text
from .trace_series import UNITS, File, Series, mean, percentiles

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Gaps that are listed.
_GAPS_SHOWN = 5

PERCENTS = (5, 50, 95)


def described(file: File) -> str:
    """Describe a file to a person."""
    form = BY_NAME[file.form].said.format(rows=file.rows)
    lines = [f"{file.path}: {form}, {units.span_text(file.length_ns)}", ""]
    lines += [text(_columns(file.series)).rstrip(), ""]
    lines += [f"gaps: {_gaps(file)}"]
    lines += [f"not used: {note}" for note in file.ignored]
    lines += [note.text for note in file.said]
    lines += [note_text for note_text in (file.why, file.assumed) if note_text]
    return "\n".join(lines)


def as_json(file: File) -> str:
    """The same as one line of JSON, in the units of the columns."""
    told: dict[str, Any] = {
        "file": str(file.path),
        "format": file.form,
        "length_s": file.length_ns / 1e9,
        "rows": file.rows,
        "series": [{"name": column.name, "quantity": column.quantity, **_figures(column)} for column in file.series],
        "gaps": [[at / 1e9, ns / 1e9] for at, ns in file.gaps],
        "notes": [*file.ignored, *(note.text for note in file.said), *([file.assumed] if file.assumed else [])],
        "why": file.why,
    }
    return json.dumps(told)


def _figures(series: Series) -> dict[str, float | str]:
    _, scale, unit = UNITS[series.quantity]
    values = [value for _, value in series.points]
    figures: dict[str, float | str] = {"unit": unit, "mean": mean(series) / scale, "min": min(values) / scale}
    figures |= {f"p{name}": value / scale for name, value in zip(PERCENTS, percentiles(series, PERCENTS))}
    return {**figures, "max": max(values) / scale}


def _columns(all_series: Sequence[Series]) -> list[Column]:
    rows = [_figures(column) for column in all_series]
    names = ("mean", "min", *(f"p{percent}" for percent in PERCENTS), "max")
    return [
        Column("column", ("column",), [printable(column.name) for column in all_series], right=False),
        Column("unit", ("unit",), [str(row["unit"]) for row in rows], right=False),
        *(Column(name, (name,), [f"{row[name]:.4g}" for row in rows]) for name in names),
    ]


def _gaps(file: File) -> str:
    if not file.gaps:
        return "none" + (" of 200 ms or more" if file.has_opportunities else "")
    longest = sorted(file.gaps, key=lambda gap: -gap[1])[:_GAPS_SHOWN]
    shown = ", ".join(f"{units.span_text(ns)} at {units.span_text(at)}" for at, ns in sorted(longest))
    total = sum(ns for _, ns in file.gaps)
    what = "the longest: " if len(file.gaps) > _GAPS_SHOWN else ""
    return f"{len(file.gaps)}, {units.span_text(total)} in all ({what}{shown})"
