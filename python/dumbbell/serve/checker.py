"""The processes that check scenarios for the server, and explain runs: what takes too long ends with its process, and
the server goes on.

A few lines can ask for minutes of planning (an hour of a generated link in each of 150 flows), and a link that is
shared makes the page ask for it by being opened.

    {"what": "answer", "posted": ...}       ->  {"answer": what the page is told of the scenario}
    {"what": "outline", "posted": ...}      ->  {"answer": what is to be known of its runs before there is a result}
    {"what": "why", "posted": ...}          ->  {"answer": why the flows of a finished run got what they got}
                                                {"errors": [{"key", "text", "line"}]}, {"error": text}
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.errors import DumbbellError, OutError, ResultError, ScenarioError, together
from dumbbell.plots import groups, reading
from dumbbell.plots.goodput import bin_of
from dumbbell.report import overtime

from .check import SIM, Desk, listed
from .limits import Limits
from .live import LINES
from .worker import RUNS_DRAWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .check import Checked

#: Seconds that a check may take. What is within the server's other limits takes some seconds at most.
TIME_S = 20.0
#: Checks that go on at once, each in a process of its own; apart from them, as many runs are explained.
AT_ONCE = 2
#: Why a process ended that had no answer, by what it was asked.
_LATE = {"why": "explaining this run takes"}
_WANTED = {"why": "`dumbbell explain` has no limit"}


class Checkers:
    """The processes, as the server sees them. With `is_warm` the first is there before it is needed."""

    def __init__(self, desk: Desk, *, time_s: float = TIME_S, is_warm: bool = True) -> None:
        self._desk = desk
        self._time_s = time_s
        self._room = threading.Semaphore(AT_ONCE)
        self._lock = threading.Lock()
        self._free: list[subprocess.Popen[str]] = [_process()] if is_warm else []
        self._has_ended = False

    def answer(self, posted: Mapping[str, Any], desk: Desk | None = None) -> dict[str, Any]:
        """Answer to the page about a scenario, as `Desk.answer` of this desk gives it."""
        try:
            return self._asked("answer", posted, desk)
        except ScenarioError as error:  # a check that took too long
            return {"errors": listed(error), "warnings": []}

    def outline(self, posted: Mapping[str, Any], desk: Desk | None = None) -> dict[str, Any]:
        """Outline of a scenario's runs; raises ScenarioError for one that is refused."""
        return self._asked("outline", posted, desk)

    def why(self, posted: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
        """Why the flows of a run got what they got (`why.py`); raises ResultError."""
        try:
            return self._asked("why", posted, desk)
        except ScenarioError as error:
            raise ResultError(str(error)) from None

    def end(self) -> None:
        """End all of them: each by the end of its input, so that it clears up."""
        with self._lock:
            self._has_ended = True
            free, self._free = self._free, []
        for process in free:
            with suppress(OSError):
                if process.stdin:
                    process.stdin.close()
        for process in free:
            _end(process)

    def _asked(self, what: str, posted: Mapping[str, Any], desk: Desk | None) -> dict[str, Any]:
        of = desk or self._desk
        told = {
            "results": str(of.results), "limits": list(of.limits), "simulated": of.is_simulated, "time_s": self._time_s
        }  # fmt: skip
        if not self._room.acquire(timeout=self._time_s):
            raise OutError(f"{AT_ONCE} others are being {'explained' if what == 'why' else 'checked'}; try again")
        try:
            with self._lock:
                process = self._free.pop() if self._free else None
            if process is None or process.poll() is not None:
                process = _process()
            text = _exchanged(process, json.dumps({"what": what, "posted": posted, **told}))
            if text is None:
                raise ScenarioError("", self._failed(process, what))
            with self._lock:
                if not self._has_ended:
                    self._free.append(process)
            return _made(json.loads(text))
        finally:
            self._room.release()

    def _failed(self, process: subprocess.Popen[str], what: str) -> str:
        """Why there is no answer."""
        limit = f"longer than {self._time_s:g} s" if _end(process) == -signal.SIGALRM else "more memory than there is"
        late = _LATE.get(what, "checking this takes")
        return f"{late} {limit}: {_WANTED.get(what, 'wanted fewer flows, runs or generated links')}"


def _process() -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    command = [sys.executable, "-P", "-m", "dumbbell.serve.checker"]  # -P: as for the worker of a job
    return subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, encoding="utf-8", start_new_session=True
    )


def _exchanged(process: subprocess.Popen[str], line: str) -> str | None:
    """The line that a process answers with; None where it has ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(line + "\n")
        process.stdin.flush()
    except BrokenPipeError:
        return None
    return process.stdout.readline() or None


def _end(process: subprocess.Popen[str]) -> int:
    """End a process, unless it has; its status."""
    with process:
        try:
            return process.wait(1.0)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def _made(told: dict[str, Any]) -> dict[str, Any]:
    """The answer; raises the error that it is."""
    if "errors" in told:
        raise together(
            [ScenarioError(problem["key"], problem["text"], line=problem["line"]) for problem in told["errors"]]
        )
    if "error" in told:
        raise ResultError(told["error"])
    answer: dict[str, Any] = told["answer"]
    return answer


# ---- In the process ----


def outline(checked: Checked) -> dict[str, Any]:
    """Outline of a scenario's runs before there is a result."""
    return {
        "begin": _begin(checked),
        "whole": _whole(checked),
        "total_ns": sum(job.planned.plan["duration_ns"] for job in checked.jobs),
        "on": checked.on,
    }


def _whole(checked: Checked) -> dict[str, list[Any]]:
    """The values of each key that the runs vary, in their order."""
    by_key: dict[str, list[Any]] = {}
    for job in checked.jobs:
        for key, value in job.planned.vary.items():
            values = by_key.setdefault(key, [])
            if value not in values:
                values.append(value)
    return by_key


def _begin(checked: Checked) -> dict[str, Any]:
    """Data with which the page draws runs that go on: their lines as in the report."""
    return {
        "name": checked.given.scenario.name,
        "vary": list(_whole(checked)),
        "rtt": None if checked.on == SIM else reading.SMOOTHED,
        "runs": [
            {"duration_s": job.planned.plan["duration_ns"] / 1e9, **_lines(job.planned.plan)}
            if job.number < RUNS_DRAWN
            else {"duration_s": job.planned.plan["duration_ns"] / 1e9}
            for job in checked.jobs
        ],
        "toml": checked.given.text,
    }


class _Coming:
    """As much of a result as its lines need, before there is one."""

    def __init__(self, plan: Any) -> None:
        import msgspec

        from dumbbell.plan.view import PlanView

        self.plan = msgspec.convert(json.loads(json.dumps(plan)), PlanView)


def _lines(plan: Any) -> dict[str, Any]:
    coming: Any = _Coming(plan)
    groups_ = groups.of(coming)
    names = groups.flow_labels(groups_)
    lines = [overtime.Line(group, (flow,), names[flow], is_band=False) for group in groups_ for flow in group.flows]
    lines.sort(key=lambda line: line.flows)
    rate = coming.plan.bounding_rate_bps()
    span = reading.window_of(coming, coming.plan.window)
    return {
        "bin_s": bin_of(coming, None, span),
        "from_s": span[0],
        "lines": [overtime.line_of(line, i, lines) for i, line in enumerate(lines[:LINES])],
        "flows": len(lines),
        "rate_mbps": None if rate is None else rate / 1e6,
        "bdp": overtime.bdps(coming.plan),
    }


def _told(asked: dict[str, Any]) -> dict[str, Any]:
    desk = Desk(Path(asked["results"]), Limits(*asked["limits"]), is_simulated=asked["simulated"])
    try:
        if asked["what"] == "why":
            from . import why

            return {"answer": why.told(desk, asked["posted"])}
        if asked["what"] == "answer":
            return {"answer": desk.answer(asked["posted"])}
        return {"answer": outline(desk.check(asked["posted"]))}
    except ScenarioError as error:
        return {"errors": listed(error)}
    except (DumbbellError, ValueError) as error:
        return {"error": str(error)}


def main() -> None:
    """Answer line by line until there are no more. The clock ends the process, whatever it is at, also where the server
    that asked has been killed.
    """
    for line in sys.stdin:
        asked = json.loads(line)
        signal.setitimer(signal.ITIMER_REAL, asked["time_s"])
        told = json.dumps(_told(asked))
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(told, flush=True)


if __name__ == "__main__":
    main()
