"""The packets of TCP flows in a capture, their round-trip times, and where two captures of one plan part.

Of a flow two lists are compared, each in its order: what the sender sends (first byte, length, CWR) and what reaches it
(first byte that is missing, length of its own data, SACK blocks, ECN echo). Numbers count from the SYNs. Times are not
compared: hosts take some time for what they do, and a simulated one takes none. Windows are not: two hosts may round
them to another scale. Packets of the handshake are left out, and so is what the sender sends without data.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from dumbbell.errors import ResultError
from dumbbell.files import CAPTURE_MAX, UnreadableError, read_bytes

#: Magic numbers of a file whose times have microseconds and nanoseconds, and these units in a second.
UNITS = {0xA1B2C3D4: 1_000_000, 0xA1B23C4D: 1_000_000_000}
#: Lengths of the file's header, a record's, Ethernet's, and the smallest of IPv4's and TCP's, bytes.
FILE, RECORD, ETHERNET, IPV4, TCP = 24, 16, 14, 20, 20
LINK_ETHERNET = 1
#: Flags of TCP.
SYN, ACK, ECE, CWR = 0x02, 0x10, 0x40, 0x80
SACK = 5


class Sent(NamedTuple):
    """A data segment of the sender."""

    seq: int
    len: int
    cwr: bool

    def __str__(self) -> str:
        return f"data {self.seq}-{self.seq + self.len}{' CWR' if self.cwr else ''}"


class Heard(NamedTuple):
    """A packet that reaches the sender."""

    ack: int
    len: int
    """Data of its own: a request."""
    sacks: tuple[tuple[int, int], ...]
    ece: bool

    def __str__(self) -> str:
        blocks = ", ".join(f"{start}-{end}" for start, end in self.sacks)
        more = [
            f"SACK {blocks}" if blocks else "",
            f"{self.len} B of data" if self.len else "",
            "ECE" if self.ece else "",
        ]
        return ", ".join([f"ACK {self.ack}", *filter(None, more)])


#: Packets with the times at which they were seen.
_Seen = list[tuple[float, Sent]] | list[tuple[float, Heard]]


class Flow(NamedTuple):
    """A flow's packets with the times, s, at which the capture saw them."""

    sent: list[tuple[float, Sent]]
    heard: list[tuple[float, Heard]]


class Parting(NamedTuple):
    """Point up to which two captures of a flow are the same."""

    sent: int
    heard: int
    """Leading data segments and acknowledgements that are the same."""
    of: tuple[tuple[int, int], tuple[int, int]]
    """How many there are in either capture: data segments, and acknowledgements."""
    first: tuple[tuple[float, Sent | Heard], tuple[float, Sent | Heard]] | None
    """The earlier of the two differences, as either capture has it; `None` where they do not differ, but for what one
    has beyond the other's end."""


def flows(capture: Path) -> list[Flow]:
    """The flows of a capture in the order of their SYNs; raises ResultError for what is no capture of Ethernet."""
    by_ends: dict[tuple[bytes, bytes], tuple[int, Flow]] = {}
    for at, frame in frames(capture):
        segment = _segment(frame)
        if segment is None:
            continue
        ends = segment.source, segment.target
        if segment.flags & SYN:
            if not segment.flags & ACK:
                by_ends.setdefault(ends, (segment.seq + 1, Flow([], [])))
        elif ends in by_ends:
            start, flow = by_ends[ends]
            if segment.len:
                flow.sent.append((at, Sent(_from(start, segment.seq), segment.len, bool(segment.flags & CWR))))
        elif ends[::-1] in by_ends:
            start, flow = by_ends[ends[::-1]]
            sacks = tuple((_from(start, left), _from(start, right)) for left, right in _sacks(segment.options))
            heard = Heard(_from(start, segment.ack), segment.len, sacks, bool(segment.flags & ECE))
            flow.heard.append((at, heard))
    return [flow for _, flow in by_ends.values()]


def round_trips(flow: Flow) -> list[tuple[float, float]]:
    """Time and RTT, s, of each acknowledgement that ends where a segment does: since that segment was first sent, as
    `tcp.analysis.ack_rtt` of tshark has it. Where a hole is filled it contains the wait for the retransmission.
    """
    trips, first_sent, acked, at = [], dict[int, float](), 0, 0
    for heard_at, heard in flow.heard:
        while at < len(flow.sent) and flow.sent[at][0] <= heard_at:
            sent_at, segment = flow.sent[at]
            first_sent.setdefault(segment.seq + segment.len, sent_at)
            at += 1
        if heard.ack > acked:
            acked = heard.ack
            if acked in first_sent:
                trips.append((heard_at, heard_at - first_sent[acked]))
    return trips


def part(one: Flow, other: Flow) -> Parting:
    """Find where two captures of a flow part."""
    sent, heard = _same(one.sent, other.sent), _same(one.heard, other.heard)
    differences: list[Any] = [*_differing(one.sent, other.sent, sent), *_differing(one.heard, other.heard, heard)]
    first = min(differences, key=lambda both: both[0][0], default=None)
    return Parting(sent, heard, ((len(one.sent), len(other.sent)), (len(one.heard), len(other.heard))), first)


def _same(one: _Seen, other: _Seen) -> int:
    return sum(1 for _ in takewhile(lambda both: both[0][1] == both[1][1], zip(one, other, strict=False)))


def _differing(one: _Seen, other: _Seen, at: int) -> Iterator[tuple[Any, Any]]:
    """Packets of both at this place; none where one capture has ended."""
    if at < min(len(one), len(other)):
        yield one[at], other[at]


class _Segment(NamedTuple):
    source: bytes
    target: bytes
    seq: int
    ack: int
    flags: int
    len: int
    options: bytes


def _from(start: int, number: int) -> int:
    """A sequence number, which wraps, as the offset from the first byte of the stream."""
    return (number - start) % 2**32


def frames(capture: Path) -> Iterator[tuple[float, bytes]]:
    """Bytes of each Ethernet frame of a capture, and its time, s from the first; raises ResultError."""
    try:
        data = read_bytes(capture, CAPTURE_MAX)
    except UnreadableError as error:
        raise ResultError(f"{capture}: {error}; `--pcap` writes a capture") from None
    order = next((order for order in "<>" if data[:4] in {struct.pack(f"{order}I", magic) for magic in UNITS}), None)
    if order is None or len(data) < FILE:
        raise ResultError(f"{capture}: no capture in the format of tcpdump (pcap)")
    units = UNITS[struct.unpack_from(f"{order}I", data)[0]]
    (link,) = struct.unpack_from(f"{order}I", data, 20)
    if link != LINK_ETHERNET:
        raise ResultError(f"{capture}: frames of link type {link}, wanted {LINK_ETHERNET} (Ethernet)")
    at, began = FILE, None
    while at + RECORD <= len(data):
        seconds, fraction, held, _ = struct.unpack_from(f"{order}4I", data, at)
        time = seconds * units + fraction
        began = time if began is None else began
        frame = data[at + RECORD : at + RECORD + held]
        if len(frame) < held:
            raise ResultError(f"{capture}: damaged: it ends inside a packet")
        yield (time - began) / units, frame
        at += RECORD + held


def _segment(frame: bytes) -> _Segment | None:
    """The TCP segment over IPv4 in an Ethernet frame, of which a capture may hold the headers only."""
    if len(frame) < ETHERNET + IPV4 or frame[12:14] != b"\x08\x00" or frame[ETHERNET + 9] != 6:
        return None
    ip = frame[ETHERNET:]
    ip_header = (ip[0] & 15) * 4
    (total,) = struct.unpack_from("!H", ip, 2)
    tcp = ip[ip_header:]
    if len(tcp) < TCP:
        return None
    seq, ack, offset, flags = struct.unpack_from("!IIBB", tcp, 4)
    header = (offset >> 4) * 4
    source, target = ip[12:16] + tcp[0:2], ip[16:20] + tcp[2:4]
    return _Segment(source, target, seq, ack, flags, max(total - ip_header - header, 0), tcp[TCP:header])


def _sacks(options: bytes) -> list[tuple[int, int]]:
    """The blocks of the SACK option (RFC 2018), in its order."""
    at = 0
    while at + 1 < len(options) and options[at]:
        if options[at] == 1:  # padding
            at += 1
            continue
        size = options[at + 1]
        if options[at] == SACK:
            edges = options[at + 2 : at + size]
            return list(struct.iter_unpack("!II", edges[: len(edges) // 8 * 8]))
        at += max(size, 2)
    return []


__all__ = ["Flow", "Heard", "Parting", "Sent", "flows", "frames", "part", "round_trips"]
