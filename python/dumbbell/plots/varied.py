"""Panels of `plot vary`: lines with intervals, bars with intervals, heat maps with their numbers in the cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.results.statistic import mean_interval

from . import cells, groups, look, style, ticks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from .cells import Cell, Collected
    from .keys import VariedKey


class Layout(NamedTuple):
    """Layout of a figure: its form, the key along x, that along y of a heat map, those that make panels, and those that
    tell lines apart.
    """

    form: str
    x: VariedKey
    y: VariedKey | None
    panels: tuple[VariedKey, ...]
    lines: tuple[VariedKey, ...]


#: Part of a category's place that its bars fill.
_FILLED = 0.8
#: Part of what is possible above which lines have an axis that does not begin at zero.
_UPPERMOST = 0.8

#: Of the bars of a category, where controllers along the axis have the colours.
_HATCHES = ("", "//", "..", "xx", "\\\\", "++")


#: Of lines that are no controller's.
_MARKERS = ("o", "s", "^", "D", "v", "P")


class Shape(NamedTuple):
    """Rows and columns of panels, and their height in inches."""

    rows: int
    columns: int
    height: float


def shape(count: int, form: str) -> Shape:
    """Rows and columns for this many panels."""
    columns = min(count, 2 if form == "heat" and count % 2 == 0 else 3 if count != 4 else 2)
    height = {1: 3.0, 2: 2.6}.get(columns, 2.1) if form != "heat" else {1: 3.6, 2: 2.8}.get(columns, 2.2)
    return Shape(-(-count // columns), columns, height)


def panels(
    sheet: style.Sheet, parts: Sequence[tuple[str, list[Cell]]], collected: Collected, layout: Layout, *, log: bool
) -> None:
    """Lines or bars in each panel."""
    columns = shape(len(parts), layout.form).columns
    by_panel = rows_of([mine for _, mine in parts], collected, layout)
    rates = [rate for rows in by_panel if (rate := _rate(rows, collected)) is not None]
    for i, (ax, (title, _), rows) in enumerate(zip(sheet.axes, parts, by_panel)):
        panel(sheet, ax, rows, collected, layout=layout, log=log, others=rates)
        if title:
            style.panel_title(sheet, ax, title)
        if i % columns:
            ax.set_ylabel("")
        if i + columns < len(parts):
            ax.set_xlabel("")
        else:
            ax.tick_params(labelbottom=True)


class Row(NamedTuple):
    """The cells of one line, or of the bars of one kind, with their look."""

    cells: list[Cell]
    label: str
    colour: str
    marker: Any
    linestyle: Any
    cca: str
    """The one controller that it stands for; empty for a run with several, and for the controllers along the axis."""
    nth: int
    of: int
    """It is the nth of this many rows."""

    def spans(self, collected: Collected) -> tuple[list[float], list[list[float]] | None]:
        """Means, and how far the intervals reach below and above; None where nothing is repeated."""
        intervals = [cell.interval(collected.metric) for cell in self.cells]
        whiskers = [[mean - low for mean, low, _, _ in intervals], [high - mean for mean, _, high, _ in intervals]]
        return [mean for mean, *_ in intervals], whiskers if collected.is_repeated else None


def panel(
    sheet: style.Sheet,
    ax: Axes,
    rows: Sequence[Row],
    collected: Collected,
    *,
    layout: Layout,
    log: bool,
    others: Sequence[float] = (),
) -> None:
    """Lines or bars in one panel, with its axes; `others` are the rates in the panels with the same axis."""
    for row in rows:
        if layout.form == "bars":
            _bars(sheet, ax, row, collected, layout.x, rows=rows)
        else:
            _line(sheet, ax, row, collected, layout.x)
    rate = _rate(rows, collected)
    if rate is not None:
        drawn = ax.axhline(rate, color=look.GREY, linewidth=1.0, linestyle="--", label="link rate", zorder=1.5)
        sheet.entry(drawn, "link rate")
    tops = [
        *(cell.interval(collected.metric)[2] for cell in collected.cells),
        *([] if rate is None else [rate]),
        *others,
    ]
    lowest = min(cell.interval(collected.metric)[1] for cell in collected.cells) if layout.form == "lines" else 0.0
    _axes(sheet, ax, collected, layout, ends=None if log else _ends(lowest, max(tops), collected.metric.bound))


def _ends(lowest: float, highest: float, most: float) -> tuple[float, float]:
    """Ends of the metric's axis: at zero, and above what is drawn, or above the maximum that is possible where that is
    near. Lines in the uppermost fifth of what is possible have that for themselves.
    """
    if highest <= 0.6 * most:
        return 0.0, 1.06 * highest or 1.0
    begin = most - 1.2 * (most - lowest) if lowest > _UPPERMOST * most else 0.0
    return (begin, most + 0.05 * (most - begin)) if begin < most else (0.0, 1.05 * most)


def rows_of(parts: Sequence[Sequence[Cell]], collected: Collected, layout: Layout) -> list[list[Row]]:
    """The rows of each panel: in the colour of their controller, in shades and other lines where several rows have one
    controller. Rows of one label look the same in all panels.
    """
    panels_ = [_together(mine, layout) for mine in parts]
    named = [[(_cca(row, layout), _label(row, collected, layout)) for row in rows] for rows in panels_]
    labels: dict[str, list[str]] = {}
    for cca, label in dict.fromkeys(pair for names in named for pair in names):
        labels.setdefault(cca, []).append(label)
    return [
        [
            _row(row, cca, label, labels[cca], place=(i, len(rows)))
            for i, (row, (cca, label)) in enumerate(zip(rows, names))
        ]
        for rows, names in zip(panels_, named)
    ]


def _together(mine: Sequence[Cell], layout: Layout) -> list[list[Cell]]:
    """The cells of each row, in the order of x."""
    rows: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in sorted(mine, key=lambda cell_: layout.x.position(cell_.vary[layout.x.key])):
        place = (cell.number, *(key.values.index(cell.vary[key.key]) for key in layout.lines))
        rows.setdefault(place, []).append(cell)
    return [cells_ for _, cells_ in sorted(rows.items())]


def _label(row: Sequence[Cell], collected: Collected, layout: Layout) -> str:
    return cells.label(row[0], layout.lines, layout.x, row, collected.metric, panels=layout.panels)


def _row(row: list[Cell], cca: str, label: str, labels: Sequence[str], *, place: tuple[int, int]) -> Row:
    """One row. `labels` names all rows of the same controller in the figure; `place` is the row's index in its panel,
    and how many rows that has.
    """
    nth, count = labels.index(label), len(labels)
    own = look.of(cca) if cca else look.Look(look.NEUTRAL, _MARKERS[nth % len(_MARKERS)], "")
    colour = look.shade(own.colour, nth, count) if cca or count == 1 else _sequence(nth, count)
    return Row(row, label, colour, own.marker, look.LINES[nth % len(look.LINES)], cca, *place)


def _sequence(nth: int, count: int) -> str:
    """The nth of this many colours from dark to light, for lines that belong to no controller."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return to_hex(colormaps["viridis"](0.05 + 0.8 * nth / (count - 1)))


def _cca(row: Sequence[Cell], layout: Layout) -> str:
    ccas = {cell.group.cca for cell in row if cell.group}
    if not ccas:
        ccas = {group.cca for cell in row for group in groups.of(cell.run)}
    return ccas.pop() if len(ccas) == 1 and not (layout.x.is_cca and len(row) == 1) else ""


def _line(sheet: style.Sheet, ax: Axes, row: Row, collected: Collected, x: VariedKey) -> None:
    """A line through the means, with whiskers over the repetitions."""
    at = [x.position(cell.vary[x.key]) for cell in row.cells]
    means, whiskers = row.spans(collected)
    line = "none" if x.is_scattered else row.linestyle
    look_of: dict[str, Any] = {"color": row.colour, "marker": row.marker, "linestyle": line}
    sheet.entry(ax.errorbar(at, means, yerr=whiskers, capsize=2, markersize=4.5, label=row.label, **look_of), row.label)


def _bars(sheet: style.Sheet, ax: Axes, row: Row, collected: Collected, x: VariedKey, *, rows: Sequence[Row]) -> None:
    """A bar per category with a whisker over the repetitions; those of the controllers on the axis have their
    colours. Bars of a category, of all rows that have one there, stand about its tick.
    """
    from matplotlib.patches import Patch

    width = _FILLED / row.of
    at = []
    for value in (cell.vary[x.key] for cell in row.cells):
        here = [other.nth for other in rows if any(cell.vary[x.key] == value for cell in other.cells)]
        at.append(x.values.index(value) + (here.index(row.nth) - (len(here) - 1) / 2) * width)
    means, whiskers = row.spans(collected)
    varied = x.is_cca and not row.cca
    colours = [look.of(str(cell.vary[x.key])).colour if varied else row.colour for cell in row.cells]
    hatch = _HATCHES[row.nth % len(_HATCHES)] if x.is_cca else ""
    edge: dict[str, Any] = {"edgecolor": "white", "hatch": hatch, "linewidth": 0.5}
    ax.bar(
        at,
        means,
        width * 0.94,
        color=colours,
        label=row.label,
        yerr=whiskers,
        capsize=2,
        error_kw={"linewidth": 1.0, "ecolor": "#222222"},
        **edge,
    )
    if not (varied and row.of == 1):
        sheet.entry(Patch(facecolor="#bbbbbb" if varied else row.colour, **edge), row.label)


def _rate(rows: Sequence[Row], collected: Collected) -> float | None:
    """The link's rate in a panel."""
    return collected.link_rate([cell for row in rows for cell in row.cells])


def _axes(
    sheet: style.Sheet, ax: Axes, collected: Collected, layout: Layout, *, ends: tuple[float, float] | None
) -> None:
    """Titles, scales and ticks; `ends` of the metric's axis, which is logarithmic without them."""
    style.value_title(sheet, ax, collected.metric.axis_title)
    x = layout.x
    ax.set_xlabel(x.axis_title)
    if ends is None:
        ax.set_yscale("log")
        style.plain_log(ax.yaxis, *ax.get_ylim())
    else:
        ax.set_ylim(*ends)
    if layout.form == "bars" or not x.numbers:
        ax.grid(visible=False, axis="x")
        ax.set_xlim(-0.6, len(x.values) - 0.4)
        ticks.of_categories(sheet, ax, x)
    else:
        ticks.of_numbers(sheet, ax, x)


def heat_maps(
    sheet: style.Sheet, parts: Sequence[tuple[str, list[Cell]]], collected: Collected, layout: Layout, *, log: bool
) -> None:
    """A heat map per panel, all in one scale of colours."""
    import numpy as np
    from matplotlib.colors import LogNorm, Normalize

    x, y = layout.x, layout.y
    assert y is not None
    means = [cell.interval(collected.metric)[0] for cell in collected.cells]
    positive = [mean for mean in means if mean > 0]
    norm = LogNorm(min(positive), max(positive)) if log and positive else Normalize(min(0.0, *means), max(means) or 1.0)
    columns = shape(len(parts), "heat").columns
    across, up = ticks.ordered(x), ticks.ordered(y)
    image: Any = None
    for i, (ax, (title, mine)) in enumerate(zip(sheet.axes, parts)):
        grid = np.full((len(up), len(across)), np.nan)
        for cell in mine:
            row, column = up.index(cell.vary[y.key]), across.index(cell.vary[x.key])
            grid[row, column] = cell.interval(collected.metric)[0]
            _number(ax, (column, row), cell, norm, room=ticks.width_points(sheet, ax) / len(across))
        image = ax.imshow(grid, norm=norm, cmap="viridis", aspect="auto", origin="lower")
        ax.grid(visible=False)
        style.panel_title(sheet, ax, title)
        ticks.of_heat(sheet, ax, x, y)
        ax.set_xlabel(x.axis_title if i + columns >= len(parts) else "")
        ax.set_ylabel(y.axis_title if i % columns == 0 else "")
        if i + columns >= len(parts):
            ax.tick_params(labelbottom=True)
    bar = sheet.figure.colorbar(image, ax=sheet.axes[: len(parts)], pad=0.01)
    bar.set_label(collected.metric.axis_title)
    bar.outline.set_visible(False)


def _number(ax: Axes, at: tuple[int, int], cell: Cell, norm: Any, *, room: float) -> None:
    """The mean in its cell, and half the width of its interval below it."""
    mean, half, _ = mean_interval(cell.values)
    text = f"{mean:.3g}" if abs(mean) < 1000 else f"{mean:.0f}"
    size = min(8.0, 8.0 * (room - 2) / max(style.text_points(text, 8.0), 1.0))
    if half > 0:  # nan for a single one
        text += f"\n±{half:.2g}"
    shown = float(norm(mean)) if mean > 0 or not hasattr(norm, "clip") else 0.0
    ax.text(
        *at,
        text,
        ha="center",
        va="center",
        fontsize=max(size, 4.0),
        color="white" if shown < 0.6 else "black",
        linespacing=0.95,
    )
