"""A metric against a varied value: one line per controller, repetitions as a 95 % confidence interval, Jain's index above if asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import units
from dumbbell.errors import ResultError, wrong
from dumbbell.metrics import mean_interval

from . import style

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from dumbbell.manifest import Summary
    from dumbbell.results import Result, Results


Kind = tuple[str, str]
"""Flows of one line: controller, and the RTT where flows of a run differ in it."""

RUN: Kind = ("", "")


class Metric(NamedTuple):
    """A figure of a run: `read` gives it from the summary per kind of flow, or under `RUN` for the run as a whole."""

    label: str
    read: Callable[[Summary], dict[Kind, float]]


def _flows(name: str, *, total: bool) -> Callable[[Summary], dict[Kind, float]]:
    """Sum or mean of a flow's figure over the flows of a kind."""

    def read(summary: Summary) -> dict[Kind, float]:
        grouped: dict[Kind, list[float]] = {}
        mixed = len({flow.rtt_ms for flow in summary.flows}) > 1
        for flow in summary.flows:
            if flow[name] is not None:
                grouped.setdefault((flow.cca, f"{flow.rtt_ms:g} ms" if mixed else ""), []).append(flow[name])
        return {kind: sum(values) / (1 if total else len(values)) for kind, values in grouped.items()}

    return read


def _link(summary: Summary, name: str) -> dict[Kind, float]:
    """A figure of the bottleneck; nothing where it has none."""
    value = summary.link[name]
    return {} if value is None else {RUN: value}


METRICS = {
    "throughput": Metric("Throughput (Mbit/s)", _flows("goodput_mbps", total=True)),
    "share": Metric("Share of goodput", _flows("share", total=True)),
    "retrans_rate": Metric("Retransmission rate", _flows("retrans_rate", total=False)),
    "srtt": Metric("Smoothed RTT, mean (ms)", _flows("srtt_mean_ms", total=False)),
    "fct": Metric("Completion time (s)", _flows("fct_s", total=False)),
    "jain": Metric("Jain's index", lambda summary: {} if summary.jain is None else {RUN: summary.jain}),
    "utilization": Metric("Utilization", lambda summary: {RUN: summary.link.utilization}),
    "queue": Metric("Queueing delay, mean (ms)", lambda summary: _link(summary, "queue_mean_ms")),
    "queue_p95": Metric("Queueing delay, 95th percentile (ms)", lambda summary: _link(summary, "sojourn_p95_ms")),
    "marks": Metric("CE marks at the bottleneck", lambda summary: _link(summary, "marks")),
    "owd": Metric("One-way delay, mean (ms)", _flows("owd_mean_ms", total=False)),
    "owd_p95": Metric("One-way delay, 95th percentile (ms)", _flows("owd_p95_ms", total=False)),
    "drop_rate": Metric("Drop rate at the bottleneck", lambda summary: {RUN: summary.link.drop_rate}),
}


@style.styled
def vary(results: Results, *, ax: Axes | None = None, metric: str = "throughput", x: str | None = None) -> Axes:
    """Draw a metric against the varied key `x`.

    Parameters
    ----------
    results
        The runs of a sweep; what else they vary makes lines of its own.
    ax
        Axes to draw into; a new figure unless given.
    metric
        A name in `METRICS`.
    x
        The varied key along x, such as ``path.buffer``; unless given, the buffer if it varies, else the first key with numbers.
    """
    if metric not in METRICS:
        raise wrong("--metric", metric, "one of: " + ", ".join(METRICS), list(METRICS))
    key = _axis(results, x)
    ax = style.axes(ax, height=3.2)
    scale = _Scale(key, results.varied()[key])
    lines = _lines(results, METRICS[metric].read, key, scale)
    drawn: dict[str, int] = {}
    for label, cca, points in lines:
        points.sort()
        spans = [mean_interval(values) for _, values in points]
        nth = drawn[cca] = drawn.get(cca, -1) + 1
        look: dict[str, Any] = {"color": style.shade(cca, nth, sum(line[1] == cca for line in lines)), "marker": style.MARKERS.get(cca, "o")}
        errors = [span.half_width for span in spans] if any(len(values) > 1 for _, values in points) else None
        ax.errorbar(
            [at for at, _ in points],
            [span.mean for span in spans],
            yerr=errors,
            capsize=2,
            markersize=4.5,
            label=label,
            linestyle=style.LINES[nth % len(style.LINES)],
            **look,
        )
    scale.apply(ax)
    ax.set_ylabel(METRICS[metric].label)
    ax.set_ylim(bottom=0, top=1.05 if metric in ("share", "jain", "utilization") else None)
    style.legend(ax)
    return ax


@style.styled
def vary_with_jain(results: Results, *, metric: str = "throughput", x: str | None = None) -> Axes:
    """Jain's index above, the metric below, on one x axis (the layout of Kfoury et al., Fig. 11); returns the lower axes."""
    _, (above, below) = style.figure(2, 1, height=2.3, sharex=True)
    vary(results, ax=above, metric="jain", x=x)
    vary(results, ax=below, metric=metric, x=x)
    above.set_xlabel("")
    return below  # type: ignore[no-any-return]


def _axis(results: Results, x: str | None) -> str:
    varied = {key: values for key, values in results.varied().items() if len(values) > 1}
    if x is not None:
        if x not in varied:
            raise wrong("--x", x, "a varied key: " + (", ".join(varied) or "none varies here"), list(varied))
        return x
    for key, values in varied.items():
        if key == "path.buffer" or _Scale(key, values).numeric:
            return key
    if varied:
        return next(iter(varied))
    raise ResultError("no key varies in these results; a list in place of a value in the scenario makes it vary")


Line = tuple[str, str, list[tuple[float, list[float]]]]


def _lines(results: Results, read: Callable[[Summary], dict[Kind, float]], key: str, scale: _Scale) -> list[Line]:
    """(label, controller, [(x, values of the repetitions)]) of each line."""
    found: dict[tuple[str, str], dict[float, list[float]]] = {}
    for run in results:
        rest = ", ".join(f"{k.removeprefix('path.')} = {units.value_text(v)}" for k, v in run.vary.items() if k != key and not k.endswith(".cca"))
        for (named, rtt), value in read(run.summary).items():
            cca = named or _only(run)
            label = ", ".join(part for part in (style.name(cca) if cca else _mix(run), rtt, rest) if part)
            found.setdefault((label, cca), {}).setdefault(scale.position(run.vary[key]), []).append(value)
    return [(label, cca, list(points.items())) for (label, cca), points in found.items()]


def _only(run: Result) -> str:
    """The controller of all flows of a run, or nothing where they differ."""
    names = {flow.cca for flow in run.plan.flows}
    return names.pop() if len(names) == 1 else ""


def _mix(run: Result) -> str:
    """The controllers of a run, where only these vary from line to line."""
    return " + ".join(style.name(cca) for cca in dict.fromkeys(flow.cca for flow in run.plan.flows))


class _Scale:
    """Positions of a varied key's values: numbers in one unit where all have one, else places in their order."""

    def __init__(self, key: str, values: list[Any]) -> None:
        self.values, self.label = values, key
        self.numbers: list[float] = []
        for label, parse in _READERS:
            try:
                self.numbers = [parse(value) for value in values]
            except (ValueError, TypeError):
                continue
            self.label = f"{key.rsplit('.', 1)[-1].capitalize()}{label}"
            break

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers."""
        return bool(self.numbers)

    @property
    def _logarithmic_from(self) -> float | None:
        """Least positive number where the axis is logarithmic: buffers in BDP from a factor of 4, all else from a factor of 20."""
        positive = [number for number in self.numbers if number > 0]
        wide = positive and max(positive) / min(positive) >= (4 if self.label.endswith("(BDP)") else 20)
        return min(positive) if wide and min(self.numbers) >= 0 else None

    def position(self, value: Any) -> float:
        """Where a value stands on the axis."""
        index = self.values.index(value)
        return self.numbers[index] if self.numeric else float(index)

    def apply(self, ax: Axes) -> None:
        """Scale, ticks and label of the x axis."""
        ax.set_xlabel(self.label)
        least = self._logarithmic_from
        if least is not None:
            from matplotlib.ticker import NullLocator

            if min(self.numbers) > 0:
                ax.set_xscale("log")
            else:  # zero has its place, left of the least number
                ax.set_xscale("symlog", linthresh=least, linscale=0.5)
            ax.xaxis.set_minor_locator(NullLocator())
        if len(self.values) <= 12:
            ax.set_xticks(self.numbers if self.numeric else range(len(self.values)))
            ax.set_xticklabels([f"{n:g}" for n in self.numbers] if self.numeric else [units.value_text(v) for v in self.values])


def _bdp(value: Any) -> float:
    measure, numerator, denominator = units.buffer(value)
    if measure != "bdp":
        raise ValueError(value)
    return float(numerator) / denominator


def _packets(value: Any) -> float:
    measure, numerator, _ = units.buffer(value)
    if measure != "pkt":
        raise ValueError(value)
    return float(numerator)


def _number(value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise ValueError(value)


_READERS: tuple[tuple[str, Callable[[Any], float]], ...] = (
    (" (BDP)", _bdp),
    (" (packets)", _packets),
    ("", _number),
    (" (ms)", lambda value: units.span_ns(value) / 1e6),
    (" (Mbit/s)", lambda value: units.rate_bps(value) / 1e6),
    (" (%)", lambda value: units.loss_ppb(value) / 1e7),
    (" (kB)", lambda value: units.size_bytes(value) / 1e3),
)
