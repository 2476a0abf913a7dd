"""Figs. 16 to 20: completion times of 100 MB transfers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dumbbell.suites.claims import of_suite
from dumbbell.suites.compared import minus, over, pair
from dumbbell.suites.draw import cdf, lines, page
from dumbbell.suites.table import Case, Entry, Profile, Reading, Table, by_place

from .testbed import CCAS, COMMON, flows, scenario

if TYPE_CHECKING:
    from dumbbell.suites.claims import Claim
    from dumbbell.suites.table import Tables


SIZE = "100MB"


def _transfers(loss_pct: float) -> Any:
    def cases(profile: Profile) -> Iterator[Case]:
        for buffer in (0.1, 0.2, 0.5, 1, 10, 100):
            for label in CCAS:
                yield Case(
                    label,
                    {"buffer_bdp": buffer},
                    scenario([flows(label, 100, size=SIZE)], duration="400s", repetitions=profile.pick(10, 1),
                             buffer_bdp=buffer, loss_pct=loss_pct),
                )  # fmt: skip

    return cases


def _mixed(label: str, buffer: float, loss_pct: float) -> Any:
    def cases(profile: Profile) -> Iterator[Case]:
        yield Case(
            None,
            {"buffer_bdp": buffer},
            scenario([flows("CUBIC", 50, size=SIZE), flows(label, 50, size=SIZE)], duration="400s",
                     repetitions=profile.pick(10, 1), buffer_bdp=buffer, loss_pct=loss_pct),
        )  # fmt: skip

    return cases


def _completion_gap(table: Table, _: Claim, book: Tables) -> list[list[Reading]]:
    """By how much BBRv2's median is before CUBIC's: at 0.1 BDP, at this buffer, and none. A reduced gap is still a gap:
    where CUBIC is first it has the wrong sign.
    """
    made = []
    for one in (book.table("kfoury2020/fig17a"), table):
        cubic, bbr2 = (one.read("median_fct_s", label)[0] for label in ("CUBIC", "BBRv2"))
        made.append([pair({}, minus, cubic, bbr2)])
    return [*made, [Reading({}, (0.0,))]]


def _other_panel(other: str) -> Any:
    """BBRv2 in another figure, then BBRv1 here."""

    def read(table: Table, claim: Claim, book: Tables) -> list[list[Reading]]:
        found = book.table(f"kfoury2020/{other}").read(claim.metric, "BBRv2"), table.read(claim.metric, "BBRv1")
        return [[Reading({}, one.values) for one in part] for part in found]

    return read


def _as_without_loss(other: str) -> Any:
    def read(table: Table, claim: Claim, book: Tables) -> list[Reading]:
        parts = [made.read("median_fct_s", claim.series[0]) for made in (table, book.table(f"kfoury2020/{other}"))]
        return [pair(at, over, *found) for at, found in by_place(parts)]

    return read


def _ends(table: Table, claim: Claim, _: Tables) -> list[Reading]:
    """Where the distribution of completion times begins and ends."""
    made = []
    for place, found, _inside in table.raw("flow_fcts_s", claim.series[0], claim.at):
        for word, pick in (("first", min), ("last", max)):
            made.append(Reading({**place, "flow": word}, tuple(pick(times) for times in found)))
    return made


def _transfers_drawn() -> Any:
    return page(lines("buffer_bdp", "fct_s", spread="sd"))


def _completions() -> Iterator[tuple[str, Entry]]:
    choices = {
        **COMMON,
        "size of a flow": "100 MB: the 10 GB of the text would need 8000 s, and its 90 s are those of 100 MB",
        "duration": "until all have completed, at most 400 s",
    }
    yield "fig16a", Entry(cases=_transfers(0), draw=_transfers_drawn(), choices=choices)
    yield (
        "fig16b",
        Entry(
            cases=_transfers(1),
            draw=_transfers_drawn(),
            choices={**choices, "loss": "1 %, as the text; the caption's 0.01 % cannot slow CUBIC"},
        ),
    )
    for letter, buffer in zip("abcde", (0.1, 0.5, 1, 10, 100), strict=True):
        for item, label, loss in ((17, "BBRv2", 0), (18, "BBRv1", 0), (19, "BBRv2", 1), (20, "BBRv1", 1)):
            read: dict[str, Any] = {}
            needs: tuple[str, ...] = ()
            if item == 17 and letter in "bc":
                read, needs = {"c2": _completion_gap}, ("kfoury2020/fig17a",)
            elif item in (18, 20):
                other = f"fig{item - 1}{letter}"
                read, needs = {"c2": _other_panel(other)}, (f"kfoury2020/{other}",)
            elif item == 19:
                other = f"fig17{letter}"
                read, needs = {"c3": _as_without_loss(other)}, (f"kfoury2020/{other}",)
            claims = of_suite("kfoury2020")[f"kfoury2020/fig{item}{letter}"].claims
            read |= {claim.id: _ends for claim in claims if claim.metric == "fct_s"}
            yield (
                f"fig{item}{letter}",
                Entry(
                    cases=_mixed(label, buffer, loss),
                    draw=page(cdf("flow_fcts_s", low=0)),
                    choices=choices,
                    read=read,
                    needs=needs,
                ),
            )


ENTRIES: dict[str, Entry] = dict(_completions())
