"""Figs. 5 to 12: four flows of one controller that come and go, in the eleven cases of Table 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dumbbell.results import metrics
from dumbbell.suites.draw import lines, page
from dumbbell.suites.table import Case, Entry, Place, Profile, Reading, Table, merged

from .over_time import over_time
from .testbed import CCAS, COMMON, INTRA, METRICS, cases_in_order, flow, rate_over_time, scenario, variation

if TYPE_CHECKING:
    from dumbbell.results.load import Result
    from dumbbell.suites.claims import Claim
    from dumbbell.suites.table import Tables

#: When the four flows begin and end, seconds (Section 4.1).
TIMES = ((0, 400), (40, 400), (80, 200), (120, 300))
#: The time with all four flows, seconds.
ALL_FOUR = (120.0, 200.0)
#: The cases whose rates are drawn over time.
DRAWN = {"a": 1, "b": 3}
#: The controllers of Figs. 7 to 12.
PAGES = {7: "BBR", 8: "BBR'", 9: "BBRPlus", 10: "Tsunami", 11: "BBR+", 12: "BBRv2"}

CHOICES = {
    **COMMON,
    "Case 8": "100 ms one way, as the paper prints; the public script has 50 ms",
    "delay of all flows": "mean over all packets, as `script/pro-owd.py` has it",
    "loss": "dropped over sent packets, as `script/pro-loss.py` has it",
}


def four(label: str, case: int, profile: Profile) -> dict[str, Any]:
    """The experiment of a controller and case."""
    flows = [
        flow(label, i, name=f"flow{i + 1}", start=f"{begin}s", stop=f"{end}s") for i, (begin, end) in enumerate(TIMES)
    ]
    return scenario(INTRA[case].path, flows, duration="400s", profile=profile, is_drawn=case in DRAWN.values())


def _all(profile: Profile) -> Iterator[Case]:
    for case in INTRA:
        for label in CCAS:
            yield Case(label, {"case": case}, four(label, case, profile))


def _one(number: int, letter: str) -> Any:
    """A controller's own case, and BBR's, which claims compare it with."""

    def cases(profile: Profile) -> Iterator[Case]:
        yield Case(PAGES[number], {"case": DRAWN[letter]}, four(PAGES[number], DRAWN[letter], profile))

    return cases


def _others(*known: str) -> Any:
    """A line that is the lowest of all others."""

    def read(table: Table, metric: str, at: Place) -> list[Reading]:
        return merged([table.read(metric, label, at) for label in CCAS if label not in known], min)

    return read


def _most_of_others(table: Table, metric: str, at: Place) -> list[Reading]:
    """The highest of all but Tsunami."""
    return merged([table.read(metric, label, at) for label in CCAS if label != "Tsunami"], max)


def window_of(claim: Claim) -> tuple[float, float]:
    """The window that a claim names, in seconds: ``120-200 s``; else the time with all four flows."""
    begin, _, end = claim.at.get("window", "").removesuffix(" s").partition("-")
    return (float(begin), float(end)) if end else ALL_FOUR


def _windowed(table: Table, claim: Claim, book: Tables) -> list[Reading] | list[list[Reading]]:
    """Jain's index or the variation of the rate in the claim's window; an ordering compares with BBR's figure."""

    def reading(of: Table, label: str) -> Reading:
        point = of.points_of(label)[0][0]
        return Reading(point.at, tuple(_in_window(run, claim) for run in point.runs))

    if claim.kind != "ordering":
        return [reading(table, claim.series[0])]
    letter = table.id[-1]
    return [[reading(book.table(f"zhang2019/fig7{letter}") if name == "BBR" else table, name)] for name in claim.order]


def _in_window(run: Result, claim: Claim) -> float:
    """The figure of a claim in its window; nan where the run ends before that."""
    if run.plan.duration_s <= window_of(claim)[0]:
        return float("nan")
    if claim.metric == "jain":
        index = metrics.jain_index(run, window_of(claim))
        return float("nan") if index is None else index
    return float(variation(window_of(claim))(run, None))


def peak_mbps(run: Result, number: int) -> float:
    """The highest rate of a flow in its first five seconds, Mbit/s."""
    begin = TIMES[number][0]
    t, rate = rate_over_time(run, number)
    return float(max(rate[(t >= begin) & (t <= begin + 5)], default=float("nan")))


def _spikes(table: Table, _: Claim, __: Tables) -> list[list[Reading]]:
    """The peaks of the second and third flow, and the rate of the link."""
    runs = table.points_of("BBR")[0][0].runs
    places = [(number, {"flow": f"flow{number + 1}"}) for number in (1, 2)]
    return [
        [Reading(place, tuple(peak_mbps(run, number) for run in runs)) for number, place in places],
        [Reading(place, (float(INTRA[DRAWN["b"]].rate),) * len(runs)) for _, place in places],
    ]


def occupancy(run: Result, _: str | None) -> float:
    """Mean of the queue over its limit."""
    limit = run.plan.bottleneck.qdisc.limit
    assert limit is not None
    return metrics.queue_occupancy_bytes(run).mean / limit.wire_bytes


#: How claims of Figs. 7 to 12 are read; of the others each reads its window.
READ: dict[str, Any] = {
    "fig7b": {"c1": _windowed, "c2": _spikes},
    "fig10b": {},
    "fig12b": {"c1": _windowed, "c2": _windowed},
}


def _pages() -> Iterator[tuple[str, Entry]]:
    for number in PAGES:
        for letter, case in DRAWN.items():
            yield (
                f"fig{number}{letter}",
                Entry(
                    cases=_one(number, letter),
                    draw=page(over_time(rate=INTRA[case].rate), width=6.4),
                    choices={
                        **CHOICES,
                        "rate": "the estimate of the bandwidth, which the framework traces with each packet",
                        "window of fairness and variation": "120 to 200 s, when all four flows run",
                    },
                    metrics={"mean_queue_occupancy_fraction": occupancy},
                    read=READ.get(f"fig{number}{letter}", {"c1": _windowed}),
                    needs=(f"zhang2019/fig7{letter}",) if number != 7 else (),
                ),
            )


ENTRIES: dict[str, Entry] = {
    "fig5": Entry(
        cases=_all,
        draw=page(lines("case", "mean_owd_ms"), width=6.4),
        choices={**CHOICES, "lowest of all": "against the lowest of the six others"},
        metrics=METRICS,
        series={"max of the six others": _others("BBR'", "BBRPlus")},
        read={"c3": lambda table, claim, _: [table.read(claim.metric, name) for name in claim.order]},
    ),
    "fig6": Entry(
        cases=_all,
        draw=page(lines("case", "loss_rate_pct"), width=6.4),
        choices=CHOICES,
        series={"max(others)": _most_of_others},
        read={"c4": cases_in_order},
    ),
    **dict(_pages()),
}
