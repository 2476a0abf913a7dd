"""What a visitor of the page may ask for. Each limit is a flag of `dumbbell serve`."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

from dumbbell.errors import ScenarioError
from dumbbell.runs import estimate
from dumbbell.scenario import axes, units
from dumbbell.scenario.declare import raw_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell.runs.pool import Job
    from dumbbell.scenario.file import Flow, Scenario

#: Largest body of a request, bytes: the largest scenario (`files.SCENARIO_MAX`) as JSON, with room for escapes.
BODY_MAX = 2 << 20
#: Connections at once; a browser has six. More are closed at once.
CONNECTIONS_MAX = 48
#: Seconds that a connection may say nothing, or take nothing, before it is closed.
SILENCE_S = 20.0
#: Jobs that wait or run at once; more are refused.
JOBS_MAX = 20
#: Flows of all runs of a job, which are planned before the first of them starts.
FLOWS_MAX = 200_000
#: Folders in one report.
TOGETHER = 8
#: Bytes of a sample row in memory and on disk, about.
_ROW_BYTES = 200


class Limits(NamedTuple):
    """Of one job, which is a scenario with all its runs.

    Attributes
    ----------
    time_s
        Wall time, after which it is ended.
    runs
        Combinations and repetitions together.
    packets
        What the links could carry, over all runs.
    memory_bytes
        Of a run, for packets on the path, messages, and sample rows.
    """

    time_s: float = 300.0
    runs: int = 200
    packets: int = 1_000_000_000
    memory_bytes: int = 2 << 30

    def check_size(self, scenario: Scenario) -> None:
        """Raise ScenarioError for more runs or flows than are planned here, before they are."""
        count = prod(len(axis.points) for axis in axes.of(scenario)) * scenario.repetitions
        if count > self.runs:
            raise ScenarioError("", f"got {count} runs, wanted at most {self.runs} (--max-runs of this server)")
        flows = sum(max(raw_counts) for raw_counts in map(_counts, scenario.flow)) * count
        if flows > FLOWS_MAX:
            raise ScenarioError("flow", f"got {flows} flows in {count} runs, wanted at most {FLOWS_MAX} in all")

    def check(self, jobs: Sequence[Job]) -> int:
        """Raise ScenarioError for what is larger; how many packets these runs deliver at most."""
        packets = 0
        for job in jobs:
            planned = job.planned.plan
            for name in ("pcap", "qlog"):
                if planned["record"].get(name):
                    raise ScenarioError(f"record.{name}", "got true, wanted false: this server writes no captures")
            packets += estimate.packets(planned)
            self._check_memory(len(planned["flows"]) * (planned["duration_ns"] // planned["sample_ns"] + 1))
            limits = planned["limits"]
            limits["memory_bytes"] = min(limits["memory_bytes"], self.memory_bytes)
        if packets > self.packets:
            raise ScenarioError(
                "duration",
                f"got up to {packets:,} packets, wanted at most {self.packets:,} (--max-packets of this server)",
            )
        return packets

    def check_time(self, jobs: Sequence[Job]) -> None:
        """Raise ScenarioError for runs in real time that take longer than a scenario may."""
        total_s = sum(job.planned.plan["duration_ns"] for job in jobs) / 1e9
        if total_s > self.time_s:
            raise ScenarioError(
                "duration",
                f"got {total_s:g} s in {len(jobs)} runs in real time, wanted at most {self.time_s:g} s"
                " (--max-time of this server)",
            )

    def _check_memory(self, rows: int) -> None:
        if rows * _ROW_BYTES > self.memory_bytes:
            raise ScenarioError(
                "record.every",
                f"got {rows:,} sample rows, wanted at most {self.memory_bytes // _ROW_BYTES:,} in"
                f" {units.bytes_text(self.memory_bytes)} (--max-memory of this server)",
            )


class Keep(NamedTuple):
    """What stays of finished jobs on the disk: folders, and bytes of them together; the oldest go first."""

    folders: int = 200
    disk_bytes: int = 5 << 30


def _counts(flow: Flow) -> list[int]:
    """The numbers of flows that a [[flow]] table takes in turn."""
    count = raw_at(flow, "count")
    return count if isinstance(count, list) else [count or 1]
