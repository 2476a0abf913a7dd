"""The testbed of Kfoury et al. 2020 as scenarios, and what several of its figures share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from dumbbell.suites import measure
from dumbbell.suites.table import Reading

if TYPE_CHECKING:
    from dumbbell.results.load import Result
    from dumbbell.suites.table import Profile

CCAS = {"CUBIC": "cubic", "BBRv1": "bbr", "BBRv2": "bbr2"}

#: Choices that hold for every entry.
COMMON = {
    "start of the flows": "at random within 100 ms: the scripts start the clients in a loop",
    "burst of tbf": "500 kB, as the authors' scripts have it; in the heat maps 10 kB (20 Mbit/s) to 500 kB",
    "offloads": "on, and nothing on the way cuts a super-packet: hosts and switches are namespaces of one machine",
    "socket buffers": "never limit: the scripts' 1.3 GB is far above 10 BDP",
    "TCP": "the rules of Linux 6.12 with BBRv2 of Google's v2alpha; the paper ran 5.2-rc3",
}  # fmt: skip

BUFFERS = (0.01, 0.1, 1, 10, 100)
PAIR_BUFFERS = (0.1, 0.5, 1, 2, 4, 5, 10, 50, 100)


def flows(label: str, count: int = 1, **keys: Any) -> dict[str, Any]:
    """A [[flow]] table of a controller, named as the paper names it."""
    return {"name": label, "cca": CCAS[label], "count": count, **keys}


def scenario(
    tables: Sequence[Mapping[str, Any]],
    *,
    duration: str,
    repetitions: int,
    buffer_bdp: float,
    rtt: str = "20ms",
    rate: str = "1Gbps",
    loss_pct: float = 0,
    qdisc: Any = "fifo",
    burst: str = "500kB",
    **path: Any,
) -> dict[str, Any]:
    """A scenario of this testbed."""
    return {
        "duration": duration,
        "repetitions": repetitions,
        "path": {
            "rate": rate,
            "rtt": rtt,
            **({"buffer": f"{buffer_bdp:g}bdp"} if qdisc == "fifo" else {}),
            "qdisc": qdisc,
            "burst": burst,
            **({"loss": f"{loss_pct:g}%"} if loss_pct else {}),
            **path,
        },
        "host": {"start_jitter": "100ms", "nic": "virtual"},
        "flow": list(tables),
        "record": {"samples": False, "queue": False, "events": False},
    }


def seconds(profile: Profile, buffer_bdp: float, *, deep: float, fast: str = "30s") -> str:
    """How long flows run that share a buffer. From `deep` BDP on the fast profile has the paper's time too: CUBIC takes
    more than a minute to share a deep queue, and shorter runs show the start only.
    """
    return profile.pick("300s", "300s" if buffer_bdp >= deep else fast)


def utilization(result: Result, _: str | None) -> float:
    """Link utilization as Section 5.1 has it: the sum of the flows' throughputs over the capacity of the link."""
    return sum(measure.throughputs(result, None)) * 1e6 / result.plan.bottleneck.rate_bps


#: Metrics that the paper defines in another way than the rest of this program.
METRICS = {"link_util": utilization}


def averaged(found: Sequence[Reading]) -> Reading:
    """The mean over these points, repetition by repetition."""
    return Reading({}, tuple(fmean(values) for values in zip(*(one.values for one in found), strict=True)))
