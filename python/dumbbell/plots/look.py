"""The look of lines: *colour is what differs*. Where lines have several controllers, each controller has its own colour
in every figure; where they have one, the first attribute by which they differ has the colours. What else tells lines
apart has dashes, lightness and hollow markers.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import controllers

from . import palette

if TYPE_CHECKING:
    from collections.abc import Sequence


class Look(NamedTuple):
    """Colour and marker of a controller, and its name as the field writes it."""

    colour: str
    marker: Any
    name: str


#: Names of quinn's own controllers.
OF_QUINN = {"quinn:cubic": "quinn CUBIC", "quinn:bbr": "quinn BBR", "quinn:newreno": "quinn NewReno"}

#: Lines of the run as a whole.
NEUTRAL = "#333333"
#: References: the link's rate, the fair share.
QUIET = "#8a8a8a"

LINES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))

#: For what is no controller: drops, marks, bands of percentiles.
VERMILION, GREEN, GREY = "#b3261e", "#0b7a75", "#777777"


class Trait(NamedTuple):
    """A value of an attribute by which lines may differ; its number, where it has an order; whether it is a
    controller.
    """

    value: Hashable
    number: float | None = None
    is_cca: bool = False


class Dress(NamedTuple):
    """The look of a line among others."""

    colour: str
    marker: Any
    linestyle: Any = "-"
    is_hollow: bool = False
    is_own: bool = False
    """It is the user's own controller among others, and stands out."""

    @property
    def line(self) -> dict[str, Any]:
        """Settings of a line without markers."""
        from matplotlib import rcParams

        strong = {"linewidth": 1.5 * rcParams["lines.linewidth"], "zorder": 2.6} if self.is_own else {}
        return {"color": self.colour, "linestyle": self.linestyle, **strong}

    @property
    def marked(self) -> dict[str, Any]:
        """Settings of a line with markers."""
        face = {"markerfacecolor": "white"} if self.is_hollow else {}
        return {**self.line, "marker": self.marker, **face}


def of(cca: str) -> Look:
    """A controller's look; one that is not built in gets one that its name decides.

    >>> of("bbr").name, of("mine") == of("mine"), of("mine").colour in palette.OWN
    ('BBR', True, True)
    """
    if not is_own(cca):
        return Look(*palette.CONTROLLERS[cca], OF_QUINN.get(cca) or controllers.facts_of(cca).name)
    from zlib import crc32

    drawn = crc32(cca.encode())
    markers = palette.OWN_MARKERS
    return Look(palette.OWN[drawn // 64 % len(palette.OWN)], markers[drawn // 64 % len(markers)], cca)


def is_own(cca: str) -> bool:
    """True of a controller that neither dumbbell nor quinn has."""
    return cca not in palette.CONTROLLERS


def name(cca: str) -> str:
    """The controller's name as papers write it."""
    return of(cca).name


def dress(lines: Sequence[Sequence[Trait]]) -> list[Dress]:
    """The look of each line of a figure, by its traits, which are the same attributes in the same order for all lines:
    its controller first, empty for the run as a whole. Lines of equal traits look alike.

    >>> a, b = dress([[Trait("cubic", is_cca=True), Trait(1, 1.0)], [Trait("cubic", is_cca=True), Trait(2, 2.0)]])
    >>> a.colour != b.colour, a.linestyle == b.linestyle
    (True, True)
    """
    columns = list(zip(*lines))
    differing = [i for i, column in enumerate(columns) if len(set(column)) > 1]
    hue = differing[0] if differing else 0
    heads = _heads(list(dict.fromkeys(columns[hue])), str(columns[0][0].value)) if columns else {}
    others = [i for i in differing[1:] if not _follows(columns[i], columns[hue])]
    rests: dict[Trait, dict[tuple[Trait, ...], None]] = {}
    for line in lines:
        rests.setdefault(line[hue], {})[tuple(line[i] for i in others)] = None
    every = dict.fromkeys(rest for some in rests.values() for rest in some)
    is_shared = len(every) < sum(map(len, rests.values()))
    dressed = []
    for line in lines:
        known = list(every if is_shared else rests[line[hue]])
        dressed.append(_varied(heads[line[hue]], known.index(tuple(line[i] for i in others)), len(known)))
    return dressed


def _follows(column: Sequence[Trait], head: Sequence[Trait]) -> bool:
    """True if a trait is the same for all lines of one head, so that it needs no look."""
    return len(set(zip(head, column))) == len(set(head))


def _heads(values: Sequence[Trait], cca: str) -> dict[Trait, Dress]:
    """The look of each value of the attribute that has the colours; `cca` is the controller of all lines if one is."""
    if len(values) == 1 and not values[0].is_cca:
        values = [*values]
        own = of(cca) if cca else Look(NEUTRAL, "o", "")
        return {values[0]: Dress(own.colour, own.marker)}
    if all(value.is_cca for value in values):
        return _controllers(values)
    if len(values) > 2 and all(value.number is not None for value in values):
        order = sorted(values, key=lambda value: value.number or 0.0)
        return {
            value: Dress(ramp(i, len(order)), palette.OWN_MARKERS[i % len(palette.OWN_MARKERS)])
            for i, value in enumerate(order)
        }
    count = len(palette.CATEGORIES)
    return {
        value: Dress(
            palette.CATEGORIES[i % count],
            palette.OWN_MARKERS[i % len(palette.OWN_MARKERS)],
            LINES[i // count % len(LINES)],
        )
        for i, value in enumerate(values)
    }


def _controllers(values: Sequence[Trait]) -> dict[Trait, Dress]:
    """The controllers' own looks; two of the user's own have two colours."""
    taken: set[str] = set()
    looks = {}
    names = [str(value.value) for value in values]
    stands_out = any(each and not is_own(each) for each in names)
    for value, each in zip(values, names):
        own = of(each) if each else Look(NEUTRAL, "o", "")
        colour = own.colour
        if each and is_own(each) and colour in taken:
            colour = next((free for free in palette.OWN if free not in taken), colour)
        taken.add(colour)
        looks[value] = Dress(colour, own.marker, is_own=bool(each) and is_own(each) and stands_out)
    return looks


def _varied(head: Dress, nth: int, count: int) -> Dress:
    """The nth of `count` lines with this head."""
    if not nth:
        return head if count < 3 else head._replace(colour=shade(head.colour, 0, count))
    return head._replace(
        colour=shade(head.colour, nth, count), linestyle=LINES[nth % len(LINES)], is_hollow=nth % 2 == 1
    )


def ramp(nth: int, count: int) -> str:
    """The nth of this many colours from dark to light."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    low, high = palette.RAMP_ENDS
    return to_hex(colormaps[palette.RAMP](low + (high - low) * (nth / (count - 1) if count > 1 else 0.0)))


#: Of luminance: the darkest shade, and the lightest that has the contrast to white that all lines have.
_DARKEST, _LIGHTEST = 0.055, 1.05 / (palette.CONTRAST + 0.03) - 0.05
#: By how much the second of two differs in lightness.
_STEP = 0.2


def shade(colour: str, nth: int, count: int) -> str:
    """The colour for the nth of `count` lines that share it: of two the colour itself and one that is lighter or
    darker, of more from dark to light; each with enough contrast to white.
    """
    if count == 1 or (count == 2 and nth == 0):
        return colour
    now = luminance(colour) ** (1 / 3)
    dark, light = _DARKEST ** (1 / 3), _LIGHTEST ** (1 / 3)
    if count == 2:
        return _lit(colour, (min(now + _STEP, light) if light - now > now - dark else max(now - _STEP, dark)) ** 3)
    return _lit(colour, (dark + (light - dark) * nth / (count - 1)) ** 3)


def _lit(colour: str, wanted: float) -> str:
    """The colour mixed with black or white until it has this luminance."""
    now = luminance(colour)
    if wanted <= now:
        mixed = [part * wanted / now for part in _linear(colour)] if now else [0.0] * 3
    else:
        part_white = (wanted - now) / (1 - now)
        mixed = [part + (1 - part) * part_white for part in _linear(colour)]
    return "#" + "".join(f"{round(255 * _encoded(part)):02x}" for part in mixed)


def luminance(colour: str) -> float:
    """Relative luminance of ``#rrggbb``, 0 to 1 (WCAG 2.2)."""
    red, green, blue = _linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(colour: str, other: str = "#ffffff") -> float:
    """Contrast of two colours, 1 to 21 (WCAG 2.2)."""
    dark, light = sorted((luminance(colour), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _linear(colour: str) -> list[float]:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def _encoded(part: float) -> float:
    return 12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055
