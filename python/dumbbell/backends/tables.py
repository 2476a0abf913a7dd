"""Tables and summary of a run that was measured outside of the engine, and the parts of them that do not depend on who
measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from dumbbell.plan.types import FlowPlan, Plan

#: ssthresh of a connection that has none (TCP_INFINITE_SSTHRESH, include/net/tcp.h).
_INFINITE_SSTHRESH = 0x7FFFFFFF

#: What iperf3 sends ahead of its data on each connection (crates/path/src/plan/traffic.rs), bytes.
IPERF3_GREETING = 37

Row = dict[str, Any]
"""A row of a table: its columns by name."""


def write(
    plan: Plan,
    out: Path,
    *,
    packets_delivered: int,
    capacity_bytes: Sequence[int],
    flows: Sequence[Row],
    samples: Iterable[Row],
    queue: Sequence[Row],
    events: Iterable[Row],
    warnings: Sequence[str],
    messages: Sequence[Row] = (),
    probes: Sequence[Row] = (),
    variables: Iterable[Row] = (),
    limits: Iterable[Row] = (),
) -> Row:
    """Write the tables that the plan records into `out` and return the summary. `capacity_bytes` is what each recorded
    link could send, `flows` the totals of each flow; `queue` is in the order of time, `messages` in that of flows and
    writes, `probes` in that of series.
    """
    from dumbbell import _native

    tables = {
        "samples": sorted(samples, key=lambda row: (row["t_us"], row["flow"])),
        "queue": queue,
        "events": sorted(events, key=lambda row: row["t_ns"]),
        "messages": messages,
        "probes": probes,
    }
    for name, rows in (("variables", variables), ("limits", limits)):
        if plan["record"].get(name):
            tables[name] = sorted(rows, key=lambda row: row["t_ns"])
    measured = {
        "totals": {
            "end_ns": plan["duration_ns"],
            "packets_delivered": packets_delivered,
            "warnings": [*_missing(queue), *warnings],
            "links": [
                _link([row for row in queue if row["link"] == i], could) for i, could in enumerate(capacity_bytes)
            ],
            "flows": flows,
        },
        **{name: _columns(rows) for name, rows in tables.items()},
    }
    record = {name: bool(plan["record"][name]) for name in ("samples", "queue", "events")}
    summary: Row = json.loads(_native.write_measured(json.dumps(measured), str(out), **record))
    return summary


def _columns(rows: Sequence[Row]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def _missing(queue: Sequence[Row]) -> list[str]:
    return [] if queue else ["the bottleneck's counters are missing: its figures are zero"]


def _link(queue: Sequence[Row], capacity_bytes: int) -> Row:
    """Totals of a link; zeros where there are no rows."""
    waits = sorted(row["sojourn_us"] for row in queue)
    ranks = {percent: waits[-(-len(waits) * percent // 100) - 1] if waits else 0 for percent in (50, 95, 99)}
    counted = ("sent_packets", "sent_bytes", "dropped_packets", "marked_packets")
    return {
        **{name: queue[-1][name] if queue else 0 for name in counted},
        "capacity_bytes": capacity_bytes,
        "queue": {
            "mean_us": sum(waits) / len(waits) if waits else 0.0,
            **{f"p{percent}_us": wait for percent, wait in ranks.items()},
        },
    }


class _Counters(Protocol):
    """Numbers by name."""

    def __getitem__(self, name: str, /) -> int: ...


def queue_row(ns: int, counters: _Counters, *, sojourn_us: int, link: int = 0) -> Row:
    """A row of queue.parquet from what a queue discipline has counted until `ns`."""
    return {
        "t_us": ns // 1000,
        "link": link,
        "backlog_bytes": counters["backlog_bytes"],
        "backlog_packets": counters["backlog_packets"],
        "sojourn_us": sojourn_us,
        "sent_bytes": counters["sent_bytes"],
        "sent_packets": counters["sent_packets"],
        "dropped_packets": counters["dropped"],
        "dropped_bytes": 0,
        "marked_packets": counters["marked"],
        "sojourn_integral_us2": None,
    }


def decided(plan: Plan, probes: Sequence[Row]) -> list[Row]:
    """Rows of probes.parquet without those that the run's end met on their way, whose fate is not known. Of hosts only
    answers are known: one that is missing is taken for under way where no later probe of its series was answered and
    twice the longest round trip of the series had not passed at the end.
    """
    end_us, kept = plan["duration_ns"] // 1000, []
    for number, series in enumerate(plan.get("probes", [])):
        rows = [row for row in probes if row["probe"] == number]
        answered = [row for row in rows if row["rtt_us"] is not None]
        longest = max((row["rtt_us"] for row in answered), default=series["rtt_ns"] // 1000)
        last_us = max((row["sent_us"] for row in answered), default=-1)
        lost_until_us = max(last_us, end_us - 2 * longest)
        for row in rows:
            is_answered = row["rtt_us"] is not None
            is_in_time = is_answered and row["sent_us"] + row["rtt_us"] <= end_us
            if is_in_time or (not is_answered and row["sent_us"] < lost_until_us):
                kept.append(row)
    return kept


def planned(flow: FlowPlan) -> Row:
    """Totals of a flow that its plan tells."""
    return {
        "name": flow["name"],
        "table": flow["table"],
        "transport": flow["transport"]["kind"],
        "cca": flow["cca"],
        "rtt_ns": flow["rtt_ns"],
        "planned_ns": flow["start_ns"],
        "size_bytes": flow["size_bytes"],
    }


def scoreboard(*, packets_out: int, sacked: int, lost: int, retrans_out: int) -> Row:
    """The columns of samples.parquet that count what is in flight (tcp_packets_in_flight, include/net/tcp.h)."""
    return {
        "in_flight": packets_out - sacked - lost + retrans_out,
        "packets_out": packets_out,
        "sacked": sacked,
        "lost": lost,
        "retrans_out": retrans_out,
    }


def ssthresh(segments: int) -> int | None:
    """None for a connection that has none."""
    return segments if 0 < segments < _INFINITE_SSTHRESH else None
