"""Colours, line styles and markers of the page: those of `plots/look.py`, lighter on a dark page where they must be."""

from __future__ import annotations

from typing import Any

from dumbbell.plots import look

#: Background of the page in the dark, and the contrast that a graphic needs against it (WCAG 2.2, 1.4.11); strokes as
#: thin as those of drops need that of text (1.4.3).
DARK, CONTRAST, CONTRAST_THIN = "#15181d", 3.0, 4.5

#: Dashes of a canvas for `look.LINES`, multiples of the width of a line.
DASHES: tuple[tuple[float, ...], ...] = ((), (5, 1.5), (1.2, 1.2), (6, 1.5, 1.2, 1.5))

#: What Observable Plot calls a marker of matplotlib; others are circles.
_SYMBOLS = {
    "o": "circle", "s": "square", "^": "triangle", "D": "diamond", "d": "diamond2", "P": "plus", "X": "times",
    "*": "star", "v": "triangle2", "<": "asterisk", ">": "wye", "p": "hexagon", "h": "hexagon",
}  # fmt: skip


def on_dark(colour: str, contrast: float = CONTRAST) -> str:
    """The colour for a dark page: mixed with white until it has enough contrast; a grey has as much as it has to white,
    so that what is ink on paper is light in the dark, and no flow's dark shade.

    >>> on_dark("#da7c03"), on_dark("#333333")
    ('#da7c03', '#dadada')
    """
    parts = _parts(colour)
    wanted = max(contrast, look.contrast(colour)) if len(set(parts)) == 1 else contrast
    for step in range(101):
        mixed = "#" + "".join(f"{round(part + (255 - part) * step / 100):02x}" for part in parts)
        if look.contrast(mixed, DARK) >= wanted:
            return mixed
    return "#ffffff"


def pair(colour: str) -> list[str]:
    """The colour for light and for dark pages."""
    return [colour, on_dark(colour)]


def of_page() -> dict[str, Any]:
    """Return the dash patterns by number, and the colours of queue, drops, marks and references, as in pictures."""
    return {
        "dashes": [list(dash) for dash in DASHES],
        "queue": pair(look.NEUTRAL),
        "drops": [look.VERMILION, on_dark(look.VERMILION, CONTRAST_THIN)],
        "marks": [look.GREEN, on_dark(look.GREEN, CONTRAST_THIN)],
        "reference": pair(look.QUIET),
    }


def symbol(marker: Any) -> str:
    """The page's name of a marker."""
    return _SYMBOLS.get(marker, "circle") if isinstance(marker, str) else "star"


def dash(linestyle: Any) -> int:
    """The number of a line style in `DASHES`."""
    return look.LINES.index(linestyle) if linestyle in look.LINES else 0


def _parts(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
