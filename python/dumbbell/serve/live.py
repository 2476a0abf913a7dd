"""Rows of a run that goes on as points of charts, as few as a screen has room for."""

from __future__ import annotations

import json
from typing import Any

#: Points of a line, and lines. What is beyond is in the charts of the finished run.
POINTS, LINES = 600, 20


class Live:
    """Points of one run, in the order in which its rows come.

    Counters go up over a run, so rows in between may be left out: rates and counts are differences over what is left.
    Of a kernel, whose samples have no other, RTTs are `smoothed` ones.
    """

    def __init__(self, plan: dict[str, Any], *, smoothed: bool = False) -> None:
        sample_us = plan["sample_ns"] // 1000
        rows = max(plan["duration_ns"] // plan["sample_ns"], 1)
        self.every_us = sample_us * -(-rows // POINTS)
        self.smoothed = smoothed
        self.duration_us = plan["duration_ns"] // 1000
        self._flows: dict[int, tuple[int, int, int]] = {}
        self._link = (0, 0)

    def points(self, text: str) -> dict[str, Any] | None:
        """Points of these rows: per flow ``[t_s, flow, goodput, throughput, cwnd, in flight, RTT, state]`` (Mbit/s,
        segments, ms), of the bottleneck ``[t_s, time in the queue (ms), drops, marks]``. None where none is to be
        drawn.
        """
        rows = json.loads(text)
        samples = [point for row in rows["samples"] if (point := self._sample(row))]
        queue = [point for row in rows["queue"] if (point := self._queue(row))]
        return {"samples": samples, "queue": queue} if samples or queue else None

    def _is_due(self, t_us: int) -> bool:
        return bool(t_us % self.every_us == 0 or t_us == self.duration_us)

    def _sample(self, row: list[Any]) -> list[Any] | None:
        t, flow, goodput, sent, cwnd, in_flight, rtt, state, srtt = row
        if flow >= LINES or not self._is_due(t):
            return None
        before, got, had_sent = self._flows.get(flow, (max(t - self.every_us, 0), 0, 0))
        self._flows[flow] = (t, goodput, sent)
        if t <= before:
            return None
        rate, throughput = (
            (goodput - got) * 8 / (t - before),
            (sent - had_sent) * 8 / (t - before),
        )
        us = srtt if self.smoothed else rtt
        ms = None if us is None else us / 1000
        return [t / 1e6, flow, round(rate, 3), round(throughput, 3), cwnd, in_flight, ms, state]

    def _queue(self, row: list[Any]) -> list[Any] | None:
        t, link, sojourn, dropped, marked = row
        if link or not self._is_due(t):
            return None
        before, self._link = self._link, (dropped, marked)
        return [t / 1e6, sojourn / 1000, dropped - before[0], marked - before[1]]
