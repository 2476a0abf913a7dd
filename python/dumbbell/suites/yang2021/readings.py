"""Metrics and readings of Yang and others' own: packets in flight, the phases of BBR's probes, figures that are
normalised on each path; and the radio links of Fig. 23.
"""

from __future__ import annotations

from itertools import pairwise
from math import nan
from os import environ
from pathlib import Path
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.plots import pooled
from dumbbell.policy import others
from dumbbell.results.columns import queue_column, sample_column
from dumbbell.results.statistic import jain
from dumbbell.suites import draw, measure, phases
from dumbbell.suites.measure import Metric
from dumbbell.suites.table import EXPRESSION, Reading

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dumbbell.plots import style
    from dumbbell.results.load import Result
    from dumbbell.results.manifest import LinkSummary
    from dumbbell.suites.claims import Claim
    from dumbbell.suites.table import Table, Tables

# --- in flight ------------------------------------------------------------------------------------


def in_flight_bdp(result: Result, label: str | None, percentile: float) -> float:
    """A percentile over time of what is in flight, in BDP of the path."""
    import numpy as np

    frames = np.concatenate([sample_column(result, i, "in_flight") for i in measure.flows(result, label)])
    frames = frames[~np.isnan(frames)]
    bdp = result.plan.bottleneck.rate_bps / 8 * result.plan.flows[0].rtt_ns / 1e9
    return float(np.percentile(frames, percentile)) * 1514 / bdp if frames.size else nan


def mean_in_flight(result: Result, label: str | None) -> float:
    """Mean over time of the payload in flight, bytes."""
    import numpy as np

    return fmean(float(np.nanmean(sample_column(result, i, "in_flight"))) * 1448 for i in measure.flows(result, label))


def _jain_of_run(result: Result, _: str | None) -> float:
    """Jain's index of both flows, whichever of them names the line."""
    return jain([flow.goodput_mbps for flow in result.summary.flows])


# --- phases of probes: Figs. 5, 11 and 15 -----------------------------------------------------------

#: Mbit/s at the start, and steps of so much every 2 s.
FIRST_MBPS, STEP_MBPS, EVERY_S = 40, 5, 2
#: When the queue of Figs. 11(b) and (d) drops because of PROBE_RTT, as their caption says.
DROP_S = 10.0


def _states(result: Result) -> list[str]:
    return [str(state) for state in result.samples["cca_state"].to_pylist()]


def probe_rtts(result: Result, _: str | None) -> float:
    """Entries into PROBE_RTT of a flow in a minute, mean over the flows; each lasts for two samples and more."""
    last: dict[int, str] = {}
    entries = 0
    for state, number in zip(_states(result), result.samples["flow"].to_pylist(), strict=True):
        entries += state == "PROBE_RTT" and last.get(number) != "PROBE_RTT"
        last[number] = state
    return entries / len(result.plan.flows) / (result.plan.duration_s / 60)


def queue_by_phase(result: Result) -> tuple[float, float]:
    """Mean length of the queue in packets after STARTUP and DRAIN, when what was sent at a pacing gain up to 1, and
    above 1, arrives there: half an RTT later.
    """
    import numpy as np

    t, gain = (sample_column(result, 0, name) for name in ("t_us", "pacing_gain"))
    steady = np.array([state not in ("STARTUP", "DRAIN", "") for state in _states(result)])
    arrives = t + result.plan.flows[0].rtt_ns / 2000
    length = np.interp(arrives, queue_column(result, 0, "t_us"), queue_column(result, 0, "backlog_packets"))
    calm, probing = (length[steady & phase] for phase in (gain <= 1, gain > 1))
    return (float(calm.mean()) if calm.size else nan, float(probing.mean()) if probing.size else nan)


def probe_rtt(result: Result, _: str | None) -> float:
    """Begin of the PROBE_RTT nearest to the drop of the caption, s; nan if there is none. BBRv2's come every 5 s."""
    t, states = sample_column(result, 0, "t_us") / 1e6, _states(result)
    begins = [float(t[i]) for i, state in enumerate(states) if state == "PROBE_RTT" != states[i - 1]]
    return min(begins, key=lambda at: abs(at - DROP_S), default=nan)


def needless_ups(result: Result, _: str | None) -> float:
    """Share of the probes with an estimate of 95 % of the link's rate and more that go on to UP."""
    t, estimate = sample_column(result, 0, "t_us") / 1e6, sample_column(result, 0, "bw_bps") / 1e6
    phases = [state.removeprefix("PROBE_BW_") for state in _states(result)]
    begins = [i for i, (before, now) in enumerate(pairwise(phases), 1) if now == "PRE_UP" != before]
    if not begins:
        return nan
    rate = [FIRST_MBPS + STEP_MBPS * int(at // EVERY_S) for at in t]
    needless = [i for i in begins if estimate[i] >= 0.95 * rate[i]]
    ends = {i: next((k for k in begins if k > i), len(phases)) for i in needless}
    return fmean("UP" in phases[i:end] for i, end in ends.items()) if ends else nan


def _spikes(table: Table, claim: Claim, _: Tables) -> list[Reading]:
    """The queue between probes, and in them."""
    assert claim.read is not None
    (label,) = claim.read.lines
    runs = [queue_by_phase(run) for point, _ in table.points_of(label) for run in point.runs]
    return [Reading({"probe phase": i}, tuple(values)) for i, values in enumerate(zip(*runs, strict=True))]


def _by_alpha(table: Table, claim: Claim, _: Tables) -> list[Reading]:
    """A figure over alpha at beta 0.3, a line for each loss rate."""
    points = []
    for loss in claim.at["loss_pct"]:
        for alpha in (2, 5, 10, 20):
            point = table.read(claim.metric, f"BBRv2({alpha}%,0.3)", {"loss_pct": loss})[0]
            points.append(Reading({"alpha_pct": alpha}, point.values, f"{loss} % loss"))
    return points


# --- links: Figs. 17 and 23 -------------------------------------------------------------------------

#: Where Mahimahi's recordings are, unless this variable names another folder.
FOLDER, VARIABLE = "/usr/share/mahimahi/traces", "DUMBBELL_TRACES"


class Radio(NamedTuple):
    """A link of Fig. 23: its rate, and what `ping` is to have measured on it."""

    rate: dict[str, Any]
    rtt: str
    loss: str


#: RTT and loss of recordings on the move, of Mahimahi (NSDI 2013, and AT&T 2016). Both are ours.
RECORDINGS = {
    "ATT-LTE-driving-2016.down": ("60ms", "0.2%"),
    "ATT-LTE-driving.down": ("50ms", "0.1%"),
    "TMobile-LTE-short.down": ("70ms", "0.5%"),
    "TMobile-UMTS-driving.down": ("100ms", "1%"),
    "Verizon-LTE-short.down": ("50ms", "0.2%"),
    "Verizon-LTE-short.up": ("60ms", "0.5%"),
}
#: RTT in ms and loss of the generated links, by their seed from 1 on.
GENERATED = {
    ("lte", "stationary"): ((40, 45, 50, 55, 60), ("0%", "0.01%", "0.02%", "0.05%", "0.1%")),
    ("wifi", "stationary"): ((10, 15, 20, 25, 30), ("0%", "0.01%", "0.02%", "0.05%", "0.1%")),
    ("lte", "mobile"): ((50, 60, 70, 80, 100), ("0.1%", "0.2%", "0.5%", "1%", "2%")),
    ("wifi", "mobile"): ((30, 40, 50, 60, 70), ("0.1%", "0.2%", "0.5%", "1%", "2%")),
}
LINKS = 10
#: Where nothing waits at all: the axis is logarithmic.
LEAST_MS = 0.001


def recorded() -> dict[str, Radio]:
    """Mahimahi's recordings by their name; none where they are not installed."""
    place = Path(environ.get(VARIABLE) or FOLDER)
    return {
        name: Radio({"trace": str(place / name)}, *measured)
        for name, measured in RECORDINGS.items()
        if (place / name).is_file()
    }


def generated(mobility: str) -> dict[str, Radio]:
    """Ten generated radio links by their name."""
    return {f"{kind} {seed}": _generated(kind, mobility, seed) for seed in range(1, 6) for kind in ("lte", "wifi")}


def _generated(kind: str, mobility: str, seed: int) -> Radio:
    rate = {kind: mobility, "mean": f"{8 + 4 * (seed % 5)}Mbps", "length": "60s", "seed": seed}
    rtts, losses = GENERATED[kind, mobility]
    return Radio(rate, f"{rtts[seed - 1]}ms", losses[seed - 1])


def moving() -> dict[str, Radio]:
    """Ten links on the move: recordings, and generated ones for what is missing."""
    return dict(list({**recorded(), **generated("mobile")}.items())[:LINKS])


def _shared(links: dict[str, Radio], where: str) -> dict[str, list[Any]]:
    """Names, rates, RTTs and losses of links, under names for `entries.toml`."""
    return {
        f"names {where}": list(links),
        f"links {where}": [link.rate for link in links.values()],
        f"RTTs {where}": [link.rtt for link in links.values()],
        f"losses {where}": [link.loss for link in links.values()],
    }


def _moving_text(count: int) -> str:
    """Name the links on the move of these runs, by the number of recordings found."""
    head = f"theirs are not published: {count or 'no'} recordings of Mahimahi's"
    where = "" if count == len(RECORDINGS) else f" (looked for in ${VARIABLE} or {FOLDER}; there are {len(RECORDINGS)})"
    return f"{head}{where} and {LINKS - count} generated LTE and WiFi links on the move"


#: The learned controller of Fig. 23, in the paper and here.
ORCA, _ORCA = "Orca", "orca"


def lines() -> list[str]:
    """The controllers of Fig. 23, Orca where the environment has its network."""
    return ["CUBIC", "BBRv1", "BBRv2", "BBRv2+", *([ORCA] if others.place(_ORCA) else [])]


def _unjudged(claim: str) -> dict[str, str]:
    """The claim about Orca, where its network is not here."""
    return {} if others.place(_ORCA) else {claim: f"{ORCA} is {others.told(_ORCA)}"}


#: Values of `entries.toml` that are made: `@NAME` stands for them.
SHARED = {
    **_shared(generated("stationary"), "at rest"),
    **_shared(moving(), "on the move"),
    **_shared(
        {"at rest": generated("stationary")["lte 2"], "on the move": next(iter(moving().values()))}, "of Fig. 22"
    ),
    "example on the move": f"on the move: {next(iter(moving()))}",
    "text on the move": _moving_text(len(recorded())),
    "lines of Fig. 23": lines(),
    "whose Orca": others.told(_ORCA),
    "unjudged at rest": _unjudged("c3"),
    "unjudged on the move": _unjudged("c6"),
}


def waiting_ms(link: LinkSummary) -> float:
    """Mean time in the queue, ms: of packets, or over time on a kernel, which does not tell it of packets."""
    waiting = link.queue_mean_ms if link.sojourn_mean_ms is None else link.sojourn_mean_ms
    return nan if waiting is None else waiting


class Normalised(NamedTuple):
    """A controller over all paths: a value for each, normalised there."""

    throughput: list[float]
    delay: list[float]


def spots(table: Table) -> list[pooled.Spot]:
    """Every controller on every path: mean over the repetitions."""
    listed = []
    for point in table.points:
        links = [run.summary.link for run in point.runs]
        listed.append(
            pooled.Spot(
                point.at["trace"],
                draw.CONTROLLERS[point.series or ""],
                fmean(run.summary.flows[0].goodput_mbps for run in point.runs),
                max(fmean(waiting_ms(link) for link in links), LEAST_MS),
                max(fmean(link.sojourn_p95_ms or link.queue_p95_ms or 0.0 for link in links), LEAST_MS),
            )
        )
    return listed


def normalised(table: Table) -> dict[str, Normalised]:
    """By the paper's names of the controllers."""
    values = pooled.normalised(spots(table))
    return {
        label: Normalised([place[1] for place in places], [place[0] for place in places])
        for label in table.lines()
        if (places := values.get(draw.CONTROLLERS[label]))
    }


def _mean(table: Table, figure: str, label: str) -> float:
    """Mean over the paths."""
    own = normalised(table)[label]
    return fmean(own.delay if "delay" in figure else own.throughput)


def _over_paths(table: Table, figure: str, label: str) -> float:
    """Mean, or standard deviation, over the paths."""
    if figure.startswith("stddev"):
        return pstdev(normalised(table)[label].throughput)
    return _mean(table, figure, label)


def _order(table: Table, claim: Claim, _: Tables) -> list[list[Reading]]:
    """The figure over the paths of each name, which may be ``min(A,B)`` or ``max(A,B)``: of those that are here."""
    parts = []
    for name in claim.order:
        expression = EXPRESSION.fullmatch(name)
        pick = max if expression and expression[1] == "max" else min
        labels = expression[2].split(",") if expression else [name]
        here = [label for label in labels if label != ORCA or label in table.lines()]
        parts.append([Reading({}, (pick(_over_paths(table, claim.metric, label) for label in here),))])
    return parts


def _ratio(table: Table, claim: Claim, _: Tables) -> list[Reading]:
    """BBRv2+'s mean over BBRv2's."""
    return [Reading({}, (_mean(table, claim.metric, "BBRv2+") / _mean(table, claim.metric, "BBRv2"),))]


def _spread(table: Table, claim: Claim, _: Tables) -> list[Reading]:
    """Between the best and the worst of the three BBRs."""
    means = [_mean(table, claim.metric, label) for label in ("BBRv1", "BBRv2", "BBRv2+")]
    return [Reading({}, (max(means) - min(means),))]


def _panel() -> draw.Panel:
    def panel(table: Table, sheet: style.Sheet, ax: Axes) -> None:  # noqa: ARG001 - the sheet has this axes only
        pooled.panel(sheet, spots(table), "Queueing delay")
        sheet.explain("dots: each path")
        sheet.explain(pooled.MARKS)

    return panel


METRICS = {
    **phases.METRICS,
    "jain_of_run": Metric("Jain's index of both flows", "", _jain_of_run, most=1.0),
    "in_flight": Metric("In flight", "bytes", mean_in_flight),
    "in_flight_p95": Metric("In flight, 95th percentile", "BDP", lambda run, label: in_flight_bdp(run, label, 95)),
    "in_flight_p50": Metric("In flight, median", "BDP", lambda run, label: in_flight_bdp(run, label, 50)),
    "probe_rtts": Metric("Entries into PROBE_RTT a minute", "", probe_rtts),
    "probe_rtt_at": Metric("Time of PROBE_RTT", "s", probe_rtt),
    "needless_ups": Metric("Probes of a full link that go on to UP", "", needless_ups),
    "unused": Metric("Of the link's rate not used", "%", lambda run, _: 100 * (1 - run.summary.link.utilization)),
    "part_of_rate": Metric(
        "Goodput over the link's rate", "",
        lambda run, _: run.summary.flows[0].goodput_mbps * 1e6 / run.plan.bottleneck.rate_bps,
    ),
    "waiting": Metric("Time in the queue, mean", "ms", lambda run, _: waiting_ms(run.summary.link)),
}  # fmt: skip
READERS = {
    "spikes": _spikes,
    "by_alpha": _by_alpha,
    "normalised_order": _order,
    "normalised_ratio": _ratio,
    "normalised_spread": _spread,
}
PANELS = {"spots": _panel}
