"""A metric against varied values: lines over numbers, bars over categories, heat maps and panels where more keys vary;
intervals over repetitions only.
"""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Unpack

from dumbbell.errors import ResultError, wrong
from dumbbell.results.catalogue import canonical, figure

from . import captions, cells, groups, style, varied, zeros
from .varied import Layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from dumbbell.plan.view import Window
    from dumbbell.results.load import Result, Results

    from .cells import Cell, Collected
    from .keys import VariedKey

#: Lines, or bars of a category, that one panel may have; panels that one figure may have; values along a side of a heat
#: map.
LINES_MOST, PANELS_MOST, SIDE_MOST = 6, 12, 24

FORMS = ("lines", "bars", "heat")


@style.styled
def vary(
    results: Results,
    *,
    ax: Axes | None = None,
    metric: str = "goodput",
    x: str | None = None,
    panels: str | None = None,
    form: str | None = None,
    flows: str | Sequence[int] | None = None,
    window: Window | None = None,
    log: bool = False,
    jain: bool = False,
    **page: Unpack[style.Page],
) -> Axes:
    """Draw a metric of each group of flows against what the runs vary; returns the first axes.

    Lines over numbers and bars over categories have 95 % intervals over the repetitions (Student's t). What varies
    other than `x` tells lines apart, as in "CUBIC, against BBR"; where that is too much for one panel the figure has
    panels, or heat maps with their numbers in the cells.

    Parameters
    ----------
    results
        The runs of a sweep.
    ax
        Axes to draw into, for a figure of one panel; a new figure unless given.
    metric
        The name of a figure, as `dumbbell show --columns` takes it (docs/metrics.md).
    x
        The varied key along x, such as ``path.buffer``; unless given, the buffer if it varies, else the first key with
        numbers.
    panels
        A varied key that makes a panel of each value.
    form
        ``lines``, ``bars`` or ``heat``; what fits unless given.
    flows
        Only these flows: numbers, or text such as ``0,3-5`` or a name; all unless given. Of two shares that sum to one
        only the first is drawn.
    window
        Start and end in seconds; the scenario's `measure`, or the whole run, unless given.
    log
        Whether the axis of the metric is logarithmic.
    jain
        Whether Jain's index is drawn in a panel above; for figures of one panel.

    Raises
    ------
    ResultError
        Where nothing varies, no run has the metric, or too much varies for one figure.
    """
    grouped = cells.grouped_by(results, flows)
    collected = cells.collect(
        results, figure(canonical(metric, "--metric")), window, along=x, as_points=True, grouped=grouped
    )
    collected = cells.folded(collected)
    if log:
        zeros.refuse_only(cell.interval(collected.metric)[0] for cell in collected.cells)
    layout = layout_of(collected, x, panels, form)
    parts = parts_of(collected, layout)
    if ax is not None and len(parts) > 1:
        raise ResultError(f"{len(parts)} panels do not fit into one axes: give fewer runs, or no axes")
    if jain:
        if len(parts) > 1 or layout.form == "heat" or ax is not None:
            raise ResultError(
                "the panel of Jain's index needs a figure with one other panel: choose runs with --run, or draw"
                " --metric jain alone"
            )
        return _with_jain(results, collected, layout, window=window, log=log, page=page)
    shape = varied.shape(len(parts), layout.form, style.checked_size(page)[0])
    sheet = style.Sheet(ax, page, rows=shape.rows, columns=shape.columns, height=shape.height, sharex=True, sharey=True)
    has_intervals, marks = True, "whiskers:"
    if layout.form == "heat":
        has_intervals, marks = varied.heat_maps(sheet, parts, collected, layout, log=log), "±: half the"
    else:
        varied.panels(sheet, parts, collected, layout, log=log)
    for unused in sheet.axes[len(parts) :]:
        unused.remove()
    sheet.finish(_caption(results, [collected], window, marks=marks if has_intervals else ""))
    return sheet.ax


def _with_jain(
    results: Results, collected: Collected, layout: Layout, *, window: Window | None, log: bool, page: style.Page
) -> Axes:
    """Jain's index above, the metric below, on one x axis (the layout of Kfoury et al., Fig. 11); returns the lower
    axes.
    """
    index = cells.collect(results, figure("jain"), window, along=layout.x.key, as_points=True)
    sheet = style.Sheet(None, page, rows=2, height=2.0, sharex=True)
    above, below = sheet.axes
    (rows,) = varied.rows_of([collected.cells], collected, layout)
    varied.panel(sheet, below, rows, collected, layout=layout, log=log)
    entries, sheet.entries = sheet.entries, []
    (rows,) = varied.rows_of([index.cells], index, layout)
    varied.panel(sheet, above, rows, index, layout=layout, log=False)
    sheet.entries = entries + (sheet.entries if len(sheet.entries) > 1 else [])
    above.set_xlabel("")
    sheet.finish(_caption(results, [collected, index], window))
    return below


def _caption(
    results: Sequence[Result], collected: Sequence[Collected], window: Window | None, *, marks: str = "whiskers:"
) -> str:
    """The caption of panels with these cells, whose intervals `marks` shows; without them where it is empty."""
    repeated = bool(marks) and any(of.is_repeated for of in collected)
    cut = marks == "whiskers:" and any(of.was_cut for of in collected)
    lacking = max(of.lacking for of in collected)
    return captions.of_runs(
        list(results),
        window,
        intervals=repeated,
        marks=marks,
        cut=cut,
        lacking=lacking,
        unreached=max(of.unreached for of in collected),
        beside=collected[0].beside,
    ) + (f"; the rest is that of {collected[0].rest}" if collected[0].rest else "")


def layout_of(collected: Collected, x: str | None, panels: str | None, form: str | None) -> Layout:
    """Choose the place of each key; raises ResultError where too much varies."""
    if form is not None and form not in FORMS:
        raise wrong("--form", form, "one of: " + ", ".join(FORMS), list(FORMS))
    along = cells.x_key(collected.keys, x)
    rest = [key for key in collected.keys.values() if key.key != along.key]
    if panels is not None and panels not in {key.key for key in rest}:
        raise wrong(
            "--panels",
            panels,
            f"a varied key that is not along x: {', '.join(key.key for key in rest) or 'there is no other'}",
            [k.key for k in rest],
        )
    fixed = tuple(key for key in rest if key.key == panels)
    rest = [key for key in rest if key.key != panels]
    kind = form or ("lines" if along.numbers else "bars")
    if kind == "heat" and collected.beside:
        raise ResultError("a heat map needs a grid, and these combinations are a random sample: omit --form heat")
    both_categories = bool(rest) and not along.numbers and not any(key.numbers for key in rest)
    if kind == "heat" or (
        form is None and both_categories and x is None and len(along.values) * len(rest[0].values) > 2 * LINES_MOST
    ):
        return _heat(collected, along, rest, fixed, is_free=x is None)
    layout = _in_panels(collected, kind, along, rest, fixed)
    if layout is None and form is None and rest and not collected.beside:
        return _heat(collected, along, rest, fixed, is_free=x is None)
    if layout is None:
        raise _too_much(collected)
    return layout


def _in_panels(
    collected: Collected, kind: str, along: VariedKey, rest: Sequence[VariedKey], fixed: tuple[VariedKey, ...]
) -> Layout | None:
    """One panel, or a panel for each value of as few further keys as suffice."""
    count = collected.groups
    for extra in range(len(rest) + 1):
        fitting = []
        for chosen in combinations(rest, extra):
            lines = tuple(key for key in rest if key not in chosen)
            drawn, panels = (
                count * prod(len(key.values) for key in lines),
                prod(len(key.values) for key in (*fixed, *chosen)),
            )
            if (drawn <= LINES_MOST or not lines) and panels <= PANELS_MOST:
                fitting.append(
                    (panels, [rest.index(key) for key in chosen], Layout(kind, along, None, (*fixed, *chosen), lines))
                )
        if fitting:
            return min(fitting, key=lambda fit: fit[:2])[2]
    return None


def _heat(
    collected: Collected, along: VariedKey, rest: Sequence[VariedKey], fixed: tuple[VariedKey, ...], *, is_free: bool
) -> Layout:
    """Heat maps over x and the other key with the most values; over controllers against controllers where two flows'
    vary and x is free. Further keys make panels.
    """
    if not rest:
        raise ResultError("a heat map needs two varied keys: omit --form heat and --panels")
    ccas = [key for key in (along, *rest) if key.is_cca]
    if is_free and len(ccas) == 2:
        across, up = ccas
    else:
        across, up = along, max(rest, key=lambda key: (bool(key.numbers), len(key.values)))
    more = (*fixed, *(key for key in (along, *rest) if key not in (across, up)))
    panels = collected.groups * prod(len(key.values) for key in more)
    if panels > PANELS_MOST or max(len(up.values), len(across.values)) > SIDE_MOST:
        raise _too_much(collected)
    return Layout("heat", across, up, more, ())


def _too_much(collected: Collected) -> ResultError:
    sizes = " x ".join(f"{key.key} ({len(key.values)})" for key in collected.keys.values())
    return ResultError(
        f"too much varies for one figure: {sizes}; choose some runs with --run, such as --run '*cca=bbr*', or other"
        " keys with --x and --panels"
    )


def parts_of(collected: Collected, layout: Layout) -> list[tuple[str, list[Cell]]]:
    """Title and cells of each panel; groups have heat maps of their own."""
    by_place: dict[tuple[object, ...], tuple[str, list[Cell]]] = {}
    for cell in collected.cells:
        place = tuple(key.values.index(cell.vary[key.key]) for key in layout.panels)
        if layout.form == "heat":
            title = _heat_title(cell, collected, layout)
            place = (*place, cell.number)
        else:
            title = ", ".join(dict.fromkeys(_panel_words(cell, collected, layout)))
        by_place.setdefault(place, (title, []))[1].append(cell)
    return [by_place[place] for place in sorted(by_place)]


def _panel_words(cell: Cell, collected: Collected, layout: Layout) -> list[str]:
    """The values that make a panel: its flows where the panel has one combination of controllers, else the controller
    of a table.
    """
    is_whole = all(key in layout.panels for key in collected.keys.values() if key.is_cca)
    mix = " + ".join(group.label for group in groups.of(cell.run))
    return [
        key.phrase(cell.vary[key.key]) if not key.is_cca else mix if is_whole else _of_table(key, cell)
        for key in layout.panels
    ]


def _of_table(key: VariedKey, cell: Cell) -> str:
    text = key.text(cell.vary[key.key])
    return text if key.table is None else f"flow[{key.table}] {text}"


def _heat_title(cell: Cell, collected: Collected, layout: Layout) -> str:
    """Whose figure a heat map shows, and what its panel stands for."""
    if cell.group is None:
        return ", ".join(dict.fromkeys(_panel_words(cell, collected, layout)))
    ccas = [key for key in layout.panels if key.is_cca]
    same = [other for other in collected.cells if other.number == cell.number]
    own = [key for key in (layout.x, layout.y) if key is not None and cells.is_of(key, same)]
    if own:
        against = [key.text(cell.vary[key.key]) for key in ccas if not cells.is_of(key, [cell])]
        several = cells.is_of_several(own[0], cell)
        head = f"the controller of {cells.table_name(cell.group) if several else own[0].key.partition('.')[0]}"
        head += f", against {' and '.join(against)}" if against else ""
    else:
        head = cells.label(cell, ccas, None, [cell], collected.metric)
    return ", ".join([head, *(key.phrase(cell.vary[key.key]) for key in layout.panels if not key.is_cca)])
