"""Fairness against CUBIC (Figs. 4, 10, 19) and between two RTTs (Figs. 5, 20)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dumbbell.results.columns import sample_column
from dumbbell.suites import draw, measure
from dumbbell.suites.compared import compared, minus
from dumbbell.suites.draw import lines, page
from dumbbell.suites.table import Case, Entry, Profile, Reading, Table

from .testbed import COMMON, as_another, flow, scenario, variant

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dumbbell.plots import style
    from dumbbell.results.load import Result
    from dumbbell.suites.claims import Claim
    from dumbbell.suites.table import Tables

#: The text names 0.2 and 2 BDP.
BUFFERS = (0.2, 0.5, 1, 2, 4, 8, 16)

CHOICES = {
    **COMMON,
    "buffers": "0.2 to 16 BDP: the text names 0.2 and 2, and speaks of deep ones",
    "start": "both flows at once, as printed",
}


def _table(label: str) -> dict[str, Any]:
    return variant(20 if "20" in label else 2) if "(" in label and "%" in label else flow(label)


def _against_cubic(*labels: str) -> Any:
    def cases(_: Profile) -> Iterator[Case]:
        for label in labels:
            for buffer in BUFFERS:
                made = scenario([_table(label), flow("CUBIC")], duration="180s", repetitions=5,
                                buffer=f"{buffer:g}bdp", record={"samples": True})  # fmt: skip
                yield Case(None, {"buffer_bdp": buffer}, made)

    return cases


def _of(label: str, table: Table) -> Table:
    """The runs that a line is in: `CUBIC` is in those of all opponents."""
    points = [point for point in table.points if any(one.name == label for one in point.runs[0].plan.flows)]
    return table.of(points)


def beside_cubic(label: str) -> Any:
    """CUBIC's figure, and then this flow's, in their common runs."""

    def read(table: Table, claim: Claim, _: Tables) -> list[list[Reading]]:
        own = _of(label, table)
        return [own.read(claim.metric, name, claim.at) for name in ("CUBIC", label)]

    return read


def largest_in_flight(result: Result, label: str | None) -> float:
    """95th percentile over time of what is in flight, in BDP of the path."""
    return _in_flight(result, label, 95)


def median_in_flight(result: Result, label: str | None) -> float:
    """Median over time of what is in flight, in BDP of the path."""
    return _in_flight(result, label, 50)


def _in_flight(result: Result, label: str | None, percentile: float) -> float:
    import numpy as np

    found = [sample_column(result, i, "in_flight") for i in measure.flows(result, label)]
    frames = np.concatenate(found)
    frames = frames[~np.isnan(frames)]
    bdp = result.plan.bottleneck.rate_bps / 8 * result.plan.flows[0].rtt_ns / 1e9
    return float(np.percentile(frames, percentile)) * 1514 / bdp if frames.size else float("nan")


def _jain_of_all(result: Result, _: str | None) -> float:
    """Jain's index of both flows, whichever of them names the line."""
    return measure.jain(result, None)


METRICS = {"jain": _jain_of_all, "max_inflight_bdp": largest_in_flight}


def _with_cubic(*labels: str) -> draw.Draw:
    """Throughput of both flows, and Jain's index, for each of these lines."""

    def own(label: str, panel: draw.Panel) -> draw.Panel:
        def drawn(table: Table, sheet: style.Sheet, ax: Axes) -> None:
            panel(_of(label, table), sheet, ax)

        return drawn

    panels: list[draw.Panel] = []
    for label in labels:
        throughput = lines("buffer_bdp", "throughput_mbps", series=(label, "CUBIC"), high=40)
        panels += [
            own(label, throughput),
            own(label, lines("buffer_bdp", "jain", is_of_run=True, low=0.45, high=1.02)),
        ]
    return page(*panels, columns=2, height=2.3)


def _two_rtts(*labels: str) -> Any:
    def cases(profile: Profile) -> Iterator[Case]:
        for label in labels:
            for buffer in BUFFERS:
                tables = [{**flow(label), "name": f"{rtt} ms", "rtt": f"{rtt}ms"} for rtt in (40, 150)]
                made = scenario(tables, duration="180s", repetitions=profile.pick(5, 3), buffer=f"{buffer:g}bdp",
                                rtt="150ms", record={"samples": True})  # fmt: skip
                yield Case(label, {"buffer_bdp": buffer}, made)

    return cases


def probe_rtts(result: Result, _: str | None) -> float:
    """Entries into PROBE_RTT of a flow in a minute, mean over the flows; each lasts for two samples and more."""
    states, of = result.samples["cca_state"].to_pylist(), result.samples["flow"].to_pylist()
    last: dict[int, str] = {}
    entries = 0
    for state, number in zip(states, of, strict=True):
        entries += state == "PROBE_RTT" and last.get(number) != "PROBE_RTT"
        last[number] = state
    return entries / len(result.plan.flows) / (result.plan.duration_s / 60)


def _of_both_rtts(label: str) -> draw.Draw:
    at = {"case_name": label}
    return page(
        lines("buffer_bdp", "throughput_mbps", series=("40 ms", "150 ms"), at=at, high=40),
        lines("buffer_bdp", "jain", series=(label,), low=0.45, high=1.02),
        columns=2,
        height=2.3,
    )


def _pair(labels: Sequence[str], shown: Sequence[str], **more: Any) -> Entry:
    return Entry(cases=_against_cubic(*labels), draw=_with_cubic(*shown), choices=CHOICES, metrics=METRICS, **more)


def _rtts(labels: Sequence[str], shown: str, **more: Any) -> Entry:
    choices = {**CHOICES, "buffers": CHOICES["buffers"] + ". A BDP is that of the path of 150 ms, as printed"}
    metrics = {"probertt_entries_per_minute": probe_rtts}
    return Entry(cases=_two_rtts(*labels), draw=_of_both_rtts(shown), choices=choices, metrics=metrics, **more)


_DEFAULT, _BOLD = "BBRv2(2%,0.3)", "BBRv2(20%,0.3)"
_OFF = "BBRv2+ (dual mode off)"


def _better(table: Table, metric: str, at: Any) -> list[Reading]:
    """The larger of BBRv1's and BBRv2's figure."""
    one, other = (table.read(metric, label, at) for label in ("BBRv1", "BBRv2"))
    return [max(pair, key=lambda reading: reading.mean) for pair in zip(one, other, strict=True)]


ENTRIES = {
    "fig4a": _pair(
        ["BBRv1", "BBRv2"],
        ["BBRv1"],
        read={"c1": beside_cubic("BBRv1")},
    ),
    "fig4b": _pair(
        ["BBRv1", "BBRv2"],
        ["BBRv2"],
        series={f"{label} vs CUBIC": as_another(label) for label in ("BBRv1", "BBRv2")},
        read={"c3": beside_cubic("BBRv2")},
    ),
    "fig5a": _rtts(["BBRv1"], "BBRv1"),
    "fig5b": _rtts(["BBRv1", "BBRv2"], "BBRv2"),
    "fig10": _pair([_DEFAULT, _BOLD], [_BOLD]),
    "fig19a": _pair([_OFF], [_OFF]),
    "fig19b": _pair(
        ["BBRv2+", _OFF, _BOLD, "BBRv1", "BBRv2"],
        ["BBRv2+"],
        series={"max(BBRv1,BBRv2)": _better},
        read={"c3": compared("jain", "BBRv2+", _BOLD, minus)},
    ),
    "fig20": _rtts(["BBRv2+", "BBRv1", "BBRv2"], "BBRv2+", read={"c2": compared("jain", "BBRv2+", "BBRv2", minus)}),
}
