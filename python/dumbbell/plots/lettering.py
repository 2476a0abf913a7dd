"""Text of pictures: how wide it is, where its lines end, and how LaTeX takes it."""

from __future__ import annotations

import re
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

#: How much wider than its outlines text is drawn at most, at the resolution of screens.
_HINTING = 1.08

#: A space at which no line ends.
GLUE = "\N{NO-BREAK SPACE}"

#: Part of a line that the last one fills at least.
_ORPHAN = 0.25

#: What LaTeX takes for more than a letter, and letters that its usual fonts do not have.
_SPECIAL = re.compile(r"(?<!\\)[%&#_]")
_TEX = {"●": r"\(\bullet\)", "◆": r"\(\diamond\)", "▼": r"\(\triangledown\)", "±": r"\(\pm\)", "…": r"\dots{}",
        "~": r"\textasciitilde{}", "→": r"\(\to\)", "×": r"\(\times\)"}  # fmt: skip


def points(of: float) -> float:
    """A size of text in points, as it is where text has the usual 9 points."""
    import matplotlib as mpl

    return of / 9 * float(mpl.rcParams["font.size"])


def legend_points() -> float:
    """Size of a legend's text, points."""
    return _resolved("legend.fontsize")


def tick_points() -> float:
    """Size of the text of ticks, points."""
    return _resolved("xtick.labelsize")


def label_points() -> float:
    """Size of the titles of axes, points."""
    return _resolved("axes.labelsize")


def _resolved(key: str) -> float:
    import matplotlib as mpl
    from matplotlib.font_manager import FontProperties

    now: Any = mpl.rcParams
    return float(FontProperties(size=now[key]).get_size_in_points())


@contextmanager
def without_warnings() -> Iterator[None]:
    """Measure text without a word on letters that no font has: `save` tells of them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        yield


def text_points(text: str, size: float) -> float:
    """Width of a line of text at a font size, points; a little more, because screens draw letters on whole dots."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    if not text:
        return 0.0
    with without_warnings():
        wide = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)[0]
    return float(wide) * _HINTING


def wrapped(text: str, room: float, size: float) -> list[str]:
    """The text in as few lines as there can be that are at most this many points wide, broken between words; all about
    as long where the last had only a word or two.
    """
    lines = _broken(text, room, size)
    if len(lines) < 2 or text_points(lines[-1], size) > _ORPHAN * room:
        return lines
    low, high = max(text_points(text, size) / len(lines), 1.0), room
    while high - low > 3:
        middle = (low + high) / 2
        low, high = (low, middle) if len(_broken(text, middle, size)) <= len(lines) else (middle, high)
    return _broken(text, high, size)


def _broken(text: str, room: float, size: float) -> list[str]:
    lines: list[str] = []
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_points(longer, size) <= room:
            lines[-1] = longer
        elif word:
            lines.append(word)
    return lines


def glued(text: str) -> str:
    """The text with its unit kept by the word before it, as in ``Goodput (Mbit/s)``."""
    return re.sub(r" (\([^ ()]*\))$", rf"{GLUE}\1", text)


def plain(text: str) -> str:
    """Text that is drawn as it is: no formula between dollar signs."""
    return for_tex(re.sub(r"(?<!\\)\$", r"\$", text))


def for_tex(text: str) -> str:
    """The text as LaTeX takes it, where it draws; what is escaped already stays so."""
    import matplotlib as mpl

    if not mpl.rcParams["text.usetex"] or r"\(" in text:
        return text
    text = "".join(_TEX.get(char, char) for char in text)
    return _SPECIAL.sub(lambda match: "\\" + match[0], text)


def escape(drawn: Figure) -> None:
    """Make all texts of a figure such that LaTeX takes them, where it draws."""
    import matplotlib as mpl
    from matplotlib.text import Text

    if mpl.rcParams["text.usetex"]:
        for text in drawn.findobj(Text):
            text.set_text(for_tex(text.get_text()))
