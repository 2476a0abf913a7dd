"""Throughput against queueing delay over links whose rate moves: steps (Fig. 17), and radio links at rest and on the
move (Fig. 23). Figures are normalised on each path: throughput by the best, delay by the smallest mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import environ
from pathlib import Path
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.plots import pooled
from dumbbell.suites import draw, measure
from dumbbell.suites.draw import page
from dumbbell.suites.table import Case, Entry, Profile, Reading, Table

from .testbed import COMMON, NO_LENGTH, flow, scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dumbbell.plots import style
    from dumbbell.suites.claims import Claim
    from dumbbell.suites.table import Tables

LABELS = ("CUBIC", "BBRv1", "BBRv2", "BBRv2+")

#: Levels in Mbit/s, and how long each lasts, of five links.
STEPS: dict[str, tuple[int, tuple[int, ...]]] = {
    "10 s, 10 to 80 Mbit/s": (10, (20, 60, 40, 80, 10, 50)),
    "20 s, 24 to 96 Mbit/s": (20, (96, 24, 48)),
    "5 s, 12 and 24 Mbit/s": (5, (12, 24) * 6),
    "10 s, 5 and 50 Mbit/s": (10, (50, 5) * 3),
    "15 s, rising": (15, (10, 30, 60, 90)),
}

#: Where Mahimahi's recordings are, unless this variable names another folder.
FOLDER, VARIABLE = "/usr/share/mahimahi/traces", "DUMBBELL_TRACES"
#: Recordings on the move, of Mahimahi (NSDI 2013, and AT&T 2016).
RECORDINGS = (
    "ATT-LTE-driving-2016.down",
    "ATT-LTE-driving.down",
    "TMobile-LTE-short.down",
    "TMobile-UMTS-driving.down",
    "Verizon-LTE-short.down",
    "Verizon-LTE-short.up",
)
LINKS = 10
#: Where nothing waits at all: the axis is logarithmic.
LEAST_MS = 0.001

CHOICES = {**COMMON, "buffer": "1.5 MB, as printed"}
RADIO_CHOICES = {
    **CHOICES,
    "RTT and loss": "40 ms and none on every link: they measured them, and print neither",
    "length": NO_LENGTH,
    "Orca": "is not here: a learned controller, whose model is its authors'",
}


def _link(kind: str, mobility: str, seed: int) -> dict[str, Any]:
    """A generated radio link, as a rate."""
    return {kind: mobility, "mean": f"{8 + 4 * (seed % 5)}Mbps", "length": "60s", "seed": seed}


def recorded(folder: str | None = None) -> dict[str, Any]:
    """Mahimahi's recordings by their name, as rates; none where they are not installed."""
    place = Path(folder or environ.get(VARIABLE) or FOLDER)
    return {name: {"trace": str(place / name)} for name in RECORDINGS if (place / name).is_file()}


def moving() -> dict[str, Any]:
    """Ten links on the move: recordings, and generated ones for what is missing."""
    found = recorded()
    made = {f"{kind} {seed}": _link(kind, "mobile", seed) for seed in range(1, 6) for kind in ("lte", "wifi")}
    return dict(list({**found, **made}.items())[:LINKS])


def _moving_text(found: int) -> str:
    """Which links on the move these runs have, by the number of recordings found."""
    head = f"theirs are not published: {found or 'no'} recordings of Mahimahi's"
    where = "" if found == len(RECORDINGS) else f" (looked for in ${VARIABLE} or {FOLDER}; there are {len(RECORDINGS)})"
    return f"{head}{where} and {LINKS - found} generated LTE and WiFi links on the move"


def resting() -> dict[str, Any]:
    """Ten links at rest, generated."""
    return {f"{kind} {seed}": _link(kind, "stationary", seed) for seed in range(1, 6) for kind in ("lte", "wifi")}


def stepped() -> dict[str, Any]:
    """Five links whose rate moves in steps."""
    return {
        name: {"steps": [[f"{every * i}s", f"{level}Mbps"] for i, level in enumerate(levels)]}
        for name, (every, levels) in STEPS.items()
    }


def _over(links: Any) -> Any:
    def cases(profile: Profile) -> Iterator[Case]:
        for name, rate in links().items():
            for label in LABELS:
                made = scenario([flow(label)], duration="60s", repetitions=profile.pick(5, 2), buffer="1500kB",
                                rate=rate)  # fmt: skip
                yield Case(label, {"trace": name}, made)

    return cases


class Normalised(NamedTuple):
    """A controller over all paths: a value for each, normalised there."""

    throughput: list[float]
    delay: list[float]


def spots(table: Table) -> list[pooled.Spot]:
    """Every controller on every path: mean over the repetitions."""
    made = []
    for point in table.points:
        links = [run.summary.link for run in point.runs]
        made.append(
            pooled.Spot(
                point.at["trace"],
                draw.CONTROLLERS[point.series or ""],
                fmean(run.summary.flows[0].goodput_mbps for run in point.runs),
                max(fmean(measure.waiting_ms(link) for link in links), LEAST_MS),
                max(fmean(link.sojourn_p95_ms or link.queue_p95_ms or 0.0 for link in links), LEAST_MS),
            )
        )
    return made


def normalised(table: Table) -> dict[str, Normalised]:
    """By the paper's names of the controllers."""
    found = pooled.normalised(spots(table))
    return {
        label: Normalised([place[1] for place in places], [place[0] for place in places])
        for label in LABELS
        if (places := found.get(draw.CONTROLLERS[label]))
    }


def _mean(which: str, values: Mapping[str, Normalised], label: str) -> float:
    found = values[label]
    return fmean(found.delay if "delay" in which else found.throughput)


def _order(table: Table, claim: Claim, _: Tables) -> list[list[Reading]]:
    """Mean over the paths of each name, which may be ``max(A,B)``."""
    values = normalised(table)
    made = []
    for name in claim.order:
        labels = name.removeprefix("max(").removesuffix(")").split(",")
        made.append([Reading({}, (max(_mean(claim.metric, values, label) for label in labels),))])
    return made


def _ratio(which: str) -> Any:
    def read(table: Table, _: Claim, __: Tables) -> list[Reading]:
        values = normalised(table)
        return [Reading({}, (_mean(which, values, "BBRv2+") / _mean(which, values, "BBRv2"),))]

    return read


def _spread(table: Table, _: Claim, __: Tables) -> list[Reading]:
    """Between the best and the worst of the three BBRs."""
    values = normalised(table)
    found = [_mean("throughput", values, label) for label in ("BBRv1", "BBRv2", "BBRv2+")]
    return [Reading({}, (max(found) - min(found),))]


def _inconsistent(table: Table, _: Claim, __: Tables) -> list[list[Reading]]:
    """The smaller deviation over the paths of BBRv2's and CUBIC's throughput, and that of BBRv2+."""
    values = normalised(table)
    spread = {label: pstdev(one.throughput) for label, one in values.items()}
    return [[Reading({}, (min(spread["BBRv2"], spread["CUBIC"]),))], [Reading({}, (spread["BBRv2+"],))]]


def _drawn() -> draw.Draw:
    def panel(table: Table, sheet: style.Sheet, ax: Axes) -> None:  # noqa: ARG001 - the sheet has this axes only
        pooled.panel(sheet, spots(table), "Queueing delay")
        sheet.explain("dots: each path")
        sheet.explain(pooled.MARKS)

    return page(panel, height=3.2)


ENTRIES = {
    "fig17": Entry(
        cases=_over(stepped),
        draw=_drawn(),
        choices={
            **CHOICES,
            "levels": "ours: those of the five traces are not printed",
            "delay": "20 ms each way",
        },
        read=dict.fromkeys(("c1", "c2", "c3", "c4"), _order),
    ),
    "fig23a": Entry(
        cases=_over(resting),
        draw=_drawn(),
        choices={
            **RADIO_CHOICES,
            "links": "ten generated LTE and WiFi links at rest: the recordings are not published",
        },
        read={"c1": _spread, "c2": _order},
        unjudged={"c3": "Orca, a learned controller, is not among ours"},
    ),
    "fig23b": Entry(
        cases=_over(moving),
        draw=_drawn(),
        choices={
            **RADIO_CHOICES,
            "links": _moving_text(len(recorded())),
        },
        read={"c1": _ratio("throughput"), "c2": _ratio("delay"), "c3": _order, "c4": _order, "c5": _inconsistent},
    ),
}
