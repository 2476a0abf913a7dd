"""Headings of columns: the quantity, the unit and the direction. Where its name or its unit leaves a doubt, the column
is not used before somebody names it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from .model import ChoiceError, Heading, listed_names

_MS = 1_000_000

#: Units, in lower case, and what one of them is in ns, bit/s and 10^-9.
TIMES = {
    "ns": 1, "nsec": 1, "nanoseconds": 1,
    "us": 1_000, "µs": 1_000, "μs": 1_000, "usec": 1_000, "microseconds": 1_000,
    "ms": _MS, "msec": _MS, "msecs": _MS, "millisecond": _MS, "milliseconds": _MS, "millis": _MS,
    "s": 10**9, "sec": 10**9, "secs": 10**9, "second": 10**9, "seconds": 10**9,
    "min": 60 * 10**9, "minutes": 60 * 10**9, "h": 3600 * 10**9, "hours": 3600 * 10**9,
}  # fmt: skip
SHARES = {
    "%": 10**7, "percent": 10**7, "pct": 10**7, "percentage": 10**7, "ppm": 1_000, "share": 10**9, "ratio": 10**9,
    "fraction": 10**9,
}  # fmt: skip
_RATE = re.compile(r"(?P<prefix>[kmg]?)(?P<what>bits?|bytes?|b)(?P<per>ps|/s|/sec|/secs|/second)", re.IGNORECASE)
_PREFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}

#: Words for the quantities, and an example of a heading.
QUANTITIES: dict[str, tuple[tuple[str, ...], str]] = {
    "time": (
        (
            "time", "timestamp", "t", "ts", "time stamp", "datetime", "date time", "date", "dtime", "elapsed",
            "elapsed time", "time elapsed", "rel time", "relative time", "epoch", "epoch time", "unix time",
            "unix timestamp", "time since start",
        ),
        "time_s",
    ),
    "rate": (
        (
            "rate", "throughput", "bandwidth", "capacity", "bitrate", "bit rate", "data rate", "datarate", "goodput",
            "bw", "available bandwidth",
        ),
        "rate_mbps",
    ),
    "rtt": (
        ("rtt", "latency", "ping", "ping rtt", "ping latency", "ping time", "round trip time", "rtt latency"),
        "rtt_ms",
    ),
    "delay": (("delay", "owd", "one way delay", "one way latency"), "delay_ms"),
    "loss": (("loss", "loss rate", "packet loss", "packet loss rate", "plr"), "loss_percent"),
}  # fmt: skip

#: Words that are a rate only with the unit of one.
_WITH_UNIT = ("", "speed")
#: Words for directions.
_DIRECTIONS = {
    "down": "down", "downlink": "down", "download": "down", "dl": "down",
    "up": "up", "uplink": "up", "upload": "up", "ul": "up",
}  # fmt: skip
#: Words that say nothing of what a column is about.
_PASSED = {"avg", "average", "mean", "gmt", "utc"}

#: Headings without units of public tools, which are known where all of the first are there: G-NetTrack (Irish 4G and 5G
#: data sets) and what the LENS data set makes of IRTT's files (scripts/convert_csv.py).
_TOOLS: tuple[tuple[frozenset[str], dict[str, tuple[str, int, str]]], ...] = (
    (
        frozenset(("timestamp", "dl_bitrate", "ul_bitrate")),
        {
            "dl_bitrate": ("rate", 1_000, "down"),
            "ul_bitrate": ("rate", 1_000, "up"),
            "pingavg": ("rtt", _MS, ""),
        },
    ),
    (
        frozenset(("rtt", "uplink", "downlink")),
        {"rtt": ("rtt", _MS, ""), "uplink": ("delay", _MS, "up"), "downlink": ("delay", _MS, "down")},
    ),
)

#: What a unit may be, for a message.
UNITS_WANTED = {
    "rate": "bps, kbps, Mbps, Gbps (or Mbit/s and so on), B/s, kB/s, MB/s",
    "time": "ns, us, ms, s",
    "loss": "%, ppm, share",
}


def family(quantity: str) -> str:
    """Family of a quantity's units: `rate`, `time` or `loss`."""
    return quantity if quantity in ("rate", "loss") else "time"


@lru_cache(maxsize=1024)
def unit(text: str) -> tuple[str, int] | None:
    """Quantity of a unit (`time`, `rate`, `loss`) and its size; None for no unit."""
    word = text.strip().casefold().replace(" per ", "/").replace("sec.", "sec")
    if word in TIMES:
        return "time", TIMES[word]
    if word in SHARES:
        return "loss", SHARES[word]
    rate = _RATE.fullmatch(text.strip().replace(" per ", "/"))
    if rate is None:
        return None
    scale = _PREFIXES[rate["prefix"].casefold()]
    return "rate", scale * (8 if _is_bytes(rate) else 1)


def _is_bytes(rate: re.Match[str]) -> bool:
    """``B`` is a byte, and ``MBPS`` in capitals throughout is not."""
    return rate["what"].casefold().startswith("byte") or (rate["what"] == "B" and rate["per"] != "PS")


def headings_of(cells: list[str]) -> tuple[Heading, ...]:
    """Read the headings of a table."""
    names = {cell.strip().casefold() for cell in cells}
    known = next((columns for needed, columns in _TOOLS if needed <= names), {})
    listed = []
    for cell in cells:
        quantity, scale, direction = known.get(cell.strip().casefold(), ("", 0, ""))
        listed.append(Heading(cell, quantity, scale, direction) if quantity else heading(cell))
    return tuple(listed)


def lost_in(headings: Sequence[Heading]) -> list[int]:
    """The columns in which -1 says that the packet of the row is lost, as LENS has it."""
    names = [heading_.name.casefold() for heading_ in headings]
    return [i for i, name in enumerate(names) if name in _TOOLS[1][0]] if _TOOLS[1][0] <= set(names) else []


def heading(cell: str) -> Heading:
    """Read one heading."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", cell)
    return _heading(cell, cell) or _heading(cell, split) or Heading(cell, "")


def _heading(cell: str, text: str) -> Heading | None:
    shape = re.sub(r"\b(bits?|bytes?)[ _](?:per[ _])?s(?:ec(?:ond)?)?\b", r"\1/s", text.strip().replace("_", " "))
    words = [word for word in re.split(r"[\s\[\](){},:.-]+", shape) if word]
    direction = next((_DIRECTIONS[word.casefold()] for word in words if word.casefold() in _DIRECTIONS), "")
    kept = [
        word
        for word in words
        if word.casefold() not in _DIRECTIONS and word.casefold() not in _PASSED and not word.isdigit()
    ]  # as in delay_down_ms, rtt_2_ms
    measure = unit(kept[-1]) if kept else None
    if measure is not None and len(kept) == 1 and not direction and measure == ("time", 10**9):
        return Heading(cell, "time", 10**9)  # a column that is called "seconds"
    name = " ".join(kept[:-1] if measure else kept).casefold()
    for quantity, (names, example) in QUANTITIES.items():
        if name not in names and not (quantity == "rate" and measure and name in _WITH_UNIT and (name or direction)):
            continue
        if measure is None:
            return Heading(cell, quantity, 0, direction, f"has no unit, wanted one after its name, as in {example}")
        if measure[0] != family(quantity):
            return None
        if quantity == "rate" and _is_bytes(_RATE.fullmatch(kept[-1])):  # type: ignore[arg-type]
            return Heading(cell, quantity, 0, direction, f"is in bytes, wanted bits, as in {example}")
        return Heading(cell, quantity, measure[1], direction)
    return None


def unit_in(cell: str) -> tuple[str, int] | None:
    """The unit at the end of a heading of any name."""
    words = [word for word in re.split(r"[\s\[\](){}_]+", cell) if word]
    return unit(words[-1]) if len(words) > 1 else None


def examples() -> str:
    """Headings of each quantity."""
    return ", ".join(example for name, (_, example) in QUANTITIES.items() if name != "time")


def called(headings: Sequence[Heading], name: str, option: str) -> int:
    """Index of the column with this name; raises ChoiceError of the option that gives it."""
    exact = [i for i, heading_ in enumerate(headings) if heading_.name == name.strip()]
    same = exact or [i for i, heading_ in enumerate(headings) if heading_.name.casefold() == name.strip().casefold()]
    if len(same) != 1:
        wanted = listed_names([heading_.name for heading_ in headings])
        raise ChoiceError(option, name, f"a name that one column has: {wanted}" if same else f"one of: {wanted}")
    return same[0]
