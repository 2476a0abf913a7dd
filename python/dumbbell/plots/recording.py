"""Recordings over time: rate, delay and loss, one above the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from . import look, style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

#: Titles of the upright axes, by quantity, in the order of the rows.
_TITLES = {"rate": "Rate (Mbit/s)", "rtt": "RTT (ms)", "delay": "One-way delay (ms)", "loss": "Loss (%)"}
Drawn = tuple[str, str, "Sequence[float]", "Sequence[float]", float]
"""Name, quantity, times in s, values in the unit of the axis, and the end in s."""


@style.styled
def recording(drawn: Sequence[Drawn], text: str, **page: Unpack[style.Page]) -> Figure:
    """A figure with a row for each quantity, and this caption; values are steps."""
    kinds = [kind for kind in _TITLES if any(quantity[1] == kind for quantity in drawn)]
    sheet = style.Sheet(None, page, rows=len(kinds), height=1.7, sharex=True)
    for ax, kind in zip(sheet.axes, kinds, strict=True):
        of = [quantity for quantity in drawn if quantity[1] == kind]
        dresses = look.dress([[look.Trait(""), look.Trait(number)] for number in range(len(of))])
        for own, (name, _, times, values, end) in zip(dresses, of):
            settings = {**own.line, "linewidth": 0.9}
            line = ax.step([*times, end], [*values, values[-1]], where="post", **settings)[0]
            if len(of) > 1:
                sheet.entry(line, name)
        ax.set_ylabel(_TITLES[kind])
        ax.set_ylim(0, None if any(value for quantity in of for value in quantity[3]) else 1)
        ax.margins(x=0)
    sheet.axes[-1].set_xlabel("Time (s)")
    sheet.finish(text)
    return sheet.figure
