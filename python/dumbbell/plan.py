"""Scenario x varied values x repetition -> plans: absolute, explicit integers, which is all that an engine sees.

Order of runs: the first key written varies slowest, then the second, and so on; repetitions vary fastest.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod
from typing import Any, NamedTuple

from . import controllers, units
from .declare import parsed, plain, varied
from .errors import ScenarioError, wrong
from .scenario import Flow, Jitter, Path, Record, Scenario, from_dict
from .schedule import Course

#: Most runs that one scenario may ask for: a grid beyond it is a slip of the hand, not an experiment.
RUNS_MAX = 100_000

#: Most flows of a run; a port number each (RFC 6335 leaves 49151 user ports), and memory for their tables.
FLOWS_MAX = 49_151

#: Most sample rows (flows x sample times) of a run: 10^8 rows take about 20 GB before compression.
SAMPLES_MAX = 100_000_000

Known = Mapping[str, controllers.Controller]
"""Controllers by name."""

_MASK64 = 2**64 - 1


class Case(NamedTuple):
    """One combination of the varied values."""

    vary: dict[str, Any]
    scenario: Scenario


class Planned(NamedTuple):
    """One run: its place in the scenario's order, a case, its repetition, and the plan for the engine."""

    position: int
    name: str
    vary: dict[str, Any]
    repetition: int
    plan: dict[str, Any]


def derived_seed(seed: int, repetition: int) -> int:
    """Seed of a repetition: the given seed for repetition 0, else SplitMix64 of both, cut to 53 bits so that JSON and TOML keep it exact.

    SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, Fig. 17.
    """
    if repetition == 0:
        return seed
    z = (seed + repetition * 0x9E3779B97F4A7C15) & _MASK64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK64
    return (z ^ (z >> 31)) & (2**53 - 1)


def cases(scenario: Scenario) -> list[Case]:
    """Every combination of the varied values (the full grid), in the documented order."""
    axes = list(varied(scenario))
    if not axes:
        return [Case({}, scenario)]
    count = prod(len(values) for _, values in axes) * scenario.repetitions
    if count > RUNS_MAX:
        raise ScenarioError("", f"{count} runs ({' x '.join(path for path, _ in axes)}), wanted at most {RUNS_MAX}")
    paths = [path for path, _ in axes]
    return [_case(scenario, dict(zip(paths, combination))) for combination in product(*(values for _, values in axes))]


def _case(scenario: Scenario, vary: dict[str, Any]) -> Case:
    raw = plain(scenario)
    for path, value in vary.items():
        *parents, last = path.replace("[", ".[").split(".")
        table = raw
        for step in parents:
            table = table[int(step[1:-1])] if step.startswith("[") else table[step]
        table[last] = value
    return Case(vary, from_dict(raw))


def runs(scenario: Scenario, known: Known | None = None) -> list[Planned]:
    """Every run of the scenario, in order; raises ScenarioError for contradictions and impossible values.

    `known` are the controllers that there are: the built-in ones unless given.
    """
    planned: list[Planned] = []
    for vary, case in cases(scenario):
        base = plan(case, known)
        for repetition in range(scenario.repetitions):
            planned.append(Planned(len(planned), scenario.name, vary, repetition, {**base, "seed": derived_seed(base["seed"], repetition)}))
    return planned


def plan(case: Scenario, known: Known | None = None) -> dict[str, Any]:
    """The plan of a scenario without varied values."""
    path, record = case.path, case.record
    assert isinstance(path, Path)
    assert isinstance(record, Record)
    duration = parsed(case, "duration")
    flows = [item for i, flow in enumerate(case.flow) for item in _flows(flow, path, duration, f"flow[{i}]", known)]  # type: ignore[arg-type]
    if len(flows) > FLOWS_MAX:
        raise ScenarioError("flow", f"{len(flows)} flows in all, wanted at most {FLOWS_MAX}")
    sample = parsed(record, "every")
    if len(flows) * (duration // sample) > SAMPLES_MAX:
        raise wrong("record.every", record.every, f"at most {SAMPLES_MAX} rows (flows x duration / every)")
    _spread_starts(flows, case)
    return {
        "name": case.name,
        "seed": case.seed,
        "duration_ns": duration,
        "sample_ns": sample,
        "bottleneck": {
            **_rate(parsed(path, "rate")),
            "burst_bytes": parsed(path, "burst"),
            "qdisc": {"kind": parsed(path, "qdisc"), **buffer_limit(path)},
        },
        "host": _host(case.host),
        "flows": flows,
        "record": {name: getattr(record, name) for name in ("samples", "queue", "events", "pcap")},
    }


def _spread_starts(flows: list[dict[str, Any]], case: Any) -> None:
    """Move each start by up to `host.start_jitter`, drawn from the run's seed and the flow's number alone."""
    spread = parsed(case.host, "start_jitter")
    if not spread:
        return
    import hashlib  # rarely needed, and start-up counts

    for i, flow in enumerate(flows):
        draw = hashlib.sha256(f"{case.seed}/flow{i}.start".encode()).digest()
        room = flow["stop_ns"] - flow["start_ns"] - 1
        flow["start_ns"] += min(int.from_bytes(draw[:8], "big") % (spread + 1), room)


def bdp_bytes(path: Path) -> int | None:
    """Bandwidth-delay product of the path, rounded down; None where the path has no RTT."""
    rtt = parsed(path, "rtt")
    return None if rtt is None else parsed(path, "rate") * rtt // (8 * 10**9)


def buffer_limit(path: Path) -> dict[str, int | None]:
    """Drop-tail limit of the bottleneck: wire bytes (rounded down) or packets."""
    measure, numerator, denominator = parsed(path, "buffer")
    rate, rtt = parsed(path, "rate"), parsed(path, "rtt")
    if measure == "pkt":
        return {"limit_bytes": None, "limit_packets": numerator}
    if measure == "bdp" and rtt is None:
        raise wrong("path.buffer", path.buffer, "path.rtt beside it, because a BDP is path.rate x path.rtt")
    if measure == "bytes":
        size = numerator
    elif measure == "ns":
        size = rate * numerator // (8 * 10**9)
    else:
        size = rate * rtt * numerator // (8 * 10**9 * denominator)
    if size < units.FRAME_BYTES:
        raise wrong("path.buffer", path.buffer, f"at least one packet of {units.FRAME_BYTES} bytes (it comes to {size} bytes)")
    if size > units.MAX_INT:
        raise wrong("path.buffer", path.buffer, "less than 2^63 bytes")
    return {"limit_bytes": size, "limit_packets": None}


def _host(host: Any) -> dict[str, Any]:
    return {
        "hz": host.hz,
        "qdisc": host.qdisc,
        "tso": host.tso,
        "gro": host.gro,
        "ecn": host.ecn,
        "rcvbuf_bytes": parsed(host, "rcvbuf"),
        "sndbuf_bytes": parsed(host, "sndbuf"),
        "delayed_ack": host.delayed_ack,
        "arp": host.arp,
    }


def _flows(flow: Flow, path: Path, duration: int, at: str, known: Known | None) -> list[dict[str, Any]]:
    """The `count` flows of one [[flow]] table."""
    params = dict(flow.params or {})
    controllers.check(str(flow.cca), params, at, known)  # type: ignore[arg-type]
    start, stop, spacing = parsed(flow, "start"), parsed(flow, "stop"), parsed(flow, "spacing")
    count = flow.count
    assert isinstance(count, int)
    last = start + (count - 1) * spacing
    if last >= duration:
        which = "start" if start >= duration else "spacing"
        raise wrong(f"{at}.{which}", getattr(flow, which), f"every start before the end of the run ({units.span_text(duration)})")
    if stop is not None and not last < stop <= duration:
        raise wrong(f"{at}.stop", flow.stop, f"after the last start ({units.span_text(last)}), up to the end of the run ({units.span_text(duration)})")
    rtt = parsed(path, "rtt") if flow.rtt is None else parsed(flow, "rtt")
    if rtt is None:
        raise ScenarioError(f"{at}.rtt", "missing, and there is no path.rtt to fall back on")
    one = {
        "cca": flow.cca,
        "params": params,
        "rtt_ns": rtt,
        "loss_ppb": parsed(path, "loss") if flow.loss is None else parsed(flow, "loss"),
        "jitter": _jitter(path.jitter if flow.jitter is None else flow.jitter),
        "stop_ns": duration if stop is None else stop,
        "size_bytes": parsed(flow, "size"),
        "max_rate_bps": parsed(flow, "max_rate"),
    }
    return [{**one, "start_ns": start + i * spacing} for i in range(count)]


def _rate(rate: int) -> dict[str, Any]:
    if isinstance(rate, Course):
        return {"rate_bps": int(rate), "steps": rate.steps, "repeat_ns": rate.repeat_ns}
    return {"rate_bps": rate, "steps": [], "repeat_ns": None}


def _jitter(jitter: Any) -> dict[str, Any] | None:
    if not isinstance(jitter, Jitter):
        return None
    width = "spread_ns" if jitter.kind == "uniform" else "stddev_ns"
    return {"kind": jitter.kind, width: parsed(jitter, "spread"), "reorder": jitter.reorder}
