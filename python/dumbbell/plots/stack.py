"""Several figures over time, one above the other, on one time axis and with one legend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from . import lettering, style

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dumbbell.results.load import Result


@style.styled
def stack(
    rows: Sequence[tuple[Callable[..., Axes], Result]],
    *,
    names: Sequence[str] = (),
    same_scale: bool = False,
    panel_height: float = 1.9,
    heights: Sequence[float] | None = None,
    **page: Unpack[style.Page],
) -> Figure:
    """A figure with a row for each drawing function and run, such as ``(plot.goodput, result)``.

    Parameters
    ----------
    rows
        Functions of one run that take `ax`, and the runs that they draw.
    names
        A word above the right end of each row.
    same_scale
        Whether all rows have the axis of the one that needs most.
    panel_height
        Height of a row in inches, unless a height of the page is given.
    heights
        Parts of the height that the rows have; the same unless given.
    """
    sheet = style.Sheet(None, page, rows=len(rows), height=panel_height, sharex=True, height_ratios=heights)
    captions: list[str] = []
    for ax, (draw, result) in zip(sheet.axes, rows, strict=True):
        draw(result, ax=ax)
        for handle, label in style.entries_of(ax):
            sheet.entry(handle, label)
        captions.append(style.caption_of(ax))
        if legend := ax.get_legend():
            legend.remove()
    for ax, name in zip(sheet.axes, names):
        ax.text(1, 1.02, lettering.plain(name), transform=ax.transAxes, ha="right", va="bottom", fontweight="bold")
    for ax in sheet.axes[:-1]:
        ax.set_xlabel("")
    if same_scale:
        top = max(ax.get_ylim()[1] for ax in sheet.axes)
        for ax in sheet.axes:
            ax.set_ylim(top=top)
    sheet.figure.align_ylabels([ax for ax in sheet.axes if ax.get_ylabel()])
    sheet.finish(captions[0])
    return sheet.figure
