"""Figs. 14, 15, 21 and 22: flows of two RTTs, queue disciplines, and pacing at a fixed rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from statistics import fmean
from typing import TYPE_CHECKING, Any

from dumbbell.results import metrics
from dumbbell.suites import measure
from dumbbell.suites.compared import minus, pair
from dumbbell.suites.draw import lines, page
from dumbbell.suites.table import Case, Entry, Place, Profile, Reading, Table, by_place

from .testbed import COMMON, flows, scenario, seconds

if TYPE_CHECKING:
    from dumbbell.results.load import Result
    from dumbbell.suites.claims import Claim
    from dumbbell.suites.table import Tables


RTT_BUFFERS = (0.1, 0.3, 0.5, 0.7, 1, 2, 3, 4, 5, 7, 10, 20, 50, 100)


def _two_rtts(labels: Sequence[str], qdisc: str) -> Any:
    def cases(profile: Profile) -> Iterator[Case]:
        for buffer in profile.pick(RTT_BUFFERS, (0.1, 0.5, 1, 2, 3, 5, 10, 50, 100)):
            for label in labels:
                tables = [{**flows(label), "name": f"{rtt} ms", "rtt": f"{rtt}ms"} for rtt in (10, 50)]
                yield Case(
                    label,
                    {"buffer_bdp": buffer},
                    scenario(tables, duration=profile.pick("300s", "40s"), repetitions=profile.pick(10, 2),
                             buffer_bdp=buffer, rtt="50ms", qdisc=qdisc),
                )  # fmt: skip

    return cases


def _rtt_pairs() -> Iterator[tuple[str, Entry]]:
    choices = {
        **COMMON,
        "buffers": "14 sizes of the scripts' 28",
        "RTT of the BDP": "50 ms, as the limits in the scripts (0.1 to 100 times 6.25 MB)",
    }
    panels = (("a", "BBRv1", "fifo"), ("b", "BBRv2", "fifo"), ("c", "BBRv1", "fq_codel"), ("d", "BBRv2", "fq_codel"))
    for letter, label, qdisc in panels:
        yield (
            f"fig14{letter}",
            Entry(
                cases=_two_rtts([label], qdisc),
                draw=page(
                    lines("buffer_bdp", "jain", is_of_run=True, high=1.05),
                    lines("buffer_bdp", "throughput_mbps", series=("10 ms", "50 ms")),
                    height=2.1,
                ),
                choices=choices,
            ),
        )
    for letter, qdisc in (("a", "fifo"), ("b", "fq_codel")):
        yield (
            f"fig15{letter}",
            Entry(
                cases=_two_rtts(["BBRv1", "BBRv2"], qdisc),
                draw=page(lines("buffer_bdp", "retrans_rate_pct")),
                choices=choices,
                metrics={"retrans_rate_pct": mean_retransmitted},
                read={"c2": _tail_drop_order} if letter == "b" else {},
                needs=("kfoury2020/fig15a",) if letter == "b" else (),
            ),
        )


def mean_retransmitted(result: Result, label: str | None) -> float:
    """The average of the retransmission rates of the flows, per cent, as Section 5.6 has it."""
    return 100 * fmean(metrics.retransmission_rate(result, [i]) for i in measure.flows(result, label))


def _tail_drop_order(table: Table, claim: Claim, book: Tables) -> list[list[Reading]]:
    """BBRv1 over tail drop, then over FQ-CoDel."""
    tail = book.table("kfoury2020/fig15a")
    return [made.read(claim.metric, "BBRv1", claim.at) for made in (tail, table)]


AQM_BUFFERS = (0.1, 0.5, 1, 10, 100)
AQMS: dict[str, Any] = {
    "taildrop": "fifo",
    "cake": "cake",
    "fq_codel": "fq_codel",
    "fq_codel_ecn": {"kind": "fq_codel", "ce_threshold": "242us"},
}


def _policies(ours: int, theirs: int) -> Any:
    deep = 10 if ours == theirs else 0

    def cases(profile: Profile) -> Iterator[Case]:
        for name, qdisc in AQMS.items():
            for buffer in AQM_BUFFERS:
                yield Case(
                    name,
                    {"buffer_bdp": buffer},
                    scenario([flows("BBRv2", ours), flows("CUBIC", theirs)],
                             duration=seconds(profile, buffer, deep=deep if name == "taildrop" else inf),
                             repetitions=profile.pick(10, 1), buffer_bdp=buffer, qdisc=qdisc),
                )  # fmt: skip

    return cases


def _aqms() -> Iterator[tuple[str, Entry]]:
    choices = {
        **COMMON,
        "ECN": "nobody negotiates it: Linux's default for clients, and the scripts do not set it",
        "buffer of fq_codel and CAKE": "their own: the scripts attach fq_codel below tbf, in the place of its queue",
    }
    for letter, ours, theirs in (("a", 1, 1), ("b", 1, 10), ("c", 10, 10), ("d", 50, 50)):
        yield (
            f"fig21{letter}",
            Entry(cases=_policies(ours, theirs), draw=page(lines("buffer_bdp", "jain", high=1.05)), choices=choices),
        )


PACING_BUFFERS = (0.1, 0.5, 1, 5, 10, 50, 100)


def _paced(profile: Profile) -> Iterator[Case]:
    for loss, word in ((0, "no loss"), (1, "1 % loss")):
        for pace, keys in (("unpaced", {}), ("paced", {"max_rate": "8.5Mbps"})):
            for buffer in PACING_BUFFERS:
                duration = seconds(profile, buffer, deep=inf if loss or keys else 5)
                yield Case(
                    f"{pace}, {word}",
                    {"buffer_bdp": buffer},
                    scenario([flows("CUBIC", 100, **keys)], duration=duration,
                             repetitions=profile.pick(10, 1), buffer_bdp=buffer, loss_pct=loss),
                )  # fmt: skip


def _both_losses(pace: str) -> Any:
    """A line of the paper that stands for the runs with and without loss."""

    def read(table: Table, metric: str, at: Place) -> list[Reading]:
        return [
            Reading({**one.at, "loss": word}, one.values)
            for word in ("no loss", "1 % loss")
            for one in table.read(metric, f"{pace}, {word}", at)
        ]

    return read


def _loss_change(table: Table, claim: Claim, _: Tables) -> list[Reading]:
    parts = [table.read("jain", f"unpaced, {word}", claim.at) for word in ("1 % loss", "no loss")]
    return [pair(at, minus, *found) for at, found in by_place(parts)]


def _every_line(table: Table, claim: Claim, _: Tables) -> list[Reading]:
    """Each line's throughput over its own mean, so that one trend speaks of all."""
    made = []
    for label in table.lines():
        found = table.read(claim.metric, label)
        level = fmean(one.mean for one in found)
        made += [Reading(one.at, tuple(value / level for value in one.values)) for one in found]
    return made


def _pacing() -> Iterator[tuple[str, Entry]]:
    series = {"paced": _both_losses("paced"), "unpaced": _both_losses("unpaced")}
    for letter, metric in zip("abc", ("aggregate_throughput_mbps", "jain", "rtt_ms"), strict=True):
        read = {"a": {"c6": _every_line}, "b": {"c2": _loss_change}}.get(letter, {})
        yield (
            f"fig22{letter}",
            Entry(cases=_paced, draw=page(lines("buffer_bdp", metric)), choices=COMMON, series=series, read=read),
        )


ENTRIES: dict[str, Entry] = {**dict(_rtt_pairs()), **dict(_aqms()), **dict(_pacing())}
