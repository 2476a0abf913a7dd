"""Computes the colours of pictures and prints them as the table of `python/dumbbell/plots/palette.py`:
`.venv/bin/python tools/palette.py`.

A colour has a contrast of 3:1 or more to white (WCAG 2.2, 1.4.11). Two colours are as far apart as they are for the
reader for whom they are nearest: distance in OKLab (Ottosson 2020) as seen with three cones, and with deuteranopia,
protanopia and tritanopia (Machado, Oliveira and Fernandes 2009, severity 1). Famous controllers and a user's own also
differ in lightness, for print in grey: they are found together, by annealing from a fixed seed, and the others follow,
each the farthest from all before it.
"""

from __future__ import annotations

import math
import random
from typing import NamedTuple

from dumbbell.plots.look import contrast

Rgb = tuple[float, float, float]
Matrix = tuple[Rgb, Rgb, Rgb]

#: Contrast to white, with a little to spare for rounding.
CONTRAST = 3.05
#: What linear RGB becomes for readers without one kind of cone.
VISIONS: dict[str, Matrix] = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}  # fmt: skip

_LMS: Matrix = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
_LAB: Matrix = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)


class Wanted(NamedTuple):
    """A colour to find: whose it is, its hue in degrees, its lightness and its chroma, all of OKLab."""

    whose: str
    hue: tuple[float, float] = (0, 360)
    light: tuple[float, float] = (0.32, 1)
    chroma: tuple[float, float] = (0.06, 0.19)


#: Found together. Hues as readers know them: CUBIC blue and BBR orange, as in most papers since 2017; a user's own
#: controller is a strong red, between light and dark.
FAMOUS = (
    Wanted("cubic", (245, 265), (0.46, 0.54), (0.12, 0.19)),
    Wanted("bbr", (48, 64), (0.62, 1), (0.12, 0.19)),
    Wanted("own", (355, 385), (0.5, 0.62), (0.2, 0.25)),
    Wanted("bbr3", (140, 190), (0.36, 0.5), (0.08, 0.19)),
    Wanted("reno", (170, 225), (0.56, 0.66)),
    Wanted("bbr2", (290, 330), (0.38, 0.5), (0.12, 0.19)),
)
#: Lightness of OKLab by which any two of them differ at least.
LIGHTNESS_APART = 0.05
#: Follow one by one.
OTHERS = 15


def linear(colour: str) -> Rgb:
    """Linear RGB of ``#rrggbb``."""
    red, green, blue = (_linear(int(colour[i : i + 2], 16) / 255) for i in (1, 3, 5))
    return red, green, blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def _times(matrix: Matrix, parts: Rgb) -> Rgb:
    first, second, third = (sum(a * b for a, b in zip(row, parts)) for row in matrix)
    return first, second, third


def oklab(rgb: Rgb) -> Rgb:
    """Lightness, green to red and blue to yellow of linear RGB."""
    long, medium, short = _times(_LMS, rgb)
    return _times(_LAB, (math.cbrt(long), math.cbrt(medium), math.cbrt(short)))


def seen(colour: str) -> dict[str, Rgb]:
    """OKLab of a colour for each kind of reader."""
    rgb = linear(colour)
    of = {}
    for vision, matrix in VISIONS.items():
        red, green, blue = (min(max(part, 0.0), 1.0) for part in _times(matrix, rgb))
        of[vision] = oklab((red, green, blue))
    return of


def distance(one: dict[str, Rgb], other: dict[str, Rgb]) -> float:
    """How far two colours are apart for the reader for whom they are nearest."""
    return min(math.dist(one[vision], other[vision]) for vision in VISIONS)


def hue_and_chroma(colour: str) -> tuple[float, float]:
    """Hue of OKLab in degrees, and how far from grey."""
    _, a, b = oklab(linear(colour))
    return math.degrees(math.atan2(b, a)) % 360, math.hypot(a, b)


def lightness(colour: str) -> float:
    """Lightness of OKLab: what is left in grey."""
    return oklab(linear(colour))[0]


def _is_allowed(colour: str, wanted: Wanted) -> bool:
    if contrast(colour) < CONTRAST or not wanted.light[0] <= lightness(colour) <= wanted.light[1]:
        return False
    at, chroma = hue_and_chroma(colour)
    low, high = wanted.hue
    return wanted.chroma[0] <= chroma <= wanted.chroma[1] and any(low <= at + turn <= high for turn in (0, 360))


def _drawn(draw: random.Random, wanted: Wanted) -> str:
    while True:
        colour = f"#{draw.randrange(1 << 24):06x}"
        if _is_allowed(colour, wanted):
            return colour


def _moved(draw: random.Random, colour: str, by: int, wanted: Wanted) -> str:
    parts = [min(max(int(colour[i : i + 2], 16) + draw.randint(-by, by), 0), 255) for i in (1, 3, 5)]
    moved = "#" + "".join(f"{part:02x}" for part in parts)
    return moved if _is_allowed(moved, wanted) else colour


def _worth(colours: list[str]) -> float:
    """The least distance of any two, less what any two lack in lightness."""
    of = [seen(colour) for colour in colours]
    pairs = [(i, j) for i in range(len(of)) for j in range(i)]
    nearest = min(distance(of[i], of[j]) for i, j in pairs)
    lights = [each["normal"][0] for each in of]
    lacking = sum(max(0.0, LIGHTNESS_APART - abs(lights[i] - lights[j])) for i, j in pairs)
    return nearest - 3 * lacking


def famous(seed: int = 1, steps: int = 12_000, starts: int = 3) -> list[str]:
    """The colours of `FAMOUS`, as far apart as annealing gets them."""
    best: tuple[float, list[str]] = (-math.inf, [])
    for start in range(starts):
        draw = random.Random(seed + start)
        now = [_drawn(draw, wanted) for wanted in FAMOUS]
        worth = _worth(now)
        for step in range(steps):
            left = 1 - step / steps
            i = draw.randrange(len(now))
            moved = _moved(draw, now[i], 1 + round(60 * left), FAMOUS[i])
            tried = [*now[:i], moved, *now[i + 1 :]]
            new = _worth(tried)
            if new >= worth or draw.random() < math.exp((new - worth) / (0.02 * left + 1e-9)):
                now, worth = tried, new
            if worth > best[0]:
                best = (worth, now)
    return best[1]


def followed(first: list[str], count: int) -> list[str]:
    """`count` more colours, each the farthest from all before it."""
    any_hue = Wanted("")
    grid = [f"#{r:02x}{g:02x}{b:02x}" for r in range(0, 256, 17) for g in range(0, 256, 17) for b in range(0, 256, 17)]
    candidates = {each: seen(each) for each in grid if _is_allowed(each, any_hue)}
    nearest = {each: min(distance(of, seen(colour)) for colour in first) for each, of in candidates.items()}
    chosen: list[str] = []
    for _ in range(count):
        farthest = max(nearest, key=lambda each: nearest[each])
        chosen.append(farthest)
        for each, of in candidates.items():
            nearest[each] = min(nearest[each], distance(of, candidates[farthest]))
    return chosen


def main() -> None:
    """Print what was found."""
    first = famous()
    for wanted, colour in zip(FAMOUS, first):
        print(f"{wanted.whose:6} {colour}  contrast {contrast(colour):.1f}  lightness {lightness(colour):.2f}")
    of = [seen(colour) for colour in first]
    print(f"nearest two: {min(distance(of[i], of[j]) for i in range(len(of)) for j in range(i)):.3f}")
    for number, colour in enumerate(followed(first, OTHERS)):
        print(f"{number:6} {colour}  contrast {contrast(colour):.1f}  lightness {lightness(colour):.2f}")


if __name__ == "__main__":
    main()
