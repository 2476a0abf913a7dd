"""Borgli and Misund, "Comparing BBR and CUBIC congestion controls" (report, University of Oslo): two virtual machines
of Amazon, in Virginia and Ireland. At the receiver, arriving packets go through htb with a pfifo of 10 Mbit/s, the
bottleneck.

The senders ran Linux 4.9.7. Its controllers are the preset ``linux-4.9``; the rest of TCP is Linux 6.12's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any

from dumbbell import controllers
from dumbbell.results import metrics
from dumbbell.results.columns import sample_column
from dumbbell.suites import draw, measure, timed
from dumbbell.suites.draw import lines, page
from dumbbell.suites.table import Case, Entry, Place, Profile, Reading, Table, by_place

if TYPE_CHECKING:
    from dumbbell.results.load import Result
    from dumbbell.suites.claims import Claim
    from dumbbell.suites.table import Tables

CCAS = {"CUBIC": "cubic", "BBRv1": "bbr"}

#: Printed are 13, 52, 55, 63, 105, 189 and 207.
QUEUES = (13, 26, 39, 52, 55, 63, 79, 105, 131, 157, 189, 207)

#: Payload and headers of such a packet as the report counts it, bits, and its BDP.
PACKET_BITS, BDP_BITS = 2900 * 8, 830_000

COMMON = {
    "controllers": "those of Linux 4.9 (`preset = \"linux-4.9\"`); the rest of TCP, and fq, are of 6.12",
    "packets in the queue": "as TCP hands them down, mostly two segments, as in the report: `host.nic = \"virtual\"`."
    " Those above two frames, of slow start, are cut where they come; htb would pass them whole",
    "RTT": "fixed: 83 ms, as printed for Fig. 2 (76 ms in Fig. 8); theirs varied from 60 to 100 ms",
    "sender's queue discipline": "fq in experiments with BBR, as printed; else pfifo, Ubuntu's default",
    "ticks": "250 a second, as Ubuntu's kernels have",
    "program": "netcat, as printed",
    "repetitions": "starts at random within 100 ms; the report's points are single runs",
}  # fmt: skip


def flow(label: str, **keys: Any) -> dict[str, Any]:
    """A [[flow]] table of a controller of Linux 4.9."""
    return {"name": label, "cca": CCAS[label], "preset": "linux-4.9", **keys}


def scenario(tables: Sequence[dict[str, Any]], queue: int, profile: Profile, *, rtt: str = "83ms") -> dict[str, Any]:
    """A scenario of this testbed, with the queue in the report's packets."""
    has_bbr = any(table["cca"] == "bbr" for table in tables)
    return {
        "duration": "300s",
        "repetitions": profile.pick(5, 2),
        "path": {"rate": "10Mbps", "rtt": rtt, "buffer": f"{queue}pkt"},
        "host": {
            "nic": "virtual",
            "qdisc": "fq" if has_bbr else "pfifo",
            "traffic": "netcat",
            "hz": 250,
            "start_jitter": "100ms",
        },
        "flow": list(tables),
        "record": {"samples": True, "queue": False, "events": False},
    }


# --- one flow: Figs. 5, 7, 8 and 9 ----------------------------------------------------------------


def _alone(queues: Sequence[int] = QUEUES, rtt: str = "83ms") -> Any:
    def cases(profile: Profile) -> Iterator[Case]:
        for queue in queues:
            for label in CCAS:
                yield Case(label, {"queue_packets": queue}, scenario([flow(label)], queue, profile, rtt=rtt))

    return cases


def _variation(result: Result, label: str | None) -> float:
    """Standard deviation over mean of what arrives in bins of 500 ms."""
    return metrics.arrival_variation(result, measure.flows(result, label))


def _rtt_spread(result: Result, label: str | None) -> float:
    """Standard deviation of the RTT over time, ms."""
    import numpy as np

    (number,) = measure.flows(result, label)
    return float(np.nanstd(sample_column(result, number, "rtt_us"))) / 1000


def _both(metric: str, made: Any) -> Any:
    """A claim about both controllers' figures together, at each place that it names."""

    def read(table: Table, claim: Claim, _: Tables) -> list[Reading]:
        parts = [table.read(metric, label, claim.at) for label in ("CUBIC", "BBRv1")]
        return [
            Reading(at, tuple(made(a, b) for a, b in zip(cubic.values, bbr.values, strict=True)))
            for at, (cubic, bbr) in by_place(parts)
        ]

    return read


def _of_numbers_of_flows(_: Table, __: Claim, book: Tables) -> list[Reading]:
    """Throughput of all flows together, over the number of flows: mean over queues and mixes."""
    found: dict[int, list[float]] = {}
    for table in (book.table("borgli/fig5"), book.table("borgli/fig2")):
        for point in table.points:
            count = len(point.runs[0].plan.flows)
            found.setdefault(count, []).extend(sum(measure.throughputs(run, None)) for run in point.runs)
    return [Reading({"n_flows": count}, (fmean(values),)) for count, values in sorted(found.items())]


def _rtt_panels() -> Any:
    panels = []
    for queue in (189, 63):
        at, names = {"queue_packets": queue}, tuple(CCAS)
        panels += [timed.over_time(timed.rtts, "RTT (ms)", at, cases=names, title=f"{queue} packets")]
    for queue in (189, 63):
        panels += [timed.distribution(timed.rtts, "RTT (ms)", {"queue_packets": queue}, cases=tuple(CCAS))]
    return page(*panels, columns=2, height=2.0)


# --- two and four flows: Figs. 1 to 4 and 6 -------------------------------------------------------

MIXES = {"c2": (2, 0), "b2": (0, 2), "c1b1": (1, 1), "c2b2": (2, 2)}


def _mix(name: str) -> list[dict[str, Any]]:
    """CUBIC starts before BBR."""
    cubic, bbr = MIXES[name]
    tables = [flow("CUBIC", count=cubic)] if cubic else []
    return [*tables, *([flow("BBRv1", count=bbr, start="1s" if cubic else "0s")] if bbr else [])]


def _mixes(names: Sequence[str], queues: Sequence[int]) -> Any:
    def cases(profile: Profile) -> Iterator[Case]:
        for name in names:
            for queue in queues:
                yield Case(name, {"queue_packets": queue}, scenario(_mix(name), queue, profile))

    return cases


JOINS_S = 60


def _joining(profile: Profile) -> Iterator[Case]:
    for label in CCAS:
        tables = [flow(label, name=f"{label}, first"), flow(label, name=f"{label}, joins", start=f"{JOINS_S}s")]
        yield Case(label, {"queue_packets": 105}, scenario(tables, 105, profile))


def _convergence(result: Result, _: str | None) -> float:
    """From the second flow's start until Jain's index of both reaches 0.95 and keeps it for 5 s; nan where never."""
    found = metrics.convergence_time_s(result)
    return float("nan") if found is None else found


def _disturbance(result: Result, _: str | None) -> float:
    """How far what arrives of the first flow falls in the 5 s after the second one's start: smallest bin of 500 ms
    over the mean of the 20 s before, from 1.
    """
    ends, rates = timed.arrivals(result, 0)
    start = result.plan.flows[1].start_ns / 1e9
    before, after = (ends > start - 20) & (ends <= start), (ends > start) & (ends <= start + 5)
    if not (before.any() and after.any()):
        return float("nan")
    return float(1 - rates[after].min() / rates[before].mean())


def _spread_of_points(table: Table, _: Claim, __: Tables) -> list[Reading]:
    """How far the points of a line scatter, in the smaller half of the queues and in the larger one: the figure has a
    point for each run, and the report's words are about the line.
    """
    found = sorted(table.read("jain", "b2"), key=lambda one: one.at["queue_packets"])
    halves = found[: len(found) // 2], found[len(found) // 2 :]
    return [
        Reading(
            {"queue_packets": half[0].at["queue_packets"]}, (pstdev(value for one in half for value in one.values),)
        )
        for half in halves
    ]


def _fairest(table: Table, name: str) -> float:
    """The queue at which a mix is fairest, in packets."""
    return float(max(table.read("jain", name), key=lambda one: one.mean).at["queue_packets"])


def _fairest_in_bdp(table: Table, claim: Claim, _: Tables) -> list[Reading]:
    return [Reading({}, (_fairest(table, claim.series[0]) * PACKET_BITS / BDP_BITS,))]


def _fairest_order(table: Table, claim: Claim, _: Tables) -> list[list[Reading]]:
    return [[Reading({}, (_fairest(table, name),))] for name in claim.order]


def _printed_ratio(_: Table, __: Claim, ___: Tables) -> list[Reading]:
    return [Reading({}, (55 * PACKET_BITS / BDP_BITS,))]


def _throughputs(queue: int, title: str = "", **where: Any) -> draw.Panel:
    return timed.over_time(timed.arrivals, "Throughput (Mbit/s)", {"queue_packets": queue}, title=title, **where)


#: CUBIC flows beside one of BBR in the right half of Fig. 4.
MANY = 4


def _crowded(profile: Profile) -> Iterator[Case]:
    for count, place in ((1, 1), (MANY, "N")):
        tables = [flow("CUBIC", count=count), flow("BBRv1", start="1s")]
        yield Case(f"{count} CUBIC", {"n_cubic": place, "queue_packets": 52}, scenario(tables, 52, profile))


def _growth_of_bbr(table: Table, _: Claim, __: Tables) -> list[Reading]:
    one, many = (table.read("throughput_mbps", "BBRv1", {"n_cubic": place})[0] for place in (1, "N"))
    return [Reading({}, tuple(b / a for a, b in zip(one.values, many.values, strict=True)))]


def _largest_of_cubic(table: Table, _: str, at: Place) -> list[Reading]:
    """The CUBIC flow with the largest throughput."""
    return table.read("largest_throughput_mbps", "CUBIC", at)


def _cubic_beta(_: Table, __: Claim, ___: Tables) -> list[Reading]:
    return [Reading({}, (controllers.known()["cubic"].params["beta"].default / 1024,))]


def _none(_: Profile) -> Iterator[Case]:
    """No runs."""
    return iter(())


def _both_flows(table: Table, claim: Claim, _: Tables) -> list[Reading]:
    return [
        Reading({**one.at, "flow": label}, one.values)
        for label in ("CUBIC", "BBRv1")
        for one in table.read(claim.metric, label)
    ]


ENTRIES: dict[str, Entry] = {
    "fig1": Entry(
        cases=_joining,
        draw=page(*(_throughputs(105, case=label, title=label) for label in CCAS), columns=2, height=2.0),
        choices={**COMMON, "joining": "60 s after the first flow: the time is not printed"},
        metrics={"convergence_time_s": _convergence, "max_throughput_drop_of_flow1_first_5s": _disturbance},
    ),
    "fig2": Entry(
        cases=_mixes(tuple(MIXES), QUEUES),
        draw=page(lines("queue_packets", "jain", high=1.02, low=0.2)),
        choices={
            **COMMON,
            "queues": "13 to 207 packets, of which seven are printed",
            "BBR's start": "1 s after CUBIC's",
        },
        read={"c2": _spread_of_points, "c5": _fairest_in_bdp, "c6": _fairest_order, "c7": _printed_ratio},
    ),
    "fig3": Entry(
        cases=_mixes(["c1b1"], (13, 207)),
        draw=page(*(_throughputs(queue, f"{queue} packets") for queue in (13, 207)), columns=2, height=2.0),
        choices=COMMON,
    ),
    "fig4": Entry(
        cases=_crowded,
        draw=page(
            *(
                timed.over_time(timed.arrivals, "Throughput (Mbit/s)", {"n_cubic": place}, title=title)
                for place, title in ((1, "1 CUBIC"), ("N", f"{MANY} CUBIC"))
            ),
            columns=2,
            height=2.0,
        ),
        choices={**COMMON, "CUBIC flows on the right": "4: the number is only in the figure"},
        metrics={"largest_throughput_mbps": lambda result, label: max(measure.throughputs(result, label))},
        series={"max(CUBIC)": _largest_of_cubic},
        read={"c3": _growth_of_bbr},
    ),
    "fig5": Entry(
        cases=_alone(),
        draw=page(lines("queue_packets", "throughput_mbps")),
        choices=COMMON,
        read={
            "c2": _both("throughput_mbps", lambda cubic, bbr: bbr / cubic),
            "c3": _of_numbers_of_flows,
        },
        needs=("borgli/fig2",),
    ),
    "fig6": Entry(
        cases=_mixes(["c1b1"], (55,)),
        draw=page(_throughputs(55), height=2.2),
        choices=COMMON,
        metrics={"cov_throughput": _variation},
        read={"c1": _both_flows},
    ),
    "fig7": Entry(
        cases=_alone(),
        draw=page(lines("queue_packets", "cov_throughput")),
        choices={**COMMON, "bins": "500 ms of what arrives, retransmissions too, as the receiver's capture has it"},
        metrics={"cov_throughput": _variation},
    ),
    "fig8": Entry(
        cases=_alone((63, 189), "76ms"),
        draw=_rtt_panels(),
        choices={**COMMON, "RTTs": "the last of every 100 ms; theirs are of every packet"},
        metrics={"stddev_rtt_ms": _rtt_spread},
        read={
            "c1": _both("median_rtt_ms", lambda cubic, bbr: cubic / bbr),
            "c2": _both("median_rtt_ms", lambda cubic, bbr: cubic - bbr),
        },
    ),
    "fig9": Entry(cases=_alone(), draw=page(lines("queue_packets", "loss_rate_pct")), choices=COMMON),
    "setup": Entry(cases=_none, draw=None, choices={"beta": "that of our CUBIC, 717/1024"}, read={"c1": _cubic_beta}),
}
