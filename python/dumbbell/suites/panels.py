"""Pictures as data: the kinds of panels that an entry's `draw` lists, and the page that they stand on."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dumbbell.errors import wrong
from dumbbell.scenario.declare import Each, Forms, Sub, Table, Variant, key
from dumbbell.scenario.plain_kinds import SWITCH, Choice, whole

from . import cells, draw, heat, timed
from .table import Column
from .words import ANY_TABLE, NUMBER, TEXT, TEXTS, WORDS

if TYPE_CHECKING:
    from dumbbell.scenario.keytypes import Fixed

    from .table import Table as Points


def _title() -> Any:
    return key(WORDS, "above the panel", default="", varies=False)


def _figure() -> Any:
    return key(
        TEXT, "a figure (docs/metrics.md), `each ` and a figure: of every flow, or a metric of the suite", varies=False
    )


def _over(doc: str) -> Any:
    return key(TEXT, doc, varies=False)


def _place() -> Any:
    return key(ANY_TABLE, "only these places, as in claims; `case_name` is a line", default=None, varies=False)


class Panel(Variant):
    """One panel of a picture."""

    @abstractmethod
    def build(self) -> draw.Panel:
        """Build the panel."""


class Lines(Panel, form="lines"):
    """A figure against an axis, a line for each series."""

    over: Fixed[str] = _over("the axis")
    figure: Fixed[str] = _figure()
    lines: Fixed[tuple[str, ...]] = key(TEXTS, "which; default: all", default=(), varies=False)
    is_of_run: Fixed[bool] = key(SWITCH, "one line of the run as a whole", default=False, varies=False)
    at: Fixed[dict[str, Any] | None] = _place()
    having: Fixed[str | None] = key(TEXT, "only runs with a flow of this name", default=None, varies=False)
    spread: Fixed[str] = key(
        Choice("interval", "sd"), "bars: 95 % of the mean, or one standard deviation", default="interval", varies=False
    )
    log_y: Fixed[bool] = key(SWITCH, "whether the figure's axis is logarithmic", default=False, varies=False)
    low: Fixed[float | None] = key(
        NUMBER, "lower end of that axis, or further down where marks are", default=None, varies=False
    )
    high: Fixed[float | None] = key(NUMBER, "upper end, or further up where marks are", default=None, varies=False)
    colours: Fixed[str] = key(
        Choice("controllers", "lines"),
        "what has a colour of its own: a controller, whose variants are shades of it, or every line",
        default="controllers",
        varies=False,
    )
    title: Fixed[str] = _title()

    def build(self) -> draw.Panel:
        """Build the panel."""
        panel = draw.lines(
            self.over, self.figure, title=self.title, at=self.at, series=self.lines or None, is_of_run=self.is_of_run,
            spread=self.spread, log_y=self.log_y, low=self.low, high=self.high,
            by_label=self.colours == "lines",
        )  # fmt: skip
        name = self.having
        if name is None:
            return panel

        def own(table: Points, sheet: Any, ax: Any) -> None:
            panel(table.having(name), sheet, ax)

        return own


class Distribution(Panel, form="cdf"):
    """The distribution of a figure over flows and repetitions, a step line for each series."""

    figure: Fixed[str] = _figure()
    at: Fixed[dict[str, Any] | None] = _place()
    low: Fixed[float | None] = key(
        NUMBER, "left end of the axis, or further left where marks are", default=None, varies=False
    )
    high: Fixed[float | None] = key(NUMBER, "right end, or further right", default=None, varies=False)
    thinning: Fixed[bool] = key(
        SWITCH, "each next line thinner, where lines lie on each other", default=False, varies=False
    )
    title: Fixed[str] = _title()

    def build(self) -> draw.Panel:
        """Build the panel."""
        return draw.cdf(self.figure, title=self.title, at=self.at, low=self.low, high=self.high, thinning=self.thinning)


class Bars(Panel, form="bars"):
    """A figure of the flows, in groups by line."""

    figure: Fixed[str] = _figure()
    title: Fixed[str] = _title()

    def build(self) -> draw.Panel:
        """Build the panel."""
        return draw.bars(self.figure, title=self.title)


class Cell(Table):
    """A number in the cells of a heat map."""

    figure: Fixed[str] = _figure()
    line: Fixed[str | None] = key(TEXT, "of which line; default: of the run", default=None, varies=False)
    factor: Fixed[float] = key(NUMBER, "times this", default=1.0, varies=False)
    form: Fixed[str] = key(TEXT, "how it is written", default=".0f", varies=False)

    @property
    def number(self) -> heat.Number:
        """As the panel takes it."""
        return heat.Number(self.figure, self.line, self.factor, self.form)


class Heat(Panel, form="heat"):
    """A heat map over two axes."""

    over: Fixed[str] = _over("the axis across")
    up: Fixed[str] = _over("the axis up")
    value: Fixed[Cell] = key(Sub(Cell), "what the colour is", varies=False)
    below: Fixed[tuple[Cell, ...]] = key(
        Each(Cell, minimum=0, most=5), "what stands in the cells, instead of it", default=(), varies=False
    )
    low: Fixed[float] = key(NUMBER, "lower end of the colours", default=0.0, varies=False)
    high: Fixed[float] = key(NUMBER, "upper end of the colours", default=1.0, varies=False)
    first: Fixed[str] = key(
        Choice("lower", "upper"), "where the smallest of the axis up is", default="lower", varies=False
    )
    bar: Fixed[str] = key(WORDS, "title of the colours; default: the figure's", default="", varies=False)
    title: Fixed[str] = _title()

    def build(self) -> draw.Panel:
        """Build the panel."""
        return heat.heat(
            self.over, self.up, self.value.number, below=[cell.number for cell in self.below], title=self.title,
            low=self.low, high=self.high, bar=self.bar, first=self.first,
        )  # fmt: skip


_SERIES = {
    "goodput": timed.goodputs(),
    "arrivals": timed.arrivals,
    "rtt": timed.rtts,
    "packet_rtt": timed.packet_rtts,
    "waiting": timed.waits,
    "in_flight": timed.in_flights,
}


class OverTime(Panel, form="over_time"):
    """A line per flow over time, of one case or several with one flow each; with `cdf` the distribution over time."""

    figure: Fixed[str] = key(Choice(*_SERIES), "what", varies=False)
    axis: Fixed[str] = key(TEXT, "title of its axis", varies=False)
    at: Fixed[dict[str, Any] | None] = _place()
    cases: Fixed[tuple[str, ...]] = key(TEXTS, "lines of the entry", default=(), varies=False)
    cdf: Fixed[bool] = key(SWITCH, "the distribution instead", default=False, varies=False)
    rate: Fixed[bool] = key(SWITCH, "with the bottleneck's rate; not with `cdf`", default=False, varies=False)
    title: Fixed[str] = _title()

    def build(self) -> draw.Panel:
        """Build the panel."""
        series, place = _SERIES[self.figure], self.at or {}
        if self.cdf and self.rate:
            raise wrong("draw.rate", True, "false with cdf = true: a distribution has no time")
        if self.cdf:
            return timed.distribution(series, self.axis, place, cases=self.cases, title=self.title)
        return timed.over_time(series, self.axis, place, cases=self.cases, title=self.title, has_rate=self.rate)


class Estimate(Panel, form="estimate_and_queue"):
    """A controller's estimate of the bandwidth over time, the link's rate and its queue."""

    case: Fixed[str] = key(TEXT, "line of the entry", varies=False)
    at: Fixed[dict[str, Any] | None] = _place()
    title: Fixed[str] = _title()

    def build(self) -> draw.Panel:
        """Build the panel."""
        return timed.estimate_and_queue(self.at or {}, case=self.case, title=self.title)


class Own(Panel, form="own"):
    """A panel of the suite's `readings.py`."""

    name: Fixed[str] = key(TEXT, "its name there", varies=False)
    given: Fixed[dict[str, Any]] = key(ANY_TABLE, "what it is given", default={}, varies=False)

    def build_own(self, panels: Mapping[str, Any]) -> draw.Panel:
        """Build the panel of the suite's own."""
        if self.name not in panels:
            known = ", ".join(panels) or "there is none"
            raise wrong("draw.name", self.name, f"a panel of readings.py: {known}", list(panels))
        panel: draw.Panel = panels[self.name](**self.given)
        return panel


class Page(Table):
    """How panels stand on a page."""

    columns: Fixed[int] = key(whole(1, 10), "panels side by side", default=1, varies=False)
    height: Fixed[float] = key(NUMBER, "of a panel, inches", default=2.6, varies=False)
    width: Fixed[float | None] = key(NUMBER, "of the page, inches", default=None, varies=False)
    share_y: Fixed[bool] = key(SWITCH, "whether panels have one vertical axis", default=False, varies=False)


class CellColumn(Table):
    """A figure of a table of numbers."""

    figure: Fixed[str] = key(TEXT, "the metric that the claims name", varies=False)
    title: Fixed[str] = key(TEXT, "heading", varies=False)
    form: Fixed[str] = key(TEXT, "how it is written", default=".2f", varies=False)


class Cells(Table):
    """A table of numbers: ours and the paper's in each cell."""

    columns: Fixed[tuple[CellColumn, ...]] = key(Each(CellColumn, most=20), "its figures, a block each", varies=False)
    across: Fixed[str] = key(
        WORDS, "the axis of its columns; empty: a column for each figure", default="", varies=False
    )
    width: Fixed[float] = key(NUMBER, "of the page, inches", default=7.5, varies=False)
    abreast: Fixed[int] = key(whole(1, 10), "blocks side by side", default=1, varies=False)

    @property
    def of_table(self) -> list[Column]:
        """The columns as a table has them."""
        return [Column(column.figure, column.title, column.form) for column in self.columns]

    def build(self) -> draw.Draw:
        """Build the panel."""
        return cells.drawn(self.of_table, self.across, width=self.width, abreast=self.abreast)


def numbers(panels: Sequence[Panel], table: Points) -> tuple[list[str], list[list[str]]]:
    """Values of a picture's lines as a table for a terminal: heads, and a row for each place."""
    heads: list[str] = []
    columns: list[dict[float, str]] = []
    for panel in panels:
        if not isinstance(panel, Lines):
            continue
        heads = heads or [draw.AXES.get(panel.over, draw.Axis(panel.over)).title]
        source = table.having(panel.having) if panel.having else table
        case = (panel.at or {}).get("case_name")
        for line in (None,) if panel.is_of_run else panel.lines or source.lines():
            where = f" ({case})" if case and case != line else ""
            heads.append(f"{line or 'all flows'}{where}: {table.metric(panel.figure).axis_title}")
            readings = source.read(panel.figure, line, panel.at)
            columns.append({reading.at[panel.over]: f"{reading.mean:.4g}" for reading in readings})
    places = sorted({place for column in columns for place in column})
    return heads, [[f"{place:g}", *(column.get(place, "") for column in columns)] for place in places]


PANELS = Each(Forms(Panel), minimum=0, most=50)


def page(panels: Sequence[Panel], on: Page, own: Mapping[str, Any]) -> draw.Draw | None:
    """A picture of these panels; None of none."""
    if not panels:
        return None
    built = [panel.build_own(own) if isinstance(panel, Own) else panel.build() for panel in panels]
    return draw.page(*built, columns=on.columns, height=on.height, width=on.width, share_y=on.share_y)
