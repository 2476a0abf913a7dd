"""The figures of runs as typed rows: per flow, per [[flow]] table or per run, over the whole run or a window, and over
repetitions with their intervals.

The figures are those of `catalogue.py`; what they mean is said in `metrics.py`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import metrics
from .catalogue import Measured, figure
from .manifest import FlowSummary, LinkSummary, Summary
from .statistic import Interval, difference_interval, mean_interval, paired_interval
from .windows import inside

if TYPE_CHECKING:
    from .load import Result
    from .plan_view import Window

#: Runs with more flows than this are shown by table by default.
FLOWS_MAX = 8


class Row(NamedTuple):
    """Flows of one run, or of the repetitions of one, with their figures by name."""

    scenario: str
    vary: dict[str, Any]
    run: str
    """Name of the run's folder; that of the first repetition for several."""
    repetition: int | None
    """None for the mean over several."""
    n: int
    """How many repetitions it covers."""
    flow: int | None
    """Number of the flow; None for several flows."""
    flows: int
    """How many flows it is of; the most that a repetition has."""
    name: str
    transport: str
    table: int
    cca: str
    values: dict[str, Interval]
    """Mean, half width of the 95 % interval (nan for one run), and how many repetitions have the figure;
    figures that none has are left out."""
    flows_min: int
    """The fewest that a repetition has, because flows that arrive at random are not as many in each."""
    seed: int | None = None
    """The run's; None for the mean over several."""

    @property
    def size(self) -> str:
        """How many flows it is of, for a label: ``52``, or ``41 to 52`` where repetitions differ."""
        return f"{self.flows}" if self.flows_min == self.flows else f"{self.flows_min} to {self.flows}"

    def value(self, name: str) -> float | None:
        """The mean of a figure; None where there is none."""
        found = self.values.get(name)
        return None if found is None else found.mean

    def lacking(self, name: str) -> int:
        """How many of the repetitions do not have a figure."""
        found = self.values.get(name)
        return self.n - (0 if found is None else found.n)


def is_rate_another_share(rows: Sequence[Row]) -> bool:
    """Whether the rates of one run's flows divide otherwise than their shares, by more than 0.01: a share is of all
    bytes, a rate is over the flow's own time.
    """
    known = [(row.value("goodput"), row.value("share")) for row in rows]
    pairs = [(rate, share) for rate, share in known if rate is not None and share is not None]
    total = sum(rate for rate, _ in pairs)
    return total > 0 and any(abs(rate / total - share) > 0.01 for rate, share in pairs)


def measured(result: Result, start_s: float | None = None, end_s: float | None = None) -> Measured:
    """The run with its window: what is given, or the scenario's own `measure`, or none. Raises ResultError where it
    lies outside the run.
    """
    window = result.plan.window
    if start_s is not None or end_s is not None:
        window = (start_s or 0.0, math.inf if end_s is None else end_s)
    return Measured(result, None if window is None else inside(result, window))


def default_by(runs: Iterable[Measured]) -> str:
    """What makes a row unless it is said: a flow, or a table where a run has many flows."""
    return "table" if any(len(run.result.plan.flows) > FLOWS_MAX for run in runs) else "flow"


def selections(result: Result, by: str, only: str | None = None) -> list[tuple[int | None, list[int]]]:
    """Which flows make a row: (the flow's number, or None for several; the flows). `only` picks numbers, ranges and
    names, with commas between.
    """
    chosen = (
        list(range(len(result.plan.flows)))
        if only is None
        else sorted({i for word in only.split(",") for i in _picked(result, word.strip())})
    )
    if by == "flow":
        return [(i, [i]) for i in chosen]
    if by == "run":
        return [(None, chosen)]
    wanted = set(chosen)
    groups = [[i for i in members if i in wanted] for members in result.plan.groups.values()]
    return [(members[0] if len(members) == 1 else None, members) for members in groups if members]


def _picked(result: Result, word: str) -> list[int]:
    first, dash, last = word.partition("-")
    if first.isdecimal() and (last.isdecimal() if dash else True):
        return metrics.flows_of(result, list(range(int(first), min(int(last or first), 10**6) + 1)))
    return metrics.flows_of(result, word)


def rows(run: Measured, names: Iterable[str], *, by: str = "flow", only: str | None = None) -> list[Row]:
    """The figures of one run, a row for each flow, table or all."""
    wanted = [(name, figure(name)) for name in names]
    of_run = {name: found for name, one in wanted if one.of_run and (found := _known(one.read(run, [])))}
    made = []
    for number, flows in selections(run.result, by, only):
        values = {name: found for name, one in wanted if not one.of_run and (found := _known(one.read(run, flows)))}
        made.append(_row(run.result, number, flows, {**values, **of_run}, by))
    return made


def _known(value: float | None) -> Interval | None:
    return None if value is None or math.isnan(value) else Interval(float(value), math.nan, 1)


def _row(result: Result, number: int | None, flows: Sequence[int], values: dict[str, Interval], by: str) -> Row:
    planned = [result.plan.flows[i] for i in flows]
    names, ccas, carriers = (
        list(dict.fromkeys(found)) for found in zip(*((one.name, one.cca, one.transport.kind) for one in planned))
    )
    name = names[0] if by != "run" else "all"
    return Row(
        scenario=result.name, vary=result.vary, run=result.folder.name, repetition=result.repetition, n=1, flow=number,
        flows=len(flows), name=name,
        transport="+".join(carriers), table=planned[0].table if by != "run" else -1, cca="+".join(ccas), values=values,
        flows_min=len(flows), seed=result.seed,
    )  # fmt: skip


def over_repetitions(made: Sequence[Row]) -> list[Row]:
    """Rows that differ only in their repetition, as their means with 95 % intervals; never rows of different
    experiments.
    """
    return [mean_row(same) for same in repetitions(made)]


def repetitions(made: Sequence[Row]) -> list[list[Row]]:
    """Rows that differ only in their repetition, together; never rows of different experiments."""
    return list(_together(made).values())


def _together(made: Sequence[Row], *, of_one: bool = False) -> dict[tuple[Any, ...], list[Row]]:
    """Repetitions by scenario, varied values and place of the flow; `of_one` leaves the scenario's name out."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    seen: dict[tuple[Any, ...], int] = {}
    for row in made:
        of_run = (row.scenario, json.dumps(row.vary, sort_keys=True), row.repetition, row.run, row.table)
        nth = seen[of_run] = seen.get(of_run, -1) + 1
        found.setdefault(("" if of_one else row.scenario, of_run[1], row.table, nth), []).append(row)
    return found


def mean_row(same: list[Row]) -> Row:
    """The mean of rows that differ only in their repetition, with its 95 % interval."""
    first = same[0]
    if len(same) == 1:
        return first
    names = dict.fromkeys(name for row in same for name in row.values)
    values = {name: mean_interval([row.values[name].mean for row in same if name in row.values]) for name in names}
    is_one = all(row.flow == first.flow for row in same)
    return first._replace(
        repetition=None,
        n=len(same),
        flow=first.flow if is_one else None,
        flows=max(row.flows for row in same),
        values=values,
        flows_min=min(row.flows_min for row in same),
        seed=None,
    )


class Change(NamedTuple):
    """A figure before and after: means over the repetitions, and the difference with its 95 % interval (nan without
    repetitions).
    """

    before: Row
    after: Row
    name: str
    difference: Interval
    is_paired: bool
    """Whether the interval is of pairs of repetitions that have the same seed (`paired_interval`), or of two groups
    (`difference_interval`)."""

    @property
    def names(self) -> str:
        """The flow's name, or both where it has another one after the change."""
        return " -> ".join(dict.fromkeys((self.before.name, self.after.name)))

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes zero; never without one."""
        return abs(self.difference.mean) > self.difference.half_width


def change_fields(change: Change) -> dict[str, Any]:
    """A change as JSON has it: the figure's field, its means and how many repetitions have it, the difference with the
    half width of its interval, null without repetitions, and whether that is of pairs.
    """
    before, after = change.before.value(change.name), change.after.value(change.name)
    half = finite(change.difference.half_width)
    return {
        "figure": figure(change.name).field,
        "before": finite(before),
        "after": finite(after),
        "n": [side.values[change.name].n for side in (change.before, change.after)],
        "change": finite(change.difference.mean),
        "half_width": half,
        "paired": change.is_paired,
    }


def chance(found: Sequence[Change]) -> str:
    """How many changes have an interval that excludes zero, and how many would if nothing had changed; nothing where
    there are no intervals.
    """
    intervals = sum(not math.isnan(change.difference.half_width) for change in found)
    if not intervals:
        return ""
    clear, by_chance = sum(change.is_clear for change in found), max(round(intervals / 20), 1)
    return (
        f"{clear} of {intervals} intervals exclude{'s' * (clear == 1)} zero; where nothing changed, about {by_chance}"
        f" of {intervals} would by chance"
    )


def changes(before: Sequence[Row], after: Sequence[Row], names: Sequence[str]) -> tuple[list[Change], int, int]:
    """Each figure of rows that both have, matched by scenario, varied values and place of the flow; and how many rows
    only the one or the other has.

    Where each side has one scenario, their names may differ. A figure of the run is given once, after its flows.
    """
    of_one = all(len({row.scenario for row in side}) == 1 for side in (before, after))
    old, new = (_together(side, of_one=of_one) for side in (before, after))
    cases: dict[tuple[Any, ...], tuple[list[Change], dict[str, Change]]] = {}
    for key in [key for key in new if key in old]:
        of_flows, of_run = cases.setdefault(key[:2], ([], {}))
        for name in names:
            change = _change(old[key], new[key], name)
            if change and figure(name).of_run:
                of_run.setdefault(name, change)
            elif change:
                of_flows.append(change)
    made = [change for of_flows, of_run in cases.values() for change in (*of_flows, *of_run.values())]
    return made, len(old.keys() - new.keys()), len(new.keys() - old.keys())


def _change(before: Sequence[Row], after: Sequence[Row], name: str) -> Change | None:
    sides = [
        sorted((row for row in side if name in row.values), key=lambda row: row.seed or 0) for side in (before, after)
    ]
    if not sides[0] or not sides[1]:
        return None
    values = [[row.values[name].mean for row in side] for side in sides]
    seeds = [[row.seed for row in side] for side in sides]
    is_paired = seeds[0] == seeds[1] and len({*seeds[0]}) == len(seeds[0]) > 1
    difference = (paired_interval if is_paired else difference_interval)(values[0], values[1])
    rows = [mean_row(list(side)) for side in (before, after)]
    if figure(name).of_run:
        rows = [
            row._replace(name="run", flow=None, flows=1, flows_min=1, table=-1, transport="tcp", cca="") for row in rows
        ]
    return Change(rows[0], rows[1], name, difference, is_paired)


def summary(run: Measured) -> Summary:
    """The summary of a run over its window, with the fields of the engine's own; what counts packets of the whole run
    is null in a window, and the goodput of a flow that was not there nan.
    """
    if run.window is None:
        return run.result.summary
    result, window = run.result, run.window
    flows = tuple(_flow_summary(result, i, window) for i in range(len(result.plan.flows)))
    links = tuple(_link_summary(result, i, window) for i in range(len(result.plan.recorded_links)))
    counted = metrics.steady_flows(result, window)
    return Summary(
        link=links[0], links=links[1:], flows=flows, jain=metrics.jain_index(result, window), jain_flows=len(counted)
    )


def _flow_summary(result: Result, flow: int, window: Window) -> FlowSummary:
    planned, whole = result.plan.flows[flow], result.summary.flows[flow]
    srtt, times = metrics.rtt_ms(result, flow, window, smoothed=True), metrics.completion_times_s(result, flow, window)
    goodput = metrics.goodput_bps(result, flow, window)
    return FlowSummary(
        name=planned.name, transport=planned.transport.kind, table=planned.table, cca=planned.cca, rtt_ms=whole.rtt_ms,
        goodput_mbps=goodput / 1e6, goodput_bytes=round(metrics.goodput_bytes(result,
            flow, window)),
        share=metrics.share(result, flow, window), retrans_rate=metrics.retransmission_rate(result, flow, window),
        srtt_mean_ms=finite(srtt.mean),
        srtt_p95_ms=finite(srtt.p95), fct_s=float(times[0]) if times.size else None,
        packets_sent=round(metrics.segments_sent(result, flow, window)),
    )  # fmt: skip


def _link_summary(result: Result, link: int, window: Window) -> LinkSummary:
    delay = metrics.queueing_delay_ms(result, window, link=link)
    drops, marks = (
        round(metrics.counted(result, name, window, link=link)) for name in ("dropped_packets", "marked_packets")
    )
    return LinkSummary(
        utilization=metrics.utilization(result, window, link=link), queue_mean_ms=finite(delay.mean),
        queue_p50_ms=finite(delay.p50), queue_p95_ms=finite(delay.p95), queue_p99_ms=finite(delay.p99),
        drops=drops, marks=marks,
        drop_rate=metrics.loss_rate(result, window, link=link),
    )  # fmt: skip


def finite(value: float | None) -> float | None:
    """A number as JSON has it, which knows neither nan nor infinity: None for these."""
    return value if value is not None and math.isfinite(value) else None


def link_rows(run: Measured) -> list[tuple[str, Mapping[str, float | None]]]:
    """The recorded links by name, with their figures; the bottleneck first."""
    found = summary(run).data_links
    fields = ("utilization", "queue_mean_ms", "queue_p95_ms", "drops", "marks", "drop_rate")
    links = run.result.plan.recorded_links
    return [(planned.name, {name: one[name] for name in fields}) for planned, one in zip(links, found)]


def steady(run: Measured) -> int:
    """How many flows Jain's index counts."""
    return run.result.summary.jain_flows if run.window is None else len(metrics.steady_flows(run.result, run.window))
