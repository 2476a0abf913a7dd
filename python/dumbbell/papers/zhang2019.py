"""Zhang, "An evaluation of BBR and its variants", arXiv:1909.03673 (2019): Tables 3, 4, 5 and 7 over the QUIC-like
transport, cell by cell.

His dumbbell is n0, n1 - n2 - l2 - n3 - n4, n5 in ns-3.26: l2 is the bottleneck, l1 and l4 lead to it, l3 and l5 from
it. The paper's printed numbers are in the folder `data` next to this file; what it does not print is taken from
its public code (SoonyangZhang/DrainQueueCongestion), as noted below.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.scenario.file import Flow, Path, Record, Scenario
from dumbbell.scenario.routes import BOTTLENECK, Link

if TYPE_CHECKING:
    from dumbbell.results.load import Result, Results

#: His names and the controllers here, in his order.
CCAS = {
    "BBR": "bbr",
    "BBR'": "bbr-drain",
    "BBRPlus": "bbrplus",
    "Tsunami": "tsunami-zhang",
    "BBR+": "bbr-hsr",
    "BBRv2": "bbr2",
    "Cubic": "cubic",
    "Reno": "reno",
}

#: 1000 bytes of stream data a packet, every packet acknowledged, no handshake, 100 ms assumed at first: his public
#: code.
TRANSPORT: dict[str, Any] = {
    "kind": "quic",
    "payload": "1000B",
    "ack_every": 1,
    "handshake": False,
    "initial_rtt": "100ms",
    "window_unit": "1460B",
}

#: UDP payload of a packet over its stream data: his utility sums what the receivers' sockets gave
#: (script/pro-utilit.py), headers of QUIC included.
DATAGRAM = 1011 / 1000

#: How near a cell must be to agree: Jain's index, utilisation; other figures are shown without a verdict.
NEAR = {"jain": 0.05, "utility": 0.03}

#: What differs from the paper's set-up, whatever the figures come to.
DIFFERENCES = (
    "controllers have the preset `chromium`, which does not reach all that his code does: `docs/cca/chromium.md`",
    "loss recovery by probes (RFC 9002); his sender has a retransmission timeout",
    (
        "a packet takes 1053 bytes on the wire (Ethernet), 1041 there (PPP), so a full link gives 0.96; he prints up to"
        " 0.97"
    ),
    "Table 4: loss after the bottleneck in the data direction, 400 s (neither is printed; the first is in its code)",
    "Table 5: levels 4, 3, 2, 1 Mbit/s for 50 s each (the sequence is not printed; his code has these, for 20 s)",
    "Tables 3 and 7: all flows open at 0 s",
)


class Cell(NamedTuple):
    """One figure of a table: the paper's, ours, and whether they agree; None where no tolerance is set."""

    table: int
    algorithm: str
    case: str
    metric: str
    paper: float
    ours: float

    @property
    def agrees(self) -> bool | None:
        """Whether ours is within `NEAR` of the paper's."""
        near = NEAR.get(self.metric)
        return None if near is None else abs(self.paper - self.ours) <= near + 1e-9


def printed(table: int) -> list[dict[str, str]]:
    """The rows of a table as the paper prints them."""
    with (FilePath(__file__).parent / "data" / f"zhang2019-table{table}.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        return list(csv.DictReader(file))


def scenarios(table: int) -> list[Scenario]:
    """The experiments of a table: a scenario for each case and controller under test."""
    return list(_MAKERS[table]())


class _Case(NamedTuple):
    """An experiment with one controller under test."""

    table: int
    case: str
    algorithm: str

    def flow(self, **keys: Any) -> Flow:
        """A flow of the controller under test."""
        return _flow(self.algorithm, **keys)

    def scenario(
        self, duration: str, path: dict[str, Any], flows: list[Flow], links: tuple[Link, ...] = ()
    ) -> Scenario:
        """The experiment."""
        return Scenario(
            name=f"zhang2019-table{self.table}-case{self.case}-{CCAS[self.algorithm]}",
            duration=duration,
            path=Path(**path),
            link=list(links),
            host={"arp": False},
            flow=flows,
            record=Record(samples=False, events=False),
        )


def _flow(algorithm: str, **keys: Any) -> Flow:
    return Flow(cca=CCAS[algorithm], preset="chromium", transport=TRANSPORT, **keys)


def _cases(table: int, rows: list[dict[str, str]]) -> Iterator[tuple[_Case, dict[str, str]]]:
    """Every controller of a table in each of these rows of settings."""
    tested = {row["algo"] for row in printed(table)}
    for row in rows:
        for algorithm in CCAS:
            if algorithm in tested:
                yield _Case(table, row["case"], algorithm), row


def _path(row: dict[str, str]) -> dict[str, Any]:
    """The bottleneck of a case: its queue holds what its rate sends in the printed time."""
    rate, queue = f"{row['bandwidth_mbps']}Mbps", f"{row['queue_delay_ms']}ms"
    return {"rate": rate, "rtt": f"{2 * int(row['one_way_prop_delay_ms'])}ms", "buffer": queue}


def _table3() -> Iterator[Scenario]:
    """Two flows of one controller over paths of unequal length, in the cases of Table 2."""
    for one, row in _cases(3, printed(2)):
        queue = f"{row['queue_delay_ms']}ms"
        delays = {"l1": "10ms", "l3": "10ms", "l4": "20ms", "l5": "20ms"}
        links = tuple(Link(name=name, rate="100Mbps", buffer=queue, delay=delay) for name, delay in delays.items())
        flows = [one.flow(via=["l1", BOTTLENECK, "l3"]), one.flow(via=["l4", BOTTLENECK, "l5"])]
        yield one.scenario("200s", _path(row), flows, links)


def _table4() -> Iterator[Scenario]:
    """Four flows with random loss after the bottleneck, in five cases of Table 1."""
    rows = [row for row in printed(1) if f"C{row['case']}" in printed(4)[0]]
    loss = [f"{share}%" for share in dict.fromkeys(row["loss_pct"] for row in printed(4))]
    for one, row in _cases(4, rows):
        impair = [{"kind": "delay"}, {"kind": "links"}, {"kind": "loss", "rate": loss}]
        yield one.scenario("400s", {**_path(row), "impair": impair}, [one.flow(count=4)])


def _table5() -> Iterator[Scenario]:
    """Two flows over a capacity that changes every 50 s."""
    steps = [["0s", "4Mbps"], ["50s", "3Mbps"], ["100s", "2Mbps"], ["150s", "1Mbps"]]
    path = {"rate": {"steps": steps, "repeat": True}, "rtt": "100ms", "buffer": "75kB"}
    for one, _ in _cases(5, [{"case": "1"}]):
        yield one.scenario("400s", path, [one.flow(count=2)])


def _table7() -> Iterator[Scenario]:
    """Two flows against two of Cubic, in the cases of Table 6."""
    for one, row in _cases(7, printed(6)):
        yield one.scenario("200s", _path(row), [one.flow(count=2), _flow("Cubic", count=2)])


_MAKERS: dict[int, Callable[[], Iterator[Scenario]]] = {3: _table3, 4: _table4, 5: _table5, 7: _table7}

#: Tables that can be run.
TABLES = tuple(_MAKERS)


def figures(result: Result) -> dict[str, float]:
    """What the tables print of a run; rates in kbit/s, delay in ms."""
    summary = result.summary
    rates = [flow.goodput_mbps * 1000 for flow in summary.flows]
    delays = [flow.owd_mean_ms for flow in summary.flows if flow.owd_mean_ms is not None]
    capacity = result.plan.bottleneck.bits(0, result.plan.duration_ns) * 1e6 / result.plan.duration_ns
    return {
        "x1_kbps": rates[0],
        "x2_kbps": rates[1],
        "jain": float("nan") if summary.jain is None else summary.jain,
        "ratio": max(rates) / (min(rates) or float("nan")),
        "utility": sum(rates) * DATAGRAM / capacity,
        "loss": summary.link.drop_rate,
        "mean_owd_ms": sum(delays) / len(delays) if delays else float("nan"),
    }


def cells(results: Results, tables: list[int]) -> list[Cell]:
    """Every printed figure of these tables next to ours, in the paper's order; those whose run is missing are left
    out.
    """
    found = {_place(result): figures(result) for result in results if result.name.startswith("zhang2019-table")}
    return [cell for table in tables for cell in _cells(table, found)]


def _place(result: Result) -> tuple[int, str, str, str]:
    """Table, case, controller under test, and loss in percent of a run."""
    table, _, case = result.name.removeprefix("zhang2019-table").partition("-case")
    loss = next((str(value).removesuffix("%") for key, value in result.vary.items() if key.endswith(".rate")), "")
    return int(table), case.partition("-")[0], result.plan.flows[0].cca, loss


def _cells(table: int, found: dict[tuple[int, str, str, str], dict[str, float]]) -> Iterator[Cell]:
    for row in printed(table):
        name, cca = row["algo"], CCAS[row["algo"]]
        if table == 4:
            for column in [column for column in row if column.startswith("C")]:
                ours = found.get((4, column.removeprefix("C"), cca, row["loss_pct"]))
                if ours:
                    yield Cell(
                        4, name, f"{column}, {row['loss_pct']} %", "utility", float(row[column]), ours["utility"]
                    )
            continue
        case = row.get("case", "1")
        ours = found.get((table, case, cca, ""))
        if ours:
            yield from (
                Cell(table, name, case, metric, float(row[metric]), ours[metric])
                for metric in row
                if metric not in ("algo", "case")
            )
