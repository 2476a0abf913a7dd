"""One command behind an emulated path: what `dumbbell shell` makes of its options."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import units
from .errors import EngineError, ScenarioError, wrong

#: A day, the longest that a path lasts, ns.
_DAY_NS = 86_400_000_000_000
#: Where nothing limits the rate, ns are what is left of it.
_UNLIMITED = "1Tbps"
#: Linux's own length of a queue, where neither buffer nor AQM is given.
_BUFFER = "1000pkt"


@dataclass(frozen=True, kw_only=True)
class Way:
    """One direction: a rate or a Mahimahi trace, or neither."""

    rate: str | None = None
    trace: str | None = None


@dataclass(frozen=True, kw_only=True)
class Path:
    """Both directions; texts are as in a scenario file, rates also as `tc` writes them (12mbit)."""

    up: Way = Way()
    down: Way = Way()
    delay: str = "0s"
    buffer: str | None = None
    aqm: str | None = None
    loss: str = "0%"
    seed: int = 1


def plan(path: Path) -> dict[str, Any]:
    """The plan of a path, whose one flow is everything. Raises ScenarioError that names the option."""
    up, down = _planned(path, path.up, "up"), _planned(path, path.down, "down")
    made: dict[str, Any] = {**up, "name": "shell", "duration_ns": _DAY_NS, "sample_ns": 1_000_000_000, "ack_links": [down["bottleneck"]]}
    made["record"] = {"samples": False, "queue": False, "events": False, "pcap": False}
    made["host"] = {**up["host"], "qdisc": "none", "arp": False}
    flow = up["flows"][0]
    delay = [{"kind": "delay", "ns": flow["rtt_ns"] // 2}] if flow["rtt_ns"] else []
    loss = [{"kind": "loss", "model": "random", "ppb": flow["loss_ppb"], "correlation_ppb": 0}] if flow["loss_ppb"] else []
    link = [{"kind": "link", "link": 0}]
    made["flows"] = [{**flow, "start_ns": 0, "stop_ns": _DAY_NS, "loss_ppb": 0, "forward": [*delay, *loss, *link], "back": [*link, *loss, *delay]}]
    return made


def run(path: Path, command: Sequence[str], *, far: Sequence[str] = (), forward: Sequence[str] = ()) -> dict[str, Any]:
    """Run a command behind a path; the result has its exit status, what both directions did, and how late the emulator was.

    `far` are shell commands at the far end (10.2.0.1, in ``$DUMBBELL_FAR``), `forward` are ports of it that stand for servers of the machine's own
    network (``8080=example.org:80``). Nothing of the machine's network is touched.
    """
    from . import _native

    made = json.dumps(plan(path))
    try:
        ended: dict[str, Any] = json.loads(_native.shell(made, list(command), list(far), list(forward)))
    except _native.PlanError as error:
        raise ScenarioError("", str(error), source="shell") from None
    except _native.EmulatorError as error:
        raise EngineError(f"shell: {error}") from None
    return ended


def _planned(path: Path, way: Way, name: str) -> dict[str, Any]:
    from . import plan as planning
    from .scenario import from_dict

    rate: Any = {"trace": way.trace} if way.trace else _rate(way.rate)
    table: dict[str, Any] = {"rate": rate, "rtt": _twice(path.delay), "loss": path.loss}
    if path.aqm:
        table["qdisc"] = path.aqm
    if path.buffer or not path.aqm:
        table["buffer"] = path.buffer or _BUFFER
    given = {"name": "shell", "duration": "1s", "seed": path.seed, "path": table, "flow": [{"cca": "cubic"}]}
    try:
        runs = planning.runs(from_dict(given))
    except ScenarioError as error:
        raise error.under(f"shell, {name}") from None
    return next(iter(runs)).plan


def _rate(text: str | None) -> str:
    """A rate as scenarios have it, of one that may be written as `tc` does."""
    if text is None:
        return _UNLIMITED
    for tc, ours in (("kbit", "kbps"), ("mbit", "Mbps"), ("gbit", "Gbps")):
        if text.casefold().endswith(tc):
            return text[: -len(tc)] + ours
    return text


def _twice(delay: str) -> str:
    """The RTT of a one-way delay, which a scenario wants above zero."""
    try:
        return f"{max(2 * units.span_ns(delay), 1)}ns"
    except units.UnitError as error:
        raise wrong("--delay", delay, str(error)) from None
