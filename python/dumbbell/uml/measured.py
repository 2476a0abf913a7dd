"""Measurements of the guest's agent as a result's tables and summary: the same columns as every back end's.

Of each flow the agent tells what its socket says (TCP_INFO), and the kernel what happened in the network namespace of
its sender, which is the flow's alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.backends import tables
from dumbbell.plan.view import LinkView, view

from . import script
from .network import is_up, routed

if TYPE_CHECKING:
    from dumbbell.plan.types import FlowPlan, Plan, ProbePlan

#: A number that is not set.
_UNSET = 0xFFFFFFFF
#: A pacing rate that limits nothing (SK_PACING... of include/net/sock.h: ~0UL), bytes/s.
_UNPACED = 2**64 - 1
#: In the order of their numbers in TCP_INFO.
CA_STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")
#: Counters of a sender's namespace (TcpExt of /proc/net/netstat) that are a flow's.
_RECOVERIES = ("TCPRenoRecovery", "TCPSackRecovery")
_UNDOS = ("TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo")
_PROBES = ("TCPLossProbes",)
#: Counters that say that a host had too little memory; none of them moves in a run that measures its path.
_SHORTAGES = (
    "TCPMemoryPressures",
    "PruneCalled",
    "RcvPruned",
    "OfoPruned",
    "TCPBacklogDrop",
    "TCPRcvQDrop",
    "TCPZeroWindowDrop",
    "TCPWqueueTooBig",
    "TCPOFODrop",
)


@dataclass(frozen=True)
class Row:
    """A line of numbers: their names are those of its file's heading. What is not there is "-"."""

    names: dict[str, int]
    words: list[str]

    def get(self, name: str) -> int | None:
        """A number, if it is there."""
        word = self.words[self.names[name]]
        return None if word == "-" else int(word)

    def __getitem__(self, name: str) -> int:
        return int(self.words[self.names[name]])


class Estimates(NamedTuple):
    """Report of a controller at a time; gains are in 1/256."""

    state: str | None = None
    limit: str | None = None
    lost: int | None = None
    bw: int | None = None
    min_rtt: int | None = None
    pacing_gain: int | None = None
    cwnd_gain: int | None = None
    inflight_lo: int | None = None
    inflight_hi: int | None = None
    variables: tuple[tuple[str, str], ...] = ()
    """Columns of the variables, as ``.NAME:UNIT``, and their words."""


class Measured:
    """One run's raw data in `folder`."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan, self.folder = plan, folder
        self.flows = [Flow(self, i) for i in range(len(plan["flows"]))]

    def rows(self, name: str) -> list[Row]:
        """The lines of a file with a heading."""
        heading, *lines = (self.folder / name).read_text().splitlines()
        names = {word: at for at, word in enumerate(heading.split())}
        return [Row(names, line.split()) for line in lines]

    @cached_property
    def samples(self) -> list[list[Row]]:
        """Samples of each flow, in order."""
        by_flow: list[list[Row]] = [[] for _ in self.flows]
        for row in self.rows("samples"):
            by_flow[row["flow"]].append(row)
        return by_flow

    @cached_property
    def link_ends(self) -> dict[int, Row]:
        """Counters of each link at the end."""
        return {row["link"]: row for row in self.rows("queue")}

    @cached_property
    def ends(self) -> dict[int, Row]:
        """End of each flow that opened a connection."""
        return {row["flow"]: row for row in self.rows("flows")}

    @cached_property
    def reports(self) -> dict[int, dict[int, Estimates]]:
        """Report of each flow's controller, where that is ours, at each sample, by its time."""
        ports = {f"{source}": i for i, source in enumerate(self.sources)}
        by_flow: dict[int, dict[int, Estimates]] = {}
        for stamp, _, lines in _parts(self.folder / "reports"):
            if not lines:
                continue
            names = lines[0].split()
            for line in lines[1:]:
                fields = dict(zip(names, line.split()))
                i = ports.get(fields["local"])
                if i is not None:
                    by_flow.setdefault(i, {})[int(stamp)] = _estimates(fields)
        return by_flow

    @cached_property
    def sources(self) -> list[str]:
        """Address and port of each flow's sender."""
        lines = (self.folder / "specification").read_text().splitlines()
        words = [line.split() for line in lines if line.startswith("flow ")]
        return [f"{word[2]}:{word[3]}" for word in words]

    @cached_property
    def counters(self) -> dict[tuple[str, str], list[str]]:
        """Counters at the end: lines by namespace and file."""
        return {(namespace, name): lines for namespace, name, lines in _parts(self.folder / "counters")}

    def netstat(self, namespace: str) -> dict[str, int]:
        """TcpExt of a namespace."""
        counts: dict[str, int] = {}
        for names, values in pairwise(self.counters.get((namespace, "/proc/self/net/netstat"), [])):
            if names.startswith("TcpExt:") and values.startswith("TcpExt:"):
                counts = {name: int(value) for name, value in zip(names.split()[1:], values.split()[1:])}
                break
        return counts

    def data_lost(self, i: int) -> int:
        """Data packets of a flow that netem lost (`network.Network` says where it impairs them)."""
        goes_up = self.plan["flows"][i].get("direction") == "up"
        return sum(drops for place, drops in self._netem_drops(i).items() if is_up(place) == goes_up)

    def _netem_drops(self, i: int) -> dict[tuple[str, str], int]:
        """Drops of each netem that one flow has alone, by its namespace and device."""
        drops = {}
        for (namespace, name), lines in self.counters.items():
            what, _, device = name.partition(f" {i} ")
            if what == "netem" and device:
                drops[namespace, device] = int(lines[0].split()[2])
        return drops

    def link_drops(self, i: int) -> tuple[int, int]:
        """Packets of a flow that the links of its data dropped, and of these, that policers refused: known where no
        other flow's packets cross these links, 0 elsewhere, because links count packets and not flows.
        """
        ways = [_links_of(self.plan, flow) for flow in routed(self.plan)]
        mine, _ = ways.pop(i)
        if any(mine & (data | acks) for data, acks in ways):
            return 0, 0
        dropped, policed = (sum(self.link_ends[link][name] for link in mine) for name in ("dropped", "policed"))
        return dropped, policed

    def write(self, out: Path) -> dict[str, Any]:
        """Write the tables and return the summary."""
        return tables.write(
            self.plan,
            out,
            packets_delivered=sum(flow.count("delivered") for flow in self.flows),
            capacity_bytes=self.capacity_bytes(),
            flows=[flow.totals() for flow in self.flows],
            samples=(row for flow in self.flows for row in flow.rows()),
            queue=self.queue(),
            events=(row for flow in self.flows for row in flow.events()),
            warnings=self.warnings(),
            messages=[_message(row) for row in self.rows("messages")],
            probes=tables.decided(self.plan, [_probe(row) for row in self.rows("probes")])
            if self.plan.get("probes")
            else [],
            variables=(row for flow in self.flows for row in flow.variables()),
            limits=(row for flow in self.flows for row in flow.limits()),
        )

    def warnings(self) -> list[str]:
        """Warnings of what shaped the result besides the path."""
        texts = script.warnings(self.plan)
        for namespace, who in [(f"s{i}", f"flow {i}") for i in range(len(self.flows))] + [("d", "receivers")]:
            moved = [
                f"{name} {count}" for name, count in self.netstat(namespace).items() if name in _SHORTAGES and count
            ]
            if moved:
                texts.append(f"{who}: the guest had too little memory ({', '.join(moved)})")
        waiting = self.counters.get(("-", "/proc/net/softnet_stat"), [])
        dropped = sum(int(line.split()[1], 16) for line in waiting)
        if dropped:
            texts.append(f"the guest itself dropped {dropped} packets between devices")
        (lacking,) = self.counters.get(("-", "capture"), ["0"])
        if int(lacking):
            texts.append(f"trace.pcap lacks {lacking} packets, which the guest had no room for")
        for i, flow in enumerate(self.plan["flows"]):
            loses = any(stage["kind"] == "loss" for stage in flow["forward"] + flow["back"])
            beyond = sum(self._netem_drops(i).values())
            if not loses and beyond:
                texts.append(f"flow {i}: netem dropped {beyond} packets beyond its limit")
        return texts

    def queue(self) -> list[dict[str, Any]]:
        """Rows of queue.parquet."""
        recorded = view(self.plan).recorded_links
        return [
            tables.queue_row(
                row["t"],
                row,
                link=row["link"],
                sojourn_us=_sojourn_us(recorded[row["link"]], row["t"], row["backlog_bytes"] * 8),
            )
            for row in self.rows("queue")
            if row["link"] < len(recorded)
        ]

    def capacity_bytes(self) -> list[int]:
        """Bytes that each link could send during the run."""
        links = view(self.plan).recorded_links
        return [(int(link.bits(0, self.plan["duration_ns"])) + link.bucket_bits) // 8 for link in links]


class Flow:
    """One flow of a run."""

    def __init__(self, of: Measured, i: int) -> None:
        self.of, self.i, self.planned = of, i, of.plan["flows"][i]

    @property
    def end(self) -> Row | None:
        """Its socket at its end; None where it never opened one."""
        return self.of.ends.get(self.i)

    def count(self, name: str) -> int:
        """A counter at its end."""
        return 0 if self.end is None else self.end[name]

    @property
    def is_completed(self) -> bool:
        """True if all of a transfer that has an end had arrived."""
        return self.end is not None and self.end["done"] >= 0

    def totals(self) -> dict[str, Any]:
        """Totals of the flow; what is not known is 0 or null."""
        known, end = tables.planned(self.planned), self.end
        if end is None:
            return {**known, "start_ns": self.planned["start_ns"], "stop_ns": self.planned["start_ns"]}
        seen = self.of.netstat(f"s{self.i}")
        dropped, policed = self.of.link_drops(self.i)
        known |= {
            "start_ns": end["opened"],
            "stop_ns": end["done"] if self.is_completed else end["ended"],
            "established_ns": end["established"] if end["established"] >= 0 else None,
            "is_completed": self.is_completed,
            "goodput_bytes": self.goodput(end),
            "segs_sent": end["segs_sent"],
            "retrans_segs": self.retransmitted(end),
            "bytes_sent": end["sent"],
            "delivered_segs": end["delivered"],
            "lost_segs": self.lost,
            "rtos": max(end["rtos"] - self.syns_again, 0),
            "acks_sent": end["acks"],
            "recoveries": sum(seen.get(name, 0) for name in _RECOVERIES),
            "undos": sum(seen.get(name, 0) for name in _UNDOS),
            "tlps": sum(seen.get(name, 0) for name in _PROBES),
            "queue_drops": dropped,
            "policed_drops": policed,
            "random_drops": self.of.data_lost(self.i),
            "min_rtt_us": _set(end["min_rtt_us"]),
            "srtt_us": [row["srtt_us"] for row in self.of.samples[self.i] if row["srtt_us"] and row["delivered"]],
            "waits": {name: end[its] for name, its in _WAITS.items()},
        }
        return known

    def retransmitted(self, row: Row) -> int:
        """Data segments sent again."""
        return max(row["retrans_total"] - self.syns_again, 0)

    @cached_property
    def syns_again(self) -> int:
        """SYNs that its sender repeated, which the kernel counts among a socket's retransmissions and timeouts."""
        return self.of.netstat(f"s{self.i}").get("TCPSynRetrans", 0)

    @property
    def lost(self) -> int:
        """Segments marked lost, which the kernel's own controllers do not report."""
        return max((said.lost or 0 for said in self.of.reports.get(self.i, {}).values()), default=0)

    def goodput(self, row: Row) -> int:
        """Payload that had arrived in order, less what opens the connection."""
        greets = self.of.plan["host"]["traffic"] == "iperf3" and self.planned["workload"] is None
        greeting = tables.IPERF3_GREETING if greets else 0
        return max(0, row["received"] - greeting)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Its rows of samples.parquet."""
        before, had = self.end["opened"] if self.end else 0, 0
        reports, said = self.of.reports.get(self.i, {}), None
        for row in self.of.samples[self.i]:
            now = self.goodput(row)
            said = reports.get(row["t"], said)
            rate = (now - had) * 8 * 10**9 // max(row["t"] - before, 1)
            again = self.retransmitted(row)
            yield _sample(row, self.i, now, max(0, rate), said or _of_bbr(row), again=again)
            before, had = row["t"], now

    def events(self) -> Iterator[dict[str, Any]]:
        """Its start, its end, and the states of TCP and of the controller as samples saw them."""
        end = self.end
        if end is None:
            return
        blank = {"flow": self.i, "value": None, "note": None}
        yield {**blank, "t_ns": end["opened"], "kind": "start"}
        if end["established"] >= 0:
            yield {**blank, "t_ns": end["established"], "kind": "established"}
        yield from ({**blank, **state} for state in self._states())
        if self.is_completed:
            yield {**blank, "t_ns": end["done"], "kind": "complete", "value": self.goodput(end)}
        else:
            yield {**blank, "t_ns": end["ended"], "kind": "stop"}

    def variables(self) -> Iterator[dict[str, Any]]:
        """Its rows of variables.parquet: what differs from the sample before, and all of them in a new state."""
        last: dict[str, str] = {}
        state: str | None = None
        reports = self.of.reports.get(self.i, {})
        for at in sorted(reports):
            said = reports[at]
            if all(word == "-" for _, word in said.variables):
                continue
            for column, word in said.variables:
                if said.state != state or last.get(column) != word:
                    yield _variable(at, self.i, column, word)
            last, state = dict(said.variables), said.state

    def limits(self) -> Iterator[dict[str, Any]]:
        """Its rows of limits.parquet: what differs from the sample before."""
        last = None
        reports = self.of.reports.get(self.i, {})
        for at in sorted(reports):
            limit = reports[at].limit
            if limit is not None and limit != last:
                yield {"t_ns": at, "flow": self.i, "limit": limit}
                last = limit

    def _states(self) -> Iterator[dict[str, Any]]:
        tcp, cca = CA_STATES[0], None
        reports = self.of.reports.get(self.i, {})
        for row in self.of.samples[self.i]:
            now, said = CA_STATES[row["ca_state"]], reports.get(row["t"], Estimates()).state
            if now != tcp:
                tcp = now
                yield {"t_ns": row["t"], "kind": "ca_state", "note": now}
            if said is not None and said != cca:
                cca = said
                yield {"t_ns": row["t"], "kind": "cca_state", "note": said}


#: Fields of a report that are numbers.
_NUMBERS = [name for name in Estimates._fields if name not in ("state", "limit", "variables")]
#: How long a sender was busy, and of that, waited for buffers of the hosts.
_WAITS = {"busy_us": "busy_us", "receive_us": "rwnd_us", "send_us": "sndbuf_us"}


def _sample(row: Row, flow: int, goodput: int, rate: int, said: Estimates, *, again: int) -> dict[str, Any]:
    pacing = row["pacing_rate"]
    return {
        "t_us": row["t"] // 1000,
        "flow": flow,
        "goodput_bytes": goodput,
        "goodput_bps": rate,
        "cwnd": row["cwnd"],
        "ssthresh": tables.ssthresh(row["ssthresh"]),
        "pacing_bps": pacing * 8 if 0 < pacing < _UNPACED else None,
        "srtt_us": row["srtt_us"] or None,
        "min_rtt_us": _set(row["min_rtt_us"]),
        **tables.scoreboard(**{name: row[name] for name in ("packets_out", "sacked", "lost", "retrans_out")}),
        "delivered": row["delivered"],
        "lost_total": said.lost or 0,
        "retrans_total": again,
        "segs_sent": row["segs_sent"],
        "delivery_rate_bps": row["delivery_rate"] * 8 or None,
        "ca_state": row["ca_state"],
        "cca_state": said.state or "",
        "bw_bps": None if said.bw is None else said.bw * 8,
        "cca_min_rtt_us": _set(said.min_rtt),
        "pacing_gain": None if said.pacing_gain is None else said.pacing_gain / 256,
        "cwnd_gain": None if said.cwnd_gain is None else said.cwnd_gain / 256,
        "inflight_lo": _set(said.inflight_lo),
        "inflight_hi": _set(said.inflight_hi),
    }


def _probe(row: Row) -> dict[str, Any]:
    """A row of probes.parquet."""
    sent = row["sent"]
    there, rtt = ((row[name] - sent) // 1000 if row[name] >= 0 else None for name in ("there", "back"))
    return {"probe": row["probe"], "sent_us": sent // 1000, "there_us": there, "rtt_us": rtt}


def _message(row: Row) -> dict[str, Any]:
    """A row of messages.parquet."""
    times = {name: row[name] // 1000 for name in ("asked", "written", "completed")}
    return {
        "flow": row["flow"],
        "asked_us": times["asked"],
        "written_us": times["written"],
        "bytes": row["bytes"],
        "completed_us": times["completed"] if row["completed"] >= 0 else None,
    }


def _of_bbr(row: Row) -> Estimates:
    """Report of the kernel's own BBR, where that drives the flow."""
    return Estimates(
        bw=row.get("bbr_bw"),
        min_rtt=row.get("bbr_min_rtt_us"),
        pacing_gain=row.get("bbr_pacing_gain"),
        cwnd_gain=row.get("bbr_cwnd_gain"),
    )


def _estimates(fields: dict[str, str]) -> Estimates:
    """Report of a module on a socket."""
    there = {name: word for name, word in fields.items() if word != "-"}
    numbers = {name: int(there[name]) for name in _NUMBERS if name in there}
    variables = tuple((name, word) for name, word in fields.items() if name.startswith("."))
    return Estimates(state=there.get("state"), limit=there.get("limit"), variables=variables, **numbers)


def _variable(at: int, flow: int, column: str, word: str) -> dict[str, Any]:
    """A row of variables.parquet from a column of a report, ``.NAME:UNIT``, and what stands there."""
    name, _, unit = column[1:].partition(":")
    value = None if word == "-" else int(word)
    words = unit.split("|") if "|" in unit else []
    return {
        "t_ns": at,
        "flow": flow,
        "name": name,
        "value": value,
        "unit": "" if words else unit.replace("_", " "),
        "word": words[value] if value is not None and 0 <= value < len(words) else None,
    }


def _links_of(plan: Plan, flow: FlowPlan | ProbePlan) -> tuple[set[int], set[int]]:
    """The links that a flow's data cross, and those that its acknowledgements cross, by the number that the agent gives
    them: those of the way down, then that of the way up.
    """
    goes_up = flow.get("direction") == "up"
    firsts = (len(plan["links"]), 0) if goes_up else (0, len(plan["links"]))
    data, acks = (
        {first + stage["link"] for stage in way if stage["kind"] == "link"}
        for way, first in zip((flow["forward"], flow["back"]), firsts, strict=True)
    )
    return data, acks


def _set(value: int | None) -> int | None:
    return value if value and value != _UNSET else None


def _sojourn_us(link: LinkView, at: int, bits: int) -> int:
    """Time that it takes to send what waits at a time, where no more comes, us."""
    if not link.steps:
        return bits * 1_000_000 // link.rate_bps
    begin, period = at, link.repeat_ns
    left = bits
    while left > 0:
        inside = at % period if period else at
        step = bisect_right(link.steps, inside, key=itemgetter(0)) - 1
        rate = link.steps[step][1]
        following = link.steps[step + 1][0] if step + 1 < len(link.steps) else period
        if following is None:
            return (at - begin + left * 10**9 // rate) // 1000 if rate else (at - begin) // 1000
        served = rate * (following - inside) // 10**9
        if served >= left:
            return (at - begin + left * 10**9 // rate) // 1000
        left -= served
        at += following - inside
    return (at - begin) // 1000


def _parts(path: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Parts of a file that each begin with ``@WORD REST``."""
    try:
        text = path.read_text()
    except OSError:
        return
    for part in text.split("@")[1:]:
        heading, *lines = part.splitlines()
        first, _, rest = heading.partition(" ")
        yield first, rest, lines
