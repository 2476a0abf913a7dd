"""The figures of the papers: panels that read a `Table`, and the page that they stand on.

A panel is a function ``(table, sheet, axes)``; `page` puts panels side by side or below each other. Numbers that the
paper prints are drawn as rings in the line's colour, bounds as flat ends, at the place that the claim names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import controllers
from dumbbell.plots import lettering, look, style, ticks

from .places import matches
from .table import Reading, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .claims import Claim

Panel = Callable[[Table, style.Sheet, "Axes"], None]
Draw = Callable[[Table], "Figure"]


class Axis(NamedTuple):
    """Title of an axis, and whether it is logarithmic."""

    title: str
    log: bool = False


AXES = {
    "buffer_bdp": Axis("Buffer (BDP)", log=True),
    "loss_pct": Axis("Random loss (%)", log=True),
    "n_flows": Axis("Flows"),
    "rtt_ms": Axis("Propagation RTT (ms)"),
    "bandwidth_mbps": Axis("Rate (Mbit/s)"),
    "delay_ms": Axis("Propagation RTT (ms)"),
    "queue_packets": Axis("Queue (packets)"),
    "alpha_pct": Axis("Loss threshold (%)", log=True),
    "jitter_mean_ms": Axis("Mean jitter (ms)"),
    "case": Axis("Case"),
    "window_kb": Axis("Window (kB)"),
}

#: From this many repetitions on their interval says something; of fewer, each is shown.
INTERVAL_FROM = 4

#: The papers' names of controllers, and ours.
CONTROLLERS = {
    **{facts.name: name for name, facts in controllers.facts().items()},
    "Cubic": "cubic",
    "HTCP": "htcp",
    "BBRv1": "bbr",
    "BBR'": "bbr-drain",
    "BBR+": "bbr-hsr",
    "Tsunami": "tsunami-zhang",
    "Orca": "orca",
}


def page(
    *panels: Panel, columns: int = 1, height: float = 2.6, width: float | None = None, share_y: bool = False
) -> Draw:
    """A figure of these panels, row by row."""

    @style.styled
    def draw(table: Table) -> Figure:
        rows = -(-len(panels) // columns)
        sheet = style.Sheet(
            None,
            {"width": width},
            rows=rows,
            columns=columns,
            height=height,
            squeeze=False,
            sharey=share_y,
        )
        for axes, panel in zip(sheet.axes, panels, strict=False):
            panel(table, sheet, axes)
        for axes in sheet.axes[len(panels) :]:
            axes.set_visible(False)
        points = sheet.figure.get_figwidth() * 72 - 16
        title = lettering.wrapped(lettering.plain(f"{table.text.item}: {table.text.title}"), points, 10)
        sheet.figure.suptitle("\n".join(title), x=0.01, ha="left", fontsize=10)
        sheet.finish(_caption(table, sheet.explained))
        return sheet.figure

    return draw


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("s" if number > 1 else "")


def _caption(table: Table, explained: Sequence[str]) -> str:
    """Caption: how much was run, and the meaning of the marks."""
    runs = {len(point.runs) for point in table.points}
    plan = table.points[0].runs[0].plan
    seconds = sorted({point.runs[0].plan.duration_s for point in table.points})
    times = f"{seconds[0]:g} s" if len(seconds) == 1 else f"{seconds[0]:g} to {seconds[-1]:g} s"
    most = max(runs)
    words = [
        f"{_count(len(table.points), 'set-up')} of {times}, "
        + (f"{min(runs)} to {most} repetitions" if len(runs) > 1 else _count(most, "repetition")),
        *explained,
        *table.remarks,
        f"seed {plan.seed}",
    ]  # fmt: skip
    return "; ".join(words) + "."


def looks_of(labels: Sequence[str], *, by_label: bool = False) -> dict[str, dict[str, Any]]:
    """Colour, marker and dashes of each label: by controller where the labels name several, else, and with `by_label`,
    by label.
    """
    ccas = [_cca(label) for label in labels]
    if "" in ccas or by_label:
        ccas = [""] * len(labels)
    traits = [[look.Trait(cca, is_cca=bool(cca)), look.Trait(label)] for cca, label in zip(ccas, labels)]
    return {label: own.marked for label, own in zip(labels, look.dress(traits), strict=True)}


def _cca(label: str) -> str:
    """The controller whose name a label begins with; empty where it names none."""
    name = max((known for known in CONTROLLERS if label.startswith(known)), key=len, default=None)
    return CONTROLLERS[name] if name else ""


def colour(label: str) -> str:
    """The colour of the controller whose name a label begins with."""
    return look.of(_cca(label)).colour if _cca(label) else look.NEUTRAL


def lines(
    x: str,
    y: str,
    *,
    title: str = "",
    at: dict[str, Any] | None = None,
    series: Sequence[str] | None = None,
    is_of_run: bool = False,
    spread: str = "interval",
    log_y: bool = False,
    low: float | None = None,
    high: float | None = None,
    by_label: bool = False,
) -> Panel:
    """A metric against an axis, a line for each series; one neutral line of the run as a whole with `is_of_run`.
    `spread` is ``interval`` (95 % of the mean) or ``sd`` (one standard deviation over the repetitions); `by_label` as
    in `looks_of`.
    """

    def draw(table: Table, sheet: style.Sheet, ax: Axes) -> None:
        labels: list[str | None] = [None] if is_of_run else list(series or table.lines())
        looks = looks_of([label for label in labels if label], by_label=by_label)
        places: set[float] = set()
        for label in labels:
            if label and not is_of_run and not table.points_of(label, at):
                continue
            points = table.read(y, label, at)
            own = looks[label] if label else {"color": look.NEUTRAL, "marker": "o", "linestyle": "-"}
            places.update(point.at[x] for point in points)
            most = table.metric(y).most
            handle = _points(sheet, ax, points, x=x, spread=spread, most=most, own=own)
            if label or table.beside is not None:
                sheet.entry(handle, label or "all flows")
            if table.beside is not None:
                hollow = {**own, "markersize": 7, "markerfacecolor": "none", "linestyle": ":"}
                other = table.beside.read(y, label, at)
                handle = _points(sheet, ax, other, x=x, spread=spread, most=most, own=hollow)
                sheet.entry(handle, f"{label or 'all flows'}, {table.beside.back_end}")
            for claim in printed(table, y, label, at):
                _mark(sheet, ax, claim, x=x, places=places, shade=own["color"], is_beside=table.beside is not None)
        _axis(sheet, ax, AXES.get(x, Axis(x)), sorted(places))
        style.value_title(sheet, ax, table.metric(y).axis_title)
        if log_y:
            ax.set_yscale("log")
        ax.set_ylim(*((low, high) if log_y else _linear(ax, low or 0.0, high)))
        if title:
            style.panel_title(sheet, ax, title)

    return draw


def _linear(ax: Axes, low: float, high: float | None) -> tuple[float, float | None]:
    """The ends of an axis, further out where marks are, with room above the highest, in parts of the whole: a ring at
    its end would be cut.
    """
    lowest, highest = ax.dataLim.y0, ax.dataLim.y1
    if isfinite(lowest) and 0 <= lowest < low:
        low = max(lowest - 0.03 * (highest - lowest), 0.0)
    top = low + 1.06 * (highest - low)
    if not isfinite(top) or top <= low:
        return low, high
    return low, top if high is None or highest > high else high


def _points(
    sheet: style.Sheet,
    ax: Axes,
    points: Sequence[Reading],
    *,
    x: str,
    spread: str,
    most: float,
    own: dict[str, Any],
) -> Any:
    """A line through the means, with what shows how far the repetitions are apart."""
    line = sorted(points, key=lambda point: point.at[x])
    for point in line:
        if 1 < len(point.values) < INTERVAL_FROM:
            ax.plot([point.at[x]] * len(point.values), point.values, ".", color=own["color"], ms=3, alpha=0.6)
            sheet.explain("dots: each repetition")
    places, means = [point.at[x] for point in line], [point.mean for point in line]
    return ax.errorbar(places, means, yerr=_spreads(sheet, line, spread, most), capsize=2, **{"markersize": 4, **own})


def _spreads(
    sheet: style.Sheet, points: Sequence[Reading], spread: str, most: float
) -> tuple[list[float], list[float]] | None:
    """Lengths of the bars of points below and above them, cut to what is possible; None where there are too few
    repetitions.
    """
    if any(len(point.values) < INTERVAL_FROM for point in points):
        return None
    if spread == "sd":
        from statistics import pstdev

        sheet.explain("bars: one standard deviation over the repetitions")
        halves = [pstdev(point.values) if all(map(isfinite, point.values)) else 0.0 for point in points]
    else:
        sheet.explain("bars: 95 % interval of the mean")
        halves = [0.0 if isnan(point.half_width) else point.half_width for point in points]
    ends = list(zip(points, halves, strict=True))
    below = [min(half, point.mean) if point.mean >= 0 else half for point, half in ends]
    return below, [max(min(half, most - point.mean), 0.0) for point, half in ends]


def printed(table: Table, metric: str, label: str | None, at: dict[str, Any] | None = None) -> list[Claim]:
    """Claims with a number of this metric and line."""
    return [
        claim
        for claim in table.text.claims
        if claim.metric == metric
        and claim.read is None
        and claim.kind in ("value", "approx", "range")
        and (label in claim.series if label else not claim.series)
        and all(key not in claim.at or claim.at[key] == value for key, value in (at or {}).items())
    ]


def _mark(
    sheet: style.Sheet, ax: Axes, claim: Claim, *, x: str, places: set[float], shade: str, is_beside: bool
) -> None:
    """The paper's number or range at the places that the claim names: a cross beside hollow marks of another back end,
    which rings would look like.
    """
    for place in places:
        try:
            if not matches({x: place}, {key: value for key, value in claim.at.items() if key.startswith(x)}):
                continue
        except Exception:
            continue
        if claim.expected is not None:
            mark, word = ("x", "crosses") if is_beside else ("o", "rings")
            sheet.explain(f"{word}: the paper's numbers")
            ax.plot([place], [claim.expected], mark, mfc="none", mec=shade, ms=9, mew=1.2, zorder=5, ls="none")
        else:
            sheet.explain("flat ends: the paper's bounds")
            ends = [end for end in (claim.lower, claim.upper) if end is not None]
            ax.plot([place] * len(ends), ends, "-", color=shade, lw=1.2, marker="_", ms=11, zorder=5)


def _axis(sheet: style.Sheet, ax: Axes, axis: Axis, places: Sequence[Any]) -> None:
    ax.set_xlabel(axis.title)
    numbers = [place for place in places if isinstance(place, (int, float))]
    if axis.log and numbers and min(numbers) > 0 and max(numbers) > min(numbers):
        ax.set_xscale("log")
        ax.set_xticks(numbers, [f"{place:g}" for place in numbers])
        ax.minorticks_off()
    elif numbers and len(numbers) <= 12:
        ax.set_xticks(numbers, ticks.spaced(sheet, ax, numbers))


def cdf(
    y: str,
    *,
    title: str = "",
    at: dict[str, Any] | None = None,
    low: float | None = None,
    high: float | None = None,
    thinning: bool = False,
) -> Panel:
    """The distribution of a metric over flows and repetitions, or over repetitions, a step line for each series, also
    of another back end. With `thinning` each next line is thinner, so that it does not hide one that is the same.
    """

    def draw(table: Table, sheet: style.Sheet, ax: Axes) -> None:
        labels = table.lines()
        looks = looks_of(labels)
        tables = [(table, ""), *([(table.beside, f", {table.beside.back_end}")] if table.beside else [])]
        lines = [(source, label, label + suffix) for source, suffix in tables for label in labels]
        for i, (source, label, name) in enumerate(lines):
            steps = _distribution(source, y, label, at)
            if steps:
                dashes = {"linestyle": ":"} if source is not table else {}
                own = {key: value for key, value in looks[label].items() if not key.startswith("marker")}
                if thinning:
                    own["linewidth"] = _THICKEST - (_THICKEST - _THINNEST) * i / max(len(lines) - 1, 1)
                (handle,) = ax.step(*steps, where="post", **{**own, **dashes})
                sheet.entry(handle, name)
        ax.set_ylim(0, 1.02)
        if low is not None and ax.dataLim.x0 >= low:
            ax.set_xlim(left=low)
        if high is not None and ax.dataLim.x1 <= high:
            ax.set_xlim(right=high)
        ax.set_xlabel(table.metric(y).axis_title)
        style.value_title(sheet, ax, "CDF")
        if title:
            style.panel_title(sheet, ax, title)

    return draw


#: Widths of step lines, points: of the last one and of the first.
_THINNEST, _THICKEST = 1.2, 2.8


def _distribution(
    table: Table, y: str, label: str, at: dict[str, Any] | None
) -> tuple[list[float], list[float]] | None:
    """Values and heights of a step line; None where no run has the metric."""
    values: list[float] = []
    for _, of_runs, _ in table.raw(y, label, at):
        for of_run in of_runs:
            values.extend(of_run if isinstance(of_run, list) else [of_run])
    finite = sorted(value for value in values if isfinite(value))
    return ([finite[0], *finite], [0.0, *((i + 1) / len(values) for i in range(len(finite)))]) if finite else None


def bars(y: str, *, title: str = "") -> Panel:
    """A metric of the flows' lines, in groups by case."""

    def draw(table: Table, sheet: style.Sheet, ax: Axes) -> None:
        cases = [point.series or "" for point in table.points]
        names = list(dict.fromkeys(flow.name for point in table.points for flow in point.runs[0].plan.flows))
        width, looks = 0.8 / len(names), looks_of(names)
        for i, name in enumerate(names):
            points = [table.read(y, name, {"case_name": case})[0] for case in cases]
            places = [k + (i - (len(names) - 1) / 2) * width for k in range(len(cases))]
            high = [point.mean for point in points]
            lengths = _spreads(sheet, points, "interval", table.metric(y).most)
            handle = ax.bar(places, high, width, color=looks[name]["color"], yerr=lengths, capsize=2)
            sheet.entry(handle, name)
        ax.set_xticks(range(len(cases)), cases)
        style.value_title(sheet, ax, table.metric(y).axis_title)
        if title:
            style.panel_title(sheet, ax, title)

    return draw
