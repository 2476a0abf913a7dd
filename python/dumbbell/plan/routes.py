"""A scenario's links and routes as the engine takes them.

What goes down meets, in this order: the parts of `path.impair` (or loss, duplicate, corrupt), half the flow's RTT with
its jitter and reordering, then for each link of `via` its policer, its queue and rate, and its own `delay`. What goes
up meets the parts of `path.up.impair` (or thin, aggregate, loss, duplicate, corrupt), its link if that has a rate, then
the other half of the RTT and the delays of the links of `via`. Data of a flow go down unless its `direction` is up;
its acknowledgements go the other way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import ScenarioError, wrong
from dumbbell.scenario import schedule
from dumbbell.scenario.declare import Table, is_written, raw_at
from dumbbell.scenario.file import Flow, Path
from dumbbell.scenario.impairments import (
    Aggregate,
    Loss,
    Stage,
    Thin,
    WindowedLoss,
    by_engine,
    delay_stage,
    loss_stage,
    share_stage,
)
from dumbbell.scenario.qdiscs import BufferContext, Fifo
from dumbbell.scenario.routes import (
    BOTTLENECK,
    PARTS_MAX,
    CorruptPart,
    DelayPart,
    DuplicatePart,
    Link,
    LinksPart,
    Part,
    SegmentPart,
    Up,
)
from dumbbell.scenario.schedule import Rate, Rtt, Schedule
from dumbbell.units import ETHERNET_BYTES, FRAME_BYTES, span_text

if TYPE_CHECKING:
    from .types import LinkPlan, Settings, TracePlan

#: Longest RTT of a flow, as the engine has it, ns.
RTT_MAX_NS = 60 * 10**9

#: An acknowledgement on the wire with timestamps and three SACK blocks, bytes.
ACK_BYTES = 94


class Route(NamedTuple):
    """Stages of a flow's data and acknowledgements, and its RTT."""

    forward: list[Stage]
    back: list[Stage]
    rtt_ns: int


def rate(given: Rate, at: str, folder: FilePath) -> Settings:
    """The engine's keys for a rate, its schedule or its trace."""
    if isinstance(given, schedule.TraceFile):  # of Mahimahi: `traced.py` has put steps in the place of others
        from dumbbell.scenario import traces  # rarely needed, and start-up counts

        path = (folder / given.file).absolute()
        trace = traces.read(path, f"{at}.rate")
        opportunity = FRAME_BYTES if given.opportunity_bytes is None else given.opportunity_bytes
        mean = traces.mean_bps(trace, opportunity)
        if mean not in schedule.RATE_BPS:
            raise wrong(f"{at}.rate", given.file, f"a trace of 1kbps to 1Tbps in the mean (it comes to {mean} bit/s)")
        planned: TracePlan = {
            "path": str(path),
            "sha256": trace.sha256,
            "opportunity_bytes": opportunity,
            "repeat": given.repeat is not False,
        }
        return {"rate_bps": mean, "steps": [], "repeat_ns": None, "trace": planned}
    if isinstance(given, schedule.Radio):
        return {
            "rate_bps": given.mean_bps,
            "steps": given.steps(),
            "repeat_ns": given.length_ms * 1_000_000,
            "trace": None,
        }
    steps, repeat = (list(given.steps), given.repeat_ns) if isinstance(given, Schedule) else ([], None)
    return {"rate_bps": schedule.nominal(given), "steps": steps, "repeat_ns": repeat, "trace": None}


def link(
    table: Path | Link | Up,
    name: str,
    at: str,
    rtt_ns: int | None,
    folder: FilePath,
    *,
    packet_bytes: int = FRAME_BYTES,
) -> LinkPlan:
    """A link as the engine takes it; `table` has a rate, and its queue must hold a packet of this size."""
    assert table.rate is not None
    rated = rate(table.rate, at, folder)
    constant = not rated["steps"] and not rated["trace"]
    if rated["trace"] and is_written(table, "burst"):
        raise ScenarioError(
            f"{at}.burst", "unknown key of a link with a Mahimahi trace, whose opportunities say when packets leave"
        )
    if not table.burst and (rated["trace"] or table.qdisc.FORM != "fifo" or getattr(table.qdisc, "head_drop", False)):
        raise wrong(
            f"{at}.burst", raw_at(table, "burst"), "above zero: a serial line (0B) has a drop-tail queue and no trace"
        )
    planned: Any = {
        "name": name,
        **rated,
        "burst_bytes": table.burst,
        "policer": None if table.policer is None else table.policer.plan(),
        "qdisc": table.qdisc.plan(BufferContext(at, rated["rate_bps"], rtt_ns, table, constant, packet_bytes)),
    }
    header = _header(table, at)
    if header is not None:
        planned["header_bytes"] = header
    return planned  # type: ignore[no-any-return]


def _header(table: Path | Link | Up, at: str) -> int | None:
    """Bytes of the header that a link has instead of Ethernet's; a drop-tail queue at a rate counts it."""
    if table.link_header == ETHERNET_BYTES:
        return None
    is_plain = isinstance(table.qdisc, Fifo) and not table.qdisc.head_drop
    if not is_plain or table.policer is not None or isinstance(table.rate, schedule.TraceFile):
        wanted = f"{ETHERNET_BYTES}B, Ethernet's, or a drop-tail queue (fifo) at a rate, without policer"
        raise wrong(f"{at}.link_header", raw_at(table, "link_header"), wanted)
    return table.link_header


def named(links: Sequence[Link]) -> dict[str, tuple[int, int]]:
    """Number and delay in ns of each link by its name."""
    by_name = {BOTTLENECK: (0, 0)}
    for i, item in enumerate(links):
        if item.name in by_name:
            raise wrong(
                f"link[{i}].name",
                item.name,
                "a name of its own" + (", because the link of [path] has this one" if item.name == BOTTLENECK else ""),
            )
        by_name[item.name] = (i + 1, item.delay)
    return by_name


def route(flow: Flow, path: Path, rtt: Rtt, links: Mapping[str, tuple[int, int]], at: str) -> Route:
    """The stages of a flow's data and acknowledgements."""
    via, goes_up = flow.via, flow.direction == "up"
    for name in via:
        if name not in links:
            raise wrong(f"{at}.via", name, "one of: " + ", ".join(f'"{n}"' for n in links), list(links))
    extra = sum(links[name][1] for name in via)
    there, back = _one_way(rtt)
    there = there if path.delay is None else path.delay
    named, up = path.way_up
    crossed = [stage for name in via for stage in _crossed(*links[name])]
    down = _way("path", path, (at, flow), there, crossed, is_data=not goes_up)
    back = back if up is None or up.delay is None else up.delay
    rising: list[Stage] = [delay_stage(back)]
    if up is not None:
        link_up: list[Stage] = [] if up.rate is None else [{"kind": "link", "link": 0}]
        rising = _way(named, up, (at, flow), back, link_up, is_data=goes_up)
    if goes_up and (up is None or up.rate is None):
        raise ScenarioError("path.up.rate", f"missing, wanted a rate, because {at} goes up")
    rising += [delay_stage(extra)] if extra else []
    for stages, whose in ((down, "path.impair"), (rising, f"{named}.impair")):
        if len(stages) > PARTS_MAX:
            where = f"{at}.impair" if flow.impair is not None else whose if path.impair is not None else f"{at}.via"
            raise ScenarioError(
                where,
                f"comes to {len(stages)} parts with the links and delays of the flow's way, wanted {PARTS_MAX} at most",
            )
    rtt_ns = schedule.nominal(there) + schedule.nominal(back) + 2 * extra
    if rtt_ns > RTT_MAX_NS:
        raise _too_long(flow, path, at, named=named, rtt_ns=rtt_ns)
    return Route(rising, down, rtt_ns) if goes_up else Route(down, rising, rtt_ns)


def _too_long(flow: Flow, path: Path, at: str, *, named: str, rtt_ns: int) -> ScenarioError:
    """The error for delays that add up to more than an RTT may be, at the first of them that is written."""
    up = path.way_up[1]
    written = [
        *(["path.delay"] if path.delay is not None else []),
        *([f"{named}.delay"] if up is not None and up.delay is not None else []),
        *([f"{at}.via"] if flow.via else []),
    ]
    where = written[0] if written else "path.rtt" if flow.rtt is None else f"{at}.rtt"
    return ScenarioError(
        where, f"comes to an RTT of {span_text(rtt_ns)} with all delays of the flow's way, wanted 60 s at most"
    )


def _takes(loss: object, name: str | None) -> bool:
    """True unless it is a loss of another flow's packets."""
    return not isinstance(loss, WindowedLoss) or loss.flow in (None, name)


def _way(
    named: str, way: Path | Up, whose: tuple[str, Flow], delay: Rtt, crossed: list[Stage], *, is_data: bool
) -> list[Stage]:
    """Stages of a flow's packets down or up; its own impairments are for its data."""
    data, name = whose if is_data else None, whose[1].name
    at, flow = data or ("", None)
    own = None if flow is None else flow.impair
    chain, where = (way.impair, f"{named}.impair") if own is None else (own, f"{at}.impair")
    if chain is not None:
        _refuse_beside_impair(named, way, data)
        return _chain(chain, delay, crossed, where, links_first=isinstance(way, Up), name=name)
    jitter = way.jitter if flow is None or flow.jitter is None else flow.jitter
    loss, loss_at = (way.loss, named) if flow is None or flow.loss is None else (flow.loss, at)
    loss = loss if _takes(loss, name) else 0
    delayed = delay_stage(delay, jitter, way.reorder, way.slot)
    if not isinstance(way, Up):
        return [*_lossy(way, loss, loss_at), delayed, *crossed]
    stages: list[Stage] = [] if way.thin is None or data else [way.thin.stage(f"{named}.thin")]
    stages += [] if way.aggregate is None else [way.aggregate.stage(f"{named}.aggregate")]
    return [*stages, *_lossy(way, loss, loss_at), *crossed, delayed]


def _crossed(number: int, delay: int) -> list[Stage]:
    return [{"kind": "link", "link": number}, *([delay_stage(delay)] if delay else [])]


def _lossy(path: Path | Up, loss: int | Loss, at: str) -> list[Stage]:
    stages = (
        loss_stage(loss, f"{at}.loss"),
        share_stage("duplicate", path.duplicate),
        share_stage("corrupt", path.corrupt),
    )
    return [stage for stage in stages if stage]


def _one_way(rtt: Rtt) -> tuple[Rtt, Rtt]:
    """Delay of the data and of the acknowledgements."""
    if isinstance(rtt, int):
        return _half(rtt), rtt - _half(rtt)
    assert isinstance(rtt, Schedule), "recordings are settled before plans are made"
    return rtt.map(_half), rtt.map(lambda both: both - _half(both))


def _half(rtt: int) -> int:
    """Half of an RTT; of one in whole us whole us, and the rest goes up: `tc` cuts off parts of them. Less than one
    each way needs no netem.
    """
    half = rtt // 2
    return half if rtt % 1000 or half < 1000 else half // 1000 * 1000


def _refuse_beside_impair(named: str, way: Path | Up, data: tuple[str, Flow] | None) -> None:
    """A chain lists all impairments: no other key may repeat one of them."""
    mine = ("thin", "aggregate") if isinstance(way, Up) else ()
    tables: list[tuple[str, Table, tuple[str, ...]]] = [
        (named, way, ("loss", "jitter", "duplicate", "corrupt", "reorder", "slot", *mine)),
    ]
    tables += [] if data is None else [(*data, ("loss", "jitter"))]
    for where, table, names in tables:
        for name in names:
            if is_written(table, name):
                raise wrong(f"{where}.{name}", raw_at(table, name), "no such key next to impair, whose list has it")


def _chain(
    chain: Sequence[Part | Loss],
    there: Rtt,
    crossed: list[Stage],
    at: str,
    *,
    links_first: bool,
    name: str | None,
) -> list[Stage]:
    stages: list[Stage] = []
    own = linked = False
    for i, part in enumerate(chain):
        if isinstance(part, DelayPart):
            if part.time is None and own:
                raise ScenarioError(f"{at}[{i}].time", "missing: another part is the flow's own delay already")
            time = there if part.time is None else part.time
            stages.append(delay_stage(time, part.jitter, part.reorder, part.slot))
            own = own or part.time is None
        elif isinstance(part, LinksPart):
            if linked:
                raise wrong(f"{at}[{i}].kind", "links", "it once")
            stages += crossed
            linked = True
        elif _takes(part, name):
            stages += [_stage(part, f"{at}[{i}]")]
    left = [[] if own else [delay_stage(there)], [] if linked else crossed]
    return [*stages, *(stage for stages in (reversed(left) if links_first else left) for stage in stages)]


def _stage(part: Part | Loss, at: str) -> Stage:
    if isinstance(part, (DuplicatePart, CorruptPart)):
        return {"kind": part.FORM, **by_engine(part)}
    if isinstance(part, SegmentPart):
        return {"kind": part.FORM}
    if isinstance(part, (Thin, Aggregate)):
        return part.stage(at)
    assert isinstance(part, Loss)
    return part.stage(at)
