"""Colour, marker and name of each controller: the same in every figure, no two alike, readable in print and for
colour-blind readers. Those of the built-in ones stand in the head of their C file.

Colours there: Okabe and Ito, "Color Universal Design" (2008), without yellow, then Paul Tol's "muted"
(SRON/EPS/TN/09-002, 2021).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dumbbell import controllers


class Look(NamedTuple):
    """Colour and marker of a controller, and its name as the field writes it."""

    colour: str
    marker: Any
    name: str


#: Of quinn's own controllers: the marker of the built-in one, in a colour of their own.
OF_QUINN = {
    "quinn:cubic": Look("#88CCEE", "o", "quinn's CUBIC"),
    "quinn:bbr": Look("#CC6677", "s", "quinn's BBR"),
    "quinn:newreno": Look("#DDCC77", "^", "quinn's NewReno"),
}

#: For controllers that are not built in: none of these colours is above.
_OTHER_COLOURS = ("#6699CC", "#997700", "#994455", "#004488", "#777777", "#EE8866", "#5B2A86")
_OTHER_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "d", "p")

#: Lines of the run as a whole.
NEUTRAL = "#333333"

LINES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))

#: Okabe and Ito's blue, vermilion and green, for what is no controller: a queue, its drops, its marks.
BLUE, VERMILION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#777777"


def of(cca: str) -> Look:
    """A controller's look; one that is not built in gets one that its name decides.

    >>> built_in = {facts.colour for facts in controllers.facts().values()}
    >>> of("bbr").name, of("mine") == of("mine"), of("mine").colour in built_in
    ('BBR', True, False)
    """
    if facts := controllers.facts().get(cca):
        return Look(facts.colour, _marker(facts.marker), facts.name)
    if cca in OF_QUINN:
        return OF_QUINN[cca]
    from zlib import crc32

    drawn = crc32(cca.encode())
    return Look(_OTHER_COLOURS[drawn % len(_OTHER_COLOURS)], _OTHER_MARKERS[drawn // 64 % len(_OTHER_MARKERS)], cca)


def _marker(text: str) -> Any:
    """Matplotlib's marker: a letter, or sides, style and angle of a polygon."""
    return tuple(map(int, text.split(","))) if "," in text else text


def name(cca: str) -> str:
    """The controller's name as papers write it."""
    return of(cca).name


def shade(colour: str, nth: int, count: int) -> str:
    """The colour for the nth of `count` lines that share it: darker for the first ones, lighter for the last ones."""
    from matplotlib.colors import to_hex, to_rgb

    if count == 1:
        return colour
    part = nth / (count - 1)  # from 0.7 of the colour on black to 0.6 of it on white
    strength, white = (0.7 + 0.6 * part, 0.0) if part <= 0.5 else (1.4 - 0.8 * part, 0.8 * part - 0.4)
    red, green, blue = to_rgb(colour)
    return to_hex((red * strength + white, green * strength + white, blue * strength + white))
