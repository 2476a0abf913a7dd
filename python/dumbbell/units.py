"""Quantities as a person writes them, to exact integers: ``"40Mbps"``, ``"20ms"``, ``"1.5bdp"``, ``"0.01%"``.

Numbers are taken apart as decimal digits and scaled as fractions of integers, so nothing is ever rounded by floating
point. Decimal prefixes (k, M, G) are powers of 1000, binary ones (Ki, Mi, Gi) powers of 1024 (IEC 80000-13).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from dumbbell.errors import guess, wrong

#: Bytes of a full segment on the wire: 14 Ethernet + 20 IPv4 + 32 TCP with timestamps + 1448 payload.
FRAME_BYTES = 1514
#: Of these the header of Ethernet.
ETHERNET_BYTES = 14

#: Payload bytes of a full segment: 1500 - 20 IPv4 - 32 TCP with timestamps.
MSS_BYTES = 1448

#: Largest integer that a plan may hold (signed 64 bit, which is what a table column holds).
MAX_INT = 2**63 - 1

BPS = {
    "bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12,
    "bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9, "Tbit/s": 10**12,
    "bit": 1, "kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9, "Tbit": 10**12,
    "mbit": 10**6, "gbit": 10**9, "tbit": 10**12, "mbit/s": 10**6, "gbit/s": 10**9, "tbit/s": 10**12,
}  # fmt: skip
"""Also as `tc` writes them (tc(8)), where that is unambiguous: its ``mbps`` are megabytes per second, and so are no
unit here."""
NS = {
    "ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9,
    "nsec": 1, "nsecs": 1, "usec": 10**3, "usecs": 10**3, "msec": 10**6, "msecs": 10**6, "sec": 10**9, "secs": 10**9,
}  # fmt: skip
BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "pkt": FRAME_BYTES}

RATE = 'a rate with its unit, such as "40Mbps" (bps, kbps, Mbps, Gbps or kbit/s, Mbit/s, Gbit/s)'
SPAN = 'a time with its unit, such as "20ms" (ns, us, ms, s, min, h)'
SIZE = 'a size with its unit, such as "500kB" (B, kB, MB, GB, KiB, MiB, GiB, pkt)'
BUFFER = 'a buffer with its unit, such as "1bdp", "500kB", "100pkt" or "20ms"'
LOSS = 'a probability from 0 to 1, such as "0.01%" or 0.0001'

NUMBER = r"[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?"
_QUANTITY = re.compile(rf"\s*({NUMBER})\s*([A-Za-zµ/%]*)\s*")


class UnitError(ValueError):
    """A text that is not the quantity that was asked for; the message says what was wanted, `lacks` that only the unit
    is missing.
    """

    def __init__(self, wanted: str, *, lacks: bool = False) -> None:
        super().__init__(wanted)
        self.lacks = lacks


def parse_option(option: str, text: object, parse: Callable[[object], int]) -> int:
    """The quantity that an option has with its unit; raises ScenarioError that names the option."""
    try:
        return parse(text)
    except UnitError as error:
        raise wrong(option, text, str(error)) from None


def option_s(option: str, text: str | None) -> float | None:
    """The time of an option, seconds; None where it is not given. Raises ScenarioError."""
    return None if text is None else parse_option(option, text, span_ns) / 1e9


def split(text: object, wanted: str) -> tuple[int, int, str]:
    """Number and unit of a quantity: (numerator, denominator, unit)."""
    parts = _parts(text) if isinstance(text, str) else None
    if parts is None:
        raise UnitError(wanted, lacks=isinstance(text, (int, float)) and not isinstance(text, bool))
    return parts


@lru_cache(maxsize=1024)
def _parts(text: str) -> tuple[int, int, str] | None:
    """Number and unit; kept, because each run of a grid has nearly all quantities of the one before."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    mantissa, _, exponent = match[1].lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    power = int(exponent or 0) - len(fraction)
    digits = int(whole + fraction)
    return (digits * 10**power, 1, match[2]) if power >= 0 else (digits, 10**-power, match[2])


def _exact(numerator: int, denominator: int, wanted: str, finest: str) -> int:
    value, rest = divmod(numerator, denominator)
    if rest:
        raise UnitError(f"{wanted}, not finer than {finest}")
    if value > MAX_INT:
        raise UnitError(f"{wanted}, below 2^63 {finest.rsplit(maxsplit=1)[-1]}")
    return value


def _quantity(text: object, units: dict[str, int], wanted: str, finest: str) -> int:
    numerator, denominator, unit = split(text, wanted)
    if unit not in units:
        raise _no_unit(text, unit, list(units), wanted)
    return _exact(numerator * units[unit], denominator, wanted, finest)


def _no_unit(text: object, unit: str, units: list[str], wanted: str) -> UnitError:
    """The error of a quantity that has none of these units, with the value that was probably meant."""
    meant = guess(unit, units) if unit else ""
    number = str(text).strip().removesuffix(unit).strip()
    return UnitError(f'{wanted}; did you mean "{number}{meant}"?' if meant else wanted, lacks=not unit)


def rate_bps(text: object) -> int:
    """Bits per second of a rate.

    >>> rate_bps("40Mbps"), rate_bps("1.5 Gbit/s")
    (40000000, 1500000000)
    """
    return _quantity(text, BPS, RATE, "1 bit/s")


def span_ns(text: object) -> int:
    """Nanoseconds of a time.

    >>> span_ns("20ms"), span_ns("1.5us")
    (20000000, 1500)
    """
    return _quantity(text, NS, SPAN, "1 ns")


def size_bytes(text: object) -> int:
    """Bytes of a size; ``pkt`` is a full frame of 1514 bytes.

    >>> size_bytes("1.5kB"), size_bytes("2MiB")
    (1500, 2097152)
    """
    return _quantity(text, BYTES, SIZE, "1 byte")


def loss_ppb(value: object) -> int:
    """Parts per billion of a probability, from a percentage or a fraction.

    >>> loss_ppb("0.01%"), loss_ppb(0.0001)
    (100000, 100000)
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = repr(value)  # the shortest decimal that is this number, which is what was written
    numerator, denominator, unit = split(value, LOSS)
    if unit not in ("", "%"):
        raise UnitError(LOSS)
    ppb = _exact(numerator * (10**7 if unit else 10**9), denominator, LOSS, "1e-9")
    if ppb > 10**9:
        raise UnitError(LOSS)
    return ppb


Buffer = tuple[str, int, int]
"""(measure, numerator, denominator); the measure is ``bdp``, ``pkt``, ``bytes`` or ``ns``."""


def buffer(text: object) -> Buffer:
    """A limit of a queue, which a rate and an RTT turn into bytes or packets.

    >>> buffer("1.5bdp"), buffer("100pkt"), buffer("500kB"), buffer("20ms")
    (('bdp', 15, 10), ('pkt', 100, 1), ('bytes', 500000, 1), ('ns', 20000000, 1))
    """
    numerator, denominator, unit = split(text, BUFFER)
    if unit in ("bdp", "BDP"):
        return "bdp", numerator, denominator
    if unit == "pkt":
        return "pkt", _exact(numerator, denominator, BUFFER, "1 pkt"), 1
    if unit in NS:
        return "ns", span_ns(text), 1
    if unit in BYTES:
        return "bytes", size_bytes(text), 1
    raise _no_unit(text, unit, ["bdp", *BYTES, *NS], BUFFER)


def _scaled(value: int, steps: tuple[tuple[int, str], ...]) -> str:
    for scale, unit in steps:
        if value >= scale:
            return f"{value / scale:.4g} {unit}"
    return f"0 {steps[0][1]}"


def rate_text(bps: int) -> str:
    """A rate for a person: ``40 Mbit/s``, and ``nothing`` for 0."""
    return (
        "nothing" if not bps else _scaled(bps, ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s"), (1, "bit/s")))
    )


def span_text(ns: int) -> str:
    """A time for a person: ``20 ms``."""
    return _scaled(ns, ((10**9, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns")))


def bytes_text(size: int) -> str:
    """A size for a person: ``500 kB``."""
    return _scaled(size, ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"), (1, "B")))


def varied_text(vary: Mapping[str, object]) -> str:
    """Varied keys with their values: ``path.buffer = 1bdp, flow.cca = bbr``."""
    return ", ".join(f"{key} = {value_text(value)}" for key, value in vary.items())


def value_text(value: object) -> str:
    """A value of a scenario in a few words, for labels and names: ``fq_codel limit=buffer``, ``10Mbps 5s:20Mbps
    repeat``.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        head = [value_text(v) for k, v in value.items() if k in ("kind", "model", "steps", "trace")]
        rest = [
            k if v is True else f"{k}={value_text(v)}"
            for k, v in value.items()
            if k not in ("kind", "model", "steps", "trace")
        ]
        return " ".join(head + rest) or "-"
    if (
        isinstance(value, (list, tuple))
        and value
        and all(isinstance(step, (list, tuple)) and len(step) == 2 for step in value)
    ):
        return " ".join(str(v) if at == "0s" else f"{at}:{v}" for at, v in value)
    if isinstance(value, (list, tuple)):
        return ",".join(map(value_text, value))
    return str(value)


__all__ = [
    "FRAME_BYTES", "MSS_BYTES", "UnitError", "buffer", "bytes_text", "loss_ppb", "rate_bps", "rate_text",
    "size_bytes", "span_ns", "span_text", "value_text",
]  # fmt: skip
