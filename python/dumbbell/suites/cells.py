"""The papers' tables of numbers: our value and the printed one in each cell, on a terminal and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.judge import HOLDS
from dumbbell.plots import lettering, style

from .draw import AXES
from .judge import within

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .claims import Claim
    from .draw import Draw
    from .places import Place
    from .table import Column, Table


class Cell(NamedTuple):
    """A number that the paper prints, with ours."""

    series: str
    at: Place
    metric: str
    paper: float
    ours: float
    agrees: bool
    """Whether ours is within the claim's tolerance."""


def is_cell(claim: Claim) -> bool:
    """True if a claim is a number of a table, and no sentence about it."""
    return claim.origin == "table" and claim.kind in ("value", "approx") and len(claim.series) == 1


def cells(table: Table) -> list[Cell]:
    """Every printed number of a table, once, in the paper's order; without those whose places `--at` left out."""
    by_place: dict[tuple[str, str, str], Cell] = {}
    for claim in table.text.claims:
        if not is_cell(claim) or claim.expected is None:
            continue
        if table.changed.at and not table.points_of(claim.series[0], claim.at):
            continue
        reading = table.read(claim.metric, claim.series[0], claim.at)[0]
        agrees = within(claim, claim.tol.of(table.kind)).judge(reading.sample).word == HOLDS
        cell = Cell(claim.series[0], claim.at, claim.metric, claim.expected, reading.mean, agrees)
        by_place.setdefault((cell.series, repr(cell.at), cell.metric), cell)
    return list(by_place.values())


def rows(table: Table, columns: Sequence[Column]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of a table for a terminal: a row per line and place; "ours (paper's)", and a star within the
    tolerance.
    """
    all_cells = cells(table)
    axes = list(dict.fromkeys(key for cell in all_cells for key in cell.at))
    lines = []
    for series, place in dict.fromkeys((cell.series, tuple(cell.at.items())) for cell in all_cells):
        mine = {cell.metric: cell for cell in all_cells if cell.series == series and tuple(cell.at.items()) == place}
        texts = [_text(mine[column.metric], column.form) if column.metric in mine else "" for column in columns]
        at = dict(place)
        lines.append([series, *(f"{at.get(key, '')}" for key in axes), *texts])
    return ["algorithm", *axes, *(column.title for column in columns)], lines


def _text(cell: Cell, form: str) -> str:
    return f"{cell.ours:{form}} ({cell.paper:{form}}){'*' if cell.agrees else ' '}"


def agreement(table: Table) -> str:
    """Say how many cells of each metric agree."""
    all_cells = cells(table)
    parts = []
    for metric in dict.fromkeys(cell.metric for cell in all_cells):
        own = [cell.agrees for cell in all_cells if cell.metric == metric]
        parts.append(f"{metric} {sum(own)} of {len(own)}")
    return ", ".join(parts)


def drawn(columns: Sequence[Column], across: str, *, width: float = 7.5, abreast: int = 1) -> Draw:
    """The table as a picture: a block for each metric, with a row per line (and value of the other axes) and a column
    per value of the axis `across`; without that axis one block with a column per metric. Ours stands above the paper's;
    cells outside of the tolerance are tinted.
    """

    @style.styled
    def draw(table: Table) -> Figure:
        all_cells = cells(table)
        blocks = [(column, [cell for cell in all_cells if cell.metric == column.metric]) for column in columns]
        heights = [len(_rows(own, across)) for _, own in blocks]
        deep = -(-len(blocks) // abreast)
        sheet = style.Sheet(None, {"width": width}, rows=deep, columns=abreast,
                            height=0.34 * max(heights) + 0.5, squeeze=False)  # fmt: skip
        for axes, (column, own) in zip(sheet.axes, blocks, strict=False):
            _block(axes, column, own, across)
            style.panel_title(sheet, axes, column.title)
        sheet.figure.suptitle(lettering.plain(f"{table.text.item}: {table.text.title}"), x=0.01, ha="left", fontsize=10)
        words = f"Above: ours; below: the paper's. Tinted: outside of the tolerance. Within it: {agreement(table)}."
        sheet.finish(" ".join([words, *(f"{remark[0].upper()}{remark[1:]}." for remark in table.remarks)]))
        return sheet.figure

    return draw


def _rows(all_cells: Sequence[Cell], across: str) -> list[tuple[Any, ...]]:
    return list(dict.fromkeys(_row(cell, across) for cell in all_cells))


def _row(cell: Cell, across: str) -> tuple[Any, ...]:
    return (cell.series, *(value for key, value in cell.at.items() if key != across))


def _block(ax: Any, column: Column, all_cells: Sequence[Cell], across: str) -> None:
    tall, wide = _rows(all_cells, across), list(dict.fromkeys(cell.at.get(across, "") for cell in all_cells))
    for cell in all_cells:
        x, y = wide.index(cell.at.get(across, "")), tall.index(_row(cell, across))
        if not cell.agrees:
            ax.add_patch(_box(x, y))
        ax.text(x, y - 0.2, f"{cell.ours:{column.form}}", ha="center", va="center", fontsize=6.5)
        ax.text(x, y + 0.22, f"{cell.paper:{column.form}}", ha="center", va="center", fontsize=6.5, color="#777777")
    ax.set_xlim(-0.5, len(wide) - 0.5)
    ax.set_ylim(len(tall) - 0.5, -0.5)
    ax.set_xticks(range(len(wide)), [str(tick) for tick in wide])
    ax.set_yticks(range(len(tall)), [", ".join(map(str, tick)) for tick in tall])
    if across:
        ax.set_xlabel(_axis_title(across))
    down = [_axis_title(key) for key in (all_cells[0].at if all_cells else ()) if key != across]
    if down:
        ax.set_ylabel(", ".join(["Algorithm", *down]))
    ax.grid(visible=False)
    ax.tick_params(length=0)


def _axis_title(axis: str) -> str:
    return AXES[axis].title if axis in AXES else axis


def _box(x: int, y: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.5, y - 0.5), 1, 1, color="#f4c7c3", lw=0)
