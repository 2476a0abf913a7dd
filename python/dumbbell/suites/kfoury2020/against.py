"""Figs. 11 to 13: BBR and BBRv2 against CUBIC, over buffers, numbers of flows, rates and delays."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import TYPE_CHECKING, Any

from dumbbell.suites import draw
from dumbbell.suites.compared import minus, pair
from dumbbell.suites.draw import Number, heat, lines, page
from dumbbell.suites.table import Case, Entry, Place, Profile, Reading, Table, by_place

from .testbed import COMMON, METRICS, PAIR_BUFFERS, averaged, flows, scenario, seconds

if TYPE_CHECKING:
    from dumbbell.suites.claims import Claim
    from dumbbell.suites.table import Tables


def _against(count: int, loss_pct: float) -> Any:
    def cases(profile: Profile) -> Iterator[Case]:
        for buffer in PAIR_BUFFERS:
            for label in ("BBRv1", "BBRv2"):
                duration = seconds(profile, buffer, deep=50 if loss_pct else 0, fast="40s" if count == 1 else "30s")
                yield Case(
                    f"{label} vs CUBIC",
                    {"buffer_bdp": buffer},
                    scenario([flows(label, count), flows("CUBIC", count)], duration=duration,
                             repetitions=profile.pick(10, 2 if count == 1 else 1), buffer_bdp=buffer,
                             loss_pct=loss_pct),
                )  # fmt: skip

    return cases


#: Both lines of Fig. 11: a sentence about CUBIC, or about fairness, that names no opponent is about each of them.
OPPONENTS = ("BBRv1 vs CUBIC", "BBRv2 vs CUBIC")


def _beside_each(table: Table, claim: Claim, _: Tables) -> list[Reading]:
    """CUBIC's part beside BBRv1, and beside BBRv2."""
    low, high = claim.at.get("from_x", 0), claim.at.get("to_x", float("inf"))
    found = [one for name in OPPONENTS for one in table.read(claim.metric, claim.series[0], {"case_name": name})]
    return [one for one in found if low <= one.at["buffer_bdp"] <= high]


def _jain_of_each(table: Table, claim: Claim, _: Tables) -> list[Reading]:
    """Jain's index of each line."""
    return [one._replace(inside=name) for name in OPPONENTS for one in table.read("jain", name, claim.at)]


def _opponents() -> Iterator[tuple[str, Entry]]:
    for letter, count, loss in (("a", 1, 0), ("b", 1, 0.01), ("c", 50, 0), ("d", 50, 1)):
        yield f"fig11{letter}", Entry(
            cases=_against(count, loss),
            draw=page(
                lines("buffer_bdp", "jain", series=OPPONENTS, high=1.05),
                lines("buffer_bdp", "aggregate_throughput_mbps", series=("BBRv1", "CUBIC"),
                      at={"case_name": "BBRv1 vs CUBIC"}),
                lines("buffer_bdp", "aggregate_throughput_mbps", series=("BBRv2", "CUBIC"),
                      at={"case_name": "BBRv2 vs CUBIC"}),
                height=1.9,
            ),
            choices={**COMMON, "buffers": "0.1 to 100 BDP, where 1, 4 and 100 are named"},
            read={"c3": _beside_each, "c4": _jain_of_each} if letter == "a" else {},
        )  # fmt: skip


BBR2_COUNTS, CUBIC_COUNTS = (1, 2, 3, 5, 10), tuple(range(1, 11))


def _counts(profile: Profile) -> Iterator[Case]:
    for ours in BBR2_COUNTS:
        for theirs in profile.pick(CUBIC_COUNTS, (1, 2, 4, 6, 8, 10)):
            yield Case(
                None,
                {"n_bbr2": ours, "n_cubic": theirs},
                scenario([flows("BBRv2", ours), flows("CUBIC", theirs)], duration=profile.pick("300s", "30s"),
                         repetitions=profile.pick(10, 1), buffer_bdp=1),
            )  # fmt: skip


def _ideal(table: Table, _: str, at: Place) -> list[Reading]:
    """The part that BBRv2's flows have of all flows."""
    return [
        Reading(one.at, tuple(one.at["n_bbr2"] / (one.at["n_bbr2"] + one.at["n_cubic"]) for _ in one.values))
        for one in table.read("share", "BBRv2", at)
    ]


def _share_gap(table: Table, _: Claim, __: Tables) -> list[Reading]:
    """How far CUBIC's part is from its part of the flows, mean over the numbers of CUBIC flows."""
    made = []
    for ours in BBR2_COUNTS:
        found = table.read("share", "CUBIC", {"n_bbr2": ours})
        gaps = [abs(one.mean - one.at["n_cubic"] / (ours + one.at["n_cubic"])) for one in found]
        made.append(Reading({"n_bbr2": ours}, (fmean(gaps),)))
    return made


def _draw_counts() -> Any:
    def panel(ours: int) -> draw.Panel:
        def drawn(table: Table, sheet: Any, ax: Any) -> None:
            lines("n_cubic", "share", at={"n_bbr2": ours}, series=("BBRv2", "CUBIC"), title=f"{ours} BBRv2", high=1.0)(
                table, sheet, ax
            )
            for label, part in (("BBRv2", ours), ("CUBIC", 0)):
                xs = sorted({point.at["n_cubic"] for point in table.points})
                ideal = [(part or x) / (ours + x) for x in xs]
                (handle,) = ax.plot(xs, ideal, ":", color=draw.colour(label).colour)
                sheet.entry(handle, f"{label}, its part of the flows")
            ax.set_xlabel("CUBIC flows")

        return drawn

    return page(*(panel(ours) for ours in BBR2_COUNTS), columns=3, height=1.9, width=9.0, share_y=True)


#: Of the buffer of Figs. 13(a) and (d).
SMALL = ": the paper says only that it is small. One packet at 20 Mbit/s and 20 ms, as the text has it, is 0.03 BDP"

HEAT_RATES, HEAT_DELAYS = (20, 100, 200, 400, 600, 800, 1000), (10, 20, 50, 100)


def _cells(buffer: float, loss_pct: float) -> Any:
    def cases(profile: Profile) -> Iterator[Case]:
        for rate in HEAT_RATES:
            for delay in HEAT_DELAYS:
                yield Case(
                    None,
                    {"bandwidth_mbps": rate, "delay_ms": delay, "bdp": rate * delay},
                    scenario([flows("CUBIC"), flows("BBRv2")], duration=profile.pick("300s", "30s"),
                             repetitions=profile.pick(10, 1), buffer_bdp=buffer, rtt=f"{delay}ms", rate=f"{rate}Mbps",
                             loss_pct=loss_pct, burst=f"{max(10, rate // 2)}kB"),
                )  # fmt: skip

    return cases


def _mean_jain(table: Table, _: str, __: Place) -> list[Reading]:
    """Mean over the cells of a heat map."""
    return [averaged(table.read("jain"))]


def _mean_jain_of(panel: str) -> Any:
    def order(table: Table, _: Claim, book: Tables) -> list[list[Reading]]:
        found = {"this": table, "fig13a": None, "fig13b": None}
        one, other = ("this", "fig13a") if panel == "b" else ("fig13b", "this")
        tables = [found[name] or book.table(f"kfoury2020/{name}") for name in (one, other)]
        return [_mean_jain(made, "jain", {}) for made in tables]

    return order


def _jain_change(free: str) -> Any:
    def read(table: Table, _: Claim, book: Tables) -> list[Reading]:
        parts = [table.read("jain"), book.table(f"kfoury2020/fig13{free}").read("jain")]
        return [averaged([pair(at, minus, *found) for at, found in by_place(parts)])]

    return read


def _by_bdp(label: str | None) -> Any:
    """A trend over the BDP: cells of equal BDP are one point."""

    def read(table: Table, claim: Claim, _: Tables) -> list[Reading]:
        cells: dict[float, list[Reading]] = {}
        for one in table.read(claim.metric, label):
            cells.setdefault(one.at["bdp"], []).append(one)
        return [Reading({"bdp": bdp}, averaged(found).values) for bdp, found in sorted(cells.items())]

    return read


def _corner(largest: bool) -> dict[str, Any]:  # noqa: FBT001
    pick = max if largest else min
    return {"bandwidth_mbps": pick(HEAT_RATES), "delay_ms": pick(HEAT_DELAYS)}


def _corner_value(table: Table, claim: Claim, _: Tables) -> list[Reading]:
    return table.read(claim.metric, claim.series[0], _corner(True))


def _corner_order(largest: bool) -> Any:  # noqa: FBT001
    return lambda table, claim, _: [table.read(claim.metric, name, _corner(largest)) for name in claim.order]


def _smallest_order(table: Table, claim: Claim, _: Tables) -> list[list[Reading]]:
    """At the smallest BDP."""
    return [table.read(claim.metric, name, _corner(False)) for name in claim.order]


def _maps() -> Iterator[tuple[str, Entry]]:
    drawn = page(
        heat(
            "delay_ms",
            "bandwidth_mbps",
            Number("jain", None),
            below=(Number("link_util", None, 100), Number("share", "CUBIC", 100), Number("share", "BBRv2", 100)),
            low=0.5,
            first="upper",
            title="In the cells: utilization (%), CUBIC | BBRv2 (% of the goodput)",
        ),
        height=4.2,
    )
    reads: dict[str, Any] = {
        "a": {"c1": _smallest_order, "c2": _by_bdp(None), "c3": _corner_value},
        "b": {"c1": _mean_jain_of("b")},
        "c": {"c1": _mean_jain_of("c"), "c2": _corner_order(False), "c3": _corner_order(True)},
    }
    for letter, free in zip("def", "abc", strict=True):
        reads[letter] = {"c1": _jain_change(free), "c2": _by_bdp("BBRv2")}
    for letter, buffer, loss in zip("abcdef", (0.1, 1, 10) * 2, (0,) * 3 + (0.01,) * 3, strict=True):
        others = {"b": "a", "c": "b", "d": "a", "e": "b", "f": "c"}
        yield (
            f"fig13{letter}",
            Entry(
                cases=_cells(buffer, loss),
                draw=drawn,
                choices={
                    **COMMON,
                    "axes": "7 rates and 4 delays of the scripts' grid; the paper names one cell",
                    "buffer": f"{buffer:g} BDP of each cell{SMALL if buffer < 1 else ''}",
                },
                metrics=METRICS,
                read=reads[letter],
                needs=(f"kfoury2020/fig13{others[letter]}",) if letter in others else (),
            ),
        )


ENTRIES: dict[str, Entry] = {
    **dict(_opponents()),
    "fig12": Entry(
        cases=_counts,
        draw=_draw_counts(),
        choices={
            **COMMON,
            "counts": "the grid of the scripts; the paper names 10 and 2",
            "buffer": "1 BDP: the paper does not print it",
        },
        series={"BBRv2 measured": lambda table, metric, at: table.read(metric, "BBRv2", at), "BBRv2 ideal": _ideal},
        read={"c2": _share_gap},
    ),
    **dict(_maps()),
}
