"""A controller in Python, to try an idea in the simulator: see docs/own-controller.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dumbbell._native import Sample


class DelayTarget:
    """Keeps the queue at a fixed delay: the window follows (rate x (least RTT + target)), and packets are paced at the
    rate delivered.

    Parameters: `target_us`, the queueing delay to aim for, microseconds.
    """

    name = "delay-target"

    def __init__(self, target_us: int = 5_000) -> None:
        self.target_us = target_us
        self.cwnd = 10.0
        self.is_starting = True

    def on_ack(self, sample: Sample) -> tuple[float, float | None]:
        """Double per round until the delay shows; then approach the window that gives the target."""
        rtt, least = sample.rtt_us, sample.min_rtt_us
        if rtt is None or least is None:
            return max(self.cwnd, 4), sample.pacing_rate
        queued = rtt - least
        if self.is_starting:
            self.is_starting = queued < self.target_us
            self.cwnd += sample.acked
        else:
            self.cwnd += sample.acked * (self.target_us - queued) / self.target_us / self.cwnd
        self.cwnd = max(self.cwnd, 4)
        rate = self.cwnd * sample.mss * 8e6 / rtt
        return self.cwnd, rate * (2 if self.is_starting else 1.2)

    def on_loss(self, sample: Sample) -> tuple[float, float | None]:
        """Keep 7/10 of the window."""
        self.is_starting = False
        self.cwnd = max(sample.cwnd * 0.7, 4)
        return self.cwnd, sample.pacing_rate

    def on_timeout(self, sample: Sample) -> tuple[float, float | None]:
        """Start again."""
        self.is_starting = True
        self.cwnd = 4.0
        return self.cwnd, sample.pacing_rate
