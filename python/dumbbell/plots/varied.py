"""Panels of `plot vary`: lines with intervals, bars with intervals, heat maps with their numbers in the cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.results.statistic import mean_interval

from . import cells, groups, lettering, look, style, ticks

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


class Shape(NamedTuple):
    """Rows and columns of panels, and their height in inches."""

    rows: int
    columns: int
    height: float


def shape(count: int, form: str, inches: float = style.WIDTH) -> Shape:
    """Rows and columns for this many panels on a page of this width: full rows where that is possible."""
    most = max(1, min(count, 4, int(inches / (2.6 if form == "heat" else 1.6))))
    columns = next(
        (each for each in (most, most - 1) if each > 1 and count % each == 0), -(-count // -(-count // most))
    )
    height = {1: 3.0, 2: 2.6, 3: 2.1}.get(columns, 1.9) if form != "heat" else {1: 3.6, 2: 2.8}.get(columns, 2.2)
    return Shape(-(-count // columns), columns, height)


def panels(
    sheet: style.Sheet, parts: Sequence[tuple[str, list[Cell]]], collected: Collected, layout: Layout, *, log: bool
) -> None:
    """Lines or bars in each panel."""
    by_panel = rows_of([mine for _, mine in parts], collected, layout)
    rates = [rate for rows in by_panel if (rate := _rate(rows, collected)) is not None]
    for ax, (title, _), rows in zip(sheet.axes, parts, by_panel):
        panel(sheet, ax, rows, collected, layout=layout, log=log, others=rates)
        if title:
            style.panel_title(sheet, ax, title)
    share_titles(sheet, len(parts), layout.form)


def share_titles(sheet: style.Sheet, count: int, form: str) -> None:
    """One title of the level axes of several panels, those of the upright ones in the first column only; ticks below
    the lowest panel of each column.
    """
    columns = shape(count, form, sheet.figure.get_figwidth()).columns
    used = sheet.axes[:count]
    if count > 1:
        style.shared_title(sheet, used[0].get_xlabel())
    for i, ax in enumerate(used):
        if i % columns:
            ax.set_ylabel("")
        if count > 1:
            ax.set_xlabel("")
        if i + columns >= count:
            ax.tick_params(labelbottom=True)


class Row(NamedTuple):
    """The cells of one line, or of the bars of one kind, with their look."""

    cells: list[Cell]
    label: str
    dress: look.Dress
    cca: str
    """The one controller that it stands for; empty for a run with several, and for the controllers along the axis."""
    nth: int
    of: int
    """It is the nth of this many rows."""

    @property
    def colour(self) -> str:
        """Its colour."""
        return self.dress.colour

    @property
    def marker(self) -> Any:
        """Its marker."""
        return self.dress.marker

    @property
    def linestyle(self) -> Any:
        """Its dashes."""
        return self.dress.linestyle

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
    fair = collected.fair_share([cell for row in rows for cell in row.cells])
    for at, word, dashes in ((rate, "link rate", "--"), (fair, "fair share", ":")):
        if at is not None:
            drawn = ax.axhline(at, color=look.QUIET, linewidth=1.0, linestyle=dashes, label=word, zorder=1.5)
            sheet.entry(drawn, word)
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
    """The rows of each panel; what differs between rows has the colours. Rows of one label look the same in all
    panels.
    """
    panels_ = [_together(mine, layout) for mine in parts]
    labels = [[_label(row, collected, layout) for row in rows] for rows in panels_]
    traits = {label: _traits(row, layout) for rows, names in zip(panels_, labels) for row, label in zip(rows, names)}
    dresses = dict(zip(traits, look.dress(list(traits.values())), strict=True))
    return [
        [
            Row(row, label, dresses[label], _cca(row, layout), i, len(rows))
            for i, (row, label) in enumerate(zip(rows, names))
        ]
        for rows, names in zip(panels_, labels)
    ]


def _traits(row: Sequence[Cell], layout: Layout) -> list[look.Trait]:
    """What tells a row from others: its controller, its flows, and the values of the keys of lines."""
    vary = row[0].vary
    keys_ = [key for key in layout.lines if not cells.is_of(key, row)]
    return [
        look.Trait(_cca(row, layout), is_cca=True),
        look.Trait(row[0].number),
        *(key.trait(vary[key.key]) for key in keys_),
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


def _cca(row: Sequence[Cell], layout: Layout) -> str:
    ccas = {cell.group.cca for cell in row if cell.group}
    if not ccas:
        ccas = {group.cca for cell in row for group in groups.of(cell.run)}
    return ccas.pop() if len(ccas) == 1 and not (layout.x.is_cca and len(row) == 1) else ""


def _line(sheet: style.Sheet, ax: Axes, row: Row, collected: Collected, x: VariedKey) -> None:
    """A line through the means, with whiskers over the repetitions."""
    at = [x.position(cell.vary[x.key]) for cell in row.cells]
    means, whiskers = row.spans(collected)
    settings = {**row.dress.marked, **({"linestyle": "none"} if x.is_scattered else {})}
    size: dict[str, Any] = {"capsize": 2, "elinewidth": 0.9, "markersize": lettering.points(4.5)}
    sheet.entry(ax.errorbar(at, means, yerr=whiskers, label=row.label, **size, **settings), row.label)


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
        ticks.of_numbers(ax, x)


def heat_maps(
    sheet: style.Sheet, parts: Sequence[tuple[str, list[Cell]]], collected: Collected, layout: Layout, *, log: bool
) -> bool:
    """A heat map per panel, all in one scale of colours; whether cells had room for intervals."""
    import numpy as np
    from matplotlib.colors import LogNorm, Normalize

    x, y = layout.x, layout.y
    assert y is not None
    means = [cell.interval(collected.metric)[0] for cell in collected.cells]
    positive = [mean for mean in means if mean > 0]
    norm = LogNorm(min(positive), max(positive)) if log and positive else Normalize(min(0.0, *means), max(means) or 1.0)
    across, up = ticks.ordered(x), ticks.ordered(y)
    image: Any = None
    digits, has_intervals = _decimals(means), True
    for ax, (title, mine) in zip(sheet.axes, parts):
        grid = np.full((len(up), len(across)), np.nan)
        room = (0.93 * ticks.width_points(sheet, ax) / len(across), 0.8 * style.length_points(ax.yaxis) / len(up))
        for cell in mine:
            row, column = up.index(cell.vary[y.key]), across.index(cell.vary[x.key])
            grid[row, column] = cell.interval(collected.metric)[0]
            has_intervals &= _number(ax, (column, row), cell, norm, room=room, digits=digits)
        image = ax.imshow(grid, norm=norm, cmap="viridis", aspect="auto", origin="lower")
        ax.grid(visible=False)
        style.panel_title(sheet, ax, title)
        ticks.of_heat(sheet, ax, x, y)
        ax.set_xlabel(x.axis_title)
        ax.set_ylabel(y.axis_title)
    share_titles(sheet, len(parts), "heat")
    bar = sheet.figure.colorbar(image, ax=sheet.axes[: len(parts)], pad=0.01)
    bar.set_label(lettering.plain(collected.metric.axis_title))
    bar.outline.set_visible(False)
    return has_intervals


#: Smallest size of numbers in cells, points.
_CELL_LEAST = 4.5


def _decimals(means: Sequence[float]) -> int:
    """Decimals of all numbers of a heat map: two of fractions, three digits of the largest otherwise."""
    from math import floor, log10

    most = max(map(abs, means), default=0.0)
    return 2 if most <= 1 else max(0, 2 - floor(log10(most)))


def _number(ax: Axes, at: tuple[int, int], cell: Cell, norm: Any, *, room: tuple[float, float], digits: int) -> bool:
    """The mean in its cell, and half the width of its interval below it, where the cell has room for them; whether it
    had for all.
    """
    mean, half, _ = mean_interval(cell.values)
    lines = [f"{mean:.{digits}f}", *([f"±{half:.{digits}f}"] if half > 0 else [])]  # nan for a single one
    usual = lettering.points(8)
    sizes = [
        min(usual, usual * (room[0] - 2) / max(lettering.text_points(line, usual) for line in some),
            (room[1] - 2) / (1.1 * len(some)))
        for some in (lines, lines[:1])
    ]  # fmt: skip
    fitting = [(size, some) for size, some in zip(sizes, (lines, lines[:1])) if size >= _CELL_LEAST]
    if not fitting:
        return False
    shown = float(norm(mean)) if mean > 0 or not hasattr(norm, "clip") else 0.0
    ax.text(
        *at,
        lettering.plain("\n".join(fitting[0][1])),
        ha="center",
        va="center",
        fontsize=fitting[0][0],
        color="white" if shown < 0.6 else "black",
        linespacing=0.95,
    )
    return fitting[0][1] is lines or len(lines) == 1
