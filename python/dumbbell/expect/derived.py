"""What follows from several tables: `derived WHAT` of sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dumbbell.results import metrics
from dumbbell.results.columns import flow_column

from . import path

if TYPE_CHECKING:
    from dumbbell.judge.values import Derived
    from dumbbell.results.load import Result

#: A TCP acknowledgement on the wire, without SACK: Ethernet 14, IPv4 20, TCP with timestamps 32.
_ACK_BYTES = 66

Part = tuple[float, float]


def derived(run: Result, flow: int, asked: Derived, part: Part) -> float | None:
    """What `asked` names; None where it is not known."""
    start, stop = active(run, flow, part)
    if stop <= start:
        return None
    readers = {"fair": _fair, "missed": _missed, "ack_load": _ack_load, "ack_queue": _ack_queue, "spurious": _spurious}
    return readers[asked.what](run, flow, (start, stop))


def active(run: Result, flow: int, part: Part) -> Part:
    """The time of a part of the run in which a flow was there."""
    start, stop = (float(flow_column(run, name)[flow]) / 1e6 for name in ("start_us", "stop_us"))
    return max(start, part[0]), min(stop, part[1])


def rivals(run: Result, flow: int) -> list[int]:
    """The flows whose data cross the link that is a flow's bottleneck, itself included."""
    link = run.plan.recorded_links[path.busiest(run, flow)]
    return [i for i in range(len(run.plan.flows)) if any(link is one for one in run.plan.way(i))]


def _together(run: Result, flow: int, part: Part) -> tuple[float, float]:
    """What the flows on its bottleneck got in this time, bytes, and how many of them there were on average."""
    total = count = 0.0
    for other in rivals(run, flow):
        start, stop = active(run, other, part)
        if stop > start:
            total += metrics.goodput_bytes(run, other, part)
            count += (stop - start) / (part[1] - part[0])
    return total, count


def _fair(run: Result, flow: int, part: Part) -> float | None:
    """What a flow got over an equal part of what all flows on its bottleneck got, while it was there."""
    total, count = _together(run, flow, part)
    return metrics.goodput_bytes(run, flow, part) * count / total if total else None


def _missed(run: Result, flow: int, part: Part) -> float:
    """Payload that an equal part of its bottleneck could have carried, less what the flow got, bytes; at least 0."""
    link, planned = run.plan.recorded_links[path.busiest(run, flow)], run.plan.flows[flow]
    could = path.mean_rate(link, *part) * path.payload_share(planned) / 8 * (part[1] - part[0])
    return max(0.0, could / max(1.0, _together(run, flow, part)[1]) - metrics.goodput_bytes(run, flow, part))


def _ack_load(run: Result, flow: int, part: Part) -> float | None:
    """Bits of a TCP flow's acknowledgements over what its way back carries, while it was there; None where that has no
    rate.
    """
    rate = path.up_rate(run, flow, *part)
    if not rate or run.plan.flows[flow].transport.kind != "tcp":
        return None
    start, stop = active(run, flow, (0.0, run.plan.duration_s))
    return float(flow_column(run, "acks_sent")[flow]) * 8 * _ACK_BYTES / (rate * (stop - start))


def _ack_queue(run: Result, flow: int, part: Part) -> float | None:
    """Mean RTT less the path's and the mean queueing delay of the links of its way, s: what packets wait elsewhere."""
    rtts = metrics.rtt_ms(run, flow, part)
    way = run.plan.way(flow)
    links = [i for i, link in enumerate(run.plan.recorded_links) if any(link is one for one in way)]
    waited = sum(metrics.queueing_delay_ms(run, part, link=i).mean for i in links)
    return (rtts.mean - waited) / 1e3 - run.plan.flows[flow].rtt_ns / 1e9


def _spurious(run: Result, flow: int, _: Part) -> float:
    """Of the segments sent again in the whole run, the part that the path had not lost."""
    again, *lost = (
        float(flow_column(run, name)[flow]) for name in ("retrans_segs", "queue_drops", "random_drops", "damaged")
    )
    return max(0.0, again - sum(lost)) / again if again > 0 else 0.0
