"""Figs. 4 to 10: flows of one controller; throughput, utilisation, retransmissions, RTT and loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dumbbell.suites.compared import compared, minus, over, pair
from dumbbell.suites.draw import cdf, lines, page
from dumbbell.suites.table import Case, Entry, Profile, Reading, Table

from .testbed import BUFFERS, CCAS, COMMON, METRICS, flows, scenario

if TYPE_CHECKING:
    from dumbbell.suites.claims import Claim
    from dumbbell.suites.table import Tables


def _hundred(buffers: Sequence[float], loss_pct: float) -> Any:
    """100 flows, for the paper's time with --fast too: a trend over the buffer must not be one over the time."""

    def cases(profile: Profile) -> Iterator[Case]:
        for buffer in buffers:
            for label in CCAS:
                yield Case(
                    label,
                    {"buffer_bdp": buffer, "loss_pct": loss_pct},
                    scenario([flows(label, 100)], duration="300s",
                             repetitions=profile.pick(10, 1), buffer_bdp=buffer, loss_pct=loss_pct),
                )  # fmt: skip

    return cases


def _gap(table: Table, _: Claim, book: Tables) -> list[Reading]:
    """Utilisation with 0.01 % loss less that without loss, at each buffer and controller."""
    found = []
    for panel in "abcde":
        free = book.table(f"kfoury2020/fig5{panel}")
        for label in CCAS:
            at = {"buffer_bdp": free.points[0].at["buffer_bdp"]}
            lossy, without = table.read("link_util", label, at)[0], free.read("link_util", label)[0]
            found.append(pair({**at, "cca": label}, minus, lossy, without))
    return found


def _hundreds() -> Iterator[tuple[str, Entry]]:
    for throughput, utilisation, loss in (("fig4", "fig5", 0), ("fig6", "fig7", 1)):
        for letter, buffer in zip("abcde", BUFFERS, strict=True):
            also = tuple(f"kfoury2020/{throughput}{other}" for other in "abcde" if other != letter)
            read = (
                {"c1": compared("mean_flow_throughput_mbps", "BBRv2", "CUBIC", over)}
                if throughput + letter == "fig4c"
                else {}
            )
            cases = _hundred([buffer], loss)
            yield (
                throughput + letter,
                Entry(
                    cases=cases, draw=page(cdf("flow_throughputs_mbps", low=0)), choices=COMMON, also=also, read=read
                ),
            )
            also = tuple(f"kfoury2020/{utilisation}{other}" for other in "abcde" if other != letter)
            yield (
                utilisation + letter,
                Entry(cases=cases, draw=page(cdf("link_util")), choices=COMMON, metrics=METRICS, also=also),
            )


def _retransmissions(profile: Profile) -> Iterator[Case]:
    for count in profile.pick((1, 10, 20, 40, 60, 80, 100), (1, 10, 50, 100)):
        for label in CCAS:
            yield Case(
                label,
                {"n_flows": count},
                scenario([flows(label, count)], duration=profile.pick("300s", "300s" if count == 1 else "30s"),
                         repetitions=profile.pick(10, 1), buffer_bdp=0.02, rtt="100ms"),
            )  # fmt: skip


def _round_trips(count: int) -> Any:
    def cases(profile: Profile) -> Iterator[Case]:
        for buffer in (1, 10, 50, 100):
            for label in CCAS:
                yield Case(
                    label,
                    {"buffer_bdp": buffer, "n_flows": count},
                    scenario([flows(label, count)], duration=profile.pick("300s", "120s" if buffer > 10 else "40s"),
                             repetitions=profile.pick(10, 1), buffer_bdp=buffer, rtt="30ms"),
                )  # fmt: skip

    return cases


LOSSES = (0.001, 0.01, 0.1, 1, 10)


def _lossy(buffer: float) -> Any:
    def cases(profile: Profile) -> Iterator[Case]:
        for loss in LOSSES:
            for label in CCAS:
                yield Case(
                    label,
                    {"loss_pct": loss},
                    scenario([flows(label)], duration=profile.pick("300s", "60s"), repetitions=profile.pick(10, 2),
                             buffer_bdp=buffer, rtt="100ms", loss_pct=loss),
                )  # fmt: skip

    return cases


def _alone() -> Iterator[tuple[str, Entry]]:
    yield (
        "fig8",
        Entry(
            cases=_retransmissions,
            draw=page(lines("n_flows", "retrans_rate_pct")),
            choices={**COMMON, "list of N": "1, 10, 20, 40, 60, 80 and 100: only 1 and 10 are named"},
        ),
    )
    for letter, count in zip("abcd", (2, 10, 25, 50), strict=True):
        also = tuple(f"kfoury2020/fig9{other}" for other in "abcd" if other != letter)
        yield (
            f"fig9{letter}",
            Entry(cases=_round_trips(count), draw=page(lines("buffer_bdp", "rtt_ms")), choices=COMMON, also=also),
        )
    for first, second, buffer in (("a", "b", 0.1), ("c", "d", 1)):
        cases, choices = _lossy(buffer), {**COMMON, "loss rates": "0.001 to 10 %: three of them are named"}
        yield f"fig10{first}", Entry(cases=cases, draw=page(lines("loss_pct", "throughput_mbps")), choices=choices)
        read = {"c1": compared("retrans_rate_pct", "BBRv1", "BBRv2", over)} if second == "d" else {}
        yield (
            f"fig10{second}",
            Entry(cases=cases, draw=page(lines("loss_pct", "retrans_rate_pct")), choices=choices, read=read),
        )


ENTRIES: dict[str, Entry] = {
    **dict(_hundreds()),
    "sec5.1-loss0.01": Entry(
        cases=_hundred(BUFFERS, 0.01),
        draw=page(lines("buffer_bdp", "link_util")),
        choices=COMMON,
        metrics=METRICS,
        read={"c1": _gap},
        needs=tuple(f"kfoury2020/fig5{letter}" for letter in "abcde"),
    ),
    **dict(_alone()),
}
