"""Output of `ss -tin` and `tc -s qdisc`, poll after poll, as numbers. Fields that a program's version does not print
are missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

_BITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_RATE = re.compile(r"\b(pacing_rate|delivery_rate) ([0-9.]+)([KMGT]?)bps")
_PAIR = re.compile(r"\b([a-z_]+):([^\s]+)")
_BBR = re.compile(r"\bbbr[a-z0-9_]*:\(([^)]*)\)")
_COUNTERS = re.compile(
    r"Sent (\d+) bytes (\d+) pkt \(dropped (\d+), overlimits \d+ requeues \d+\)\s+backlog (\S+)b (\d+)p"
)
_MARKS = re.compile(r"\b(?:ecn_mark|marked|ecn_marked|ce_mark) (\d+)")


class Socket(NamedTuple):
    """One connection at one time; rates in bit/s."""

    data_port: int
    cca: str
    numbers: dict[str, float]
    bbr: dict[str, float]

    def whole(self, name: str, otherwise: int = 0) -> int:
        """A count."""
        return int(self.numbers.get(name, otherwise))

    def us(self, name: str) -> int | None:
        """A time that ss prints in ms; None where it is not known."""
        value = self.numbers.get(name)
        return None if not value else round(value * 1000)


class Counters(NamedTuple):
    """Counters of a queue discipline since it was made."""

    sent_bytes: int
    sent_packets: int
    dropped: int
    backlog_bytes: int
    backlog_packets: int
    marked: int


def polls(text: str) -> Iterator[tuple[int, str]]:
    """(nanoseconds of the host's clock, what was printed) of each poll; the last one only if it is whole."""
    for part in text.split("@")[1:]:
        stamp, _, said = part.partition("\n")
        if stamp.isdigit():
            yield int(stamp), said


def sockets(said: str) -> Iterator[Socket]:
    """The connections of a poll."""
    lines = said.splitlines()
    for first, second in pairwise(lines):
        words = first.split()
        if first[:1].isspace() or not second[:1].isspace() or len(words) < 5:
            continue
        port = words[3].rpartition(":")[2]
        if port.isdigit():
            yield _socket(int(port), second)


def _socket(port: int, text: str) -> Socket:
    bbr = _BBR.search(text)
    rest = text if bbr is None else text.replace(bbr.group(), "")
    numbers: dict[str, float] = {}
    for name, value in _PAIR.findall(rest):
        if name in ("rtt", "retrans"):
            first, _, other = value.partition("/")
            _put(numbers, name, first)
            _put(numbers, f"{name}_other", other)
        else:
            _put(numbers, name, value)
    for name, value, unit in _RATE.findall(text):
        numbers[name] = float(value) * _BITS[unit]
    return Socket(port, _cca(rest), numbers, {} if bbr is None else _bbr(bbr.group(1)))


def _cca(text: str) -> str:
    """The controller: the last bare word before the first ``name:value``."""
    name = ""
    for word in text.split():
        if ":" in word:
            break
        name = word
    return name


def _put(numbers: dict[str, float], name: str, text: str) -> None:
    number = re.match(r"\d+(?:\.\d+)?", text)
    if number:
        numbers[name] = float(number.group())


def _bbr(text: str) -> dict[str, float]:
    values: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = part.partition(":")
        match = re.match(r"([0-9.]+)([KMGT]?)(bps)?$", value)
        if match:
            values[name] = float(match.group(1)) * _BITS[match.group(2)]
    return values


def counters(said: str, handle: str) -> Counters | None:
    """Counters of the queue discipline with this handle; None where it is not there."""
    for block in re.split(r"^(?=qdisc )", said, flags=re.M):
        if block.split()[2:3] != [handle]:
            continue
        matched = _COUNTERS.search(block)
        if matched:
            sent, packets, dropped, backlog, waiting = matched.groups()
            marks = sum(int(count) for count in _MARKS.findall(block))
            return Counters(int(sent), int(packets), int(dropped), _size(backlog), int(waiting), marks)
    return None


def _size(text: str) -> int:
    """A size as tc prints it: 1514, 12K, 3M, in 1024."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(float(text[:-1]) * units[text[-1]]) if text[-1:] in units else int(text)
