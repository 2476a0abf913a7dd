"""The page that a figure is drawn on: sizes, legend and caption, and the file that it becomes."""

from __future__ import annotations

import re
import warnings
from functools import cache, wraps
from itertools import pairwise
from math import floor, log10
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypedDict, TypeVar
from weakref import WeakKeyDictionary

from dumbbell.errors import ResultError, wrong
from dumbbell.files import written_whole

from . import lettering, rc
from .lettering import legend_points, plain, points, text_points, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dumbbell.results.load import Result, Results

#: Widths of a figure in inches: on a page of its own, in one column of a paper, and over both.
WIDTH = 7.0
PAPER = {"column": 3.33, "wide": 7.0}
#: Parts of the usual heights that panels have there.
_HEIGHTS = {"column": 0.66, "wide": 0.8}
#: What may be asked for, inches.
SIZES = (2.0, 60.0)
#: Below this width panels stand one above the other, inches.
NARROW = 4.6

#: Smallest side of axes that can be read, inches, and smallest height of one with a few rows below others.
_AXES_LEAST, _ROW_LEAST = 0.45, 0.18

#: Of a legend entry next to its text, in parts of its size: sample, gap, distance to the next column.
_ENTRY = 5.6
#: Room for ticks and axis title below the axes, in parts of their size.
_BELOW = 4.0


P = ParamSpec("P")
R = TypeVar("R")


class Page(TypedDict, total=False):
    """Settings that every figure takes besides its own: a title, its size in inches where it makes a figure of its own,
    whether the caption is drawn, and the column of a paper that it is for.
    """

    title: str | None
    width: float | None
    height: float | None
    caption: bool
    """True unless given; False for a paper."""
    paper: str | None
    """``column`` (3.33 inches wide) or ``wide`` (7), in serif type; None for a screen."""


class _Drawn(NamedTuple):
    """What belongs to a figure and is not in it: caption, legend, and the settings that it was drawn with."""

    caption: str
    entries: list[tuple[Any, str]]
    settings: dict[str, Any]


_DRAWN: WeakKeyDictionary[Any, _Drawn] = WeakKeyDictionary()


def caption_of(drawn: Figure | Axes) -> str:
    """The caption of a figure, or of axes that were given, whether or not it is drawn; empty of others."""
    return _DRAWN[drawn].caption if drawn in _DRAWN else ""


def entries_of(ax: Axes) -> list[tuple[Any, str]]:
    """Handle and label of each entry of the legend of axes that were given."""
    return _DRAWN[ax].entries


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Give a drawing function this style, where the caller has no settings of his own."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> R:
        with rc.settings(is_paper=bool(kwargs.get("paper")), ax=kwargs.get("ax")):
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
        self.below = _BELOW * points(9)
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
        _DRAWN[self.figure if self.own else self.ax] = _Drawn(caption, self.entries, rc.snapshot())
        self._title()
        if self.entries or self._has_caption:
            self._legend(caption if self._has_caption else "")
        lettering.escape(self.figure)

    @property
    def _has_caption(self) -> bool:
        return self.page.get("caption", not self.page.get("paper"))

    def _legend(self, caption: str) -> None:
        size, small = legend_points(), points(7)
        width = self.figure.get_figwidth() * 72 - 16
        if not self.own:
            width *= self.ax.get_position().width
        room = width - _ENTRY * size
        labels = ["\n".join(wrapped(plain(label), room, size)) for _, label in self.entries]
        widest = max((text_points(line, size) for label in labels for line in label.split("\n")), default=0.0)
        columns = max(1, min(len(labels), int(width / (widest + _ENTRY * size))))
        lines = wrapped(plain(caption), width, small) if caption else []
        look: dict[str, Any] = {"ncols": columns, "title": "\n".join(lines), "alignment": "left", "borderaxespad": 0.3}
        handles = [handle for handle, _ in self.entries]
        if self.own:
            legend = self.figure.legend(handles, labels, loc="lower left", **look)
            legend.set_in_layout(False)
            self._keep_below(legend)
        else:
            from matplotlib.transforms import ScaledTranslation

            below = self.ax.transAxes + ScaledTranslation(0, -self.below / 72, self.figure.dpi_scale_trans)
            legend = self.ax.legend(
                handles, labels, loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=below, **look
            )
            legend.set_in_layout(True)
        legend.get_title().set_color("#555555")

    def _keep_below(self, legend: Any) -> None:
        """Make room for a legend at the lower edge, and put the shared title of the level axes above it."""
        shared = self.figure._supxlabel  # type: ignore[attr-defined]
        with lettering.without_warnings():
            high = legend.get_window_extent().height / self.figure.dpi * 72 + 4
            titled = shared.get_window_extent().height / self.figure.dpi * 72 + 5 if shared is not None else 0.0
        self._grow(high + titled)
        whole = 72 * self.figure.get_figheight()
        if shared is not None:
            shared.set_y((high + 2) / whole)
            shared.set_in_layout(False)
        below = min((high + titled) / whole, 0.9)
        self.figure.get_layout_engine().set(rect=(0, below, 1, 1 - below))  # type: ignore[union-attr,call-arg]

    def _grow(self, by: float) -> None:
        """Make the figure higher by this many points, unless its height was asked for."""
        if not self.page.get("height"):
            self.figure.set_figheight(self.figure.get_figheight() + by / 72)

    def _title(self) -> None:
        title = self.page.get("title")
        if title and self.own:
            size = points(10)
            lines = wrapped(plain(title), self.figure.get_figwidth() * 72 - 12, size)
            self.figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=size)
            self._grow(len(lines) * size * 1.2)
        elif title:
            self.ax.set_title(plain(title), loc="left")


def checked_size(page: Page) -> tuple[float, float | None]:
    """Width and height that a page asks for, inches; raises ScenarioError."""
    for name in ("width", "height"):
        asked = page.get(name)
        if asked is not None and not SIZES[0] <= float(asked) <= SIZES[1]:  # type: ignore[arg-type]
            raise wrong(f"--{name}", asked, f"inches, from {SIZES[0]:g} to {SIZES[1]:g}")
    paper = page.get("paper")
    if paper is not None and paper not in PAPER:
        raise wrong("--paper", paper, "one of: " + ", ".join(PAPER), list(PAPER))
    return float(page.get("width") or PAPER.get(paper or "", WIDTH)), page.get("height")


def is_narrow(page: Page) -> bool:
    """True if two panels have no room beside each other."""
    return checked_size(page)[0] < NARROW


def figure(
    rows: int = 1, columns: int = 1, *, height: float = 2.6, page: Page | None = None, **options: Any
) -> tuple[Figure, Any]:
    """A new figure with its axes, each `height` inches high; made without pyplot, so nothing is left open and no
    display is needed.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    page = page or {}
    wide, high = checked_size(page)
    usual = height * rows * _HEIGHTS.get(page.get("paper") or "", 1.0)
    drawn = _shown()(figsize=(wide, high or usual), layout="constrained")
    for pad in ("w_pad", "h_pad"):
        drawn.get_layout_engine().set(**{pad: 0.05})  # type: ignore[union-attr]
    FigureCanvasAgg(drawn)
    return drawn, drawn.subplots(rows, columns, **options)


@cache
def _shown() -> type[Figure]:
    """Figures that a notebook shows as they are saved; made late, because matplotlib is slow to import."""
    from matplotlib.figure import Figure

    class Shown(Figure):
        def _repr_png_(self) -> bytes:
            with TemporaryDirectory() as folder:
                picture = Path(folder) / "shown.png"
                save(self, picture)
                return picture.read_bytes()

    return Shown


def save(drawn: Figure, path: str | Path) -> str:
    """Write the figure, whole or not at all; the file holds no date, so the same results make the same file, and a PDF
    embeds its fonts as TrueType. A name without a suffix gets ``.png``. A caption that is not drawn gets a file of its
    own beside the picture, ``.txt``. Returns the letters that no font here has, which are drawn as boxes. Raises
    ResultError where it cannot be written or does not fit.
    """
    import matplotlib as mpl

    path = Path(path)
    path = path if path.suffix else path.with_suffix(".png")
    suffix = path.suffix[1:]
    metadata: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(suffix, {})
    with warnings.catch_warnings(record=True) as said, rc.settings():
        settings: Any = _DRAWN[drawn].settings if drawn in _DRAWN else {}
        mpl.rcParams.update(settings)
        warnings.simplefilter("always")
        warnings.filterwarnings("error", message="constrained_layout not applied")
        try:
            _check_room(drawn)
            with written_whole(path) as beside:
                drawn.savefig(beside, metadata=metadata)
            if text := _said_beside(drawn):
                with written_whole(path.with_suffix(".txt")) as beside:
                    Path(beside).write_text(text, encoding="utf-8")
        except OSError as error:
            raise ResultError(f"{path}: cannot be written ({error.strerror or error})") from None
    missing = [re.match(r"Glyph (\d+) ", str(warning.message)) for warning in said]
    for warning, match in zip(said, missing):
        if match is None:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return "".join(dict.fromkeys(chr(int(match[1])) for match in missing if match))


def _said_beside(drawn: Figure) -> str:
    """What the caption says, where the figure does not have it."""
    caption = caption_of(drawn)
    is_drawn = any(legend.get_title().get_text() for legend in drawn.legends)
    return "" if is_drawn or not caption else caption + ("" if caption.endswith(".") else ".") + "\n"


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
    lowest, highest = (pick(box.height * high for box in boxes) for pick in (min, max))
    narrowest = min(box.width * wide for box in boxes)
    if not fits or narrowest < _AXES_LEAST or highest < _AXES_LEAST or lowest < _ROW_LEAST:
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
    size = lettering.label_points()
    ax.set_ylabel(_filled(text, sheet.figure.get_figheight() * ax.get_position().height, size))


def level_title(sheet: Sheet, ax: Axes, text: str) -> None:
    """The title of a level axis, in as many lines as its width asks for."""
    size = lettering.label_points()
    ax.set_xlabel(_filled(text, sheet.figure.get_figwidth() * ax.get_position().width, size))


def shared_title(sheet: Sheet, text: str) -> None:
    """One title of the level axes of all panels."""
    size = lettering.label_points()
    text = " ".join(text.split("\n"))
    sheet.figure.supxlabel(_filled(text, sheet.figure.get_figwidth(), size), fontsize=size)


def panel_title(sheet: Sheet, ax: Axes, text: str) -> None:
    """The title of a panel, in as many lines as its width asks for."""
    size = points(8)
    inches = sheet.figure.get_figwidth() * ax.get_position().width
    ax.set_title(_filled(text, inches, size), loc="left", fontsize=size, pad=3)


def _filled(text: str, inches: float, size: float) -> str:
    """The text in lines of this length."""
    lines = wrapped(plain(lettering.glued(text)), max(72 * inches, 60.0), size)
    return "\n".join(lines).replace(lettering.GLUE, " ")


def better(ax: Axes, at: tuple[float, float], *, is_right: bool = False) -> None:
    """An arrow from this place of the axes towards what is better: up, and left or right."""
    size = points(7.5)
    across = size * 2.2 * (1 if is_right else -1)
    ax.annotate(
        plain("better"),
        at,
        xytext=at,
        xycoords="axes fraction",
        ha="center" if is_right else "right",
        va="bottom",
        fontsize=size,
        color="#555555",
    )
    ax.annotate(
        "",
        at,
        xytext=(across - (0 if is_right else size * 1.6), size * 3.4),
        xycoords="axes fraction",
        textcoords="offset points",
        arrowprops={"arrowstyle": "<-", "color": "#555555", "shrinkA": 0, "shrinkB": size * 1.5},
    )


def length_points(axis: Any) -> float:
    """Length of an axis before the layout, points."""
    box, (wide, high) = axis.axes.get_position(), axis.axes.get_figure(root=True).get_size_inches()
    return float(72 * (box.width * wide if axis.axis_name == "x" else box.height * high))


def fits(axis: Any, places: Sequence[float], texts: Sequence[str], *, span: float) -> bool:
    """True if texts of ticks have room at these places, which ascend; the axis spans `span` of the same unit."""
    size = lettering.tick_points()
    per_unit = 0.92 * length_points(axis) / (span or 1.0)
    needs = [text_points(text, size) + 4 if axis.axis_name == "x" else 1.3 * size for text in texts]
    return all((b - a) * per_unit >= (m + n) / 2 for (a, b), (m, n) in zip(pairwise(places), pairwise(needs)))


def plain_log(axis: Any, low: float, high: float, text: Callable[[float], str] = "{:g}".format) -> None:
    """Plain numbers, or what `text` makes of them, on a logarithmic axis: at 1, 2 and 5 of each decade, or fewer where
    these have no room.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

    axis.set_minor_locator(LogLocator(subs=(2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0), numticks=20))
    if low > 0 and high / low <= 4:
        axis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
        axis.set_minor_locator(NullLocator())
    elif low > 0:
        axis.set_major_locator(FixedLocator(_round_numbers(axis, low, high, text)))
        if high / low > 1e4:
            axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    axis.set_minor_formatter(NullFormatter())


def _round_numbers(axis: Any, low: float, high: float, text: Callable[[float], str]) -> list[float]:
    """Round numbers of a logarithmic axis, as many as have room."""
    decades = range(floor(log10(low)), floor(log10(high)) + 1)
    span = log10(high / low)
    some: list[float] = []
    for every, parts in ((1, (1, 2, 5)), (1, (1, 3)), (1, (1,)), (2, (1,)), (3, (1,)), (5, (1,))):
        numbers = [float(f"{part}e{decade}") for decade in decades if not decade % every for part in parts]
        some = [number for number in numbers if low * 0.999 <= number <= high * 1.001]
        if fits(axis, [log10(number) for number in some], [text(number) for number in some], span=span):
            break
    return some
