"""The figures of runs as typed rows: per flow, per [[flow]] table or per run, over the whole run or a window, and over
repetitions with their intervals.

The figures are those of `catalogue.py`; what they mean is said in `metrics.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dumbbell.units import value_text

from . import metrics
from .catalogue import FIGURES, Measured, figure
from .experiment import Key, key_of
from .manifest import FlowSummary, LinkSummary, Summary
from .statistic import Interval, Sample, joined, known
from .texts import several, transport
from .windows import chosen_flows, inside

if TYPE_CHECKING:
    from .result import Result

#: Runs with more flows than this are shown by table by default.
FLOWS_MAX = 8


@dataclass(frozen=True, kw_only=True)
class Row:
    """Flows of one experiment, with their figures in each of its repetitions."""

    scenario: str
    vary: dict[str, Any]
    run: str
    """Name of the run's folder; that of the first repetition for several."""
    repetition: int | None
    """None for several."""
    flow: int | None
    """Number of the flow; None for several flows."""
    flows: int
    """How many flows it is of; the most that a repetition has."""
    name: str
    transport: str
    table: int
    cca: str
    samples: dict[str, Sample]
    """Each figure in the repetitions; figures that none has are left out."""
    flows_min: int
    """The fewest that a repetition has, because flows that arrive at random are not as many in each."""
    seeds: tuple[int, ...]
    """Of each repetition."""

    @property
    def n(self) -> int:
        """Number of repetitions."""
        return len(self.seeds)

    @cached_property
    def values(self) -> dict[str, Interval]:
        """Mean of each figure, half width of its 95 % interval (nan for one run), and how many repetitions have it."""
        return {name: sample.interval for name, sample in self.samples.items()}

    @cached_property
    def experiment(self) -> Key:
        """Experiment of the row: its scenario and varied values."""
        return key_of(self.scenario, self.vary)

    def vary_text(self, key: str) -> str:
        """The value of a varied key; empty where it does not have that key."""
        return value_text(self.vary[key]) if key in self.vary else ""

    @property
    def size(self) -> str:
        """Number of flows, for a label: ``52``, or ``41 to 52`` where repetitions differ."""
        return f"{self.flows}" if self.flows_min == self.flows else f"{self.flows_min} to {self.flows}"

    @property
    def label(self) -> str:
        """Whose figures it has: how many flows, their name, and the transport where that is not TCP and the name does
        not say it, as in ``52 x web (QUIC)``.
        """
        is_said = self.transport == "tcp" or self.transport in self.name.casefold()
        return several(self.size, self.name, self.flows) + ("" if is_said else f" ({transport(self.transport)})")

    def sample(self, name: str) -> Sample:
        """A figure in the repetitions, also one that none has."""
        return self.samples.get(name) or Sample((None,) * self.n, self.seeds)

    def value(self, name: str) -> float | None:
        """The mean of a figure; None where there is none."""
        interval = self.values.get(name)
        return None if interval is None else interval.mean

    def lacking(self, name: str) -> int:
        """Number of repetitions that lack a figure."""
        return self.sample(name).lacking


def varied_keys(rows: Iterable[Row]) -> list[str]:
    """The keys that any of these rows varies, in order of appearance."""
    return list(dict.fromkeys(key for row in rows for key in row.vary))


def is_rate_another_share(rows: Sequence[Row]) -> bool:
    """True if the rates of one run's flows divide otherwise than their shares, by more than 0.01: a share is of all
    bytes, a rate is over the flow's own time.
    """
    figures = [(row.value("goodput"), row.value("share")) for row in rows]
    pairs = [(rate, share) for rate, share in figures if rate is not None and share is not None]
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
    """Choose what makes a row: a flow, or a table where a run has many flows."""
    return "table" if any(len(run.result.plan.flows) > FLOWS_MAX for run in runs) else "flow"


def selections(result: Result, by: str, only: str | None = None) -> list[tuple[int | None, list[int]]]:
    """Flows of each row: (the flow's number, or None for several; the flows). `only` picks numbers, ranges and names,
    with commas between.
    """
    chosen = chosen_flows(result, only)
    if by == "flow":
        return [(i, [i]) for i in chosen]
    if by == "run":
        return [(None, chosen)]
    wanted = set(chosen)
    groups = [[i for i in members if i in wanted] for members in result.plan.groups.values()]
    return [(members[0] if len(members) == 1 else None, members) for members in groups if members]


def rows(run: Measured, names: Iterable[str], *, by: str = "flow", only: str | None = None) -> list[Row]:
    """The figures of one run, a row for each flow, table or all."""
    wanted = [(name, figure(name)) for name in names]
    of_run = {name: value for name, known in wanted if known.of_run and (value := known.value(run)) is not None}
    listed = []
    for number, flows in selections(run.result, by, only):
        own = {name: known.value(run, flows) for name, known in wanted if not known.of_run}
        values = {name: value for name, value in own.items() if value is not None}
        listed.append(_row(run.result, number, flows, {**values, **of_run}, by))
    return listed


def _row(result: Result, number: int | None, flows: Sequence[int], values: dict[str, float], by: str) -> Row:
    planned = [result.plan.flows[i] for i in flows]
    names, ccas, carriers = (
        list(dict.fromkeys(texts)) for texts in zip(*((flow.name, flow.cca, flow.transport.kind) for flow in planned))
    )
    name = names[0] if by != "run" else "all"
    seeds = (result.seed,)
    return Row(
        scenario=result.name, vary=result.vary, run=result.folder.name, repetition=result.repetition, flow=number,
        flows=len(flows), name=name,
        transport="+".join(carriers), table=planned[0].table if by != "run" else -1, cca="+".join(filter(None, ccas)),
        samples={key: Sample((value,), seeds) for key, value in values.items()},
        flows_min=len(flows), seeds=seeds,
    )  # fmt: skip


def over_repetitions(listed: Sequence[Row]) -> list[Row]:
    """Rows that differ only in their repetition, as their means with 95 % intervals; never rows of different
    experiments.
    """
    return [mean_row(same) for same in together(listed).values()]


def together(listed: Sequence[Row], *, of_one: bool = False) -> dict[tuple[Any, ...], list[Row]]:
    """Repetitions by scenario, varied values and place of the flow; `of_one` leaves the scenario's name out."""
    by_place: dict[tuple[Any, ...], list[Row]] = {}
    seen: dict[tuple[Any, ...], int] = {}
    for row in listed:
        of_run = (row.experiment, row.repetition, row.run, row.table)
        nth = seen[of_run] = seen.get(of_run, -1) + 1
        scenario, vary = row.experiment
        by_place.setdefault(("" if of_one else scenario, vary, row.table, nth), []).append(row)
    return by_place


def mean_row(same: Sequence[Row]) -> Row:
    """Rows that differ only in their repetition, as one."""
    first = same[0]
    if len(same) == 1:
        return first
    names = dict.fromkeys(name for row in same for name in row.samples)
    is_one = all(row.flow == first.flow for row in same)
    return replace(
        first,
        repetition=None,
        flow=first.flow if is_one else None,
        flows=max(row.flows for row in same),
        samples={name: joined([row.sample(name) for row in same]) for name in names},
        flows_min=min(row.flows_min for row in same),
        seeds=tuple(seed for row in same for seed in row.seeds),
    )


def summary(run: Measured) -> Summary:
    """The summary of a run over its window, with the fields of the engine's own; what counts packets of the whole run
    is null in a window, and the goodput of a flow that was not there nan.
    """
    if run.window is None:
        return run.result.summary
    result, window = run.result, run.window
    flows = tuple(_flow_summary(run, i) for i in range(len(result.plan.flows)))
    links = tuple(_link_summary(run, i) for i in range(len(result.plan.recorded_links)))
    counted = metrics.steady_flows(result, window)
    return Summary(
        link=links[0], links=links[1:], flows=flows, jain=metrics.jain_index(result, window), jain_flows=len(counted)
    )


def _flow_summary(run: Measured, flow: int) -> FlowSummary:
    result, window = run.result, run.window
    planned, fields = result.plan.flows[flow], FlowSummary.__struct_fields__
    read: dict[str, Any] = {
        known.field: known.value(run, [flow])
        for known in FIGURES.values()
        if not known.of_run and known.field in fields
    }
    if read["goodput_mbps"] is None:
        read["goodput_mbps"] = math.nan
    return FlowSummary(
        name=planned.name, transport=planned.transport.kind, table=planned.table, cca=planned.cca,
        rtt_ms=result.summary.flows[flow].rtt_ms, goodput_bytes=round(metrics.goodput_bytes(result, flow, window)),
        packets_sent=round(metrics.segments_sent(result, flow, window)), **read,
    )  # fmt: skip


def _link_summary(run: Measured, link: int) -> LinkSummary:
    read: dict[str, Any] = {
        of.field: known(of.of_link(run.result, link, run.window)) for of in FIGURES.values() if of.of_link
    }
    return LinkSummary(**{**read, "drops": round(read["drops"]), "marks": round(read["marks"])})


def link_rows(run: Measured, names: Iterable[str]) -> list[tuple[str, dict[str, float | None]]]:
    """The recorded links by name, with these figures; the bottleneck first."""
    readers = {name: figure(name).of_link for name in names}
    return [
        (link.name, {name: known(read(run.result, i, run.window)) for name, read in readers.items() if read})
        for i, link in enumerate(run.result.plan.recorded_links)
    ]
