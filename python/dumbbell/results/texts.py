"""Figures as tables and pages print them: decimals of the catalogue, percent where its unit is percent."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from .catalogue import figure

if TYPE_CHECKING:
    from .statistic import Interval


#: A percentile that falls among transfers or messages that did not end.
UNREACHED = "not reached"


def mean_text(name: str, value: Interval) -> str:
    """The mean of a figure; over repetitions a count has a decimal. One among what never ended is `UNREACHED`."""
    if value.mean == math.inf:
        return UNREACHED
    known = figure(name)
    digits = known.digits if value.n == 1 or known.digits else 1
    return f"{value.mean * known.scale:.{digits}f}"


def difference_text(name: str, value: Interval) -> str:
    """The difference of two means with its sign; empty where one of them is not reached."""
    if not math.isfinite(value.mean):
        return ""
    text = mean_text(name, value)
    return text if text.startswith("-") else "+" + text


def half_text(name: str, value: Interval) -> str:
    """Half the width of its interval; empty without repetitions."""
    if value.half is None:
        return ""
    known = figure(name)
    return f"{value.half * known.scale:.{known.digits or 1}f}"


def interval_text(name: str, value: Interval | None, sign: str = "±") -> str:
    """The mean, and half the width of its interval where there are repetitions; empty where there is no figure."""
    return "" if value is None else mean_text(name, value) + _half(name, value, sign)


def change_text(name: str, value: Interval, sign: str = "±") -> str:
    """The same of a difference, whose sign is said."""
    return difference_text(name, value) + _half(name, value, sign)


def _half(name: str, value: Interval, sign: str) -> str:
    half = half_text(name, value)
    return f" {sign} {half}" if half else ""


def percent(fraction: float, digits: int = 1) -> str:
    """A fraction in percent, below a heading that says so."""
    return f"{100 * fraction:.{digits}f}"


def percent_text(fraction: float) -> str:
    """A fraction in a sentence."""
    return f"{percent(fraction)} %"


def several(size: str, name: str, count: int) -> str:
    """A name with how many flows have it, as in ``41 to 52 x web``; one flow is its name alone."""
    return f"{size} x {name}" if count > 1 else name


def lacking_text(name: str, lacking: int, rows: int) -> str:
    """Note that says in how many rows some repetitions lack a figure."""
    where = f"{lacking} of {rows} rows" if rows > 1 else "the row"
    return f"{name}: in {where} some repetitions have none, and the mean is of the others"


def partly_text(lacking: int, n: int) -> str:
    """The same of one row, inside a sentence; empty where all have the figure."""
    return f" in {n - lacking} of {n} repetitions, the others have none" if lacking else ""


def transport(kind: str) -> str:
    """A transport's name as the field writes it; quinn is a name of its own.

    >>> transport("tcp"), transport("quinn")
    ('TCP', 'quinn')
    """
    return kind if kind == "quinn" else kind.upper()


def table_html(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table for a notebook, of texts."""
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
