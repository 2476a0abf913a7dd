"""One command at one end of an emulated path: what `dumbbell shell` makes of its options."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from . import units
from .errors import EngineError, ScenarioError, together, wrong

if TYPE_CHECKING:
    from dumbbell.plan.types import Plan

#: A day, the longest that a path lasts, ns.
_DAY_NS = 86_400_000_000_000
#: Where nothing limits the rate, ns are what is left of it.
_UNLIMITED = "1Tbps"
#: Linux's own length of a queue, where neither buffer nor AQM is given.
_BUFFER = "1000pkt"
#: Pairs of random times of a link that is switched on and off, before they repeat.
_SWITCHES = 2000


@dataclass(frozen=True, kw_only=True)
class Direction:
    """One direction: a rate or a Mahimahi trace, or neither; its queue, its loss, and the mean times for which it is on
    and off, as ``4s,500ms``.
    """

    rate: str | None = None
    trace: str | None = None
    buffer: str | None = None
    aqm: str | None = None
    loss: str | None = None
    onoff: str | None = None


@dataclass(frozen=True, kw_only=True)
class Path:
    """Both directions; texts are as in a scenario file, rates also as `tc` writes them (12mbit). `buffer`, `aqm` and
    `loss` are of a direction without its own.
    """

    up: Direction = Direction()
    down: Direction = Direction()
    delay: str = "0s"
    buffer: str | None = None
    aqm: str | None = None
    loss: str = "0%"
    seed: int = 1


def plan(path: Path) -> dict[str, Any]:
    """The plan of a path, whose one flow is everything. Raises ScenarioError that names the option."""
    up, down = _planned(path, path.up, "up"), _planned(path, path.down, "down")
    whole: dict[str, Any] = {
        **up,
        "name": "shell",
        "duration_ns": _DAY_NS,
        "sample_ns": 1_000_000_000,
        "ack_links": down["links"],
    }
    whole["record"] = {"samples": False, "queue": False, "events": False, "pcap": False}
    whole["host"] = {**up["host"], "qdisc": "none", "arp": False}
    flow = up["flows"][0]
    delay = [{"kind": "delay", "ns": flow["rtt_ns"] // 2}] if flow["rtt_ns"] else []
    link = [{"kind": "link", "link": 0}]
    forward = [*delay, *_losses(up, path, "up"), *link]
    back = [*link, *_losses(down, path, "down"), *delay]
    whole["flows"] = [{**flow, "start_ns": 0, "stop_ns": _DAY_NS, "forward": forward, "back": back}]
    return whole


def run(path: Path, command: Sequence[str], *, far: Sequence[str] = (), forward: Sequence[str] = ()) -> dict[str, Any]:
    """Run a command at one end of a path; the result has its exit status, what both directions did, and how late
    the emulator was.

    `far` are shell commands at the far end (10.2.0.1, in ``$DUMBBELL_FAR``), `forward` are ports of it that stand for
    servers of the machine's own network (``8080=example.org:80``). Nothing of the machine's network is touched. The
    status is 127 for a command that there is not, 126 for one that cannot be executed, and the warnings say why.
    Everything that the command has started ends with it, and with this process.
    """
    from . import _native

    text = json.dumps(plan(path))
    try:
        ended: dict[str, Any] = json.loads(_native.shell(text, list(command), list(far), list(forward)))
    except _native.PlanError as error:
        raise ScenarioError("", str(error), source="shell") from None
    except _native.EmulatorError as error:
        raise EngineError(f"shell: {error}") from None
    return ended


def _planned(path: Path, direction: Direction, name: str) -> Plan:
    from . import plan as planning
    from .scenario.file import from_dict

    if direction.rate is not None and direction.trace is not None:
        raise ScenarioError(
            f"--{name}-trace",
            f"got {direction.trace} and the rate {direction.rate}, wanted one of the two for a direction",
        )
    rate: Any = {"trace": direction.trace} if direction.trace else _rate(direction.rate)
    table: dict[str, Any] = {"rate": rate, "rtt": _twice(path.delay), "loss": direction.loss or path.loss}
    aqm, buffer = direction.aqm or path.aqm, direction.buffer or path.buffer
    if aqm:
        table["qdisc"] = aqm
    if buffer or not aqm:
        table["buffer"] = _buffer(path, direction, buffer or _BUFFER, name)
    given = {"name": "shell", "duration": "1s", "seed": path.seed, "path": table, "flow": [{"cca": "cubic"}]}
    try:
        runs = planning.runs(from_dict(given))
    except ScenarioError as error:
        raise together([_of_option(path, name, inner) for inner in error.errors]) from None
    return next(iter(runs)).plan


def _of_option(path: Path, name: str, error: ScenarioError) -> ScenarioError:
    """The error of a scenario's key, as one of the option that gave its value."""
    option = _option(path, name, error.key)
    if option != "--delay":
        return ScenarioError(option, error.problem)
    _, _, accepted = error.problem.partition("wanted ")
    return wrong(option, path.delay, f"a delay whose round trip, twice of it, is {accepted}")


def _option(path: Path, name: str, key: str) -> str:
    """The option of `dumbbell shell` that gave the value of a scenario's key."""
    table, _, rest = key.partition(".")
    field = {"rate": "rate", "buffer": "buffer", "qdisc": "aqm", "loss": "loss", "rtt": "delay"}.get(rest.split(".")[0])
    if table != "path" or field is None:
        return f"shell, {name}: {key}"
    own, other = (path.up, path.down) if name == "up" else (path.down, path.up)
    if field == "rate":
        # --rate is both directions' rate.
        is_own = bool(own.trace) or own.rate != other.rate
        return f"--{name}-{'trace' if own.trace else 'rate'}" if is_own else "--rate"
    return f"--{name}-{field}" if field != "delay" and getattr(own, field) else f"--{field}"


def _buffer(path: Path, direction: Direction, buffer: str, name: str) -> str:
    """A buffer in BDP needs both of what a BDP is made of."""
    if not buffer.casefold().endswith("bdp"):
        return buffer
    option = f"--{name}-buffer" if direction.buffer else "--buffer"
    if direction.rate is None and direction.trace is None:
        raise ScenarioError(
            option,
            f"got {buffer}, wanted a rate as well (--rate, --{name}-rate or --{name}-trace): a BDP is rate times round"
            " trip",
        )
    if units.span_ns(path.delay) == 0:
        raise ScenarioError(option, f"got {buffer}, wanted a delay as well (--delay): a BDP is rate times round trip")
    return buffer


def _losses(planned: Plan, path: Path, name: str) -> list[dict[str, Any]]:
    """Random loss of a direction, and the times at which it loses everything."""
    direction = path.up if name == "up" else path.down
    stages = [stage for stage in planned["flows"][0]["forward"] if stage["kind"] == "loss"]
    if direction.onoff is not None:
        stages.append(_switched(direction.onoff, f"--{name}-onoff", f"{path.seed} {name}"))
    return stages


def _switched(text: str, option: str, seed: str) -> dict[str, Any]:
    """Loss of all packets for times with a mean, between times without any, both exponentially distributed as in
    `mm-onoff`.
    """
    import random

    wanted = "two times above zero, mean on and mean off, such as 4s,500ms"
    try:
        means = [units.span_ns(part.strip()) for part in text.split(",")]
    except units.UnitError as error:
        raise wrong(option, text, f"{wanted} ({error})") from None
    if len(means) != 2 or min(means) < 1_000_000:
        raise wrong(option, text, f"{wanted}, each from 1ms")
    draw, at, steps = random.Random(seed), 0, []
    for _ in range(_SWITCHES):
        for mean, share in zip(means, (0, 1_000_000_000)):
            steps.append((at, share))
            at += max(round(draw.expovariate(1 / mean)), 1)
    return {"kind": "loss", "model": "schedule", "steps": steps, "repeat_ns": at}


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
    return f"{max(2 * units.parse_option('--delay', delay, units.span_ns), 1)}ns"


def directions(rate: str | None, up: Direction, down: Direction) -> tuple[Direction, Direction]:
    """Each direction with its own rate, otherwise that of both. Raises ScenarioError for a rate of both next to a
    trace of one.
    """
    for name, direction in (("up", up), ("down", down)):
        if rate is not None and direction.trace is not None:
            other = "down" if name == "up" else "up"
            raise ScenarioError(
                "--rate",
                f"got {rate} together with --{name}-trace, wanted --{other}-rate, for the other direction only",
            )
    return replace(up, rate=up.rate or rate), replace(down, rate=down.rate or rate)
