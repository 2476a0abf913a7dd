"""How figures look: one colour per controller in every figure, readable in print and for colour-blind readers."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from dumbbell.errors import ResultError
from dumbbell.units import value_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dumbbell.results import Result, Results

#: Okabe and Ito, "Color Universal Design" (2008).
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C6D31")

#: A controller keeps its colour whatever else is in the figure.
COLOURS = {
    "cubic": PALETTE[0],
    "bbr": PALETTE[1],
    "reno": PALETTE[2],
    "bbr2": PALETTE[3],
    "bbr2plus": PALETTE[5],
    "bbr3": PALETTE[4],
    "bbrplus": PALETTE[7],
    "dctcp": PALETTE[6],
    "htcp": PALETTE[5],
    "vegas": PALETTE[2],
    "bbr-drain": PALETTE[3],
    "bbr-hsr": PALETTE[4],
    "tsunami": PALETTE[6],
    "tsunami-zhang": PALETTE[7],
}

#: As the field writes them.
NAMES = {
    "cubic": "CUBIC",
    "bbr": "BBR",
    "reno": "Reno",
    "bbr2": "BBRv2",
    "bbr2plus": "BBRv2+",
    "bbr3": "BBRv3",
    "bbrplus": "BBRPlus",
    "dctcp": "DCTCP",
    "htcp": "H-TCP",
    "vegas": "Vegas",
    "bbr-drain": "BBR-drain",
    "bbr-hsr": "BBR-HSR",
    "tsunami": "Tsunami",
    "tsunami-zhang": "Tsunami (Zhang)",
}

MARKERS = {"cubic": "o", "bbr": "s", "reno": "^", "bbr2": "D", "bbr2plus": "v", "bbr3": "P", "bbrplus": "X", "dctcp": "*"}

LINES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))

#: Width of a figure in inches: text width of a two-column paper.
WIDTH = 7.0

#: Characters that fit beside each other above the axes, the lines' samples (7 characters each) included.
LEGEND_WIDTH = 110
#: Runs with more flows than this get one legend entry per controller.
FLOWS_NAMED = 6

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
    "figure.dpi": 110,
    "savefig.dpi": 200,
    "svg.hashsalt": "dumbbell",
    "pdf.fonttype": 42,
}


P = ParamSpec("P")
R = TypeVar("R")


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Give a drawing function this style, whatever the caller's own settings are."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> R:
        import matplotlib as mpl

        with mpl.rc_context(RC):
            return draw(*args, **kwargs)

    return drawn


def colour(cca: str) -> str:
    """The controller's colour; one that is not listed gets a fixed one by its name."""
    if not cca:
        return "#333333"  # a line of the run as a whole
    return COLOURS.get(cca) or PALETTE[sum(cca.encode()) % len(PALETTE)]


def shade(cca: str, nth: int, count: int) -> str:
    """The controller's colour for the nth of `count` flows: darker for the first ones, lighter for the last ones."""
    from matplotlib.colors import to_hex, to_rgb

    if count == 1:
        return colour(cca)
    part = nth / (count - 1)  # from 0.7 of the colour on black to 0.6 of it on white
    strength, white = (0.7 + 0.6 * part, 0.0) if part <= 0.5 else (1.4 - 0.8 * part, 0.8 * part - 0.4)
    red, green, blue = to_rgb(colour(cca))
    return to_hex((red * strength + white, green * strength + white, blue * strength + white))


def name(cca: str) -> str:
    """The controller's name as papers write it."""
    return NAMES.get(cca, cca)


def figure(rows: int = 1, columns: int = 1, *, height: float = 2.8, **options: Any) -> tuple[Figure, Any]:
    """A new figure with its axes; made without pyplot, so nothing is left open and no display is needed."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(WIDTH, height * rows), layout="constrained")
    FigureCanvasAgg(made)
    return made, made.subplots(rows, columns, **options)


def axes(ax: Axes | None, *, height: float = 2.8) -> Axes:
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    made: Axes = figure(height=height)[1]
    return made


@styled
def save(made: Figure, path: Any) -> None:
    """Write the figure; the file holds no date, so the same results make the same file."""
    suffix = str(path).rsplit(".", 1)[-1]
    metadata: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(suffix, {})
    made.savefig(path, metadata=metadata)


def one(results: Results | Result) -> Result:
    """The only run of the results."""
    from dumbbell.results import Result

    if isinstance(results, Result):
        return results
    if len(results) != 1:
        names = ", ".join(run.folder.name for run in results[:4])
        raise ResultError(f"{len(results)} runs, and this plot shows one: choose it with --run NAME ({names}{', ...' if len(results) > 4 else ''})")
    return results[0]


def flow_styles(result: Result) -> list[dict[str, Any]]:
    """Colour, line and label of each flow's line."""
    names = [flow.cca for flow in result.plan.flows]
    rtts = [flow.rtt_ns / 1e6 for flow in result.plan.flows]
    seen: dict[str, int] = {}
    styles = []
    for cca, rtt in zip(names, rtts):
        nth = seen[cca] = seen.get(cca, -1) + 1
        style: dict[str, Any] = {"color": shade(cca, nth, names.count(cca)), "linestyle": LINES[nth % len(LINES)], "label": name(cca)}
        if len(names) > FLOWS_NAMED:
            style |= {
                "color": colour(cca),
                "linestyle": "-",
                "alpha": 0.35,
                "linewidth": 0.7,
                "label": "_" if nth else f"{name(cca)} ({names.count(cca)} flows)",
            }
        elif names.count(cca) > 1:
            style["label"] = f"{name(cca)} {nth + 1}" + (f" ({rtt:g} ms)" if len(set(rtts)) > 1 else "")
        elif len(set(rtts)) > 1:
            style["label"] = f"{name(cca)} ({rtt:g} ms)"
        styles.append(style)
    return styles


def caption(result: Result) -> str:
    """What was run, for a title: path, buffer, varied values."""
    link = result.plan.bottleneck
    vary = ", ".join(f"{key.removeprefix('path.')} = {value_text(value)}" for key, value in result.vary.items())
    return f"{result.name}: {link.rate_bps / 1e6:g} Mbit/s, {link.qdisc.kind}" + (f", {vary}" if vary else "")


def time_axis(ax: Axes, result: Result) -> None:
    """Time in seconds along x, from the start of the run to its end."""
    ax.set_xlim(0, result.plan.duration_s)
    ax.set_xlabel("Time (s)")


def log_axis(ax: Axes) -> None:
    """A logarithmic x axis with plain numbers at 1, 2 and 5 of each decade."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def legend(ax: Axes, *, title: str = "", columns: int = 6) -> None:
    """A legend above the axes, headed by what was run."""
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        fits = max(1, LEGEND_WIDTH // (max(map(len, labels)) + 7))
        made = ax.legend(
            handles,
            labels,
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=min(len(labels), columns, fits),
            handlelength=2.6,
            borderaxespad=0.2,
            title=title,
            alignment="left",
        )
        made.get_title().set(fontsize=7, color="#555555")
        for line in made.get_lines():
            line.set_alpha(1)
            line.set_linewidth(1.4)
