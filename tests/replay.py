"""A second reckoning of a run, for tests: its capture, read by tshark, is sent through a token bucket of a few lines,
and what arrives is counted again.

Nothing of `dumbbell` is used here. It holds for a path of listed losses, half the RTT, an optional policer, and one
drop-tail link, and for hosts without a queue of their own (``host.qdisc = "none"``), whose packets are in the capture
when TCP sends them.
"""

from __future__ import annotations

import subprocess
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

S = 10**9
FIELDS = ("frame.time_epoch", "ip.src", "ip.dst", "frame.len", "tcp.seq", "tcp.len", "tcp.ack", "tcp.flags",
    "tcp.options.sack_le", "tcp.options.sack_re",
          "udp.payload", "udp.length")  # fmt: skip


@dataclass
class Frame:
    """One frame of the capture: of which flow, when (ns), whether from the sender, its wire bytes, and what it
    carries.
    """

    flow: int
    at: int
    is_data: bool
    wire: int
    begin: int = 0
    size: int = 0
    ack: int = -1
    flags: int = 0
    sacks: list[tuple[int, int]] = field(default_factory=list)
    arrived: int | None = None
    """When it came to the link; None: lost before."""
    left: int | None = None
    """When it left the link, and so was received; None: dropped."""
    is_policed: bool = False


def frames(capture: Path, tshark: str) -> list[Frame]:
    """The frames of a capture in order; sequence numbers from 0 at the first payload."""
    words = [word for name in FIELDS for word in ("-e", name)]
    done = subprocess.run(
        [tshark, "-n", "-r", str(capture), "-Y", "ip", "-T", "fields", *words],
        capture_output=True,
        text=True,
        check=True,
    )
    return [_frame(dict(zip(FIELDS, line.split("\t"), strict=True))) for line in done.stdout.splitlines()]


def _frame(row: dict[str, str]) -> Frame:
    whole, _, rest = row["frame.time_epoch"].partition(".")
    is_data = row["ip.src"].startswith("10.0.")
    host = row["ip.src"] if is_data else row["ip.dst"]
    made = Frame(
        int(host.split(".")[3]) - 1, int(whole) * S + int(rest.ljust(9, "0")[:9]), is_data, int(row["frame.len"])
    )
    if row["udp.payload"]:
        _stream(made, bytes.fromhex(row["udp.payload"]), int(row["udp.length"]) - 8)
        return made
    made.flags = int(row["tcp.flags"], 16)
    made.begin, made.size = int(row["tcp.seq"]) - 1, int(row["tcp.len"])
    made.ack = int(row["tcp.ack"]) - 1 if not is_data else -1
    edges = [[int(word) for word in row[f"tcp.options.sack_{side}"].split(",") if word] for side in ("le", "re")]
    made.sacks = [(low - 1, high - 1) for low, high in zip(*edges, strict=True)]
    return made


def _stream(made: Frame, payload: bytes, length: int) -> None:
    """A QUIC datagram as docs/results.md describes it; Initial packets carry nothing."""
    if payload[0] == 0x63 or not made.is_data:
        return
    at = 10 if payload[5] == 0x06 else 5
    made.begin, made.size = int.from_bytes(payload[at + 2 : at + 6], "big") & 0x3FFFFFFF, length - at - 6


@dataclass
class Bucket:
    """A token bucket over a course of rates [(from ns, bit/s), ...]; amounts in bits times 10^9."""

    course: list[tuple[int, int]]
    depth: int
    """Wire bytes."""

    def __post_init__(self) -> None:
        self.tokens = self.depth * 8 * S
        self.at = 0

    def yielded(self, begin: int, end: int) -> int:
        """Bits times 10^9 between two times."""
        edges = [at for at, _ in self.course] + [1 << 62]
        return sum(
            rate * max(0, min(end, edges[i + 1]) - max(begin, edges[i])) for i, (_, rate) in enumerate(self.course)
        )

    def take(self, now: int, wire: int) -> int:
        """When a packet that is at the head since `now` leaves."""
        cost, full = wire * 8 * S, self.depth * 8 * S
        self.tokens = min(full, self.tokens + self.yielded(self.at, now))
        self.at = now
        missing = cost - self.tokens
        if missing <= 0:
            self.tokens -= cost
            return now
        i = max(0, bisect_right([at for at, _ in self.course], now) - 1)
        while True:
            end = self.course[i + 1][0] if i + 1 < len(self.course) else 1 << 62
            rate = self.course[i][1]
            if rate and self.at + -(-missing // rate) <= end:
                self.at += -(-missing // rate)
                break
            missing -= rate * (end - self.at)
            self.at, i = end, i + 1
        self.tokens = 0
        return self.at

    def conforms(self, now: int, wire: int) -> bool:
        """Whether a policer lets a packet pass."""
        self.tokens = min(self.depth * 8 * S, self.tokens + self.yielded(self.at, now))
        self.at = now
        if self.tokens < wire * 8 * S:
            return False
        self.tokens -= wire * 8 * S
        return True


def send(
    sent: list[Frame],
    half_rtt: dict[int, int],
    link: Bucket,
    limit: int,
    *,
    lost: tuple[int, ...] = (),
    policer: Bucket | None = None,
) -> list[Frame]:
    """Data frames through the path, in the order of their arrival at the link; what is lost before it is left out."""
    numbers: dict[int, int] = {}
    coming = []
    for frame in (one for one in sent if one.is_data):
        number = numbers[frame.flow] = numbers.get(frame.flow, -1) + 1
        if number not in lost:
            frame.arrived = frame.at + half_rtt[frame.flow]
            coming.append(frame)
    coming.sort(key=lambda frame: frame.arrived or 0)
    waiting: list[Frame] = []
    last = 0
    for frame in coming:
        now = frame.arrived or 0
        waiting = [one for one in waiting if (one.left or 0) > now]
        if policer is not None and not policer.conforms(now, frame.wire):
            frame.is_policed = True
        elif sum(one.wire for one in waiting) + frame.wire <= limit:
            last = frame.left = link.take(max(now, last), frame.wire)
            waiting.append(frame)
    return coming


def received(passed: list[Frame], flow: int) -> list[tuple[int, int]]:
    """(time, payload in order so far) at each arrival at the receiver of a flow."""
    got: dict[int, int] = {}
    following, course = 0, []
    for frame in sorted(
        (one for one in passed if one.flow == flow and one.left is not None and one.size), key=lambda one: one.left or 0
    ):
        got[frame.begin] = max(got.get(frame.begin, 0), frame.size)
        while following in got:
            following += got.pop(following)
        course.append((frame.left or 0, following))
    return course


def at(course: list[tuple[int, int]], ns: int) -> int:
    """The value of a course at a time; 0 before its first."""
    i = bisect_right(course, ns, key=lambda one: one[0])
    return course[i - 1][1] if i else 0


def head_ages(passed: list[Frame], end: int) -> tuple[float, list[tuple[int, int]]]:
    """Mean over time of the age of the head of the queue, ns, and the stretches (age at its begin, at its end) when
    there was one.
    """
    stretches, before = [], 0
    for frame in sorted((one for one in passed if one.left is not None), key=lambda one: one.left or 0):
        came, left = frame.arrived or 0, min(frame.left or 0, end)
        begin = max(came, before)
        if left > begin:
            stretches.append((begin - came, left - came))
        before = max(before, left)
    return sum(high * high - low * low for low, high in stretches) / 2 / end, stretches


def time_quantile(stretches: list[tuple[int, int]], end: int, share: float) -> float:
    """The age, ns, that the head does not exceed in this share of the time."""
    low, high = 0.0, float(max((one[1] for one in stretches), default=0))
    for _ in range(60):
        middle = (low + high) / 2
        above = sum(max(0.0, one[1] - max(one[0], middle)) for one in stretches)
        low, high = (middle, high) if above > (1 - share) * end else (low, middle)
    return high


def scoreboard(seen: list[Frame], flow: int, until: int, mss: int = 1448) -> dict[str, Any]:
    """What a TCP sender knows at a time, from its capture: segments out, SACKed, delivered, sent, sent again, and its
    RTT by RFC 6298.
    """
    sent: dict[int, tuple[int, int, bool]] = {}
    highest = sent_segments = again = delivered = 0
    sacked: set[int] = set()
    rtts: list[float] = []
    opened = None
    for frame in (one for one in seen if one.flow == flow and one.at <= until):
        if frame.is_data and not frame.size:
            opened = frame.at if frame.flags & 0x02 else opened
        elif frame.is_data:
            is_again = frame.begin < highest
            sent_segments, again, highest = sent_segments + 1, again + is_again, max(highest, frame.begin + frame.size)
            sent[frame.begin] = (frame.at, frame.size, is_again)
        elif frame.flags & 0x02:
            rtts.append((frame.at - (opened or 0)) / 1e3)
        else:
            new = [begin for begin in sorted(sent) if begin < frame.ack]
            fresh = [begin for begin in new if begin not in sacked]
            if fresh and not sent[fresh[0]][2]:
                rtts.append((frame.at - sent[fresh[0]][0]) / 1e3)
            marked = {
                begin for begin in sent if begin >= frame.ack and any(low <= begin < high for low, high in frame.sacks)
            }
            # A duplicate segment (D-SACK, RFC 2883) is one more that was delivered: it is in Linux's count.
            again_there = sum(high - low for low, high in frame.sacks if high <= frame.ack) // mss
            delivered += len(fresh) + len(marked - sacked) + again_there
            sacked = {begin for begin in sacked | marked if begin >= frame.ack}
            for begin in new:
                del sent[begin]
    srtt = None
    for rtt in rtts:
        srtt = rtt if srtt is None else srtt + (rtt - srtt) / 8
    return {"packets_out": len(sent), "sacked": len(sacked), "delivered": delivered, "segs_sent": sent_segments,
        "retrans_total": again,
            "rtt_us": rtts[-1] if rtts else None, "srtt_us": srtt, "min_rtt_us": min(rtts, default=None)}  # fmt: skip
