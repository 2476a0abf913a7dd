"""Tables 3, 4, 5 and 7, and the rates over time of Figs. 13 and 14, which are runs of Tables 5 and 7."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from dumbbell.suites import measure
from dumbbell.suites.cells import drawn
from dumbbell.suites.draw import page
from dumbbell.suites.table import Case, Column, Entry, Place, Profile, Reading, Table, merged

from .over_time import over_time
from .testbed import (
    CCAS,
    COMMON,
    INTER,
    INTRA,
    LINE,
    METRICS,
    UNEQUAL,
    cases_in_order,
    flow,
    flows_of,
    pair,
    scenario,
    variation,
)

if TYPE_CHECKING:
    from dumbbell.results.load import Result
    from dumbbell.suites.claims import Claim
    from dumbbell.suites.table import Tables

#: The order of the panels of Figs. 13 and 14 and of the lines of Table 7.
TESTED = ("BBR", "BBR'", "BBRPlus", "BBR+", "Tsunami", "BBRv2")

# --- Table 3: unequal RTTs ------------------------------------------------------------------------

#: One-way delays of the links before and after the bottleneck (Section 4.2). Both senders are polled at the same
#: instants, and the links differ by whole milliseconds, so that packets of both come to the bottleneck at one instant.
#: ns-3 takes that first whose event was scheduled first, which is that of the longer link: l1 is 1 ns longer.
SIDES = {"l1": "10000001ns", "l3": "10ms", "l4": "20ms", "l5": "20ms"}


def _unequal(profile: Profile) -> Iterator[Case]:
    for case, link in UNEQUAL.items():
        sides = [
            {"name": name, "rate": "100Mbps", "buffer": f"{link.queue}ms", "delay": delay, **LINE}
            for name, delay in SIDES.items()
        ]
        for label in CCAS:
            flows = [
                flow(label, name=name, via=[before, "bottleneck", after])
                for name, before, after in (("flow1", "l1", "l3"), ("flow2", "l4", "l5"))
            ]
            yield Case(label, {"case": case}, scenario(link.path, flows, duration="200s", profile=profile, link=sides))


def _winner(table: Table, claim: Claim, _: Tables) -> list[list[Reading]]:
    """The rates of the two flows, for each controller and case."""
    return [
        [Reading({"algorithm": label, **one.at}, one.values)
         for label in claim.series for one in table.read(f"x{name.removeprefix('flow')}_kbps", label)]
        for name in claim.order
    ]  # fmt: skip


def _tsunami(table: Table, _: Claim, __: Tables) -> list[Reading]:
    """Mean of Jain's index over the cases: Tsunami's less BBR's."""
    tsunami, bbr = (fmean(one.mean for one in table.read("jain", label)) for label in ("Tsunami", "BBR"))
    return [Reading({}, (tsunami - bbr,))]


# --- Table 4: random loss -------------------------------------------------------------------------

LOSSES = (0, 1, 3, 5)
LOSSY_CASES = (2, 5, 7, 9, 10)


def _lossy(profile: Profile) -> Iterator[Case]:
    for loss in LOSSES:
        for case in LOSSY_CASES:
            impair = [{"kind": "delay"}, {"kind": "links"}, {"kind": "loss", "rate": f"{loss}%"}]
            for label in [label for label in CCAS if label not in ("Tsunami", "BBR+")]:
                flows = [flow(label, turn, name=f"flow{turn + 1}") for turn in range(4)]
                tables = scenario({**INTRA[case].path, "impair": impair}, flows, duration="400s", profile=profile)
                yield Case(label, {"loss_pct": loss, "case": f"C{case}"}, tables)


def _lost_by_loss(table: Table, claim: Claim, _: Tables) -> list[Reading]:
    """How much less utilisation there is at 5 % than without loss."""
    made = []
    for label in claim.series:
        for case in LOSSY_CASES:
            at = {"case": f"C{case}"}
            free, lossy = (table.read("link_util", label, {**at, "loss_pct": loss})[0] for loss in (0, 5))
            made.append(Reading({"algorithm": label, **at}, (free.mean - lossy.mean,)))
    return made


# --- Table 5 and Fig. 13: a capacity that changes -------------------------------------------------

STEPS = [["0s", "4Mbps"], ["50s", "3Mbps"], ["100s", "2Mbps"], ["150s", "1Mbps"]]


def _variable(labels: Sequence[str]) -> Any:
    def cases(profile: Profile) -> Iterator[Case]:
        path = {"rate": {"steps": STEPS, "repeat": True}, "rtt": "100ms", "buffer": "75kB", **LINE}
        for label in labels:
            tables = scenario(path, pair(label), duration="400s", profile=profile, is_drawn=True)
            yield Case(label, {}, tables)

    return cases


def _lowest_of_others(table: Table, metric: str, at: Place) -> list[Reading]:
    """The lowest but for BBR' and BBRPlus."""
    return merged([table.read(metric, label, at) for label in CCAS if label not in ("BBR'", "BBRPlus")], min)


# --- Table 7 and Fig. 14: against Cubic -----------------------------------------------------------

#: The case that Fig. 14 draws.
DRAWN = 5


def against_cubic(label: str, case: int, profile: Profile) -> dict[str, Any]:
    """Two flows of a controller and two of Cubic."""
    flows = [*pair(label), *pair("Cubic", 2)]
    return scenario(INTER[case].path, flows, duration="200s", profile=profile, is_drawn=case == DRAWN)


def _mixed(profile: Profile) -> Iterator[Case]:
    for case, link in INTER.items():
        for label in TESTED:
            yield Case(label, {"case": case, "buffer_bdp": link.bdp}, against_cubic(label, case, profile))


def _one_mixed(label: str) -> Any:
    def cases(profile: Profile) -> Iterator[Case]:
        yield Case(None, {"case": DRAWN}, against_cubic(label, DRAWN, profile))

    return cases


def own_share(result: Result, _: str | None) -> float:
    """The part of the first two flows."""
    return sum(result.summary.flows[i].share for i in flows_of(result, result.plan.flows[0].name))


def mean_rate_kbps(result: Result, label: str | None) -> float:
    """Throughput of a controller's flow, mean over its flows."""
    return fmean(result.summary.flows[i].goodput_mbps * 1000 for i in flows_of(result, label))


def _cubic_by_buffer(table: Table, _: Claim, __: Tables) -> list[Reading]:
    """Cubic's part against BBR, mean over 4 and 6 Mbit/s, at the three sizes of the buffer."""
    made: dict[float, list[float]] = {}
    for one in table.read("share", "BBR"):
        if one.at["case"] <= 6:
            made.setdefault(one.at["buffer_bdp"], []).append(1 - one.mean)
    return [Reading({"buffer_bdp": size}, (fmean(found),)) for size, found in sorted(made.items())]


def _rate_ratio(result: Result, _: str | None) -> float:
    one, other = (measure.METRICS["throughput_mbps"](result, result.plan.flows[i].name) for i in (0, -1))
    return float(one / other)


def _panels() -> Iterator[tuple[str, Entry]]:
    for letter, label in zip("abcdef", TESTED, strict=True):
        yield (
            f"fig14{letter}",
            Entry(
                cases=_one_mixed(label),
                draw=page(over_time(rate=INTER[DRAWN].rate), width=6.4),
                choices={
                    **COMMON,
                    "start of the flows": "all at 0 s",
                    "rate": "the controller's estimate of the bandwidth, and Cubic's window over its RTT",
                    "window of the variation": "20 to 200 s",
                },
                metrics={
                    "cov_rate": variation((20.0, 200.0)),
                    "throughput_kbps": mean_rate_kbps,
                    f"throughput_ratio_{label}_over_Cubic": _rate_ratio,
                },
                read={"c1": lambda table, _, __: table.read("jain")} if letter == "b" else {},
            ),
        )


CELLS = {
    "table3": (Column("x1_kbps", "x1 (kbit/s)", ".0f"), Column("x2_kbps", "x2 (kbit/s)", ".0f"),
               Column("jain", "Jain's index"), Column("ratio", "Ratio")),
    "table4": (Column("link_util", "Utilization"),),
    "table5": (Column("loss_fraction", "Loss", ".3f"), Column("mean_owd_ms", "One-way delay (ms)", ".1f"),
               Column("link_util", "Utilization")),
    "table7": (Column("jain", "Jain's index"), Column("ratio", "Ratio")),
}  # fmt: skip

ENTRIES: dict[str, Entry] = {
    "table3": Entry(
        cases=_unequal,
        draw=drawn(CELLS["table3"], "case", width=9.0, abreast=2),
        cells=CELLS["table3"],
        choices={**COMMON, "start of the flows": "both at 0 s"},
        metrics=METRICS,
        read={
            **{f"c{number}": cases_in_order for number in (290, 291, 292)},
            "c294": _winner,
            "c295": _winner,
            "c296": _tsunami,
        },
    ),
    "table4": Entry(
        cases=_lossy,
        draw=drawn(CELLS["table4"], "case"),
        cells=CELLS["table4"],
        choices={
            **COMMON,
            "duration": "400 s, as in Figs. 5 to 12; not printed",
            "loss": "of the data, after the bottleneck: his error model sits in the receiving device",
        },
        metrics=METRICS,
        read={"c123": _lost_by_loss},
    ),
    "fig13": Entry(
        cases=_variable(TESTED),
        draw=page(*(over_time(label=label, title=label) for label in TESTED), columns=2, height=1.9, width=9.0),
        choices={
            **COMMON,
            "levels": "4, 3, 2, 1 Mbit/s for 50 s each; the code has these for 20 s",
            "start of the flows": "both at 0 s, as in the code",
        },
        metrics=METRICS,
    ),
    "table5": Entry(
        cases=_variable(list(CCAS)),
        draw=drawn(CELLS["table5"], "", abreast=3),
        cells=CELLS["table5"],
        choices={**COMMON, "levels": "4, 3, 2, 1 Mbit/s for 50 s each; the code has these for 20 s"},
        metrics=METRICS,
        series={"others": _lowest_of_others},
    ),
    "table7": Entry(
        cases=_mixed,
        draw=drawn(CELLS["table7"], "case", abreast=2, width=9.0),
        cells=CELLS["table7"],
        choices={
            **COMMON,
            "start of the flows": "all at 0 s",
            "more buffer, more for Cubic": "its part against BBR, mean over 4 and 6 Mbit/s",
        },
        metrics={**METRICS, "share": own_share},
        read={"c115": _cubic_by_buffer},
    ),
    **dict(_panels()),
}
