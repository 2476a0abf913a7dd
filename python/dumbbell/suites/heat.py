"""Heat maps of the papers: a colour, and numbers in the cells, over two axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.plots import style

from .draw import AXES, Axis, Panel
from .table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Number(NamedTuple):
    """A number in the cells of a heat map: metric and line, and its factor."""

    metric: str
    label: str | None
    factor: float = 1.0
    form: str = ".0f"


def heat(
    x: str,
    y: str,
    value: Number,
    *,
    below: Sequence[Number] = (),
    title: str = "",
    low: float = 0.0,
    high: float = 1.0,
    bar: str = "",
    first: str = "lower",
) -> Panel:
    """A heat map: the colour is one number, which stands in the cell too unless others are given to stand there. The
    row of the smallest `y` is the `first` from below or above: ``lower`` or ``upper``.
    """

    def draw(table: Table, sheet: style.Sheet, ax: Axes) -> None:
        means = {
            (point.at[x], point.at[y]): point.mean * value.factor for point in table.read(value.metric, value.label)
        }
        columns, rows = sorted({cell[0] for cell in means}), sorted({cell[1] for cell in means})
        grid = [[means.get((column, row), float("nan")) for column in columns] for row in rows]
        image = ax.imshow(
            grid, origin="lower" if first == "lower" else "upper", aspect="auto", cmap="viridis", vmin=low, vmax=high
        )
        texts: dict[Any, list[str]] = {cell: [] for cell in means}
        for number in below or (value,):
            for point in table.read(number.metric, number.label):
                texts[point.at[x], point.at[y]].append(format(point.mean * number.factor, number.form))
        for (column, row), words in texts.items():
            shade = (means[column, row] - low) / ((high - low) or 1)
            text = words[0] if len(words) == 1 else words[0] + "\n" + " | ".join(words[1:])
            ax.text(columns.index(column), rows.index(row), text, ha="center", va="center", fontsize=6.5,
                    color="black" if shade > 0.6 else "white")  # fmt: skip
        ax.set_xticks(range(len(columns)), [f"{column:g}" for column in columns])
        ax.set_yticks(range(len(rows)), [f"{row:g}" for row in rows])
        ax.grid(visible=False)
        ax.set_xlabel(AXES.get(x, Axis(x)).title)
        ax.set_ylabel(AXES.get(y, Axis(y)).title)
        sheet.figure.colorbar(image, ax=ax, label=bar or table.metric(value.metric).axis_title)
        if title:
            style.panel_title(sheet, ax, title)

    return draw
