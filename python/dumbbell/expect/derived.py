"""What follows from several tables: `derived WHAT` of sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dumbbell.results import metrics
from dumbbell.results.columns import flow_column, sample_column
from dumbbell.results.happened import happened
from dumbbell.units import MSS_BYTES

from . import path

if TYPE_CHECKING:
    from collections.abc import Callable

    from dumbbell.judge.values import Derived
    from dumbbell.results.load import Result

#: A TCP acknowledgement on the wire, without SACK: Ethernet 14, IPv4 20, TCP with timestamps 32.
_ACK_BYTES = 66

Part = tuple[float, float]
WHOLE = (0.0, math.inf)


def derived(run: Result, flow: int, asked: Derived, part: Part) -> float | None:
    """What `asked` names; None where it is not known."""
    start, stop = path.active(run, flow, (part[0], min(part[1], run.plan.duration_s)))
    if stop <= start:
        return None
    readers: dict[str, Callable[[Result, int, Part], float | None]] = {
        "fair": _fair, "missed": _missed, "cost": _cost, "ack_load": _ack_load, "ack_queue": _ack_queue,
        "spurious": _spurious, "life": _life, "length": _length, "burst": _burst, "connect": _connect,
        "loss_free": _loss_free, "idle": _idle,
    }  # fmt: skip
    return readers[asked.what](run, flow, (start, stop))


def _fair(run: Result, flow: int, part: Part) -> float | None:
    """What a flow got over an equal part of what all flows on its bottleneck got, while it was there."""
    total = sum(path.goodputs(run, flow, part).values())
    return metrics.goodput_bytes(run, flow, part) * path.flows_there(run, flow, part) / total if total else None


def _could(run: Result, flow: int, part: Part) -> float:
    """Payload that an equal part of its bottleneck can carry in a part of the run, bytes."""
    link, planned = run.plan.recorded_links[path.busiest(run, flow)], run.plan.flows[flow]
    bits = path.mean_rate(link, *part) * (part[1] - part[0])
    return bits * path.payload_share(planned) / 8 / max(1.0, path.flows_there(run, flow, part))


def _missed(run: Result, flow: int, part: Part) -> float:
    """Payload that an equal part of its bottleneck could have carried, less what the flow got, bytes; at least 0."""
    return max(0.0, _could(run, flow, part) - metrics.goodput_bytes(run, flow, part))


def _cost(run: Result, flow: int, part: Part) -> float | None:
    """What it missed, over what an equal part could have carried while the flow was there."""
    could = _could(run, flow, path.active(run, flow, WHOLE))
    return _missed(run, flow, part) / could if could else None


def _life(run: Result, flow: int, _: Part) -> float:
    """How long the flow was there, s."""
    start, stop = path.active(run, flow, WHOLE)
    return min(stop, run.plan.duration_s) - start


def _burst(run: Result, flow: int, part: Part) -> float | None:
    """Full segments that leave at once when a queue drops some, the median over drops: what the pacing rate makes in
    1/1024 s, 2 at least and 64 kB at most (`tcp_tso_autosize`); 1 without TSO, None without drops or pacing.
    """
    import numpy as np

    planned = run.plan.flows[flow]
    if not planned.host.get("tso", run.plan.host.tso):
        return 1.0
    t, rate = sample_column(run, flow, "t_us") / 1e6, sample_column(run, flow, "pacing_bps")
    drops = happened(run, "drop_queue").inside(flow, *part).t_s
    if not t.size or not drops.size:
        return None
    known = rate[np.clip(np.searchsorted(t, drops) - 1, 0, t.size - 1)]
    known = known[~np.isnan(known)]
    return float(np.clip(np.median(known) / 8 / 1024, 2 * MSS_BYTES, 65_536)) / MSS_BYTES if known.size else None


def _length(_run: Result, _flow: int, part: Part) -> float:
    """How long the flow was there in the part, s."""
    return part[1] - part[0]


def _idle(run: Result, flow: int, part: Part) -> float:
    """The part of what its bottleneck can carry that nobody used."""
    return max(0.0, 1.0 - metrics.utilization(run, part, link=path.busiest(run, flow)))


def _loss_free(run: Result, flow: int, _: Part) -> float:
    """The part of its time that passed until it first took a packet for lost."""
    start, stop = path.active(run, flow, WHOLE)
    losses = happened(run, "loss_detected").inside(flow, start, stop).t_s
    return float(losses[0] - start) / (stop - start) if losses.size else 1.0


def _connect(run: Result, flow: int, _: Part) -> float | None:
    """Time until the connection was established, s; None where it never was."""
    start, established = (float(flow_column(run, name)[flow]) / 1e6 for name in ("start_us", "established_us"))
    return None if math.isnan(established) else established - start


def _ack_load(run: Result, flow: int, part: Part) -> float | None:
    """Bits of a TCP flow's acknowledgements over what its way back carries, while it was there; None where that has no
    rate.
    """
    rate = path.up_rate(run, flow, *part)
    if not rate or run.plan.flows[flow].transport.kind != "tcp":
        return None
    start, stop = path.active(run, flow, WHOLE)
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
