"""Colours, line styles and markers of the page: those of `plots/look.py`, lighter on a dark page where they must be."""

from __future__ import annotations

from typing import Any

from dumbbell.plots import look

#: Background of the page in the dark, and the contrast that a graphic needs against it (WCAG 2.2, 1.4.11).
DARK, CONTRAST = "#15181d", 3.0

#: Dashes of a canvas for `look.LINES`, multiples of the width of a line.
DASHES: tuple[tuple[float, ...], ...] = ((), (5, 1.5), (1.2, 1.2), (6, 1.5, 1.2, 1.5))

#: What Observable Plot calls a marker of matplotlib; others are circles.
_SYMBOLS = {
    "o": "circle", "s": "square", "^": "triangle", "D": "diamond", "d": "diamond2", "P": "plus", "X": "times",
    "*": "star", "v": "triangle2", "<": "asterisk", ">": "wye", "p": "hexagon", "h": "hexagon",
}  # fmt: skip


def on_dark(colour: str) -> str:
    """The colour for a dark page: mixed with white until it has enough contrast.

    >>> on_dark("#E69F00"), on_dark("#000000") > "#555555"
    ('#E69F00', True)
    """
    for step in range(21):
        mixed = [round(part + (255 - part) * step / 20) for part in _parts(colour)]
        if (_luminance(mixed) + 0.05) / (_luminance(_parts(DARK)) + 0.05) >= CONTRAST:
            return colour if not step else "#" + "".join(f"{part:02x}" for part in mixed)
    return "#ffffff"


def pair(colour: str) -> list[str]:
    """The colour for light and for dark pages."""
    return [colour, on_dark(colour)]


def symbol(marker: Any) -> str:
    """The page's name of a marker."""
    return _SYMBOLS.get(marker, "circle") if isinstance(marker, str) else "star"


def dash(linestyle: Any) -> int:
    """The number of a line style in `DASHES`."""
    return look.LINES.index(linestyle) if linestyle in look.LINES else 0


def _parts(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def _luminance(parts: list[int]) -> float:
    linear = [(c / 255) / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
