"""What carries a flow, what its application does, and flows that arrive at random."""

from __future__ import annotations

from typing import Any

from . import kinds
from .declare import SWITCH, Variant, key, parsed, whole
from .kinds import DELAY, RATE, SPAN_ABOVE_ZERO, Number, Switch, Text

_MESSAGE = kinds.size("1B", "1GB")


class Transport(Variant):
    """What carries a flow."""

    AT = "flow.transport"

    def plan(self) -> dict[str, Any]:
        """What the engine takes."""
        raise NotImplementedError(type(self).__name__)


class Tcp(Transport, form="tcp"):
    """TCP as in Linux."""

    def plan(self) -> dict[str, Any]:
        """What the engine takes."""
        return {"kind": "tcp"}


class Quic(Transport, form="quic"):
    """The QUIC-like transport (docs/models/quic.md)."""

    payload: Text = key(kinds.size("100B", "1400B"), "stream data of a packet", default="1000B")
    ack_every: Number = key(whole(1, 2**31), "packets that ask for an acknowledgement before one is sent", default=2)
    ack_delay: Text = key(kinds.span("0s", "60s"), "the longest that a packet waits for its acknowledgement", default="25ms")

    def plan(self) -> dict[str, Any]:
        """What the engine takes."""
        delay = parsed(self, "ack_delay")
        return {"kind": "quic", "payload_bytes": parsed(self, "payload"), "ack_every": self.ack_every, "ack_delay_ns": delay}


class Workload(Variant):
    """What an application does, in place of one transfer."""

    AT = "flow.workload"

    def plan(self) -> dict[str, Any]:
        """What the engine takes."""
        raise NotImplementedError(type(self).__name__)


class OnOff(Workload, form="on_off"):
    """It sends in on times: as much as it can, or messages at a rate."""

    on: Text = key(SPAN_ABOVE_ZERO, "length of an on time, or its mean")
    off: Text = key(DELAY, "length of an off time, or its mean")
    rate: Text | None = key(RATE, "payload per time while on; as much as possible unless given", default=None)
    message: Text = key(_MESSAGE, "size of a message at that rate", default="1448B")
    random: Switch = key(SWITCH, "exponentially distributed times with these means", default=False)

    def plan(self) -> dict[str, Any]:
        """What the engine takes."""
        on, off = ({"ns": parsed(self, name), "exponential": self.random} for name in ("on", "off"))
        return {"kind": "on_off", "on": on, "off": off, "rate_bps": parsed(self, "rate"), "message_bytes": parsed(self, "message")}


class Paced(Workload, form="paced"):
    """It writes messages at a rate."""

    rate: Text = key(RATE, "payload per time")
    message: Text = key(_MESSAGE, "size of a message", default="1448B")

    def plan(self) -> dict[str, Any]:
        """What the engine takes."""
        return {"kind": "paced", "rate_bps": parsed(self, "rate"), "message_bytes": parsed(self, "message")}


class RequestResponse(Workload, form="request_response"):
    """It answers requests of the receiver."""

    response: Text = key(kinds.SIZE, "size of an answer")
    think: Text = key(DELAY, "time between an answer and the next request, or its mean", default="0s")
    count: Number = key(whole(0, 2**31), "answers until it closes; 0 for no end", default=0)
    random: Switch = key(SWITCH, "exponentially distributed times with this mean", default=False)

    def plan(self) -> dict[str, Any]:
        """What the engine takes."""
        think = {"ns": parsed(self, "think"), "exponential": self.random}
        return {"kind": "request_response", "response_bytes": parsed(self, "response"), "think": think, "count": self.count}


