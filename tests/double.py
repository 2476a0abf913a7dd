"""A stand-in for the engine, for what the real one does not do on demand: fail, stop half-way, or be another version.

It writes well-formed result tables of a made-up run: every flow gets its equal share of the bottleneck.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Progress = Callable[[int, int], None]


class PlanError(ValueError):
    """What the engine raises for a plan that it cannot run."""


class ControllerError(RuntimeError):
    """What the engine raises when a Python controller does."""


def _controller(name: str, params: list[dict[str, object]]) -> dict[str, object]:
    return {
        "name": name, "doc": f"{name}: a stand-in. More text.", "summary": f"{name}: a stand-in.",
        "license": "GPL-2.0 OR BSD-3-Clause",
        "params": params, "states": ["STARTUP", "DRAIN"] if name == "bbr" else [], "priv_bytes": 32,
    }  # fmt: skip


#: As the real one.
MANIFEST_VERSION = 3
SCHEMA_VERSION = 2


def controllers() -> str:
    """Three controllers; cubic has one parameter."""
    beta = {"name": "beta", "default": 717, "min": 1, "max": 1024, "unit": "1/1024", "doc": "Multiplicative decrease."}
    return json.dumps([_controller("reno", []), _controller("cubic", [beta]), _controller("bbr", [])])


def digests() -> dict[str, str]:
    """Of no sources."""
    return dict.fromkeys(("engine", "modules", "all", "cca/reno", "cca/cubic", "cca/bbr"), "double")


def facts() -> dict[str, dict[str, str]]:
    """Of the real ones, what decides how many runs there are."""
    return {"reno": {"draws": "nothing"}, "cubic": {"draws": "nothing"}, "bbr": {}}


def version() -> str:
    """Not a version that the real engine ever has."""
    return "0.0.0+double"


def indented(text: str) -> str:
    """As the engine's."""
    return json.dumps(json.loads(text), indent=1, ensure_ascii=False)


def run(
    plan_json: str,
    out_dir: str,
    progress: Progress | None = None,
    own: dict[str, object] | None = None,
    watch: Callable[[str], object] | None = None,
) -> str:
    """Equal shares; fails for a flow whose payload is 666 bytes in the way that a broken disk would, and for 668 bytes
    in that of a full one.
    """
    plan = json.loads(plan_json)
    flows, out = plan["flows"], Path(out_dir)
    if any(f["size_bytes"] == 666 for f in flows):
        raise RuntimeError("Input/output error")
    if any(f["size_bytes"] == 668 for f in flows):
        raise RuntimeError("No space left on device")
    if any(f["size_bytes"] == 667 for f in flows):
        raise PlanError("flows[0].size_bytes: got 667, wanted another")
    if progress:
        for step in range(4):
            progress(plan["duration_ns"] * step // 4, step * 100)
    seconds = plan["duration_ns"] / 1e9
    goodput = int(plan["links"][0]["rate_bps"] * seconds / 8 / len(flows) * 1448 / 1514)
    _write(out / "flows.parquet", [_flow_row(i, f, goodput) for i, f in enumerate(flows)])
    times = range(plan["sample_ns"], plan["duration_ns"] + 1, plan["sample_ns"])
    _write(
        out / "samples.parquet", [_sample_row(t // 1000, i, goodput, seconds) for t in times for i in range(len(flows))]
    )
    _write(out / "queue.parquet", [_queue_row(t // 1000, plan) for t in times])
    _write(
        out / "events.parquet",
        [{"t_ns": 0, "flow": i, "kind": "start", "value": None, "note": None} for i in range(len(flows))],
    )
    return json.dumps(_summary(plan, goodput, seconds))


def _write(path: Path, rows: list[dict[str, object]]) -> None:
    pq.write_table(pa.Table.from_pylist(rows), path)


def _flow_row(i: int, flow: dict[str, Any], goodput: int) -> dict[str, object]:
    sent = goodput // 1448
    return {
        "flow": i, "name": flow["name"], "table": flow["table"], "transport": flow["transport"]["kind"],
        "cca": flow["cca"],
        "rtt_us": flow["rtt_ns"] // 1000, "start_us": flow["start_ns"] // 1000, "stop_us": flow["stop_ns"] // 1000,
        "established_us": 1, "completed_us": None, "size_bytes": flow["size_bytes"], "goodput_bytes": goodput,
        "segs_sent": sent,
        "retrans_segs": 0, "bytes_sent": goodput, "delivered_segs": sent, "lost_segs": 0, "queue_drops": 0,
        "random_drops": 0,
    }  # fmt: skip


def _sample_row(t_us: int, i: int, goodput: int, seconds: float) -> dict[str, object]:
    bps = int(goodput * 8 / seconds)
    return {
        "t_us": t_us, "flow": i, "goodput_bytes": int(bps * t_us / 8e6), "goodput_bps": bps, "cwnd": 10,
        "ssthresh": None, "srtt_us": 25_000,
        "rtt_us": 25_000, "in_flight": 9, "segs_sent": int(bps * t_us / 8e6) // 1448, "retrans_total": 0,
        "lost_total": 0, "cca_state": "",
    }  # fmt: skip


def _queue_row(t_us: int, plan: dict[str, dict[str, int]]) -> dict[str, object]:
    sent = plan["links"][0]["rate_bps"] * t_us // 8_000_000
    return {
        "t_us": t_us, "backlog_bytes": 15_140, "backlog_packets": 10, "sojourn_us": 5_000, "sent_bytes": sent,
        "sent_packets": sent // 1514,
        "dropped_packets": 0, "dropped_bytes": 0,
    }  # fmt: skip


def _summary(plan: dict[str, Any], goodput: int, seconds: float) -> dict[str, object]:
    flows = plan["flows"]
    delays = {"srtt_mean_ms": 25.0, "srtt_p95_ms": 25.0, "owd_mean_ms": 15.0, "owd_p95_ms": 15.0, "owd_p99_ms": 15.0}
    return {
        "warnings": [], "sim_ns": plan["duration_ns"], "packets_delivered": 400, "events": 1200, "jain": 1.0,
        "jain_flows": len(flows),
        "link": {
            "utilization": 1.0, "queue_mean_ms": 5.0, "queue_p50_ms": 5.0, "queue_p95_ms": 5.0, "queue_p99_ms": 5.0, "sojourn_mean_ms": 5.0,
            "sojourn_p50_ms": 5.0, "sojourn_p95_ms": 5.0,
            "sojourn_p99_ms": 5.0, "drops": 0, "marks": 0, "drop_rate": 0.0,
        },
        "links": [],
        "flows": [
            {"name": f["name"], "transport": f["transport"]["kind"], "table": f["table"], "cca": f["cca"],
             "rtt_ms": f["rtt_ns"] / 1e6,
             "goodput_mbps": goodput * 8 / seconds / 1e6, "goodput_bytes": goodput, "share": 1 / len(flows),
             "retrans_rate": 0.0, **delays,
             "fct_s": None, "packets_sent": goodput // 1448}
            for f in flows
        ],
    }  # fmt: skip
