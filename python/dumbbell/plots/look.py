"""Colour, marker and name of each controller: the same in every figure, no two alike, readable in print and for
colour-blind readers.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Look(NamedTuple):
    """What tells a controller from others: its colour, its marker, and its name as the field writes it."""

    colour: str
    marker: Any
    name: str


#: Of the built-in controllers. Colours: Okabe and Ito, "Color Universal Design" (2008), without yellow, then Paul Tol's
#: "muted" (SRON/EPS/TN/09-002, 2021).
LOOKS = {
    "cubic": Look("#0072B2", "o", "CUBIC"),
    "bbr": Look("#D55E00", "s", "BBR"),
    "reno": Look("#009E73", "^", "Reno"),
    "bbr2": Look("#CC79A7", "D", "BBRv2"),
    "bbr2plus": Look("#E69F00", "v", "BBRv2+"),
    "bbr3": Look("#56B4E9", "P", "BBRv3"),
    "bbrplus": Look("#8C6D31", "X", "BBRPlus"),
    "dctcp": Look("#000000", "*", "DCTCP"),
    "prague": Look("#CC3311", (5, 0, 0), "Prague"),
    "htcp": Look("#332288", "h", "H-TCP"),
    "vegas": Look("#999933", "<", "Vegas"),
    "bbr-drain": Look("#882255", ">", "BBR-drain"),
    "bbr-hsr": Look("#44AA99", "d", "BBR-HSR"),
    "tsunami": Look("#117733", "p", "Tsunami"),
    "tsunami-zhang": Look("#AA4499", (4, 1, 45), "Tsunami (Zhang)"),
}

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

    >>> of("bbr").name, of("mine") == of("mine"), of("mine").colour in {look.colour for look in LOOKS.values()}
    ('BBR', True, False)
    """
    if cca in LOOKS:
        return LOOKS[cca]
    if cca in OF_QUINN:
        return OF_QUINN[cca]
    from zlib import crc32

    drawn = crc32(cca.encode())
    return Look(_OTHER_COLOURS[drawn % len(_OTHER_COLOURS)], _OTHER_MARKERS[drawn // 64 % len(_OTHER_MARKERS)], cca)


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
