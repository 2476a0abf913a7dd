"""Limits of what a visitor of the page may ask for. Each limit is a flag of `dumbbell serve`."""

from __future__ import annotations

from math import isqrt, prod
from typing import TYPE_CHECKING, NamedTuple

from dumbbell import plan, units
from dumbbell.errors import ScenarioError
from dumbbell.plan import estimate
from dumbbell.scenario.file import EXTRA

if TYPE_CHECKING:
    from dumbbell.plan.planned import Planned
    from dumbbell.scenario.file import Scenario

#: Largest body of a request, bytes: the largest scenario (`files.SCENARIO_MAX`) as JSON, with room for escapes.
BODY_MAX = 2 << 20
#: Connections at once; a browser has six. More are closed at once.
CONNECTIONS_MAX = 48
#: Seconds that a connection may say nothing, or take nothing, before it is closed.
SILENCE_S = 20.0
#: Jobs that wait or run at once; more are refused.
JOBS_MAX = 20
#: The same of one seat of a class, of which one runs.
JOBS_SEAT = 3
#: Flows of all runs of a job, which are planned before the first of them starts.
FLOWS_MAX = 200_000
#: Standard deviations (square roots of the mean: arrivals are a Poisson process) by which flows that arrive at random
#: may be more than in the mean: one job in three million has more.
_DEVIATIONS = 5
#: Folders in one report.
TOGETHER = 8
#: Bytes of a sample row in memory and on disk, about.
_ROW_BYTES = 200


class Limits(NamedTuple):
    """Limits of one job: a scenario with all its runs.

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
    has_flags
        Whether somebody has started the server, and may start it with others.
    """

    time_s: float = 300.0
    runs: int = 200
    packets: int = 1_000_000_000
    memory_bytes: int = 2 << 30
    has_flags: bool = True

    def flag(self, name: str) -> str:
        """What a message says of the flag that sets a limit."""
        return f" ({name} of this server)" if self.has_flags else ""

    def check_size(self, scenario: Scenario) -> None:
        """Raise ScenarioError for more runs or flows than are planned here, before they are."""
        count = prod(len(axis.points) for axis in scenario.axes) * scenario.repetitions
        if count > self.runs:
            raise ScenarioError("", f"got {count} runs, wanted at most {self.runs}{self.flag('--max-runs')}")
        drawn, written = map(sum, zip(*(_flows(case.scenario) for case in plan.cases(scenario)), strict=True))
        drawn, written = drawn * scenario.repetitions, written * scenario.repetitions
        flows = written + drawn + _DEVIATIONS * isqrt(drawn)
        if flows > FLOWS_MAX:
            which = "up to " if drawn else ""
            raise ScenarioError("flow", f"got {which}{flows} flows in {count} runs, wanted at most {FLOWS_MAX} in all")


class Tally:
    """Holds the runs of a job against the limits while they are planned, one after the other."""

    def __init__(self, limits: Limits, *, is_real_time: bool) -> None:
        self.limits, self.is_real_time = limits, is_real_time
        self.runs = self.packets = self.time_ns = 0
        """So far; packets at most."""

    def take(self, planned: Planned) -> None:
        """Count one more run. Raises ScenarioError for one that is too large, or with which all of them are."""
        plan, limits = planned.plan, self.limits
        for name in ("pcap", *EXTRA):
            if plan["record"].get(name):
                raise ScenarioError(
                    f"record.{name}", "got true, wanted false: this server writes no such table or capture"
                )
        self._check_memory(len(plan["flows"]) * (plan["duration_ns"] // plan["sample_ns"] + 1))
        plan["limits"]["memory_bytes"] = min(plan["limits"]["memory_bytes"], limits.memory_bytes)
        self.runs += 1
        self.packets += estimate.packets(plan)
        self.time_ns += plan["duration_ns"]
        if self.packets > limits.packets:
            raise ScenarioError(
                "duration",
                f"got up to {self.packets:,} packets in {self._so_far()}, wanted at most {limits.packets:,}"
                f"{limits.flag('--max-packets')}",
            )
        if self.is_real_time and self.time_ns > limits.time_s * 1e9:
            raise ScenarioError(
                "duration",
                f"got {self.time_ns / 1e9:g} s in {self._so_far()} in real time, wanted at most {limits.time_s:g} s"
                f"{limits.flag('--max-time')}",
            )

    def _so_far(self) -> str:
        return "the first run" if self.runs == 1 else f"the first {self.runs} runs"

    def _check_memory(self, rows: int) -> None:
        most = self.limits.memory_bytes
        if rows * _ROW_BYTES > most:
            raise ScenarioError(
                "record.every",
                f"got {rows:,} sample rows, wanted at most {most // _ROW_BYTES:,} in {units.bytes_text(most)}"
                f"{self.limits.flag('--max-memory')}",
            )


class Keep(NamedTuple):
    """Limits of finished jobs on the disk: number of folders, and bytes in all; the oldest go first."""

    folders: int = 200
    disk_bytes: int = 5 << 30


def _flows(case: Scenario) -> tuple[int, int]:
    """Flows of one run: how many arrive at random in the mean, and how many others there are."""
    drawn = written = 0
    for flow in case.flow:
        if flow.arrivals is None:
            written += flow.count
        else:
            drawn += flow.arrivals.mean_count(flow.start, case.duration if flow.stop is None else flow.stop)
    return drawn, written
