"""Ticks of varied keys: categories in lines of text or turned, numbers where they have room, the two axes of a heat
map.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from . import lettering, style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from .keys import VariedKey

#: Values that get a tick each.
_TICKS_MOST = 12
#: Letters of a line of a category's tick, and its lines.
_LETTERS_MOST, _LINES_MOST = 28, 3


def width_points(sheet: style.Sheet, ax: Axes) -> float:
    """Width of axes before the layout, points."""
    return float(ax.get_position().width * sheet.figure.get_figwidth() * 72)


def of_categories(sheet: style.Sheet, ax: Axes, x: VariedKey) -> None:
    """A tick per category, its text in lines, or turned where that is too wide."""
    room, size = width_points(sheet, ax) / len(x.values) - 4, lettering.tick_points()
    labels = ["\n".join(lettering.wrapped(lettering.plain(x.text(value)), room, size)) for value in x.values]
    turned = any(lettering.text_points(line, size) > room for label in labels for line in label.split("\n"))
    if turned:
        labels = _told_apart([x.text(value) for value in x.values])
        sheet.below += 0.5 * max(lettering.text_points(line, size) for label in labels for line in label.split("\n"))
    elif any("\n" in label for label in labels):
        sheet.below += 1.2 * size * max(label.count("\n") for label in labels)
    ax.set_xticks(range(len(x.values)), labels)
    if turned:
        _turn(ax)


def _turn(ax: Axes) -> None:
    """Turn the labels of the x axis."""
    for label in ax.get_xticklabels():
        label.set(rotation=30, ha="right", rotation_mode="anchor")


def of_numbers(ax: Axes, x: VariedKey) -> None:
    """A logarithmic axis where numbers span a decade; ticks at the values where they have room."""
    from math import log10

    from matplotlib.ticker import NullFormatter, NullLocator

    positive = [number for number in x.numbers if number > 0]
    if x.is_logarithmic:
        if min(x.numbers) > 0:
            ax.set_xscale("log")
        else:  # zero has its place, left of the smallest number
            ax.set_xscale("symlog", linthresh=min(positive), linscale=0.5)
            ax.set_xlim(-0.3 * min(positive), 1.25 * max(positive))
    ordered = sorted(x.numbers)
    places = (
        [log10(number) if number > 0 else log10(min(positive)) - 0.5 for number in ordered]
        if x.is_logarithmic
        else ordered
    )
    texts = [f"{number:g}" for number in ordered]
    is_short = len(ordered) <= _TICKS_MOST and all(map(_is_round, ordered))
    every = next((n for n in (1, 2, 3) if _fit(ax, places, texts, n)), 0) if is_short else 0
    if every == 1 or (every and x.is_logarithmic):
        ax.set_xticks(ordered[::every], texts[::every])
        ax.set_xticks(ordered, minor=True)
        ax.xaxis.set_minor_formatter(NullFormatter())
        if every == 1:
            ax.xaxis.set_minor_locator(NullLocator())
    elif x.is_logarithmic and min(x.numbers) > 0:
        style.plain_log(ax.xaxis, *ax.get_xlim())
    if not x.is_logarithmic:
        _no_collisions(ax)


def _fit(ax: Axes, places: Sequence[float], texts: Sequence[str], every: int) -> bool:
    """True if each text, or each second or third one, has room at its place."""
    return style.fits(ax.xaxis, places[::every], texts[::every], span=1.1 * (places[-1] - places[0]))


def _no_collisions(ax: Axes) -> None:
    """Fewer ticks on a linear axis that matplotlib would fill."""
    from matplotlib.ticker import MaxNLocator

    locator = ax.xaxis.get_major_locator()
    if isinstance(locator, MaxNLocator):
        ax.xaxis.set_major_locator(MaxNLocator(max(2, int(style.length_points(ax.xaxis) / 40)), steps=[1, 2, 5, 10]))


def _is_round(number: float) -> bool:
    """True if a number is short, or a power of two that readers know."""
    return len(f"{number:g}".replace(".", "").strip("0")) <= 2 or (
        1 / 64 <= number <= 65536 and float(number).as_integer_ratio() in _POWERS
    )


#: Powers of two, as ratios.
_POWERS = frozenset({(2**k, 1) for k in range(17)} | {(1, 2**k) for k in range(7)})


def spaced(sheet: style.Sheet, ax: Axes, numbers: Sequence[float]) -> list[str]:
    """Labels of ticks at these numbers, which ascend, on a linear axis: none where it would run into the one before."""
    span = (numbers[-1] - numbers[0]) or 1.0
    room, size = 0.9 * width_points(sheet, ax) / span, lettering.tick_points()
    labels: list[str] = []
    free_from = float("-inf")
    for number in numbers:
        label = f"{number:g}"
        half = lettering.text_points(label, size) / 2
        has_room = number * room - half > free_from
        labels.append(label if has_room else "")
        if has_room:
            free_from = number * room + half + 3
    return labels


def ordered(key: VariedKey) -> list[Any]:
    """Values in the order of their numbers; categories as they came."""
    return sorted(key.values, key=key.position) if key.numbers else list(key.values)


def of_heat(sheet: style.Sheet, ax: Axes, x: VariedKey, y: VariedKey) -> None:
    """Ticks of both axes of a heat map, in lines of text; those along x turned where they are too wide."""
    across, up = ordered(x), ordered(y)
    labels = _told_apart([x.text(value) for value in across])
    ax.set_xticks(range(len(across)), labels)
    lines = [line for label in labels for line in label.split("\n")]
    size = lettering.tick_points()
    if max(lettering.text_points(line, size) for line in lines) > width_points(sheet, ax) / len(across) - 3:
        _turn(ax)
    ax.set_yticks(range(len(up)), _told_apart([y.text(value) for value in up]))


def _told_apart(texts: Sequence[str]) -> list[str]:
    """Texts in a few short lines: of long ones without the words that all of them begin or end with, cut where even
    that is too long.
    """
    if all(len(text) <= _LETTERS_MOST for text in texts):
        return [lettering.plain(text) for text in texts]
    words = [text.split() for text in texts]
    begin, end = _shared(words), _shared([word_list[::-1] for word_list in words])
    kept = [word_list[begin : len(word_list) - end] for word_list in words]
    if not all(kept):  # one is the beginning of another
        begin, end, kept = 0, 0, words
    labels = []
    for some in kept:
        text = " ".join([*(["…"] if begin else []), *some, *(["…"] if end else [])])
        lines = textwrap.wrap(text, _LETTERS_MOST)
        if len(lines) > _LINES_MOST:
            lines = [*lines[: _LINES_MOST - 1], lines[_LINES_MOST - 1][: _LETTERS_MOST - 1] + "…"]
        labels.append(lettering.plain("\n".join(lines)))
    return labels


def _shared(words: Sequence[Sequence[str]]) -> int:
    """With how many equal words all of them begin."""
    return next((i for i, column in enumerate(zip(*words)) if len(set(column)) > 1), min(map(len, words)))
