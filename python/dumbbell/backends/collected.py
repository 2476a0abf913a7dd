"""What hosts brought back, as a result's tables and summary: the same columns as every back end's, null or 0 where the hosts' programs do not tell."""

from __future__ import annotations

import json
import tempfile
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from dumbbell.metrics import jain

from . import script, sockets

#: Share of its busy time that a flow may wait for a buffer of the hosts before the result says so.
_HELD = 0.05
#: A packet in a queue that is longer than it holds several segments, bytes: 1514, and some for tags.
_SEGMENT_BYTES = 1_600
#: How late a flow may open its connection, ns.
_OPENING_NS = 500_000_000
#: ssthresh of a connection that has none (TCP_INFINITE_SSTHRESH, include/net/tcp.h).
_INFINITE_SSTHRESH = 0x7FFFFFFF


class At(NamedTuple):
    """A socket at a time since the start of the run, ns."""

    ns: int
    socket: sockets.Socket


class Collected:
    """One run's raw data: folders `sender` and `receiver` below `raw`; `skew_ns` is how far the receiver's clock is ahead of the sender's."""

    def __init__(self, plan: dict[str, Any], raw: Path, *, handle: str, skew_ns: int = 0) -> None:
        self.plan, self.handle, self.skew_ns = plan, handle, skew_ns
        self.sender, self.receiver = raw / "sender", raw / "receiver"
        self.t0 = int((self.sender / "t0").read_text())
        self.flows = [Flow(self, i) for i in range(len(plan["flows"]))]

    @cached_property
    def seen(self) -> list[list[At]]:
        """Of each flow its samples while it lasted, in order."""
        ports = {script.DATA_PORT + i: i for i in range(len(self.plan["flows"]))}
        found: list[list[At]] = [[] for _ in ports]
        for stamp, said in sockets.polls(_text(self.sender / "sockets.txt")):
            for one in sockets.sockets(said):
                i = ports.get(one.data_port)
                if i is not None and stamp - self.t0 <= self.plan["flows"][i]["stop_ns"]:
                    found[i].append(At(stamp - self.t0, one))
        return found

    @cached_property
    def queue(self) -> list[tuple[int, sockets.Counters]]:
        """Counters of the bottleneck at times since the start, ns, from just before it to its end; what it had sent before counts as nothing."""
        found: list[tuple[int, sockets.Counters]] = []
        first: sockets.Counters | None = None
        for stamp, said in sockets.polls(_text(self.receiver / "queue.txt")):
            at, now = stamp - self.skew_ns - self.t0, sockets.counters(said, self.handle)
            if now is None:
                continue
            if first is None or at < 0:
                first = now
            if 0 <= at <= self.plan["duration_ns"] + self.plan["sample_ns"]:
                found.append((at, _since(now, first)))
        return found

    def write(self, out: Path) -> dict[str, Any]:
        """Write the tables and return the summary."""
        record = self.plan["record"]
        rows = {
            "flows": [flow.row() for flow in self.flows],
            "samples": [row for flow in self.flows for row in flow.samples()] if record["samples"] else [],
            "queue": self._queue_rows() if record["queue"] else [],
            "events": sorted((row for flow in self.flows for row in flow.events()), key=lambda row: row["t_ns"]) if record["events"] else [],
            "messages": [],
        }
        rows["samples"].sort(key=lambda row: (row["t_us"], row["flow"]))
        _write(self.plan, rows, out)
        goodputs = [flow.goodput_mbps for flow in self.flows]
        total = sum(goodputs)
        return {
            "warnings": [*self._queue_warnings(), *(warning for flow in self.flows for warning in flow.warnings())],
            "sim_ns": self.plan["duration_ns"],
            "packets_delivered": sum(flow.last.whole("delivered") for flow in self.flows if flow.last),
            "events": 0,
            "link": self._link(),
            "links": [],
            "jain": jain(goodputs),
            "flows": [flow.summary(goodput / total if total else 0.0) for flow, goodput in zip(self.flows, goodputs)],
        }

    def _queue_rows(self) -> list[dict[str, Any]]:
        rate = self.plan["bottleneck"]["rate_bps"]
        return [
            {
                "t_us": ns // 1000,
                "link": 0,
                "backlog_bytes": now.backlog_bytes,
                "backlog_packets": now.backlog_packets,
                "sojourn_us": now.backlog_bytes * 8_000_000 // rate,
                "sent_bytes": now.sent_bytes,
                "sent_packets": now.sent_packets,
                "dropped_packets": now.dropped,
                "dropped_bytes": 0,
                "marked_packets": now.marked,
            }
            for ns, now in self.queue
        ]

    def _queue_warnings(self) -> list[str]:
        """Whether a limit in packets meant more than packets of the wire."""
        if not self.queue:
            return ["the bottleneck's counters are missing: its figures are zero"]
        held, packets = (sum(getattr(now, f"backlog_{what}") for _, now in self.queue) for what in ("bytes", "packets"))
        if self.plan["bottleneck"]["qdisc"].get("limit_packets") is None or held <= _SEGMENT_BYTES * packets:
            return []
        return [
            f"packets in the bottleneck's queue were {held // packets} bytes long on average: TSO or GRO joined segments, and its limit in packets held more"
        ]

    def _link(self) -> dict[str, Any]:
        rate, last = self.plan["bottleneck"]["rate_bps"], self.queue[-1] if self.queue else None
        waits = sorted(now.backlog_bytes * 8e3 / rate for _, now in self.queue)
        sent = last[1] if last else sockets.Counters(0, 0, 0, 0, 0, 0)
        seconds = max(last[0] if last else 0, 1) / 1e9
        quantiles = {f"sojourn_p{p}_ms": None for p in (50, 95, 99)}
        return {
            "utilization": sent.sent_bytes * 8 / (rate * seconds),
            "queue_mean_ms": sum(waits) / len(waits) if waits else 0.0,
            "queue_p95_ms": _percentile(waits, 95) or 0.0,
            **quantiles,
            "drops": sent.dropped,
            "marks": sent.marked,
            "drop_rate": sent.dropped / max(sent.sent_packets, 1),
        }


class Flow:
    """One flow of a collected run."""

    def __init__(self, of: Collected, i: int) -> None:
        self.of, self.i, self.planned = of, i, of.plan["flows"][i]

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
            made = json.loads((self.of.sender / f"{self.i}.json").read_text())
        except (OSError, ValueError):
            return {}
        return made if isinstance(made, dict) else {}

    @cached_property
    def size(self) -> int | None:
        """Payload of a finite flow as its connection carries it."""
        from dumbbell import _native

        return None if self.planned["size_bytes"] is None else _native.iperf3_bytes(self.planned["size_bytes"])

    @cached_property
    def completed_ns(self) -> int | None:
        """When a finite flow was acknowledged whole: as its socket tells, else when iperf3 ended well, which is some round trips later."""
        if self.size is None:
            return None
        for at in self.seen:
            if at.socket.whole("bytes_acked") - 1 >= self.size:
                return int(at.ns - at.socket.whole("lastack") * 1_000_000)
        is_well = _text(self.of.sender / f"{self.i}.rc").strip() == "0"
        end = self._stamp("end")
        return end if is_well and end is not None and end <= self.planned["stop_ns"] else None

    @cached_property
    def start_ns(self) -> int:
        """When its data connection began to send: its end less the time that iperf3 says it took, for a flow that was stopped."""
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
        """When it was complete, else the last look at it: what came after that is not counted."""
        if self.completed_ns is not None:
            return max(self.completed_ns, self.start_ns)
        return max(self.seen[-1].ns, self.start_ns) if self.seen else self.start_ns

    @property
    def goodput_bytes(self) -> int:
        """Payload acknowledged until then; the handshake's octet (RFC 9293) is none."""
        if self.completed_ns is not None and self.size is not None:
            return self.size
        return max(0, self.last.whole("bytes_acked") - 1) if self.last else 0

    @property
    def goodput_mbps(self) -> float:
        """Goodput over the flow's own time."""
        active = self.stop_ns - self.start_ns
        return self.goodput_bytes * 8e3 / active if active > 0 else 0.0

    def _stamp(self, kind: str) -> int | None:
        text = _text(self.of.sender / f"{self.i}.{kind}").strip()
        return int(text) - self.of.t0 if text.isdigit() else None

    def row(self) -> dict[str, Any]:
        """Its row of flows.parquet."""
        last = self.last
        zero = dict.fromkeys(_UNKNOWN_COUNTS, 0)
        done = self.completed_ns
        return {
            **zero,
            **dict.fromkeys(("owd_mean_us", "owd_p50_us", "owd_p95_us", "owd_p99_us")),
            "flow": self.i,
            "cca": self.planned["cca"],
            "rtt_us": self.planned["rtt_ns"] // 1000,
            "start_us": self.start_ns // 1000,
            "stop_us": self.stop_ns // 1000,
            "established_us": self.start_ns // 1000 if last else None,
            "completed_us": None if done is None else done // 1000,
            "size_bytes": self.planned["size_bytes"],
            "goodput_bytes": self.goodput_bytes,
            "segs_sent": last.whole("data_segs_out") if last else 0,
            "retrans_segs": last.whole("retrans_other") if last else 0,
            "bytes_sent": last.whole("bytes_sent") if last else 0,
            "delivered_segs": last.whole("delivered") if last else 0,
            "min_rtt_us": last.us("minrtt") if last else None,
        }

    def samples(self) -> list[dict[str, Any]]:
        """Its rows of samples.parquet, each at the time at which it was due."""
        rows, every, before, acked = [], self.of.plan["sample_ns"], self.start_ns, 0
        for ns, socket in self.seen:
            if self.completed_ns is not None and ns > self.completed_ns:
                break
            now = max(0, socket.whole("bytes_acked") - 1)
            due = max(1, round(ns / every)) * every
            rows.append(_sample(due // 1000, self.i, now, max(0, now - acked) * 8 * 10**9 // max(ns - before, 1), socket))
            before, acked = ns, now
        return rows

    def events(self) -> list[dict[str, Any]]:
        """Its start and end."""
        if not self.seen:
            return []
        end = "stop" if self.completed_ns is None else "complete"
        value = None if self.completed_ns is None else self.goodput_bytes
        row = {"flow": self.i, "value": None, "note": None}
        return [{**row, "t_ns": self.start_ns, "kind": "start"}, {**row, "t_ns": self.stop_ns, "kind": end, "value": value}]

    def summary(self, share: float) -> dict[str, Any]:
        """What the manifest and the command line say of it."""
        srtts = sorted(at.socket.numbers["rtt"] for at in self.seen if at.socket.numbers.get("rtt") and at.socket.whole("delivered"))
        row = self.row()
        return {
            "cca": self.planned["cca"],
            "rtt_ms": self.planned["rtt_ns"] / 1e6,
            "goodput_mbps": self.goodput_mbps,
            "share": share,
            "retrans_rate": row["retrans_segs"] / max(row["segs_sent"], 1),
            "srtt_mean_ms": sum(srtts) / len(srtts) if srtts else None,
            "srtt_p95_ms": _percentile(srtts, 95),
            "owd_mean_ms": None,
            "owd_p95_ms": None,
            "fct_s": None if self.completed_ns is None else (self.stop_ns - self.start_ns) / 1e9,
            "packets_sent": row["segs_sent"],
        }

    def warnings(self) -> list[str]:
        """Why its figures should be read with care."""
        error = self.report.get("error", "")
        if self.last is None:
            why = error or _text(self.of.sender / f"{self.i}.err").strip() or f"raw/sender/{self.i}.json may say why"
            return [f"flow {self.i} was never seen: its figures are zero ({why})"]
        out = []
        late = self.start_ns - self.planned["start_ns"]
        if late > _OPENING_NS:
            out.append(f"flow {self.i} began {late / 1e9:.1f} s after its start")
        if self.size is not None and self.completed_ns is None:
            out.append(f"flow {self.i} did not complete its transfer within the run")
        if error and "interrupt" not in error:
            out.append(f"flow {self.i}: iperf3: {error}")
        for which in ("rwnd_limited", "sndbuf_limited"):
            held, busy = self.last.numbers.get(which, 0.0), self.last.numbers.get("busy", 0.0)
            if held > _HELD * busy and held > 100:
                out.append(f"flow {self.i} waited for its {'receive' if which[0] == 'r' else 'send'} buffer {100 * held / busy:.0f} % of the time")
        return out


#: Counters that no program of the hosts tells by flow.
_UNKNOWN_COUNTS = ("lost_segs", "queue_drops", "random_drops", "recoveries", "rtos", "tlps", "undos", "acks_sent", "ecn_marks", "aqm_drops", "policed_drops",
                   "damaged", "duplicated")  # fmt: skip


def _sample(t_us: int, flow: int, goodput: int, throughput: int, socket: sockets.Socket) -> dict[str, Any]:
    n, bbr = socket.whole, socket.bbr
    out, sacked, lost, retrans = n("unacked"), n("sacked"), n("lost"), n("retrans")
    ssthresh = n("ssthresh")
    return {
        **dict.fromkeys(("rtt_us", "inflight_lo", "inflight_hi")),
        "t_us": t_us,
        "flow": flow,
        "goodput_bytes": goodput,
        "throughput_bps": throughput,
        "cwnd": n("cwnd"),
        "ssthresh": ssthresh if 0 < ssthresh < _INFINITE_SSTHRESH else None,
        "pacing_bps": n("pacing_rate") or None,
        "srtt_us": socket.us("rtt"),
        "min_rtt_us": socket.us("minrtt"),
        "in_flight": out - sacked - lost + retrans,
        "packets_out": out,
        "sacked": sacked,
        "lost": lost,
        "retrans_out": retrans,
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


def _write(plan: dict[str, Any], rows: dict[str, list[dict[str, Any]]], out: Path) -> None:
    """Write tables with the engine's own schemas, which its tables of a run of a millisecond have."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from dumbbell import _native

    off = dict.fromkeys(plan["record"], False)
    flow = {**plan["flows"][0], "cca": "reno", "params": {}, "start_ns": 0, "stop_ns": 1_000_000, "size_bytes": None, "forward": None, "back": None}
    short = {**plan, "duration_ns": 1_000_000, "sample_ns": 1_000_000, "flows": [flow], "links": [], "ack_links": [], "record": off}
    with tempfile.TemporaryDirectory() as folder:
        _native.run(json.dumps(short), folder)
        for name, made in rows.items():
            schema = pq.read_schema(Path(folder) / f"{name}.parquet")
            pq.write_table(pa.Table.from_pylist(made, schema=schema), out / f"{name}.parquet", compression="snappy", row_group_size=65_536)


def _since(now: sockets.Counters, first: sockets.Counters) -> sockets.Counters:
    before = first._replace(backlog_bytes=0, backlog_packets=0)
    return sockets.Counters(*(a - b for a, b in zip(now, before)))


def _percentile(ordered: list[float], p: int) -> float | None:
    return ordered[min(len(ordered) * p // 100, len(ordered) - 1)] if ordered else None


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
