"""Receivers of flows, which may break the rules of TCP (RFC 9743 section 7.6)."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from .declare import Variant, key
from .plain_kinds import whole

if TYPE_CHECKING:
    from .keytypes import Number


class Receiver(Variant):
    """A receiver, which may acknowledge otherwise than TCP says, to be sent more (docs/models/tcp.md)."""

    AT = "flow.receiver"

    @abstractmethod
    def plan(self) -> dict[str, Any]:
        """Build the part of the plan that the engine takes."""


class Honest(Receiver, form="honest"):
    """It acknowledges as TCP says."""

    def plan(self) -> dict[str, Any]:
        """Build the part of the plan that the engine takes: none."""
        return {}


class AckDivision(Receiver, form="ack_division"):
    """ACK division: each acknowledgement comes in pieces, each for a part of the bytes."""

    pieces: Number = key(whole(2, 1_000), "pieces of an acknowledgement", default=10)

    def plan(self) -> dict[str, Any]:
        """Build the part of the plan that the engine takes."""
        return {"kind": self.FORM, "pieces": self.pieces}


class OptimisticAcks(Receiver, form="optimistic_acks"):
    """Optimistic ACKs: each segment is acknowledged with what is missing before it, and with some after it, which have
    not come; what is lost is never sent again. Goodput counts what has come, and such a transfer never completes.
    """

    ahead: Number = key(
        whole(0, 1_000),
        "segments after the one that came; fewer at the start, and after the sender has not believed it; 0: losses"
        " are hidden, nothing more",
        default=10,
    )

    def plan(self) -> dict[str, Any]:
        """Build the part of the plan that the engine takes."""
        return {"kind": self.FORM, "ahead": self.ahead}


class DupackSpoofing(Receiver, form="dupack_spoofing"):
    """DupACK spoofing: each acknowledgement is followed by copies of it, as if segments had come out of order."""

    copies: Number = key(whole(1, 1_000), "copies of an acknowledgement", default=10)

    def plan(self) -> dict[str, Any]:
        """Build the part of the plan that the engine takes."""
        return {"kind": self.FORM, "copies": self.copies}
