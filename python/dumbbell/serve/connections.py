"""Who holds a connection: how long a request may take to come, and who gives way when all places are taken.

A request has to come within a time, however often another byte of it comes: its head, which needs no token, and then
its body. Where all places are taken there are a few more for those who are quick: whoever has the token has it ready.
Of them, the one that has waited longest for a head gives way to the next. What is answered keeps its place.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress

#: Places for those who are quick, and the seconds that the head of a request may take there.
MORE, HASTE_S = 16, 2.0


class Connections:
    """The places, and who waits on each. Called from the threads of all connections."""

    def __init__(self, most: int, coming_s: float, *, more: int = MORE, haste_s: float = HASTE_S) -> None:
        self._most, self._coming_s, self._haste_s = most, coming_s, haste_s
        self._places = threading.BoundedSemaphore(most + more)
        self._lock = threading.Lock()
        self._open = 0
        self._quick: set[socket.socket] = set()
        self._heads: dict[socket.socket, float] = {}
        self._bodies: dict[socket.socket, float] = {}

    def take(self, new: socket.socket) -> bool:
        """True if there is a place for a new connection; if need be somebody gives way."""
        taken = self._places.acquire(blocking=False)
        if not taken and self._close_oldest():
            taken = self._places.acquire(timeout=1.0)  # its thread ends at once
        if taken:
            with self._lock:
                self._open += 1
                if self._open > self._most:
                    self._quick.add(new)
            self.wait_for_head(new)
        return taken

    def leave(self, connection: socket.socket) -> None:
        """A connection has ended."""
        self.answer(connection)
        with self._lock:
            self._open -= 1
            self._quick.discard(connection)
        self._places.release()

    def wait_for_head(self, connection: socket.socket) -> None:
        """From now on the next request is waited for."""
        with self._lock:
            self._heads.pop(connection, None)
            wait_s = self._haste_s if connection in self._quick else self._coming_s
            self._heads[connection] = time.monotonic() + wait_s

    def wait_for_body(self, connection: socket.socket) -> None:
        """The head has come, and may ask; its body follows."""
        with self._lock:
            self._bodies[connection] = time.monotonic() + self._coming_s

    def answer(self, connection: socket.socket) -> None:
        """All has come."""
        with self._lock:
            self._heads.pop(connection, None)
            self._bodies.pop(connection, None)

    def close_late(self) -> None:
        """Close connections whose request has not come in time."""
        now = time.monotonic()
        with self._lock:
            late = [
                connection
                for waits in (self._heads, self._bodies)
                for connection, until in waits.items()
                if until < now
            ]
        for connection in late:
            _close(connection)

    def _close_oldest(self) -> bool:
        with self._lock:
            oldest = next((connection for connection in self._heads if connection in self._quick), None)
            if oldest is not None:
                del self._heads[oldest]
        if oldest is not None:
            _close(oldest)
        return oldest is not None


def _close(connection: socket.socket) -> None:
    """The thread that reads from it finds its end."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
