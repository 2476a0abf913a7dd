"""Metrics and readings of Kfoury et al. 2020's own, and the panels of Fig. 12."""

from __future__ import annotations

from math import inf, isclose
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.results import metrics
from dumbbell.results.columns import sample_column
from dumbbell.suites import draw, measure, phases
from dumbbell.suites.measure import Metric
from dumbbell.suites.table import Reading

if TYPE_CHECKING:
    from dumbbell.results.load import Result
    from dumbbell.suites.claims import Claim
    from dumbbell.suites.table import Table, Tables


def capacity_used(result: Result, _: str | None) -> float:
    """Link utilization as Section 5.1 has it: the sum of the flows' goodput over the capacity of the link."""
    return sum(flow.goodput_mbps for flow in result.summary.flows) * 1e6 / result.plan.bottleneck.rate_bps


def mean_retransmitted(result: Result, label: str | None) -> float:
    """The average of the retransmission rates of the flows, per cent, as Section 5.6 has it."""
    return 100 * fmean(metrics.retransmission_rate(result, [i]) for i in measure.flows(result, label))


def completion_times(result: Result, label: str | None) -> list[float]:
    """Completion time of each flow, s; inf where it did not complete."""
    times = (result.summary.flows[i].fct_s for i in measure.flows(result, label))
    return [inf if time is None else time for time in times]


METRICS = {
    **phases.METRICS,
    "capacity_used": Metric("Goodput over the capacity", "", capacity_used),
    "retrans_flow_mean": Metric("Retransmitted segments of a flow, mean", "%", mean_retransmitted),
    "each_fct": Metric("Completion time", "s", completion_times),
    "fct": Metric("Completion time, mean", "s", lambda result, label: fmean(completion_times(result, label))),
    "fct_median": Metric("Completion time, median", "s", lambda result, label: median(completion_times(result, label))),
}


def _measured_and_ideal(table: Table, _: Claim, __: Tables) -> list[list[Reading]]:
    """The part of the goodput that BBRv2's flows have, and their part of the flows."""
    measured = table.read("share", "BBRv2")
    ideal = [
        Reading(point.at, tuple(point.at["n_bbr2"] / (point.at["n_bbr2"] + point.at["n_cubic"]) for _ in point.values))
        for point in measured
    ]
    return [measured, ideal]


def _share_gap(table: Table, _: Claim, __: Tables) -> list[Reading]:
    """Distance of CUBIC's part from its part of the flows, mean over the numbers of CUBIC flows."""
    gaps: dict[int, list[float]] = {}
    for point in table.read("share", "CUBIC"):
        ours, theirs = point.at["n_bbr2"], point.at["n_cubic"]
        gaps.setdefault(ours, []).append(abs(point.mean - theirs / (ours + theirs)))
    return [Reading({"n_bbr2": ours}, (fmean(values),)) for ours, values in gaps.items()]


class _Model(NamedTuple):
    """What BBRv2 knows and does at the end of a run."""

    bw: float
    min_rtt: float
    has_bounds: bool
    paces: bool
    queue_bytes: float


def _model(table: Table, line: str) -> _Model:
    (point, _), *_rest = table.points_of(line)
    run = point.runs[0]
    last = {name: float(sample_column(run, 0, name)[-1]) for name in ("bw_bps", "cca_min_rtt_us", "pacing_bps")}
    bounds = [sample_column(run, 0, name) for name in ("inflight_lo", "inflight_hi")]
    return _Model(
        last["bw_bps"], last["cca_min_rtt_us"], any((bound > 0).any() for bound in bounds),
        last["pacing_bps"] > 0, metrics.queue_occupancy_bytes(run).mean,
    )  # fmt: skip


def _inputs(table: Table, _: Claim, __: Tables) -> list[Reading]:
    """Number of the measurements that change the model where they alone differ."""
    base = _model(table, "as it is")
    changes = [
        isclose(_model(table, "half the rate").bw, base.bw / 2, rel_tol=0.1),
        isclose(_model(table, "twice the RTT").min_rtt, base.min_rtt * 2, rel_tol=0.1),
        *(_model(table, line).has_bounds and not base.has_bounds for line in ("loss", "marks")),
    ]
    return [Reading({}, (float(sum(changes)),))]


def _outputs(table: Table, _: Claim, __: Tables) -> list[Reading]:
    """Number of the values that the controller sets: its rate, its window, and bursts."""
    base, longer = _model(table, "as it is"), table.points_of("twice the RTT")[0][0].runs[0]
    windows = [sample_column(run, 0, "cwnd")[-1] for run in (table.points_of("as it is")[0][0].runs[0], longer)]
    values = [
        base.paces,
        windows[1] > 1.5 * windows[0],
        _model(table, "single segments").queue_bytes < 0.9 * base.queue_bytes,
    ]
    return [Reading({}, (float(sum(values)),))]


READERS = {"measured_and_ideal": _measured_and_ideal, "share_gap": _share_gap, "inputs": _inputs, "outputs": _outputs}


def counts(ours: int) -> draw.Panel:
    """Shares beside so many flows of BBRv2, with the parts of the flows dotted."""
    panel = draw.lines(
        "n_cubic", "share", at={"n_bbr2": ours}, series=("BBRv2", "CUBIC"), title=f"{ours} BBRv2", high=1.0
    )

    def drawn(table: Table, sheet: Any, ax: Any) -> None:
        panel(table, sheet, ax)
        for label, part in (("BBRv2", ours), ("CUBIC", 0)):
            xs = sorted({point.at["n_cubic"] for point in table.points})
            (handle,) = ax.plot(xs, [(part or x) / (ours + x) for x in xs], ":", color=draw.colour(label))
            sheet.entry(handle, f"{label}, its part of the flows")
        ax.set_xlabel("CUBIC flows")

    return drawn


PANELS = {"counts": counts}
