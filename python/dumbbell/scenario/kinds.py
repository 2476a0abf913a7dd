"""Kinds of values that keys of a scenario accept: each kind parses one written value and describes it to editors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dumbbell import units
from dumbbell.units import Buffer, UnitError

from .names import LENGTH_MAX as LABEL_MAX
from .plain_kinds import Kind

T = TypeVar("T")


def quantity(parse: Callable[[object], T], units_: list[str], guess: str = "") -> Kind:
    """A text with one of these units; `guess` is the unit that was probably meant where there is none."""
    pattern = rf"^\s*{units.NUMBER}\s*({'|'.join(units_)})\s*$"

    def guessing(value: object) -> T:
        try:
            return parse(value)
        except UnitError as error:
            if not error.lacks or not guess or len(str(value)) > _NUMBER_SHOWN:
                raise
            raise UnitError(f'{error}; did you mean "{str(value).strip()}{guess}"?') from None

    return Kind(guessing, {"type": "string", "pattern": pattern})


#: Deepest token bucket, bytes: 32 bits (TCA_TBF_BURST), which at the slowest rate, 1 kbps, are 1.1 years and so stay
#: below 2^63 ns.
BURST_MAX = 2**32 - 1
#: Longest header of a link layer, bytes, as the engine has it.
LINK_HEADER_MAX = 64

#: Letters of a number without a unit to which an error suggests one.
_NUMBER_SHOWN = 20


def above_zero(parse: Callable[[object], int], wanted: str) -> Callable[[object], int]:
    """The same parser, which refuses zero."""

    def check(value: object) -> int:
        amount = parse(value)
        if amount == 0:
            raise UnitError(f"{wanted}, above zero")
        return amount

    return check


def within(parse: Callable[[object], int], wanted: str, low: int, high: int, limits: str) -> Callable[[object], int]:
    """The same parser, which refuses what is outside."""

    def check(value: object) -> int:
        amount = parse(value)
        if not low <= amount <= high:
            raise UnitError(f"{wanted}, {limits}")
        return amount

    return check


def either(word: str, kind: Kind, *, means: Any = None) -> Kind:
    """A word (whose value is `means`), or what the kind accepts."""

    def parse(value: object) -> Any:
        if value == word:
            return means
        try:
            return kind.parse(value)
        except UnitError as error:
            raise UnitError(f'{error} or "{word}"') from None

    return Kind(parse, {"anyOf": [{"const": word}, kind.schema]})


def span(low: str, high: str) -> Kind:
    """A time between two others."""
    return quantity(
        within(units.span_ns, units.SPAN, units.span_ns(low), units.span_ns(high), f"from {low} to {high}"), _NS
    )


def size(low: str, high: str) -> Kind:
    """A size between two others."""
    return quantity(
        within(units.size_bytes, units.SIZE, units.size_bytes(low), units.size_bytes(high), f"from {low} to {high}"),
        _BYTES,
    )


def rates(low: str, high: str) -> Kind:
    """A rate between two others."""
    lowest, most = units.rate_bps(low), units.rate_bps(high)
    return quantity(within(units.rate_bps, units.RATE, lowest, most, f"{low} to {high}"), _BPS, "Mbps")


def memory(low: str, high: str) -> Kind:
    """An amount of memory between two others, or the link's buffer."""
    return either("buffer", size(low, high), means="buffer")


def switch_or(*words: str) -> Kind:
    """Yes or no, which the engine calls on and off, or one of these words."""
    engine: dict[bool | str, str] = {False: "off", True: "on", **{word: word for word in words}}
    wanted = "true, false or " + ", ".join(f'"{word}"' for word in words)

    def parse(value: object) -> str:
        if not isinstance(value, (bool, str)) or value not in engine:
            raise UnitError(wanted)
        return engine[value]

    return Kind(parse, {"enum": list(engine)})


def _tick(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1 or 1000 % value:
        raise UnitError("ticks per second that divide 1000, such as 1000, 250 or 100")
    return value


def _word(value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= 80 or not set(value) <= NAME_LETTERS or value[0] in ".-":
        raise UnitError('a name of letters, digits, ".", "_" and "-" (it names folders), 80 at most')
    return value


def _label(value: object) -> str:
    if (
        not isinstance(value, str)
        or not 0 < len(value) <= LABEL_MAX
        or not value.isprintable()
        or value != value.strip()
    ):
        raise UnitError(f"printable text without spaces at its ends, {LABEL_MAX} letters at most")
    return value


def _controller(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise UnitError('the name of a congestion controller, such as "cubic" (`dumbbell cca list`)')
    return value


def _or_auto(value: object) -> int:
    return 0 if value == "auto" else above_zero(units.size_bytes, units.SIZE + ' or "auto"')(value)


def _burst(value: object) -> int:
    amount = units.size_bytes(value)
    if amount < units.FRAME_BYTES:
        raise UnitError(f"{units.SIZE}, at least one packet of {units.FRAME_BYTES} bytes")
    if amount > BURST_MAX:
        raise UnitError(f"{units.SIZE}, below 4 GiB, as for tc")
    return amount


def _depth(value: object) -> int:
    return 0 if value == "0B" else _burst(value)


def _link_header(value: object) -> int:
    amount = 0 if value == "0B" else units.size_bytes(value)
    if amount > LINK_HEADER_MAX:
        raise UnitError(f'a size of at most {LINK_HEADER_MAX} bytes, such as "2B"')
    return amount


def _some_buffer(value: object) -> Buffer:
    buffer = units.buffer(value)
    if buffer[1] == 0:
        raise UnitError(f"{units.BUFFER}, above zero")
    return buffer


def _packets(value: object) -> int:
    measure, count, _ = units.buffer(value)
    if measure != "pkt":
        raise UnitError('a number of packets with its unit, such as "100pkt"')
    return count


NAME_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_NS, _BPS, _BYTES = list(units.NS), list(units.BPS), list(units.BYTES)
LABEL = Kind(_label, {"type": "string", "minLength": 1, "maxLength": LABEL_MAX})
NAME = Kind(_word, {"type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9._-]{0,79}$"})
CONTROLLER = Kind(_controller, {"type": "string", "minLength": 1})
RATE = quantity(within(units.rate_bps, units.RATE, 1_000, 10**12, "1kbps to 1Tbps"), _BPS, "Mbps")
SPAN = quantity(units.span_ns, _NS, "s")
SPAN_ABOVE_ZERO = quantity(above_zero(units.span_ns, units.SPAN), _NS, "s")
SIZE = quantity(within(units.size_bytes, units.SIZE, 1, 2**42 - 1, "above zero and below 4 TiB"), _BYTES, "kB")
DELAY = quantity(within(units.span_ns, units.SPAN, 0, 60 * 10**9, "at most 60s"), _NS, "ms")
RTT = quantity(within(units.span_ns, units.SPAN, 1, 60 * 10**9, "above zero and at most 60s"), _NS, "ms")
DURATION = quantity(within(units.span_ns, units.SPAN, 1, 24 * 3600 * 10**9, "above zero and at most 24h"), _NS, "s")
EVERY = quantity(within(units.span_ns, units.SPAN, 1_000, 24 * 3600 * 10**9, "from 1us to 24h"), _NS, "ms")
TICK = Kind(_tick, {"enum": [n for n in range(1, 1001) if 1000 % n == 0]})
BURST = quantity(_burst, _BYTES)
#: Depth of a link's bucket; a serial line has none.
DEPTH = quantity(_depth, _BYTES)
LINK_HEADER = quantity(_link_header, _BYTES, "B")
BUFFER = quantity(_some_buffer, ["bdp", "BDP", *_BYTES, *_NS], "bdp")
LIMIT = either("buffer", BUFFER)
PACKETS = quantity(_packets, ["pkt"], "pkt")
SHARE = Kind(
    units.loss_ppb,
    {
        "anyOf": [
            {"type": "number", "minimum": 0, "maximum": 1},
            {"type": "string", "pattern": rf"^\s*{units.NUMBER}\s*%?\s*$"},
        ]
    },
)
SOCKET_BUFFER = Kind(_or_auto, {"anyOf": [{"const": "auto"}, SIZE.schema]})
