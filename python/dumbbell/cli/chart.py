"""A small picture in the terminal: lines of dots, two by four to a character (braille), one colour for each line.

The libraries for it bring compiled parts or far more than this; where the terminal knows no Unicode, letters stand for
the dots.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

#: Bits of a braille character, by row and column of its dots (Unicode 15, table "Braille Patterns").
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BRAILLE = 0x2800
#: Colours of the lines in a terminal, as far apart as its eight allow.
_COLOURS = (34, 31, 32, 35, 36, 33)


class Line(NamedTuple):
    """A line with its name; both lists have the same length."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


class Axis(NamedTuple):
    """What stands at the ends of an axis, and what it is of."""

    title: str
    low: str
    high: str


def chart(
    lines: Sequence[Line], x: Axis, y: Axis, *, top: float, width: int = 60, height: int = 9, colour: bool, plain: bool
) -> str:
    """The picture as text; y goes from 0 to `top`, x between the ends of the lines."""
    first, last = min(min(line.x) for line in lines), max(max(line.x) for line in lines)
    cells: dict[tuple[int, int], tuple[int, int]] = {}
    for number, line in enumerate(lines):
        for column, row in _dots(line, (first, last), top, width, height):
            at = (row // 4, column // 2)
            bits, _ = cells.get(at, (0, 0))
            cells[at] = (bits | _DOTS[row % 4][column % 2], number)
    margin = max(len(y.high), len(y.low))
    text = [f"{y.title}"]
    for row in range(height):
        head = y.high if row == 0 else y.low if row == height - 1 else ""
        drawn = "".join(_cell(cells.get((row, column)), colour=colour, plain=plain) for column in range(width))
        text.append(f"{head:>{margin}} {'|' if plain else '┤' if head else '│'}{drawn}".rstrip())
    ends = f"{x.low}{x.title.center(width - len(x.low) - len(x.high))}{x.high}"
    names = "   ".join(
        f"{_cell((0xFF, number), colour=colour, plain=plain)} {line.name}" for number, line in enumerate(lines)
    )
    return "\n".join([*text, f"{'':>{margin}}  {ends}", f"{'':>{margin}}  {names}", ""])


def _dots(line: Line, ends: tuple[float, float], top: float, width: int, height: int) -> list[tuple[int, int]]:
    """The dots of a line, from one point to the next without a gap."""
    first, last = ends
    columns, rows = 2 * width - 1, 4 * height - 1
    places = [
        (round((x - first) / ((last - first) or 1) * columns), rows - round(min(max(y / top, 0), 1) * rows))
        for x, y in zip(line.x, line.y)
    ]
    dots = places[:1]
    for (x0, y0), (x1, y1) in pairwise(places):
        steps = max(abs(x1 - x0), abs(y1 - y0), 1)
        dots += [(round(x0 + (x1 - x0) * i / steps), round(y0 + (y1 - y0) * i / steps)) for i in range(1, steps + 1)]
    return dots


def _cell(dots: tuple[int, int] | None, *, colour: bool, plain: bool) -> str:
    if dots is None:
        return " "
    bits, number = dots
    drawn = "abcdefghijklmnopqrstuvwxyz"[number % 26] if plain else chr(_BRAILLE + bits)
    return f"\033[{_COLOURS[number % len(_COLOURS)]}m{drawn}\033[0m" if colour else drawn
