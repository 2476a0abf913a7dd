"""Measurements of hosts as a result's tables and summary: the same columns as every back end's, null or 0 where the
hosts' programs do not tell.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from . import script, sockets, tables

if TYPE_CHECKING:
    from dumbbell.plan.types import LinkPlan, Plan

#: A packet in a queue that is longer than it holds several segments, bytes: 1514, and some for tags.
_SEGMENT_BYTES = 1_600


class At(NamedTuple):
    """A socket at a time since the start of the run, ns."""

    ns: int
    socket: sockets.Socket


class Collected:
    """One run's raw data: folders `sender` and `receiver` below `raw`; `skew_ns` is how far the receiver's clock is
    ahead of the sender's.
    """

    def __init__(self, plan: Plan, raw: Path, *, queues: Sequence[script.Queue], skew_ns: int = 0) -> None:
        self.plan, self.queues, self.skew_ns = plan, queues, skew_ns
        self.sender, self.receiver = raw / "sender", raw / "receiver"
        self.t0 = int((self.sender / "t0").read_text())
        self.flows = [Flow(self, i) for i in range(len(plan["flows"]))]

    @cached_property
    def seen(self) -> list[list[At]]:
        """Samples of each flow while it lasted, in order."""
        ports = {script.DATA_PORT + i: i for i in range(len(self.plan["flows"]))}
        by_flow: list[list[At]] = [[] for _ in ports]
        for host in ("sender", "receiver"):
            folder, t0 = self.home(host)
            for stamp, said in sockets.polls(_text(folder / "sockets.txt")):
                for socket in sockets.sockets(said):
                    i = ports.get(socket.data_port)
                    if i is not None and stamp - t0 <= self.plan["flows"][i]["stop_ns"]:
                        by_flow[i].append(At(stamp - t0, socket))
        return by_flow

    def home(self, host: str) -> tuple[Path, int]:
        """Folder with the files of a host, and the start of the run by its clock, ns."""
        return (self.receiver, self.t0 + self.skew_ns) if host == "receiver" else (self.sender, self.t0)

    @cached_property
    def links(self) -> list[list[tuple[int, sockets.Counters]]]:
        """Counters of each link, the bottleneck's first."""
        return [self._counters(queue) for queue in self.queues]

    def _counters(self, queue: script.Queue) -> list[tuple[int, sockets.Counters]]:
        """Counters at times since the start, ns, from just before it to its end; what was sent before counts as
        nothing.
        """
        folder, t0 = self.home(queue.host)
        counted: list[tuple[int, sockets.Counters]] = []
        first: sockets.Counters | None = None
        for stamp, said in sockets.polls(_text(folder / queue.file)):
            at, now = stamp - t0, sockets.counters(said, queue.handle)
            if now is None:
                continue
            if first is None or at < 0:
                first = now
            if 0 <= at <= self.plan["duration_ns"] + self.plan["sample_ns"]:
                counted.append((at, _since(now, first)))
        return counted

    def write(self, out: Path) -> dict[str, Any]:
        """Write the tables and return the summary."""
        return tables.write(
            self.plan,
            out,
            packets_delivered=sum(flow.last.whole("delivered") for flow in self.flows if flow.last),
            capacity_bytes=[self._capacity_bytes(i) for i in range(len(self.links))],
            flows=[flow.totals() for flow in self.flows],
            samples=(row for flow in self.flows for row in flow.samples()),
            queue=self._queue_rows(),
            events=(row for flow in self.flows for row in flow.events()),
            probes=tables.decided(self.plan, list(self._probes())),
            warnings=[
                *self._queue_warnings(),
                *self._probe_warnings(),
                *(warning for flow in self.flows for warning in flow.warnings()),
            ],
        )

    def _queue_rows(self) -> list[dict[str, Any]]:
        """Rows of queue.parquet in the order of time. `tc` tells how much waits, and not for how long: that is what
        waits over the rate, which is constant here.
        """
        rows = []
        for i, counters in enumerate(self.links):
            rate = self._planned(i)["rate_bps"]
            rows += [
                tables.queue_row(ns, now._asdict(), sojourn_us=now.backlog_bytes * 8_000_000 // rate, link=i)
                for ns, now in counters
            ]
        return sorted(rows, key=lambda row: row["t_us"])

    def _planned(self, i: int) -> LinkPlan:
        """The plan of a recorded link: that of the way up follows the bottleneck."""
        return [*self.plan["links"], *self.plan["ack_links"]][i]

    def _probes(self) -> Iterator[dict[str, Any]]:
        """Rows of probes.parquet. A request and its answer have times of the asking host's clock; between them there is
        one of the other host's.
        """
        for i, probe in enumerate(self.plan.get("probes", [])):
            is_up = probe.get("direction") == "up"
            folder, t0 = self.home("receiver" if is_up else "sender")
            ahead_ns = -self.skew_ns if is_up else self.skew_ns
            for line in _text(folder / f"{i}.probes").splitlines():
                sent, there, back = map(int, line.split())
                yield {
                    "probe": i,
                    "sent_us": (sent - t0) // 1000,
                    "there_us": None if there < 0 else (there - ahead_ns - sent) // 1000,
                    "rtt_us": None if back < 0 else (back - sent) // 1000,
                }

    def _probe_warnings(self) -> Iterator[str]:
        """Series that sent less than they were to."""
        rows = [row["probe"] for row in self._probes()]
        for i, probe in enumerate(self.plan.get("probes", [])):
            wanted = -(-(probe["stop_ns"] - probe["start_ns"]) // probe["every_ns"])
            if rows.count(i) < wanted:
                said = _text(self.sender / "prober.err") + _text(self.receiver / "prober.err")
                yield f"probes {probe['name']}: {rows.count(i)} of {wanted} were sent; {said.strip()[-200:] or 'late'}"

    def _queue_warnings(self) -> list[str]:
        """True if a limit in packets meant more than packets of the wire."""
        return [warning for i in range(len(self.links)) for warning in self._joined(i)]

    def _joined(self, i: int) -> list[str]:
        held, packets = (
            sum(getattr(now, f"backlog_{what}") for _, now in self.links[i]) for what in ("bytes", "packets")
        )
        if self._planned(i)["qdisc"].get("limit_packets") is None or held <= _SEGMENT_BYTES * packets:
            return []
        whose = "the bottleneck's queue" if i == 0 else "the queue of the way up"
        return [
            (
                f"packets in {whose} were {held // packets} bytes long on average: TSO or GRO joined"
                " segments, and its limit in packets held more"
            )
        ]

    def _capacity_bytes(self, i: int) -> int:
        """Bytes that a link could send until its counters were last read."""
        link, last_ns = self._planned(i), self.links[i][-1][0] if self.links[i] else 0
        return link["rate_bps"] * max(last_ns, 0) // 8_000_000_000 + link["burst_bytes"]


class Flow:
    """One flow of a collected run."""

    def __init__(self, of: Collected, i: int) -> None:
        self.of, self.i, self.planned = of, i, of.plan["flows"][i]
        self.host = "receiver" if self.planned.get("direction") == "up" else "sender"
        self.home, self.t0 = of.home(self.host)

    @cached_property
    def seen(self) -> list[At]:
        """Its samples."""
        return self.of.seen[self.i]

    @property
    def last(self) -> sockets.Socket | None:
        """Its socket as last seen."""
        return self.seen[-1].socket if self.seen else None

    @cached_property
    def report(self) -> dict[str, Any]:
        """iperf3's own report; empty where there is none."""
        try:
            report = json.loads((self.home / f"{self.i}.json").read_text())
        except (OSError, ValueError):
            return {}
        return report if isinstance(report, dict) else {}

    @cached_property
    def size(self) -> int | None:
        """Payload of a finite flow as its connection carries it."""
        from dumbbell import _native

        return None if self.planned["size_bytes"] is None else _native.iperf3_bytes(self.planned["size_bytes"])

    @cached_property
    def completed_ns(self) -> int | None:
        """Time at which a finite flow was acknowledged whole: from its socket, else when iperf3 ended well, which is
        some round trips later.
        """
        if self.size is None:
            return None
        for at in self.seen:
            if at.socket.whole("bytes_acked") - 1 >= self.size:
                return int(at.ns - at.socket.whole("lastack") * 1_000_000)
        is_well = _text(self.home / f"{self.i}.rc").strip() == "0"
        end = self._stamp("end")
        return end if is_well and end is not None and end <= self.planned["stop_ns"] else None

    @cached_property
    def start_ns(self) -> int:
        """Time at which its data connection began to send: its end less the time that iperf3 says it took, for a flow
        that was stopped.
        """
        asked = self._stamp("start")
        if asked is None:
            return int(self.planned["start_ns"])
        took = self.report.get("end", {}).get("sum_sent", {}).get("seconds")
        if self.size is not None or took is None:
            return asked
        stopped = asked + self.planned["stop_ns"] - self.planned["start_ns"]
        return int(max(asked, stopped - round(took * 1e9)))

    @property
    def stop_ns(self) -> int:
        """Time at which it was complete, else the last look at it: what came after that is not counted."""
        if self.completed_ns is not None:
            return max(self.completed_ns, self.start_ns)
        return max(self.seen[-1].ns, self.start_ns) if self.seen else self.start_ns

    @property
    def goodput_bytes(self) -> int:
        """Payload acknowledged until then."""
        if self.completed_ns is not None and self.size is not None:
            return self.size - tables.IPERF3_GREETING
        return _payload(self.last) if self.last else 0

    def _stamp(self, kind: str) -> int | None:
        text = _text(self.home / f"{self.i}.{kind}").strip()
        return int(text) - self.t0 if text.isdigit() else None

    def totals(self) -> dict[str, Any]:
        """Totals of the flow; what is not known is 0 or null."""
        last = self.last
        known: dict[str, Any] = {
            **tables.planned(self.planned),
            "start_ns": self.start_ns,
            "stop_ns": self.stop_ns,
            "is_completed": self.completed_ns is not None,
            "goodput_bytes": self.goodput_bytes,
        }
        if last is None:
            why = (
                self.report.get("error", "")
                or _text(self.home / f"{self.i}.err").strip()
                or f"iperf3/{self.i}.json may say why"
            )
            return {**known, "why": why}
        counts = {
            "segs_sent": "data_segs_out",
            "retrans_segs": "retrans_other",
            "bytes_sent": "bytes_sent",
            "delivered_segs": "delivered",
        }
        waits = {"busy_us": "busy", "receive_us": "rwnd_limited", "send_us": "sndbuf_limited"}
        return {
            **known,
            "established_ns": self.start_ns,
            **{ours: last.whole(its) for ours, its in counts.items()},
            "min_rtt_us": last.us("minrtt"),
            "srtt_us": [
                at.socket.us("rtt") for at in self.seen if at.socket.us("rtt") and at.socket.whole("delivered")
            ],
            "waits": {ours: round(last.numbers.get(its, 0.0) * 1000) for ours, its in waits.items()},
        }

    def samples(self) -> list[dict[str, Any]]:
        """Its rows of samples.parquet, each at the time at which it was due."""
        rows, every, before, acked = [], self.of.plan["sample_ns"], self.start_ns, 0
        for ns, socket in self.seen:
            if self.completed_ns is not None and ns > self.completed_ns:
                break
            now = _payload(socket)
            due = max(1, round(ns / every)) * every
            rows.append(
                _sample(due // 1000, self.i, now, max(0, now - acked) * 8 * 10**9 // max(ns - before, 1), socket)
            )
            before, acked = ns, now
        return rows

    def events(self) -> list[dict[str, Any]]:
        """Its start and end."""
        if not self.seen:
            return []
        end = "stop" if self.completed_ns is None else "complete"
        value = None if self.completed_ns is None else self.goodput_bytes
        row = {"flow": self.i, "value": None, "note": None}
        return [
            {**row, "t_ns": self.start_ns, "kind": "start"},
            {**row, "t_ns": self.stop_ns, "kind": end, "value": value},
        ]

    def warnings(self) -> list[str]:
        """Errors that iperf3 reports."""
        error = self.report.get("error", "")
        return (
            [f"flow {self.i}: iperf3: {error}"] if self.last is not None and error and "interrupt" not in error else []
        )


def _payload(socket: sockets.Socket) -> int:
    """Payload that is acknowledged, bytes: neither the handshake's octet (RFC 9293) nor what iperf3 says first."""
    return max(0, socket.whole("bytes_acked") - 1 - tables.IPERF3_GREETING)


def _sample(t_us: int, flow: int, goodput: int, rate: int, socket: sockets.Socket) -> dict[str, Any]:
    n, bbr = socket.whole, socket.bbr
    return {
        "t_us": t_us,
        "flow": flow,
        "goodput_bytes": goodput,
        "goodput_bps": rate,
        "cwnd": n("cwnd"),
        "ssthresh": tables.ssthresh(n("ssthresh")),
        "pacing_bps": n("pacing_rate") or None,
        "srtt_us": socket.us("rtt"),
        "min_rtt_us": socket.us("minrtt"),
        **tables.scoreboard(packets_out=n("unacked"), sacked=n("sacked"), lost=n("lost"), retrans_out=n("retrans")),
        "delivered": n("delivered"),
        "lost_total": 0,
        "retrans_total": n("retrans_other"),
        "segs_sent": n("data_segs_out"),
        "delivery_rate_bps": n("delivery_rate") or None,
        "ca_state": 0,
        "cca_state": "",
        "bw_bps": round(bbr["bw"]) if "bw" in bbr else None,
        "cca_min_rtt_us": round(bbr["mrtt"] * 1000) if "mrtt" in bbr else None,
        "pacing_gain": bbr.get("pacing_gain"),
        "cwnd_gain": bbr.get("cwnd_gain"),
    }


def _since(now: sockets.Counters, first: sockets.Counters) -> sockets.Counters:
    before = first._replace(backlog_bytes=0, backlog_packets=0)
    return sockets.Counters(*(a - b for a, b in zip(now, before)))


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
