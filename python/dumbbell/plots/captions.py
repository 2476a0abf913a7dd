"""The line under every picture: what was run, in which window, how often."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dumbbell.results.experiment import repetitions
from dumbbell.results.texts import several
from dumbbell.units import FRAME_BYTES, bytes_text, rate_text, span_ns, span_text

from . import groups, keys, look

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dumbbell.plan.view import LinkView, Window
    from dumbbell.results.load import Result

    from .groups import Group
    from .keys import VariedKey


_INTERVAL = "95 % interval of the mean (Student's t)"


def of_run(result: Result, window: Window | None = None, *, link: int = 0) -> str:
    """The caption of a picture of one run."""
    parts = [part(result, link) for part in _PARTS]
    varied = [keys.of(key, [result]).phrase(value) for key, value in result.vary.items() if key not in _SAID]
    repetition = [f"repetition {result.repetition}"] if result.repetition else []
    return f"{result.name}: " + "; ".join([*filter(None, parts), *varied, *repetition, _window(result, window)])


def of_runs(
    results: Sequence[Result],
    window: Window | None,
    *,
    intervals: bool = False,
    marks: str = "whiskers:",
    cut: bool = False,
    lacking: int = 0,
    unreached: int = 0,
    beside: Sequence[VariedKey] = (),
) -> str:
    """The caption of a picture of several runs: what they share, how many repetitions a point has, how many of the
    runs are `lacking` a value, how many points are `unreached`, and in which keys `beside` that along x the points
    differ. `marks` shows the intervals.
    """
    names = list(dict.fromkeys(run.name for run in results))
    parts = []
    for part in _PARTS:
        texts = {part(run, 0) for run in results}
        parts.append(texts.pop() if len(texts) == 1 else _SHARED.get(part, _nothing)(results))
    windows = {_window(run, window) for run in results}
    counts = sorted({len(same) for same in repetitions(results).values()})
    n = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    shown = f", {marks} {_INTERVAL}" + (", cut at what is possible" if cut else "") if intervals else ""
    times = [f"{n} repetition{'s' if counts != [1] else ''}{shown}"]
    if beside:
        times.append(f"a random sample, whose points also differ in {', '.join(key.range_text for key in beside)}")
    if unreached:
        times.append(f"{unreached} point{'s' * (unreached != 1)} not reached: too few transfers or messages ended")
    if lacking:
        times.append(f"{lacking} of {len(results)} runs lack a value: means are of the others")
    return f"{', '.join(names)}: " + "; ".join([*filter(None, parts), *(windows if len(windows) == 1 else []), *times])


def _rate(result: Result, number: int) -> str:
    link = result.plan.recorded_links[number]
    head = "" if number == 0 else f"link {link.name} "
    return head + course_text(link, result.plan.duration_ns)


def course_text(link: LinkView, duration_ns: int) -> str:
    """The rate of a link, or its course, in a few words."""
    if link.trace is not None:
        return f"trace {link.trace.path.rsplit('/', 1)[-1]} (mean {rate_text(link.rate_bps)})"
    rates = [rate for _, rate in link.course]
    if len(rates) == 1:
        return rate_text(rates[0])
    if len(rates) <= 4:
        return (
            "rate "
            + ", ".join(f"{rate_text(rate)} from {span_text(at)}" for at, rate in link.course)
            + (", repeated" if link.repeat_ns else "")
        )
    return f"rate changing, mean {rate_text(round(link.bits(0, duration_ns) * 1e9 / duration_ns))}"


def _rtt(result: Result, _: int) -> str:
    rtts = sorted({flow.rtt_ns for flow in result.plan.flows})
    if len(rtts) > 3:
        return f"RTTs of {span_text(rtts[0])} to {span_text(rtts[-1])}"
    *first, last = map(span_text, rtts)
    return f"RTTs {', '.join(first)} and {last}" if first else f"RTT {last}"


def _shared_rtts(results: Sequence[Result]) -> str:
    """The RTTs of those flows whose RTT is the same in all runs, where those of others vary."""
    tables: dict[tuple[int, str], set[int]] = {}
    for run in results:
        for group in groups.of(run):
            rtts = {run.plan.flows[flow].rtt_ns for flow in group.flows}
            tables.setdefault((group.table, group.label), set()).update(rtts)
    same = {label: rtts.pop() for (_, label), rtts in tables.items() if len(rtts) == 1}
    varied = {label for (_, label), rtts in tables.items() if len(rtts) > 1}
    return ", ".join(f"RTT of {label} {span_text(rtt)}" for label, rtt in same.items() if label not in varied)


def _queue(result: Result, number: int) -> str:
    link = result.plan.recorded_links[number]
    size = _size(result, link)
    return ", ".join([link.qdisc.kind, *([f"{_limit_word({link.qdisc.kind})} {size}"] if size else [])])


def _shared_queue(results: Sequence[Result]) -> str:
    """The discipline where only the buffer varies, with its BDPs where only its bytes do; the buffer where only the
    discipline varies, some of which count it in packets.
    """
    links = {run.plan.recorded_links[0].qdisc.kind: (run, run.plan.recorded_links[0]) for run in results}
    if len(links) == 1:
        (kind,) = links
        bdps = {_bdps(run, run.plan.recorded_links[0]) for run in results}
        return f"{kind}, {_limit_word({kind})} {bdps.pop()} BDP" if len(bdps) == 1 and "" not in bdps else kind
    limits = [run.plan.recorded_links[0].qdisc.limit for run in results]
    if None in limits or len({limit.wire_bytes // FRAME_BYTES for limit in limits if limit}) > 1:
        return ""
    return f"{_limit_word(set(links))} {_size(*links.get('fifo', next(iter(links.values()))))}"


def _limit_word(kinds: set[str]) -> str:
    return "buffer" if "fifo" in kinds else "limit"


def _size(result: Result, link: LinkView) -> str:
    """The limit of a queue; empty where its own rules decide."""
    limit = link.qdisc.limit
    if limit is None:
        return ""
    size = f"{limit.amount} packets" if limit.measure == "packets" else bytes_text(limit.amount)
    bdps = _bdps(result, link)
    if not bdps:
        return size
    flows_rtt = result.plan.flows[0].rtt_ns
    rtt = _path_rtt(result, flows_rtt)
    return f"{size} ({bdps} BDP{'' if rtt == flows_rtt else f' at {span_text(rtt)}'})"


def _bdps(result: Result, link: LinkView) -> str:
    """The limit of a queue in BDPs of path.rtt; empty where it counts packets, where the rate changes, and where the
    flows have different RTTs.
    """
    limit, rtts = link.qdisc.limit, {flow.rtt_ns for flow in result.plan.flows}
    if limit is None or limit.measure != "bytes" or not link.is_constant or len(rtts) != 1:
        return ""
    bdp = link.rate_bps * _path_rtt(result, rtts.pop()) / 8e9
    return f"{limit.amount / bdp:.3g}" if bdp else ""


def _path_rtt(result: Result, flows_rtt: int) -> int:
    """path.rtt as the scenario has it, ns. That of the flows where it has a course or is not written; 0 where they have
    their own beside a course.
    """
    written, is_own = _written_rtts(result.manifest.scenario, tuple(result.manifest.set))
    written = result.vary.get("path.rtt", written)
    if isinstance(written, str):
        return span_ns(written)
    return 0 if written and is_own else flows_rtt


@lru_cache(maxsize=64)
def _written_rtts(scenario: str, overrides: tuple[str, ...]) -> tuple[object, bool]:
    """path.rtt as it was written, and whether a [[flow]] table has an RTT of its own."""
    from dumbbell.scenario.source import tables

    written = tables(scenario, overrides)
    return written.get("path", {}).get("rtt"), any("rtt" in flow for flow in written.get("flow", ()))


def _policer(result: Result, number: int) -> str:
    policer = result.plan.recorded_links[number].policer
    return f"policer {rate_text(policer.rate_bps)}, burst {bytes_text(policer.burst_bytes)}" if policer else ""


def _loss(result: Result, _: int) -> str:
    losses = sorted({flow.loss_ppb for flow in result.plan.flows})
    return "" if losses == [0] else "loss " + " and ".join(f"{ppb / 1e7:g} %" for ppb in losses)


def _acks(result: Result, _: int) -> str:
    links = result.plan.ack_links
    what = "up" if result.plan.is_two_way else "ACKs"
    return f"{what} at {course_text(links[0], result.plan.duration_ns)}" if links else ""


def _flows(result: Result, _: int) -> str:
    texts = [several(str(group.size), _named(group), group.size) for group in groups.of(result)]
    return " + ".join(texts) if len(texts) <= 8 else f"{len(result.plan.flows)} flows of {len(texts)} kinds"


def _named(group: Group) -> str:
    """A group's label, with its controller where the name does not say it."""
    name = look.name(group.cca)
    return group.label if name in group.label else f"{group.label} ({name})"


def _window(result: Result, window: Window | None) -> str:
    from .reading import window_of

    plan = result.plan
    start, end = window_of(result, window)
    return f"{end:g} s" if (start, end) == (0, plan.duration_s) else f"{start:g} to {end:g} s of {plan.duration_s:g} s"


_PARTS: tuple[Callable[[Any, int], str], ...] = (_rate, _rtt, _queue, _policer, _loss, _acks, _flows)


def _nothing(_: Sequence[Result]) -> str:
    return ""


#: What runs share of a part that differs between them.
_SHARED: dict[Callable[[Any, int], str], Callable[[Sequence[Result]], str]] = {
    _rtt: _shared_rtts,
    _queue: _shared_queue,
}

#: Varied keys whose value the caption has already.
_SAID = frozenset(
    {
        *(
            f"path.{name}"
            for name in (
                "rate",
                "rtt",
                "buffer",
                "qdisc",
                "loss",
                "ack.rate",
                "up.rate",
                "policer.rate",
                "policer.burst",
            )
        ),
        "duration",
        *(f"flow[{i}].cca" for i in range(100)),
    }
)
