"""What the controller around a policy tells its network, recomputed from the packets of a run: the seven signals, when
they are read, and when a window is set (cca/orca/controller.h says it in C, cca/vectors/orca by hand).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import dumbbell
from closed_form import rows
from dumbbell.policy import file, network
from dumbbell.policy.file import Header, Layer, Policy
from dumbbell.policy.network import Dense
from dumbbell.results import packets

MSS, MTU = 1448, 1500
PERIOD_US = 31_000
SIGNALS = ("thr", "pacing", "loss", "acks", "dt", "delay", "metric")


class Segment(NamedTuple):
    """A data segment in flight, with what the sender knew when it sent it (RFC draft-cheng-iccrg-delivery-rate)."""

    end: int
    sent_us: int
    first_sent_us: int
    delivered: int
    delivered_us: int


class Reading(NamedTuple):
    """What one reading sees, from the packets alone; bytes per second and us."""

    at_ns: int
    thr: int
    rtts: int
    dt_us: int
    min_rtt_us: int
    srtt_us: int
    paced: tuple[int, int]
    """Smoothed RTT and segments in flight at the ACK before, which set the pacing rate of this moment."""


class Sender:
    """A sender's clockwork as Linux has it, where nothing is lost."""

    def __init__(self, handshake_us: int) -> None:
        self.flight: list[Segment] = []
        self.srtt_x8, self.least_us, self.ca_least_us = handshake_us * 8, handshake_us, 1 << 32
        self.delivered, self.delivered_us, self.first_sent_us = 0, 0, 0
        self.rate: tuple[int, int] | None = None
        """Segments and time of the last valid delivery-rate sample."""

    def send(self, now_us: int, end: int) -> None:
        """Send a segment that ends there."""
        if not self.flight:
            self.first_sent_us = self.delivered_us = now_us
        self.flight.append(Segment(end, now_us, self.first_sent_us, self.delivered, self.delivered_us))

    def hear(self, now_us: int, ack: int) -> bool:
        """Take an acknowledgement; True if it gives an RTT."""
        acked = [segment for segment in self.flight if segment.end <= ack]
        if not acked:
            return False
        self.flight = self.flight[len(acked) :]
        first, last = acked[0], acked[-1]
        self.delivered += len(acked)
        self.delivered_us = now_us
        self.least_us = min(self.least_us, now_us - first.sent_us)
        self.srtt_x8 += now_us - first.sent_us - (self.srtt_x8 >> 3)
        self.ca_least_us = min(self.ca_least_us, now_us - last.sent_us)
        took_us = max(last.sent_us - last.first_sent_us, now_us - last.delivered_us)
        self.first_sent_us = last.sent_us
        if took_us >= self.least_us:
            self.rate = self.delivered - last.delivered, took_us
        return True


def readings(flow: packets.Flow, steers_us: int) -> list[Reading]:
    """Every reading of a flow whose slow start ended at this time."""
    sent = [(round(at * 1e9), 1, segment.seq + segment.len) for at, segment in flow.sent]
    heard = [(round(at * 1e9), 0, segment.ack) for at, segment in flow.heard]
    sender, taken = Sender(sent[0][0] // 1000), list[Reading]()
    samples, rtts, began_us, sent_since = list[int](), 0, steers_us, 0
    for at_ns, is_sent, number in sorted(sent + heard):
        now_us = at_ns // 1000
        if is_sent:
            sender.send(now_us, number)
            sent_since += 1
            continue
        rate = sender.rate  # controllers learn of an ACK's sample at the next one
        paced = sender.srtt_x8 >> 3, len(sender.flight) - sent_since
        sent_since = 0
        if sender.hear(now_us, number):
            rtts += 1
            samples += [rate[0] * MSS * 1_000_000 // rate[1]] if rate else []
        if now_us == steers_us:
            samples, rtts = [], 0
        elif now_us > steers_us and now_us - began_us >= PERIOD_US and rtts:
            thr = sum(samples) // len(samples) if samples else 0
            seen = (thr, rtts, now_us - began_us, sender.ca_least_us, sender.srtt_x8 >> 3, paced)
            taken.append(Reading(at_ns, *seen))
            samples, rtts, began_us = [], 0, now_us
    return taken


def gentle() -> Policy:
    """A policy whose answers are above 100 % while min_rtt is more than 0.7 of the smoothed RTT, and below it after."""
    weights = np.zeros((1, 70))
    weights[0, -len(SIGNALS) + SIGNALS.index("delay")] = 0.3
    whole = network.integers(Dense(weights, np.array([-0.21])))
    first, thresholds = network.orca_thresholds(whole.shift)
    header = Header("gentle", "a network", [Layer(whole.shift, whole.kind, whole.slope)], first)
    return Policy(header, [whole], thresholds)


class Run(NamedTuple):
    """A run of it: what the packets say of each reading, and what the controller recorded."""

    told: list[Reading]
    recorded: list[dict[str, int]]
    windows: list[tuple[int, int]]
    """Times, us, and windows of the samples."""


def made(folder: Path, loss: str) -> tuple[dumbbell.Result, packets.Flow]:
    """A run of it, whose sender stamps packets when they leave (fq would stamp them ahead), and its packets."""
    file.write(gentle(), folder / "gentle.safetensors")
    scenario = {
        "name": "m", "duration": "4s", "path": {"rate": "20Mbps", "rtt": "30ms", "buffer": "60bdp", "loss": loss},
        "host": {"qdisc": "none"}, "flow": [{"cca": "gentle"}],
        "record": {"variables": True, "pcap": True, "every": "1ms"},
    }  # fmt: skip
    result = dumbbell.run(scenario, out=folder / "run", cca=[folder / "gentle.safetensors"])[0]
    assert not rows(result, "events", kind="drop_queue")
    return result, packets.flows(next(folder.rglob("*.pcap")))[0]


def steering_ns(result: dumbbell.Result) -> int:
    """When slow start has ended, and the network takes over."""
    time: int = next(row["t_ns"] for row in rows(result, "events", kind="cca_state", note="STEER"))
    return time


def recorded(result: dumbbell.Result) -> dict[int, dict[str, int]]:
    """Variables after each reading, by its time, ns."""
    held: dict[str, int] = {}
    by_time: dict[int, dict[str, int]] = {}
    for row in result.variables.to_pylist():
        held = held | {row["name"]: row["value"]}
        by_time[row["t_ns"]] = held
    begun_ns = steering_ns(result)
    return {at: held for at, held in by_time.items() if at > begun_ns and held["signal_dt"]}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    result, flow = made(tmp_path_factory.mktemp("monitor"), "0%")
    told, seen = readings(flow, steering_ns(result) // 1000), recorded(result)
    assert [reading.at_ns for reading in told] == list(seen)
    return Run(told, list(seen.values()), [(row["t_us"], row["cwnd"]) for row in result.samples.to_pylist()])


def ratio(a: int, b: int) -> int:
    """Part of b in 1/65536, rounded down."""
    return (a << 16) // b


def test_a_reading_is_due_every_31_ms_and_taken_at_the_next_acknowledgement(run):
    apart = [later.at_ns - earlier.at_ns for earlier, later in zip(run.told, run.told[1:])]
    assert len(apart) > 80
    assert min(apart) >= 31_000_000
    assert max(apart) < 33_000_000


def test_delivery_rate_and_its_largest_are_those_of_the_packets(run):
    largest = 0
    for reading, recorded in zip(run.told, run.recorded):
        largest = max(largest, reading.thr)
        assert (recorded["thr"], recorded["thr_max"]) == (reading.thr * 8, largest * 8)
        assert recorded["signal_thr"] == ratio(reading.thr, largest)


def test_delays_and_the_time_between_readings_are_those_of_the_packets(run):
    for reading, recorded in zip(run.told, run.recorded):
        least, smoothed = reading.min_rtt_us, reading.srtt_us
        assert recorded["signal_dt"] == ratio(reading.dt_us, 1_000_000)
        assert recorded["signal_delay"] == min(ratio(least, smoothed), 65536)
        assert recorded["signal_metric"] == min(ratio(5 * least, 4 * smoothed), 65536)
        assert recorded["signal_loss"] == 0


def test_acks_and_pacing_are_those_of_the_packets_for_the_window_of_the_samples(run):
    times = np.array([at for at, _ in run.windows])
    for reading, recorded in zip(run.told, run.recorded):
        sampled = run.windows[np.searchsorted(times, reading.at_ns // 1000, side="right") - 1][1]
        near = [window for window in range(sampled - 2, sampled + 3) if window > 0]
        assert recorded["signal_acks"] in [ratio(reading.rtts, window) for window in near]
        largest = recorded["thr_max"] // 8
        smoothed, in_flight = reading.paced
        rates = [MTU * max(window, in_flight) * 1_000_000 // smoothed for window in near]
        assert recorded["signal_pacing"] in [min(ratio(rate, largest), 10 << 16) for rate in rates]


def test_the_losses_of_all_periods_are_what_the_packets_show_as_sent_again(tmp_path):
    result, flow = made(tmp_path, "1%")
    seen, lost = recorded(result), 0
    for values in seen.values():
        rate = values["signal_loss"] * (values["thr_max"] // 8) / 65536 / 5
        segments = rate * values["signal_dt"] / 65536 / MSS
        assert abs(segments - round(segments)) < 0.01
        lost += round(segments)
    starts, again = set[int](), 0
    for at, segment in flow.sent:
        again += segment.seq in starts and steering_ns(result) < at * 1e9 < max(seen)
        starts.add(segment.seq)
    assert lost == again > 20
