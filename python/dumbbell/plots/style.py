"""The page that a figure is drawn on: fonts, sizes, legend and caption, and the file that it becomes."""

from __future__ import annotations

import re
import warnings
from functools import cache, wraps
from math import log10
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypedDict, TypeVar

from dumbbell.errors import ResultError, wrong
from dumbbell.files import written_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dumbbell.results.load import Result, Results

#: Width of a figure in inches unless another is asked for: text width of a two-column paper.
WIDTH = 7.0
#: What may be asked for, inches.
SIZES = (2.0, 60.0)

#: Smallest side of axes that can be read, inches.
_AXES_LEAST = 0.5

_CAPTION_POINTS, _LEGEND_POINTS = 7.0, 8.0
#: Of a legend entry next to its text, points: sample, gap, distance to the next column.
_ENTRY_POINTS = 45.0
#: Room for ticks and axis title below the axes, points.
_BELOW_POINTS = 36.0

RC: Any = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.grid": True,
    "grid.color": "#d9d9d9",
    "grid.linewidth": 0.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "lines.linewidth": 1.4,
    "legend.frameon": False,
    "legend.fontsize": _LEGEND_POINTS,
    "legend.title_fontsize": _CAPTION_POINTS,
    "legend.handlelength": 2.6,
    "figure.dpi": 110,
    "savefig.dpi": 200,
    "svg.hashsalt": "dumbbell",
    "pdf.fonttype": 42,
    "axes.formatter.useoffset": False,
}

#: Fonts for letters that DejaVu Sans, which comes with matplotlib, does not have: the first that is installed.
_FURTHER_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei",
    "Droid Sans Fallback", "PingFang SC", "Hiragino Sans", "Microsoft YaHei", "Malgun Gothic", "Arial Unicode MS",
)  # fmt: skip


@cache
def _families() -> list[str]:
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    return ["DejaVu Sans", *[name for name in _FURTHER_FONTS if name in installed][:1]]


P = ParamSpec("P")
R = TypeVar("R")


class Page(TypedDict, total=False):
    """Settings that every figure takes besides its own: a title, and its size in inches where it makes a figure of its
    own.
    """

    title: str | None
    width: float | None
    height: float | None


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Give a drawing function this style, whatever the caller's own settings are."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> R:
        import matplotlib as mpl

        with mpl.rc_context({**RC, "font.family": _families()}):
            return draw(*args, **kwargs)

    return drawn


class Sheet:
    """Axes to draw into, with one legend and one caption below them: those that the caller gave, or a new figure's.

    A new figure grows by the height of its legend and caption, so that its axes keep theirs; unless its height was
    asked for.
    """

    def __init__(
        self,
        given: Axes | Sequence[Axes] | None,
        page: Page,
        *,
        rows: int = 1,
        columns: int = 1,
        height: float = 2.6,
        **options: Any,
    ) -> None:
        import numpy as np

        self.page = page
        self.own = given is None
        self.entries: list[tuple[Any, str]] = []
        self.explained: list[str] = []
        self.below = _BELOW_POINTS
        """How far below axes that were given the legend begins, points."""
        if given is None:
            self.figure, axes = figure(rows, columns, height=height, page=page, **options)
            self.axes: list[Axes] = list(np.atleast_1d(axes).flat)
        else:
            self.axes = list(given) if isinstance(given, (list, tuple)) else [given]  # type: ignore[list-item]
            self.figure = self.axes[0].get_figure(root=True)  # type: ignore[assignment]

    @property
    def ax(self) -> Axes:
        """The first axes."""
        return self.axes[0]

    def entry(self, handle: Any, label: str) -> None:
        """Something that the legend names; the same label is named once."""
        if label not in [known for _, known in self.entries]:
            self.entries.append((handle, label))

    def explain(self, mark: str) -> None:
        """Explain a mark in the caption, each once."""
        if mark not in self.explained:
            self.explained.append(mark)

    def finish(self, caption: str) -> None:
        """Write title, legend and caption."""
        from . import zeros

        marked = [zeros.marked(ax) for ax in self.axes]
        if any(marked):
            caption += f"; {zeros.SAID}"
        width = self.figure.get_figwidth() * 72 - 16
        if not self.own:
            width *= self.ax.get_position().width
        handles = [handle for handle, _ in self.entries]
        labels = ["\n".join(wrapped(plain(label), width - _ENTRY_POINTS, _LEGEND_POINTS)) for _, label in self.entries]
        widest = max((text_points(line, _LEGEND_POINTS) for label in labels for line in label.split("\n")), default=0.0)
        columns = max(1, min(len(labels), int(width / (widest + _ENTRY_POINTS))))
        lines = wrapped(plain(caption), width, _CAPTION_POINTS)
        look: dict[str, Any] = {"ncols": columns, "title": "\n".join(lines), "alignment": "left", "borderaxespad": 0.3}
        if self.own:
            legend = self.figure.legend(handles, labels, loc="outside lower left", **look)
            rows = -(-len(labels) // columns) * max((label.count("\n") + 1 for label in labels), default=0)
            if not self.page.get("height"):
                self.figure.set_figheight(
                    self.figure.get_figheight()
                    + (rows * _LEGEND_POINTS * 1.6 + len(lines) * _CAPTION_POINTS * 1.3 + 8) / 72
                )
        else:
            from matplotlib.transforms import ScaledTranslation

            below = self.ax.transAxes + ScaledTranslation(0, -self.below / 72, self.figure.dpi_scale_trans)
            legend = self.ax.legend(
                handles, labels, loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=below, **look
            )
        legend.get_title().set_color("#555555")
        legend.set_in_layout(True)
        self._title()

    def _title(self) -> None:
        title = self.page.get("title")
        if title and self.own:
            self.figure.suptitle(plain(title), x=0.01, ha="left", fontsize=10)
        elif title:
            self.ax.set_title(plain(title), loc="left")


#: How much wider than its outlines text is drawn at most, at the resolution of screens.
_HINTING = 1.08


def text_points(text: str, size: float) -> float:
    """Width of a line of text at a font size, points; a little more, because screens draw letters on whole dots."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    if not text:
        return 0.0
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # `save` tells of letters that no font has
        wide = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)[0]
    return float(wide) * _HINTING


def wrapped(text: str, points: float, size: float) -> list[str]:
    """The text in lines that are at most this many points wide, broken between words."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_points(longer, size) <= points:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def plain(text: str) -> str:
    """Text that is drawn as it is: no formula between dollar signs."""
    return text.replace("$", r"\$")


def checked_size(page: Page) -> tuple[float, float | None]:
    """Width and height that a page asks for, inches; raises ScenarioError."""
    for name in ("width", "height"):
        asked = page.get(name)
        if asked is not None and not SIZES[0] <= float(asked) <= SIZES[1]:  # type: ignore[arg-type]
            raise wrong(f"--{name}", asked, f"inches, from {SIZES[0]:g} to {SIZES[1]:g}")
    return float(page.get("width") or WIDTH), page.get("height")


def figure(
    rows: int = 1, columns: int = 1, *, height: float = 2.6, page: Page | None = None, **options: Any
) -> tuple[Figure, Any]:
    """A new figure with its axes, each `height` inches high; made without pyplot, so nothing is left open and no
    display is needed.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    wide, high = checked_size(page or {})
    drawn = Figure(figsize=(wide, high or height * rows), layout="constrained")
    FigureCanvasAgg(drawn)
    return drawn, drawn.subplots(rows, columns, **options)


@styled
def save(drawn: Figure, path: str | Path) -> str:
    """Write the figure, whole or not at all; the file holds no date, so the same results make the same file. A name
    without a suffix gets ``.png``. Returns the letters that no font here has, which are drawn as boxes. Raises
    ResultError where it cannot be written or does not fit.
    """
    path = Path(path)
    path = path if path.suffix else path.with_suffix(".png")
    suffix = path.suffix[1:]
    metadata: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(suffix, {})
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warnings.filterwarnings("error", message="constrained_layout not applied")
        try:
            _check_room(drawn)
            with written_whole(path) as beside:
                drawn.savefig(beside, metadata=metadata)
        except OSError as error:
            raise ResultError(f"{path}: cannot be written ({error.strerror or error})") from None
    missing = [re.match(r"Glyph (\d+) ", str(warning.message)) for warning in said]
    for warning, match in zip(said, missing):
        if match is None:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return "".join(dict.fromkeys(chr(int(match[1])) for match in missing if match))


def _check_room(drawn: Figure) -> None:
    """Raise ResultError where legend and titles leave too little of the axes."""
    wide, high = drawn.get_size_inches()
    engine = drawn.get_layout_engine()
    fits = True
    try:
        if engine is not None:
            engine.execute(drawn)
    except UserWarning:
        fits = False
    boxes = [ax.get_position() for ax in drawn.axes if ax.get_label() != "<colorbar>"]
    if not fits or any(box.width * wide < _AXES_LEAST or box.height * high < _AXES_LEAST for box in boxes):
        raise ResultError(
            f"the figure does not fit into {wide:.3g} x {high:.3g} inches: give more with --width and --height"
        )


def one(results: Results | Result) -> Result:
    """The only run of the results."""
    from dumbbell.results.load import Result

    if isinstance(results, Result):
        return results
    if len(results) != 1:
        names = ", ".join(run.folder.name for run in results[:4])
        raise ResultError(
            f"{len(results)} runs, and this plot shows one: choose it with --run NAME"
            f" ({names}{', ...' if len(results) > 4 else ''})"
        )
    return results[0]


def value_title(sheet: Sheet, ax: Axes, text: str) -> None:
    """The title of an upright axis, in as many lines as its height asks for."""
    ax.set_ylabel(_filled(text, sheet.figure.get_figheight() * ax.get_position().height, 9))


def level_title(sheet: Sheet, ax: Axes, text: str) -> None:
    """The title of a level axis, in as many lines as its width asks for."""
    ax.set_xlabel(_filled(text, sheet.figure.get_figwidth() * ax.get_position().width, 9))


def panel_title(sheet: Sheet, ax: Axes, text: str) -> None:
    """The title of a panel, in as many lines as its width asks for."""
    ax.set_title(_filled(text, sheet.figure.get_figwidth() * ax.get_position().width, 8), loc="left", fontsize=8)


def _filled(text: str, inches: float, size: float) -> str:
    """The text in lines of this length."""
    return "\n".join(wrapped(plain(text), max(72 * inches, 60.0), size))


#: What a tick's text needs along its axis, points.
_TICK_POINTS = {"x": 26.0, "y": 12.0}


def _length_points(axis: Any) -> float:
    """Length of an axis before the layout, points."""
    box, (wide, high) = axis.axes.get_position(), axis.axes.get_figure(root=True).get_size_inches()
    return float(72 * (box.width * wide if axis.axis_name == "x" else box.height * high))


def plain_log(axis: Any, low: float, high: float, text: Callable[[float], str] = "{:g}".format) -> None:
    """Plain numbers, or what `text` makes of them, on a logarithmic axis: at 1, 2 and 5 of each decade where it spans
    few and is long enough, else at powers of ten.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

    if low > 0 and high / low <= 4:
        axis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
        axis.set_minor_locator(NullLocator())
    else:
        few = (
            low > 0
            and high / low <= 1000
            and 3 * log10(high / low) * _TICK_POINTS[axis.axis_name] <= _length_points(axis)
        )
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,), numticks=20))
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    axis.set_minor_formatter(NullFormatter())
